/* What calls that give memory leave at their pointers when they fail, for whatever reason, and with which flags small pinned
 * memory is told, which shares a chunk with other memory. */
#include "left.h"
#include <stdbool.h>

/* ---- what is left */

static const size_t too_much = 1ul << 50;

static void ask(void)
{
    const CUDA_ARRAY3D_DESCRIPTOR square = { 16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0 };
    size_t n = 77;
    LEFT("alloc", CUdeviceptr, cuMemAlloc(&out, 64));
    LEFT("alloc0", CUdeviceptr, cuMemAlloc(&out, 0));
    LEFT("allochuge", CUdeviceptr, cuMemAlloc(&out, too_much));
    LEFT("managed", CUdeviceptr, cuMemAllocManaged(&out, 64, 1));
    LEFT("managed0", CUdeviceptr, cuMemAllocManaged(&out, 0, 1));
    LEFT("managedf", CUdeviceptr, cuMemAllocManaged(&out, 64, 9));
    LEFT("managedhuge", CUdeviceptr, cuMemAllocManaged(&out, too_much, 1));
    LEFT("host", void *, cuMemHostAlloc(&out, 64, 0));
    LEFT("hostf", void *, cuMemHostAlloc(&out, 64, 64));
    LEFT("hosthuge", void *, cuMemHostAlloc(&out, too_much, 0));
    LEFT("allochost", void *, cuMemAllocHost(&out, 64));
    LEFT("async", CUdeviceptr, cuMemAllocAsync(&out, 64, 0));
    LEFT("async0", CUdeviceptr, cuMemAllocAsync(&out, 0, 0));
    LEFT("asynchuge", CUdeviceptr, cuMemAllocAsync(&out, too_much, 0));
    LEFT("frompool", CUdeviceptr, cuMemAllocFromPoolAsync(&out, 64, NULL, 0));
    LEFT("pitch", CUdeviceptr, cuMemAllocPitch(&out, &n, 100, 100, 4));
    rec("pitch.n", "%zu", n);
    n = 77;
    LEFT("pitche", CUdeviceptr, cuMemAllocPitch(&out, &n, 100, 100, 5));
    rec("pitche.n", "%zu", n);
    LEFT("pitchnull", CUdeviceptr, cuMemAllocPitch(&out, NULL, 100, 100, 4));
    LEFT("pitchnull2", size_t, cuMemAllocPitch(NULL, &out, 100, 100, 4));
    LEFT("devptr", CUdeviceptr, cuMemHostGetDevicePointer(&out, &n, 0));
    LEFT("devptrf", CUdeviceptr, cuMemHostGetDevicePointer(&out, &n, 1));
    LEFT("hostflags", unsigned, cuMemHostGetFlags(&out, &n));
    LEFT("range", CUdeviceptr, cuMemGetAddressRange(&out, &n, 0x1234));
    LEFT("rangen", size_t, cuMemGetAddressRange(NULL, &out, 0x1234));
    LEFT("meminfo", size_t, cuMemGetInfo(&out, &n));
    LEFT("event", CUevent, cuEventCreate(&out, 0));
    LEFT("array", CUarray, cuArray3DCreate(&out, &square));
}

static CUcontext begin(void)
{
    CUcontext c;
    MUST(cuInit(0));
    MUST(cuCtxCreate(&c, NULL, 0, 0));
    return c;
}

static void noinit(void) { ask(); }

static void noctx(void)
{
    MUST(cuInit(0));
    ask();
}

static void ctx(void)
{
    begin();
    ask();
}

static void capture(void)
{
    CUstream s;
    begin();
    MUST(cuStreamCreate(&s, 0));
    MUST(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ask();
}

static void sticky(void)
{
    CUmodule m;
    CUfunction f;
    begin();
    MUST(cuModuleLoadData(&m, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry bad() {\n"
                              ".reg .b64 p;\nmov.b64 p, 16;\nst.global.u32 [p], 1;\nret;\n}\n"));
    MUST(cuModuleGetFunction(&f, m, "bad"));
    MUST(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    recr("end", cuCtxSynchronize());
    ask();
}

static void destroyed(void)
{
    MUST(cuCtxDestroy(begin()));
    ask();
}

/* ---- flags */

static unsigned flags_of(void *p)
{
    unsigned f = 99;
    cuMemHostGetFlags(&f, p);
    return f;
}

static void *taken(size_t n, unsigned flags)
{
    void *p = NULL;
    MUST(cuMemHostAlloc(&p, n, flags));
    return p;
}

static void sizes(void)
{
    static const size_t size[] = { 1,       1000,        4096,    65536,         100000,      262144,        524288,
                                   1 << 20, (1 << 20) + 1, 1500000, (2 << 20) - 512, 2 << 20, (2 << 20) + 1, 4 << 20 };
    static const unsigned flags[] = { 0, 1, 4, 5, 2, 3 };
    begin();
    for (int k = 0; k < 14; k++) {
        void *p[6];
        for (int i = 0; i < 6; i++) p[i] = taken(size[k], flags[i]);
        rec(keyf("%zu", size[k]), "%u %u %u %u %u %u", flags_of(p[0]), flags_of(p[1]), flags_of(p[2]), flags_of(p[3]),
            flags_of(p[4]), flags_of(p[5]));
        for (int i = 0; i < 6; i++) MUST(cuMemFreeHost(p[i]));
    }
}

static void anew(void)
{
    begin();
    void *a = taken(1000, 0);
    rec("a", "%u", flags_of(a));
    MUST(cuMemFreeHost(a));
    void *b = taken(1000, 1);
    rec("b", "%u", flags_of(b));
    void *d = taken(1000, 0);
    rec("d", "%u", flags_of(d));
    MUST(cuMemFreeHost(b));
    void *e = taken(1000, 0);
    rec("e", "%u", flags_of(e));
    MUST(cuMemFreeHost(e));
    MUST(cuMemFreeHost(d));
    rec("last", "%u", flags_of(taken(1000, 0)));
}

/* How many share a chunk: portable ones of a size behind one that is not, until one is. */
static void shared(const char *key, size_t n)
{
    taken(n, 0);
    int count = 0;
    while (flags_of(taken(n, 1)) == 2) count++;
    rec(key, "%d, then %u", count, flags_of(taken(n, 0)));
}

static void chunks_1(void)
{
    begin();
    shared("1", 1);
}
static void chunks_5000(void)
{
    begin();
    shared("5000", 5000);
}
static void chunks_300000(void)
{
    begin();
    shared("300000", 300000);
}

static void mixed(void)
{
    begin();
    void *a = taken(1500000, 1), *b = taken(1000, 0), *d = taken(400000, 0), *e = taken(1000000, 0), *f = taken(1900000, 0);
    rec("five", "%u %u %u %u %u", flags_of(a), flags_of(b), flags_of(d), flags_of(e), flags_of(f));
    void *g = taken(3 << 20, 1), *h = taken(500000, 0);
    rec("two", "%u %u", flags_of(g), flags_of(h));
}

static void contexts(void)
{
    CUcontext first = begin();
    void *a = taken(1000, 1);
    begin();
    void *b = taken(1000, 0);
    rec("second", "%u %u", flags_of(a), flags_of(b));
    MUST(cuCtxSetCurrent(first));
    rec("first", "%u %u %u", flags_of(a), flags_of(b), flags_of(taken(1000, 0)));
}

#define G(name) { #name, name, 1 }
const struct group groups[] = { G(noinit), G(noctx),    G(ctx),         G(capture),      G(sticky), G(destroyed), G(sizes),
                                G(anew),   G(chunks_1), G(chunks_5000), G(chunks_300000), G(mixed), G(contexts),  { 0 } };
