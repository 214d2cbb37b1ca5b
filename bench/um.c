/* What Unified Memory costs, in microseconds, beside the raw primitives it
 * stands on, measured in turn. bench/run prints the ratios. */
#include "client.h"
#include "problems.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, BIG = 16 * PAGE, BLOCK = 2 << 20, ROUNDS = 9 };
static const size_t GIB = 1ul << 30;
static const CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
                           host = { .type = CU_MEM_LOCATION_TYPE_HOST };

static CUdeviceptr managed(size_t bytes)
{
    CUdeviceptr p;
    CHECK(cuMemAllocManaged(&p, bytes, CU_MEM_ATTACH_GLOBAL));
    return p;
}

static void prefetch(CUdeviceptr p, size_t bytes, CUmemLocation where)
{
    CHECK(cuMemPrefetchAsync(p, bytes, where, 0, NULL));
    CHECK(cuCtxSynchronize());
}

static void touch(CUdeviceptr p, size_t bytes, size_t step)
{
    for (size_t at = 0; at < bytes; at += step) ++*(volatile char *)(p + at);
}

/* ---- a fault, and the same by hand: a thread that spins, entries for as many pages, in a page table that was emptied
 * (and so, since Linux 6.14, freed) */

struct raw {
    int fd;
    char *at;
    const cpu_set_t *processors;
    _Atomic int over;
};

static void *resolve(void *arg)
{
    struct raw *r = arg;
    struct uffd_msg m;
    while (!r->over)
        if (read(r->fd, &m, sizeof m) == sizeof m) {
            uint64_t begin = (uintptr_t)r->at, offset = (m.arg.pagefault.address - begin) / BIG * BIG;
            struct uffdio_continue c = { { begin + offset, BIG }, 0, 0 };
            ioctl(r->fd, UFFDIO_CONTINUE, &c);
        }
    return NULL;
}

static int raw_open(struct raw *r, size_t bytes)
{
    struct uffdio_api api = { UFFD_API, UFFD_FEATURE_MINOR_SHMEM | UFFD_FEATURE_MISSING_SHMEM, 0 };
    int maker = open("/dev/userfaultfd", O_RDWR), memory = memfd_create("raw", 0);
    r->fd = maker >= 0 ? ioctl(maker, USERFAULTFD_IOC_NEW, O_NONBLOCK) : (int)syscall(SYS_userfaultfd, O_NONBLOCK);
    if (r->fd < 0 || ioctl(r->fd, UFFDIO_API, &api) || ftruncate(memory, (off_t)bytes)) return -1;
    r->at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    close(memory);
    if (maker >= 0) close(maker);
    memset(r->at, 1, bytes);
    madvise(r->at, bytes, MADV_DONTNEED);
    struct uffdio_register reg = { { (uintptr_t)r->at, bytes },
                                   UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_MISSING,
                                   0 };
    return ioctl(r->fd, UFFDIO_REGISTER, &reg);
}

static void *resolve_elsewhere(void *arg)
{
    pin(((struct raw *)arg)->processors, LAST_PROCESSOR);
    return resolve(arg);
}

/* Once for each of n pages, step apart. */
static double fault_each(volatile char *at, size_t step, int n)
{
    double us[n];
    for (int k = 0; k < n; k++) {
        double t = now_us();
        at[k * step] = 1;
        us[k] = now_us() - t;
    }
    return median(us, n);
}

static double raw_faults(const cpu_set_t *all, int n)
{
    struct raw raw = { .processors = all };
    pthread_t thread;
    if (raw_open(&raw, (size_t)n * BLOCK)) return 0;
    pthread_create(&thread, NULL, resolve_elsewhere, &raw);
    usleep(1000);
    double us = fault_each(raw.at, BLOCK, n);
    raw.over = 1;
    pthread_join(thread, NULL);
    close(raw.fd);
    munmap(raw.at, (size_t)n * BLOCK);
    return us;
}

/* In turn, and whoever serves a fault is on another processor than the thread that
 * waits for it: on the same one a fault is but a switch. */
static void measure_fault(void)
{
    enum { N = 50 };
    cpu_set_t all;
    CUdeviceptr p = managed((size_t)N * BLOCK);
    double ours[ROUNDS], theirs[ROUNDS];
    sched_getaffinity(0, sizeof all, &all);
    pin(&all, FIRST_PROCESSOR);
    for (int k = 0; k < ROUNDS; k++) {
        touch(p, (size_t)N * BLOCK, PAGE);
        prefetch(p, (size_t)N * BLOCK, device);
        ours[k] = fault_each((volatile char *)p, BLOCK, N);
        theirs[k] = raw_faults(&all, N);
    }
    sched_setaffinity(0, sizeof all, &all);
    report("um.fault", median(ours, ROUNDS));
    report("um.fault.raw", median(theirs, ROUNDS));
    CHECK(cuMemFree(p));
}

static void store(CUdeviceptr p, size_t bytes, size_t step)
{
    for (size_t at = 0; at < bytes; at += step) *(volatile char *)(p + at) = 1;
}

static void measure_sweep(const char *name, void (*pass)(CUdeviceptr, size_t, size_t))
{
    size_t bytes = 256ul << 20;
    CUdeviceptr p = managed(bytes);
    double us[ROUNDS];
    pass(p, bytes, PAGE);
    for (int k = 0; k < ROUNDS; k++) {
        prefetch(p, bytes, device);
        double t = now_us();
        pass(p, bytes, PAGE);
        us[k] = (now_us() - t) / (double)(bytes / PAGE);
    }
    report(name, median(us, ROUNDS));
    CHECK(cuMemFree(p));
}

/* ---- whole blocks */

static void measure_prefetch(void)
{
    CUdeviceptr p = managed(GIB);
    char *from = malloc(GIB), *to = malloc(GIB);
    double there[ROUNDS], back[ROUNDS], copy[ROUNDS];
    memset(from, 1, GIB);
    memset(to, 1, GIB);
    double t = now_us();
    touch(p, GIB, PAGE);
    report("um.first_touch", (now_us() - t) / (double)(GIB / PAGE));
    for (int k = -1; k < ROUNDS; k++) {
        t = now_us();
        prefetch(p, GIB, device);
        double u = now_us();
        prefetch(p, GIB, host);
        double v = now_us();
        memcpy(to, from, GIB);
        if (k < 0) report("um.prefetch.first", u - t);
        if (k >= 0) there[k] = u - t, back[k] = v - u, copy[k] = now_us() - v;
        touch(p, GIB, PAGE); /* entries that the next prefetch must take out */
    }
    report("um.prefetch.device", median(there, ROUNDS));
    report("um.prefetch.host", median(back, ROUNDS));
    report("um.prefetch.raw", median(copy, ROUNDS));
    CHECK(cuMemFree(p));
    free(from);
    free(to);
}

/* ---- calls */

static void measure_calls(void)
{
    enum { N = 1000 };
    CUdeviceptr p = managed(GIB);
    double advise[N], move[N], ask[100];
    size_t piece = GIB / N / PAGE * PAGE;
    touch(p, GIB, BLOCK);
    prefetch(p, BLOCK, device);
    for (int k = 0; k < N; k++) {
        double t = now_us();
        CHECK(cuMemAdvise(
            p, BLOCK, k % 2 ? CU_MEM_ADVISE_SET_PREFERRED_LOCATION : CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, device));
        advise[k] = now_us() - t;
        t = now_us();
        CHECK(cuMemPrefetchAsync(p, BLOCK, device, 0, NULL));
        move[k] = now_us() - t;
        if (k % 8 == 0) CHECK(cuCtxSynchronize());
    }
    CHECK(cuCtxSynchronize());
    report("um.advise", median(advise, N));
    report("um.prefetch.call", median(move, N));
    for (int k = 0; k < N; k++)
        if (k % 2)
            CHECK(cuMemAdvise(p + (size_t)k * piece, piece, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                              k % 4 == 1 ? device : host));
    for (int k = 0; k < 100; k++) {
        int where;
        double t = now_us();
        CHECK(cuMemRangeGetAttribute(&where, sizeof where, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, GIB));
        ask[k] = now_us() - t;
    }
    report("um.attribute", median(ask, 100));
    CHECK(cuMemFree(p));
}

/* Each of a little more than half a block, which the next one does not fit behind. */
static void measure_allocations(void)
{
    enum { MANY = 10000, N = 100, BYTES = BLOCK / 2 + PAGE };
    static CUdeviceptr p[MANY];
    double few[N], many[N];
    for (int k = 0; k < MANY; k++) {
        double t = now_us();
        p[k] = managed(BYTES);
        if (k < N) few[k] = now_us() - t;
        if (k >= MANY - N) many[k - (MANY - N)] = now_us() - t;
    }
    report("um.alloc", median(few, N));
    report("um.alloc.many", median(many, N));
    for (int k = 0; k < MANY; k++) CHECK(cuMemFree(p[k]));
}

/* ---- a kernel that streams */

static double add(CUfunction f, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c)
{
    int n = ADD_N;
    void *arguments[] = { &a, &b, &c, &n };
    double t = now_us();
    CHECK(cuLaunchKernel(f, ADD_N / 256, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL));
    CHECK(cuCtxSynchronize());
    return now_us() - t;
}

static void measure_stream(const char *kernels)
{
    CUmodule module;
    CUfunction f;
    size_t bytes = (size_t)ADD_N * sizeof(float);
    CUdeviceptr m[3], d[3];
    enum { TIMES = 30 };
    double ours[TIMES], theirs[TIMES];
    CHECK(cuModuleLoad(&module, kernels));
    CHECK(cuModuleGetFunction(&f, module, "vector_add"));
    for (int k = 0; k < 3; k++) {
        m[k] = managed(bytes);
        CHECK(cuMemAlloc(&d[k], bytes));
        CHECK(cuMemsetD32(d[k], 0, ADD_N));
        touch(m[k], bytes, PAGE);
        prefetch(m[k], bytes, device);
    }
    for (int k = -2; k < TIMES; k++) { /* either first in turn */
        double t = k % 2 ? add(f, d[0], d[1], d[2]) : 0, u = add(f, m[0], m[1], m[2]);
        if (k % 2 == 0) t = add(f, d[0], d[1], d[2]);
        if (k >= 0) ours[k] = u, theirs[k] = t;
    }
    report("um.stream", median(ours, TIMES));
    report("um.stream.raw", median(theirs, TIMES));
    for (int k = 0; k < 3; k++) {
        CHECK(cuMemFree(m[k]));
        CHECK(cuMemFree(d[k]));
    }
}

int main(int argc, char **argv)
{
    use_device();
    measure_fault();
    measure_sweep("um.sweep", touch);
    measure_sweep("um.sweep.stores", store);
    measure_prefetch();
    measure_calls();
    measure_allocations();
    if (argc > 1) measure_stream(argv[1]);
    return 0;
}
