/* Registered host memory, through the whole library: other threads use the
 * memory while it is registered and unregistered, and no byte is lost. */
#include "../reader.h"
#include "../userfaultfd.h"

#include <pthread.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <cuda.h>

enum { PAGE = 4096, WRITERS = 3, ROUNDS = 40, FEW = 256 /* descriptors */ };

static CUfunction poke;
static CUcontext context;

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                          ".visible .entry poke(.param .u64 a, .param .u32 b){ .reg .b32 %r<2>; .reg .b64 %d<2>;\n"
                          "ld.param.u64 %d1,[a]; ld.param.u32 %r1,[b]; cvta.to.global.u64 %d1,%d1;\n"
                          "st.global.u32 [%d1],%r1; ret; }\n";

static void ok(CUresult r) { assert_int_equal(r, CUDA_SUCCESS); }

/* A kernel stores value at p, if it may. */
static CUresult store(void *p, unsigned value)
{
    void *arguments[] = { &p, &value };
    ok(cuLaunchKernel(poke, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    return cuCtxSynchronize();
}

/* ---- threads that write throughout */

struct writer {
    volatile uint64_t *at;
    size_t count, stride; /* places, and how many words lie between them */
    _Atomic bool *stop;
    _Atomic uint64_t rounds;
    bool lost;
};

static void *count_up(void *arg)
{
    struct writer *w = arg;
    for (uint64_t n = 1; !atomic_load(w->stop); n++) {
        for (size_t k = 0; k < w->count; k++) w->at[k * w->stride] = n;
        for (size_t k = 0; k < w->count; k++) w->lost |= w->at[k * w->stride] != n;
        w->rounds = n;
    }
    return NULL;
}

/* Registers and unregisters [p, p+size) while threads write to all of its words but the first. */
static void churn(void *p, size_t size)
{
    pthread_t threads[WRITERS];
    struct writer w[WRITERS];
    _Atomic bool stop = false;
    uint64_t *words = p;
    size_t count = size / 8 - 1;
    for (int k = 0; k < WRITERS; k++) {
        w[k] =
            (struct writer){ words + 1 + k, (count - (size_t)k) / WRITERS / 16, (size_t)WRITERS * 16, &stop, 0, false };
        pthread_create(&threads[k], NULL, count_up, &w[k]);
    }
    for (int k = 0; k < WRITERS; k++)
        while (!atomic_load(&w[k].rounds)) usleep(100);
    for (unsigned n = 0; n < ROUNDS; n++) {
        ok(cuMemHostRegister(p, size, 0));
        if (n % 8 == 0) {
            ok(store(p, n));
            assert_int_equal(*(unsigned *)p, n);
        }
        ok(cuMemHostUnregister(p));
    }
    atomic_store(&stop, true);
    for (int k = 0; k < WRITERS; k++) {
        pthread_join(threads[k], NULL);
        assert_false(w[k].lost);
        for (size_t j = 0; j < w[k].count; j++) assert_int_equal(w[k].at[j * w[k].stride], w[k].rounds);
    }
}

static void no_byte_of_anonymous_memory_is_lost(void **state)
{
    (void)state;
    size_t size = 64 * PAGE;
    char *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    churn(m, size);
    munmap(m, size);
}

static void no_byte_of_the_heap_is_lost(void **state)
{
    (void)state;
    char *m = malloc(20000);
    churn(m + 16, 19000);
    free(m);
}

/* a private mapping of the executable's file, which no userfaultfd protects */
static uint64_t initialised[4 * PAGE / 8] = { 1 };

static void no_byte_of_the_executables_data_is_lost(void **state)
{
    (void)state;
    churn(initialised, sizeof initialised);
}

static void no_byte_of_a_shared_file_is_lost(void **state)
{
    (void)state;
    int fd = memfd_create("test", 0);
    assert_return_code(ftruncate(fd, 8 * PAGE), 0);
    char *m = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    churn(m, 8 * PAGE);
    ok(cuMemHostRegister(m, 8 * PAGE, 0));
    ok(store(m + 5 * PAGE, 0x1234));
    unsigned seen = 0;
    assert_int_equal(pread(fd, &seen, 4, 5 * PAGE), 4);
    assert_int_equal(seen, 0x1234);
    ok(cuMemHostUnregister(m));
    munmap(m, 8 * PAGE);
    close(fd);
}

static void no_byte_of_a_stack_is_lost(void **state)
{
    (void)state;
    uint64_t words[3 * PAGE / 8] = { 0 };
    churn(words, sizeof words);
}

/* deeper than what the stack had when its lowest page was registered */
static unsigned descend(unsigned depth)
{
    volatile char frame[16 * PAGE];
    frame[depth] = (char)depth;
    return depth ? descend(depth - 1) + (unsigned)frame[depth] : 0;
}

static void a_stack_grows_below_a_registered_page(void **state)
{
    (void)state;
    unsigned local = 7;
    ok(cuMemHostRegister(&local, sizeof local, 0));
    assert_int_equal(descend(20), 210);
    ok(store(&local, 9));
    assert_int_equal(*(volatile unsigned *)&local, 9);
    ok(cuMemHostUnregister(&local));
    assert_int_equal(*(volatile unsigned *)&local, 9);
}

/* ---- system calls that write while pages are replaced */

static void a_system_call_that_writes_loses_nothing(void **state)
{
    (void)state;
    if (!system_calls_can_wait()) skip();
    char *m = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct reader reader;
    reader_start(&reader, m, 2 * PAGE);
    for (int k = 0; k < 200; k++) {
        ok(cuMemHostRegister(m, 2 * PAGE, 0));
        ok(cuMemHostUnregister(m));
    }
    assert_true(reader_stop(&reader));
    munmap(m, 2 * PAGE);
}

/* ---- pages that several share */

static void registrations_that_share_a_page_end_in_any_order(void **state)
{
    (void)state;
    char *m = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int order = 0; order < 2; order++) {
        memset(m, 5, 4 * PAGE);
        ok(cuMemHostRegister(m + 100, PAGE, 0));
        ok(cuMemHostRegister(m + 100 + PAGE, PAGE, 0));
        assert_int_equal(cuMemHostRegister(m + 200, 10, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        ok(store(m + PAGE + 96, 1));
        ok(cuMemHostUnregister(order ? m + 100 : m + 100 + PAGE));
        ok(store(order ? m + PAGE + 104 : m + 104, 2));
        assert_int_equal(*(unsigned *)(order ? m + PAGE + 104 : m + 104), 2);
        assert_int_equal(*(unsigned *)(m + PAGE + 96), 1);
        ok(cuMemHostUnregister(order ? m + 100 + PAGE : m + 100));
        assert_int_equal(m[0], 5);
        assert_int_equal(*(unsigned *)(m + PAGE + 96), 1);
    }
    munmap(m, 4 * PAGE);
}

static void memory_unmapped_while_registered_is_not_touched_by_unregistering(void **state)
{
    (void)state;
    char *m = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ok(cuMemHostRegister(m, 4 * PAGE, 0));
    char *other = mmap(m + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    assert_ptr_equal(other, m + PAGE);
    other[0] = 77;
    munmap(m + 2 * PAGE, PAGE);
    ok(cuMemHostUnregister(m));
    assert_int_equal(other[0], 77);
    munmap(m, 4 * PAGE);
}

/* How many descriptors other processes have of the file of that name. */
static unsigned holders(const char *name)
{
    char command[128];
    unsigned n = 0;
    snprintf(command, sizeof command, "ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c 'memfd:%s '", name);
    FILE *f = popen(command, "r");
    if (f && fscanf(f, "%u", &n) != 1) n = ~0u;
    if (f) pclose(f);
    return n;
}

static void a_shared_file_is_let_go_once_it_is_unregistered(void **state)
{
    (void)state;
    char name[32];
    snprintf(name, sizeof name, "registered-%d", (int)getpid());
    int fd = memfd_create(name, MFD_CLOEXEC);
    assert_return_code(ftruncate(fd, PAGE), 0);
    char *m = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ok(cuMemHostRegister(m, PAGE, 0));
    ok(store(m, 3));
    ok(cuMemHostUnregister(m));
    munmap(m, PAGE);
    close(fd);
    /* the device does it soon */
    for (int k = 0; k < 1000 && holders(name); k++) usleep(10000);
    assert_int_equal(holders(name), 0);
}

static void what_cannot_be_read_or_written_is_refused(void **state)
{
    (void)state;
    int fd = memfd_create("short", 0);
    assert_return_code(ftruncate(fd, PAGE + 10), 0);
    static const int kinds[] = { MAP_PRIVATE, MAP_SHARED };
    for (int k = 0; k < 2; k++) {
        char *m = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, kinds[k], fd, 0);
        assert_int_equal(cuMemHostRegister(m, 4 * PAGE, 0), CUDA_ERROR_INVALID_VALUE);
        ok(cuMemHostRegister(m, 2 * PAGE, 0));
        ok(store(m + PAGE, 3));
        assert_int_equal(*(unsigned *)(m + PAGE), 3);
        ok(cuMemHostUnregister(m));
        munmap(m, 4 * PAGE);
    }
    char *m = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(m + 2 * PAGE, PAGE, PROT_NONE);
    assert_int_equal(cuMemHostRegister(m, 4 * PAGE, 0), CUDA_ERROR_INVALID_VALUE);
    mprotect(m + 2 * PAGE, PAGE, PROT_READ);
    assert_int_equal(cuMemHostRegister(m, 4 * PAGE, 0), CUDA_ERROR_INVALID_VALUE);
    munmap(m + 2 * PAGE, PAGE);
    assert_int_equal(cuMemHostRegister(m, 4 * PAGE, 0), CUDA_ERROR_INVALID_VALUE);
    ok(cuMemHostRegister(m, 2 * PAGE, 0));
    ok(cuMemHostUnregister(m));
    munmap(m, 4 * PAGE);
    close(fd);
}

/* ---- fork */

static rlim_t descriptors(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) ? 0 : limit.rlim_cur;
}

/* As many descriptors as it may have; NULL: few, and none is left. */
static void fork_with(const struct rlimit *may)
{
    struct rlimit before, now;
    volatile unsigned local = 3;
    unsigned *heap = malloc(4000);
    int fillers[FEW], filled = 0;
    heap[10] = 3;
    getrlimit(RLIMIT_NOFILE, &before);
    if (!may) setrlimit(RLIMIT_NOFILE, &(struct rlimit){ FEW, FEW });
    ok(cuMemHostRegister(heap, 4000, 0));
    ok(cuMemHostRegister((void *)&local, sizeof local, 0));
    if (may) setrlimit(RLIMIT_NOFILE, may);
    while (!may && (fillers[filled] = dup(2)) >= 0) filled++;
    getrlimit(RLIMIT_NOFILE, &now);
    pid_t child = fork();
    if (!child) {
        if (descriptors() != now.rlim_cur) _exit(3);
        if (heap[10] != 3 || local != 3) _exit(1);
        heap[10] = local = 4;
        usleep(100000);
        _exit(heap[10] == 4 && local == 4 ? 0 : 2);
    }
    heap[10] = local = 5;
    int status = -1;
    assert_int_equal(descriptors(), now.rlim_cur);
    while (filled) close(fillers[--filled]);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(heap[10], 5);
    assert_int_equal(local, 5);
    ok(store(&heap[10], 6));
    ok(store((void *)&local, 6));
    assert_int_equal(heap[10], 6);
    assert_int_equal(local, 6);
    ok(cuMemHostUnregister(heap));
    ok(cuMemHostUnregister((void *)&local));
    free(heap);
}

static void a_forked_child_has_a_copy_of_its_own(void **state)
{
    (void)state;
    struct rlimit all;
    getrlimit(RLIMIT_NOFILE, &all);
    fork_with(&all);
}

static void so_has_one_of_a_program_without_free_descriptors(void **state)
{
    (void)state;
    struct rlimit few;
    getrlimit(RLIMIT_NOFILE, &few);
    few.rlim_cur = 3;
    fork_with(&few);
}

/* In a process of its own: what was the hard limit is so no more. */
static void so_has_one_of_a_program_that_may_not_have_more(void **state)
{
    (void)state;
    fork_with(NULL);
    fork_with(NULL);
}

static void a_fork_survives_memory_unmapped_while_registered(void **state)
{
    (void)state;
    char *m = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int status = -1;
    ok(cuMemHostRegister(m, 4 * PAGE, 0));
    munmap(m, 4 * PAGE);
    pid_t child = fork();
    if (!child) _exit(0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    ok(cuMemHostUnregister(m));
}

/* ---- what a kernel may not do: its fault is the process's last deed on a device, so each has one of its own */

static void a_kernel_does_not_write_read_only_memory(void **state)
{
    (void)state;
    char *m = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ok(cuMemHostRegister(m, PAGE, CU_MEMHOSTREGISTER_READ_ONLY));
    unsigned access = 9;
    ok(cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, (CUdeviceptr)m));
    assert_int_equal(access, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ);
    m[0] = 1;
    assert_int_equal(store(m, 5), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(m[0], 1);
    munmap(m, PAGE);
}

static void a_kernel_does_not_reach_unregistered_memory(void **state)
{
    (void)state;
    char *m = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ok(cuMemHostRegister(m, PAGE, 0));
    ok(store(m, 5));
    ok(cuMemHostUnregister(m));
    assert_int_equal(store(m, 6), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(*(unsigned *)m, 5);
    munmap(m, PAGE);
}

static int begin(void **state)
{
    (void)state;
    CUmodule module;
    CUdevice device;
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) ||
        cuCtxSetCurrent(context) || cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&poke, module, "poke"))
        return -1;
    return 0;
}

static int end(void **state)
{
    (void)state;
    cuDevicePrimaryCtxReset(0);
    return 0;
}

static int in_new_process(const char *name)
{
    int status = -1;
    char *arguments[] = { "test", (char *)name, NULL };
    pid_t child;
    if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ)) return -1;
    return waitpid(child, &status, 0) == child ? status : -1;
}

static void read_only_memory_is_read_only_to_kernels(void **state)
{
    (void)state;
    assert_int_equal(in_new_process("read-only"), 0);
}

static void memory_is_out_of_reach_once_unregistered(void **state)
{
    (void)state;
    assert_int_equal(in_new_process("unregistered"), 0);
}

static void a_forked_child_has_a_copy_where_there_are_no_descriptors(void **state)
{
    (void)state;
    assert_int_equal(in_new_process("no-descriptors"), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_byte_of_anonymous_memory_is_lost, begin, end),
        cmocka_unit_test_setup_teardown(no_byte_of_the_heap_is_lost, begin, end),
        cmocka_unit_test_setup_teardown(no_byte_of_the_executables_data_is_lost, begin, end),
        cmocka_unit_test_setup_teardown(no_byte_of_a_shared_file_is_lost, begin, end),
        cmocka_unit_test_setup_teardown(no_byte_of_a_stack_is_lost, begin, end),
        cmocka_unit_test_setup_teardown(a_system_call_that_writes_loses_nothing, begin, end),
        cmocka_unit_test_setup_teardown(a_stack_grows_below_a_registered_page, begin, end),
        cmocka_unit_test_setup_teardown(registrations_that_share_a_page_end_in_any_order, begin, end),
        cmocka_unit_test_setup_teardown(memory_unmapped_while_registered_is_not_touched_by_unregistering, begin, end),
        cmocka_unit_test_setup_teardown(a_shared_file_is_let_go_once_it_is_unregistered, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_or_written_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_forked_child_has_a_copy_of_its_own, begin, end),
        cmocka_unit_test_setup_teardown(so_has_one_of_a_program_without_free_descriptors, begin, end),
        cmocka_unit_test_setup_teardown(a_fork_survives_memory_unmapped_while_registered, begin, end),
        cmocka_unit_test(read_only_memory_is_read_only_to_kernels),
        cmocka_unit_test(memory_is_out_of_reach_once_unregistered),
        cmocka_unit_test(a_forked_child_has_a_copy_where_there_are_no_descriptors),
    };
    const struct CMUnitTest read_only[] = { cmocka_unit_test_setup(a_kernel_does_not_write_read_only_memory, begin) };
    const struct CMUnitTest unregistered[] = { cmocka_unit_test_setup(a_kernel_does_not_reach_unregistered_memory,
                                                                      begin) };
    const struct CMUnitTest few[] = { cmocka_unit_test_setup_teardown(so_has_one_of_a_program_that_may_not_have_more,
                                                                      begin, end) };
    if (argc < 2) return cmocka_run_group_tests(tests, NULL, NULL);
    if (!strcmp(argv[1], "no-descriptors")) return cmocka_run_group_tests(few, NULL, NULL);
    return !strcmp(argv[1], "read-only") ? cmocka_run_group_tests(read_only, NULL, NULL)
                                         : cmocka_run_group_tests(unregistered, NULL, NULL);
}
