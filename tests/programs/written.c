/* A kernel written by hand, against what its PTX says.
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

int main(int argc, char **argv)
{
    static const struct program programs[] = { P(handwritten), { 0 } };
    return run_programs(argc, argv, programs);
}
