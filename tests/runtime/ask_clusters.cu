/* Kernels of clusters, and barriers of a whole grid. A program of its own: a device that knows no clusters refuses the whole
 * module. */
#include "ask.h"
#include <cooperative_groups.h>

__global__ void nothing() {}
__global__ void __cluster_dims__(2, 1, 1) clustered(int *p) { atomicAdd(p, 1); }
__global__ void grid_sync(int *p)
{
    cooperative_groups::grid_group g = cooperative_groups::this_grid();
    atomicAdd(p, 1);
    g.sync();
    if (*(volatile int *)p != (int)(gridDim.x * blockDim.x)) p[1] = 1;
}

static int *p, v;

static void begin(void)
{
    MUST(cudaMallocManaged((void **)&p, 4096));
    memset(p, 0, 4096);
}

static void grid(void)
{
    begin();
    void *args[] = { &p };
    ASK("cooperative", cudaLaunchCooperativeKernel((void *)grid_sync, dim3(8), dim3(32), args, 0, 0));
    ASK("sync", cudaDeviceSynchronize());
    say("value", "%d %d", p[0], p[1]);
}

static cudaError_t launch(const void *f, unsigned blocks, unsigned cluster, void **args)
{
    cudaLaunchConfig_t c;
    cudaLaunchAttribute a;
    memset(&c, 0, sizeof c);
    memset(&a, 0, sizeof a);
    c.gridDim = dim3(blocks);
    c.blockDim = dim3(32);
    c.attrs = &a;
    c.numAttrs = 1;
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = cluster;
    a.val.clusterDim.y = a.val.clusterDim.z = 1;
    return cudaLaunchKernelExC(&c, f, args);
}

static void clusters(void)
{
    begin();
    void *args[] = { &p };
    clustered<<<4, 32>>>(p);
    ASK("declared", cudaGetLastError());
    clustered<<<3, 32>>>(p);
    ASK("declared, odd grid", cudaGetLastError());
    ASK("sync", cudaDeviceSynchronize());
    say("value", "%d", *p);
    ASK("declared and asked for", launch((void *)clustered, 4, 2, args));
    ASK("declared and another asked for", launch((void *)clustered, 4, 4, args));
    cudaFuncAttributes a;
    memset(&a, 0x55, sizeof a);
    ASKV("attributes", cudaFuncGetAttributes(&a, clustered), "%d %d %d %d, %d %d", a.clusterDimMustBeSet,
         a.requiredClusterWidth, a.requiredClusterHeight, a.requiredClusterDepth, a.clusterSchedulingPolicyPreference,
         a.nonPortableClusterSizeAllowed);
    for (int i = 10; i <= 15; i++)
        for (int value = 0; value <= 2; value++)
            ASK(keyf("set.%d.%d", i, value), cudaFuncSetAttribute(clustered, (enum cudaFuncAttribute)i, value));
    ASKV("occupancy", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v, clustered, 128, 0), "%d", v);
    ASK("end", cudaDeviceSynchronize());
}

__global__ void shares(int *p)
{
    extern __shared__ int s[];
    s[threadIdx.x] = 1;
    if (p) *p = s[0];
}

static void ask_about(const char *key, const void *f, unsigned grid, unsigned cluster, size_t shared, bool asks)
{
    cudaLaunchConfig_t c;
    cudaLaunchAttribute a;
    memset(&c, 0, sizeof c);
    memset(&a, 0, sizeof a);
    c.gridDim = dim3(grid);
    c.blockDim = dim3(128);
    c.dynamicSmemBytes = shared;
    c.attrs = &a;
    c.numAttrs = asks;
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = cluster;
    a.val.clusterDim.y = a.val.clusterDim.z = 1;
    v = -77;
    ASKV(keyf("active.%s", key), cudaOccupancyMaxActiveClusters(&v, f, &c), "%d", v);
    v = -77;
    ASKV(keyf("potential.%s", key), cudaOccupancyMaxPotentialClusterSize(&v, f, &c), "%d", v);
}

static void occupancy(void)
{
    for (int larger = 0; larger < 2; larger++) {
        MUST(cudaFuncSetAttribute(shares, cudaFuncAttributeNonPortableClusterSizeAllowed, larger));
        MUST(cudaFuncSetAttribute(shares, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448));
        for (unsigned n = 1; n <= 24; n++) {
            ask_about(keyf("%d.%u", larger, n), (void *)shares, n, n, 1024, true);
            ask_about(keyf("%d.%u.alone", larger, n), (void *)shares, n, n, 232448, true);
        }
        ask_about(keyf("%d.1000", larger), (void *)shares, 1000, 1000, 0, true);
        ask_about(keyf("%d.odd grid", larger), (void *)shares, 6, 4, 0, true);
        ask_about(keyf("%d.odd grid, too large", larger), (void *)shares, 30, 20, 0, true);
        ask_about(keyf("%d.zero", larger), (void *)shares, 4, 0, 0, true);
        ask_about(keyf("%d.zero grid", larger), (void *)shares, 0, 2, 0, true);
        ask_about(keyf("%d.declared", larger), (void *)clustered, 2, 2, 0, true);
        ask_about(keyf("%d.declared, not asked for", larger), (void *)clustered, 2, 2, 0, false);
        ask_about(keyf("%d.declared, another asked for", larger), (void *)clustered, 4, 4, 0, true);
        ask_about(keyf("%d.declared, odd grid", larger), (void *)clustered, 3, 2, 0, true);
    }
}

const struct group groups[] = {
    GROUP(grid),
    GROUP(clusters),
    GROUP(occupancy),
    LAST_GROUP,
};
