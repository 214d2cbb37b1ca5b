/* The one unified address space: which addresses exist, what each of them is,
 * and which processors may touch it. An address handed to the user means the
 * same in the host and in every device process.
 *
 * Addresses come from a window that device processes leave free. In the host
 * an address that only devices may touch is PROT_NONE, so a host program that
 * dereferences it gets SIGSEGV.
 *
 * The lock order of the whole library is in doc/architecture.md, "Locks". */
#ifndef FL_SPACE_SPACE_H
#define FL_SPACE_SPACE_H

#include "base/backing.h"
#include <bsd/sys/tree.h>
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context;
struct device;

enum allocation_kind {
    ALLOCATION_DEVICE,             /* cuMemAlloc, module globals */
    ALLOCATION_HOST,               /* cuMemAllocHost, cuMemHostAlloc */
    ALLOCATION_REGISTERED,         /* cuMemHostRegister */
    ALLOCATION_MANAGED,            /* cuMemAllocManaged, __managed__ variables */
    ALLOCATION_RESERVED,           /* cuMemAddressReserve, nothing mapped */
    ALLOCATION_MAPPED,             /* cuMemMap */
    ALLOCATION_IMPORTED,           /* cuIpcOpenMemHandle */
};

/* One allocation as the user sees it: what src/api/pointer.c answers comes from
 * here. Readers without a lock see a copy made by space_publish; who changes a
 * published one calls space_update. base and size never change. */
struct allocation {
    uint64_t base, size;           /* as asked for, bytes */
    uint64_t buffer_id;            /* never reused in a process, never 0 */
    /* what space_glance tells (traits.h) */
    struct device *device;         /* owner, NULL for host memory */
    struct context *context;       /* that it was made in; NULL where the driver says so */
    void *pool;                    /* the CUmemoryPool that it came from, or NULL */
    enum allocation_kind kind : 8;
    uint8_t location; /* of MAPPED and pool memory, CUmemLocationType; 0: on device, or on the host if there is none */
    uint8_t handle_types; /* CUmemAllocationHandleType bits that it can be exported as */
    bool sync_memops : 1;
    bool module_owned : 1; /* cuMemFree refuses it */
    bool dormant : 1;      /* a graph's, not allocated at the moment: pointers to it are unknown */
    bool foreign : 1;      /* has an owner, who says which device may touch it */
    bool host_access : 1;  /* the host may touch MAPPED and pool memory */
    bool ipc_capable : 1, rdma_capable : 1, decompress_capable : 1; /* as cuMemAlloc's is; MAPPED: as its flags say */
    unsigned flags;                /* of cuMemHostAlloc / cuMemAllocManaged */
    /* and no more */
    bool compressed;               /* MAPPED: as its flags say */
    uint64_t mapping_base, mapping_size; /* the slab it lies in; of MAPPED the mapping */
    uint64_t range_base, range_size; /* of MAPPED the reservation; size 0: base and size */
    const struct backing *backing; /* where its bytes are */
    uint64_t offset;               /* of base in backing */
    const struct space_owner *owner; /* who published it; NULL: this folder */
    void *detail;                  /* the owner's */
    RB_ENTRY(allocation) link;
    struct record *record;         /* the copy that readers see */
};

/* Who publishes allocations and maps them itself: managed memory, mapped
 * memory, registered host memory, pools. Every function may be NULL. */
struct space_owner {
    /* Makes what d may touch visible to its new process. Called without locks. */
    CUresult (*attach)(struct device *d);
    /* d's process is gone. */
    void (*detach)(struct device *d);
    /* c dies: frees what belongs to it. Before this folder frees its own. */
    void (*release_context)(struct context *c);
    /* d may now (not) touch memory of peer, as cuCtxEnablePeerAccess. */
    CUresult (*set_peer)(struct device *d, struct device *peer, bool enabled);
    /* What kernels of d may do with a: PROT_DEVICE_*. NULL: read and write. */
    unsigned (*access)(const struct allocation *a, const struct device *d);
    /* The program has unmapped the address of a by itself. With the lock. */
    bool (*unmapped)(const struct allocation *a, uint64_t address);
};
/* Once, when the library is initialised. */
void space_add_owner(const struct space_owner *o);
/* Enters an allocation that its owner made and maps: sets its buffer_id. Its
 * addresses overlap no other's (a mapping's lie in a reservation, which is not
 * published): CUDA_ERROR_INVALID_VALUE. */
CUresult space_publish(struct allocation *a);
/* Shows readers what changed in *a. */
void space_update(struct allocation *a);
/* Takes it out of the tree; freeing *a is up to its owner. */
void space_withdraw(struct allocation *a);
/* Counts allocations that went: while it stays, so does what was looked up. */
uint64_t space_changes(void);
/* As space_withdraw, for the allocation of o's that *copy is a copy of (space_look). NULL: another thread has
 * withdrawn it already. */
struct allocation *space_withdraw_same(const struct space_owner *o, const struct allocation *copy);

/* Addresses and physical memory for an owner to map and to publish pieces of: of d, or of the
 * host (d NULL). size is a multiple of 2 MiB. */
struct space_chunk {
    uint64_t va, offset, size;
    const struct backing *backing;
};
/* A chunk: size bytes, whole multiples of 2 MiB, of d's memory (NULL: the host's). CUDA_ERROR_OUT_OF_MEMORY. */
CUresult space_take(struct device *d, uint64_t size, struct space_chunk *out);
/* The same, with room behind it, if there is such a place. */
CUresult space_take_apart(struct device *d, uint64_t size, struct space_chunk *out);
/* As space_take, with the addresses right behind c. CUDA_ERROR_OUT_OF_MEMORY, too, if these are taken. */
CUresult space_take_behind(struct device *d, const struct space_chunk *c, uint64_t size, struct space_chunk *out);
/* Gives a chunk back. No processor may have it mapped any more. */
void space_give(struct device *d, const struct space_chunk *c);
/* Addresses of d, size bytes if there are so many, fewer if not, but a multiple of `least`: with places in the file behind
 * them, but no memory. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult space_place(struct device *d, uint64_t size, uint64_t least, struct space_chunk *out);
/* The same, of d or (NULL) the host, which do not come again soon once they were given back. */
CUresult space_place_in_turn(struct device *d, uint64_t size, struct space_chunk *out);
/* Gives such addresses back. */
void space_unplace(struct device *d, const struct space_chunk *c);
/* What memory of d (NULL: the host's) lies in. */
CUresult space_backing(struct device *d, const struct backing **out);
/* Memory for size bytes of such addresses, CUDA_ERROR_OUT_OF_MEMORY if d has no more; its end, after which they read as
 * zeros. */
CUresult space_charge(struct device *d, uint64_t size);
void space_uncharge(struct device *d, uint64_t size);

/* cuMemAlloc: device memory of c, aligned to 512 bytes. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult space_alloc_device(struct context *c, uint64_t size, struct allocation **out);
/* The same for what a module needs: module_owned, and not beside memory of cuMemAlloc. align: a power of two, 512 at
 * least and 2 MiB at most. */
CUresult space_alloc_module(struct context *c, uint64_t size, uint64_t align, struct allocation **out);
/* Pinned host memory, the same address on the host and every device. flags: of cuMemHostAlloc. */
CUresult space_alloc_host(struct context *c, uint64_t size, unsigned flags, struct allocation **out);
/* Gives the addresses and the memory back; on return no processor can touch them. */
void space_free(struct allocation *a);
/* As space_free, for the allocation of this folder that *copy is a copy of (space_look). CUDA_ERROR_INVALID_VALUE:
 * another thread has freed it already. */
CUresult space_free_same(const struct allocation *copy);

/* Brings the devices' page tables to what is allocated now. To be called before every launch of a kernel, and
 * once more after it, so that memory that was allocated meanwhile is not missed. */
CUresult space_settle(void);
/* Gives memory of d that is kept for the next cuMemAlloc back to the system. */
void space_trim(struct device *d);
/* Keeps the memory of the cuMemAlloc allocation that begins at base and has that number for
 * another process: when it is freed, the bytes stay as they are until space_unhold. NULL: there is none. */
struct allocation *space_hold(uint64_t base, uint64_t buffer_id);
void space_unhold(struct allocation *a);

/* The allocation that contains address, or NULL. space_find: the pointer is valid until the allocation is freed.
 * space_look copies the allocation instead, and is right even if it is freed meanwhile. Neither takes a lock. */
struct allocation *space_find(uint64_t address);
struct allocation *space_look(uint64_t address, struct allocation *copy);
/* As space_look, but cheaper: of *copy only the members from device up to mapping_base mean something. */
bool space_glance(uint64_t address, struct allocation *copy);
/* Copies the lowest allocation that shares a byte with [address, address+size); false if none does. */
bool space_first(uint64_t address, uint64_t size, struct allocation *copy);
/* What kernels of d may do with a, PROT_DEVICE_*. d NULL: what those of the device that owns it may. */
unsigned space_access(const struct allocation *a, const struct device *d);
/* Whether a is a variable of another context's module: calls in c do not know its address, but may copy (observed on
 * H200). */
bool space_is_private(const struct allocation *a, const struct context *c);
/* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS of the allocation that contains address. CUDA_ERROR_INVALID_VALUE: none does. */
CUresult space_set_sync_memops(uint64_t address, bool on);
/* Says in words what an address is, for fault messages: "4 bytes past the end of
 * the 400-byte allocation at 0x...", "in an allocation of 64 MiB freed before", ... */
void space_describe(uint64_t address, int ordinal, char *out, size_t size);

/* Where the bytes of [address, address+size) can be reached by this process
 * without a fault, if one allocation holds them all; NULL otherwise. For
 * memory that is no allocation of ours, NULL. */
void *space_alias(const struct allocation *a, uint64_t address);
/* Around a copy of what space_alias answered, and from before it is asked whether that is there still (space_changes, say):
 * what goes from now on stays where it is until the copy ends. passing: it is memory of another process or of a pool, which
 * may go; for other memory neither does anything. */
void space_copy_begins(bool passing);
void space_copy_ends(bool passing);
/* Whether any is under way. */
bool space_copies(void);
/* This process does not reach such memory at `at` any more, once no copy is under way. Who begins one now does not find it. */
void space_unmap_view(void *at, uint64_t size);
/* Zeroes a new allocation, which nobody else has seen yet; a large one takes no memory for that. */
void space_clear(const struct allocation *a);

/* Peer access of device d to memory of device peer, as cuCtxEnablePeerAccess. */
CUresult space_set_peer(struct device *d, struct device *peer, bool enabled);
/* Makes everything d may touch visible to its new process. */
CUresult space_attach(struct device *d);
/* Its process is gone. */
void space_detach(struct device *d);
/* Frees all of a dying context's allocations. */
void space_release_context(struct context *c);

/* Whether address is one that only the simulated machine uses, allocated or not. */
bool space_is_ours(uint64_t address);
/* The addresses that reservations, and managed memory, come from. */
uint64_t space_reserve_base(void);
uint64_t space_reserve_end(void);
uint64_t space_import_base(void);  /* and memory of other processes */
uint64_t space_import_end(void);
uint64_t space_managed_base(void);
uint64_t space_managed_end(void);

/* Code memory: readable and executable on d only. */
CUresult space_alloc_code(struct device *d, uint64_t size, uint64_t *va, void **alias);
void space_free_code(struct device *d, uint64_t va, uint64_t size);

#endif
