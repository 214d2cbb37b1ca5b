/* What a hostile program does while kernels of several devices, prefetches and advice move its managed memory: handlers
 * of timers touch it, threads with signal stacks of their own come and go, children are forked; and a device may be
 * killed. Each addition is there at the end, but for those of a device that died.
 * usage: storm SECONDS SEED [killed] */
#include "../check.h"
#include "../draw.h"
#include "../victims.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

enum { PAGES = 6144, PAGE = 4096, MOST_DEVICES = 8, PATIENCE_S = 100, STACK = 64 << 10 };
enum { BY_DEVICES, BY_THREADS, BY_HANDLERS, WORDS }; /* the words of a page that are used */

/* Each thread adds 1 to the first word of its page. */
static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry add(.param .u64 p, .param .u32 n) { .reg .b64 %a; .reg .b32 %i, %c, %d, %n; .reg .pred %q; "
    "ld.param.u64 %a,[p]; ld.param.u32 %n,[n]; mov.u32 %i,%tid.x; mov.u32 %c,%ctaid.x; mov.u32 %d,%ntid.x; "
    "mad.lo.u32 %i,%c,%d,%i; setp.ge.u32 %q,%i,%n; @%q ret; mad.wide.u32 %a,%i,4096,%a; "
    "red.global.sys.add.u32 [%a],1; ret; }\n";

static int devices;
static CUcontext context[MOST_DEVICES];
static CUfunction add[MOST_DEVICES];
static char *memory;
static _Atomic unsigned wanted[WORDS][PAGES];
static _Atomic bool over, killed;
static uint64_t seed;

static uint32_t *word(uint64_t page, unsigned k) { return (uint32_t *)(memory + page * PAGE) + k; }

static void touch(uint64_t page, unsigned k)
{
    __atomic_fetch_add(word(page, k), 1, __ATOMIC_RELAXED);
    atomic_fetch_add(&wanted[k][page], 1);
}

/* Whether the thread is to end, for a device was killed. */
static bool died(CUresult r, const char *what, int line)
{
    if (!killed || r != CUDA_ERROR_LAUNCH_FAILED) check_answer(r, CUDA_SUCCESS, what, __FILE__, line);
    if (r) over = true;
    return r != CUDA_SUCCESS;
}
#define DO(call) \
    do { \
        if (died((call), #call, __LINE__)) return NULL; \
    } while (0)

static uint64_t *state_of(uintptr_t thread, uint64_t *state)
{
    *state = 0x9e3779b97f4a7c15u * (seed * 16 + thread + 1);
    return state;
}

static void *launches(void *arg)
{
    uint64_t state, *s = state_of((uintptr_t)arg, &state);
    CUstream stream[MOST_DEVICES];
    for (int d = 0; d < devices; d++) {
        DO(cuCtxSetCurrent(context[d]));
        DO(cuStreamCreate(&stream[d], CU_STREAM_NON_BLOCKING));
    }
    while (!over) {
        unsigned n = 1 + (unsigned)draw_from(s, 512), d = (unsigned)draw_from(s, (uint64_t)devices);
        uint64_t first = draw_from(s, PAGES - n);
        CUdeviceptr p = (CUdeviceptr)word(first, BY_DEVICES);
        DO(cuCtxSetCurrent(context[d]));
        for (unsigned k = 0; k < n; k++) atomic_fetch_add(&wanted[BY_DEVICES][first + k], 1);
        DO(cuLaunchKernel(add[d], (n + 63) / 64, 1, 1, 64, 1, 1, 0, stream[d], (void *[]){ &p, &n }, NULL));
        if (!draw_from(s, 4)) DO(cuStreamSynchronize(stream[d]));
    }
    return NULL;
}

static void *touches(void *arg)
{
    uint64_t state, *s = state_of((uintptr_t)arg, &state);
    while (!over) {
        touch(draw_from(s, PAGES), BY_THREADS);
        if (!draw_from(s, 64)) usleep(100);
    }
    return NULL;
}

static void *moves(void *arg)
{
    uint64_t state, *s = state_of((uintptr_t)arg, &state);
    const CUdeviceptr all = (CUdeviceptr)memory;
    CUstream stream;
    DO(cuCtxSetCurrent(context[0]));
    DO(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    while (!over) {
        uint64_t n = 1 + draw_from(s, 1024);
        CUdeviceptr p = (CUdeviceptr)word(draw_from(s, PAGES - n), 0);
        int d = (int)draw_from(s, (uint64_t)devices + 1) - 1;
        CUmemLocation l = { d < 0 ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE, d < 0 ? 0 : d };
        switch (draw_from(s, 8)) {
        case 0: DO(cuMemAdvise(p, n * PAGE, CU_MEM_ADVISE_SET_READ_MOSTLY, l)); break;
        case 1: DO(cuMemAdvise(all, (size_t)PAGES * PAGE, CU_MEM_ADVISE_UNSET_READ_MOSTLY, l)); break;
        case 2: DO(cuMemAdvise(p, n * PAGE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, l)); break;
        case 3: DO(cuMemAdvise(all, (size_t)PAGES * PAGE, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, l)); break;
        case 4: DO(cuStreamSynchronize(stream)); break;
        default: DO(cuMemPrefetchAsync(p, n * PAGE, l, 0, stream));
        }
    }
    return NULL;
}

/* A thread that ends in the midst, on one of two ways. */
static void *brief(void *arg)
{
    uint64_t state, *s = state_of((uintptr_t)arg, &state);
    stack_t own = { .ss_size = STACK, .ss_sp = malloc(STACK) }, none = { .ss_flags = SS_DISABLE };
    EXPECT(own.ss_sp && !sigaltstack(&own, NULL));
    for (unsigned k = 0; k < 16; k++) touch(draw_from(s, PAGES), BY_THREADS);
    EXPECT(!sigaltstack(&none, NULL));
    free(own.ss_sp);
    if (draw_from(s, 2)) pthread_exit(NULL);
    return NULL;
}

static void *comes_and_goes(void *arg)
{
    uintptr_t number = (uintptr_t)arg * 1000;
    while (!over) {
        pthread_t t[4];
        for (unsigned k = 0; k < 4; k++) EXPECT(!pthread_create(&t[k], NULL, brief, (void *)++number));
        for (unsigned k = 0; k < 4; k++) pthread_join(t[k], NULL);
    }
    return NULL;
}

static void *forks(void *arg)
{
    (void)arg;
    while (!over) {
        int status;
        pid_t child = fork();
        if (!child) {
            /* AddressSanitizer's malloc may wait for a thread that is not there */
            volatile char own[STACK];
            for (unsigned k = 0; k < STACK; k++) own[k] = 7;
            _exit(own[draw_from(&seed, STACK)]);
        }
        EXPECT(child > 0);
        while (waitpid(child, &status, 0) < 0) EXPECT(errno == EINTR);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
        usleep(20000);
    }
    return NULL;
}

static void on_timer(int number)
{
    static _Atomic unsigned turn;
    int error = errno;
    (void)number;
    touch((atomic_fetch_add(&turn, 2654435761u) >> 8) % PAGES, BY_HANDLERS);
    errno = error;
}

/* ThreadSanitizer holds signals back: their handlers run later, with SIGSEGV blocked, and in children that had none. */
static void run_timers(bool run)
{
#ifdef __SANITIZE_THREAD__
    return;
#endif
    const suseconds_t prof = run ? 1000 : 0, real = run ? 1500 : 0;
    struct sigaction a = { .sa_handler = on_timer, .sa_flags = SA_RESTART | SA_ONSTACK };
    if (run) EXPECT(!sigaction(SIGPROF, &a, NULL) && !sigaction(SIGALRM, &a, NULL));
    setitimer(ITIMER_PROF, &(struct itimerval){ { 0, prof }, { 0, prof } }, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){ { 0, real }, { 0, real } }, NULL);
}

/* These two are not disturbed. */
static void block_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
}

static void *kills(void *arg)
{
    uint64_t state, *s = state_of((uintptr_t)arg, &state);
    int pids[MOST_DEVICES];
    block_signals();
    unsigned n = victims_find(pids, MOST_DEVICES);
    EXPECT_EQUAL(n, devices);
    usleep((useconds_t)draw_from(s, 900000));
    killed = true;
    kill(pids[draw_from(s, n)], SIGKILL);
    return NULL;
}

static void *watches(void *arg)
{
    (void)arg;
    block_signals();
    sleep(PATIENCE_S);
    EXPECT(!"some thread hangs");
    return NULL;
}

static void begin(void)
{
    CUdeviceptr p;
    CUmodule m;
    unsigned none = 0;
    victims_mark();
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&devices));
    EXPECT(devices <= MOST_DEVICES);
    for (int d = 0; d < devices; d++) {
        CHECK(cuDevicePrimaryCtxRetain(&context[d], d));
        CHECK(cuCtxSetCurrent(context[d]));
        CHECK(cuModuleLoadData(&m, ptx));
        CHECK(cuModuleGetFunction(&add[d], m, "add"));
        if (!d) CHECK(cuMemAllocManaged(&p, (size_t)PAGES * PAGE, CU_MEM_ATTACH_GLOBAL));
        CHECK(cuLaunchKernel(add[d], 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &p, &none }, NULL));
        CHECK(cuCtxSynchronize());
    }
    memory = (char *)p;
}

/* What a device that died was to add may be missing, all else is there. */
static void look(bool complete)
{
    for (unsigned page = 0; page < PAGES; page++) {
        EXPECT_EQUAL(*word(page, BY_THREADS), wanted[BY_THREADS][page]);
        EXPECT_EQUAL(*word(page, BY_HANDLERS), wanted[BY_HANDLERS][page]);
        if (complete)
            EXPECT_EQUAL(*word(page, BY_DEVICES), wanted[BY_DEVICES][page]);
        else
            EXPECT(*word(page, BY_DEVICES) <= wanted[BY_DEVICES][page]);
    }
}

int main(int argc, char **argv)
{
    static void *(*const what[])(void *) = { launches, launches, touches, touches, moves, comes_and_goes, forks, kills };
    enum { ALL = sizeof what / sizeof *what };
    const bool kill_one = argc > 3 && !strcmp(argv[3], "killed");
    const unsigned threads = kill_one ? ALL : ALL - 1;
    pthread_t t[ALL], watcher;
    struct timespec end;
    EXPECT(argc > 2);
    seed = strtoull(argv[2], NULL, 10);
    begin();
    EXPECT(!pthread_create(&watcher, NULL, watches, NULL));
    run_timers(true);
    for (unsigned k = 0; k < threads; k++) EXPECT(!pthread_create(&t[k], NULL, what[k], (void *)(uintptr_t)k));
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += atoi(argv[1]);
    while (!over && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {}
    over = true;
    for (unsigned k = 0; k < threads; k++) pthread_join(t[k], NULL);
    run_timers(false);
    unsigned lost = 0;
    for (int d = 0; d < devices; d++) {
        CUresult r = cuCtxSetCurrent(context[d]);
        if (!r) r = cuCtxSynchronize();
        lost += died(r, "the devices' work", __LINE__);
    }
    EXPECT(!kill_one == !lost);
    look(!lost);
    return 0;
}
