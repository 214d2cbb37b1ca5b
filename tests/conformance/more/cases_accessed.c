/* Mapped memory of the device, the host and its node side by side: access of several locations in one call, to parts of
 * mappings, over several of them and over holes; what may be unmapped and mapped; what is told of each address. */
#include "short.h"

/* Of 2 MiB each: two of the device, one mapping; two of the host; one of its node; a hole; one of the device that can
 * be exported; the same handle again; one of the device of 6 MiB; a hole. */
enum { WIDTH = 12 };
static CUdeviceptr at;
static CUmemGenericAllocationHandle device, host, node, exportable, large, spare;

static CUmemGenericAllocationHandle make(int type, size_t pages, int handles)
{
    CUmemGenericAllocationHandle h;
    CUmemAllocationProp p = prop_dev(0);
    p.location = loc(type, 0);
    p.requestedHandleTypes = (CUmemAllocationHandleType)handles;
    MUST(cuMemCreate(&h, pages * GRAN, &p, 0));
    return h;
}

static void begin(void)
{
    setup();
    MUST(cuMemAddressReserve(&at, WIDTH * GRAN, 0, 0, 0));
    device = make(1, 2, 0), host = make(2, 2, 0), node = make(3, 1, 0), exportable = make(1, 1, 1),
    large = make(1, 3, 0);
    spare = make(1, 1, 0);
}

static void lay(void)
{
    MUST(cuMemMap(at, 2 * GRAN, 0, device, 0));
    MUST(cuMemMap(at + 2 * GRAN, 2 * GRAN, 0, host, 0));
    MUST(cuMemMap(at + 4 * GRAN, GRAN, 0, node, 0));
    MUST(cuMemMap(at + 6 * GRAN, GRAN, 0, exportable, 0));
    MUST(cuMemMap(at + 7 * GRAN, GRAN, 0, exportable, 0));
    MUST(cuMemMap(at + 8 * GRAN, 3 * GRAN, 0, large, 0));
}

static void clear(void) { MUST(cuMemUnmap(at, WIDTH * GRAN)); }

static void access_of(CUdeviceptr p, const CUmemLocation *l)
{
    unsigned long long f = 7;
    CUresult r = cuMemGetAccess(&f, l, p);
    r ? add("%s%s", letter(r), f == 7 ? "" : keyf("%llu", f)) : add("%llu", f);
}

static void tell_access(void)
{
    static const int where[][2] = { { 1, 0 }, { 2, 0 }, { 3, 0 } };
    for (unsigned l = 0; l < COUNT(where); l++) {
        CUmemLocation w = loc(where[l][0], where[l][1]);
        add(" ");
        for (int k = 0; k < WIDTH; k++) access_of(at + (size_t)k * GRAN, &w);
    }
}

struct descriptions {
    const char *name;
    int count;
    CUmemAccessDesc of[4];
};

#define D(type, id, flags) { { (CUmemLocationType)(type), id }, (CUmemAccess_flags)(flags) }
static const struct descriptions descriptions[] = {
    { "d3", 1, { D(1, 0, 3) } },
    { "d1", 1, { D(1, 0, 1) } },
    { "d0", 1, { D(1, 0, 0) } },
    { "d2", 1, { D(1, 0, 2) } },
    { "d4", 1, { D(1, 0, 4) } },
    { "d7", 1, { D(1, 0, 7) } },
    { "d-1", 1, { D(1, 0, -1) } },
    { "d99", 1, { D(1, 99, 3) } },
    { "d-1.3", 1, { D(1, -1, 3) } },
    { "h3", 1, { D(2, 0, 3) } },
    { "h1", 1, { D(2, 0, 1) } },
    { "h0", 1, { D(2, 0, 0) } },
    { "h2", 1, { D(2, 0, 2) } },
    { "h99", 1, { D(2, 99, 3) } },
    { "n3", 1, { D(3, 0, 3) } },
    { "n1", 1, { D(3, 0, 1) } },
    { "n0", 1, { D(3, 0, 0) } },
    { "n2", 1, { D(3, 0, 2) } },
    { "n99.3", 1, { D(3, 99, 3) } },
    { "n99.0", 1, { D(3, 99, 0) } },
    { "n-1", 1, { D(3, -1, 3) } },
    { "c3", 1, { D(4, 0, 3) } },
    { "c0", 1, { D(4, 0, 0) } },
    { "t0", 1, { D(0, 0, 3) } },
    { "t0.0", 1, { D(0, 0, 0) } },
    { "t5", 1, { D(5, 0, 3) } },
    { "d3h3", 2, { D(1, 0, 3), D(2, 0, 3) } },
    { "h3d3", 2, { D(2, 0, 3), D(1, 0, 3) } },
    { "d3n3", 2, { D(1, 0, 3), D(3, 0, 3) } },
    { "d3h1", 2, { D(1, 0, 3), D(2, 0, 1) } },
    { "d1h3", 2, { D(1, 0, 1), D(2, 0, 3) } },
    { "d3h0", 2, { D(1, 0, 3), D(2, 0, 0) } },
    { "d0h3", 2, { D(1, 0, 0), D(2, 0, 3) } },
    { "d3d1", 2, { D(1, 0, 3), D(1, 0, 1) } },
    { "d1d3", 2, { D(1, 0, 1), D(1, 0, 3) } },
    { "d3d0", 2, { D(1, 0, 3), D(1, 0, 0) } },
    { "d0d3", 2, { D(1, 0, 0), D(1, 0, 3) } },
    { "h3n1", 2, { D(2, 0, 3), D(3, 0, 1) } },
    { "n1h3", 2, { D(3, 0, 1), D(2, 0, 3) } },
    { "h0n3", 2, { D(2, 0, 0), D(3, 0, 3) } },
    { "n3h0", 2, { D(3, 0, 3), D(2, 0, 0) } },
    { "d3d99", 2, { D(1, 0, 3), D(1, 99, 3) } },
    { "d3d2", 2, { D(1, 0, 3), D(1, 0, 2) } },
    { "d3n99", 2, { D(1, 0, 3), D(3, 99, 3) } },
    { "n99d3", 2, { D(3, 99, 3), D(1, 0, 3) } },
    { "n99n3", 2, { D(3, 99, 3), D(3, 0, 3) } },
    { "d3c3", 2, { D(1, 0, 3), D(4, 0, 3) } },
    { "d3h3n3", 3, { D(1, 0, 3), D(2, 0, 3), D(3, 0, 3) } },
    { "d3h1n3", 3, { D(1, 0, 3), D(2, 0, 1), D(3, 0, 3) } },
    { "d3h0n3", 3, { D(1, 0, 3), D(2, 0, 0), D(3, 0, 3) } },
    { "d0h0n0", 3, { D(1, 0, 0), D(2, 0, 0), D(3, 0, 0) } },
    { "d3h3n3d1", 4, { D(1, 0, 3), D(2, 0, 3), D(3, 0, 3), D(1, 0, 1) } },
};

/* In pages; odd: bytes besides. */
struct part {
    int from, size;
    long off, more;
};
static const struct part parts[] = {
    { 0, 2, 0, 0 },        { 2, 2, 0, 0 },          { 4, 1, 0, 0 },    { 0, 4, 0, 0 },     { 0, 5, 0, 0 },
    { 2, 3, 0, 0 },        { 6, 1, 0, 0 },          { 6, 2, 0, 0 },    { 6, 5, 0, 0 },     { 8, 3, 0, 0 },
    { 0, 1, 0, 0 },        { 1, 1, 0, 0 },          { 1, 3, 0, 0 },    { 0, 3, 0, 0 },     { 2, 1, 0, 0 },
    { 3, 2, 0, 0 },        { 0, 6, 0, 0 },          { 5, 1, 0, 0 },    { 5, 2, 0, 0 },     { 0, 7, 0, 0 },
    { 4, 3, 0, 0 },        { 2, 6, 0, 0 },          { 0, 11, 0, 0 },   { 0, 12, 0, 0 },    { 8, 4, 0, 0 },
    { 9, 1, 0, 0 },        { 9, 2, 0, 0 },          { 4, 5, 0, 0 },    { 0, 2, 0, -4096 }, { 0, 2, 0, 4096 },
    { 0, 2, 4096, -4096 }, { 2, 2, 65536, -65536 }, { 4, 1, 0, -1 },   { 4, 1, 1, 0 },     { 4, 1, 0, 1 },
    { 6, 1, 0, -MiB },     { 6, 1, MiB, 0 },        { 6, 2, 0, -MiB }, { 0, 13, 0, 0 },    { 11, 1, 0, 0 },
    { 11, 2, 0, 0 },       { 12, 1, 0, 0 },         { -1, 1, 0, 0 },   { -1, 3, 0, 0 },    { 0, 0, 0, 0 },
};

static void name_part(const struct part *p, char *out)
{
    sprintf(out, "%d+%d%+ld%+ld", p->from, p->size, p->off, p->more);
}

static void g_access(void)
{
    char name[64];
    begin();
    for (unsigned d = 0; d < COUNT(descriptions); d++)
        for (unsigned k = 0; k < COUNT(parts); k++) {
            if (d && k >= 28 && d != 26 && d != 9) continue;
            lay();
            CUresult r = cuMemSetAccess(at + (CUdeviceptr)parts[k].from * GRAN + (CUdeviceptr)parts[k].off,
                                        (size_t)parts[k].size * GRAN + (size_t)parts[k].more, descriptions[d].of,
                                        (size_t)descriptions[d].count);
            add("%s", letter(r));
            tell_access();
            name_part(&parts[k], name);
            say_as(keyf("%s.%s", descriptions[d].name, name));
            clear();
        }
}

/* Second descriptions after others. */
static void g_then(void)
{
    begin();
    static const int first[] = { 0, 9, 26 }, range[] = { 0, 1, 3, 4, 8, 22 };
    for (unsigned f = 0; f < COUNT(first); f++)
        for (unsigned d = 0; d < COUNT(descriptions); d++)
            for (unsigned k = 0; k < COUNT(range); k++) {
                const struct part *p = &parts[range[k]];
                lay();
                for (int j = 0; j < 3; j++) /* as much as can be given */
                    cuMemSetAccess(at + (CUdeviceptr)((int[]){ 0, 2, 4 }[j]) * GRAN,
                                   (size_t)((int[]){ 2, 2, 1 }[j]) * GRAN, descriptions[first[f]].of,
                                   (size_t)descriptions[first[f]].count);
                CUresult r = cuMemSetAccess(at + (CUdeviceptr)p->from * GRAN, (size_t)p->size * GRAN,
                                            descriptions[d].of, (size_t)descriptions[d].count);
                add("%s", letter(r));
                tell_access();
                say_as(keyf("%s.%s.%d+%d", descriptions[first[f]].name, descriptions[d].name, p->from, p->size));
                clear();
            }
}

static void g_get(void)
{
    static const int types[] = { 0, 1, 2, 3, 4, 5, -1 }, ids[] = { -1, 0, 99 };
    CUdeviceptr d, p;
    void *pinned;
    begin();
    lay();
    CUmemAccessDesc both[2] = { { loc(1, 0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE },
                                { loc(2, 0), CU_MEM_ACCESS_FLAGS_PROT_READ } };
    cuMemSetAccess(at + 2 * GRAN, 3 * GRAN, both, 2);
    cuMemSetAccess(at + 6 * GRAN, GRAN, both, 1);
    MUST(cuMemAlloc(&d, GRAN));
    MUST(cuMemAllocHost(&pinned, 4096));
    MUST(cuMemAllocManaged(&p, GRAN, CU_MEM_ATTACH_GLOBAL));
    void *plain = malloc(64);
    const CUdeviceptr asked[] = { 0, d, d + 1, (CUdeviceptr)pinned, p, (CUdeviceptr)plain, 1ul << 60 };
    for (unsigned t = 0; t < COUNT(types); t++)
        for (unsigned i = 0; i < COUNT(ids); i++) {
            CUmemLocation l = loc(types[t], ids[i]);
            for (int k = 0; k < WIDTH; k++)
                add(" "), access_of(at + (size_t)k * GRAN, &l), access_of(at + (size_t)k * GRAN + 4097, &l);
            add(" others ");
            for (unsigned k = 0; k < COUNT(asked); k++) access_of(asked[k], &l);
            say_as(keyf("l%d/%d", types[t], ids[i]));
        }
    unsigned long long f;
    CUmemLocation l = loc(1, 0);
    K("null.flags", cuMemGetAccess(NULL, &l, at));
    K("null.location", cuMemGetAccess(&f, NULL, at));
    K("count0", cuMemSetAccess(at, 2 * GRAN, both, 0));
    K("null", cuMemSetAccess(at, 2 * GRAN, NULL, 1));
    K("device memory", cuMemSetAccess(d, GRAN, both, 1));
    K("pinned memory", cuMemSetAccess((CUdeviceptr)pinned, 4096, both, 1));
}

static void tell_mapped(void)
{
    add(" ");
    for (int k = 0; k < WIDTH; k++) {
        CUmemGenericAllocationHandle h;
        CUdeviceptr p = at + (size_t)k * GRAN;
        CUresult r = cuMemRetainAllocationHandle(&h, (void *)p);
        add("%s", r                 ? "."
                  : h == device     ? "d"
                  : h == host       ? "h"
                  : h == node       ? "n"
                  : h == exportable ? "e"
                  : h == large      ? "l"
                  : h == spare      ? "s"
                                    : "?");
        if (!r) cuMemRelease(h);
    }
}

static void g_unmap(void)
{
    char name[64];
    begin();
    for (unsigned k = 0; k < COUNT(parts); k++)
        for (int access = 0; access < 2; access++) {
            CUmemAccessDesc d = { loc(1, 0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
            lay();
            if (access) MUST(cuMemSetAccess(at, 5 * GRAN, &d, 1));
            add("%s", letter(cuMemUnmap(at + (CUdeviceptr)parts[k].from * GRAN + (CUdeviceptr)parts[k].off,
                                        (size_t)parts[k].size * GRAN + (size_t)parts[k].more)));
            tell_mapped();
            name_part(&parts[k], name);
            say_as(keyf("%s.%d", name, access));
            clear();
        }
    K("nothing", cuMemUnmap(at, GRAN));
    K("nothing.whole", cuMemUnmap(at, WIDTH * GRAN));
    K("null", cuMemUnmap(0, GRAN));
    K("zero", cuMemUnmap(at, 0));
    K("zero.null", cuMemUnmap(0, 0));
}

static void g_map(void)
{
    static const long offsets[] = { 0, 1, 4096, MiB, GRAN, 2 * GRAN, 3 * GRAN, 1l << 40, -1, -(long)GRAN };
    begin();
    struct {
        const char *name;
        CUmemGenericAllocationHandle h;
    } of[] = { { "device2", device }, { "host2", host },         { "node1", node },
               { "large3", large },   { "export1", exportable }, { "none", 0 } };
    for (unsigned h = 0; h < COUNT(of); h++)
        for (unsigned k = 0; k < COUNT(parts); k++) {
            char name[64];
            for (unsigned o = 0; o < COUNT(offsets); o++) {
                for (unsigned f = 0; f < 2; f++)
                    add("%s", letter(cuMemMap(at + (CUdeviceptr)parts[k].from * GRAN + (CUdeviceptr)parts[k].off,
                                              (size_t)parts[k].size * GRAN + (size_t)parts[k].more, (size_t)offsets[o],
                                              of[h].h, f)));
                cuMemUnmap(at, WIDTH * GRAN);
            }
            name_part(&parts[k], name);
            say_as(keyf("%s.%s", of[h].name, name));
        }
    /* upon what is mapped */
    lay();
    for (int k = 0; k < WIDTH; k++)
        for (int n = 1; n < 4; n++) {
            CUmemGenericAllocationHandle h = n == 1 ? spare : n == 2 ? device : large;
            CUresult r = cuMemMap(at + (size_t)k * GRAN, (size_t)n * GRAN, 0, h, 0);
            add("%s", letter(r));
            if (!r) cuMemUnmap(at + (size_t)k * GRAN, (size_t)n * GRAN);
        }
    say_as("upon");
    clear();
    /* across two reservations side by side */
    CUdeviceptr a, b;
    MUST(cuMemAddressReserve(&a, 64 * GRAN, 0, 0, 0));
    cuMemAddressFree(a, 64 * GRAN);
    MUST(cuMemAddressReserve(&b, 2 * GRAN, 0, a + 8 * GRAN, 0));
    MUST(cuMemAddressReserve(&a, 2 * GRAN, 0, b + 2 * GRAN, 0));
    add("%s", a == b + 2 * GRAN ? "=" : "/");
    CUmemAccessDesc d = { loc(1, 0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    add(" across %s", letter(cuMemMap(b + GRAN, 2 * GRAN, 0, device, 0)));
    add(" access %s", letter(cuMemSetAccess(b + GRAN, 2 * GRAN, &d, 1)));
    add(" free %s%s", letter(cuMemAddressFree(b, 2 * GRAN)), letter(cuMemAddressFree(a, 2 * GRAN)));
    add(" unmap %s", letter(cuMemUnmap(b + GRAN, 2 * GRAN)));
    add(" each %s%s", letter(cuMemMap(b + GRAN, GRAN, 0, spare, 0)), letter(cuMemMap(a, GRAN, 0, exportable, 0)));
    add(" access %s", letter(cuMemSetAccess(b + GRAN, 2 * GRAN, &d, 1)));
    add(" unmap %s", letter(cuMemUnmap(b + GRAN, 2 * GRAN)));
    say_as("across");
}

/* ---- what is told of addresses */

static void tell_address(CUdeviceptr p)
{
    CUdeviceptr base = 0;
    size_t n = 0;
    CUresult r = cuMemGetAddressRange(&base, &n, p);
    add("range %s", letter(r));
    if (base || n) add(" %s %zx", base ? keyf("-%lx", (long)(p - base)) : "none", n);
    for (int a = 1; a < 22; a++) {
        unsigned char v[64];
        uint64_t u;
        if (a == 5) continue;
        memset(v, 0x5a, sizeof v);
        r = cuPointerGetAttribute(v, (CUpointer_attribute)a, p);
        size_t w = sizeof v;
        while (w && v[w - 1] == 0x5a) w--;
        add(" a%d%s", a, letter(r));
        if (!w) continue;
        memcpy(&u, v, 8);
        if (w < 8) u &= (1ul << 8 * w) - 1;
        if (a == 1)
            add(!u ? "none" : u == (uint64_t)(uintptr_t)ctx0 ? "ctx0" : "other");
        else if (a == 3 || a == 4 || a == 11 || a == 19)
            u ? add("p-%lx", (long)(p - u)) : add("none");
        else if (a == 7 || a == 17 || a == 20)
            add(u ? "some" : "none");
        else
            add("%lx", u);
    }
}

static void g_told(void)
{
    begin();
    static const int given[] = { -1, 2, 0, 9, 26, 29, 1 };
    for (unsigned g = 0; g < COUNT(given); g++) {
        lay();
        if (given[g] >= 0)
            for (int j = 0; j < 6; j++)
                cuMemSetAccess(at + (CUdeviceptr)((int[]){ 0, 2, 4, 6, 7, 8 }[j]) * GRAN,
                               (size_t)((int[]){ 2, 2, 1, 1, 1, 3 }[j]) * GRAN, descriptions[given[g]].of,
                               (size_t)descriptions[given[g]].count);
        for (int k = -1; k <= WIDTH; k++)
            for (int o = 0; o < 2; o++) {
                if (k < 0 || k == WIDTH) continue;
                tell_address(at + (CUdeviceptr)k * GRAN + (o ? 70001 : 0));
                say_as(keyf("%s.%d.%d", given[g] < 0 ? "none" : descriptions[given[g]].name, k, o));
            }
        clear();
    }
}

/* ---- descriptors of ranges */

/* o: there is one, or there would be if the machine had a device node to take it from. */
static void range_handle(CUdeviceptr p, size_t n, int type, unsigned long long flags)
{
    int fd = -1;
    CUresult r = cuMemGetHandleForAddressRange(&fd, p, n, (CUmemRangeHandleType)type, flags);
    if (fd >= 0) close(fd);
    add("%s", !flags && (!r || r == CUDA_ERROR_NOT_SUPPORTED) ? "o" : letter(r));
    if (r && fd != -1) add("wrote");
}

static void g_ranges(void)
{
    char name[64];
    int supported = -1;
    CUdeviceptr d, managed;
    void *pinned;
    begin();
    cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, dev0);
    rec("supported", "%d", supported);
    lay();
    MUST(cuMemAlloc(&d, 2 * GRAN));
    MUST(cuMemAllocHost(&pinned, GRAN));
    MUST(cuMemAllocManaged(&managed, GRAN, CU_MEM_ATTACH_GLOBAL));
    for (int access = 0; access < 2; access++) {
        CUmemAccessDesc give = { loc(1, 0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
        if (access) cuMemSetAccess(at, 5 * GRAN, &give, 1), cuMemSetAccess(at + 6 * GRAN, 5 * GRAN, &give, 1);
        for (unsigned k = 0; k < COUNT(parts); k++) {
            for (unsigned long long f = 0; f < 4; f++)
                add(" "), range_handle(at + (CUdeviceptr)parts[k].from * GRAN + (CUdeviceptr)parts[k].off,
                                       (size_t)parts[k].size * GRAN + (size_t)parts[k].more, 1, f);
            for (int t = 0; t < 4; t++)
                if (t != 1)
                    add(" "), range_handle(at + (CUdeviceptr)parts[k].from * GRAN + (CUdeviceptr)parts[k].off,
                                           (size_t)parts[k].size * GRAN + (size_t)parts[k].more, t, 0);
            name_part(&parts[k], name);
            say_as(keyf("%s.%d", name, access));
        }
    }
    static const size_t sizes[] = { 0,       1, 4096, 65536, 65537, MiB, GRAN, GRAN + 65536, 2 * GRAN, 2 * GRAN + 65536,
                                    4 * GRAN };
    static const size_t offsets[] = { 0, 1, 4096, 65536, MiB, GRAN };
    const CUdeviceptr where[] = { d, (CUdeviceptr)pinned, managed, 0, 1ul << 60 };
    for (unsigned w = 0; w < COUNT(where); w++)
        for (unsigned o = 0; o < COUNT(offsets); o++) {
            for (unsigned s = 0; s < COUNT(sizes); s++) add(" "), range_handle(where[w] + offsets[o], sizes[s], 1, 0);
            add(" flags"), range_handle(where[w] + offsets[o], 65536, 1, 1),
                range_handle(where[w] + offsets[o], 65536, 1, 2);
            say_as(keyf("kind%u.%zx", w, offsets[o]));
        }
    K("null", cuMemGetHandleForAddressRange(NULL, at, GRAN, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
}

static void g_retain(void)
{
    CUmemGenericAllocationHandle h;
    CUdeviceptr d;
    void *pinned;
    begin();
    lay();
    MUST(cuMemAlloc(&d, GRAN));
    MUST(cuMemAllocHost(&pinned, 4096));
    tell_mapped();
    say_as("mapped");
    const CUdeviceptr asked[] = {
        0, 1, d, d + 1, (CUdeviceptr)pinned, (CUdeviceptr)&h, at + 1, at + 2 * GRAN - 1, at + 5 * GRAN, 1ul << 60
    };
    for (unsigned k = 0; k < COUNT(asked); k++) {
        h = 0;
        CUresult r = cuMemRetainAllocationHandle(&h, (void *)asked[k]);
        add("%s%s", letter(r), r ? "" : h == device ? "d" : "?");
        if (!r) cuMemRelease(h);
    }
    say_as("addresses");
    K("null", cuMemRetainAllocationHandle(NULL, (void *)at));
}

const struct group groups[] = { { "access", g_access, 1 }, { "then", g_then, 1 },     { "get", g_get, 1 },
                                { "unmap", g_unmap, 1 },   { "map", g_map, 1 },       { "told", g_told, 1 },
                                { "ranges", g_ranges, 1 }, { "retain", g_retain, 1 }, { 0 } };
