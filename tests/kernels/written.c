/* Kernels written by hand, against what its PTX says.
 * usage: written KERNEL.ptx */
#include "program.h"

static void handwritten(void)
{
    enum { N = 64 };
    CUdeviceptr out = give(NULL, N * 64);
    run("written", 1, 1, N, 1, 0, ARGS(&out));
    const int *r = take(out, N * 64);
    for (int t = 0; t < N; t++, r += 16) {
        const float *f = (const float *)r;
        EXPECT(r[0] == t && r[1] == t / 7 + t && r[2] == t % 7 + t && r[3] == 100 * (t % 4 + 1) + t);
        EXPECT(r[4] == 30 && r[5] == 20 && r[6] == 2 && r[7] == 5);
        EXPECT(r[8] == (t == 5 ? 9 : 7) && r[9] == 10 && r[10] == (-4 | 1) && r[11] == 1);
        EXPECT(f[12] == (t > 9 ? -1 : 2 + (t - 2) * .5f) && f[13] == t);
    }
}

static float zeroed(float v) { return fpclassify(v) == FP_SUBNORMAL ? copysignf(0, v) : v; }

static bool same(float a, float b) { return a == b ? signbit(a) == signbit(b) : a != a && b != b; }

static void subnormals_are_zeros_where_it_says_so(void)
{
    static const float values[] = { 0,      -0.f,  1,       -2.5f, 1e-39f, -1e-44f, 1.2e-38f, -1.1754944e-38f,
                                    1e-30f, 3e38f, INFINITY };
    enum { M = sizeof values / sizeof *values, N = M * M };
    float in[N][3];
    for (int k = 0; k < N; k++) in[k][0] = values[k % M], in[k][1] = values[k / M], in[k][2] = values[k * 7 / 3 % M];
    for (int mixed = 0; mixed < 2; mixed++) {
        CUdeviceptr from = give(in, sizeof in), out = give(NULL, N * 32);
        run(mixed ? "mixed" : "flushed", 1, 1, N, 1, 0, ARGS(&from, &out));
        const float(*r)[8] = take(out, N * 32);
        for (int k = 0; k < N; k++) {
            float a = zeroed(in[k][0]), b = zeroed(in[k][1]), c = zeroed(in[k][2]);
            EXPECT(same(r[k][0], zeroed(a * b)) && same(r[k][1], zeroed(a + c)) &&
                   same(r[k][2], zeroed(fmaf(a, b, c))));
            EXPECT(same(r[k][3], zeroed(a / b)) && ((const int *)r[k])[4] == (a == c) && same(r[k][5], a));
            EXPECT(r[k][6] == fmaxf(a, c) && same(r[k][7], zeroed(a + a)));
        }
    }
}

int main(int argc, char **argv)
{
    static const struct program programs[] = { P(handwritten), P(subnormals_are_zeros_where_it_says_so), { 0 } };
    return run_programs(argc, argv, programs);
}
