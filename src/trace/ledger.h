/* The ledger: what memory the program has, each piece with the call that gave it. It is kept in the process's region while
 * `faultline run --leaks` wants it, which reads it when the program has ended, however that was.
 *
 * Calls on pieces that are in no ledger, because nobody wanted it then, do nothing. */
#ifndef FL_TRACE_LEDGER_H
#define FL_TRACE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

/* What pieces are named by. */
enum ledger_kind {
    LEDGER_NOTHING,
    LEDGER_MEMORY,    /* its address */
    LEDGER_ARRAY,     /* the handle, of mipmapped ones, too */
    LEDGER_ADDRESSES, /* that are reserved: the first */
    LEDGER_HANDLE,    /* of memory without an address, as often as it is held */
    LEDGER_MAPPING,   /* its address */
    LEDGER_POOL,      /* the handle */
    LEDGER_KINDS
};
/* What memory it is, for people. */
enum ledger_memory { LEDGER_OTHER, LEDGER_DEVICE, LEDGER_MANAGED, LEDGER_PINNED, LEDGER_REGISTERED, LEDGER_POOLED,
                     LEDGER_IMPORTED };

struct ledger_entry {
    uint64_t name, bytes;
    uint64_t context;              /* with which it goes; 0: with none */
    uint32_t origin;               /* trace_name: the call, and those that led to it, a line each */
    uint8_t kind, memory;
    uint8_t processor;             /* whose memory: 0 the host's, 1 + k device k's */
};

/* The calling thread has been given it; its origin is set here. */
void ledger_enter(struct ledger_entry entry);
/* It is about to give it back, which *out is for if that comes to nothing. False: it is not there. */
bool ledger_take(enum ledger_kind kind, uint64_t name, struct ledger_entry *out);
void ledger_restore(const struct ledger_entry *entry);
/* Mappings in [first, end) are gone. */
void ledger_unmapped(uint64_t first, uint64_t end);
/* All that goes with the context is gone. */
void ledger_end_context(uint64_t context);

/* In a forked child: it has a ledger of its own. */
void ledger_forget(void);

/* --- origin.c: the calls that led to that of the library which the calling thread is in, for trace_name; 0: unknown */
uint32_t origin_intern(void);

#endif
