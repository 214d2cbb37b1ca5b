/* What copies and streams do with registered memory that the program has protected or unmapped meanwhile, or unregistered
 * while they wait: what an H200 does, whose driver has pinned the pages.
 * usage: reached [copy | write | wait], each of which ends with an error that stays */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include <cmocka.h>
#include <cuda.h>

enum { SIZE = 1 << 20 };

static CUcontext first, second;
static const char *mode;

static void ok(CUresult r) { assert_int_equal(r, CUDA_SUCCESS); }

static char *registered(void)
{
    char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(p, 1, SIZE);
    ok(cuMemHostRegister(p, SIZE, 0));
    return p;
}

/* Before Linux 6.11 it cannot be asked often enough what is mapped. */
static int is_seen(void)
{
    struct utsname u;
    int major = 0, minor = 0;
    return !uname(&u) && sscanf(u.release, "%d.%d", &major, &minor) == 2 && (major > 6 || (major == 6 && minor >= 11));
}

/* Copies into it and out of it, fills of it, and what streams write there. */
static void use(char *p)
{
    static char seen[SIZE];
    CUdeviceptr d;
    ok(cuMemAlloc(&d, SIZE));
    ok(cuMemsetD8(d, 7, SIZE));
    ok(cuMemcpyDtoHAsync(p, d, SIZE, NULL));
    ok(cuMemsetD8Async((CUdeviceptr)p + 100, 8, 100, NULL));
    ok(cuStreamWriteValue32(NULL, (CUdeviceptr)p + 400, 0x09090909, 0));
    ok(cuStreamWaitValue32(NULL, (CUdeviceptr)p + 400, 0x09090909, CU_STREAM_WAIT_VALUE_EQ));
    ok(cuCtxSynchronize());
    ok(cuMemsetD8(d, 0, SIZE));
    ok(cuMemcpyDtoD(d, (CUdeviceptr)p, SIZE)); /* cuMemcpyHtoD reads it by the processor, on an H200, too */
    ok(cuMemcpyDtoH(seen, d, SIZE));
    for (int k = 0; k < SIZE; k++) assert_int_equal(seen[k], k >= 100 && k < 200 ? 8 : k >= 400 && k < 404 ? 9 : 7);
    ok(cuMemFree(d));
}

static void protected_memory_is_still_copied(void **state)
{
    static const int access[] = { PROT_READ, PROT_NONE };
    (void)state;
    if (!is_seen()) skip();
    for (int k = 0; k < 2; k++) {
        char *p = registered();
        mprotect(p + SIZE / 2, SIZE / 4, access[k]);
        mprotect(p, 4096, access[k]);
        use(p);
        mprotect(p, SIZE, PROT_READ | PROT_WRITE);
        assert_int_equal(p[0], 7);
        assert_int_equal(p[150], 8);
        assert_int_equal(p[SIZE / 2], 7);
        ok(cuMemHostUnregister(p));
        assert_int_equal(p[SIZE / 2], 7);
        munmap(p, SIZE);
    }
}

static void so_is_unmapped_memory(void **state)
{
    (void)state;
    if (!is_seen()) skip();
    char *p = registered();
    munmap(p, SIZE);
    use(p);
    ok(cuMemHostUnregister(p));
}

/* The stream is another context's, for which who unregisters does not wait. */
static void unregistered_memory_is_gone(void **state)
{
    unsigned *flag;
    CUstream s;
    CUdeviceptr d;
    (void)state;
    ok(cuCtxSetCurrent(second));
    ok(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    ok(cuMemAllocHost((void **)&flag, 4));
    *flag = 0;
    ok(cuCtxSetCurrent(first));
    ok(cuMemAlloc(&d, SIZE));
    char *p = registered();
    ok(cuStreamWaitValue32(s, (CUdeviceptr)flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    if (!strcmp(mode, "copy")) ok(cuMemcpyAsync((CUdeviceptr)p, d, SIZE, s));
    if (!strcmp(mode, "write")) ok(cuStreamWriteValue32(s, (CUdeviceptr)p, 5, 0));
    if (!strcmp(mode, "wait")) ok(cuStreamWaitValue32(s, (CUdeviceptr)p, 5, CU_STREAM_WAIT_VALUE_EQ));
    ok(cuMemHostUnregister(p));
    munmap(p, SIZE);
    *flag = 1;
    ok(cuCtxSetCurrent(second));
    assert_int_equal(cuStreamSynchronize(s), CUDA_ERROR_LAUNCH_FAILED);
}

/* Not by the call, as copies are (observed on H200). */
static void what_is_registered_to_be_read_is_not_written_by_a_stream(void **state)
{
    (void)state;
    char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ok(cuMemHostRegister(p, SIZE, CU_MEMHOSTREGISTER_READ_ONLY));
    ok(cuStreamWriteValue32(CU_STREAM_PER_THREAD, (CUdeviceptr)p, 5, 0));
    assert_int_equal(cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(*p, 0);
}

static int begin(void **state)
{
    (void)state;
    return cuInit(0) || cuCtxCreate(&second, NULL, 0, 0) || cuCtxCreate(&first, NULL, 0, 0) ? -1 : 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest lasting[] = { cmocka_unit_test(protected_memory_is_still_copied),
                                          cmocka_unit_test(so_is_unmapped_memory) },
                            passing[] = { cmocka_unit_test(unregistered_memory_is_gone) },
                            read_only[] = { cmocka_unit_test(what_is_registered_to_be_read_is_not_written_by_a_stream) };
    if (argc < 2) return cmocka_run_group_tests(lasting, begin, NULL);
    mode = argv[1];
    if (!strcmp(mode, "read-only")) return cmocka_run_group_tests(read_only, begin, NULL);
    return cmocka_run_group_tests(passing, begin, NULL);
}
