/* Powers of two are as near as the PTX manual promises for ex2.approx, and a whole power is exact. */
#include "../child.h"

#include <math.h>

static const char text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry powers(.param .u64 out, .param .f32 first, .param .f32 step)\n{\n.reg .b64 d;\n.reg .b32 r<3>;\n"
    ".reg .f32 f<4>;\nld.param.u64 d, [out];\nld.param.f32 f0, [first];\nld.param.f32 f1, [step];\nmov.u32 r0, %tid.x;\n"
    "mov.u32 r1, %ctaid.x;\nmad.lo.u32 r2, r1, 256, r0;\nmad.wide.u32 d, r2, 8, d;\ncvt.rn.f32.u32 f2, r2;\n"
    "fma.rn.f32 f2, f2, f1, f0;\nex2.approx.f32 f3, f2;\nst.global.f32 [d], f3;\nex2.approx.ftz.f32 f3, f2;\n"
    "st.global.f32 [d+4], f3;\nret;\n}\n";

enum { THREADS = 256, BLOCKS = 1024, N = THREADS * BLOCKS };
static float powers[N][2]; /* without .ftz, and with it */
static CUfunction kernel;

static void start(void)
{
    CUmodule m;
    check_context();
    CHECK(cuModuleLoadData(&m, text));
    CHECK(cuModuleGetFunction(&kernel, m, "powers"));
}

/* Of first, first + step, ... */
static void compute(float first, float step, unsigned blocks)
{
    CUdeviceptr out;
    CHECK(cuMemAlloc(&out, sizeof powers));
    CHECK(cuLaunchKernel(kernel, blocks, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){ &out, &first, &step }, NULL));
    CHECK(cuMemcpyDtoH(powers, out, blocks * THREADS * sizeof *powers));
    CHECK(cuMemFree(out));
}

static void a_power_is_near_what_it_should_be(void)
{
    const float step = 0x1p-16f;
    compute(-2, step, BLOCKS);
    for (int k = 0; k < N; k++) {
        const double exact = exp2(-2 + k * (double)step), unit = ldexp(1, ilogb(exact) - 23);
        for (int ftz = 0; ftz < 2; ftz++) EXPECT(fabs(powers[k][ftz] - exact) < 1.5 * unit);
    }
}

static void a_whole_power_is_exact(void)
{
    enum { FIRST = -152, NORMAL = -126, BEYOND = 128 };
    compute(FIRST, 1, 2);
    for (int n = FIRST; n <= BEYOND; n++) {
        const float exact = ldexpf(1, n);
        EXPECT(powers[n - FIRST][0] == exact && powers[n - FIRST][1] == (n < NORMAL ? 0 : exact));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, a_power_is_near_what_it_should_be),
        ALONE(start, a_whole_power_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
