// What programs do that nvcc compiled with nothing but a file's name, and its output's. At the end a kernel still runs.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

#define CHECK(call) \
    do { \
        cudaError_t e = call; \
        if (e) fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e)), exit(1); \
    } while (0)
#define EXPECT(x) \
    do { \
        if (!(x)) fprintf(stderr, "line %d: %s\n", __LINE__, #x), exit(1); \
    } while (0)

// ---- Containers of the host in managed memory

template <class T> struct managed_allocator {
    typedef T value_type;
    managed_allocator() {}
    template <class U> managed_allocator(const managed_allocator<U> &) {}
    T *allocate(size_t n)
    {
        void *p;
        if (cudaMallocManaged(&p, n * sizeof(T))) throw std::bad_alloc();
        return (T *)p;
    }
    void deallocate(T *p, size_t) { cudaFree(p); }
    bool operator==(const managed_allocator &) const { return true; }
    bool operator!=(const managed_allocator &) const { return false; }
};

struct managed {
    void *operator new(size_t n) { return managed_allocator<char>().allocate(n); }
    void operator delete(void *p) { cudaFree(p); }
};
struct node : managed {
    int value;
    node *next;
};

__managed__ node *head;
__managed__ int total;

__global__ void double_list()
{
    for (node *n = head; n; n = n->next) {
        total += n->value;
        n->value *= 2;
    }
}

__global__ void double_each(int *p, size_t n)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) p[i] *= 2;
}

static void host_and_device_share_containers()
{
    for (int i = 0; i < 50; i++) {
        node *n = new node;
        n->value = i;
        n->next = head;
        head = n;
    }
    double_list<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    EXPECT(total == 1225);
    for (int i = 49; head; i--) {
        node *next = head->next;
        EXPECT(head->value == 2 * i);
        delete head;
        head = next;
    }
    std::vector<int, managed_allocator<int>> v;
    for (int i = 0; i < 30000; i++) v.push_back(i);
    double_each<<<8, 128>>>(v.data(), v.size());
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 30000; i++) EXPECT(v[i] == 2 * i);
}

// ---- Objects that kernels make

struct shape {
    __device__ virtual int area() const = 0;
    __device__ virtual ~shape() {}
};
struct square : shape {
    int side;
    __device__ square(int side) : side(side) {}
    __device__ int area() const override { return side * side; }
};
struct strip : shape {
    int length;
    __device__ strip(int length) : length(length) {}
    __device__ int area() const override { return length; }
};

__global__ void make(shape **s)
{
    int i = threadIdx.x;
    if (i % 2) s[i] = new square(i);
    else s[i] = new strip(i);
}

__global__ void measure(shape **s, int *areas)
{
    areas[threadIdx.x] = s[threadIdx.x]->area();
    delete s[threadIdx.x];
}

static void objects_outlive_the_kernel_that_made_them()
{
    shape **s;
    int *areas, got[64];
    CHECK(cudaMalloc(&s, 64 * sizeof *s));
    CHECK(cudaMalloc(&areas, sizeof got));
    make<<<1, 64>>>(s);
    measure<<<1, 64>>>(s, areas);
    CHECK(cudaMemcpy(got, areas, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) EXPECT(got[i] == (i % 2 ? i * i : i));
}

// ---- Work in order: cooperative grids, graphs, memory in a stream's order, time

__global__ void reverse(int *a, int *b, int n)
{
    auto grid = cooperative_groups::this_grid();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) a[i] = i;
    grid.sync();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) b[i] = a[n - 1 - i];
}

__global__ void add(int *p, int n, int amount)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += amount;
}

static void grids_and_graphs_keep_order()
{
    int n = 10000, *a, *b;
    std::vector<int> got(n);
    CHECK(cudaMalloc(&a, n * sizeof *a));
    CHECK(cudaMalloc(&b, n * sizeof *b));
    void *arguments[] = { &a, &b, &n };
    CHECK(cudaLaunchCooperativeKernel((void *)reverse, 16, 128, arguments, 0, 0));
    CHECK(cudaMemcpy(got.data(), b, n * sizeof *b, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) EXPECT(got[i] == n - 1 - i);

    cudaStream_t s;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&a, n * sizeof *a, s));
    CHECK(cudaMemsetAsync(a, 0, n * sizeof *a, s));
    for (int k = 1; k <= 4; k++) add<<<(n + 255) / 256, 256, 0, s>>>(a, n, k);
    CHECK(cudaMemcpyAsync(b, a, n * sizeof *a, cudaMemcpyDeviceToDevice, s));
    CHECK(cudaFreeAsync(a, s));
    CHECK(cudaStreamEndCapture(s, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph));
    for (int k = 0; k < 3; k++) CHECK(cudaGraphLaunch(executable, s));
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaMemcpy(got.data(), b, n * sizeof *b, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) EXPECT(got[i] == 10);
}

__global__ void wait_for(volatile int *flag)
{
    while (!*flag);
}

static void a_kernel_that_never_ends()
{
    int *flag;
    CHECK(cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped));
    *flag = 0;
    wait_for<<<1, 1>>>(flag);
    EXPECT(cudaStreamQuery(0) == cudaErrorNotReady);
}

int main()
{
    host_and_device_share_containers();
    objects_outlive_the_kernel_that_made_them();
    grids_and_graphs_keep_order();
    a_kernel_that_never_ends();
}
