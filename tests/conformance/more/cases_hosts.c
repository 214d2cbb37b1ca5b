/* Host memory that devices know, at random: allocated, registered (twice, one over another, of files, of what cannot be
 * written), asked about and given back, rightly and wrongly; pitched memory; what arrays take. */
#include "attributes.h"
#include "left.h"

/* ---- a walk over pinned and registered memory */

enum { SLOTS = 8, REGIONS = 3, REGION = 1 << 20 };
static struct slot {
    CUdeviceptr p;
    size_t size;
    bool registered;
} slot[SLOTS];
static char *region[REGIONS];

static const char *told(CUdeviceptr p)
{
    for (int i = 0; i < SLOTS; i++)
        if (slot[i].p && !slot[i].registered && p >= slot[i].p && p < slot[i].p + slot[i].size)
            return keyf("s%d+%lu", i, (unsigned long)(p - slot[i].p));
    for (int i = 0; i < REGIONS; i++)
        if (p >= (CUdeviceptr)region[i] && p < (CUdeviceptr)region[i] + REGION)
            return keyf("r%d+%lu", i, (unsigned long)(p - (CUdeviceptr)region[i]));
    return p ? "elsewhere" : "0";
}

static CUdeviceptr anywhere(void)
{
    int i = (int)draw(SLOTS);
    if (!slot[i].p || draw(6) == 0) return (CUdeviceptr)region[draw(REGIONS)] + draw(40) * (draw(2) ? 4096 : 1000);
    size_t off = (size_t[]){ 0, 0, 1, slot[i].size / 2, slot[i].size - 1, slot[i].size, 4096, 64 }[draw(8)];
    if (!slot[i].registered && off >= slot[i].size) off = 0; /* what lies behind is not asked */
    return slot[i].p + off;
}

static unsigned any_flags(void) { return draw(3) ? draw(8) : draw(6) ? draw(16) : 1u << draw(8); }

static void take(int i)
{
    static const size_t sizes[] = { 1, 100, 4096, 5000, 65536, 100000, 2 << 20, 0 };
    unsigned flags = any_flags();
    size_t n = sizes[draw(8)];
    void *p = (void *)1;
    CUresult r = draw(5) ? cuMemHostAlloc(&p, n, flags) : cuMemAllocHost(&p, n);
    SAY("hostalloc s%d %zu f%u = %s%s", i, n, flags, rname(r), p == (void *)1 ? " untouched" : p ? "" : " null");
    if (r || !p) return;
    slot[i] = (struct slot){ (CUdeviceptr)p, n, false };
    memset(p, i, n);
}

static void enlist(int i)
{
    int k = (int)draw(REGIONS);
    size_t off = draw(40) * (draw(2) ? 4096 : 1000),
           n = (size_t[]){ 0, 1, 100, 4096, 5000, 12288, 40000, 100000 }[draw(10) ? 1 + draw(7) : 0];
    unsigned flags = draw(2) ? 0 : any_flags() & ~8u;
    if (draw(30) == 0) n = (size_t[]){ ~0ul, 1ul << 47, ~0ul - 8191 }[draw(3)];
    char *p = region[k] + off;
    if (draw(40) == 0) p = NULL;
    CUresult r = cuMemHostRegister(p, n, flags);
    SAY("register s%d %s %zu f%u = %s", i, told((CUdeviceptr)p), n, flags, rname(r));
    if (!r) slot[i] = (struct slot){ (CUdeviceptr)p, n, true };
}

static void give_back(int i)
{
    CUdeviceptr p = slot[i].p;
    bool right = draw(3), host = slot[i].registered;
    if (!right) p = draw(2) ? anywhere() : slot[i].p + (size_t[]){ 1, 64, 4096 }[draw(3)];
    if (!slot[i].registered && !right && draw(2))
        host = true;
    else if (!right && draw(3) == 0)
        host = !host;
    CUresult r = host ? cuMemHostUnregister((void *)p) : cuMemFreeHost((void *)p);
    SAY("%s s%d %s = %s", host ? "unregister" : "freehost", i, told(p), rname(r));
    if (r) return;
    for (int k = 0; k < SLOTS; k++)
        if (slot[k].p == p && slot[k].registered == host) slot[k].p = 0;
}

static void question(void)
{
    CUdeviceptr p = anywhere(), b = 1;
    unsigned f = draw(8) ? 0 : draw(4), g = 77, v = draw(3);
    size_t n = 77;
    CUresult r;
    switch (draw(8)) {
    case 0:
        r = cuMemHostGetDevicePointer(&b, (void *)p, f);
        SAY("devptr %s f%u = %s %s", told(p), f, rname(r), b == 1 ? "untouched" : b == p ? "same" : told(b));
        break;
    case 1:
        r = cuMemHostGetFlags(&g, (void *)p);
        SAY("flags %s = %s %u", told(p), rname(r), g);
        break;
    case 2:
        r = cuMemGetAddressRange(&b, &n, p);
        SAY("range %s = %s %s %zu", told(p), rname(r), b == 1 ? "untouched" : told(b), n);
        break;
    case 3:
        r = cuPointerSetAttribute(&v, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p);
        SAY("set %s %u = %s", told(p), v, rname(r));
        break;
    case 4:
        r = cuMemHostRegister((void *)p, 4096, 0);
        SAY("again %s = %s", told(p), rname(r));
        if (!r) cuMemHostUnregister((void *)p);
        break;
    case 5: {
        CUipcMemHandle h;
        SAY("ipc %s = %s", told(p), rname(cuIpcGetMemHandle(&h, p)));
        break;
    }
    default:
        known = 0;
        for (int i = 0; i < SLOTS; i++)
            if (slot[i].p) place(keyf("s%d", i), slot[i].p, slot[i].size);
        add("attrs %s", told(p));
        if (draw(2))
            all_attributes(p);
        else
            some_attributes(p);
        say();
    }
}

static void begin(void)
{
    setup();
    for (int k = 0; k < REGIONS; k++) {
        region[k] = mmap(NULL, 4 * REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        region[k] += REGION;
        memset(region[k], k, REGION);
    }
}

static void wander(void)
{
    int i = (int)draw(SLOTS);
    unsigned what = draw(10);
    if (what < 5)
        question();
    else if (slot[i].p)
        give_back(i);
    else if (draw(2))
        take(i);
    else
        enlist(i);
}

WALK(walk, 0, 1200, begin, wander)
WALK(walk, 1, 1200, begin, wander)
WALK(walk, 2, 1200, begin, wander)

/* ---- registering what is no ordinary memory */

static void try_register(const char *name, void *p, size_t n)
{
    static const unsigned flags[] = { 0, 1, 2, 4, 8, 9, 10, 16 };
    for (int k = 0; k < 8; k++) {
        CUresult r = cuMemHostRegister(p, n, flags[k]);
        add("%s f%u = %s", name, flags[k], rname(r));
        if (!r) {
            unsigned f = 77;
            unsigned char v[64];
            add(" flags=%s", rname(cuMemHostGetFlags(&f, p)));
            add(" %u", f);
            for (int a = 2; a < 17; a += a == 2 ? 14 : 1) {
                memset(v, 0x5a, sizeof v);
                CUresult q = cuPointerGetAttribute(v, (CUpointer_attribute)a, (CUdeviceptr)p);
                add(" a%d=%s", a, rname(q));
                if (!q) tell_attribute(a, v, (CUdeviceptr)p);
            }
            CUdeviceptr d;
            MUST(cuMemAlloc(&d, 4096));
            add(" read=%s", rname(cuMemcpyHtoD(d, p, 64)));
            add(" unregister=%s", rname(cuMemHostUnregister(p)));
            cuMemFree(d);
        }
        say();
        step++;
    }
}

static int constant_data[4096] = { 1, 2, 3 };
static const int read_only_data[4096] = { 1, 2, 3 };

static void g_strange(void)
{
    setup();
    const size_t n = 16384;
    char *p = mmap(NULL, 4 * n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    try_register("untouched", p, n);
    memset(p, 1, 4 * n);
    mprotect(p, n, PROT_READ);
    try_register("readonly", p, n);
    try_register("halfreadonly", p + n / 2, n);
    mprotect(p, n, PROT_NONE);
    try_register("none", p, n);
    try_register("halfnone", p + n / 2, n);
    mprotect(p, n, PROT_READ | PROT_WRITE);
    munmap(p + 2 * n, n);
    try_register("hole", p + n, 3 * n);
    try_register("unmapped", p + 2 * n, n);
    try_register("intohole", p + n, n + 4096);
    int fd = memfd_create("memory", 0);
    MUST((CUresult)ftruncate(fd, (long)(4 * n)));
    char *q = mmap(NULL, 4 * n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    try_register("shared", q, n);
    char *again = mmap(NULL, 4 * n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    K("alias.first", cuMemHostRegister(q, n, 0));
    K("alias.second", cuMemHostRegister(again, n, 0));
    K("alias.first.un", cuMemHostUnregister(q));
    K("alias.second.un", cuMemHostUnregister(again));
    char *ro = mmap(NULL, 4 * n, PROT_READ, MAP_SHARED, fd, 0);
    try_register("sharedreadonly", ro, n);
    MUST((CUresult)ftruncate(fd, (long)n));
    try_register("beyondfile", q, 2 * n);
    try_register("afterfile", q + 2 * n, n);
    char *file = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    try_register("privatefile", file, n);
    char stack[20000];
    memset(stack, 1, sizeof stack);
    try_register("stack", stack, sizeof stack);
    try_register("data", constant_data, sizeof constant_data);
    try_register("rodata", (void *)read_only_data, sizeof read_only_data);
    try_register("text", (void *)(((uintptr_t)&g_strange) & ~4095ul), 4096);
    try_register("null", NULL, 4096);
    try_register("low", (void *)4096, 4096);
    try_register("kernel", (void *)0xffff800000000000ul, 4096);
    try_register("zero", p, 0);
    K("again.first", cuMemHostRegister(p, n, 0));
    munmap(p, n);
    K("gone.un", cuMemHostUnregister(p));
    char *r = mmap(p, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    K("back.reg", cuMemHostRegister(r, n, 0));
    munmap(p, n);
    r = mmap(p, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    K("other.again", cuMemHostRegister(r, n, 0));
    K("other.un", cuMemHostUnregister(r));
}

/* ---- pitched memory */

static void g_pitch(void)
{
    setup();
    for (step = 0; step < 400; step++) {
        seeded(1, step);
        CUdeviceptr p = 1, b = 1;
        size_t pitch = 77, n = 77;
        size_t w = draw(8) ? 1 + draw(draw(2) ? 3000 : 300000)
                           : (size_t[]){ 0, 1ul << 31, 1ul << 40, ~0ul, ~0ul - 511, ~0ul - 100 }[draw(6)];
        size_t h = draw(8) ? 1 + draw(100) : (size_t[]){ 0, 1ul << 31, 1ul << 40, 1ul << 55, ~0ul }[draw(5)];
        unsigned e = draw(6) ? 4u << draw(3) : draw(40);
        CUresult r = cuMemAllocPitch(draw(50) ? &p : NULL, draw(50) ? &pitch : NULL, w, h, e);
        CUresult q = cuMemGetAddressRange(&b, &n, p);
        SAY("%zux%zu e%u = %s p%zu %s %zu %s", w, h, e, rname(r), pitch, rname(q), n, p == 1 ? "untouched" : "");
        if (!r) cuMemFree(p);
    }
}

/* ---- what calls that fail leave behind */

static void g_left(void)
{
    CUDA_ARRAY3D_DESCRIPTOR bad3 = { 0 }, good3 = { 16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0 };
    CUDA_ARRAY_DESCRIPTOR bad2 = { 0 };
    CUDA_RESOURCE_DESC nothing = { .resType = CU_RESOURCE_TYPE_LINEAR };
    CUDA_TEXTURE_DESC how = { 0 };
    CUmemAllocationProp wrong = { 0 };
    CUmemPoolProps props = { 0 };
    CUmemLocation nowhere = loc(9, 0);
    CUipcMemHandle memory = { 0 };
    CUipcEventHandle event = { 0 };
    CUmipmappedArray mips;
    CUarray plain;
    CUdeviceptr p;
    size_t n;
    void *stack = &n;
    setup();
    MUST(cuMipmappedArrayCreate(&mips, &good3, 2));
    MUST(cuArray3DCreate(&plain, &good3));
    MUST(cuMemAlloc(&p, 4096));
    LEFT("alloc.zero", CUdeviceptr, cuMemAlloc(&out, 0));
    LEFT("alloc.huge", CUdeviceptr, cuMemAlloc(&out, 1ul << 50));
    LEFT("managed.zero", CUdeviceptr, cuMemAllocManaged(&out, 0, 1));
    LEFT("managed.flags", CUdeviceptr, cuMemAllocManaged(&out, 64, 7));
    LEFT("managed.huge", CUdeviceptr, cuMemAllocManaged(&out, 1ul << 50, 1));
    LEFT("host.flags", void *, cuMemHostAlloc(&out, 64, 99));
    LEFT("host.zero", void *, cuMemHostAlloc(&out, 0, 0));
    LEFT("host.huge", void *, cuMemHostAlloc(&out, 1ul << 50, 0));
    LEFT("allochost.zero", void *, cuMemAllocHost(&out, 0));
    LEFT("async.zero", CUdeviceptr, cuMemAllocAsync(&out, 0, 0));
    LEFT("async.huge", CUdeviceptr, cuMemAllocAsync(&out, 1ul << 50, 0));
    LEFT("devptr", CUdeviceptr, cuMemHostGetDevicePointer(&out, stack, 0));
    LEFT("devptr.flags", CUdeviceptr, cuMemHostGetDevicePointer(&out, stack, 1));
    LEFT("hostflags", unsigned, cuMemHostGetFlags(&out, stack));
    LEFT("range.base", CUdeviceptr, cuMemGetAddressRange(&out, NULL, (CUdeviceptr)stack));
    LEFT("range.size", size_t, cuMemGetAddressRange(NULL, &out, (CUdeviceptr)stack));
    LEFT("array", CUarray, cuArrayCreate(&out, &bad2));
    LEFT("array3d", CUarray, cuArray3DCreate(&out, &bad3));
    LEFT("mips", CUmipmappedArray, cuMipmappedArrayCreate(&out, &bad3, 1));
    LEFT("level", CUarray, cuMipmappedArrayGetLevel(&out, mips, 5));
    LEFT("plane", CUarray, cuArrayGetPlane(&out, plain, 0));
    LEFT("requirements", CUDA_ARRAY_MEMORY_REQUIREMENTS, cuArrayGetMemoryRequirements(&out, plain, 0));
    LEFT("requirements.device", CUDA_ARRAY_MEMORY_REQUIREMENTS, cuArrayGetMemoryRequirements(&out, plain, 99));
    LEFT("sparse", CUDA_ARRAY_SPARSE_PROPERTIES, cuArrayGetSparseProperties(&out, plain));
    LEFT("texture", CUtexObject, cuTexObjectCreate(&out, &nothing, &how, NULL));
    LEFT("surface", CUsurfObject, cuSurfObjectCreate(&out, &nothing));
    LEFT("texture.resource", CUDA_RESOURCE_DESC, cuTexObjectGetResourceDesc(&out, 0));
    LEFT("create", CUmemGenericAllocationHandle, cuMemCreate(&out, GRAN, &wrong, 0));
    LEFT("reserve", CUdeviceptr, cuMemAddressReserve(&out, 5, 0, 0, 0));
    LEFT("reserve.zero", CUdeviceptr, cuMemAddressReserve(&out, 0, 0, 0, 0));
    LEFT("granularity", size_t, cuMemGetAllocationGranularity(&out, &wrong, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    LEFT("retain", CUmemGenericAllocationHandle, cuMemRetainAllocationHandle(&out, (void *)p));
    LEFT("import", CUmemGenericAllocationHandle,
         cuMemImportFromShareableHandle(&out, (void *)-1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    LEFT("access", unsigned long long, cuMemGetAccess(&out, &nowhere, p));
    LEFT("pool", CUmemoryPool, cuMemPoolCreate(&out, &props));
    LEFT("ipc.memory", CUdeviceptr, cuIpcOpenMemHandle(&out, memory, 1));
    LEFT("ipc.event", CUevent, cuIpcOpenEventHandle(&out, event));
    LEFT("ipc.handle", CUipcMemHandle, cuIpcGetMemHandle(&out, (CUdeviceptr)stack));
    LEFT("ipc.eventhandle", CUipcEventHandle, cuIpcGetEventHandle(&out, NULL));
    LEFT("stream.flags", CUstream, cuStreamCreate(&out, 99));
    LEFT("event.flags", CUevent, cuEventCreate(&out, 99));
    LEFT("context.flags", CUcontext, cuCtxCreate(&out, NULL, 0x8000, 0));
    LEFT("context.device", CUcontext, cuCtxCreate(&out, NULL, 0, 99));
    LEFT("primary.device", CUcontext, cuDevicePrimaryCtxRetain(&out, 99));
    LEFT("device", CUdevice, cuDeviceGet(&out, 99));
    LEFT("attribute", int, cuDeviceGetAttribute(&out, (CUdevice_attribute)9999, 0));
    LEFT("module", CUmodule, cuModuleLoadData(&out, "nonsense"));
    LEFT("limit", size_t, cuCtxGetLimit(&out, (CUlimit)99));
    LEFT("pointer", void *, cuPointerGetAttribute(&out, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)stack));
    LEFT("rangeattribute", int,
         cuMemRangeGetAttribute(&out, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, (CUdeviceptr)stack, 64));
    LEFT("pitch.base", CUdeviceptr, cuMemAllocPitch(&out, &n, 100, 0, 4));
    LEFT("pitch.pitch", size_t, cuMemAllocPitch(&p, &out, 100, 0, 4));
    LEFT("defaultpool", CUmemoryPool, cuDeviceGetDefaultMemPool(&out, 99));
    LEFT("poolof", CUmemoryPool, cuMemGetDefaultMemPool(&out, &nowhere, CU_MEM_ALLOCATION_TYPE_PINNED));
    MUST(cuCtxSetCurrent(NULL));
    LEFT("nowhere.alloc", CUdeviceptr, cuMemAlloc(&out, 64));
    LEFT("nowhere.range", CUdeviceptr, cuMemGetAddressRange(&out, NULL, p));
    LEFT("nowhere.devptr", CUdeviceptr, cuMemHostGetDevicePointer(&out, stack, 0));
    LEFT("nowhere.array", CUarray, cuArray3DCreate(&out, &good3));
    LEFT("nowhere.stream", CUstream, cuStreamCreate(&out, 0));
    LEFT("nowhere.device", CUdevice, cuCtxGetDevice(&out));
}

/* ---- how much memory is free */

static void g_free_memory(void)
{
    static const int formats[] = { 0x01, 0x02, 0x10, 0x20 };
    size_t before, now, total;
    setup();
    for (step = 0; step < 80; step++) {
        seeded(2, step);
        CUDA_ARRAY3D_DESCRIPTOR d = { 1 + draw(3000),
                                      draw(4) ? 1 + draw(2000) : 0,
                                      draw(3) ? 0 : 1 + draw(20),
                                      (CUarray_format)formats[draw(4)],
                                      1u << draw(3),
                                      0 };
        CUarray a;
        if (d.Depth && !d.Height) d.Flags = 1;
        if (d.Depth && draw(2)) d.Flags = 1;
        MUST(cuMemGetInfo(&before, &total));
        CUresult r = cuArray3DCreate(&a, &d);
        MUST(cuMemGetInfo(&now, &total));
        SAY("%zux%zux%zu %x/%u f%x = %s %ld", d.Width, d.Height, d.Depth, d.Format, d.NumChannels, d.Flags, rname(r),
            (long)(before - now));
        if (!r && draw(4)) cuArrayDestroy(a);
    }
}

const struct group groups[] = { WALKED(walk, 0),
                                WALKED(walk, 1),
                                WALKED(walk, 2),
                                { "strange", g_strange, 1 },
                                { "pitch", g_pitch, 1 },
                                { "left", g_left, 1 },
                                { "free_memory", g_free_memory, 1 },
                                { 0 } };
