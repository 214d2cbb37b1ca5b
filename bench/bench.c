/* What Faultline costs, in microseconds, on the problems of problems.h and on
 * the paths that every program takes, each beside the raw primitive it stands
 * on. bench/run starts it and prints the ratios. */
#include "problems.h"
#include <cuda.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(call) \
    do { \
        CUresult r_ = (call); \
        if (r_) { \
            const char *n_ = "?"; \
            cuGetErrorName(r_, &n_); \
            fprintf(stderr, "%s: %s\n", #call, n_); \
            exit(1); \
        } \
    } while (0)

static CUmodule module;

static CUfunction function(const char *name)
{
    CUfunction f;
    CHECK(cuModuleGetFunction(&f, module, name));
    return f;
}

static void measure_copy(void)
{
    size_t bytes = 256ul << 20;
    char *h = malloc(bytes), *raw = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CUdeviceptr d;
    CHECK(cuMemAlloc(&d, bytes));
    memset(h, 1, bytes);
    double ours[9], theirs[9];
    for (int r = -2; r < 9; r++) {
        double t = now_us();
        CHECK(cuMemcpyHtoD(d, h, bytes));
        double u = now_us();
        memcpy(raw, h, bytes);
        if (r >= 0) ours[r] = u - t, theirs[r] = now_us() - u;
    }
    report("copy", median(ours, 9));
    report("copy.raw", median(theirs, 9));
    CHECK(cuMemFree(d));
    munmap(raw, bytes);
    free(h);
}

/* A message to another process and back: both sides spin, or both sleep in a futex. */
struct pair {
    _Atomic unsigned ping, pong;
};

static void wait_for(_Atomic unsigned *word, unsigned value, int spin)
{
    unsigned seen;
    while ((seen = atomic_load(word)) != value)
        if (spin)
            __builtin_ia32_pause();
        else
            syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static void tell(_Atomic unsigned *word, unsigned value, int spin)
{
    atomic_store(word, value);
    if (!spin) syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static double raw_wakeup(int spin, int rounds)
{
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    struct pair *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    pin(&all, child != 0);
    if (!child) {
        for (int i = 1; i <= rounds; i++) wait_for(&p->ping, i, spin), tell(&p->pong, i, spin);
        _exit(0);
    }
    double us[rounds];
    for (int i = 1; i <= rounds; i++) {
        if (!spin) usleep(2000);
        double t = now_us();
        tell(&p->ping, i, spin);
        wait_for(&p->pong, i, spin);
        us[i - 1] = now_us() - t;
    }
    waitpid(child, NULL, 0);
    sched_setaffinity(0, sizeof all, &all);
    munmap(p, 4096);
    return median(us, rounds);
}

static void measure_launch(void)
{
    CUfunction f = function("empty");
    double us[2000];
    for (int r = -100; r < 2000; r++) {
        double t = now_us();
        CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL));
        CHECK(cuCtxSynchronize());
        if (r >= 0) us[r] = now_us() - t;
    }
    report("launch.hot", median(us, 2000));
    for (int r = 0; r < 200; r++) {
        usleep(2000);
        double t = now_us();
        CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL));
        CHECK(cuCtxSynchronize());
        us[r] = now_us() - t;
    }
    report("launch.cold", median(us, 200));
    report("launch.hot.raw", raw_wakeup(1, 2000));
    report("launch.cold.raw", raw_wakeup(0, 200));
}

static CUdeviceptr buffer(size_t bytes, int fill)
{
    CUdeviceptr d;
    CHECK(cuMemAlloc(&d, bytes));
    float *h = malloc(bytes);
    for (size_t i = 0; i < bytes / 4; i++) h[i] = fill ? (float)(i % 1000) / 1000 : 0;
    CHECK(cuMemcpyHtoD(d, h, bytes));
    free(h);
    return d;
}

static void measure_kernel(const char *name, CUdeviceptr *buffers, int count, int n, unsigned gx, unsigned gy,
                           unsigned bx, unsigned by, int runs)
{
    CUfunction f = function(name);
    void *args[5];
    double us[64];
    for (int i = 0; i < count; i++) args[i] = &buffers[i];
    args[count] = &n;
    for (int r = -2; r < runs; r++) {
        double t = now_us();
        CHECK(cuLaunchKernel(f, gx, gy, 1, bx, by, 1, 0, 0, args, NULL));
        CHECK(cuCtxSynchronize());
        if (r >= 0) us[r] = now_us() - t;
    }
    report(name, median(us, runs));
}

static void measure_compile(const char *ptx)
{
    CUmodule m;
    char *unique = malloc(strlen(ptx) + 64);
    sprintf(unique, "%s\n// %ld\n", ptx, (long)now_us() ^ (long)getpid() << 32);
    double t = now_us();
    CHECK(cuModuleLoadData(&m, unique));
    report("compile.cold", now_us() - t);
    CHECK(cuModuleUnload(m));
    t = now_us();
    CHECK(cuModuleLoadData(&m, unique));
    report("compile.cached", now_us() - t);
    CHECK(cuModuleUnload(m));
    free(unique);
}

int main(int argc, char **argv)
{
    CUcontext c;
    static char ptx[1 << 18];
    FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!f || !fread(ptx, 1, sizeof ptx - 1, f)) return 1;
    fclose(f);
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&c, 0));
    CHECK(cuCtxSetCurrent(c));
    CHECK(cuModuleLoadData(&module, ptx));
    measure_compile(ptx);
    measure_copy();
    measure_launch();

    CUdeviceptr add[3] = { buffer(ADD_N * 4ul, 1), buffer(ADD_N * 4ul, 1), buffer(ADD_N * 4ul, 0) };
    measure_kernel("vector_add", add, 3, ADD_N, ADD_N / 256, 1, 256, 1, 15);
    CUdeviceptr reduce[2] = { add[0], buffer(REDUCE_N / 256 * 4, 0) };
    measure_kernel("reduce", reduce, 2, REDUCE_N, REDUCE_N / 256, 1, 256, 1, 15);
    size_t bytes = (size_t)MATMUL_N * MATMUL_N * 4;
    CUdeviceptr mat[3] = { buffer(bytes, 1), buffer(bytes, 1), buffer(bytes, 0) };
    measure_kernel("matmul_naive", mat, 3, MATMUL_N, MATMUL_N / 16, MATMUL_N / 16, 16, 16, 7);
    measure_kernel("matmul_tiled", mat, 3, MATMUL_N, MATMUL_N / 16, MATMUL_N / 16, 16, 16, 7);
    return 0;
}
