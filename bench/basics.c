/* What the paths cost that every program takes (copies, launches, compilation),
 * each beside the raw primitive it stands on, and the problems of problems.h.
 * usage: bench-basics KERNELS.ptx */
#include "client.h"
#include "problems.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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
    pin(&all, child ? LAST_PROCESSOR : FIRST_PROCESSOR);
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

/* Many in one stream before anybody waits: launches alone, and in turn with copies, which the host performs. */
static void measure_queue(void)
{
    enum { MANY = 300, PAIRS = 20, ROUNDS = 200 };
    CUfunction f = function("empty");
    CUdeviceptr d;
    CUstream stream;
    double alone[ROUNDS], pair[ROUNDS];
    CHECK(cuMemAlloc(&d, 8192));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int r = 0; r < ROUNDS; r++) {
        double t = now_us();
        for (int k = 0; k < MANY; k++) CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
        CHECK(cuStreamSynchronize(stream));
        double u = now_us();
        for (int k = 0; k < PAIRS; k++) {
            CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
            CHECK(cuMemcpyDtoDAsync(d, d + 4096, 4096, stream));
        }
        CHECK(cuStreamSynchronize(stream));
        alone[r] = (u - t) / MANY;
        pair[r] = (now_us() - u) / PAIRS;
    }
    report("launch.many", median(alone, ROUNDS));
    report("launch.copy", median(pair, ROUNDS));
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFree(d));
}

static CUdeviceptr numbers(size_t count, enum fill fill)
{
    CUdeviceptr d;
    float *h = make_numbers(count, fill);
    CHECK(cuMemAlloc(&d, count * sizeof *h));
    CHECK(cuMemcpyHtoD(d, h, count * sizeof *h));
    free(h);
    return d;
}

/* Blocks of side threads each way (1 or 2 ways), as many of them; the last argument of every kernel is n. */
struct shape {
    unsigned ways, blocks, side;
    int n, runs;
};

static void measure_kernel(const char *name, struct shape s, void **args)
{
    CUfunction f = function(name);
    unsigned blocks_y = s.ways == 2 ? s.blocks : 1, side_y = s.ways == 2 ? s.side : 1;
    double us[MOST_RUNS];
    for (int r = -RUNS_BEFORE; r < s.runs; r++) {
        double t = now_us();
        CHECK(cuLaunchKernel(f, s.blocks, blocks_y, 1, s.side, side_y, 1, 0, 0, args, NULL));
        CHECK(cuCtxSynchronize());
        if (r >= 0) us[r] = now_us() - t;
    }
    report(name, median(us, s.runs));
}

static void measure_problems(void)
{
    struct shape add = { 1, ADD_N / LINE_BLOCK, LINE_BLOCK, ADD_N, LINE_RUNS };
    struct shape strides = { 1, GRID_BLOCKS, LINE_BLOCK, ADD_N, LINE_RUNS };
    struct shape reduce = { 1, REDUCE_N / LINE_BLOCK, LINE_BLOCK, REDUCE_N, LINE_RUNS };
    struct shape histogram = { 1, GRID_BLOCKS, LINE_BLOCK, ADD_N, SQUARE_RUNS };
    struct shape matmul = { 2, MATMUL_N / SQUARE_BLOCK, SQUARE_BLOCK, MATMUL_N, SQUARE_RUNS };
    CUdeviceptr a = numbers(ADD_N, FRACTIONS), b = numbers(ADD_N, FRACTIONS), sum = numbers(ADD_N, ZEROS);
    CUdeviceptr parts = numbers(REDUCE_N / LINE_BLOCK, ZEROS);
    const size_t square = (size_t)MATMUL_N * MATMUL_N;
    CUdeviceptr m = numbers(square, FRACTIONS), n = numbers(square, FRACTIONS), product = numbers(square, ZEROS);
    measure_kernel("vector_add", add, (void *[]){ &a, &b, &sum, &add.n });
    measure_kernel("vector_add_strides", strides, (void *[]){ &a, &b, &sum, &strides.n });
    measure_kernel("reduce", reduce, (void *[]){ &a, &parts, &reduce.n });
    measure_kernel("histogram", histogram, (void *[]){ &a, &parts, &histogram.n });
    measure_kernel("matmul_naive", matmul, (void *[]){ &m, &n, &product, &matmul.n });
    measure_kernel("matmul_tiled", matmul, (void *[]){ &m, &n, &product, &matmul.n });
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
    static char ptx[1 << 18];
    FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!f || !fread(ptx, 1, sizeof ptx - 1, f)) return 1;
    fclose(f);
    use_device();
    CHECK(cuModuleLoadData(&module, ptx));
    measure_compile(ptx);
    measure_copy();
    measure_launch();
    measure_queue();
    measure_problems();
    return 0;
}
