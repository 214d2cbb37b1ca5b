/* Where the trace lives: one piece of memory a process, private, or shared with
 * the `faultline run` that started it, which therefore still has it when the
 * process has been killed.
 *
 * The ring overwrites its oldest records. A writer takes the next number i,
 * makes seq of slot i % TRACE_SLOTS odd (2i + 1), fills the slot, and makes it
 * even (2i + 2). A reader takes a record only if seq is 2i + 2 before and after
 * it copied the words; a larger one means that it came too late. A writer that
 * finds its slot in use, or ahead of it, was overtaken by a whole round: its
 * record is dropped and counted.
 *
 * Counters and statistics are exact: nothing is ever dropped there. */
#ifndef FL_TRACE_REGION_H
#define FL_TRACE_REGION_H

#include "trace/ledger.h"
#include "trace/trace.h"

#include <stddef.h>

enum {
    TRACE_KINDS = 16,
    TRACE_CAUSES = 8,
    TRACE_SLOTS = 1 << 17,
    TRACE_ALLOCATIONS = 1 << 14,
    TRACE_KERNELS = 1 << 17,
    TRACE_LEDGER = 1 << 16,
    TRACE_NAME_BYTES = 1 << 20,
    TRACE_WORDS = sizeof(struct trace_record) / 8,
    TRACE_VERSION = 5,
};

enum trace_direction { TRACE_TO_DEVICE, TRACE_TO_HOST, TRACE_BETWEEN_DEVICES, TRACE_WITHIN_HOST, TRACE_DIRECTIONS };

static inline enum trace_direction trace_direction(const struct trace_record *r)
{
    if (r->processor)
        return r->source ? TRACE_BETWEEN_DEVICES : TRACE_TO_DEVICE;
    return r->source ? TRACE_TO_HOST : TRACE_WITHIN_HOST;
}

/* What happened to one allocation, or to all managed memory. */
struct trace_statistics {
    uint64_t events[TRACE_KINDS];                        /* records of each kind */
    uint64_t moved[TRACE_DIRECTIONS][TRACE_CAUSES];      /* bytes migrated, by cause */
    uint64_t migrations[TRACE_DIRECTIONS][TRACE_CAUSES]; /* how many they were */
    uint64_t faults[2][8];     /* host's, devices', by access: what the records stand for */
    uint64_t bytes[TRACE_KINDS];                         /* duplicated, mapped remotely, ... */
    uint64_t returns;              /* migrations by a fault of pages that had already gone there and back; of allocations only */
};

struct trace_allocation {
    uint64_t address, bytes;
    uint64_t made, freed;          /* times; freed 0: lives */
    uint64_t ordinal;              /* managed allocations are numbered from 1; 0: an unused entry */
    uint64_t last_row;             /* of the map, + 1; 0: none yet */
    uint8_t ordinary;              /* whether it is a mapping of the program's, not managed memory */
};

/* What a kernel record cannot hold; entry ticket % TRACE_KERNELS, valid while ticket is the record's. */
struct trace_kernel {
    _Atomic uint64_t ticket;
    uint32_t name;                 /* offset in names */
    uint32_t grid[3], block[3];
    uint32_t shared_static, shared_dynamic, registers, local;
    uint32_t device;
    uint64_t context, stream, queued;
};

/* Where the pages of an allocation were at one moment: a cell is a MAP_CELLS-th of it. */
enum { MAP_CELLS = 64, MAP_ROWS = 1 << 17, CELL_PLACE = 0x3f, CELL_MIXED = 0x40, CELL_DUPLICATED = 0x80 };
enum trace_moment { MOMENT_BEFORE, MOMENT_AFTER, MOMENT_TIME, MOMENT_END };
struct trace_map_row {
    uint64_t time, ordinal;        /* ordinal: of the allocation */
    uint32_t name;                 /* of the kernel */
    uint32_t repeats;              /* how often later moments looked the same */
    uint16_t moment, device;
    uint8_t cell[MAP_CELLS];       /* as uvm_residency; CELL_MIXED: pages of the cell differ */
};

struct trace_slot {
    _Atomic uint64_t seq;
    _Atomic uint64_t word[TRACE_WORDS];
};

struct trace_region {
    uint32_t version;
    uint32_t pid;
    uint64_t started;              /* time */
    char program[256];             /* what /proc says it runs */
    struct trace_statistics total;
    _Alignas(64) _Atomic uint64_t written[TRACE_KINDS];  /* records, dropped ones too */
    _Atomic uint64_t dropped[TRACE_KINDS];               /* that never got into the ring */
    _Alignas(64) _Atomic uint64_t head;                  /* number of the next record */
    _Alignas(64) _Atomic uint32_t quarters;              /* futex: bumped whenever a quarter of the ring has been written */
    _Atomic uint32_t sleepers;
    _Atomic uint64_t allocation_count; /* entries of allocations in use; entry 0 is for what is in no other */
    _Atomic uint64_t kernel_tickets;
    _Atomic uint32_t name_bytes;
    struct trace_allocation allocations[TRACE_ALLOCATIONS];
    struct trace_statistics statistics[TRACE_ALLOCATIONS]; /* of each; apart, for it is untouched until somebody wants it */
    struct trace_kernel kernels[TRACE_KERNELS];
    _Atomic uint64_t map_rows;     /* in use; more than MAP_ROWS: the others were lost */
    struct trace_map_row map[MAP_ROWS];
    _Atomic uint32_t ledger_entries; /* of the ledger in use, or once used */
    _Atomic uint32_t ledger_lost;  /* pieces that the program has and it has no room for */
    struct ledger_entry ledger[TRACE_LEDGER];
    char names[TRACE_NAME_BYTES];
    _Alignas(4096) struct trace_slot slots[TRACE_SLOTS];
};

/* The file that `faultline run` makes: this page, then room for that many processes. */
struct trace_file {
    uint32_t version, listen;      /* listen: enum trace_listen, what each process is to record */
    uint32_t processes, region_bytes;
    _Atomic uint32_t claimed;
};
enum { TRACE_FILE_HEAD = 4096, TRACE_PROCESSES = 64, TRACE_REGION_BYTES = (sizeof(struct trace_region) + 4095) / 4096 * 4096 };

/* --- read.c: also part of the faultline command */
struct trace_cursor {
    uint64_t next;                 /* number of the next record */
    uint64_t lost;                 /* records that were overwritten or dropped before they were read */
};
/* Up to most records from the cursor on. Does not wait. */
size_t trace_read(struct trace_region *r, struct trace_cursor *c, struct trace_record *out, size_t most);
/* Whether the details of the kernel with this ticket are still there. */
bool trace_kernel_details(struct trace_region *r, uint64_t ticket, struct trace_kernel *out);
/* Never NULL, however the region looks. */
const char *trace_name(const struct trace_region *r, uint32_t name);
/* Sleeps until a quarter of the ring is new, or for the given time. */
void trace_sleep(struct trace_region *r, unsigned milliseconds);
/* A copy of what others may be counting in: each number is one that was there. */
struct trace_statistics trace_counted(const struct trace_statistics *s);
uint64_t trace_moved(const struct trace_statistics *s, enum trace_direction d);
/* Of what was moved, what made room on a device. */
uint64_t trace_evicted(const struct trace_statistics *s);

#endif
