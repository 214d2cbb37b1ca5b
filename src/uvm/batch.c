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
 * loop at its end, a pair and a single one.
 *
 * Of a kernel of many threads the driver takes 256 faults at a time. Where all
 * warps run at once these come from all of them in turn, and are spread over as
 * many pieces of 64 KiB as observed; here warps run one after the other, and a
 * batch is full with as many pieces. */
#include "context/context.h"
#include "uvm/internal.h"
#include "uvm/uvm.h"

enum {
    GROUP_PAGES = 8,    /* translations come by 32 KiB */
    GROUPS_MOST = 14,   /* of which so many are in flight */
    BODY = 4,           /* loads in flight */
    PAIR = 2,           /* where the loop ends */
    SECTOR_ENTRIES = 8, /* two sectors are a line */
    SECTORS = 4,        /* at hand */
    FETCHED = 256,      /* faults that the driver takes at a time */
    PIECES_MOST = 64,   /* of 64 KiB over which those of a whole kernel are spread, one of two warps to each */
    MOST = PIECES_MOST * BIG_PAGE,
    WARP = 32,
    TRACED_MOST = 16, /* allocations */
};

/* Who the faults come from. */
enum crowd { ONE_THREAD, ALL_AT_ONCE, WAVES };

/* How far the page table entries for an access are. */
enum distance { AT_HAND, OTHER_SECTOR, FAR, DISTANCES };

/* Accesses until the fault is known. */
static const unsigned first_stores[DISTANCES] = { 1, 3, 32 }, stores[DISTANCES] = { 4, 9, 52 },
                      loads[DISTANCES] = { 1, 3, BODY };

struct batch {
    uint64_t page[MOST]; /* addresses */
    bool writes[MOST];
    unsigned n, groups, pieces;
    uint64_t piece[PIECES_MOST]; /* of a crowd's faults */
    bool write;                  /* the newest */
    enum distance distance;      /* of the first */
    unsigned closed;             /* batches since the device was waited for */
    uint64_t last;               /* newest fault */
    unsigned run;                /* pages before it that were faulted at one after the other */
    uint64_t origin;             /* loads: the first fault of the loop */
    uint64_t stride;             /* from one round of the loop to the next, 0: not known yet */
    uint64_t body;               /* number of the loop's body that page[] is of */
    struct {
        uint64_t sector[SECTORS];
        unsigned oldest;
    } at_hand;
};
static struct batch batches[PROCESSORS];
static _Atomic uint64_t running[PROCESSORS]; /* threads of the newest kernel */
static uint32_t pending;                     /* bit p: batches[p] holds faults */

/* Numbered as the driver numbers them: over all devices. */
static uint64_t batch_number;

/* One record for each allocation's faults, at the lowest of them. Returns the batch's number. */
static uint64_t trace_batch(const struct batch *b, unsigned p)
{
    struct {
        const struct managed *owner;
        uint64_t lowest;
    } of[TRACED_MOST];
    unsigned owners = 0;
    trace_begin();
    for (unsigned k = 0; k < b->n; k++) {
        const struct managed *owner = range_at(b->page[k])->owner;
        unsigned i = 0;
        while (i < owners && of[i].owner != owner) i++;
        if (i == TRACED_MOST) continue;
        if (i == owners || b->page[k] < of[i].lowest) of[i].lowest = b->page[k];
        if (i == owners) of[owners++].owner = owner;
    }
    batch_number++;
    for (unsigned i = 0; i < owners; i++)
        trace_write((struct trace_record){ .kind = TRACE_GPU_FAULT,
                                           .access = b->write ? TRACE_ACCESS_WRITE : TRACE_ACCESS_READ,
                                           .processor = (uint8_t)p,
                                           .address = of[i].lowest,
                                           .bytes = PAGE_BYTES,
                                           .count = 1,
                                           .batch = batch_number });
    return batch_number;
}

/* Those of the batch's faults, from the first on, that are in the block; they leave the batch. */
static struct mask take_faults(struct batch *b, unsigned first, const struct block *block, struct mask *writes)
{
    struct mask pages = { { 0 } };
    for (unsigned k = first; k < b->n; k++) {
        unsigned page = page_of(b->page[k]);
        if (b->page[k] / WINDOW_BYTES * WINDOW_BYTES != block->window->va || page < block->region.first ||
            page >= block->region.outer)
            continue;
        mask_set(&pages, page);
        if (b->writes[k]) mask_set(writes, page);
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
    struct mask writes = { { 0 } }, left = take_faults(b, first, block, &writes);
    while (!mask_empty(&left)) {
        unsigned page = mask_next(&left, 0, WINDOW_PAGES);
        if (!(block = block_at(window + (uint64_t)page * PAGE_BYTES, true))) return CUDA_SUCCESS;
        struct mask throttled = { { 0 } }, here = mask_region(block->region);
        struct request q = { mask_and(&left, &here), { { 0 } } };
        uint64_t until = 0;
        q.writes = mask_and(&q.pages, &writes);
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
    struct batch b;
    CUresult r = CUDA_SUCCESS;
    b.n = 0;
    b.write = false;
    for (unsigned k = 0; k < whole->n; k++) {
        struct block *block = block_at(whole->page[k], true);
        if (!block) continue; /* freed during a nap */
        enum prot wanted = whole->writes[k] ? PROT_RW : PROT_RO;
        if (!chosen[k] || page_prot(block, p, page_of(whole->page[k])) >= wanted) continue;
        b.write |= b.writes[b.n] = whole->writes[k];
        b.page[b.n++] = whole->page[k];
    }
    if (!b.n) return r;
    uint64_t number = trace_batch(&b, p);
    for (unsigned k = 0; k < b.n; k++)
        if (b.page[k] && !r) r = service_block(&b, p, k);
    trace_write((struct trace_record){ .kind = TRACE_GPU_FAULT_REPLAY, .processor = (uint8_t)p, .batch = number });
    return r;
}

static enum crowd crowd_of(unsigned p)
{
    uint64_t threads = atomic_load_explicit(&running[p], memory_order_relaxed);
    const struct profile *o = devices[p - 1].profile;
    uint64_t resident = (uint64_t)profile_attribute(o, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) *
                        (uint64_t)profile_attribute(o, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    return threads <= 1 ? ONE_THREAD : threads <= resident ? ALL_AT_ONCE : WAVES;
}

/* Decides on what has gathered. ends: nothing more is coming. */
static CUresult close_batch(unsigned p, bool ends)
{
    struct batch b = batches[p];
    bool chosen[MOST];
    CUresult r = CUDA_SUCCESS;
    if (!b.n) return r;
    batches[p].n = batches[p].groups = batches[p].pieces = 0;
    batches[p].closed++;
    pending &= ~bit(p);
    if (b.write || crowd_of(p) != ONE_THREAD) {
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

/* Whether the piece of another fault fits. */
static bool piece_fits(struct batch *b, unsigned p, uint64_t va)
{
    uint64_t number = va / (BIG_PAGE * PAGE_BYTES), most = running[p] / WARP / 2;
    for (unsigned k = 0; k < b->pieces; k++)
        if (b->piece[k] == number) return true;
    if (b->pieces && b->pieces >= (most < PIECES_MOST ? most : PIECES_MOST)) return false;
    b->piece[b->pieces++] = number;
    return true;
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

static CUresult note(struct batch *b, unsigned p, uint64_t va, bool write)
{
    if (!b->n || va / (GROUP_PAGES * PAGE_BYTES) != b->last / (GROUP_PAGES * PAGE_BYTES)) b->groups++;
    b->last = va;
    b->write = b->writes[b->n] = write;
    b->page[b->n++] = va;
    pending |= bit(p);
    atomic_store_explicit(&uvm_unsettled, true, memory_order_relaxed);
    return mmu_set(p, va, PAGE_BYTES, write ? MMU_WRITE : MMU_READ);
}

static CUresult crowd_add(struct batch *b, unsigned p, uint64_t va, bool write, enum crowd crowd)
{
    bool fits = crowd == WAVES ? b->n < FETCHED : b->n < MOST && piece_fits(b, p, va);
    if (!fits) return close_batch(p, false);
    return note(b, p, va, write);
}

CUresult batch_add(unsigned p, uint64_t va, bool write)
{
    struct batch *b = &batches[p];
    enum crowd crowd = crowd_of(p);
    if (crowd != ONE_THREAD) return crowd_add(b, p, va, write, crowd);
    uint64_t body = write ? 0 : body_of(b, va);
    bool another_loop = !write && b->origin == va;
    /* what closing brings may be what this access needs: it is tried again */
    if (b->n && (b->write != write || b->body != body || another_loop)) return close_batch(p, false);
    struct block *block = block_at(va, true);
    if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
    b->run = va == b->last + PAGE_BYTES ? b->run + 1 : 0;
    enum distance d = walk(b, block, p, va, write);
    if (!b->n) b->distance = d;
    b->body = body;
    CUresult r = note(b, p, va, write);
    return !r && full(b) ? close_batch(p, false) : r;
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

void uvm_launching(int ordinal, uint64_t threads)
{
    atomic_store_explicit(&running[1 + ordinal], threads, memory_order_relaxed);
}
