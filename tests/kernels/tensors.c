/* Copies of tensors: what boxes of all kinds bring to shared memory and take
 * from there, against the same element by element on the CPU. */
#include "tensors.h"

static void boxes_come_as_they_are_told(void)
{
    const struct tensor tensors[] = {
        { CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, { 1000 }, { 1 }, { 256 }, { 1 }, 0, 0, { 16 } },
        { CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, { 100, 50 }, { 4, 416 }, { 32, 16 }, { 1, 1 }, 0, 0, { 4, 7 } },
        { CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
          3,
          { 64, 20, 9 },
          { 2, 128, 2560 },
          { 40, 5, 3 },
          { 1, 1, 1 },
          0,
          0,
          { 8, 2, 1 } },
        { CU_TENSOR_MAP_DATA_TYPE_INT64,
          4,
          { 8, 6, 5, 4 },
          { 8, 64, 400, 2000 },
          { 4, 3, 2, 4 },
          { 1, 1, 1, 1 },
          0,
          0,
          { 2, 2, 3, 0 } },
        { CU_TENSOR_MAP_DATA_TYPE_UINT16,
          5,
          { 16, 4, 4, 4, 4 },
          { 2, 32, 128, 512, 2048 },
          { 8, 2, 3, 2, 4 },
          { 1, 1, 1, 1, 1 },
          0,
          0,
          { 8, 1, 0, 2, 0 } },
    };
    for (unsigned k = 0; k < sizeof tensors / sizeof *tensors; k++) load(&tensors[k]);
}

static void boxes_are_swizzled(void)
{
    for (unsigned s = 1; s < 4; s++)
        for (unsigned part = 0; part < 2; part++) {
            struct tensor x = { CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                                2,
                                { 256, 200 },
                                { 2, 512 },
                                { (8u << s) >> part, 72 },
                                { 1, 1 },
                                (CUtensorMapSwizzle)s,
                                0,
                                { 40, 100 } };
            load(&x);
        }
}

static void what_is_outside_of_the_tensor_is_filled(void)
{
    static const int at[][2] = {
        { -16, -3 }, { 48, 40 }, { 16, -20 }, { -64, 0 }, { 96, 0 }, { 0, 1 << 30 }, { -16, 49 }
    };
    for (unsigned k = 0; k < sizeof at / sizeof *at; k++)
        for (unsigned fill = 0; fill < 2; fill++) {
            struct tensor x = { fill ? CU_TENSOR_MAP_DATA_TYPE_FLOAT64 : CU_TENSOR_MAP_DATA_TYPE_UINT32,
                                2,
                                { 65, 50 },
                                { 0, 1040 },
                                { 16, 12 },
                                { 1, 1 },
                                0,
                                (CUtensorMapFloatOOBfill)fill,
                                { at[k][0], at[k][1] } };
            load(&x);
            x.type = fill ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_UINT8;
            x.swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
            load(&x);
        }
}

static void elements_are_left_out(void)
{
    for (unsigned step = 2; step < 9; step += 3) {
        struct tensor x = { CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                            3,
                            { 16, 40, 30 },
                            { 4, 64, 2560 },
                            { 16, 17, 9 },
                            { 1, step, 2 },
                            0,
                            0,
                            { 0, 30, -3 } };
        load(&x);
    }
}

static void long_floats_are_rounded_on_their_way(void)
{
    static const uint32_t in[8] = { 1,          0x80000001, 0x3f800fff, 0x3f801000,
                                    0x7f7fffff, 0x00400000, 0xbf803000, 0x7f800001 };
    static const struct {
        CUtensorMapDataType type;
        uint32_t out[8];
    } cases[] = {
        { CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
          { 1, 0x80000001, 0x3f800fff, 0x3f801000, 0x7f7fffff, 0x00400000, 0xbf803000, 0x7f800001 } },
        { CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
          { 0, 0x80000000, 0x3f800000, 0x3f800000, 0x7f800000, 0x00400000, 0xbf804000, 0x7fffe000 } },
    };
    for (unsigned k = 0; k < 2; k++) {
        struct tensor x = { cases[k].type, 1, { 8 }, { 4 }, { 8 }, { 1 }, 0, 0, { 0 } };
        CUtensorMap m;
        unsigned expected = 32;
        CHECK(cuMemcpyHtoD(memory, in, sizeof in));
        CHECK(encode(&m, &x));
        CHECK(cuMemcpyHtoD(shared_copy + SHARED, &expected, 4));
        launch(loader(1), &m, x.at);
        CHECK(cuMemcpyDtoH(in_shared, shared_copy, sizeof in_shared));
        for (unsigned n = 0; n < 8; n++) EXPECT_EQUAL(((uint32_t *)in_shared)[n], cases[k].out[n]);
    }
}

/* ---- to global memory */

static void store(const struct tensor *x, const char *reduction, void (*combine)(void *, const void *))
{
    static uint8_t expected[TENSOR], is[TENSOR];
    CUtensorMap m;
    for (unsigned k = 0; k < SHARED; k++) in_shared[k] = (uint8_t)(k * 11 + k / 256);
    memcpy(expected, bytes, sizeof expected);
    for (unsigned n = 0; n < elements(x); n++) {
        struct tensor y = *x;
        unsigned per = 16 / size_of(x->type);
        y.dims[0] = (y.dims[0] + per - 1) / per * per; /* chunks of 16 bytes are stored, or not */
        int64_t to = source(&y, n);
        if (to >= 0) combine(expected + to, in_shared + place(x, n));
    }
    CHECK(encode(&m, x));
    CHECK(cuMemcpyHtoD(memory, bytes, sizeof bytes));
    CHECK(cuMemcpyHtoD(shared_copy, in_shared, SHARED));
    launch(storer(x->rank, reduction), &m, (int *)x->at);
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(is, memory, sizeof is));
    EXPECT(!memcmp(is, expected, sizeof is));
}

static void set_16(void *to, const void *from) { memcpy(to, from, 2); }
static void set_32(void *to, const void *from) { memcpy(to, from, 4); }
static void add_32(void *to, const void *from) { *(uint32_t *)to += *(const uint32_t *)from; }
static void most_32(void *to, const void *from)
{
    if (*(const int32_t *)from > *(int32_t *)to) memcpy(to, from, 4);
}
static void or_64(void *to, const void *from) { *(uint64_t *)to |= *(const uint64_t *)from; }

static void boxes_are_stored_within_the_tensor(void)
{
    struct tensor x = {
        CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, { 100, 50 }, { 4, 416 }, { 32, 16 }, { 1, 1 }, 0, 0, { 80, 40 }
    };
    store(&x, "", set_32);
    x.dims[0] = 98;
    store(&x, "", set_32);
    x.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    x.at[0] = 8;
    store(&x, "", set_32);
    struct tensor y = { CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                        5,
                        { 16, 4, 4, 4, 4 },
                        { 2, 32, 128, 512, 2048 },
                        { 8, 2, 3, 2, 4 },
                        { 1, 1, 1, 1, 1 },
                        1,
                        0,
                        { 8, 3, 0, 3, 0 } };
    store(&y, "", set_16);
}

static void boxes_are_added_and_compared(void)
{
    struct tensor x = {
        CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, { 100, 50 }, { 4, 416 }, { 32, 16 }, { 1, 1 }, 3, 0, { 80, 40 }
    };
    store(&x, ".add", add_32);
    x.dims[0] = 98;
    store(&x, ".add", add_32);
    x.type = CU_TENSOR_MAP_DATA_TYPE_INT32;
    store(&x, ".max", most_32);
    x.type = CU_TENSOR_MAP_DATA_TYPE_UINT64;
    x.box[0] = 16;
    x.dims[0] = 50;
    x.at[0] = 40;
    store(&x, ".or", or_64);
}

/* ---- clusters */

static void a_box_goes_to_several_blocks_of_a_cluster(void)
{
    enum { BLOCKS = 4 };
    struct tensor x = { CU_TENSOR_MAP_DATA_TYPE_UINT32, 1, { 4096 }, { 4 }, { 64 }, { 1 }, 0, 0, { 100 } };
    CUtensorMap m;
    uint32_t out[BLOCKS * 2];
    CHECK(encode(&m, &x));
    CUfunction f =
        compiled("%s.reg .b32 $rank;\nmov.u32 $rank, $cluster_ctarank;\n"
                 "@$p0 mbarrier.init.shared::cta.b64 [$r2], 1;\n"
                 "fence.mbarrier_init.release.cluster;\nst.shared.b32 [$r1+4], 7;\nst.shared.b32 [$r1+1028], 7;\n"
                 "setp.ne.u32 $p3, $rank, 2;\nmov.u32 $r6, 256;\nselp.u32 $r6, $r6, 0, $p3;\n"
                 "setp.eq.u32 $p4, $rank, 1;\nselp.u32 $r7, 512, $r6, $p4;\n"
                 "@$p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$r2], $r7;\n"
                 "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
                 "@!$p0 bra WAIT;\nmov.b16 $h0, 11;\nmov.b16 $h1, 2;\nadd.u64 $d5, $d2, 65536;\n"
                 "setp.eq.u32 $p5, $rank, 3;\n"
                 "@$p5 cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster.L2::cache_hint [$r1], [$d1, {$r10}], [$r2], $h0, $d2;\n"
                 "add.u32 $r8, $r1, 1024;\n"
                 "@$p5 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [$r8], [$d5], 256, [$r2], $h1;\n%s"
                 "mul.wide.u32 $d6, $rank, 8;\nadd.u64 $d6, $d2, $d6;\nld.shared.b32 $r9, [$r1+4];\n"
                 "@$p0 st.global.b32 [$d6], $r9;\nld.shared.b32 $r9, [$r1+1028];\n@$p0 st.global.b32 [$d6+4], $r9;\n"
                 "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nret;\n}\n",
                 dollars(HEAD), dollars(WAIT));
    CUlaunchAttribute attribute = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = { BLOCKS, 1, 1 } };
    CUlaunchConfig config = { .gridDimX = BLOCKS,
                              .gridDimY = 1,
                              .gridDimZ = 1,
                              .blockDimX = THREADS,
                              .blockDimY = 1,
                              .blockDimZ = 1,
                              .sharedMemBytes = 4096,
                              .attrs = &attribute,
                              .numAttrs = 1 };
    CHECK(cuMemsetD32(shared_copy + SHARED, 55, 256));
    CHECK(cuLaunchKernelEx(&config, f, (void *[]){ &m, x.at, &shared_copy }, NULL));
    CHECK(cuMemcpyDtoH(out, shared_copy, sizeof out));
    for (unsigned k = 0; k < BLOCKS; k++) {
        EXPECT_EQUAL(out[2 * k], k == 2 ? 7 : ((uint32_t *)bytes)[101]);
        EXPECT_EQUAL(out[2 * k + 1], k == 1 ? 55 : 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, boxes_come_as_they_are_told),
        ALONE(start, boxes_are_swizzled),
        ALONE(start, what_is_outside_of_the_tensor_is_filled),
        ALONE(start, elements_are_left_out),
        ALONE(start, long_floats_are_rounded_on_their_way),
        ALONE(start, boxes_are_stored_within_the_tensor),
        ALONE(start, boxes_are_added_and_compared),
        ALONE(start, a_box_goes_to_several_blocks_of_a_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
