/* Programs that fork while memory of theirs is registered, as if it were any memory: what parent and child store is its own,
 * the child gets what there was at one moment, and no byte of a device's is lost. */
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <cuda.h>

enum { PAGE = 4096, SIZE = 16 * PAGE, FORKS = 40, OVER = 1 << 30 };

static CUcontext context;
static CUfunction answer;

/* a[2] becomes a[0] whenever that changes, until it is OVER */
static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                          ".visible .entry answer(.param .u64 a){ .reg .b32 %r<3>; .reg .b64 %d<2>; .reg .pred %p<2>;\n"
                          "ld.param.u64 %d1,[a]; cvta.to.global.u64 %d1,%d1; mov.b32 %r2,0;\n"
                          "again: ld.volatile.global.u32 %r1,[%d1]; setp.eq.u32 %p1,%r1,%r2; @%p1 bra again;\n"
                          "mov.b32 %r2,%r1; st.volatile.global.u32 [%d1+8],%r1;\n"
                          "setp.ne.u32 %p1,%r1,1073741824; @%p1 bra again; ret; }\n";

static void ok(CUresult r) { assert_int_equal(r, CUDA_SUCCESS); }

static char *registered(void)
{
    char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(p, 1, SIZE);
    ok(cuMemHostRegister(p, SIZE, 0));
    return p;
}

/* A child stores to all of [p, p+size), which was 1, and gives it back, and the parent sees nothing of that. */
static void child_is_alone(char *p, size_t size)
{
    volatile char *at = p;
    pid_t child = fork();
    int status = -1;
    if (!child) {
        for (size_t k = 0; k < size; k += 64) {
            if (at[k] != 1) _exit(1);
            at[k] = 99;
        }
        for (size_t k = 0; k < size; k += 64)
            if (at[k] != 99) _exit(2);
        _exit(madvise((void *)(((uintptr_t)p + PAGE - 1) & -(uintptr_t)PAGE), PAGE, MADV_DONTNEED) ? 3 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (size_t k = 0; k < size; k += 64) assert_int_equal(at[k], 1);
}

static void a_page_may_have_been_unmapped(void **state)
{
    (void)state;
    char *p = registered();
    munmap(p, PAGE);
    child_is_alone(p + PAGE, SIZE - PAGE);
    ok(cuMemHostUnregister(p));
    munmap(p, SIZE);
}

static void or_protected(void **state)
{
    (void)state;
    char *p = registered();
    mprotect(p + SIZE / 2, PAGE, PROT_NONE);
    child_is_alone(p, SIZE / 2);
    mprotect(p + SIZE / 2, PAGE, PROT_READ | PROT_WRITE);
    child_is_alone(p, SIZE);
    ok(cuMemHostUnregister(p));
    munmap(p, SIZE);
}

static void or_moved(void **state)
{
    (void)state;
    char *p = registered(), *to = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_equal(mremap(p + 2 * PAGE, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to), to);
    child_is_alone(to, 2 * PAGE);
    child_is_alone(p, 2 * PAGE);
    ok(cuMemHostUnregister(p));
    munmap(p, SIZE);
    munmap(to, 2 * PAGE);
}

static void pages_of_the_stack_may_be_shared_by_two(void **state)
{
    char room[SIZE], *p = (char *)(((uintptr_t)room + PAGE - 1) & -(uintptr_t)PAGE);
    (void)state;
    memset(room, 1, SIZE);
    ok(cuMemHostRegister(p + 6000, 20000, 0));
    ok(cuMemHostRegister(p, 6000, 0));
    int status = -1;
    pid_t child = fork();
    if (!child) {
        for (int k = 0; k < 26000; k++) ((volatile char *)p)[k] = 99;
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (int k = 0; k < 26000; k++) assert_int_equal(((volatile char *)p)[k], 1);
    ok(cuMemHostUnregister(p));
    ok(cuMemHostUnregister(p + 6000));
}

/* ---- who stores in the child before the library can do anything */

static char *volatile handled;

static void in_child(void)
{
    if (handled) handled[100] = 99;
}

static void a_handler_of_the_childs_changes_nothing_in_the_parent(void **state)
{
    (void)state;
    handled = malloc(50000);
    memset(handled, 1, 50000);
    ok(cuMemHostRegister(handled, 50000, 0));
    int status = -1;
    pid_t child = fork();
    if (!child) _exit(handled[100] == 99 ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(handled[100], 1);
    ok(cuMemHostUnregister(handled));
    free(handled);
    handled = NULL;
}

static __thread char local[3 * PAGE]; /* the thread's descriptor, in which the system writes, lies behind it */

static void nor_does_the_system(void **state)
{
    (void)state;
    pthread_mutex_t m;
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&m, &kind);
    ok(cuMemHostRegister(local, sizeof local, 0));
    pthread_mutex_lock(&m);
    pid_t child = fork();
    if (!child) _exit(0);
    waitpid(child, NULL, 0);
    assert_int_equal(pthread_mutex_unlock(&m), 0);
    ok(cuMemHostUnregister(local));
}

static _Atomic int ready;
static _Atomic bool go;

static void *have_a_buffer(void *unused)
{
    CUdeviceptr p;
    ok(cuCtxSetCurrent(context));
    char *b = malloc(100000);
    ok(cuMemHostRegister(b, 100000, 0));
    ok(cuMemAlloc(&p, 100000));
    ok(cuMemcpyHtoD(p, b, 100000));
    ready++;
    while (!go) usleep(1000);
    ok(cuMemHostUnregister(b));
    ok(cuMemFree(p));
    free(b);
    return unused;
}

/* Their buffers lie behind the headers of heaps of their own. */
static void nor_does_the_c_library(void **state)
{
    (void)state;
    pthread_t threads[2];
    for (int k = 0; k < 2; k++) pthread_create(&threads[k], NULL, have_a_buffer, NULL);
    while (ready < 2) usleep(1000);
    pid_t child = fork();
    if (!child) {
        execl("/bin/true", "true", NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
    go = true;
    for (int k = 0; k < 2; k++) pthread_join(threads[k], NULL);
}

/* ---- who stores meanwhile */

static _Atomic bool stop;
enum { LAST = (4 << 20) / 8 - 1 };

/* What comes first is never behind. */
static void *count(void *arg)
{
    volatile uint64_t *p = arg;
    for (uint64_t n = 1; !stop; n++) {
        p[0] = n;
        atomic_thread_fence(memory_order_seq_cst);
        p[LAST] = n;
    }
    return NULL;
}

static void the_child_has_what_there_was_at_one_moment(void **state)
{
    (void)state;
    volatile uint64_t *p = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t thread;
    ok(cuMemHostRegister((void *)p, 4 << 20, 0));
    stop = false;
    pthread_create(&thread, NULL, count, (void *)p);
    for (int k = 0; k < FORKS; k++) {
        int status = -1;
        pid_t child = fork();
        if (!child) _exit(p[0] == p[LAST] || p[0] == p[LAST] + 1 ? 0 : 1);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    stop = true;
    pthread_join(thread, NULL);
    assert_int_equal(p[0], p[LAST]);
    ok(cuMemHostUnregister((void *)p));
    munmap((void *)p, 4 << 20);
}

static void *ask(void *arg)
{
    volatile unsigned *p = arg;
    for (unsigned n = 1; !stop; n++) {
        p[0] = n;
        while (p[2] != n) {}
    }
    p[0] = OVER;
    return NULL;
}

static void no_word_of_a_kernels_is_lost(void **state)
{
    (void)state;
    char *p = registered();
    void *arguments[] = { &p };
    pthread_t thread;
    memset(p, 0, 16);
    stop = false;
    ok(cuLaunchKernel(answer, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    pthread_create(&thread, NULL, ask, p);
    for (int k = 0; k < FORKS; k++) {
        pid_t child = fork();
        if (!child) _exit(0);
        waitpid(child, NULL, 0);
    }
    stop = true;
    pthread_join(thread, NULL);
    ok(cuCtxSynchronize());
    ok(cuMemHostUnregister(p));
    munmap(p, SIZE);
}

static int begin(void **state)
{
    (void)state;
    CUmodule module;
    CUdevice device;
    pthread_atfork(NULL, NULL, in_child);
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context) ||
        cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&answer, module, "answer"))
        return -1;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_may_have_been_unmapped),
        cmocka_unit_test(or_protected),
        cmocka_unit_test(or_moved),
        cmocka_unit_test(pages_of_the_stack_may_be_shared_by_two),
        cmocka_unit_test(a_handler_of_the_childs_changes_nothing_in_the_parent),
        cmocka_unit_test(nor_does_the_system),
        cmocka_unit_test(the_child_has_what_there_was_at_one_moment),
        cmocka_unit_test(no_word_of_a_kernels_is_lost),
        cmocka_unit_test(nor_does_the_c_library),
    };
    alarm(100);
    return cmocka_run_group_tests(tests, begin, NULL);
}
