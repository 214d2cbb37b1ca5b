/* What a program sees of the library before it has any device: names and
 * versions of entry points, names of errors. Linked with libcuda.so.1. */
#include <cuda.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The symbol that cuGetProcAddress finds, "-" for none. */
static const char *find(const char *name, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
    void *function;
    Dl_info info;
    assert_int_equal(cuGetProcAddress(name, &function, version, flags, status), CUDA_SUCCESS);
    if (!function) return "-";
    assert_true(dladdr(function, &info));
    return info.dli_sname;
}

static void the_version_asked_for_selects_the_abi_version(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int version;
        const char *symbol;
    } cases[] = {
        { "cuMemAdvise", 8000, "cuMemAdvise" },
        { "cuMemAdvise", 12010, "cuMemAdvise" },
        { "cuMemAdvise", 12020, "cuMemAdvise_v2" },
        { "cuMemAdvise", 13000, "cuMemAdvise_v2" },
        { "cuMemAlloc", 3010, "cuMemAlloc" },
        { "cuMemAlloc", 3020, "cuMemAlloc_v2" },
        { "cuCtxCreate", 2000, "cuCtxCreate" },
        { "cuCtxCreate", 11030, "cuCtxCreate_v2" },
        { "cuCtxCreate", 12040, "cuCtxCreate_v3" },
        { "cuCtxCreate", 13000, "cuCtxCreate_v4" },
        { "cuStreamGetCaptureInfo", 10010, "cuStreamGetCaptureInfo" },
        { "cuStreamGetCaptureInfo", 13000, "cuStreamGetCaptureInfo_v3" },
        { "cuGetProcAddress", 11030, "cuGetProcAddress" },
        { "cuGetProcAddress", 12000, "cuGetProcAddress_v2" },
        { "cuCtxGetDevice", 12080, "cuCtxGetDevice" },
        { "cuInit", 13000, "cuInit" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(find(cases[i].name, cases[i].version, CU_GET_PROC_ADDRESS_DEFAULT, NULL), cases[i].symbol);
}

static void the_status_says_why_nothing_was_found(void **state)
{
    (void)state;
    CUdriverProcAddressQueryResult status;
    assert_string_equal(find("cuNoSuchThing", 13000, 0, &status), "-");
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    assert_string_equal(find("cuMemAdvise", 7000, 0, &status), "-");
    assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    assert_string_equal(find("cuMemAdvise", 8000, 0, &status), "cuMemAdvise");
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
}

static void the_per_thread_flag_finds_the_variant_where_there_is_one(void **state)
{
    (void)state;
    const cuuint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    assert_string_equal(find("cuMemcpyHtoD", 13000, per_thread, NULL), "cuMemcpyHtoD_v2_ptds");
    assert_string_equal(find("cuMemcpyHtoD", 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, NULL), "cuMemcpyHtoD_v2");
    assert_string_equal(find("cuMemcpyHtoD", 6050, 0, NULL), "cuMemcpyHtoD_v2");
    assert_string_equal(find("cuMemcpyHtoD", 6050, per_thread, NULL), "-"); /* it came with 7.0 */
    assert_string_equal(find("cuLaunchKernel", 7000, per_thread, NULL), "cuLaunchKernel_ptsz");
    assert_string_equal(find("cuMemAlloc", 13000, per_thread, NULL), "cuMemAlloc_v2");
}

static void wrong_questions_are_refused(void **state)
{
    (void)state;
    void *function;
    assert_int_equal(cuGetProcAddress(NULL, &function, 13000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGetProcAddress("", &function, 13000, 0, NULL), CUDA_SUCCESS);
    assert_null(function);
    assert_int_equal(cuGetProcAddress("cuInit", NULL, 13000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGetProcAddress("cuInit", &function, CUDA_VERSION + 10, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGetProcAddress("cuInit", &function, 13000, 8, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void every_documented_entry_point_needs_cuInit(void **state)
{
    (void)state;
    CUgraph graph;
    CUdeviceptr p;
    assert_int_equal(cuMemAlloc(&p, 1), CUDA_ERROR_NOT_INITIALIZED);
    assert_int_equal(cuGraphCreate(&graph, 0), CUDA_ERROR_NOT_INITIALIZED);
}

static void errors_have_names_and_descriptions(void **state)
{
    (void)state;
    const char *text;
    assert_int_equal(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text), CUDA_SUCCESS);
    assert_string_equal(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_int_equal(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text), CUDA_SUCCESS);
    assert_string_equal(text, "an illegal memory access was encountered");
    assert_int_equal(cuGetErrorString(CUDA_SUCCESS, &text), CUDA_SUCCESS);
    assert_string_equal(text, "no error");
    assert_int_equal(cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    assert_null(text);
    assert_int_equal(cuGetErrorName(CUDA_SUCCESS, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void private_tables_are_not_found(void **state)
{
    (void)state;
    const void *table = &table;
    CUuuid id = { { 1 } };
    assert_int_equal(cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND);
    assert_null(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_version_asked_for_selects_the_abi_version),
        cmocka_unit_test(the_status_says_why_nothing_was_found),
        cmocka_unit_test(the_per_thread_flag_finds_the_variant_where_there_is_one),
        cmocka_unit_test(wrong_questions_are_refused),
        cmocka_unit_test(every_documented_entry_point_needs_cuInit),
        cmocka_unit_test(errors_have_names_and_descriptions),
        cmocka_unit_test(private_tables_are_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
