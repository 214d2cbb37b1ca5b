/* What the tests of captures and of graphs share: two streams, memory of zeros,
 * and how a capture becomes something to run. */
#ifndef FL_TESTS_CAPTURE_RIG_H
#define FL_TESTS_CAPTURE_RIG_H

#include "../rig.h"

static CUstream a, b;
static CUdeviceptr memory;
static CUfunction fill, add;

static inline int begin(void **state)
{
    (void)state;
    rig_context(0);
    a = rig_stream();
    b = rig_stream();
    if (!fill) fill = rig_kernel("fill"), add = rig_kernel("add");
    ok(cuMemAlloc(&memory, 4096));
    ok(cuMemsetD32(memory, 0, 1024));
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    CUgraph g;
    cuStreamEndCapture(a, &g);
    ok(cuStreamDestroy(a));
    ok(cuStreamDestroy(b));
    ok(cuCtxSynchronize());
    ok(cuMemFree(memory));
    return 0;
}

static inline void start(CUstreamCaptureMode mode) { ok(cuStreamBeginCapture(a, mode)); }

static inline CUgraphExec finish(CUgraph *graph)
{
    CUgraph g;
    CUgraphExec x;
    ok(cuStreamEndCapture(a, &g));
    ok(cuGraphInstantiate(&x, g, 0));
    if (graph)
        *graph = g;
    else
        ok(cuGraphDestroy(g));
    return x;
}

static inline void run(CUgraphExec x)
{
    ok(cuGraphLaunch(x, a));
    ok(cuStreamSynchronize(a));
}

static inline void count(void *p) { __atomic_fetch_add((int *)p, 1, __ATOMIC_SEQ_CST); }

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

#endif
