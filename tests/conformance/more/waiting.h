/* For cases_waits.c and cases_early.c: memory of all kinds, and calls that are made while the default stream is held: until
 * the call has been answered, or its caller has slept for a while, as one that does not wait never does. */
#ifndef WAITING_H
#define WAITING_H
#include "gate.h"
#include <cudaProfiler.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
enum { ROOM = 4 << 20, PITCH = 1024, PATIENCE = 60, LONG_PATIENCE = 600 };
enum place { DEVICE, MANAGED, TOUCHED, AWAY, PINNED, MAPPED_HOST, REGISTERED, POOLED, MAPPED, SYNC, GLOBAL, PAGEABLE, PLACES };
static const char *const names[PLACES] = { "dev",  "man",  "touched", "away", "pinned", "maphost",
                                           "reg",  "pool", "vmm",     "sync", "global", "pageable" };
static CUdeviceptr at[PLACES], also[PLACES];
static CUarray array, other_array;
static CUstream blocking, apart, holder, hold_in;
static CUevent over;
static volatile uint32_t *word;
static CUmodule module;
static CUfunction nothing;

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .global .align 256 .b8 room[8388608];\n"
                          ".visible .entry nothing() { ret; }\n";

static const size_t sizes[] = { 4, 1024, 65536, 65540, 1 << 20 };

/* ---- places, two of each kind */

static CUdeviceptr mapped(void)
{
    CUmemAllocationProp p = prop_dev(0);
    CUmemGenericAllocationHandle h;
    CUmemAccessDesc d = { loc(1, 0), (CUmemAccess_flags)3 };
    CUdeviceptr va;
    MUST(cuMemAddressReserve(&va, ROOM, 0, 0, 0));
    MUST(cuMemCreate(&h, ROOM, &p, 0));
    MUST(cuMemMap(va, ROOM, 0, h, 0));
    MUST(cuMemSetAccess(va, ROOM, &d, 1));
    return va;
}

static CUdeviceptr plain(void)
{
    char *p = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(p, 1, ROOM);
    return (CUdeviceptr)p;
}

static CUdeviceptr take(enum place k)
{
    CUdeviceptr p = 0;
    unsigned on = 1;
    size_t n;
    switch (k) {
    case DEVICE:
    case SYNC: MUST(cuMemAlloc(&p, ROOM)); break;
    case MANAGED:
    case TOUCHED:
    case AWAY: MUST(cuMemAllocManaged(&p, ROOM, CU_MEM_ATTACH_GLOBAL)); break;
    case PINNED: MUST(cuMemHostAlloc((void **)&p, ROOM, 0)); break;
    case MAPPED_HOST: MUST(cuMemHostAlloc((void **)&p, ROOM, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE)); break;
    case REGISTERED:
        p = plain();
        MUST(cuMemHostRegister((void *)p, ROOM, 0));
        break;
    case POOLED:
        MUST(cuMemAllocAsync(&p, ROOM, apart));
        MUST(cuStreamSynchronize(apart));
        break;
    case MAPPED: p = mapped(); break;
    case GLOBAL: MUST(cuModuleGetGlobal(&p, &n, module, "room")); break;
    default: p = plain();
    }
    if (k == TOUCHED) memset((void *)p, 1, ROOM);
    if (k == AWAY) MUST(cuMemsetD8(p, 1, ROOM));
    if (k == SYNC) MUST(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p));
    return p;
}

static void make_places(void)
{
    CUDA_ARRAY_DESCRIPTOR d = { PITCH, 1024, CU_AD_FORMAT_UNSIGNED_INT8, 1 };
    setup();
    MUST(cuStreamCreate(&apart, CU_STREAM_NON_BLOCKING));
    MUST(cuStreamCreate(&holder, CU_STREAM_NON_BLOCKING));
    MUST(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    MUST(cuEventCreate(&over, CU_EVENT_DISABLE_TIMING));
    MUST(cuMemAllocHost((void **)&word, 64));
    MUST(cuModuleLoadData(&module, ptx));
    MUST(cuModuleGetFunction(&nothing, module, "nothing"));
    for (int k = 0; k < PLACES; k++) {
        at[k] = take((enum place)k);
        also[k] = k == GLOBAL ? at[k] + ROOM : take((enum place)k);
    }
    MUST(cuArrayCreate(&array, &d));
    MUST(cuArrayCreate(&other_array, &d));
    MUST(cuCtxSynchronize());
    hold_in = CU_STREAM_LEGACY;
    gate.patience = PATIENCE;
}

/* ---- one question */

static void hold(void)
{
    *word = 0;
    MUST(cuStreamWaitValue32(holder, (CUdeviceptr)word, 1, CU_STREAM_WAIT_VALUE_EQ));
    MUST(cuEventRecord(over, holder));
    MUST(cuStreamWaitEvent(hold_in, over, 0));
    gate_close(word);
}

static void say(const char *name, CUresult r)
{
    int waited = *word;
    gate_open();
    CUresult end = cuCtxSynchronize();
    if (end)
        rec(name, "%s %s, then %s", rname(r), waited ? "waited" : "at once", rname(end));
    else
        rec(name, "%s %s", rname(r), waited ? "waited" : "at once");
    if (end) exit(3);
}

#define ASK(name, call) \
    do { \
        hold(); \
        CUresult asked = call; \
        say(name, asked); \
    } while (0)

/* ---- rows and arrays */

static CUDA_MEMCPY2D flat(int a, int b, size_t width, size_t height)
{
    CUDA_MEMCPY2D c = { .srcPitch = PITCH, .dstPitch = PITCH, .WidthInBytes = width, .Height = height };
    c.dstMemoryType = a == PLACES ? CU_MEMORYTYPE_ARRAY : a == PAGEABLE ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_UNIFIED;
    c.srcMemoryType = b == PLACES ? CU_MEMORYTYPE_ARRAY : b == PAGEABLE ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_UNIFIED;
    if (a == PLACES) c.dstArray = array, c.dstPitch = 0;
    else if (a == PAGEABLE) c.dstHost = (void *)at[a];
    else c.dstDevice = at[a];
    if (b == PLACES) c.srcArray = other_array, c.srcPitch = 0;
    else if (b == PAGEABLE) c.srcHost = (void *)also[b];
    else c.srcDevice = also[b];
    return c;
}
static CUDA_MEMCPY3D deep(CUDA_MEMCPY2D f)
{
    CUDA_MEMCPY3D c = { .srcMemoryType = f.srcMemoryType, .srcHost = f.srcHost, .srcDevice = f.srcDevice,
                        .srcArray = f.srcArray, .srcPitch = f.srcPitch, .dstMemoryType = f.dstMemoryType,
                        .dstHost = f.dstHost, .dstDevice = f.dstDevice, .dstArray = f.dstArray,
                        .dstPitch = f.dstPitch, .WidthInBytes = f.WidthInBytes, .Height = f.Height, .Depth = 1 };
    return c;
}

#endif
