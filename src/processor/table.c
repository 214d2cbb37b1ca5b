/* The books of page tables and how they become true; see table.h. Physical
 * memory is pages.c's. */
#include "processor/table.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/userfault.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

struct mmu mmu = { .tables = { [0 ... MMU_PROCESSORS - 1] = { .lock = QUIET_MUTEX_INITIALIZER, .fd = -1 } } };

static struct block *block_make(uint64_t va)
{
    _Atomic(struct group *) *at = group_slot(va);
    if (!at) return NULL;
    struct group *g = atomic_load(at), *new = g ? NULL : heap_take(sizeof *new);
    if (new && !atomic_compare_exchange_strong(at, &g, new)) heap_give(new);
    return block_find(va);
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
    struct leaf *l = heap_take(sizeof *l);
    if (!l) return NULL;
    leaf_begin(l);
    l->va = block_start(va);
    if ((l->next = t->leaves)) t->leaves->link = &l->next;
    l->link = &t->leaves;
    t->leaves = l;
    return b->leaf[number] = l;
}

static bool is_open(const struct table *t, uint64_t va)
{
    const struct leaf *l = leaf_find((unsigned)(t - mmu.tables), va);
    return l && l->open;
}

/* Opens or closes: an open block among watched ones is a mapping of its own. */
static void set_open(struct table *t, struct leaf *l, bool open)
{
    unsigned neighbours = is_open(t, l->va - BLOCK_BYTES) + is_open(t, l->va + BLOCK_BYTES);
    if (l->open != open) t->pieces += open ? 2 - 2 * neighbours : 2 * neighbours - 2;
    l->open = open;
}

/* The mappings that mprotect cuts the leaf's block into, less one; neighbours that are alike are not counted off. */
static unsigned pieces_of(const struct table *t, const struct leaf *l)
{
    if (!t->signals) return 0;
    unsigned n = mask_test(&l->has->read, 0);
    for (unsigned first = 0, next; first < BLOCK_PAGES; first = next, n++) {
        next = mask_run_end(&l->has->read, first, BLOCK_PAGES);
        next = mask_run_end(&l->has->write, first, next);
    }
    return n - 1;
}

void leaf_drop(struct table *t, struct leaf *l)
{
    stale_remove(l);
    set_open(t, l, false);
    device_set_atomics(t, l->va, BLOCK_BYTES, false);
    t->pieces -= pieces_of(t, l);
    *l->link = l->next;
    if (l->next) l->next->link = l->link;
    block_find(l->va)->leaf[t - mmu.tables] = NULL;
    leaf_end(l);
    heap_give(l);
}

/* ---- making it true */

/* Neighbouring pieces of work are done in one piece. */
static void put_off(struct table *t, struct span *s, uint64_t va, uint64_t size)
{
    if (s->lo == s->hi || (va != s->hi && va + size != s->lo)) {
        if (s->lo != s->hi) table_finish(t);
        *s = (struct span){ va, va + size };
    } else if (va == s->hi) {
        s->hi += size;
    } else {
        s->lo = va;
    }
}

static struct span take(struct span *s)
{
    struct span taken = *s;
    *s = (struct span){ 0, 0 };
    return taken;
}

/* Of what the program has locked, too: to a GPU's driver mlock means nothing. */
static void take_out(struct span s, int unused)
{
    (void)unused;
    if (madvise((void *)s.lo, s.hi - s.lo, MADV_DONTNEED)) madvise((void *)s.lo, s.hi - s.lo, MADV_DONTNEED_LOCKED);
}

static void watch(struct span s, int fd) { userfault_register(fd, s.lo, s.hi - s.lo); }

static void protect_host(struct span s, int prot)
{
    unsigned char resident[BLOCK_PAGES];
    if (!mprotect((void *)s.lo, s.hi - s.lo, prot)) return;
    const int error = errno;
    const uint64_t pages = (s.hi - s.lo) / PAGE_BYTES, middle = s.lo + pages / 2 * PAGE_BYTES;
    if (pages <= BLOCK_PAGES && !mincore((void *)s.lo, s.hi - s.lo, resident)) {
        fl_log_once(FL_LOG_ERROR, "managed memory cannot be protected: %s", strerror(error));
    } else if (pages > 1) { /* where the program has unmapped some, unseen, the rest is protected */
        protect_host((struct span){ s.lo, middle }, prot);
        protect_host((struct span){ middle, s.hi }, prot);
    }
}

/* But for what the program has put there itself. */
static void for_host(struct span s, void (*act)(struct span s, int arg), int arg)
{
    if (!mmu.some_gone) {
        act(s, arg);
        return;
    }
    for (uint64_t at = s.lo, next; at < s.hi; at = next) {
        const struct block *b = block_find(at);
        next = piece_end(at, s.hi);
        const uint64_t base = block_start(at);
        struct mask left = mask_region(piece_region(at, next));
        if (b && b->gone) left = mask_andnot(&left, b->gone);
        for_each_run(run, &left) act((struct span){ base + run.first * PAGE_BYTES, base + run.outer * PAGE_BYTES }, arg);
    }
}

void table_finish(struct table *t)
{
    struct span open = take(&t->open), close = take(&t->close), zap = take(&t->zap), protect = take(&t->protect);
    bool there = (open.lo == open.hi && close.lo == close.hi) || !t->processor || device_ready(t);
    if (open.lo != open.hi && there) userfault_unregister(t->fd, open.lo, open.hi - open.lo);
    if (close.lo != close.hi && there && t->processor) watch(close, t->fd);
    if (close.lo != close.hi && !t->processor) for_host(close, watch, t->fd);
    if (zap.lo != zap.hi && t->processor) device_change(t, zap.lo, zap.hi - zap.lo, ENTRIES_ZAP);
    if (zap.lo != zap.hi && !t->processor && in_window(zap.lo))
        for_host(zap, take_out, 0);
    else if (zap.lo != zap.hi && !t->processor)
        ordinary_zap(zap.lo, zap.hi - zap.lo);
    if (protect.lo == protect.hi) return;
    int prot = t->protect_as == MMU_WRITE ? PROT_READ | PROT_WRITE : t->protect_as == MMU_READ ? PROT_READ : PROT_NONE;
    if (t->processor)
        device_change(t, protect.lo, protect.hi - protect.lo, prot);
    else
        for_host(protect, protect_host, prot);
}

static void put_off_protect(struct table *t, uint64_t va, uint64_t size, enum mmu_access access)
{
    if (t->protect_as != access) table_finish(t);
    t->protect_as = access;
    put_off(t, &t->protect, va, size);
}

/* The program has put something else there, or is doing so. */
static bool has_left(uint64_t va)
{
    const struct block *b = block_find(va);
    return b && b->gone && mask_test(b->gone, page_of(va));
}

/* va: where what was asked of the system begins. */
static CUresult result_of(const struct table *t, uint64_t va, int error)
{
    if (error && !t->processor && in_window(va) && has_left(va)) return CUDA_SUCCESS; /* the access comes again */
    const bool unmapped = !t->processor && error && error != ENOMEM && error != ENOSPC && (!in_window(va) || error == ENOENT);
    if (unmapped && in_window(va))
        fl_log_once(FL_LOG_WARN, "the program has unmapped managed memory by a system call that is not seen: devices keep it");
    if (unmapped) return CUDA_SUCCESS; /* by the program, which gets its SIGSEGV from the system */
    /* a process that is gone needs no entries; whoever waits for it learns of it elsewhere */
    if (!error || error == ESRCH) return CUDA_SUCCESS;
    return error == ENOMEM || error == ENOSPC ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
}

/* The userfaultfd that watches va. */
static int watcher(const struct table *t, uint64_t va)
{
    return t->processor || in_window(va) ? t->fd : mmu.ordinary_fd;
}

static CUresult enter(struct table *t, uint64_t va, uint64_t size, bool writable)
{
    uint64_t done;
    bool woken;
    int error = userfault_enter(watcher(t, va), va, size, writable, &done, &woken);
    if (error == EFAULT) {
        va += done;
        size -= done;
        block_begin(block_find(va), block_start(va));
        CUresult r = populate(va, size);
        if (r) return r;
        error = userfault_enter(watcher(t, va), va, size, writable, &done, &woken);
    }
    if (!error && woken) t->woken = (struct span){ va, va + size };
    return result_of(t, va, error);
}

static CUresult change(struct table *t, uint64_t va, uint64_t size, enum mmu_access has, enum mmu_access may)
{
    if (t->signals) {
        CUresult r = has == MMU_NONE ? populate_entries(va, size) : CUDA_SUCCESS;
        if (!r) put_off_protect(t, va, size, may);
        return r;
    }
    if (may == MMU_NONE) {
        put_off(t, &t->zap, va, size);
        return CUDA_SUCCESS;
    }
    /* only what is watched can be entered; taking out may wait for its neighbours */
    if (t->close.lo != t->close.hi) table_finish(t);
    if (t->processor && !device_ready(t)) return CUDA_SUCCESS;
    if (has == MMU_NONE) return enter(t, va, size, may == MMU_WRITE);
    return result_of(t, va, userfault_protect(watcher(t, va), va, size, may == MMU_WRITE));
}

/* ---- whole blocks */

static CUresult open_leaf(struct table *t, struct leaf *l)
{
    CUresult r = block_populate(block_find(l->va), l->va);
    if (r) return r;
    set_open(t, l, true);
    struct entries all;
    entries_fill(&all, 0, BLOCK_PAGES, MMU_WRITE);
    leaf_has(l, &all);
    put_off(t, &t->open, l->va, BLOCK_BYTES);
    return CUDA_SUCCESS;
}

static void close_leaf(struct table *t, struct leaf *l)
{
    set_open(t, l, false);
    put_off(t, &t->close, l->va, BLOCK_BYTES);
}

/* All of its entries go, whatever it may do: better too little than too much. */
static void empty_leaf(struct table *t, struct leaf *l)
{
    if (l->open) close_leaf(t, l);
    t->pieces -= pieces_of(t, l);
    if (t->signals)
        put_off_protect(t, l->va, BLOCK_BYTES, MMU_NONE);
    else
        put_off(t, &t->zap, l->va, BLOCK_BYTES);
    leaf_has(l, &(struct entries){ 0 });
    table_finish(t);
}

void leaf_believe(struct table *t, struct leaf *l, unsigned page, bool protected_page)
{
    struct entries has = *l->has;
    if (l->open || t->signals) return; /* opened after the fault; what mprotect says is not lost */
    if (!protected_page) mask_clear(&has.read, page);
    mask_clear(&has.write, page);
    if (!leaf_has(l, &has)) empty_leaf(t, l);
}

/* What is not watched the system fills in by itself. */
void leaf_lose(struct table *t, struct leaf *l, unsigned first, unsigned end)
{
    struct entries has = *l->has;
    if (l->open || t->signals) return;
    entries_fill(&has, first, end, MMU_NONE);
    if (!leaf_has(l, &has)) empty_leaf(t, l);
    leaf_tidy(l);
}

void leaf_clean(struct table *t, struct leaf *l)
{
    if (l->open) close_leaf(t, l);
    if (t->signals) put_off_protect(t, l->va, BLOCK_BYTES, MMU_NONE);
}

static bool may_open(const struct table *t, const struct leaf *l)
{
    return !l->open && !t->signals && in_window(l->va) && t->pieces < mmu.pieces_most && mask_full(&l->may->write) &&
           !mask_full(&l->has->write);
}

static unsigned same_until(const struct entries *want, const struct entries *has, unsigned first, unsigned end)
{
    end = mask_run_end(&want->read, first, end);
    end = mask_run_end(&want->write, first, end);
    end = mask_run_end(&has->read, first, end);
    return mask_run_end(&has->write, first, end);
}

/* Too many mappings: the block is permitted as a whole what any page of it is. */
static void coarsen(struct entries *w, unsigned *first, unsigned *end)
{
    struct region all = { 0, BLOCK_PAGES };
    if (!mask_empty(&w->read)) mask_fill(&w->read, all);
    if (!mask_empty(&w->write)) mask_fill(&w->write, all);
    *first = 0;
    *end = BLOCK_PAGES;
}

/* Whether the device may keep what it has until its next kernel. A launch says that the device is busy, and then
 * looks at unsettled; here it is the other way round. */
static bool may_wait(struct table *t)
{
    if (!t->processor) return false;
    atomic_store(&t->unsettled, true);
    return !processor_busy(t->processor);
}

CUresult leaf_apply(struct table *t, struct leaf *l, unsigned first, unsigned end)
{
    unsigned pieces = pieces_of(t, l);
    struct entries want = *l->may, now = *l->has;
    if (may_open(t, l)) return open_leaf(t, l);
    if (t->signals && t->pieces >= mmu.pieces_most) coarsen(&want, &first, &end);
    bool whole = end - first == BLOCK_PAGES && same_until(&want, &now, first, end) == end;
    if (!whole && !leaf_loosen(l)) return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned next; first < end; first = next) {
        next = same_until(&want, &now, first, end);
        enum mmu_access may = entry_of_page(&want, first), has = entry_of_page(&now, first);
        if (may == has) continue;
        if (may < has && may_wait(t)) {
            stale_add(t, l);
            continue;
        }
        if (l->open) close_leaf(t, l);
        CUresult r = change(t, l->va + first * PAGE_BYTES, (uint64_t)(next - first) * PAGE_BYTES, has, may);
        if (r) return r;
        entries_fill(&now, first, next, may);
        leaf_has(l, &now);
    }
    t->pieces += pieces_of(t, l) - pieces;
    return CUDA_SUCCESS;
}

void leaf_forbid_late(struct table *t, struct leaf *l, unsigned first, unsigned end)
{
    if (!leaf_permit(l, first, end, MMU_NONE)) leaf_permit(l, first = 0, end = BLOCK_PAGES, MMU_NONE);
    if (!t->processor) return;
    device_set_atomics(t, l->va + first * PAGE_BYTES, (end - first) * PAGE_BYTES, false);
    atomic_store(&t->unsettled, true);
    stale_add(t, l);
}

void leaf_forbid(struct table *t, struct leaf *l)
{
    leaf_permit(l, 0, BLOCK_PAGES, MMU_NONE);
    device_set_atomics(t, l->va, BLOCK_BYTES, false);
    empty_leaf(t, l);
}

void table_settle(struct processor *p)
{
    struct table *t = &mmu.tables[1 + p->ordinal];
    if (!atomic_load(&t->unsettled)) return;
    quiet_lock(&t->lock);
    t->settling = true;
    while (t->stale && t->processor == p) {
        struct leaf *l = t->stale;
        stale_remove(l);
        if (leaf_apply(t, l, 0, BLOCK_PAGES)) empty_leaf(t, l);
        leaf_tidy(l);
    }
    table_finish(t);
    t->settling = false;
    atomic_store(&t->unsettled, t->stale != NULL);
    quiet_unlock(&t->lock);
}
