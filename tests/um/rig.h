/* What the tests of managed and ordinary memory share. Each test runs in a
 * process of its own, for some end by a signal or leave an error that stays;
 * there the file's start() comes first. */
#include <cuda.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* after the others */
#include <cmocka.h>

#define MIB ((size_t)1 << 20)
#define EXPECT(what, want) expect((long)(what), (long)(want), #what, __LINE__)
static void expect(long saw, long want, const char *what, int line)
{
    if (saw == want) return;
    fprintf(stderr, "line %d: %s is %ld, not %ld\n", line, what, saw, want);
    _exit(1);
}

#define PTX_HEADER ".version 7.0\n.target sm_70\n.address_size 64\n"
/* poke(at, value) writes a word. */
#define PTX_POKE \
    ".visible .entry poke(.param .u64 at, .param .u32 value) { .reg .b32 %r<2>; .reg .b64 %a<2>;\n" \
    "ld.param.u64 %a1, [at]; ld.param.u32 %r1, [value]; st.global.u32 [%a1], %r1; ret; }\n"

/* For start(): the context of a device, current, with a module of these kernels. No test takes longer than a minute. */
static inline CUmodule start_with(int ordinal, const char *kernels)
{
    CUcontext c;
    CUmodule m;
    alarm(60);
    EXPECT(cuInit(0), 0);
    EXPECT(cuDevicePrimaryCtxRetain(&c, ordinal), 0);
    EXPECT(cuCtxSetCurrent(c), 0);
    EXPECT(cuModuleLoadData(&m, kernels), 0);
    return m;
}

static inline CUfunction function_of(CUmodule m, const char *name)
{
    CUfunction f;
    EXPECT(cuModuleGetFunction(&f, m, name), 0);
    return f;
}

static void start(void);

/* How a process ends that runs the test: as waitpid says. */
static int status_of(void (*test)(void))
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        signal(SIGSEGV, SIG_DFL); /* cmocka has a handler */
        start();
        test();
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status;
}

#define IN_CHILD(name, ending) \
    static void test_##name(void **unused) \
    { \
        (void)unused; \
        assert_int_equal(status_of(name), ending); \
    }
