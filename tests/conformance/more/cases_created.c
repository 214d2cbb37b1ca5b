/* Handles of mapped memory: every combination of what cuMemCreate is told, and what is read back of it; which handles
 * can be exported and imported how, and what an imported one says. */
#include "short.h"

static const int types[] = { 0, 1, 2, 3, 4, 5, 6, -1 }, ids[] = { -1, 0, 99 };

static void tell_properties(const CUmemAllocationProp *p)
{
    const unsigned char *b = p->allocFlags.reserved;
    add("t%d x%d l%d/%d w%s c%d g%d u%d r%d", p->type, p->requestedHandleTypes, p->location.type, p->location.id,
        p->win32HandleMetaData ? "some" : "none", p->allocFlags.compressionType, p->allocFlags.gpuDirectRDMACapable,
        p->allocFlags.usage, b[0] | b[1] | b[2] | b[3]);
}

/* A letter, and what is read back if it is not what was asked. */
static void created(const CUmemAllocationProp *p, size_t size, unsigned flags)
{
    CUmemGenericAllocationHandle h;
    CUmemAllocationProp q;
    CUresult r = cuMemCreate(&h, size, p, flags);
    add("%s", letter(r));
    if (r) return;
    memset(&q, 0x5a, sizeof q);
    CUresult read = cuMemGetAllocationPropertiesFromHandle(&q, h);
    if (read || memcmp(&q, p, sizeof q)) add("["), read ? add("%s", rname(read)) : tell_properties(&q), add("]");
    cuMemRelease(h);
}

static void flags_of(CUmemAllocationProp p)
{
    static const int usages[] = { 0, 1, 2, 3, 4, 0x8000 };
    for (int c = 0; c < 3; c++)
        for (int g = 0; g < 3; g++) {
            add(" c%dg%d:", c, g);
            for (unsigned u = 0; u < COUNT(usages); u++) {
                p.allocFlags.compressionType = (unsigned char)c;
                p.allocFlags.gpuDirectRDMACapable = (unsigned char)g;
                p.allocFlags.usage = (unsigned short)usages[u];
                created(&p, GRAN, 0);
            }
        }
}

static void g_create(void)
{
    static const int handles[] = { 0, 1, 2, 3, 4, 16, 17, -1 }, kinds[] = { 0, 1, 2, 3 };
    setup();
    for (unsigned l = 0; l < COUNT(types); l++)
        for (unsigned i = 0; i < COUNT(ids); i++)
            for (unsigned x = 0; x < COUNT(handles); x++)
                for (unsigned t = 0; t < COUNT(kinds); t++) {
                    CUmemAllocationProp p = { .type = (CUmemAllocationType)kinds[t],
                                              .requestedHandleTypes = (CUmemAllocationHandleType)handles[x],
                                              .location = loc(types[l], ids[i]) };
                    flags_of(p);
                    say_as(keyf("l%d/%d.x%d.t%d", types[l], ids[i], handles[x], kinds[t]));
                }
}

static void g_fabric(void)
{
    setup();
    for (unsigned l = 0; l < COUNT(types); l++)
        for (unsigned i = 0; i < COUNT(ids); i++)
            for (int x = 8; x < 12; x++)
                for (int t = 0; t < 3; t++) {
                    CUmemAllocationProp p = { .type = (CUmemAllocationType)t,
                                              .requestedHandleTypes = (CUmemAllocationHandleType)x,
                                              .location = loc(types[l], ids[i]) };
                    flags_of(p);
                    say_as(keyf("l%d/%d.x%d.t%d", types[l], ids[i], x, t));
                }
}

static void g_rest(void)
{
    static const size_t sizes[] = {
        0, 1, 4096, 65536, MiB, GRAN - 1, GRAN, GRAN + 4096, GRAN + 65536, 3 * MiB, 2 * GRAN
    };
    static const size_t large[] = { 1ul << 40, 1ul << 46, 1ul << 47, 1ul << 48, 1ul << 60, 1ul << 63, -GRAN, -1ul };
    static const int comp[] = { 3, 4, 8, 128, 255 }, rdma[] = { 2, 3, 128, 255 },
                     usage[] = { 4, 5, 6, 8, 16, 0xff00, 0xffff };
    CUmemGenericAllocationHandle h;
    setup();
    for (unsigned l = 0; l < COUNT(types); l++)
        for (unsigned i = 0; i < COUNT(ids); i++)
            for (int x = 0; x < 2; x++) {
                CUmemAllocationProp p = prop_dev(0), q;
                p.location = loc(types[l], ids[i]);
                p.requestedHandleTypes = (CUmemAllocationHandleType)x;
                add("sizes ");
                for (unsigned k = 0; k < COUNT(sizes); k++) created(&p, sizes[k], 0);
                if (types[l] < 2 || types[l] > 4) {
                    add(" large ");
                    for (unsigned k = 0; k < COUNT(large); k++) created(&p, large[k], 0);
                }
                add(" flags ");
                for (unsigned f = 1; f < 4; f++) created(&p, GRAN, f), created(&p, GRAN + 1, f);
                q = p, q.win32HandleMetaData = &q;
                add(" win32 "), created(&q, GRAN, 0);
                for (int k = 0; k < 4; k++) q = p, q.allocFlags.reserved[k] = 1, add(" r%d ", k), created(&q, GRAN, 0);
                add(" comp ");
                for (unsigned k = 0; k < COUNT(comp); k++)
                    q = p, q.allocFlags.compressionType = (unsigned char)comp[k], created(&q, GRAN, 0);
                add(" rdma ");
                for (unsigned k = 0; k < COUNT(rdma); k++)
                    q = p, q.allocFlags.gpuDirectRDMACapable = (unsigned char)rdma[k], created(&q, GRAN, 0);
                add(" usage ");
                for (unsigned k = 0; k < COUNT(usage); k++)
                    q = p, q.allocFlags.usage = (unsigned short)usage[k], created(&q, GRAN, 0);
                add(" types ");
                for (int k = -1; k < 5; k++) q = p, q.type = (CUmemAllocationType)k, created(&q, GRAN, 0);
                q.type = (CUmemAllocationType)0x7fffffff, created(&q, GRAN, 0);
                add(" bits ");
                for (int k = 4; k < 32; k++)
                    q = p, q.requestedHandleTypes = (CUmemAllocationHandleType)(1u << k | (unsigned)x),
                    created(&q, GRAN, 0);
                say_as(keyf("l%d/%d.x%d", types[l], ids[i], x));
            }
    CUmemAllocationProp p = prop_dev(0);
    K("null.handle", cuMemCreate(NULL, GRAN, &p, 0));
    K("null.prop", cuMemCreate(&h, GRAN, NULL, 0));
    p.location.id = 99;
    K("null.handle.device", cuMemCreate(NULL, GRAN, &p, 0));
    K("flags.device", cuMemCreate(&h, GRAN, &p, 1));
    K("size.device", cuMemCreate(&h, 1, &p, 0));
    K("properties.null", cuMemGetAllocationPropertiesFromHandle(NULL, 0));
    K("properties.0", cuMemGetAllocationPropertiesFromHandle(&p, 0));
}

static void g_granularity(void)
{
    setup();
    for (unsigned l = 0; l < COUNT(types); l++)
        for (unsigned i = 0; i < COUNT(ids); i++)
            for (int t = 0; t < 4; t++)
                for (int x = 0; x < 10; x += x ? 7 : 1) {
                    CUmemAllocationProp p = { .type = (CUmemAllocationType)t,
                                              .requestedHandleTypes = (CUmemAllocationHandleType)x,
                                              .location = loc(types[l], ids[i]) };
                    for (int c = 0; c < 3; c++)
                        for (int g = 0; g < 2; g++)
                            for (int u = 0; u < 4; u++)
                                for (int o = 0; o < 3; o++) {
                                    size_t n = 77;
                                    p.allocFlags.compressionType = (unsigned char)c;
                                    p.allocFlags.gpuDirectRDMACapable = (unsigned char)g;
                                    p.allocFlags.usage = (unsigned short)u;
                                    CUresult r =
                                        cuMemGetAllocationGranularity(&n, &p, (CUmemAllocationGranularity_flags)o);
                                    add("%s%s", letter(r), n == GRAN ? "" : keyf("%zu", n));
                                }
                    say_as(keyf("l%d/%d.x%d.t%d", types[l], ids[i], x, t));
                }
}

/* ---- what is passed on */

static void imported(const char *what, int fd, CUmemAllocationHandleType type, const CUmemGenericAllocationHandle *of)
{
    CUmemGenericAllocationHandle h = 0;
    CUmemAllocationProp q;
    int back = -1;
    CUresult r = cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, type);
    add(" %s %s", what, letter(r));
    if (r) return;
    memset(&q, 0x5a, sizeof q);
    add("%s ", of && h == *of ? "same" : "");
    r = cuMemGetAllocationPropertiesFromHandle(&q, h);
    r ? add("%s", rname(r)) : tell_properties(&q);
    r = cuMemExportToShareableHandle(&back, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    add(" back %s", letter(r));
    if (!r) close(back);
    CUdeviceptr p;
    CUmemGenericAllocationHandle held = 0;
    MUST(cuMemAddressReserve(&p, GRAN, 0, 0, 0));
    add(" map %s", letter(r = cuMemMap(p, GRAN, 0, h, 0)));
    if (!r) {
        add(" retain %s", letter(cuMemRetainAllocationHandle(&held, (void *)p)));
        add(held == h ? "=" : of && held == *of ? "the first" : "?");
        if (held) cuMemRelease(held);
        CUmemAccessDesc d = { loc(1, 0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
        add(" access %s", letter(cuMemSetAccess(p, GRAN, &d, 1)));
        unsigned char v[8] = { 0 };
        for (int a = 1; a < 22; a++)
            if (a == 10 || a == 14)
                memset(v, 0, 8), add(" a%d %s%d", a, letter(cuPointerGetAttribute(v, (CUpointer_attribute)a, p)), v[0]);
        cuMemUnmap(p, GRAN);
    }
    cuMemAddressFree(p, GRAN);
    cuMemRelease(h);
}

static void g_pass(void)
{
    static const int where[][2] = { { 1, 0 }, { 2, 0 }, { 3, 0 } }, asked[] = { 0, 1, 2, 4, 8, 3, 9, 16, -1 };
    setup();
    for (unsigned l = 0; l < COUNT(where); l++)
        for (int x = 0; x < 2; x++)
            for (int v = 0; v < 6; v++) {
                CUmemAllocationProp p = prop_dev(0);
                CUmemGenericAllocationHandle h;
                p.location = loc(where[l][0], where[l][1]);
                p.requestedHandleTypes = (CUmemAllocationHandleType)x;
                if (v & 1) p.allocFlags.compressionType = 1;
                if (v & 2) p.allocFlags.gpuDirectRDMACapable = 1;
                if (v & 4) p.allocFlags.usage = 2;
                CUresult r = cuMemCreate(&h, GRAN, &p, 0);
                add("%s", letter(r));
                for (unsigned k = 0; k < COUNT(asked) && !r; k++)
                    for (unsigned f = 0; f < 2; f++) {
                        int fd[32];
                        memset(fd, 0xff, sizeof fd);
                        CUresult e = cuMemExportToShareableHandle(fd, h, (CUmemAllocationHandleType)asked[k], f);
                        add(" x%df%u %s%s", asked[k], f, letter(e), fd[0] >= 0 ? "" : e ? "" : "?");
                        if (e || asked[k] != 1) continue;
                        imported("import", fd[0], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, &h);
                        imported("again", fd[0], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, &h);
                        imported("0", fd[0], CU_MEM_HANDLE_TYPE_NONE, &h);
                        imported("win", fd[0], CU_MEM_HANDLE_TYPE_WIN32, &h);
                        imported("both", fd[0], (CUmemAllocationHandleType)3, &h);
                        imported("16", fd[0], (CUmemAllocationHandleType)16, &h);
                        close(fd[0]);
                    }
                if (!r) cuMemRelease(h);
                say_as(keyf("l%d.x%d.%d", where[l][0], x, v));
            }
}

static void g_strange(void)
{
    CUmemGenericAllocationHandle h;
    int ends[2], zero = open("/dev/zero", O_RDWR), null = open("/dev/null", O_RDWR), file = memfd_create("x", 0);
    setup();
    if (pipe(ends) || ftruncate(file, GRAN)) exit(3);
    imported("minus", -1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, NULL);
    imported("closed", 900, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, NULL);
    imported("pipe", ends[0], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, NULL);
    imported("zero", zero, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, NULL);
    imported("null", null, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, NULL);
    imported("memfd", file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, NULL);
    imported("none", file, CU_MEM_HANDLE_TYPE_NONE, NULL);
    imported("win32", file, CU_MEM_HANDLE_TYPE_WIN32, NULL);
    imported("kmt", file, CU_MEM_HANDLE_TYPE_WIN32_KMT, NULL);
    imported("fabric.null", 0, CU_MEM_HANDLE_TYPE_FABRIC, NULL);
    say_as("descriptors");
    K("null.import",
      cuMemImportFromShareableHandle(NULL, (void *)(intptr_t)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CUmemAllocationProp p = prop_dev(0);
    p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    MUST(cuMemCreate(&h, GRAN, &p, 0));
    K("null.export", cuMemExportToShareableHandle(NULL, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    int fd = -1;
    K("export.0", cuMemExportToShareableHandle(&fd, 0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    K("export", cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    cuMemRelease(h);
    imported("behind release", fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, NULL);
    imported("twice", fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, NULL);
    int copy = dup(fd);
    close(fd);
    imported("dup", copy, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, NULL);
    say_as("released");
}

const struct group groups[] = { { "create", g_create, 1 },
                                { "fabric", g_fabric, 1 },
                                { "rest", g_rest, 1 },
                                { "granularity", g_granularity, 1 },
                                { "pass", g_pass, 1 },
                                { "strange", g_strange, 1 },
                                { 0 } };
