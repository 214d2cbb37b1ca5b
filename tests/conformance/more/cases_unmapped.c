/* Managed memory that the program itself unmaps, moves, or maps something over: what is left of it, and for whom. */
#define FILLED(at, n) k_fill(at, (uint32_t)((n) / 64), 16, 0x41414141)
#include "own.h"

static long result(long r) { return r < 0 ? -errno : r; }

static const char *peeked(CUdeviceptr at)
{
    *(volatile uint32_t *)out = 0xabad1dea;
    CUresult r = k_peek(at, out);
    if (!r) r = cuCtxSynchronize();
    return r ? rname(r) : keyf("%x", *(volatile uint32_t *)out);
}

/* ---- what the program does to p + MiB, of which a MiB (of all SIZE, where that is said) */

static const char *const ways[] = { "unmap", "unmap_all", "unmap_page", "unmap_head", "unmap_tail", "move", "move_all", "leave", "shrink",
                                    "grow", "over", "over_shared", "remove", "dodump", "msync", "locked", "sealed" };
static char *moved; /* where it is now, if it was moved */

static void *room(size_t size) { return mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

static long do_it(const char *how)
{
    char *a = (char *)p, *q;
    moved = NULL;
#define IS(name) !strcmp(how, name)
    if (IS("unmap")) return result(munmap(a + MiB, MiB));
    if (IS("unmap_all")) return result(munmap(a, SIZE));
    if (IS("unmap_page")) return result(munmap(a + MiB, PAGE));
    if (IS("unmap_head")) return result(munmap(a, 2 * MiB));
    if (IS("unmap_tail")) return result(munmap(a + MiB, 3 * MiB));
    if (IS("remove")) return result(madvise(a + MiB, MiB, MADV_REMOVE));
    if (IS("dodump")) return result(madvise(a + MiB, MiB, MADV_DODUMP));
    if (IS("msync")) return result(msync(a + MiB, MiB, MS_SYNC));
    if (IS("locked")) return result(mlock(a + MiB, MiB)) | result(munlock(a + MiB, MiB));
    if (IS("sealed")) return result(mprotect(a + MiB, MiB, PROT_NONE)) | result(munmap(a + MiB, MiB));
    if (IS("over") || IS("over_shared")) {
        q = mmap(a + MiB, MiB, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_ANONYMOUS | (IS("over") ? MAP_PRIVATE : MAP_SHARED), -1, 0);
        return q == MAP_FAILED ? -errno : q != a + MiB;
    }
    q = IS("move")       ? mremap(a + MiB, MiB, MiB, MREMAP_MAYMOVE | MREMAP_FIXED, room(MiB))
        : IS("move_all") ? mremap(a, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, room(SIZE))
        : IS("leave")    ? mremap(a + MiB, MiB, MiB, MREMAP_MAYMOVE | 4, NULL)
        : IS("shrink")   ? mremap(a, SIZE, MiB, 0)
                         : mremap(a, SIZE, 2 * SIZE, MREMAP_MAYMOVE);
    if (q == MAP_FAILED) return -errno;
    if (IS("move") || IS("move_all") || IS("leave")) moved = IS("move_all") ? q + MiB : q;
    return 0;
}

static const char *how_of(const char *name) { return strchr(strchr(name, '.') + 1, '.') + 1; }

static void begin_changed(const char *name)
{
    begin();
    MUST(cuMemAllocManaged(&p, SIZE, 1));
    settle(p, SIZE, place);
    SAID("does", "%ld", do_it(how_of(name)));
}

/* ---- questions; each in a process of its own */

static void what_the_host_sees(const char *name)
{
    begin_changed(name);
    SAID("before", "%s", word_at(p, 0));
    SAID("inside", "%s", word_at(p + MiB, 0));
    SAID("within", "%s", word_at(p + MiB + 9 * PAGE, 0));
    SAID("behind", "%s", word_at(p + 2 * MiB, 0));
    SAID("store", "%s", word_at(p + MiB, 5));
    SAID("stored", "%s", word_at(p + MiB, 0));
    if (moved) SAID("moved", "%s", word_at((CUdeviceptr)moved, 0));
    if (moved) SAID("moved.store", "%s", word_at((CUdeviceptr)moved + 64, 7));
}

static void what_calls_answer(const char *name)
{
    CUdeviceptr base;
    size_t size;
    int v = 77, w = 77;
    begin_changed(name);
    CUresult r = cuMemGetAddressRange(&base, &size, p + MiB);
    SAID("range", "%s %d %zu", rname(r), !r && base == p, r ? 0 : size);
    r = cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_IS_MANAGED, p + MiB);
    SAID("managed", "%s %d", rname(r), v);
    r = cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_MAPPED, p + MiB);
    SAID("mapped", "%s %d", rname(r), v);
    r = cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + MiB);
    SAID("type", "%s %d", rname(r), v);
    v = w = 77;
    r = cuMemRangeGetAttribute(&v, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, SIZE);
    CUresult q = cuMemRangeGetAttribute(&w, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p + MiB, PAGE);
    SAID("attribute", "%s %d %s %d", rname(r), v, rname(q), w);
    ANSWERED("advise.hole", cuMemAdvise(p + MiB, PAGE, 1, loc(1, 0)));
    ANSWERED("advise.before", cuMemAdvise(p, PAGE, 1, loc(1, 0)));
    ANSWERED("advise.behind", cuMemAdvise(p + 2 * MiB, PAGE, 1, loc(1, 0)));
    v = w = 77;
    r = cuMemRangeGetAttribute(&v, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, PAGE);
    q = cuMemRangeGetAttribute(&w, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p + MiB, PAGE);
    SAID("advised", "%s %d %s %d", rname(r), v, rname(q), w);
    ANSWERED("advise", cuMemAdvise(p, SIZE, 1, loc(1, 0)));
    ANSWERED("unadvise", cuMemAdvise(p, SIZE, 2, loc(1, 0)));
    ANSWERED("prefer", cuMemAdvise(p, SIZE, 3, loc(1, 0)));
    ANSWERED("accessed", cuMemAdvise(p, SIZE, 5, loc(1, 0)));
    v = w = 77;
    r = cuMemRangeGetAttribute(&v, 4, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, SIZE);
    q = cuMemRangeGetAttribute(&w, 4, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p + MiB, PAGE);
    SAID("preferred", "%s %d %s %d", rname(r), v, rname(q), w);
    ANSWERED("prefetch.before", cuMemPrefetchAsync(p, PAGE, loc(1, 0), 0, s));
    ANSWERED("prefetch.hole", cuMemPrefetchAsync(p + MiB, PAGE, loc(1, 0), 0, s));
    ANSWERED("sync", cuStreamSynchronize(s));
    ANSWERED("prefetch", cuMemPrefetchAsync(p, SIZE, loc(1, 0), 0, s));
    ANSWERED("sync2", cuStreamSynchronize(s));
    ANSWERED("home", cuMemPrefetchAsync(p, SIZE, loc(2, 0), 0, s));
    ANSWERED("sync3", cuStreamSynchronize(s));
    v = 77;
    r = cuMemRangeGetAttribute(&v, 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p, SIZE);
    SAID("last", "%s %d", rname(r), v);
    SAID("then", "%s", word_at(p, 0));
    SAID("then.inside", "%s", word_at(p + MiB, 0));
    SAID("then.behind", "%s", word_at(p + 2 * MiB, 0));
    ANSWERED("attach", cuStreamAttachMemAsync(s, p, 0, 1));
    ANSWERED("free", cuMemFree(p));
    SAID("freed", "%s", word_at(p, 0));
    SAID("freed.inside", "%s", word_at(p + MiB, 0));
    ANSWERED("again", cuMemAllocManaged(&p, SIZE, 1));
    SAID("again.store", "%s", word_at(p + MiB, 6));
    SAID("again.poke", "%s", poked(p + MiB + 64, 8));
    SAID("again.inside", "%s", word_at(p + MiB, 0));
    SAID("again.poked", "%s", word_at(p + MiB + 64, 0));
}

static void what_a_device_sees_before(const char *name)
{
    begin_changed(name);
    SAID("peek.before", "%s", peeked(p));
    SAID("peek.behind", "%s", peeked(p + 3 * MiB));
    SAID("peek.last", "%s", peeked(p + MiB - 4));
}

static void what_a_device_sees_inside(const char *name)
{
    begin_changed(name);
    SAID("peek.inside", "%s", peeked(p + MiB));
    SAID("peek.then", "%s", word_at(p, 0));
}

static void what_a_device_writes_inside(const char *name)
{
    begin_changed(name);
    SAID("poke.inside", "%s", poked(p + MiB, 3));
    SAID("poke.then", "%s", word_at(p + MiB, 0));
}

static void what_a_device_sees_where_it_is_now(const char *name)
{
    begin_changed(name);
    if (moved) SAID("peek.moved", "%s", peeked((CUdeviceptr)moved));
}

static void what_is_copied_from_it(const char *name)
{
    begin_changed(name);
    memset((void *)out, 0, 128);
    ANSWERED("copy.edge", cuMemcpyDtoH((void *)out, p + MiB - 64, 128));
    SAID("copy.bytes", "%x %x", *(volatile uint32_t *)out, *(volatile uint32_t *)(out + 64));
    ANSWERED("copy.sync", cuCtxSynchronize());
}

static void what_is_copied_to_it(const char *name)
{
    begin_changed(name);
    ANSWERED("write.edge", cuMemcpyHtoD(p + MiB - 64, (void *)out, 128));
    ANSWERED("write.sync", cuCtxSynchronize());
    SAID("write.then", "%s", word_at(p + MiB, 0));
}

static void what_is_set_there(const char *name)
{
    begin_changed(name);
    ANSWERED("set", cuMemsetD8(p + MiB, 9, 64));
    ANSWERED("set.sync", cuCtxSynchronize());
    SAID("set.then", "%s", word_at(p + MiB, 0));
}

static void what_is_freed_at_once(const char *name)
{
    begin_changed(name);
    ANSWERED("free.first", cuMemFree(p));
    SAID("free.inside", "%s", word_at(p + MiB, 0));
    ANSWERED("free.again", cuMemAllocManaged(&p, SIZE, 1));
    SAID("free.store", "%s", word_at(p + MiB, 6));
}

static void ask(const char *how, int where)
{
    static void (*const questions[])(const char *) = { what_the_host_sees, what_calls_answer, what_a_device_sees_before,
        what_a_device_sees_inside, what_a_device_writes_inside, what_a_device_sees_where_it_is_now, what_is_copied_from_it,
        what_is_copied_to_it, what_is_set_there, what_is_freed_at_once };
    place = where;
    for (unsigned k = 0; k < COUNT(questions); k++) apart(keyf("%s.q%u.%s", places[place], k, how), questions[k]);
}

/* ---- small allocations, that share their mapping with others: what is unmapped of it stays so */

static void small(const char *name)
{
    CUdeviceptr a[4], b, c, keep;
    size_t n = atoi(strchr(name, '.') + 1) * 1024;
    int dev = strchr(name, 'd') != NULL;
    begin();
    MUST(cuMemAllocManaged(&keep, 4096, 1));
    for (int k = 0; k < 4; k++) {
        MUST(cuMemAllocManaged(&a[k], n, 1));
        memset((void *)a[k], 0x30 + k, n);
    }
    SAID("apart", "%ld %ld", (long)(a[1] - a[0]), (long)(a[2] - a[1]));
    SAID("does", "%d", munmap((void *)a[1], n));
    SAID("gone", "%s", word_at(a[1], 0));
    SAID("others", "%s %s", word_at(a[0], 0), word_at(a[2], 0));
    ANSWERED("free", cuMemFree(a[1]));
    ANSWERED("again", cuMemAllocManaged(&b, n, 1));
    SAID("same", "%d", b == a[1]);
    if (dev) SAID("device", "%s", peeked(b));
    SAID("host", "%s", word_at(b, 9));
    SAID("host2", "%s", word_at(b, 0));
    ANSWERED("more", cuMemAllocManaged(&c, n, 1));
    SAID("more.same", "%d", c == a[1]);
    SAID("more.host", "%s", word_at(c, 9));
    if (dev) SAID("others2", "%s", peeked(a[2]));
}
static void all_gone(const char *name)
{
    CUdeviceptr a, b;
    begin();
    MUST(cuMemAllocManaged(&a, 65536, 1));
    memset((void *)a, 1, 65536);
    SAID("does", "%d", munmap((void *)a, 65536));
    ANSWERED("free", cuMemFree(a));
    ANSWERED("again", cuMemAllocManaged(&b, 65536, 1));
    SAID("host", "%s", word_at(b, 9));
    SAID("device", "%s", peeked(b));
}
static void g_small(void)
{
    static const char *const sizes[] = { "s.4", "s.64", "s.128", "sd.64", "d.256" };
    for (unsigned k = 0; k < COUNT(sizes); k++) apart(sizes[k], small);
    apart("all", all_gone);
}

#define FROM(n, where) static void g_##n##where(void) { ask(ways[n], where); }
#define WAY(n) FROM(n, FRESH) FROM(n, HOST) FROM(n, DEVICE) FROM(n, BOTH) FROM(n, THERE)
#define GROUP(n, where) { "unmapped_" #n "_" #where, g_##n##where, 1 }
#define GROUPS(n) GROUP(n, FRESH), GROUP(n, HOST), GROUP(n, DEVICE), GROUP(n, BOTH), GROUP(n, THERE)
WAY(0) WAY(1) WAY(2) WAY(3) WAY(4) WAY(5) WAY(6) WAY(7) WAY(8) WAY(9) WAY(10) WAY(11) WAY(12) WAY(13) WAY(14) WAY(15) WAY(16)
const struct group groups[] = { GROUPS(0), GROUPS(1), GROUPS(2), GROUPS(3), GROUPS(4), GROUPS(5), GROUPS(6), GROUPS(7), GROUPS(8),
    GROUPS(9), GROUPS(10), GROUPS(11), GROUPS(12), GROUPS(13), GROUPS(14), GROUPS(15), GROUPS(16), { "small", g_small, 1 }, { 0 } };
