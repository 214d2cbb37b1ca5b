/* Streams and events: random steps (walk.h). Streams are held up by waiting for a number in memory that the host writes
 * later, so that what is not ready is so for certain; what should become ready is waited for. */
#include "walk.h"

enum { STREAMS = 8, OWN = 3, EVENTS = 6 };
static CUstream streams[STREAMS]; /* the first OWN are the special handles */
static CUevent events[EVENTS];
static unsigned event_flags[EVENTS];
static bool recorded[EVENTS];
static CUdeviceptr memory;
static volatile unsigned *gate; /* pinned: held streams wait for 1 */
static int held;                /* streams that wait, as bits */
static int calls;

static const char *stream_name(int i)
{
    return i < OWN ? (const char *[]){ "s0", "legacy", "perthread" }[i] : keyf("s%d", i);
}

static void prepare(void)
{
    void *p;
    setup();
    MUST(cuMemAlloc(&memory, 65536));
    MUST(cuMemsetD32(memory, 5, 16384));
    MUST(cuMemAllocHost(&p, 4096));
    gate = p;
    *gate = 0;
    streams[1] = CU_STREAM_LEGACY;
    streams[2] = CU_STREAM_PER_THREAD;
    MUST(cuStreamCreate(&streams[3], 0));
    MUST(cuStreamCreate(&streams[4], CU_STREAM_NON_BLOCKING));
    MUST(cuStreamCreateWithPriority(&streams[5], CU_STREAM_NON_BLOCKING, -3));
    MUST(cuCtxSynchronize());
}

/* Not ready at once may only mean: not yet; with no stream held up, certainly. */
static int patience_ms(void) { return held ? 500 : 20000; }

static CUresult settle_stream(CUstream s)
{
    CUresult r = cuStreamQuery(s);
    for (int i = patience_ms(); i-- && r == CUDA_ERROR_NOT_READY;) usleep(1000), r = cuStreamQuery(s);
    return r;
}

static CUresult settle_event(CUevent e)
{
    CUresult r = cuEventQuery(e);
    for (int i = patience_ms(); i-- && r == CUDA_ERROR_NOT_READY;) usleep(1000), r = cuEventQuery(e);
    return r;
}

static void hold(int i)
{
    SAY("hold %s = %s", stream_name(i),
        rname(cuStreamWaitValue32(streams[i], (CUdeviceptr)gate, 1, CU_STREAM_WAIT_VALUE_EQ)));
    held |= 1 << i;
}

static void let_go(void)
{
    *gate = 1;
    CUresult r = cuCtxSynchronize();
    SAY("let go = %s", rname(r));
    *gate = 0;
    held = 0;
}

/* ---- what is made and asked */

static const unsigned odd_flags[] = { 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x10, 0x100, ~0u };

static void make_stream(void)
{
    int i = OWN + (int)rnd(STREAMS - OWN), p = (int)rnd(12) - 8;
    unsigned f = PICK(odd_flags), w = rnd(3);
    CUstream s = NULL;
    CUresult r = CUDA_SUCCESS;
    if (streams[i]) {
        if (held || rnd(3)) {
            SAY("kept %d = 1", i);
            return;
        }
        r = cuStreamDestroy(streams[i]);
        streams[i] = NULL;
        SAY("destroy %d = %s", i, rname(r));
        return;
    }
    r = w ? cuStreamCreateWithPriority(rnd(20) ? &s : NULL, f, p) : cuStreamCreate(rnd(20) ? &s : NULL, f);
    if (!r) streams[i] = s;
    SAY("create %d f%x p%d = %s", i, f, w ? p : 0, rname(r));
}

static int any_stream(void)
{
    int i = (int)rnd(STREAMS);
    return i < OWN || streams[i] ? i : 4;
}

static void make_event(void)
{
    int i = (int)rnd(EVENTS);
    unsigned f = PICK(odd_flags);
    CUevent e = NULL;
    if (events[i]) {
        CUresult r = cuEventDestroy(events[i]);
        events[i] = NULL;
        recorded[i] = false;
        SAY("evdestroy %d = %s", i, rname(r));
        return;
    }
    CUresult r = cuEventCreate(rnd(20) ? &e : NULL, f);
    if (!r) events[i] = e, event_flags[i] = f;
    SAY("evcreate %d f%x = %s", i, f, rname(r));
}

static void about_stream(void)
{
    int i = any_stream(), j = any_stream(), v = -77;
    CUstream s = streams[i];
    unsigned u = 0x77;
    unsigned long long id = 0, id2 = 0;
    CUcontext c = NULL;
    CUgreenCtx g = (CUgreenCtx)1;
    CUdevice d = -7;
    CUresult r;
    switch (rnd(8)) {
    case 0:
        r = cuStreamGetFlags(s, rnd(10) ? &u : NULL);
        SAY("flags %s = %s %x", stream_name(i), rname(r), u);
        break;
    case 1:
        r = cuStreamGetPriority(s, rnd(10) ? &v : NULL);
        SAY("priority %s = %s %d", stream_name(i), rname(r), v);
        break;
    case 2:
        r = cuStreamGetId(s, rnd(10) ? &id : NULL);
        cuStreamGetId(streams[j], &id2);
        SAY("id %s %s = %s %d %d", stream_name(i), stream_name(j), rname(r), id != 0, id == id2);
        break;
    case 3:
        r = cuStreamGetCtx(s, rnd(10) ? &c : NULL);
        SAY("context %s = %s %d", stream_name(i), rname(r), c == ctx0);
        break;
    case 4: {
        bool a = rnd(6), b = rnd(6);
        r = cuStreamGetCtx_v2(s, a ? &c : NULL, b ? &g : NULL);
        SAY("context2 %s %d %d = %s %d %d", stream_name(i), a, b, rname(r), c == ctx0, g == NULL);
        break;
    }
    case 5:
        r = cuStreamGetDevice(s, rnd(10) ? &d : NULL);
        SAY("device %s = %s %d", stream_name(i), rname(r), d);
        break;
    case 6: {
        CUstreamCaptureStatus status = 77;
        r = cuStreamIsCapturing(s, rnd(10) ? &status : NULL);
        SAY("capturing %s = %s %d", stream_name(i), rname(r), status);
        break;
    }
    default:
        r = cuStreamGetGreenCtx(s, rnd(10) ? &g : NULL);
        SAY("green %s = %s %d", stream_name(i), rname(r), g == NULL);
    }
}

/* ---- attributes */

static const char *attribute_text(int id, const CUstreamAttrValue *v)
{
    switch (id) {
    case 1:
        return keyf("%d %zu %.2f %d %d", v->accessPolicyWindow.base_ptr == (void *)memory,
                    v->accessPolicyWindow.num_bytes, v->accessPolicyWindow.hitRatio, v->accessPolicyWindow.hitProp,
                    v->accessPolicyWindow.missProp);
    case 9: return keyf("%d %d", v->memSyncDomainMap.default_, v->memSyncDomainMap.remote);
    default: return keyf("%x", v->priority);
    }
}

static void attributes(void)
{
    int i = any_stream(), j = any_stream(), id = rnd(4) ? (int[]){ 1, 3, 8, 9, 10 }[rnd(5)] : (int)rnd(20) - 1;
    CUstreamAttrValue v, w;
    CUresult r, q;
    static const size_t sizes[] = { 0, 1, 4096, 65536, 1 << 20, 64ul << 20, 128ul << 20, 134217729, 1ul << 33 };
    static const float ratios[] = { 0, 0.25f, 0.5f, 0.6f, 1, 1.5f, -1 };
    memset(&v, 0x5a, sizeof v);
    memset(&w, 0x5a, sizeof w);
    switch (rnd(6)) {
    case 0:
        r = cuStreamCopyAttributes(streams[i], streams[j]);
        SAY("copyattr %s %s = %s", stream_name(i), stream_name(j), rname(r));
        break;
    case 1:
    case 2:
        r = cuStreamGetAttribute(streams[i], (CUstreamAttrID)id, &v);
        SAY("getattr %s %d = %s %s", stream_name(i), id, rname(r), attribute_text(id, &v));
        break;
    default:
        memset(&v, 0, sizeof v);
        if (id == 1) {
            v.accessPolicyWindow.base_ptr = rnd(4) ? (void *)memory : rnd(2) ? NULL : (void *)0x1000;
            v.accessPolicyWindow.num_bytes = PICK(sizes);
            v.accessPolicyWindow.hitRatio = PICK(ratios);
            v.accessPolicyWindow.hitProp = (CUaccessProperty)rnd(4);
            v.accessPolicyWindow.missProp = (CUaccessProperty)rnd(4);
        } else if (id == 9) {
            v.memSyncDomainMap.default_ = (unsigned char)rnd(6);
            v.memSyncDomainMap.remote = (unsigned char)rnd(6);
        } else
            v.priority = (int)rnd(12) - 7;
        r = cuStreamSetAttribute(streams[i], (CUstreamAttrID)id, &v);
        q = cuStreamGetAttribute(streams[i], (CUstreamAttrID)id, &w);
        SAY("setattr %s %d %s = %s %s %s", stream_name(i), id, attribute_text(id, &v), rname(r), rname(q),
            attribute_text(id, &w));
    }
}

/* ---- events */

static int any_event(void)
{
    int i = (int)rnd(EVENTS);
    for (int k = 0; k < EVENTS && !events[i]; k++) i = (i + 1) % EVENTS;
    return i;
}

static void with_events(void)
{
    int i = any_event(), j = any_event(), s = any_stream();
    unsigned f = rnd(4) ? 0 : rnd(5);
    float ms = -5;
    CUresult r;
    switch (rnd(8)) {
    case 0:
    case 1:
        r = rnd(2) ? cuEventRecordWithFlags(events[i], streams[s], f) : (f = 0, cuEventRecord(events[i], streams[s]));
        if (!r) recorded[i] = true;
        SAY("record %d f%u %s = %s", events[i] ? i : -1, f, stream_name(s), rname(r));
        break;
    case 2:
    case 3:
        SAY("wait %s %d f%u = %s", stream_name(s), events[i] ? i : -1, f,
            rname(cuStreamWaitEvent(streams[s], events[i], f)));
        break;
    case 4:
        SAY("evquery %d = %s", events[i] ? i : -1, rname(events[i] ? settle_event(events[i]) : cuEventQuery(NULL)));
        break;
    case 5:
        r = events[i] ? settle_event(events[i]) : CUDA_SUCCESS;
        if (r != CUDA_ERROR_NOT_READY) r = cuEventSynchronize(events[i]);
        SAY("evsync %d = %s", events[i] ? i : -1, rname(r));
        break;
    case 6:
        if (events[i]) settle_event(events[i]);
        if (events[j]) settle_event(events[j]);
        r = cuEventElapsedTime(&ms, events[i], events[j]);
        SAY("elapsed %d %d = %s %d", events[i] ? i : -1, events[j] ? j : -1, rname(r),
            ms == -5 ? -5 : ms == 0 && i == j);
        break;
    default: {
        CUipcEventHandle h;
        CUevent e = NULL;
        r = cuIpcGetEventHandle(rnd(10) ? &h : NULL, events[i]);
        CUresult q = r ? CUDA_SUCCESS : cuIpcOpenEventHandle(&e, h);
        SAY("ipc %d = %s %s", events[i] ? i : -1, rname(r), rname(q));
        if (!q && e) cuEventDestroy(e);
    }
    }
}

/* ---- work */

static void CUDA_CB count_call(void *unused) { __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST); }
static void CUDA_CB count_callback(CUstream s, CUresult r, void *unused)
{
    __atomic_add_fetch(&calls, r ? 1000 : 1, __ATOMIC_SEQ_CST);
}

static void work(void)
{
    int s = any_stream();
    unsigned f = rnd(8) ? 0 : rnd(3);
    bool given = rnd(12);
    switch (rnd(6)) {
    case 0:
        SAY("host %s %d = %s", stream_name(s), given,
            rname(cuLaunchHostFunc(streams[s], given ? count_call : NULL, NULL)));
        break;
    case 1:
        SAY("callback %s %d f%u = %s", stream_name(s), given, f,
            rname(cuStreamAddCallback(streams[s], given ? count_callback : NULL, NULL, f)));
        break;
    case 2: SAY("fill %s = %s", stream_name(s), rname(cuMemsetD32Async(memory, 5, 16, streams[s]))); break;
    case 3: SAY("query %s = %s", stream_name(s), rname(settle_stream(streams[s]))); break;
    case 4: {
        CUresult r = settle_stream(streams[s]);
        if (r != CUDA_ERROR_NOT_READY) r = cuStreamSynchronize(streams[s]);
        SAY("sync %s = %s", stream_name(s), rname(r));
        break;
    }
    default:
        if (!held) {
            CUresult r = cuCtxSynchronize();
            SAY("calls = %s %d", rname(r), calls);
        } else
            SAY("query %s = %s", stream_name(s), rname(settle_stream(streams[s])));
    }
}

static void one(void)
{
    static const unsigned shares[] = { 4, 3, 5, 7, 10, 6 };
    static void (*const kinds[])(void) = { make_stream, make_event, about_stream, attributes, with_events, work };
    unsigned w = rnd(38), k = 0;
    if (w >= 35) {
        if (held)
            let_go();
        else
            hold(any_stream());
        return;
    }
    while (w >= shares[k]) w -= shares[k++];
    kinds[k]();
}

static void walk(uint64_t seed, int steps, void (*step)(void))
{
    prepare();
    for (int i = 0; i < steps; i++) {
        walk_to(seed, i);
        step();
        CUresult r = held ? CUDA_SUCCESS : cuCtxSynchronize();
        if (r) {
            rec("sticky", "%s", rname(r));
            return;
        }
    }
    if (held) let_go();
}

/* ---- memory operations: all memory has fives in it, so what is waited for is known to be there */

enum { KINDS = 16 };
static CUdeviceptr places[KINDS];
static size_t sizes[KINDS];
static const char *const kinds[KINDS] = { "device",   "pinned",   "managed",  "registered",  "pool", "mapped",
                                          "readonly", "noaccess", "unmapped", "malloc",      "null", "wild",
                                          "freed",    "global",   "constant", "hostattached" };

static void fill_host(void *p, size_t n)
{
    for (size_t k = 0; k < n / 4; k++) ((unsigned *)p)[k] = 5;
}

static void prepare_places(void)
{
    CUmemGenericAllocationHandle h;
    CUmodule m;
    void *p;
    prepare();
    for (int i = 0; i < KINDS; i++) sizes[i] = 65536;
    places[0] = memory;
    MUST(cuMemAllocHost(&p, 65536));
    fill_host(p, 65536);
    places[1] = (CUdeviceptr)p;
    MUST(cuMemAllocManaged(&places[2], 65536, CU_MEM_ATTACH_GLOBAL));
    fill_host((void *)places[2], 65536);
    p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fill_host(p, 65536);
    MUST(cuMemHostRegister(p, 65536, 0));
    places[3] = (CUdeviceptr)p;
    MUST(cuMemAllocAsync(&places[4], 65536, streams[3]));
    MUST(cuMemsetD32Async(places[4], 5, 16384, streams[3]));
    for (int i = 5; i <= 7; i++) {
        CUmemAccessDesc d = { loc(1, 0), i == 6 ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_NONE };
        places[i] = vmm_alloc(2 * MiB, &h);
        sizes[i] = 2 * MiB;
        MUST(cuMemsetD32(places[i], 5, 2 * MiB / 4));
        MUST(cuCtxSynchronize());
        if (i > 5) MUST(cuMemSetAccess(places[i], 2 * MiB, &d, 1));
    }
    MUST(cuMemAddressReserve(&places[8], 2 * MiB, 0, 0, 0));
    p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fill_host(p, 65536);
    places[9] = (CUdeviceptr)p;
    places[11] = 0x12345000;
    MUST(cuMemAlloc(&places[12], 8 * MiB));
    MUST(cuMemFree(places[12]));
    MUST(cuModuleLoadData(&m, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 8 .u32 g[64];\n"
                              ".visible .const .align 8 .u32 c[64];\n"));
    MUST(cuModuleGetGlobal(&places[13], &sizes[13], m, "g"));
    MUST(cuModuleGetGlobal(&places[14], &sizes[14], m, "c"));
    MUST(cuMemsetD32(places[13], 5, 64));
    MUST(cuMemsetD32(places[14], 5, 64));
    MUST(cuMemAllocManaged(&places[15], 65536, CU_MEM_ATTACH_HOST));
    fill_host((void *)places[15], 65536);
    MUST(cuCtxSynchronize());
}

static const char *place(CUdeviceptr *p)
{
    int k = rnd(3) ? (int)rnd(5) : (int)rnd(KINDS);
    if (k == 6 || k == 7 || k == 12) k = 5; /* by themselves, below */
    static const long offsets[] = { 0, 0, 8, 16, 4, 1, 2, 12, -4, -8, 0x10000 };
    long o = rnd(2) ? 0 : PICK(offsets);
    if (o < 0) o += (long)sizes[k];
    if (o >= 0x10000) o = (long)sizes[k];
    if (k == 9) o = 0; /* others' memory may be behind it */
    *p = k == 10 ? 0 : places[k] + (CUdeviceptr)o;
    return keyf("%s+%ld", kinds[k], o);
}

/* A condition that five fulfils, and flags. */
static unsigned wait_flags(uint64_t *value, bool wide)
{
    uint64_t five = wide ? 0x500000005ul : 5;
    unsigned f = rnd(5), more = rnd(5) ? 0 : 1u << (int[]){ 30, 30, 3, 4, 31, 16 }[rnd(6)];
    switch (f) {
    case 0: *value = rnd(2) ? five : five - 1 - rnd(4); break;
    case 1: *value = five; break;
    case 2: *value = rnd(2) ? five : 4; break;
    case 3: *value = rnd(2) ? 0 : five; break;
    default:
        *value = five;
        f = 4;
        break;
    }
    return f | more;
}

static unsigned write_flags(void) { return rnd(3) ? 0 : (unsigned[]){ 1, 1, 2, 3, 4, 0x10, 0x80000000u }[rnd(7)]; }

static const char *operation(CUstreamBatchMemOpParams *p, int only)
{
    static const int types[] = { CU_STREAM_MEM_OP_WAIT_VALUE_32,
                                 CU_STREAM_MEM_OP_WRITE_VALUE_32,
                                 CU_STREAM_MEM_OP_WAIT_VALUE_64,
                                 CU_STREAM_MEM_OP_WRITE_VALUE_64,
                                 CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES,
                                 CU_STREAM_MEM_OP_BARRIER,
                                 0,
                                 7,
                                 8 };
    int type = only ? only : types[rnd(rnd(3) ? 4 : 9)];
    uint64_t v = 5;
    CUdeviceptr a = 0;
    const char *where = "";
    memset(p, 0, sizeof *p);
    p->operation = (CUstreamBatchMemOpType)type;
    switch (type) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        where = place(&a);
        p->waitValue.address = a;
        p->waitValue.flags = wait_flags(&v, type == CU_STREAM_MEM_OP_WAIT_VALUE_64);
        p->waitValue.value64 = v;
        return keyf("%s%d %s %lx f%x", "wait", type == CU_STREAM_MEM_OP_WAIT_VALUE_64 ? 64 : 32, where,
                    (unsigned long)v, p->waitValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        where = place(&a);
        p->writeValue.address = a;
        p->writeValue.flags = write_flags();
        p->writeValue.value64 = type == CU_STREAM_MEM_OP_WRITE_VALUE_64 ? 0x500000005ul : 5;
        return keyf("%s%d %s f%x", "write", type == CU_STREAM_MEM_OP_WRITE_VALUE_64 ? 64 : 32, where,
                    p->writeValue.flags);
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        p->flushRemoteWrites.flags = rnd(2) ? 0 : rnd(4);
        return keyf("flush f%u", p->flushRemoteWrites.flags);
    case CU_STREAM_MEM_OP_BARRIER:
        p->memoryBarrier.flags = rnd(2) ? 0 : rnd(4);
        return keyf("barrier f%u", p->memoryBarrier.flags);
    default: return keyf("op%d", type);
    }
}

static void memory_operation(void)
{
    int i = (int)rnd(6);
    CUstream s = streams[i];
    CUstreamBatchMemOpParams ops[4];
    CUresult r;
    char *t = text();
    unsigned w = rnd(6), n = 1, f = 0;
    if (w == 4) {
        n = rnd(8) ? 1 + rnd(3) : 0;
        f = rnd(8) ? 0 : rnd(3);
        for (unsigned k = 0; k < n; k++) add(t, "%s%s", k ? ", " : "", operation(&ops[k], 0));
        r = cuStreamBatchMemOp(s, n, ops, f);
        SAY("batch %s n%u f%u %s = %s %s", stream_name(i), n, f, t, rname(r), rname(cuCtxSynchronize()));
        return;
    }
    if (w == 5) {
        CUdeviceptr a;
        const char *where = place(&a);
        size_t length = (size_t[]){ 0, 0, 65536, 4096, 1, 131072 }[rnd(6)];
        f = (unsigned[]){ 1, 2, 4, 0, 3, 8 }[rnd(6)];
        r = cuStreamAttachMemAsync(s, a, length, f);
        SAY("attach %s %s %zu f%u = %s %s", stream_name(i), where, length, f, rname(r), rname(cuCtxSynchronize()));
        if (!r && a) cuStreamAttachMemAsync(0, a, 0, CU_MEM_ATTACH_GLOBAL);
        cuCtxSynchronize();
        return;
    }
    const char *what =
        operation(&ops[0], (int[]){ CU_STREAM_MEM_OP_WAIT_VALUE_32, CU_STREAM_MEM_OP_WRITE_VALUE_32,
                                    CU_STREAM_MEM_OP_WAIT_VALUE_64, CU_STREAM_MEM_OP_WRITE_VALUE_64 }[w]);
    switch (w) {
    case 0: r = cuStreamWaitValue32(s, ops[0].waitValue.address, ops[0].waitValue.value, ops[0].waitValue.flags); break;
    case 1:
        r = cuStreamWriteValue32(s, ops[0].writeValue.address, ops[0].writeValue.value, ops[0].writeValue.flags);
        break;
    case 2:
        r = cuStreamWaitValue64(s, ops[0].waitValue.address, ops[0].waitValue.value64, ops[0].waitValue.flags);
        break;
    default: r = cuStreamWriteValue64(s, ops[0].writeValue.address, ops[0].writeValue.value64, ops[0].writeValue.flags);
    }
    SAY("%s %s = %s %s", what, stream_name(i), rname(r), rname(cuCtxSynchronize()));
}

static void walk_memory(uint64_t seed, int steps)
{
    prepare_places();
    for (int i = 0; i < steps; i++) {
        walk_to(seed, i);
        memory_operation();
        CUresult r = cuCtxSynchronize();
        if (r) {
            rec("sticky", "%s", rname(r));
            return;
        }
    }
}

/* Memory that the device may not touch. */
static void memory_by_itself(int k, int write)
{
    prepare_places();
    CUresult r =
        write ? cuStreamWriteValue32(streams[4], places[k], 5, 0) : cuStreamWaitValue32(streams[4], places[k], 5, 0);
    rec("call", "%s", rname(r));
    usleep(20000);
    r = settle_stream(streams[4]);
    rec("query", "%s", rname(r));
    if (r != CUDA_ERROR_NOT_READY) K("then", cuCtxSynchronize());
}

#define FORBIDDEN(X) X(6) X(7) X(9) X(12)
#define BY_ITSELF(k) \
    static void g_forbidden_wait_##k(void) { memory_by_itself(k, 0); } \
    static void g_forbidden_write_##k(void) { memory_by_itself(k, 1); }
FORBIDDEN(BY_ITSELF)
#define FORBIDDEN_GROUPS(k) \
    { "forbidden_wait_" #k, g_forbidden_wait_##k, 1 }, { "forbidden_write_" #k, g_forbidden_write_##k, 1 },

#define WALKS(i) \
    static void g_stream_##i(void) { walk(0x##i, 600, one); } \
    static void g_memop_##i(void) { walk_memory(0x##i, 500); }
#define SEEDS(X) X(01) X(02) X(03)
SEEDS(WALKS)
#define GROUPS(i) { "stream_" #i, g_stream_##i, 1 }, { "memop_" #i, g_memop_##i, 1 },
const struct group groups[] = { SEEDS(GROUPS) FORBIDDEN(FORBIDDEN_GROUPS){ 0 } };
