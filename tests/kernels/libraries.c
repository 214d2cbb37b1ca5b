/* What kernels of C++ libraries compute (libraries.cu), against the CPU.
 * usage: libraries KERNELS.fatbin   prints a line per kernel; exit 1 if one is wrong */
#include "../check.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGS(...) \
    (void *[]) { __VA_ARGS__ }

static CUmodule module;
static bool failed;

static void verdict(const char *name, bool right)
{
    printf("%-14s %s\n", name, right ? "right" : "WRONG");
    if (!right) failed = true;
}

static unsigned next(void)
{
    static unsigned x = 12345;
    return (x = x * 1103515245 + 12345) >> 8;
}

static CUdeviceptr give(const void *data, size_t bytes)
{
    CUdeviceptr p;
    CHECK(cuMemAlloc(&p, bytes));
    if (data)
        CHECK(cuMemcpyHtoD(p, data, bytes));
    else
        CHECK(cuMemsetD8(p, 0, bytes));
    return p;
}

static void run(const char *name, unsigned grid, unsigned block, void **args)
{
    CUfunction f;
    CHECK(cuModuleGetFunction(&f, module, name));
    CHECK(cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, NULL, args, NULL));
    CHECK(cuCtxSynchronize());
}

static int by_key(const void *a, const void *b)
{
    const unsigned *x = a, *y = b;
    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

static void sort_pairs(void)
{
    enum { N = 2048, EACH = 512 };
    static unsigned keys[N], values[N], pairs[N][2];
    for (unsigned k = 0; k < N; k++) keys[k] = pairs[k][0] = next() % 1000, values[k] = pairs[k][1] = k;
    CUdeviceptr k = give(keys, sizeof keys), v = give(values, sizeof values);
    run("sort_pairs", N / EACH, 128, ARGS(&k, &v));
    CHECK(cuMemcpyDtoH(keys, k, sizeof keys));
    CHECK(cuMemcpyDtoH(values, v, sizeof values));
    bool right = true;
    for (int b = 0; b < N; b += EACH) qsort(pairs + b, EACH, sizeof *pairs, by_key);
    for (int i = 0; i < N; i++) right &= keys[i] == pairs[i][0] && values[i] == pairs[i][1];
    verdict("radix sort", right);
}

static void scan(void)
{
    enum { N = 2304, EACH = 768 };
    static int in[N], out[N];
    for (int k = 0; k < N; k++) in[k] = (int)(next() % 100);
    CUdeviceptr d = give(in, sizeof in);
    run("scan", N / EACH, 256, ARGS(&d));
    CHECK(cuMemcpyDtoH(out, d, sizeof out));
    for (int k = 1; k < N; k++)
        if (k % EACH) in[k] += in[k - 1];
    verdict("scan", !memcmp(in, out, sizeof in));
}

static void histogram(void)
{
    static unsigned char in[4096];
    unsigned want[256] = { 0 }, out[256];
    for (int k = 0; k < 4096; k++) want[in[k] = (unsigned char)(next() % 50)]++;
    CUdeviceptr d = give(in, sizeof in), o = give(NULL, sizeof out);
    run("histogram", 4, 128, ARGS(&d, &o));
    CHECK(cuMemcpyDtoH(out, o, sizeof out));
    verdict("histogram", !memcmp(want, out, sizeof want));
}

static void groups(void)
{
    enum { N = 64 };
    int in[N], out[4 * N];
    for (int k = 0; k < N; k++) in[k] = (int)(next() % 100);
    CUdeviceptr d = give(in, sizeof in), o = give(NULL, sizeof out);
    run("groups", 1, N, ARGS(&d, &o));
    CHECK(cuMemcpyDtoH(out, o, sizeof out));
    bool right = true;
    for (int k = 0; k < N; k++) {
        int sum = 0, before = 0, odd = 0, rank = 0, alike = 0;
        for (int j = k / 16 * 16; j < k / 16 * 16 + 16; j++) sum += in[j], before += j < k ? in[j] : 0;
        for (int j = k / 32 * 32; j < k / 32 * 32 + 32; j++) {
            odd += in[j] & 1;
            rank += (in[j] & 1) && j < k;
            alike += in[j] % 3 == in[k] % 3;
        }
        right &= out[k] == sum * 1000 + before && out[k + N] == (in[k] & 1 ? odd * 100 + rank : -1) &&
                 out[k + 2 * N] == alike && out[k + 3 * N] == 32;
    }
    verdict("groups", right);
}

/* every round each takes its neighbour's word and adds to it */
static void turn(const char *name, int n, int rounds, bool add_round)
{
    int *in = malloc((size_t)n * 4), *out = malloc((size_t)n * 4);
    for (int k = 0; k < n; k++) in[k] = (int)(next() % 100);
    CUdeviceptr d = give(in, (size_t)n * 4);
    if (add_round) {
        run(name, 1, (unsigned)n, ARGS(&d));
    } else {
        CUfunction f;
        CHECK(cuModuleGetFunction(&f, module, name));
        CHECK(cuLaunchCooperativeKernel(f, (unsigned)n / 256, 1, 1, 256, 1, 1, 0, NULL, ARGS(&d, &n)));
        CHECK(cuCtxSynchronize());
    }
    CHECK(cuMemcpyDtoH(out, d, (size_t)n * 4));
    bool right = true;
    int added = add_round ? rounds * (rounds - 1) / 2 : rounds;
    for (int k = 0; k < n; k++) right &= out[k] == in[(k + rounds) % n] + added;
    verdict(name, right);
    free(in);
    free(out);
}

static void atomics(void)
{
    unsigned out[3];
    CUdeviceptr o = give(NULL, sizeof out);
    run("atomics", 10, 64, ARGS(&o));
    CHECK(cuMemcpyDtoH(out, o, sizeof out));
    verdict("atomics", out[0] == 640 && out[1] == 1280 && out[2] == 630);
}

static void objects(void)
{
    static const int fibonacci[12] = { 0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89 };
    int out[64];
    CUdeviceptr o = give(NULL, sizeof out), calls;
    size_t bytes;
    run("objects", 1, 64, ARGS(&o));
    CHECK(cuMemcpyDtoH(out, o, sizeof out));
    bool right = true;
    for (int k = 0; k < 64; k++)
        right &= out[k] == (k % 2 ? k * k : 3 * k) * 1000 + (k / 2 % 2 ? fibonacci[k % 12] : k % 12 * 2);
    CHECK(cuModuleGetGlobal(&calls, &bytes, module, "calls"));
    verdict("objects", right && *(int *)calls == 64);
}

static void halves(void)
{
    float in[32], out[32 * 4];
    for (int k = 0; k < 32; k++) in[k] = (float)(k - 16);
    CUdeviceptr d = give(in, sizeof in), o = give(NULL, sizeof out);
    run("halves", 1, 32, ARGS(&d, &o));
    CHECK(cuMemcpyDtoH(out, o, sizeof out));
    bool right = true;
    for (int k = 0; k < 32; k++) {
        float x = in[k], *p = out + 4 * k;
        right &= p[0] == x * x + 1 && p[1] == 4 * x * x + 1 && p[2] == 2 * x && p[3] == 1 - x;
    }
    verdict("halves", right);
}

static void functions_of(void)
{
    enum { N = 300, F = 16 };
    static double in[N], out[N * F];
    int n = N;
    bool right = true;
    for (int k = 0; k < N; k++) in[k] = (k - N / 2) * .117;
    CUdeviceptr d = give(in, sizeof in), o = give(NULL, sizeof out);
    run("functions_of", (N + 127) / 128, 128, ARGS(&d, &o, &n));
    CHECK(cuMemcpyDtoH(out, o, sizeof out));
    for (int k = 0; k < N; k++) {
        double x = in[k], p = fabs(x) + .5;
        const double want[F] = { sin(x),       tan(x), exp(x / 10),   log(p),         pow(p, 1.3), atan2(x, 2),
                                 sinh(x / 10), erf(x), tgamma(p / 4), lgamma(p),      cbrt(x),     fmod(x, .7),
                                 hypot(x, 3),  j0(x),  1 / sqrt(p),   remainder(x, 3) };
        for (int f = 0; f < F; f++)
            if (!(fabs(out[k * F + f] - want[f]) <= 1e-13 * fmax(1, fabs(want[f])))) {
                printf("function %d of %g: %.17g instead of %.17g\n", f, x, out[k * F + f], want[f]);
                right = false;
            }
    }
    verdict("functions", right);
}

static void staged(void)
{
    enum { PIECES = 20, PIECE = 128, N = 3 * PIECE };
    static float in[PIECES * PIECE], out[N];
    int pieces = PIECES;
    for (int i = 0; i < PIECES * PIECE; i++) in[i] = (float)(i % 19);
    CUdeviceptr d = give(in, sizeof in), o = give(NULL, sizeof out);
    run("staged", N / PIECE, PIECE, ARGS(&d, &o, &pieces));
    CHECK(cuMemcpyDtoH(out, o, sizeof out));
    bool right = true;
    for (int t = 0; t < N; t++) {
        float sum = 0;
        for (int k = 0; k < PIECES; k++) sum += in[k * PIECE + t * 3 % PIECE] * (float)(k + 1);
        right &= out[t] == sum;
    }
    verdict("staged copies", right);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    check_context();
    CHECK(cuModuleLoad(&module, argv[1]));
    sort_pairs();
    scan();
    histogram();
    groups();
    turn("turn_all", 2048, 5, false);
    turn("turn_block", 128, 4, true);
    atomics();
    objects();
    halves();
    functions_of();
    staged();
    return failed;
}
