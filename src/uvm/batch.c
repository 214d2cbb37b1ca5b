/* A device's fault buffer. Loads and stores of a GPU are in flight by the
 * dozen, so faults arrive, and are serviced, in batches; what is moved depends
 * on it. Here the faulting access goes on at once (there is one physical page),
 * the fault is noted, and policy decides on the batch when it is full, when
 * somebody else acts on managed memory, or when the device is waited for.
 *
 * A batch holds what a GPU sends off until the first fault is known to it, which
 * takes as long as the walk through its page tables. Observed on an H200 with
 * one thread (tests/behaviour; strides, offsets and kinds of pages were varied):
 * entries come in lines of 16, by sectors of 8. The first access to a line takes
 * longest, to its other sector less, and least where the sector is at hand.
 * Entries are of 64 KiB for pages that come whole and of 4 KiB for those mapped
 * singly. They stay at hand from kernel to kernel, until entries are taken away
 * or a block is split.
 *
 * Stores are sent off and forgotten; a kernel's first ones are slower. Loads are
 * waited for: those of a loop's body, four rounds of it, and what is left of a
 * loop at its end, a pair and a single one. */
#include "uvm/internal.h"

enum {
    MOST = 64,          /* accesses in flight, at least those below */
    GROUP_PAGES = 8,    /* translations come by 32 KiB */
    GROUPS_MOST = 14,   /* of which so many are in flight */
    BODY = 4,           /* loads in flight */
    PAIR = 2,           /* where the loop ends */
    SECTOR_ENTRIES = 8, /* two sectors are a line */
    SECTORS = 4,        /* at hand */
};

/* How far the page table entries for an access are. */
enum distance { AT_HAND, OTHER_SECTOR, FAR, DISTANCES };

/* Accesses until the fault is known. */
static const unsigned first_stores[DISTANCES] = { 1, 3, 32 }, stores[DISTANCES] = { 4, 9, 52 },
                      loads[DISTANCES] = { 1, 3, BODY };

struct batch {
    uint64_t page[MOST]; /* addresses */
    unsigned n, groups;
    bool write;
    enum distance distance; /* of the first */
    unsigned closed;        /* batches since the device was waited for */
    uint64_t last;          /* newest fault */
    unsigned run;           /* pages before it that were faulted at one after the other */
    uint64_t origin;        /* loads: the first fault of the loop */
    uint64_t stride;        /* from one round of the loop to the next, 0: not known yet */
    uint64_t body;          /* number of the loop's body that page[] is of */
    struct {
        uint64_t sector[SECTORS];
        unsigned oldest;
    } at_hand;
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
    if (b.write) {
        memset(chosen, true, sizeof chosen);
        return service_part(&b, p, chosen);
    }
    unsigned body = ends && b.n < BODY ? PAIR : BODY, first = loads[b.distance] < body ? loads[b.distance] : body;
    for (unsigned from = 0, to; from < b.n && !r; from = to) {
        to = !from ? first : from < body ? body : b.n;
        for (unsigned k = 0; k < b.n; k++) chosen[k] = k >= from && k < to;
        r = service_part(&b, p, chosen);
    }
    return r;
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
    if (b->write) return b->n >= (b->closed ? stores : first_stores)[b->distance] || b->groups >= GROUPS_MOST;
    return b->n >= BODY || (b->stride && (b->last - b->origin) / b->stride % BODY == BODY - 1);
}

/* Whether the page is, or will be, mapped by itself. */
static bool mapped_singly(const struct block *b, unsigned p, unsigned page, bool write)
{
    struct hint none = { HINT_NONE, NOBODY, 0 };
    return page_prot(b, p, page) || policy_select_residency(b, page, p, !write, none).residency != p;
}

/* The device had pages of the block, and has none of the window any more: the walk ends early. */
static bool ends_early(const struct block *block, unsigned p)
{
    for (const struct block *b = block->window->blocks; b; b = b->next)
        if (b->mapped & bit(p)) return false;
    return block->place[p];
}

static bool is_at_hand(const struct batch *b, uint64_t sector)
{
    for (unsigned k = 0; k < SECTORS; k++)
        if (b->at_hand.sector[k] == sector) return true;
    return false;
}

/* Reads the entries for an access. A line that was read to its end brings the next. */
static enum distance walk(struct batch *b, const struct block *block, unsigned p, uint64_t va, bool write)
{
    bool singly = mapped_singly(block, p, page_of(va), write);
    uint64_t entry = singly ? PAGE_BYTES : BIG_PAGE * PAGE_BYTES, number = va / entry / SECTOR_ENTRIES;
    uint64_t sector = number << 1 | singly, other = (number ^ 1) << 1 | singly;
    if (is_at_hand(b, sector)) return AT_HAND;
    enum distance d = is_at_hand(b, other) ? OTHER_SECTOR : FAR;
    b->at_hand.sector[b->at_hand.oldest++ % SECTORS] = sector;
    if (b->closed && ends_early(block, p)) return AT_HAND;
    return d == FAR && b->run >= 2 * SECTOR_ENTRIES ? AT_HAND : d;
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
    struct block *block = block_at(va, true);
    if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
    b->run = va == b->last + PAGE_BYTES ? b->run + 1 : 0;
    enum distance d = walk(b, block, p, va, write);
    if (!b->n) b->distance = d;
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
    batches[p].closed = batches[p].run = 0;
}

void batch_forget(unsigned p) { memset(&batches[p].at_hand, 0, sizeof batches[p].at_hand); }
