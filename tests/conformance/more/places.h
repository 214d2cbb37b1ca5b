/* For cases_copies.c and cases_boxes.c: memory of all kinds and arrays of all shapes, what they hold and how it is told. */
#ifndef PLACES_H
#define PLACES_H
#include "dice.h"

enum kind {
    DEVICE,
    PINNED,
    REGISTERED,
    MANAGED,
    POOLED,
    MAPPED,
    READ_ONLY,
    SIDE_BY_SIDE,
    GLOBAL,
    PLAIN,
    FREED,
    PLACES,
    LINE = PLACES,
    FLAT,
    VOLUME,
    LAYERS,
    LINES,
    LEVEL,
    ALL
};
static const char *const names[] = { "dev",   "host",  "reg",  "man",  "pool",   "vmm",    "ro",    "vmm2", "global",
                                     "plain", "freed", "line", "flat", "volume", "layers", "lines", "level" };

/* WINDOW bytes are looked at, from p on. Beyond them is nothing, or for the host room. */
enum { WINDOW = 41213, ROOM = 8 << 20 };

static struct place {
    CUdeviceptr p, twin; /* twin: where it can be written */
    CUarray array;
    size_t row, rows, slices, element;
} at[ALL];
static CUstream s;
static unsigned char pattern[WINDOW + 1024], seen[WINDOW];

static bool is_array(enum kind k) { return k > PLACES - 1; }
static bool of_host(enum kind k) { return k == PLAIN || k == PINNED || k == REGISTERED || k == MANAGED; }

static uint32_t checksum(const unsigned char *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3u;
    return (uint32_t)(h >> 32);
}

/* ---- the places */

static CUdeviceptr mapped(CUmemGenericAllocationHandle h, CUdeviceptr where, int flags)
{
    CUmemAccessDesc d = { loc(1, 0), (CUmemAccess_flags)flags };
    MUST(cuMemMap(where, GRAN, 0, h, 0));
    MUST(cuMemSetAccess(where, GRAN, &d, 1));
    return where;
}

static void make_mapped(void)
{
    CUmemAllocationProp p = prop_dev(0);
    CUmemGenericAllocationHandle h[3];
    CUdeviceptr va;
    MUST(cuMemAddressReserve(&va, 12 * GRAN, 0, 0, 0));
    for (int i = 0; i < 3; i++) MUST(cuMemCreate(&h[i], GRAN, &p, 0));
    at[MAPPED].p = at[MAPPED].twin = mapped(h[0], va + GRAN, 3) + GRAN - WINDOW;
    at[READ_ONLY].p = mapped(h[1], va + 3 * GRAN, 1) + GRAN - WINDOW;
    at[READ_ONLY].twin = mapped(h[1], va + 5 * GRAN, 3) + GRAN - WINDOW;
    mapped(h[2], va + 8 * GRAN, 3);
    at[SIDE_BY_SIDE].p = at[SIDE_BY_SIDE].twin = mapped(h[0], va + 7 * GRAN, 3) + GRAN - WINDOW / 2;
}

static void make_array(enum kind k, size_t w, size_t h, size_t d, CUarray_format f, unsigned channels, size_t element,
                       unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR x = { w, h, d, f, channels, flags };
    MUST(cuArray3DCreate(&at[k].array, &x));
    at[k].row = w * element;
    at[k].rows = h ? h : 1;
    at[k].slices = d ? d : 1;
    at[k].element = element;
}

static void make_arrays(void)
{
    CUmipmappedArray m;
    CUDA_ARRAY3D_DESCRIPTOR x = { 64, 32, 0, CU_AD_FORMAT_FLOAT, 2, 0 };
    make_array(LINE, 300, 0, 0, CU_AD_FORMAT_FLOAT, 1, 4, 0);
    make_array(FLAT, 61, 17, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 4, 0);
    make_array(VOLUME, 50, 9, 5, CU_AD_FORMAT_UNSIGNED_INT16, 2, 4, 0);
    make_array(LAYERS, 33, 7, 3, CU_AD_FORMAT_FLOAT, 4, 16, CUDA_ARRAY3D_LAYERED);
    make_array(LINES, 100, 0, 4, CU_AD_FORMAT_SIGNED_INT8, 1, 1, CUDA_ARRAY3D_LAYERED);
    MUST(cuMipmappedArrayCreate(&m, &x, 3));
    MUST(cuMipmappedArrayGetLevel(&at[LEVEL].array, m, 1));
    at[LEVEL].row = 32 * 8;
    at[LEVEL].rows = 16;
    at[LEVEL].slices = 1;
    at[LEVEL].element = 8;
}

static void make_places(void)
{
    CUmodule m;
    size_t n;
    setup();
    for (size_t i = 0; i < sizeof pattern; i++) pattern[i] = (unsigned char)(i * 7 + i / 251 * 13);
    MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    MUST(cuMemAlloc(&at[DEVICE].p, WINDOW));
    MUST(cuMemAlloc(&at[FREED].p, 3 * MiB));
    MUST(cuMemHostAlloc((void **)&at[PINNED].p, ROOM, 0));
    char *room = mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(room, 1, 2 * ROOM);
    at[REGISTERED].p = (CUdeviceptr)room + ROOM / 2;
    MUST(cuMemHostRegister((void *)at[REGISTERED].p, WINDOW, 0));
    at[PLAIN].p = (CUdeviceptr)mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(cuMemAllocManaged(&at[MANAGED].p, ROOM, CU_MEM_ATTACH_GLOBAL));
    MUST(cuMemAllocAsync(&at[POOLED].p, WINDOW, s));
    MUST(cuStreamSynchronize(s));
    make_mapped();
    MUST(cuModuleLoadData(&m, ".version 7.0\n.target sm_52\n.address_size 64\n"
                              ".visible .global .align 256 .b8 room[41213];\n"));
    MUST(cuModuleGetGlobal(&at[GLOBAL].p, &n, m, "room"));
    for (int k = 0; k < PLACES; k++)
        if (!at[k].twin) at[k].twin = at[k].p;
    make_arrays();
    MUST(cuMemFree(at[FREED].p));
}

/* ---- what they hold */

static CUDA_MEMCPY3D whole(enum kind k, bool to_host)
{
    const struct place *a = &at[k];
    CUDA_MEMCPY3D c = { .WidthInBytes = a->row, .Height = a->rows, .Depth = a->slices };
    if (to_host) {
        c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        c.srcArray = a->array;
        c.dstMemoryType = CU_MEMORYTYPE_HOST;
        c.dstHost = seen;
    } else {
        c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        c.dstArray = a->array;
        c.srcMemoryType = CU_MEMORYTYPE_HOST;
        c.srcHost = pattern + step % 1000;
    }
    c.srcPitch = c.dstPitch = a->row;
    c.srcHeight = c.dstHeight = a->rows;
    return c;
}

static size_t content(enum kind k) { return is_array(k) ? at[k].row * at[k].rows * at[k].slices : WINDOW; }

/* Every place gets something else each time, so that a difference does not drag others along. */
static void refill(enum kind k, int shift)
{
    if (k == FREED) return;
    int was = step;
    step += shift;
    if (is_array(k)) {
        CUDA_MEMCPY3D c = whole(k, false);
        MUST(cuMemcpy3D(&c));
    } else if (of_host(k)) {
        memcpy((void *)at[k].p, pattern + step % 1000, WINDOW);
    } else {
        MUST(cuMemcpyHtoD(at[k].twin, pattern + step % 1000, WINDOW));
    }
    step = was;
}

static uint32_t look(enum kind k)
{
    if (k == FREED) return 0;
    if (is_array(k)) {
        CUDA_MEMCPY3D c = whole(k, true);
        MUST(cuMemcpy3D(&c));
    } else if (of_host(k)) {
        memcpy(seen, (void *)at[k].p, WINDOW);
    } else {
        MUST(cuMemcpyDtoH(seen, at[k].twin, WINDOW));
    }
    return checksum(seen, content(k));
}

/* Waits, and ends the group with an error that stays. */
static void answer(const char *call, CUresult r, enum kind to, bool certain)
{
    CUresult end = cuCtxSynchronize();
    if (end) {
        SAY("%s = %s, then %s", call, rname(r), rname(end));
        exit(STICKY);
    }
    if (certain)
        SAY("%s = %s %08x", call, rname(r), look(to));
    else
        SAY("%s = %s", call, rname(r));
}

/* ---- one of them */

static enum kind any_place(void)
{
    enum kind k = (enum kind)draw(PLACES);
    return k == FREED && draw(3) ? DEVICE : k;
}

static enum kind any_of_host(void) { return (enum kind[]){ PLAIN, PINNED, REGISTERED, MANAGED }[draw(4)]; }

static bool inside(size_t off, size_t n) { return off <= WINDOW && n <= WINDOW - off; }

static CUstream any_stream(void) { return (CUstream[]){ s, s, NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD }[draw(5)]; }

static const char *stream_name(CUstream q) { return q == s ? "s" : keyf("%d", (int)(uintptr_t)q); }

#define WALKS(name, steps, call) WALK(name, 0, steps, make_places, call) WALK(name, 1, steps, make_places, call)
#define BOTH(name) WALKED(name, 0), WALKED(name, 1)

#endif
