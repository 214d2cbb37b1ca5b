/* Loops in which a thread waits for what a thread of another warp of its block writes, or another kernel, which may not
 * have run before: however the loop looks, the other one runs. */
#include "../child.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { WARP = 32, THREADS = 2 * WARP, ROOM = 64 };

/* Thread 0 waits, the first of the second warp writes 1 to [%d1+64]; what the first one has in %r5 then is the result. */
#define KERNEL(body) \
    ".version 8.0\n.target sm_90\n.address_size 64\n" \
    ".visible .entry go(.param .u64 out)\n{\n" \
    ".reg .b64 %d<4>; .reg .b32 %r<12>; .reg .pred %p<6>; .local .align 8 .b8 l[16];\n" \
    "ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r5, 0; and.b32 %r2, %r1, 31; setp.ne.u32 %p0, %r2, 0;\n" \
    "@%p0 exit; setp.ne.u32 %p0, %r1, 0; @%p0 bra Writes;\n" body "st.global.u32 [%d1], %r5; ret;\n" \
    "Writes: st.volatile.global.u32 [%d1+64], 1; ret;\n}\n"

static void start(void)
{
    alarm(60);
    check_context();
}

static uint32_t result(const char *ptx)
{
    CUmodule m;
    CUfunction f;
    CUdeviceptr p;
    uint32_t out;
    CHECK(cuMemAlloc(&p, ROOM * 4));
    CHECK(cuMemsetD32(p, 0, ROOM));
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&f, m, "go"));
    CHECK(cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){ &p }, NULL));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(&out, p, sizeof out));
    return out;
}

/* Threads that have seen the value wait for each other, those that have not look again. */
static void a_loop_may_wait_for_others_elsewhere(void)
{
    EXPECT_EQUAL(result(KERNEL("mov.u32 %r6, 0;\n"
                               "Again: ld.volatile.global.u32 %r3, [%d1+64]; setp.eq.u32 %p1, %r3, 0; @%p1 bra Next;\n"
                               "bar.warp.sync 1; add.u32 %r6, %r6, 1;\n"
                               "Next: setp.lt.u32 %p2, %r6, 3; @%p2 bra Again; mov.u32 %r5, 7;\n")),
                 7);
    EXPECT_EQUAL(result(KERNEL("mov.u32 %r6, 0;\n"
                               "Again: ld.volatile.global.u32 %r3, [%d1+64]; setp.eq.u32 %p1, %r3, 0; @%p1 bra Again;\n"
                               "bar.warp.sync 1; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 3; @%p2 bra Again;\n"
                               "mov.u32 %r5, 7;\n")),
                 7);
}

static void a_load_may_look_past_the_cache(void)
{
#define LOOK(how) \
    KERNEL("Again: ld.global." how ".u32 %r3, [%d1+64]; add.u32 %r5, %r5, 1; st.global.u32 [%d1+128], %r5;\n" \
           "setp.eq.u32 %p1, %r3, 0; @%p1 bra Again; mov.u32 %r5, 7;\n")
    EXPECT_EQUAL(result(LOOK("cv")), 7);
    EXPECT_EQUAL(result(LOOK("cg")), 7);
}

static void what_was_seen_may_go_through_memory_of_the_thread(void)
{
    EXPECT_EQUAL(result(KERNEL("Again: ld.volatile.global.u32 %r3, [%d1+64]; st.local.u32 [l+4], %r3;\n"
                               "ld.local.v2.u32 {%r4, %r6}, [l]; setp.eq.u32 %p1, %r6, 0; @%p1 bra Again; mov.u32 %r5, 7;\n")),
                 7);
    EXPECT_EQUAL(result(KERNEL("mov.u64 %d2, l; add.u64 %d3, %d2, 8;\n"
                               "Again: ld.volatile.global.u32 %r3, [%d1+64]; st.local.u32 [%d2+8], %r3;\n"
                               "ld.local.u32 %r6, [%d3]; setp.eq.u32 %p1, %r6, 0; @%p1 bra Again; mov.u32 %r5, 7;\n")),
                 7);
    EXPECT_EQUAL(result(KERNEL("cvta.local.u64 %d2, l;\n"
                               "Again: ld.volatile.global.u32 %r3, [%d1+64]; st.u32 [%d2], %r3; ld.u32 %r6, [%d2];\n"
                               "setp.eq.u32 %p1, %r6, 0; @%p1 bra Again; mov.u32 %r5, 7;\n")),
                 7);
}

static void the_loop_may_go_on_without_a_branch(void)
{
    EXPECT_EQUAL(result(KERNEL("bra Look; Again: add.u32 %r5, %r5, 1;\n"
                               "Look: ld.volatile.global.u32 %r3, [%d1+64]; setp.eq.u32 %p1, %r3, 0; @%p1 bra Again;\n"
                               "mov.u32 %r5, 7;\n")),
                 7);
}

/* Two tables name the loop, and one of its blocks lies before it. */
static void the_branch_may_have_an_index(void)
{
    EXPECT_EQUAL(result(KERNEL("Table: .branchtargets Done, Again, Other, Again;\nSecond: .branchtargets Again, Other;\n"
                               "brx.idx %r5, Second;\n"
                               "Other: add.u32 %r5, %r5, 1;\n"
                               "Again: ld.volatile.global.u32 %r3, [%d1+64]; setp.eq.u32 %p1, %r3, 0; and.b32 %r4, %r5, 1;\n"
                               "add.u32 %r4, %r4, 1; add.u32 %r5, %r5, 1; selp.u32 %r2, %r4, 0, %p1; brx.idx %r2, Table;\n"
                               "Done: mov.u32 %r5, 7;\n")),
                 7);
}

/* The kernel that it waits for is another one, for which there are no other workers. */
static void start_with_one_worker(void)
{
    setenv("FAULTLINE_WORKERS", "1", 1);
    start();
}

static bool ends(const char *loop)
{
    static const char form[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry go(.param .u64 p)\n{\n.reg .b64 %%d; .reg .b32 %%r<5>; .reg .pred %%p<3>;\n"
        "ld.param.u64 %%d, [p];\n%sDone: ret;\n}\n"
        ".visible .entry writes(.param .u64 p)\n{\n.reg .b64 %%d;\n"
        "ld.param.u64 %%d, [p]; st.volatile.global.u32 [%%d], 1; ret;\n}\n";
    char text[2048];
    CUmodule m;
    CUfunction go, writes;
    CUstream first, second;
    CUdeviceptr p;
    snprintf(text, sizeof text, form, loop);
    CHECK(cuMemAlloc(&p, ROOM));
    CHECK(cuMemsetD8(p, 0, ROOM));
    CHECK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    CHECK(cuModuleLoadData(&m, text));
    CHECK(cuModuleGetFunction(&go, m, "go"));
    CHECK(cuModuleGetFunction(&writes, m, "writes"));
    CHECK(cuLaunchKernel(go, 2, 1, 1, 2, 1, 1, 0, first, (void *[]){ &p }, NULL));
    usleep(20000);
    CHECK(cuLaunchKernel(writes, 1, 1, 1, 1, 1, 1, 0, second, (void *[]){ &p }, NULL));
    return !cuCtxSynchronize();
}

static void a_loop_may_have_others_in_it(void)
{
    EXPECT(ends("Again: ld.volatile.global.u32 %r1, [%d]; setp.ne.u32 %p1, %r1, 0; @%p1 bra Done; mov.u32 %r2, 0;\n"
                "Inner: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 100; @%p2 bra Inner; bra Again;\n"));
    EXPECT(ends("Again: atom.global.cas.b32 %r1, [%d], 1, 2; setp.ne.u32 %p1, %r1, 0; @%p1 bra Done; mov.u32 %r2, 0;\n"
                "Inner: add.u32 %r2, %r2, 1; st.global.u32 [%d+8], %r2; setp.lt.u32 %p2, %r2, 10; @%p2 bra Inner;\n"
                "bra Again;\n"));
    EXPECT(ends("Again: mov.u32 %r2, 0;\n"
                "First: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 100; @%p2 bra First;\n"
                "ld.acquire.gpu.global.u32 %r1, [%d];\n"
                "Second: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 200; @%p2 bra Second;\n"
                "setp.eq.u32 %p1, %r1, 0; @%p1 bra Again;\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, a_loop_may_wait_for_others_elsewhere),
        ALONE(start, a_load_may_look_past_the_cache),
        ALONE(start, what_was_seen_may_go_through_memory_of_the_thread),
        ALONE(start, the_loop_may_go_on_without_a_branch),
        ALONE(start, the_branch_may_have_an_index),
        ALONE(start_with_one_worker, a_loop_may_have_others_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
