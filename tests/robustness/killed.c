/* A device process that is killed at any moment, whatever calls are under way: each of them returns soon, with an error or
 * with what it was to do, and a reset brings the device back. usage: killed [ROUNDS [WHICH [SEED]]] */
#include "../check.h"
#include "../draw.h"
#include "../victims.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 256 << 10, PATIENCE_S = 40 };

static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .align 4 .u32 word = %u;\n"
    ".visible .entry add(.param .u64 p, .param .u32 n) { .reg .b64 %%a; .reg .b32 %%i, %%c, %%d, %%v, %%n; .reg .pred %%q; "
    "ld.param.u64 %%a,[p]; ld.param.u32 %%n,[n]; mov.u32 %%i,%%tid.x; mov.u32 %%c,%%ctaid.x; mov.u32 %%d,%%ntid.x; "
    "mad.lo.u32 %%i,%%c,%%d,%%i; setp.ge.u32 %%q,%%i,%%n; @%%q ret; mad.wide.u32 %%a,%%i,4,%%a; "
    "ld.global.u32 %%v,[%%a]; add.u32 %%v,%%v,1; st.global.u32 [%%a],%%v; ret; }\n";

static CUcontext context[2];
static CUmodule module;
static CUfunction add;
static CUdeviceptr memory, managed;
static CUstream stream;
static unsigned *words;
static const CUmemLocation on_device = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
static const CUmemLocation on_host = { .type = CU_MEM_LOCATION_TYPE_HOST };

static _Atomic bool killed;
static bool starting; /* the device's process is being started */
static void *killer(void *arg)
{
    int pid = 0;
    usleep((unsigned)(uintptr_t)arg);
    while (!victims_find(&pid, 1)) {}
    killed = true;
    kill(pid, SIGKILL);
    return NULL;
}

/* ---- what is done meanwhile. An answer may be an error only after the kill, and only one of those. */

static bool went_wrong(CUresult r, const char *what, int line)
{
    const char *name = "no CUresult";
    if (!r) return false;
    if (killed && (r == CUDA_ERROR_LAUNCH_FAILED || (r == CUDA_ERROR_OPERATING_SYSTEM && starting))) return true;
    cuGetErrorName(r, &name);
    check_failed(what, name, __FILE__, line);
    return true;
}
#define DO(call) \
    do { \
        if (went_wrong((call), #call, __LINE__)) return false; \
    } while (0)

static CUresult launch(CUdeviceptr p, unsigned n, CUstream s)
{
    return cuLaunchKernel(add, (n + 127) / 128, 1, 1, 128, 1, 1, 0, s, (void *[]){ &p, &n }, NULL);
}

static bool launches(void)
{
    unsigned v;
    DO(cuMemsetD32(memory, 7, WORDS));
    for (int k = 0; k < 20; k++) DO(launch(memory, WORDS, stream));
    DO(cuStreamSynchronize(stream));
    DO(cuMemcpyDtoH(&v, memory + 4 * draw(WORDS), 4));
    EXPECT_EQUAL(v, 27);
    return true;
}

static bool copies(void)
{
    for (unsigned k = 0; k < WORDS; k++) words[k] = k;
    DO(cuMemcpyHtoD(memory, words, 4 * WORDS));
    DO(launch(memory, WORDS, NULL));
    DO(cuMemcpyDtoHAsync(words, memory, 4 * WORDS, NULL));
    DO(cuStreamSynchronize(NULL));
    unsigned at = draw(WORDS);
    EXPECT_EQUAL(words[at], at + 1);
    return true;
}

static bool moves(void)
{
    unsigned *h = (unsigned *)managed, at = draw(WORDS);
    DO(cuCtxSynchronize());
    for (unsigned k = 0; k < WORDS; k += 512) h[k] = k;
    h[at] = 5;
    DO(cuMemAdvise(managed, 2 * WORDS, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device));
    DO(cuMemPrefetchAsync(managed, 4 * WORDS, on_device, 0, stream));
    DO(launch(managed, WORDS, stream));
    DO(launch(managed, WORDS, stream));
    DO(cuMemPrefetchAsync(managed, 2 * WORDS, on_host, 0, stream));
    DO(cuStreamSynchronize(stream));
    EXPECT_EQUAL(h[at], 7);
    DO(cuMemAdvise(managed, 2 * WORDS, CU_MEM_ADVISE_UNSET_READ_MOSTLY, on_device));
    return true;
}

static bool loads(void)
{
    static unsigned number;
    char text[2048];
    CUmodule m;
    CUdeviceptr p;
    unsigned v;
    snprintf(text, sizeof text, ptx, ++number % 3);
    DO(cuModuleLoadData(&m, text));
    DO(cuModuleGetGlobal(&p, NULL, m, "word"));
    DO(launch(p, 1, NULL));
    DO(cuMemcpyDtoH(&v, p, 4));
    EXPECT_EQUAL(v, number % 3 + 1);
    DO(cuModuleUnload(m));
    return true;
}

static bool pools(void)
{
    CUdeviceptr p;
    unsigned v;
    DO(cuMemAllocAsync(&p, 4 << 20, stream));
    DO(cuMemsetD32Async(p, 1, 1024, stream));
    DO(launch(p, 1024, stream));
    DO(cuMemcpyDtoHAsync(&v, p, 4, stream));
    DO(cuMemFreeAsync(p, stream));
    DO(cuStreamSynchronize(stream));
    EXPECT_EQUAL(v, 2);
    return true;
}

static bool graphs(void)
{
    CUgraph g;
    CUgraphExec x;
    unsigned v;
    DO(cuMemsetD32(memory, 3, WORDS));
    DO(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CUresult r = launch(memory, WORDS, stream), e = cuStreamEndCapture(stream, &g);
    DO(r);
    DO(e);
    DO(cuGraphInstantiate(&x, g, 0));
    for (int k = 0; k < 5; k++) DO(cuGraphLaunch(x, stream));
    DO(cuStreamSynchronize(stream));
    DO(cuMemcpyDtoH(&v, memory, 4));
    EXPECT_EQUAL(v, 8);
    DO(cuGraphExecDestroy(x));
    DO(cuGraphDestroy(g));
    return true;
}

static bool mappings(void)
{
    const size_t size = 4 << 20;
    CUmemGenericAllocationHandle h;
    CUdeviceptr p;
    unsigned v;
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = on_device };
    CUmemAccessDesc access = { .location = on_device, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    DO(cuMemAddressReserve(&p, size, 0, 0, 0));
    DO(cuMemCreate(&h, size, &prop, 0));
    DO(cuMemMap(p, size, 0, h, 0));
    DO(cuMemSetAccess(p, size, &access, 1));
    DO(cuMemsetD32(p, 5, 1024));
    DO(launch(p, 1024, stream));
    DO(cuStreamSynchronize(stream));
    DO(cuMemcpyDtoH(&v, p, 4));
    EXPECT_EQUAL(v, 6);
    DO(cuMemUnmap(p, size));
    DO(cuMemRelease(h));
    DO(cuMemAddressFree(p, size));
    return true;
}

static void on_host_called(void *arg) { (*(_Atomic unsigned *)arg)++; }

static bool waits(void)
{
    static _Atomic unsigned calls;
    unsigned before = calls;
    CUevent e;
    CUstream s;
    CUresult r = cuEventCreate(&e, CU_EVENT_DISABLE_TIMING);
    DO(r);
    DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    DO(cuMemsetD32(memory, 0, 1));
    DO(cuStreamWaitValue32(stream, memory, 1, CU_STREAM_WAIT_VALUE_GEQ));
    DO(cuLaunchHostFunc(stream, on_host_called, &calls));
    DO(cuEventRecord(e, stream));
    DO(cuStreamWaitEvent(s, e, 0));
    DO(launch(memory + 4096, 64, s));
    DO(launch(memory, 1, NULL));
    DO(cuStreamWriteValue32(NULL, memory, 1, 0));
    DO(cuEventSynchronize(e));
    DO(cuStreamSynchronize(s));
    EXPECT_EQUAL(calls, before + 1);
    DO(cuEventDestroy(e));
    DO(cuStreamDestroy(s));
    return true;
}

static bool registrations(void)
{
    CUdeviceptr p;
    unsigned at = draw(WORDS / 4);
    for (unsigned k = 0; k < WORDS / 4; k++) words[k] = k;
    CUresult r = cuMemHostRegister(words, WORDS, 0);
    DO(r);
    DO(cuMemHostGetDevicePointer(&p, words, 0));
    DO(launch(p, WORDS / 4, stream));
    r = cuStreamSynchronize(stream);
    if (!r) EXPECT_EQUAL(words[at], at + 1);
    CUresult u = cuMemHostUnregister(words);
    DO(r);
    DO(u);
    return true;
}

static bool contexts(void)
{
    CUcontext c;
    CUdeviceptr p;
    unsigned v;
    DO(cuCtxCreate(&c, NULL, 0, 0));
    CUresult r = cuMemAlloc(&p, 4096);
    if (!r) r = cuMemsetD32(p, 1, 1024);
    if (!r) r = cuMemcpyDtoH(&v, p, 4);
    if (!r) EXPECT_EQUAL(v, 1);
    CUresult d = cuCtxDestroy(c);
    CHECK(cuCtxSetCurrent(context[0]));
    DO(r);
    DO(d);
    return true;
}

/* The other device may go on. */
static bool peers(void)
{
    CUdeviceptr p;
    unsigned v;
    if (!context[1]) DO(cuDevicePrimaryCtxRetain(&context[1], 1));
    DO(cuMemsetD32(memory, 9, 1024));
    CHECK(cuCtxSetCurrent(context[1]));
    CUresult r = cuMemAlloc(&p, 4096);
    if (!r) r = cuMemcpyPeer(p, context[1], memory, context[0], 4096);
    if (!r) r = cuMemcpyDtoH(&v, p, 4);
    if (!r) EXPECT_EQUAL(v, 9);
    if (!r) r = cuMemFree(p);
    CHECK(cuCtxSetCurrent(context[0]));
    DO(r);
    return true;
}

/* ---- a round, in a process of its own */

static bool begin(void)
{
    char text[2048];
    snprintf(text, sizeof text, ptx, 0);
    DO(cuDevicePrimaryCtxRetain(&context[0], 0));
    CHECK(cuCtxSetCurrent(context[0]));
    DO(cuModuleLoadData(&module, text));
    DO(cuModuleGetFunction(&add, module, "add"));
    DO(cuMemAlloc(&memory, 4 * WORDS));
    DO(cuMemAllocManaged(&managed, 4 * WORDS, CU_MEM_ATTACH_GLOBAL));
    DO(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return true;
}

/* ---- other processes */

static int to_exporter[2], from_exporter[2];

/* Before this process has CUDA. */
static void start_exporter(void)
{
    CUipcMemHandle h;
    CUdeviceptr p;
    char byte;
    EXPECT(!pipe(to_exporter) && !pipe(from_exporter));
    if (fork()) {
        close(to_exporter[0]);
        close(from_exporter[1]);
        return;
    }
    close(to_exporter[1]); /* it ends with the importer */
    setenv("FAULTLINE_TEST", "exporter", 1);
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context[0], 0));
    CHECK(cuCtxSetCurrent(context[0]));
    CHECK(cuMemAlloc(&p, 2 << 20));
    CHECK(cuMemsetD32(p, 11, 512 << 10));
    CHECK(cuIpcGetMemHandle(&h, p));
    EXPECT(write(from_exporter[1], &h, sizeof h) == sizeof h);
    _exit(read(to_exporter[0], &byte, 1) != 0);
}

static bool imports(void)
{
    static CUipcMemHandle h;
    static bool known;
    CUdeviceptr p;
    unsigned v;
    while (!known && read(from_exporter[0], &h, sizeof h) < 0) EXPECT(errno == EINTR);
    known = true;
    DO(cuIpcOpenMemHandle(&p, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    CUresult r = launch(p, 1024, NULL);
    if (!r) r = launch(p, 1024, NULL);
    if (!r) r = cuMemcpyDtoH(&v, p, 4);
    if (!r) EXPECT(v >= 13);
    CUresult c = cuIpcCloseMemHandle(p);
    DO(r);
    DO(c);
    return true;
}

static atomic_bool over;
static void *busy(void *arg)
{
    (void)arg;
    CHECK(cuCtxSetCurrent(context[0]));
    while (!over && !killed) {
        CUdeviceptr p;
        void *h;
        if (!cuMemAlloc(&p, 1 << 20) && !launch(p, 1024, CU_STREAM_PER_THREAD)) cuMemFree(p);
        if (!cuMemAllocHost(&h, 4096)) cuMemFreeHost(h);
    }
    return NULL;
}

/* A child does not look for leaks: its AddressSanitizer may wait for a thread that is not there, and takes what such
 * threads had for lost. */
static bool is_child;
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return is_child; }

/* A child of a process whose threads hold locks has no CUDA, is told so, and ends. */
static bool forks(void)
{
    pthread_t t;
    int status;
    CUdeviceptr p;
    over = false;
    EXPECT(!pthread_create(&t, NULL, busy, NULL));
    for (int k = 0; k < 5; k++) {
        pid_t child = fork();
        if (!child) {
            alarm(PATIENCE_S / 2);
            is_child = true;
            free(malloc(1000));
            ANSWERS(cuMemAlloc(&p, 4), CUDA_ERROR_NOT_INITIALIZED);
            ANSWERS(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
            ANSWERS(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
            exit(0); /* with what the library does then */
        }
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
        EXPECT_EQUAL(status, 0);
    }
    over = true;
    pthread_join(t, NULL);
    return launches();
}

/* It is killed as it begins. */
static bool begins(void) { return true; }

/* ---- signals, which interrupt every wait */

static void on_tick(int number) { (void)number; }

static void start_ticking(void)
{
    timer_t t;
    struct sigevent e = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
    struct itimerspec often = { { 0, 300000 }, { 0, 300000 } };
    EXPECT(!sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = on_tick }, NULL));
    EXPECT(!timer_create(CLOCK_MONOTONIC, &e, &t) && !timer_settime(t, 0, &often, NULL));
}

static const struct {
    const char *name;
    bool (*run)(void);
} deeds[] = { { "launches", launches }, { "copies", copies },     { "moves", moves },   { "loads", loads },
              { "pools", pools },       { "graphs", graphs },     { "maps", mappings }, { "waits", waits },
              { "registers", registrations }, { "contexts", contexts }, { "peers", peers },
              { "imports", imports }, { "forks", forks }, { "begins", begins } };
enum { DEEDS = sizeof deeds / sizeof *deeds };

static void round_of(unsigned deed, unsigned seed)
{
    pthread_t t;
    bool start = deeds[deed].run == begins;
    draw_state = seed * 977 + deed + 1;
    for (int k = 0; k < 8; k++) draw(2);
    victims_mark();
    alarm(PATIENCE_S);
    EXPECT(!posix_memalign((void **)&words, 4096, 4 * WORDS));
    if (deeds[deed].run == imports) start_exporter();
    CHECK(cuInit(0));
    if (!start) EXPECT(begin());
    if (!draw(3)) start_ticking();
    starting = start;
    uintptr_t when = start ? draw(6000) : draw(draw(4) ? 5000 : 60000);
    EXPECT(!pthread_create(&t, NULL, killer, (void *)when));
    if (start) begin();
    for (int k = 0; !killed || k < 3; k++)
        if (!deeds[deed].run()) break;
    pthread_join(t, NULL);
    /* that becomes known, and stays so */
    for (int k = 0; !cuCtxSynchronize() && k < 5000; k++) usleep(1000);
    if (!start) ANSWERS(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    for (int d = 0; d < 2; d++) cuDevicePrimaryCtxReset(d);
    killed = starting = false;
    EXPECT(begin());
    EXPECT(launches() && copies() && moves());
    _exit(0);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 5, only = argc > 2 ? atoi(argv[2]) : -1, wrong = 0;
    unsigned seed = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    setenv("FAULTLINE_LOG", "off", 0);
    setenv("FAULTLINE_DEVICES", "2", 1);
    setenv("FAULTLINE_VRAM", "256M", 1);
    for (int deed = 0; deed < DEEDS; deed++)
        for (int k = 0; k < rounds && (only < 0 || only == deed); k++) {
            int status;
            pid_t child = fork();
            if (!child) round_of((unsigned)deed, seed + (unsigned)k);
            while (waitpid(child, &status, 0) < 0 && errno == EINTR)
                ;
            if (!status) continue;
            printf("%s, seed %u: status 0x%x\n", deeds[deed].name, seed + (unsigned)k, status);
            wrong++;
        }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
