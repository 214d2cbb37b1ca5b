/* Which addresses an allocation gets: chunks of its own, or, below 2 MiB, the best
 * place in the chunks that it shares with others of its context, modules' variables apart
 * (recorded answers of cuMemRangeGetAttribute show who shares with whom). What a freed one leaves
 * in a shared chunk is made as if it had never been. */
#include "uvm/internal.h"
#include "uvm/uvm.h"

static CUresult chunk_new(struct context *c, bool of_module, uint64_t size, struct managed **out)
{
    struct managed *m = heap_take(sizeof *m);
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!m) return r;
    if (size < WINDOW_BYTES && !(m->slab = heap_take(sizeof *m->slab))) goto failed;
    uint64_t bytes = (size + WINDOW_BYTES - 1) / WINDOW_BYTES * WINDOW_BYTES;
    if (!(m->start = range_place(bytes))) goto failed;
    m->end = m->start + bytes;
    m->context = c;
    m->of_module = of_module;
    if (uvm_exclusive && (r = exclusive_take(m))) goto failed;
    if ((r = mmu_add(m->start, bytes))) goto no_page_tables;
    if (!range_new(m, m->start, m->start + (m->slab ? bytes : page_up(size)))) {
        r = CUDA_ERROR_OUT_OF_MEMORY;
        goto no_range;
    }
    LIST_INIT(&m->pieces);
    if (m->slab) holes_begin(m);
    *out = m;
    return CUDA_SUCCESS;
no_range:
    mmu_remove(m->start, bytes);
no_page_tables:
    if (uvm_exclusive) exclusive_give(m);
failed:
    heap_give(m->slab);
    heap_give(m);
    return r;
}

CUresult addresses_take(struct context *c, bool of_module, uint64_t size, struct piece *p)
{
    if (size > UINT64_MAX - WINDOW_BYTES) return CUDA_ERROR_OUT_OF_MEMORY;
    struct hole *h = size < WINDOW_BYTES ? hole_find(c, of_module, size) : NULL;
    struct managed *m = h ? h->chunk : NULL;
    CUresult r = h ? CUDA_SUCCESS : chunk_new(c, of_module, size, &m);
    if (r) return r;
    p->chunk = m;
    p->a.base = h ? h->at : m->start;
    if (m->slab) {
        slab_fill(m->slab, p->a.base - m->start, size);
        hole_take(h ? h : &m->hole, size, &p->behind);
    }
    LIST_INSERT_HEAD(&m->pieces, p, link);
    return r;
}

static void forget_pages(struct block *b, const struct mask *pages)
{
    for_each_processor(q, b->mapped) block_unmap(b, q, pages);
    if (places_loosen(b, b->resident, pages)) return; /* what comes there next finds them where they are */
    b->discarded = mask_andnot(&b->discarded, pages);
    b->read_duplicated = mask_andnot(&b->read_duplicated, pages);
    for_each_processor(q, b->resident) block_lose(b, q, pages);
    block_done(b);
}

/* Pages that no other allocation touches. */
static void forget(struct managed *m, uint64_t start, uint64_t end)
{
    static const CUmem_advise undo[] = { CU_MEM_ADVISE_UNSET_READ_MOSTLY, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION };
    while (start < end && slab_page_used(m->slab, page_of(start))) start += PAGE_BYTES;
    while (end > start && slab_page_used(m->slab, page_of(end - 1))) end -= PAGE_BYTES;
    if (start == end) return;
    struct window *w = window_at(start, false);
    for (struct block *b = w ? w->blocks : NULL; b; b = b->next) {
        struct region part = block_overlap(b, start, end);
        struct mask pages = mask_region(part);
        if (part.first < part.outer) forget_pages(b, &pages);
    }
    for (unsigned k = 0; k < 2; k++) advise(start, end, undo[k], CPU, -1);
    for (unsigned p = 0; p < topology.processors; p++) advise(start, end, CU_MEM_ADVISE_UNSET_ACCESSED_BY, p, -1);
    mmu_discard(start, end - start);
}

bool addresses_give(struct piece *p)
{
    struct managed *m = p->chunk;
    uint64_t first = page_down(p->a.base), end = page_up(p->a.base + p->a.size);
    LIST_REMOVE(p, link);
    if (m->slab) {
        slab_give(m->slab, p->a.base - m->start, p->a.size);
        hole_give(&p->behind);
    }
    if (LIST_EMPTY(&m->pieces)) {
        if (m->slab) holes_end(m);
        range_remove(m);
        if (uvm_exclusive) exclusive_give(m);
        return true;
    }
    forget(m, first, end);
    return false;
}

bool addresses_live(const struct managed *m, uint64_t va) { return !m->slab || slab_page_used(m->slab, page_of(va)); }
