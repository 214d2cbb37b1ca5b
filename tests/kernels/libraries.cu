/* Kernels as C++ libraries make them: CUB's block algorithms, cooperative groups, libcu++'s atomics and barriers, virtual
 * functions, function tables, the mathematical functions. libraries.c has what they are to compute. */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

extern "C" __global__ void sort_pairs(unsigned *keys, unsigned *values)
{
    typedef cub::BlockRadixSort<unsigned, 128, 4, unsigned> Sort;
    __shared__ typename Sort::TempStorage room;
    unsigned k[4], v[4], first = blockIdx.x * 512 + threadIdx.x * 4;
    for (int i = 0; i < 4; i++) k[i] = keys[first + i], v[i] = values[first + i];
    Sort(room).Sort(k, v);
    for (int i = 0; i < 4; i++) keys[first + i] = k[i], values[first + i] = v[i];
}

extern "C" __global__ void scan(int *d)
{
    typedef cub::BlockScan<int, 256> Scan;
    __shared__ typename Scan::TempStorage room;
    int x[3], *first = d + blockIdx.x * 768 + threadIdx.x * 3;
    for (int i = 0; i < 3; i++) x[i] = first[i];
    Scan(room).InclusiveSum(x, x);
    for (int i = 0; i < 3; i++) first[i] = x[i];
}

extern "C" __global__ void histogram(const unsigned char *d, unsigned *out)
{
    typedef cub::BlockHistogram<unsigned char, 128, 8, 256, cub::BLOCK_HISTO_SORT> Histogram;
    __shared__ typename Histogram::TempStorage room;
    __shared__ unsigned counts[256];
    unsigned char x[8];
    for (int i = 0; i < 8; i++) x[i] = d[blockIdx.x * 1024 + threadIdx.x * 8 + i];
    Histogram(room).Histogram(x, counts);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += 128) atomicAdd(out + i, counts[i]);
}

extern "C" __global__ void groups(const int *d, int *out)
{
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    auto warp = cg::coalesced_threads(); /* before the threads part */
    int me = block.thread_rank(), n = block.size(), v = d[me];
    out[me] = cg::reduce(tile, v, cg::plus<int>()) * 1000 + cg::exclusive_scan(tile, v);
    out[me + n] = -1;
    if (v & 1) {
        auto odd = cg::coalesced_threads();
        out[me + n] = odd.size() * 100 + odd.thread_rank();
    }
    out[me + 3 * n] = cg::coalesced_threads().size(); /* they have met again, as they do on a GPU */
    out[me + 2 * n] = cg::labeled_partition(warp, v % 3).size();
}

extern "C" __global__ void turn_all(int *d, int n)
{
    cg::grid_group grid = cg::this_grid();
    int me = grid.thread_rank();
    for (int round = 0; round < 5; round++) {
        int v = d[(me + 1) % n];
        grid.sync();
        d[me] = v + 1;
        grid.sync();
    }
}

extern "C" __global__ void atomics(unsigned *out)
{
    __shared__ cuda::atomic<int, cuda::thread_scope_block> most;
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> sum(out[0]);
    cuda::atomic_ref<unsigned, cuda::thread_scope_system> odd(out[1]);
    if (!threadIdx.x) most.store(0);
    __syncthreads();
    sum.fetch_add(1, cuda::memory_order_relaxed);
    most.fetch_max(threadIdx.x);
    unsigned seen = odd.load();
    while (!odd.compare_exchange_weak(seen, seen + 2)) continue;
    __syncthreads();
    if (!threadIdx.x) atomicAdd(out + 2, most.load());
}

extern "C" __global__ void turn_block(int *d)
{
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int s[128];
    if (!threadIdx.x) init(&barrier, blockDim.x);
    __syncthreads();
    for (int round = 0; round < 4; round++) {
        s[threadIdx.x] = d[threadIdx.x] + round;
        barrier.wait(barrier.arrive());
        int v = s[(threadIdx.x + 1) % blockDim.x];
        barrier.arrive_and_wait();
        d[threadIdx.x] = v;
    }
}

struct Shape {
    __device__ virtual int area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    int a;
    __device__ Square(int a) : a(a) {}
    __device__ int area() const override { return a * a; }
};
struct Strip : Shape {
    int a;
    __device__ Strip(int a) : a(a) {}
    __device__ int area() const override { return 3 * a; }
};
__device__ int twice(int x) { return x * 2; }
__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ int (*functions[2])(int) = { twice, fibonacci };
__managed__ int calls;

extern "C" __global__ void objects(int *out)
{
    Shape *s = threadIdx.x % 2 ? (Shape *)new Square(threadIdx.x) : new Strip(threadIdx.x);
    out[threadIdx.x] = s->area() * 1000 + functions[threadIdx.x / 2 % 2](threadIdx.x % 12);
    delete s;
    atomicAdd(&calls, 1);
}

extern "C" __global__ void halves(const float *a, float *out)
{
    float x = a[threadIdx.x], *o = out + threadIdx.x * 4;
    __half2 h = __floats2half2_rn(x, x * 2);
    h = __hfma2(h, h, __float2half2_rn(1));
    __nv_bfloat162 b = __hadd2(__floats2bfloat162_rn(x, -x), __floats2bfloat162_rn(x, 1));
    o[0] = __low2float(h), o[1] = __high2float(h), o[2] = __low2float(b), o[3] = __high2float(b);
}

extern "C" __global__ void functions_of(const double *a, double *out, int n)
{
    int me = blockIdx.x * blockDim.x + threadIdx.x;
    if (me >= n) return;
    double x = a[me], p = fabs(x) + .5, *o = out + me * 16;
    o[0] = sin(x), o[1] = tan(x), o[2] = exp(x / 10), o[3] = log(p), o[4] = pow(p, 1.3), o[5] = atan2(x, 2.);
    o[6] = sinh(x / 10), o[7] = erf(x), o[8] = tgamma(p / 4), o[9] = lgamma(p), o[10] = cbrt(x), o[11] = fmod(x, .7);
    o[12] = hypot(x, 3.), o[13] = j0(x), o[14] = rsqrt(p), o[15] = remainder(x, 3.);
}

/* Copies two pieces ahead of the sums. It waits in many places, from each of which much of it follows. */
extern "C" __global__ void staged(const float *in, float *out, int pieces)
{
    constexpr int STAGES = 2, PIECE = 128;
    __shared__ float room[STAGES][PIECE];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    float sum = 0;
    for (int done = 0, asked = 0; done < pieces; done++) {
        for (; asked < pieces && asked < done + STAGES; asked++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, room[asked % STAGES], in + asked * PIECE, sizeof room[0], pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += room[done % STAGES][threadIdx.x * 3 % PIECE] * (done + 1);
        pipe.consumer_release();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
