/* CUPTI's records: which event makes which, and what their fields mean. */
#include "cupti/clock.h"
#include "cupti/record.h"

#include <string.h>
#include <unistd.h>

/* Throttlings that have begun and not yet ended: one a processor and page at a time, few at once. */
enum { THROTTLINGS = 16 };
static struct {
    uint64_t address, start;
    int32_t processor;
} throttling[THROTTLINGS];
static unsigned next_throttling;

static CUpti_ActivityUnifiedMemoryCounterKind counter_kind(const struct faultline_event *e)
{
    switch (e->kind) {
    case FAULTLINE_CPU_FAULT: return CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT;
    case FAULTLINE_GPU_FAULT: return CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT;
    case FAULTLINE_THRASHING: return CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING;
    case FAULTLINE_THROTTLING_START:
    case FAULTLINE_THROTTLING_END: return CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING;
    case FAULTLINE_MAP_REMOTE: return CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP;
    case FAULTLINE_MIGRATION: break;
    default: return CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_UNKNOWN;
    }
    if (e->processor == FAULTLINE_HOST)
        return e->source == FAULTLINE_HOST ? CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_UNKNOWN
                                           : CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH;
    return e->source == FAULTLINE_HOST ? CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD
                                       : CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD;
}

static uint32_t id(int32_t processor) { return processor > 0 ? (uint32_t)processor : 0; }

static uint32_t remote_map_cause(uint32_t cause)
{
    switch (cause) {
    case FAULTLINE_CAUSE_COHERENCE: return CUPTI_ACTIVITY_UNIFIED_MEMORY_REMOTE_MAP_CAUSE_COHERENCE;
    case FAULTLINE_CAUSE_THRASHING: return CUPTI_ACTIVITY_UNIFIED_MEMORY_REMOTE_MAP_CAUSE_THRASHING;
    case FAULTLINE_CAUSE_POLICY:
    case FAULTLINE_CAUSE_USER: return CUPTI_ACTIVITY_UNIFIED_MEMORY_REMOTE_MAP_CAUSE_POLICY;
    case FAULTLINE_CAUSE_EVICTION: return CUPTI_ACTIVITY_UNIFIED_MEMORY_REMOTE_MAP_CAUSE_EVICTION;
    default: return CUPTI_ACTIVITY_UNIFIED_MEMORY_REMOTE_MAP_CAUSE_UNKNOWN;
    }
}

static uint32_t migration_cause(uint32_t cause)
{
    return cause <= FAULTLINE_CAUSE_EVICTION ? cause : (uint32_t)CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_UNKNOWN;
}

static void thrashing(const struct faultline_event *e, CUpti_ActivityUnifiedMemoryCounter3 *r)
{
    uint32_t who = e->thread ? e->thread : 1u << (e->processor + 1);
    r->value = e->bytes;
    r->processors[0] = who >> 1;
    r->srcId = who >> 1;
    r->flags = who & 1 ? CUPTI_ACTIVITY_FLAG_THRASHING_IN_CPU : CUPTI_ACTIVITY_FLAG_NONE;
}

static void throttling_begins(const struct faultline_event *e)
{
    unsigned at = next_throttling++ % THROTTLINGS;
    throttling[at].address = e->address;
    throttling[at].start = e->time;
    throttling[at].processor = e->processor;
}

static void throttling_ends(const struct faultline_event *e, CUpti_ActivityUnifiedMemoryCounter3 *r)
{
    for (unsigned k = 0; k < THROTTLINGS; k++)
        if (throttling[k].start && throttling[k].address == e->address && throttling[k].processor == e->processor) {
            r->start = throttling[k].start;
            throttling[k].start = 0;
        }
    r->end = e->end;
    r->srcId = id(e->processor);
    r->flags = e->processor == FAULTLINE_HOST ? CUPTI_ACTIVITY_FLAG_THROTTLING_IN_CPU : CUPTI_ACTIVITY_FLAG_NONE;
}

static size_t make_memory(const struct faultline_event *e, const struct selection *s,
                          CUpti_ActivityUnifiedMemoryCounter3 *r)
{
    CUpti_ActivityUnifiedMemoryCounterKind kind = counter_kind(e);
    if (!s->memory || !s->counter[kind]) return 0;
    if (e->kind == FAULTLINE_THROTTLING_START) {
        throttling_begins(e); /* its end makes the record */
        return 0;
    }
    memset(r, 0, sizeof *r);
    r->kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
    r->counterKind = kind;
    r->start = e->time;
    r->end = e->end;
    r->address = e->address;
    r->processId = (uint32_t)getpid();
    switch (e->kind) {
    case FAULTLINE_MIGRATION:
        r->value = e->bytes;
        r->srcId = id(e->source);
        r->dstId = id(e->processor);
        r->flags = migration_cause(e->cause);
        break;
    case FAULTLINE_GPU_FAULT:
        r->value = e->count ? e->count : 1;
        r->srcId = id(e->processor);
        r->flags = e->access;
        break;
    case FAULTLINE_CPU_FAULT:
        r->flags = e->access;
        r->value = e->batch;
        break;
    case FAULTLINE_THRASHING: thrashing(e, r); break;
    case FAULTLINE_THROTTLING_END: throttling_ends(e, r); break;
    case FAULTLINE_MAP_REMOTE:
        r->value = e->bytes;
        r->srcId = id(e->processor);
        r->dstId = id(e->source);
        r->flags = remote_map_cause(e->cause);
        break;
    }
    return sizeof *r;
}

static size_t make_kernel(const struct faultline_event *e, const struct selection *s, CUpti_ActivityKernel10 *r)
{
    struct faultline_kernel k;
    if ((!s->kernel && !s->concurrent_kernel) || faultline_get_kernel(e, &k)) return 0;
    uint64_t threads = 1, local;
    for (int i = 0; i < 3; i++) threads *= (uint64_t)k.grid[i] * k.block[i];
    local = threads * k.local;
    memset(r, 0, sizeof *r);
    *r = (CUpti_ActivityKernel10){
        .kind = s->concurrent_kernel ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL : CUPTI_ACTIVITY_KIND_KERNEL,
        .registersPerThread = (uint16_t)(k.registers < 255 ? k.registers : 255),
        .start = e->time,
        .end = e->end,
        .completed = e->end,
        .queued = s->latency ? clock_convert(k.queued) : 0,
        .submitted = s->latency ? clock_convert(k.queued) : 0,
        .deviceId = k.device,
        .contextId = (uint32_t)k.context,
        .streamId = (uint32_t)k.stream,
        .gridX = (int32_t)k.grid[0],
        .gridY = (int32_t)k.grid[1],
        .gridZ = (int32_t)k.grid[2],
        .blockX = (int32_t)k.block[0],
        .blockY = (int32_t)k.block[1],
        .blockZ = (int32_t)k.block[2],
        .staticSharedMemory = (int32_t)k.static_shared,
        .dynamicSharedMemory = (int32_t)k.dynamic_shared,
        .localMemoryPerThread = k.local,
        .localMemoryTotal = local < UINT32_MAX ? (uint32_t)local : UINT32_MAX,
        .localMemoryTotal_v2 = local,
        .correlationId = (uint32_t)e->batch,
        .gridId = (int64_t)e->batch,
        .name = k.name,
        .channelType = CUPTI_CHANNEL_TYPE_COMPUTE,
    };
    return sizeof *r;
}

size_t record_make(const struct faultline_event *e, const struct selection *s, union record *out)
{
    return e->kind == FAULTLINE_KERNEL ? make_kernel(e, s, &out->kernel) : make_memory(e, s, &out->memory);
}

size_t record_size(CUpti_ActivityKind kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER: return sizeof(CUpti_ActivityUnifiedMemoryCounter3);
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(CUpti_ActivityKernel10);
    default: return 0;
    }
}
