/* What managed memory needs, once: at cuInit, with the first allocation, with each
 * device process that begins or ends, and in a forked child. */
#include "context/context.h"
#include "ordinary/mappings.h"
#include "uvm/internal.h"
#include "uvm/pageable.h"
#include "uvm/uvm.h"

#include <sched.h>
#include <sys/mman.h>

struct topology topology;
bool uvm_ready;
struct backing uvm_memory;

/* ---- the first allocation */

/* Each of these does its part once, however often it is asked after a failure of another. */
static CUresult make_memory(void)
{
    if (uvm_memory.id) return CUDA_SUCCESS;
    return backing_create_huge(&uvm_memory, "faultline-managed", space_managed_end() - space_managed_base());
}

static CUresult make_tables(void)
{
    static bool made;
    CUresult r = made ? CUDA_SUCCESS : mmu_init(&uvm_memory, space_managed_base(), fault_service);
    made = !r;
    return r;
}

static CUresult begin_pageable(void)
{
    static bool begun;
    bool host_tables =
        profile_attribute(devices[0].profile, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
    CUresult r = begun ? CUDA_SUCCESS : pageable_begin(!host_tables);
    begun = !r;
    return r;
}

static CUresult attach_all(void)
{
    CUresult r = CUDA_SUCCESS;
    for (int k = 0; k < device_count && !r; k++)
        if (devices[k].processor) r = mmu_attach(1 + (unsigned)k);
    return r;
}

/* The first managed allocation brings the machinery. */
CUresult uvm_make_ready(void)
{
    CUresult r = CUDA_SUCCESS;
    if (uvm_ready) return r;
    if ((r = windows_init()) || (r = pins_watch()) || (r = make_memory()) || (r = make_tables()) ||
        (r = begin_pageable()) || (r = attach_all()))
        return r;
    uvm_ready = true;
    return r;
}

void uvm_in_child(void)
{
    atomic_store(&uvm_unsettled, false);
    if (uvm_ready) mappings_end_in_child(space_managed_base(), space_managed_end());
}

/* ---- processes */

/* A device that is gone holds nothing: what it held is the host's, as it was last written. */
static void detach(struct device *d)
{
    unsigned p = 1 + (unsigned)d->ordinal;
    if (!uvm_ready) return;
    mmu_detach(p);
    uvm_enter();
    ranges_forget_processor(p);
    quiet_unlock(&uvm_lock);
}

/* Others may be about to publish, or to free, what is found here: then it is looked at again. */
static void release_context(struct context *c)
{
    for (;;) {
        struct allocation a;
        quiet_lock(&uvm_lock);
        struct managed *m = uvm_ready ? range_owned_by(c) : NULL;
        uint64_t base = m ? LIST_FIRST(&m->pieces)->a.base : 0;
        quiet_unlock(&uvm_lock);
        if (!m) return;
        bool freed = space_look(base, &a) && a.base == base && a.context == c && !uvm_free_same(&a);
        if (!freed) sched_yield();
    }
}

/* Kernels that reach ordinary memory may fault before there is managed memory. */
static CUresult attach(struct device *d)
{
    CUresult r = CUDA_SUCCESS;
    /* with the lock: what becomes ready meanwhile attaches the devices that it sees */
    quiet_lock(&uvm_lock);
    if (uvm_ready)
        r = mmu_attach(1 + (unsigned)d->ordinal);
    else if (uvm_pageable)
        r = uvm_make_ready();
    quiet_unlock(&uvm_lock);
    return r;
}

static bool unmapped(const struct allocation *a, uint64_t address)
{
    (void)a;
    quiet_lock(&uvm_lock);
    bool gone = !range_at(address);
    quiet_unlock(&uvm_lock);
    return gone;
}

const struct space_owner uvm_owner = {
    .attach = attach, .detach = detach, .release_context = release_context, .unmapped = unmapped
};

/* ---- cuInit */

/* Links between devices as the profile's p2p answers say; to the host a bus, or a link by which it
 * reaches their memory. */
static void describe_machine(void)
{
    const struct profile *o = devices[0].profile;
    uint32_t gpus = ((1u << device_count) - 1) << 1;
    uint32_t linked = o->p2p[CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED] ? gpus : 0,
             atomics = o->p2p[CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED] ? linked : 0;
    bool coherent = profile_attribute(o, CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST);
    uint32_t host = coherent ? bit(CPU) : 0;
    topology.processors = 1 + (unsigned)device_count;
    topology.can_access[CPU] = topology.native_atomics[CPU] = bit(CPU) | (coherent ? gpus : 0);
    topology.fast_link[CPU] = coherent ? gpus : 0;
    for (unsigned p = 1; p < topology.processors; p++) {
        topology.can_access[p] = linked | bit(p) | bit(CPU);
        topology.native_atomics[p] = atomics | bit(p) | host;
        topology.fast_link[p] = (atomics & ~bit(p)) | host;
    }
}

bool uvm_watches_launches;

CUresult uvm_before_launch(int ordinal, const void *stream)
{
    if (uvm_pageable) pageable_review();
    return uvm_exclusive ? exclusive_lend(ordinal, stream) : CUDA_SUCCESS;
}

void uvm_init(bool (*runs)(const void *stream))
{
    exclusive_init(runs);
    describe_machine();
    uvm_exclusive = !profile_attribute(devices[0].profile, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
    uvm_pageable = profile_attribute(devices[0].profile, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
    uvm_watches_launches = uvm_exclusive || uvm_pageable;
    chunk_init();
    entries_init();
    space_add_owner(&uvm_owner);
    for (int k = 0; k < device_count && !uvm_exclusive; k++) devices[k].vram.reclaim = chunk_reclaim;
}
