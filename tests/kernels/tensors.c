/* Copies of tensors: what boxes of all kinds bring to shared memory and take
 * from there, against the same element by element on the CPU. */
#include "../child.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { RANK = 5, SHARED = 64 << 10, TENSOR = 1 << 20, THREADS = 32 };

struct tensor {
    CUtensorMapDataType type;
    unsigned rank;
    cuuint64_t dims[RANK], strides[RANK]; /* strides[0]: of an element */
    cuuint32_t box[RANK], steps[RANK];
    CUtensorMapSwizzle swizzle;
    CUtensorMapFloatOOBfill fill;
    int at[RANK];
};

static CUdeviceptr memory, shared_copy;
static uint8_t bytes[TENSOR], in_shared[SHARED], wanted[SHARED];

static void start(void)
{
    CUcontext c;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&c, 0));
    CHECK(cuCtxSetCurrent(c));
    CHECK(cuMemAlloc(&memory, TENSOR));
    CHECK(cuMemAlloc(&shared_copy, SHARED * 4));
    for (size_t k = 0; k < sizeof bytes; k++) bytes[k] = (uint8_t)(k * 37 + k / 251);
    CHECK(cuMemcpyHtoD(memory, bytes, sizeof bytes));
}

static CUresult encode(CUtensorMap *m, const struct tensor *x)
{
    return cuTensorMapEncodeTiled(m, x->type, x->rank, (void *)memory, x->dims, x->strides + 1, x->box, x->steps,
                                  CU_TENSOR_MAP_INTERLEAVE_NONE, x->swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, x->fill);
}

/* ---- kernels: one thread copies a box, all threads bring shared memory to or from global memory */

#define HEAD \
    ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 s[];\n" \
    ".visible .entry k(.param .align 64 .b8 map[128], .param .align 4 .b8 at[20], .param .u64 out)\n{\n" \
    ".reg .b32 %r<32>; .reg .b64 %d<16>; .reg .pred %p<8>; .reg .b16 %h<4>;\n" \
    ".shared .align 8 .b64 bar;\n" \
    "mov.b64 %d0, map;\ncvta.param.u64 %d1, %d0;\nld.param.u64 %d2, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, s;\n" \
    "mov.u32 %r2, bar;\nld.param.b32 %r10, [at];\nld.param.b32 %r11, [at+4];\nld.param.b32 %r12, [at+8];\n" \
    "ld.param.b32 %r13, [at+12];\nld.param.b32 %r14, [at+16];\nsetp.eq.u32 %p0, %r0, 0;\n"

/* Between shared memory and `out`, 64 KiB. */
#define ALL_SHARED(which, access) \
    "mul.lo.u32 %r3, %r0, 8;\n" which \
    ":\ncvt.u64.u32 %d3, %r3;\nadd.u64 %d3, %d2, %d3;\nadd.u32 %r4, %r1, %r3;\n" access \
    "add.u32 %r3, %r3, 256;\nsetp.lt.u32 %p1, %r3, 65536;\n@%p1 bra " which ";\n"
#define TO_SHARED ALL_SHARED("IN", "ld.global.b64 %d4, [%d3];\nst.shared.b64 [%r4], %d4;\n")
#define FROM_SHARED ALL_SHARED("OUT", "ld.shared.b64 %d4, [%r4];\nst.global.b64 [%d3], %d4;\n")
#define WAIT "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;\n@!%p2 bra WAIT;\n"

static const char *const coordinates[] = { "{%r10}", "{%r10, %r11}", "{%r10, %r11, %r12}", "{%r10, %r11, %r12, %r13}",
                                           "{%r10, %r11, %r12, %r13, %r14}" };

static CUfunction compiled(const char *format, ...) __attribute__((format(printf, 1, 2)));
static CUfunction compiled(const char *format, ...)
{
    static char ptx[16384], log[2048];
    CUmodule m;
    CUfunction f;
    va_list list;
    va_start(list, format);
    vsnprintf(ptx, sizeof ptx, format, list);
    va_end(list);
    for (char *c; (c = strchr(ptx, '$'));) *c = '%';
    CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    log[0] = 0;
    CUresult r = cuModuleLoadDataEx(&m, ptx, 2, options, (void *[]){ log, (void *)sizeof log });
    if (r) printf("%s\n", log);
    CHECK(r);
    CHECK(cuModuleGetFunction(&f, m, "k"));
    CHECK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, SHARED));
    return f;
}

static void launch(CUfunction f, CUtensorMap *m, int *at)
{
    CHECK(cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, SHARED, NULL, (void *[]){ m, at, &shared_copy }, NULL));
}

/* The kernel's text, with $ for %. */
static const char *dollars(const char *text)
{
    static char room[8][8192];
    static unsigned next;
    char *to = room[next++ % 8];
    snprintf(to, sizeof room[0], "%s", text);
    for (char *c; (c = strchr(to, '%'));) *c = '$';
    return to;
}

static CUfunction loader(unsigned rank)
{
    return compiled(
        "%s%s"
        "@$p0 mbarrier.init.shared::cta.b64 [$r2], 1;\nbar.sync 0;\n@!$p0 bra WAIT;\n"
        "ld.param.b32 $r5, [at];\n"
        "cp.async.bulk.tensor.%ud.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        " [$r1], [$d1, %s], [$r2];\n"
        "ld.global.b32 $r6, [$d2+65536];\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [$r2], $r6;\n%s%sret;\n}\n",
        dollars(HEAD), dollars(TO_SHARED), rank, dollars(coordinates[rank - 1]), dollars(WAIT), dollars(FROM_SHARED));
}

static CUfunction storer(unsigned rank, const char *reduction)
{
    return compiled("%s%sfence.proxy.async.shared::cta;\nbar.sync 0;\n@!$p0 bra END;\n"
                    "cp%s.async.bulk.tensor.%ud.global.shared::cta%s.tile.bulk_group [$d1, %s], [$r1];\n"
                    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nEND:\nret;\n}\n",
                    dollars(HEAD), dollars(TO_SHARED), *reduction ? ".reduce" : "", rank, reduction,
                    dollars(coordinates[rank - 1]));
}

/* ---- the same on the CPU */

static unsigned size_of(CUtensorMapDataType t)
{
    static const uint8_t sizes[] = { 1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4 };
    return sizes[t];
}

static unsigned count(const struct tensor *x, unsigned d)
{
    return d ? (x->box[d] + x->steps[d] - 1) / x->steps[d] : x->box[0];
}

static unsigned elements(const struct tensor *x)
{
    unsigned n = 1;
    for (unsigned d = 0; d < x->rank; d++) n *= count(x, d);
    return n;
}

/* Where the n-th element of the box is in shared memory. */
static unsigned place(const struct tensor *x, unsigned n)
{
    static const unsigned rows[] = { 1, 2, 4, 8 };
    unsigned in_row = n % x->box[0] * size_of(x->type),
             width = x->swizzle ? 16u << x->swizzle : x->box[0] * size_of(x->type);
    unsigned at = n / x->box[0] * width + in_row, chunk = at / 16 % 8, line = at / 128, mask = rows[x->swizzle] - 1;
    return line * 128 + (chunk ^ (line & mask)) * 16 + at % 16;
}

/* Where it is in the tensor, -1: outside. */
static int64_t source(const struct tensor *x, unsigned n)
{
    int64_t at = 0;
    for (unsigned d = 0; d < x->rank; d++) {
        int64_t k = x->at[d] + (int64_t)(n % count(x, d)) * (d ? x->steps[d] : 1);
        n /= count(x, d);
        if (k < 0 || k >= (int64_t)x->dims[d]) return -1;
        at += k * (int64_t)(d ? x->strides[d] : size_of(x->type));
    }
    return at;
}

static void load(const struct tensor *x)
{
    CUtensorMap m;
    unsigned each = size_of(x->type), expected = elements(x) * each;
    static const uint8_t nan[8] = { 0xf7, 0x7f, 0xf7, 0x7f, 0xf7, 0x7f, 0xf7, 0x7f };
    memset(wanted, 0xee, sizeof wanted);
    for (unsigned n = 0; n < elements(x); n++) {
        int64_t from = source(x, n);
        if (from >= 0)
            memcpy(wanted + place(x, n), bytes + from, each);
        else if (x->fill)
            memcpy(wanted + place(x, n), nan, each);
        else
            memset(wanted + place(x, n), 0, each);
    }
    CHECK(encode(&m, x));
    CHECK(cuMemsetD8(shared_copy, 0xee, SHARED));
    CHECK(cuMemcpyHtoD(shared_copy + SHARED, &expected, 4));
    launch(loader(x->rank), &m, (int *)x->at);
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(in_shared, shared_copy, sizeof in_shared));
    unsigned wrong = 0;
    for (unsigned k = 0; k < SHARED; k++) wrong += in_shared[k] != wanted[k];
    EXPECT_EQUAL(wrong, 0);
}

static void boxes_come_as_they_are_told(void)
{
    const struct tensor tensors[] = {
        { CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, { 1000 }, { 1 }, { 256 }, { 1 }, 0, 0, { 3 } },
        { CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, { 100, 50 }, { 4, 416 }, { 32, 16 }, { 1, 1 }, 0, 0, { 5, 7 } },
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
          { 1, 2, 3, 0 } },
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
        { -8, -3 }, { 60, 40 }, { 4, -20 }, { -64, 0 }, { 100, 0 }, { 0, 1 << 30 }, { -1, 49 }
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
        unsigned per = *reduction ? 1 : 16 / size_of(x->type);
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
    x.at[0] = -7;
    store(&x, "", set_32);
    struct tensor y = { CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                        5,
                        { 16, 4, 4, 4, 4 },
                        { 2, 32, 128, 512, 2048 },
                        { 8, 2, 3, 2, 4 },
                        { 1, 1, 1, 1, 1 },
                        1,
                        0,
                        { 8, 3, 0, -1, 0 } };
    store(&y, "", set_16);
}

static void boxes_are_added_and_compared(void)
{
    struct tensor x = {
        CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, { 100, 50 }, { 4, 416 }, { 32, 16 }, { 1, 1 }, 3, 0, { 80, 40 }
    };
    store(&x, ".add", add_32);
    x.type = CU_TENSOR_MAP_DATA_TYPE_INT32;
    store(&x, ".max", most_32);
    x.type = CU_TENSOR_MAP_DATA_TYPE_UINT64;
    x.box[0] = 16;
    x.dims[0] = 50;
    x.at[0] = 41;
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
              { 30, 3, 1 } };
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
    struct tensor x = { CU_TENSOR_MAP_DATA_TYPE_UINT32, 1, { 64 }, { 4 }, { 16 }, { 1 }, 0, 0, { 2 } };
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
    EXPECT_EQUAL(first, ((uint32_t *)bytes)[2]);
    EXPECT_EQUAL(own, 2);
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
        ALONE(start, boxes_come_as_they_are_told),
        ALONE(start, boxes_are_swizzled),
        ALONE(start, what_is_outside_of_the_tensor_is_filled),
        ALONE(start, elements_are_left_out),
        ALONE(start, long_floats_are_rounded_on_their_way),
        ALONE(start, boxes_are_stored_within_the_tensor),
        ALONE(start, boxes_are_added_and_compared),
        ALONE(start, a_box_goes_to_several_blocks_of_a_cluster),
        ALONE(start, memory_is_reduced),
        ALONE(start, kernels_change_maps_and_make_them),
        ALONE(start, parameters_have_addresses_of_32_bits),
        ALONE(start, maps_that_cannot_be_are_refused),
        ALONE(start, what_is_no_map_ends_the_kernel),
        ALONE(start, tensors_that_are_not_there_end_the_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
