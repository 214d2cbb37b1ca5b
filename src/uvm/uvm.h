/* Unified Memory: managed allocations, their policy, and where each page is.
 * Modelled on the published behaviour of the real driver: see types.h for the
 * story. Addresses and sizes need not be page-aligned where an entry point's
 * need not; ranges are rounded out to pages.
 *
 * A location is a CUmemLocation that the API layer has checked: DEVICE with a
 * valid ordinal, HOST, HOST_NUMA with a node, HOST_NUMA_CURRENT resolved to a node. */
#ifndef FL_UVM_UVM_H
#define FL_UVM_UVM_H

#include "space/space.h"

/* At cuInit. runs: whether a stream has something on its device; waits for no lock. */
void uvm_init(bool (*runs)(const void *stream));

/* In a forked child, which has no managed memory whatever the program told the system of it. */
void uvm_in_child(void);

/* cuMemAllocManaged, managed pools (c NULL: of no context). Published; attach is CU_MEM_ATTACH_*. What is
 * smaller than 2 MiB shares chunks of 2 MiB: mapping_base and mapping_size say which. */
CUresult uvm_alloc(struct context *c, uint64_t size, unsigned attach, struct allocation **out);
/* __managed__ variables. */
CUresult uvm_alloc_module(struct context *c, uint64_t size, struct allocation **out);
void uvm_free(struct allocation *a);
/* The same of the allocation that copy is of. CUDA_ERROR_INVALID_VALUE: somebody freed it already. */
CUresult uvm_free_same(const struct allocation *copy);

/* Whether [va, va+size) lies in managed memory with no gap. */
bool uvm_covers(uint64_t va, uint64_t size);

/* Policy: takes effect at once. The range is covered. */
CUresult uvm_advise(uint64_t va, uint64_t size, CUmem_advise advice, CUmemLocation location);
/* Moves, duplicates, populates; the calling thread does the work (a stream's turn has come). */
CUresult uvm_prefetch(uint64_t va, uint64_t size, CUmemLocation location);
/* in_place: where it is to be prefetched next; pages stay where they are, and mapped (observed on H200). */
CUresult uvm_discard(uint64_t va, uint64_t size, bool in_place);

/* A device's copy engine is about to touch managed memory (copies, memsets): faults and migrates
 * by the same table. Memory that is not managed is skipped. To a full device, from which nothing can be
 * evicted, it is an access to nothing, as a kernel's (observed on H200): CUDA_ERROR_ILLEGAL_ADDRESS, which stays. */
enum uvm_engine { UVM_COPIES_FROM, UVM_COPIES_TO, UVM_FILLS };
CUresult uvm_copy_engine(int ordinal, uint64_t va, uint64_t size, enum uvm_engine does);
/* The same of rows of `width` bytes from va on, `pitch` bytes apart, in slices; what lies between them it does not touch. */
struct uvm_box {
    uint64_t va;
    size_t width, pitch, height, slice, depth;
};
CUresult uvm_copy_engine_box(int ordinal, const struct uvm_box *box, enum uvm_engine does);

/* The devices are idle, as far as somebody waited for them: decides on the faults that have gathered.
 * Whoever reads what was traced calls it. */
void uvm_settle(void);
/* The calling thread is about to wait for a device, if that has not done its work yet; has waited, which settles. */
void uvm_before_wait(void);
void uvm_after_wait(void);

/* Faults whose threads have gone on are told of completely: a thread goes on before the service of its fault ends. */
void uvm_catch_up(void);

/* A kernel is about to be issued into the stream. Called if uvm_watches_launches. */
extern bool uvm_watches_launches;
CUresult uvm_before_launch(int ordinal, const void *stream);
/* And was, or failed to be. Called if uvm_exclusive, after each uvm_before_launch that succeeded. */
void uvm_after_launch(const void *stream, bool issued);

/* A kernel of so many blocks, and threads in all, is sent to the device; how its faults arrive depends on it. Costs a store. True: it
 * is to tell of its accesses to managed memory. */
bool uvm_launching(int ordinal, uint64_t blocks, uint64_t threads);

/* Devices with pageable memory access: all of [va, va+size) is ordinary memory of the host that kernels may
 * read; write: and write. */
extern bool uvm_pageable;
bool uvm_reaches(uint64_t va, uint64_t size, bool write);

/* Devices without concurrent managed access; nothing of this happens where uvm_exclusive is false. What a
 * launched kernel may touch is its device's, and the host may not touch it until somebody has seen the
 * stream idle. */
extern bool uvm_exclusive;
/* Of the streams to which something is lent, from those that are chosen, unless a launch is on its way there;
 * `chosen` takes no locks. */
void uvm_take_back(bool (*chosen)(const void *stream, const void *arg), const void *arg);
/* While a host function runs the host may touch what was lent to streams that have nothing on the device. */
void uvm_host_function_begins(void);
CUresult uvm_host_function_ends(void);
/* In stream order: who may touch the allocation at va from now on. */
CUresult uvm_attach(uint64_t va, unsigned flags, const void *stream);
/* The stream is no more: what was attached to it is as it was allocated. */
void uvm_stream_gone(const void *stream);

/* Where each page is: 0 nowhere, 1 the host, 2 + k device k; 0x80: there are copies. */
void uvm_residency(uint64_t va, uint64_t pages, uint8_t *out);

#endif
