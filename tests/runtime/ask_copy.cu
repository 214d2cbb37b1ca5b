/* Copies and fills: every kind between every two kinds of memory, sizes, wrong arguments, two and three dimensions, arrays,
 * symbols, peers, batches. */
#include "ask.h"

__device__ int variable[100];
__constant__ int constant[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
__managed__ int managed_variable[10];
__device__ char *unused_pointer;
static __global__ void use(int *p) { p[0] = variable[3] + constant[2] + managed_variable[1]; }

enum { bytes = 4096, kinds_of_memory = 8 };
static const char *const memory_names[kinds_of_memory] = { "device",   "pinned", "registered", "managed",
                                                           "pageable", "stack",  "async",      "mapped" };
static void *memory[2][kinds_of_memory];
static int not_a_symbol[10];
static char static_host[2][8192] __attribute__((aligned(4096)));

static void make(char (*stack)[bytes])
{
    for (int i = 0; i < 2; i++) {
        MUST(cudaMalloc(&memory[i][0], bytes));
        MUST(cudaMallocHost(&memory[i][1], bytes));
        MUST(cudaHostRegister(static_host[i], sizeof static_host[i], 0));
        memory[i][2] = static_host[i];
        MUST(cudaMallocManaged(&memory[i][3], bytes));
        memory[i][4] = malloc(bytes);
        memory[i][5] = stack[i];
        MUST(cudaMallocAsync(&memory[i][6], bytes, 0));
        MUST(cudaHostAlloc(&memory[i][7], bytes, cudaHostAllocMapped | cudaHostAllocWriteCombined));
    }
    MUST(cudaDeviceSynchronize());
}

static void matrix(int kind, int async)
{
    char stack[2][bytes];
    make(stack);
    for (int d = 0; d < kinds_of_memory; d++)
        for (int s = 0; s < kinds_of_memory; s++) {
            char *to = (char *)memory[0][d], *from = (char *)memory[1][s];
            MUST(cudaMemset(memory[0][0], 0x11, bytes));
            if (d && d != 6) memset(to, 0x11, bytes);
            if (d == 6) MUST(cudaMemset(to, 0x11, bytes));
            if (s == 0 || s == 6)
                MUST(cudaMemset(from, 0x22, bytes));
            else
                memset(from, 0x22, bytes);
            MUST(cudaDeviceSynchronize());
            cudaError_t e = async ? cudaMemcpyAsync(to, from, 100, (enum cudaMemcpyKind)kind, 0)
                                  : cudaMemcpy(to, from, 100, (enum cudaMemcpyKind)kind);
            cudaError_t l = cudaGetLastError(), f = cudaDeviceSynchronize();
            char copy[bytes];
            if (!f) f = cudaMemcpy(copy, to, bytes, cudaMemcpyDefault);
            say(keyf("%s<-%s", memory_names[d], memory_names[s]), "%s, last %s, %s, %s", name_of(e), name_of(l),
                f ? name_of(f) : all(copy, 0x22, 100), f ? "" : all(copy + 100, 0x11, bytes - 100));
        }
}

static void kind_host_to_host(void) { matrix(0, 0); }
static void kind_host_to_device(void) { matrix(1, 0); }
static void kind_device_to_host(void) { matrix(2, 0); }
static void kind_device_to_device(void) { matrix(3, 0); }
static void kind_default(void) { matrix(4, 0); }
static void kind_host_to_host_async(void) { matrix(0, 1); }
static void kind_host_to_device_async(void) { matrix(1, 1); }
static void kind_device_to_host_async(void) { matrix(2, 1); }
static void kind_device_to_device_async(void) { matrix(3, 1); }
static void kind_default_async(void) { matrix(4, 1); }

static void wrong(void)
{
    char local[64], other[64];
    void *p;
    MUST(cudaMalloc(&p, 4096));
    static const int odd[] = { -1, 5, 6, 100, 1 << 30 };
    for (size_t i = 0; i < COUNT(odd); i++) {
        enum cudaMemcpyKind k = (enum cudaMemcpyKind)odd[i];
        ASK(keyf("kind%d", odd[i]), cudaMemcpy(local, p, 16, k));
        ASK(keyf("kind%d zero", odd[i]), cudaMemcpy(local, p, 0, k));
        ASK(keyf("kind%d async", odd[i]), cudaMemcpyAsync(local, p, 16, k, 0));
        ASK(keyf("kind%d 2d", odd[i]), cudaMemcpy2D(local, 16, p, 16, 16, 1, k));
        ASK(keyf("kind%d symbol", odd[i]), cudaMemcpyToSymbol(variable, local, 16, 0, k));
        ASK(keyf("kind%d from symbol", odd[i]), cudaMemcpyFromSymbol(local, variable, 16, 0, k));
    }
    for (int k = 0; k <= 4; k++) {
        enum cudaMemcpyKind kind = (enum cudaMemcpyKind)k;
        ASK(keyf("zero.%d", k), cudaMemcpy(local, p, 0, kind));
        ASK(keyf("zero null.%d", k), cudaMemcpy(NULL, NULL, 0, kind));
        ASK(keyf("zero async.%d", k), cudaMemcpyAsync(NULL, NULL, 0, kind, 0));
        if (k) RISK(keyf("null to.%d", k), cudaMemcpy(NULL, k == 2 ? p : local, 16, kind));
        if (k) RISK(keyf("null from.%d", k), cudaMemcpy(k == 1 ? p : local, NULL, 16, kind));
    }
    ASK("end", cudaMemcpy((char *)p + 4096 - 16, local, 16, cudaMemcpyHostToDevice));
    ASK("d2d overlap", cudaMemcpy((char *)p + 8, p, 100, cudaMemcpyDeviceToDevice));
    ASK("d2d same", cudaMemcpy(p, p, 100, cudaMemcpyDeviceToDevice));
    ASK("max", cudaMemcpy(p, local, ~0ul, cudaMemcpyHostToDevice));
    ASK("stream bad", cudaMemcpyAsync(p, local, 16, cudaMemcpyHostToDevice, (cudaStream_t)2));
    ASK("stream 1", cudaMemcpyAsync(p, local, 16, cudaMemcpyHostToDevice, cudaStreamLegacy));
    ASK("peer", cudaMemcpyPeer(p, 0, (char *)p + 1024, 0, 16));
    ASK("peer device", cudaMemcpyPeer(p, 0, (char *)p + 1024, 7, 16));
    ASK("peer negative", cudaMemcpyPeer(p, -1, (char *)p + 1024, 0, 16));
    ASK("peer host", cudaMemcpyPeer(p, 0, other, 0, 16));
    ASK("peer zero", cudaMemcpyPeer(p, 0, (char *)p + 1024, 0, 0));
    ASK("peer zero bad", cudaMemcpyPeer(p, 3, (char *)p + 1024, 5, 0));
    ASK("peer async", cudaMemcpyPeerAsync(p, 0, (char *)p + 1024, 0, 16, 0));
    ASK("peer null", cudaMemcpyPeer(NULL, 0, p, 0, 16));
    ASK("sync", cudaDeviceSynchronize());
}

static void fills(void)
{
    void *p;
    char local[64];
    MUST(cudaMalloc(&p, 4096));
    ASKV("set", cudaMemset(p, 0x1234, 100), "%s", all_on_device(p, 0x34, 100));
    ASKV("negative", cudaMemset(p, -1, 100), "%s", all_on_device(p, 0xff, 100));
    ASK("zero", cudaMemset(p, 0, 0));
    ASK("zero null", cudaMemset(NULL, 0, 0));
    ASK("null", cudaMemset(NULL, 0, 16));
    ASK("max", cudaMemset(p, 0, ~0ul));
    void *q;
    MUST(cudaMallocHost(&q, 4096));
    ASKV("pinned", cudaMemset(q, 5, 100), "%s", (cudaDeviceSynchronize(), all(q, 5, 100)));
    MUST(cudaMallocManaged(&q, 4096));
    ASKV("managed", cudaMemset(q, 6, 100), "%s", (cudaDeviceSynchronize(), all(q, 6, 100)));
    static char page[8192] __attribute__((aligned(4096)));
    MUST(cudaHostRegister(page, 8192, 0));
    ASKV("registered", cudaMemset(page, 7, 100), "%s", (cudaDeviceSynchronize(), all(page, 7, 100)));
    ASK("async", cudaMemsetAsync(p, 1, 4096, 0));
    ASK("async null", cudaMemsetAsync(NULL, 1, 4096, 0));
    ASK("2d", cudaMemset2D(p, 64, 2, 32, 10));
    say("2d.in", "%s %s", all_on_device(p, 2, 32), all_on_device((char *)p + 64 * 9, 2, 32));
    say("2d.out", "%s %s", all_on_device((char *)p + 32, 1, 32), all_on_device((char *)p + 640, 1, 64));
    ASK("2d pitch", cudaMemset2D(p, 16, 2, 32, 10));
    ASK("2d pitch one row", cudaMemset2D(p, 16, 2, 32, 1));
    ASK("2d zero width", cudaMemset2D(p, 64, 2, 0, 10));
    ASK("2d zero height", cudaMemset2D(p, 64, 2, 32, 0));
    ASK("2d zero pitch", cudaMemset2D(p, 0, 2, 0, 0));
    ASK("2d null", cudaMemset2D(NULL, 64, 2, 32, 10));
    ASK("2d null zero", cudaMemset2D(NULL, 64, 2, 0, 10));
    ASK("2d odd pitch", cudaMemset2D(p, 33, 2, 32, 10));
    ASK("2d async", cudaMemset2DAsync(p, 16, 2, 32, 10, 0));
    struct cudaPitchedPtr pp;
    MUST(cudaMalloc3D(&pp, make_cudaExtent(100, 10, 5)));
    ASK("3d", cudaMemset3D(pp, 3, make_cudaExtent(100, 10, 5)));
    ASK("3d less", cudaMemset3D(pp, 4, make_cudaExtent(50, 5, 2)));
    say("3d.value", "%s | %s | %s", all_on_device(pp.ptr, 4, 50), all_on_device((char *)pp.ptr + 50, 3, 50),
        all_on_device((char *)pp.ptr + pp.pitch * 10, 4, 50));
    ASK("3d wide", cudaMemset3D(pp, 4, make_cudaExtent(pp.pitch + 1, 5, 2)));
    ASK("3d width over xsize", cudaMemset3D(pp, 4, make_cudaExtent(101, 5, 2)));
    ASK("3d tall", cudaMemset3D(pp, 4, make_cudaExtent(100, 11, 2)));
    ASK("3d zero", cudaMemset3D(pp, 4, make_cudaExtent(0, 10, 6)));
    ASK("3d zero depth", cudaMemset3D(pp, 4, make_cudaExtent(10, 10, 0)));
    pp.ptr = NULL;
    ASK("3d null", cudaMemset3D(pp, 4, make_cudaExtent(1, 1, 1)));
    ASK("3d async null", cudaMemset3DAsync(pp, 4, make_cudaExtent(1, 1, 1), 0));
    ASK("sync", cudaDeviceSynchronize());
}

static void two_dimensions(void)
{
    char host[64 * 16], back[64 * 16];
    void *p;
    size_t pitch;
    for (size_t i = 0; i < sizeof host; i++) host[i] = (char)(i * 7);
    memset(back, 0, sizeof back);
    MUST(cudaMallocPitch(&p, &pitch, 64, 16));
    ASK("to", cudaMemcpy2D(p, pitch, host, 64, 48, 16, cudaMemcpyHostToDevice));
    ASK("from", cudaMemcpy2D(back, 64, p, pitch, 48, 16, cudaMemcpyDeviceToHost));
    say("data", "%08x", hash(back, sizeof back));
    ASK("host", cudaMemcpy2D(back, 64, host, 64, 16, 16, cudaMemcpyHostToHost));
    ASK("default", cudaMemcpy2D(back, 64, p, pitch, 48, 16, cudaMemcpyDefault));
    ASK("within", cudaMemcpy2D((char *)p + 8 * pitch, pitch, p, pitch, 48, 8, cudaMemcpyDeviceToDevice));
    ASK("pitch to", cudaMemcpy2D(p, 32, host, 64, 48, 16, cudaMemcpyHostToDevice));
    ASK("pitch from", cudaMemcpy2D(p, pitch, host, 32, 48, 16, cudaMemcpyHostToDevice));
    ASK("pitch both one row", cudaMemcpy2D(p, 32, host, 32, 48, 1, cudaMemcpyHostToDevice));
    ASK("pitch zero", cudaMemcpy2D(p, 0, host, 0, 48, 1, cudaMemcpyHostToDevice));
    ASK("pitch huge", cudaMemcpy2D(p, 1ul << 32, host, 64, 48, 1, cudaMemcpyHostToDevice));
    ASK("pitch 2^31", cudaMemcpy2D(p, 1ul << 31, host, 64, 48, 1, cudaMemcpyHostToDevice));
    ASK("pitch max", cudaMemcpy2D(p, 2147483647, host, 64, 48, 1, cudaMemcpyHostToDevice));
    ASK("pitch host huge", cudaMemcpy2D(p, pitch, host, 1ul << 32, 48, 1, cudaMemcpyHostToDevice));
    ASK("width zero", cudaMemcpy2D(p, pitch, host, 64, 0, 16, cudaMemcpyHostToDevice));
    ASK("height zero", cudaMemcpy2D(p, pitch, host, 64, 48, 0, cudaMemcpyHostToDevice));
    ASK("zero wrong pitch", cudaMemcpy2D(p, 0, host, 0, 48, 0, cudaMemcpyHostToDevice));
    ASK("null to", cudaMemcpy2D(NULL, 64, host, 64, 48, 16, cudaMemcpyHostToDevice));
    ASK("null from", cudaMemcpy2D(p, pitch, NULL, 64, 48, 16, cudaMemcpyHostToDevice));
    ASK("null zero", cudaMemcpy2D(NULL, 64, NULL, 64, 0, 0, cudaMemcpyHostToDevice));
    ASK("overlong", cudaMemcpy2D(p, pitch, malloc(64 * 100000), 64, 48, 100000, cudaMemcpyHostToDevice));
    ASK("wrong direction", cudaMemcpy2D(p, pitch, host, 64, 48, 16, cudaMemcpyDeviceToHost));
    ASK("wrong direction2", cudaMemcpy2D(back, 64, p, pitch, 48, 16, cudaMemcpyHostToDevice));
    ASK("async", cudaMemcpy2DAsync(p, pitch, host, 64, 48, 16, cudaMemcpyHostToDevice, 0));
    ASK("async pitch", cudaMemcpy2DAsync(p, 16, host, 64, 48, 16, cudaMemcpyHostToDevice, 0));
    ASK("sync", cudaDeviceSynchronize());
}

static struct cudaMemcpy3DParms copy3d(void *to, size_t to_pitch, size_t to_height, void *from, size_t from_pitch,
                                       size_t from_height, struct cudaExtent extent, enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms c;
    memset(&c, 0, sizeof c);
    c.dstPtr = make_cudaPitchedPtr(to, to_pitch, to_pitch, to_height);
    c.srcPtr = make_cudaPitchedPtr(from, from_pitch, from_pitch, from_height);
    c.extent = extent;
    c.kind = kind;
    return c;
}

static void three_dimensions(void)
{
    static char host[32 * 8 * 4], back[32 * 8 * 4];
    struct cudaPitchedPtr pp;
    struct cudaMemcpy3DParms c;
    struct cudaExtent whole = make_cudaExtent(32, 8, 4);
    for (size_t i = 0; i < sizeof host; i++) host[i] = (char)(i * 5);
    MUST(cudaMalloc3D(&pp, whole));
    c = copy3d(pp.ptr, pp.pitch, 8, host, 32, 8, whole, cudaMemcpyHostToDevice);
    ASK("to", cudaMemcpy3D(&c));
    c = copy3d(back, 32, 8, pp.ptr, pp.pitch, 8, whole, cudaMemcpyDeviceToHost);
    ASK("from", cudaMemcpy3D(&c));
    say("data", "%s", memcmp(host, back, sizeof host) ? "differs" : "same");
    memset(back, 0, sizeof back);
    c.extent = make_cudaExtent(10, 3, 2);
    c.srcPos = make_cudaPos(4, 2, 1);
    c.dstPos = make_cudaPos(1, 1, 1);
    ASK("part", cudaMemcpy3D(&c));
    say("part.data", "%08x", hash(back, sizeof back));
    c.kind = cudaMemcpyDefault;
    ASK("default", cudaMemcpy3D(&c));
    c.kind = cudaMemcpyHostToDevice;
    ASK("wrong direction", cudaMemcpy3D(&c));
    c.kind = (enum cudaMemcpyKind)9;
    ASK("kind", cudaMemcpy3D(&c));
    c.kind = cudaMemcpyDeviceToHost;
    c.extent = make_cudaExtent(0, 3, 2);
    ASK("zero", cudaMemcpy3D(&c));
    c.extent = make_cudaExtent(33, 3, 2);
    ASK("wide", cudaMemcpy3D(&c));
    c.extent = make_cudaExtent(32, 3, 2);
    ASK("wide with offset", cudaMemcpy3D(&c));
    c = copy3d(back, 32, 8, pp.ptr, pp.pitch, 8, whole, cudaMemcpyDeviceToHost);
    c.dstPtr.pitch = 16;
    ASK("pitch", cudaMemcpy3D(&c));
    c = copy3d(back, 32, 4, pp.ptr, pp.pitch, 8, make_cudaExtent(32, 8, 1), cudaMemcpyDeviceToHost);
    ASK("ysize", cudaMemcpy3D(&c));
    c = copy3d(back, 32, 4, pp.ptr, pp.pitch, 8, make_cudaExtent(32, 8, 2), cudaMemcpyDeviceToHost);
    ASK("ysize deep", cudaMemcpy3D(&c));
    c = copy3d(back, 32, 8, pp.ptr, pp.pitch, 8, make_cudaExtent(32, 8, 1000000), cudaMemcpyDeviceToHost);
    RISK("deep", cudaMemcpy3D(&c));
    c = copy3d(NULL, 32, 8, pp.ptr, pp.pitch, 8, whole, cudaMemcpyDeviceToHost);
    ASK("null to", cudaMemcpy3D(&c));
    c = copy3d(back, 32, 8, NULL, pp.pitch, 8, whole, cudaMemcpyDeviceToHost);
    ASK("null from", cudaMemcpy3D(&c));
    memset(&c, 0, sizeof c);
    ASK("zeros", cudaMemcpy3D(&c));
    RISK("null", cudaMemcpy3D(NULL));
    RISK("async null", cudaMemcpy3DAsync(NULL, 0));
    RISK("peer null", cudaMemcpy3DPeer(NULL));
    cudaArray_t a;
    struct cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    MUST(cudaMalloc3DArray(&a, &format, make_cudaExtent(8, 8, 4)));
    c = copy3d(NULL, 0, 0, host, 32, 8, make_cudaExtent(8, 8, 4), cudaMemcpyHostToDevice);
    c.dstArray = a;
    ASK("array to", cudaMemcpy3D(&c));
    c = copy3d(back, 32, 8, NULL, 0, 0, make_cudaExtent(8, 8, 4), cudaMemcpyDeviceToHost);
    c.srcArray = a;
    ASK("array from", cudaMemcpy3D(&c));
    say("array.data", "%s", memcmp(host, back, sizeof host) ? "differs" : "same");
    c.dstArray = a;
    ASK("both array and pointer", cudaMemcpy3D(&c));
    c = copy3d(back, 32, 8, NULL, 0, 0, make_cudaExtent(9, 8, 4), cudaMemcpyDeviceToHost);
    c.srcArray = a;
    ASK("array wide", cudaMemcpy3D(&c));
    c.extent = make_cudaExtent(8, 8, 4);
    c.srcPos.x = 1;
    ASK("array offset", cudaMemcpy3D(&c));
    struct cudaMemcpy3DPeerParms peer;
    memset(&peer, 0, sizeof peer);
    peer.srcPtr = pp;
    peer.dstPtr = pp;
    peer.extent = make_cudaExtent(32, 1, 1);
    ASK("peer", cudaMemcpy3DPeer(&peer));
    peer.srcDevice = 9;
    ASK("peer device", cudaMemcpy3DPeer(&peer));
    ASK("sync", cudaDeviceSynchronize());
}

static void symbols(void)
{
    int local[100], v = 0;
    void *p;
    size_t n = 0;
    for (int i = 0; i < 100; i++) local[i] = i * 3;
    ASK("to", cudaMemcpyToSymbol(variable, local, sizeof local));
    memset(local, 0, sizeof local);
    ASK("from", cudaMemcpyFromSymbol(local, variable, sizeof local));
    say("data", "%d %d", local[1], local[99]);
    ASK("offset", cudaMemcpyToSymbol(variable, local, 4, 396));
    ASK("offset end", cudaMemcpyToSymbol(variable, local, 4, 400));
    ASK("offset over", cudaMemcpyToSymbol(variable, local, 8, 396));
    ASK("offset far", cudaMemcpyToSymbol(variable, local, 4, 1000));
    ASK("offset negative", cudaMemcpyToSymbol(variable, local, 4, (size_t)-4));
    ASK("too long", cudaMemcpyToSymbol(variable, local, 404));
    ASK("zero", cudaMemcpyToSymbol(variable, local, 0));
    ASK("zero end", cudaMemcpyToSymbol(variable, local, 0, 400));
    ASK("zero over", cudaMemcpyToSymbol(variable, local, 0, 401));
    ASK("from over", cudaMemcpyFromSymbol(local, variable, 8, 396));
    ASK("from far", cudaMemcpyFromSymbol(local, variable, 8, 4000));
    ASK("null", cudaMemcpyToSymbol(variable, NULL, 4));
    ASK("from null", cudaMemcpyFromSymbol(NULL, variable, 4));
    ASK("symbol null", cudaMemcpyToSymbol((const void *)NULL, local, 4));
    ASK("symbol unknown", cudaMemcpyToSymbol(not_a_symbol, local, 4));
    ASK("symbol unknown zero", cudaMemcpyToSymbol(not_a_symbol, local, 0));
    ASK("symbol inside", cudaMemcpyToSymbol((const void *)&variable[1], local, 4));
    ASK("symbol kernel", cudaMemcpyToSymbol((const void *)use, local, 4));
    for (int k = 0; k <= 4; k++) {
        ASK(keyf("kind%d", k), cudaMemcpyToSymbol(variable, local, 4, 0, (enum cudaMemcpyKind)k));
        ASK(keyf("kind%d from", k), cudaMemcpyFromSymbol(local, variable, 4, 0, (enum cudaMemcpyKind)k));
        ASK(keyf("kind%d async", k), cudaMemcpyToSymbolAsync(variable, local, 4, 0, (enum cudaMemcpyKind)k, 0));
        ASK(keyf("kind%d async from", k), cudaMemcpyFromSymbolAsync(local, variable, 4, 0, (enum cudaMemcpyKind)k, 0));
    }
    MUST(cudaMalloc(&p, 400));
    for (int k = 0; k <= 4; k++) {
        ASK(keyf("device%d", k), cudaMemcpyToSymbol(variable, p, 4, 0, (enum cudaMemcpyKind)k));
        ASK(keyf("device%d from", k), cudaMemcpyFromSymbol(p, variable, 4, 0, (enum cudaMemcpyKind)k));
    }
    ASK("constant", cudaMemcpyFromSymbol(local, constant, 40));
    say("constant.data", "%d %d", local[0], local[9]);
    local[2] = 70;
    ASK("constant to", cudaMemcpyToSymbol(constant, local, 40));
    ASK("managed", cudaMemcpyToSymbol(managed_variable, local, 40));
    say("managed.data", "%d", managed_variable[2]);
    v = 1000;
    ASK("variable3", cudaMemcpyToSymbol(variable, &v, 4, 12));
    managed_variable[1] = 5;
    use<<<1, 1>>>((int *)p);
    ASK("use", cudaDeviceSynchronize());
    ASKV("use.value", cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost), "%d", v);
    void *a = NULL, *b = NULL;
    ASKV("address", cudaGetSymbolAddress(&a, variable), "%d", a != NULL);
    ASKV("address again", cudaGetSymbolAddress(&b, variable), "%d", a == b);
    ASK("address null", cudaGetSymbolAddress(&a, (const void *)NULL));
    ASK("address unknown", cudaGetSymbolAddress(&a, not_a_symbol));
    ASK("address inside", cudaGetSymbolAddress(&a, (const void *)&variable[1]));
    ASK("address kernel", cudaGetSymbolAddress(&a, (const void *)use));
    RISK("address out", cudaGetSymbolAddress(NULL, variable));
    ASKV("address managed", cudaGetSymbolAddress(&a, managed_variable), "%d", a == managed_variable);
    ASKV("size", cudaGetSymbolSize(&n, variable), "%zu", n);
    ASKV("size constant", cudaGetSymbolSize(&n, constant), "%zu", n);
    ASKV("size managed", cudaGetSymbolSize(&n, managed_variable), "%zu", n);
    ASKV("size pointer", cudaGetSymbolSize(&n, unused_pointer), "%zu", n);
    ASK("size unknown", cudaGetSymbolSize(&n, not_a_symbol));
    ASK("size null", cudaGetSymbolSize(&n, (const void *)NULL));
    RISK("size out", cudaGetSymbolSize(NULL, variable));
    ASK("async over", cudaMemcpyToSymbolAsync(variable, local, 8, 396, cudaMemcpyHostToDevice, 0));
    ASK("by address", cudaMemset(a, 0, 40));
    MUST(cudaGetSymbolAddress(&a, variable));
    ASK("by address over", cudaMemset(a, 0, 404));
    ASK("sync", cudaDeviceSynchronize());
}

static void batches(void)
{
    cudaStream_t s;
    void *p, *q, *dst[3], *src[3];
    size_t sizes[3] = { 16, 32, 64 }, index[3] = { 0, 1, 2 };
    static char host[256];
    struct cudaMemcpyAttributes a[3];
    memset(a, 0, sizeof a);
    MUST(cudaStreamCreate(&s));
    MUST(cudaMalloc(&p, 4096));
    MUST(cudaMallocHost(&q, 4096));
    memset(q, 0x42, 4096);
    for (int i = 0; i < 3; i++) {
        dst[i] = (char *)p + 256 * i;
        src[i] = (char *)q + 256 * i;
    }
    for (int order = 0; order <= 4; order++) {
        a[0].srcAccessOrder = (enum cudaMemcpySrcAccessOrder)order;
        ASK(keyf("order%d", order), cudaMemcpyBatchAsync(dst, (const void **)src, sizes, 3, a, index, 1, s));
    }
    a[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    ASK("sync", cudaStreamSynchronize(s));
    say("data", "%s %s", all_on_device(p, 0x42, 16), all_on_device(dst[2], 0x42, 64));
    ASK("legacy", cudaMemcpyBatchAsync(dst, (const void **)src, sizes, 3, a, index, 1, 0));
    ASK("legacy 1", cudaMemcpyBatchAsync(dst, (const void **)src, sizes, 3, a, index, 1, cudaStreamLegacy));
    ASK("thread", cudaMemcpyBatchAsync(dst, (const void **)src, sizes, 3, a, index, 1, cudaStreamPerThread));
    ASK("count 0", cudaMemcpyBatchAsync(dst, (const void **)src, sizes, 0, a, index, 1, s));
    ASK("attributes 0", cudaMemcpyBatchAsync(dst, (const void **)src, sizes, 3, a, index, 0, s));
    RISK("attributes null", cudaMemcpyBatchAsync(dst, (const void **)src, sizes, 3, NULL, NULL, 0, s));
    RISK("attributes null 1", cudaMemcpyBatchAsync(dst, (const void **)src, sizes, 3, NULL, index, 1, s));
    RISK("null", cudaMemcpyBatchAsync(NULL, (const void **)src, sizes, 3, a, index, 1, s));
    RISK("sizes null", cudaMemcpyBatchAsync(dst, (const void **)src, NULL, 3, a, index, 1, s));
    a[1] = a[2] = a[0];
    ASK("attributes 3", cudaMemcpyBatchAsync(dst, (const void **)src, sizes, 3, a, index, 3, s));
    ASK("attributes 4", cudaMemcpyBatchAsync(dst, (const void **)src, sizes, 3, a, index, 4, s));
    index[0] = 1;
    ASK("first index", cudaMemcpyBatchAsync(dst, (const void **)src, sizes, 3, a, index, 1, s));
    index[0] = 0;
    index[1] = 5;
    ASK("index large", cudaMemcpyBatchAsync(dst, (const void **)src, sizes, 3, a, index, 2, s));
    a[0].flags = 1;
    ASK("flags1", cudaMemcpyBatchAsync(dst, (const void **)src, sizes, 3, a, index, 1, s));
    a[0].flags = 2;
    ASK("flags2", cudaMemcpyBatchAsync(dst, (const void **)src, sizes, 3, a, index, 1, s));
    a[0].flags = 0;
    sizes[1] = 0;
    ASK("size 0", cudaMemcpyBatchAsync(dst, (const void **)src, sizes, 3, a, index, 1, s));
    sizes[1] = 32;
    src[1] = NULL;
    ASK("pointer null", cudaMemcpyBatchAsync(dst, (const void **)src, sizes, 3, a, index, 1, s));
    src[1] = host;
    ASK("pageable", cudaMemcpyBatchAsync(dst, (const void **)src, sizes, 3, a, index, 1, s));
    struct cudaMemcpy3DBatchOp op;
    memset(&op, 0, sizeof op);
    op.src.type = op.dst.type = cudaMemcpyOperandTypePointer;
    op.src.op.ptr.ptr = q;
    op.dst.op.ptr.ptr = p;
    op.extent = make_cudaExtent(16, 2, 2);
    op.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    ASK("3d", cudaMemcpy3DBatchAsync(1, &op, 0, s));
    ASK("3d legacy", cudaMemcpy3DBatchAsync(1, &op, 0, 0));
    ASK("3d flags", cudaMemcpy3DBatchAsync(1, &op, 1, s));
    ASK("3d none", cudaMemcpy3DBatchAsync(0, &op, 0, s));
    op.extent.depth = 0;
    ASK("3d depth 0", cudaMemcpy3DBatchAsync(1, &op, 0, s));
    op.extent.depth = 2;
    op.src.type = (enum cudaMemcpy3DOperandType)0;
    ASK("3d type", cudaMemcpy3DBatchAsync(1, &op, 0, s));
    RISK("3d null", cudaMemcpy3DBatchAsync(1, NULL, 0, s));
    ASK("sync2", cudaDeviceSynchronize());
}

/* What may fault asynchronously: a group each, so that no fault hides the next question. */
static char local_bytes[64];
static void *device_bytes, *freed_bytes;
static void prepare_outside(void)
{
    MUST(cudaMalloc(&device_bytes, 4096));
    MUST(cudaMalloc(&freed_bytes, 16 * MiB));
    MUST(cudaFree(freed_bytes));
}
#define OUTSIDE(name, call) \
    { \
        "outside_" #name, \
            [] { \
                prepare_outside(); \
                ASK("call", call); \
                ASK("sync", cudaDeviceSynchronize()); \
            }, \
            0 \
    }

const struct group groups[] = {
    GROUP(kind_host_to_host),
    GROUP(kind_host_to_device),
    GROUP(kind_device_to_host),
    GROUP(kind_device_to_device),
    GROUP(kind_default),
    GROUP(kind_host_to_host_async),
    GROUP(kind_host_to_device_async),
    GROUP(kind_device_to_host_async),
    GROUP(kind_device_to_device_async),
    GROUP(kind_default_async),
    GROUP(wrong),
    GROUP(fills),
    GROUP(two_dimensions),
    GROUP(three_dimensions),
    GROUP(symbols),
    GROUP(batches),
    OUTSIDE(copy_h2d_to_garbage, cudaMemcpy((void *)0x1000, local_bytes, 16, cudaMemcpyHostToDevice)),
    OUTSIDE(copy_d2h_from_garbage, cudaMemcpy(local_bytes, (void *)0x1000, 16, cudaMemcpyDeviceToHost)),
    OUTSIDE(copy_d2d_garbage, cudaMemcpy(device_bytes, (void *)0x1000, 16, cudaMemcpyDeviceToDevice)),
    OUTSIDE(copy_overlong_to, cudaMemcpy(device_bytes, malloc(4 * MiB), 4 * MiB, cudaMemcpyHostToDevice)),
    OUTSIDE(copy_overlong_from, cudaMemcpy(malloc(4 * MiB), device_bytes, 4 * MiB, cudaMemcpyDeviceToHost)),
    OUTSIDE(copy_overlong_by_one,
            cudaMemcpy((char *)device_bytes + 4096 - 15, local_bytes, 16, cudaMemcpyHostToDevice)),
    OUTSIDE(copy_freed_to, cudaMemcpy(freed_bytes, local_bytes, 16, cudaMemcpyHostToDevice)),
    OUTSIDE(copy_freed_from, cudaMemcpy(local_bytes, freed_bytes, 16, cudaMemcpyDeviceToHost)),
    OUTSIDE(fill_garbage, cudaMemset((void *)0x1000, 0, 16)),
    OUTSIDE(fill_pageable, cudaMemset(local_bytes, 0, 16)),
    OUTSIDE(fill_overlong, cudaMemset(device_bytes, 0, 4 * MiB)),
    OUTSIDE(fill_one_over, cudaMemset((char *)device_bytes + 4081, 0, 16)),
    OUTSIDE(fill_async_garbage, cudaMemsetAsync((void *)0x1000, 1, 4096, 0)),
    OUTSIDE(fill_async_pageable, cudaMemsetAsync(local_bytes, 1, 16, 0)),
    OUTSIDE(fill_2d_pageable, cudaMemset2D(local_bytes, 16, 2, 8, 2)),
    OUTSIDE(fill_2d_overlong, cudaMemset2D(device_bytes, 1024, 2, 32, 10000)),
    OUTSIDE(fill_2d_huge_pitch, cudaMemset2D(device_bytes, 1ul << 32, 2, 32, 1)),
    LAST_GROUP,
};
