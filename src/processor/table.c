/* The books of page tables and how they become true; see table.h. */
#include "processor/table.h"
#include "base/userfault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

struct mmu mmu = { .tables = { [0 ... MMU_PROCESSORS - 1] = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 } } };

struct block *block_make(uint64_t va)
{
    _Atomic(struct block *) *at = &mmu.blocks[(va - mmu.base) / BLOCK_BYTES];
    struct block *b = atomic_load(at), *new;
    if (b) return b;
    if (!(new = calloc(1, sizeof *new))) return NULL;
    if (atomic_compare_exchange_strong(at, &b, new)) return new;
    free(new);
    return b;
}

static enum mmu_access access_in(const struct mask *read, const struct mask *write, unsigned page)
{
    return mask_has(write, page) ? MMU_WRITE : mask_has(read, page) ? MMU_READ : MMU_NONE;
}

static void fill(struct mask *read, struct mask *write, unsigned first, unsigned end, enum mmu_access access)
{
    mask_fill(read, first, end, access >= MMU_READ);
    mask_fill(write, first, end, access == MMU_WRITE);
}

void leaf_permit(struct leaf *l, unsigned first, unsigned end, enum mmu_access access)
{
    fill(&l->may_read, &l->may_write, first, end, access);
}

bool leaf_permits(const struct leaf *l, unsigned page, bool write)
{
    return mask_has(write ? &l->may_write : &l->may_read, page);
}

/* ---- stale leaves */

static void stale_add(struct table *t, struct leaf *l)
{
    if (l->stale_link) return;
    if ((l->next_stale = t->stale)) t->stale->stale_link = &l->next_stale;
    l->stale_link = &t->stale;
    t->stale = l;
}

static void stale_remove(struct leaf *l)
{
    if (!l->stale_link) return;
    *l->stale_link = l->next_stale;
    if (l->next_stale) l->next_stale->stale_link = l->stale_link;
    l->stale_link = NULL;
}

/* ---- leaves */

struct leaf *leaf_find(unsigned number, uint64_t va)
{
    struct block *b = block_find(va);
    return b ? b->leaf[number] : NULL;
}

struct leaf *leaf_make(unsigned number, uint64_t va)
{
    struct table *t = &mmu.tables[number];
    struct block *b = block_make(va);
    if (!b || b->leaf[number]) return b ? b->leaf[number] : NULL;
    struct leaf *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    l->va = va & ~(uint64_t)(BLOCK_BYTES - 1);
    if ((l->next = t->leaves)) t->leaves->link = &l->next;
    l->link = &t->leaves;
    t->leaves = l;
    return b->leaf[number] = l;
}

void leaf_drop(unsigned number, struct leaf *l)
{
    stale_remove(l);
    *l->link = l->next;
    if (l->next) l->next->link = l->link;
    block_find(l->va)->leaf[number] = NULL;
    free(l);
}

void leaf_believe(struct leaf *l, unsigned page, bool protected_page)
{
    if (!protected_page) mask_fill(&l->has_read, page, page + 1, false);
    mask_fill(&l->has_write, page, page + 1, false);
}

void leaf_lose(struct leaf *l, unsigned first, unsigned end)
{
    fill(&l->has_read, &l->has_write, first, end, MMU_NONE);
}

/* ---- making it true */

static void take_out(struct table *t, uint64_t va, uint64_t size)
{
    if (t->zap_lo < t->zap_hi && va == t->zap_hi) {
        t->zap_hi += size;
    } else if (t->zap_lo < t->zap_hi && va + size == t->zap_lo) {
        t->zap_lo = va;
    } else {
        table_finish(t);
        t->zap_lo = va;
        t->zap_hi = va + size;
    }
}

void table_finish(struct table *t)
{
    uint64_t va = t->zap_lo, size = t->zap_hi - t->zap_lo;
    t->zap_lo = t->zap_hi = 0;
    if (!size) return;
    if (t->processor)
        device_zap(t, va, size);
    else
        madvise((void *)va, size, MADV_DONTNEED);
}

/* Physical memory for [va, va+size), zeros where there was none. */
static CUresult populate(uint64_t va, uint64_t size)
{
    int r;
    while ((r = fallocate(mmu.memory->fd, FALLOC_FL_KEEP_SIZE, (off_t)(va - mmu.base), (off_t)size)) && errno == EINTR)
        ;
    return r ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult result_of(int error)
{
    /* a process that is gone needs no entries; whoever waits for it learns of it elsewhere */
    if (!error || error == ESRCH) return CUDA_SUCCESS;
    return error == ENOMEM || error == ENOSPC ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
}

static CUresult enter(struct table *t, uint64_t va, uint64_t size, bool writable)
{
    uint64_t done;
    int error = userfault_enter(t->fd, va, size, writable, &done);
    if (error != EFAULT) return result_of(error);
    CUresult r = populate(va + done, size - done);
    if (r) return r;
    error = userfault_enter(t->fd, va + done, size - done, writable, &done);
    return result_of(error);
}

static CUresult change(struct table *t, uint64_t va, uint64_t size, enum mmu_access has, enum mmu_access may)
{
    if (may == MMU_NONE) {
        take_out(t, va, size);
        return CUDA_SUCCESS;
    }
    if (t->processor && !device_ready(t)) return CUDA_SUCCESS;
    if (has == MMU_NONE) return enter(t, va, size, may == MMU_WRITE);
    return result_of(userfault_protect(t->fd, va, size, may == MMU_WRITE));
}

static unsigned same_until(const struct leaf *l, unsigned first, unsigned end)
{
    end = mask_run(&l->may_read, first, end);
    end = mask_run(&l->may_write, first, end);
    end = mask_run(&l->has_read, first, end);
    return mask_run(&l->has_write, first, end);
}

CUresult leaf_apply(struct table *t, struct leaf *l, unsigned first, unsigned end)
{
    bool idle = t->processor && !processor_busy(t->processor);
    for (unsigned next; first < end; first = next) {
        next = same_until(l, first, end);
        enum mmu_access may = access_in(&l->may_read, &l->may_write, first);
        enum mmu_access has = access_in(&l->has_read, &l->has_write, first);
        if (may == has) continue;
        if (may < has && idle) {
            stale_add(t, l);
            continue;
        }
        CUresult r = change(t, l->va + first * PAGE_BYTES, (uint64_t)(next - first) * PAGE_BYTES, has, may);
        if (r) return r;
        fill(&l->has_read, &l->has_write, first, next, may);
    }
    return CUDA_SUCCESS;
}

void table_settle(struct processor *p)
{
    struct table *t = &mmu.tables[1 + p->ordinal];
    pthread_mutex_lock(&t->lock);
    t->settling = true;
    while (t->stale && t->processor == p) {
        struct leaf *l = t->stale;
        stale_remove(l);
        leaf_apply(t, l, 0, BLOCK_PAGES);
    }
    table_finish(t);
    t->settling = false;
    pthread_mutex_unlock(&t->lock);
}
