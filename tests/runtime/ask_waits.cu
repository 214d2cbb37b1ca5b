/* Which calls wait for work that was issued into the default stream before them? Copies between all kinds of memory, said
 * to be of each kind, fills, arrays, symbols. The stream is held until the call has been answered, or its caller has slept
 * for a while. */
#include "../asleep.h"
#include "ask.h"
#include <pthread.h>
#include <sys/mman.h>

#ifndef GATE_MS
#define GATE_MS 2000
#endif
enum { ROOM = 4 << 20, PATIENCE = 60 };
enum { ON_GPU, MANAGED, PINNED, REGISTERED, PAGEABLE, SYMBOL, PLACES };
static const char *const names[PLACES] = { "dev", "managed", "pinned", "reg", "pageable", "symbol" };
static char *to[PLACES], *from[PLACES];
static __device__ char symbol[ROOM];
static __global__ void nothing() {}

static cudaStream_t holder;
static cudaEvent_t over;
static volatile int opened, answered;
static int asker;
static pthread_t keeper;

static void *keep(void *)
{
    struct asleep a = { 0, 0 };
    for (int ms = 0; ms < GATE_MS && !answered && asleep_for(&a, asker) < PATIENCE; ms++) usleep(1000);
    opened = 1;
    return NULL;
}
static void until_opened(void *)
{
    while (!opened) usleep(200);
}
static void hold(void)
{
    opened = answered = 0;
    asker = thread_id();
    MUST(cudaLaunchHostFunc(holder, until_opened, NULL));
    MUST(cudaEventRecord(over, holder));
    MUST(cudaStreamWaitEvent(0, over, 0));
    if (pthread_create(&keeper, NULL, keep, NULL)) exit(1);
}
static void told(const char *key, cudaError_t r)
{
    const int waited = opened;
    answered = 1;
    pthread_join(keeper, NULL);
    MUST(cudaDeviceSynchronize());
    say(key, "%s %s", name_of(r), waited ? "waited" : "at once");
    cudaGetLastError();
}
#define WAITS(key, call) \
    do { \
        hold(); \
        const cudaError_t result_ = (call); \
        told(key, result_); \
    } while (0)

static char *take(int k)
{
    void *p = NULL;
    switch (k) {
    case ON_GPU: MUST(cudaMalloc(&p, ROOM)); break;
    case MANAGED: MUST(cudaMallocManaged(&p, ROOM)); break;
    case PINNED: MUST(cudaMallocHost(&p, ROOM)); break;
    case SYMBOL: MUST(cudaGetSymbolAddress(&p, symbol)); break;
    default:
        p = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(p, 1, ROOM);
        if (k == REGISTERED) MUST(cudaHostRegister(p, ROOM, 0));
    }
    return (char *)p;
}
static void make(void)
{
    for (int k = 0; k < PLACES; k++) {
        to[k] = take(k);
        from[k] = k == SYMBOL ? to[k] + ROOM / 2 : take(k);
    }
    MUST(cudaStreamCreateWithFlags(&holder, cudaStreamNonBlocking));
    MUST(cudaEventCreateWithFlags(&over, cudaEventDisableTiming));
    nothing<<<1, 1>>>();
    MUST(cudaDeviceSynchronize());
}

static bool of_host(int k) { return k >= MANAGED && k <= PAGEABLE; }
static bool of_device(int k) { return k != PAGEABLE; }
static const size_t sizes[] = { 64, 5000, MiB };
static const char *const kinds[] = { "HH", "HD", "DH", "DD", "default" };

static void copies(int kind)
{
    const enum cudaMemcpyKind how = (enum cudaMemcpyKind)kind;
    const bool to_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost,
               from_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice, any = kind == cudaMemcpyDefault;
    make();
    for (int a = 0; a < PLACES; a++)
        for (int b = 0; b < PLACES; b++) {
            if (!any && (!(to_host ? of_host(a) : of_device(a)) || !(from_host ? of_host(b) : of_device(b)))) continue;
            for (unsigned k = 0; k < COUNT(sizes); k++) {
                WAITS(keyf("memcpy.%s.%zu.%s.%s", kinds[kind], sizes[k], names[a], names[b]), cudaMemcpy(to[a], from[b], sizes[k], how));
                WAITS(keyf("async.%s.%zu.%s.%s", kinds[kind], sizes[k], names[a], names[b]),
                      cudaMemcpyAsync(to[a], from[b], sizes[k], how, 0));
            }
            WAITS(keyf("2D.%s.%s.%s", kinds[kind], names[a], names[b]), cudaMemcpy2D(to[a], KiB, from[b], KiB, 512, 100, how));
            WAITS(keyf("2Dasync.%s.%s.%s", kinds[kind], names[a], names[b]),
                  cudaMemcpy2DAsync(to[a], KiB, from[b], KiB, 512, 100, how, 0));
        }
}
static void HH(void) { copies(cudaMemcpyHostToHost); }
static void HD(void) { copies(cudaMemcpyHostToDevice); }
static void DH(void) { copies(cudaMemcpyDeviceToHost); }
static void DD(void) { copies(cudaMemcpyDeviceToDevice); }
static void unsaid(void) { copies(cudaMemcpyDefault); }

static void fills(void)
{
    make();
    for (int a = 0; a < PLACES; a++) {
        if (a == PAGEABLE) continue;
        for (unsigned k = 0; k < COUNT(sizes); k++) {
            WAITS(keyf("memset.%zu.%s", sizes[k], names[a]), cudaMemset(to[a], 1, sizes[k]));
            WAITS(keyf("memsetAsync.%zu.%s", sizes[k], names[a]), cudaMemsetAsync(to[a], 1, sizes[k], 0));
        }
        WAITS(keyf("memset2D.%s", names[a]), cudaMemset2D(to[a], KiB, 1, 512, 100));
        WAITS(keyf("memset3D.%s", names[a]), cudaMemset3D(make_cudaPitchedPtr(to[a], KiB, 512, 100), 1, make_cudaExtent(512, 100, 1)));
    }
}

static void symbols(void)
{
    make();
    for (int a = 0; a < SYMBOL; a++) {
        if (of_host(a)) {
            WAITS(keyf("tosymbol.HD.%s", names[a]), cudaMemcpyToSymbol(symbol, to[a], 5000, 0, cudaMemcpyHostToDevice));
            WAITS(keyf("fromsymbol.DH.%s", names[a]), cudaMemcpyFromSymbol(to[a], symbol, 5000, 0, cudaMemcpyDeviceToHost));
            WAITS(keyf("tosymbolasync.HD.%s", names[a]), cudaMemcpyToSymbolAsync(symbol, to[a], 5000, 0, cudaMemcpyHostToDevice, 0));
            WAITS(keyf("fromsymbolasync.DH.%s", names[a]),
                  cudaMemcpyFromSymbolAsync(to[a], symbol, 5000, 0, cudaMemcpyDeviceToHost, 0));
        }
        if (of_device(a)) {
            WAITS(keyf("tosymbol.DD.%s", names[a]), cudaMemcpyToSymbol(symbol, to[a], 5000, 0, cudaMemcpyDeviceToDevice));
            WAITS(keyf("fromsymbol.DD.%s", names[a]), cudaMemcpyFromSymbol(to[a], symbol, 5000, 0, cudaMemcpyDeviceToDevice));
        }
    }
}

static void arrays(void)
{
    cudaArray_t array;
    const cudaChannelFormatDesc bytes = cudaCreateChannelDesc<unsigned char>();
    make();
    MUST(cudaMallocArray(&array, &bytes, KiB, 256));
    for (int a = 0; a < SYMBOL; a++) {
        const bool device = a == ON_GPU || a == MANAGED;
        const enum cudaMemcpyKind up = device ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice,
                                  down = device ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost;
        WAITS(keyf("toarray.%s", names[a]), cudaMemcpy2DToArray(array, 0, 0, to[a], KiB, 512, 100, up));
        WAITS(keyf("fromarray.%s", names[a]), cudaMemcpy2DFromArray(to[a], KiB, array, 0, 0, 512, 100, down));
        WAITS(keyf("toarrayasync.%s", names[a]), cudaMemcpy2DToArrayAsync(array, 0, 0, to[a], KiB, 512, 100, up, 0));
        WAITS(keyf("fromarrayasync.%s", names[a]), cudaMemcpy2DFromArrayAsync(to[a], KiB, array, 0, 0, 512, 100, down, 0));
    }
}

static void calls(void)
{
    void *p;
    cudaEvent_t e;
    make();
    WAITS("malloc", cudaMalloc(&p, ROOM));
    WAITS("free", cudaFree(p));
    WAITS("mallochost", cudaMallocHost(&p, ROOM));
    WAITS("freehost", cudaFreeHost(p));
    WAITS("mallocasync", cudaMallocAsync(&p, ROOM, 0));
    WAITS("freeasync", cudaFreeAsync(p, 0));
    WAITS("mallocmanaged", cudaMallocManaged(&p, ROOM));
    WAITS("freemanaged", cudaFree(p));
    WAITS("eventcreate", cudaEventCreate(&e));
    WAITS("eventrecord", cudaEventRecord(e));
    WAITS("eventdestroy", cudaEventDestroy(e));
}

const struct group groups[] = { GROUP(HH),      GROUP(HD),     GROUP(DH),    GROUP(DD), GROUP(unsaid),
                                GROUP(symbols), GROUP(arrays), GROUP(fills), GROUP(calls), LAST_GROUP };
