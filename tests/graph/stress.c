/* Threads launch, change and replace one executable graph while another thread
 * captures new ones: each launch adds some number to a word in device memory,
 * and at the end the word is the sum of what the launches added. */
#include "../check.h"
#include "../rig.h"

#include <pthread.h>

enum { LAUNCHERS = 3, LAUNCHES = 300, CAPTURES = 150 };

static CUcontext context;
static CUfunction add;
static CUdeviceptr word, other;
static CUgraphExec shared;
static CUgraphNode node;

static void *launch(void *arg)
{
    CUstream s;
    (void)arg;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    for (int k = 0; k < LAUNCHES; k++) CHECK(cuGraphLaunch(shared, s));
    CHECK(cuStreamSynchronize(s));
    CHECK(cuStreamDestroy(s));
    return NULL;
}

/* The same parameters, again and again: what counts is that no launch sees half of them. */
static void *change(void *arg)
{
    uint32_t n = 1, v = 1;
    void *params[] = { &word, &n, &v };
    CUDA_KERNEL_NODE_PARAMS k = rig_node(add, params);
    (void)arg;
    CHECK(cuCtxSetCurrent(context));
    for (int i = 0; i < LAUNCHES; i++) CHECK(cuGraphExecKernelNodeSetParams(shared, node, &k));
    return NULL;
}

static void *capture(void *arg)
{
    CUstream s;
    (void)arg;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    for (int k = 0; k < CAPTURES; k++) {
        CUgraph g;
        CUgraphExec x;
        CUdeviceptr p;
        CHECK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
        CHECK(cuMemAllocAsync(&p, 4096, s));
        CHECK(rig_launch(add, other, 1, 2, s));
        CHECK(cuMemcpyAsync(p, other, 4, s));
        CHECK(cuMemFreeAsync(p, s));
        CHECK(cuStreamEndCapture(s, &g));
        CHECK(cuGraphInstantiate(&x, g, 0));
        CHECK(cuGraphDestroy(g));
        CHECK(cuGraphLaunch(x, s));
        CHECK(cuGraphExecDestroy(x));
    }
    CHECK(cuStreamSynchronize(s));
    CHECK(cuStreamDestroy(s));
    return NULL;
}

int main(void)
{
    pthread_t t[LAUNCHERS + 2];
    CUgraph g;
    uint32_t n = 1, v = 1;
    void *params[] = { &word, &n, &v };
    context = rig_context(0);
    add = rig_kernel("add");
    CHECK(cuMemAlloc(&word, 4));
    CHECK(cuMemAlloc(&other, 4));
    CHECK(cuMemsetD32(word, 0, 1));
    CHECK(cuMemsetD32(other, 0, 1));
    CUDA_KERNEL_NODE_PARAMS k = rig_node(add, params);
    CHECK(cuGraphCreate(&g, 0));
    CHECK(cuGraphAddKernelNode(&node, g, NULL, 0, &k));
    CHECK(cuGraphInstantiate(&shared, g, 0));
    for (int i = 0; i < LAUNCHERS; i++) pthread_create(&t[i], NULL, launch, NULL);
    pthread_create(&t[LAUNCHERS], NULL, change, NULL);
    pthread_create(&t[LAUNCHERS + 1], NULL, capture, NULL);
    for (int i = 0; i < LAUNCHERS + 2; i++) pthread_join(t[i], NULL);
    uint32_t sum = rig_word(word), twos = rig_word(other);
    printf("%u launches of one graph counted, wanted %u; %u of others, wanted %u\n", sum, LAUNCHERS * LAUNCHES,
           twos / 2, CAPTURES);
    return sum != LAUNCHERS * LAUNCHES || twos != 2 * CAPTURES;
}
