/* CUPTI's activity interface: what is enabled, the client's buffers, and their
 * delivery. Events come from libcuda.so.1 through faultline.h.
 *
 * Events become records when they are delivered: by whoever flushes, and by a
 * thread that wakes up when the trace is about to overwrite itself. A change of
 * the selection delivers first, so that it applies to what happens afterwards.
 * Two locks, outermost first: delivery, which is held while the client's
 * functions are called (they may call back what takes no lock), and settings. */
#include "cupti/clock.h"
#include "cupti/record.h"

#include <cuda.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { BATCH = 64, IDLE_MS = 1000 };

static pthread_mutex_t delivery = PTHREAD_MUTEX_INITIALIZER; /* guards the statics up to the next lock */
static struct faultline_cursor cursor;
static uint64_t lost_before; /* of the cursor, already counted in dropped */
static struct {
    uint8_t *base;
    size_t size, used, records, most;
} buffer;
static _Thread_local bool delivering; /* this thread is inside one of the client's functions */

static pthread_mutex_t settings = PTHREAD_MUTEX_INITIALIZER;
static struct selection selection;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static bool subscribed, watched, configured;
static _Atomic unsigned period; /* ms; 0: none */
static _Atomic size_t dropped;

/* ---- buffers */

static void hand_over(CUpti_BuffersCallbackCompleteFunc to)
{
    if (!buffer.base) return;
    delivering = true;
    to(NULL, 0, buffer.base, buffer.size, buffer.used);
    delivering = false;
    buffer.base = NULL;
}

static bool room_for(size_t size, CUpti_BuffersCallbackRequestFunc ask, CUpti_BuffersCallbackCompleteFunc give)
{
    if (buffer.base && (buffer.size - buffer.used < size || (buffer.most && buffer.records >= buffer.most)))
        hand_over(give);
    if (buffer.base) return true;
    buffer.used = buffer.records = buffer.size = buffer.most = 0;
    delivering = true;
    ask(&buffer.base, &buffer.size, &buffer.most);
    delivering = false;
    if (buffer.base && (uintptr_t)buffer.base % ACTIVITY_RECORD_ALIGNMENT == 0 && buffer.size >= size) return true;
    hand_over(give); /* too small for anything: given back empty */
    return false;
}

static void put(const union record *r, size_t size, CUpti_BuffersCallbackRequestFunc ask,
                CUpti_BuffersCallbackCompleteFunc give)
{
    if (!room_for(size, ask, give)) {
        atomic_fetch_add(&dropped, 1);
        return;
    }
    memcpy(buffer.base + buffer.used, r, size);
    buffer.used += size;
    buffer.records++;
}

/* A device's faults last until their batch is replayed, if that is among the n events. */
static void end_faults(struct faultline_event *e, size_t n)
{
    const struct faultline_event *replay = NULL;
    for (size_t k = n; k--;) {
        if (e[k].kind == FAULTLINE_GPU_FAULT_REPLAY) replay = &e[k];
        if (e[k].kind == FAULTLINE_GPU_FAULT && replay && replay->batch == e[k].batch) e[k].end = replay->time;
    }
}

/* Events become records, all up to now if settled; flush: and records go to the client. With the delivery lock. */
static void deliver(bool settled, bool flush)
{
    struct faultline_event e[BATCH];
    union record r;
    size_t n;
    pthread_mutex_lock(&settings);
    struct selection wanted = selection;
    CUpti_BuffersCallbackRequestFunc ask = request;
    CUpti_BuffersCallbackCompleteFunc give = complete;
    bool any = subscribed;
    pthread_mutex_unlock(&settings);
    if (!ask) return;
    if (any && settled) faultline_flush();
    delivering = true;
    clock_look();
    delivering = false;
    while (any && (n = faultline_read(&cursor, e, BATCH))) {
        end_faults(e, n);
        for (size_t k = 0; k < n; k++) {
            e[k].time = clock_convert(e[k].time);
            e[k].end = clock_convert(e[k].end);
            size_t size = record_make(&e[k], &wanted, &r);
            if (size) put(&r, size, ask, give);
        }
    }
    atomic_fetch_add(&dropped, cursor.lost - lost_before);
    lost_before = cursor.lost;
    if (flush && buffer.base && buffer.records) hand_over(give);
}

/* A client's function must not flush: that would be inside a delivery. */
static CUptiResult flush(bool settled, bool hand)
{
    if (delivering) return CUPTI_ERROR_INVALID_OPERATION;
    pthread_mutex_lock(&delivery);
    deliver(settled, hand);
    pthread_mutex_unlock(&delivery);
    return CUPTI_SUCCESS;
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void *watch(void *arg)
{
    uint64_t last = now_ms();
    (void)arg;
    for (;;) {
        unsigned every = atomic_load(&period);
        faultline_wait(every ? every : IDLE_MS);
        bool due = every && now_ms() - last >= every;
        flush(false, due); /* a batch of faults that gathers is not ended by it */
        if (due) last = now_ms();
    }
    return NULL;
}

/* A forked child has recorded nothing, and what is in the buffer is its parent's to deliver. The locks may have been
 * the thread's. */
static void in_child(void)
{
    pthread_mutex_init(&delivery, NULL);
    pthread_mutex_init(&settings, NULL);
    clock_in_child();
    buffer.base = NULL;
    selection = (struct selection){ 0 };
    subscribed = watched = false;
    atomic_store(&dropped, 0);
}

/* With settings. Without the thread records wait for a flush. */
static void start_watch(void)
{
    static bool forks_seen;
    sigset_t all, old;
    pthread_t thread;
    if (!forks_seen) forks_seen = !pthread_atfork(NULL, NULL, in_child);
    if (watched) return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    watched = !pthread_create(&thread, NULL, watch, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (watched) pthread_detach(thread);
}

/* ---- what is enabled */

static int work_of(const struct selection *s)
{
    return (s->kernel || s->concurrent_kernel ? FAULTLINE_WORK_KERNELS : 0) |
           (s->copy || s->copy_between_devices || s->fill ? FAULTLINE_WORK_TRANSFERS : 0);
}

/* With the delivery lock: what happened before has been delivered. */
static CUptiResult select_now(const struct selection *next)
{
    CUptiResult r = CUPTI_SUCCESS;
    struct faultline_cursor fresh;
    pthread_mutex_lock(&settings);
    const int work = work_of(next), had = work_of(&selection);
    const bool want = next->memory || work;
    if (want && (!subscribed || work != had)) {
        if (faultline_subscribe(&fresh, work)) {
            r = CUPTI_ERROR_OUT_OF_MEMORY;
            goto out;
        }
        if (subscribed)
            faultline_unsubscribe(had);
        else {
            cursor = fresh;
            lost_before = 0;
        }
        subscribed = true;
        start_watch();
    } else if (!want && subscribed) {
        faultline_unsubscribe(had);
        subscribed = false;
    }
    selection = *next;
out:
    pthread_mutex_unlock(&settings);
    return r;
}

static bool *switch_of(struct selection *s, CUpti_ActivityKind kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER: return &s->memory;
    case CUPTI_ACTIVITY_KIND_KERNEL: return &s->kernel;
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return &s->concurrent_kernel;
    case CUPTI_ACTIVITY_KIND_MEMCPY: return &s->copy;
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return &s->copy_between_devices;
    case CUPTI_ACTIVITY_KIND_MEMSET: return &s->fill;
    default: return NULL;
    }
}

/* With the delivery lock. Counters want to be configured first, and kernels are told in one way (observed with an H200). */
static CUptiResult check_switch(CUpti_ActivityKind kind, bool on)
{
    if (kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) return configured ? CUPTI_SUCCESS : CUPTI_ERROR_NOT_READY;
    bool other = kind == CUPTI_ACTIVITY_KIND_KERNEL              ? selection.concurrent_kernel
                 : kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? selection.kernel
                                                                 : false;
    return on && other ? CUPTI_ERROR_NOT_COMPATIBLE : CUPTI_SUCCESS;
}

static CUptiResult enable(CUpti_ActivityKind kind, bool on)
{
    struct selection next = { 0 };
    bool *s = switch_of(&next, kind);
    if (kind == CUPTI_ACTIVITY_KIND_MODULE || kind == CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE)
        return CUPTI_ERROR_INVALID_KIND; /* none to be enabled (observed with an H200) */
    if (!s) return on ? CUPTI_ERROR_NOT_COMPATIBLE : CUPTI_SUCCESS;
    if (delivering) return CUPTI_ERROR_INVALID_OPERATION;
    pthread_mutex_lock(&delivery);
    CUptiResult r = check_switch(kind, on);
    if (!r) {
        deliver(true, false);
        next = selection;
        *s = on;
        r = select_now(&next);
    }
    pthread_mutex_unlock(&delivery);
    return r;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) { return enable(kind, true); }
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) { return enable(kind, false); }

CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig *config, uint32_t count)
{
    int devices;
    if (!config || !count) return CUPTI_ERROR_INVALID_PARAMETER;
    if (cuDeviceGetCount(&devices) != CUDA_ERROR_NOT_INITIALIZED) /* nobody looks before (observed with an H200) */
        for (uint32_t k = 0; k < count; k++)
            if ((unsigned)config[k].kind > CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT)
                return CUPTI_ERROR_INVALID_PARAMETER;
    if (delivering) return CUPTI_ERROR_INVALID_OPERATION;
    pthread_mutex_lock(&delivery);
    deliver(true, false);
    pthread_mutex_lock(&settings);
    for (uint32_t k = 0; k < count; k++)
        if ((unsigned)config[k].kind < CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT)
            selection.counter[config[k].kind] = config[k].enable != 0;
    configured = true;
    pthread_mutex_unlock(&settings);
    pthread_mutex_unlock(&delivery);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
    if (delivering) return CUPTI_ERROR_INVALID_OPERATION;
    pthread_mutex_lock(&delivery);
    deliver(true, false);
    pthread_mutex_lock(&settings);
    selection.latency = enable != 0;
    pthread_mutex_unlock(&settings);
    pthread_mutex_unlock(&delivery);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
                                           CUpti_BuffersCallbackCompleteFunc funcBufferCompleted)
{
    if (!funcBufferRequested || !funcBufferCompleted) return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&settings);
    request = funcBufferRequested;
    complete = funcBufferCompleted;
    pthread_mutex_unlock(&settings);
    return CUPTI_SUCCESS;
}

/* ---- delivery */

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag; /* forced or not: records of what still runs are never in a buffer */
    return flush(true, true);
}

CUptiResult cuptiActivityFlush(CUcontext context, uint32_t streamId, uint32_t flag)
{
    (void)context, (void)streamId;
    return cuptiActivityFlushAll(flag);
}

CUptiResult cuptiActivityFlushPeriod(uint32_t time)
{
    atomic_store(&period, time);
    pthread_mutex_lock(&settings);
    if (time) start_watch();
    pthread_mutex_unlock(&settings);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *records, size_t validBufferSizeBytes, CUpti_Activity **record)
{
    if (!records || !record) return CUPTI_ERROR_INVALID_PARAMETER;
    size_t at = 0;
    if (*record) {
        at = (size_t)((uint8_t *)*record - records);
        size_t size = at < validBufferSizeBytes ? record_size((*record)->kind) : 0;
        if (!size) return CUPTI_ERROR_INVALID_KIND;
        at += size;
    }
    if (at >= validBufferSizeBytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    CUpti_Activity *next = (CUpti_Activity *)(records + at);
    size_t size = record_size(next->kind);
    if (!size) return CUPTI_ERROR_INVALID_KIND;
    if (size > validBufferSizeBytes - at) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = next;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t streamId, size_t *count)
{
    (void)context, (void)streamId;
    if (!count) return CUPTI_ERROR_INVALID_PARAMETER;
    *count = atomic_exchange(&dropped, 0);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
    if (!timestamp) return CUPTI_ERROR_INVALID_PARAMETER;
    *timestamp = clock_system();
    return CUPTI_SUCCESS;
}
