/* Memory, arrays, textures and streams of one context in calls that are made in another one, or in none; and what is
 * left of them when their context is gone. */
#include "say.h"

enum { CONTEXTS = 3, BYTES = 20480, STEPS = 700 };

static struct owner {
    CUcontext c;
    CUdeviceptr device, pooled, managed, pitched;
    void *pinned;
    char *registered;
    CUarray array;
    CUmipmappedArray mips;
    CUarray level;
    CUstream stream;
    CUevent event;
    CUtexObject texture;
    CUsurfObject surface;
    CUmodule module;
    CUfunction function;
    CUdeviceptr variable;
    bool gone;
} o[CONTEXTS];
static int now;
static char plain[BYTES];

static CUresult texture_of(CUarray a, CUtexObject *t)
{
    CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a };
    CUDA_TEXTURE_DESC d = { 0 };
    return cuTexObjectCreate(t, &r, &d, NULL);
}

static CUresult surface_of(CUarray a, CUsurfObject *s)
{
    CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a };
    return cuSurfObjectCreate(s, &r);
}

static void make(struct owner *x)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { 64, 32, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST };
    size_t n;
    MUST(cuStreamCreate(&x->stream, CU_STREAM_NON_BLOCKING));
    MUST(cuEventCreate(&x->event, 0));
    MUST(cuMemAlloc(&x->device, BYTES));
    MUST(cuMemAllocAsync(&x->pooled, BYTES, x->stream));
    MUST(cuStreamSynchronize(x->stream));
    MUST(cuMemAllocManaged(&x->managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    MUST(cuMemAllocPitch(&x->pitched, &n, 1000, 16, 4));
    MUST(cuMemAllocHost(&x->pinned, BYTES));
    x->registered = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(cuMemHostRegister(x->registered, BYTES, 0));
    MUST(cuArray3DCreate(&x->array, &d));
    MUST(cuMipmappedArrayCreate(&x->mips, &d, 3));
    MUST(cuMipmappedArrayGetLevel(&x->level, x->mips, 1));
    MUST(texture_of(x->array, &x->texture));
    MUST(surface_of(x->array, &x->surface));
    MUST(cuModuleLoadData(&x->module,
                          ".version 7.0\n.target sm_52\n.address_size 64\n.visible .global .align 8 .b8 v[20480];\n"
                          ".visible .entry k() { ret; }\n"));
    MUST(cuModuleGetFunction(&x->function, x->module, "k"));
    MUST(cuModuleGetGlobal(&x->variable, &n, x->module, "v"));
}

static void make_all(void)
{
    setup();
    o[0].c = ctx0;
    for (int k = 1; k < CONTEXTS; k++) MUST(cuCtxCreate(&o[k].c, NULL, 0, dev0));
    for (int k = 0; k < CONTEXTS; k++) {
        MUST(cuCtxSetCurrent(o[k].c));
        make(&o[k]);
    }
}

static const char *const memories[] = { "device", "pooled",     "managed",  "pitched",
                                        "pinned", "registered", "variable", "plain" };

static CUdeviceptr memory(const struct owner *x, unsigned k)
{
    const CUdeviceptr all[] = {
        x->device,   x->pooled,         x->managed, x->pitched, (CUdeviceptr)x->pinned, (CUdeviceptr)x->registered,
        x->variable, (CUdeviceptr)plain
    };
    return all[k];
}

/* The host touches neither managed memory nor what was the driver's once its context is gone. */
static unsigned any_memory(const struct owner *x)
{
    unsigned k = draw(8);
    return x->gone && k != 7 ? 0 : k;
}

static CUstream any_stream(int *whose)
{
    *whose = (int)draw(CONTEXTS + 2) - 2;
    if (*whose >= 0 && o[*whose].gone) *whose = -1;
    return *whose == -2 ? CU_STREAM_LEGACY : *whose < 0 ? NULL : o[*whose].stream;
}

static void copies(void)
{
    int a = (int)draw(CONTEXTS), b = (int)draw(CONTEXTS), q;
    unsigned x = any_memory(&o[a]), y = any_memory(&o[b]), f = draw(7);
    bool live = !o[a].gone && !o[b].gone;
    CUdeviceptr to = memory(&o[a], x), from = memory(&o[b], y);
    CUstream s = any_stream(&q);
    CUresult r;
    int from_context = (int)draw(CONTEXTS), to_context = (int)draw(CONTEXTS);
    if (!live && (f == 0 || f == 1)) f = 2;
    switch (f) {
    case 0: r = cuMemcpy(to, from, 100); break;
    case 1: r = cuMemcpyAsync(to, from, 100, s); break;
    case 2: r = cuMemcpyDtoD(to, from, 100); break;
    case 3: r = cuMemcpyDtoDAsync(to, from, 100, s); break;
    case 4:
        if (o[from_context].gone || o[to_context].gone || !live)
            from_context = to_context = 0, to = o[0].device, from = o[0].pooled;
        r = cuMemcpyPeer(to, o[to_context].c, from, o[from_context].c, 100);
        break;
    case 5: r = cuMemsetD8(to, 1, 100); break;
    default: r = cuMemsetD8Async(to, 1, 100, s);
    }
    add("copy%u c%d %d.%s %d.%s q%d %d %d = %s", f, now, a, memories[x], b, memories[y], q, to_context, from_context,
        rname(r));
}

static void arrays(void)
{
    int a = (int)draw(CONTEXTS), b = (int)draw(CONTEXTS), q;
    if (o[a].gone) a = 0;
    if (o[b].gone) b = 0;
    unsigned x = any_memory(&o[b]);
    bool level = draw(2);
    CUarray array = level ? o[a].level : o[a].array;
    CUdeviceptr p = memory(&o[b], x);
    CUstream s = any_stream(&q);
    CUDA_ARRAY3D_DESCRIPTOR d;
    CUarray other;
    CUtexObject t;
    CUsurfObject u;
    CUresult r;
    unsigned f = draw(9);
    CUDA_MEMCPY2D c = {
        .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = array, .dstMemoryType = CU_MEMORYTYPE_UNIFIED, .dstDevice = p
    };
    c.WidthInBytes = 64, c.Height = 3;
    switch (f) {
    case 0: r = cuMemcpyHtoA(array, 0, plain, 64); break;
    case 1: r = cuMemcpyAtoD(o[b].device, array, 0, 64); break;
    case 2: r = cuMemcpy2D(&c); break;
    case 3: r = cuMemcpy2DAsync(&c, s); break;
    case 4: r = cuArray3DGetDescriptor(&d, array); break;
    case 5: r = cuMipmappedArrayGetLevel(&other, o[a].mips, 1); break;
    case 6:
        r = texture_of(array, &t);
        if (!r) cuTexObjectDestroy(t);
        break;
    case 7:
        r = surface_of(array, &u);
        if (!r) cuSurfObjectDestroy(u);
        break;
    default: r = cuMemcpyAtoA(array, 0, o[b].array, 0, 64);
    }
    add("array%u c%d %d%s %d.%s q%d = %s", f, now, a, level ? "l" : "", b, memories[x], q, rname(r));
}

static void questions(void)
{
    int a = (int)draw(CONTEXTS);
    CUdeviceptr p = memory(&o[a], any_memory(&o[a])), base = 0;
    CUDA_RESOURCE_DESC d;
    CUipcMemHandle h;
    CUcontext c = NULL;
    size_t n = 0;
    unsigned f = draw(9), v = 0, k = 0;
    CUresult r;
    switch (f) {
    case 0: r = cuPointerGetAttribute(&c, CU_POINTER_ATTRIBUTE_CONTEXT, p); break;
    case 1: r = cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p); break;
    case 2: r = cuMemGetAddressRange(&base, &n, p); break;
    case 3: r = o[a].gone ? CUDA_SUCCESS : cuTexObjectGetResourceDesc(&d, o[a].texture); break;
    case 4: r = o[a].gone ? CUDA_SUCCESS : cuSurfObjectGetResourceDesc(&d, o[a].surface); break;
    case 5: r = cuMemHostGetDevicePointer(&base, (void *)p, 0); break;
    case 6: r = cuMemHostGetFlags(&v, (void *)p); break;
    case 7: r = cuIpcGetMemHandle(&h, p); break;
    default:
        v = 1;
        r = cuPointerSetAttribute(&v, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p);
        v = 0;
        cuPointerSetAttribute(&v, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p);
    }
    while (c && k < CONTEXTS && o[k].c != c) k++;
    for (unsigned m = 0; m < 8; m++)
        if (memory(&o[a], m) == p) v = v * 100 + m;
    add("ask%u c%d %d.%u = %s %s %d %zu", f, now, a, v, rname(r), c ? keyf("%u", k) : "-", base == p, n);
}

static void work(void)
{
    int a = (int)draw(CONTEXTS), q;
    if (o[a].gone) a = 0;
    CUstream s = any_stream(&q);
    CUdeviceptr p = 0;
    CUresult r;
    unsigned f = draw(7);
    switch (f) {
    case 0: r = cuLaunchKernel(o[a].function, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL); break;
    case 1: r = cuEventRecord(o[a].event, s); break;
    case 2: r = cuStreamWaitEvent(s, o[a].event, 0); break;
    case 3: r = cuMemAllocAsync(&p, 4096, s); break;
    case 4: r = cuStreamSynchronize(s); break;
    case 5: r = cuMemPrefetchAsync(o[a].managed, 4096, loc(1, 0), 0, s); break;
    default: r = cuStreamAttachMemAsync(s, o[a].managed, 0, CU_MEM_ATTACH_GLOBAL);
    }
    add("work%u c%d %d q%d = %s", f, now, a, q, rname(r));
    if (p) add(" %s", rname(cuMemFreeAsync(p, s)));
}

static void turn(void)
{
    now = (int)draw(CONTEXTS + 1) - 1;
    if (now >= 0 && o[now].gone) now = 0;
    MUST(cuCtxSetCurrent(now < 0 ? NULL : o[now].c));
}

static void walk_once(void)
{
    switch (draw(6)) {
    case 0: turn(); return;
    case 1:
    case 2: copies(); break;
    case 3: arrays(); break;
    case 4: questions(); break;
    default: work();
    }
    CUresult end = now < 0 ? CUDA_SUCCESS : cuCtxSynchronize();
    if (end) add(" then %s", rname(end));
    say();
    if (end) exit(STICKY);
}

/* What belongs to it, given back in another context, or when it is gone. */
static void give_back(struct owner *x, int who)
{
    add("%d:", who);
    add(" free %s", rname(cuMemFree(x->device)));
    add(" pooled %s", rname(cuMemFree(x->pooled)));
    add(" pitched %s", rname(cuMemFree(x->pitched)));
    if (!x->gone) add(" managed %s", rname(cuMemFree(x->managed)));
    add(" pinned %s", rname(cuMemFreeHost(x->pinned)));
    add(" registered %s", rname(cuMemHostUnregister(x->registered)));
    if (!x->gone) {
        add(" texture %s", rname(cuTexObjectDestroy(x->texture)));
        add(" surface %s", rname(cuSurfObjectDestroy(x->surface)));
        add(" mips %s", rname(cuMipmappedArrayDestroy(x->mips)));
        add(" array %s", rname(cuArrayDestroy(x->array)));
        add(" module %s", rname(cuModuleUnload(x->module)));
        add(" event %s", rname(cuEventDestroy(x->event)));
        add(" stream %s", rname(cuStreamDestroy(x->stream)));
    }
    say();
}

static void begin(void)
{
    make_all();
    now = CONTEXTS - 1;
}

/* The last context goes on the way, and in the end all is given back. */
static void wander(void)
{
    if (step == STEPS) {
        MUST(cuCtxDestroy(o[2].c));
        o[2].gone = true;
        MUST(cuCtxSetCurrent(ctx0));
        now = 0;
    }
    if (step < STEPS + 200) {
        walk_once();
        return;
    }
    int k = STEPS + 202 - step;
    MUST(cuCtxSetCurrent(ctx0));
    give_back(&o[k], k);
}

WALK(foreign, 0, STEPS + 203, begin, wander)
WALK(foreign, 1, STEPS + 203, begin, wander)
WALK(foreign, 2, STEPS + 203, begin, wander)
WALK(foreign, 7700, STEPS + 203, begin, wander)
WALK(foreign, 7701, STEPS + 203, begin, wander)
WALK(foreign, 7702, STEPS + 203, begin, wander)

/* With no context at all, none current before either. */
static void g_nowhere(void)
{
    make_all();
    MUST(cuCtxSetCurrent(NULL));
    now = -1;
    for (int k = 0; k < CONTEXTS; k++) {
        step = k;
        give_back(&o[k], k);
    }
}

const struct group groups[] = {
    WALKED(foreign, 0),    WALKED(foreign, 1),    WALKED(foreign, 2),
    WALKED(foreign, 7700), WALKED(foreign, 7701), WALKED(foreign, 7702), { "nowhere", g_nowhere, 1 }, { 0 }
};
