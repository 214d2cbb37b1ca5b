/* Virtual memory management: addresses, physical memory and the tie between
 * them are three things.
 *
 *   reservation   addresses with nothing behind them          reservation.c
 *   memory        physical memory without an address          memory.c
 *   handle        a user's name for a memory, counted         handle.c
 *   mapping       a whole memory at addresses of reservations mapping.c
 *   access        what each processor may do with a mapping   access.c
 *
 * A memory lives while a handle, a mapping, another memory that uses it, or a
 * descriptor that was exported of it lives. A mapping is published in the space as an
 * ALLOCATION_MAPPED whose owner is vmm_owner, in no context: it outlives them
 * all. Each processor's page table holds exactly what its access says; nothing
 * here is checked by software on a kernel's path.
 *
 * Sizes and offsets are in bytes. "(H200)": found in what a real driver answered.
 *
 * Lock: one, vmm_lock, between the context table's and the space's. Functions
 * named vmm_* take it; those named memory_*, mapping_* (internal.h) want it held. */
#ifndef FL_VMM_VMM_H
#define FL_VMM_VMM_H

#include "context/context.h"
#include "space/space.h"
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VMM_GRANULARITY = 2 << 20,
    VMM_CHUNK = 32 << 20 /* in which the driver takes addresses from the system (H200) */
};

/* ---- reservations */
/* size: a multiple of VMM_GRANULARITY; alignment: a power of two, 0: any; hint: an address
 * that is rather taken than others. CUDA_ERROR_OUT_OF_MEMORY: no addresses in a row, or no memory to remember them. */
CUresult vmm_reserve(uint64_t size, uint64_t alignment, uint64_t hint, uint64_t *base);
/* CUDA_ERROR_INVALID_VALUE unless exactly this was reserved and nothing is mapped in it; CUDA_ERROR_OUT_OF_MEMORY. */
CUresult vmm_reservation_free(uint64_t base, uint64_t size);

/* ---- physical memory */
struct vmm_memory;

/* What is special about a memory that is not plain bytes (a multicast object). */
struct vmm_memory_kind {
    /* Which bytes d (NULL: the host) sees at `at` in the memory, and how many of them lie in a row (at most
     * size - at); false: nothing is there for it, for *length bytes. NULL: what the memory's own fields say. */
    bool (*view)(const struct vmm_memory *m, const struct device *d, uint64_t at, const struct backing **b,
                 uint64_t *offset, uint64_t *length);
    /* Brings p's page table from whatever it shows of a mapping at va to what access permits. NULL: it is mapped
     * as view says. */
    CUresult (*show)(const struct vmm_memory *m, struct processor *p, uint64_t va, unsigned access);
    /* Whether d (NULL: the host) may be given access to it: CUDA_ERROR_*. NULL: the rule of plain memory. */
    CUresult (*may_access)(const struct vmm_memory *m, const struct device *d);
    /* A new descriptor by which another process can import it. NULL: there is none. */
    CUresult (*export)(const struct vmm_memory *m, int *fd);
    /* What is special about a permitted access at `at`, in words for a message. NULL: nothing. */
    const char *(*hint)(const struct vmm_memory *m, uint64_t at);
    /* The last reference is gone; frees what detail has. Under vmm_lock. */
    void (*destroy)(struct vmm_memory *m);
};

struct vmm_memory {
    CUmemAllocationProp prop;      /* as read back */
    uint64_t size;
    struct device *device;         /* NULL: the host's */
    const struct backing *backing; /* NULL: kind->view says */
    uint64_t offset;               /* in backing */
    const struct vmm_memory_kind *kind; /* NULL: plain */
    void *detail;                  /* the kind's */
    unsigned references;           /* handles, and other memories; under vmm_lock */
    struct vmm_mapping *mappings;  /* list; each holds a handle */
    struct space_chunk chunk;      /* its part of the capacity; size 0: none */
    struct vmm_own *own;           /* its own memfd (memory.c), or NULL */
};

/* size: a multiple of VMM_GRANULARITY. Checks prop as cuMemCreate does: CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_DEVICE;
 * CUDA_ERROR_NOT_PERMITTED: a fabric handle without a channel (fabric.h). CUDA_ERROR_OUT_OF_MEMORY: the capacity, or the
 * system's. */
CUresult vmm_create(uint64_t size, const CUmemAllocationProp *prop, CUmemGenericAllocationHandle *out);
/* The user holds the handle once less. CUDA_ERROR_INVALID_VALUE: he does not hold it. */
CUresult vmm_release(CUmemGenericAllocationHandle h);
/* Answers for a released handle too, as long as it is remembered (H200). CUDA_ERROR_INVALID_VALUE: it is none. */
CUresult vmm_properties(CUmemGenericAllocationHandle h, CUmemAllocationProp *prop);
/* type is one bit, which was requested when the memory was made: else CUDA_ERROR_INVALID_VALUE. out: an int, or a
 * CUmemFabricHandle. */
CUresult vmm_export(CUmemGenericAllocationHandle h, CUmemAllocationHandleType type, void *out);
/* The descriptor stays the caller's. CUDA_ERROR_UNKNOWN: it is none of ours. */
CUresult vmm_import_descriptor(int fd, CUmemGenericAllocationHandle *out);
/* See fabric.h for what can be wrong. */
CUresult vmm_import_fabric(const CUmemFabricHandle *from, CUmemGenericAllocationHandle *out);
/* Frees memory of which only exported descriptors were left, if these are closed by now. To be called before free
 * memory is counted or taken. */
void vmm_settle(void);
/* For other kinds: a handle for a memory whose fields the caller has set; takes over one reference of it. */
CUresult vmm_handle_new(struct vmm_memory *m, CUmemGenericAllocationHandle *out);
/* The memory that a live handle names, with a reference for the caller, which vmm_memory_put returns.
 * CUDA_ERROR_INVALID_VALUE. */
CUresult vmm_memory_get(CUmemGenericAllocationHandle h, struct vmm_memory **out);
/* The same of the memory mapped at address; where address lies in it, and how much of the mapping is left from there. */
CUresult vmm_memory_at(uint64_t address, struct vmm_memory **out, uint64_t *offset, uint64_t *left);
void vmm_memory_put(struct vmm_memory *m);

/* ---- mappings */
/* A whole memory: offset 0 and its size, else CUDA_ERROR_NOT_SUPPORTED. No access is given. The user need not hold the
 * handle if something else is mapped by it (observed on H200). CUDA_ERROR_INVALID_VALUE: no handle, a tile pool, not all of
 * it reserved, or something is mapped there; CUDA_ERROR_OUT_OF_MEMORY. */
CUresult vmm_map(uint64_t va, uint64_t size, uint64_t offset, CUmemGenericAllocationHandle h);
/* va is reserved and [va, va+size) cuts through no mapping, else CUDA_ERROR_INVALID_VALUE; parts of it where nothing is
 * mapped are skipped, even if they are not reserved (observed on H200). On return no processor can touch it. */
CUresult vmm_unmap(uint64_t va, uint64_t size);
/* Whether [va, va+size) ends within a mapping, or with one that lies behind a hole and in it as a whole (observed on H200). */
bool vmm_spans(uint64_t va, uint64_t size);
/* Counts mappings that went, and changes of access: while it stays, so does what vmm_pieces answered. */
uint64_t vmm_changes(void);
/* The handle that was mapped at address, which the user holds once more. CUDA_ERROR_INVALID_VALUE: nothing is mapped. */
CUresult vmm_retain(uint64_t address, CUmemGenericAllocationHandle *out);

/* ---- access: in effect for every processor on return */
/* [va, va+size) begins and ends with whole mappings. Those in a row from va on get all descriptions, one after the
 * other, up to where a location cannot reach one; behind a hole nothing changes. CUDA_ERROR_INVALID_VALUE: there are no
 * such mappings, or a description is wrong; CUDA_ERROR_NOT_SUPPORTED: the location cannot reach the memory;
 * CUDA_ERROR_OUT_OF_MEMORY: nothing was changed. */
CUresult vmm_set_access(uint64_t va, uint64_t size, const CUmemAccessDesc *desc, size_t count);
/* *flags: a CUmemAccess_flags; of memory of other kinds: none. CUDA_ERROR_INVALID_VALUE: there is nothing at address, and
 * *flags is 0; CUDA_ERROR_INVALID_DEVICE. */
CUresult vmm_get_access(uint64_t address, const CUmemLocation *location, unsigned long long *flags);

/* The reservation that contains address; false: there is none. */
bool vmm_reserved(uint64_t address, uint64_t *base, uint64_t *size);

/* ---- for those who ask what an address is, or copy */
extern const struct space_owner vmm_owner;

/* As space_describe, for addresses that are mapped or reserved, too; for those only if nobody holds vmm_lock. */
void vmm_describe_any(uint64_t address, int ordinal, char *out, size_t size);

/* A run of bytes that this process can reach. Never faults, even if it is unmapped meanwhile. */
struct vmm_piece {
    char *bytes;
    uint64_t size;
};
/* [va, va+size) as pieces in order, if d may do with all of it what is asked: the number of pieces, of which the
 * first `room` are written; 0 if some of it is not mapped or not permitted. */
size_t vmm_pieces(uint64_t va, uint64_t size, const struct device *d, bool write, struct vmm_piece *pieces,
                  size_t room);

#endif
