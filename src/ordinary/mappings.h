/* What a program does to mappings of managed memory by itself. On a GPU's machine they are mappings of its driver, which
 * is told when they are cut or go, and lets nobody make them longer (observed on H200). Here the calls are led, so those
 * made past the C library's functions are not seen. */
#ifndef FL_ORDINARY_MAPPINGS_H
#define FL_ORDINARY_MAPPINGS_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/* Called without locks, for whole pages within [base, end). */
struct mappings_client {
    uint64_t base, end;
    /* All of [va, end) is managed memory that the program has left where it is; without `all`: some of it. */
    bool (*holds)(uint64_t va, uint64_t end, bool all);
    /* It is about to be unmapped. CUDA_ERROR_OUT_OF_MEMORY: it must not be. */
    CUresult (*goes)(uint64_t va, uint64_t end);
    /* What is said of it to the system, in the bits of mask, is value from now on; at first they are all 0. Where that
     * differs mappings part, for ever. */
    void (*parts)(uint64_t va, uint64_t end, unsigned mask, unsigned value);
};
/* The program's calls are seen from now on; again: those of libraries that were loaded since, too. Without locks. */
void mappings_lead(const struct mappings_client *c);
/* madvise is led to given.c, which asks here first. True: it is answered, with *result and errno. */
bool mappings_refuse(uint64_t va, uint64_t size, int advice, int *result);
void mappings_advised(uint64_t va, uint64_t size, int advice);
void mappings_in_child(void); /* which has no managed memory */

#endif
