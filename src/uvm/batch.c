/* A device's fault buffer. Loads and stores of a GPU are in flight by the
 * dozen, so faults arrive, and are serviced, in batches; what is moved depends
 * on it. Here the faulting access goes on at once (there is one physical page),
 * the fault is noted, and policy decides on the batch when it is full, when
 * somebody else acts on managed memory, or when the device is waited for.
 * The sizes are those observed on an H200 with one thread (tests/behaviour). */
#include "uvm/internal.h"

enum {
    MOST = 32,         /* accesses in flight */
    GROUP_PAGES = 8,   /* translations come by 32 KiB */
    GROUPS_MOST = 14,  /* of which so many are in flight */
    STEADY_STORES = 4, /* a loop's body, once the service keeps up */
    LOADS = 4
};

struct batch {
    uint64_t page[MOST]; /* addresses */
    unsigned n, groups;
    bool write, steady;
    unsigned phase; /* loads: 1 faults, then the rest of the body */
    uint64_t last, step;
    int thread;
};
static struct batch batches[PROCESSORS];
static uint32_t pending; /* bit p: batches[p] holds faults */

static unsigned limit(const struct batch *b)
{
    if (b->write) return b->steady ? STEADY_STORES : MOST;
    return !b->steady ? LOADS : b->phase ? LOADS - 1 : 1;
}

/* Numbered as the driver numbers them: over all devices. */
static uint64_t batch_number;

static void trace_batch(const struct batch *b, unsigned p)
{
    trace_begin();
    uint64_t lowest = b->page[0];
    for (unsigned k = 1; k < b->n; k++)
        if (b->page[k] < lowest) lowest = b->page[k];
    trace_write((struct trace_record){ .kind = TRACE_GPU_FAULT,
                                       .access = b->write ? TRACE_ACCESS_WRITE : TRACE_ACCESS_READ,
                                       .processor = (uint8_t)p,
                                       .address = lowest,
                                       .bytes = PAGE_BYTES,
                                       .count = 1,
                                       .batch = ++batch_number });
}

/* The faults of one block, at once; those throttled are tried again when their nap is over. */
static CUresult service_block(struct batch *b, unsigned p, unsigned first)
{
    struct block *block = block_at(b->page[first], true);
    if (!block) return CUDA_ERROR_ILLEGAL_ADDRESS;
    struct request q = { { { 0 } }, { { 0 } } };
    for (unsigned k = first; k < b->n; k++) {
        unsigned page = page_of(b->page[k]);
        if (b->page[k] / WINDOW_BYTES * WINDOW_BYTES != block->window->va || page < block->region.first ||
            page >= block->region.outer)
            continue;
        mask_set(&q.pages, page);
        b->page[k] = 0;
    }
    if (b->write) q.writes = q.pages;
    for (;;) {
        struct mask throttled = { { 0 } };
        uint64_t until = 0;
        CUresult r = service_faults(block, p, &q, false, &throttled, &until);
        if (r || mask_empty(&throttled)) return r;
        q.pages = mask_and(&q.pages, &throttled);
        uvm_sleep(until);
    }
}

/* Decides on what has gathered. */
static CUresult close_batch(unsigned p)
{
    struct batch *b = &batches[p];
    CUresult r = CUDA_SUCCESS;
    if (!b->n) return r;
    trace_batch(b, p);
    for (unsigned k = 0; k < b->n; k++)
        if (b->page[k] && !r) r = service_block(b, p, k);
    trace_write((struct trace_record){ .kind = TRACE_GPU_FAULT_REPLAY, .processor = (uint8_t)p, .batch = batch_number });
    b->phase = !b->phase;
    b->steady = true;
    b->n = b->groups = 0;
    pending &= ~bit(p);
    return r;
}

CUresult batch_add(unsigned p, uint64_t va, bool write)
{
    struct batch *b = &batches[p];
    CUresult r = CUDA_SUCCESS;
    if (b->n && b->write != write) return close_batch(p); /* it may be what this access needs: it is tried again */
    uint64_t step = va - b->last, group = va / (GROUP_PAGES * PAGE_BYTES);
    if (!b->n && step != b->step) b->phase = 0;
    if (!b->n || group != b->last / (GROUP_PAGES * PAGE_BYTES)) b->groups++;
    b->step = step;
    b->last = va;
    b->write = write;
    b->page[b->n++] = va;
    pending |= bit(p);
    atomic_store_explicit(&uvm_unsettled, true, memory_order_relaxed);
    if ((r = mmu_set(p, va, PAGE_BYTES, write ? MMU_WRITE : MMU_READ))) return r;
    return b->n >= limit(b) || b->groups >= GROUPS_MOST ? close_batch(p) : CUDA_SUCCESS;
}

CUresult batch_close_all(void)
{
    CUresult r = CUDA_SUCCESS;
    for_each_processor(p, pending)
    {
        CUresult e = close_batch(p);
        if (e) r = e;
    }
    return r;
}

void batch_rest(unsigned p)
{
    batches[p].steady = false;
    batches[p].phase = 0;
    batches[p].step = 0;
}
