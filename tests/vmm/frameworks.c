/* Mapped memory as frameworks use it: paused under a graph and resumed at its address, pages of
 * a common prefix in many sequences, buffers that kernels of several processes pass round. */
#include "../rig.h"
#include "../players.h"

enum { PAGE = 2 << 20, WORDS = PAGE / 4 };

static CUmemGenericAllocationHandle page_make(CUmemAllocationHandleType type)
{
    CUmemGenericAllocationHandle h;
    const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .requestedHandleTypes = type,
                                       .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CHECK(cuMemCreate(&h, PAGE, &prop, 0));
    return h;
}

static void page_map(CUdeviceptr at, CUmemGenericAllocationHandle h, CUmemAccess_flags flags)
{
    const CUmemAccessDesc access = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, flags };
    CHECK(cuMemMap(at, PAGE, 0, h, 0));
    CHECK(cuMemSetAccess(at, PAGE, &access, 1));
}

static CUdeviceptr reserve(size_t pages)
{
    CUdeviceptr at;
    CHECK(cuMemAddressReserve(&at, pages * PAGE, 0, 0, 0));
    return at;
}

static void a_graph_finds_memory_that_was_given_back_meanwhile(void **state)
{
    (void)state;
    enum { PAGES = 8 };
    rig_context(0);
    CUstream s = rig_stream();
    CUfunction add = rig_kernel("add");
    CUdeviceptr at = reserve(PAGES);
    CUgraph g;
    CUgraphExec exec;
    size_t before, paused, total;
    static uint32_t kept[PAGES][WORDS];
    ok(cuMemGetInfo(&before, &total));
    for (int round = 0; round < 3; round++) {
        for (unsigned k = 0; k < PAGES; k++) {
            CUmemGenericAllocationHandle h = page_make(CU_MEM_HANDLE_TYPE_NONE);
            page_map(at + k * PAGE, h, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
            ok(cuMemRelease(h));
        }
        if (!round) {
            ok(cuMemsetD32(at, 5, PAGES * WORDS));
            ok(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
            for (unsigned k = 0; k < PAGES; k++) ok(rig_launch(add, at + k * PAGE, WORDS, k + 1, s));
            ok(cuStreamEndCapture(s, &g));
            ok(cuGraphInstantiate(&exec, g, 0));
        } else {
            ok(cuMemcpyHtoDAsync(at, kept, sizeof kept, s));
        }
        ok(cuGraphLaunch(exec, s));
        ok(cuMemcpyDtoHAsync(kept, at, sizeof kept, s));
        ok(cuStreamSynchronize(s));
        for (unsigned k = 0; k < PAGES; k++) assert_int_equal(kept[k][WORDS - 1 - k], 5 + (unsigned)(round + 1) * (k + 1));
        ok(cuMemUnmap(at, PAGES * PAGE));
        ok(cuMemGetInfo(&paused, &total));
        assert_int_equal(paused, before);
    }
    assert_int_equal(cuMemsetD32Async(at, 1, 1, s), CUDA_ERROR_INVALID_VALUE);
}

static void sequences_share_the_pages_of_a_prefix_until_one_writes(void **state)
{
    (void)state;
    enum { SEQUENCES = 12, SHARED = 4 };
    rig_context(0);
    CUfunction fill = rig_kernel("fill"), add = rig_kernel("add");
    CUmemGenericAllocationHandle page[SHARED];
    CUdeviceptr sequence[SEQUENCES];
    for (unsigned k = 0; k < SHARED; k++) page[k] = page_make(CU_MEM_HANDLE_TYPE_NONE);
    for (unsigned q = 0; q < SEQUENCES; q++) {
        sequence[q] = reserve(SHARED + 1);
        for (unsigned k = 0; k < SHARED; k++)
            page_map(sequence[q] + k * PAGE, page[k],
                     q ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        page_map(sequence[q] + SHARED * PAGE, page_make(CU_MEM_HANDLE_TYPE_NONE), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        ok(rig_launch(fill, sequence[q] + SHARED * PAGE, WORDS, 1000 + q, NULL));
    }
    ok(rig_launch(fill, sequence[0], SHARED * WORDS, 7, NULL));
    /* the last common page of one is replaced by a copy */
    CUmemGenericAllocationHandle copy = page_make(CU_MEM_HANDLE_TYPE_NONE);
    CUdeviceptr elsewhere = reserve(1), last = sequence[5] + (SHARED - 1) * PAGE;
    page_map(elsewhere, copy, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    ok(cuMemcpyDtoD(elsewhere, last, PAGE));
    ok(cuCtxSynchronize()); /* for neither that nor taking memory away does it */
    ok(cuMemUnmap(elsewhere, PAGE));
    ok(cuMemUnmap(last, PAGE));
    page_map(last, copy, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    ok(rig_launch(add, last, WORDS, 30, NULL));
    for (unsigned q = 0; q < SEQUENCES; q++) {
        assert_int_equal(rig_word(sequence[q] + SHARED * PAGE - 4), q == 5 ? 37 : 7);
        assert_int_equal(rig_word(sequence[q] + PAGE), 7);
        assert_int_equal(rig_word(sequence[q] + SHARED * PAGE), 1000 + q);
    }
}

/* ---- a ring of processes, as collective operations make one */

static const char pass_ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry pass(.param .u64 mine, .param .u64 next, .param .u32 awaited, .param .u32 told)\n{\n"
    " .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<2>;\n"
    " ld.param.u64 %d0, [mine]; ld.param.u64 %d1, [next]; ld.param.u32 %r0, [awaited]; ld.param.u32 %r1, [told];\n"
    "WAIT: ld.acquire.sys.global.u32 %r2, [%d0+64]; setp.lt.u32 %p, %r2, %r0; @%p bra WAIT;\n"
    " ld.global.u32 %r3, [%d0]; add.u32 %r3, %r3, 1; st.global.u32 [%d1], %r3;\n"
    " st.release.sys.global.u32 [%d1+64], %r1; ret;\n}\n";

enum { LAPS = 20 };

/* Each of two has a page; its kernels write into the other's, and wait for what the other's write here. */
static void pass_round(int socket, bool first)
{
    CUmodule m;
    CUfunction pass;
    CUmemGenericAllocationHandle own = 0, others;
    int fd;
    CHECK(cuInit(0));
    CUcontext c;
    CHECK(cuDevicePrimaryCtxRetain(&c, 0));
    CHECK(cuCtxSetCurrent(c));
    CHECK(cuModuleLoadData(&m, pass_ptx));
    CHECK(cuModuleGetFunction(&pass, m, "pass"));
    own = page_make(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUdeviceptr mine = reserve(1), next = reserve(1);
    page_map(mine, own, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK(cuMemsetD32(mine, 0, WORDS));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemExportToShareableHandle(&fd, own, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    hand_over(socket, fd);
    EXPECT((fd = take_over(socket)) >= 0);
    CHECK(cuMemImportFromShareableHandle(&others, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    page_map(next, others, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    for (uint32_t lap = 1; lap <= LAPS; lap++) {
        uint32_t awaited = first ? lap - 1 : lap;
        CHECK(cuLaunchKernel(pass, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &mine, &next, &awaited, &lap }, NULL));
    }
    CHECK(cuCtxSynchronize());
    meet(socket);
    uint32_t word;
    CHECK(cuMemcpyDtoH(&word, mine, 4));
    EXPECT_EQUAL(word, first ? 2 * LAPS : 2 * LAPS - 1);
    meet(socket);
}
static void pass_first(int socket) { pass_round(socket, true); }
static void pass_second(int socket) { pass_round(socket, false); }

static void kernels_of_two_processes_wait_for_each_other(void **state)
{
    (void)state;
    play(pass_first, ENDS_WELL, pass_second, ENDS_WELL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* forked before this process knows CUDA */
        cmocka_unit_test(kernels_of_two_processes_wait_for_each_other),
        cmocka_unit_test(a_graph_finds_memory_that_was_given_back_meanwhile),
        cmocka_unit_test(sequences_share_the_pages_of_a_prefix_until_one_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
