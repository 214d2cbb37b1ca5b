/* What mapping 2 MiB costs, from the reservation to its end: untouched, touched
 * by a kernel (beside the same system calls made by hand), and with 10,000 other
 * pages mapped. usage: vmm */
#include "client.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 400, TOUCHED = 60, PAGES = 10000, THOUSAND = 1000 };
#define SIZE ((size_t)2 << 20)

static const char touch_ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                                ".visible .entry touch(.param .u64 at) {\n"
                                ".reg .b32 %r<3>; .reg .b64 %d<4>;\n"
                                "ld.param.u64 %d1, [at]; cvta.to.global.u64 %d1, %d1;\n"
                                "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 64, %r2;\n"
                                "mul.wide.u32 %d2, %r1, 4096; add.s64 %d3, %d1, %d2;\n"
                                "st.global.u32 [%d3], %r1; ret; }\n";

static CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                    .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
static CUmemAccessDesc access_both = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
                                       .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
static CUfunction touch;

static void prepare(void)
{
    CUmodule m;
    setenv("FAULTLINE_VRAM", "32G", 0); /* most of it is never touched */
    use_device();
    CHECK(cuModuleLoadData(&m, touch_ptx));
    CHECK(cuModuleGetFunction(&touch, m, "touch"));
}

static void life(bool touched)
{
    CUdeviceptr at;
    CUmemGenericAllocationHandle h;
    CHECK(cuMemAddressReserve(&at, SIZE, 0, 0, 0));
    CHECK(cuMemCreate(&h, SIZE, &prop, 0));
    CHECK(cuMemMap(at, SIZE, 0, h, 0));
    CHECK(cuMemSetAccess(at, SIZE, &access_both, 1));
    if (touched) {
        void *arguments[] = { &at };
        CHECK(cuLaunchKernel(touch, SIZE / 4096 / 64, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
        CHECK(cuCtxSynchronize());
    }
    CHECK(cuMemUnmap(at, SIZE));
    CHECK(cuMemRelease(h));
    CHECK(cuMemAddressFree(at, SIZE));
}

static void raw_life(int fd, off_t offset)
{
    char *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, offset);
    if (at == MAP_FAILED) exit(1);
    for (size_t k = 0; k < SIZE; k += 4096) *(volatile uint32_t *)(at + k) = (uint32_t)k;
    munmap(at, SIZE);
    fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, (off_t)SIZE);
}

static void lives(void)
{
    static double untouched[ROUNDS], touched[TOUCHED], raw[TOUCHED];
    int fd = memfd_create("bench", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)SIZE * TOUCHED)) exit(1);
    life(true);
    for (int k = 0; k < ROUNDS; k++) {
        double start = now_us();
        life(false);
        untouched[k] = now_us() - start;
    }
    for (int k = 0; k < TOUCHED; k++) { /* in turn, so that both meet the same machine */
        double start = now_us();
        life(true);
        touched[k] = now_us() - start;
        start = now_us();
        raw_life(fd, (off_t)SIZE * k);
        raw[k] = now_us() - start;
    }
    close(fd);
    report("vmm.untouched", median(untouched, ROUNDS));
    report("vmm.touched", median(touched, TOUCHED));
    report("vmm.touched.raw", median(raw, TOUCHED));
}

/* The median page's cost among the first thousand and the last of them. */
static void ends(const char *first, const char *last, double *took)
{
    report(first, median(took, THOUSAND));
    report(last, median(took + PAGES - THOUSAND, THOUSAND));
}

static void many(void)
{
    static CUmemGenericAllocationHandle h[PAGES];
    static double took[PAGES];
    CUdeviceptr at;
    CHECK(cuMemAddressReserve(&at, SIZE * PAGES, 0, 0, 0));
    for (int k = 0; k < PAGES; k++) {
        double start = now_us();
        CHECK(cuMemCreate(&h[k], SIZE, &prop, 0));
        CHECK(cuMemMap(at + SIZE * k, SIZE, 0, h[k], 0));
        CHECK(cuMemSetAccess(at + SIZE * k, SIZE, &access_both, 1));
        took[k] = now_us() - start;
    }
    ends("vmm.map.first", "vmm.map.last", took);
    for (int k = 0; k < PAGES; k++) { /* from both ends: the first with all of them there, the last with none */
        int n = k % 2 ? PAGES - 1 - k / 2 : k / 2;
        double start = now_us();
        CHECK(cuMemUnmap(at + SIZE * n, SIZE));
        CHECK(cuMemRelease(h[n]));
        took[k] = now_us() - start;
    }
    ends("vmm.unmap.most", "vmm.unmap.least", took);
    CHECK(cuMemAddressFree(at, SIZE * PAGES));
}

int main(void)
{
    prepare();
    lives();
    many();
    return 0;
}
