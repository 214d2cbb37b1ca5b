/* Copies of bytes in a row and fills between all kinds of memory, at random: what each answers, and what it left at its
 * destination. What a side has beyond its end is not asked for where the host's processor would touch it, but by the
 * last group, whose questions a driver may not survive. cases_boxes.c has copies of rows and slices, and batches. */
#include "places.h"

/* ---- bytes in a row */

static size_t any_size(void)
{
    static const size_t sizes[] = { 0, 1, 3, 4, 64, 511, 4096, 20000, 30001, WINDOW };
    return draw(3) ? 1 + draw(9000) : sizes[draw(10)];
}

/* Beyond the end: only where no processor of the host's goes. */
static size_t any_offset(enum kind k, size_t n, bool loose)
{
    if (loose && draw(5) == 0)
        return of_host(k) || k == FREED ? draw(WINDOW) : (size_t[]){ WINDOW - 1, WINDOW, WINDOW + 100 }[draw(3)];
    return n >= WINDOW ? 0 : draw(3) == 0 ? 0 : draw((uint32_t)(WINDOW - n));
}

enum form { H_TO_D, D_TO_H, D_TO_D, ANY, H_TO_D_ASYNC, D_TO_H_ASYNC, D_TO_D_ASYNC, ANY_ASYNC, PEER, PEER_ASYNC, FORMS };
static const char *const forms[] = { "HtoD",      "DtoH",      "DtoD",     "any",  "HtoDAsync",
                                     "DtoHAsync", "DtoDAsync", "anyAsync", "peer", "peerAsync" };

static CUresult copy_bytes(enum form f, CUdeviceptr to, CUdeviceptr from, size_t n, CUstream q, CUcontext a,
                           CUcontext b)
{
    switch (f) {
    case H_TO_D: return cuMemcpyHtoD(to, (void *)from, n);
    case D_TO_H: return cuMemcpyDtoH((void *)to, from, n);
    case D_TO_D: return cuMemcpyDtoD(to, from, n);
    case ANY: return cuMemcpy(to, from, n);
    case H_TO_D_ASYNC: return cuMemcpyHtoDAsync(to, (void *)from, n, q);
    case D_TO_H_ASYNC: return cuMemcpyDtoHAsync((void *)to, from, n, q);
    case D_TO_D_ASYNC: return cuMemcpyDtoDAsync(to, from, n, q);
    case ANY_ASYNC: return cuMemcpyAsync(to, from, n, q);
    case PEER: return cuMemcpyPeer(to, a, from, b, n);
    default: return cuMemcpyPeerAsync(to, a, from, b, n, q);
    }
}

static void linear(void)
{
    enum form f = (enum form)draw(FORMS);
    enum kind to = any_place(), from = any_place();
    bool any = f == ANY || f == ANY_ASYNC;
    if (f == H_TO_D || f == H_TO_D_ASYNC) from = any_of_host();
    if (f == D_TO_H || f == D_TO_H_ASYNC) to = any_of_host();
    if (any && to == FREED) to = DEVICE;
    if (any && from == FREED) from = POOLED;
    size_t n = any_size();
    size_t a = any_offset(to, n, !any), b = any_offset(from, n, !any);
    if (to == from && inside(a, n) && inside(b, n) && n > WINDOW / 2) n = n / 3;
    bool device_only = !of_host(to) && !of_host(from) && !any && to != FREED && from != FREED;
    if (device_only && draw(20) == 0)
        n = (size_t[]){ WINDOW + 1, WINDOW + 300, 100000, 2 * MiB, 5 * MiB, 1ul << 30, 1ul << 50, ~0ul }[draw(8)];
    CUdeviceptr x = at[to].p + a, y = at[from].p + b;
    unsigned spoilt = draw(25);
    if (spoilt == 0) x = 0;
    if (spoilt == 1 || (spoilt == 0 && draw(3) == 0)) y = 0;
    if (spoilt < 2 && draw(2)) n = 0;
    bool anywhere = to < MAPPED && from < MAPPED; /* a driver may not survive it */
    CUcontext ca = draw(15) || !anywhere ? ctx0 : NULL, cb = draw(15) || !anywhere ? ctx0 : NULL;
    CUstream q = any_stream();
    bool overlap = to == from && a < b + n && b < a + n && n;
    refill(from, 77);
    refill(to, 0);
    CUresult r = copy_bytes(f, x, y, n, q, ca, cb);
    answer(keyf("%s q%s %s+%zu%s%s %s+%zu%s%s %zu", forms[f], stream_name(q), names[to], a, x ? "" : "=0",
                f >= PEER && !ca ? "c0" : "", names[from], b, y ? "" : "=0", f >= PEER && !cb ? "c0" : "", n),
           r, to, !overlap && (inside(b, n) || r));
}

/* ---- pieces of arrays */

static void pieces(void)
{
    static const char *const called[] = { "HtoA", "AtoH", "DtoA", "AtoD", "AtoA", "HtoAAsync", "AtoHAsync" };
    unsigned f = draw(7);
    enum kind a = PLACES + draw(ALL - PLACES), b = PLACES + draw(ALL - PLACES);
    enum kind h = any_of_host(), d = any_place();
    size_t e = draw(6) ? at[a].element : 1, row = at[a].row;
    size_t n = draw(4) ? draw((uint32_t)(row / e) + 1) * e : draw((uint32_t)row + 20);
    size_t x = draw(2) || n >= row ? 0 : draw((uint32_t)((row - n) / e) + 1) * e, y = draw(3) ? 0 : draw(300);
    if (draw(20) == 0) x = row - draw(3);
    if (draw(30) == 0) n = row * at[a].rows;
    CUarray array = draw(30) ? at[a].array : NULL;
    CUdeviceptr dp = draw(30) ? at[d].p + y : 0;
    void *hp = draw(30) ? (void *)(at[h].p + y) : NULL;
    CUstream q = any_stream();
    enum kind to = f == 1 || f == 6 ? h : f == 3 ? d : a, from = f == 0 || f == 5 ? h : f == 2 ? d : f == 4 ? b : a;
    refill(from, 77);
    refill(to, 0);
    CUresult r = f == 0   ? cuMemcpyHtoA(array, x, hp, n)
                 : f == 1 ? cuMemcpyAtoH(hp, array, x, n)
                 : f == 2 ? cuMemcpyDtoA(array, x, dp, n)
                 : f == 3 ? cuMemcpyAtoD(dp, array, x, n)
                 : f == 4 ? cuMemcpyAtoA(array, x, at[b].array, y, n)
                 : f == 5 ? cuMemcpyHtoAAsync(array, x, hp, n, q)
                          : cuMemcpyAtoHAsync(hp, array, x, n, q);
    answer(keyf("%s %s%s+%zu %s%s+%zu %zu", called[f], names[a], array ? "" : "=0", x,
                names[f == 4             ? b
                      : f == 2 || f == 3 ? d
                                         : h],
                (f == 2 || f == 3 ? dp != 0 : hp != NULL) ? "" : "=0", y, n),
           r, to, to != from);
}

/* ---- fills */

static void fills(void)
{
    static const char *const called[] = { "D8", "D16", "D32", "D2D8", "D2D16", "D2D32" };
    unsigned f = draw(6), unit = 1u << f % 3, v = draw(1u << 30) * 3 + 1;
    bool async = draw(2), flat = f < 3;
    enum kind k = any_place();
    if (k == FREED) k = DEVICE; /* which a driver may still have mapped */
    size_t w = draw(4) ? 1 + draw(flat ? 9000 : 100) : (size_t[]){ 0, 1, WINDOW, 300 }[draw(4)],
           h = draw(6) ? 1 + draw(20) : 0;
    size_t bytes = w * unit, off = draw(3) ? draw(3000) : 0,
           pitch = (size_t[]){ 0, bytes, bytes + draw(64), 512 }[draw(4)];
    if (draw(4)) off = off / unit * unit, pitch = pitch / unit * unit;
    if (k != PLAIN && draw(10) == 0) off = (size_t[]){ WINDOW - 1, WINDOW, WINDOW - 16, WINDOW + 3 }[draw(4)];
    if (of_host(k)) off %= 3000;
    if (!of_host(k) && draw(30) == 0) w = (size_t[]){ 1ul << 17, 1ul << 31, 1ul << 40 }[draw(3)];
    if (!of_host(k) && draw(30) == 0) pitch = (size_t[]){ 1ul << 20, 2147483648ul, 1ul << 40 }[draw(3)];
    if (!of_host(k) && draw(30) == 0) h = (size_t[]){ 1ul << 20, 1ul << 31 }[draw(2)];
    CUdeviceptr p = draw(30) ? at[k].p + off : draw(2) ? 0 : off;
    CUstream q = any_stream();
    CUresult r;
    refill(k, 0);
    switch (f * 2 + async) {
    case 0: r = cuMemsetD8(p, (unsigned char)v, w); break;
    case 1: r = cuMemsetD8Async(p, (unsigned char)v, w, q); break;
    case 2: r = cuMemsetD16(p, (unsigned short)v, w); break;
    case 3: r = cuMemsetD16Async(p, (unsigned short)v, w, q); break;
    case 4: r = cuMemsetD32(p, v, w); break;
    case 5: r = cuMemsetD32Async(p, v, w, q); break;
    case 6: r = cuMemsetD2D8(p, pitch, (unsigned char)v, w, h); break;
    case 7: r = cuMemsetD2D8Async(p, pitch, (unsigned char)v, w, h, q); break;
    case 8: r = cuMemsetD2D16(p, pitch, (unsigned short)v, w, h); break;
    case 9: r = cuMemsetD2D16Async(p, pitch, (unsigned short)v, w, h, q); break;
    case 10: r = cuMemsetD2D32(p, pitch, v, w, h); break;
    default: r = cuMemsetD2D32Async(p, pitch, v, w, h, q);
    }
    answer(keyf("%s%s q%s %s+%zu%s p%zu %zux%zu", called[f], async ? "Async" : "", stream_name(q), names[k], off,
                p < 100000 ? " low" : "", flat ? 0 : pitch, w, flat ? 0 : h),
           r, k, true);
}

/* ---- what the host's processor cannot follow: each question in a process of its own, which may not survive it */

enum { WILD = 26 };

static CUresult wild_question(int q)
{
    char *hole = mmap(NULL, 4 * MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUdeviceptr d = at[DEVICE].p, reserved = at[MAPPED].p - 2 * GRAN;
    memset(hole, 1, 4 * MiB);
    munmap(hole + MiB, MiB);
    mprotect(hole + 2 * MiB, MiB / 2, PROT_NONE);
    mprotect(hole + 2 * MiB + MiB / 2, MiB / 2, PROT_READ);
    char *gone = hole + MiB, *none = hole + 2 * MiB, *ro = none + MiB / 2;
    CUDA_MEMCPY2D two = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = gone,
                          .srcPitch = 256,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = d,
                          .dstPitch = 256,
                          .WidthInBytes = 100,
                          .Height = 9 };
    CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
    size_t n = 100, first = 0;
    CUdeviceptr from = (CUdeviceptr)gone, big;
    void *pinned;
    switch (q) {
    case 0: return cuMemcpyHtoD(d, gone, 64);
    case 1: MUST(cuMemAlloc(&big, MiB)); return cuMemcpyHtoD(big, gone, MiB);
    case 2: return cuMemcpyHtoD(d, none, 64);
    case 3: return cuMemcpyDtoH(ro, d, 64);
    case 4: return cuMemcpyDtoH(gone, d, 64);
    case 5: return cuMemcpyHtoDAsync(d, gone, 64, s);
    case 6: return cuMemcpy(d, (CUdeviceptr)gone, 64);
    case 7: return cuMemcpy2D(&two);
    case 8: return cuMemcpyHtoD(d, hole + MiB - 20000, 40000);
    case 9: return cuMemcpyHtoD(d, (void *)at[POOLED].p, 64);
    case 10: return cuMemcpyDtoH((void *)at[POOLED].p, d, 64);
    case 11: return cuMemcpyHtoD(d, (void *)reserved, 64);
    case 12: return cuMemcpy(d, reserved, 64);
    case 13: return cuMemcpyHtoA(at[FLAT].array, 0, gone, 64);
    case 14:
        MUST(cuMemAllocHost(&pinned, 8 * MiB));
        MUST(cuMemFreeHost(pinned));
        return cuMemcpyHtoD(d, pinned, 64);
    case 15: return cuMemcpy(4096, d, 64);
    case 16: return two.srcHost = (void *)at[POOLED].p, cuMemcpy2D(&two);
    case 17: MUST(cuMemAllocHost(&pinned, 4096)); return cuMemcpyHtoD(d, pinned, 8192);
    case 18: return cuMemcpyBatchAsync(&d, &from, &n, 1, &how, &first, 1, s);
    case 19: return cuMemcpyAsync(d, (CUdeviceptr)gone, 64, s);
    case 20: return cuMemcpyDtoHAsync(ro, d, 64, s);
    case 21: return cuMemcpyHtoD((CUdeviceptr)gone, hole, 64);
    case 22: return cuMemcpyDtoD(d, (CUdeviceptr)hole, 64);
    case 23:
        MUST(cuMemHostRegister(hole, 65536, 0));
        munmap(hole, 65536);
        return cuMemcpyHtoD(d, hole, 4096);
    case 24:
        MUST(cuMemHostRegister(hole, 65536, 0));
        munmap(hole, 65536);
        return cuMemsetD8((CUdeviceptr)hole, 1, 4096);
    default: return cuMemcpy(at[FREED].p, d, 64);
    }
}

static void g_wild_child(void)
{
    const char *q = getenv("WILD_QUESTION");
    make_places();
    step = q ? atoi(q) : 0;
    CUresult r = wild_question(step);
    SAY("%s then %s", rname(r), rname(cuCtxSynchronize()));
    _exit(0);
}

static void g_wild(void)
{
    for (step = 0; step < WILD; step++) {
        int status;
        fflush(stdout);
        pid_t c = fork();
        if (!c) {
            setenv("WILD_QUESTION", keyf("%d", step), 1);
            execl("/proc/self/exe", "copies", "--one", "wild_child", (char *)0);
            _exit(127);
        }
        waitpid(c, &status, 0);
        if (WIFSIGNALED(status)) SAY("signal %d", WTERMSIG(status));
    }
}

WALKS(linear, 1500, linear)
WALKS(pieces, 800, pieces)
WALKS(fills, 1500, fills)

const struct group groups[] = {
    BOTH(linear), BOTH(pieces), BOTH(fills), { "wild", g_wild, 1 }, { "wild_child", g_wild_child, 99 }, { 0 }
};
