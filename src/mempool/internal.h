/* What the files of this folder share: pools, their chunks, the blocks of a chunk.
 *
 * The blocks of a chunk lie side by side, free ones and lent ones, linked in
 * the order of addresses. A free block remembers where in which stream it was
 * freed, until that is known to be done for everybody. Free blocks with the
 * same memory of this lie merged. Blocks are never given back to the system and
 * stay with their pool, so a stale pointer to one is still a block. Those of an
 * imported pool lie in no order, and are there until their frees are done.
 *
 * Everything of a pool is guarded by its lock. */
#ifndef FL_MEMPOOL_INTERNAL_H
#define FL_MEMPOOL_INTERNAL_H

#include "base/objects.h"
#include "base/units.h"
#include "mempool/mempool.h"
#include "stream/point.h"

enum { BLOCK_UNIT = 512 /* addresses are multiples of it, as on H200 */ };

/* Neither a pool nor a block can be of so much, whatever is given back (observed on H200: a pool has addresses for all of
 * it from the start). */
static const uint64_t MEMPOOL_TOO_LARGE = 1ull << 46;

enum block_state { BLOCK_SPARE, BLOCK_FREE, BLOCK_LENT };
/* Whose nodes free memory of a graph: the graph's own node, or those of others. */
enum block_freer { FREER_NONE, FREER_OWN, FREER_OTHERS };

struct block {
    struct allocation a;           /* of a lent block; published */
    enum block_state state;
    struct chunk *chunk;
    struct arena *arena;           /* of memory of graphs, instead of the chunk; */
    uint32_t others;               /* and which devices may use it beside its own */
    uint64_t at, size;             /* bytes in the chunk, or in the arena's zone */
    struct block *below, *above;   /* neighbours; above also links spare blocks */
    bool bound;                    /* usable only where place allows it; of a lent block, as it was before */
    struct place place;            /* where it was last freed */
    struct mark *mark;             /* of that free, which must be done first; NULL: it is */
    bool kept;                     /* of memory of graphs: for a node that there is yet (kept.c), */
    enum block_freer freer;        /* which is freed by these */
    bool allocated;                /* by a launch, and not freed since */
    uint32_t slot;                 /* in the export table (share.c), 0: none */
    RB_ENTRY(block) by_size;       /* of the pool's free blocks */
};
RB_HEAD(free_tree, block);

/* What a caller has waited for: one of these, or, if none is set, everything. */
struct waited {
    struct context *context;       /* all of its streams */
    struct stream *stream;
    const struct mark *mark;       /* what comes before it */
};

/* Bytes of a chunk whose free, at a place, nobody has synchronised with. */
struct unseen {
    struct place place;            /* the last, of what one stream has freed side by side */
    uint64_t from, to;
};

enum { FREES_KNOWN = 16 };

struct chunk {
    struct space_chunk memory;     /* addresses and, but for shared and managed pools, the memory itself; of an imported
                                    * one no memory is counted */
    struct backing view;           /* of a shared pool without an alias of the whole file */
    uint64_t offset;               /* in the backing */
    struct allocation *managed;    /* of a managed pool: the allocation that nobody sees */
    struct mempool *pool;
    struct block *first, *last;    /* last: not of an imported pool */
    unsigned lent;                 /* blocks */
    struct unseen unseen[FREES_KNOWN];
    unsigned unseen_count;
    struct chunk *next;
};

struct mempool {
    struct object_link link;
    _Atomic bool valid;            /* the handle */
    bool in_use;                   /* the object: until the last allocation is freed */
    bool is_default, imported;
    _Atomic bool exported;
    unsigned imports;              /* how often it was imported and not destroyed since; with the list's lock */
    CUmemAllocationType type;
    CUmemLocation location;        /* HOST_NUMA_CURRENT resolved */
    CUmemAllocationHandleType handle_types;
    uint64_t limit;                /* bytes reserved at most */
    struct device *device;         /* whose memory it lends; NULL: the host's, or managed */
    unsigned char access[MAX_DEVICES]; /* PROT_DEVICE_* of each device's kernels; of a managed pool only what is told */
    unsigned char host_access;     /* what is told of it */

    pthread_mutex_t lock;
    int follow, opportunistic, internal; /* CU_MEMPOOL_ATTR_REUSE_*: 0 or 1 */
    uint64_t threshold;            /* bytes that may stay when nobody needs them */
    uint64_t reserved, used;       /* bytes held; lent. Here and below, high: the most since it was set to now */
    uint64_t reserved_high, used_high;
    bool graphs;                   /* it stands for memory of graphs, and has no chunks (arena.h) */
    unsigned lent;                 /* blocks */
    unsigned bound;                /* free blocks that are */
    struct chunk *chunks;
    struct free_tree free;
    struct block *spare;           /* for use again */
    struct share *share;           /* exportable and imported ones: share.c */
    struct mempool *next;          /* in the list of pools in use */
};

/* --- mempool.c: the list --- */
extern pthread_mutex_t mempools_lock;  /* before a pool's */
extern struct mempool *mempools;
struct mempool *mempool_new(void);
/* The same with these properties, which were checked. */
CUresult mempool_make(const CUmemPoolProps *props, struct mempool **out);
/* With the list's lock: its handle is valid from now on. */
void mempool_enter(struct mempool *p);
/* One that was not entered. */
void mempool_discard(struct mempool *p);
/* Whether its handle is invalid and nothing is lent any more. */
bool mempool_finished(const struct mempool *p);
/* Without locks: forgets a pool that is finished, once its memory is. */
void mempool_finish(struct mempool *p);

/* --- location.c --- */
/* The number of a location that may have pools of this type. CUDA_ERROR_INVALID_DEVICE: a device that is not there;
 * CUDA_ERROR_INVALID_VALUE: no such location; CUDA_ERROR_NOT_SUPPORTED. */
CUresult mempool_place(CUmemLocation l, CUmemAllocationType type, unsigned *place);
/* With the list's lock: allocations do not come from p any more, which ends. */
void location_forget(struct mempool *p);

/* --- access.c --- */
extern const struct space_owner mempool_owner;

/* --- chunk.c --- */
/* A chunk for size bytes, mapped where the pool's access says, with one free block; of an imported
 * pool with none, showing the file from offset on. */
CUresult chunk_new(struct mempool *p, uint64_t size, uint64_t offset, struct chunk **out);
/* Makes a chunk larger, such that it ends with room of size bytes for s. */
bool chunk_grow(struct mempool *p, uint64_t size, struct stream *s);
/* Whether its memory is mapped piece by piece: managed memory is not, what has a view of its own shows
 * that as a whole. */
bool chunk_divisible(const struct chunk *c);
/* The memory of size bytes, from `from` on, is the system's again; of a managed chunk all of it. */
void chunk_free_memory(struct chunk *c, uint64_t from, uint64_t size);
/* What mempool_changes counts has happened. */
void chunks_changed(void);
CUresult chunk_map(const struct chunk *c, struct device *d);
void chunk_unmap(const struct chunk *c, struct device *d);
struct backing *chunk_backing(struct chunk *c);

/* --- release.c --- */
/* Releases unused chunks while the pool would still hold `keep` bytes. Whether there was anything. */
bool chunks_release(struct mempool *p, uint64_t keep);
/* The same, but only of chunks whose frees were seen by a call that waited for them. */
bool chunks_release_seen(struct mempool *p, uint64_t keep);
/* The same of what is more than the threshold: whole mappings, until the pool holds no more than the threshold
 * (observed on H200). */
void chunks_release_surplus(struct mempool *p);

/* --- block.c --- */
struct block *block_new(struct mempool *p);
void block_insert_free(struct mempool *p, struct block *b);
void block_remove_free(struct mempool *p, struct block *b);
/* Nothing need be waited for any more. */
void block_unbind(struct mempool *p, struct block *b);
/* Joins a free block with its neighbours where they are bound alike. The result. */
struct block *block_merge(struct mempool *p, struct block *b);
/* A free block becomes one of size bytes and, above it, a free rest. False: no memory for that. */
bool block_cut(struct mempool *p, struct block *b, uint64_t size);
void block_spare(struct mempool *p, struct block *b);
/* A free block of at least size bytes that s may use at once. */
struct block *block_find(struct mempool *p, uint64_t size, struct stream *s);
/* Whether s may use a free block at once. */
bool block_usable(const struct mempool *p, struct block *b, struct stream *s);
/* The same, but s is made to wait for what the memory waits for. */
struct block *block_find_waiting(struct mempool *p, uint64_t size, struct stream *s);
/* A free block of an imported pool that nothing need be waited for. */
void block_drop_imported(struct mempool *p, struct block *b);
/* Unbinds free blocks whose frees are done: those that the policies let everybody use then, and those that the caller
 * has waited for (NULL: for nothing). */
void blocks_settle(struct mempool *p, const struct waited *w);

/* --- alloc.c --- */
/* Publishes a block that is out of the tree. */
CUresult block_lend(struct mempool *p, struct block *b, uint64_t size);
/* Whether b, the copy's detail, is still lent as it was then. */
bool block_is(const struct block *b, const struct allocation *copy);
/* The next synchronising call has something to do. */
void mempool_note_free(void);

/* --- unseen.c --- */
void unseen_note(struct chunk *c, const struct unseen *n);
/* These bytes are used again. */
void unseen_lent(struct chunk *c, uint64_t from, uint64_t to);
bool unseen_any(const struct chunk *c, uint64_t from, uint64_t to);
/* The chunk is from now on what it was of these bytes. */
void unseen_cut(struct chunk *c, uint64_t from, uint64_t to);
/* What was waited for is seen. Whether anything is left. */
bool unseen_wait(struct chunk *c, const struct waited *w);
bool was_waited_for(const struct place *p, const struct waited *w);

/* --- later.c --- */
/* Frees what was freed in s, or in c's streams, or (both NULL) in any, and nobody uses any more. Whether there was any. */
bool later_free(const struct context *c, struct stream *s);

/* --- kept.c --- */
/* What devices may use of memory of graphs is visible to d's new process. */
CUresult mempool_attach_kept(struct device *d);
/* As mempool_bytes. */
char *mempool_kept_bytes(uint64_t address, uint64_t size, const struct device *d);

/* --- share.c --- */
CUresult share_new(struct mempool *p);
void share_free(struct mempool *p);
/* The chunk's memory is the pool's own; its place in the file is set. */
CUresult share_chunk(struct mempool *p, struct chunk *c);
/* Nothing of it is used any more, `size` bytes from `from` on: a view of its own is gone. */
void share_unmap(struct chunk *c, uint64_t from, uint64_t size);
/* The alias shows as many bytes more of the file. CUDA_ERROR_OUT_OF_MEMORY: it cannot. */
CUresult share_grow(struct chunk *c, uint64_t bytes);
/* Where the pool's memory is, whatever the chunk; NULL: each chunk has a view of its own. */
struct backing *share_backing(const struct mempool *p);
void share_forget(struct block *b);

#endif
