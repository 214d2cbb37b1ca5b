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

/* Of remote mappings alone the host is told by an id of its own (observed on H200). */
static uint32_t id_of_mapped(int processor)
{
    return processor == FAULTLINE_HOST ? CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID : id(processor);
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
        r->srcId = id_of_mapped(e->processor);
        r->dstId = id_of_mapped(e->source);
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

/* ---- copies and memsets */

static bool of_host(uint32_t memory) { return memory == FAULTLINE_MEMORY_PAGEABLE || memory == FAULTLINE_MEMORY_PINNED; }

static CUpti_ActivityMemcpyKind copy_kind(const struct faultline_event *e, const struct faultline_transfer *t)
{
    enum { TO_HOST, TO_DEVICE, TO_ARRAY };
    static const CUpti_ActivityMemcpyKind from_host[] = { CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
                                                          CUPTI_ACTIVITY_MEMCPY_KIND_HTOA },
                                          from_device[] = { CUPTI_ACTIVITY_MEMCPY_KIND_DTOH,
                                                            CUPTI_ACTIVITY_MEMCPY_KIND_DTOD,
                                                            CUPTI_ACTIVITY_MEMCPY_KIND_DTOA },
                                          from_array[] = { CUPTI_ACTIVITY_MEMCPY_KIND_ATOH,
                                                           CUPTI_ACTIVITY_MEMCPY_KIND_ATOD,
                                                           CUPTI_ACTIVITY_MEMCPY_KIND_ATOA };
    const unsigned to = t->to == FAULTLINE_MEMORY_ARRAY ? TO_ARRAY : e->processor == FAULTLINE_HOST ? TO_HOST : TO_DEVICE;
    return (t->from == FAULTLINE_MEMORY_ARRAY ? from_array : e->source == FAULTLINE_HOST ? from_host : from_device)[to];
}

static uint32_t next_correlation(void)
{
    static _Atomic uint32_t last = 1u << 31; /* those of kernels count from 1 */
    return ++last;
}

static CUpti_ChannelType channel_type(const struct faultline_transfer *t)
{
    return t->engine ? CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY : CUPTI_CHANNEL_TYPE_COMPUTE;
}

static size_t make_copy(const struct faultline_event *e, const struct faultline_transfer *t, CUpti_ActivityMemcpy6 *r)
{
    *r = (CUpti_ActivityMemcpy6){ .kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                                  .copyKind = (uint8_t)copy_kind(e, t),
                                  .srcKind = (uint8_t)t->from,
                                  .dstKind = (uint8_t)t->to,
                                  .flags = t->asynchronous ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : CUPTI_ACTIVITY_FLAG_NONE,
                                  .bytes = t->bytes,
                                  .start = e->time,
                                  .end = e->end,
                                  .deviceId = t->device,
                                  .contextId = t->context,
                                  .streamId = t->stream,
                                  .correlationId = next_correlation(),
                                  .channelType = channel_type(t),
                                  .copyCount = 1 };
    return sizeof *r;
}

static size_t make_copy_between(const struct faultline_event *e, const struct faultline_transfer *t,
                                CUpti_ActivityMemcpyPtoP4 *r)
{
    *r = (CUpti_ActivityMemcpyPtoP4){ .kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                                      .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
                                      .srcKind = (uint8_t)t->from,
                                      .dstKind = (uint8_t)t->to,
                                      .flags = t->asynchronous ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : CUPTI_ACTIVITY_FLAG_NONE,
                                      .bytes = t->bytes,
                                      .start = e->time,
                                      .end = e->end,
                                      .deviceId = t->device,
                                      .contextId = t->context,
                                      .streamId = t->stream,
                                      .srcDeviceId = id(e->source),
                                      .dstDeviceId = id(e->processor),
                                      .correlationId = next_correlation(),
                                      .channelType = channel_type(t) };
    return sizeof *r;
}

static size_t make_fill(const struct faultline_event *e, const struct faultline_transfer *t, CUpti_ActivityMemset4 *r)
{
    *r = (CUpti_ActivityMemset4){ .kind = CUPTI_ACTIVITY_KIND_MEMSET,
                                  .value = (uint32_t)t->source,
                                  .bytes = t->bytes,
                                  .start = e->time,
                                  .end = e->end,
                                  .deviceId = t->device,
                                  .contextId = t->context,
                                  .streamId = t->stream,
                                  .correlationId = next_correlation(),
                                  .flags = t->asynchronous ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : CUPTI_ACTIVITY_FLAG_NONE,
                                  .memoryKind = (uint16_t)t->to,
                                  .channelType = CUPTI_CHANNEL_TYPE_COMPUTE };
    return sizeof *r;
}

static size_t make_transfer(const struct faultline_event *e, const struct selection *s, union record *out)
{
    struct faultline_transfer t;
    if (faultline_get_transfer(e, &t)) return 0;
    if (t.from == FAULTLINE_MEMORY_NONE) return s->fill ? make_fill(e, &t, &out->fill) : 0;
    if (!of_host(t.from) && !of_host(t.to) && e->source != e->processor)
        return s->copy_between_devices ? make_copy_between(e, &t, &out->copy_between_devices) : 0;
    return s->copy ? make_copy(e, &t, &out->copy) : 0;
}

size_t record_make(const struct faultline_event *e, const struct selection *s, union record *out)
{
    if (e->kind == FAULTLINE_KERNEL) return make_kernel(e, s, &out->kernel);
    if (e->kind == FAULTLINE_TRANSFER) return make_transfer(e, s, out);
    return make_memory(e, s, &out->memory);
}

size_t record_size(CUpti_ActivityKind kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER: return sizeof(CUpti_ActivityUnifiedMemoryCounter3);
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    default: return 0;
    }
}
