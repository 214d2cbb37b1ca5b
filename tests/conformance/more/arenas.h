/* What the questions about memory of graphs share: streams that are held up, nodes that allocate, and what a device has. */
#ifndef ARENAS_H
#define ARENAS_H
#include "say.h"

enum { STREAMS = 3 };

static CUstream streams[STREAMS];
static volatile uint32_t *held; /* a word for each stream, which waits for its turn */
static uint32_t turns[STREAMS];
static CUdeviceptr base; /* of what the first node got */

static void begin(void)
{
    setup();
    for (int k = 0; k < STREAMS; k++) MUST(cuStreamCreate(&streams[k], CU_STREAM_NON_BLOCKING));
    MUST(cuMemAllocHost((void **)&held, 64));
    memset((void *)held, 0, 64);
}

static void add_attributes(void)
{
    for (int k = 0; k < 4; k++) {
        cuuint64_t bytes = 1;
        CUresult r = cuDeviceGetGraphMemAttribute(dev0, (CUgraphMem_attribute)k, &bytes);
        add(" %s%g", r ? rname(r) : "", (double)bytes / (32 * MiB));
    }
}

static CUresult hold(int k)
{
    return cuStreamWaitValue32(streams[k], (CUdeviceptr)&held[k], ++turns[k], CU_STREAM_WAIT_VALUE_GEQ);
}

static void go(int k) { held[k] = turns[k]; }

static CUresult add_allocation(CUgraph g, const CUgraphNode *before, size_t count, size_t size, CUgraphNode *n,
                               CUdeviceptr *p)
{
    CUDA_MEM_ALLOC_NODE_PARAMS params = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                         .location = loc(CU_MEM_LOCATION_TYPE_DEVICE, dev0) },
                                          .bytesize = size };
    CUresult r = cuGraphAddMemAllocNode(n, g, before, count, &params);
    *p = params.dptr;
    if (!base) base = *p;
    return r;
}

static CUresult reset_highs(void)
{
    cuuint64_t zero = 0;
    CUresult r = cuDeviceSetGraphMemAttribute(dev0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero);
    return r ? r : cuDeviceSetGraphMemAttribute(dev0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &zero);
}

#endif
