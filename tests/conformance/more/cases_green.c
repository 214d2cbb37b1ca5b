/* Green contexts: random steps (walk.h) that divide multiprocessors, rightly and wrongly, and make contexts of them. */
#include "walk.h"

enum { RESOURCES = 8, GREENS = 4 };
static CUdevResource resources[RESOURCES];
static CUdevResourceDesc descriptors[4];
static CUgreenCtx greens[GREENS];
static int greens_made;

static const char *resource_text(const CUdevResource *x)
{
    return x->type == CU_DEV_RESOURCE_TYPE_SM
               ? keyf("sm%u/%u/%u", x->sm.smCount, x->sm.minSmPartitionSize, x->sm.smCoscheduledAlignment)
               : keyf("type%d", x->type);
}

static void green_step(void)
{
    int i = (int)rnd(RESOURCES), j = (int)rnd(RESOURCES), g = (int)rnd(GREENS), d = (int)rnd(4);
    unsigned count = rnd(6), flags = rnd(3) ? 0 : rnd(5),
             least = rnd(3) ? rnd(140) : (unsigned[]){ 0, 1, 2, 8, 16, 132, 133, 1000, ~0u }[rnd(9)];
    CUdevResource out[8] = { 0 }, rest = { 0 };
    char *t = text();
    CUresult r;
    CUcontext c = NULL;
    CUstream s = NULL;
    unsigned long long id = 0;
    switch (rnd(14)) {
    case 0: {
        CUdevResourceType type = (CUdevResourceType)(rnd(3) ? CU_DEV_RESOURCE_TYPE_SM : rnd(4));
        int device = rnd(8) ? 0 : -1;
        CUdevResource x = { 0 };
        r = cuDeviceGetDevResource(device, rnd(10) ? &x : NULL, type);
        if (!r) resources[i] = x;
        SAY("device %d d%d t%d = %s %s", i, device, type, rname(r), resource_text(&x));
        break;
    }
    case 1:
    case 2:
    case 3:
    case 4: {
        bool ask = rnd(4) == 0, with_rest = rnd(3) > 0;
        unsigned n = ask ? rnd(3) : count;
        r = cuDevSmResourceSplitByCount(ask ? NULL : out, rnd(20) ? &n : NULL, &resources[i], with_rest ? &rest : NULL,
                                        flags, least);
        for (unsigned k = 0; k < n && k < 8 && !r && !ask; k++) add(t, " %s", resource_text(&out[k]));
        SAY("split %d %s ask%d n%u f%u least%u = %s %u%s, rest %s", i, resource_text(&resources[i]), ask, count, flags,
            least, rname(r), n, t, with_rest ? resource_text(&rest) : "-");
        if (!r && !ask && n) resources[j] = out[rnd(n)];
        if (!r && with_rest && rnd(3) == 0) resources[(j + 1) % RESOURCES] = rest;
        break;
    }
    case 5:
    case 6: {
        CUdevResource some[3];
        unsigned n = rnd(5) ? 1 : rnd(4);
        for (unsigned k = 0; k < 3; k++) some[k] = resources[(i + (int)k * (int)(1 + rnd(3))) % RESOURCES];
        for (unsigned k = 0; k < n; k++) add(t, " %s", resource_text(&some[k]));
        r = cuDevResourceGenerateDesc(rnd(10) ? &descriptors[d] : NULL, n ? some : NULL, n);
        SAY("describe %d n%u%s = %s", d, n, t, rname(r));
        break;
    }
    case 7:
    case 8: {
        CUgreenCtx x = NULL;
        unsigned f = rnd(5) ? 1 : rnd(4);
        int device = rnd(8) ? 0 : (int)rnd(3) - 1;
        if (greens[g] || greens_made >= 6 || !descriptors[d]) {
            r = cuGreenCtxCreate(&x, NULL, device, f);
            SAY("green none f%u d%d = %s", f, device, rname(r));
            break;
        }
        r = cuGreenCtxCreate(rnd(10) ? &x : NULL, descriptors[d], device, f);
        if (!r) greens[g] = x, greens_made++;
        SAY("green %d from %d f%u d%d = %s", g, d, f, device, rname(r));
        break;
    }
    case 9: {
        CUdevResource x = { 0 };
        CUdevResourceType type = (CUdevResourceType)(rnd(3) ? CU_DEV_RESOURCE_TYPE_SM : rnd(4));
        if (!greens[g]) {
            SAY("no green %d = %s", g, rname(cuGreenCtxGetDevResource(NULL, &x, type)));
            break;
        }
        r = cuGreenCtxGetDevResource(greens[g], rnd(10) ? &x : NULL, type);
        CUresult r2 = cuCtxFromGreenCtx(rnd(10) ? &c : NULL, greens[g]);
        CUdevResource y = { 0 };
        CUresult r3 = c ? cuCtxGetDevResource(c, &y, type) : 0;
        SAY("of %d t%d = %s %s, %s, %s %s", g, type, rname(r), resource_text(&x), rname(r2), rname(r3),
            resource_text(&y));
        break;
    }
    case 10: {
        CUgreenCtx of = NULL;
        CUcontext of1 = NULL;
        unsigned f = rnd(3) ? 1 : rnd(4);
        int p = (int)rnd(9) - 7;
        if (!greens[g]) {
            SAY("stream none = %s", rname(cuGreenCtxStreamCreate(&s, NULL, f, p)));
            break;
        }
        r = cuGreenCtxStreamCreate(rnd(10) ? &s : NULL, greens[g], f, p);
        int priority = -77;
        unsigned sf = 77;
        if (s) {
            cuStreamGetPriority(s, &priority);
            cuStreamGetFlags(s, &sf);
            CUresult r1 = cuStreamGetGreenCtx(s, &of), r2 = cuStreamGetCtx_v2(s, &of1, &of);
            add(t, " %s %s %d %d %s", rname(r1), rname(r2), of == greens[g], of1 != NULL, rname(cuStreamDestroy(s)));
        }
        SAY("stream %d f%u p%d = %s %d %u%s", g, f, p, rname(r), priority, sf, t);
        break;
    }
    case 11: {
        CUevent e = NULL;
        CUresult r0 = cuEventCreate(&e, 0);
        if (!greens[g] || r0) {
            SAY("record none = %s %s", rname(r0), rname(e ? cuGreenCtxRecordEvent(NULL, e) : 0));
            if (e) cuEventDestroy(e);
            break;
        }
        CUresult r1 = cuGreenCtxRecordEvent(greens[g], e), r2 = cuGreenCtxWaitEvent(greens[g], e),
                 r3 = cuEventSynchronize(e);
        SAY("record %d = %s %s %s", g, rname(r1), rname(r2), rname(r3));
        cuEventDestroy(e);
        break;
    }
    case 12: {
        if (!greens[g]) {
            SAY("id none = %s", rname(cuGreenCtxGetId(NULL, &id)));
            break;
        }
        r = cuGreenCtxGetId(greens[g], &id);
        if (rnd(4) == 0) {
            CUcontext now = NULL;
            cuCtxGetCurrent(&now);
            CUresult r2 = cuCtxFromGreenCtx(&c, greens[g]);
            if (now != c) {
                r2 = cuGreenCtxDestroy(greens[g]);
                greens[g] = NULL;
            }
            SAY("destroy %d = %s %s", g, rname(r), rname(r2));
            break;
        }
        SAY("id %d = %s %d", g, rname(r), id != 0);
        break;
    }
    default:
        if (greens[g] && !cuCtxFromGreenCtx(&c, greens[g])) {
            CUcontext back = NULL;
            CUdeviceptr p = 0;
            unsigned f = 77;
            CUdevice dev = -7;
            size_t v = 0;
            CUresult r1 = cuCtxPushCurrent(c), r2 = cuMemAlloc(&p, 4096), r3 = cuCtxGetFlags(&f),
                     r4 = cuCtxGetDevice(&dev), r5 = cuStreamCreate(&s, 0), r6 = cuCtxGetLimit(&v, CU_LIMIT_STACK_SIZE),
                     r7 = cuCtxSynchronize(), r8 = cuMemFree(p), r9 = cuCtxPopCurrent(&back);
            add(t, " %s %s %s %x %s %d %s %s %zu %s %s %s %d", rname(r1), rname(r2), rname(r3), f, rname(r4), dev,
                rname(r5), rname(r6), v, rname(r7), rname(r8), rname(r9), back == c);
            if (s) cuStreamDestroy(s);
        }
        SAY("within %d =%s", g, t);
    }
}

static void walk_green(uint64_t seed, int steps)
{
    setup();
    MUST(cuDeviceGetDevResource(0, &resources[0], CU_DEV_RESOURCE_TYPE_SM));
    resources[1] = resources[0];
    for (int i = 0; i < steps; i++) {
        walk_to(seed, i);
        green_step();
    }
}

/* How many groups of each size there are, and what is left. */
static void g_splits(void)
{
    setup();
    MUST(cuDeviceGetDevResource(0, &resources[0], CU_DEV_RESOURCE_TYPE_SM));
    for (unsigned f = 0; f <= 2; f++)
        for (unsigned least = 0; least <= 133; least++) {
            CUdevResource out[80] = { 0 }, rest = { 0 };
            unsigned n = 80, m = 77;
            CUresult q = cuDevSmResourceSplitByCount(NULL, &m, &resources[0], NULL, f, least),
                     r = cuDevSmResourceSplitByCount(out, &n, &resources[0], &rest, f, least);
            rec(keyf("f%u.%u", f, least), "%s %u %s %u %s %s", rname(q), m, rname(r), n, resource_text(&out[0]),
                resource_text(&rest));
        }
}

#define WALKS(i) \
    static void g_green_##i(void) { walk_green(0x##i, 400); }
#define SEEDS(X) X(01) X(02) X(03) X(1e15) X(1e16) X(1e17)
SEEDS(WALKS)
#define GROUPS(i) { "green_" #i, g_green_##i, 1 },
const struct group groups[] = { { "splits", g_splits, 1 }, SEEDS(GROUPS){ 0 } };
