/* For cases_zeroes.c and cases_hosts.c: what a call leaves at the pointer where its answer goes. */
#ifndef LEFT_H
#define LEFT_H
#include "oracle.h"

/* A line: what the call returns, and whether `out`, a variable of that type, is as before, zeroes, or anything else. */
#define LEFT(name, type, call) \
    do { \
        type out; \
        memset(&out, 0x5a, sizeof out); \
        CUresult r = call; \
        unsigned char zero[sizeof out], same[sizeof out]; \
        memset(zero, 0, sizeof zero); \
        memset(same, 0x5a, sizeof same); \
        rec(name, "%s %s", rname(r), \
            !memcmp(&out, same, sizeof out)   ? "untouched" \
            : !memcmp(&out, zero, sizeof out) ? "zeroes" \
                                              : "else"); \
    } while (0)

#endif
