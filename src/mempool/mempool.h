/* Stream-ordered memory: pools that reserve memory in chunks and lend pieces
 * of it in the order of streams. An allocation's address is known at once and
 * is usable behind the point of the stream it was allocated in; what was freed
 * at a point may be lent again to whatever comes after that point.
 *
 * A chunk is mapped in pieces of 32 MiB (as on H200) and grows behind its end. A
 * piece stays mapped, whatever was freed in it, until a call that synchronises
 * with the frees finds that the pool holds more than its release threshold, the
 * pool is trimmed, or memory is short.
 *
 * Locks: the list of pools, then a pool, then stream -> space -> ... */
#ifndef FL_MEMPOOL_H
#define FL_MEMPOOL_H

#include "space/space.h"
#include "stream/stream.h"

struct mempool;                    /* CUmemPoolHandle_st */

/* At cuInit. */
void mempool_init(void);

/* CUDA_ERROR_INVALID_VALUE unless it is a pool that was not destroyed. */
CUresult mempool_get(CUmemoryPool handle, struct mempool **out);
CUresult mempool_create(const CUmemPoolProps *props, struct mempool **out);
void mempool_describe(const struct mempool *p, CUmemPoolProps *props);
/* Default pools: CUDA_ERROR_INVALID_VALUE. What is allocated stays until it is freed. */
CUresult mempool_destroy(struct mempool *p);

/* The pool that a location has from the start, and the one that allocations there come from. */
CUresult mempool_default(CUmemLocation location, CUmemAllocationType type, struct mempool **out);
CUresult mempool_current(CUmemLocation location, CUmemAllocationType type, struct mempool **out);
CUresult mempool_set_current(CUmemLocation location, CUmemAllocationType type, struct mempool *p);
/* Where allocations on a device come from: a pool there, also of managed memory (observed on H200). */
CUresult mempool_set_device(int ordinal, struct mempool *p);

/* value: as cuMemPoolGetAttribute describes. CUDA_ERROR_INVALID_VALUE: no such attribute, or no value for it. */
CUresult mempool_get_attribute(struct mempool *p, CUmemPool_attribute attribute, void *value);
CUresult mempool_set_attribute(struct mempool *p, CUmemPool_attribute attribute, const void *value);
/* Gives unused memory back while at least keep bytes stay reserved. */
CUresult mempool_trim(struct mempool *p, uint64_t keep);
/* Who may touch it. CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED (check_access says what). */
CUresult mempool_get_access(struct mempool *p, CUmemLocation location, CUmemAccess_flags *flags);
CUresult mempool_set_access(struct mempool *p, const CUmemAccessDesc *map, size_t count);

/* size bytes, usable behind what s has now. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult mempool_alloc(struct mempool *p, uint64_t size, struct stream *s, CUdeviceptr *out);
/* a: what space_look found at address; a->pool is set. CUDA_ERROR_INVALID_VALUE: it does not begin there, or somebody freed
 * it already. */
CUresult mempool_free(const struct allocation *a, CUdeviceptr address, struct stream *s);
/* Not in any stream's order: the caller answers for uses in progress. */
CUresult mempool_free_now(const struct allocation *a, CUdeviceptr address);

/* The calling thread has seen that all that was issued into s, or into c's streams (s NULL), or
 * before some event (both NULL) is done: frees among it are usable by all, and pools give back
 * what is more than their threshold. */
void mempool_synchronized(struct context *c, struct stream *s);
/* Gives back what no pool of d (NULL: of the host) needs. Whether that was anything. */
bool mempool_shrink(const struct device *d);

/* --- memory kept for a graph: see kept.c --- */
/* For the life of a graph; not allocated yet. s says which streams come before. */
struct kept {
    CUdeviceptr address;
    uint64_t id;                   /* 0: whichever is there */
};
/* Addresses and memory for size bytes. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult mempool_keep(struct device *d, uint64_t size, struct stream *s, struct kept *out);
/* The graph is gone. If it is allocated, it is given back when it is freed. */
void mempool_unkeep(struct kept k);
bool mempool_is_kept(struct kept k, bool *allocated);
/* In stream order, behind the last free. CUDA_ERROR_INVALID_VALUE: it is allocated. */
CUresult mempool_allocate_kept(struct kept k, struct stream *s);
CUresult mempool_kept_attribute(struct device *d, CUgraphMem_attribute attribute, cuuint64_t *value, bool set);
CUresult mempool_trim_kept(struct device *d);
/* Whether an allocation's pool is the graphs', which has no handle. */
bool mempool_of_graphs(const void *pool);

/* --- other processes: see share.c. CUDA_ERROR_INVALID_VALUE: what is asked for was not made to be shared, or what came
 * from elsewhere is not what it should be. A descriptor that was exported is the caller's. --- */
CUresult mempool_export(struct mempool *p, CUmemAllocationHandleType type, int *fd);
CUresult mempool_import(int fd, CUmemAllocationHandleType type, struct mempool **out);
CUresult mempool_export_pointer(CUdeviceptr address, CUmemPoolPtrExportData *out);
CUresult mempool_import_pointer(struct mempool *p, const CUmemPoolPtrExportData *data, CUdeviceptr *out);

#endif
