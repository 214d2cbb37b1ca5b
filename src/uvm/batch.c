/* A device's fault buffer. Loads and stores of a GPU are in flight by the
 * dozen, so faults arrive, and are serviced, in batches; what is moved depends
 * on it. Here the faulting access goes on at once (there is one physical page),
 * the fault is noted, and policy decides on the batch when it is full, when
 * somebody else acts on managed memory, or when the device is waited for.
 * The sizes are those observed on an H200 with one thread (tests/behaviour).
 *
 * Stores are sent off and forgotten. Loads are waited for: those of a loop's
 * body, four rounds of it, are in flight together. While nobody was awake to
 * service them their faults come together too. Later a load that is near an
 * earlier one of its body waits for that one's translation, and faults once it
 * has been replayed, unless its service has brought both. What is left of a
 * loop at its end is loaded one by one. */
#include "uvm/internal.h"

enum {
    MOST = 32,          /* accesses in flight */
    GROUP_PAGES = 8,    /* translations come by 32 KiB */
    GROUPS_MOST = 14,   /* of which so many are in flight */
    SECOND_STORES = 10, /* the batch after the first */
    STEADY_STORES = 4,  /* a loop's body, once the service keeps up */
    BODY = 4,           /* loads in flight */
    NEAR_PAGES = 16     /* a load waits for the translation of one that is no farther before it */
};

struct batch {
    uint64_t page[MOST]; /* addresses */
    unsigned n, groups;
    bool write;
    unsigned closed; /* batches since the device was waited for: before the first one nobody is awake */
    uint64_t last;   /* newest fault */
    uint64_t origin; /* loads: the first fault of the loop */
    uint64_t stride; /* from one round of the loop to the next, 0: not known yet */
    uint64_t body;   /* number of the loop's body that page[] is of */
};
static struct batch batches[PROCESSORS];
static uint32_t pending; /* bit p: batches[p] holds faults */

/* Numbered as the driver numbers them: over all devices. */
static uint64_t batch_number;

/* Returns the batch's number. */
static uint64_t trace_batch(const struct batch *b, unsigned p)
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
    return batch_number;
}

/* Those of the batch's faults, from the first on, that are in the block; they leave the batch. */
static struct mask take_faults(struct batch *b, unsigned first, const struct block *block)
{
    struct mask pages = { { 0 } };
    for (unsigned k = first; k < b->n; k++) {
        unsigned page = page_of(b->page[k]);
        if (b->page[k] / WINDOW_BYTES * WINDOW_BYTES != block->window->va || page < block->region.first ||
            page >= block->region.outer)
            continue;
        mask_set(&pages, page);
        b->page[k] = 0;
    }
    return pages;
}

/* The faults of one block, at once; those throttled are tried again when their nap is over. Meanwhile the block may
 * have been cut, or freed by whoever knows that the kernel has ended: then there is nothing to decide any more. */
static CUresult service_block(struct batch *b, unsigned p, unsigned first)
{
    struct block *block = block_at(b->page[first], true);
    if (!block) return CUDA_SUCCESS;
    uint64_t window = block->window->va;
    struct mask left = take_faults(b, first, block);
    while (!mask_empty(&left)) {
        unsigned page = mask_next(&left, 0, WINDOW_PAGES);
        if (!(block = block_at(window + (uint64_t)page * PAGE_BYTES, true))) return CUDA_SUCCESS;
        struct mask throttled = { { 0 } }, here = mask_region(block->region);
        struct request q = { mask_and(&left, &here), { { 0 } } };
        uint64_t until = 0;
        if (b->write) q.writes = q.pages;
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

/* Services what still needs it of the given faults, as one batch. */
static CUresult service_part(const struct batch *whole, unsigned p, const bool chosen[MOST])
{
    struct batch b = { .write = whole->write };
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < whole->n; k++) {
        struct block *block = block_at(whole->page[k], true);
        if (!block) continue; /* freed during a nap */
        bool brought = page_prot(block, p, page_of(whole->page[k])) >= (b.write ? PROT_RW : PROT_RO);
        if (chosen[k] && !brought) b.page[b.n++] = whole->page[k];
    }
    if (!b.n) return r;
    uint64_t number = trace_batch(&b, p);
    for (unsigned k = 0; k < b.n; k++)
        if (b.page[k] && !r) r = service_block(&b, p, k);
    trace_write((struct trace_record){ .kind = TRACE_GPU_FAULT_REPLAY, .processor = (uint8_t)p, .batch = number });
    return r;
}

/* Whether load k waits for no other of the batch; addresses ascend. */
static bool leads(const struct batch *b, unsigned k)
{
    for (unsigned i = 0; i < k; i++)
        if (b->page[k] - b->page[i] <= NEAR_PAGES * PAGE_BYTES) return false;
    return true;
}

/* Decides on what has gathered. ends: nothing more is coming. */
static CUresult close_batch(unsigned p, bool ends)
{
    struct batch b = batches[p];
    bool chosen[MOST];
    CUresult r = CUDA_SUCCESS;
    if (!b.n) return r;
    batches[p].n = batches[p].groups = 0;
    batches[p].closed++;
    pending &= ~bit(p);
    if (b.write || !b.closed) {
        memset(chosen, true, sizeof chosen);
        return service_part(&b, p, chosen);
    }
    if (ends && b.n < BODY) {
        for (unsigned k = 0; k < b.n && !r; k++) {
            for (unsigned i = 0; i < b.n; i++) chosen[i] = i == k;
            r = service_part(&b, p, chosen);
        }
        return r;
    }
    for (unsigned k = 0; k < b.n; k++) chosen[k] = leads(&b, k);
    r = service_part(&b, p, chosen);
    memset(chosen, true, sizeof chosen);
    return r ? r : service_part(&b, p, chosen);
}

/* To which body of its loop a load belongs, as far as the addresses tell. */
static uint64_t body_of(struct batch *b, uint64_t va)
{
    if (b->origin && !b->stride && va > b->last) b->stride = va - b->last;
    if (!b->stride || va <= b->origin || (va - b->origin) % b->stride) {
        b->origin = va;
        b->stride = 0;
        return 0;
    }
    return (va - b->origin) / b->stride / BODY;
}

static bool full(const struct batch *b)
{
    unsigned stores = !b->closed ? MOST : b->closed == 1 ? SECOND_STORES : STEADY_STORES;
    if (b->write) return b->n >= stores || b->groups >= GROUPS_MOST;
    return b->n >= BODY || (b->stride && (b->last - b->origin) / b->stride % BODY == BODY - 1);
}

CUresult batch_add(unsigned p, uint64_t va, bool write)
{
    struct batch *b = &batches[p];
    CUresult r = CUDA_SUCCESS;
    uint64_t group = va / (GROUP_PAGES * PAGE_BYTES);
    uint64_t body = write ? 0 : body_of(b, va);
    bool another_loop = !write && b->origin == va;
    /* what closing brings may be what this access needs: it is tried again */
    if (b->n && (b->write != write || b->body != body || another_loop)) return close_batch(p, false);
    if (!b->n || group != b->last / (GROUP_PAGES * PAGE_BYTES)) b->groups++;
    b->body = body;
    b->last = va;
    b->write = write;
    b->page[b->n++] = va;
    pending |= bit(p);
    atomic_store_explicit(&uvm_unsettled, true, memory_order_relaxed);
    if ((r = mmu_set(p, va, PAGE_BYTES, write ? MMU_WRITE : MMU_READ))) return r;
    return full(b) ? close_batch(p, false) : CUDA_SUCCESS;
}

CUresult batch_close_all(void)
{
    CUresult r = CUDA_SUCCESS;
    for_each_processor(p, pending)
    {
        CUresult e = close_batch(p, true);
        if (e) r = e;
    }
    return r;
}

void batch_rest(unsigned p)
{
    batches[p].origin = batches[p].stride = 0;
    batches[p].closed = 0;
}
