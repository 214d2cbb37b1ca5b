/* What processors can do with mapped memory: kernels that run while it changes,
 * the host, several devices, contexts that come and go. Each test runs in a
 * process of its own, for what a kernel does wrong stays. */
#include "../child.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PAGE ((size_t)2 << 20)
/* wait: says it is there by flag[0] = 1, waits for flag[1], then writes a word. poke: writes it at once. */
static const char kernels[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".visible .entry wait(.param .u64 flag, .param .u64 at, .param .u32 value) {\n"
                              ".reg .pred %p; .reg .b32 %r<3>; .reg .b64 %a<3>;\n"
                              "ld.param.u64 %a1, [flag]; ld.param.u64 %a2, [at]; ld.param.u32 %r1, [value];\n"
                              "mov.u32 %r2, 1; st.volatile.global.u32 [%a1], %r2;\n"
                              "L: ld.volatile.global.u32 %r2, [%a1+4]; setp.eq.u32 %p, %r2, 0; @%p bra L;\n"
                              "st.global.u32 [%a2], %r1; ret; }\n"
                              ".visible .entry poke(.param .u64 at, .param .u32 value) {\n"
                              ".reg .b32 %r<2>; .reg .b64 %a<2>; ld.param.u64 %a1, [at]; ld.param.u32 %r1, [value]; "
                              "st.global.u32 [%a1], %r1; ret; }\n"
                              ".visible .entry idle(.param .u64 at, .param .u32 told) {\n"
                              ".reg .pred %p; .reg .b32 %r<3>; .reg .b64 %a<2>;\n"
                              "ld.param.u64 %a1, [at]; ld.param.u32 %r1, [told]; setp.eq.u32 %p, %r1, 0; @%p bra RED;\n"
                              "atom.global.add.u32 %r2, [%a1], 0; setp.eq.u32 %p, %r2, 77; @%p trap; ret;\n"
                              "RED: red.global.or.b32 [%a1], 0; ret; }\n";

static CUcontext contexts[2];
static CUfunction wait_kernel, poke_kernel, idle_kernel;
static volatile uint32_t *flag;

static void load(int device)
{
    CUmodule m;
    CHECK(cuDevicePrimaryCtxRetain(&contexts[device], device));
    CHECK(cuCtxSetCurrent(contexts[device]));
    CHECK(cuModuleLoadData(&m, kernels));
    CHECK(cuModuleGetFunction(&wait_kernel, m, "wait"));
    CHECK(cuModuleGetFunction(&poke_kernel, m, "poke"));
    CHECK(cuModuleGetFunction(&idle_kernel, m, "idle"));
}

static void start(void)
{
    CHECK(cuInit(0));
    load(0);
    CHECK(cuMemAllocHost((void **)&flag, 8));
    flag[0] = flag[1] = 0;
}

static CUmemLocation on(CUmemLocationType type, int id) { return (CUmemLocation){ .type = type, .id = id }; }
static CUmemLocation on_device(int id) { return on(CU_MEM_LOCATION_TYPE_DEVICE, id); }

static CUmemGenericAllocationHandle create(CUmemLocation where, size_t size)
{
    CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = where };
    CUmemGenericAllocationHandle h;
    CHECK(cuMemCreate(&h, size, &p, 0));
    return h;
}

static CUdeviceptr reserve(size_t size)
{
    CUdeviceptr at;
    CHECK(cuMemAddressReserve(&at, size, 0, 0, 0));
    return at;
}

static void give(CUdeviceptr at, size_t size, CUmemLocation who, CUmemAccess_flags flags)
{
    CUmemAccessDesc d = { .location = who, .flags = flags };
    CHECK(cuMemSetAccess(at, size, &d, 1));
}
static const CUmemAccess_flags RW = CU_MEM_ACCESS_FLAGS_PROT_READWRITE, RO = CU_MEM_ACCESS_FLAGS_PROT_READ,
                               NONE = CU_MEM_ACCESS_FLAGS_PROT_NONE;

static CUdeviceptr map_new(CUmemLocation where)
{
    CUdeviceptr at = reserve(PAGE);
    CHECK(cuMemMap(at, PAGE, 0, create(where, PAGE), 0));
    return at;
}

static uint32_t word(CUdeviceptr at)
{
    uint32_t w = 0;
    CHECK(cuMemcpyDtoH(&w, at, sizeof w));
    return w;
}

static void launch_wait(CUstream s, CUdeviceptr at, uint32_t value)
{
    CUdeviceptr f = (CUdeviceptr)flag;
    CHECK(cuLaunchKernel(wait_kernel, 1, 1, 1, 1, 1, 1, 0, s, (void *[]){ &f, &at, &value }, NULL));
    while (!flag[0]) usleep(100);
}

static CUresult poke(CUdeviceptr at, uint32_t value)
{
    CHECK(cuLaunchKernel(poke_kernel, 1, 1, 1, 1, 1, 1, 0, 0, (void *[]){ &at, &value }, NULL));
    return cuCtxSynchronize();
}

/* ---- kernels that run */

static void a_kernel_that_runs_has_the_access_it_is_given(void)
{
    CUstream s;
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CUdeviceptr at = reserve(PAGE);
    launch_wait(s, at + 8, 7);
    CHECK(cuMemMap(at, PAGE, 0, create(on_device(0), PAGE), 0));
    give(at, PAGE, on_device(0), RW);
    flag[1] = 1;
    CHECK(cuStreamSynchronize(s));
    EXPECT_EQUAL(word(at + 8), 7);
}

/* The kernel that waits may not write there any more. */
static void lose(void (*away)(CUdeviceptr at))
{
    CUstream s;
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CUdeviceptr at = map_new(on_device(0));
    give(at, PAGE, on_device(0), RW);
    launch_wait(s, at, 7);
    away(at);
    flag[1] = 1;
    ANSWERS(cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void make_read_only(CUdeviceptr at) { give(at, PAGE, on_device(0), RO); }
static void unmap_page(CUdeviceptr at) { CHECK(cuMemUnmap(at, PAGE)); }
static void a_kernel_that_runs_loses_the_access_that_is_taken(void) { lose(make_read_only); }
static void a_kernel_that_runs_cannot_touch_what_is_unmapped(void) { lose(unmap_page); }

/* What an idle device was not told yet must be there, or gone, when its next kernel runs. */
static void what_changed_while_idle_holds_for_the_next_kernel(void)
{
    CUmemGenericAllocationHandle h[2] = { create(on_device(0), PAGE), create(on_device(0), PAGE) };
    CUdeviceptr at = reserve(3 * PAGE);
    for (uint32_t k = 0; k < 64; k++) {
        CHECK(cuMemMap(at + k % 3 * PAGE, PAGE, 0, h[k % 2], 0));
        give(at + k % 3 * PAGE, PAGE, on_device(0), RO);
        give(at + k % 3 * PAGE, PAGE, on_device(0), NONE);
        give(at + k % 3 * PAGE, PAGE, on_device(0), RW);
        if (k % 4 == 3) EXPECT_EQUAL(poke(at + k % 3 * PAGE, k), 0);
        if (k % 4 == 3) EXPECT_EQUAL(word(at + k % 3 * PAGE), k);
        CHECK(cuMemUnmap(at + k % 3 * PAGE, PAGE));
    }
    CHECK(cuMemMap(at, PAGE, 0, h[0], 0));
    give(at, PAGE, on_device(0), RW);
    CHECK(cuMemUnmap(at, PAGE));
    EXPECT_EQUAL(poke(at, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* ---- aliases, spans */

static void aliases_show_one_memory_with_rights_of_their_own(void)
{
    CUmemGenericAllocationHandle h = create(on_device(0), PAGE);
    CUdeviceptr at = reserve(2 * PAGE);
    CHECK(cuMemMap(at, PAGE, 0, h, 0));
    CHECK(cuMemMap(at + PAGE, PAGE, 0, h, 0));
    give(at, PAGE, on_device(0), RW);
    give(at + PAGE, PAGE, on_device(0), RO);
    EXPECT_EQUAL(poke(at + 40, 5), 0);
    EXPECT_EQUAL(word(at + PAGE + 40), 5);
    EXPECT_EQUAL(poke(at + PAGE + 40, 6), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* Adding 0, with the result and without. */
static void an_atomic_that_changes_nothing_is_a_write(uint32_t told)
{
    CUdeviceptr at = map_new(on_device(0));
    give(at, PAGE, on_device(0), RW);
    for (int k = 0; k < 2; k++) {
        CHECK(cuLaunchKernel(idle_kernel, 1, 1, 1, 1, 1, 1, 0, 0, (void *[]){ &at, &told }, NULL));
        ANSWERS(cuCtxSynchronize(), k ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS);
        if (!k) give(at, PAGE, on_device(0), RO);
    }
}
static void an_atomic_add_of_0_is_a_write(void) { an_atomic_that_changes_nothing_is_a_write(1); }
static void a_reduction_with_0_is_a_write(void) { an_atomic_that_changes_nothing_is_a_write(0); }

static void copies_and_memsets_cross_mappings(void)
{
    enum { ROW = 3 << 20, ROWS = 3 };
    CUdeviceptr at = reserve(5 * PAGE);
    for (int k = 4; k >= 0; k--) CHECK(cuMemMap(at + k * PAGE, PAGE, 0, create(on_device(0), PAGE), 0));
    give(at, 5 * PAGE, on_device(0), RW);
    unsigned char *host = malloc(5 * PAGE), *back = malloc(5 * PAGE);
    for (size_t k = 0; k < 5 * PAGE; k++) host[k] = (unsigned char)(k * 7 + k / 4093);
    CHECK(cuMemcpyHtoD(at, host, 5 * PAGE));
    CHECK(cuMemcpyDtoH(back, at, 5 * PAGE));
    EXPECT_EQUAL(memcmp(host, back, 5 * PAGE), 0);
    ANSWERS(cuMemcpyDtoH(back, at + 1, 5 * PAGE), CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                        .srcDevice = at + 17,
                        .srcPitch = ROW,
                        .dstMemoryType = CU_MEMORYTYPE_HOST,
                        .dstHost = back,
                        .dstPitch = ROW - 100,
                        .WidthInBytes = ROW - 1000,
                        .Height = ROWS };
    CHECK(cuMemcpy2D(&c));
    for (int y = 0; y < ROWS; y++) EXPECT_EQUAL(memcmp(back + y * (ROW - 100), host + 17 + y * ROW, ROW - 1000), 0);
    CHECK(cuMemsetD2D16(at + 2, ROW, 0x1234, ROW / 2 - 1, ROWS));
    CHECK(cuMemcpyDtoH(back, at, 5 * PAGE));
    for (size_t k = 2; k < ROW * ROWS; k++)
        if (k % ROW >= 2) EXPECT_EQUAL(back[k], k % 2 ? 0x12 : 0x34);
    EXPECT_EQUAL(back[1], host[1]);
    give(at + 2 * PAGE, PAGE, on_device(0), RO);
    ANSWERS(cuMemsetD8(at + PAGE, 1, PAGE + 1), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemcpyDtoD(at + 3 * PAGE, at + 2 * PAGE, PAGE));
}

/* Streams touch memory on behalf of their device. */
static void streams_write_where_their_device_may(void)
{
    CUdeviceptr at = map_new(on_device(0));
    ANSWERS(cuStreamWriteValue32(0, at, 5, 0), CUDA_ERROR_INVALID_VALUE);
    give(at, PAGE, on_device(0), RO);
    ANSWERS(cuStreamWriteValue32(0, at, 5, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuStreamWaitValue32(0, at, 0, CU_STREAM_WAIT_VALUE_EQ));
    give(at, PAGE, on_device(0), RW);
    CHECK(cuStreamWriteValue32(0, at, 5, 0));
    EXPECT_EQUAL(word(at), 5);
}

/* ---- work that waits in a stream (all observed on H200) */

enum { FILL, COPY_TO, COPY_FROM, WRITE, WAYS, FILL_FEW = WAYS, COPY_UP, AWAIT };

static void wait_and(CUstream s, unsigned way, CUdeviceptr at, CUdeviceptr other)
{
    CHECK(cuStreamWaitValue32(s, (CUdeviceptr)flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    switch (way) {
    case FILL: CHECK(cuMemsetD32Async(at, 7, PAGE / 4, s)); break;
    case COPY_TO: CHECK(cuMemcpyDtoDAsync(at, other, PAGE, s)); break;
    case COPY_FROM: CHECK(cuMemcpyDtoDAsync(other, at, PAGE, s)); break;
    case FILL_FEW: CHECK(cuMemsetD8Async(at, 7, 4096, s)); break;
    case COPY_UP: CHECK(cuMemcpyHtoDAsync(at, (void *)(flag + 1), 4, s)); break;
    case AWAIT: CHECK(cuStreamWaitValue32(s, at, 0xabcd, CU_STREAM_WAIT_VALUE_EQ)); break;
    default: CHECK(cuStreamWriteValue32(s, at, 7, 0));
    }
}

static void work_that_waits_goes_where_its_address_leads_by_then(void)
{
    CUstream s;
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CUdeviceptr at = reserve(2 * PAGE), other = map_new(on_device(0));
    CUmemGenericAllocationHandle old = create(on_device(0), 2 * PAGE), both[2];
    for (int k = 0; k < 2; k++) both[k] = create(on_device(0), PAGE);
    give(other, PAGE, on_device(0), RW);
    for (unsigned way = 0; way < WAYS; way++) {
        flag[0] = 0;
        CHECK(cuMemMap(at, 2 * PAGE, 0, old, 0));
        give(at, 2 * PAGE, on_device(0), RW);
        CHECK(cuMemsetD32(at, 5, PAGE / 2));
        CHECK(cuMemsetD32(other, 7, PAGE / 4));
        CHECK(cuCtxSynchronize());
        wait_and(s, way, at + PAGE / 2, other); /* crosses into the second page of what is mapped there then */
        CHECK(cuMemUnmap(at, 2 * PAGE));
        for (int k = 0; k < 2; k++) CHECK(cuMemMap(at + k * PAGE, PAGE, 0, both[k], 0));
        give(at, 2 * PAGE, on_device(0), RW);
        CHECK(cuMemsetD32(at, 3, PAGE / 2));
        CHECK(cuStreamSynchronize(NULL));
        flag[0] = 1;
        CHECK(cuStreamSynchronize(s));
        EXPECT_EQUAL(word(at + PAGE / 2), way == COPY_FROM ? 3 : 7);
        EXPECT_EQUAL(word(at + 3 * PAGE / 2 - 4), way == COPY_FROM || way == WRITE ? 3 : 7);
        EXPECT_EQUAL(word(other + PAGE - 4), way == COPY_FROM ? 3 : 7);
        CHECK(cuMemUnmap(at, 2 * PAGE));
    }
    CHECK(cuMemMap(at, 2 * PAGE, 0, old, 0));
    give(at, 2 * PAGE, on_device(0), RO);
    EXPECT_EQUAL(word(at + PAGE / 2), 5);
}

/* The memory may be somebody else's by then. */
static void fail_without(void (*away)(CUdeviceptr at), unsigned way, CUresult error)
{
    CUstream s;
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CUdeviceptr at = map_new(on_device(0)), other = map_new(on_device(0));
    give(at, PAGE, on_device(0), RW);
    give(other, PAGE, on_device(0), RW);
    wait_and(s, way, at, other);
    away(at);
    flag[0] = 1;
    ANSWERS(cuStreamSynchronize(s), error);
    ANSWERS(cuCtxSynchronize(), error);
}
static void a_fill_that_waits_fails_where_nothing_is_mapped_by_then(void)
{
    fail_without(unmap_page, FILL, CUDA_ERROR_ILLEGAL_ADDRESS);
}
static void a_copy_that_waits_fails_where_nothing_is_mapped_by_then(void)
{
    fail_without(unmap_page, COPY_FROM, CUDA_ERROR_ILLEGAL_ADDRESS);
}
static void a_copy_that_waits_fails_where_it_may_only_read_by_then(void)
{
    fail_without(make_read_only, COPY_TO, CUDA_ERROR_ILLEGAL_ADDRESS);
}
static void a_write_that_waits_fails_where_nothing_is_mapped_by_then(void)
{
    fail_without(unmap_page, WRITE, CUDA_ERROR_LAUNCH_FAILED);
}

static void what_is_no_kernel_on_a_gpu_fails_in_another_way(void)
{
    fail_without(unmap_page, FILL_FEW, CUDA_ERROR_LAUNCH_FAILED);
}
static void a_copy_from_the_host_fails_in_that_way_too(void)
{
    fail_without(make_read_only, COPY_UP, CUDA_ERROR_LAUNCH_FAILED);
}
static void a_wait_fails_that_would_never_end(void) { fail_without(unmap_page, AWAIT, CUDA_ERROR_LAUNCH_FAILED); }

/* The host goes on, and may do with its memory what it likes, while the stream waits. */
static void copies_from_pageable_memory_wait_in_the_stream(void)
{
    CUstream s;
    uint32_t word_there[1024];
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CUdeviceptr at = map_new(on_device(0));
    give(at, PAGE, on_device(0), RW);
    CHECK(cuMemsetD32(at, 3, PAGE / 4));
    CHECK(cuCtxSynchronize());
    CHECK(cuStreamWaitValue32(s, (CUdeviceptr)flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    for (uint32_t k = 0; k < 1024; k++) word_there[k] = k + 8;
    CHECK(cuMemcpyHtoDAsync(at, word_there, sizeof word_there, s));
    memset(word_there, 0, sizeof word_there);
    ANSWERS(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    EXPECT_EQUAL(word(at + 4092), 3);
    flag[0] = 1;
    CHECK(cuStreamSynchronize(s));
    EXPECT_EQUAL(word(at), 8);
    EXPECT_EQUAL(word(at + 4092), 1031);
}

static void a_graph_that_fills_what_is_unmapped_by_then_fails_on_the_device(void)
{
    CUstream s;
    CUgraph g;
    CUgraphExec x;
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CUdeviceptr at = map_new(on_device(0));
    give(at, PAGE, on_device(0), RW);
    CHECK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    CHECK(cuMemsetD32Async(at, 7, PAGE / 4, s));
    CHECK(cuStreamEndCapture(s, &g));
    CHECK(cuGraphInstantiate(&x, g, 0));
    unmap_page(at);
    CHECK(cuGraphLaunch(x, s));
    ANSWERS(cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* ---- the host */

static sigjmp_buf back_here;
static void on_fault(int signal)
{
    (void)signal;
    siglongjmp(back_here, 1);
}

/* Whether the host may read, write there. */
static bool touch(CUdeviceptr at, bool write)
{
    if (sigsetjmp(back_here, 1)) return false;
    if (write)
        *(volatile uint32_t *)at = 9;
    else
        (void)*(volatile uint32_t *)at;
    return true;
}

static void the_host_touches_what_it_was_given(void)
{
    signal(SIGSEGV, on_fault);
    CUdeviceptr at = map_new(on(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0)), d = map_new(on_device(0));
    const CUmemLocation here = on(CU_MEM_LOCATION_TYPE_HOST, 0);
    EXPECT_EQUAL(touch(at, false), false);
    give(at, PAGE, here, RO);
    EXPECT_EQUAL(touch(at, false), true);
    EXPECT_EQUAL(touch(at, true), false);
    give(at, PAGE, here, RW);
    EXPECT_EQUAL(touch(at, true), true);
    give(at, PAGE, on_device(0), RW);
    EXPECT_EQUAL(poke(at + 4, 8), 0);
    EXPECT_EQUAL(((volatile uint32_t *)at)[1], 8);
    EXPECT_EQUAL(word(at), 9);
    give(at, PAGE, here, NONE);
    EXPECT_EQUAL(touch(at, false), false);
    give(d, PAGE, on_device(0), RW);
    EXPECT_EQUAL(touch(d, false), false);
    CHECK(cuMemUnmap(at, PAGE));
    EXPECT_EQUAL(touch(at, false), false);
}

static unsigned long long access_at(CUdeviceptr at)
{
    const CUmemLocation here = on_device(0);
    unsigned long long flags;
    CHECK(cuMemGetAccess(&flags, &here, at));
    return flags;
}

/* It ends with a mapping below its beginning (observed on an H200). */
static void a_range_that_wraps_around_goes_up_to_the_first_hole(void)
{
    const unsigned mapped[] = { 0, 8, 9, 11 };
    CUdeviceptr low = reserve(16 * PAGE), high = low + 8 * PAGE;
    for (unsigned k = 0; k < 4; k++) CHECK(cuMemMap(low + mapped[k] * PAGE, PAGE, 0, create(on_device(0), PAGE), 0));
    give(high, low + PAGE - high, on_device(0), RW);
    EXPECT_EQUAL(access_at(low), NONE);
    EXPECT_EQUAL(access_at(high), RW);
    EXPECT_EQUAL(access_at(high + PAGE), RW);
    EXPECT_EQUAL(access_at(high + 3 * PAGE), NONE);
    EXPECT_EQUAL(poke(high + PAGE, 3), 0);
    EXPECT_EQUAL(word(high + PAGE), 3);
}

/* ---- devices and contexts */

static void each_device_has_its_own_rights(void)
{
    CUdeviceptr at = map_new(on_device(1));
    give(at, PAGE, on_device(0), RW);
    EXPECT_EQUAL(poke(at, 3), 0);
    give(at, PAGE, on_device(1), RO);
    load(1);
    EXPECT_EQUAL(word(at), 3);
    give(at, PAGE, on_device(0), NONE);
    CHECK(cuCtxSetCurrent(contexts[0]));
    uint32_t w;
    ANSWERS(cuMemcpyDtoH(&w, at, 4), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuCtxSetCurrent(contexts[1]));
    EXPECT_EQUAL(poke(at, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void mappings_outlive_contexts(void)
{
    CHECK(cuInit(0));
    CUdeviceptr at = map_new(on_device(0));
    give(at, PAGE, on_device(0), RW);
    for (uint32_t k = 1; k < 4; k++) {
        load(0);
        if (k > 1) EXPECT_EQUAL(word(at), k - 1);
        EXPECT_EQUAL(poke(at, k), 0);
        CHECK(cuDevicePrimaryCtxRelease(0));
    }
}

#ifdef __SANITIZE_THREAD__ /* which leaves less room */
static const size_t MOST = 1ul << 34;
#else
static const size_t MOST = 1ul << 46;
#endif

static void the_last_page_of_the_largest_reservation_works(void)
{
    CUdeviceptr at = reserve(MOST), last = at + MOST - PAGE;
    CHECK(cuMemMap(last, PAGE, 0, create(on_device(0), PAGE), 0));
    give(last, PAGE, on_device(0), RW);
    EXPECT_EQUAL(poke(last + PAGE - 4, 3), 0);
    EXPECT_EQUAL(word(last + PAGE - 4), 3);
    CHECK(cuMemUnmap(at, MOST));
    CHECK(cuMemAddressFree(at, MOST));
}

int main(void)
{
    setenv("FAULTLINE_DEVICES", "2", 1);
    setenv("FAULTLINE_LOG", "off", 0);
    const struct CMUnitTest tests[] = {
        ALONE(start, a_kernel_that_runs_has_the_access_it_is_given),
        ALONE(start, a_kernel_that_runs_loses_the_access_that_is_taken),
        ALONE(start, a_kernel_that_runs_cannot_touch_what_is_unmapped),
        ALONE(start, what_changed_while_idle_holds_for_the_next_kernel),
        ALONE(start, aliases_show_one_memory_with_rights_of_their_own),
        ALONE(start, an_atomic_add_of_0_is_a_write),
        ALONE(start, a_reduction_with_0_is_a_write),
        ALONE(start, copies_and_memsets_cross_mappings),
        ALONE(start, streams_write_where_their_device_may),
        ALONE(start, work_that_waits_goes_where_its_address_leads_by_then),
        ALONE(start, a_fill_that_waits_fails_where_nothing_is_mapped_by_then),
        ALONE(start, a_copy_that_waits_fails_where_nothing_is_mapped_by_then),
        ALONE(start, a_copy_that_waits_fails_where_it_may_only_read_by_then),
        ALONE(start, a_write_that_waits_fails_where_nothing_is_mapped_by_then),
        ALONE(start, what_is_no_kernel_on_a_gpu_fails_in_another_way),
        ALONE(start, a_copy_from_the_host_fails_in_that_way_too),
        ALONE(start, a_wait_fails_that_would_never_end),
        ALONE(start, copies_from_pageable_memory_wait_in_the_stream),
        ALONE(start, a_graph_that_fills_what_is_unmapped_by_then_fails_on_the_device),
        ALONE(start, the_host_touches_what_it_was_given),
        ALONE(start, a_range_that_wraps_around_goes_up_to_the_first_hole),
        ALONE(start, each_device_has_its_own_rights),
        ALONE(NULL, mappings_outlive_contexts),
        ALONE(start, the_last_page_of_the_largest_reservation_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
