/* Contexts: random steps (walk.h) of two threads that make, push, pop, set, attach, detach and destroy contexts and the
 * primary one, and of what can be set and asked. Contexts that are destroyed are not named again: a new one may have an
 * old one's handle, and the driver may crash. */
#include "walk.h"
#include <pthread.h>

/* older versions of cuCtxCreate, which cuda.h no longer declares */
CUresult cuCtxCreate_v2(CUcontext *, unsigned, CUdevice);
CUresult cuCtxCreate_v3(CUcontext *, CUexecAffinityParam *, int, unsigned, CUdevice);

enum { CONTEXTS = 6, MADE_MOST = 4 };

static struct {
    CUcontext handle;
    bool dead;
    CUevent event;
    CUstream stream;
    CUdeviceptr memory;
    unsigned long long id;
    int attached;
} contexts[CONTEXTS];
static CUcontext primary;
static int made, retained;
static bool may_create = true;

/* ---- a second thread, which does a step when it is told to */

static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*work)(void);
} other = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
static int thread_number;

static void *second(void *unused)
{
    pthread_mutex_lock(&other.lock);
    for (;;) {
        while (!other.work) pthread_cond_wait(&other.changed, &other.lock);
        other.work();
        other.work = NULL;
        pthread_cond_broadcast(&other.changed);
    }
    return unused;
}

static void in_thread(int which, void (*work)(void))
{
    thread_number = which;
    if (!which) {
        work();
        return;
    }
    pthread_mutex_lock(&other.lock);
    if (!other.thread) pthread_create(&other.thread, NULL, second, NULL);
    other.work = work;
    pthread_cond_broadcast(&other.changed);
    while (other.work) pthread_cond_wait(&other.changed, &other.lock);
    pthread_mutex_unlock(&other.lock);
}

/* ---- names of contexts */

static const char *name_of(CUcontext c)
{
    if (!c) return "none";
    if (c == primary) return "primary";
    for (int i = 0; i < CONTEXTS; i++)
        if (contexts[i].handle == c) return keyf("c%d", i);
    return "other";
}

static const char *current(void)
{
    CUcontext c = NULL;
    CUresult r = cuCtxGetCurrent(&c);
    return r ? rname(r) : name_of(c);
}

/* A slot: -1 none, CONTEXTS the primary. */
static int any_slot(void)
{
    int i = rnd(6) == 0 ? CONTEXTS : rnd(20) == 0 ? -1 : (int)rnd(CONTEXTS);
    if (i >= 0 && i < CONTEXTS && contexts[i].dead) i = CONTEXTS;
    return i;
}

static CUcontext handle_of(int i) { return i < 0 ? NULL : i == CONTEXTS ? primary : contexts[i].handle; }
static const char *slot_name(int i) { return i < 0 ? "none" : i == CONTEXTS ? "primary" : keyf("c%d", i); }

/* ---- steps */

static const unsigned flag_values[] = { 0,    0,   1,   2,   4,    8,     0x10, 0x20, 0x40, 0x80,
                                        0x12, 0x3, 0x5, 0x7, 0x60, 0x100, 0x18, 0xa0, 0xff, 0xffffffff };

static void create(void)
{
    CUctxCigParam cig = { 0 };
    CUexecAffinityParam affinity[2] = { 0 };
    CUctxCreateParams params = { 0 };
    int slot = 0;
    while (slot < CONTEXTS && contexts[slot].handle && !contexts[slot].dead) slot++;
    unsigned how = rnd(6), flags = PICK(flag_values);
    int device = rnd(12) ? 0 : (int[]){ -1, 1, 99 }[rnd(3)];
    int n = rnd(3) ? 0 : (int)rnd(4) - 1;
    unsigned given = rnd(8);
    affinity[0].type = (CUexecAffinityType)(rnd(3) ? 0 : rnd(3));
    affinity[0].param.smCount.val = (unsigned[]){ 0, 1, 2, 8, 132, 133, 1000 }[rnd(7)];
    char *t = text();
    add(t, "create%u f%x d%d", how, flags, device);
    if (made >= MADE_MOST || slot == CONTEXTS || !may_create) flags = 0x100; /* never right */
    CUcontext c = NULL;
    CUresult r;
    if (how < 3) {
        r = cuCtxCreate_v2(given ? &c : NULL, flags, device);
        add(t, " %u", given > 0);
    } else if (how == 3) {
        r = cuCtxCreate_v3(given ? &c : NULL, given == 1 ? NULL : affinity, n, flags, device);
        add(t, " %u n%d t%d v%u", given > 1 ? 2 : given, n, affinity[0].type, affinity[0].param.smCount.val);
    } else {
        params.execAffinityParams = given & 1 ? affinity : NULL;
        params.numExecAffinityParams = n;
        params.cigParams = given == 2 || given == 3 ? &cig : NULL;
        r = cuCtxCreate_v4(given == 7 ? NULL : &c, how == 4 ? &params : NULL, flags, device);
        add(t, " g%u n%d t%d v%u", given, n, affinity[0].type, affinity[0].param.smCount.val);
    }
    if (!r) {
        made++;
        contexts[slot].handle = c;
        contexts[slot].dead = false;
        contexts[slot].event = NULL;
        contexts[slot].stream = NULL;
        contexts[slot].memory = 0;
        contexts[slot].id = contexts[slot].attached = 0;
    }
    SAY("t%d %s fl%x = %s %s", thread_number, t, flags, rname(r), current());
}

static void destroy(void)
{
    int i = any_slot();
    /* what is not attached, but has other users, is not detached: the driver may crash */
    bool detach = rnd(2) && i >= 0 && i < CONTEXTS && contexts[i].attached-- > 0;
    CUcontext c = handle_of(i);
    if (rnd(3) && i < CONTEXTS) i = -2; /* not too often */
    if (i == -2) {
        SAY("t%d current = %s", thread_number, current());
        return;
    }
    CUresult r = detach ? cuCtxDetach(c) : cuCtxDestroy(c);
    if (!r && i >= 0 && i < CONTEXTS) {
        unsigned version;
        contexts[i].dead = !detach || cuCtxGetApiVersion(c, &version) != CUDA_SUCCESS;
    }
    SAY("t%d %s %s = %s %s%s", thread_number, detach ? "detach" : "destroy", slot_name(i), rname(r), current(),
        i >= 0 && i < CONTEXTS && contexts[i].dead ? " dead" : "");
}

static void move(void)
{
    int i = any_slot();
    CUcontext c = (CUcontext)1;
    CUresult r;
    switch (rnd(7)) {
    case 0:
    case 1:
        r = cuCtxPushCurrent(handle_of(i));
        SAY("t%d push %s = %s %s", thread_number, slot_name(i), rname(r), current());
        break;
    case 2:
    case 3:
        r = cuCtxPopCurrent(i == 0 ? NULL : &c);
        SAY("t%d pop %d = %s %s %s", thread_number, i == 0, rname(r), c == (CUcontext)1 ? "-" : name_of(c), current());
        break;
    case 4:
    case 5:
        r = cuCtxSetCurrent(handle_of(i));
        SAY("t%d set %s = %s %s", thread_number, slot_name(i), rname(r), current());
        break;
    default: {
        unsigned f = rnd(3) ? 0 : rnd(3);
        r = cuCtxAttach(i == 0 ? NULL : &c, f);
        for (int k = 0; k < CONTEXTS && !r; k++) contexts[k].attached += contexts[k].handle == c;
        SAY("t%d attach %d f%u = %s %s", thread_number, i == 0, f, rname(r), c == (CUcontext)1 ? "-" : name_of(c));
    }
    }
}

static void step_primary(void)
{
    CUcontext c = NULL;
    unsigned flags = 0x77, w = rnd(12);
    int active = -1, device = rnd(10) ? 0 : (int)rnd(3) - 1;
    CUresult r;
    switch (w) {
    case 0:
    case 1:
    case 2:
        r = cuDevicePrimaryCtxRetain(rnd(12) ? &c : NULL, device);
        if (!r) retained++;
        if (!r && !primary) primary = c;
        SAY("t%d retain d%d = %s %s", thread_number, device, rname(r), name_of(c));
        break;
    case 3:
    case 4:
        SAY("t%d release d%d = %s %s", thread_number, device, rname(cuDevicePrimaryCtxRelease(device)), current());
        break;
    case 5:
        SAY("t%d reset d%d = %s %s", thread_number, device, rname(cuDevicePrimaryCtxReset(device)), current());
        break;
    case 6:
    case 7:
        flags = PICK(flag_values);
        SAY("t%d setflags d%d %x = %s", thread_number, device, flags, rname(cuDevicePrimaryCtxSetFlags(device, flags)));
        break;
    default:
        r = cuDevicePrimaryCtxGetState(device, w == 8 && rnd(3) == 0 ? NULL : &flags, &active);
        SAY("t%d state d%d = %s %x %d", thread_number, device, rname(r), flags, active);
    }
}

static const char *limits_value(CUlimit l, CUresult r, size_t v)
{
    return r ? keyf("%s", rname(r)) : l == CU_LIMIT_MALLOC_HEAP_SIZE && v > 1ul << 32 ? "much" : keyf("%zu", v);
}

static void limit(void)
{
    static const size_t values[] = { 0,          1,          15,      16,       17,      127,     128,     129,
                                     1000,       1024,       4096,    10000,    16384,   65536,   99999,   524288,
                                     524289,     1048575,    1048576, 4194303,  4194304, 4194305, 8388608, 33554432,
                                     100000000,  599186,     599187,  2048,     32,      33,      64,      65,
                                     0x80000000, 0xffffffff, ~0ul,    1ul << 40 };
    CUlimit l = (CUlimit)((int)rnd(12) - 1);
    size_t v = rnd(3) ? PICK(values) : (size_t)rnd(1u << rnd(31)), got = 0x5a5a;
    if (rnd(2)) {
        CUresult r = cuCtxSetLimit(l, v), q = cuCtxGetLimit(&got, l);
        SAY("t%d setlimit %d %zu = %s %s", thread_number, l, v, rname(r), limits_value(l, q, got));
    } else {
        CUresult r = cuCtxGetLimit(rnd(10) ? &got : NULL, l);
        SAY("t%d limit %d = %s %s", thread_number, l, rname(r), limits_value(l, r, got));
    }
}

static void about(void)
{
    int i = any_slot(), a = -77, b = -77, v = (int)rnd(6) - 1;
    CUcontext c = handle_of(i);
    unsigned u = 0x77, f = PICK(flag_values);
    unsigned long long id = 0;
    CUdevice d = -7;
    CUresult r;
    switch (rnd(20)) {
    case 0:
        r = cuCtxGetApiVersion(c, rnd(8) ? &u : NULL);
        SAY("t%d version %s = %s %u", thread_number, slot_name(i), rname(r), u);
        break;
    case 1:
        r = cuCtxGetId(c, rnd(8) ? &id : NULL);
        if (!r && id && i >= 0 && i < CONTEXTS) {
            v = contexts[i].id ? contexts[i].id == id : 2;
            contexts[i].id = id;
        } else
            v = id != 0;
        SAY("t%d id %s = %s %d", thread_number, slot_name(i), rname(r), v);
        break;
    case 2:
        r = cuCtxGetDevice(rnd(8) ? &d : NULL);
        SAY("t%d device = %s %d", thread_number, rname(r), d);
        break;
    case 3:
        r = cuCtxGetDevice_v2(rnd(8) ? &d : NULL, c);
        SAY("t%d device2 %s = %s %d", thread_number, slot_name(i), rname(r), d);
        break;
    case 4:
        r = cuCtxGetFlags(rnd(8) ? &u : NULL);
        SAY("t%d flags = %s %x", thread_number, rname(r), u);
        break;
    case 5:
        r = cuCtxSetFlags(f);
        cuCtxGetFlags(&u);
        SAY("t%d setflags %x = %s %x", thread_number, f, rname(r), u);
        break;
    case 6: SAY("t%d synchronize = %s", thread_number, rname(cuCtxSynchronize())); break;
    case 7: SAY("t%d synchronize2 %s = %s", thread_number, slot_name(i), rname(cuCtxSynchronize_v2(c))); break;
    case 8:
        r = cuCtxGetStreamPriorityRange(rnd(4) ? &a : NULL, rnd(4) ? &b : NULL);
        SAY("t%d priorities = %s %d %d", thread_number, rname(r), a, b);
        break;
    case 9:
        r = cuCtxSetCacheConfig((CUfunc_cache)v);
        cuCtxGetCacheConfig((CUfunc_cache *)&a);
        SAY("t%d setcache %d = %s %d", thread_number, v, rname(r), a);
        break;
    case 10:
        r = cuCtxGetCacheConfig(rnd(6) ? (CUfunc_cache *)&a : NULL);
        SAY("t%d cache = %s %d", thread_number, rname(r), a);
        break;
    case 11:
        r = cuCtxSetSharedMemConfig((CUsharedconfig)v);
        cuCtxGetSharedMemConfig((CUsharedconfig *)&a);
        SAY("t%d setbanks %d = %s %d", thread_number, v, rname(r), a);
        break;
    case 12:
        r = cuCtxGetSharedMemConfig(rnd(6) ? (CUsharedconfig *)&a : NULL);
        SAY("t%d banks = %s %d", thread_number, rname(r), a);
        break;
    case 13: {
        CUexecAffinityParam p = { .type = 5, .param.smCount.val = 77 };
        r = cuCtxGetExecAffinity(rnd(6) ? &p : NULL, (CUexecAffinityType)v);
        SAY("t%d affinity %d = %s %d %u", thread_number, v, rname(r), p.type, p.param.smCount.val);
        break;
    }
    case 14:
        r = cuDeviceGetExecAffinitySupport(rnd(6) ? &a : NULL, (CUexecAffinityType)v, rnd(6) ? 0 : -1);
        SAY("t%d affinities %d = %s %d", thread_number, v, rname(r), a);
        break;
    case 15: SAY("t%d persisting = %s", thread_number, rname(cuCtxResetPersistingL2Cache())); break;
    case 16: {
        CUdevResource x = { 0 };
        r = cuCtxGetDevResource(c, rnd(8) ? &x : NULL, (CUdevResourceType)v);
        SAY("t%d resource %s %d = %s %d %u", thread_number, slot_name(i), v, rname(r), x.type, r ? 0 : x.sm.smCount);
        break;
    }
    case 17:
        r = cuDeviceGetAttribute(&a, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);
        SAY("t%d warp = %s %d", thread_number, rname(r), a);
        break;
    case 18: {
        CUstreamCaptureMode mode = (CUstreamCaptureMode)v;
        r = cuThreadExchangeStreamCaptureMode(&mode);
        SAY("t%d mode %d = %s %d", thread_number, v, rname(r), mode);
        mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
        cuThreadExchangeStreamCaptureMode(&mode);
        break;
    }
    default:
        v = v > 2 ? 0 : v;
        r = cuFlushGPUDirectRDMAWrites((CUflushGPUDirectRDMAWritesTarget)v,
                                       (CUflushGPUDirectRDMAWritesScope)(int[]){ 100, 200, 0, 300 }[rnd(4)]);
        SAY("t%d flush %d = %s", thread_number, v, rname(r));
    }
}

/* What belongs to a context, in another. */
static void things(void)
{
    int i = (int)rnd(CONTEXTS), j = any_slot();
    CUcontext cur = NULL;
    CUresult r;
    size_t n = 0;
    if (contexts[i].dead || !contexts[i].handle) {
        SAY("t%d nothing = %s", thread_number, current());
        return;
    }
    unsigned w = rnd(9);
    cuCtxGetCurrent(&cur);
    if (w < 3 && !contexts[i].event && contexts[i].handle == cur) {
        CUresult r1 = cuEventCreate(&contexts[i].event, rnd(3)), r2 = cuStreamCreate(&contexts[i].stream, rnd(2)),
                 r3 = cuMemAlloc(&contexts[i].memory, 4096);
        SAY("t%d make c%d = %s %s %s", thread_number, i, rname(r1), rname(r2), rname(r3));
        return;
    }
    if (!contexts[i].event) {
        SAY("t%d empty = %s", thread_number, current());
        return;
    }
    switch (w) {
    case 0:
        SAY("t%d record %s c%d = %s", thread_number, slot_name(j), i,
            rname(cuCtxRecordEvent(handle_of(j), contexts[i].event)));
        break;
    case 1:
        SAY("t%d wait %s c%d = %s", thread_number, slot_name(j), i,
            rname(cuCtxWaitEvent(handle_of(j), contexts[i].event)));
        break;
    case 2:
        SAY("t%d evrecord c%d = %s", thread_number, i, rname(cuEventRecord(contexts[i].event, contexts[i].stream)));
        break;
    case 3:
        if (j < 0 || j == CONTEXTS || !contexts[j].stream || contexts[j].dead) j = i;
        SAY("t%d evcross c%d c%d = %s %s", thread_number, i, j,
            rname(cuEventRecord(contexts[i].event, contexts[j].stream)),
            rname(cuStreamWaitEvent(contexts[j].stream, contexts[i].event, 0)));
        break;
    case 4: SAY("t%d fill c%d = %s", thread_number, i, rname(cuMemsetD8(contexts[i].memory, 1, 16))); break;
    case 5:
        SAY("t%d fillasync c%d = %s %s", thread_number, i,
            rname(cuMemsetD8Async(contexts[i].memory, 1, 16, contexts[i].stream)),
            rname(cuStreamSynchronize(contexts[i].stream)));
        break;
    case 6: {
        CUcontext of = NULL, of2 = NULL;
        CUresult r1 = cuStreamGetCtx(contexts[i].stream, &of),
                 r2 = cuPointerGetAttribute(&of2, CU_POINTER_ATTRIBUTE_CONTEXT, contexts[i].memory);
        SAY("t%d whose c%d = %s %s %s %s", thread_number, i, rname(r1), name_of(of), rname(r2), name_of(of2));
        break;
    }
    case 7:
        r = cuEventQuery(contexts[i].event);
        SAY("t%d evsync c%d = %s", thread_number, i,
            rname(r == CUDA_ERROR_NOT_READY ? cuEventSynchronize(contexts[i].event) : r));
        break;
    default:
        r = cuMemGetAddressRange(NULL, &n, contexts[i].memory);
        SAY("t%d range c%d = %s %zu", thread_number, i, rname(r), n);
    }
}

static void one(void)
{
    static const unsigned shares[] = { 5, 3, 9, 4, 4, 9, 6 };
    static void (*const kinds[])(void) = { create, destroy, move, step_primary, limit, about, things };
    unsigned w = rnd(40), k = 0;
    while (w >= shares[k]) w -= shares[k++];
    kinds[k]();
}

static void walk(uint64_t seed, int steps)
{
    MUST(cuInit(0));
    for (int i = 0; i < steps; i++) {
        walk_to(seed, i);
        may_create = i < steps * 3 / 4;
        in_thread(rnd(4) == 0, one);
    }
}

/* Limits of one context, with nothing else going on. */
static void walk_limits(uint64_t seed, int steps)
{
    setup();
    for (int i = 0; i < steps; i++) {
        walk_to(seed, i);
        limit();
    }
}

#define WALKS(i) \
    static void g_context_##i(void) { walk(0x##i, 200); } \
    static void g_limit_##i(void) { walk_limits(0x##i, 200); }
#define SEEDS(X) X(01) X(02) X(03) X(04) X(05) X(701) X(702) X(1e15) X(1e16) X(1e17)
SEEDS(WALKS)
#define GROUPS(i) { "context_" #i, g_context_##i, 1 }, { "limit_" #i, g_limit_##i, 1 },
const struct group groups[] = { SEEDS(GROUPS){ 0 } };
