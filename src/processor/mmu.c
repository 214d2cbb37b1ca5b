/* Managed memory's page tables: what src/uvm calls. See mmu.h for the contract
 * and table.h for the books. */
#include "processor/mmu.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/numa.h"
#include "base/unlocked.h"
#include "base/userfault.h"
#include "processor/host_hook.h"
#include "processor/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* An alias aligned to large pages, apart from the one that others use: whoever touches that wants a few bytes. */
static char *map_large(const struct backing *memory)
{
    char *at = backing_room(memory->size);
    if (!at) return NULL;
    if (map_unlocked(at, memory->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, memory->fd, 0) != at) {
        munmap(at, memory->size);
        return NULL;
    }
    backing_hide(at, memory->size);
    madvise(at, memory->size, MADV_HUGEPAGE);
    return at;
}

/* A process may have so many mappings, or what the administrator says; most are to be left to the program. */
static unsigned share_of_mappings(void)
{
    enum { BY_DEFAULT = 65530, SHARE_MOST = BY_DEFAULT / 8 * 3 };
    unsigned most = BY_DEFAULT;
    FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
    if (f && fscanf(f, "%u", &most) != 1) most = BY_DEFAULT;
    if (f) fclose(f);
    return most / 8 * 3 < SHARE_MOST ? most / 8 * 3 : SHARE_MOST;
}

static void forget_window(void)
{
    if (mmu.alias) munmap(mmu.alias, mmu.memory->size);
    free(mmu.groups);
    mmu.alias = NULL;
    mmu.groups = NULL;
    mmu.memory = NULL;
}

CUresult mmu_init(const struct backing *memory, uint64_t base, mmu_service *service)
{
    if (memory->size > MANAGED_MOST) return CUDA_ERROR_INVALID_VALUE;
    mmu.groups = calloc((memory->size + GROUP_BYTES - 1) / GROUP_BYTES, sizeof *mmu.groups);
    if (!mmu.groups) return CUDA_ERROR_OUT_OF_MEMORY;
    mmu.memory = memory;
    mmu.base = base;
    mmu.end = base + memory->size;
    mmu.service = service;
    mmu.alias = map_large(memory);
    mmu.large_most = machine_memory() / 4;
    mmu.begun_most = machine_memory() / 2;
    mmu.pieces_most = share_of_mappings();
    CUresult r = host_open();
    if (!r && (r = service_start())) host_close();
    if (r) forget_window();
    return r;
}

CUresult mmu_serve_outside(mmu_service *service)
{
    CUresult r = outside_start();
    if (!r) mmu.outside = service;
    return r;
}

enum mmu_rung mmu_rung(void) { return mmu.rung; }

/* ---- address space */

static _Atomic bool some_node_preferred;

void mmu_look_for_handlers(void)
{
    const struct table *host = &mmu.tables[MMU_HOST];
    if (atomic_load(&host->attached) && host->signals) hook_objects();
}

CUresult mmu_add(uint64_t va, uint64_t size)
{
    int error = ENOMEM;
    const struct table *host = &mmu.tables[MMU_HOST];
    void *here = map_unlocked((void *)va, size, host->signals ? PROT_NONE : PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE, mmu.memory->fd, (off_t)(va - mmu.base));
    /* a core dump gets what the host has; where that is not known to Linux, it would make every page */
    if (here == (void *)va && host->signals) backing_hide(here, size);
    if (here == (void *)va && !madvise(here, size, MADV_DONTFORK) &&
        (host->signals || !(error = userfault_register(host->fd, va, size))))
        return CUDA_SUCCESS;
    if (here != MAP_FAILED) munmap(here, size);
    fl_log(FL_LOG_ERROR, "managed memory cannot be mapped at 0x%llx: %s", (unsigned long long)va, strerror(error));
    return error == ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_OPERATING_SYSTEM;
}

/* Gives the pages of [va, va+size) back, which takes all processors' entries there with it. */
static void punch(uint64_t va, uint64_t size)
{
    backing_discard(in_window(va) ? mmu.memory : mmu.ordinary, va - memory_base(va), size);
}

/* A block all of which has been left needs no mask of its own. */
static struct mask every_page = { .w = { [0 ... MASK_WORDS - 1] = UINT64_MAX } };

/* With the lock of the host's table. */
static void forget_gone(uint64_t va)
{
    struct block *b = block_find(va);
    if (b->gone != &every_page) heap_give(b->gone);
    b->gone = NULL;
}

static void remove_block(uint64_t va)
{
    block_punched(block_find(va), 0, BLOCK_PAGES);
    quiet_begin(); /* once for all tables */
    for (unsigned n = 0; n < MMU_PROCESSORS; n++) {
        struct table *t = &mmu.tables[n];
        quiet_lock(&t->lock);
        struct leaf *l = leaf_find(n, va);
        if (n == MMU_HOST) forget_gone(va);
        if (l) {
            /* the host's mapping goes; the others' stay */
            if (n != MMU_HOST) leaf_clean(t, l);
            leaf_drop(t, l);
            table_finish(t);
        }
        quiet_unlock(&t->lock);
    }
    quiet_end();
}

/* The file keeps what is said of one of its mappings, so this one need not stay: in those that do it would part
 * mappings, which userfaultfd does not reach across. */
void mmu_prefer_node(uint64_t va, uint64_t size, int node)
{
    if (!in_window(va) && !mmu.ordinary) return;
    void *p = mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, memory_fd(va), (off_t)(va - memory_base(va)));
    if (p == MAP_FAILED) return;
    numa_prefer(p, size, node);
    munmap(p, size);
    atomic_store(&some_node_preferred, true);
}

void mmu_remove(uint64_t va, uint64_t size)
{
    if (atomic_load(&some_node_preferred)) mmu_prefer_node(va, size, -1);
    for (uint64_t at = va; at < va + size;) {
        if (block_find(at)) {
            remove_block(at);
            at += BLOCK_BYTES;
        } else {
            at = mmu.base + ((at - mmu.base) / GROUP_BYTES + 1) * GROUP_BYTES;
        }
    }
    host_unmap(va, size);
    if (!mmu.tables[MMU_HOST].signals) userfault_wake(mmu.tables[MMU_HOST].fd, va, size);
    punch(va, size);
}

/* Of one block. */
static CUresult leave_pages(uint64_t va, uint64_t end)
{
    struct table *host = &mmu.tables[MMU_HOST];
    const bool whole = end - va == BLOCK_BYTES;
    if (whole && !block_find(va)) return CUDA_SUCCESS;
    quiet_lock(&host->lock);
    struct block *b = leaf_make(MMU_HOST, va) ? block_find(va) : NULL;
    if (b && !b->gone) b->gone = whole ? &every_page : heap_take(sizeof *b->gone);
    struct mask *gone = b ? b->gone : NULL;
    if (gone && !whole) mask_fill(gone, piece_region(va, end));
    mmu.some_gone |= gone != NULL;
    quiet_unlock(&host->lock);
    return gone ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void return_pages(uint64_t va, uint64_t end)
{
    struct table *host = &mmu.tables[MMU_HOST];
    struct block *b = block_find(va);
    if (!b) return;
    quiet_lock(&host->lock);
    if (b->gone && b->gone != &every_page) mask_assign(b->gone, piece_region(va, end), false);
    if (b->gone == &every_page || (b->gone && mask_empty(b->gone))) forget_gone(va);
    quiet_unlock(&host->lock);
}

static void return_all(uint64_t va, uint64_t end)
{
    for (uint64_t at = va, next; at < end; at = next) {
        next = piece_end(at, end);
        return_pages(at, next);
    }
}

CUresult mmu_leave(uint64_t va, uint64_t size)
{
    for (uint64_t at = va, next; at < va + size; at = next) {
        next = piece_end(at, va + size);
        if (!leave_pages(at, next)) continue;
        return_all(va, at);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

void mmu_left(uint64_t va, uint64_t size, bool unmapped)
{
    if (!unmapped) {
        return_all(va, va + size);
        return;
    }
    for (uint64_t at = va, next; at < va + size; at = next) {
        next = piece_end(at, va + size);
        if (!block_find(at)) continue;
        if (next - at == BLOCK_BYTES)
            remove_block(at);
        else
            for (unsigned p = 0; p < MMU_PROCESSORS; p++) mmu_set(p, at, next - at, MMU_NONE);
    }
    mmu_discard(va, size);
}

CUresult mmu_attach(unsigned p)
{
    struct table *t = &mmu.tables[p];
    struct processor *device = processor_of(p - 1);
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    mmu_detach(p);
    quiet_lock(&t->lock);
    CUresult r = device_attach(t, device);
    quiet_unlock(&t->lock);
    return r;
}

void mmu_detach(unsigned p)
{
    struct table *t = &mmu.tables[p];
    quiet_lock(&t->lock);
    while (t->leaves) leaf_drop(t, t->leaves);
    t->pieces = 0;
    t->attached = false;
    t->processor = NULL;
    t->fd = -1;
    quiet_unlock(&t->lock);
}

/* ---- entries */

CUresult mmu_set(unsigned p, uint64_t va, uint64_t size, enum mmu_access access)
{
    struct table *t = &mmu.tables[p];
    CUresult r = CUDA_SUCCESS;
    if (p == MMU_HOST) host_check_handler();
    quiet_lock(&t->lock);
    for (uint64_t at = va, next; t->attached && at < va + size && !r; at = next) {
        next = piece_end(at, va + size);
        struct leaf *l = access == MMU_NONE ? leaf_find(p, at) : leaf_make(p, at);
        if (!l) {
            if (access != MMU_NONE) r = CUDA_ERROR_OUT_OF_MEMORY;
            continue;
        }
        struct entries before = *l->may;
        struct region pages = piece_region(at, next);
        bool permitted = leaf_permit(l, pages.first, pages.outer, access);
        r = permitted ? leaf_apply(t, l, pages.first, pages.outer) : CUDA_ERROR_OUT_OF_MEMORY;
        if (r && access == MMU_NONE) {
            leaf_forbid(t, l);
            r = CUDA_SUCCESS;
        }
        if (r && !leaf_may(l, &before)) leaf_forbid(t, l);
        leaf_tidy(l);
        if (!r) device_set_atomics(t, at, next - at, access == MMU_ATOMIC);
    }
    table_finish(t);
    quiet_unlock(&t->lock);
    return r;
}

void mmu_take_late(unsigned p, uint64_t va, uint64_t size)
{
    struct table *t = &mmu.tables[p];
    quiet_lock(&t->lock);
    for (uint64_t at = va, next; t->attached && at < va + size; at = next) {
        next = piece_end(at, va + size);
        struct leaf *l = leaf_find(p, at);
        struct region pages = piece_region(at, next);
        if (l) leaf_forbid_late(t, l, pages.first, pages.outer);
        if (l) leaf_tidy(l);
    }
    quiet_unlock(&t->lock);
}

uint32_t mmu_progress(unsigned p)
{
    struct table *t = &mmu.tables[p];
    quiet_lock(&t->lock);
    uint32_t n = t->processor ? atomic_load_explicit(&t->processor->control->completion, memory_order_relaxed) : 0;
    quiet_unlock(&t->lock);
    return n;
}

unsigned mmu_next_accesses(unsigned p, struct mmu_access_note *out, unsigned most)
{
    struct table *t = &mmu.tables[p];
    unsigned n = 0;
    quiet_lock(&t->lock);
    const struct access_notes *a = t->processor ? &t->processor->control->accesses : NULL;
    uint64_t told = a ? atomic_load_explicit(&a->told, memory_order_acquire) : 0;
    if (t->heard < told && told - t->heard > NOTES) t->heard = told - NOTES;
    for (; n < most && t->heard < told; t->heard++, n++) {
        uint64_t note = a->note[t->heard % NOTES];
        out[n] = (struct mmu_access_note){ .address = note >> NOTE_BITS,
                                           .write = note & (NOTE_FORGOTTEN | NOTE_ATOMIC),
                                           .awaited = !(note & NOTE_FORGOTTEN),
                                           .atomic = note & NOTE_ATOMIC,
                                           .begins = note == NOTE_BEGINS };
    }
    quiet_unlock(&t->lock);
    return n;
}

void mmu_discard(uint64_t va, uint64_t size)
{
    for (uint64_t at = va, next; at < va + size; at = next) {
        next = piece_end(at, va + size);
        struct region pages = piece_region(at, next);
        if (block_find(at)) block_punched(block_find(at), pages.first, pages.outer);
        for (unsigned n = 0; block_find(at) && n < MMU_PROCESSORS; n++) {
            struct table *t = &mmu.tables[n];
            quiet_lock(&t->lock);
            struct leaf *l = leaf_find(n, at);
            if (l) leaf_lose(t, l, pages.first, pages.outer);
            quiet_unlock(&t->lock);
        }
    }
    punch(va, size);
}
