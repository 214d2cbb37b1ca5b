/* Managed allocations: how they come and go, and where their pages are. */
#include "uvm/uvm.h"
#include "uvm/attributes.h"
#include "uvm/internal.h"

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
    quiet_lock(&uvm_lock);
    range_release(m);
    quiet_unlock(&uvm_lock);
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
                                .sync_memops = true, /* observed on H200 */
                                .mapping_base = m->start,
                                .mapping_size = m->end - m->start,
                                .backing = &uvm_memory,
                                .offset = p->a.base - space_managed_base(),
                                .owner = &uvm_owner,
                                .module_owned = of_module };
}

static CUresult alloc(struct context *c, uint64_t size, unsigned attach_flags, bool of_module, struct allocation **out)
{
    struct piece *p = heap_take(sizeof *p);
    if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
    mmu_look_for_handlers();
    CUresult r = remapped_lead();
    quiet_lock(&uvm_lock);
    if (!r) r = uvm_make_ready();
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
    trace_write(&(struct trace_record){ .kind = TRACE_ALLOC, .address = p->a.base, .bytes = size });
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
    trace_write(&(struct trace_record){ .kind = TRACE_FREE, .address = a->base, .bytes = a->size });
    give((struct piece *)a);
}

void uvm_free(struct allocation *a)
{
    space_withdraw(a);
    free_withdrawn(a);
}

CUresult uvm_free_same(const struct allocation *copy)
{
    struct allocation *a = space_withdraw_same(&uvm_owner, copy);
    if (!a) return CUDA_ERROR_INVALID_VALUE;
    free_withdrawn(a);
    return CUDA_SUCCESS;
}

bool uvm_covers(uint64_t va, uint64_t size)
{
    quiet_lock(&uvm_lock);
    bool all = uvm_ready && size && size <= UINT64_MAX - va && range_covers(va, va + size);
    quiet_unlock(&uvm_lock);
    return all;
}

void uvm_residency(uint64_t va, uint64_t pages, uint8_t *out)
{
    mmu_ordinary_settle();
    uvm_enter();
    for (uint64_t k = 0; k < pages; k++, va += PAGE_BYTES) {
        struct block *b = uvm_ready ? block_at(va, false) : NULL;
        uint32_t holders = b ? page_holders(b, page_of(va)) : 0;
        out[k] = holders || !ordinary_touched(va) ? (uint8_t)__builtin_ffs((int)holders) : 1;
        if (holders & (holders - 1)) out[k] |= 0x80;
    }
    quiet_unlock(&uvm_lock);
}
