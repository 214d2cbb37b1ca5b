/* Machines whose kernels reach everything that the host's program can. Where
 * devices have page tables of their own, what can move does (ordinary.c); other
 * memory, and all of it where they go through the host's, has one place, which
 * all processors see. What is said of memory is kept and answered. */
#include "uvm/pageable.h"
#include "ordinary/adopted.h"
#include "trace/trace.h"
#include "uvm/attributes.h"
#include "uvm/internal.h"
#include "uvm/uvm.h"

enum { TRIES = 8 };

bool uvm_pageable;
static bool moves; /* where this system can do it */

/* ---- faults */

static bool decided(const struct mmu_fault *f, CUresult *r)
{
    if (f->processor == CPU)
        uvm_enter();
    else
        quiet_lock(&uvm_lock);
    bool has_block = block_at(f->address, false);
    if (has_block) *r = fault_locked(f);
    uvm_leave();
    return has_block;
}

static void trace_in_place(const struct mmu_fault *f)
{
    trace_write(&(struct trace_record){ .kind = TRACE_GPU_FAULT,
                                        .access = f->write ? TRACE_ACCESS_WRITE : TRACE_ACCESS_READ,
                                        .processor = (uint8_t)f->processor,
                                        .address = f->address & ~4095ull,
                                        .bytes = 4096,
                                        .count = 1 });
}

static enum mmu_verdict service(const struct mmu_fault *f)
{
    CUresult r = CUDA_SUCCESS;
    bool moving = true;
    /* what is adopted may be lost before it is looked at */
    for (unsigned k = 0; k < TRIES && moving; k++) {
        if (decided(f, &r)) return r ? MMU_FATAL : MMU_RETRY;
        if (f->processor == CPU) return MMU_RETRY; /* the program has it to itself */
        if (f->at_once) return MMU_ELSEWHERE;
        if (adopted_add(f->address, f->write, f->missing, &moving)) return MMU_FATAL;
    }
    if (!moving) trace_in_place(f);
    return MMU_RETRY;
}

/* ---- what is adopted, and lost */

/* All that the program has; what is said of a part ends with its mapping. */
static const struct allocation all_of_it = { .mapping_size = 1ull << 47, .size = 1ull << 47 };

static CUresult comes(uint64_t va, uint64_t end, uint64_t mapping, uint64_t mapping_end)
{
    uvm_enter();
    CUresult r = ordinary_begin(va, end);
    if (!r) spans_note(va, mapping, mapping_end);
    uvm_leave();
    return r;
}

static CUresult leaves(uint64_t va, uint64_t end)
{
    uvm_enter();
    CUresult r = ordinary_end(va, end);
    uvm_leave();
    return r;
}

static void remains(uint64_t va, uint64_t from, uint64_t to)
{
    uvm_enter();
    spans_note(va, from, to);
    uvm_leave();
}

static void gone(uint64_t va, uint64_t end)
{
    uvm_enter();
    ordinary_gone(va, end);
    uvm_leave();
}

static CUresult lost(uint64_t va, uint64_t end)
{
    struct allocation gone = all_of_it;
    gone.base = va;
    gone.size = end - va;
    attributes_freed(&gone);
    uvm_enter();
    CUresult r = ordinary_forget(va, end);
    spans_forget(va, end);
    uvm_leave();
    return r;
}

CUresult pageable_begin(bool pages_move)
{
    static const struct adopted_client client = { comes, leaves, remains, gone, lost };
    if (!uvm_pageable) return CUDA_SUCCESS;
    CUresult r = mmu_serve_outside(service);
    if (r) return r;
    moves = pages_move;
    adopted_begin(&client, moves);
    return r;
}

/* The next range from `at` on of which something was said. */
static bool next_policy(uint64_t at, uint64_t *from, uint64_t *to)
{
    quiet_lock(&uvm_lock);
    const struct range *r = range_above(at);
    while (r && r->policy.preferred == NOBODY && !r->policy.accessed_by) r = range_above(r->end);
    if (r) *from = r->start;
    if (r) *to = r->end;
    quiet_unlock(&uvm_lock);
    return r;
}

/* Of memory that was never adopted nobody says that it is gone. */
static void review_policy(void)
{
    for (uint64_t at = 0, from, to; next_policy(at, &from, &to); at = to)
        for (uint64_t gap, end; adopted_unmapped(from, to, &gap, &end); from = end) lost(gap, end);
}

void pageable_review(void)
{
    adopted_review();
    if (moves) review_policy();
}

/* ---- what is asked for */

CUresult pageable_advise(uint64_t va, uint64_t size, CUmem_advise advice, CUmemLocation l, bool host_tables)
{
    bool accessed = (advice == CU_MEM_ADVISE_SET_ACCESSED_BY || advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY) &&
                    l.type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (accessed && host_tables) return CUDA_SUCCESS;
    CUresult r = attributes_advise(&all_of_it, va, size, advice, l);
    /* nothing is duplicated */
    if (r || !moves || advice == CU_MEM_ADVISE_SET_READ_MOSTLY || advice == CU_MEM_ADVISE_UNSET_READ_MOSTLY) return r;
    uvm_enter();
    r = ordinary_cover(page_down(va), page_up(va + size));
    uvm_leave();
    return r ? r : uvm_advise(va, size, advice, l);
}

CUresult pageable_prefetched(uint64_t va, uint64_t size, CUmemLocation shown)
{
    return attributes_prefetched(&all_of_it, va, size, shown);
}

/* As much of it as can be had; nobody is told of the rest. */
CUresult pageable_prefetch(uint64_t va, uint64_t size, CUmemLocation location)
{
    unsigned to = location.type == CU_MEM_LOCATION_TYPE_DEVICE ? 1 + (unsigned)location.id : CPU;
    uint64_t start = page_down(va), end = page_up(va + size);
    if (!moves || to != CPU) adopted_cover(va, size);
    for (uint64_t at = start; moves && at < end; at = (at / WINDOW_BYTES + 1) * WINDOW_BYTES) {
        uvm_enter();
        ordinary_bring(at, start, end, to);
        uvm_leave();
    }
    return CUDA_SUCCESS;
}

struct attributes pageable_attributes(uint64_t va, uint64_t size)
{
    pageable_review();
    return attributes_get(&all_of_it, va, size);
}

bool uvm_reaches(uint64_t va, uint64_t size, bool write)
{
    return uvm_pageable && adopted_touchable(va, size, write);
}
