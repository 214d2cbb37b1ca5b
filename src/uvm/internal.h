/* What the files of src/uvm need of each other. All with the lock held. */
#ifndef FL_UVM_INTERNAL_H
#define FL_UVM_INTERNAL_H

#include "base/heap.h"
#include "base/quiet.h"
#include "uvm/types.h"

#include <stdatomic.h>

extern struct quiet_mutex uvm_lock;
extern _Atomic bool uvm_unsettled;              /* some device has faulted since it was last waited for */
/* ns. Passes as CLOCK_MONOTONIC, but for what a busy machine takes from a thread. */
uint64_t uvm_now(void);
/* Without the lock: sleeps until uvm_now() is `until`. */
void uvm_sleep(uint64_t until);
/* The thread has faulted, or the calling one has waited for a device: an act, that takes no time until it ends or sleeps. */
void clock_fault(const struct mmu_fault *f);
void clock_waited(void);
void clock_end(void);
/* A device has faulted, which is decided on later: as if it were then, from clock_as_noted until clock_resume, which is
 * given what the former returned, unless somebody sleeps in between. */
void clock_noted(void);
uint64_t clock_as_noted(void);
void clock_resume(uint64_t was);

static inline unsigned page_of(uint64_t va) { return (unsigned)(va % WINDOW_BYTES / PAGE_BYTES); }
static inline bool is_managed(uint64_t va) { return va >= space_managed_base() && va < space_managed_end(); }

/* --- range.c --- */
uint64_t range_place(uint64_t size);                                      /* a free address, 0: none */
struct range *range_new(struct managed *m, uint64_t start, uint64_t end); /* without policy */
void range_drop(struct range *r);              /* it has no blocks */
/* The lowest that ends above va, though it may be gone: of managed ones, or of others, as va is. NULL: none. */
struct range *range_above(uint64_t va);
/* Its blocks and ranges go; the addresses stay taken until range_release. */
void range_remove(struct managed *m);
void range_release(struct managed *m);
struct range *range_first(void);
struct range *range_next(struct range *r);
struct managed *range_owned_by(const struct context *c); /* addresses taken by c, or NULL */
void ranges_forget_processor(unsigned p);      /* its process is gone */
struct range *range_at(uint64_t va);           /* not one that is gone; or NULL */
bool range_covers(uint64_t start, uint64_t end); /* ranges that are not gone, all of it */
/* Makes range boundaries at start and end where the policy on both sides would
 * differ in the way that `differs` tells; NULL: in any way. */
typedef bool range_differs(const struct range *r, const void *arg);
CUresult range_split(uint64_t start, uint64_t end, range_differs *differs, const void *arg);

/* --- windows.c --- */
CUresult windows_init(void);
struct window *window_at(uint64_t va, bool create);
/* The first of [*va, end) that there is, NULL: none; *va is behind it. */
struct window *window_next(uint64_t *va, uint64_t end);
/* From va, a window's beginning, on, whole windows that do not exist are discarded. Up to which, or where there is no memory. */
uint64_t windows_discard(uint64_t va, uint64_t end);
void windows_remove(uint64_t start, uint64_t end);
/* The block that holds the page; NULL: there is none (create: no memory). Of memory that is not managed none is made. */
struct block *block_at(uint64_t va, bool create);
/* [start, end), as far as it lies in the window. */
struct block *block_make(struct window *w, struct range *r, uint64_t start, uint64_t end);
/* Ends at page; the next one begins there. */
CUresult block_split(struct block *low, unsigned page);
CUresult block_part(uint64_t va);               /* so that none has pages on both sides of va */
void block_remove(struct block *b); /* its window too, if there is nothing else in it */
/* The part of [start, end) that lies in b. */
struct region block_overlap(const struct block *b, uint64_t start, uint64_t end);

/* --- addresses.c --- */
/* Sets p's chunk and the base of its allocation. */
CUresult addresses_take(struct context *c, bool of_module, uint64_t size, struct piece *p);
/* True: the chunk is empty; its page tables (mmu_remove), addresses (range_release) and *chunk are the caller's. */
bool addresses_give(struct piece *p);
bool addresses_live(const struct managed *m, uint64_t va); /* some allocation touches the page */

/* --- holes.c: which places of shared chunks are free --- */
/* The chunk, whose context is known, is empty, and shared from now on; until holes_end. */
void holes_begin(struct managed *m);
void holes_end(struct managed *m);
/* The best for size bytes among c's; NULL: none is so large. */
struct hole *hole_find(struct context *c, bool of_module, uint64_t size);
/* The hole's first size bytes are taken; what is left is `behind` them. */
void hole_take(struct hole *h, uint64_t size, struct hole *behind);
/* Those before `behind` are free again. */
void hole_give(struct hole *behind);

/* --- advise.c --- */
/* [start, end): pages. p, node: as the advice needs them. */
CUresult advise(uint64_t start, uint64_t end, CUmem_advise advice, unsigned p, int node);

/* --- exclusive.c, where uvm_exclusive --- */
void exclusive_init(bool (*runs)(const void *stream));    /* as uvm_init */
CUresult exclusive_lend(int ordinal, const void *stream); /* as uvm_before_launch; takes the lock */
bool exclusive_permits(const struct managed *m, const struct mmu_fault *f);
/* The device has room for all of its managed memory from its allocation on. */
CUresult exclusive_take(const struct managed *m);
void exclusive_give(const struct managed *m);
struct mask exclusive_denied(const struct block *b, unsigned processor); /* pages of it that are another's now */
/* Allocations have come or gone there: the host loses what it had beside them, where that is another's now. */
void exclusive_review(uint64_t start, uint64_t end);
/* Devices do not take memory from one another. */
struct hint {
    enum { HINT_NONE, HINT_PIN, HINT_THROTTLE } kind;
    unsigned target;
    uint64_t until;
};
struct hint exclusive_hint(const struct block *b, unsigned p);

/* --- policy.c: decisions, without effects --- */
struct decision {
    unsigned residency;            /* where the page is to be */
    bool duplicate;                /* as an additional copy */
};
uint32_t page_holders(const struct block *b, unsigned page);   /* processors where it is resident */
enum prot page_prot(const struct block *b, unsigned p, unsigned page);
/* What p must have for it. */
static inline enum prot prot_needed(unsigned p, enum access a)
{
    return a <= ACCESS_READ ? PROT_RO : a == ACCESS_ATOMIC_STRONG && p != CPU ? PROT_RWA : PROT_RW;
}
/* The page table's entry for it. */
static inline enum mmu_access entry_of(enum prot prot)
{
    static const enum mmu_access entries[] = { MMU_NONE, MMU_READ, MMU_WRITE, MMU_ATOMIC };
    return entries[prot];
}
static inline enum trace_access traced_access(enum access a)
{
    return a <= ACCESS_READ ? TRACE_ACCESS_READ : a == ACCESS_WRITE ? TRACE_ACCESS_WRITE : TRACE_ACCESS_ATOMIC;
}
unsigned closest(unsigned p, uint32_t candidates);             /* NOBODY: none */
struct decision policy_select_residency(const struct block *b, unsigned page, unsigned p, bool only_reads,
                                        struct hint hint);
/* What the faulting processor gets, once the page is resident at `at`. */
enum prot policy_new_prot(const struct block *b, unsigned page, unsigned p, unsigned at, enum access a);
/* The most that p may be given without taking anything from anybody. */
enum prot policy_highest_prot(const struct block *b, unsigned page, unsigned p);

/* --- prefetch.c: pure --- */
/* The pages beside `faulted` that should come to `destination` too. */
struct mask prefetch_pages(const struct block *b, unsigned destination, const struct mask *faulted,
                           const struct mask *thrashing);

/* --- thrashing.c --- */
struct hint thrashing_hint(struct block *b, unsigned page, unsigned p, uint64_t now);
/* A page came to p by a fault or the prefetcher, or (revoked) p took permissions from others. */
void thrashing_event(struct block *b, const struct mask *pages, unsigned p, bool revoked, uint64_t now);
/* Any other migration. */
void thrashing_reset(struct block *b, const struct mask *pages);
const struct mask *thrashing_pages(const struct block *b);     /* NULL: none */
uint32_t thrashing_processors(const struct block *b, unsigned page);
bool thrashing_pinned(const struct block *b, unsigned page);
void thrashing_free(struct block *b); /* so when it is cut: both parts begin anew */
bool thrashing_pinned_any(void);
/* Ends pins whose time is over, in all blocks; the time of the next, 0: none. */
uint64_t thrashing_unpin(uint64_t now);

/* --- remapped.c --- */
/* What the program does to the mappings of managed memory is seen from now on, as mappings_lead. */
CUresult remapped_lead(void);

/* --- places.c: who has and maps which pages of a block --- */
void places_begin(struct block *b); /* nobody has any */
void places_end(struct block *b);
/* What has come to be alike again is shared again. */
void places_tidy(struct block *b);
/* CUDA_ERROR_OUT_OF_MEMORY: all is as it was. Never where `to` is the same for all pages of the window. */
CUresult place_set(struct block *b, unsigned p, const struct place *to);
/* There is memory for `to`, or for the processors to have these pages apart from the others, until places_tidy. */
CUresult place_prepare(struct block *b, unsigned p, const struct place *to);
CUresult places_loosen(struct block *b, uint32_t processors, const struct mask *pages);

/* --- block.c: makes it so --- */
/* The pages come to `to`, and to nobody else. */
CUresult block_make_resident(struct block *b, unsigned to, const struct mask *pages, const struct mask *prefetched,
                             enum trace_cause cause);
/* Ordinary memory, resident nowhere so far: the host has touched the pages. */
CUresult block_found(struct block *b, const struct mask *pages);
/* A read-only copy of each page comes to `to`. */
CUresult block_duplicate(struct block *b, unsigned to, const struct mask *pages, const struct mask *prefetched,
                         enum trace_cause cause);
/* p may do prot with the pages from now on, which may be less than it may; nothing. */
CUresult block_map(struct block *b, unsigned p, const struct mask *pages, enum prot prot, enum trace_cause cause);
/* Without memory p loses all of the block. */
void block_unmap(struct block *b, unsigned p, const struct mask *pages);
/* The same for all that p launches from now on; a kernel of it that runs may still go there unnoticed. */
void block_unmap_late(struct block *b, unsigned p, const struct mask *pages);
void block_forget_mappings(struct block *b, unsigned p);        /* p's page table is gone */
/* p keeps at most prot. */
CUresult block_revoke(struct block *b, unsigned p, const struct mask *pages, enum prot prot);
/* Maps p to what it may have of the pages without taking from anybody. */
CUresult block_add_mappings(struct block *b, unsigned p, const struct mask *pages, enum trace_cause cause);
/* Those that accessed_by names (and who thrashes) get mappings to pages that came to `at` for p with prot. */
CUresult block_map_others(struct block *b, unsigned p, unsigned at, const struct mask *pages, enum prot prot);
/* One copy of each survives: at the preferred location if there is one, else the host's, else the first device's. */
CUresult block_keep_one(struct block *b, const struct mask *pages);
/* p's copy is dropped; after places_loosen. */
void block_lose(struct block *b, unsigned p, const struct mask *pages);
void block_done(struct block *b);              /* after each operation */
void block_check(const struct block *b);       /* the invariants; nothing in release builds */
void block_free(struct block *b);

/* --- migrate.c --- */
/* As a prefetch does it. */
CUresult block_bring(struct block *b, const struct mask *pages, unsigned to);

/* --- ordinary.c: the program's memory that is not managed --- */
/* All of [start, end) has a policy. */
CUresult ordinary_cover(uint64_t start, uint64_t end);
/* What was said of it is forgotten, and it has no entries any more. CUDA_ERROR_OUT_OF_MEMORY: as ordinary_end. */
CUresult ordinary_forget(uint64_t start, uint64_t end);
/* Pages of [start, end) may have entries from now on. */
CUresult ordinary_begin(uint64_t start, uint64_t end);
/* They have none any more. CUDA_ERROR_OUT_OF_MEMORY: nor do others that began together with these. */
CUresult ordinary_end(uint64_t start, uint64_t end);
/* Their bytes are gone, it is as if nobody had touched them. */
void ordinary_gone(uint64_t start, uint64_t end);
/* The host is the first to touch the page. */
CUresult ordinary_begun(struct block *b, unsigned page);
/* A device is about to get access to the page. */
CUresult ordinary_touch(struct block *b, unsigned page);
bool ordinary_touched(uint64_t va);            /* the page is not managed, and has memory */
/* What of [start, end) lies in the window of `at` and can move comes to `to`. */
void ordinary_bring(uint64_t at, uint64_t start, uint64_t end, unsigned to);

/* --- spans.c --- */
/* A device comes to va, which the program has mapped as a part of [start, end). */
void spans_note(uint64_t va, uint64_t start, uint64_t end);
/* [start, end) is mapped no more; of what it was part of the rest is noted anew. */
void spans_forget(uint64_t start, uint64_t end);

/* --- faults.c --- */
/* Takes the lock and closes the batches. */
void uvm_enter(void);
void uvm_leave(void);
CUresult pins_watch(void); /* begins to end pins whose time is over; once */
mmu_service fault_service;
void trace_fatal(unsigned p, uint64_t va, enum access a, CUresult why);
/* The page's block decides on the fault. */
CUresult fault_locked(const struct mmu_fault *f);

/* --- start.c --- */
extern bool uvm_ready;            /* under the lock: memory and page tables are there */
extern struct backing uvm_memory; /* of all managed pages: offset = address - base */
extern const struct space_owner uvm_owner;
/* Has begun everything, or does now. What failed is tried again by the next call. */
CUresult uvm_make_ready(void);

/* --- engines.c --- */
/* Pages under way that device p's engine may not touch yet; told: that they fault was told of already. */
CUresult engine_request(struct block *b, const struct mask *pages, unsigned p, bool write, bool told);
/* Those of the pages to which that applies. */
struct mask engine_missing(const struct block *b, const struct mask *pages, unsigned p, bool write);
/* The block with the page. */
CUresult engine_block(uint64_t va, struct block **b);
/* What an access that begins at va ends with. */
CUresult engine_end(CUresult r, int ordinal, uint64_t va);

/* --- service.c --- */
/* Pages that fault at the same time; those written; of these, those by atomics of system scope. */
struct request { struct mask pages, writes, atomics; };
/* throttled: the pages that shall wait until *until. */
CUresult service_faults(struct block *b, unsigned p, const struct request *q, bool copy_engine, struct mask *throttled,
                        uint64_t *until);

/* --- entries.c --- */
/* Where the page table entry for an access is, seen from a device's translation. */
enum distance {
    AT_HAND,
    CLOSE,                           /* read some time ago, or its neighbour was */
    NEAR,                            /* half of its neighbour was; for a store */
    /* only the directory is known, and says that there is none, or where */
    NO_TABLE, FAR, FAR_TWO, FAR_TWO_NEAR, FAR_NEW, FAR_NEW_NEAR,
    /* nor is that */
    NO_TABLE_LOST, FAR_LOST, FAR_TWO_LOST, FAR_TWO_NEAR_LOST, FAR_NEW_LOST, FAR_NEW_NEAR_LOST,
    DISTANCES
};
struct sector {
    uint64_t va;                /* of the page whose entry it has */
    uint64_t number, half;      /* half: the one of the two in which the entry is */
    uint64_t directory;         /* what leads there */
    bool mixed;                 /* its line has entries of several kinds: it comes by half */
    /* To how many tables; TWO: by 64 KiB and by page, both are read; NEW: the latter for the first time;
     * NEAR: it answers sooner. */
    enum { NONE, ONE, TWO, TWO_NEAR, NEW, NEW_NEAR } tables;
};
/* Of the entry for va; number 0: its block was freed meanwhile. */
struct sector sector_at(unsigned p, uint64_t va);
/* store: it is for a store that one looks there. */
enum distance sector_distance(unsigned p, struct sector s, bool store);
/* Whether what one brings to hand is what the other needs. */
static inline bool sector_same(struct sector a, struct sector b)
{
    return a.number && a.number == b.number && (!b.mixed || a.half == b.half);
}
void sector_read(unsigned p, struct sector s);
/* Mappings of device p have changed to prot; what is at hand of them is read anew. */
void entries_changed(struct block *b, unsigned p, const struct mask *pages, enum prot prot);
CUresult entries_begin(struct block *b); /* before a device is mapped there. CUDA_ERROR_OUT_OF_MEMORY */
void entries_split(struct block *low, struct block *high);
void entries_end(struct block *b);
void entries_forget(unsigned p); /* nothing is known any more */
void entries_init(void);         /* no table has been made yet */

/* --- batch.c --- */
enum {
    FAULTS_MOST = 1024,
    FETCHED = 256,    /* faults that the driver takes at a time */
    WARP = 32,        /* threads */
    GROUP_PAGES = 8,  /* that one translation of a multiprocessor is for: 32 KiB */
    GROUPS_MOST = 14, /* translations that a multiprocessor has under way at a time */
};
struct faults {
    uint64_t page[FAULTS_MOST]; /* addresses */
    uint8_t access[FAULTS_MOST]; /* enum access */
    unsigned n;
};
static inline void faults_add(struct faults *f, uint64_t page, enum access a)
{
    f->page[f->n] = page;
    f->access[f->n++] = (uint8_t)a;
}
/* What an earlier batch brought, or was freed meanwhile, is no fault any more. */
bool fault_is_over(unsigned p, uint64_t page, enum access a);
/* The access may go on; somebody decides on its fault later. */
CUresult fault_noted(unsigned p, uint64_t va, enum access a);
/* Accesses that were tried again, after their faults: their entries are at hand. */
void entries_tried(unsigned p, const uint64_t *pages, unsigned n);
/* Decides on what still needs it, as one batch. */
CUresult faults_service(struct faults *f, unsigned p);
/* The device faults at va, a page's address; the access may go on. */
CUresult batch_add(unsigned p, uint64_t va, enum access a, uint32_t block);
/* Decides on all faults that have gathered. Before anything else looks at or changes blocks. */
CUresult batch_close_all(bool ended);

/* --- crowd.c: kernels of several threads that all run at once --- */
struct grid { uint64_t blocks, threads, launch; /* 1: the first of the device */ };
CUresult crowd_fault(unsigned p, uint64_t va, enum access a, uint32_t block, const struct grid *g);
CUresult crowd_close(unsigned p);

/* --- lone.c: kernels of one thread --- */
CUresult lone_fault(unsigned p, uint64_t va, enum access a);
CUresult lone_close(unsigned p);
/* The device has nothing to do: its next access is a kernel's first. */
CUresult lone_rest(unsigned p);


/* --- evict.c --- */
/* The window has a chunk on p, to which `pages` are about to come; may evict, so blocks of other windows may change. */
CUresult chunk_take(struct window *w, unsigned p, unsigned pages);
void chunk_give(struct window *w, unsigned p);
/* Residency on p has changed; used: it was the destination of a service. */
void chunk_update(struct window *w, unsigned p, bool used);
void chunk_init(void);
struct vram;
/* vram.reclaim: managed pages leave a full device. */
CUresult chunk_reclaim(struct vram *v, uint64_t size);

#endif
