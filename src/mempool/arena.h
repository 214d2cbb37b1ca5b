/* Memory of graphs, as an H200 keeps it. The allocations of one graph on a
 * device lie in the graph's arena: addresses that are its own for its life, in
 * spans of MEMPOOL_MAPPING bytes, within the device's zone. layout.h says where.
 * Memory is apart from that. A device has so many pieces, each as large as a
 * span. A launch, or an upload, gives each span of its graph a piece: the one
 * that it has, or one that nobody needs at the moment, which another graph's span
 * may have to give up, or a new one. Nobody gives pieces back but a trim, or
 * whoever finds memory short.
 *
 * A piece is needed while something in it is allocated and not freed, and while
 * a launch that it was got for is not done, but for later launches in the same
 * stream. Frees by the program itself are waited for in the order of streams.
 *
 * Here a span shows its own place in the file for good, and a piece is a number
 * that counts. A span that gave up its piece so keeps old pages for a while
 * (`stale`): they go when there are more of them than pieces.
 *
 * Everything of a device's zone is guarded by its lock: graphs_lock, a pool's
 * lock, a zone's, then space's. */
#ifndef FL_MEMPOOL_ARENA_H
#define FL_MEMPOOL_ARENA_H

#include "mempool/internal.h"
#include "mempool/layout.h"

/* Points that are waited for. */
struct wait {
    struct mark *mark;
    struct wait *next;
};

struct piece {
    struct span *span;         /* that has it, or NULL */
    bool used;                 /* it ever had room for an allocation: what USED_MEM counts (observed on H200) */
    unsigned live;             /* allocations that lie in it */
    const void *launch;        /* that is being issued and needs it, or NULL */
    const struct arena *arena; /* of the newest launch, */
    struct place place;        /* behind it, */
    struct mark *mark;         /* until that is done */
    struct wait *frees;        /* by the program, which are not done */
    struct piece *next;
};

struct span {
    struct arena *arena; /* NULL: nobody's */
    struct piece *piece;
    bool mapped;       /* devices that may use it have it in their page tables */
    bool stale;        /* it has none, but old pages */
    struct wait *uses; /* what is issued up to these may use its pages, beside what its piece says */
};

struct zone {
    pthread_mutex_t lock;
    pthread_cond_t launched; /* some launch's pieces may be others' */
    struct device *device;
    struct space_chunk place;
    struct span *span; /* NULL: no graph allocated here yet */
    unsigned spans, stale;
    struct piece *pieces;
    unsigned count, used; /* pieces, and of these used; most: since they were set to now */
    unsigned count_most, used_most;
    struct arena *dying; /* arenas that launches still use */
};

struct arena {
    struct mempool *pool; /* the device's, of graphs */
    struct zone *zone;
    uint32_t others;      /* devices beside its own that may use it, as bits */
    unsigned references;  /* a graph, and blocks; with the zone's lock */
    struct layout layout; /* in bytes of the zone; with graphs_lock */
    struct block *blocks; /* kept ones, linked by above and below; with the zone's lock */
    struct arena *next;   /* of the dying */
};

struct zone *zone_of(struct device *d);

/* Whether d may use what lies there. Who asked for access to one allocation has it to all (observed on H200: all lie
 * together). */
static inline bool arena_is_open(const struct arena *a, const struct device *d)
{
    return d == a->zone->device || a->others >> d->ordinal & 1;
}

/* --- arena.c --- */
/* An arena without addresses, with one reference. */
CUresult arena_make(struct mempool *p, struct arena **out);
/* One reference less. */
void arena_release(struct arena *a);
/* Devices that may use it from now on, as bits. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult arena_open(struct arena *a, uint32_t others);
/* A place for size bytes behind what comes_after says. CUDA_ERROR_OUT_OF_MEMORY: the zone is full. */
CUresult arena_take(struct arena *a, uint64_t size, comes_after *after, uint64_t *at);
/* With the zone's lock: ends arenas whose launches are done. */
void arenas_bury(struct zone *z);

/* --- piece.c; with the zone's lock --- */
/* Every span of the arena has a piece that s may use, for a launch, or (launch NULL) an upload. waits: if there is no
 * memory, s waits for pieces that others use, and the caller for launches that are being issued. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult pieces_get(struct arena *a, struct stream *s, const void *launch, bool waits);
/* The launch is issued; point and mark are behind it. */
void pieces_launched(struct zone *z, const void *launch, const struct place *place, struct mark *mark);
/* The pieces below [at, at+size) of the zone: something there is allocated; it is free, behind what was issued into s, if
 * that is not NULL, or with a launch that is being issued. */
void pieces_hold(struct zone *z, uint64_t at, uint64_t size);
CUresult pieces_release(struct zone *z, uint64_t at, uint64_t size, struct stream *s, const void *launch);
/* Gives back what nobody needs. Whether there was any. */
bool pieces_trim(struct zone *z);
/* The span's own: page tables, and what it has. */
CUresult span_map(struct zone *z, const struct span *s, struct device *d);
void span_clear(struct zone *z, struct span *s);
/* Another arena gets it, while its old one's launches use it: the new one's come after these, whatever piece it has then. */
CUresult span_inherit(struct span *s);
/* Whether nothing there is allocated or under way. */
bool span_is_idle(struct span *s);

#endif
