/* The books of mmu.h: for each processor and each 2 MiB block that it has
 * entries in, what it may do (as mmu_set said) and what its page table has.
 *
 * The two differ where nobody notices or where a fault is cheaper than the
 * truth: an idle device keeps entries that it may not use any more until its
 * next kernel is launched (table_settle), and an entry that is permitted but
 * missing (the system took it, a huge mapping was split) comes back when it is
 * touched, without the service function being asked. */
#ifndef FL_PROCESSOR_TABLE_H
#define FL_PROCESSOR_TABLE_H

#include "base/mask.h"
#include "base/quiet.h"
#include "base/units.h"
#include "processor/internal.h"
#include "processor/mmu.h"
#include <sched.h>

enum { BLOCK_PAGES = MASK_PAGES, BLOCK_BYTES = BLOCK_PAGES * PAGE_BYTES };

/* The pages of a block that can be read, and written. */
struct entries {
    struct mask read, write; /* write is part of read */
};
/* One processor's entries in one block. */
struct leaf {
    uint64_t va;                   /* of the block */
    const struct entries *may;     /* what it may do; leaves share them (leaf.c) */
    const struct entries *has;     /* what the page table permits; likewise */
    bool open;                         /* all of it is permitted and nothing faults: not watched by userfaultfd */
    struct leaf *next, **link;         /* all of the table's */
    struct leaf *next_stale, **stale_link; /* link NULL: not in that list */
};
struct block {
    struct leaf *leaf[MMU_PROCESSORS]; /* each under its table's lock */
    _Atomic bool begun;            /* some page has, or had, physical memory */
    _Atomic bool populated;        /* every page has */
    _Atomic bool large;            /* they are one large page that the first touch brought */
    _Atomic uint8_t opened;        /* how often a leaf was opened; counts to COLLAPSE_AT */
    struct mask *gone;             /* where the host has something else, or nothing; NULL: nowhere. Under its table's lock */
};
enum { GROUP_BLOCKS = 512 };
/* The blocks of one GiB of which something was used. Never freed, so that they can be found without a lock. */
struct group { struct block block[GROUP_BLOCKS]; };
static const uint64_t GROUP_BYTES = (uint64_t)GROUP_BLOCKS * BLOCK_BYTES;
struct span { uint64_t lo, hi; };  /* empty: both 0 */

struct table {
    struct quiet_mutex lock;       /* of all below; processor.lock may be tried while it is held */
    _Atomic bool attached;         /* also read without the lock */
    int fd;                        /* userfaultfd of the processor; -1: it has none and */
    bool signals;                  /* entries are what mprotect says */
    struct processor *processor;   /* NULL for the host */
    uint64_t heard;                /* notes of accesses that were taken */
    uint64_t position;             /* of the device's last command that concerns this table, in its ring */
    /* what table_finish is to do, in this order */
    struct span open, close;       /* to be watched no more; to be watched again */
    struct span zap;               /* entries to take out */
    struct span protect;           /* signals: entries to become protect_as */
    enum mmu_access protect_as;
    struct span woken;             /* entered last; who waited there goes on */
    unsigned pieces;               /* mappings that the window is cut into, about */
    bool settling;                 /* a kernel is about to be launched: the ring's order is enough */
    _Atomic bool unsettled;        /* there may be stale leaves; read without the lock before a launch */
    struct leaf *leaves;
    struct leaf *stale;            /* leaves of an idle device that permit more than they may */
};

struct mmu {
    const struct backing *memory;  /* NULL: mmu_init has not been called */
    uint64_t base, end;
    mmu_service *service, *outside;
    enum mmu_rung rung;            /* the host's */
    _Atomic(struct group *) *groups;
    const struct backing *ordinary; /* memory outside the window (ordinary.c); NULL: none is watched, and */
    _Atomic(struct group *) *_Atomic ordinary_groups; /* so is this */
    int ordinary_fd;               /* the host's userfaultfd for it */
    unsigned pieces_most;          /* mappings of the window that a process may be left with */
    char *alias;                   /* of memory, in large pages where the system has them; NULL: none */
    uint64_t large_most;           /* bytes of blocks that may be made large by their first touch */
    uint64_t begun_most;           /* bytes of blocks to whose pages memory is given before they are touched */
    bool some_gone;                /* some block has pages that are; under the lock of the host's table */
    _Atomic uint64_t begun_bytes;  /* of blocks with memory */
    _Atomic uint64_t large_bytes;  /* that are so; more than large_most: this system has no large pages */
    struct table tables[MMU_PROCESSORS];
};
extern struct mmu mmu;

static const uint64_t ORDINARY_END = 1ull << 47;
static inline bool in_window(uint64_t va) { return va >= mmu.base && va < mmu.end; }
/* Where the address's memory begins to be counted: its offset there is the difference. */
static inline uint64_t memory_base(uint64_t va) { return in_window(va) ? mmu.base : 0; }
static inline int memory_fd(uint64_t va) { return in_window(va) ? mmu.memory->fd : mmu.ordinary->fd; }
/* NULL: no page table has entries there. */
static inline _Atomic(struct group *) *group_slot(uint64_t va)
{
    _Atomic(struct group *) *groups = in_window(va) ? mmu.groups : va < ORDINARY_END ? mmu.ordinary_groups : NULL;
    return groups ? &groups[(va - memory_base(va)) / GROUP_BYTES] : NULL;
}
static inline struct block *block_find(uint64_t va)
{
    _Atomic(struct group *) *slot = group_slot(va);
    struct group *g = slot ? atomic_load(slot) : NULL;
    return g ? &g->block[(va - memory_base(va)) / BLOCK_BYTES % GROUP_BLOCKS] : NULL;
}
static inline unsigned page_of(uint64_t va) { return (unsigned)(va / PAGE_BYTES % BLOCK_PAGES); }
static inline uint64_t block_start(uint64_t va) { return round_down(va, BLOCK_BYTES); }
/* Where the part of [at, end) that lies in at's block ends. */
static inline uint64_t piece_end(uint64_t at, uint64_t end)
{
    uint64_t next = (at / BLOCK_BYTES + 1) * BLOCK_BYTES;
    return next < end ? next : end;
}
/* The pages of a piece, in its block. */
static inline struct region piece_region(uint64_t at, uint64_t end)
{
    return (struct region){ page_of(at), page_of(at) + (unsigned)((end - at) / PAGE_BYTES) };
}

static inline enum mmu_access entry_of_page(const struct entries *e, unsigned page)
{
    return mask_test(&e->write, page) ? MMU_WRITE : mask_test(&e->read, page) ? MMU_READ : MMU_NONE;
}

/* leaf.c; under the table's lock. False: no memory, all is as it was. Never where all pages are to be alike. */
void entries_fill(struct entries *e, unsigned first, unsigned end, enum mmu_access access);
void leaf_begin(struct leaf *l);
void leaf_end(struct leaf *l);
bool leaf_permit(struct leaf *l, unsigned first, unsigned end, enum mmu_access access);
bool leaf_permits(const struct leaf *l, unsigned page, bool write);
bool leaf_may(struct leaf *l, const struct entries *may);
bool leaf_has(struct leaf *l, const struct entries *has);
/* leaf_has has memory for whatever comes, until leaf_tidy. */
bool leaf_loosen(struct leaf *l);
/* What has come to be alike is shared again. */
void leaf_tidy(struct leaf *l);

/* table.c; under the table's lock */
struct leaf *leaf_find(unsigned number, uint64_t va);
struct leaf *leaf_make(unsigned number, uint64_t va); /* NULL: no memory */
void leaf_drop(struct table *t, struct leaf *l);
/* A fault says that page has no entry, or one that is write-protected: believes it. */
void leaf_believe(struct table *t, struct leaf *l, unsigned page, bool protected_page);
/* Pages [first, end) have no entries: their memory is gone. */
void leaf_lose(struct table *t, struct leaf *l, unsigned first, unsigned end);
/* The leaf, about to be dropped, has nothing that the next one there would not expect. table_finish completes it. */
void leaf_clean(struct table *t, struct leaf *l);
/* The page table comes to permit what the leaf may, for pages [first, end): at once, or, where an
 * idle device would lose something, when it is settled. table_finish completes it. */
CUresult leaf_apply(struct table *t, struct leaf *l, unsigned first, unsigned end);
/* A device's leaf permits nothing there, once it is settled. */
void leaf_forbid_late(struct table *t, struct leaf *l, unsigned first, unsigned end);
/* There is no memory to say of which pages: it permits nothing any more. */
void leaf_forbid(struct table *t, struct leaf *l);
void table_finish(struct table *t);

/* pages.c */
/* Physical memory for [va, va+size), zeros where there was none. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult populate(uint64_t va, uint64_t size);
CUresult leaf_populate(const struct leaf *l, unsigned page);
/* The same for what a processor is about to have, of one block; all of it may be too much to have memory untouched. */
CUresult populate_entries(uint64_t va, uint64_t size);
/* Some page of the block, which begins at va, is about to get physical memory: all of it does, if as one large page. */
void block_begin(struct block *b, uint64_t va);
/* All of it has; small pages become a large one when that has been worth it for some time. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult block_populate(struct block *b, uint64_t va);
/* The physical memory of pages [first, end) of the block is gone. */
void block_punched(struct block *b, unsigned first, unsigned end);

/* host_table.c */
CUresult host_open(void);
void host_close(void);
/* permits: host_permits before it was decided. */
void host_fatal(const struct mmu_fault *f, unsigned permits);
unsigned host_permits(void);
/* Removes managed addresses from the host. */
void host_unmap(uint64_t va, uint64_t size);

/* host_signals.c */
CUresult host_catch_signals(void);
/* Serves faults that came as signals. True if there was one. */
bool host_serve_signals(void);
/* The program may have set a signal handler of its own. */
void host_check_handler(void);

/* device_table.c */
CUresult device_attach(struct table *t, struct processor *p);
/* Whether the device's atomics of system scope are permitted there. */
void device_set_atomics(struct table *t, uint64_t va, uint64_t size, bool permitted);
/* prot: ENTRIES_ZAP or mprotect's. */
void device_change(struct table *t, uint64_t va, uint64_t size, int prot);
/* The device has made what entries need, on return; false: it is dead. */
bool device_ready(struct table *t);

/* service.c */
CUresult service_start(void);
/* An eventfd that wakes the service thread; -1: no descriptor to be had. In a signal handler, too. */
int service_bell(void);
/* The calling thread is about to look at the device's mail, here. */
static inline void watch_from_here(struct control *c)
{
    uint32_t here = (uint32_t)sched_getcpu() + 1;
    if (atomic_load_explicit(&c->server_cpu, memory_order_relaxed) != here) atomic_store(&c->server_cpu, here);
}
/* A fault of a device's, and the mailbox that waits for the verdict. */
struct errand {
    struct mmu_fault fault;
    const struct processor *of;
    unsigned box;
};
void errand_answer(const struct errand *e, enum mmu_verdict verdict);
/* *woken: whoever waited for the page goes on already. */
enum mmu_verdict fault_serve(const struct mmu_fault *f, bool protected_page, bool *woken);
/* Of the host's: fatal if it comes a second time, with nothing permitted since; permits: host_permits() before it came. */
enum mmu_verdict host_verdict(struct mmu_fault *f, bool protected_page, unsigned permits, bool *woken);

/* ordinary_zap.c */
/* Whether entries can be taken out at all. */
bool ordinary_can_zap(const struct backing *memory);
/* The host's entries for [va, va+size) go, if it still is what was put there. */
void ordinary_zap(uint64_t va, uint64_t size);

/* outside.c */
CUresult outside_start(void);
/* For the service thread: another one serves it. False: too many wait. */
bool outside_bring(const struct errand *e);

#endif
