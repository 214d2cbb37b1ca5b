/* Programs that use managed memory well or badly: what `faultline run
 * --um-summary` should say of each. usage: patterns NAME */
#include "../check.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB (1ul << 20)

/* One thread touches n pages in order; mode 1 writes. */
static const char ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry touch(.param .u64 a, .param .u32 n, .param .u32 mode)\n{\n"
    ".reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %d;\n"
    "ld.param.u64 %d, [a]; ld.param.u32 %r1, [n]; ld.param.u32 %r5, [mode]; mov.u32 %r2, 0; setp.ne.u32 %p2, %r5, 0;\n"
    "L: setp.ge.u32 %p1, %r2, %r1; @%p1 bra E;\n"
    "@%p2 st.volatile.global.u32 [%d], %r2; @!%p2 ld.volatile.global.u32 %r3, [%d];\n"
    "add.u64 %d, %d, 4096; add.u32 %r2, %r2, 1; bra L;\nE: ret;\n}\n";

static const CUmemLocation gpu = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
static CUfunction touch;

static CUfunction load(int device, CUcontext *c)
{
    CUfunction f;
    CUmodule m;
    CHECK(cuDevicePrimaryCtxRetain(c, device));
    CHECK(cuCtxSetCurrent(*c));
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&f, m, "touch"));
    return f;
}

static void launch(void *p, size_t bytes, unsigned mode)
{
    CUdeviceptr at = (CUdeviceptr)p;
    unsigned n = (unsigned)(bytes / 4096);
    CHECK(cuLaunchKernel(touch, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &at, &n, &mode }, NULL));
}

static void kernel(void *p, size_t bytes, unsigned mode)
{
    launch(p, bytes, mode);
    CHECK(cuCtxSynchronize());
}

static char *managed(size_t bytes)
{
    CUdeviceptr p;
    CHECK(cuMemAllocManaged(&p, bytes, CU_MEM_ATTACH_GLOBAL));
    memset((void *)p, 1, bytes);
    return (char *)p;
}

static void faulted(void) { kernel(managed(16 * MIB), 16 * MIB, 0); }

static void prefetched(void)
{
    char *p = managed(16 * MIB);
    CHECK(cuMemPrefetchAsync((CUdeviceptr)p, 16 * MIB, gpu, 0, NULL));
    kernel(p, 16 * MIB, 0);
}

static void turns(void)
{
    char *p = managed(4 * MIB);
    for (int k = 0; k < 30; k++) {
        kernel(p, 65536, 1);
        memset(p, k, 65536);
    }
}

static void reads_in_turns(void)
{
    char *p = managed(4 * MIB);
    volatile int sum = 0;
    for (int k = 0; k < 40; k++) {
        kernel(p, 65536, 0);
        for (int i = 0; i < 65536; i += 4096) sum += p[i];
    }
}

/* Not managed: nothing is duplicated there. */
static void ordinary_in_turns(void)
{
    char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile int sum = 0;
    memset(p, 1, 4 * MIB);
    for (int k = 0; k < 40; k++) {
        kernel(p, 65536, 0);
        for (int i = 0; i < 65536; i += 4096) sum += p[i];
    }
}

static void read_mostly(void)
{
    char *p = managed(4 * MIB);
    CHECK(cuMemAdvise((CUdeviceptr)p, 4 * MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, gpu));
    CHECK(cuMemPrefetchAsync((CUdeviceptr)p, 4 * MIB, gpu, 0, NULL));
    volatile int sum = 0;
    for (int k = 0; k < 40; k++) {
        kernel(p, 65536, 0);
        for (int i = 0; i < 65536; i += 4096) sum += p[i];
    }
}

static void written_copies(void)
{
    char *p = managed(4 * MIB);
    CHECK(cuMemAdvise((CUdeviceptr)p, 4 * MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, gpu));
    for (int k = 0; k < 3; k++) {
        kernel(p, 4 * MIB, 0);
        for (size_t i = 0; i < 4 * MIB; i += 4096) p[i]++;
    }
}

static void oversubscribed(void)
{
    char *p = managed(160 * MIB);
    for (int k = 0; k < 2; k++) kernel(p, 160 * MIB, 1);
}

static void too_much_prefetched(void)
{
    char *p = managed(160 * MIB);
    for (int k = 0; k < 2; k++)
        for (int half = 0; half < 2; half++) {
            char *from = p + 80 * MIB * (size_t)half;
            CHECK(cuMemPrefetchAsync((CUdeviceptr)from, 80 * MIB, gpu, 0, NULL));
            kernel(from + 60 * MIB, 20 * MIB, 1);
        }
}

/* Much returns, but because it does not fit. */
static void oversubscribed_and_read(void)
{
    char *p = managed(160 * MIB);
    volatile int sum = 0;
    for (int k = 0; k < 3; k++) {
        for (int round = 0; round < 2; round++) kernel(p, 160 * MIB, 1);
        for (size_t i = 0; i < 160 * MIB; i += 4096) sum += p[i];
    }
}

/* one that nobody uses lies among others that are used in turns */
static void neighbours(void)
{
    enum { ALLOCATIONS = 32, UNUSED = 20, BYTES = 64 << 10 };
    char *p[ALLOCATIONS];
    for (int k = 0; k < ALLOCATIONS; k++) p[k] = managed(BYTES);
    memset(p[UNUSED], 1, BYTES);
    for (int round = 0; round < 4; round++) {
        for (int k = 0; k < ALLOCATIONS; k++)
            if (k != UNUSED) memset(p[k], round, BYTES);
        for (int k = 0; k < ALLOCATIONS; k++)
            if (k != UNUSED) kernel(p[k], BYTES, 0);
    }
}

/* What is read on both devices, and written a little now and then, is best read-mostly. */
static void shared_reads(bool read_mostly)
{
    CUcontext contexts[2];
    CUfunction on[2];
    for (int d = 0; d < 2; d++) on[d] = load(d, &contexts[d]);
    char *p = managed(4 * MIB);
    if (read_mostly) CHECK(cuMemAdvise((CUdeviceptr)p, 4 * MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, gpu));
    for (int k = 0; k < 20; k++) {
        CHECK(cuCtxSetCurrent(contexts[k % 2]));
        touch = on[k % 2];
        kernel(p, 4 * MIB, 0);
        if (read_mostly && k < 12) memset(p + k * 65536, k, 65536);
    }
}
static void reads_of_two_devices(void) { shared_reads(false); }
static void few_copies_written(void) { shared_reads(true); }

/* Nearly all comes by a prefetch. */
static void prefetched_but_for_a_little(void)
{
    char *p = managed(32 * MIB);
    CHECK(cuMemPrefetchAsync((CUdeviceptr)p, 30 * MIB, gpu, 0, NULL));
    kernel(p, 32 * MIB, 0);
}

/* One allocation has no neighbours. */
static void small_and_alone(void)
{
    char *p = managed(12 << 10);
    for (int round = 0; round < 4; round++) {
        kernel(p, 12 << 10, 1);
        memset(p, round, 12 << 10);
    }
}

/* Nobody waits for the kernel but who looks at what the next one wrote. */
static void never_synchronised(void)
{
    char *p = managed(16 * MIB), *written;
    CHECK(cuMemHostAlloc((void **)&written, 8192, 0));
    volatile unsigned *last = (unsigned *)(written + 4096);
    launch(p, 16 * MIB, 0);
    launch(written, 8192, 1);
    while (*last != 1) usleep(100);
}

static void crashed(void)
{
    kernel(managed(16 * MIB), 16 * MIB, 0);
    raise(SIGKILL);
}

static const struct {
    const char *name;
    void (*run)(void);
} patterns[] = {
    { "faulted", faulted },
    { "prefetched", prefetched },
    { "turns", turns },
    { "reads-in-turns", reads_in_turns },
    { "ordinary-in-turns", ordinary_in_turns },
    { "read-mostly", read_mostly },
    { "written-copies", written_copies },
    { "oversubscribed", oversubscribed },
    { "too-much-prefetched", too_much_prefetched },
    { "oversubscribed-and-read", oversubscribed_and_read },
    { "neighbours", neighbours },
    { "reads-of-two-devices", reads_of_two_devices },
    { "few-copies-written", few_copies_written },
    { "prefetched-but-for-a-little", prefetched_but_for_a_little },
    { "small-and-alone", small_and_alone },
    { "never-synchronised", never_synchronised },
    { "crashed", crashed },
};

int main(int argc, char **argv)
{
    CUcontext c;
    CHECK(cuInit(0));
    touch = load(0, &c);
    for (size_t k = 0; argc > 1 && k < sizeof patterns / sizeof *patterns; k++)
        if (!strcmp(argv[1], patterns[k].name)) patterns[k].run();
    return 0;
}
