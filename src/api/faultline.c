/* The functions of faultline.h: the trace as the program itself sees it. */
#include "context/context.h"
#include "base/units.h"
#include "processor/processor.h"
#include "stream/stream.h"
#include "trace/region.h"
#include "uvm/uvm.h"
#include "vmm/vmm.h"

#include <faultline.h>
#include <string.h>

_Static_assert((int)FAULTLINE_KINDS == (int)TRACE_KINDS && (int)FAULTLINE_KERNEL == (int)TRACE_KERNEL, "faultline.h");
_Static_assert((int)FAULTLINE_CAUSES == (int)TRACE_CAUSES &&
                   (int)FAULTLINE_CAUSE_THRASHING == (int)TRACE_CAUSE_THRASHING,
               "faultline.h");
_Static_assert((int)FAULTLINE_ACCESS_PREFETCH == (int)TRACE_ACCESS_PREFETCH, "faultline.h");
_Static_assert((int)FAULTLINE_TRANSFER == (int)TRACE_TRANSFER &&
                   (int)FAULTLINE_MEMORY_MANAGED == (int)TRACE_MEMORY_MANAGED,
               "faultline.h");

static unsigned listening(int work)
{
    return TRACE_LISTEN_RECORDS | (work & FAULTLINE_WORK_KERNELS ? TRACE_LISTEN_KERNELS : 0u) |
           (work & FAULTLINE_WORK_TRANSFERS ? TRACE_LISTEN_TRANSFERS : 0u);
}

int faultline_subscribe(struct faultline_cursor *cursor, int work)
{
    struct trace_region *r = trace_region();
    if (!cursor) return CUDA_ERROR_INVALID_VALUE;
    if (!r) return CUDA_ERROR_OUT_OF_MEMORY;
    trace_listen(listening(work), true);
    *cursor = (struct faultline_cursor){ .next = atomic_load(&r->head) };
    return CUDA_SUCCESS;
}

void faultline_unsubscribe(int work) { trace_listen(listening(work), false); }

static struct faultline_event event_of(const struct trace_record *r)
{
    return (struct faultline_event){
        .time = r->time,
        .end = r->end,
        .address = r->address,
        .bytes = r->bytes,
        .kind = r->kind,
        .cause = r->cause,
        .access = r->access,
        .processor = r->processor - 1,
        .source = r->source - 1,
        .thread = r->thread,
        .count = r->count,
        .details = r->from | (uint32_t)r->to << 4 | (uint32_t)r->device << 8 | (uint32_t)r->asynchronous << 16 |
                   (uint32_t)r->engine << 17,
        .batch = r->batch,
    };
}

size_t faultline_read(struct faultline_cursor *cursor, struct faultline_event *out, size_t most)
{
    struct trace_region *r = trace_region();
    struct trace_record record[64];
    size_t n = 0;
    if (!r || !cursor) return 0;
    struct trace_cursor c = { cursor->next, cursor->lost };
    for (size_t got = 1; n < most && got;) {
        got = trace_read(r, &c, record, most - n < 64 ? most - n : 64);
        for (size_t k = 0; k < got; k++) out[n++] = event_of(&record[k]);
    }
    *cursor = (struct faultline_cursor){ c.next, c.lost };
    return n;
}

void faultline_wait(unsigned milliseconds)
{
    struct trace_region *r = trace_region();
    if (r) trace_sleep(r, milliseconds);
}

/* What a kernel that still runs has faulted on comes together with what it will: looking changes nothing. */
static bool any_runs(void)
{
    for (int k = 0; k < MAX_DEVICES; k++)
        if (devices[k].processor && processor_busy(devices[k].processor)) return true;
    return false;
}

/* A forked child has nothing to catch up with, and none of the devices. */
static void catch_up(void)
{
    if (library_ready() == CUDA_ERROR_NOT_INITIALIZED) return;
    if (!any_runs()) uvm_settle();
    uvm_catch_up();
}

void faultline_flush(void)
{
    catch_up();
    streams_trace_flush();
}

int faultline_get_kernel(const struct faultline_event *event, struct faultline_kernel *out)
{
    struct trace_region *r = trace_region();
    struct trace_kernel k;
    if (!event || !out || event->kind != FAULTLINE_KERNEL) return CUDA_ERROR_INVALID_VALUE;
    if (!r || !trace_kernel_details(r, event->address, &k)) return CUDA_ERROR_NOT_FOUND;
    *out = (struct faultline_kernel){
        .name = trace_name(r, k.name),
        .static_shared = k.shared_static,
        .dynamic_shared = k.shared_dynamic,
        .local = k.local,
        .registers = k.registers,
        .device = k.device,
        .context = k.context,
        .stream = k.stream,
        .queued = k.queued,
    };
    memcpy(out->grid, k.grid, sizeof k.grid);
    memcpy(out->block, k.block, sizeof k.block);
    return CUDA_SUCCESS;
}

int faultline_get_transfer(const struct faultline_event *event, struct faultline_transfer *out)
{
    if (!event || !out || event->kind != FAULTLINE_TRANSFER) return CUDA_ERROR_INVALID_VALUE;
    *out = (struct faultline_transfer){
        .destination = event->address,
        .bytes = event->bytes,
        .source = event->batch,
        .from = event->details & 15,
        .to = event->details >> 4 & 15,
        .device = event->details >> 8 & 255,
        .asynchronous = event->details >> 16 & 1,
        .engine = event->details >> 17 & 1,
        .context = event->count,
        .stream = event->thread,
    };
    return CUDA_SUCCESS;
}

static struct faultline_counters counters_of(const struct trace_statistics *counting)
{
    const struct trace_statistics copy = trace_counted(counting), *s = &copy;
    struct faultline_counters c = {
        .cpu_faults = s->events[TRACE_CPU_FAULT],
        .gpu_faults = s->events[TRACE_GPU_FAULT],
        .bytes_to_device = trace_moved(s, TRACE_TO_DEVICE),
        .bytes_to_host = trace_moved(s, TRACE_TO_HOST),
        .bytes_between_devices = trace_moved(s, TRACE_BETWEEN_DEVICES),
        .bytes_duplicated = s->bytes[TRACE_READ_DUPLICATE],
        .bytes_mapped_remotely = s->bytes[TRACE_MAP_REMOTE],
    };
    for (int d = 0; d < TRACE_DIRECTIONS; d++) c.bytes_evicted += s->moved[d][TRACE_CAUSE_EVICTION];
    memcpy(c.events, s->events, sizeof c.events);
    return c;
}

int faultline_get_counters(struct faultline_counters *out)
{
    struct trace_region *r = trace_region();
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (!r) return CUDA_ERROR_OUT_OF_MEMORY;
    catch_up();
    *out = counters_of(&r->total);
    return CUDA_SUCCESS;
}

int faultline_count_allocations(void)
{
    if (!trace_region()) return CUDA_ERROR_OUT_OF_MEMORY;
    trace_listen(TRACE_LISTEN_ALLOCATIONS, true);
    return CUDA_SUCCESS;
}

size_t faultline_get_allocations(struct faultline_allocation *out, size_t most)
{
    struct trace_region *r = trace_region();
    size_t n = 0;
    catch_up();
    for (uint64_t k = 1; r && k < r->allocation_count; k++) {
        const struct trace_allocation *a = &r->allocations[k];
        if (n < most)
            out[n] = (struct faultline_allocation){ a->address, a->bytes,   a->made,
                                                    a->freed,   a->ordinal, counters_of(&r->statistics[k]) };
        n++;
    }
    return n;
}

int faultline_residency(const void *address, size_t pages, uint8_t *out)
{
    uint64_t va = page_down((uint64_t)address);
    CUresult r = library_ready();
    if (r) return r;
    if (!out || !pages) return CUDA_ERROR_INVALID_VALUE;
    if (!uvm_covers(va, pages * 4096) && !uvm_reaches(va, pages * 4096, false)) return CUDA_ERROR_INVALID_VALUE;
    uvm_residency(va, pages, out);
    return CUDA_SUCCESS;
}

int faultline_device_memory(int device, uint64_t *total, uint64_t *used)
{
    CUresult r = library_ready();
    if (r) return r;
    if (!total || !used) return CUDA_ERROR_INVALID_VALUE;
    for (int k = 0; k < device_count; k++) {
        struct vram *v = &devices[k].vram;
        if (devices[k].physical != device) continue;
        vmm_settle();
        pthread_mutex_lock(&v->lock);
        *total = v->capacity;
        *used = v->used;
        pthread_mutex_unlock(&v->lock);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_DEVICE;
}
