/* Sixteen threads, each of which does everything that the runtime has, on two devices, in an order drawn at
 * random, and looks whether what it did is there: memory of all kinds, streams, events, host functions, graphs,
 * textures, libraries, peers. In the end nothing is left.
 * usage: FAULTLINE_DEVICES=2 stress [rounds of each thread] [seed] */
#include "../check.h"
#include "../draw.h"
#include "runtime/registration.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { THREADS = 16, DEVICES = 2, WORDS = 4096, BYTES = 4 * WORDS, WIDTH = 64 };

/* The runtime's codes have the driver's numbers and names. */
#define WELL(call) CHECK((CUresult)(call))
#define IS(call, wanted) ANSWERS((CUresult)(call), (CUresult)(wanted))

static const char code[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .global .align 4 .u32 total;\n"
    /* each of n words becomes itself and value */
    ".visible .entry add(.param .u64 to, .param .u32 n, .param .u32 value)\n{\n"
    "    .reg .pred %p;\n    .reg .b32 %r<7>;\n    .reg .b64 %d<3>;\n"
    "    ld.param.u64 %d1, [to];\n    ld.param.u32 %r6, [n];\n    ld.param.u32 %r1, [value];\n"
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n"
    "    mad.lo.u32 %r2, %r2, %r3, %r4;\n    setp.ge.u32 %p, %r2, %r6;\n    @%p ret;\n"
    "    mul.wide.u32 %d2, %r2, 4;\n    add.u64 %d1, %d1, %d2;\n    ld.global.u32 %r5, [%d1];\n"
    "    add.u32 %r5, %r5, %r1;\n    st.global.u32 [%d1], %r5;\n    ret;\n}\n"
    ".visible .entry count(.param .u64 at)\n{\n    .reg .b64 %d;\n"
    "    ld.param.u64 %d, [at];\n    red.global.add.u32 [%d], 1;\n    ret;\n}\n"
    ".visible .entry fetch(.param .u64 texture, .param .u64 out)\n{\n"
    "    .reg .b32 %r<6>;\n    .reg .b64 %d<4>;\n    .reg .f32 %f;\n"
    "    ld.param.u64 %d0, [texture];\n    ld.param.u64 %d2, [out];\n    mov.u32 %r0, %tid.x;\n    cvt.rn.f32.u32 %f, %r0;\n"
    "    tex.1d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%d0, {%f}];\n"
    "    mul.wide.u32 %d3, %r0, 4;\n    add.u64 %d2, %d2, %d3;\n    st.global.u32 [%d2], %r1;\n    ret;\n}\n";

/* What all threads use: on each device a stream and a counter. */
static struct {
    cudaLibrary_t library;
    cudaKernel_t add, count, fetch;
    cudaStream_t stream[DEVICES];
    unsigned *counter[DEVICES];
    atomic_uint launched[DEVICES];
} all;

struct worker {
    pthread_t thread;
    uint64_t drawn;
    unsigned rounds;
    int device;
    cudaStream_t stream; /* of that device, this thread's alone */
    unsigned words[WORDS];
};

static unsigned some(struct worker *w, unsigned n) { return (unsigned)draw_from(&w->drawn, n); }

static void add(void *at, unsigned n, unsigned value, cudaStream_t stream)
{
    void *args[] = { &at, &n, &value };
    WELL(cudaLaunchKernel(all.add, (dim3){ (n + 127) / 128, 1, 1 }, (dim3){ 128, 1, 1 }, args, 0, stream));
}

/* The words at a device's address, after the stream is done, are all this. */
static void expect_words(struct worker *w, const void *at, unsigned n, unsigned value)
{
    WELL(cudaMemcpyAsync(w->words, at, 4 * n, cudaMemcpyDefault, w->stream));
    WELL(cudaStreamSynchronize(w->stream));
    for (unsigned k = 0; k < n; k++) EXPECT_EQUAL(w->words[k], value);
}

/* ---- memory */

static void device_memory(struct worker *w)
{
    unsigned *p, value = some(w, 1000), n = 1 + some(w, WORDS);
    struct cudaPointerAttributes a;
    WELL(cudaMalloc((void **)&p, 4 * n));
    WELL(cudaPointerGetAttributes(&a, p + n / 2));
    EXPECT_EQUAL(a.type, cudaMemoryTypeDevice);
    EXPECT_EQUAL(a.device, w->device);
    WELL(cudaMemsetAsync(p, 0, 4 * n, w->stream));
    add(p, n, value, w->stream);
    expect_words(w, p, n, value);
    WELL(cudaFree(p));
}

static void pool_memory(struct worker *w)
{
    unsigned *p[4], value = some(w, 1000);
    for (int k = 0; k < 4; k++) {
        WELL(cudaMallocAsync((void **)&p[k], BYTES, w->stream));
        WELL(cudaMemsetAsync(p[k], 0, BYTES, w->stream));
        add(p[k], WORDS, value + (unsigned)k, w->stream);
    }
    unsigned kept = some(w, 4);
    for (unsigned k = 0; k < 4; k++)
        if (k != kept) WELL(cudaFreeAsync(p[k], w->stream));
    expect_words(w, p[kept], WORDS, value + kept);
    WELL(cudaFreeAsync(p[kept], w->stream));
}

static void own_pool(struct worker *w)
{
    const struct cudaMemPoolProps props = { .allocType = cudaMemAllocationTypePinned,
                                            .location = { cudaMemLocationTypeDevice, w->device } };
    cudaMemPool_t pool;
    unsigned *p;
    uint64_t used;
    WELL(cudaMemPoolCreate(&pool, &props));
    WELL(cudaMallocFromPoolAsync((void **)&p, BYTES, pool, w->stream));
    WELL(cudaMemsetAsync(p, 1, BYTES, w->stream));
    WELL(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    EXPECT(used >= BYTES);
    expect_words(w, p, WORDS, 0x01010101);
    WELL(cudaFreeAsync(p, w->stream));
    WELL(cudaStreamSynchronize(w->stream));
    WELL(cudaMemPoolTrimTo(pool, 0));
    WELL(cudaMemPoolDestroy(pool));
}

static void managed_memory(struct worker *w)
{
    unsigned *p, value = some(w, 1000);
    const struct cudaMemLocation here = { cudaMemLocationTypeDevice, w->device }, host = { cudaMemLocationTypeHost, 0 };
    WELL(cudaMallocManaged((void **)&p, BYTES, cudaMemAttachGlobal));
    for (unsigned k = 0; k < WORDS; k++) p[k] = k;
    if (some(w, 2)) WELL(cudaMemPrefetchAsync(p, BYTES, here, 0, w->stream));
    if (some(w, 2)) WELL(cudaMemAdvise(p, BYTES, cudaMemAdviseSetReadMostly, here));
    add(p, WORDS, value, w->stream);
    if (some(w, 2)) WELL(cudaMemPrefetchAsync(p, BYTES, host, 0, w->stream));
    WELL(cudaStreamSynchronize(w->stream));
    for (unsigned k = 0; k < WORDS; k++) EXPECT_EQUAL(p[k], k + value);
    WELL(cudaFree(p));
}

static void host_memory(struct worker *w)
{
    unsigned *p, *on_device, value = some(w, 1000);
    bool registered = some(w, 2);
    if (registered) {
        p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT(p != MAP_FAILED);
        WELL(cudaHostRegister(p, BYTES, cudaHostRegisterMapped));
    } else {
        WELL(cudaHostAlloc((void **)&p, BYTES, cudaHostAllocMapped));
    }
    memset(p, 0, BYTES);
    WELL(cudaHostGetDevicePointer((void **)&on_device, p, 0));
    add(on_device, WORDS, value, w->stream);
    WELL(cudaStreamSynchronize(w->stream));
    for (unsigned k = 0; k < WORDS; k++) EXPECT_EQUAL(p[k], value);
    WELL(registered ? cudaHostUnregister(p) : cudaFreeHost(p));
    if (registered) munmap(p, BYTES);
}

static void peers(struct worker *w)
{
    unsigned *here, *there, value = some(w, 1000);
    WELL(cudaMalloc((void **)&here, BYTES));
    WELL(cudaMemsetAsync(here, 0, BYTES, w->stream));
    add(here, WORDS, value, w->stream);
    WELL(cudaStreamSynchronize(w->stream));
    WELL(cudaSetDevice(!w->device));
    WELL(cudaMalloc((void **)&there, BYTES));
    WELL(cudaMemcpyPeerAsync(there, !w->device, here, w->device, BYTES, cudaStreamPerThread));
    WELL(cudaStreamSynchronize(cudaStreamPerThread));
    WELL(cudaSetDevice(w->device));
    expect_words(w, there, WORDS, value);
    WELL(cudaFree(there));
    WELL(cudaFree(here));
}

/* ---- order */

static void count_up(void *counter) { ++*(unsigned *)counter; }

static void streams_and_events(struct worker *w)
{
    cudaStream_t other;
    cudaEvent_t first, second;
    unsigned *p, called = 0;
    float ms;
    WELL(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    WELL(cudaEventCreate(&first));
    WELL(cudaEventCreate(&second));
    WELL(cudaMalloc((void **)&p, BYTES));
    WELL(cudaMemsetAsync(p, 0, BYTES, w->stream));
    WELL(cudaEventRecord(first, w->stream));
    WELL(cudaStreamWaitEvent(other, first, 0));
    add(p, WORDS, 5, other);
    WELL(cudaLaunchHostFunc(other, count_up, &called));
    WELL(cudaEventRecord(second, other));
    WELL(cudaStreamWaitEvent(w->stream, second, 0));
    expect_words(w, p, WORDS, 5);
    EXPECT_EQUAL(called, 1);
    WELL(cudaEventQuery(second));
    WELL(cudaEventElapsedTime(&ms, first, second));
    WELL(cudaStreamDestroy(other));
    WELL(cudaEventDestroy(first));
    WELL(cudaEventDestroy(second));
    WELL(cudaFree(p));
}

/* Launches into a stream that all threads use. */
static void shared_stream(struct worker *w)
{
    void *args[] = { &all.counter[w->device] };
    const unsigned n = 1 + some(w, 8);
    cudaEvent_t done;
    for (unsigned k = 0; k < n; k++)
        WELL(cudaLaunchKernel(all.count, (dim3){ 1, 1, 1 }, (dim3){ 32, 1, 1 }, args, 0, all.stream[w->device]));
    atomic_fetch_add(&all.launched[w->device], 32 * n);
    if (some(w, 2)) return;
    WELL(cudaEventCreateWithFlags(&done, cudaEventDisableTiming | cudaEventBlockingSync));
    WELL(cudaEventRecord(done, all.stream[w->device]));
    WELL(cudaEventSynchronize(done));
    WELL(cudaEventDestroy(done));
}

static void graphs(struct worker *w)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStream_t side;
    cudaEvent_t fork, join;
    unsigned *p, launches = 1 + some(w, 3);
    WELL(cudaMalloc((void **)&p, 2 * BYTES));
    WELL(cudaMemsetAsync(p, 0, 2 * BYTES, w->stream));
    WELL(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    WELL(cudaEventCreate(&fork));
    WELL(cudaEventCreate(&join));
    WELL(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeThreadLocal));
    WELL(cudaEventRecord(fork, w->stream));
    WELL(cudaStreamWaitEvent(side, fork, 0));
    add(p, WORDS, 1, w->stream);
    add(p + WORDS, WORDS, 1, side);
    WELL(cudaEventRecord(join, side));
    WELL(cudaStreamWaitEvent(w->stream, join, 0));
    add(p, 2 * WORDS, 2, w->stream);
    WELL(cudaStreamEndCapture(w->stream, &graph));
    WELL(cudaGraphInstantiate(&exec, graph, 0));
    for (unsigned k = 0; k < launches; k++) WELL(cudaGraphLaunch(exec, w->stream));
    expect_words(w, p + some(w, 2) * WORDS, WORDS, 3 * launches);
    WELL(cudaGraphExecDestroy(exec));
    WELL(cudaGraphDestroy(graph));
    WELL(cudaEventDestroy(fork));
    WELL(cudaEventDestroy(join));
    WELL(cudaStreamDestroy(side));
    WELL(cudaFree(p));
}

/* Memory that graphs have, and another graph in the place of an instantiated one. */
static void graphs_with_memory(struct worker *w)
{
    cudaGraph_t graph[2];
    cudaGraphExec_t exec;
    cudaGraphExecUpdateResultInfo result;
    unsigned *kept, value[2] = { some(w, 1000), some(w, 1000) };
    WELL(cudaMalloc((void **)&kept, BYTES));
    for (int k = 0; k < 2; k++) {
        unsigned *p;
        WELL(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeThreadLocal));
        WELL(cudaMallocAsync((void **)&p, BYTES, w->stream));
        WELL(cudaMemsetAsync(p, 0, BYTES, w->stream));
        add(p, WORDS, 1, w->stream);
        WELL(cudaMemcpyAsync(kept, p, BYTES, cudaMemcpyDeviceToDevice, w->stream));
        WELL(cudaFreeAsync(p, w->stream));
        add(kept, WORDS, value[k], w->stream);
        WELL(cudaStreamEndCapture(w->stream, &graph[k]));
    }
    WELL(cudaGraphInstantiate(&exec, graph[0], 0));
    WELL(cudaGraphLaunch(exec, w->stream));
    WELL(cudaGraphLaunch(exec, w->stream));
    expect_words(w, kept, WORDS, 1 + value[0]);
    WELL(cudaGraphExecDestroy(exec));
    WELL(cudaGraphInstantiate(&exec, graph[1], 0));
    WELL(cudaGraphLaunch(exec, w->stream));
    expect_words(w, kept, WORDS, 1 + value[1]);
    WELL(cudaGraphExecDestroy(exec));
    for (int k = 0; k < 2; k++) WELL(cudaGraphDestroy(graph[k]));
    WELL(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeRelaxed));
    add(kept, WORDS, 1, w->stream);
    WELL(cudaStreamEndCapture(w->stream, &graph[0]));
    WELL(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeRelaxed));
    add(kept, WORDS, 7, w->stream);
    WELL(cudaStreamEndCapture(w->stream, &graph[1]));
    WELL(cudaGraphInstantiate(&exec, graph[0], 0));
    WELL(cudaGraphExecUpdate(exec, graph[1], &result));
    WELL(cudaGraphLaunch(exec, w->stream));
    expect_words(w, kept, WORDS, 1 + value[1] + 7);
    WELL(cudaGraphExecDestroy(exec));
    for (int k = 0; k < 2; k++) WELL(cudaGraphDestroy(graph[k]));
    WELL(cudaFree(kept));
}

/* ---- the rest */

static void textures(struct worker *w)
{
    const struct cudaChannelFormatDesc format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindUnsigned);
    const struct cudaTextureDesc how = { .readMode = cudaReadModeElementType };
    struct cudaResourceDesc what = { .resType = cudaResourceTypeArray };
    cudaTextureObject_t texture;
    unsigned texels[WIDTH], *out, value = some(w, 1000);
    for (int k = 0; k < WIDTH; k++) texels[k] = value;
    WELL(cudaMalloc((void **)&out, sizeof texels));
    WELL(cudaMallocArray(&what.res.array.array, &format, WIDTH, 0, cudaArrayDefault));
    WELL(cudaMemcpy2DToArrayAsync(what.res.array.array, 0, 0, texels, sizeof texels, sizeof texels, 1,
                                  cudaMemcpyHostToDevice, w->stream));
    WELL(cudaCreateTextureObject(&texture, &what, &how, NULL));
    void *args[] = { &texture, &out };
    WELL(cudaLaunchKernel(all.fetch, (dim3){ 1, 1, 1 }, (dim3){ WIDTH, 1, 1 }, args, 0, w->stream));
    expect_words(w, out, WIDTH, value);
    WELL(cudaDestroyTextureObject(texture));
    WELL(cudaFreeArray(what.res.array.array));
    WELL(cudaFree(out));
}

static void volumes(struct worker *w)
{
    const struct cudaChannelFormatDesc format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindUnsigned);
    const struct cudaExtent size = { 16, 8, 8 };
    enum { ELEMENTS = 16 * 8 * 8 };
    struct cudaMemcpy3DParms in = { .extent = size, .kind = cudaMemcpyDeviceToDevice }, out = in;
    cudaArray_t volume;
    unsigned *p, value = some(w, 1000);
    WELL(cudaMalloc3DArray(&volume, &format, size, cudaArrayDefault));
    WELL(cudaMalloc((void **)&p, 2 * 4 * ELEMENTS));
    WELL(cudaMemsetAsync(p, 0, 2 * 4 * ELEMENTS, w->stream));
    add(p, ELEMENTS, value, w->stream);
    in.srcPtr = (struct cudaPitchedPtr){ p, 4 * size.width, size.width, size.height };
    in.dstArray = out.srcArray = volume;
    out.dstPtr = (struct cudaPitchedPtr){ p + ELEMENTS, 4 * size.width, size.width, size.height };
    WELL(cudaMemcpy3DAsync(&in, w->stream));
    WELL(cudaMemcpy3DAsync(&out, w->stream));
    expect_words(w, p + ELEMENTS, ELEMENTS, value);
    WELL(cudaFreeArray(volume));
    WELL(cudaFree(p));
}

/* As shared objects by nvcc are loaded and closed. */
static void registered_code(struct worker *w)
{
    struct {
        unsigned magic;
        unsigned short version, header;
        unsigned long long size;
        unsigned short kind, of_entry;
        unsigned entry_header;
        unsigned long long payload;
        unsigned packed, names;
        unsigned short minor, major;
        unsigned arch;
        unsigned long long name, flags, none, unpacked;
        char text[(sizeof code + 7) & ~7ul];
    } binary = { .magic = 0xba55ed50,
                 .version = 1,
                 .header = 16,
                 .size = sizeof binary - 16,
                 .kind = 1,
                 .of_entry = 0x101,
                 .entry_header = 64,
                 .payload = sizeof binary.text,
                 .names = 64,
                 .major = 8,
                 .arch = 90 };
    const struct {
        unsigned magic, version;
        const void *data, *pieces;
    } wrapper = { 0x466243b1, 1, &binary, NULL };
    char kernel[64] = "", variable[64] = ""; /* as good as a function's and a shadow's address */
    unsigned *p, value = some(w, 1000), n = WORDS, back;
    memcpy(binary.text, code, sizeof code);
    void **handle = __cudaRegisterFatBinary((void *)&wrapper);
    __cudaRegisterFunction(handle, kernel, "add", "add", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(handle, variable, "total", "total", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    WELL(cudaMalloc((void **)&p, BYTES));
    WELL(cudaMemsetAsync(p, 0, BYTES, w->stream));
    void *args[] = { &p, &n, &value };
    WELL(cudaLaunchKernel(kernel, (dim3){ WORDS / 128, 1, 1 }, (dim3){ 128, 1, 1 }, args, 0, w->stream));
    expect_words(w, p, WORDS, value);
    WELL(cudaMemcpyToSymbolAsync(variable, &value, 4, 0, cudaMemcpyHostToDevice, w->stream));
    WELL(cudaMemcpyFromSymbolAsync(&back, variable, 4, 0, cudaMemcpyDeviceToHost, w->stream));
    WELL(cudaStreamSynchronize(w->stream));
    EXPECT_EQUAL(back, value);
    WELL(cudaFree(p));
    __cudaUnregisterFatBinary(handle);
    IS(cudaLaunchKernel(kernel, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, args, 0, w->stream),
       cudaErrorInvalidResourceHandle);
    cudaGetLastError();
}

static void libraries(struct worker *w)
{
    cudaLibrary_t library;
    cudaKernel_t kernel;
    void *at, *total;
    size_t size;
    WELL(cudaLibraryLoadData(&library, code, NULL, NULL, 0, NULL, NULL, 0));
    WELL(cudaLibraryGetKernel(&kernel, library, "count"));
    WELL(cudaLibraryGetGlobal(&total, &size, library, "total"));
    EXPECT_EQUAL(size, 4);
    at = total;
    void *args[] = { &at };
    WELL(cudaLaunchKernel(kernel, (dim3){ 3, 1, 1 }, (dim3){ 32, 1, 1 }, args, 0, w->stream));
    expect_words(w, total, 1, 96);
    WELL(cudaLibraryUnload(library));
}

/* What one thread does wrong is not the others' last error. */
static void mistakes(struct worker *w)
{
    unsigned *p;
    int device;
    IS(cudaGetLastError(), cudaSuccess);
    IS(cudaMalloc((void **)&p, 1ul << 60), cudaErrorMemoryAllocation);
    IS(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
    IS(cudaSetDevice(99), cudaErrorInvalidDevice);
    IS(cudaGetLastError(), cudaErrorInvalidDevice);
    IS(cudaGetLastError(), cudaSuccess);
    WELL(cudaGetDevice(&device));
    EXPECT_EQUAL(device, w->device);
}

static void questions(struct worker *w)
{
    struct cudaDeviceProp p;
    struct cudaFuncAttributes a;
    size_t free, total;
    int blocks;
    WELL(cudaGetDeviceProperties(&p, w->device));
    WELL(cudaMemGetInfo(&free, &total));
    EXPECT(free <= total);
    WELL(cudaFuncGetAttributes(&a, all.add));
    EXPECT_EQUAL(a.maxThreadsPerBlock, p.maxThreadsPerBlock);
    WELL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, all.add, 128, 0));
    EXPECT(blocks > 0);
}

/* The thread goes on with the other device, and a stream there. */
static void change_device(struct worker *w)
{
    WELL(cudaStreamSynchronize(w->stream));
    WELL(cudaStreamDestroy(w->stream));
    w->device = !w->device;
    WELL(cudaSetDevice(w->device));
    WELL(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking));
}

static void *work(void *arg)
{
    static void (*const deeds[])(struct worker *) = {
        device_memory, pool_memory, own_pool,  managed_memory,     host_memory, peers,   streams_and_events,
        shared_stream, graphs,      graphs,    graphs_with_memory, textures,    volumes, registered_code,
        libraries,     mistakes,    questions, change_device
    };
    struct worker *w = arg;
    WELL(cudaSetDevice(w->device));
    WELL(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking));
    for (unsigned k = 0; k < w->rounds; k++) deeds[some(w, sizeof deeds / sizeof *deeds)](w);
    WELL(cudaStreamSynchronize(w->stream));
    WELL(cudaStreamDestroy(w->stream));
    return NULL;
}

/* ---- the whole */

/* The first calls of a process, all at the same time. */
static void *first_call(void *barrier)
{
    unsigned *p, word = 5;
    pthread_barrier_wait(barrier);
    WELL(cudaMalloc((void **)&p, 4));
    WELL(cudaMemcpy(p, &word, 4, cudaMemcpyHostToDevice));
    WELL(cudaMemcpy(&word, p, 4, cudaMemcpyDeviceToHost));
    WELL(cudaFree(p));
    return NULL;
}

static void start_cold(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int k = 0; k < THREADS; k++) EXPECT(!pthread_create(&threads[k], NULL, first_call, &barrier));
    for (int k = 0; k < THREADS; k++) EXPECT(!pthread_join(threads[k], NULL));
}

static size_t free_bytes(int device)
{
    size_t free, total;
    cudaMemPool_t pool;
    WELL(cudaSetDevice(device));
    WELL(cudaDeviceSynchronize());
    WELL(cudaDeviceGetDefaultMemPool(&pool, device));
    WELL(cudaMemPoolTrimTo(pool, 0));
    WELL(cudaDeviceGraphMemTrim(device));
    WELL(cudaMemGetInfo(&free, &total));
    return free;
}

static void set_up(void)
{
    WELL(cudaLibraryLoadData(&all.library, code, NULL, NULL, 0, NULL, NULL, 0));
    WELL(cudaLibraryGetKernel(&all.add, all.library, "add"));
    WELL(cudaLibraryGetKernel(&all.count, all.library, "count"));
    WELL(cudaLibraryGetKernel(&all.fetch, all.library, "fetch"));
    for (int d = 0; d < DEVICES; d++) {
        WELL(cudaSetDevice(d));
        WELL(cudaStreamCreateWithFlags(&all.stream[d], cudaStreamNonBlocking));
        WELL(cudaMalloc((void **)&all.counter[d], 4));
        WELL(cudaMemset(all.counter[d], 0, 4));
    }
}

/* All of them, on devices that nobody has used or that were reset. */
static void run(unsigned rounds, uint64_t seed)
{
    static struct worker workers[THREADS];
    size_t before[DEVICES];
    set_up();
    /* what is made once and stays is there then */
    workers[0] = (struct worker){ .drawn = seed * 77 + 1, .rounds = 200 };
    work(&workers[0]);
    for (int d = 0; d < DEVICES; d++) before[d] = free_bytes(d);
    for (unsigned k = 0; k < THREADS; k++) {
        workers[k].drawn = (seed * THREADS + k + 1) * 0x9e3779b97f4a7c15ull;
        workers[k].rounds = rounds;
        workers[k].device = k % DEVICES;
        EXPECT(!pthread_create(&workers[k].thread, NULL, work, &workers[k]));
    }
    for (unsigned k = 0; k < THREADS; k++) EXPECT(!pthread_join(workers[k].thread, NULL));
    for (int d = 0; d < DEVICES; d++) {
        unsigned counted;
        EXPECT_EQUAL(free_bytes(d), before[d]);
        WELL(cudaMemcpy(&counted, all.counter[d], 4, cudaMemcpyDeviceToHost));
        EXPECT_EQUAL(counted, all.launched[d]);
        all.launched[d] = 0;
        WELL(cudaDeviceReset());
    }
    WELL(cudaLibraryUnload(all.library));
}

int main(int argc, char **argv)
{
    const unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 40;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    int status;
    pid_t cold = fork();
    EXPECT(cold >= 0);
    if (!cold) {
        start_cold();
        _exit(0);
    }
    EXPECT(waitpid(cold, &status, 0) == cold && !status);
    run(rounds, seed);
    run(rounds / 4, seed + 1);
    return 0;
}
