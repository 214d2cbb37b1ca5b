/* Pools that two processes share: random steps (dice.h) of the one that made them and of one that imported them, by turns.
 * Nothing is imported that its owner has freed. */
#define CRASHES " lentout_7705.202 lentout_7706.157 lentout_7707.271 lentout_7708.253 "
#include "turns.h"

enum { POOLS = 4, SLOTS = 10, COPIES = 5, SEEN = 10 };
enum order {
    IMPORT_POOL,
    IMPORT_POINTER,
    FREE,
    FREE_NOW,
    TELL,
    READ,
    WRITE,
    DESTROY,
    POOL,
    SYNC,
    ALLOC,
    ACCESS,
    ATTRIBUTE,
    EXPORT
};

struct ask {
    enum order what;
    int pool, slot, a;
    bool nearest; /* if there is none, the next that there is */
    unsigned long long value;
    CUmemPoolPtrExportData data;
};

static struct {
    CUmemoryPool handle;
    int fd;
} pools[POOLS];
static struct {
    CUdeviceptr p;
    int pool;
    unsigned value; /* what is in it */
    CUmemPoolPtrExportData data;
    bool exported, live;
} slots[SLOTS];
static CUstream stream;

/* ---- the other process */

static CUmemoryPool copies[COPIES];
static CUdeviceptr seen[SEEN], seen_here[64];
static int places;

static const char *same_place(CUdeviceptr p)
{
    for (int k = 0; k < places; k++)
        if (seen_here[k] == p) return "again";
    if (places < 64) seen_here[places++] = p;
    return "new";
}

static void forget_place(CUdeviceptr p)
{
    for (int k = 0; k < places; k++)
        if (seen_here[k] == p) seen_here[k] = seen_here[--places];
}

static void tell_pointer(CUdeviceptr p)
{
    size_t n = 0;
    CUdeviceptr b = 0;
    CUmemoryPool q = NULL;
    int v = 77;
    CUresult r = cuMemGetAddressRange(&b, &n, p);
    add(" range %s", rname(r));
    if (!r) add(" %ld %zu", (long)(p - b), n);
    r = cuPointerGetAttribute(&q, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p);
    int k = 0;
    while (k < COPIES && copies[k] != q) k++;
    add(" pool %s %d", rname(r), q ? k : -1);
    static const int some[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,  CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
                                CU_POINTER_ATTRIBUTE_MAPPED,       CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL };
    for (int j = 0; j < 6; j++) {
        v = 0;
        r = cuPointerGetAttribute(&v, (CUpointer_attribute)some[j], p);
        if (r)
            add(" %s", rname(r));
        else
            add(" %d", some[j] == CU_POINTER_ATTRIBUTE_MAPPED ? v & 255 : v);
    }
    size_t size = 0;
    r = cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, p);
    r = r ? r : cuPointerGetAttribute(&b, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, p);
    if (r)
        add(" %s", rname(r));
    else
        add(" in %zu at %ld", size, (long)(p - b));
}

static void tell_pool(CUmemoryPool p)
{
    for (int a = 1; a <= 8; a++) {
        unsigned long long v = 0;
        CUresult r = cuMemPoolGetAttribute(p, (CUmemPool_attribute)a, &v);
        if (r)
            add(" %s", rname(r));
        else
            add(" %lld", (long long)v);
    }
    for (int k = 1; k <= 3; k++) {
        CUmemAccess_flags f = 9;
        CUmemLocation l = loc(k, 0);
        CUresult r = cuMemPoolGetAccess(&f, p, &l);
        add(" %s %d", rname(r), f);
    }
}

static void do_it(const struct ask *q, int fd)
{
    CUdeviceptr p = 5;
    CUmemoryPool m = NULL;
    CUresult r;
    unsigned v = 0;
    struct ask found = *q;
    if (q->nearest && q->what > IMPORT_POINTER) {
        for (int k = 0; k < SEEN && !seen[found.slot]; k++) found.slot = (found.slot + 1) % SEEN;
        for (int k = 0; k < COPIES && !copies[found.pool]; k++) found.pool = (found.pool + 1) % COPIES;
        add(" c%d %d", found.pool, found.slot);
        q = &found;
    }
    switch (q->what) {
    case IMPORT_POOL:
        r = cuMemPoolImportFromShareableHandle(&m, (void *)(long)fd, (CUmemAllocationHandleType)q->a, q->value);
        add(" %s", rname(r));
        if (fd > 0) close(fd);
        if (r) break;
        if (copies[q->pool]) add(" old %s", rname(cuMemPoolDestroy(copies[q->pool])));
        for (int k = 0; k < COPIES; k++)
            if (copies[k] == m && k != q->pool) add(" as %d", k);
        copies[q->pool] = m;
        break;
    case IMPORT_POINTER:
        r = cuMemPoolImportPointer(&p, copies[q->pool], (CUmemPoolPtrExportData *)&q->data);
        add(" %s", rname(r));
        if (r) break;
        add(" %s", same_place(p));
        seen[q->slot] = p;
        break;
    case FREE:
    case FREE_NOW:
        r = q->what == FREE ? cuMemFreeAsync(seen[q->slot], stream) : cuMemFree(seen[q->slot]);
        add(" %s", rname(r));
        if (!r) forget_place(seen[q->slot]);
        if (q->value) seen[q->slot] = 0;
        break;
    case TELL: tell_pointer(seen[q->slot] + (CUdeviceptr)q->a); break;
    case READ:
        r = cuMemcpyDtoH(&v, seen[q->slot], 4);
        add(" %s %x", rname(r), v);
        break;
    case WRITE:
        r = cuMemsetD32(seen[q->slot], (unsigned)q->value, 1);
        add(" %s", rname(r));
        break;
    case DESTROY:
        add(" %s", rname(cuMemPoolDestroy(copies[q->pool])));
        copies[q->pool] = NULL;
        break;
    case POOL: tell_pool(copies[q->pool]); break;
    case SYNC: add(" %s", rname(cuStreamSynchronize(stream))); break;
    case ALLOC:
        r = cuMemAllocFromPoolAsync(&p, 4096, copies[q->pool], stream);
        add(" %s %s", rname(r), p == 5 ? "kept" : p ? "some" : "0");
        r = cuMemPoolTrimTo(copies[q->pool], 0);
        add(" trim %s", rname(r));
        CUmemLocation l = loc(1, 0);
        add(" current %s", rname(cuMemSetMemPool(&l, CU_MEM_ALLOCATION_TYPE_PINNED, copies[q->pool])));
        break;
    case ACCESS: {
        CUmemAccessDesc d = { loc(1 + q->a % 3, 0), (CUmemAccess_flags)q->value };
        add(" %s", rname(cuMemPoolSetAccess(copies[q->pool], &d, 1)));
        break;
    }
    case ATTRIBUTE: {
        unsigned long long n = q->value;
        add(" %s", rname(cuMemPoolSetAttribute(copies[q->pool], (CUmemPool_attribute)q->a, &n)));
        break;
    }
    case EXPORT: {
        int g;
        CUmemPoolPtrExportData e;
        add(" %s",
            rname(cuMemPoolExportToShareableHandle(&g, copies[q->pool], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0)));
        add(" %s", rname(cuMemPoolExportPointer(&e, seen[q->slot])));
    }
    }
}

static void other(void)
{
    struct ask q;
    setup();
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (;;) {
        int fd = received(&q, sizeof q);
        used = 0, line[0] = 0;
        do_it(&q, fd);
        if (cuCtxSynchronize()) add(" broken");
        answer();
    }
}

/* ---- the owner */

static void figures(int k)
{
    unsigned long long v[4] = { 0 };
    for (int a = 0; a < 4; a++) cuMemPoolGetAttribute(pools[k].handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT + a, &v[a]);
    add(" | p%d %llu/%llu %llu/%llu", k, v[0] >> 20, v[1] >> 20, v[2], v[3]);
}

static CUmemoryPool make(int k)
{
    CUmemPoolProps x = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                         .location = loc(k == 2 ? 3 : 1, 0),
                         .handleTypes = k == 3 ? 0 : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR };
    CUmemoryPool p;
    unsigned long long n = draw(2) ? -1ull : 0;
    MUST(cuMemPoolCreate(&p, &x));
    MUST(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &n));
    CUmemAccessDesc d = { loc(1, 0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    if (k == 2) MUST(cuMemPoolSetAccess(p, &d, 1));
    return p;
}

static void export_of(int k)
{
    int fd = -1;
    MUST(cuMemPoolExportToShareableHandle(&fd, pools[k].handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    struct ask q = { .what = IMPORT_POOL, .pool = k, .a = 1 };
    ask(&q, sizeof q, fd);
    close(fd);
}

static void begin(void)
{
    two_processes(other);
    setup();
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int k = 0; k < POOLS; k++) pools[k].handle = make(k);
    for (int k = 0; k < 3; k++) export_of(k);
    say();
}

static void take(int i)
{
    static const size_t sizes[] = { 1, 700, 4096, 100000, 2 * MiB, 5 * MiB, 33 * MiB };
    size_t n = sizes[draw(7)];
    int k = (int)draw(POOLS);
    CUresult r = cuMemAllocFromPoolAsync(&slots[i].p, n, pools[k].handle, stream);
    add("take %d p%d %zu %s", i, k, n, rname(r));
    if (r) return;
    slots[i].pool = k;
    slots[i].value = (unsigned)step;
    slots[i].exported = false;
    slots[i].live = true;
    MUST(cuMemsetD8Async(slots[i].p, (unsigned char)step, n < 4 ? n : 4, stream));
    MUST(cuStreamSynchronize(stream));
    figures(k);
}

static void give(int i)
{
    add("give %d %s", i, rname(cuMemFreeAsync(slots[i].p, stream)));
    if (draw(2)) add(" sync %s", rname(cuStreamSynchronize(stream)));
    slots[i].live = false;
    figures(slots[i].pool);
}

static void export_pointer(int i)
{
    CUmemPoolPtrExportData d;
    size_t off = draw(6) ? 0 : draw(2) ? 1 : 512;
    for (int k = 0; k < SLOTS && !slots[i].live; k++) i = (i + 1) % SLOTS;
    CUresult r = cuMemPoolExportPointer(&d, slots[i].p + off);
    add("export %d+%zu %s", i, off, rname(r));
    if (r) return;
    slots[i].data = d;
    slots[i].exported = true;
}

static void export_pool(void)
{
    static const int odd[] = { 0, 2, 4, 8, 3, 1 };
    int k = (int)draw(POOLS), fd = -1, type = draw(6) ? 1 : odd[draw(6)];
    unsigned long long flags = draw(12) ? 0 : 1;
    CUresult r = cuMemPoolExportToShareableHandle(&fd, pools[k].handle, (CUmemAllocationHandleType)type, flags);
    struct ask q = { .what = IMPORT_POOL,
                     .pool = draw(8) ? k : COPIES - 1,
                     .a = draw(8) ? 1 : odd[draw(6)],
                     .value = draw(12) ? 0 : 1 };
    add("pool p%d %d %llu %s: c%d %d %llu", k, type, flags, rname(r), q.pool, q.a, q.value);
    if (r) return;
    ask(&q, sizeof q, fd);
    close(fd);
}

static void import_pointer(int i)
{
    for (int k = 0; k < SLOTS && !(slots[i].exported && slots[i].live); k++) i = (i + 1) % SLOTS;
    if (slots[i].exported && !slots[i].live) return;
    struct ask q = { .what = IMPORT_POINTER, .slot = (int)draw(SEEN), .data = slots[i].data };
    q.pool = draw(5) ? slots[i].pool : (int)draw(COPIES);
    if (draw(20) == 0) memset(&q.data, 0, sizeof q.data);
    add("import %d %s%s: c%d %d", i, slots[i].exported ? "exported" : "not exported", slots[i].live ? "" : " freed",
        q.pool, q.slot);
    ask(&q, sizeof q, -1);
}

static void ask_other(void)
{
    static const enum order some[] = { FREE, FREE, FREE_NOW, TELL,   TELL,      TELL,  DESTROY,
                                       POOL, SYNC, ALLOC,    ACCESS, ATTRIBUTE, EXPORT };
    static const char *const names[] = { "free", "free", "freenow", "tell",   "tell",      "tell",  "destroy",
                                         "pool", "sync", "alloc",   "access", "attribute", "export" };
    unsigned k = draw(13);
    struct ask q = { .what = some[k], .pool = (int)draw(COPIES), .slot = (int)draw(SEEN) };
    q.nearest = draw(8) != 0;
    if (q.what == DESTROY && draw(3)) q.what = SYNC, k = 8;
    if (q.what == FREE || q.what == FREE_NOW) q.value = draw(3) != 0;
    if (q.what == TELL) q.a = draw(3) ? 0 : draw(2) ? 600 : 70000;
    if (q.what == ACCESS) q.a = (int)draw(3), q.value = draw(2) * 3;
    if (q.what == ATTRIBUTE) q.a = 1 + (int)draw(8), q.value = draw(2);
    add("other %s c%d %d %d %llu:", names[k], q.pool, q.slot, q.a, q.value);
    ask(&q, sizeof q, -1);
}

static void owners_pool(void)
{
    int k = (int)draw(POOLS);
    if (draw(4) == 0) {
        add("renew p%d %s", k, rname(cuMemPoolDestroy(pools[k].handle)));
        pools[k].handle = make(k);
        if (k < 3) export_of(k);
    } else
        add("trim p%d %s", k, rname(cuMemPoolTrimTo(pools[k].handle, 0)));
    figures(k);
}

static void call(void)
{
    int i = (int)draw(SLOTS);
    switch (draw(12)) {
    case 0:
    case 1:
    case 2: slots[i].live ? give(i) : take(i); break;
    case 3:
    case 4: export_pointer(i); break;
    case 5:
    case 6:
    case 7: import_pointer(i); break;
    case 8: export_pool(); break;
    case 9:
    case 10: ask_other(); break;
    default: owners_pool();
    }
    say();
}

#define W(seed) WALK(lentout, seed, 300, begin, call)
#define LISTED(seed) WALKED(lentout, seed),
#define SEEDS_ASKED(X) \
    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(7701) X(7702) X(7703) X(7704) X(7705) X(7706) X(7707) X(7708)
SEEDS_ASKED(W)

const struct group groups[] = { SEEDS_ASKED(LISTED){ 0 } };
