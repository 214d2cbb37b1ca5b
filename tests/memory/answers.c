/* What an H200 answers at the edges of memory calls: what those that fail leave behind, what belongs to another
 * context, and boxes without heights. */
#include "../check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { BYTES = 1 << 16 };

static CUcontext context;

static void calls_that_fail_leave_zeroes(void **state)
{
    CUdeviceptr p = 1;
    size_t n = 1;
    void *h = &n;
    (void)state;
    ANSWERS(cuMemAllocPitch(&p, &n, 100, 100, 3), CUDA_ERROR_INVALID_VALUE);
    assert_true(!p && !n);
    p = n = 1;
    ANSWERS(cuMemGetAddressRange(&p, &n, (CUdeviceptr)&n), CUDA_ERROR_NOT_FOUND);
    assert_true(!p && !n);
    p = 1;
    ANSWERS(cuMemHostGetDevicePointer(&p, &n, 0), CUDA_ERROR_INVALID_VALUE);
    assert_true(!p);
    ANSWERS(cuMemHostAlloc(&h, 64, 99), CUDA_ERROR_INVALID_VALUE);
    assert_null(h);
}

static void a_pitch_that_wraps_is_too_much(void **state)
{
    CUdeviceptr p;
    size_t n;
    (void)state;
    ANSWERS(cuMemAllocPitch(&p, &n, 1ul << 40, SIZE_MAX, 4), CUDA_ERROR_OUT_OF_MEMORY);
    ANSWERS(cuMemAllocPitch(&p, &n, 125352, 1ul << 55, 4), CUDA_ERROR_INVALID_VALUE); /* to nothing at all */
}

static void tokens_make_operations_synchronous(void **state)
{
    CUDA_POINTER_ATTRIBUTE_P2P_TOKENS t;
    CUdeviceptr p;
    unsigned on = 0;
    (void)state;
    CHECK(cuMemAlloc(&p, BYTES));
    CHECK(cuPointerGetAttribute(&t, CU_POINTER_ATTRIBUTE_P2P_TOKENS, p));
    CHECK(cuPointerGetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p));
    assert_int_equal(on, 1);
    CHECK(cuMemFree(p));
}

static void ranges_are_told_of_reservations_and_of_nothing_unknown(void **state)
{
    CUpointer_attribute which[] = { CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE };
    CUdeviceptr base = 7, reserved;
    size_t n = 7;
    void *to[] = { &base, &n };
    (void)state;
    CHECK(cuPointerGetAttributes(2, which, to, (CUdeviceptr)&n));
    assert_true(base == 7 && n == 7);
    CHECK(cuMemAddressReserve(&reserved, 4 << 20, 0, 0, 0));
    CHECK(cuPointerGetAttributes(2, which, to, reserved + 5));
    assert_true(base == reserved && n == 4 << 20);
    CHECK(cuMemAddressFree(reserved, 4 << 20));
}

/* A height of 0 is as many rows as are copied, and those before them. */
static void a_box_without_a_height_is_as_high_as_it_reaches(void **state)
{
    unsigned char from[4][5][8], to[4][2][8] = { 0 };
    CUdeviceptr p;
    (void)state;
    for (unsigned k = 0; k < sizeof from; k++) ((unsigned char *)from)[k] = (unsigned char)k;
    CHECK(cuMemAlloc(&p, BYTES));
    CHECK(cuMemcpyHtoD(p, from, sizeof from));
    const CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                              .srcDevice = p,
                              .srcPitch = 8,
                              .srcY = 3,
                              .dstMemoryType = CU_MEMORYTYPE_HOST,
                              .dstHost = to,
                              .dstPitch = 8,
                              .dstHeight = 2,
                              .WidthInBytes = 8,
                              .Height = 2,
                              .Depth = 4 };
    CHECK(cuMemcpy3D(&c));
    for (int z = 0; z < 4; z++) assert_memory_equal(to[z], from[z][3], sizeof to[z]);
    CHECK(cuMemFree(p));
}

/* Whatever height is told, but not where managed memory is told as the host's. */
static void layers_of_lines_lie_a_pitch_apart(void **state)
{
    enum { LAYERS = 3, HEIGHT = 2 };
    CUDA_ARRAY3D_DESCRIPTOR d = { 1, 0, LAYERS, CU_AD_FORMAT_UNSIGNED_INT8, 1, CUDA_ARRAY3D_LAYERED };
    CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = "abc",
                        .srcPitch = 1,
                        .srcHeight = 1,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .WidthInBytes = 1,
                        .Height = 1,
                        .Depth = LAYERS };
    CUdeviceptr p;
    (void)state;
    CHECK(cuArray3DCreate(&c.dstArray, &d));
    CHECK(cuMemcpy3D(&c));
    CHECK(cuMemAllocManaged(&p, LAYERS * HEIGHT, CU_MEM_ATTACH_GLOBAL));
    CUDA_MEMCPY3D back = { .srcMemoryType = CU_MEMORYTYPE_ARRAY,
                           .srcArray = c.dstArray,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = p,
                           .dstPitch = 1,
                           .dstHeight = HEIGHT,
                           .WidthInBytes = 1,
                           .Height = 1,
                           .Depth = LAYERS };
    CHECK(cuMemsetD8(p, '.', LAYERS * HEIGHT));
    CHECK(cuMemcpy3D(&back));
    assert_memory_equal((void *)p, "abc...", LAYERS * HEIGHT);
    back.dstMemoryType = CU_MEMORYTYPE_HOST;
    back.dstHost = (void *)p;
    CHECK(cuMemsetD8(p, '.', LAYERS * HEIGHT));
    CHECK(cuMemcpy3D(&back));
    assert_memory_equal((void *)p, "a.b.c.", LAYERS * HEIGHT);
    CHECK(cuMemFree(p));
    CHECK(cuArrayDestroy(c.dstArray));
}

/* Textures may be deeper where they are narrower. */
static void surfaces_are_no_deeper_than_they_may_be(void **state)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { 8, 6, 32768, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0 };
    CUarray a;
    (void)state;
    CHECK(cuArray3DCreate(&a, &d));
    CHECK(cuArrayDestroy(a));
    d.Flags = CUDA_ARRAY3D_SURFACE_LDST;
    EXPECT_EQUAL(cuArray3DCreate(&a, &d), CUDA_ERROR_INVALID_VALUE);
}

static void a_peer_copy_without_a_context_is_in_the_current_one(void **state)
{
    CUdeviceptr p, q;
    unsigned v = 5;
    (void)state;
    CHECK(cuMemAlloc(&p, 4));
    CHECK(cuMemAlloc(&q, 4));
    CHECK(cuMemcpyHtoD(p, &v, 4));
    CHECK(cuMemcpyPeer(q, NULL, p, NULL, 4));
    v = 0;
    CHECK(cuMemcpyDtoH(&v, q, 4));
    assert_int_equal(v, 5);
    CHECK(cuMemFree(p));
    CHECK(cuMemFree(q));
}

static void a_batch_tells_of_places_that_there_are(void **state)
{
    CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
    CUdeviceptr to, from;
    size_t n = 64, first = 0;
    CUstream s;
    (void)state;
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&to, n));
    CHECK(cuMemAlloc(&from, n));
    CHECK(cuMemcpyBatchAsync(&to, &from, &n, 1, &how, &first, 1, s));
    how.dstLocHint = (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, 99 };
    ANSWERS(cuMemcpyBatchAsync(&to, &from, &n, 1, &how, &first, 1, s), CUDA_ERROR_INVALID_VALUE);
    how.dstLocHint = (CUmemLocation){ 5, 0 };
    ANSWERS(cuMemcpyBatchAsync(&to, &from, &n, 1, &how, &first, 1, s), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuStreamDestroy(s));
    CHECK(cuMemFree(to));
    CHECK(cuMemFree(from));
}

static void what_is_registered_is_seen_before_what_is_asked(void **state)
{
    char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    ANSWERS(cuMemHostRegister(p, BYTES, CU_MEMHOSTREGISTER_IOMEMORY), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemHostRegister(p, BYTES, 0));
    ANSWERS(cuMemHostRegister(p, BYTES, CU_MEMHOSTREGISTER_IOMEMORY), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    ANSWERS(cuMemHostRegister(p, 1ul << 47, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CHECK(cuMemHostUnregister(p));
    ANSWERS(cuMemHostRegister((void *)0xffff800000000000ul, 4096, 0), CUDA_ERROR_NOT_SUPPORTED);
    munmap(p, BYTES);
}

/* ---- another context */

static void arrays_make_objects_in_their_own_context_only(void **state)
{
    const CUDA_ARRAY3D_DESCRIPTOR d = { 16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0 };
    CUDA_ARRAY3D_DESCRIPTOR seen;
    CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
    const CUDA_TEXTURE_DESC how = { 0 };
    CUcontext other;
    CUtexObject t;
    CUsurfObject s;
    (void)state;
    CHECK(cuArray3DCreate(&r.res.array.hArray, &d));
    CHECK(cuCtxCreate(&other, NULL, 0, 0));
    ANSWERS(cuTexObjectCreate(&t, &r, &how, NULL), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    ANSWERS(cuSurfObjectCreate(&s, &r), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    CHECK(cuCtxDestroy(other));
    CHECK(cuCtxSetCurrent(NULL));
    CHECK(cuArray3DGetDescriptor(&seen, r.res.array.hArray));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuArrayDestroy(r.res.array.hArray));
}

static void variables_of_another_context_are_unknown_and_its_modules_unload(void **state)
{
    CUcontext other;
    CUmodule m;
    CUdeviceptr p, base;
    size_t n;
    (void)state;
    CHECK(cuModuleLoadData(&m, ".version 7.0\n.target sm_52\n.address_size 64\n.visible .global .b8 v[64];\n"));
    CHECK(cuModuleGetGlobal(&p, &n, m, "v"));
    CHECK(cuMemsetD8(p, 1, n));
    CHECK(cuCtxCreate(&other, NULL, 0, 0));
    ANSWERS(cuMemsetD8(p, 1, n), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemGetAddressRange(&base, &n, p), CUDA_ERROR_NOT_FOUND);
    CHECK(cuModuleUnload(m));
    CHECK(cuCtxDestroy(other));
}

static void no_context_at_all_uncovers_the_one_below(void **state)
{
    CUcontext other, seen;
    (void)state;
    CHECK(cuCtxCreate(&other, NULL, 0, 0));
    CHECK(cuCtxSetCurrent(NULL));
    CHECK(cuCtxGetCurrent(&seen));
    assert_ptr_equal(seen, context);
    CHECK(cuCtxDestroy(other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_fail_leave_zeroes),
        cmocka_unit_test(a_pitch_that_wraps_is_too_much),
        cmocka_unit_test(tokens_make_operations_synchronous),
        cmocka_unit_test(ranges_are_told_of_reservations_and_of_nothing_unknown),
        cmocka_unit_test(a_box_without_a_height_is_as_high_as_it_reaches),
        cmocka_unit_test(layers_of_lines_lie_a_pitch_apart),
        cmocka_unit_test(surfaces_are_no_deeper_than_they_may_be),
        cmocka_unit_test(a_peer_copy_without_a_context_is_in_the_current_one),
        cmocka_unit_test(a_batch_tells_of_places_that_there_are),
        cmocka_unit_test(what_is_registered_is_seen_before_what_is_asked),
        cmocka_unit_test(arrays_make_objects_in_their_own_context_only),
        cmocka_unit_test(variables_of_another_context_are_unknown_and_its_modules_unload),
        cmocka_unit_test(no_context_at_all_uncovers_the_one_below),
    };
    context = check_context();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
