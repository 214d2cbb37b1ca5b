/* Managed allocations, and the way from a fault to its service. */
#include "uvm/uvm.h"
#include "base/log.h"
#include "base/thread.h"
#include "context/context.h"
#include "uvm/attributes.h"
#include "uvm/internal.h"
#include "uvm/pageable.h"

#include <sched.h>
#include <sys/mman.h>
#include <time.h>

struct quiet_mutex uvm_lock = QUIET_MUTEX_INITIALIZER;
struct topology topology;
_Atomic bool uvm_unsettled;

static bool ready;            /* under the lock: memory and page tables are there */
static struct backing memory; /* of all managed pages: offset = address - base */
static pthread_cond_t pins = PTHREAD_COND_INITIALIZER;

/* ---- pins that end by themselves */

static void *watch_pins(void *arg)
{
    quiet_begin(); /* for ever: no signal is for this thread */
    quiet_lock(&uvm_lock);
    for (;;) {
        uint64_t next = thrashing_unpin(uvm_now());
        if (!next) {
            pthread_cond_wait(&pins, &uvm_lock.mutex);
            continue;
        }
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        uint64_t wait = next - uvm_now(), at = (uint64_t)t.tv_nsec + wait + 20000;
        t.tv_sec += (time_t)(at / 1000000000u);
        t.tv_nsec = (long)(at % 1000000000u);
        pthread_cond_timedwait(&pins, &uvm_lock.mutex, &t);
    }
    return arg;
}

/* ---- faults */

void uvm_enter(void)
{
    quiet_lock(&uvm_lock);
    trace_begin();
    if (batch_close_all()) sticky_set(CUDA_ERROR_ILLEGAL_ADDRESS);
}

void uvm_leave(void)
{
    if (thrashing_pinned_any()) pthread_cond_signal(&pins);
    quiet_unlock(&uvm_lock);
}

void uvm_settle(void)
{
    if (!atomic_exchange(&uvm_unsettled, false)) return;
    uvm_enter();
    for (unsigned p = 1; p < topology.processors; p++)
        if (lone_rest(p)) sticky_set(CUDA_ERROR_ILLEGAL_ADDRESS);
    uvm_leave();
}

void uvm_catch_up(void)
{
    quiet_lock(&uvm_lock);
    quiet_unlock(&uvm_lock);
}

/* The host faults by the page, and waits. */
static CUresult host_fault(const struct mmu_fault *f, struct block *b)
{
    struct request q = { { { 0 } }, { { 0 } } };
    trace_write((struct trace_record){ .kind = TRACE_CPU_FAULT,
                                       .access = f->write ? TRACE_ACCESS_WRITE : TRACE_ACCESS_READ,
                                       .address = page_down(f->address),
                                       .bytes = PAGE_BYTES,
                                       .thread = (uint32_t)f->thread,
                                       .batch = trace_wanted(TRACE_LISTEN_RECORDS) ? mmu_where(f) : 0 });
    mask_set(&q.pages, page_of(f->address));
    if (f->write) q.writes = q.pages;
    for (;;) {
        struct mask throttled = { { 0 } };
        uint64_t until = 0;
        CUresult r = service_faults(b, CPU, &q, false, &throttled, &until);
        if (r || mask_empty(&throttled)) return r;
        uvm_sleep(until);
        if (!(b = block_at(f->address, true))) return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
}

CUresult fault_locked(const struct mmu_fault *f)
{
    struct block *b = block_at(f->address, true);
    uint64_t va = page_down(f->address);
    if (!b || (!b->window->ordinary && !addresses_live(b->range->owner, va))) return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (uvm_exclusive && !exclusive_permits(b->range->owner, f)) return CUDA_ERROR_NOT_PERMITTED;
    enum prot has = page_prot(b, f->processor, page_of(va));
    if (has >= (f->write ? PROT_RW : PROT_RO)) /* somebody else's fault brought it, or the entry was lost */
        return mmu_set(f->processor, va, PAGE_BYTES, has >= PROT_RW ? MMU_WRITE : MMU_READ);
    if (f->processor == CPU) {
        bool first = f->missing && b->window->ordinary && !page_holders(b, page_of(va));
        return first ? ordinary_begun(b, page_of(va)) : host_fault(f, b);
    }
    CUresult r = b->window->ordinary ? ordinary_touch(b, page_of(va)) : CUDA_SUCCESS;
    return r ? r : batch_add(f->processor, va, f->write);
}

/* Where devices have no concurrent managed access. Once each: a program may expect its SIGSEGV. */
static void explain_exclusion(const struct mmu_fault *f)
{
    unsigned long long at = f->address;
    if (f->processor == CPU)
        fl_log_once(FL_LOG_ERROR,
                    "the host touched managed memory at 0x%llx, which kernels may be using: on this machine it has to "
                    "wait for them first",
                    at);
    else
        fl_log_once(FL_LOG_ERROR,
                    "a kernel touched managed memory at 0x%llx that is not attached to its stream or to all "
                    "(cuStreamAttachMemAsync)",
                    at);
}

void trace_fatal(unsigned p, uint64_t va, bool write, CUresult why)
{
    enum trace_reason reason = why == CUDA_ERROR_OUT_OF_MEMORY   ? TRACE_REASON_MEMORY
                               : why == CUDA_ERROR_NOT_PERMITTED ? TRACE_REASON_PERMISSION
                                                                 : TRACE_REASON_ADDRESS;
    trace_write((struct trace_record){ .kind = TRACE_FATAL_FAULT,
                                       .access = write ? TRACE_ACCESS_WRITE : TRACE_ACCESS_READ,
                                       .processor = (uint8_t)p,
                                       .address = page_down(va),
                                       .bytes = PAGE_BYTES,
                                       .count = reason });
}

/* A device's fatal fault is told of when its kernel ends by it (context/library.c), as those elsewhere are. */
static enum mmu_verdict service(const struct mmu_fault *f)
{
    if (f->processor == CPU)
        uvm_enter();
    else
        quiet_lock(&uvm_lock);
    CUresult r = fault_locked(f);
    if (r && f->processor == CPU && !f->doubtful) trace_fatal(CPU, f->address, f->write, r);
    uvm_leave();
    if (r == CUDA_ERROR_NOT_PERMITTED) explain_exclusion(f);
    return r ? MMU_FATAL : MMU_RETRY;
}

/* ---- processes */

/* A device that is gone holds nothing: what it held is the host's, as it was last written. */
static void detach(struct device *d)
{
    unsigned p = 1 + (unsigned)d->ordinal;
    if (!ready) return;
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
        struct managed *m = ready ? range_owned_by(c) : NULL;
        uint64_t base = m ? LIST_FIRST(&m->pieces)->a.base : 0;
        quiet_unlock(&uvm_lock);
        if (!m) return;
        bool freed = space_look(base, &a) && a.base == base && a.context == c && !uvm_free_same(&a);
        if (!freed) sched_yield();
    }
}

static CUresult make_ready(void);

/* Kernels that reach ordinary memory may fault before there is managed memory. */
static CUresult attach(struct device *d)
{
    CUresult r = CUDA_SUCCESS;
    /* with the lock: what becomes ready meanwhile attaches the devices that it sees */
    quiet_lock(&uvm_lock);
    if (ready)
        r = mmu_attach(1 + (unsigned)d->ordinal);
    else if (uvm_pageable)
        r = make_ready();
    quiet_unlock(&uvm_lock);
    return r;
}

static const struct space_owner owner = { .attach = attach, .detach = detach, .release_context = release_context };

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
    space_add_owner(&owner);
    for (int k = 0; k < device_count && !uvm_exclusive; k++) devices[k].vram.reclaim = chunk_reclaim;
}

/* What is there once, whoever asks again after a failure. */

static CUresult begin_watching(void)
{
    static bool begun;
    CUresult r = begun ? CUDA_SUCCESS : thread_start(watch_pins, NULL, THREAD_STACK);
    begun = !r;
    return r;
}

static CUresult make_memory(void)
{
    if (memory.id) return CUDA_SUCCESS;
    return backing_create_huge(&memory, "faultline-managed", space_managed_end() - space_managed_base());
}

static CUresult make_tables(void)
{
    static bool made;
    CUresult r = made ? CUDA_SUCCESS : mmu_init(&memory, space_managed_base(), service);
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
static CUresult make_ready(void)
{
    CUresult r = CUDA_SUCCESS;
    if (ready) return r;
    if ((r = windows_init()) || (r = begin_watching()) || (r = make_memory()) || (r = make_tables()) ||
        (r = begin_pageable()) || (r = attach_all()))
        return r;
    ready = true;
    return r;
}

void uvm_in_child(void)
{
    if (ready) munmap((void *)space_managed_base(), space_managed_end() - space_managed_base());
}

/* ---- allocations */

/* On return nobody can reach it. */
static void give(struct piece *p)
{
    struct managed *m = p->chunk;
    /* while the address is nobody else's yet */
    attributes_freed(&p->a);
    uvm_enter();
    bool gone = addresses_give(p);
    if (uvm_exclusive && !gone) exclusive_review(page_down(p->a.base), page_up(p->a.base + p->a.size));
    quiet_unlock(&uvm_lock);
    heap_give(p);
    if (!gone) return;
    attributes_unmapped(m->start);
    mmu_remove(m->start, m->end - m->start);
    heap_give(m->slab);
    heap_give(m);
}

static void describe(struct piece *p, struct context *c, uint64_t size, unsigned attach_flags, bool of_module)
{
    const struct managed *m = p->chunk;
    p->attached = attach_flags;
    p->a = (struct allocation){ .base = p->a.base,
                                .size = size,
                                .kind = ALLOCATION_MANAGED,
                                .context = c,
                                .flags = attach_flags,
                                .mapping_base = m->start,
                                .mapping_size = m->end - m->start,
                                .backing = &memory,
                                .offset = p->a.base - space_managed_base(),
                                .owner = &owner,
                                .module_owned = of_module };
}

static CUresult alloc(struct context *c, uint64_t size, unsigned attach_flags, bool of_module, struct allocation **out)
{
    struct piece *p = heap_take(sizeof *p);
    if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
    mmu_look_for_handlers();
    quiet_lock(&uvm_lock);
    CUresult r = make_ready();
    if (!r && !(r = addresses_take(c, of_module, size, p))) {
        describe(p, c, size, attach_flags, of_module);
        mmu_permit(); /* it may share a page with what was freed */
        if (uvm_exclusive) exclusive_review(page_down(p->a.base), page_up(p->a.base + size));
    }
    quiet_unlock(&uvm_lock);
    if (r) {
        heap_give(p);
        return r;
    }
    if ((r = space_publish(&p->a))) {
        give(p);
        return r;
    }
    trace_write((struct trace_record){ .kind = TRACE_ALLOC, .address = p->a.base, .bytes = size });
    *out = &p->a;
    return r;
}

CUresult uvm_alloc(struct context *c, uint64_t size, unsigned attach_flags, struct allocation **out)
{
    return alloc(c, size, attach_flags, false, out);
}

CUresult uvm_alloc_module(struct context *c, uint64_t size, struct allocation **out)
{
    return alloc(c, size, CU_MEM_ATTACH_GLOBAL, true, out);
}

static void free_withdrawn(struct allocation *a)
{
    trace_write((struct trace_record){ .kind = TRACE_FREE, .address = a->base, .bytes = a->size });
    give((struct piece *)a);
}

void uvm_free(struct allocation *a)
{
    space_withdraw(a);
    free_withdrawn(a);
}

CUresult uvm_free_same(const struct allocation *copy)
{
    struct allocation *a = space_withdraw_same(&owner, copy);
    if (!a) return CUDA_ERROR_INVALID_VALUE;
    free_withdrawn(a);
    return CUDA_SUCCESS;
}

bool uvm_covers(uint64_t va, uint64_t size)
{
    quiet_lock(&uvm_lock);
    struct range *r = ready ? range_at(va) : NULL;
    while (r && r->end - va < size && r->end < space_managed_end()) {
        size -= r->end - va;
        va = r->end;
        r = range_at(va);
    }
    quiet_unlock(&uvm_lock);
    return r && size;
}

void uvm_residency(uint64_t va, uint64_t pages, uint8_t *out)
{
    mmu_ordinary_settle();
    uvm_enter();
    for (uint64_t k = 0; k < pages; k++, va += PAGE_BYTES) {
        struct block *b = ready ? block_at(va, false) : NULL;
        uint32_t holders = b ? page_holders(b, page_of(va)) : 0;
        out[k] = holders || !ordinary_touched(va) ? (uint8_t)__builtin_ffs((int)holders) : 1;
        if (holders & (holders - 1)) out[k] |= 0x80;
    }
    quiet_unlock(&uvm_lock);
}
