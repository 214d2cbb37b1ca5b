/* Managed memory as programs use it, through the whole library, with two
 * devices. Each test runs in a process of its own.
 * usage: FAULTLINE_DEVICES=2 managed */
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
    EXPECT(cuInit(0), 0);
    for (int k = 1; k >= 0; k--)
        EXPECT(cuDevicePrimaryCtxRetain(&context[k], k), 0), EXPECT(cuCtxSetCurrent(context[k]), 0);
    EXPECT(cuModuleLoadData(&m, kernels), 0);
    EXPECT(cuModuleGetFunction(&poke_kernel, m, "poke"), 0);
}

static void poke(CUdeviceptr at, uint32_t value)
{
    void *parameters[] = { &at, &value };
    EXPECT(cuLaunchKernel(poke_kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL), 0);
}

static CUdeviceptr managed(size_t size)
{
    CUdeviceptr p;
    EXPECT(cuMemAllocManaged(&p, size, CU_MEM_ATTACH_GLOBAL), 0);
    return p;
}

/* ---- variables */

static void bump(CUlibrary l)
{
    CUkernel k;
    EXPECT(cuLibraryGetKernel(&k, l, "bump"), 0);
    EXPECT(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), 0);
    EXPECT(cuCtxSynchronize(), 0);
}

static void a_librarys_managed_variable_is_one_for_all_devices_and_the_host(void)
{
    CUlibrary l;
    CUdeviceptr on[2], where;
    size_t size;
    EXPECT(cuLibraryLoadData(&l, kernels, NULL, NULL, 0, NULL, NULL, 0), 0);
    for (int k = 0; k < 2; k++) {
        EXPECT(cuCtxSetCurrent(context[k]), 0);
        EXPECT(cuLibraryGetManaged(&on[k], &size, l, "counter"), 0);
        EXPECT(size, 8);
        bump(l);
    }
    EXPECT(on[0], on[1]);
    uint32_t *counter = (void *)on[0];
    EXPECT(counter[0], 9);
    EXPECT(counter[1], 8);
    counter[0] = 100;
    bump(l);
    EXPECT(counter[0], 101);
    EXPECT(cuLibraryGetManaged(&where, NULL, l, "where"), 0);
    EXPECT(*(uint64_t *)where, on[0]);
    EXPECT(cuDevicePrimaryCtxReset(0), 0);
    EXPECT(counter[0], 101);
    EXPECT(cuLibraryUnload(l), 0);
    unsigned type;
    EXPECT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, on[0]), CUDA_ERROR_INVALID_VALUE);
}

static void a_modules_managed_variable_takes_advice_and_is_not_freed(void)
{
    CUmodule a, b;
    CUdeviceptr x, y;
    int v;
    EXPECT(cuModuleLoadData(&a, kernels), 0);
    EXPECT(cuModuleLoadData(&b, kernels), 0);
    EXPECT(cuModuleGetGlobal(&x, NULL, a, "counter"), 0);
    EXPECT(cuModuleGetGlobal(&y, NULL, b, "counter"), 0);
    EXPECT(x == y, false);
    EXPECT(*(uint32_t *)x, 7);
    EXPECT(cuMemAdvise(x, 8, CU_MEM_ADVISE_SET_READ_MOSTLY, (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST }), 0);
    EXPECT(cuMemRangeGetAttribute(&v, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, x, 8), 0);
    EXPECT(v, 1);
    EXPECT(cuMemFree(x), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuModuleUnload(a), 0);
    EXPECT(*(uint32_t *)y, 7);
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
    EXPECT(shared, true);
    for (int k = 0; k < COUNT; k += 2) EXPECT(cuMemFree(p[k]), 0);
    for (int k = 1; k < COUNT; k += 2) EXPECT(*(uint8_t *)p[k], (uint8_t)k);
    for (int k = 1; k < COUNT; k += 200) poke(p[k] & -4ull, 0x01010101u * (unsigned)(k % 256));
    EXPECT(cuCtxSynchronize(), 0);
    for (int k = 1; k < COUNT; k += 200) EXPECT(*(uint8_t *)p[k], (uint8_t)k);
}

static void what_is_placed_where_another_was_freed_is_new(void)
{
    int v;
    CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
    CUdeviceptr keep = managed(4096), p = managed(65536);
    memset((void *)p, 1, 65536);
    EXPECT(cuMemAdvise(p, 65536, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device), 0);
    EXPECT(cuMemPrefetchAsync(p, 65536, device, 0, NULL), 0);
    EXPECT(cuMemFree(p), 0);
    CUdeviceptr q = managed(65536);
    EXPECT(q, p);
    EXPECT(cuMemRangeGetAttribute(&v, 4, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, q, 65536), 0);
    EXPECT(v, -2);
    for (size_t k = 0; k < 65536; k++)
        if (((char *)q)[k]) EXPECT(((char *)q)[k], 0);
    EXPECT(keep != 0, true);
}

static void a_kernel_may_not_touch_a_freed_one_among_others(void)
{
    CUdeviceptr keep = managed(4096), p = managed(MIB);
    *(int *)keep = 1;
    EXPECT(cuMemFree(p), 0);
    poke(p + 512 * 1024, 1);
    EXPECT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT(*(int *)keep, 1);
}

static void the_host_may_not_touch_a_freed_one_among_others(void)
{
    CUdeviceptr keep = managed(4096), p = managed(MIB);
    *(int *)p = 1;
    EXPECT(keep != 0, true);
    EXPECT(cuMemFree(p), 0);
    *(volatile int *)p = 2;
}

static void a_dying_context_takes_its_managed_memory_with_it(void)
{
    CUcontext c;
    unsigned type;
    EXPECT(cuCtxCreate(&c, NULL, 0, 0), 0);
    CUdeviceptr small = managed(100), large = managed(5 * MIB);
    *(int *)small = *(int *)large = 1;
    EXPECT(cuCtxDestroy(c), 0);
    EXPECT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, small), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, large), CUDA_ERROR_INVALID_VALUE);
}

/* ---- order */

static void batches_prefetch_and_discard_in_stream_order(void)
{
    CUstream s;
    CUdeviceptr p = managed(8 * MIB), ranges[2] = { p, p + 4 * MIB };
    size_t sizes[2] = { 4 * MIB, 4 * MIB }, index[2] = { 0, 1 };
    CUmemLocation to[2] = { { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 }, { .type = CU_MEM_LOCATION_TYPE_HOST } };
    int v[2];
    EXPECT(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), 0);
    memset((void *)p, 5, 8 * MIB);
    EXPECT(cuMemPrefetchBatchAsync(ranges, sizes, 2, to, index, 2, 0, s), 0);
    EXPECT(cuMemRangeGetAttribute(&v[0], 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p, 4 * MIB), 0);
    EXPECT(cuMemRangeGetAttribute(&v[1], 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p + 4 * MIB, 4 * MIB), 0);
    EXPECT(v[0], 1);
    EXPECT(v[1], -1);
    EXPECT(cuStreamSynchronize(s), 0);
    EXPECT(((char *)p)[4 * MIB - 1], 5);
    EXPECT(cuMemDiscardBatchAsync(ranges, sizes, 1, 0, s), 0);
    EXPECT(cuMemsetD8Async(p, 9, MIB, s), 0);
    EXPECT(cuMemDiscardAndPrefetchBatchAsync(ranges + 1, sizes, 1, to, index, 1, 0, s), 0);
    EXPECT(cuStreamSynchronize(s), 0);
    EXPECT(((char *)p)[MIB - 1], 9);
    index[1] = 2;
    EXPECT(cuMemPrefetchBatchAsync(ranges, sizes, 2, to, index, 2, 0, s), CUDA_ERROR_INVALID_VALUE);
    sizes[1] = 5 * MIB, index[1] = 1;
    EXPECT(cuMemDiscardBatchAsync(ranges, sizes, 2, 0, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT(((char *)p)[MIB - 1], 9);
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
    EXPECT(cuMemPrefetchAsync(p, MIB, device, 0, NULL), 0);
    EXPECT(cuCtxSynchronize(), 0);
    EXPECT(pipe(fds), 0);
    ssize_t written = write(fds[1], (void *)(p + 8192), 4096);
    if (written < 0 && errno == EFAULT && !kernel_faults_are_seen()) return; /* a limit that the library has said */
    EXPECT(written, 4096);
    EXPECT(read(fds[0], back, 4096), 4096);
    EXPECT(back[4095], 3);
    memset(back, 4, sizeof back);
    EXPECT(write(fds[1], back, 4096), 4096);
    EXPECT(read(fds[0], (void *)(p + 65536), 4096), 4096);
    EXPECT(((char *)p)[65536 + 4095], 4);
}

/* What the system was told of the page's node; -1 where it knows none. */
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
    EXPECT(cuMemAdvise(p + MIB, 2 * MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, node), 0);
    EXPECT(policy_of(p), MPOL_DEFAULT);
    EXPECT(policy_of(p + MIB), MPOL_PREFERRED);
    EXPECT(policy_of(p + 3 * MIB), MPOL_DEFAULT);
    EXPECT(cuMemAdvise(p + MIB, MIB, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, node), 0);
    EXPECT(policy_of(p + MIB), MPOL_DEFAULT);
    EXPECT(cuMemAdvise(p + 2 * MIB, MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host), 0);
    EXPECT(policy_of(p + 2 * MIB), MPOL_DEFAULT);
    EXPECT(cuMemPrefetchAsync(p + 4 * MIB, MIB, node, 0, NULL), 0);
    EXPECT(cuCtxSynchronize(), 0);
    EXPECT(policy_of(p + 4 * MIB), MPOL_PREFERRED);
    memset((void *)p, 1, 8 * MIB);
    poke(p + MIB, 5);
    EXPECT(cuCtxSynchronize(), 0);
    EXPECT(*(uint32_t *)(p + MIB), 5);
}

__attribute__((noinline)) static void write_here(CUdeviceptr p) { *(volatile char *)p = 1; }

static void a_fault_of_the_host_is_told_with_its_instruction(void)
{
    struct faultline_cursor cursor;
    struct faultline_event e[64];
    uint64_t pc = 0;
    CUdeviceptr p = managed(2 * MIB);
    EXPECT(faultline_subscribe(&cursor, 0), 0);
    write_here(p);
    size_t n = faultline_read(&cursor, e, 64);
    for (size_t k = 0; k < n; k++)
        if (e[k].kind == FAULTLINE_CPU_FAULT) pc = e[k].batch;
    EXPECT(pc >= (uint64_t)write_here && pc < (uint64_t)write_here + 64, true);
}

static size_t mapped_remotely(void)
{
    struct faultline_counters c;
    EXPECT(faultline_get_counters(&c), 0);
    return c.bytes_mapped_remotely;
}

static void counters_know_all_of_the_fault_that_has_just_been_served(void)
{
    static const CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
    CUdeviceptr p = managed(64 * MIB);
    EXPECT(cuMemAdvise(p, 64 * MIB, CU_MEM_ADVISE_SET_ACCESSED_BY, device), 0);
    for (CUdeviceptr at = p; at < p + 64 * MIB; at += 2 * MIB) {
        size_t before = mapped_remotely();
        *(volatile char *)at = 1;
        EXPECT(mapped_remotely(), before + 65536);
    }
}

/* Of the process's own memory, not of what it shares with devices. */
static long resident_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "RssAnon:", 8)) kib = strtol(line + 8, NULL, 10);
    if (f) fclose(f);
#ifdef __SANITIZE_THREAD__ /* its own memory would count */
    kib = 0;
#endif
    return kib;
}

#ifdef __SANITIZE_THREAD__ /* which leaves less room */
static const size_t TEBIBYTE = (size_t)1 << 34;
#else
static const size_t TEBIBYTE = (size_t)1 << 40;
#endif

static void books_take_less_than_three_thousandths_of_what_is_touched(void)
{
    static const CUmemLocation places[] = { { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
                                            { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 },
                                            { .type = CU_MEM_LOCATION_TYPE_HOST } };
    size_t size = 512 * MIB;
    *(int *)managed(4) = 1;
    long before = resident_kib();
    CUdeviceptr p = managed(size);
    for (int k = 0; k < 3; k++) {
        EXPECT(cuMemAdvise(p, size, CU_MEM_ADVISE_SET_ACCESSED_BY, places[k]), 0);
        EXPECT(cuMemPrefetchAsync(p, size, places[k], 0, NULL), 0);
    }
    EXPECT(cuCtxSynchronize(), 0);
    for (size_t at = 0; at < size; at += 2 * MIB) *(volatile char *)(p + at) = 1;
    EXPECT((size_t)(resident_kib() - before) * 1024 < size / 1000 * 3, true);
    EXPECT(cuMemFree(p), 0);
}

static void a_tebibyte_costs_nothing_until_it_is_touched(void)
{
    CUstream s;
    CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
    size_t size = TEBIBYTE;
    int v;
    EXPECT(cuStreamCreate(&s, CU_STREAM_DEFAULT), 0);
    *(int *)managed(4) = 1;
    EXPECT(cuMemDiscardBatchAsync(&(CUdeviceptr){ managed(MIB) }, &(size_t){ MIB }, 1, 0, s), 0);
    EXPECT(cuStreamSynchronize(s), 0);
    long before = resident_kib();
    CUdeviceptr p = managed(size);
    for (CUmem_advise what = CU_MEM_ADVISE_SET_READ_MOSTLY; what <= CU_MEM_ADVISE_UNSET_ACCESSED_BY; what++)
        EXPECT(cuMemAdvise(p, size, what, device), 0);
    EXPECT(cuMemRangeGetAttribute(&v, 4, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, size), 0);
    EXPECT(cuStreamAttachMemAsync(s, p, 0, CU_MEM_ATTACH_GLOBAL), 0);
    EXPECT(cuMemDiscardBatchAsync(&p, &size, 1, 0, s), 0);
    EXPECT(cuStreamSynchronize(s), 0);
    EXPECT(resident_kib() - before < 1024, true);
    poke(p + size / 2, 7);
    EXPECT(cuCtxSynchronize(), 0);
    EXPECT(*(uint32_t *)(p + size / 2), 7);
    EXPECT(cuMemFree(p), 0);
}

/* ---- each in a process of its own */

IN_CHILD(a_librarys_managed_variable_is_one_for_all_devices_and_the_host, 0)
IN_CHILD(a_modules_managed_variable_takes_advice_and_is_not_freed, 0)
IN_CHILD(small_allocations_share_pages_and_keep_their_bytes, 0)
IN_CHILD(what_is_placed_where_another_was_freed_is_new, 0)
IN_CHILD(a_kernel_may_not_touch_a_freed_one_among_others, 0)
IN_CHILD(the_host_may_not_touch_a_freed_one_among_others, SIGSEGV)
IN_CHILD(a_dying_context_takes_its_managed_memory_with_it, 0)
IN_CHILD(batches_prefetch_and_discard_in_stream_order, 0)
IN_CHILD(system_calls_read_and_write_what_is_on_a_device, 0)
IN_CHILD(a_preferred_node_is_the_memory_policy_of_its_pages, 0)
IN_CHILD(a_fault_of_the_host_is_told_with_its_instruction, 0)
IN_CHILD(counters_know_all_of_the_fault_that_has_just_been_served, 0)
IN_CHILD(books_take_less_than_three_thousandths_of_what_is_touched, 0)
IN_CHILD(a_tebibyte_costs_nothing_until_it_is_touched, 0)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_librarys_managed_variable_is_one_for_all_devices_and_the_host),
        cmocka_unit_test(test_a_modules_managed_variable_takes_advice_and_is_not_freed),
        cmocka_unit_test(test_small_allocations_share_pages_and_keep_their_bytes),
        cmocka_unit_test(test_what_is_placed_where_another_was_freed_is_new),
        cmocka_unit_test(test_a_kernel_may_not_touch_a_freed_one_among_others),
        cmocka_unit_test(test_the_host_may_not_touch_a_freed_one_among_others),
        cmocka_unit_test(test_a_dying_context_takes_its_managed_memory_with_it),
        cmocka_unit_test(test_batches_prefetch_and_discard_in_stream_order),
        cmocka_unit_test(test_system_calls_read_and_write_what_is_on_a_device),
        cmocka_unit_test(test_a_preferred_node_is_the_memory_policy_of_its_pages),
        cmocka_unit_test(test_a_fault_of_the_host_is_told_with_its_instruction),
        cmocka_unit_test(test_counters_know_all_of_the_fault_that_has_just_been_served),
        cmocka_unit_test(test_books_take_less_than_three_thousandths_of_what_is_touched),
        cmocka_unit_test(test_a_tebibyte_costs_nothing_until_it_is_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
