/* What the library keeps of managed memory in the program's own, once every processor has touched and mapped all of
 * it. usage: FAULTLINE_DEVICES=N books; N devices do. */
#include "../usage.h"
#include "rig.h"

enum { DEVICES_MOST = 8, THREADS = 256 };
static const size_t SIZE = 256 * MIB, PIECE = 64 << 10;

/* each(at): a thread for each page adds 1 to its first word; pieces(at, first, step): block k writes to the 16 pages of
 * piece k * step + first. */
static const char kernels[] = PTX_HEADER
    ".visible .entry each(.param .u64 at) { .reg .b32 %r<5>; .reg .b64 %a<4>; ld.param.u64 %a1, [at];\n"
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;\n"
    "mul.wide.u32 %a2, %r4, 4096; add.u64 %a3, %a1, %a2; ld.global.u32 %r1, [%a3]; add.u32 %r1, %r1, 1;\n"
    "st.global.u32 [%a3], %r1; ret; }\n"
    ".visible .entry pieces(.param .u64 at, .param .u32 first, .param .u32 step) { .reg .b32 %r<5>; .reg .b64 %a<4>;\n"
    "ld.param.u64 %a1, [at]; ld.param.u32 %r1, [first]; ld.param.u32 %r2, [step]; mov.u32 %r3, %ctaid.x;\n"
    "mad.lo.u32 %r1, %r3, %r2, %r1; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 16, %r2; mul.wide.u32 %a2, %r1, 4096;\n"
    "add.u64 %a3, %a1, %a2; st.global.u32 [%a3], %r1; ret; }\n";

static int devices;
static struct {
    CUcontext context;
    CUfunction each, pieces;
} on[DEVICES_MOST];

static void start(void)
{
    alarm(60);
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&devices));
    EXPECT(devices <= DEVICES_MOST);
    for (int d = devices - 1; d >= 0; d--) {
        CUmodule m;
        CHECK(cuDevicePrimaryCtxRetain(&on[d].context, d));
        CHECK(cuCtxSetCurrent(on[d].context));
        CHECK(cuModuleLoadData(&m, kernels));
        CHECK(cuModuleGetFunction(&on[d].each, m, "each"));
        CHECK(cuModuleGetFunction(&on[d].pieces, m, "pieces"));
    }
}

static CUmemLocation gpu(int d) { return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d }; }
static const CUmemLocation host = { .type = CU_MEM_LOCATION_TYPE_HOST };

static long kib_before;

static CUdeviceptr begin(void)
{
    CUdeviceptr first, p;
    CHECK(cuMemAllocManaged(&first, 4, CU_MEM_ATTACH_GLOBAL));
    *(int *)first = 1;
    for (int d = 0; d < devices; d++) { /* whatever a first launch takes is not counted */
        CHECK(cuCtxSetCurrent(on[d].context));
        CHECK(cuLaunchKernel(on[d].each, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &first }, NULL));
        CHECK(cuCtxSynchronize());
    }
    CHECK(cuMemAllocManaged(&p, SIZE, CU_MEM_ATTACH_GLOBAL));
    kib_before = resident_kib();
    return p;
}

/* limit: per cent of what was touched */
static void end(CUdeviceptr p, double limit)
{
    double taken = (double)(resident_kib() - kib_before) * 1024 * 100 / (double)SIZE;
#ifdef __SANITIZE_ADDRESS__ /* what is given back rests, and the sanitizer's own memory counts */
    limit *= 3;
#endif
    if (taken > limit) {
        fprintf(stderr, "the books take %.3f %% of what was touched, not %.2f at most\n", taken, limit);
        _exit(1);
    }
    CHECK(cuMemFree(p));
}

static void touch_on_host(CUdeviceptr p)
{
    for (size_t at = 0; at < SIZE; at += 2 * MIB) *(volatile char *)(p + at) = 1;
}

static void books_are_small_where_every_processor_maps_everything(void)
{
    CUdeviceptr p = begin();
    CHECK(cuMemAdvise(p, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, host));
    for (int d = 0; d < devices; d++) CHECK(cuMemAdvise(p, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, gpu(d)));
    for (int d = 0; d < devices; d++) CHECK(cuMemPrefetchAsync(p, SIZE, gpu(d), 0, NULL));
    CHECK(cuMemPrefetchAsync(p, SIZE, host, 0, NULL));
    CHECK(cuCtxSynchronize());
    touch_on_host(p);
    end(p, 0.2);
}

static void books_are_small_where_every_processor_has_a_copy(void)
{
    CUdeviceptr p = begin();
    touch_on_host(p);
    CHECK(cuMemAdvise(p, SIZE, CU_MEM_ADVISE_SET_READ_MOSTLY, host));
    for (int d = 0; d < devices; d++) CHECK(cuMemPrefetchAsync(p, SIZE, gpu(d), 0, NULL));
    CHECK(cuCtxSynchronize());
    end(p, 0.2);
}

/* Pieces of 64 KiB go round among the processors: none has what its neighbour has, in any window. */
static void books_are_small_where_every_processor_has_pieces(void)
{
    CUdeviceptr p = begin();
    unsigned all = (unsigned)(SIZE / PIECE), step = (unsigned)devices + 1;
    touch_on_host(p);
    for (unsigned d = 0; d < step - 1; d++) {
        CHECK(cuCtxSetCurrent(on[d].context));
        CHECK(cuLaunchKernel(on[d].pieces, all / step, 1, 1, 16, 1, 1, 0, NULL, (void *[]){ &p, &d, &step }, NULL));
        CHECK(cuCtxSynchronize());
    }
    for (size_t at = PIECE * (step - 1); at < SIZE; at += PIECE * step) *(volatile char *)(p + at) = 1;
    end(p, 0.35);
}

static void books_are_small_where_kernels_of_every_device_have_touched_everything(void)
{
    CUdeviceptr p = begin();
    for (int d = 0; d < devices; d++) {
        CHECK(cuCtxSetCurrent(on[d].context));
        CHECK(cuLaunchKernel(on[d].each, SIZE / 4096 / THREADS, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){ &p }, NULL));
        CHECK(cuCtxSynchronize());
    }
    EXPECT_EQUAL(*(int *)p, devices);
    end(p, 0.2);
}

/* A window at a time goes back and forth, quickly. */
static void books_are_small_where_everything_thrashes(void)
{
    enum { TURNS = 6, PAGES = 512 };
    CUdeviceptr p = begin();
    CHECK(cuCtxSetCurrent(on[0].context));
    for (CUdeviceptr at = p; at < p + SIZE; at += 2 * MIB)
        for (int turn = 0; turn < TURNS; turn++) {
            CHECK(cuLaunchKernel(on[0].each, PAGES / THREADS, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){ &at }, NULL));
            CHECK(cuCtxSynchronize());
            for (size_t k = 0; k < PAGES; k++) ++*(volatile int *)(at + k * 4096);
        }
    for (size_t k = 0; k < SIZE / 4096; k++) EXPECT_EQUAL(*(volatile int *)(p + k * 4096), 2 * TURNS);
    end(p, 0.3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, books_are_small_where_every_processor_maps_everything),
        ALONE(start, books_are_small_where_every_processor_has_a_copy),
        ALONE(start, books_are_small_where_every_processor_has_pieces),
        ALONE(start, books_are_small_where_kernels_of_every_device_have_touched_everything),
        ALONE(start, books_are_small_where_everything_thrashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
