/* Wait-value and write-value operations, on any memory of ours, through the
 * alias of it that this process may touch at any time. */
#include "base/log.h"
#include "ordinary/registered.h"
#include "space/space.h"
#include "stream/internal.h"
#include "vmm/vmm.h"

#include <stdlib.h>
#include <time.h>

enum { SPINS = 2000, SHORTEST_NAP_NS = 10 * 1000, LONGEST_NAP_NS = 200 * 1000, FEW_WAITERS = 4 };
static const uint64_t LONG_NS = 1000000000;
static _Atomic unsigned waiters;

enum op_kind { OP_WAIT, OP_WRITE, OP_BARRIER };

struct op {
    enum op_kind kind;
    bool wide;           /* 64 bits */
    unsigned comparison; /* CU_STREAM_WAIT_VALUE_* */
    uint64_t value;
    void *alias;
    CUdeviceptr at;
    bool registered, forbidden;  /* memory; to be read only, though this is a write */
    bool passing;                /* it is that, mapped memory or another process's, which was found */
    uint64_t changes;            /* at this count of changes */
    const struct device *device; /* the stream's */
};

struct batch {
    struct stream *stream;
    const struct batch *issued; /* where it was issued from: who performs it there may not wait */
    bool unmet;                 /* so it did not */
    unsigned count;
    struct op op[];
};

static bool satisfied(const struct op *o)
{
    uint64_t is = o->wide ? __atomic_load_n((uint64_t *)o->alias, __ATOMIC_ACQUIRE)
                          : __atomic_load_n((uint32_t *)o->alias, __ATOMIC_ACQUIRE);
    uint64_t mask = o->wide ? ~0ull : 0xffffffffull, sign = o->wide ? 1ull << 63 : 1ull << 31;
    switch (o->comparison) {
    case CU_STREAM_WAIT_VALUE_GEQ: return !((is - o->value) & sign);
    case CU_STREAM_WAIT_VALUE_EQ: return is == (o->value & mask);
    case CU_STREAM_WAIT_VALUE_AND: return (is & o->value & mask) != 0;
    default: return (~(is | o->value) & mask) != 0;
    }
}

static uint64_t changes(void) { return vmm_changes() + space_changes(); }

static CUresult address(struct op *o, CUdeviceptr at)
{
    if (!at || at % (o->wide ? 8 : 4)) return CUDA_ERROR_INVALID_VALUE;
    struct allocation a;
    o->changes = changes();
    if (!space_look(at, &a) || at - a.base > a.size - (o->wide ? 8 : 4)) return CUDA_ERROR_INVALID_VALUE;
    if (a.kind == ALLOCATION_MANAGED || a.pool) return CUDA_ERROR_INVALID_VALUE; /* observed on H200 */
    /* mapped memory is what each device was given, another device's what a peer has; anything else a stream reaches */
    unsigned need = o->kind == OP_WRITE ? PROT_DEVICE_WRITE : PROT_DEVICE_READ;
    o->at = at;
    o->registered = a.kind == ALLOCATION_REGISTERED;
    o->forbidden = o->registered && !(space_access(&a, o->device) & need); /* which it finds out (observed on H200) */
    o->passing = o->registered || a.kind == ALLOCATION_MAPPED || a.kind == ALLOCATION_IMPORTED;
    const bool given = a.kind == ALLOCATION_MAPPED || a.kind == ALLOCATION_DEVICE;
    if (given && !(space_access(&a, o->device) & need)) return CUDA_ERROR_INVALID_VALUE;
    o->alias = space_alias(&a, at);
    return o->alias ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool touch(struct op *o)
{
    if (o->forbidden) return false;
    return !o->registered || (o->alias = registered_reach(o->at, o->wide ? 8 : 4, o->kind == OP_WRITE));
}

/* It may be there no more when the stream comes to it; then the error is this one (observed on H200). */
static CUresult find_again(struct op *o)
{
    char what[256];
    if (!o->passing || ((o->changes == changes() || !address(o, o->at)) && touch(o))) return CUDA_SUCCESS;
    vmm_describe_any(o->at, o->device->ordinal, what, sizeof what);
    fl_log(FL_LOG_ERROR, "device %d, a wait or write that waited in a stream: an illegal access at 0x%llx: %s",
           o->device->ordinal, o->at, what);
    return CUDA_ERROR_LAUNCH_FAILED;
}

/* The end of a context waits as long as its streams do (observed on H200): whoever wonders is told for what. */
static void tell(const struct stream *s, const struct op *o, uint64_t since)
{
    if (atomic_load(&s->set->context->finishing) && clock_now() - since > LONG_NS)
        fl_log_once(FL_LOG_WARN,
                    "the end of a context on device %d waits for a stream, which waits for a value at 0x%llx that nobody "
                    "has written yet",
                    o->device->ordinal, o->at);
}

static CUresult look(struct op *o, unsigned spins, bool *met)
{
    const bool passing = o->passing;
    space_copy_begins(passing);
    CUresult r = find_again(o);
    *met = false;
    for (unsigned k = 0; !r && k <= spins && !(*met = satisfied(o)); k++) __builtin_ia32_pause();
    space_copy_ends(passing);
    return r;
}

/* Many streams that wait look less often, and take no more of the processors together. */
static long longest_nap(void)
{
    const unsigned n = atomic_load_explicit(&waiters, memory_order_relaxed);
    return LONGEST_NAP_NS * (long)(n > FEW_WAITERS ? n / FEW_WAITERS : 1);
}

static CUresult wait_for(struct stream *s, struct op *o)
{
    bool met;
    CUresult r = look(o, SPINS, &met);
    if (r || met) return r;
    const uint64_t since = clock_now();
    atomic_fetch_add(&waiters, 1);
    for (long nap = SHORTEST_NAP_NS; !r && !met && !(r = stream_error(s)); nap *= 2) {
        if (nap > longest_nap()) nap = longest_nap();
        nanosleep(&(struct timespec){ .tv_sec = nap / 1000000000, .tv_nsec = nap % 1000000000 }, NULL);
        tell(s, o, since);
        r = look(o, 0, &met);
    }
    atomic_fetch_sub(&waiters, 1);
    return r;
}

static CUresult write_or_order(struct op *o)
{
    const bool passing = o->passing;
    space_copy_begins(passing);
    CUresult r = find_again(o);
    if (!r && o->kind == OP_WRITE && o->wide)
        __atomic_store_n((uint64_t *)o->alias, o->value, __ATOMIC_SEQ_CST);
    else if (!r && o->kind == OP_WRITE)
        __atomic_store_n((uint32_t *)o->alias, (uint32_t)o->value, __ATOMIC_SEQ_CST);
    else
        atomic_thread_fence(memory_order_seq_cst);
    space_copy_ends(passing);
    return r;
}

static CUresult perform(void *arg)
{
    struct batch *b = arg;
    CUresult r = CUDA_SUCCESS;
    bool met = true;
    for (unsigned i = 0; i < b->count && !r; i++)
        r = b->op[i].kind != OP_WAIT ? write_or_order(&b->op[i])
            : b == b->issued         ? look(&b->op[i], 0, &met)
                                     : wait_for(b->stream, &b->op[i]);
    b->unmet = !met;
    return r;
}

static CUresult check_wait(const CUstreamBatchMemOpParams *p, unsigned size, bool may_flush)
{
    const unsigned flags = p->waitValue.flags;
    if (flags & ~(CU_STREAM_WAIT_VALUE_NOR | CU_STREAM_WAIT_VALUE_FLUSH)) return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_STREAM_WAIT_VALUE_FLUSH && !may_flush) return CUDA_ERROR_NOT_SUPPORTED;
    return p->waitValue.address % size ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* No write goes without its barrier: observed on H200. */
static CUresult check_write(const CUstreamBatchMemOpParams *p, unsigned size)
{
    return p->writeValue.flags || p->writeValue.address % size ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult stream_check_operation(const CUstreamBatchMemOpParams *p, bool may_flush)
{
    switch (p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: return check_wait(p, 8, may_flush);
    case CU_STREAM_MEM_OP_WAIT_VALUE_32: return check_wait(p, 4, may_flush);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: return check_write(p, 8);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32: return check_write(p, 4);
    case CU_STREAM_MEM_OP_BARRIER:
        return p->memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        return !may_flush                   ? CUDA_ERROR_NOT_SUPPORTED
               : p->flushRemoteWrites.flags ? CUDA_ERROR_INVALID_VALUE
                                            : CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult check(struct op *o, const CUstreamBatchMemOpParams *p, bool may_flush)
{
    CUresult r = stream_check_operation(p, may_flush);
    o->kind = OP_BARRIER;
    if (r) return r;
    o->wide = p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 || p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
    if (p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64) {
        o->kind = OP_WAIT;
        o->comparison = p->waitValue.flags & CU_STREAM_WAIT_VALUE_NOR;
        o->value = o->wide ? p->waitValue.value64 : p->waitValue.value;
        return address(o, p->waitValue.address);
    }
    if (p->operation != CU_STREAM_MEM_OP_WRITE_VALUE_32 && p->operation != CU_STREAM_MEM_OP_WRITE_VALUE_64) return r;
    o->kind = OP_WRITE;
    o->value = o->wide ? p->writeValue.value64 : p->writeValue.value;
    return address(o, p->writeValue.address);
}

/* Whether the operations take no time, so that no thread is needed for them; a wait that is met may not be any more when
 * its turn comes. */
static bool immediate(struct batch *b)
{
    bool met = stream_idle(b->stream);
    for (unsigned i = 0; i < b->count && met; i++)
        if (b->op[i].kind == OP_WAIT) met = b->count == 1 && !look(&b->op[i], 0, &met) && met;
    return met;
}

CUresult stream_memory_operations(struct stream *s, const CUstreamBatchMemOpParams *ops, unsigned count, bool may_flush)
{
    size_t size = sizeof(struct batch) + count * sizeof(struct op);
    struct batch *b = malloc(size);
    if (!b) return CUDA_ERROR_OUT_OF_MEMORY;
    b->stream = s;
    b->count = count;
    CUresult r = CUDA_SUCCESS;
    for (unsigned i = 0; i < count && !r; i++) {
        b->op[i] = (struct op){ .device = s->set->context->device };
        r = check(&b->op[i], &ops[i], may_flush);
    }
    b->unmet = !r && !immediate(b);
    b->issued = b;
    if (!r && !b->unmet) r = stream_enqueue_short(s, perform, b, size);
    if (!r && b->unmet) r = stream_enqueue(s, perform, b, size);
    free(b);
    return r;
}
