/* A driver of a newer CUDA version than 13.0: what it says of itself, and whose PTX it takes. */
#include <cuda.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/* The test runs with FAULTLINE_DRIVER=13.MINOR, and without. */
static int minor(void) { return getenv("FAULTLINE_DRIVER") ? atoi(getenv("FAULTLINE_DRIVER") + 3) : 0; }

static void it_answers_the_version_before_anything_else(void **state)
{
    (void)state;
    int version;
    assert_int_equal(cuDriverGetVersion(&version), CUDA_SUCCESS);
    assert_int_equal(version, 13000 + 10 * minor());
}

static void entry_points_may_be_asked_for_up_to_its_version(void **state)
{
    (void)state;
    CUdriverProcAddressQueryResult status;
    void *f;
    for (int k = 0; k <= 9; k++) {
        CUresult want = k <= minor() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        assert_int_equal(cuGetProcAddress("cuMemAlloc", &f, 13000 + 10 * k, 0, &status), want);
        if (!want) assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
        if (want) continue;
        assert_int_equal(cuGetProcAddress("cuNotKnownYet", &f, 13000 + 10 * k, 0, &status), CUDA_SUCCESS);
        assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    }
}

static void ptx_up_to_its_version_runs(void **state)
{
    (void)state;
    CUdevice d;
    CUcontext c;
    assert_int_equal(cuInit(0), CUDA_SUCCESS);
    assert_int_equal(cuDeviceGet(&d, 0), CUDA_SUCCESS);
    assert_int_equal(cuDevicePrimaryCtxRetain(&c, d), CUDA_SUCCESS);
    assert_int_equal(cuCtxSetCurrent(c), CUDA_SUCCESS);
    for (int k = 0; k <= 9; k++) {
        char text[256];
        CUmodule m;
        CUfunction f;
        snprintf(text, sizeof text, "// made by 13.%d\n.version 9.%d\n.target sm_75\n.visible .entry k(){ ret; }\n", k,
                 k);
        CUresult want = k <= minor() ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
        assert_int_equal(cuModuleLoadData(&m, text), want);
        if (want) continue;
        assert_int_equal(cuModuleGetFunction(&f, m, "k"), CUDA_SUCCESS);
        assert_int_equal(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL), CUDA_SUCCESS);
        assert_int_equal(cuCtxSynchronize(), CUDA_SUCCESS);
        assert_int_equal(cuModuleUnload(m), CUDA_SUCCESS);
    }
    assert_int_equal(cuDevicePrimaryCtxRelease(d), CUDA_SUCCESS);
}

static void what_is_not_understood_of_a_newer_version_is_refused(void **state)
{
    (void)state;
    CUmodule m;
    CUdevice d;
    CUcontext c;
    assert_int_equal(cuDeviceGet(&d, 0), CUDA_SUCCESS);
    assert_int_equal(cuDevicePrimaryCtxRetain(&c, d), CUDA_SUCCESS);
    assert_int_equal(cuCtxSetCurrent(c), CUDA_SUCCESS);
    assert_int_equal(
        cuModuleLoadData(&m, ".version 9.0\n.target sm_75\n.visible .entry k(){ new.instruction; ret; }\n"),
        CUDA_ERROR_INVALID_PTX);
    assert_int_equal(
        cuModuleLoadData(&m, ".version 9.9\n.target sm_75\n.visible .entry k(){ new.instruction; ret; }\n"),
        minor() == 9 ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    assert_int_equal(cuDevicePrimaryCtxRelease(d), CUDA_SUCCESS);
}

/* PTX 9.1 has volatile accesses to local memory, which NVIDIA's compiler writes for its atomics. */
static void volatile_accesses_to_local_memory_came_with_9_1(void **state)
{
    (void)state;
    static const char body[] =
        ".target sm_75\n.address_size 64\n"
        ".visible .entry k(.param .u64 to) { .reg .b64 %rd<6>; .local .align 16 .b8 here[32];\n"
        "ld.param.u64 %rd1, [to]; mov.u64 %rd2, 5; mov.u64 %rd3, 6;\n"
        "st.volatile.local.u64 [here], %rd2; st.volatile.local.v2.u64 [here + 16], {%rd3, %rd2};\n"
        "ld.volatile.local.v2.u64 {%rd4, %rd5}, [here + 16]; ld.volatile.local.u64 %rd2, [here];\n"
        "mad.lo.u64 %rd2, %rd2, 10, %rd4; mad.lo.u64 %rd2, %rd2, 10, %rd5;\n"
        "st.u64 [%rd1], %rd2; ret; }\n";
    char text[1024];
    CUmodule m;
    CUfunction f;
    CUdevice d;
    CUcontext c;
    CUdeviceptr to;
    uint64_t got = 0;
    assert_int_equal(cuDeviceGet(&d, 0), CUDA_SUCCESS);
    assert_int_equal(cuDevicePrimaryCtxRetain(&c, d), CUDA_SUCCESS);
    assert_int_equal(cuCtxSetCurrent(c), CUDA_SUCCESS);
    snprintf(text, sizeof text, ".version 9.0\n%s", body);
    assert_int_equal(cuModuleLoadData(&m, text), CUDA_ERROR_INVALID_PTX);
    snprintf(text, sizeof text, ".version 9.1\n%s", body);
    CUresult want = minor() ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    assert_int_equal(cuModuleLoadData(&m, text), want);
    if (!want) {
        void *arguments[] = { &to };
        assert_int_equal(cuMemAlloc(&to, sizeof got), CUDA_SUCCESS);
        assert_int_equal(cuModuleGetFunction(&f, m, "k"), CUDA_SUCCESS);
        assert_int_equal(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, arguments, NULL), CUDA_SUCCESS);
        assert_int_equal(cuMemcpyDtoH(&got, to, sizeof got), CUDA_SUCCESS);
        assert_int_equal(got, 565);
        assert_int_equal(cuMemFree(to), CUDA_SUCCESS);
    }
    assert_int_equal(cuDevicePrimaryCtxRelease(d), CUDA_SUCCESS);
}

#define T(f) cmocka_unit_test(f)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(it_answers_the_version_before_anything_else),
        T(entry_points_may_be_asked_for_up_to_its_version),
        T(ptx_up_to_its_version_runs),
        T(what_is_not_understood_of_a_newer_version_is_refused),
        T(volatile_accesses_to_local_memory_came_with_9_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
