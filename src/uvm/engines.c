/* A device's engines go over managed memory: copies and fills. Which of their pages fault together decides on what is
 * moved (observed on H200: sizes from 1 to 1,000 pages, each place, prefetched to or not).
 *
 * A fill of up to 1 MiB has a quarter of its pages under way; short ones have a few more at the start. A copy has some
 * 33 pages under way, one of a MiB or more has 64. Longer ones go in parts, all over which their pages are spread. Where
 * nothing is prefetched these are batches of an H200 within one or two; it does not repeat itself either. */
#include "base/log.h"
#include "uvm/internal.h"
#include "uvm/uvm.h"
#include "context/context.h"

enum {
    FILL_QUARTERS = 256, /* longer fills have half as many pages under way */
    FILL_MORE = 4,
    /* of read-mostly pages, in thirds of a page, at most, by a batch: */
    FILL_DONE = 39,
    LONG_FILL_DONE = 23,
    COPY_DONE = 45,
    LONG_COPY_DONE = 42,
    COPY_WINDOW = 33,
    COPY_IN_A_ROW = 96,
    COPY_PART = 128,
    LONG_COPY = 256,
    LONG_WINDOW = 64,
    ONE_PART = 320, /* from here on a long copy is one part for each block */
};

struct engine {
    unsigned p;
    bool write;
    uint64_t start;  /* the first page's number */
    unsigned part;   /* pages, 0: it has none */
    unsigned window; /* pages under way at a time */
    unsigned more;   /* still to come, at the start */
    unsigned done;   /* thirds of pages, by a batch of read-mostly ones */
};

static void plan_fill(struct engine *e, uint64_t pages)
{
    e->window = pages > FILL_QUARTERS ? FILL_QUARTERS / 2 : pages > 1 ? (unsigned)(pages + 2) / 4 : 1;
    e->done = pages > FILL_QUARTERS ? LONG_FILL_DONE : FILL_DONE;
    if (e->window <= 3 * FILL_MORE) e->more = e->window < FILL_MORE ? e->window / 2 : FILL_MORE;
}

static void plan_copy(struct engine *e, uint64_t pages)
{
    e->window = pages < LONG_COPY ? COPY_WINDOW : LONG_WINDOW;
    e->done = pages < LONG_COPY ? COPY_DONE : LONG_COPY_DONE;
    e->part = pages <= COPY_IN_A_ROW ? 0 : pages < LONG_COPY ? COPY_PART : pages < ONE_PART ? LONG_COPY : WINDOW_PAGES;
}

static void tell(unsigned p, bool write, uint64_t va)
{
    trace_write(&(struct trace_record){ .kind = TRACE_GPU_FAULT,
                                        .access = write ? TRACE_ACCESS_WRITE : TRACE_ACCESS_READ,
                                        .processor = (uint8_t)p,
                                        .address = va,
                                        .bytes = PAGE_BYTES,
                                        .count = 1 });
}

CUresult engine_request(struct block *b, const struct mask *pages, unsigned p, bool write, bool told)
{
    struct request q = { .pages = *pages };
    struct mask throttled;
    uint64_t until = 0, va = b->window->va + (uint64_t)mask_next(pages, 0, WINDOW_PAGES) * PAGE_BYTES;
    if (write) q.writes = *pages;
    if (!told) tell(p, write, va);
    CUresult r = service_faults(b, p, &q, true, &throttled, &until);
    if (r) trace_fatal(p, va, write ? ACCESS_WRITE : ACCESS_READ, r);
    return r;
}

struct mask engine_missing(const struct block *b, const struct mask *pages, unsigned p, bool write)
{
    return mask_andnot(pages, &b->place[p]->mapped[write ? PROT_RW - 1 : PROT_RO - 1]);
}

CUresult engine_block(uint64_t va, struct block **b)
{
    *b = block_at(va, true);
    return *b ? CUDA_SUCCESS : range_at(va) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
}

CUresult engine_end(CUresult r, int ordinal, uint64_t va)
{
    if (r == CUDA_ERROR_INVALID_VALUE)
        fl_log(FL_LOG_ERROR, "device %d, a copy or memset that waited in a stream: managed memory at 0x%llx was freed meanwhile",
               ordinal, (unsigned long long)va);
    return r == CUDA_ERROR_OUT_OF_MEMORY || r == CUDA_ERROR_INVALID_VALUE ? sticky_set(CUDA_ERROR_ILLEGAL_ADDRESS) : r;
}

static CUresult request(struct block *b, const struct mask *pages, const struct engine *e)
{
    return engine_request(b, pages, e->p, e->write, false);
}

static struct mask missing(const struct block *b, const struct mask *pages, const struct engine *e)
{
    return engine_missing(b, pages, e->p, e->write);
}

static struct mask first_of(const struct mask *pages, unsigned n)
{
    struct mask m = { { 0 } };
    for_each_page(page, pages) {
        if (!n--) break;
        mask_set(&m, page);
    }
    return m;
}

static CUresult go_in_a_row(struct block *b, const struct mask *pages, struct engine *e)
{
    CUresult r = CUDA_SUCCESS;
    for (struct mask left = missing(b, pages, e); !r && !mask_empty(&left); left = missing(b, &left, e)) {
        unsigned first = mask_next(&left, 0, WINDOW_PAGES), outer = first + e->window + e->more;
        struct mask under_way = mask_region((struct region){ first, outer < WINDOW_PAGES ? outer : WINDOW_PAGES });
        under_way = mask_and(&under_way, &left);
        e->more = 0;
        r = request(b, &under_way, e);
        left = mask_andnot(&left, &under_way);
    }
    return r;
}

/* What the prefetcher brings beside a batch becomes read-only copies, and so does what earlier batches brought: stores
 * that are still on their way there fault again (observed on H200). A batch gets two thirds of what is under way done,
 * but of all that is left one more gets everything done. */
static CUresult go_over_copies(struct block *b, const struct mask *pages, const struct engine *e)
{
    const unsigned thirds_each = e->window * 2 < e->done ? e->window * 2 : e->done;
    unsigned thirds = 0;
    CUresult r = CUDA_SUCCESS;
    struct mask left = *pages;
    for (bool last = false; !r && !last && !mask_empty(&left); thirds %= 3) {
        struct mask under_way = first_of(&left, e->window), faults = missing(b, &under_way, e);
        last = mask_subset(&left, &under_way);
        if (!mask_empty(&faults)) r = request(b, &faults, e);
        thirds += thirds_each;
        struct mask done = first_of(&left, thirds / 3);
        left = mask_andnot(&left, &done);
    }
    return r;
}

/* Every n-th page of the part, then those behind them. */
static CUresult go_spread(struct block *b, const struct mask *pages, const struct engine *e, unsigned length)
{
    unsigned turns = (length + e->window - 1) / e->window;
    CUresult r = CUDA_SUCCESS;
    struct mask left = missing(b, pages, e);
    for (unsigned turn = 0; turn < turns && !r && !mask_empty(&left); turn++) {
        struct mask under_way = { { 0 } };
        for_each_page(page, &left)
            if ((b->window->va / PAGE_BYTES + page - e->start) % turns == turn) mask_set(&under_way, page);
        if (mask_empty(&under_way)) continue;
        r = request(b, &under_way, e);
        left = missing(b, &left, e);
    }
    return r;
}

/* What of [*at, end) lies in one block. */
static CUresult go_over_block(uint64_t *at, uint64_t end, struct engine *e, unsigned length)
{
    struct block *b;
    CUresult r = engine_block(*at, &b);
    if (r) return r;
    struct region here = block_overlap(b, *at, end);
    struct mask pages = mask_region(here);
    *at = b->window->va + (uint64_t)here.outer * PAGE_BYTES;
    if (e->write && b->range->policy.read_duplication == READ_DUPLICATION_ENABLED) return go_over_copies(b, &pages, e);
    return e->part ? go_spread(b, &pages, e, length) : go_in_a_row(b, &pages, e);
}

static CUresult go_over(uint64_t va, uint64_t size, struct engine e)
{
    uint64_t at = page_down(va), end = page_up(va + size), step = e.part ? e.part * PAGE_BYTES : end - at;
    CUresult r = CUDA_SUCCESS;
    e.start = at / PAGE_BYTES;
    for (uint64_t part = at; part < end && !r; part += step) {
        uint64_t outer = end - part < step ? end : part + step;
        for (at = part; at < outer && !r;) {
            uvm_enter();
            r = go_over_block(&at, outer, &e, (unsigned)((outer - part) / PAGE_BYTES));
            uvm_leave();
        }
    }
    return r;
}

CUresult uvm_copy_engine(int ordinal, uint64_t va, uint64_t size, enum uvm_engine does)
{
    if (!size || va < space_managed_base() || va >= space_managed_end()) return CUDA_SUCCESS;
    uint64_t pages = (page_up(va + size) - page_down(va)) / PAGE_BYTES;
    struct engine e = { .p = 1 + (unsigned)ordinal, .write = does != UVM_COPIES_FROM };
    if (does == UVM_FILLS)
        plan_fill(&e, pages);
    else
        plan_copy(&e, pages);
    return engine_end(go_over(va, size, e), ordinal, va);
}
