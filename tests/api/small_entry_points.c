/* Entry points that answer from what is known of the machine, without doing anything. Linked with libcuda.so.1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include <cuda.h>

#define ok(call) assert_int_equal(call, CUDA_SUCCESS)

static CUcontext context;

static int begin(void **state)
{
    (void)state;
    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    return 0;
}

static void a_context_names_its_device(void **state)
{
    (void)state;
    CUdevice d = 7;
    ok(cuCtxGetDevice_v2(&d, context));
    assert_int_equal(d, 0);
    d = 7;
    ok(cuCtxGetDevice_v2(&d, NULL));
    assert_int_equal(d, 0);
    assert_int_equal(cuCtxGetDevice_v2(NULL, context), CUDA_ERROR_INVALID_VALUE);
    ok(cuCtxSetCurrent(NULL));
    ok(cuCtxGetDevice_v2(&d, context));
    assert_int_equal(cuCtxGetDevice_v2(&d, NULL), CUDA_ERROR_INVALID_CONTEXT);
    ok(cuCtxSetCurrent(context));
}

static void a_context_lives_until_it_is_detached_as_often_as_attached(void **state)
{
    (void)state;
    CUcontext c, same = NULL, now = NULL;
    unsigned version;
    ok(cuCtxCreate(&c, NULL, 0, 0));
    assert_int_equal(cuCtxAttach(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuCtxAttach(&same, 1), CUDA_ERROR_INVALID_VALUE);
    ok(cuCtxAttach(&same, 0));
    assert_ptr_equal(same, c);
    ok(cuCtxDetach(c));
    ok(cuCtxGetApiVersion(c, &version));
    ok(cuCtxDetach(c));
    assert_int_not_equal(cuCtxGetApiVersion(c, &version), CUDA_SUCCESS);
    assert_int_equal(cuCtxDetach(c), CUDA_ERROR_INVALID_CONTEXT);
    ok(cuCtxGetCurrent(&now));
    assert_ptr_equal(now, context);
    ok(cuCtxDetach(context));
    ok(cuCtxGetApiVersion(context, &version));
}

static void called_by_nobody(CUasyncNotificationInfo *info, void *data, CUasyncCallbackHandle handle)
{
    (void)info, (void)data, (void)handle;
    fail();
}

static void notifications_can_be_asked_for(void **state)
{
    (void)state;
    CUasyncCallbackHandle h = NULL;
    assert_int_equal(cuDeviceRegisterAsyncNotification(0, NULL, NULL, &h), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuDeviceRegisterAsyncNotification(99, called_by_nobody, NULL, &h), CUDA_ERROR_INVALID_DEVICE);
    ok(cuDeviceRegisterAsyncNotification(0, called_by_nobody, NULL, &h));
    assert_non_null(h);
    ok(cuDeviceUnregisterAsyncNotification(0, h));
    assert_int_equal(cuDeviceUnregisterAsyncNotification(0, h), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuDeviceUnregisterAsyncNotification(0, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void contexts_cannot_be_bound_to_fewer_multiprocessors(void **state)
{
    (void)state;
    int yes = 7;
    CUexecAffinityParam p;
    ok(cuDeviceGetExecAffinitySupport(&yes, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
    assert_int_equal(yes, 0);
    ok(cuDeviceGetExecAffinitySupport(&yes, 9, 0));
    assert_int_equal(yes, 0);
    assert_int_equal(cuDeviceGetExecAffinitySupport(&yes, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 99),
                     CUDA_ERROR_INVALID_DEVICE);
    ok(cuCtxGetExecAffinity(&p, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
    assert_int_equal(p.param.smCount.val, 132);
    assert_int_equal(cuCtxGetExecAffinity(&p, 9), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
}

static void writes_of_others_are_seen_without_flushing(void **state)
{
    (void)state;
    const CUflushGPUDirectRDMAWritesTarget here = CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX;
    ok(cuFlushGPUDirectRDMAWrites(here, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
    ok(cuFlushGPUDirectRDMAWrites(here, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES));
    assert_int_equal(cuFlushGPUDirectRDMAWrites(here, 1), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuFlushGPUDirectRDMAWrites(3, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER), CUDA_ERROR_INVALID_VALUE);
}

/* ---- what the library says */

static unsigned heard;
static char words[512];

static void listen(void *data, CUlogLevel level, char *message, size_t length)
{
    assert_int_equal(level, CU_LOG_LEVEL_WARNING);
    assert_int_equal(strlen(message), length);
    memcpy(words, message, length + 1);
    __atomic_fetch_add((unsigned *)data, 1, __ATOMIC_SEQ_CST);
}

static void warnings_are_kept_and_told_to_listeners(void **state)
{
    (void)state;
    CUlogsCallbackHandle h, none = (CUlogsCallbackHandle)&heard;
    CUlogIterator before, after;
    char text[600] = "x";
    size_t size = sizeof text;
    bool flag;
    ok(cuLogsRegisterCallback(listen, &heard, &h));
    ok(cuLogsCurrent(&before, 0));
    after = before;
    ok(cuLogsDumpToMemory(&after, text, &size, 0));
    assert_int_equal(size, 0);
    assert_string_equal(text, "");
    size = sizeof flag;
    assert_int_equal(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &flag, &size),
                     CUDA_ERROR_NOT_SUPPORTED); /* says so, once */
    for (int k = 0; k < 5000 && !__atomic_load_n(&heard, __ATOMIC_SEQ_CST); k++)
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    ok(cuLogsUnregisterCallback(h));
    assert_int_equal(heard, 1);
    assert_non_null(strstr(words, "cuCoredumpGetAttribute"));
    assert_int_equal(cuLogsUnregisterCallback(h), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuLogsUnregisterCallback(none), CUDA_ERROR_INVALID_VALUE);
    size = 4;
    assert_int_equal(cuLogsDumpToMemory(&after, text, &size, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(size, 0);
    size = sizeof text;
    ok(cuLogsDumpToMemory(&after, text, &size, 0));
    assert_int_equal(size, strlen(words) + 1);
    assert_memory_equal(text, words, size - 1);
    assert_int_equal(text[size - 1], '\n');
    assert_int_equal(after, before + 1);
    size = sizeof text;
    ok(cuLogsDumpToMemory(&after, text, &size, 0));
    assert_int_equal(size, 0);
    assert_int_equal(cuLogsCurrent(&after, 1), CUDA_SUCCESS);
    assert_int_equal(cuLogsDumpToFile(NULL, "/no/such/place", 0), CUDA_ERROR_INVALID_VALUE);
}

/* In the order of an H200's driver; what it says to both is 0, with two linked devices, too. */
static void no_operation_is_atomic_where_others_are_not(void **state)
{
    (void)state;
    const CUatomicOperation asked[] = { CU_ATOMIC_OPERATION_INTEGER_ADD, CU_ATOMIC_OPERATION_CAS,
                                        CU_ATOMIC_OPERATION_MAX };
    unsigned said[3] = { 7, 7, 7 };
    assert_int_equal(cuDeviceGetHostAtomicCapabilities(said, asked, 0, 99), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuDeviceGetHostAtomicCapabilities(NULL, asked, 2, 99), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuDeviceGetHostAtomicCapabilities(said, NULL, 2, 99), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuDeviceGetHostAtomicCapabilities(said, asked, 3, 99), CUDA_ERROR_INVALID_DEVICE);
    assert_int_equal(cuDeviceGetP2PAtomicCapabilities(said, asked, 3, 0, 0), CUDA_ERROR_INVALID_DEVICE);
    assert_int_equal(cuDeviceGetP2PAtomicCapabilities(said, asked, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(said[0], 7);
    ok(cuDeviceGetHostAtomicCapabilities(said, asked, 2, 0));
    assert_int_equal(said[0] | said[1], 0);
    assert_int_equal(said[2], 7);
    assert_int_equal(cuDeviceGetHostAtomicCapabilities(said, asked, 3, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(said[2], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_names_its_device),
        cmocka_unit_test(a_context_lives_until_it_is_detached_as_often_as_attached),
        cmocka_unit_test(notifications_can_be_asked_for),
        cmocka_unit_test(contexts_cannot_be_bound_to_fewer_multiprocessors),
        cmocka_unit_test(no_operation_is_atomic_where_others_are_not),
        cmocka_unit_test(warnings_are_kept_and_told_to_listeners),
        cmocka_unit_test(writes_of_others_are_seen_without_flushing),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
