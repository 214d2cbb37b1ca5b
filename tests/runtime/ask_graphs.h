/* What the programs about graphs share: kernels, parameters of nodes, a launch in one line. */
#ifndef ASK_GRAPHS_H
#define ASK_GRAPHS_H
#include "ask.h"

__global__ void store(int *p, int v) { *p = v; }
__global__ void add(int *p, int v) { *p += v; }
__global__ void other(int *p, int v) { *p -= v; }
__device__ int variable[4];
static void not_a_kernel() {}

static cudaGraph_t g;
static cudaGraphExec_t x;
static cudaStream_t s;
static int *p;
static int calls;
static size_t n;

static void begin(void)
{
    MUST(cudaMallocManaged((void **)&p, 4096));
    memset(p, 0, 4096);
    MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    MUST(cudaGraphCreate(&g, 0));
}

static void count(void *data) { calls += data ? *(int *)data : 1; }

static cudaKernelNodeParams kernel(void (*f)(int *, int), int **at, int *value)
{
    static void *args[16][2];
    static unsigned next;
    void **a = args[next++ % 16];
    cudaKernelNodeParams k;
    memset(&k, 0, sizeof k);
    a[0] = at;
    a[1] = value;
    k.func = (void *)f;
    k.gridDim = k.blockDim = dim3(1);
    k.kernelParams = a;
    return k;
}

static cudaMemsetParams fill(void *to, unsigned value, unsigned element, size_t width, size_t height, size_t pitch)
{
    cudaMemsetParams m;
    memset(&m, 0, sizeof m);
    m.dst = to;
    m.value = value;
    m.elementSize = element;
    m.width = width;
    m.height = height;
    m.pitch = pitch;
    return m;
}

/* instantiate, launch, wait, destroy: one line */
static void run(const char *key)
{
    cudaGraphExec_t exec = NULL;
    cudaError_t i = cudaGraphInstantiate(&exec, g, 0), l = cudaSuccess, w = cudaSuccess;
    if (!i) l = cudaGraphLaunch(exec, s);
    if (!i && !l) w = cudaStreamSynchronize(s);
    say(key, "%s, %s, %s", name_of(i), name_of(l), name_of(w));
    if (exec) cudaGraphExecDestroy(exec);
    cudaGetLastError();
}
#endif
