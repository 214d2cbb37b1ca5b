/* Stream-ordered memory: pools, which hold memory in chunks and lend pieces of
 * it in the order of streams. What an allocation is (its kind, its address) is
 * src/space's to answer; the arguments of entry points are checked in src/api.
 *
 * Lending. An address is known at once and usable behind the point of the stream
 * that it was allocated at. What was freed at a point may be lent again to what
 * comes after that point; the CU_MEMPOOL_ATTR_REUSE_* attributes say what counts
 * as coming after.
 *
 * Holding. A chunk is mapped in pieces of MEMPOOL_MAPPING bytes and grows behind
 * its end. A piece stays mapped, whatever was freed in it, until a call that
 * synchronises with the frees finds that the pool holds more than its release
 * threshold, or the pool is trimmed, or memory is short.
 *
 * All sizes are in bytes. Any thread may call any function; a call that fails
 * changes nothing. "(H200)": found in what a real driver answered, not in its
 * manual. Locks: the list of pools, then a pool, then stream -> space -> ... */
#ifndef FL_MEMPOOL_H
#define FL_MEMPOOL_H

#include "mempool/layout.h"
#include "space/space.h"
#include "stream/stream.h"

struct mark;
struct mempool;                    /* CUmemPoolHandle_st */

/* How much is mapped and given back at a time (H200): CU_POINTER_ATTRIBUTE_MAPPING_SIZE, and what attributes count. */
#define MEMPOOL_MAPPING (32ull << 20)

/* At cuInit, once. */
void mempool_init(void);

/* ---- pools */

/* The pool of a handle, which may be any value. CUDA_ERROR_INVALID_VALUE: it is none, or destroyed. */
CUresult mempool_get(CUmemoryPool handle, struct mempool **out);
/* As cuMemPoolCreate describes. CUDA_ERROR_INVALID_VALUE: a property that cannot be, a device that is not there;
 * CUDA_ERROR_NOT_SUPPORTED: a location that pools cannot have; CUDA_ERROR_OUT_OF_MEMORY. */
CUresult mempool_create(const CUmemPoolProps *props, struct mempool **out);
/* Type, handle types and location, as they were given at creation, but that the current NUMA node is a node by now. */
/* What is told of managed memory: its pool's device, if it is at one (observed on H200), else 0. */
CUdevice mempool_ordinal(const struct mempool *p);
void mempool_describe(const struct mempool *p, CUmemPoolProps *props);
/* The handle is invalid on return, unless the pool was imported more than once; what is lent stays until it is freed.
 * CUDA_ERROR_INVALID_VALUE: a default pool, another thread has destroyed it, or it was imported and an allocation in it
 * still is (H200). */
CUresult mempool_destroy(struct mempool *p);

/* The pool that a location has from the start, and the one that allocations there come from: the same, until it is
 * set. CUDA_ERROR_INVALID_DEVICE: a device that is not there; CUDA_ERROR_INVALID_VALUE: no location for this type;
 * CUDA_ERROR_NOT_SUPPORTED: one that cannot have pools; CUDA_ERROR_OUT_OF_MEMORY. */
CUresult mempool_default(CUmemLocation location, CUmemAllocationType type, struct mempool **out);
CUresult mempool_current(CUmemLocation location, CUmemAllocationType type, struct mempool **out);
/* Further CUDA_ERROR_INVALID_VALUE: p is of another location or type, or imported. */
CUresult mempool_set_current(CUmemLocation location, CUmemAllocationType type, struct mempool *p);
/* As mempool_set_current, of a device, for allocations of p's own type (H200). */
CUresult mempool_set_device(int ordinal, struct mempool *p);

/* *value is an int or a cuuint64_t, as cuMemPoolGetAttribute describes. CUDA_ERROR_INVALID_VALUE: no such attribute; a
 * value that it cannot have (high-water marks can only be set to 0: to what is held now); an imported pool, which does
 * not tell what it holds (H200). */
CUresult mempool_get_attribute(struct mempool *p, CUmemPool_attribute attribute, void *value);
CUresult mempool_set_attribute(struct mempool *p, CUmemPool_attribute attribute, const void *value);
/* Gives back mappings that nothing is lent of, while at least keep bytes stay. Memory whose free nobody has waited for
 * counts as lent, even if the free is done (H200). CUDA_ERROR_INVALID_VALUE: an imported pool. */
CUresult mempool_trim(struct mempool *p, uint64_t keep);
/* The same in all pools of d, or, d NULL, of the host, with nothing to stay. Whether that gave anything back. */
bool mempool_shrink(const struct device *d);

/* Who may touch the pool's memory, now and in future. CUDA_ERROR_INVALID_DEVICE: a device that is not there, or the
 * pool's own, which keeps its access (H200); CUDA_ERROR_INVALID_VALUE: no such location or flags;
 * CUDA_ERROR_NOT_SUPPORTED: reading alone, the host's access to a device's memory or none to its own (H200). */
CUresult mempool_get_access(struct mempool *p, CUmemLocation location, CUmemAccess_flags *flags);
CUresult mempool_set_access(struct mempool *p, const CUmemAccessDesc *map, size_t count);

/* ---- lending */

/* size bytes, usable behind what s has now. size 0: address 0 and no error (H200). CUDA_ERROR_INVALID_VALUE: an imported
 * pool, or one destroyed meanwhile; CUDA_ERROR_OUT_OF_MEMORY: nor would waiting for what others have freed help. */
CUresult mempool_alloc(struct mempool *p, uint64_t size, struct stream *s, CUdeviceptr *out);
/* The same from the location's current pool, whichever that is by then. */
CUresult mempool_alloc_current(CUmemLocation location, CUmemAllocationType type, uint64_t size, struct stream *s, CUdeviceptr *out);
/* Behind what s has now. a: what space_look found at address, with a->pool set. CUDA_ERROR_INVALID_VALUE: it does not
 * begin there, or somebody has freed it already. */
CUresult mempool_free(const struct allocation *a, CUdeviceptr address, struct stream *s);
/* The same in no stream's order: the caller answers for uses in progress (cuMemFree). */
CUresult mempool_free_now(const struct allocation *a, CUdeviceptr address);

/* Memory of cuMemAlloc, of which a is what space_look found: it is there until somebody has waited for s, or for its
 * context. */
CUresult mempool_free_later(const struct allocation *a, struct stream *s);
/* The same memory, at once. CUDA_ERROR_INVALID_VALUE: another thread has freed it, or it is to be freed later. */
CUresult mempool_free_device(const struct allocation *a);
/* Frees what nobody uses any more of that, waited for or not. Whether there was any. */
bool mempool_free_idle(void);

/* Counts what pools have given back, and devices' access that was withdrawn: while it stays, so does what mempool_bytes
 * answered. */
uint64_t mempool_changes(void);
/* Copied between space_copy_begins and space_copy_ends. */
/* The bytes of [address, address+size), lent or not, as this process reaches them; NULL: no pool holds them, or d may not
 * use them so. Not those of managed pools. */
char *mempool_bytes(uint64_t address, uint64_t size, const struct device *d, bool write);

/* The calling thread has seen that all is done that was issued into s, or (s NULL) into c's streams, or (both NULL)
 * anywhere: frees among it are usable by all, and pools give back what is more than their threshold. */
void mempool_synchronized(struct context *c, struct stream *s);
/* The same of all that comes before a point (observed on H200); NULL: of nothing. */
void mempool_reached(struct mark *m);

/* ---- memory of graphs (kept.c; arena.h tells the whole story): allocations at one address for a graph's life, while
 * launches allocate them and somebody frees them, again and again. It comes from pools of each device that have no handles. */

struct arena;
struct kept {
    struct arena *arena;
    struct block *block;
    CUdeviceptr address;
};

/* What a graph's allocations on d lie in. With graphs_lock, as all functions that have an arena or keep something.
 * CUDA_ERROR_OUT_OF_MEMORY. */
CUresult mempool_arena(struct device *d, struct arena **out);
/* The graph is gone; what is kept there stays. */
void mempool_arena_drop(struct arena *a);
/* Keeps size bytes, not allocated yet, for a node; see layout.h. others: which devices beside the arena's may use them, as
 * bits. CUDA_ERROR_OUT_OF_MEMORY: the device has no addresses for that. */
CUresult mempool_keep(struct arena *a, uint64_t size, uint32_t others, comes_after *after, struct kept *out);
/* A node of the same graph, point, frees it: its addresses are for nodes that come after that, too.
 * CUDA_ERROR_INVALID_VALUE: those of others do (observed on an H200). */
CUresult mempool_reuse_kept(struct kept k, const void *point, comes_after *after);
/* The node is gone: so is the memory, or, if it is allocated, with its free. */
void mempool_unkeep(struct kept k);
bool mempool_is_allocated(struct kept k);
/* A node of another graph frees what is kept at address. False: nothing is, or its own graph does. */
bool mempool_free_from_outside(CUdeviceptr address);
/* Copies what is kept at address and, if there is such a one, has size bytes there, allocated or not. False: nothing is. */
bool mempool_look_kept(CUdeviceptr address, uint64_t size, struct allocation *copy);
/* The same if space_look finds nothing there: what nodes of graphs, which run later, may name. */
bool mempool_look_any(CUdeviceptr address, uint64_t size, struct allocation *copy);
/* What d may do there: space_access for what was found so. */
unsigned mempool_access_any(const struct allocation *copy, const struct device *d);

/* There is memory for all of an arena, for a launch in s, or (launch NULL) an upload. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult mempool_ready_arena(struct arena *a, struct stream *s, const void *launch);
/* The launch is issued into s, or as much of it as could be. */
void mempool_launched(const void *launch, struct stream *s);
/* A launch allocates it. CUDA_ERROR_INVALID_VALUE: it is allocated. */
CUresult mempool_allocate_kept(struct kept k);
/* As mempool_free, by a launch that is being issued. */
CUresult mempool_free_kept(const struct allocation *a, CUdeviceptr address, struct stream *s, const void *launch);

/* What cuDeviceGetGraphMemAttribute answers, or (set) cuDeviceSetGraphMemAttribute does. CUDA_ERROR_INVALID_VALUE: no such
 * attribute, or one that cannot be set to *value. */
CUresult mempool_kept_attribute(struct device *d, CUgraphMem_attribute attribute, cuuint64_t *value, bool set);
/* Gives back what nobody needs. Whether there was any. */
bool mempool_trim_kept(const struct device *d);
/* Whether pool, an allocation's, is one of graphs. */
bool mempool_of_graphs(const void *pool);

/* ---- sharing with other processes, by descriptor (share.c) */

/* *fd is the caller's. CUDA_ERROR_INVALID_VALUE: the pool was not made to be shared so, or is imported;
 * CUDA_ERROR_OPERATING_SYSTEM: no descriptor to be had. */
CUresult mempool_export(struct mempool *p, CUmemAllocationHandleType type, int *fd);
/* fd stays the caller's. A pool that is imported already is the same one (H200). CUDA_ERROR_INVALID_VALUE: it is no
 * pool's; CUDA_ERROR_OPERATING_SYSTEM, CUDA_ERROR_OUT_OF_MEMORY. */
CUresult mempool_import(int fd, CUmemAllocationHandleType type, struct mempool **out);
/* What another process needs to find the allocation that begins at address. CUDA_ERROR_INVALID_VALUE: none of a pool
 * that is shared does; CUDA_ERROR_OUT_OF_MEMORY: too many were exported. */
CUresult mempool_export_pointer(CUdeviceptr address, CUmemPoolPtrExportData *out);
/* The allocation in p, an imported pool: one that is imported already is where it is, or, of the host's memory,
 * CUDA_ERROR_ALREADY_MAPPED (H200). CUDA_ERROR_INVALID_VALUE: data is not such an allocation's, or it is freed by
 * now; CUDA_ERROR_OUT_OF_MEMORY. */
CUresult mempool_import_pointer(struct mempool *p, const CUmemPoolPtrExportData *data, CUdeviceptr *out);

#endif
