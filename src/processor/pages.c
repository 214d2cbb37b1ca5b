/* The physical memory behind entries: it comes with the first entry, as one large
 * page for a whole block where the system has these and memory is plenty. */
#include "processor/table.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

/* Missing in the headers of some systems we build on. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* Making a large page of small ones costs as much as a few migrations of the block without it. */
enum { COLLAPSE_AT = 6 };

CUresult populate(uint64_t va, uint64_t size)
{
    int r;
    while ((r = fallocate(memory_fd(va), FALLOC_FL_KEEP_SIZE, (off_t)(va - memory_base(va)), (off_t)size)) &&
           errno == EINTR)
        ;
    return r ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult leaf_populate(const struct leaf *l, unsigned page)
{
    return populate(l->va + (uint64_t)page * PAGE_BYTES, PAGE_BYTES);
}

/* 512 small pages take five times as long to make as a large one, and ten times as long to take away again. */
void block_begin(struct block *b, uint64_t va)
{
    unsigned char resident = 0;
    if (!in_window(va)) return;
    char *alias = mmu.alias + (va - mmu.base);
    if (atomic_load(&b->begun) || atomic_exchange(&b->begun, true)) return;
    atomic_fetch_add(&mmu.begun_bytes, BLOCK_BYTES);
    if (!mmu.alias || atomic_load(&mmu.large_bytes) >= mmu.large_most) return;
    if (madvise(alias, PAGE_BYTES, MADV_POPULATE_WRITE)) return;
    if (!mincore(alias + BLOCK_BYTES - PAGE_BYTES, PAGE_BYTES, &resident) && resident & 1) {
        atomic_fetch_add(&mmu.large_bytes, BLOCK_BYTES);
        atomic_store(&b->large, true);
        atomic_store(&b->populated, true);
    } else {
        atomic_store(&mmu.large_bytes, UINT64_MAX / 2);
    }
    madvise(alias, BLOCK_BYTES, MADV_DONTNEED);
}

void block_punched(struct block *b, unsigned first, unsigned end)
{
    atomic_store(&b->populated, false);
    if (first || end != BLOCK_PAGES) return;
    if (atomic_exchange(&b->large, false)) atomic_fetch_sub(&mmu.large_bytes, BLOCK_BYTES);
    if (atomic_exchange(&b->begun, false)) atomic_fetch_sub(&mmu.begun_bytes, BLOCK_BYTES);
}

/* What is given to a processor whole may never be touched: where it is more than the machine could have, the system
 * gives memory to pages that are. */
static bool comes_by_itself(const struct block *b, uint64_t va)
{
    return in_window(va) && !atomic_load(&b->begun) && atomic_load(&mmu.begun_bytes) >= mmu.begun_most;
}

CUresult block_populate(struct block *b, uint64_t va)
{
    if (comes_by_itself(b, va)) return CUDA_SUCCESS;
    block_begin(b, va);
    if (!atomic_load(&b->populated)) {
        CUresult r = populate(va, BLOCK_BYTES);
        if (r) return r;
        atomic_store(&b->populated, true);
    }
    if (mmu.alias && !atomic_load(&b->large) && atomic_load(&b->opened) < COLLAPSE_AT &&
        atomic_fetch_add(&b->opened, 1) + 1 == COLLAPSE_AT)
        madvise(mmu.alias + (va - mmu.base), BLOCK_BYTES, MADV_COLLAPSE);
    return CUDA_SUCCESS;
}

CUresult populate_entries(uint64_t va, uint64_t size)
{
    struct block *b = block_find(va);
    if (size == BLOCK_BYTES) return block_populate(b, va);
    block_begin(b, block_start(va));
    return populate(va, size);
}
