/* Managed memory as programs use it, through the whole library, with two
 * devices. Each test runs in a process of its own.
 * usage: FAULTLINE_DEVICES=2 managed */
#include "../usage.h"
#include "rig.h"

#include <errno.h>
#include <faultline.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static const char kernels[] =
    PTX_HEADER ".visible .global .attribute(.managed) .align 8 .u32 counter[2] = {7, 8};\n"
               ".visible .global .attribute(.managed) .align 8 .u64 where = counter;\n"
               ".visible .entry bump() { .reg .b32 %r<3>; .reg .b64 %a<2>;\n"
               "mov.u64 %a1, counter; cvta.global.u64 %a1, %a1; atom.global.add.u32 %r1, [%a1], 1; ret; }\n" PTX_POKE;

static CUcontext context[2];
static CUfunction poke_kernel;

static void start(void)
{
    CUmodule m;
    alarm(240);
    CHECK(cuInit(0));
    for (int k = 1; k >= 0; k--) CHECK(cuDevicePrimaryCtxRetain(&context[k], k)), CHECK(cuCtxSetCurrent(context[k]));
    CHECK(cuModuleLoadData(&m, kernels));
    CHECK(cuModuleGetFunction(&poke_kernel, m, "poke"));
}

static void poke(CUdeviceptr at, uint32_t value)
{
    void *parameters[] = { &at, &value };
    CHECK(cuLaunchKernel(poke_kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
}

static CUdeviceptr managed(size_t size)
{
    CUdeviceptr p;
    CHECK(cuMemAllocManaged(&p, size, CU_MEM_ATTACH_GLOBAL));
    return p;
}

/* ---- variables */

static void bump(CUlibrary l)
{
    CUkernel k;
    CHECK(cuLibraryGetKernel(&k, l, "bump"));
    CHECK(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CHECK(cuCtxSynchronize());
}

static void a_librarys_managed_variable_is_one_for_all_devices_and_the_host(void)
{
    CUlibrary l;
    CUdeviceptr on[2], where;
    size_t size;
    CHECK(cuLibraryLoadData(&l, kernels, NULL, NULL, 0, NULL, NULL, 0));
    for (int k = 0; k < 2; k++) {
        CHECK(cuCtxSetCurrent(context[k]));
        CHECK(cuLibraryGetManaged(&on[k], &size, l, "counter"));
        EXPECT_EQUAL(size, 8);
        bump(l);
    }
    EXPECT_EQUAL(on[0], on[1]);
    uint32_t *counter = (void *)on[0];
    EXPECT_EQUAL(counter[0], 9);
    EXPECT_EQUAL(counter[1], 8);
    counter[0] = 100;
    bump(l);
    EXPECT_EQUAL(counter[0], 101);
    CHECK(cuLibraryGetManaged(&where, NULL, l, "where"));
    EXPECT_EQUAL(*(uint64_t *)where, on[0]);
    CHECK(cuDevicePrimaryCtxReset(0));
    EXPECT_EQUAL(counter[0], 101);
    CHECK(cuLibraryUnload(l));
    unsigned type;
    ANSWERS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, on[0]), CUDA_ERROR_INVALID_VALUE);
}

static void a_modules_managed_variable_takes_advice_and_is_not_freed(void)
{
    CUmodule a, b;
    CUdeviceptr x, y;
    int v;
    CHECK(cuModuleLoadData(&a, kernels));
    CHECK(cuModuleLoadData(&b, kernels));
    CHECK(cuModuleGetGlobal(&x, NULL, a, "counter"));
    CHECK(cuModuleGetGlobal(&y, NULL, b, "counter"));
    EXPECT(x != y);
    EXPECT_EQUAL(*(uint32_t *)x, 7);
    CHECK(cuMemAdvise(x, 8, CU_MEM_ADVISE_SET_READ_MOSTLY, (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST }));
    CHECK(cuMemRangeGetAttribute(&v, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, x, 8));
    EXPECT_EQUAL(v, 1);
    ANSWERS(cuMemFree(x), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuModuleUnload(a));
    EXPECT_EQUAL(*(uint32_t *)y, 7);
}

/* ---- small allocations */

static void small_allocations_share_pages_and_keep_their_bytes(void)
{
    enum { COUNT = 3000 };
    static CUdeviceptr p[COUNT];
    bool shared = false;
    for (int k = 0; k < COUNT; k++) {
        p[k] = managed(1 + (size_t)k % 700);
        *(uint8_t *)p[k] = (uint8_t)k;
        shared |= k && p[k] / 4096 == p[k - 1] / 4096;
    }
    EXPECT(shared);
    for (int k = 0; k < COUNT; k += 2) CHECK(cuMemFree(p[k]));
    for (int k = 1; k < COUNT; k += 2) EXPECT_EQUAL(*(uint8_t *)p[k], (uint8_t)k);
    for (int k = 1; k < COUNT; k += 200) poke(p[k] & -4ull, 0x01010101u * (unsigned)(k % 256));
    CHECK(cuCtxSynchronize());
    for (int k = 1; k < COUNT; k += 200) EXPECT_EQUAL(*(uint8_t *)p[k], (uint8_t)k);
}

static void what_is_placed_where_another_was_freed_is_new(void)
{
    int v;
    CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
    CUdeviceptr keep = managed(4096), p = managed(65536);
    memset((void *)p, 1, 65536);
    CHECK(cuMemAdvise(p, 65536, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
    CHECK(cuMemPrefetchAsync(p, 65536, device, 0, NULL));
    CHECK(cuMemFree(p));
    CUdeviceptr q = managed(65536);
    EXPECT_EQUAL(q, p);
    CHECK(cuMemRangeGetAttribute(&v, 4, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, q, 65536));
    EXPECT_EQUAL(v, -2);
    for (size_t k = 0; k < 65536; k++)
        if (((char *)q)[k]) EXPECT_EQUAL(((char *)q)[k], 0);
    EXPECT(keep != 0);
}

static void a_kernel_may_not_touch_a_freed_one_among_others(void)
{
    CUdeviceptr keep = managed(4096), p = managed(MIB);
    *(int *)keep = 1;
    CHECK(cuMemFree(p));
    poke(p + 512 * 1024, 1);
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQUAL(*(int *)keep, 1);
}

static void the_host_may_not_touch_a_freed_one_among_others(void)
{
    CUdeviceptr keep = managed(4096), p = managed(MIB);
    *(int *)p = 1;
    EXPECT(keep != 0);
    CHECK(cuMemFree(p));
    *(volatile int *)p = 2;
}

static void a_dying_context_takes_its_managed_memory_with_it(void)
{
    CUcontext c;
    unsigned type;
    CHECK(cuCtxCreate(&c, NULL, 0, 0));
    CUdeviceptr small = managed(100), large = managed(5 * MIB);
    *(int *)small = *(int *)large = 1;
    CHECK(cuCtxDestroy(c));
    ANSWERS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, small), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, large), CUDA_ERROR_INVALID_VALUE);
}

/* ---- order */

static void batches_prefetch_and_discard_in_stream_order(void)
{
    CUstream s;
    CUdeviceptr p = managed(8 * MIB), ranges[2] = { p, p + 4 * MIB };
    size_t sizes[2] = { 4 * MIB, 4 * MIB }, index[2] = { 0, 1 };
    CUmemLocation to[2] = { { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 }, { .type = CU_MEM_LOCATION_TYPE_HOST } };
    int v[2];
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    memset((void *)p, 5, 8 * MIB);
    CHECK(cuMemPrefetchBatchAsync(ranges, sizes, 2, to, index, 2, 0, s));
    CHECK(cuMemRangeGetAttribute(&v[0], 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p, 4 * MIB));
    CHECK(cuMemRangeGetAttribute(&v[1], 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p + 4 * MIB, 4 * MIB));
    EXPECT_EQUAL(v[0], 1);
    EXPECT_EQUAL(v[1], -1);
    CHECK(cuStreamSynchronize(s));
    EXPECT_EQUAL(((char *)p)[4 * MIB - 1], 5);
    CHECK(cuMemDiscardBatchAsync(ranges, sizes, 1, 0, s));
    CHECK(cuMemsetD8Async(p, 9, MIB, s));
    CHECK(cuMemDiscardAndPrefetchBatchAsync(ranges + 1, sizes, 1, to, index, 1, 0, s));
    CHECK(cuStreamSynchronize(s));
    EXPECT_EQUAL(((char *)p)[MIB - 1], 9);
    index[1] = 2;
    ANSWERS(cuMemPrefetchBatchAsync(ranges, sizes, 2, to, index, 2, 0, s), CUDA_ERROR_INVALID_VALUE);
    sizes[1] = 5 * MIB, index[1] = 1;
    ANSWERS(cuMemDiscardBatchAsync(ranges, sizes, 2, 0, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQUAL(((char *)p)[MIB - 1], 9);
}

/* Whether this process may have a userfaultfd that sees the kernel's own faults. */
static bool kernel_faults_are_seen(void)
{
    const char *asked = getenv("FAULTLINE_UFFD");
    if (asked && strcmp(asked, "on")) return false;
    int fd = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    if (fd < 0) fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

/* The kernel's system calls go through to pages that are on a device. */
static void system_calls_read_and_write_what_is_on_a_device(void)
{
    CUdeviceptr p = managed(MIB);
    CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
    int fds[2];
    char back[4096];
    memset((void *)p, 3, MIB);
    CHECK(cuMemPrefetchAsync(p, MIB, device, 0, NULL));
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(pipe(fds), 0);
    ssize_t written = write(fds[1], (void *)(p + 8192), 4096);
    if (written < 0 && errno == EFAULT && !kernel_faults_are_seen()) return; /* a limit that the library has said */
    EXPECT_EQUAL(written, 4096);
    EXPECT_EQUAL(read(fds[0], back, 4096), 4096);
    EXPECT_EQUAL(back[4095], 3);
    memset(back, 4, sizeof back);
    EXPECT_EQUAL(write(fds[1], back, 4096), 4096);
    EXPECT_EQUAL(read(fds[0], (void *)(p + 65536), 4096), 4096);
    EXPECT_EQUAL(((char *)p)[65536 + 4095], 4);
}

/* What the system was told of the page's node; -1 where it knows none. */
static uint8_t place_of(CUdeviceptr at)
{
    uint8_t place;
    EXPECT_EQUAL(faultline_residency((void *)at, 1, &place), 0);
    return place;
}

/* mlock and madvise cut a mapping in two. Faults around the cut are served all the same, and locked pages migrate. */
static void a_mapping_may_be_cut(void)
{
    if (!kernel_faults_are_seen()) return;
    for (int how = 0; how < 3; how++) {
        CUdeviceptr p = managed(2 * MIB), page = p + 4096;
        memset((void *)p, 1, 2 * MIB);
        for (int turn = 0; turn < 3; turn++) {
            poke(page, 5);
            CHECK(cuCtxSynchronize());
            EXPECT_EQUAL(place_of(page), 2);
            if (how == 0) EXPECT_EQUAL(mlock((void *)p, 8192), 0);
            if (how == 1) EXPECT_EQUAL(madvise((void *)page, 4096, MADV_DONTDUMP), 0);
            if (how == 2) EXPECT_EQUAL(mprotect((void *)(p + 8192), 4096, PROT_READ), 0);
            *(volatile uint32_t *)page += 1;
            EXPECT_EQUAL(place_of(page), 1);
            EXPECT_EQUAL(*(volatile uint32_t *)page, 6);
            EXPECT_EQUAL(*(volatile uint32_t *)(p + 12288), 0x01010101);
        }
        CHECK(cuMemFree(p));
    }
}

static int policy_of(CUdeviceptr at)
{
    int policy = -1;
    unsigned long nodes[16];
    syscall(SYS_get_mempolicy, &policy, nodes, 8 * sizeof nodes, at, MPOL_F_ADDR);
    return policy;
}

static void a_preferred_node_is_the_memory_policy_of_its_pages(void)
{
    static const CUmemLocation node = { .type = CU_MEM_LOCATION_TYPE_HOST_NUMA },
                               host = { .type = CU_MEM_LOCATION_TYPE_HOST };
    CUdeviceptr p = managed(8 * MIB);
    *(volatile char *)p = 1;
    if (policy_of(p) < 0) return;
    CHECK(cuMemAdvise(p + MIB, 2 * MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, node));
    EXPECT_EQUAL(policy_of(p), MPOL_DEFAULT);
    EXPECT_EQUAL(policy_of(p + MIB), MPOL_PREFERRED);
    EXPECT_EQUAL(policy_of(p + 3 * MIB), MPOL_DEFAULT);
    CHECK(cuMemAdvise(p + MIB, MIB, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, node));
    EXPECT_EQUAL(policy_of(p + MIB), MPOL_DEFAULT);
    CHECK(cuMemAdvise(p + 2 * MIB, MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
    EXPECT_EQUAL(policy_of(p + 2 * MIB), MPOL_DEFAULT);
    CHECK(cuMemPrefetchAsync(p + 4 * MIB, MIB, node, 0, NULL));
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(policy_of(p + 4 * MIB), MPOL_PREFERRED);
    memset((void *)p, 1, 8 * MIB);
    poke(p + MIB, 5);
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(*(uint32_t *)(p + MIB), 5);
}

__attribute__((noinline)) static void write_here(CUdeviceptr p) { *(volatile char *)p = 1; }

static void a_fault_of_the_host_is_told_with_its_instruction(void)
{
    struct faultline_cursor cursor;
    struct faultline_event e[64];
    uint64_t pc = 0;
    CUdeviceptr p = managed(2 * MIB);
    EXPECT_EQUAL(faultline_subscribe(&cursor, 0), 0);
    write_here(p);
    size_t n = faultline_read(&cursor, e, 64);
    for (size_t k = 0; k < n; k++)
        if (e[k].kind == FAULTLINE_CPU_FAULT) pc = e[k].batch;
    EXPECT(pc >= (uint64_t)write_here && pc < (uint64_t)write_here + 64);
}

static size_t mapped_remotely(void)
{
    struct faultline_counters c;
    EXPECT_EQUAL(faultline_get_counters(&c), 0);
    return c.bytes_mapped_remotely;
}

static void counters_know_all_of_the_fault_that_has_just_been_served(void)
{
    static const CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
    CUdeviceptr p = managed(64 * MIB);
    CHECK(cuMemAdvise(p, 64 * MIB, CU_MEM_ADVISE_SET_ACCESSED_BY, device));
    for (CUdeviceptr at = p; at < p + 64 * MIB; at += 2 * MIB) {
        size_t before = mapped_remotely();
        *(volatile char *)at = 1;
        EXPECT_EQUAL(mapped_remotely(), before + 65536);
    }
}

#ifdef __SANITIZE_THREAD__ /* which leaves less room */
static const size_t TEBIBYTE = (size_t)1 << 34;
#else
static const size_t TEBIBYTE = (size_t)1 << 40;
#endif

static void a_tebibyte_costs_nothing_until_it_is_touched(void)
{
    CUstream s;
    CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
    size_t size = TEBIBYTE;
    int v;
    CHECK(cuStreamCreate(&s, CU_STREAM_DEFAULT));
    *(int *)managed(4) = 1;
    CHECK(cuMemDiscardBatchAsync(&(CUdeviceptr){ managed(MIB) }, &(size_t){ MIB }, 1, 0, s));
    CHECK(cuStreamSynchronize(s));
    long before = resident_kib();
    CUdeviceptr p = managed(size);
    for (CUmem_advise what = CU_MEM_ADVISE_SET_READ_MOSTLY; what <= CU_MEM_ADVISE_UNSET_ACCESSED_BY; what++)
        CHECK(cuMemAdvise(p, size, what, device));
    CHECK(cuMemRangeGetAttribute(&v, 4, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, size));
    CHECK(cuStreamAttachMemAsync(s, p, 0, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemDiscardBatchAsync(&p, &size, 1, 0, s));
    CHECK(cuStreamSynchronize(s));
    EXPECT(resident_kib() - before < 1024);
    poke(p + size / 2, 7);
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(*(uint32_t *)(p + size / 2), 7);
    CHECK(cuMemFree(p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, a_librarys_managed_variable_is_one_for_all_devices_and_the_host),
        ALONE(start, a_modules_managed_variable_takes_advice_and_is_not_freed),
        ALONE(start, small_allocations_share_pages_and_keep_their_bytes),
        ALONE(start, what_is_placed_where_another_was_freed_is_new),
        ALONE(start, a_kernel_may_not_touch_a_freed_one_among_others),
        ALONE_ENDS(start, the_host_may_not_touch_a_freed_one_among_others, SIGSEGV),
        ALONE(start, a_dying_context_takes_its_managed_memory_with_it),
        ALONE(start, batches_prefetch_and_discard_in_stream_order),
        ALONE(start, system_calls_read_and_write_what_is_on_a_device),
        ALONE(start, a_mapping_may_be_cut),
        ALONE(start, a_preferred_node_is_the_memory_policy_of_its_pages),
        ALONE(start, a_fault_of_the_host_is_told_with_its_instruction),
        ALONE(start, counters_know_all_of_the_fault_that_has_just_been_served),
        ALONE(start, a_tebibyte_costs_nothing_until_it_is_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
