/* Threads that are cancelled while they call the library: what they held is free again, and others go on. */
#include "../rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 8 << 20, PAGE = 4096, ROUNDS = 150 };

static CUcontext context;
static CUdeviceptr managed;

static const CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE }, host = { .type = CU_MEM_LOCATION_TYPE_HOST };

static void move(void)
{
    cuMemPrefetchAsync(managed, SIZE, device, 0, NULL);
    cuCtxSynchronize();
    cuMemPrefetchAsync(managed, SIZE, host, 0, NULL);
    cuCtxSynchronize();
    for (unsigned k = 0; k < SIZE; k += PAGE) ((volatile char *)managed)[k]++;
}

static void lend(void)
{
    CUstream s;
    CUdeviceptr p;
    if (cuStreamCreate(&s, CU_STREAM_NON_BLOCKING)) return;
    if (!cuMemAllocAsync(&p, MiB, s)) cuMemFreeAsync(p, s);
    cuStreamSynchronize(s);
    cuStreamDestroy(s);
}

static void pin(void)
{
    static char words[MiB];
    void *p;
    if (!cuMemAllocHost(&p, MiB)) cuMemFreeHost(p);
    if (!cuMemHostRegister(words, sizeof words, 0)) cuMemHostUnregister(words);
}

static void *repeat(void *call)
{
    cuCtxSetCurrent(context);
    for (;; pthread_testcancel()) (*(void (**)(void))call)();
    return NULL;
}

static void threads_that_are_cancelled_keep_no_lock(void **state)
{
    (void)state;
    static void (*const calls[])(void) = { move, lend, pin };
    CUdeviceptr p;
    alarm(100);
    context = rig_context(0);
    CUfunction f = rig_kernel("add");
    ok(cuMemAllocManaged(&managed, SIZE, CU_MEM_ATTACH_GLOBAL));
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, repeat, (void *)&calls[round % 3]), 0);
        usleep(round * 97 % 3000);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
        ok(cuMemAlloc(&p, PAGE));
        ok(cuMemsetD8(p, 0, PAGE));
        ok(rig_launch(f, p, 4, 1, NULL));
        ok(cuCtxSynchronize());
        ok(cuMemFree(p));
        ((volatile char *)managed)[0]++;
    }
}

/* ---- a cancellation that is pending acts where a thread first reaches a point for it: not within a call */

static CUfunction add;
static CUdeviceptr plain;
static char *ordinary;

static void initialise(void)
{
    CUcontext c;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&c, 0);
    cuCtxSetCurrent(c);
}

static void load_and_launch(void)
{
    char text[sizeof rig_ptx + 32];
    CUmodule m;
    CUfunction f;
    snprintf(text, sizeof text, "%s// %d", rig_ptx, (int)getpid()); /* none that is in the cache */
    if (cuModuleLoadData(&m, text)) return;
    if (!cuModuleGetFunction(&f, m, "fill")) rig_launch(f, plain, 4, 1, NULL);
    cuCtxSynchronize();
    cuModuleUnload(m);
}

static void copy_and_fill(void)
{
    static char bytes[MiB];
    cuMemcpyHtoD(plain, bytes, MiB);
    cuMemcpyDtoH(bytes, managed, MiB);
    cuMemcpyDtoD(managed, plain, MiB);
    cuMemsetD8(managed, 1, SIZE);
}

static void on_stream(void *arg) { usleep(*(unsigned *)arg); }

static void wait_for_streams(void)
{
    CUstream s;
    CUevent e;
    static unsigned us = 1000; /* read after the stream was destroyed, and the thread has ended */
    cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
    cuEventCreate(&e, CU_EVENT_BLOCKING_SYNC);
    cuLaunchHostFunc(s, on_stream, &us);
    cuEventRecord(e, s);
    cuEventSynchronize(e);
    cuLaunchHostFunc(s, on_stream, &us);
    cuStreamSynchronize(s);
    cuLaunchHostFunc(s, on_stream, &us);
    cuStreamDestroy(s);
    cuEventDestroy(e);
}

static void map_and_share(void)
{
    const CUmemAllocationProp of = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = device,
                                     .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR };
    const CUmemAccessDesc both = { device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemGenericAllocationHandle h, again;
    CUdeviceptr room;
    CUipcMemHandle ipc;
    int fd;
    cuMemCreate(&h, 2 * MiB, &of, 0);
    cuMemAddressReserve(&room, 2 * MiB, 0, 0, 0);
    cuMemMap(room, 2 * MiB, 0, h, 0);
    cuMemSetAccess(room, 2 * MiB, &both, 1);
    if (!cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0)) {
        if (!cuMemImportFromShareableHandle(&again, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
            cuMemRelease(again);
        int state;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
        close(fd);
        pthread_setcancelstate(state, &state);
    }
    cuMemUnmap(room, 2 * MiB);
    cuMemAddressFree(room, 2 * MiB);
    cuMemRelease(h);
    cuIpcGetMemHandle(&ipc, plain);
    cuIpcOpenMemHandle(&room, ipc, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

static void make_context(void)
{
    CUcontext c;
    if (!cuCtxCreate(&c, NULL, 0, 0)) cuCtxDestroy(c);
}

static void run_graph(void)
{
    CUstream s;
    CUgraph g;
    CUgraphExec e;
    cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
    cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED);
    rig_launch(add, plain, 4, 1, s);
    cuMemsetD8Async(managed, 1, MiB, s);
    cuStreamEndCapture(s, &g);
    cuGraphInstantiate(&e, g, 0);
    cuGraphLaunch(e, s);
    cuStreamSynchronize(s);
    cuGraphExecDestroy(e);
    cuGraphDestroy(g);
    cuStreamDestroy(s);
}

static void ask(void)
{
    int value;
    CUdevice d;
    CUcontext c;
    const char *text;
    void *values[] = { &value };
    CUpointer_attribute which = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    const CUdeviceptr at[] = { plain, managed, (CUdeviceptr)ordinary, 4096 };
    for (unsigned k = 0; k < 4; k++) {
        for (int a = 1; a <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE; a++)
            cuPointerGetAttribute((uint64_t[4]){ 0 }, (CUpointer_attribute)a, at[k]);
        cuPointerGetAttributes(1, &which, values, at[k]);
    }
    cuDeviceGetCount(&value);
    cuDeviceGet(&d, 0);
    for (int a = 0; a <= CU_DEVICE_ATTRIBUTE_MAX; a++) cuDeviceGetAttribute(&value, (CUdevice_attribute)a, 0);
    cuDriverGetVersion(&value);
    cuCtxGetCurrent(&c);
    cuCtxGetDevice(&d);
    cuGetErrorName(CUDA_ERROR_NOT_READY, &text);
    cuGetErrorString(CUDA_ERROR_NOT_READY, &text);
}

static void touch(void)
{
    cuMemPrefetchAsync(managed, SIZE, device, 0, NULL);
    cuCtxSynchronize();
    for (unsigned k = 0; k < SIZE; k += PAGE) ((volatile char *)managed)[k]++;
}

/* What the library does of its own as the program calls the system. */
static void call_the_system(void)
{
    cuMemHostRegister(ordinary, MiB, 0);
    pid_t child = fork();
    if (!child) _exit(0);
    madvise(ordinary, MiB, MADV_DONTNEED);
    cuMemHostUnregister(ordinary);
    int status, state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    waitpid(child, &status, 0);
    pthread_setcancelstate(state, &state);
    if (status) abort();
}

static const struct {
    const char *name;
    void (*call)(void);
} waits[] = {
    { "cuInit", initialise },
    { "modules and launches", load_and_launch },
    { "copies and fills", copy_and_fill },
    { "streams and events", wait_for_streams },
    { "mapped and shared memory", map_and_share },
    { "contexts", make_context },
    { "graphs", run_graph },
    { "pools", lend },
    { "pinned and registered memory", pin },
    { "managed memory", move },
    { "questions", ask },
    { "an access to managed memory", touch },
    { "fork and madvise", call_the_system },
};
static _Atomic bool reached;

static void *call_while_cancelled(void *of)
{
    int state;
    if (*(void (**)(void))of != initialise) cuCtxSetCurrent(context);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_cancel(pthread_self());
    pthread_setcancelstate(state, &state);
    (*(void (**)(void))of)();
    reached = true;
    pthread_testcancel();
    return of;
}

static void each_call_ends_before_its_thread_is_cancelled(void **state)
{
    (void)state;
    unsigned early = 0;
    alarm(100);
    ordinary = (char *)aligned_alloc(PAGE, 3 * MiB) + MiB; /* beside no thread's stack */
    for (unsigned k = 0; k < sizeof waits / sizeof *waits; k++) {
        pthread_t thread;
        void *result;
        reached = false;
        assert_int_equal(pthread_create(&thread, NULL, call_while_cancelled, (void *)&waits[k].call), 0);
        pthread_join(thread, &result);
        if (!reached || result != PTHREAD_CANCELED) print_message("cancelled within: %s\n", waits[k].name);
        early += !reached || result != PTHREAD_CANCELED;
        if (k) continue;
        context = rig_context(0);
        add = rig_kernel("add");
        ok(cuMemAlloc(&plain, MiB));
        ok(cuMemAllocManaged(&managed, SIZE, CU_MEM_ATTACH_GLOBAL));
    }
    assert_int_equal(early, 0);
    ok(rig_launch(add, managed, 4, 1, NULL));
    ok(cuCtxSynchronize());
    ok(cuMemHostRegister(ordinary, MiB, 0));
    ok(cuMemHostUnregister(ordinary));
    ok(cuMemFree(managed));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_call_ends_before_its_thread_is_cancelled),
                                        cmocka_unit_test(threads_that_are_cancelled_keep_no_lock) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
