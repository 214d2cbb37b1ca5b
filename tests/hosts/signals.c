/* Signals of the application while managed memory moves: its own SIGSEGV handler, installed before cuInit or after it,
 * gets the faults that are not ours, and a timer's handler that touches managed memory itself interrupts whatever runs.
 * usage: signals before|after   prints nothing and exits 0 if all is well */
#include "../check.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry increment(.param .u64 p)\n{\n    .reg .b32 %r<6>;\n    .reg .b64 %d<3>;\n"
    "    ld.param.u64 %d0, [p];\n    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n"
    "    mad.lo.u32 %r5, %r2, %r3, %r4;\n    mul.wide.u32 %d1, %r5, 4;\n    add.u64 %d2, %d0, %d1;\n"
    "    ld.global.u32 %r0, [%d2];\n    add.u32 %r0, %r0, 1;\n    st.global.u32 [%d2], %r0;\n    ret;\n}\n";
enum { N = 1 << 16, ROUNDS = 40, STEP = 1024 };
static volatile unsigned *shared;
static volatile sig_atomic_t ticks, foreign, faults;
static __thread int ours;
static sigjmp_buf back;

static void on_tick(int signal)
{
    (void)signal;
    if (!ours) foreign++;
    if (shared) ((volatile unsigned *)shared)[ticks % N]++;
    ticks++;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    faults++;
    siglongjmp(back, 1);
}

static void on_stream(void *words)
{
    for (unsigned k = 0; k < N; k += STEP) ((volatile unsigned *)words)[k]++;
}

static void catch_faults(void)
{
    static char room[1 << 16];
    const stack_t stack = { .ss_sp = room, .ss_size = sizeof room };
    struct sigaction a = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    EXPECT(!sigaltstack(&stack, NULL) && !sigaction(SIGSEGV, &a, NULL));
}

/* Where there is no userfaultfd, who stores to it meanwhile faults. */
static void register_memory(void)
{
    static char memory[1 << 16];
    CHECK(cuMemHostRegister(memory, sizeof memory, 0));
    CHECK(cuMemHostUnregister(memory));
}

static CUdeviceptr managed(void)
{
    CUdeviceptr p;
    CHECK(cuMemAllocManaged(&p, N * sizeof(unsigned), CU_MEM_ATTACH_GLOBAL));
    memset((void *)p, 0, N * sizeof(unsigned));
    return p;
}

int main(int argc, char **argv)
{
    int before = argc > 1 && !strcmp(argv[1], "before");
    const struct sigaction tick = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
    const struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
    CUmodule module;
    CUfunction increment;
    CUdeviceptr device, p, q;
    volatile int *volatile nowhere = (volatile int *)64;
    ours = 1;
    if (before) catch_faults();
    check_context();
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&increment, module, "increment"));
    CHECK(cuMemAlloc(&device, 4096));
    p = managed();
    q = managed();
    if (!before) catch_faults();

    if (!sigsetjmp(back, 1)) EXPECT(*(volatile int *)device && 0);
    if (!sigsetjmp(back, 1)) EXPECT(*nowhere && 0);
    EXPECT(faults == 2);
    register_memory();
    for (volatile int k = 0; k < 3; k++)
        if (!sigsetjmp(back, 1)) EXPECT(*nowhere && 0);
    EXPECT(faults == 5);

    shared = (volatile unsigned *)q;
    sigaction(SIGPROF, &tick, NULL);
    sigaction(SIGALRM, &tick, NULL);
    setitimer(ITIMER_PROF, &often, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    unsigned *words = (unsigned *)p;
    for (int round = 1; round <= ROUNDS; round++) {
        CHECK(cuLaunchKernel(increment, N / 128, 1, 1, 128, 1, 1, 0, NULL, (void *[]){ &p }, NULL));
        CHECK(cuLaunchKernel(increment, N / 128, 1, 1, 128, 1, 1, 0, NULL, (void *[]){ &q },
                             NULL)); /* takes it from the handler */
        CHECK(cuLaunchHostFunc(NULL, on_stream, words));
        CHECK(cuCtxSynchronize());
        for (unsigned k = 0; k < N; k++)
            if (words[k] != (unsigned)round * (k % STEP ? 1 : 2)) {
                printf("round %d: [%u] is %u\n", round, k, words[k]);
                return 1;
            }
    }
    while (!ticks) continue;
    shared = NULL;
    setitimer(ITIMER_PROF, &(struct itimerval){ 0 }, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
    EXPECT(!foreign);
    EXPECT(faults == 5);
    CHECK(cuMemFree(q));
    CHECK(cuMemFree(p));
    CHECK(cuMemFree(device));
    CHECK(cuDevicePrimaryCtxRelease(0));
    return 0;
}
