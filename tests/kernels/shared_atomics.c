/* Atomics in shared memory, which are compiled to a load and a store. Each does
 * what the same one does in global memory, whose results tests/ptx compares with
 * an H200's; threads that add to one word lose nothing; a lock locks; and one
 * that reaches too far is told of as a write. */
#include "../child.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 256 };

#define HEADER ".version 8.0\n.target sm_90\n.address_size 64\n"

/* One block runs the kernel "go"; how that ended. */
static CUresult go(const char *ptx, CUdeviceptr first, CUdeviceptr second)
{
    CUmodule m;
    CUfunction f;
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&f, m, "go"));
    CHECK(cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){ &first, &second }, NULL));
    return cuCtxSynchronize();
}

static CUdeviceptr allocate(size_t size)
{
    CUdeviceptr p;
    CHECK(cuMemAlloc(&p, size));
    CHECK(cuMemsetD8(p, 0, size));
    return p;
}

/* ---- each operation on a word of the thread's own */

struct form {
    const char *operation;
    int bits; /* of the type */
};

static const struct form forms[] = {
    { "add.u32", 32 },        { "add.s32", 32 },          { "add.u64", 64 },       { "min.u32", 32 },
    { "min.s32", 32 },        { "min.u64", 64 },          { "min.s64", 64 },       { "max.u32", 32 },
    { "max.s32", 32 },        { "max.u64", 64 },          { "max.s64", 64 },       { "inc.u32", 32 },
    { "dec.u32", 32 },        { "and.b32", 32 },          { "and.b64", 64 },       { "or.b32", 32 },
    { "or.b64", 64 },         { "xor.b32", 32 },          { "xor.b64", 64 },       { "exch.b32", 32 },
    { "exch.b64", 64 },       { "cas.b16", 16 },          { "cas.b32", 32 },       { "cas.b64", 64 },
    { "add.f32", 32 },        { "add.f64", 64 },          { "add.noftz.f16", 16 }, { "add.noftz.f16x2", 32 },
    { "add.noftz.bf16", 16 }, { "add.noftz.bf16x2", 32 }, { "cta.add.u32", 32 },   { "acq_rel.cta.add.u32", 32 },
};

enum { VALUES = 10, CASES = VALUES * VALUES };
static const uint64_t integers[VALUES] = { 0,
                                           1,
                                           2,
                                           0xffffffffffffffff,
                                           0x8000000080008000,
                                           0x7fffffff7fff7fff,
                                           0x123456789abcdef,
                                           0x100000001,
                                           0x7fffffffffffffff,
                                           0x80000000 };
/* Of each type, neither NaN nor subnormal: sums of those are flushed in global memory alone. */
static const uint64_t numbers[VALUES] = { 0,
                                          0x3ff0000040003c00,
                                          0xc00800003f803f80,
                                          0x4060000042004200,
                                          0xbff0000040003c00,
                                          0x7fe0000042007bff,
                                          0x7fe0000042007b7f,
                                          0xffe0000042007bff,
                                          0x3cb0000034000c00,
                                          0x40000000c0003c00 };
_Static_assert((int)CASES <= (int)THREADS, "a thread each");

struct outcome {
    uint64_t old[2], new[2]; /* in global, in shared memory */
};

/* Thread t applies the operation to values t % VALUES and t / VALUES; as a third operand it has the thread's number. */
static void write_ptx(char *out, size_t size, struct form f)
{
    int b = f.bits;
    const char *third = strstr(f.operation, "cas") ? ", %c" : "";
    snprintf(out, size,
             HEADER
             ".visible .entry go(.param .u64 in, .param .u64 out)\n{\n"
             ".shared .align 8 .b64 s[%d]; .reg .b64 %%d<6>; .reg .b32 %%r<6>; .reg .b%d %%a, %%b, %%c, %%o, %%n;\n"
             ".reg .pred %%p;\n"
             "ld.param.u64 %%d0, [in]; ld.param.u64 %%d1, [out]; mov.u32 %%r0, %%tid.x;\n"
             "setp.ge.u32 %%p, %%r0, %d; @%%p ret;\n"
             "rem.u32 %%r1, %%r0, %d; div.u32 %%r2, %%r0, %d;\n"
             "mul.wide.u32 %%d2, %%r1, 8; add.u64 %%d2, %%d0, %%d2; mul.wide.u32 %%d3, %%r2, 8;\n"
             "add.u64 %%d3, %%d0, %%d3; ld.global.b%d %%a, [%%d2]; ld.global.b%d %%b, [%%d3];\n"
             "cvt.u%d.u32 %%c, %%r0; mul.wide.u32 %%d4, %%r0, 32; add.u64 %%d1, %%d1, %%d4;\n"
             "st.global.b%d [%%d1+16], %%a; atom.global.%s %%o, [%%d1+16], %%b%s; st.global.b%d [%%d1], %%o;\n"
             "mov.u32 %%r3, s; mad.lo.u32 %%r3, %%r0, 8, %%r3;\n"
             "st.shared.b%d [%%r3], %%a; atom.shared.%s %%o, [%%r3], %%b%s; st.global.b%d [%%d1+8], %%o;\n"
             "ld.shared.b%d %%n, [%%r3]; st.global.b%d [%%d1+24], %%n; ret;\n}\n",
             THREADS, b, CASES, VALUES, VALUES, b, b, b, b, f.operation, third, b, b, f.operation, third, b, b, b);
}

static void each_does_what_it_does_in_global_memory(void)
{
    CUdeviceptr in = allocate(VALUES * 8), out = allocate(CASES * sizeof(struct outcome));
    static struct outcome saw[CASES];
    char ptx[4096];
    bool same = true;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        const uint64_t *values = strstr(forms[k].operation, "f") ? numbers : integers;
        CHECK(cuMemcpyHtoD(in, values, VALUES * 8));
        write_ptx(ptx, sizeof ptx, forms[k]);
        CHECK(cuMemsetD8(out, 0, sizeof saw));
        CHECK(go(ptx, in, out));
        CHECK(cuMemcpyDtoH(saw, out, sizeof saw));
        for (int t = 0; t < CASES; t++) {
            const struct outcome *o = &saw[t];
            if (o->old[0] == o->old[1] && o->new[0] == o->new[1]) continue;
            printf("atom.%s of %#lx and %#lx: in global memory %#lx, before it %#lx; in shared memory %#lx, %#lx\n",
                   forms[k].operation, values[t % VALUES], values[t / VALUES], o->new[0], o->old[0], o->new[1],
                   o->old[1]);
            same = false;
        }
    }
    EXPECT(same);
}

/* ---- all threads on one word */

/* A ticket for each thread, and a flag for each ticket. */
static void threads_that_add_to_one_word_lose_nothing(void)
{
    static const char ptx[] =
        HEADER ".visible .entry go(.param .u64 flags, .param .u64 unused)\n{\n"
               ".shared .u32 next; .reg .b64 %d<3>; .reg .b32 %r<3>; .reg .pred %p;\n"
               "ld.param.u64 %d0, [flags]; mov.u32 %r0, %tid.x; setp.ne.u32 %p, %r0, 0; @!%p st.shared.u32 [next], 0;\n"
               "bar.sync 0; atom.shared.add.u32 %r1, [next], 1; mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %d0, %d1;\n"
               "red.global.add.u32 [%d1], 1; ret;\n}\n";
    CUdeviceptr flags = allocate(THREADS * 4);
    uint32_t saw[THREADS];
    CHECK(go(ptx, flags, 0));
    CHECK(cuMemcpyDtoH(saw, flags, sizeof saw));
    for (int k = 0; k < THREADS; k++) EXPECT_EQUAL(saw[k], 1);
}

static void a_lock_lets_one_in_at_a_time(void)
{
    static const char ptx[] =
        HEADER ".visible .entry go(.param .u64 out, .param .u64 unused)\n{\n"
               ".shared .u32 lock; .shared .u32 count; .reg .b64 %d<3>; .reg .b32 %r<4>; .reg .pred %p;\n"
               "ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; setp.ne.u32 %p, %r0, 0;\n"
               "@!%p st.shared.u32 [lock], 0; @!%p st.shared.u32 [count], 0; bar.sync 0;\n"
               "WAIT: atom.shared.cas.b32 %r1, [lock], 0, 1; setp.ne.u32 %p, %r1, 0; @%p bra WAIT;\n"
               "ld.volatile.shared.u32 %r2, [count]; add.u32 %r2, %r2, 1;\n"
               "st.volatile.shared.u32 [count], %r2; atom.shared.exch.b32 %r1, [lock], 0;\n"
               "bar.sync 0; ld.shared.u32 %r3, [count]; st.global.u32 [%d0], %r3; ret;\n}\n";
    CUdeviceptr out = allocate(4);
    uint32_t count;
    CHECK(go(ptx, out, 0));
    CHECK(cuMemcpyDtoH(&count, out, sizeof count));
    EXPECT_EQUAL(count, THREADS);
}

static void one_that_reaches_too_far_is_an_illegal_write(void)
{
    static const char ptx[] = HEADER ".visible .entry go(.param .u64 a, .param .u64 b)\n{\n"
                                     ".shared .u32 s; .reg .b32 %r<2>; mov.u32 %r0, s;\n"
                                     "atom.shared.add.u32 %r1, [%r0+8192], 1; ret;\n}\n";
    char text[4096];
    size_t size = sizeof text;
    ANSWERS(go(ptx, 0, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(cuLogsDumpToMemory(NULL, text, &size, 0));
    if (!strstr(text, "an illegal write")) printf("%s\n", text);
    EXPECT(strstr(text, "an illegal write"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(with_context, each_does_what_it_does_in_global_memory),
        ALONE(with_context, threads_that_add_to_one_word_lose_nothing),
        ALONE(with_context, a_lock_lets_one_in_at_a_time),
        ALONE(with_context, one_that_reaches_too_far_is_an_illegal_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
