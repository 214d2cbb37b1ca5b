/* Mappings with holes between them: which pages a call changes that is told of all of them. A round is some mappings
 * and then random calls; in a state a page is x where nothing is mapped, else its access. */
#include "oracle.h"

enum { PAGES = 10, ROUNDS = 400, CALLS = 8 };
#define GRAN (2 * MiB)
static uint64_t st;
static CUdeviceptr v;
static struct {
    CUmemGenericAllocationHandle h;
    int at, len;
} maps[PAGES];
static int count, number, line;

static unsigned rnd(unsigned n)
{
    st = st * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(st >> 33) % n;
}

static void say(const char *text)
{
    rec(keyf("%d.%d", number, line++), "%s", text);
}

static void map_some(void)
{
    CUmemAllocationProp p = prop_dev(0);
    char layout[PAGES + 1] = "..........";
    count = 0;
    for (int i = 0, l; i < PAGES; i += l) {
        l = 1 + (int)rnd(3);
        if (i + l > PAGES) l = PAGES - i;
        if (rnd(10) >= 7) continue;
        MUST(cuMemCreate(&maps[count].h, l * GRAN, &p, 0));
        MUST(cuMemMap(v + i * GRAN, l * GRAN, 0, maps[count].h, 0));
        for (int k = 0; k < l; k++) layout[i + k] = (char)('a' + count);
        maps[count].at = i;
        maps[count++].len = l;
    }
    say(layout);
}

static void say_state(const char *op, int page, int pages, CUresult r)
{
    char s[PAGES + 1] = "";
    for (int i = 0; i < PAGES; i++) {
        unsigned long long f = 9;
        CUmemLocation l = loc(1, 0);
        s[i] = cuMemGetAccess(&f, &l, v + i * GRAN) ? 'x' : (char)('0' + f);
    }
    say(keyf("%s %d+%d %s %s", op, page, pages, rname(r), s));
}

static void say_locations(int page)
{
    static const int types[] = { 2, 3, 4, 1 };
    unsigned long long f[4] = { 9, 9, 9, 9 };
    CUresult r[4];
    for (int q = 0; q < 4; q++) {
        CUmemLocation l = loc(types[q], 0);
        r[q] = cuMemGetAccess(&f[q], &l, v + page * GRAN);
    }
    say(keyf("get %d %d:%llu %d:%llu %d:%llu %d:%llu", page, r[0], f[0], r[1], f[1], r[2], f[2], r[3], f[3]));
}

static CUresult set(int page, int pages, int type, int flags)
{
    CUmemAccessDesc d = { loc(type, 0), (CUmemAccess_flags)flags };
    return cuMemSetAccess(v + page * GRAN, pages * GRAN, &d, 1);
}

static void one_call(void)
{
    static const int flags[] = { 0, 1, 3, 3 };
    unsigned op = rnd(10);
    int i = (int)rnd(PAGES), l = 1 + (int)rnd((unsigned)(PAGES - i));
    if (count && rnd(2)) {
        int from = (int)rnd((unsigned)count), to = from + (int)rnd((unsigned)(count - from));
        i = maps[from].at;
        l = maps[to].at + maps[to].len - i;
    }
    if (op < 7) {
        int f = flags[rnd(4)];
        say_state(keyf("set%d", f), i, l, set(i, l, 1, f));
    } else if (op < 8) {
        say_state("unmap", i, l, cuMemUnmap(v + i * GRAN, l * GRAN));
    } else if (op < 9) {
        say_state("sethost", i, l, set(i, l, 2, 3));
    } else {
        say_locations(i);
    }
}

static void g_holes(void)
{
    setup();
    for (number = 0; number < ROUNDS; number++) {
        st = (uint64_t)number * 77777 + 5;
        line = 0;
        MUST(cuMemAddressReserve(&v, PAGES * GRAN, 0, 0, 0));
        map_some();
        for (int k = 0; k < CALLS; k++) one_call();
        cuMemUnmap(v, PAGES * GRAN);
        for (int k = 0; k < count; k++) MUST(cuMemRelease(maps[k].h));
        MUST(cuMemAddressFree(v, PAGES * GRAN));
    }
}

const struct group groups[] = { { "holes", g_holes, 1 }, { 0 } };
