/* Machines whose devices have no concurrent managed access: host and kernels
 * take turns. A launch lends the host's pages to the device, and until the host
 * has waited for that stream it may not touch them (it gets SIGSEGV). What is
 * attached to the host is never lent, what is attached to one stream only to it. */
#include "uvm/internal.h"
#include "context/context.h"
#include "uvm/uvm.h"

bool uvm_exclusive;

static const void **loans; /* streams that something is lent to */
static unsigned loan_count, loan_room;

static bool lent_to(const void *stream)
{
    for (unsigned k = 0; k < loan_count; k++)
        if (loans[k] == stream) return true;
    return false;
}

static struct piece *piece_with(const struct managed *m, uint64_t va)
{
    struct piece *p;
    LIST_FOREACH(p, &m->pieces, link)
    if (va >= p->a.base && va - p->a.base < p->a.size) return p;
    return NULL;
}

bool exclusive_permits(const struct managed *m, const struct mmu_fault *f)
{
    const struct piece *p = piece_with(m, f->address);
    if (!p) return true;
    if (f->processor != CPU) return p->attached != CU_MEM_ATTACH_HOST;
    return p->attached == CU_MEM_ATTACH_HOST ||
           !(p->attached == CU_MEM_ATTACH_SINGLE ? lent_to(p->stream) : loan_count);
}

bool exclusive_fits(const struct context *c, uint64_t size)
{
    uint64_t all = size;
    for (struct range *r = range_first(); r; r = range_next(r)) all += r->end - r->start;
    return !c || all <= c->device->vram.capacity;
}

/* ---- lending */

/* The pages of b that kernels of the stream may touch. */
static struct mask lendable(const struct block *b, const void *stream)
{
    struct mask pages = { { 0 } };
    const struct piece *p;
    LIST_FOREACH(p, &b->range->owner->pieces, link)
    {
        if (p->attached == CU_MEM_ATTACH_HOST || (p->attached == CU_MEM_ATTACH_SINGLE && p->stream != stream)) continue;
        uint64_t start = p->a.base / PAGE_BYTES * PAGE_BYTES;
        struct mask own = mask_region(block_overlap(b, start, p->a.base + p->a.size + PAGE_BYTES - 1));
        pages = mask_or(&pages, &own);
    }
    return pages;
}

static CUresult lend_block(struct block *b, unsigned to, const void *stream)
{
    struct mask pages = lendable(b, stream);
    block_unmap(b, CPU, &pages);
    if (!(b->resident & bit(CPU)) || b->range->policy.preferred == CPU) return CUDA_SUCCESS;
    pages = mask_and(&pages, &b->place[CPU]->resident);
    if (mask_empty(&pages)) return CUDA_SUCCESS;
    CUresult r = block_make_resident(b, to, &pages, NULL, TRACE_CAUSE_USER);
    if (!r) r = block_map(b, to, &pages, PROT_RWA, TRACE_CAUSE_POLICY);
    block_check(b);
    return r;
}

static CUresult lend_all(unsigned to, const void *stream)
{
    CUresult r = CUDA_SUCCESS;
    for (struct range *g = range_first(); g && !r; g = range_next(g))
        for (uint64_t va = g->start; va < g->end && !r; va = (va / WINDOW_BYTES + 1) * WINDOW_BYTES) {
            struct window *w = window_at(va, false);
            for (struct block *b = w ? w->blocks : NULL; b && !r; b = b->next)
                if (b->range == g) r = lend_block(b, to, stream);
        }
    return r;
}

static CUresult make_room(void)
{
    const void **more = heap_take((loan_room + 16) * sizeof *loans);
    if (!more) return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned k = 0; k < loan_count; k++) more[k] = loans[k];
    heap_give(loans);
    loans = more;
    loan_room += 16;
    return CUDA_SUCCESS;
}

CUresult exclusive_lend(int ordinal, const void *stream)
{
    CUresult r = CUDA_SUCCESS;
    uvm_enter();
    if (!lent_to(stream) && loan_count == loan_room) r = make_room();
    if (!r && !lent_to(stream)) loans[loan_count++] = stream;
    if (!r) r = lend_all(1 + (unsigned)ordinal, stream);
    uvm_leave();
    return r;
}

void uvm_take_back(const void *stream)
{
    quiet_lock(&uvm_lock);
    for (unsigned k = 0; k < loan_count; k++)
        if (loans[k] == stream) loans[k] = loans[--loan_count];
    quiet_unlock(&uvm_lock);
}

/* ---- attaching */

static CUresult to_host(const struct piece *p)
{
    CUresult r = CUDA_SUCCESS;
    uint64_t start = p->a.base / PAGE_BYTES * PAGE_BYTES, end = p->a.base + p->a.size + PAGE_BYTES - 1;
    for (uint64_t va = start; va < end && !r; va = (va / WINDOW_BYTES + 1) * WINDOW_BYTES) {
        struct window *w = window_at(va, false);
        for (struct block *b = w ? w->blocks : NULL; b && !r; b = b->next) {
            struct mask pages = mask_region(block_overlap(b, start, end)), away = { { 0 } };
            for_each_processor(q, b->resident & ~bit(CPU))
            {
                struct mask there = mask_and(&pages, &b->place[q]->resident);
                away = mask_or(&away, &there);
            }
            if (!mask_empty(&away)) r = block_make_resident(b, CPU, &away, NULL, TRACE_CAUSE_USER);
            for_each_processor(q, b->mapped & ~bit(CPU)) block_unmap(b, q, &pages);
            block_check(b);
        }
    }
    return r;
}

CUresult uvm_attach(uint64_t va, unsigned flags, const void *stream)
{
    CUresult r = CUDA_SUCCESS;
    uvm_enter();
    struct range *g = range_at(va);
    struct piece *p = g ? piece_with(g->owner, va) : NULL;
    if (p) {
        p->attached = flags;
        p->stream = stream;
        if (flags == CU_MEM_ATTACH_HOST) r = to_host(p);
    }
    uvm_leave();
    return r;
}

void uvm_stream_gone(const void *stream)
{
    quiet_lock(&uvm_lock);
    for (struct range *g = range_first(); g; g = range_next(g)) {
        struct piece *p;
        LIST_FOREACH(p, &g->owner->pieces, link)
        if (p->attached == CU_MEM_ATTACH_SINGLE && p->stream == stream) p->attached = p->a.flags;
    }
    quiet_unlock(&uvm_lock);
    uvm_take_back(stream);
}
