/* A device's engines go over rows of managed memory with gaps between them: copies and fills in two and three dimensions.
 * Only the pages that rows touch fault (observed on H200: widths from 64 bytes to 200 pages, pitches up to 2 MiB). They
 * are under way all over a part of the box; how many batches of faults that makes is that of an H200 within one or two
 * where nothing is prefetched. */
#include "uvm/internal.h"
#include "uvm/uvm.h"

/* Pages. */
enum {
    FEW = 32,         /* a copy asks for them at once */
    MANY = 512,
    COPY_PART = 128,  /* over which those under way are spread */
    COPY_WINDOW = 33, /* under way at a time */
    LONG_PART = 160,  /* the same of a copy of more than MANY */
    LONG_WINDOW = 42,
    PART = 256,       /* the same of a fill, and of rows that are NARROW */
    FILL_WINDOW = 64,
    WIDE_WINDOW = 43, /* of a fill of rows of more than QUARTERS */
    QUARTERS = 4,
    NARROW = 512, /* bytes */
};

/* Where in the box one is. */
struct walk {
    const struct uvm_box *box;
    size_t z, y;
    uint64_t next, end; /* pages of the row that are still to come */
};

static void begin_row(struct walk *w)
{
    const struct uvm_box *b = w->box;
    uint64_t row = b->va + w->z * b->slice + w->y * b->pitch;
    /* rows may share pages */
    if (page_down(row) > w->next) w->next = page_down(row);
    w->end = page_up(row + b->width);
}

/* The next page that some row touches. */
static bool next_page(struct walk *w, uint64_t *page)
{
    while (w->next >= w->end) {
        if (++w->y == w->box->height) {
            w->y = 0;
            if (++w->z == w->box->depth) return false;
        }
        begin_row(w);
    }
    *page = w->next;
    w->next += PAGE_BYTES;
    return true;
}

static struct walk walk_begin(const struct uvm_box *b)
{
    struct walk w = { .box = b };
    begin_row(&w);
    return w;
}

/* Or `most`, if there are more. */
static uint64_t count_pages(const struct uvm_box *b, uint64_t most)
{
    struct walk w = walk_begin(b);
    uint64_t n = 0, page;
    while (n < most && next_page(&w, &page)) n++;
    return n;
}

struct plan {
    unsigned p;
    bool write;
    unsigned part, window;
    unsigned least, more; /* batches of the first part */
};

static struct plan plan_box(unsigned p, const struct uvm_box *b, enum uvm_engine does)
{
    struct plan plan = { .p = p, .write = does != UVM_COPIES_FROM, .part = PART };
    uint64_t pages = count_pages(b, MANY + 1), row = (page_up(b->va + b->width) - page_down(b->va)) / PAGE_BYTES;
    if (b->width <= NARROW && b->pitch >= PAGE_BYTES) {
        plan.window = PART;
    } else if (does == UVM_FILLS) {
        plan.window = row > QUARTERS ? WIDE_WINDOW : FILL_WINDOW;
        plan.least = row < QUARTERS ? (unsigned)row : QUARTERS;
    } else {
        plan.window = pages > MANY ? LONG_WINDOW : COPY_WINDOW;
        plan.part = pages > MANY ? LONG_PART : COPY_PART;
        plan.more = pages > FEW;
    }
    return plan;
}

static unsigned turns_of(const struct plan *plan, unsigned pages)
{
    unsigned turns = (pages + plan->window - 1) / plan->window + plan->more;
    return turns < plan->least ? plan->least : turns;
}

/* Those of a block, which begin at page[*k], every n-th. */
static CUresult go_over_block(const struct plan *plan, const uint64_t *page, unsigned count, unsigned *k, unsigned n,
                              bool *told)
{
    struct block *b;
    struct mask pages = { { 0 } };
    CUresult r = engine_block(page[*k], &b);
    if (r) return r;
    for (; *k < count && page[*k] / WINDOW_BYTES == b->window->va / WINDOW_BYTES && page_of(page[*k]) < b->region.outer;
         *k += n)
        mask_set(&pages, page_of(page[*k]));
    pages = engine_missing(b, &pages, plan->p, plan->write);
    if (mask_empty(&pages)) return r;
    r = engine_request(b, &pages, plan->p, plan->write, *told);
    *told = true;
    return r;
}

/* Every n-th page of the part, then those behind them; one batch, whatever blocks they are in. */
static CUresult go_over_part(const struct plan *plan, const uint64_t *page, unsigned count)
{
    unsigned turns = turns_of(plan, count);
    CUresult r = CUDA_SUCCESS;
    for (unsigned turn = 0; turn < turns && !r; turn++) {
        bool told = false;
        uvm_enter();
        for (unsigned k = turn; k < count && !r;) r = go_over_block(plan, page, count, &k, turns, &told);
        uvm_leave();
    }
    return r;
}

CUresult uvm_copy_engine_box(int ordinal, const struct uvm_box *box, enum uvm_engine does)
{
    if (box->va < space_managed_base() || box->va >= space_managed_end()) return CUDA_SUCCESS;
    struct plan plan = plan_box(1 + (unsigned)ordinal, box, does);
    struct walk w = walk_begin(box);
    uint64_t page[PART]; /* the longest part */
    unsigned count;
    CUresult r = CUDA_SUCCESS;
    do {
        for (count = 0; count < plan.part && next_page(&w, &page[count]);) count++;
        r = go_over_part(&plan, page, count);
        plan.least = plan.more = 0;
    } while (count == plan.part && !r);
    return engine_end(r, ordinal, box->va);
}
