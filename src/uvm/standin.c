/* Managed memory that does not migrate: every processor sees the same pages all
 * the time, so advice and prefetches have nothing to do. */
#include "context/context.h"
#include "uvm/attributes.h"
#include "uvm/uvm.h"

CUresult uvm_alloc(struct context *c, uint64_t size, unsigned attach, struct allocation **out)
{
    CUresult r = space_alloc_host(c, size, attach, ALLOCATION_MANAGED, out);
    if (!r) attributes_unmapped((*out)->mapping_base); /* a dying context frees without a word */
    return r;
}

void uvm_free(struct allocation *a)
{
    attributes_unmapped(a->mapping_base);
    space_free(a);
}

CUresult uvm_advise(uint64_t va, uint64_t size, CUmem_advise advice, CUmemLocation location)
{
    (void)va, (void)size, (void)advice, (void)location;
    return CUDA_SUCCESS;
}

CUresult uvm_prefetch(uint64_t va, uint64_t size, CUmemLocation location)
{
    (void)va, (void)size, (void)location;
    return CUDA_SUCCESS;
}

CUresult uvm_discard(uint64_t va, uint64_t size)
{
    (void)va, (void)size;
    return CUDA_SUCCESS;
}
