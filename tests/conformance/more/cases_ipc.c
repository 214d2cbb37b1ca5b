/* Memory and events of another process: opened, asked about and closed, rightly and wrongly. */
#include "attributes.h"

/* ---- legacy IPC */

enum { SHARED = 12 };

/* What one process tells the other: handles, and what they are of. */
struct exported {
    CUipcMemHandle h;
    size_t size;
};

static void child_of(uint64_t seed, int from, int to)
{
    struct exported x[SHARED];
    CUdeviceptr open[SHARED] = { 0 }, base0 = 0;
    int times[SHARED] = { 0 };
    char go = 'x';
    setup();
    if (read(from, x, sizeof x) != sizeof x) exit(1);
    for (step = 0; step < 250; step++) {
        seeded(seed, step);
        int i = (int)draw(SHARED);
        unsigned what = draw(12), v = 0;
        CUdeviceptr p = open[i], b = 1;
        size_t n = 77, off = p ? draw((uint32_t)x[i].size) & ~3ul : 0;
        CUresult r;
        known = 0;
        for (int k = 0; k < SHARED; k++)
            if (open[k]) place(keyf("x%d", k), open[k], x[k].size);
        if (!p && what < 9) what = 0;
        switch (what) {
        case 0:
        case 1: {
            CUipcMemHandle h = x[i].h;
            unsigned f = draw(8) ? 1 : draw(4);
            r = cuIpcOpenMemHandle(&b, h, f);
            SAY("open %d f%u = %s %s", i, f, rname(r), r ? "" : p ? b == p ? "same" : "other" : "new");
            if (!r) open[i] = b, times[i]++;
            break;
        }
        case 2:
            r = cuIpcCloseMemHandle(p + (draw(4) ? 0 : 256));
            SAY("close %d times%d = %s", i, times[i], rname(r));
            if (!r && !--times[i]) open[i] = 0;
            break;
        case 3:
            r = cuMemcpyDtoH(&v, p + off, 4);
            SAY("read %d+%zu = %s %x", i, off, rname(r), v);
            break;
        case 4:
            r = cuMemcpyDtoH(&v, p, x[i].size + 1 + draw(3) * 1000 > 4 ? 4 : 4);
            SAY("head %d = %s %x", i, rname(r), v);
            break;
        case 5:
            r = cuMemGetAddressRange(&b, &n, p + off);
            SAY("range %d+%zu = %s %s %zu", i, off, rname(r), b == 1 ? "untouched" : where(b), n);
            break;
        case 6:
            add("attrs %d+%zu", i, off);
            all_attributes(p + off);
            say();
            break;
        case 7: {
            CUipcMemHandle h;
            SAY("reexport %d = %s", i, rname(cuIpcGetMemHandle(&h, p + (draw(2) ? off : 0))));
            break;
        }
        case 8:
            r = draw(2) ? cuMemFree(p) : cuPointerSetAttribute(&v, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p);
            SAY("wrong %d = %s", i, rname(r));
            break;
        case 9: {
            CUipcMemHandle h = x[i].h;
            unsigned at = draw(64);
            h.reserved[at] ^= (char)0xff;
            memset(h.reserved, 0, draw(2) ? 64 : 0);
            if (h.reserved[0] || h.reserved[8] || h.reserved[1]) break; /* what is in it is the driver's own affair */
            SAY("zeroes = %s", rname(cuIpcOpenMemHandle(&b, h, 1)));
            break;
        }
        default: SAY("closewild = %s", rname(cuIpcCloseMemHandle(draw(2) ? 0 : 0x123456000)));
        }
    }
    (void)base0;
    (void)!write(to, &go, 1);
    _exit(0);
}

/* A process that runs group "NAME_child" of this program; its two pipes are 10 and 11. */
static pid_t start_child(const char *name, int to[2], int from[2])
{
    (void)!pipe(to);
    (void)!pipe(from);
    fflush(stdout);
    pid_t c = fork();
    if (!c) {
        dup2(to[0], 10);
        dup2(from[1], 11);
        execl("/proc/self/exe", "ipc", "--one", name, (char *)0);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    return c;
}

static void parent_of(uint64_t seed, const char *child)
{
    static const size_t sizes[] = { 4, 100, 512, 4096, 10001, 65536, 1 << 20, 2 << 20, (2 << 20) + 512, 5 << 20 };
    struct exported x[SHARED];
    CUdeviceptr p[SHARED];
    int to[2], from[2], status;
    char c;
    seeded(seed, 1000000);
    pid_t pid = start_child(child, to, from);
    setup();
    for (int i = 0; i < SHARED; i++) {
        x[i].size = sizes[draw(10)];
        MUST(cuMemAlloc(&p[i], x[i].size));
        MUST(cuMemsetD32(p[i], 0x1000u + (unsigned)i, x[i].size / 4));
        CUresult r = cuIpcGetMemHandle(&x[i].h, p[i]);
        CUipcMemHandle again;
        CUresult q = cuIpcGetMemHandle(&again, p[i]),
                 e = x[i].size > 256 ? cuIpcGetMemHandle(&again, p[i] + 256) : CUDA_SUCCESS;
        rec(keyf("get.%d", i), "%zu = %s %s inner=%s %d", x[i].size, rname(r), rname(q), rname(e),
            memcmp(&again, &x[i].h, sizeof again) == 0);
        CUdeviceptr mine = 0;
        r = cuIpcOpenMemHandle(&mine, x[i].h, 1);
        rec(keyf("self.%d", i), "%s %d", rname(r), mine == p[i]);
        rec(keyf("selfclose.%d", i), "%s", rname(cuIpcCloseMemHandle(p[i])));
    }
    MUST(cuCtxSynchronize());
    (void)!write(to[1], x, sizeof x);
    (void)!read(from[0], &c, 1);
    waitpid(pid, &status, 0);
    rec("child", "%d", status);
    for (int i = 0; i < SHARED; i++) {
        unsigned v = 0;
        CUresult r = cuMemcpyDtoH(&v, p[i], 4);
        rec(keyf("after.%d", i), "%s %x free=%s", rname(r), v, rname(cuMemFree(p[i])));
    }
}

static void g_ipc_child_0(void) { child_of(1, 10, 11); }
static void g_ipc_child_1(void) { child_of(2, 10, 11); }
static void g_ipc_0(void) { parent_of(1, "ipc_child_0"); }
static void g_ipc_1(void) { parent_of(2, "ipc_child_1"); }

/* The owner frees, or ends, while the other still has it open. */
static void g_ipc_late_child(void)
{
    CUipcMemHandle h[3];
    CUdeviceptr p[3], q;
    unsigned v;
    char c = 'x';
    setup();
    if (read(10, h, sizeof h) != sizeof h) exit(1);
    for (int i = 0; i < 2; i++) K(keyf("open%d", i), cuIpcOpenMemHandle(&p[i], h[i], 1));
    (void)!write(11, &c, 1);
    (void)!read(10, &c, 1); /* freed */
    for (int i = 0; i < 2; i++) {
        v = 0;
        CUresult r = cuMemcpyDtoH(&v, p[i], 4);
        rec(keyf("freed%d", i), "%s %x", rname(r), v);
    }
    K("open.freed", cuIpcOpenMemHandle(&q, h[0], 1));
    K("open.never", cuIpcOpenMemHandle(&p[2], h[2], 1));
    K("close0", cuIpcCloseMemHandle(p[0]));
    K("close0.again", cuIpcCloseMemHandle(p[0]));
    K("close0.third", cuIpcCloseMemHandle(p[0]));
    CUresult r = K("reopen", cuIpcOpenMemHandle(&q, h[0], 1));
    if (!r) K("reclose", cuIpcCloseMemHandle(q));
    (void)!write(11, &c, 1);
    _exit(0);
}

static void g_ipc_late(void)
{
    CUdeviceptr p[3];
    CUipcMemHandle h[3];
    int to[2], from[2], status;
    char c = 'x';
    pid_t pid = start_child("ipc_late_child", to, from);
    setup();
    for (int i = 0; i < 3; i++) {
        MUST(cuMemAlloc(&p[i], i ? 4 << 20 : 4096));
        MUST(cuMemsetD32(p[i], 0x77 + (unsigned)i, 16));
        MUST(cuIpcGetMemHandle(&h[i], p[i]));
    }
    MUST(cuCtxSynchronize());
    (void)!write(to[1], h, sizeof h);
    (void)!read(from[0], &c, 1);
    for (int i = 0; i < 3; i++) K(keyf("free%d", i), cuMemFree(p[i]));
    (void)!write(to[1], &c, 1);
    (void)!read(from[0], &c, 1);
    waitpid(pid, &status, 0);
    rec("child", "%d", status);
}

/* Events of another process. */
static void g_ipc_event_child(void)
{
    CUipcEventHandle h[2];
    CUevent e, f;
    CUstream s;
    float ms;
    char c = 'x';
    setup();
    if (read(10, h, sizeof h) != sizeof h) exit(1);
    MUST(cuStreamCreate(&s, 1));
    K("open", cuIpcOpenEventHandle(&e, h[0]));
    K("open2", cuIpcOpenEventHandle(&f, h[0]));
    rec("same", "%d", e == f);
    K("query", cuEventQuery(e));
    K("synchronize", cuEventSynchronize(e));
    K("wait", cuStreamWaitEvent(s, e, 0));
    K("record", cuEventRecord(e, s));
    K("elapsed", cuEventElapsedTime(&ms, e, e));
    K("reexport", cuIpcGetEventHandle(&h[1], e));
    K("destroy", cuEventDestroy(e));
    MUST(cuStreamSynchronize(s));
    K("query2", cuEventQuery(f));
    K("destroy2", cuEventDestroy(f));
    K("open.again", cuIpcOpenEventHandle(&e, h[0]));
    memset(&h[1], 0, sizeof h[1]);
    K("open.zeroes", cuIpcOpenEventHandle(&e, h[1]));
    (void)!write(11, &c, 1);
    _exit(0);
}

static void g_ipc_event(void)
{
    CUevent e, f;
    CUipcEventHandle h[2] = { 0 };
    int to[2], from[2], status;
    char c;
    pid_t pid = start_child("ipc_event_child", to, from);
    setup();
    for (unsigned k = 0; k < 8; k++) {
        CUresult r = cuEventCreate(&f, k);
        rec(keyf("create%u", k), "%s", rname(r));
        if (!r) {
            K(keyf("get%u", k), cuIpcGetEventHandle(&h[1], f));
            cuEventDestroy(f);
        }
    }
    MUST(cuEventCreate(&e, 6));
    K("get", cuIpcGetEventHandle(&h[0], e));
    K("get.again", cuIpcGetEventHandle(&h[1], e));
    rec("equal", "%d", memcmp(&h[0], &h[1], sizeof *h) == 0);
    K("get.nowhere", cuIpcGetEventHandle(NULL, e));
    K("get.null", cuIpcGetEventHandle(&h[1], NULL));
    K("open.own", cuIpcOpenEventHandle(&f, h[0]));
    K("record", cuEventRecord(e, 0));
    MUST(cuCtxSynchronize());
    (void)!write(to[1], h, sizeof h);
    (void)!read(from[0], &c, 1);
    waitpid(pid, &status, 0);
    rec("child", "%d", status);
    K("query", cuEventQuery(e));
    K("destroy", cuEventDestroy(e));
}

const struct group groups[] = { { "ipc_0", g_ipc_0, 1 },
                                { "ipc_1", g_ipc_1, 1 },
                                { "ipc_late", g_ipc_late, 1 },
                                { "ipc_event", g_ipc_event, 1 },
                                { "ipc_child_0", g_ipc_child_0, 99 },
                                { "ipc_child_1", g_ipc_child_1, 99 },
                                { "ipc_late_child", g_ipc_late_child, 99 },
                                { "ipc_event_child", g_ipc_event_child, 99 },
                                { 0 } };
