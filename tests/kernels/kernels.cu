// Kernels as CUDA programmers write them; kernels.c runs each against a CPU
// reference. Compiled by nvcc to PTX in a fatbinary, and by clang to PTX, but
// for what needs NVIDIA's headers.
#ifdef __clang__
#include "clang.h"
#else
#define NVCC
#include <cuda_fp16.h>
#include <cooperative_groups.h>
#include <assert.h>
#include <stdio.h>
#endif
#define K extern "C" __global__ void

K saxpy_f(float a, const float *x, float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a * x[i] + y[i]; }
K saxpy_d(double a, const double *x, double *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a * x[i] + y[i]; }
#ifdef NVCC
K saxpy_h(float a, const __half *x, __half *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma(__float2half(a), x[i], y[i]);
}
#endif

K reduce(const int *in, int *out, int n)
{
    __shared__ int s[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int h = 128; h; h >>= 1) { if (t < h) s[t] += s[t + h]; __syncthreads(); }
    if (!t) atomicAdd(out, s[0]);
}

K transpose(const float *in, float *out, int w, int h)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) if (x < w && y + j < h) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) if (x < h && y + j < w) out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}

K matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float ta[16][16], tb[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        ta[ty][tx] = a[y * n + t + tx]; tb[ty][tx] = b[(t + ty) * n + x];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += ta[ty][k] * tb[k][tx];
        __syncthreads();
    }
    c[y * n + x] = sum;
}

K histogram(const unsigned char *in, unsigned *out, int n)
{
    __shared__ unsigned s[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[in[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&out[i], s[i]);
}

// inclusive scan of one block of 1024 by warp shuffles
K scan(const int *in, int *out)
{
    __shared__ int sums[32];
    int t = threadIdx.x, lane = t & 31, w = t >> 5, v = in[t];
    for (int d = 1; d < 32; d <<= 1) { int o = __shfl_up_sync(0xffffffff, v, d); if (lane >= d) v += o; }
    if (lane == 31) sums[w] = v;
    __syncthreads();
    if (w == 0) {
        int s = sums[lane];
        for (int d = 1; d < 32; d <<= 1) { int o = __shfl_up_sync(0xffffffff, s, d); if (lane >= d) s += o; }
        sums[lane] = s;
    }
    __syncthreads();
    out[t] = v + (w ? sums[w - 1] : 0);
}

K stencil(const float *in, float *out, int n)
{
    extern __shared__ float s[];
    int g = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x + 2;
    s[t] = g < n ? in[g] : 0;
    if (threadIdx.x < 2) { s[t - 2] = g >= 2 ? in[g - 2] : 0; int r = g + blockDim.x; s[t + blockDim.x] = r < n ? in[r] : 0; }
    __syncthreads();
    if (g < n) out[g] = s[t - 2] + s[t - 1] + s[t] + s[t + 1] + s[t + 2];
}

K mandelbrot(int *out, int w, int h, int most)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float cr = -2.f + 3.f * x / w, ci = -1.5f + 3.f * y / h, r = 0, i = 0;
    int k = 0;
    while (k < most && __fadd_rn(__fmul_rn(r, r), __fmul_rn(i, i)) <= 4.f) {
        float t = __fadd_rn(__fsub_rn(__fmul_rn(r, r), __fmul_rn(i, i)), cr);
        i = __fadd_rn(__fmul_rn(__fmul_rn(2.f, r), i), ci); r = t; k++;
    }
    out[y * w + x] = k;
}

typedef int (*op)(int, int);
__device__ __noinline__ int op_add(int a, int b) { return a + b; }
__device__ __noinline__ int op_sub(int a, int b) { return a - b; }
__device__ __noinline__ int op_mul(int a, int b) { return a * b; }
__device__ op table[3] = { op_add, op_sub, op_mul };
K pointers(const int *which, int *out) { int t = threadIdx.x; out[t] = table[which[t]](t, 7); }

__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
K recursion(int *out) { out[threadIdx.x] = fib(threadIdx.x); }

K say(int n)
{
    if (threadIdx.x < n)
        printf("thread %d of %s: %5.2f %c %llx %u%%\n", threadIdx.x, "say", threadIdx.x * 1.5, 'a' + threadIdx.x,
               0x123456789abcull, 50u);
}
K fails(int v) { assert(v != 42); }

// every thread of a warp takes the same lock
K spin_lock(int *lock, int *count)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *(volatile int *)count = *(volatile int *)count + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
K spin_lock_naive(int *lock, int *count)
{
    while (atomicCAS(lock, 0, 1) != 0) ;
    *(volatile int *)count = *(volatile int *)count + 1;
    __threadfence();
    atomicExch(lock, 0);
}

// each block waits for its predecessor's prefix
K look_back(const int *in, int *out, volatile int *flag, volatile int *prefix, int *ticket)
{
    __shared__ int s[128];
    __shared__ volatile int base, me; /* clang 14 moves reads of shared variables across barriers */
    int t = threadIdx.x;
    if (!t) me = atomicAdd(ticket, 1);
    __syncthreads();
    int i = me * 128 + t;
    s[t] = in[i];
    __syncthreads();
    for (int d = 1; d < 128; d <<= 1) { int v = t >= d ? s[t - d] : 0; __syncthreads(); s[t] += v; __syncthreads(); }
    if (!t) {
        int p = 0;
        if (me) { while (!flag[me - 1]) ; __threadfence(); p = prefix[me - 1]; }
        base = p; prefix[me] = p + s[127]; __threadfence(); flag[me] = 1;
    }
    __syncthreads();
    out[i] = base + s[t];
}

// serves requests that the host puts into pinned memory until it is told to stop
K persistent(volatile int *request, volatile int *answer)
{
    int seen = 0;
    for (;;) {
        int r;
        while ((r = *request) == seen) ;
        seen = r;
        if (r < 0) break;
        *answer = r * r; __threadfence_system(); answer[1] = r;
    }
}
K wait_for(volatile int *flag, int *out) { while (!*flag) ; *out = 1; }
K set_flag(int *flag) { atomicExch(flag, 1); }

#ifdef NVCC
K grid_sync(int *data, int n)
{
    namespace cg = cooperative_groups;
    cg::grid_group g = cg::this_grid();
    int i = g.thread_rank();
    data[i] = i;
    g.sync();
    int v = data[(i + n / 2) % n];
    g.sync();
    data[i] = v + 1;
}
#endif

K heap(int *out)
{
    int *p = (int *)malloc(64 * sizeof(int));
    if (!p) { out[threadIdx.x] = -1; return; }
    for (int k = 0; k < 64; k++) p[k] = threadIdx.x + k;
    int s = 0;
    for (int k = 0; k < 64; k++) s += p[k];
    free(p);
    out[threadIdx.x] = s;
}

K votes(unsigned *out)
{
    unsigned t = threadIdx.x;
    out[t] = __ballot_sync(0xffffffff, t & 1);
    if (t % 32 < 10) out[32 + t] = __popc(__activemask());
    out[64 + t] = t;
    out[96 + t] = __match_any_sync(0xffffffff, t / 4);
    int c = __syncthreads_count(t < 5);
    out[128 + t] = c;
}
#ifdef NVCC
K math(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = expf(x[i]) + logf(1.f + x[i]) + sinf(x[i]) * cosf(x[i]) + sqrtf(x[i]) + powf(x[i], 1.5f) + tanhf(x[i]) + x[i] / 3.f;
}
#endif
#ifdef NVCC
__managed__ int managed_counter = 5;
K bump() { atomicAdd(&managed_counter, 1); }
#endif
__constant__ int weights[4] = { 1, 10, 100, 1000 };
K weighted(const int *in, int *out) { int t = threadIdx.x, s = 0; for (int k = 0; k < 4; k++) s += weights[k] * in[t * 4 + k]; out[t] = s; }
/* Waiting: warp 1 is always busy with operations of its own until warp 0, which waits for a flag, has its turn. */
K busy_warp(volatile int *flags)
{
    int warp = threadIdx.x / 32;
    if (warp == 1) {
        flags[0] = 1;
        while (!flags[1]) __shfl_sync(0xffffffff, threadIdx.x, 0);
    } else {
        while (!flags[0]) { }
        flags[1] = 1;
    }
}
K busy_barrier(volatile int *flags)
{
    int half = threadIdx.x / 64;
    if (half == 1) {
        flags[0] = 1;
        while (!flags[1]) asm volatile("bar.sync 1, 64;");
    } else {
        while (!flags[0]) { }
        flags[1] = 1;
    }
}
/* Each block waits for the one before it. */
K in_turn(volatile int *turn)
{
    if (threadIdx.x == 0) while (*turn != blockIdx.x) { }
    __syncthreads();
    if (threadIdx.x == 0) *turn = blockIdx.x + 1;
}
K many_pieces(void **list, int n, int *failed)
{
    for (int k = 0; k < n; k++)
        if (!(list[k] = malloc(16 + k % 5 * 16))) *failed = 1;
    for (int k = 0; k < n; k += 2) free(list[k]);
    for (int k = 0; k < n; k += 2)
        if (!(list[k] = malloc(16 + k % 3 * 16))) *failed = 1;
    for (int k = 0; k < n; k++) free(list[k]);
}
struct link { int value; link *next; };
K push_links(link **top, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    link *l = (link *)malloc(sizeof *l);
    l->value = i;
    do l->next = *(link *volatile *)top;
    while (atomicCAS((unsigned long long *)top, (unsigned long long)l->next, (unsigned long long)l) != (unsigned long long)l->next);
}
K pop_links(link **top, int *count, int *sum)
{
    for (link *l = *top, *next; l; l = next) {
        next = l->next;
        *sum += l->value;
        ++*count;
        free(l);
    }
}
K breaks_heap(int *done)
{
    long *p[8];
    for (int k = 0; k < 8; k++) p[k] = (long *)malloc(40);
    for (int k = -8; k < 64; k++) p[1][k] = 0;
    for (int k = 0; k < 8; k++) free(p[k]);
    for (int k = 0; k < 8; k++) malloc(1000 * k);
    *done = 1;
}
K says_nothing(int *out) { out[0] = printf(nullptr); }
K says_and_fails(int *p)
{
    printf("said by %d\n", (int)threadIdx.x);
    if (threadIdx.x == 2) p[1000000000] = 1;
}
K misaligned_later(char *p)
{
    __shared__ int seen;
    if (threadIdx.x == 0) seen = 3;
    __syncthreads();
    if (threadIdx.x == 37) *(int *)(p + seen) = 1;
    __syncthreads();
    p[threadIdx.x] = 0;
}
#include "loops.h"
#define LOOP_KERNEL(name) K loop_##name(const int *in, int *out, int n, int all) { \
    int t = threadIdx.x + threadIdx.y * blockDim.x, i = (blockIdx.x + blockIdx.y * gridDim.x) * blockDim.x * blockDim.y + t; \
    if (i < all) out[i] = name(in, i, t, n); }
LOOPS(LOOP_KERNEL)
/* loops between barriers, over shared memory, that write as well */
K loop_in_step(const int *in, int *out, int n, int all)
{
    __shared__ int s[512];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, sum = 0;
    s[t] = in[t];
    s[t + 256] = 0;
    __syncthreads();
#pragma unroll 1
    for (int round = 0; round < n % 4 + 1; round++) {
#pragma unroll 1
        for (int k = 0; k < n; k++) sum += s[k] * (k + round);
        __syncthreads();
#pragma unroll 1
        for (int k = 0; k < n; k++) s[t + 256] += sum ^ s[t];
        __syncthreads();
        s[t] = s[t + 256] + __shfl_sync(0xffffffff, sum, 3);
        __syncthreads();
    }
    if (i < all) out[i] = sum + s[t];
}
