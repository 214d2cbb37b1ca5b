/* The library as a whole: initialisation, devices, what kernels did wrong. */
#include "api/api.h"
#include "api/array.h"
#include "api/launch.h"
#include "api/texture.h"
#include "base/log.h"
#include "context/context.h"
#include "graph/capture.h"
#include "ipc/ipc.h"
#include "mempool/mempool.h"
#include "ordinary/locked.h"
#include "ordinary/registered.h"
#include "space/layout.h"
#include "space/space.h"
#include "stream/stream.h"
#include "trace/trace.h"
#include "uvm/uvm.h"
#include "vmm/vmm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct device devices[MAX_DEVICES];
int device_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct profile profile;
static _Atomic bool ready;
static bool forked; /* this is a forked child of the process that called cuInit */

static void in_child(void)
{
    forked = true;
    uvm_in_child();
    streams_trace_in_child();
    fl_log_listen(NULL);
}

CUresult library_ready(void)
{
    if (!atomic_load_explicit(&ready, memory_order_acquire) || forked) return CUDA_ERROR_NOT_INITIALIZED;
    return stream_in_host_function() ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

CUresult device_get(CUdevice dev, struct device **out)
{
    CUresult r = library_ready();
    if (r) return r;
    if (dev < 0 || dev >= device_count) return CUDA_ERROR_INVALID_DEVICE;
    *out = &devices[dev];
    return CUDA_SUCCESS;
}

struct device *device_physical(int64_t physical)
{
    for (int k = 0; k < profile.installed; k++)
        if (devices[k].physical == physical) return &devices[k];
    return NULL;
}

void devices_forget(const struct backing *b)
{
    for (int k = 0; k < device_count; k++)
        if (devices[k].processor) processor_forget(devices[k].processor, b);
}

static const char *deed(const struct fault *f)
{
    switch (f->kind) {
    case FAULT_MISALIGNED: return "a misaligned access";
    case FAULT_TRAP: return "a trap";
    case FAULT_STACK: return "a stack overflow";
    case FAULT_ILLEGAL_INSTRUCTION: return "an illegal instruction";
    case FAULT_RESOURCES: return "a launch that needs more memory than there is";
    case FAULT_ASSERT: return "a failed assertion";
    default: break;
    }
    if (!f->address_known && *f->text) return "an illegal access"; /* the text says more */
    return f->write ? "an illegal write" : "an illegal read";
}

/* As the driver records a fault of the device's that it cannot service. */
static void record(int ordinal, const struct fault *f)
{
    if (f->kind != FAULT_ADDRESS || !f->address_known || strcmp(f->space, "global")) return;
    trace_write(&(struct trace_record){ .kind = TRACE_FATAL_FAULT,
                                        .access = f->write ? TRACE_ACCESS_WRITE : TRACE_ACCESS_READ,
                                        .processor = (uint8_t)(1 + ordinal),
                                        .address = f->address & -4096ull,
                                        .bytes = 4096,
                                        .count = TRACE_REASON_ADDRESS });
}

/* One line that says what happened where, and what the address is. */
static void describe(int ordinal, const struct fault *f)
{
    char place[512] = "", address[512] = "", what[400];
    record(ordinal, f);
    if (f->kind == FAULT_ASSERT) {
        fl_log(FL_LOG_ERROR, "device %d, kernel %s: %s", ordinal, f->kernel, f->text);
        return;
    }
    int n = snprintf(place, sizeof place, "block (%u,%u,%u)", f->block[0], f->block[1], f->block[2]);
    if (f->thread_known)
        n += snprintf(place + n, sizeof place - (size_t)n, ", thread (%u,%u,%u)", f->thread[0], f->thread[1],
                      f->thread[2]);
    if (f->line) n += snprintf(place + n, sizeof place - (size_t)n, ", PTX line %u", f->line);
    if (*f->source) snprintf(place + n, sizeof place - (size_t)n, " (%s)", f->source);
    if (f->address_known && !strcmp(f->space, "shared")) {
        snprintf(address, sizeof address, " of shared memory, outside what the block has");
    } else if (f->kind == FAULT_STACK) {
        snprintf(address, sizeof address, ": too many calls within calls");
    } else if (f->address_known) {
        vmm_describe_any(f->address, ordinal, what, sizeof what);
        snprintf(address, sizeof address, " at 0x%" PRIx64 ": %s", f->address, what);
    }
    fl_log(FL_LOG_ERROR, "device %d, kernel %s, %s: %s%s%s%s", ordinal, f->kernel, place, deed(f), address,
           *f->text ? "; " : "", f->text);
}

/* The contexts of other devices fail, too (observed on H200); what dies without any was nobody's work. */
static void report(int ordinal, CUresult error, const struct fault *f)
{
    if (f) describe(ordinal, f);
    if (f || devices[ordinal].contexts) sticky_set(error);
}

static CUresult make_devices(void)
{
    char name[32];
    layout_choose();
    for (int k = 0; k < profile.installed; k++) {
        struct device *d = &devices[k];
        *d = (struct device){ .ordinal = k, .physical = profile.order[k], .profile = &profile };
        snprintf(name, sizeof name, "faultline-vram%d", d->physical);
        CUresult r = vram_init(&d->vram, profile.memory < space_layout.span ? profile.memory : space_layout.span, name);
        if (r) {
            while (k--) vram_destroy(&devices[k].vram);
            return r;
        }
    }
    device_count = profile.devices;
    return CUDA_SUCCESS;
}

/* Its clone takes no stack, its search for leaks would read the memory of every device, and where a handler has made
 * an access possible the program goes on with registers that are not up to date. */
static CUresult refuse_valgrind(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    if (!preloaded || !strstr(preloaded, "vgpreload_")) return CUDA_SUCCESS;
    fl_log_once(FL_LOG_ERROR, "no device can be simulated under valgrind; a compiler's AddressSanitizer can be used");
    return CUDA_ERROR_OPERATING_SYSTEM;
}

CUresult library_init(unsigned flags)
{
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (forked) {
        fl_log_once(FL_LOG_WARN,
                    "cuInit in a forked child of a process that has called it: there is no CUDA here. "
                    "Children that use it must be started by exec (in Python: multiprocessing's \"spawn\")");
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    if (!atomic_load(&ready) && !(r = refuse_valgrind()) && !(r = profile_load(&profile)) && !(r = make_devices())) {
        pthread_atfork(NULL, NULL, in_child);
        logs_init();
        launch_init();
        processor_set_reporter(report);
        space_add_owner(&array_owner);
        space_add_owner(&texture_owner);
        uvm_init(stream_runs);
        space_add_owner(&vmm_owner);
        space_add_owner(&registered_owner);
        space_add_owner(&ipc_owner);
        mempool_init();
        capture_init();
        atexit(uvm_settle); /* or what the last kernels faulted on is in no report */
        atomic_store_explicit(&ready, true, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    if (!r) locked_lead();
    return r;
}
