/* Kernels compiled by nvcc or clang, each against a CPU reference.
 * usage: kernels KERNELS.fatbin [NAME]   prints a line per program; exit 1 if one is wrong. */
#include "loops.h"
#include "program.h"

static void saxpy_float(void)
{
    int n = 10007;
    float a = 2.5f, *x = malloc(n * 4), *y = malloc(n * 4);
    for (int i = 0; i < n; i++) x[i] = i * .25f, y[i] = 3 - i;
    CUdeviceptr dx = give(x, n * 4), dy = give(y, n * 4);
    run("saxpy_f", (n + 255) / 256, 1, 256, 1, 0, ARGS(&a, &dx, &dy, &n));
    float *r = take(dy, n * 4);
    for (int i = 0; i < n; i++) EXPECT(r[i] == fmaf(a, x[i], y[i]));
}

static void saxpy_double(void)
{
    int n = 5003;
    double a = -1.75, *x = malloc(n * 8), *y = malloc(n * 8);
    for (int i = 0; i < n; i++) x[i] = i / 7.0, y[i] = i * i;
    CUdeviceptr dx = give(x, n * 8), dy = give(y, n * 8);
    run("saxpy_d", (n + 127) / 128, 1, 128, 1, 0, ARGS(&a, &dx, &dy, &n));
    double *r = take(dy, n * 8);
    for (int i = 0; i < n; i++) EXPECT(r[i] == fma(a, x[i], y[i]));
}

static uint16_t half_of_small_int(int v)
{
    if (!v) return 0;
    int e = 31 - __builtin_clz((unsigned)v);
    return (uint16_t)((e + 15) << 10 | ((unsigned)v << (10 - e) & 0x3ff));
}

static void saxpy_half(void)
{
    int n = 1000;
    float a = 2;
    uint16_t *x = malloc(n * 2), *y = malloc(n * 2);
    for (int i = 0; i < n; i++) x[i] = half_of_small_int(i % 500), y[i] = half_of_small_int(i % 300);
    CUdeviceptr dx = give(x, n * 2), dy = give(y, n * 2);
    run("saxpy_h", (n + 63) / 64, 1, 64, 1, 0, ARGS(&a, &dx, &dy, &n));
    uint16_t *r = take(dy, n * 2);
    for (int i = 0; i < n; i++) EXPECT(r[i] == half_of_small_int(2 * (i % 500) + i % 300));
}

static void tree_reduction(void)
{
    int n = 100003, *in = malloc(n * 4), sum = 0;
    for (int i = 0; i < n; i++) in[i] = i % 17 - 5, sum += in[i];
    CUdeviceptr d = give(in, n * 4), o = give(NULL, 4);
    run("reduce", (n + 255) / 256, 1, 256, 1, 0, ARGS(&d, &o, &n));
    EXPECT(*(int *)take(o, 4) == sum);
}

static void tiled_transpose(void)
{
    int w = 100, h = 77;
    float *in = malloc(w * h * 4);
    for (int i = 0; i < w * h; i++) in[i] = i;
    CUdeviceptr d = give(in, w * h * 4), o = give(NULL, w * h * 4);
    run("transpose", (w + 31) / 32, (h + 31) / 32, 32, 8, 0, ARGS(&d, &o, &w, &h));
    float *r = take(o, w * h * 4);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) EXPECT(r[x * h + y] == in[y * w + x]);
}

static void matrix_product(void)
{
    int n = 64;
    float *a = malloc(n * n * 4), *b = malloc(n * n * 4);
    for (int i = 0; i < n * n; i++) a[i] = i % 7 - 3, b[i] = i % 5 - 2;
    CUdeviceptr da = give(a, n * n * 4), db = give(b, n * n * 4), dc = give(NULL, n * n * 4);
    run("matmul", n / 16, n / 16, 16, 16, 0, ARGS(&da, &db, &dc, &n));
    float *c = take(dc, n * n * 4);
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            float s = 0;
            for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x];
            EXPECT(c[y * n + x] == s);
        }
}

static void histogram_of_bytes(void)
{
    int n = 200000;
    unsigned char *in = malloc(n);
    unsigned want[256] = { 0 };
    for (int i = 0; i < n; i++) want[in[i] = (unsigned char)(i * i >> 3)]++;
    CUdeviceptr d = give(in, n), o = give(NULL, 1024);
    run("histogram", 20, 1, 128, 1, 0, ARGS(&d, &o, &n));
    EXPECT(!memcmp(take(o, 1024), want, 1024));
}

static void shuffle_scan(void)
{
    int in[1024], sum = 0;
    for (int i = 0; i < 1024; i++) in[i] = i % 11;
    CUdeviceptr d = give(in, 4096), o = give(NULL, 4096);
    run("scan", 1, 1, 1024, 1, 0, ARGS(&d, &o));
    int *r = take(o, 4096);
    for (int i = 0; i < 1024; i++) EXPECT(r[i] == (sum += in[i]));
}

static void stencil_with_dynamic_shared_memory(void)
{
    int n = 1000;
    float in[1000];
    for (int i = 0; i < n; i++) in[i] = i % 13;
    CUdeviceptr d = give(in, n * 4), o = give(NULL, n * 4);
    run("stencil", (n + 63) / 64, 1, 64, 1, 68 * 4, ARGS(&d, &o, &n));
    float *r = take(o, n * 4);
    for (int i = 0; i < n; i++) {
        float s = 0;
        for (int k = -2; k <= 2; k++)
            if (i + k >= 0 && i + k < n) s += in[i + k];
        EXPECT(r[i] == s);
    }
}

static void mandelbrot(void)
{
    int w = 97, h = 61, most = 200;
    CUdeviceptr o = give(NULL, w * h * 4);
    run("mandelbrot", (w + 15) / 16, (h + 7) / 8, 16, 8, 0, ARGS(&o, &w, &h, &most));
    int *r = take(o, w * h * 4), sum = 0;
    for (int i = 0; i < w * h; i++) {
        EXPECT(r[i] >= 0);
        EXPECT(r[i] <= most);
        sum += r[i];
    }
    EXPECT(r[(h / 2) * w + 2 * w / 3] == most);
    EXPECT(r[0] < 5);
    EXPECT(sum > 10000);
}

static void function_pointer_table(void)
{
    int which[96], *r;
    for (int i = 0; i < 96; i++) which[i] = i % 3;
    CUdeviceptr d = give(which, sizeof which), o = give(NULL, sizeof which);
    run("pointers", 1, 1, 96, 1, 0, ARGS(&d, &o));
    r = take(o, sizeof which);
    for (int i = 0; i < 96; i++) EXPECT(r[i] == (i % 3 == 0 ? i + 7 : i % 3 == 1 ? i - 7 : i * 7));
    run("recursion", 1, 1, 16, 1, 0, ARGS(&o));
    r = take(o, 64);
    EXPECT(r[10] == 55);
    EXPECT(r[15] == 610);
}

static void device_printf(void)
{
    int n = 2, ends[2], saved = dup(1);
    char text[512] = "";
    fflush(stdout);
    EXPECT(!pipe(ends));
    dup2(ends[1], 1);
    run("say", 1, 1, 32, 1, 0, ARGS(&n));
    fflush(stdout);
    dup2(saved, 1);
    close(ends[1]);
    EXPECT(read(ends[0], text, sizeof text - 1) > 0);
    EXPECT(strstr(text, "thread 0 of say:  0.00 a 123456789abc 50%\n"));
    EXPECT(strstr(text, "thread 1 of say:  1.50 b 123456789abc 50%\n"));
}

static void device_assert(void)
{
    int v = 42;
    CHECK(cuLaunchKernel(kernel("fails"), 1, 1, 1, 1, 1, 1, 0, 0, ARGS(&v), NULL));
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_ASSERT);
}

static void spin_locks(void)
{
    CUdeviceptr l = give(NULL, 4), c = give(NULL, 4);
    run("spin_lock", 8, 1, 96, 1, 0, ARGS(&l, &c));
    EXPECT(*(int *)take(c, 4) == 8 * 96);
    run("spin_lock_naive", 2, 1, 64, 1, 0, ARGS(&l, &c));
    EXPECT(*(int *)take(c, 4) == 8 * 96 + 128);
}

static void decoupled_look_back(void)
{
    int blocks = 200, n = blocks * 128, *in = malloc(n * 4), sum = 0;
    for (int i = 0; i < n; i++) in[i] = i % 7;
    CUdeviceptr d = give(in, n * 4), o = give(NULL, n * 4), f = give(NULL, blocks * 4), p = give(NULL, blocks * 4),
                t = give(NULL, 4);
    run("look_back", blocks, 1, 128, 1, 0, ARGS(&d, &o, &f, &p, &t));
    int *r = take(o, n * 4);
    for (int i = 0; i < n; i++) EXPECT(r[i] == (sum += in[i]));
}

static void persistent_kernel(void)
{
    volatile int *io;
    CHECK(cuMemAllocHost((void **)&io, 4096));
    memset((void *)io, 0, 4096);
    CUdeviceptr request = (CUdeviceptr)io, answer = (CUdeviceptr)(io + 16);
    CHECK(cuLaunchKernel(kernel("persistent"), 1, 1, 1, 1, 1, 1, 0, 0, ARGS(&request, &answer), NULL));
    for (int k = 1; k <= 100; k++) {
        io[0] = k;
        while (io[17] != k)
            ;
        EXPECT(io[16] == k * k);
    }
    io[0] = -1;
    CHECK(cuCtxSynchronize());
}

static void kernels_of_two_streams(void)
{
    CUstream a, b;
    CHECK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    CUdeviceptr flag = give(NULL, 4), out = give(NULL, 4);
    CHECK(cuCtxSynchronize());
    CHECK(cuLaunchKernel(kernel("wait_for"), 64, 1, 1, 32, 1, 1, 0, a, ARGS(&flag, &out), NULL));
    CHECK(cuLaunchKernel(kernel("set_flag"), 1, 1, 1, 1, 1, 1, 0, b, ARGS(&flag), NULL));
    CHECK(cuStreamSynchronize(a));
    EXPECT(*(int *)take(out, 4) == 1);
}

static void cooperative_grid(void)
{
    int n = 40 * 64;
    CUdeviceptr d = give(NULL, n * 4);
    CHECK(cuLaunchCooperativeKernel(kernel("grid_sync"), 40, 1, 1, 64, 1, 1, 0, 0, ARGS(&d, &n)));
    CHECK(cuCtxSynchronize());
    int *r = take(d, n * 4);
    for (int i = 0; i < n; i++) EXPECT(r[i] == (i + n / 2) % n + 1);
}

static void device_malloc(void)
{
    CUdeviceptr o = give(NULL, 256 * 4);
    run("heap", 4, 1, 256, 1, 0, ARGS(&o));
    int *r = take(o, 256 * 4);
    for (int i = 0; i < 256; i++) EXPECT(r[i] == 64 * i + 2016);
}

static void votes_and_matches(void)
{
    CUdeviceptr o = give(NULL, 160 * 4);
    run("votes", 1, 1, 32, 1, 0, ARGS(&o));
    unsigned *r = take(o, 160 * 4);
    for (unsigned t = 0; t < 32; t++) {
        EXPECT(r[t] == 0xaaaaaaaa);
        EXPECT(r[32 + t] == (t < 10 ? 10 : 0));
        EXPECT(r[96 + t] == 0xfu << (t / 4 * 4));
        EXPECT(r[128 + t] == 5);
    }
}

static void mathematics(void)
{
    int n = 1000;
    float x[1000];
    for (int i = 0; i < n; i++) x[i] = i * .02f;
    CUdeviceptr dx = give(x, sizeof x), dy = give(NULL, sizeof x);
    run("math", 4, 1, 256, 1, 0, ARGS(&dx, &dy, &n));
    float *y = take(dy, sizeof x);
    for (int i = 0; i < n; i++) {
        double v = x[i], want = exp(v) + log(1 + v) + sin(v) * cos(v) + sqrt(v) + pow(v, 1.5) + tanh(v) + v / 3;
        EXPECT(fabs(y[i] - want) <= 4e-6 * fabs(want) + 1e-6);
    }
}

static void variables_of_modules(void)
{
    CUdeviceptr p;
    size_t size;
    int in[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    kernel("bump");
    CHECK(cuModuleGetGlobal(&p, &size, module, "managed_counter"));
    EXPECT(size == 4);
    EXPECT(*(int *)p == 5);
    run("bump", 2, 1, 50, 1, 0, NULL);
    EXPECT(*(int *)p == 105);
    CUdeviceptr d = give(in, sizeof in), o = give(NULL, 8);
    run("weighted", 1, 1, 2, 1, 0, ARGS(&d, &o));
    int *r = take(o, 8);
    EXPECT(r[0] == 4321);
    EXPECT(r[1] == 8765);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void everybody_gets_a_turn(void)
{
    CUdeviceptr flags = give(NULL, 8);
    run("busy_warp", 1, 1, 64, 1, 0, ARGS(&flags));
    CHECK(cuMemsetD8(flags, 0, 8));
    run("busy_barrier", 1, 1, 128, 1, 0, ARGS(&flags));
}

static void blocks_in_turn(void)
{
    CUdeviceptr turn = give(NULL, 4);
    double start = seconds();
    run("in_turn", 2000, 1, 64, 1, 0, ARGS(&turn));
    EXPECT(*(int *)take(turn, 4) == 2000);
    EXPECT(seconds() - start < 5);
}

static void many_pieces_of_memory(void)
{
    int n = 1 << 16;
    CUdeviceptr list = give(NULL, (size_t)n * 8), failed = give(NULL, 4);
    CHECK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 64 << 20));
    double start = seconds();
    run("many_pieces", 1, 1, 1, 1, 0, ARGS(&list, &n, &failed));
    EXPECT(!*(int *)take(failed, 4));
    EXPECT(seconds() - start < 2);
}

/* Whatever comes of it, the kernel ends. */
static void one_kernel_frees_what_another_made(void)
{
    int n = 3000;
    CUdeviceptr top = give(NULL, 8), count = give(NULL, 4), sum = give(NULL, 4);
    run("push_links", (n + 127) / 128, 1, 128, 1, 0, ARGS(&top, &n));
    run("pop_links", 1, 1, 1, 1, 0, ARGS(&top, &count, &sum));
    EXPECT(*(int *)take(count, 4) == n);
    EXPECT(*(int *)take(sum, 4) == n * (n - 1) / 2);
}

static void broken_heap(void)
{
    CUdeviceptr done = give(NULL, 4);
    CHECK(cuLaunchKernel(kernel("breaks_heap"), 1, 1, 1, 1, 1, 1, 0, 0, ARGS(&done), NULL));
    CUresult r = cuCtxSynchronize();
    EXPECT(!r || r == CUDA_ERROR_LAUNCH_FAILED || r == CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void printf_of_nothing(void)
{
    CUdeviceptr out = give(NULL, 4);
    run("says_nothing", 1, 1, 1, 1, 0, ARGS(&out));
}

/* What a failing kernel writes to the descriptor. */
static void failing(const char *name, int fd, CUdeviceptr p, CUresult want, char *text, size_t size)
{
    struct catch c = catch_begin(fd);
    CHECK(cuLaunchKernel(kernel(name), 1, 1, 1, 64, 1, 1, 0, 0, ARGS(&p), NULL));
    CUresult r = catch_end(&c, text, size);
    EXPECT(r == want);
}

static void printf_before_a_fault(void)
{
    char text[4096];
    failing("says_and_fails", 1, give(NULL, 4), CUDA_ERROR_ILLEGAL_ADDRESS, text, sizeof text);
    char *said = strstr(text, "said by 2\n");
    EXPECT(said);
    EXPECT(!strstr(said + 1, "said by 2\n"));
}

static void misaligned_after_a_barrier(void)
{
    char text[4096];
    failing("misaligned_later", 2, give(NULL, 4096), CUDA_ERROR_MISALIGNED_ADDRESS, text, sizeof text);
    EXPECT(strstr(text, "thread (37,0,0)"));
}

static void loop(const char *name, int (*reference)(const int *, int, int, int))
{
    static const struct {
        unsigned x, y;
    } shapes[] = { { 256, 1 }, { 16, 16 }, { 7, 5 }, { 64, 2 } };
    static const int rounds[] = { 0, 1, 2, 7, 64 };
    int in[LOOP_IN];
    for (int k = 0; k < LOOP_IN; k++) in[k] = (int)((unsigned)k * 2654435761u >> 12);
    CUdeviceptr d = give(in, sizeof in), o = give(NULL, 4000);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t r = 0; r < sizeof rounds / sizeof *rounds; r++) {
            int n = rounds[r], threads = (int)(shapes[s].x * shapes[s].y), all = 1000;
            run(name, (unsigned)(all / threads + 1), 1, shapes[s].x, shapes[s].y, 0, ARGS(&d, &o, &n, &all));
            int *result = take(o, 4000);
            for (int i = 0; i < all; i++) {
                int want = reference(in, i, i % threads, n);
                if (result[i] == want) continue;
                printf("%s, %ux%u threads, n %d: thread %d has %d, not %d\n", name, shapes[s].x, shapes[s].y, n, i,
                       result[i], want);
                exit(1);
            }
            free(result);
        }
}

static void loops_in_step(void)
{
    int in[LOOP_IN], n = 13, all = 1000, s[512], sum[256] = { 0 };
    for (int k = 0; k < LOOP_IN; k++) in[k] = k * 77 % 1000;
    CUdeviceptr d = give(in, sizeof in), o = give(NULL, 4000);
    run("loop_in_step", 4, 1, 256, 1, 0, ARGS(&d, &o, &n, &all));
    memcpy(s, in, 1024);
    memset(s + 256, 0, 1024);
    for (int round = 0; round < n % 4 + 1; round++) {
        for (int t = 0; t < 256; t++)
            for (int k = 0; k < n; k++) sum[t] += s[k] * (k + round);
        for (int t = 0; t < 256; t++)
            for (int k = 0; k < n; k++) s[t + 256] += sum[t] ^ s[t];
        for (int t = 0; t < 256; t++) s[t] = s[t + 256] + sum[t / 32 * 32 + 3];
    }
    int *result = take(o, 4000);
    for (int i = 0; i < all; i++) EXPECT(result[i] == sum[i % 256] + s[i % 256]);
}

static void loops(void)
{
#define RUN_LOOP(name) loop("loop_" #name, name);
    LOOPS(RUN_LOOP)
}

static const struct program programs[] = {
    P(saxpy_float),
    P(saxpy_double),
    P(saxpy_half),
    P(tree_reduction),
    P(tiled_transpose),
    P(matrix_product),
    P(histogram_of_bytes),
    P(shuffle_scan),
    P(stencil_with_dynamic_shared_memory),
    P(mandelbrot),
    P(function_pointer_table),
    P(device_printf),
    P(device_assert),
    P(spin_locks),
    P(decoupled_look_back),
    P(persistent_kernel),
    P(kernels_of_two_streams),
    P(cooperative_grid),
    P(device_malloc),
    P(votes_and_matches),
    P(mathematics),
    P(variables_of_modules),
    P(loops),
    P(loops_in_step),
    P(everybody_gets_a_turn),
    P(blocks_in_turn),
    P(many_pieces_of_memory),
    P(one_kernel_frees_what_another_made),
    P(broken_heap),
    P(printf_of_nothing),
    P(printf_before_a_fault),
    P(misaligned_after_a_barrier),
    { 0 },
};

int main(int argc, char **argv) { return run_programs(argc, argv, programs); }
