/* Random calls about mapped memory: handles of devices and of the host's nodes, odd sizes and alignments, fixed
 * addresses, access of parts and of several locations at once, exports, imports and retained handles.
 * Nothing is copied. cases_apart.c has the same with two devices. */
#ifndef DEVICES
#define DEVICES 1
#define SEEDS 200
#endif
#include "say.h"

enum { PLACES = 3, HANDLES = 6, PAGES = 10 };
static CUdeviceptr at[PLACES];
static CUmemGenericAllocationHandle handles[HANDLES];
static unsigned held[HANDLES];
static size_t pages[HANDLES];
static struct mapping {
    int place;
    size_t off, size;
} mapped[2 * HANDLES]; /* the latest ones */
static unsigned mappings;

static void begin(void)
{
    setup();
    /* side by side, and nobody else's beside them */
    MUST(cuMemAddressReserve(&at[0], (4ul * PAGES + PLACES * PAGES) * GRAN, 1ul << 30, 0, 0));
    at[0] += 2 * PAGES * GRAN;
    for (int k = 1; k < PLACES; k++) at[k] = at[k - 1] + PAGES * GRAN;
}

static size_t odd(size_t n)
{
    static const size_t more[] = { 1, 4096, 65536, MiB };
    if (draw(15)) return n;
    return draw(2) ? n + more[draw(4)] : n - more[draw(4)];
}

static CUmemLocation any_location(void)
{
    static const int ids[] = { -1, 1, 99 };
    CUmemLocation l = loc(draw(12) ? (int[]){ 1, 1, 1, 2, 3, 3, 4 }[draw(7)] : (int[]){ 0, 5, 6 }[draw(3)], 0);
    if (DEVICES > 1 && l.type == CU_MEM_LOCATION_TYPE_DEVICE) l.id = (int)draw(DEVICES);
    if (!draw(8)) l.id = ids[draw(3)];
    if (l.type == CU_MEM_LOCATION_TYPE_HOST_NUMA && l.id == 1) l.id = 99; /* some machines have a node 1 */
    add(" l%d/%d", l.type, l.id);
    return l;
}

static CUdeviceptr any_part(size_t *n, const size_t *wanted)
{
    int k = (int)draw(PLACES);
    size_t page = draw(PAGES), count = wanted && draw(3) ? *wanted : 1 + draw(4);
    size_t off = odd(page * GRAN);
    if (page + count > PAGES && draw(10)) count = PAGES - page;
    *n = odd(count * GRAN);
    add(" p%d+%zx %zx", k, off, *n);
    return at[k] + off;
}

/* What was mapped not long ago, whole or a part of it; or any part. */
static CUdeviceptr any_mapped(size_t *n)
{
    unsigned many = mappings < 2 * HANDLES ? mappings : 2 * HANDLES;
    if (!many || !draw(3)) return any_part(n, NULL);
    struct mapping m = mapped[draw(many)];
    if (!draw(4)) m.size = odd(GRAN);
    if (!draw(6)) m.off += GRAN;
    add(" p%d+%zx %zx", m.place, m.off, m.size);
    *n = m.size;
    return at[m.place] + m.off;
}

static CUresult reserve(void)
{
    static const size_t alignments[] = { 0, 0, 4096, GRAN, 32 * MiB, 3 * MiB, 1, GRAN + 1, 1ul << 40 };
    CUdeviceptr p = 0, hint = draw(3) ? 0 : at[draw(PLACES)] + draw(2) * PAGES * GRAN + odd(0);
    size_t n = odd((1 + draw(8)) * GRAN), alignment = alignments[draw(9)];
    unsigned f = draw(15) ? 0 : 1;
    CUresult r = cuMemAddressReserve(&p, n, alignment, hint, f);
    add("reserve %zx al%zx %s f%u %s", n, alignment,
        !hint         ? "-"
        : hint % GRAN ? "odd"
                      : "hint",
        f,
        r                            ? ""
        : p % GRAN                   ? "unaligned"
        : alignment && p % alignment ? "not as asked"
                                     : "aligned");
    if (!r && draw(3) == 0) add(" part %s", rname(cuMemAddressFree(p, GRAN)));
    if (!r) cuMemAddressFree(p, n);
    return r;
}

static CUresult create(int k)
{
    CUmemAllocationProp p = prop_dev(0);
    size_t count = 1 + draw(4), n = odd(count * GRAN);
    if (draw(40) == 0) n = 0;
    add("create h%d %zx", k, n);
    p.location = any_location();
    p.type = draw(20) ? CU_MEM_ALLOCATION_TYPE_PINNED : (CUmemAllocationType)(int[]){ 0, 2, 9 }[draw(3)];
    p.requestedHandleTypes = draw(2) ? 0 : (CUmemAllocationHandleType)(int[]){ 1, 1, 1, 1, 1, 1, 2, 3 }[draw(8)];
    if (!draw(12)) p.allocFlags.compressionType = (unsigned char)(1 + draw(2));
    if (!draw(12)) p.allocFlags.usage = (unsigned short)(1 + draw(3));
    if (!draw(12)) p.allocFlags.gpuDirectRDMACapable = 1;
    unsigned f = draw(25) ? 0 : 1;
    add(" t%d x%d c%d u%d g%d f%u", p.type, p.requestedHandleTypes, p.allocFlags.compressionType, p.allocFlags.usage,
        p.allocFlags.gpuDirectRDMACapable, f);
    CUresult r = cuMemCreate(&handles[k], n, &p, f);
    if (!r) held[k] = 1, pages[k] = count;
    return r;
}

static CUresult release(int k)
{
    CUresult r = cuMemRelease(handles[k]);
    add("release h%d of %u", k, held[k]);
    if (!r) held[k]--;
    return r;
}

static CUresult map(int k)
{
    size_t n, offset = draw(8) ? 0 : odd(draw(3) * GRAN);
    add("map h%d(%zu) off%zx", k, pages[k], offset);
    CUdeviceptr p = any_part(&n, &pages[k]);
    CUresult r = cuMemMap(p, n, offset, handles[k], draw(25) ? 0 : 1);
    for (int j = 0; j < PLACES && !r; j++)
        if (p >= at[j] && p < at[j] + PAGES * GRAN)
            mapped[mappings++ % (2 * HANDLES)] = (struct mapping){ j, p - at[j], n };
    return r;
}

static CUresult unmap(void)
{
    size_t n;
    add("unmap");
    CUdeviceptr p = any_mapped(&n);
    return cuMemUnmap(p, n);
}

static CUresult set_access(void)
{
    CUmemAccessDesc d[3];
    size_t n, count = draw(25) ? 1 + (size_t)(draw(3) ? 0 : draw(3)) : 0;
    add("access");
    CUdeviceptr p = any_mapped(&n);
    for (size_t k = 0; k < 3; k++) {
        d[k] = (CUmemAccessDesc){ loc(1, 0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
        if (k >= count) continue;
        d[k].location = any_location();
        d[k].flags =
            draw(3) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : (CUmemAccess_flags)(int[]){ 0, 1, 1, 2, 4, 7 }[draw(6)];
        add(":%d", d[k].flags);
    }
    return cuMemSetAccess(p, n, d, count);
}

static CUdeviceptr anywhere(void)
{
    int k = (int)draw(PLACES);
    size_t off = draw(PAGES) * GRAN + draw(GRAN);
    if (mappings && draw(3)) {
        struct mapping m = mapped[draw(mappings < 2 * HANDLES ? mappings : 2 * HANDLES)];
        k = m.place, off = m.off + draw((uint32_t)m.size);
    }
    add(" p%d+%zx", k, off);
    return at[k] + off;
}

static CUresult get_access(void)
{
    unsigned long long f = 77;
    add("getaccess");
    CUdeviceptr p = anywhere();
    CUmemLocation l = any_location();
    CUresult r = cuMemGetAccess(&f, &l, p);
    add(" %llu", f);
    return r;
}

static int number_of(CUmemGenericAllocationHandle h)
{
    for (int k = 0; k < HANDLES; k++)
        if (held[k] && handles[k] == h) return k;
    return -1;
}

static CUresult retain(void)
{
    CUmemGenericAllocationHandle h;
    add("retain");
    CUresult r = cuMemRetainAllocationHandle(&h, (void *)anywhere());
    if (r) return r;
    int k = number_of(h);
    add(" h%d", k);
    if (k >= 0 && draw(2))
        held[k]++;
    else
        cuMemRelease(h);
    return r;
}

static CUresult properties(int k)
{
    CUmemAllocationProp p;
    memset(&p, 0x5a, sizeof p);
    CUresult r = cuMemGetAllocationPropertiesFromHandle(&p, handles[k]);
    add("properties h%d of %u: t%d x%d l%d c%d g%d u%d", k, held[k], p.type, p.requestedHandleTypes, p.location.type,
        p.allocFlags.compressionType, p.allocFlags.gpuDirectRDMACapable, p.allocFlags.usage);
    return r;
}

static CUresult pass(int k)
{
    CUmemGenericAllocationHandle h;
    CUmemAllocationHandleType type =
        draw(8) ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : (CUmemAllocationHandleType)draw(5);
    int fd[16] = { -1 };
    CUresult r = cuMemExportToShareableHandle(fd, handles[k], type, draw(20) ? 0 : 1), i;
    add("pass h%d x%d %s", k, type, rname(r));
    if (r) return r;
    i = cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd[0], type);
    add(" import %s", rname(i));
    if (!i) {
        size_t n;
        CUdeviceptr p;
        add(h == handles[k] ? " same" : " another");
        if (draw(2)) p = any_part(&n, &pages[k]), add(" map %s", rname(cuMemMap(p, n, 0, h, 0)));
        cuMemRelease(h);
    }
    if (fd[0] >= 0) close(fd[0]);
    return r;
}

static CUresult granularity(void)
{
    CUmemAllocationProp p = prop_dev(0);
    size_t n = 77;
    add("granularity");
    p.location = any_location();
    CUresult r = cuMemGetAllocationGranularity(&n, &p, (CUmemAllocationGranularity_flags)draw(3));
    add(" %zu", n);
    return r;
}

static CUresult handle_of(void)
{
    int fd = -1;
    size_t n;
    add("descriptor");
    CUdeviceptr p = any_mapped(&n);
    unsigned f = draw(8) ? 0 : 1 + draw(2);
    CUresult r = cuMemGetHandleForAddressRange(&fd, p, n, (CUmemRangeHandleType)(draw(15) ? 1 : draw(3)), f);
    add(" f%u", f);
    if (fd >= 0) close(fd);
    return !f && r == CUDA_ERROR_NOT_SUPPORTED ? CUDA_SUCCESS : r; /* there may be no device node to take it from */
}

static CUresult pointer(void)
{
    static const int asked[] = { 1, 2, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21 };
    int a = asked[draw(16)];
    uint64_t v = 0;
    add("pointer a%d", a);
    CUdeviceptr p = anywhere();
    CUresult r = cuPointerGetAttribute(&v, (CUpointer_attribute)a, p);
    if (a == 1)
        add(" %s", !v ? "none" : v == (uint64_t)(uintptr_t)ctx0 ? "ctx0" : "other");
    else if (a == 4 || a == 11 || a == 19)
        add(" %s%ld", v ? "p" : "none", v ? (long)(p - v) : 0l);
    else if (a == 17)
        add(v ? " some" : " none");
    else
        add(" %" PRIx64, v);
    return r;
}

static CUresult range(void)
{
    CUdeviceptr base = 0;
    size_t n = 0;
    add("range");
    CUdeviceptr p = anywhere();
    CUresult r = cuMemGetAddressRange(&base, &n, p);
    add(" -%lx %zx", base ? (long)(p - base) : 0l, n);
    return r;
}

static void call(void)
{
    unsigned o = draw(100);
    int k = (int)draw(HANDLES), any = k;
    for (int j = 0; j < HANDLES && !held[k]; j++) k = (k + 1) % HANDLES;
    if (!held[k] && o >= 12 && o < 36) o = 5;
    if (held[any] && o >= 4 && o < 12) o = 20;
    CUresult r = o < 4    ? reserve()
                 : o < 12 ? create(any)
                 : o < 15 ? release(k)
                 : o < 30 ? map(k)
                 : o < 33 ? properties(k)
                 : o < 36 ? pass(k)
                 : o < 44 ? unmap()
                 : o < 60 ? set_access()
                 : o < 72 ? get_access()
                 : o < 78 ? retain()
                 : o < 80 ? granularity()
                 : o < 84 ? handle_of()
                 : o < 95 ? pointer()
                          : range();
    add(" %s", rname(r));
    say();
}

#define SPACES(X) \
    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) \
    X(101) X(102) X(103) X(104) X(105) X(106) X(107) X(108) X(109) X(110) X(111) X(112) X(113) X(114) X(115) X(116) \
    X(117) X(118)
#define WALKS(i) WALK(spaces, i, 700, begin, call)
#define LISTED(i) WALKED(spaces, i),
SPACES(WALKS)
const struct group groups[] = { SPACES(LISTED){ 0 } };
