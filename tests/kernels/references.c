/* Texture and surface references: what a launch finds there is what was set when it was called. */
#include "../child.h"

#include <stdint.h>

enum { ELEMENTS = 1024, CHANGES = 1200 };

static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                           ".visible .global .texref t;\n.global .surfref s;\n.visible .global .u32 v = 7;\n"
                           ".func get(.param .u64 a) {\n.reg .b64 %d<3>; .reg .b32 %r<9>;\n"
                           "ld.param.u64 %d1, [a]; mov.u64 %d2, t; mov.u32 %r1, 0;\n"
                           "tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d2, {%r1}]; st.u32 [%d1+4], %r2; ret; }\n"
                           ".visible .entry k(.param .u64 o) {\n.reg .b64 %d<3>; .reg .b32 %r<9>;\n"
                           "ld.param.u64 %d1, [o]; mov.u32 %r1, 0;\n"
                           "tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [t, {%r1}]; st.global.u32 [%d1], %r2;\n"
                           "{ .param .u64 a; st.param.u64 [a], %d1; call get, (a); }\n"
                           "ld.global.u32 %r3, [v]; st.global.u32 [%d1+8], %r3; ret; }\n"
                           ".visible .entry store(.param .u64 o) {\n.reg .b64 %d<3>; .reg .b32 %r<9>;\n"
                           "ld.param.u64 %d1, [o]; mov.u32 %r1, 4; mov.u32 %r2, 99;\n"
                           "sust.b.1d.b32.zero [s, {%r1}], {%r2}; suld.b.1d.b32.zero {%r3}, [s, {%r1}];\n"
                           "st.global.u32 [%d1], %r3; ret; }\n";

static CUmodule module;
static CUfunction reads, stores;
static CUtexref texture;
static CUsurfref surface;
static CUdeviceptr memory, out;

static void start(void)
{
    uint32_t numbers[ELEMENTS];
    check_context();
    CHECK(cuModuleLoadData(&module, text));
    CHECK(cuModuleGetFunction(&reads, module, "k"));
    CHECK(cuModuleGetFunction(&stores, module, "store"));
    CHECK(cuModuleGetTexRef(&texture, module, "t"));
    CHECK(cuModuleGetSurfRef(&surface, module, "s"));
    CHECK(cuMemAlloc(&memory, sizeof numbers));
    CHECK(cuMemAlloc(&out, CHANGES * 16));
    for (uint32_t k = 0; k < ELEMENTS; k++) numbers[k] = k;
    CHECK(cuMemcpyHtoD(memory, numbers, sizeof numbers));
    CHECK(cuTexRefSetFlags(texture, CU_TRSF_READ_AS_INTEGER));
    CHECK(cuTexRefSetFormat(texture, CU_AD_FORMAT_UNSIGNED_INT32, 1));
}

static void launch(CUfunction f, CUdeviceptr to, CUstream stream)
{
    CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){ &to }, NULL));
}

/* From this element on, which is where memory of textures may begin. */
static void refer(unsigned element)
{
    size_t offset;
    CHECK(cuTexRefSetAddress(&offset, texture, memory + element * 4, 512));
    EXPECT_EQUAL(offset, 0);
}

static uint32_t element(unsigned of)
{
    uint32_t v;
    CHECK(cuMemcpyDtoH(&v, out + of * 4, 4));
    return v;
}

static void what_is_not_set_reads_as_zeros(void)
{
    CHECK(cuMemsetD32(out, 55, 4));
    launch(reads, out, NULL);
    EXPECT_EQUAL(element(0), 0);
    EXPECT_EQUAL(element(1), 0);
    EXPECT_EQUAL(element(2), 7);
    launch(stores, out, NULL);
    EXPECT_EQUAL(element(0), 0);
}

static void a_launch_reads_what_was_set_when_it_was_called(void)
{
    CUstream stream;
    CUdeviceptr flag;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&flag, 4));
    CHECK(cuMemsetD32(flag, 0, 1));
    CHECK(cuStreamWaitValue32(stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    for (unsigned k = 0; k < 3; k++) {
        refer(k * 128);
        launch(reads, out + k * 16, stream);
    }
    refer(512);
    CHECK(cuMemsetD32Async(flag, 1, 1, CU_STREAM_PER_THREAD));
    CHECK(cuStreamSynchronize(stream));
    for (unsigned k = 0; k < 3; k++) {
        EXPECT_EQUAL(element(k * 4), k * 128);
        EXPECT_EQUAL(element(k * 4 + 1), k * 128);
    }
}

static void references_are_changed_very_often(void)
{
    for (unsigned k = 0; k < CHANGES; k++) {
        refer(k % 8 * 128);
        launch(reads, out + k * 16, NULL);
    }
    for (unsigned k = 0; k < CHANGES; k++) EXPECT_EQUAL(element(k * 4), k % 8 * 128);
}

/* More than the tables of references hold, and the launches are what ends the wait. */
static void launches_do_not_wait_for_other_streams_however_often_references_change(void)
{
    CUstream stream[2];
    uint32_t *flag;
    CHECK(cuMemAllocHost((void **)&flag, 4));
    *flag = 0;
    for (unsigned k = 0; k < 2; k++) CHECK(cuStreamCreate(&stream[k], CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamWaitValue32(stream[0], (CUdeviceptr)flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    for (unsigned k = 0; k < CHANGES; k++) {
        refer(k % 8 * 128);
        launch(reads, out + k * 16, stream[k % 2]);
    }
    CHECK(cuStreamSynchronize(stream[1]));
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
    CHECK(cuStreamSynchronize(stream[0]));
    for (unsigned k = 0; k < CHANGES; k++) EXPECT_EQUAL(element(k * 4), k % 8 * 128);
}

static void an_array_that_is_gone_is_none(void)
{
    const CUDA_ARRAY3D_DESCRIPTOR d = { 16, 0, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST };
    CUarray a, told = NULL;
    CHECK(cuArray3DCreate(&a, &d));
    CHECK(cuSurfRefSetArray(surface, a, 0));
    launch(stores, out, NULL);
    EXPECT_EQUAL(element(0), 99);
    CHECK(cuSurfRefGetArray(&told, surface));
    EXPECT(told == a);
    CHECK(cuArrayDestroy(a));
    EXPECT_EQUAL(cuSurfRefGetArray(&told, surface), CUDA_ERROR_INVALID_VALUE);
    launch(stores, out, NULL);
    EXPECT_EQUAL(element(0), 0);
}

static void handles_of_references_end(void)
{
    CUtexref own;
    CHECK(cuTexRefCreate(&own));
    CHECK(cuTexRefSetFlags(own, 0));
    CHECK(cuTexRefDestroy(own));
    EXPECT_EQUAL(cuTexRefSetFlags(own, 0), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQUAL(cuTexRefSetFlags((CUtexref)surface, 0), CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuModuleUnload(module));
    EXPECT_EQUAL(cuTexRefSetFlags(texture, 0), CUDA_ERROR_INVALID_HANDLE);
}

/* What whole numbers would read there is not known. */
static void arrays_are_read_at_fractions_only(void)
{
    const CUDA_ARRAY3D_DESCRIPTOR d = { 16, 0, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0 };
    CUarray a;
    CHECK(cuArray3DCreate(&a, &d));
    CHECK(cuTexRefSetArray(texture, a, CU_TRSA_OVERRIDE_FORMAT));
    launch(reads, out, NULL);
    EXPECT_EQUAL(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, what_is_not_set_reads_as_zeros),    ALONE(start, a_launch_reads_what_was_set_when_it_was_called),
        ALONE(start, references_are_changed_very_often), ALONE(start, an_array_that_is_gone_is_none),
        ALONE(start, launches_do_not_wait_for_other_streams_however_often_references_change),
        ALONE(start, handles_of_references_end),         ALONE(start, arrays_are_read_at_fractions_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
