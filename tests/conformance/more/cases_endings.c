/* Managed memory when something else ends: contexts, also those whose it is, streams it is attached to, modules and
 * libraries whose variables it is, a device that is reset. */
#define FILLED(at, n) cuMemsetD8(at, 0x41, n)
#include "own.h"

static CUdeviceptr q;

/* What is told of a pointer. */
static void told(const char *name, const char *when, CUdeviceptr at, CUcontext a, CUcontext b)
{
    CUcontext c = NULL;
    unsigned type = 99, is = 99, ordinal = 99, mapped = 99, sync = 99;
    CUdeviceptr start = 0, base = 0;
    size_t size = 0, range = 0;
    CUresult r[9] = { cuPointerGetAttribute(&c, CU_POINTER_ATTRIBUTE_CONTEXT, at),
                      cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at),
                      cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_IS_MANAGED, at),
                      cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at),
                      cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at),
                      cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at),
                      cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, at),
                      cuPointerGetAttribute(&sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at),
                      cuMemGetAddressRange(&base, &range, at) };
    for (int k = 0; k < 9; k++) add("%s", letter(r[k]));
    add(" %s type %d managed %d device %d start %d size %zu mapped %d sync %d base %d %zu",
        c == a ? "a" : c == b ? "b" : c == ctx0 ? "primary" : c ? "other" : "none", (int)type, (int)is, (int)ordinal, start == at, size,
        (int)mapped, (int)sync, base == at, range);
    say_as(keyf("%s.%s", name, when));
}

/* All that is done with it then. */
static void try_all(const char *given, CUdeviceptr at)
{
    char name[64];
    snprintf(name, sizeof name, "%s", given);
    int v = 77;
    SAID("host", "%s", word_at(at, 0));
    SAID("store", "%s", word_at(at + PAGE, 5));
    ANSWERED("advise", cuMemAdvise(at, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, loc(1, 0)));
    ANSWERED("fetch", cuMemPrefetchAsync(at, SIZE, loc(1, 0), 0, NULL));
    ANSWERED("sync", cuCtxSynchronize());
    ANSWERED("attribute", cuMemRangeGetAttribute(&v, 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, at, SIZE));
    SAID("last", "%d", v);
    ANSWERED("attach", cuStreamAttachMemAsync(NULL, at, 0, CU_MEM_ATTACH_GLOBAL));
    ANSWERED("copy", cuMemcpyDtoH((void *)out, at + PAGE, 4));
    SAID("copied", "%x", *(uint32_t *)out);
    ANSWERED("set", cuMemsetD8(at + MiB, 3, 8));
    ANSWERED("sync2", cuCtxSynchronize());
    SAID("value", "%s", word_at(at + MiB, 0));
}

/* ---- contexts */

static CUcontext made(void)
{
    CUcontext c;
    MUST(cuCtxCreate(&c, NULL, 0, dev0));
    return c;
}

/* p is of the first context, q of the second; which goes, with its memory alive? */
static void contexts(const char *name)
{
    begin();
    CUcontext a = made(), b;
    CUstream of_a;
    MUST(cuStreamCreate(&of_a, CU_STREAM_NON_BLOCKING));
    MUST(cuMemAllocManaged(&p, SIZE, CU_MEM_ATTACH_GLOBAL));
    settle(p, SIZE, place);
    if (strstr(name, "single")) MUST(cuStreamAttachMemAsync(of_a, p, 0, CU_MEM_ATTACH_SINGLE));
    if (strstr(name, "hosts")) MUST(cuStreamAttachMemAsync(of_a, p, 0, CU_MEM_ATTACH_HOST));
    if (strstr(name, "advised")) MUST(cuMemAdvise(p, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, loc(1, 0)));
    b = made();
    MUST(cuMemAllocManaged(&q, SIZE, CU_MEM_ATTACH_GLOBAL));
    settle(q, SIZE, place);
    told(name, "first_in_second", p, a, b);
    MUST(cuCtxSetCurrent(ctx0));
    told(name, "first_in_primary", p, a, b);
    MUST(cuCtxSetCurrent(NULL));
    told(name, "first_in_none", p, a, b);
    MUST(cuCtxSetCurrent(ctx0));
    if (strstr(name, "beside")) {
        MUST(cuCtxSetCurrent(a));
        MUST(cuMemPrefetchAsync(p, SIZE, loc(1, 0), 0, of_a));
        MUST(cuMemsetD8Async(p, 0x17, SIZE, of_a));
        MUST(cuMemPrefetchAsync(p, SIZE, loc(2, 0), 0, of_a));
        MUST(cuCtxSetCurrent(ctx0));
    }
    ANSWERED("destroy", cuCtxDestroy(a));
    told(name, "first", p, a, b);
    told(name, "second", q, a, b);
    try_all(keyf("%s.p", name), p);
    SAID("poke", "%s", poked(p, 9));
    SAID("poked", "%s", word_at(p, 0));
    ANSWERED("free", cuMemFree(p));
    ANSWERED("free_again", cuMemFree(p));
    SAID("q", "%s", word_at(q, 0));
    ANSWERED("q.free", cuMemFree(q));
    ANSWERED("sync", cuCtxSynchronize());
}

static void g_contexts(void)
{
    static const char *const how[] = { "plain", "single", "hosts", "advised", "beside" };
    for (place = FRESH; place <= BOTH; place++)
        for (unsigned k = 0; k < COUNT(how); k++) {
            if (k && place != HOST && place != FETCHED) continue;
            apart(keyf("%s.%s", places[place], how[k]), contexts);
        }
}

/* The primary context goes, by its last release or by a reset. */
static void primary(const char *name)
{
    begin();
    MUST(cuMemAllocManaged(&p, SIZE, CU_MEM_ATTACH_GLOBAL));
    settle(p, SIZE, place);
    CUcontext other = strstr(name, "other") ? made() : NULL;
    if (other) {
        MUST(cuMemAllocManaged(&q, SIZE, CU_MEM_ATTACH_GLOBAL));
        settle(q, SIZE, place);
    }
    if (strstr(name, "reset")) ANSWERED("reset", cuDevicePrimaryCtxReset(0));
    else ANSWERED("release", cuDevicePrimaryCtxRelease(0));
    told(name, "told", p, other, NULL);
    SAID("host", "%s", word_at(p, 0));
    ANSWERED("advise", cuMemAdvise(p, SIZE, 1, loc(1, 0)));
    ANSWERED("free", cuMemFree(p));
    if (other) {
        SAID("q.host", "%s", word_at(q, 0));
        ANSWERED("q.set", cuMemsetD8(q, 3, 8));
        ANSWERED("q.sync", cuCtxSynchronize());
        SAID("q", "%s", word_at(q, 0));
    }
    CUcontext again;
    ANSWERED("retain", cuDevicePrimaryCtxRetain(&again, 0));
    SAID("same", "%d", again == ctx0);
    ANSWERED("current", cuCtxSetCurrent(again));
    told(name, "again", p, other, NULL);
    ANSWERED("free2", cuMemFree(p));
    ANSWERED("alloc", cuMemAllocManaged(&p, SIZE, 1));
    ANSWERED("set", cuMemsetD8(p, 7, 8));
    ANSWERED("sync", cuCtxSynchronize());
    SAID("value", "%s", word_at(p, 0));
    if (other) ANSWERED("q.free", cuMemFree(q));
}

static void g_primary(void)
{
    for (place = FRESH; place <= BOTH; place++) {
        apart(keyf("%s.reset", places[place]), primary);
        apart(keyf("%s.release", places[place]), primary);
        apart(keyf("%s.reset_other", places[place]), primary);
        apart(keyf("%s.release_other", places[place]), primary);
    }
}

/* ---- streams */

static void attached(const char *name)
{
    static const int flags[] = { 1, 2, 4 };
    begin();
    CUstream other;
    MUST(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    int k = 0;
    for (int first = 0; first < 3; first++)
        for (int second = 0; second < 3; second++)
            for (int third = 0; third < 3; third++, k++) {
                MUST(cuMemAllocManaged(&p, SIZE, k & 1 ? 1 : 2));
                settle(p, SIZE, place);
                MUST(cuMemsetD8Async(p, 1, MiB, s));
                CUresult r1 = cuStreamAttachMemAsync(s, p, 0, flags[first]);
                MUST(cuMemsetD8Async(p, 2, MiB, other));
                CUresult r2 = cuStreamAttachMemAsync(other, p, SIZE, flags[second]);
                CUresult r3 = cuStreamAttachMemAsync(NULL, p, 0, flags[third]);
                CUresult r4 = cuStreamAttachMemAsync(s, p, 0, flags[third]);
                add("%s%s%s%s", letter(r1), letter(r2), letter(r3), letter(r4));
                r1 = k_poke(p + MiB, 7);
                add(" %s", letter(r1));
                r1 = cuCtxSynchronize();
                add(" %s %s", letter(r1), word_at(p + MiB, 0));
                say_as(keyf("%s.%d%d%d", name, flags[first], flags[second], flags[third]));
                MUST(cuMemFree(p));
            }
    /* the stream goes */
    for (int flag = 0; flag < 3; flag++) {
        CUstream gone;
        MUST(cuStreamCreate(&gone, CU_STREAM_NON_BLOCKING));
        MUST(cuMemAllocManaged(&p, SIZE, 1));
        settle(p, SIZE, place);
        MUST(cuMemsetD8Async(p, 4, SIZE, gone));
        CUresult r1 = cuStreamAttachMemAsync(gone, p, 0, flags[flag]);
        CUresult r2 = cuStreamDestroy(gone);
        add("%s%s ", letter(r1), letter(r2));
        r1 = cuCtxSynchronize();
        add("%s %s", letter(r1), word_at(p, 0));
        r1 = cuStreamAttachMemAsync(s, p, 0, 4);
        r2 = cuStreamSynchronize(s);
        add(" %s%s", letter(r1), letter(r2));
        say_as(keyf("%s.gone%d", name, flags[flag]));
        MUST(cuMemFree(p));
    }
    /* what cannot be attached, or only some of it */
    CUdeviceptr of_pool, of_device, small;
    CUmemoryPool pool;
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_MANAGED, .location = loc(0, 0) };
    char *plain = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t n;
    CUmodule m;
    MUST(cuModuleLoadData(&m, kernels_ptx));
    MUST(cuModuleGetGlobal(&small, &n, m, "mvar"));
    MUST(cuMemPoolCreate(&pool, &props));
    MUST(cuMemAllocFromPoolAsync(&of_pool, MiB, pool, s));
    MUST(cuMemAlloc(&of_device, MiB));
    MUST(cuMemAllocManaged(&p, SIZE, 1));
    MUST(cuStreamSynchronize(s));
    const struct {
        const char *name;
        CUdeviceptr p;
        size_t n;
    } some[] = { { "variable", small, 0 },
                 { "variable.size", small, n },
                 { "pool", of_pool, 0 },
                 { "pool.size", of_pool, MiB },
                 { "device", of_device, 0 },
                 { "pinned", out, 0 },
                 { "plain", (CUdeviceptr)plain, 0 },
                 { "plain.size", (CUdeviceptr)plain, SIZE },
                 { "whole", p, SIZE },
                 { "half", p, SIZE / 2 },
                 { "inside", p + PAGE, 0 },
                 { "rest", p + PAGE, SIZE - PAGE } };
    for (unsigned k = 0; k < COUNT(some); k++) {
        for (int f = 0; f < 3; f++) add("%s", letter(cuStreamAttachMemAsync(s, some[k].p, some[k].n, flags[f])));
        add(" %s", letter(cuStreamAttachMemAsync(NULL, some[k].p, some[k].n, 1)));
        say_as(keyf("%s.%s", name, some[k].name));
    }
    ANSWERED("sync", cuStreamSynchronize(s));
}

static void g_attached(void)
{
    for (place = FRESH; place <= BOTH; place++) apart(places[place], attached);
}

/* ---- modules and libraries */

static const char first_ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                                ".visible .global .attribute(.managed) .align 8 .u32 counter[4] = {1,2,3,4};\n"
                                ".visible .global .attribute(.managed) .align 8 .b8 large[100000];\n"
                                ".visible .entry bump() { .reg .b32 %r<3>; ld.global.u32 %r1,[counter]; add.s32 %r2,%r1,1;\n"
                                "st.global.u32 [counter],%r2; st.global.u32 [large+8],%r2; ret; }\n";

static CUresult bumped(CUfunction f)
{
    CUresult r = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, NULL, 0);
    return r ? r : cuCtxSynchronize();
}

static void of_modules(const char *name)
{
    begin();
    CUmodule m[2];
    CUfunction f[2];
    CUdeviceptr counter[2], large[2];
    size_t n, n2;
    for (int k = 0; k < 2; k++) {
        MUST(cuModuleLoadData(&m[k], first_ptx));
        MUST(cuModuleGetFunction(&f[k], m[k], "bump"));
        MUST(cuModuleGetGlobal(&counter[k], &n, m[k], "counter"));
        MUST(cuModuleGetGlobal(&large[k], &n2, m[k], "large"));
        SAID(keyf("sizes%d", k), "%zu %zu", n, n2);
    }
    SAID("apart", "%d %d", counter[0] != counter[1], large[0] != large[1]);
    SAID("first", "%s", word_at(counter[0] + 4, 0));
    ANSWERED("bump", bumped(f[0]));
    ANSWERED("bump2", bumped(f[0]));
    SAID("counted", "%s", word_at(counter[0], 0));
    SAID("large", "%s", word_at(large[0] + 8, 0));
    SAID("other", "%s", word_at(counter[1], 0));
    told(name, "counter", counter[0], NULL, NULL);
    told(name, "inside", counter[0] + 4, NULL, NULL);
    told(name, "big", large[0], NULL, NULL);
    ANSWERED("advise", cuMemAdvise(large[0], n2, CU_MEM_ADVISE_SET_READ_MOSTLY, loc(1, 0)));
    ANSWERED("fetch", cuMemPrefetchAsync(large[0], n2, loc(1, 0), 0, s));
    ANSWERED("sync", cuStreamSynchronize(s));
    ANSWERED("free", cuMemFree(large[0]));
    ANSWERED("register", cuMemHostRegister((void *)(large[0] & ~4095ul), PAGE, 0));
    ANSWERED("bump3", bumped(f[0]));
    SAID("counted3", "%s", word_at(counter[0], 0));
    CUcontext a = made();
    told(name, "elsewhere", counter[0], a, NULL);
    ANSWERED("set", cuMemsetD32(counter[0], 50, 1));
    ANSWERED("setsync", cuCtxSynchronize());
    SAID("set.value", "%s", word_at(counter[0], 0));
    MUST(cuCtxSetCurrent(ctx0));
    if (strstr(name, "used")) *(volatile uint32_t *)large[0] = 1;
    ANSWERED("unload", cuModuleUnload(m[0]));
    told(name, "gone", counter[0], NULL, NULL);
    ANSWERED("gone.advise", cuMemAdvise(large[0], n2, 1, loc(1, 0)));
    ANSWERED("gone.fetch", cuMemPrefetchAsync(large[0], n2, loc(1, 0), 0, s));
    ANSWERED("gone.sync", cuStreamSynchronize(s));
    ANSWERED("other.bump", bumped(f[1]));
    SAID("other.counted", "%s", word_at(counter[1], 0));
    ANSWERED("unload2", cuModuleUnload(m[1]));
}

static void gone_module(const char *name)
{
    begin();
    CUmodule m;
    size_t n;
    MUST(cuModuleLoadData(&m, first_ptx));
    MUST(cuModuleGetGlobal(&p, &n, m, strstr(name, "large") ? "large" : "counter"));
    SAID("before", "%s", word_at(p, 0));
    MUST(cuModuleUnload(m));
    SAID("after", "%s", word_at(p, 0));
    SAID("poke", "%s", poked(p, 4));
}

static void of_libraries(const char *name)
{
    begin();
    CUlibrary l;
    CUmodule m;
    CUkernel k;
    CUfunction f;
    CUdeviceptr a = 1, b = 2, c = 3;
    size_t n = 0, n2 = 0;
    ANSWERED("load", cuLibraryLoadData(&l, first_ptx, NULL, NULL, 0, NULL, NULL, 0));
    if (strstr(name, "early")) ANSWERED("managed", cuLibraryGetManaged(&a, &n, l, "counter"));
    ANSWERED("global", cuLibraryGetGlobal(&b, &n2, l, "counter"));
    ANSWERED("module", cuLibraryGetModule(&m, l));
    ANSWERED("modules", cuModuleGetGlobal(&c, &n2, m, "counter"));
    if (!strstr(name, "early")) ANSWERED("managed", cuLibraryGetManaged(&a, &n, l, "counter"));
    SAID("same", "%d %d %zu %zu", a == b, a == c, n, n2);
    ANSWERED("kernel", cuLibraryGetKernel(&k, l, "bump"));
    ANSWERED("function", cuKernelGetFunction(&f, k));
    ANSWERED("bump", bumped(f));
    SAID("counted", "%s", word_at(a, 0));
    told(name, "told", a, NULL, NULL);
    CUcontext other = made();
    CUdeviceptr d = 4;
    ANSWERED("other.managed", cuLibraryGetManaged(&d, &n, l, "counter"));
    SAID("other.same", "%d", a == d);
    SAID("other.value", "%s", word_at(d, 0));
    ANSWERED("other.bump", bumped((CUfunction)k));
    SAID("other.counted", "%s %s", word_at(a, 0), word_at(d, 0));
    ANSWERED("other.destroy", cuCtxDestroy(other));
    MUST(cuCtxSetCurrent(ctx0));
    SAID("after", "%s", word_at(a, 0));
    ANSWERED("again.bump", bumped((CUfunction)k));
    SAID("again.counted", "%s", word_at(a, 0));
    ANSWERED("unload", cuLibraryUnload(l));
    told(name, "gone", a, NULL, NULL);
    }

static void g_variables(void)
{
    apart("modules", of_modules);
    apart("modules_used", of_modules);
    apart("gone_small", gone_module);
    apart("gone_large", gone_module);
    apart("libraries", of_libraries);
    apart("libraries_early", of_libraries);
}

const struct group groups[] = {
    { "contexts", g_contexts, 1 }, { "primary", g_primary, 1 }, { "attached", g_attached, 1 }, { "variables", g_variables, 1 }, { 0 }
};
