/* A device's fault buffer. Loads and stores of a GPU are in flight by the
 * dozen, so faults arrive, and are serviced, in batches; what is moved depends
 * on it. Here the faulting access goes on at once (there is one physical page),
 * the fault is noted, and policy decides on the batch when it is full, when
 * somebody else acts on managed memory, or when the device is waited for.
 *
 * Which accesses of a kernel of one thread fault together is lone.c's, of one that
 * runs all at once crowd.c's. Of what runs in waves the driver takes 256 faults at
 * a time as they come. */
#include "context/context.h"
#include "uvm/internal.h"
#include "uvm/uvm.h"

enum {
    TRACED_MOST = 16, /* allocations */
    DECIDED = 1,      /* in the address of a fault's page: it has left the batch */
};

/* Who the faults come from. */
enum crowd { ONE_THREAD, ALL_AT_ONCE, WAVES };

static struct faults waves[PROCESSORS];
/* Of the newest kernel: its threads, its blocks; how many there were. */
static _Atomic uint64_t running[PROCESSORS], running_blocks[PROCESSORS], launches[PROCESSORS];
static uint32_t pending; /* bit p: waves[p] holds some */

/* Numbered as the driver numbers them: over all devices. */
static uint64_t batch_number;

/* One record for each allocation's faults, at the lowest of them. Returns the batch's number. */
static uint64_t trace_batch(const struct faults *f, unsigned p)
{
    struct {
        const struct managed *owner;
        uint64_t lowest;
    } of[TRACED_MOST];
    unsigned owners = 0;
    enum access strongest = ACCESS_PREFETCH;
    trace_begin();
    for (unsigned k = 0; k < f->n; k++) {
        const struct managed *owner = range_at(f->page[k])->owner;
        if (f->access[k] > strongest) strongest = f->access[k];
        unsigned i = 0;
        while (i < owners && of[i].owner != owner) i++;
        if (i == TRACED_MOST) continue;
        if (i == owners || f->page[k] < of[i].lowest) of[i].lowest = f->page[k];
        if (i == owners) of[owners++].owner = owner;
    }
    batch_number++;
    for (unsigned i = 0; i < owners; i++)
        trace_write(&(struct trace_record){ .kind = TRACE_GPU_FAULT,
                                            .access = (uint8_t)traced_access(strongest),
                                            .processor = (uint8_t)p,
                                            .address = of[i].lowest,
                                            .bytes = PAGE_BYTES,
                                            .count = 1,
                                            .batch = batch_number });
    return batch_number;
}

/* Those of the batch's faults, from the first on, that are in the block; they leave the batch. */
static struct request take_faults(struct faults *f, unsigned first, const struct block *block)
{
    struct request q = { .pages = { { 0 } } };
    for (unsigned k = first; k < f->n; k++) {
        unsigned page = page_of(f->page[k]);
        if (f->page[k] & DECIDED || f->page[k] / WINDOW_BYTES * WINDOW_BYTES != block->window->va ||
            page < block->region.first || page >= block->region.outer)
            continue;
        mask_set(&q.pages, page);
        if (f->access[k] > ACCESS_READ) mask_set(&q.writes, page);
        if (f->access[k] == ACCESS_ATOMIC_STRONG) mask_set(&q.atomics, page);
        f->page[k] |= DECIDED;
    }
    return q;
}

/* The faults of one block, at once; those throttled are tried again when their nap is over. Meanwhile the block may
 * have been cut, or freed by whoever knows that the kernel has ended: then there is nothing to decide any more. */
static CUresult service_block(struct faults *f, unsigned p, unsigned first)
{
    struct block *block = block_at(f->page[first], true);
    if (!block) return CUDA_SUCCESS;
    uint64_t window = block->window->va;
    const struct request all = take_faults(f, first, block);
    struct mask left = all.pages;
    while (!mask_empty(&left)) {
        unsigned page = mask_next(&left, 0, WINDOW_PAGES);
        if (!(block = block_at(window + (uint64_t)page * PAGE_BYTES, true))) return CUDA_SUCCESS;
        struct mask throttled = { { 0 } }, here = mask_region(block->region);
        struct request q = { .pages = mask_and(&left, &here) };
        uint64_t until = 0;
        q.writes = mask_and(&q.pages, &all.writes);
        q.atomics = mask_and(&q.pages, &all.atomics);
        CUresult r = service_faults(block, p, &q, false, &throttled, &until);
        if (r) return r;
        left = mask_andnot(&left, &here);
        if (mask_empty(&throttled)) continue;
        throttled = mask_and(&q.pages, &throttled);
        left = mask_or(&left, &throttled);
        uvm_sleep(until);
    }
    return CUDA_SUCCESS;
}

bool fault_is_over(unsigned p, uint64_t page, enum access a)
{
    const struct block *b = block_at(page, true);
    return !b || page_prot(b, p, page_of(page)) >= prot_needed(p, a);
}

/* What of them still needs it. */
static void keep_unmapped(struct faults *f, unsigned p)
{
    unsigned n = f->n;
    f->n = 0;
    for (unsigned k = 0; k < n; k++)
        if (!fault_is_over(p, f->page[k], f->access[k])) faults_add(f, f->page[k], f->access[k]);
}

CUresult faults_service(struct faults *f, unsigned p)
{
    CUresult r = CUDA_SUCCESS;
    keep_unmapped(f, p);
    if (!f->n) return r;
    uint64_t number = trace_batch(f, p);
    for (unsigned k = 0; k < f->n; k++)
        if (!(f->page[k] & DECIDED) && !r) r = service_block(f, p, k);
    /* all are cancelled, whoever is to blame */
    for (unsigned k = 0; k < f->n && r; k++) trace_fatal(p, f->page[k], f->access[k], r);
    trace_write(&(struct trace_record){ .kind = TRACE_GPU_FAULT_REPLAY, .processor = (uint8_t)p, .batch = number });
    return r;
}

CUresult fault_noted(unsigned p, uint64_t va, enum access a)
{
    atomic_store_explicit(&uvm_unsettled, true, memory_order_relaxed);
    clock_noted();
    return mmu_set(p, va, PAGE_BYTES, entry_of(prot_needed(p, a)));
}

static enum crowd crowd_of(unsigned p)
{
    uint64_t threads = atomic_load_explicit(&running[p], memory_order_relaxed);
    const struct profile *o = devices[p - 1].profile;
    uint64_t resident = (uint64_t)profile_attribute(o, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) *
                        (uint64_t)profile_attribute(o, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    return threads <= 1 ? ONE_THREAD : threads <= resident ? ALL_AT_ONCE : WAVES;
}

void entries_tried(unsigned p, const uint64_t *pages, unsigned n)
{
    for (unsigned k = 0; k < n; k++) sector_read(p, sector_at(p, pages[k]));
}

/* Decides on what has gathered; naps let others gather more meanwhile. Kernels of one thread that follow find the
 * entries of those at hand that were tried again last. */
static CUresult close_batch(unsigned p)
{
    struct faults f = waves[p];
    uint64_t last[WARP];
    unsigned n = f.n < WARP ? f.n : WARP;
    memcpy(last, f.page + f.n - n, n * sizeof *last);
    waves[p].n = 0;
    pending &= ~bit(p);
    CUresult r = faults_service(&f, p);
    entries_tried(p, last, n);
    return r;
}

CUresult batch_add(unsigned p, uint64_t va, enum access a, uint32_t block)
{
    struct faults *f = &waves[p];
    enum crowd crowd = crowd_of(p);
    if (crowd == ONE_THREAD) return lone_fault(p, va, a);
    if (crowd == ALL_AT_ONCE)
        return crowd_fault(p, va, a, block, &(struct grid){ running_blocks[p], running[p], launches[p] });
    if (f->n == FETCHED) return close_batch(p); /* what comes may be what this access needs: it is tried again */
    pending |= bit(p);
    faults_add(f, va, a);
    return fault_noted(p, va, a);
}

CUresult batch_close_all(bool ended)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned p = 1; p < topology.processors; p++) {
        CUresult e = pending & bit(p) ? close_batch(p) : CUDA_SUCCESS, f = crowd_close(p);
        CUresult g = ended ? lone_rest(p) : lone_close(p);
        if (e || f || g) r = e ? e : f ? f : g;
    }
    return r;
}

bool uvm_launching(int ordinal, uint64_t blocks, uint64_t threads)
{
    atomic_fetch_add_explicit(&launches[1 + ordinal], 1, memory_order_relaxed);
    atomic_store_explicit(&running_blocks[1 + ordinal], blocks, memory_order_relaxed);
    atomic_store_explicit(&running[1 + ordinal], threads, memory_order_relaxed);
    /* telling of accesses makes it slow; it is to be heard even if none faults */
    bool tells = threads <= 1 && trace_wanted(TRACE_LISTEN_RECORDS | TRACE_LISTEN_ALLOCATIONS | TRACE_LISTEN_MAP);
    if (tells) atomic_store_explicit(&uvm_unsettled, true, memory_order_relaxed);
    return tells;
}
