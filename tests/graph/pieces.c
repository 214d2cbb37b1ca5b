/* Threads launch graphs that allocate more memory, all together, than the device has: pieces of it go from graph to graph,
 * are trimmed and come back. Each launch writes what only it would, and reads it back before it frees the memory. */
#include "../check.h"
#include "../draw.h"
#include "../rig.h"

#include <pthread.h>
#include <stdbool.h>

enum { THREADS = 4, GRAPHS = 5, LAUNCHES = 150, MOST = 70, PLACES = 3 };

static CUcontext context;

struct one {
    CUgraphExec executable;
    size_t size;
    uint32_t value;
    bool launched;  /* since it was looked at */
    uint32_t *back; /* what was read, at the beginning, in the middle and at the end */
};

static CUgraphNode add_read(CUgraph g, CUgraphNode before, CUdeviceptr from, uint32_t *to)
{
    CUgraphNode n;
    const CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .srcDevice = from,
                                 .dstMemoryType = CU_MEMORYTYPE_HOST,
                                 .dstHost = to,
                                 .WidthInBytes = 4,
                                 .Height = 1,
                                 .Depth = 1 };
    CHECK(cuGraphAddMemcpyNode(&n, g, &before, 1, &copy, context));
    return n;
}

static void make(struct one *o, uint64_t *state)
{
    CUgraph g;
    CUgraphNode n;
    CUDA_MEM_ALLOC_NODE_PARAMS p = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                    .location.type = CU_MEM_LOCATION_TYPE_DEVICE } };
    o->size = p.bytesize = (1 + draw_from(state, MOST)) * MiB;
    o->value = 1 + (uint32_t)draw_from(state, 1u << 31);
    o->launched = false;
    CHECK(cuMemAllocHost((void **)&o->back, PLACES * 4));
    CHECK(cuGraphCreate(&g, 0));
    CHECK(cuGraphAddMemAllocNode(&n, g, NULL, 0, &p));
    const CUDA_MEMSET_NODE_PARAMS fill = {
        .dst = p.dptr, .elementSize = 4, .width = o->size / 4, .height = 1, .value = o->value
    };
    CHECK(cuGraphAddMemsetNode(&n, g, &n, 1, &fill, context));
    for (size_t k = 0; k < PLACES; k++)
        n = add_read(g, n, p.dptr + k * (o->size - 4) / (PLACES - 1) / 4 * 4, &o->back[k]);
    CHECK(cuGraphAddMemFreeNode(&n, g, &n, 1, p.dptr));
    CHECK(cuGraphInstantiate(&o->executable, g, 0));
    CHECK(cuGraphDestroy(g));
}

/* Its launches are done. */
static void look(struct one *o)
{
    for (int k = 0; k < PLACES && o->launched; k++) {
        if (o->back[k] != o->value) {
            fprintf(stderr, "place %d of %zu bytes: %x, wanted %x\n", k, o->size, o->back[k], o->value);
            exit(1);
        }
        o->back[k] = 0;
    }
    o->launched = false;
}

static void end(struct one *o)
{
    CHECK(cuGraphExecDestroy(o->executable));
    CHECK(cuMemFreeHost(o->back));
}

static void *launch(void *arg)
{
    uint64_t state = 1 + (uintptr_t)arg;
    struct one some[GRAPHS];
    CUstream s[2];
    CHECK(cuCtxSetCurrent(context));
    for (int k = 0; k < 2; k++) CHECK(cuStreamCreate(&s[k], CU_STREAM_NON_BLOCKING));
    for (int k = 0; k < GRAPHS; k++) make(&some[k], &state);
    for (int turn = 0; turn < LAUNCHES; turn++) {
        struct one *o = &some[draw_from(&state, GRAPHS)];
        CHECK(cuGraphLaunch(o->executable, s[turn % 2]));
        o->launched = true;
        if (draw_from(&state, 4)) continue;
        for (int k = 0; k < 2; k++) CHECK(cuStreamSynchronize(s[k]));
        for (int k = 0; k < GRAPHS; k++) look(&some[k]);
        if (!draw_from(&state, 8)) CHECK(cuDeviceGraphMemTrim(0));
        if (draw_from(&state, 4)) continue;
        end(o);
        make(o, &state);
    }
    for (int k = 0; k < 2; k++) CHECK(cuStreamSynchronize(s[k]));
    for (int k = 0; k < GRAPHS; k++) end(&some[k]);
    return NULL;
}

/* Once nobody needs it, all of it goes. */
static void check_end(void)
{
    cuuint64_t now[2];
    CHECK(cuDeviceGraphMemTrim(0));
    CHECK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &now[0]));
    CHECK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &now[1]));
    if (!now[0] && !now[1]) return;
    fprintf(stderr, "%llu bytes used, %llu reserved in the end\n", (unsigned long long)now[0],
            (unsigned long long)now[1]);
    exit(1);
}

int main(void)
{
    pthread_t t[THREADS];
    context = rig_context(0);
    for (uintptr_t k = 0; k < THREADS; k++) pthread_create(&t[k], NULL, launch, (void *)k);
    for (int k = 0; k < THREADS; k++) pthread_join(t[k], NULL);
    check_end();
    return 0;
}
