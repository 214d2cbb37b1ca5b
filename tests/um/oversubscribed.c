/* Managed memory of which there is more than the device has. Each test runs in a process of its own.
 * usage: FAULTLINE_VRAM=16M oversubscribed */
#include "rig.h"

#include <faultline.h>

enum { TIMES = 4 }; /* the device's memory */
#define WORDS (TIMES * 16 * MIB / 4)

/* add: n threads add 1 to the words, each to every n-th. */
static const char kernels[] = PTX_HEADER
    ".visible .entry add(.param .u64 at, .param .u32 words) { .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %a<4>;\n"
    "ld.param.u64 %a1, [at]; ld.param.u32 %r1, [words]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, "
    "%tid.x; mad.lo.u32 %r5, %r2, %r3, %r4; mov.u32 %r6, %nctaid.x; mul.lo.u32 %r6, %r6, %r3;\n"
    "L: setp.ge.u32 %p, %r5, %r1; @%p bra E; mul.wide.u32 %a2, %r5, 4; add.u64 %a3, %a1, %a2;\n"
    "ld.global.u32 %r7, [%a3]; add.u32 %r7, %r7, 1; st.global.u32 [%a3], %r7; add.u32 %r5, %r5, %r6; bra L;\n"
    "E: ret; }\n";
static const CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
static CUfunction add_kernel;
static uint32_t *words;

static void start(void)
{
    CUdeviceptr p;
    add_kernel = function_of(start_with(0, kernels), "add");
    CHECK(cuMemAllocManaged(&p, WORDS * 4, CU_MEM_ATTACH_GLOBAL));
    words = (void *)p;
}

static void add(unsigned blocks)
{
    uint32_t n = WORDS;
    void *parameters[] = { &words, &n };
    CHECK(cuLaunchKernel(add_kernel, blocks, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
    CHECK(cuCtxSynchronize());
}

static void check(uint32_t sum)
{
    for (size_t k = 0; k < WORDS; k++)
        if (words[k] != sum + (uint32_t)k) EXPECT_EQUAL(words[k], sum + (uint32_t)k);
}

static void fill(void)
{
    for (size_t k = 0; k < WORDS; k++) words[k] = (uint32_t)k;
}

static void threads_that_all_go_over_all_of_it_end_soon(void)
{
    struct faultline_counters c;
    fill();
    add(16);
    EXPECT_EQUAL(faultline_get_counters(&c), 0);
    EXPECT(c.bytes_evicted >= (TIMES - 1) * 16 * MIB);
    EXPECT(c.bytes_evicted <= 6 * WORDS * 4);
    check(1);
}

static void each_kernel_fetches_it_anew(void)
{
    struct faultline_counters before, after;
    add(16);
    EXPECT_EQUAL(faultline_get_counters(&before), 0);
    add(16);
    EXPECT_EQUAL(faultline_get_counters(&after), 0);
    EXPECT(after.bytes_to_device - before.bytes_to_device >= WORDS * 4);
}

static void advice_loses_nothing(void)
{
    static const CUmem_advise advice[] = { CU_MEM_ADVISE_SET_READ_MOSTLY, CU_MEM_ADVISE_SET_ACCESSED_BY,
                                           CU_MEM_ADVISE_SET_PREFERRED_LOCATION };
    uint32_t sum = 0;
    fill();
    for (unsigned k = 0; k < 3; k++) {
        CHECK(cuMemAdvise((CUdeviceptr)words, WORDS * 2, advice[k], device));
        add(WORDS / 256);
        check(++sum);
    }
}

static void other_memory_takes_all_of_the_device(void)
{
    CUdeviceptr p;
    size_t available = 0;
    fill();
    add(16);
    while (!cuMemAlloc(&p, 2 * MIB)) available += 2 * MIB;
    EXPECT(available >= 12 * MIB);
    check(1);
}

static void take_the_device(void)
{
    CUdeviceptr p;
    while (!cuMemAlloc(&p, 2 * MIB)) continue;
}

static void a_prefetch_without_room_brings_nothing(void)
{
    CUdeviceptr p = (CUdeviceptr)words;
    take_the_device();
    CHECK(cuMemPrefetchAsync(p, 4096, device, 0, NULL));
    CHECK(cuMemPrefetchAsync(p, 32 * MIB, device, 0, NULL));
    CHECK(cuCtxSynchronize());
}

/* As an H200 answers. */
static void a_copy_without_room_is_an_access_to_nothing(void)
{
    CUdeviceptr p = (CUdeviceptr)words, other;
    CHECK(cuMemAlloc(&other, 2 * MIB));
    take_the_device();
    ANSWERS(cuMemcpyDtoD(other, p, 2 * MIB), CUDA_ERROR_ILLEGAL_ADDRESS);
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    ANSWERS(cuMemsetD8(other, 0, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void a_memset_without_room_is_an_access_to_nothing(void)
{
    take_the_device();
    CHECK(cuMemsetD8Async((CUdeviceptr)words, 1, 2 * MIB, NULL));
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void block(void *done)
{
    while (!*(_Atomic int *)done) usleep(100);
}

static void a_prefetch_that_finds_no_room_later_does_no_harm(void)
{
    static _Atomic int done;
    CUdeviceptr p = (CUdeviceptr)words;
    CHECK(cuLaunchHostFunc(NULL, block, (void *)&done));
    CHECK(cuMemPrefetchAsync(p, 32 * MIB, device, 0, NULL));
    take_the_device();
    done = 1;
    CHECK(cuCtxSynchronize());
    words[0] = 5;
    EXPECT_EQUAL(words[0], 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, threads_that_all_go_over_all_of_it_end_soon),
        ALONE(start, each_kernel_fetches_it_anew),
        ALONE(start, advice_loses_nothing),
        ALONE(start, other_memory_takes_all_of_the_device),
        ALONE(start, a_prefetch_without_room_brings_nothing),
        ALONE(start, a_copy_without_room_is_an_access_to_nothing),
        ALONE(start, a_memset_without_room_is_an_access_to_nothing),
        ALONE(start, a_prefetch_that_finds_no_room_later_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
