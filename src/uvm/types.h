/* Unified Memory's story.
 *
 * Managed memory is cut three ways. An allocation is what cuMemAllocManaged
 * gave. A *range* is a piece of an allocation with one policy: advice on a part
 * splits ranges, nothing ever joins them. A *block* is the piece of a range in
 * one naturally aligned 2 MiB window: the unit of servicing, of the prefetcher's
 * tree and of the thrashing detector. Blocks come to be when first needed
 * (windows.c); what nobody has touched has none, whatever was said of it.
 *
 * A page of a block is *resident* on the processors that hold a coherent copy:
 * at most one, or several if it is read-duplicated. (Physically there is one
 * page, ever; see processor/mmu.h.) It is *mapped* on the processors whose page
 * tables permit access. Residency decides what counts as a migration, mapping
 * what faults.
 *
 * faults.c brings a fault to its block, service.c serves it there. What is to be
 * done policy.c decides (where should the page be?), with prefetch.c (what else?)
 * and thrashing.c (or should it stay?), all of which read and change nothing;
 * block.c does it, places.c keeps it. A device's memory is taken by *chunks* of
 * up to 2 MiB, one a window; evict.c takes one back when the device is full.
 *
 * Memory of the program that is not managed, where devices reach it, is cut in
 * the same way; ordinary.c says what is different.
 *
 * Processors: 0 is the host, 1 + k device k. Pages are numbered within their
 * window, in blocks that are smaller than it too. One lock guards everything
 * (base/quiet.h): who holds it waits for page tables' locks alone. */
#ifndef FL_UVM_TYPES_H
#define FL_UVM_TYPES_H

#include "base/mask.h"
#include "base/units.h"
#include "processor/mmu.h"
#include "space/slab.h"
#include "space/space.h"
#include "trace/trace.h"

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>

enum { CPU = 0, PROCESSORS = MMU_PROCESSORS, NOBODY = 255, WINDOW_PAGES = MASK_PAGES,
       WINDOW_BYTES = WINDOW_PAGES * PAGE_BYTES,
       BIG_PAGE = 16 /* pages in 64 KiB, the least that the prefetcher moves */ };

/* Weakest first, as the driver orders them. */
enum access { ACCESS_PREFETCH, ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC_WEAK, ACCESS_ATOMIC_STRONG };
enum prot { PROT_NOTHING, PROT_RO, PROT_RW, PROT_RWA };

enum read_duplication { READ_DUPLICATION_UNSET, READ_DUPLICATION_ENABLED, READ_DUPLICATION_DISABLED };
struct policy {
    enum read_duplication read_duplication;
    unsigned preferred;            /* NOBODY: none */
    int preferred_node;            /* with preferred == CPU: a NUMA node, -1: any */
    uint32_t accessed_by;          /* bit p: processor p */
};
static const struct policy no_policy = { .preferred = NOBODY, .preferred_node = -1 };

struct managed;
struct range {
    uint64_t start, end;           /* page-aligned */
    struct policy policy;
    unsigned mapping;              /* what the program has said of it to the system (ordinary/mappings.h) */
    bool gone;                     /* and has unmapped it: nobody reaches it any more */
    struct managed *owner;
    RB_ENTRY(range) link;
};

/* The entries that a device's page table has for a block (entries.c). */
struct layout {
    bool made;               /* there are some */
    bool whole;              /* one for all of it */
    bool has_big, has_small; /* tables by 64 KiB and by page; once made they stay */
    bool near;               /* the latter is in the half of the device's memory that answers sooner */
    uint32_t big;            /* bit k: that of the window's piece k decides, not those of its pages */
    uint32_t fresh;          /* bit k: of what the table by page has there nothing was read or written yet */
};

/* What a block knows of one processor. */
struct place {
    struct mask resident;
    struct mask mapped[3]; /* by prot - 1: readable, writable, atomic; each within the one before */
};

struct thrashing;                  /* thrashing.c */
struct block {
    struct block *next;            /* in the window, by pages */
    struct window *window;
    struct range *range;
    struct region region;
    uint32_t resident, mapped;     /* bit p: processor p holds, maps some page */
    const struct place *place[PROCESSORS]; /* blocks share them (places.c) */
    struct layout *layout;                 /* by device; NULL: none has entries yet */
    struct mask read_duplicated, discarded;
    struct mask asked_for;         /* ordinary memory: pages that a device has touched, or is about to, before anybody else */
    struct thrashing *thrashing;   /* NULL until it might */
};

enum chunk_list { CHUNK_UNUSED, CHUNK_DISCARDED, CHUNK_USED, CHUNK_LISTS };
/* 2 MiB of a device's memory, taken by a window. */
struct chunk {
    struct window *window;
    unsigned processor;
    enum chunk_list list;
    uint64_t bytes; /* of the device's memory that it counts for: of ordinary memory those of its pages alone */
    TAILQ_ENTRY(chunk) link;
};
struct window {
    uint64_t va;
    bool ordinary;                 /* not managed (ordinary.c) */
    bool discarded;                /* all of it was when it had no blocks: they begin so */
    struct block *blocks;          /* by pages */
    struct chunk *chunk[PROCESSORS];
    /* How often a chunk was taken for it, of one processor, since that last got something done (mmu_progress was `since`). */
    struct {
        uint32_t since;
        uint16_t times;
        uint8_t processor;
    } taken;
};

/* What is free behind an allocation, up to the next one, or at the start of a chunk that several share (holes.c). */
struct hole {
    uint64_t at, size;             /* 0: nothing is */
    struct managed *chunk;
    RB_ENTRY(hole) link;           /* of those that are not empty */
    TAILQ_ENTRY(hole) order;       /* in the chunk, by address */
};

/* An allocation. */
struct piece {
    struct allocation a;
    struct managed *chunk;
    struct hole behind;            /* where others share the chunk */
    unsigned attached;             /* CU_MEM_ATTACH_*; matters where host and kernels take turns */
    const void *stream;            /* that SINGLE names */
    LIST_ENTRY(piece) link;
};
/* Addresses that come and go together. */
struct managed {
    uint64_t start, end;           /* windows */
    struct context *context;       /* that made it */
    bool of_module;                /* for variables */
    struct slab *slab;             /* several allocations share it; NULL: it is one's */
    LIST_HEAD(, piece) pieces;
    uint64_t number;               /* of those that are shared; they count */
    struct hole hole;              /* at its start */
    TAILQ_HEAD(holes_of_chunk, hole) holes;
};

/* Which processor reaches which memory, and how; fixed at cuInit. */
struct topology {
    unsigned processors;
    uint32_t can_access[PROCESSORS];     /* bit q of [p]: p may map memory of q */
    uint32_t native_atomics[PROCESSORS]; /* bit q of [p]: p's atomics work on memory of q */
    uint32_t fast_link[PROCESSORS];
};
extern struct topology topology;

static inline bool can_access(unsigned p, unsigned q) { return topology.can_access[p] >> q & 1; }
static inline bool native_atomics(unsigned p, unsigned q) { return topology.native_atomics[p] >> q & 1; }
static inline uint32_t bit(unsigned p) { return 1u << p; }
/* Those in the set as it is at first. */
#define for_each_processor(p, set) \
    for (unsigned left_##p = (set), p; left_##p && (p = (unsigned)__builtin_ctz(left_##p), true); left_##p &= left_##p - 1)

#endif
