/* Boxes of tensors, as kernels copy them: a kernel for each way, and the CPU that does the same element by element. */
#ifndef FL_TESTS_TENSORS_H
#define FL_TESTS_TENSORS_H

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

static inline void start(void)
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

static inline CUresult encode(CUtensorMap *m, const struct tensor *x)
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

static inline CUfunction compiled(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline CUfunction compiled(const char *format, ...)
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

static inline void launch(CUfunction f, CUtensorMap *m, int *at)
{
    CHECK(cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, SHARED, NULL, (void *[]){ m, at, &shared_copy }, NULL));
}

/* The kernel's text, with $ for %. */
static inline const char *dollars(const char *text)
{
    static char room[8][8192];
    static unsigned next;
    char *to = room[next++ % 8];
    snprintf(to, sizeof room[0], "%s", text);
    for (char *c; (c = strchr(to, '%'));) *c = '$';
    return to;
}

static inline CUfunction loader(unsigned rank)
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

static inline CUfunction storer(unsigned rank, const char *reduction)
{
    return compiled("%s%sfence.proxy.async.shared::cta;\nbar.sync 0;\n@!$p0 bra END;\n"
                    "cp%s.async.bulk.tensor.%ud.global.shared::cta%s.tile.bulk_group [$d1, %s], [$r1];\n"
                    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nEND:\nret;\n}\n",
                    dollars(HEAD), dollars(TO_SHARED), *reduction ? ".reduce" : "", rank, reduction,
                    dollars(coordinates[rank - 1]));
}

/* ---- the same on the CPU */

static inline unsigned size_of(CUtensorMapDataType t)
{
    static const uint8_t sizes[] = { 1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4 };
    return sizes[t];
}

static inline unsigned count(const struct tensor *x, unsigned d)
{
    return d ? (x->box[d] + x->steps[d] - 1) / x->steps[d] : x->box[0];
}

static inline unsigned elements(const struct tensor *x)
{
    unsigned n = 1;
    for (unsigned d = 0; d < x->rank; d++) n *= count(x, d);
    return n;
}

/* Where the n-th element of the box is in shared memory. */
static inline unsigned place(const struct tensor *x, unsigned n)
{
    static const unsigned rows[] = { 1, 2, 4, 8 };
    unsigned in_row = n % x->box[0] * size_of(x->type),
             width = x->swizzle ? 16u << x->swizzle : x->box[0] * size_of(x->type);
    unsigned at = n / x->box[0] * width + in_row, chunk = at / 16 % 8, line = at / 128, mask = rows[x->swizzle] - 1;
    return line * 128 + (chunk ^ (line & mask)) * 16 + at % 16;
}

/* Where it is in the tensor, -1: outside. */
static inline int64_t source(const struct tensor *x, unsigned n)
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

static inline void load(const struct tensor *x)
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

#endif
