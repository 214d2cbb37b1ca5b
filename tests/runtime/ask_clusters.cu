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

const struct group groups[] = {
    GROUP(grid),
    GROUP(clusters),
    LAST_GROUP,
};
