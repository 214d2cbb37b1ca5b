/* Signals that arrive while their thread is inside a call: the handler adds to managed memory, which the
 * call, or another thread, takes to the device again. What serves the handler's fault must need nothing
 * that the interrupted thread holds. Prints nothing and exits 0 if all is well; what hangs is named.
 * usage: interrupted [MILLISECONDS for each call] */
#include "../check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 64, SIZE = PAGES * PAGE, THREADS = 256, PATIENCE_S = 15, LARGE = 8 << 20 };

/* Thread k adds 1 to word 1 of page k. */
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry touch(.param .u64 p)\n{\n    .reg .b32 %r<3>;\n    .reg .b64 %d<3>;\n    .reg .pred %q;\n"
    "    ld.param.u64 %d0, [p];\n    mov.u32 %r0, %tid.x;\n    setp.ge.u32 %q, %r0, 64;\n    @%q ret;\n"
    "    mul.wide.u32 %d1, %r0, 4096;\n    add.u64 %d2, %d0, %d1;\n"
    "    ld.global.u32 %r1, [%d2+4];\n    add.u32 %r1, %r1, 1;\n    st.global.u32 [%d2+4], %r1;\n    ret;\n}\n";

static const CUmemLocation on_device = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
                           on_host = { .type = CU_MEM_LOCATION_TYPE_HOST };
static volatile unsigned *words; /* page k: word 0 of the handler's, word 1 of kernels' */
static _Atomic unsigned ticks, launches;
static _Atomic(const char *) now = "start";
static _Atomic bool over;
static pthread_t main_thread;

static CUfunction touch;
static CUstream stream;
static CUevent event;
static CUdeviceptr shared, beside, plain, room;
static CUmemGenericAllocationHandle handle;
static char *ordinary;

static void on_signal(int number)
{
    unsigned k = atomic_fetch_add(&ticks, 1);
    (void)number;
    words[k % PAGES * PAGE / 4]++;
    if (words[(k + 7) % PAGES * PAGE / 4] > k + 1) atomic_store(&now, "wrong values");
}

static void *send_signals(void *unused)
{
    while (!over) {
        pthread_kill(main_thread, SIGUSR1);
        usleep(20);
    }
    return unused;
}

static void *watch(void *unused)
{
    const char *last = NULL;
    for (int seconds = 0; !over && seconds < PATIENCE_S; sleep(1)) {
        seconds = last == now ? seconds + 1 : 0;
        last = now;
    }
    if (over) return unused;
    /* whoever hangs may have the lock of printf, or of malloc */
    dprintf(STDOUT_FILENO, "it hangs: %s\n", now);
    _exit(1);
}

/* Another thread that wants what the interrupted one may have. */
static void *move_about(void *unused)
{
    CUstream own;
    CUcontext context;
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    for (unsigned k = 0; !over; k++) {
        CHECK(cuMemPrefetchAsync(shared, SIZE, on_device, 0, own));
        CHECK(cuStreamSynchronize(own));
        CHECK(cuMemAdvise(beside, SIZE, k % 2 ? CU_MEM_ADVISE_SET_READ_MOSTLY : CU_MEM_ADVISE_UNSET_READ_MOSTLY,
                          on_device));
        if (k % 64) continue;
        CUdeviceptr p;
        CHECK(cuMemAllocManaged(&p, 1 << 20, CU_MEM_ATTACH_GLOBAL));
        CHECK(cuMemFree(p));
        usleep(10);
    }
    CHECK(cuStreamDestroy(own));
    return unused;
}

/* Where kernels reach ordinary memory: their faults are served as the handler's are, by who waits for other locks. */
static void *reach_ordinary(void *unused)
{
    CUstream own;
    CUcontext context;
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    while (!over) {
        char *fresh = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(cuLaunchKernel(touch, 1, 1, 1, THREADS, 1, 1, 0, own, (void *[]){ &fresh }, NULL));
        while (cuStreamQuery(own) == CUDA_ERROR_NOT_READY) usleep(50); /* waiting would be serving */
        CHECK(cuStreamQuery(own));
        munmap(fresh, SIZE);
    }
    CHECK(cuStreamDestroy(own));
    return unused;
}

/* ---- the calls */

static void advise(void)
{
    CHECK(cuMemAdvise(shared, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, on_device));
    CHECK(cuMemAdvise(shared, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on_device));
    CHECK(cuMemAdvise(shared, SIZE, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, on_device));
    CHECK(cuMemAdvise(shared, SIZE, CU_MEM_ADVISE_UNSET_ACCESSED_BY, on_device));
    CHECK(cuMemAdvise(shared, SIZE, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device));
    CHECK(cuMemAdvise(shared, SIZE, CU_MEM_ADVISE_UNSET_READ_MOSTLY, on_device));
}

static void prefetch(void)
{
    CHECK(cuMemPrefetchAsync(shared, SIZE, on_device, 0, stream));
    CHECK(cuMemPrefetchAsync(beside, SIZE, on_host, 0, stream));
    CHECK(cuMemPrefetchAsync(beside, SIZE, on_device, 0, stream));
}

static void prefetch_batch(void)
{
    CUdeviceptr at[] = { shared, beside };
    size_t size[] = { SIZE, SIZE }, first = 0;
    CUmemLocation to = on_device;
    CHECK(cuMemPrefetchBatchAsync(at, size, 2, &to, &first, 1, 0, stream));
}

static void discard(void)
{
    CUdeviceptr at = beside;
    size_t size = SIZE, first = 0;
    CUmemLocation to = on_device;
    CHECK(cuMemDiscardBatchAsync(&at, &size, 1, 0, stream));
    CHECK(cuMemDiscardAndPrefetchBatchAsync(&at, &size, 1, &to, &first, 1, 0, stream));
}

static void allocate_managed(void)
{
    CUdeviceptr small, large;
    CHECK(cuMemAllocManaged(&small, 100000, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemAllocManaged(&large, LARGE, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemPrefetchAsync(large, LARGE, on_device, 0, NULL));
    CHECK(cuStreamSynchronize(NULL));
    CHECK(cuMemFree(large));
    CHECK(cuMemFree(small));
}

static void copy(void)
{
    CHECK(cuMemcpy(beside, plain, SIZE));
    CHECK(cuMemcpy(plain, shared, SIZE));
    CHECK(cuMemcpyHtoD(beside, ordinary, SIZE));
    CHECK(cuMemcpyAsync(plain, beside, SIZE, stream));
}

static void set(void)
{
    CHECK(cuMemsetD32Async(beside, 7, SIZE / 4, stream));
    CHECK(cuMemsetD8(beside, 7, SIZE));
}

static void attach(void)
{
    CHECK(cuStreamAttachMemAsync(stream, beside, 0, CU_MEM_ATTACH_SINGLE));
    CHECK(cuStreamAttachMemAsync(stream, beside, 0, CU_MEM_ATTACH_GLOBAL));
}

static void ask(void)
{
    int value;
    CUmemorytype type;
    CUdevice devices[4];
    CHECK(cuMemRangeGetAttribute(&value, sizeof value, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, shared, SIZE));
    CHECK(cuMemRangeGetAttribute(&devices, sizeof devices, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, shared, SIZE));
    CHECK(cuMemRangeGetAttribute(&value, sizeof value, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, beside, SIZE));
    CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, shared));
}

static void launch_on(CUdeviceptr p)
{
    CHECK(cuLaunchKernel(touch, 1, 1, 1, THREADS, 1, 1, 0, stream, (void *[]){ &p }, NULL));
    if (p == shared) atomic_fetch_add(&launches, 1);
}

static void launch(void)
{
    launch_on(shared);
    launch_on(plain);
    launch_on(plain);
    CHECK(cuStreamSynchronize(stream));
}

static void record(void)
{
    CHECK(cuEventRecord(event, stream));
    CHECK(cuStreamWaitEvent(NULL, event, 0));
    launch_on(plain);
    CHECK(cuEventRecord(event, stream));
    CHECK(cuEventSynchronize(event));
    CHECK(cuCtxSynchronize());
}

static void allocate(void)
{
    CUdeviceptr small, large, pooled;
    CHECK(cuMemAlloc(&small, 1000));
    CHECK(cuMemAlloc(&large, LARGE));
    CHECK(cuMemAllocAsync(&pooled, LARGE, stream));
    CHECK(cuMemFreeAsync(pooled, stream));
    CHECK(cuMemFree(large));
    CHECK(cuMemFree(small));
}

static void map(void)
{
    const CUmemAccessDesc both = { on_device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CHECK(cuMemMap(room, 2 << 20, 0, handle, 0));
    CHECK(cuMemSetAccess(room, 2 << 20, &both, 1));
    CHECK(cuMemUnmap(room, 2 << 20));
}

static void register_host(void)
{
    CHECK(cuMemHostRegister(ordinary, SIZE, 0));
    CHECK(cuMemHostUnregister(ordinary));
}

static void load(void)
{
    CUmodule module;
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleUnload(module));
}

static void make_streams(void)
{
    CUstream s;
    size_t free_bytes, total;
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemPrefetchAsync(shared, SIZE, on_device, 0, s));
    CHECK(cuStreamDestroy(s));
    CHECK(cuMemGetInfo(&free_bytes, &total));
}

static void make_contexts(void)
{
    CUcontext own, back;
    CHECK(cuCtxCreate(&own, NULL, 0, 0));
    CHECK(cuMemPrefetchAsync(shared, SIZE, on_device, 0, NULL));
    CHECK(cuMemAllocManaged(&(CUdeviceptr){ 0 }, 1 << 20, CU_MEM_ATTACH_GLOBAL)); /* goes with its context */
    CHECK(cuCtxDestroy(own));
    CHECK(cuCtxGetCurrent(&back));
}

static void launch_graph(void)
{
    CUgraph graph;
    CUgraphExec executable;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CHECK(cuMemsetD8Async(beside, 7, SIZE, stream));
    CHECK(cuMemcpyAsync(plain, shared, SIZE, stream));
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&executable, graph, 0));
    CHECK(cuGraphLaunch(executable, stream));
    CHECK(cuGraphExecDestroy(executable));
    CHECK(cuGraphDestroy(graph));
}

static void on_stream(void *words)
{
    for (unsigned k = 0; k < PAGES; k++) ((volatile unsigned *)words)[k * PAGE / 4 + 2]++;
}

static void call_back(void)
{
    CHECK(cuMemPrefetchAsync(beside, SIZE, on_device, 0, stream));
    CHECK(cuLaunchHostFunc(stream, on_stream, (void *)beside));
    CHECK(cuStreamSynchronize(stream));
}

/* What the library says is said by who serves faults, too. */
static void read_log(void)
{
    char text[4096];
    size_t size = sizeof text;
    CUlogIterator at;
    CHECK(cuLogsCurrent(&at, 0));
    CHECK(cuLogsDumpToMemory(&at, text, &size, 0));
}

static const struct {
    const char *name;
    void (*call)(void);
} calls[] = {
    { "cuMemAdvise", advise },
    { "cuMemPrefetchAsync", prefetch },
    { "cuMemPrefetchBatchAsync", prefetch_batch },
    { "cuMemDiscardBatchAsync", discard },
    { "cuMemAllocManaged, cuMemFree", allocate_managed },
    { "cuMemcpy", copy },
    { "cuMemsetD32Async", set },
    { "cuStreamAttachMemAsync", attach },
    { "cuMemRangeGetAttribute", ask },
    { "cuLaunchKernel", launch },
    { "cuEventRecord", record },
    { "cuMemAlloc, cuMemAllocAsync", allocate },
    { "cuMemMap, cuMemSetAccess", map },
    { "cuMemHostRegister", register_host },
    { "cuModuleLoadData", load },
    { "cuStreamCreate", make_streams },
    { "cuCtxCreate, cuCtxDestroy", make_contexts },
    { "cuGraphLaunch", launch_graph },
    { "cuLaunchHostFunc", call_back },
    { "cuLogsDumpToMemory", read_log },
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void set_up(void)
{
    CUmodule module;
    const CUmemAllocationProp own = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = on_device };
    check_context();
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&touch, module, "touch"));
    CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    CHECK(cuMemAlloc(&plain, SIZE));
    CHECK(cuMemAllocManaged(&shared, SIZE, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemAllocManaged(&beside, SIZE, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemAddressReserve(&room, 2 << 20, 0, 0, 0));
    CHECK(cuMemCreate(&handle, 2 << 20, &own, 0));
    ordinary = aligned_alloc(PAGE, SIZE);
    memset(ordinary, 1, SIZE);
    memset((void *)shared, 0, SIZE);
    words = (volatile unsigned *)shared;
}

static bool all_counted(void)
{
    unsigned long long added = 0;
    bool right = true;
    for (unsigned k = 0; k < PAGES; k++) {
        added += words[k * PAGE / 4];
        right &= words[k * PAGE / 4 + 1] == launches;
    }
    if (added != ticks || !right)
        printf("%llu of %u additions, kernels' %s\n", added, ticks, right ? "right" : "wrong");
    return added == ticks && right;
}

int main(int argc, char **argv)
{
    double each = (argc > 1 ? atoi(argv[1]) : 200) / 1000.0;
    const struct sigaction a = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    pthread_t sender, mover, watcher, reacher;
    int reaches;
    sigset_t one, before;
    set_up();
    main_thread = pthread_self();
    sigaction(SIGUSR1, &a, NULL);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    pthread_create(&watcher, NULL, watch, NULL);
    pthread_create(&mover, NULL, move_about, NULL);
    CHECK(cuDeviceGetAttribute(&reaches, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0));
    if (reaches) pthread_create(&reacher, NULL, reach_ordinary, NULL);
    pthread_create(&sender, NULL, send_signals, NULL);
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        double end = seconds() + each;
        atomic_store(&now, calls[k].name);
        while (seconds() < end) calls[k].call();
        CHECK(cuCtxSynchronize());
    }
    /* what the sender has still sent comes before this returns */
    over = true;
    pthread_join(sender, NULL);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    pthread_join(mover, NULL);
    if (reaches) pthread_join(reacher, NULL);
    CHECK(cuCtxSynchronize());
    return !all_counted() || !strcmp(now, "wrong values");
}
