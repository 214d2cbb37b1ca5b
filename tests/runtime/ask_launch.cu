/* Kernels: configurations that may not be, functions that are none, attributes of functions and launches, occupancy, host
 * functions, libraries. No question depends on a count of registers. */
#include "ask.h"

__global__ void nothing() {}
__global__ void store(int *p, int v) { *p = v; }
__global__ void ids(unsigned *p)
{
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    atomicAdd(p, 1);
    atomicAdd(p + 1, block * 7 + thread);
}
__global__ void static_shared(int *p)
{
    __shared__ int s[1024];
    s[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    *p = s[blockDim.x - 1];
}
__global__ void dynamic_shared(int *p, int n)
{
    extern __shared__ int d[];
    d[n - 1] = n;
    __syncthreads();
    *p = d[n - 1];
}
__global__ void __launch_bounds__(64) bounded(int *p) { *p = 1; }
__global__ void many(char a, int b, double c, char d, long e, float3 f, struct cudaExtent g, int *p)
{
    *p = a + b + (int)c + d + (int)e + (int)f.y + (int)g.depth;
}
template <int N> __global__ void templated(int *p) { *p = N; }
__constant__ int constant[100];
__global__ void uses_constant(int *p) { *p = constant[*p]; }
static void not_a_kernel() {}

struct shared_of_block {
    __host__ __device__ size_t operator()(int threads) const { return (size_t)threads * 64; }
};

static int *p, v;
static size_t n;

static void begin(void)
{
    MUST(cudaMallocManaged((void **)&p, 4096));
    memset(p, 0, 4096);
}

static void configurations(void)
{
    begin();
    static const unsigned shapes[][6] = {
        { 0, 1, 1, 1, 1, 1 },         { 1, 0, 1, 1, 1, 1 },           { 1, 1, 0, 1, 1, 1 },
        { 1, 1, 1, 0, 1, 1 },         { 1, 1, 1, 1, 0, 1 },           { 1, 1, 1, 1, 1, 0 },
        { 1, 1, 1, 1024, 1, 1 },      { 1, 1, 1, 1025, 1, 1 },        { 1, 1, 1, 32, 32, 1 },
        { 1, 1, 1, 32, 33, 1 },       { 1, 1, 1, 1, 1024, 1 },        { 1, 1, 1, 1, 1025, 1 },
        { 1, 1, 1, 1, 1, 64 },        { 1, 1, 1, 1, 1, 65 },          { 1, 1, 1, 2, 8, 64 },
        { 1, 65535, 1, 1, 1, 1 },     { 1, 65536, 1, 1, 1, 1 },       { 1, 1, 65535, 1, 1, 1 },
        { 1, 1, 65536, 1, 1, 1 },     { 2147483648u, 1, 1, 1, 1, 1 }, { 4294967295u, 1, 1, 1, 1, 1 },
        { 65536, 1, 1, 1, 1, 1 },     { 1, 1, 1, 4294967295u, 1, 1 }, { 3, 4, 5, 6, 7, 8 },
        { 65536, 65536, 1, 1, 1, 1 },
    };
    for (size_t i = 0; i < COUNT(shapes); i++) {
        const unsigned *c = shapes[i];
        unsigned long blocks = (unsigned long)c[0] * c[1] * c[2];
        const char *key = keyf("%ux%ux%u.%ux%ux%u", c[0], c[1], c[2], c[3], c[4], c[5]);
        dim3 grid(c[0], c[1], c[2]), block(c[3], c[4], c[5]);
        if (blocks <= 1ul << 17)
            nothing<<<grid, block>>>();
        else if (blocks > 1ul << 31)
            nothing<<<grid, block>>>();
        RAW(key, cudaGetLastError());
        RAW(keyf("%s.sync", key), cudaDeviceSynchronize());
    }
    ids<<<dim3(3, 4, 5), dim3(2, 3, 4)>>>((unsigned *)p);
    ASK("ids", cudaDeviceSynchronize());
    say("ids.value", "%u %u", p[0], p[1]);
}

static void shared_memory(void)
{
    begin();
    static const size_t sizes[] = { 8,         1024,    48 * KiB,  48 * KiB + 4, 64 * KiB, 227 * KiB, 227 * KiB + 4,
                                    228 * KiB, 1 * MiB, 1ul << 31, 1ul << 32,    1ul << 40 };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        dynamic_shared<<<1, 32, sizes[i]>>>(p, 2);
        RAW(keyf("dynamic%zu", sizes[i]), cudaGetLastError());
        RAW(keyf("dynamic%zu.sync", sizes[i]), cudaDeviceSynchronize());
        static_shared<<<1, 32, sizes[i]>>>(p);
        RAW(keyf("static%zu", sizes[i]), cudaGetLastError());
    }
    static const int limits[] = { -1,         0,          1024,           48 * 1024,  64 * 1024,
                                  100 * 1024, 227 * 1024, 227 * 1024 + 1, 228 * 1024, 1 << 30 };
    for (size_t i = 0; i < COUNT(limits); i++) {
        ASK(keyf("limit%d", limits[i]),
            cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, limits[i]));
        cudaFuncAttributes a = {};
        ASKV(keyf("limit%d.attributes", limits[i]), cudaFuncGetAttributes(&a, dynamic_shared), "%d %d",
             a.maxDynamicSharedSizeBytes, a.preferredShmemCarveout);
        dynamic_shared<<<1, 32, 64 * 1024>>>(p, 16 * 1024);
        RAW(keyf("limit%d.launch", limits[i]), cudaGetLastError());
        RAW(keyf("limit%d.sync", limits[i]), cudaDeviceSynchronize());
        ASK(keyf("limit%d.static", limits[i]),
            cudaFuncSetAttribute(static_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, limits[i]));
    }
    say("value", "%d", *p);
}

static void functions(void)
{
    begin();
    int w = 5;
    void *args[] = { &p, &w };
    ASK("good", cudaLaunchKernel((void *)store, dim3(1), dim3(1), args, 0, 0));
    ASK("sync", cudaDeviceSynchronize());
    say("value", "%d", *p);
    ASK("null", cudaLaunchKernel((void *)NULL, dim3(1), dim3(1), args, 0, 0));
    ASK("host", cudaLaunchKernel((void *)not_a_kernel, dim3(1), dim3(1), args, 0, 0));
    ASK("data", cudaLaunchKernel((void *)&v, dim3(1), dim3(1), args, 0, 0));
    ASK("constant", cudaLaunchKernel((void *)constant, dim3(1), dim3(1), args, 0, 0));
    RISK("arguments null, none needed", cudaLaunchKernel((void *)nothing, dim3(1), dim3(1), NULL, 0, 0));
    ASK("sync2", cudaDeviceSynchronize());
    ASK("bad stream", cudaLaunchKernel((void *)nothing, dim3(1), dim3(1), NULL, 0, cudaStreamLegacy));
    ASK("thread stream", cudaLaunchKernel((void *)nothing, dim3(1), dim3(1), NULL, 0, cudaStreamPerThread));
    many<<<1, 1>>>(1, 20, 300.0, 4, 5000, make_float3(0, 60000, 0), make_cudaExtent(1, 2, 700000), p);
    ASK("many", cudaDeviceSynchronize());
    say("many.value", "%d", *p);
    templated<17><<<1, 1>>>(p);
    ASK("templated", cudaDeviceSynchronize());
    say("templated.value", "%d", *p);
    bounded<<<1, 64>>>(p);
    ASK("bounded", cudaGetLastError());
    bounded<<<1, 65>>>(p);
    ASK("bounded over", cudaGetLastError());
    ASK("sync3", cudaDeviceSynchronize());
}

static void no_arguments(void)
{
    RISK("null", cudaLaunchKernel((void *)store, dim3(1), dim3(1), NULL, 0, 0));
    ASK("sync", cudaDeviceSynchronize());
}

static void show_function(const char *key, const void *f)
{
    cudaFuncAttributes a;
    memset(&a, 0x55, sizeof a);
    cudaError_t e = cudaFuncGetAttributes(&a, f);
    if (e) {
        answer(key, e, "%s", all(&a, 0x55, sizeof a));
        return;
    }
    answer(key, e,
           "shared %zu const %zu local %zu threads %d ptx %d binary %d ca %d dynamic %d carveout %d cluster %d %d %d "
           "%d policy %d "
           "nonportable %d reserved %s",
           a.sharedSizeBytes, a.constSizeBytes, a.localSizeBytes, a.maxThreadsPerBlock, a.ptxVersion, a.binaryVersion,
           a.cacheModeCA, a.maxDynamicSharedSizeBytes, a.preferredShmemCarveout, a.clusterDimMustBeSet,
           a.requiredClusterWidth, a.requiredClusterHeight, a.requiredClusterDepth, a.clusterSchedulingPolicyPreference,
           a.nonPortableClusterSizeAllowed, all(a.reserved, 0, sizeof a.reserved));
}

static void attributes(void)
{
    show_function("nothing", (void *)nothing);
    show_function("store", (void *)store);
    show_function("static", (void *)static_shared);
    show_function("dynamic", (void *)dynamic_shared);
    show_function("bounded", (void *)bounded);
    show_function("constant", (void *)uses_constant);
    show_function("many", (void *)many);
    show_function("templated", (void *)templated<5>);
    show_function("null", NULL);
    show_function("host", (void *)not_a_kernel);
    RISK("attributes null", cudaFuncGetAttributes(NULL, (void *)nothing));
    static const int values[] = { -2, -1, 0, 1, 2, 8, 16, 50, 100, 101 };
    for (int a = 0; a <= 17; a++) {
        for (size_t i = 0; i < COUNT(values); i++)
            ASK(keyf("set.%d.%d", a, values[i]), cudaFuncSetAttribute(nothing, (enum cudaFuncAttribute)a, values[i]));
        show_function(keyf("then.%d", a), (void *)nothing);
    }
    ASK("set null", cudaFuncSetAttribute((void *)NULL, cudaFuncAttributeMaxDynamicSharedMemorySize, 1));
    ASK("set host", cudaFuncSetAttribute((void *)not_a_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1));
    ASK("cache null", cudaFuncSetCacheConfig((void *)NULL, cudaFuncCachePreferL1));
    ASK("cache host", cudaFuncSetCacheConfig((void *)not_a_kernel, cudaFuncCachePreferL1));
    const char *name = NULL;
    ASKV("name", cudaFuncGetName(&name, (void *)store), "%s", name ? name : "(null)");
    ASKV("name templated", cudaFuncGetName(&name, (void *)templated<5>), "%s", name ? name : "(null)");
    ASK("name host", cudaFuncGetName(&name, (void *)not_a_kernel));
    RISK("name null", cudaFuncGetName(&name, NULL));
    RISK("name out", cudaFuncGetName(NULL, (void *)store));
    for (size_t i = 0; i <= 9; i++) {
        size_t offset = 777, size = 777;
        ASKV(keyf("parameter%zu", i), cudaFuncGetParamInfo((void *)many, i, &offset, &size), "%zu %zu", offset, size);
    }
    size_t offset = 777;
    ASKV("parameter nosize", cudaFuncGetParamInfo((void *)many, 2, &offset, NULL), "%zu", offset);
    RISK("parameter null", cudaFuncGetParamInfo((void *)many, 0, NULL, NULL));
    ASK("parameter host", cudaFuncGetParamInfo((void *)not_a_kernel, 0, &offset, &offset));
    ASK("parameter none", cudaFuncGetParamInfo((void *)nothing, 0, &offset, &offset));
    cudaFunction_t f = NULL, g = NULL;
    cudaKernel_t k = NULL, l = NULL;
    ASKV("function", cudaGetFuncBySymbol(&f, (void *)store), "%d", f != NULL);
    ASKV("function again", cudaGetFuncBySymbol(&g, (void *)store), "%d", f == g);
    ASK("function host", cudaGetFuncBySymbol(&f, (void *)not_a_kernel));
    RISK("function null", cudaGetFuncBySymbol(&f, NULL));
    RISK("function out", cudaGetFuncBySymbol(NULL, (void *)store));
    ASKV("kernel", cudaGetKernel(&k, (void *)store), "%d", k != NULL);
    ASKV("kernel again", cudaGetKernel(&l, (void *)store), "%d", k == l);
    ASKV("kernel of kernel", cudaGetKernel(&l, (void *)k), "%d", k == l);
    ASK("kernel host", cudaGetKernel(&l, (void *)not_a_kernel));
    RISK("kernel null", cudaGetKernel(&l, NULL));
    RISK("kernel out", cudaGetKernel(NULL, (void *)store));
    show_function("by kernel", (void *)k);
    begin();
    int w = 9;
    void *args[] = { &p, &w };
    ASK("launch kernel", cudaLaunchKernel((void *)k, dim3(1), dim3(1), args, 0, 0));
    say("driver", "%d", DRIVER(cuLaunchKernel)(g, 1, 1, 1, 1, 1, 1, 0, 0, args, NULL));
    ASK("sync", cudaDeviceSynchronize());
    say("value", "%d", *p);
    ASK("kernel attribute",
        cudaKernelSetAttributeForDevice(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024, 0));
    show_function("kernel attribute then", (void *)store);
    ASK("kernel attribute device",
        cudaKernelSetAttributeForDevice(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024, 7));
    ASK("kernel attribute bad", cudaKernelSetAttributeForDevice(k, (enum cudaFuncAttribute)99, 1024, 0));
}

static cudaError_t launch_ex(const void *f, unsigned blocks, unsigned threads, cudaLaunchAttribute *a, unsigned count,
                             void **args)
{
    cudaLaunchConfig_t c;
    memset(&c, 0, sizeof c);
    c.gridDim = dim3(blocks);
    c.blockDim = dim3(threads);
    c.attrs = a;
    c.numAttrs = count;
    return cudaLaunchKernelExC(&c, f, args);
}

static void extended(void)
{
    begin();
    int w = 5;
    void *args[] = { &p, &w };
    cudaLaunchAttribute a;
    memset(&a, 0, sizeof a);
    ASK("plain", launch_ex((void *)store, 1, 1, NULL, 0, args));
    ASK("sync", cudaDeviceSynchronize());
    say("value", "%d", *p);
    RISK("null", cudaLaunchKernelExC(NULL, (void *)store, args));
    RISK("attributes null", launch_ex((void *)store, 1, 1, NULL, 1, args));
    for (int id = -1; id <= 20; id++) {
        memset(&a, 0, sizeof a);
        a.id = (cudaLaunchAttributeID)id;
        ASK(keyf("id%d", id), launch_ex((void *)store, 1, 1, &a, 1, args));
        a.val.clusterDim.x = 1;
        ASK(keyf("id%d one", id), launch_ex((void *)store, 1, 1, &a, 1, args));
    }
    ASK("sync2", cudaDeviceSynchronize());
    memset(&a, 0, sizeof a);
    a.id = cudaLaunchAttributeClusterDimension;
    static const unsigned clusters[][3] = { { 1, 1, 1 }, { 2, 1, 1 }, { 4, 1, 1 }, { 8, 1, 1 }, { 16, 1, 1 },
                                            { 3, 1, 1 }, { 1, 2, 1 }, { 0, 1, 1 }, { 0, 0, 0 } };
    for (size_t i = 0; i < COUNT(clusters); i++) {
        a.val.clusterDim.x = clusters[i][0];
        a.val.clusterDim.y = clusters[i][1];
        a.val.clusterDim.z = clusters[i][2];
        ASK(keyf("cluster%u.%u.%u", clusters[i][0], clusters[i][1], clusters[i][2]),
            launch_ex((void *)nothing, 16, 32, &a, 1, NULL));
    }
    a.val.clusterDim.x = 2;
    a.val.clusterDim.y = a.val.clusterDim.z = 1;
    static const int priorities[] = { -100, -6, -5, -1, 0, 1, 100 };
    a.id = cudaLaunchAttributePriority;
    for (size_t i = 0; i < COUNT(priorities); i++) {
        a.val.priority = priorities[i];
        ASK(keyf("priority%d", priorities[i]), launch_ex((void *)nothing, 1, 1, &a, 1, NULL));
    }
    a.id = cudaLaunchAttributePreferredSharedMemoryCarveout;
    for (int c = -2; c <= 101; c += (c == -2 || c == 0 || c == 100 ? 1 : 50)) {
        a.val.sharedMemCarveout = c;
        ASK(keyf("carveout%d", c), launch_ex((void *)nothing, 1, 1, &a, 1, NULL));
        if (c > 101) break;
    }
    a.id = cudaLaunchAttributeCooperative;
    a.val.cooperative = 1;
    ASK("cooperative", launch_ex((void *)nothing, 4, 32, &a, 1, NULL));
    ASK("cooperative large", launch_ex((void *)nothing, 1000000, 32, &a, 1, NULL));
    ASK("empty", launch_ex((void *)nothing, 0, 32, NULL, 0, NULL));
    ASK("wide", launch_ex((void *)nothing, 1, 1025, NULL, 0, NULL));
    ASK("null function", launch_ex(NULL, 1, 1, NULL, 0, NULL));
    cudaLaunchAttribute two[2];
    memset(two, 0, sizeof two);
    two[0].id = cudaLaunchAttributePriority;
    two[1].id = cudaLaunchAttributePriority;
    ASK("same twice", launch_ex((void *)nothing, 1, 1, two, 2, NULL));
    ASK("end", cudaDeviceSynchronize());
}

static void cooperative(void)
{
    int sms = 0, per = 0;
    MUST(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    MUST(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, nothing, 1024, 0));
    say("per multiprocessor", "%d", per);
    ASK("full", cudaLaunchCooperativeKernel((void *)nothing, dim3(sms * per), dim3(1024), NULL, 0, 0));
    ASK("over", cudaLaunchCooperativeKernel((void *)nothing, dim3(sms * per + 1), dim3(1024), NULL, 0, 0));
    ASK("far over", cudaLaunchCooperativeKernel((void *)nothing, dim3(1 << 30), dim3(32), NULL, 0, 0));
    ASK("zero", cudaLaunchCooperativeKernel((void *)nothing, dim3(0), dim3(32), NULL, 0, 0));
    ASK("wide", cudaLaunchCooperativeKernel((void *)nothing, dim3(1), dim3(1025), NULL, 0, 0));
    ASK("host", cudaLaunchCooperativeKernel((void *)not_a_kernel, dim3(1), dim3(1), NULL, 0, 0));
    ASK("null", cudaLaunchCooperativeKernel((void *)NULL, dim3(1), dim3(1), NULL, 0, 0));
    ASK("shared", cudaLaunchCooperativeKernel((void *)nothing, dim3(1), dim3(1), NULL, 1 << 20, 0));
    ASK("end", cudaDeviceSynchronize());
}

static void occupancy(void)
{
    static const int threads[] = {
        -1, 0, 1, 32, 33, 64, 96, 100, 128, 192, 256, 384, 512, 768, 1000, 1023, 1024, 1025
    };
    static const size_t shared[] = { 0,         1,         1024,     10000, 32 * KiB, 48 * KiB, 48 * KiB + 1,
                                     100 * KiB, 227 * KiB, 228 * KiB };
    for (size_t i = 0; i < COUNT(threads); i++)
        for (size_t j = 0; j < COUNT(shared); j++) {
            v = -7;
            ASKV(keyf("nothing.%d.%zu", threads[i], shared[j]),
                 cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v, nothing, threads[i], shared[j]), "%d", v);
        }
    for (size_t i = 0; i < COUNT(threads); i++) {
        v = -7;
        ASKV(keyf("static.%d", threads[i]),
             cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v, static_shared, threads[i], 0), "%d", v);
        v = -7;
        ASKV(keyf("bounded.%d", threads[i]), cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v, bounded, threads[i], 0),
             "%d", v);
        n = 7;
        ASKV(keyf("available.%d", threads[i]), cudaOccupancyAvailableDynamicSMemPerBlock(&n, nothing, 2, threads[i]),
             "%zu", n);
    }
    MUST(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024));
    for (size_t j = 0; j < COUNT(shared); j++) {
        v = -7;
        ASKV(keyf("raised.%zu", shared[j]), cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v, nothing, 128, shared[j]),
             "%d", v);
    }
    for (int blocks = -1; blocks <= 40; blocks += 1) {
        n = 7;
        ASKV(keyf("available.blocks%d", blocks), cudaOccupancyAvailableDynamicSMemPerBlock(&n, nothing, blocks, 32),
             "%zu", n);
        n = 7;
        ASKV(keyf("available.static%d", blocks),
             cudaOccupancyAvailableDynamicSMemPerBlock(&n, static_shared, blocks, 32), "%zu", n);
    }
    for (unsigned flags = 0; flags <= 3; flags++)
        ASKV(keyf("flags%u", flags), cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&v, nothing, 128, 0, flags),
             "%d", v);
    RISK("null", cudaOccupancyMaxActiveBlocksPerMultiprocessor(NULL, nothing, 128, 0));
    ASK("null function", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v, (void *)NULL, 128, 0));
    ASK("host", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v, (void *)not_a_kernel, 128, 0));
    int grid = -7, block = -7;
    ASKV("potential", cudaOccupancyMaxPotentialBlockSize(&grid, &block, nothing, 0, 0), "%d %d", grid, block);
    ASKV("potential.limit", cudaOccupancyMaxPotentialBlockSize(&grid, &block, nothing, 0, 100), "%d %d", grid, block);
    ASKV("potential.bounded", cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded, 0, 0), "%d %d", grid, block);
    ASKV("potential.shared", cudaOccupancyMaxPotentialBlockSize(&grid, &block, nothing, 40000, 0), "%d %d", grid,
         block);
    ASKV("potential.toomuch", cudaOccupancyMaxPotentialBlockSize(&grid, &block, nothing, 1 << 20, 0), "%d %d", grid,
         block);
    ASKV("potential.variable",
         cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, nothing, shared_of_block(), 0), "%d %d", grid,
         block);
    cudaLaunchConfig_t c;
    cudaLaunchAttribute a;
    memset(&c, 0, sizeof c);
    memset(&a, 0, sizeof a);
    c.gridDim = dim3(132);
    c.blockDim = dim3(128);
    ASKV("cluster size", cudaOccupancyMaxPotentialClusterSize(&v, nothing, &c), "%d", v);
    c.dynamicSmemBytes = 100000;
    ASKV("cluster size shared", cudaOccupancyMaxPotentialClusterSize(&v, nothing, &c), "%d", v);
    c.dynamicSmemBytes = 0;
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = 2;
    a.val.clusterDim.y = a.val.clusterDim.z = 1;
    c.attrs = &a;
    c.numAttrs = 1;
    c.gridDim = dim3(16);
    v = -7;
    ASKV("clusters", cudaOccupancyMaxActiveClusters(&v, nothing, &c), "%d", v);
    a.val.clusterDim.x = 8;
    ASKV("clusters 8", cudaOccupancyMaxActiveClusters(&v, nothing, &c), "%d", v);
    a.val.clusterDim.x = 16;
    ASKV("clusters 16", cudaOccupancyMaxActiveClusters(&v, nothing, &c), "%d", v);
    c.numAttrs = 0;
    ASKV("clusters none", cudaOccupancyMaxActiveClusters(&v, nothing, &c), "%d", v);
    RISK("clusters null", cudaOccupancyMaxActiveClusters(&v, (void *)nothing, NULL));
}

/* ---- host functions */
static int calls;
static void count(void *data) { calls += *(int *)data; }
static void count_and_ask(void *)
{
    RAW("inside.malloc", cudaMalloc((void **)&p, 16));
    RAW("inside.sync", cudaDeviceSynchronize());
    RAW("inside.query", cudaStreamQuery(0));
    RAW("inside.peek", cudaPeekAtLastError());
    RAW("inside.device", cudaGetDevice(&v));
    RAW("inside.last", cudaGetLastError());
}
static void callback(cudaStream_t stream, cudaError_t status, void *data)
{
    calls += *(int *)data;
    static int number;
    say(keyf("callback.%d", number++), "%s, stream %s", name_of(status), stream ? "some" : "null");
}

static void host_functions(void)
{
    int one = 1;
    cudaStream_t s;
    MUST(cudaStreamCreate(&s));
    ASK("launch", cudaLaunchHostFunc(s, count, &one));
    ASK("launch 0", cudaLaunchHostFunc(0, count, &one));
    ASK("sync", cudaDeviceSynchronize());
    say("calls", "%d", calls);
    ASK("null", cudaLaunchHostFunc(s, NULL, &one));
    ASK("callback.add", cudaStreamAddCallback(s, callback, &one, 0));
    ASK("sync2", cudaStreamSynchronize(s));
    ASK("callback.add 0", cudaStreamAddCallback(0, callback, &one, 0));
    ASK("sync3", cudaDeviceSynchronize());
    say("calls2", "%d", calls);
    ASK("callback flags", cudaStreamAddCallback(s, callback, &one, 1));
    ASK("callback null", cudaStreamAddCallback(s, NULL, &one, 0));
    ASK("ask", cudaLaunchHostFunc(s, count_and_ask, NULL));
    ASK("sync4", cudaStreamSynchronize(s));
    ASK("end", cudaDeviceSynchronize());
}

/* ---- libraries */
static const char ptx[] =
    ".version 7.8\n.target sm_52\n.address_size 64\n"
    ".visible .global .align 4 .u32 counter[4] = {1,2,3,4};\n"
    ".visible .global .attribute(.managed) .align 4 .u32 shared_counter = 9;\n"
    ".visible .entry first(.param .u64 a) { .reg .b64 %d<2>; ld.param.u64 %d1,[a]; cvta.to.global.u64 %d1,%d1; "
    "st.global.u32 [%d1],77; ret; }\n"
    ".visible .entry second() { ret; }\n";

static void libraries(void)
{
    begin();
    cudaLibrary_t l = NULL, m = NULL;
    cudaKernel_t k = NULL, list[4] = { NULL, NULL, NULL, NULL };
    void *a = NULL;
    unsigned u = 77;
    ASKV("load", cudaLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 0), "%d", l != NULL);
    ASKV("kernel", cudaLibraryGetKernel(&k, l, "first"), "%d", k != NULL);
    ASK("kernel unknown", cudaLibraryGetKernel(&k, l, "third"));
    ASK("kernel empty", cudaLibraryGetKernel(&k, l, ""));
    RISK("kernel null name", cudaLibraryGetKernel(&k, l, NULL));
    RISK("kernel out", cudaLibraryGetKernel(NULL, l, "first"));
    RISK("kernel null library", cudaLibraryGetKernel(&k, NULL, "first"));
    MUST(cudaLibraryGetKernel(&k, l, "first"));
    void *args[] = { &p };
    ASK("launch", cudaLaunchKernel((void *)k, dim3(1), dim3(1), args, 0, 0));
    ASK("sync", cudaDeviceSynchronize());
    say("value", "%d", *p);
    show_function("attributes", (void *)k);
    ASKV("count", cudaLibraryGetKernelCount(&u, l), "%u", u);
    ASKV("enumerate", cudaLibraryEnumerateKernels(list, 4, l), "%d %d %d", list[0] != NULL, list[1] != NULL,
         list[2] != NULL);
    ASK("enumerate 1", cudaLibraryEnumerateKernels(list, 1, l));
    ASK("enumerate 0", cudaLibraryEnumerateKernels(list, 0, l));
    RISK("enumerate null", cudaLibraryEnumerateKernels(NULL, 2, l));
    const char *name = NULL;
    ASKV("name", cudaFuncGetName(&name, (void *)k), "%s", name ? name : "(null)");
    n = 7;
    ASKV("global", cudaLibraryGetGlobal(&a, &n, l, "counter"), "%d %zu", a != NULL, n);
    int w = 0;
    ASKV("global.value", cudaMemcpy(&w, (int *)a + 2, 4, cudaMemcpyDeviceToHost), "%d", w);
    ASK("global unknown", cudaLibraryGetGlobal(&a, &n, l, "nothing"));
    ASK("global nosize", cudaLibraryGetGlobal(&a, NULL, l, "counter"));
    ASK("global noaddress", cudaLibraryGetGlobal(NULL, &n, l, "counter"));
    ASK("global none", cudaLibraryGetGlobal(NULL, NULL, l, "counter"));
    ASK("global managed", cudaLibraryGetGlobal(&a, &n, l, "shared_counter"));
    n = 7;
    cudaError_t e = ASKV("managed", cudaLibraryGetManaged(&a, &n, l, "shared_counter"), "%zu", n);
    if (!e) say("managed.value", "%d", *(int *)a);
    ASK("managed of global", cudaLibraryGetManaged(&a, &n, l, "counter"));
    ASK("managed unknown", cudaLibraryGetManaged(&a, &n, l, "none"));
    ASK("unified", cudaLibraryGetUnifiedFunction(&a, l, "first"));
    ASK("load same", cudaLibraryLoadData(&m, ptx, NULL, NULL, 0, NULL, NULL, 0));
    say("load same.same", "%d", l == m);
    ASK("unload", cudaLibraryUnload(m));
    ASK("garbage", cudaLibraryLoadData(&m, "nonsense", NULL, NULL, 0, NULL, NULL, 0));
    ASK("broken ptx",
        cudaLibraryLoadData(&m, ".version 7.8\n.target sm_52\n.address_size 64\n.visible .entry x() { foo; }\n", NULL,
                            NULL, 0, NULL, NULL, 0));
    ASK("future ptx",
        cudaLibraryLoadData(&m, ".version 99.0\n.target sm_52\n.address_size 64\n.visible .entry x() { ret; }\n", NULL,
                            NULL, 0, NULL, NULL, 0));
    ASK("future target",
        cudaLibraryLoadData(&m, ".version 7.8\n.target sm_999\n.address_size 64\n.visible .entry x() { ret; }\n", NULL,
                            NULL, 0, NULL, NULL, 0));
    RISK("null", cudaLibraryLoadData(&m, NULL, NULL, NULL, 0, NULL, NULL, 0));
    RISK("out", cudaLibraryLoadData(NULL, ptx, NULL, NULL, 0, NULL, NULL, 0));
    ASK("file", cudaLibraryLoadFromFile(&m, "/nonexistent/file.cubin", NULL, NULL, 0, NULL, NULL, 0));
    ASK("file empty", cudaLibraryLoadFromFile(&m, "/dev/null", NULL, NULL, 0, NULL, NULL, 0));
    RISK("file null", cudaLibraryLoadFromFile(&m, NULL, NULL, NULL, 0, NULL, NULL, 0));
    static char log[1000];
    cudaJitOption options[] = { cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes };
    void *values[] = { log, (void *)sizeof log };
    ASKV("log",
         cudaLibraryLoadData(&m, ".version 7.8\n.target sm_52\n.address_size 64\n.visible .entry x() { foo; }\n",
                             options, values, 2, NULL, NULL, 0),
         "%s", log[0] ? "text" : "none");
    cudaLibraryOption lo[] = { cudaLibraryBinaryIsPreserved };
    void *lv[] = { (void *)1 };
    ASK("preserved", cudaLibraryLoadData(&m, ptx, NULL, NULL, 0, lo, lv, 1));
    cudaLibraryOption bad[] = { (cudaLibraryOption)77 };
    ASK("option", cudaLibraryLoadData(&m, ptx, NULL, NULL, 0, bad, lv, 1));
    ASK("unload first", cudaLibraryUnload(l));
    RISK("unload null", cudaLibraryUnload(NULL));
}

const struct group groups[] = {
    GROUP(configurations), GROUP(shared_memory), GROUP(functions),   GROUP(no_arguments),
    GROUP(attributes),     GROUP(extended),      GROUP(cooperative), GROUP(occupancy),
    GROUP(host_functions), GROUP(libraries),     LAST_GROUP,
};
