/* Maps of tensors that kernels change and make, maps that cannot be, and reductions
 * of memory by the same engine. */
#include "tensors.h"
#include "../../src/ptx/tensor_map.h"

/* ---- reductions of memory */

static void memory_is_reduced(void)
{
    uint32_t in[8] = { 1, 2, 3, 4, 0xffffffff, 6, 7, 8 }, out[8];
    float halves;
    CUfunction f =
        compiled("%s%sfence.proxy.async;\nbar.sync 0;\n@!$p0 bra END;\nadd.u64 $d5, $d2, 65536;\n"
                 "@$p0 mbarrier.init.shared::cta.b64 [$r2], 1;\n"
                 "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [$d5], [$r1], 16;\n"
                 "add.u64 $d6, $d5, 16;\nadd.u32 $r5, $r1, 16;\n"
                 "cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.u32 [$d6], [$r5], 16;\n"
                 "add.u64 $d6, $d5, 32;\nadd.u32 $r5, $r1, 32;\n"
                 "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [$d6], [$r5], 16;\n"
                 "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n"
                 "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.s32 [$r1], 100, [$r2];\n"
                 "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$r2], 4;\n%s"
                 "ld.shared.b32 $r9, [$r1];\nst.global.b32 [$d5+48], $r9;\nEND:\nret;\n}\n",
                 dollars(HEAD), dollars(TO_SHARED), dollars(WAIT));
    CUtensorMap m = { 0 };
    int at[RANK] = { 0 };
    uint16_t half_in[8] = { 0x3c00, 0x4000 }, half_out[8];
    CHECK(cuMemcpyHtoD(shared_copy, in, sizeof in));
    CHECK(cuMemcpyHtoD(shared_copy + 32, half_in, sizeof half_in));
    CHECK(cuMemcpyHtoD(shared_copy + SHARED, (uint32_t[]){ 10, 20, 30, 0xffffffff, 5, 6, 6, 0xffffffff }, 32));
    CHECK(cuMemcpyHtoD(shared_copy + SHARED + 32, half_in, sizeof half_in));
    launch(f, &m, at);
    CHECK(cuMemcpyDtoH(out, shared_copy + SHARED, sizeof out));
    static const uint32_t want[] = { 11, 22, 33, 3, 6, 0, 7, 0 };
    for (unsigned k = 0; k < 8; k++) EXPECT_EQUAL(out[k], want[k]);
    CHECK(cuMemcpyDtoH(half_out, shared_copy + SHARED + 32, sizeof half_out));
    EXPECT_EQUAL(half_out[0], 0x4000);
    EXPECT_EQUAL(half_out[1], 0x4400);
    CHECK(cuMemcpyDtoH(&halves, shared_copy + SHARED + 48, 4));
    EXPECT_EQUAL(*(uint32_t *)&halves, 100);
}

/* ---- maps */

static void changed_by_a_kernel(bool made_of_zeros)
{
    struct tensor
        x = { CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, { 64, 64 }, { 4, 256 }, { 16, 4 }, { 1, 1 }, 0, 0, { 2, 1 } },
        y = { CU_TENSOR_MAP_DATA_TYPE_UINT16,
              3,
              { 60, 50, 9 },
              { 2, 128, 6400 },
              { 32, 6, 3 },
              { 1, 1, 2 },
              2,
              0,
              { 32, 3, 1 } };
    CUtensorMap m;
    unsigned expected = elements(&y) * 2;
    CHECK(encode(&m, &x));
    if (made_of_zeros) memset(&m, 0, sizeof m);
    CUfunction f = compiled(
        "%s%s@$p0 mbarrier.init.shared::cta.b64 [$r2], 1;\nbar.sync 0;\nadd.u32 $r20, $r1, 32768;\nadd.u64 $d10, $d2, "
        "131072;\n"
        "ld.global.b64 $d11, [$d2+65544];\n@!$p0 bra DONE;\nmov.u32 $r21, 0;\n"
        "MAP:\ncvt.u64.u32 $d12, $r21;\nadd.u64 $d13, $d1, $d12;\nld.b64 $d14, [$d13];\nadd.u32 $r22, $r20, $r21;\n"
        "st.shared.b64 [$r22], $d14;\nadd.u32 $r21, $r21, 8;\nsetp.lt.u32 $p1, $r21, 128;\n@$p1 bra MAP;\n"
        "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [$r20], $d11;\n"
        "tensormap.replace.tile.rank.shared::cta.b1024.b32 [$r20], 2;\n"
        "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [$r20], 1;\n"
        "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [$r20], 2;\n"
        "tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [$r20], 0;\n"
        "tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [$r20], 0;\n"
        "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [$r20], 0, 60;\n"
        "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [$r20], 1, 50;\n"
        "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [$r20], 2, 9;\n"
        "mov.u64 $d12, 128;\ntensormap.replace.tile.global_stride.shared::cta.b1024.b64 [$r20], 0, $d12;\n"
        "mov.u64 $d12, 6400;\ntensormap.replace.tile.global_stride.shared::cta.b1024.b64 [$r20], 1, $d12;\n"
        "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [$r20], 0, 32;\n"
        "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [$r20], 1, 6;\n"
        "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [$r20], 2, 3;\n"
        "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [$r20], 0, 1;\n"
        "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [$r20], 1, 1;\n"
        "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [$r20], 2, 2;\n"
        "DONE:\nbar.warp.sync -1;\n"
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [$d10], [$r20], 128;\n"
        "fence.proxy.tensormap::generic.acquire.gpu [$d10], 128;\n@!$p0 bra WAIT;\n"
        "cp.async.bulk.prefetch.tensor.3d.L2.global.tile [$d10, {$r10, $r11, $r12}];\n"
        "cp.async.bulk.tensor.3d.shared::cta.global.tile.mbarrier::complete_tx::bytes [$r1], [$d10, {$r10, $r11, "
        "$r12}], [$r2];\n"
        "ld.global.b32 $r6, [$d2+65536];\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [$r2], $r6;\n%s%sret;\n}\n",
        dollars(HEAD), dollars(TO_SHARED), dollars(WAIT), dollars(FROM_SHARED));
    CHECK(cuMemsetD8(shared_copy, 0, SHARED));
    CHECK(cuMemcpyHtoD(shared_copy + SHARED, &expected, 4));
    CHECK(cuMemcpyHtoD(shared_copy + SHARED + 8, &memory, 8));
    launch(f, &m, y.at);
    CHECK(cuMemcpyDtoH(in_shared, shared_copy, sizeof in_shared));
    for (unsigned n = 0; n < elements(&y); n++) {
        uint16_t want = 0, is;
        if (source(&y, n) >= 0) memcpy(&want, bytes + source(&y, n), 2);
        memcpy(&is, in_shared + place(&y, n), 2);
        EXPECT_EQUAL(is, want);
    }
}

static void kernels_change_maps_and_make_them(void)
{
    changed_by_a_kernel(false);
    changed_by_a_kernel(true);
}

/* As LLVM has it with short pointers. */
static void parameters_have_addresses_of_32_bits(void)
{
    static const char wide[] = "mov.b64 $d0, map;", narrow[] = "mov.b32 $r31, map;\ncvt.u64.u32 $d0, $r31;";
    struct tensor x = { CU_TENSOR_MAP_DATA_TYPE_UINT32, 1, { 64 }, { 4 }, { 16 }, { 1 }, 0, 0, { 4 } };
    CUtensorMap m;
    uint32_t first, own;
    const char *head = dollars(HEAD), *at = strstr(head, wide);
    CHECK(encode(&m, &x));
    CUfunction f = compiled("%.*s%s%s"
                            "@$p0 mbarrier.init.shared::cta.b64 [$r2], 1;\nbar.sync 0;\n@!$p0 bra END;\n"
                            "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes"
                            " [$r1], [$d1, {$r10}], [$r2];\n"
                            "mov.b32 $r30, at;\nld.param.b32 $r29, [$r30];\nst.global.b32 [$d2+4], $r29;\n"
                            "ld.shared.b32 $r5, [$r1];\nst.global.b32 [$d2], $r5;\nEND:\nret;\n}\n",
                            (int)(at - head), head, narrow, at + strlen(wide));
    launch(f, &m, x.at);
    CHECK(cuMemcpyDtoH(&first, shared_copy, 4));
    CHECK(cuMemcpyDtoH(&own, shared_copy + 4, 4));
    EXPECT_EQUAL(first, ((uint32_t *)bytes)[4]);
    EXPECT_EQUAL(own, 4);
}

static void maps_that_cannot_be_are_refused(void)
{
    const struct tensor good = {
        CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3, { 100, 50, 20 }, { 2, 256, 12800 }, { 64, 16, 2 }, { 1, 1, 1 }, 3, 0, { 0 }
    };
    CUtensorMap m, was;
    CHECK(encode(&m, &good));
    was = m;
#define REFUSED(change) \
    do { \
        struct tensor x = good; \
        x.change; \
        EXPECT_EQUAL(encode(&m, &x), CUDA_ERROR_INVALID_VALUE); \
    } while (0)
    REFUSED(rank = 0);
    REFUSED(rank = 6);
    REFUSED(type = (CUtensorMapDataType)99);
    REFUSED(dims[1] = 0);
    REFUSED(dims[2] = (1ull << 32) + 1);
    REFUSED(strides[1] = 264);
    REFUSED(strides[2] = 1ull << 40);
    REFUSED(box[0] = 72); /* more than 128 bytes */
    REFUSED(box[0] = 60); /* no multiple of 16 bytes */
    REFUSED(box[1] = 0);
    REFUSED(box[2] = 257);
    REFUSED(box[1] = 256; x.box[2] = 8); /* 256 KiB */
    REFUSED(steps[1] = 0);
    REFUSED(steps[1] = 9);
    REFUSED(swizzle = (CUtensorMapSwizzle)77);
    REFUSED(fill = (CUtensorMapFloatOOBfill)2);
    EXPECT(!memcmp(&m, &was, sizeof m));
    EXPECT_EQUAL(cuTensorMapReplaceAddress(&m, (void *)(memory + 8)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQUAL(cuTensorMapReplaceAddress(NULL, (void *)memory), CUDA_ERROR_INVALID_VALUE);
    EXPECT(!memcmp(&m, &was, sizeof m));
    CHECK(cuTensorMapReplaceAddress(&m, (void *)(memory + 4096)));
    struct tensor x = good;
    CUtensorMap other;
    memory += 4096;
    CHECK(encode(&other, &x));
    EXPECT(!memcmp(&m, &other, sizeof m));
}

static void what_is_no_map_ends_the_kernel(void)
{
    CUtensorMap m = { 0 };
    int at[RANK] = { 0 };
    launch(loader(2), &m, at);
    EXPECT_EQUAL(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

/* Observed on an H200. */
static void boxes_that_begin_where_none_can_end_the_kernel(void)
{
    struct tensor x = {
        CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, { 64, 64 }, { 4, 256 }, { 16, 4 }, { 1, 1 }, 0, 0, { 2, 0 }
    };
    CUtensorMap m;
    CHECK(encode(&m, &x));
    launch(loader(2), &m, x.at);
    EXPECT_EQUAL(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

/* So large that 32 bits do not count its rows. */
static void boxes_that_only_a_kernel_could_make_end_it(void)
{
    struct tensor x = { CU_TENSOR_MAP_DATA_TYPE_UINT8,
                        5,
                        { 256, 256, 256, 256, 256 },
                        { 1, 256, 256, 256, 256 },
                        { 16, 1, 1, 1, 1 },
                        { 1, 1, 1, 1, 1 },
                        0,
                        0,
                        { 0 } };
    struct fl_tensor_map changed;
    CUtensorMap m;
    CHECK(encode(&m, &x));
    memcpy(&changed, &m, sizeof changed);
    for (unsigned d = 0; d < RANK; d++) changed.box[d] = FL_TENSOR_BOX;
    memcpy(&m, &changed, sizeof changed);
    launch(loader(5), &m, x.at);
    EXPECT_EQUAL(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

static void tensors_that_are_not_there_end_the_kernel(void)
{
    struct tensor x = {
        CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, { 64, 1 << 20 }, { 4, 256 }, { 16, 4 }, { 1, 1 }, 0, 0, { 0, 1 << 19 }
    };
    CUtensorMap m;
    CHECK(encode(&m, &x));
    launch(loader(2), &m, x.at);
    EXPECT_EQUAL(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, memory_is_reduced),
        ALONE(start, kernels_change_maps_and_make_them),
        ALONE(start, parameters_have_addresses_of_32_bits),
        ALONE(start, maps_that_cannot_be_are_refused),
        ALONE(start, what_is_no_map_ends_the_kernel),
        ALONE(start, boxes_that_begin_where_none_can_end_the_kernel),
        ALONE(start, boxes_that_only_a_kernel_could_make_end_it),
        ALONE(start, tensors_that_are_not_there_end_the_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
