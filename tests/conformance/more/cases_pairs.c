/* Which of two wrong arguments a call complains of: every call of the memory groups with each wrong value of each
 * argument, and with each two of them. A call runs in a process that goes on behind what ended it. */
#include "oracle.h"

enum { ARGS = 8, WRONG = 6 };
typedef CUresult (*call8)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
struct asked {
    const char *name;
    uint64_t v[ARGS][WRONG + 1]; /* the right value first */
    int n[ARGS], args;
    void (*undo)(void);
};

static uint64_t out[64], out2[64];
static CUdeviceptr dev, man, freed, va, mapped, pooled, reg;
static void *host, *page;
static CUmemGenericAllocationHandle h, h2, shareable;
static CUstream s;
static CUmemoryPool pool, deflt;
static CUarray array, sparse;
static CUmipmappedArray mip;
static CUcontext ctx;
static CUmemAllocationProp good, bad_type, bad_loc, bad_dev, bad_handle;
static CUmemAccessDesc rw, rw_loc, rw_dev, rw_flags;
static CUmemLocation at_dev, at_host, at_none, at_99;
static CUmemPoolProps pp, pp_type, pp_loc, pp_handle;
static CUDA_ARRAY_DESCRIPTOR ad, ad_fmt, ad_ch, ad_w;
static CUDA_ARRAY3D_DESCRIPTOR a3, a3_fmt, a3_ch, a3_w, a3_fl;
static CUdeviceptr batch[2], batch_bad[2], batch_dst[2];
static size_t sizes[2] = { 4096, 4096 }, sizes_bad[2] = { 4096, 1ul << 40 }, sizes_0[2] = { 4096, 0 };
static CUmemLocation locs[2], locs_bad[2];
static size_t idx[2] = { 0, 1 }, idx_bad[2] = { 1, 1 }, idx_far[2] = { 0, 9 };
static CUmemcpyAttributes attrs[2], attrs_bad[2];
static CUpointer_attribute pats[2] = { 2, 8 }, pats_bad[2] = { 2, 99 };
static void *datas[2], *datas_0[2];
static size_t dsizes[2] = { 4, 4 }, dsizes_bad[2] = { 4, 3 };
static CUmem_range_attribute rats[2] = { 1, 2 }, rats_bad[2] = { 1, 99 };
static int fd = -1;

static CUevent ev;
static CUstreamBatchMemOpParams ops[2], ops_bad[2];
static CUDA_MEMCPY3D_BATCH_OP op3, op3_bad;
static CUDA_MEMCPY2D c2, c2_pitch, c2_type, c2_wide;
static CUarrayMapInfo mi, mi_type, mi_mask, mi_off;
static CUDA_RESOURCE_DESC rd, rd_type, rd_plain;
static CUDA_TEXTURE_DESC td, td_mode, td_flags;
static CUDA_RESOURCE_VIEW_DESC vd;
static void destroy_stream(void) { cuStreamDestroy((CUstream)out[0]); }
static void destroy_event(void) { cuEventDestroy((CUevent)out[0]); }
static void destroy_tex(void) { cuTexObjectDestroy(out[0]); }

static uint64_t place(int type, int id) { return (uint32_t)type | (uint64_t)(uint32_t)id << 32; }

static void things(void)
{
    setup();
    ctx = ctx0;
    MUST(cuStreamCreate(&s, 1));
    MUST(cuMemAlloc(&dev, 1 * MiB));
    MUST(cuMemAllocManaged(&man, 1 * MiB, 1));
    MUST(cuMemAllocHost(&host, 1 * MiB));
    page = mmap(0, 1 * MiB, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *r = mmap(0, 1 * MiB, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(cuMemHostRegister(r, 1 * MiB, 0));
    reg = (CUdeviceptr)r;
    MUST(cuMemAlloc(&freed, 64 * MiB));
    MUST(cuMemFree(freed));
    good = prop_dev(0);
    bad_type = bad_loc = bad_dev = bad_handle = good;
    bad_type.type = 9;
    bad_loc.location.type = 9;
    bad_dev.location.id = 99;
    bad_handle.requestedHandleTypes = 64;
    MUST(cuMemAddressReserve(&va, 8 * GRAN, 0, 0, 0));
    MUST(cuMemCreate(&h, GRAN, &good, 0));
    MUST(cuMemCreate(&h2, GRAN, &good, 0));
    CUmemAllocationProp sh = good;
    sh.requestedHandleTypes = 1;
    MUST(cuMemCreate(&shareable, GRAN, &sh, 0));
    MUST(cuMemExportToShareableHandle(&fd, shareable, 1, 0));
    mapped = va + 4 * GRAN;
    MUST(cuMemMap(mapped, GRAN, 0, h2, 0));
    rw = (CUmemAccessDesc){ loc(1, 0), 3 };
    rw_loc = (CUmemAccessDesc){ loc(9, 0), 3 };
    rw_dev = (CUmemAccessDesc){ loc(1, 99), 3 };
    rw_flags = (CUmemAccessDesc){ loc(1, 0), 9 };
    MUST(cuMemSetAccess(mapped, GRAN, &rw, 1));
    at_dev = loc(1, 0), at_host = loc(2, 0), at_none = loc(9, 0), at_99 = loc(1, 99);
    memset(&pp, 0, sizeof pp);
    pp.allocType = 1;
    pp.location = loc(1, 0);
    pp.handleTypes = 1;
    pp_type = pp_loc = pp_handle = pp;
    pp_type.allocType = 9;
    pp_loc.location = loc(1, 99);
    pp_handle.handleTypes = 64;
    MUST(cuMemPoolCreate(&pool, &pp));
    MUST(cuDeviceGetDefaultMemPool(&deflt, 0));
    MUST(cuMemAllocFromPoolAsync(&pooled, 65536, pool, s));
    MUST(cuStreamSynchronize(s));
    ad = (CUDA_ARRAY_DESCRIPTOR){ 64, 32, 0x20, 1 };
    ad_fmt = ad_ch = ad_w = ad;
    ad_fmt.Format = 99, ad_ch.NumChannels = 3, ad_w.Width = 0;
    a3 = (CUDA_ARRAY3D_DESCRIPTOR){ 64, 32, 4, 0x20, 1, 0 };
    a3_fmt = a3_ch = a3_w = a3_fl = a3;
    a3_fmt.Format = 99, a3_ch.NumChannels = 3, a3_w.Width = 0, a3_fl.Flags = 0x10000;
    MUST(cuArrayCreate(&array, &ad));
    CUDA_ARRAY3D_DESCRIPTOR sp = { 1024, 1024, 0, 0x20, 1, CUDA_ARRAY3D_SPARSE };
    MUST(cuArray3DCreate(&sparse, &sp));
    MUST(cuMipmappedArrayCreate(&mip, &a3, 2));
    for (int k = 0; k < 2; k++) {
        batch[k] = batch_bad[k] = man + 65536 * k;
        batch_dst[k] = dev + 65536 * k;
        locs[k] = locs_bad[k] = loc(1, 0);
        memset(&attrs[k], 0, sizeof attrs[k]);
        attrs[k].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        attrs_bad[k] = attrs[k];
        datas[k] = datas_0[k] = &out[8 * k];
    }
    batch_bad[1] = 0x1234000;
    locs_bad[1] = loc(9, 0);
    attrs_bad[1].srcAccessOrder = 9;
    datas_0[1] = 0;
    kernels();
    MUST(cuEventCreate(&ev, 0));
    MUST(cuEventRecord(ev, s));
    ops_bad[0].operation = 99;
    op3.src.type = op3.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    op3.src.op.ptr.ptr = dev, op3.dst.op.ptr.ptr = dev + 65536;
    op3.src.op.ptr.locHint = op3.dst.op.ptr.locHint = loc(1, 0);
    op3.extent.width = 64, op3.extent.height = op3.extent.depth = 1;
    op3.srcAccessOrder = 1;
    op3_bad = op3;
    op3_bad.src.type = 9;
    c2.srcMemoryType = c2.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c2.srcDevice = dev, c2.dstDevice = dev + 65536;
    c2.srcPitch = c2.dstPitch = 512, c2.WidthInBytes = 64, c2.Height = 4;
    c2_pitch = c2_type = c2_wide = c2;
    c2_pitch.srcPitch = 8, c2_type.srcMemoryType = 9, c2_wide.WidthInBytes = 1024;
    mi.resourceType = CU_RESOURCE_TYPE_ARRAY, mi.resource.array = sparse, mi.subresourceType = 0;
    mi.subresource.sparseLevel.extentWidth = mi.subresource.sparseLevel.extentHeight = 128,
    mi.subresource.sparseLevel.extentDepth = 1;
    mi.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP, mi.deviceBitMask = 1;
    mi_type = mi_mask = mi_off = mi;
    mi_type.memOperationType = 9, mi_mask.deviceBitMask = 0, mi_off.subresource.sparseLevel.offsetX = 1;
    rd.resType = CU_RESOURCE_TYPE_ARRAY, rd.res.array.hArray = array;
    rd_type = rd, rd_plain = rd;
    rd_type.resType = 9;
    td_mode.addressMode[0] = 99, td_flags.flags = 0x100000;
    vd.format = 1, vd.width = 1;
}

#define P(x) (uint64_t)(uintptr_t)(x)
static void free_out(void) { cuMemFree(out[0]); }
static void free_async(void) { cuMemFreeAsync(out[0], s), cuStreamSynchronize(s); }
static void free_host(void) { cuMemFreeHost((void *)out[0]); }
static void unregister(void) { cuMemHostUnregister(page); }
static void release(void) { cuMemRelease(out[0]); }
static void unreserve(void)
{
    for (size_t n = GRAN; n <= 16 * GRAN; n += GRAN)
        if (!cuMemAddressFree(out[0], n)) return;
}
static void unmap(void) { cuMemUnmap(va, GRAN), cuMemUnmap(va, 2 * GRAN); }
static void remap(void) { cuMemMap(mapped, GRAN, 0, h2, 0), cuMemSetAccess(mapped, GRAN, &rw, 1); }
static void reaccess(void) { cuMemSetAccess(mapped, GRAN, &rw, 1); }
static void close_out(void) { close((int)out[0]); }
static void destroy_pool(void) { cuMemPoolDestroy((CUmemoryPool)out[0]); }
static void destroy_array(void) { cuArrayDestroy((CUarray)out[0]); }
static void destroy_mip(void) { cuMipmappedArrayDestroy((CUmipmappedArray)out[0]); }
static void set_default(void) { cuDeviceSetMemPool(0, deflt); }
static void settle(void) { cuCtxSynchronize(); }

static int pick[ARGS];

static void ask(struct asked *a, void *f)
{
    uint64_t v[ARGS] = { 0 };
    char key[64] = "";
    for (int i = 0; i < a->args; i++) {
        v[i] = a->v[i][pick[i]];
        if (pick[i]) snprintf(key + strlen(key), sizeof key - strlen(key), "%d%c", i, 'a' + pick[i] - 1);
    }
    memset(out, 0, sizeof out);
    CUresult r = ((call8)f)(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]);
    rec(keyf("%s.%s", a->name, *key ? key : "right"), "%s", rname(r));
    if (!r && a->undo) a->undo();
    r = cuCtxSynchronize();
    if (r) {
        rec(keyf("%s.%s.after", a->name, *key ? key : "right"), "%s", rname(r));
        _exit(9);
    }
}

static volatile int *at;
static int number;
#define TURN() (number++ < *at ? 0 : ((*at)++, alarm(10), 1))

static void all(struct asked *a, void *f)
{
    memset(pick, 0, sizeof pick);
    if (TURN()) ask(a, f);
    for (int i = 0; i < a->args; i++)
        for (int x = 1; x < a->n[i]; x++) {
            memset(pick, 0, sizeof pick);
            pick[i] = x;
            if (TURN()) ask(a, f);
            for (int j = i + 1; j < a->args; j++)
                for (int y = 1; y < a->n[j]; y++) {
                    pick[j] = y;
                    if (TURN()) ask(a, f);
                    pick[j] = 0;
                }
        }
}
#define COUNT(...) (sizeof((uint64_t[]){ __VA_ARGS__ }) / 8)
#define A(...) \
    COUNT(__VA_ARGS__), { __VA_ARGS__ }
struct one {
    int n;
    uint64_t v[WRONG + 1];
};
#define ASK(f, undo_, ...) \
    do { \
        struct one l[] = { __VA_ARGS__ }; \
        struct asked a = { .name = #f, .undo = undo_ }; \
        a.args = sizeof l / sizeof *l; \
        for (int i = 0; i < a.args; i++) { \
            a.n[i] = l[i].n; \
            memcpy(a.v[i], l[i].v, sizeof a.v[i]); \
        } \
        all(&a, (void *)f); \
    } while (0)

static void everything(void)
{
    uint64_t big = 1ul << 47;
    ASK(cuMemAlloc, free_out, { A(P(out), 0) }, { A(4096, 0, big, ~0ul) });
    ASK(cuMemAllocManaged, free_out, { A(P(out), 0) }, { A(4096, 0, big, ~0ul) }, { A(1, 0, 3, 4, 8) });
    ASK(cuMemAllocPitch, free_out, { A(P(out), 0) }, { A(P(out2), 0) }, { A(100, 0, big) }, { A(10, 0, big) },
        { A(4, 0, 3, 32) });
    ASK(cuMemAllocHost, free_host, { A(P(out), 0) }, { A(4096, 0, big) });
    ASK(cuMemHostAlloc, free_host, { A(P(out), 0) }, { A(4096, 0, big) }, { A(0, 8, 0x100, 7, ~0u) });
    ASK(cuMemHostRegister, unregister, { A(P(page), 0, P(host), P(man), P(dev), reg) }, { A(65536, 0, big, 3) },
        { A(0, 2, 4, 8, 0x100, 16) });
    ASK(cuMemHostUnregister, 0, { A(1, 0, P(page), P(host), P(man), P(dev)) });
    ASK(cuMemHostGetDevicePointer, 0, { A(P(out), 0) }, { A(P(host), 0, P(page), P(dev), P(man), freed) }, { A(0, 1) });
    ASK(cuMemHostGetFlags, 0, { A(P(out), 0) }, { A(P(host), 0, P(page), P(dev), P(man)) });
    ASK(cuMemGetAddressRange, 0, { A(P(out), 0) }, { A(P(out2), 0) },
        { A(dev, 0, 0x1234000, P(page), P(host), freed) });
    ASK(cuMemGetInfo, 0, { A(P(out), 0) }, { A(P(out2), 0) });
    ASK(cuMemFree, 0, { A(0, P(page), P(host), dev + 4, mapped, va) });
    ASK(cuMemFreeHost, 0, { A(P(0), P(page), P(host) + 8, dev, man, reg) });
    ASK(cuMemAddressReserve, unreserve, { A(P(out), 0) }, { A(GRAN, 0, 4096, GRAN + 1, big * 2) },
        { A(0, 1, 3, 4096, 3 * GRAN, GRAN) }, { A(0, 4096, va, 0x123456) }, { A(0, 1, 2) });
    ASK(cuMemAddressFree, 0, { A(P(0), va, va + GRAN, man, mapped) }, { A(0, GRAN, 4096, 16 * GRAN) });
    ASK(cuMemCreate, release, { A(P(out), 0) }, { A(GRAN, 0, 4096, GRAN + 1, big) },
        { A(P(&good), 0, P(&bad_type), P(&bad_loc), P(&bad_dev), P(&bad_handle)) }, { A(0, 1) });
    ASK(cuMemRelease, 0, { A(0) });
    ASK(cuMemMap, unmap, { A(va, 0, va + 4096, mapped, man, va + 8 * GRAN) }, { A(GRAN, 0, 4096, 2 * GRAN, 16 * GRAN) },
        { A(0, GRAN, 4096) }, { A(h, 0) }, { A(0, 1) });
    ASK(cuMemUnmap, remap, { A(mapped, 0, mapped + 4096, va, man, freed) }, { A(GRAN, 0, 4096, 2 * GRAN, 16 * GRAN) });
    ASK(cuMemSetAccess, reaccess, { A(mapped, 0, mapped + 4096, va, man, dev) },
        { A(GRAN, 0, 4096, 2 * GRAN, 16 * GRAN) }, { A(P(&rw), 0, P(&rw_loc), P(&rw_dev), P(&rw_flags)) }, { A(1, 0) });
    ASK(cuMemGetAccess, 0, { A(P(out), 0) }, { A(P(&at_dev), 0, P(&at_none), P(&at_99), P(&at_host)) },
        { A(mapped, 0, va, man, dev, P(page)) });
    ASK(cuMemExportToShareableHandle, close_out, { A(P(out), 0) }, { A(shareable, 0, h) }, { A(1, 0, 2, 8, 9, 64) },
        { A(0, 1) });
    ASK(cuMemImportFromShareableHandle, release, { A(P(out), 0) }, { A((uint64_t)fd, (uint64_t)-1, 777) },
        { A(1, 0, 2, 9, 64) });
    ASK(cuMemGetAllocationGranularity, 0, { A(P(out), 0) },
        { A(P(&good), 0, P(&bad_type), P(&bad_loc), P(&bad_dev), P(&bad_handle)) }, { A(0, 1, 2, 9) });
    ASK(cuMemGetAllocationPropertiesFromHandle, 0, { A(P(out), 0) }, { A(h, 0) });
    ASK(cuMemRetainAllocationHandle, release, { A(P(out), 0) }, { A(mapped, 0, va, man, dev, P(page)) });
    ASK(cuMemAdvise, 0, { A(man, 0, 0x1234000, dev, P(host), P(page)) }, { A(65536, 0, 4 * MiB) },
        { A(1, 0, 7, 3, 5, 8) }, { A(place(1, 0), place(0, 0), place(1, 99), place(9, 0), place(3, 77), place(2, 5)) });
    ASK(cuMemPrefetchAsync, settle, { A(man, 0, 0x1234000, dev, P(host), P(page)) }, { A(65536, 0, 4 * MiB) },
        { A(place(1, 0), place(0, 0), place(1, 99), place(9, 0), place(3, 77), place(2, 5)) }, { A(0, 1) },
        { A(P(s), 0) });
    ASK(cuMemPrefetchBatchAsync, settle, { A(P(batch), 0, P(batch_bad)) }, { A(P(sizes), 0, P(sizes_bad), P(sizes_0)) },
        { A(2, 0, 1) }, { A(P(locs), 0, P(locs_bad)) }, { A(P(idx), 0, P(idx_bad), P(idx_far)) }, { A(2, 0, 1, 3) },
        { A(0, 1) }, { A(P(s), 0, 1) });
    ASK(cuMemDiscardBatchAsync, settle, { A(P(batch), 0, P(batch_bad)) }, { A(P(sizes), 0, P(sizes_bad), P(sizes_0)) },
        { A(2, 0, 1) }, { A(0, 1) }, { A(P(s), 0, 1) });
    ASK(cuMemDiscardAndPrefetchBatchAsync, settle, { A(P(batch), 0, P(batch_bad)) },
        { A(P(sizes), 0, P(sizes_bad), P(sizes_0)) }, { A(2, 0, 1) }, { A(P(locs), 0, P(locs_bad)) },
        { A(P(idx), 0, P(idx_bad), P(idx_far)) }, { A(2, 0, 1, 3) }, { A(0, 1) }, { A(P(s), 0, 1) });
    ASK(cuMemRangeGetAttribute, 0, { A(P(out), 0) }, { A(4, 0, 3, 8) }, { A(1, 0, 3, 99, 5) },
        { A(man, 0, 0x1234000, dev, P(page)) }, { A(65536, 0, 4 * MiB) });
    ASK(cuMemRangeGetAttributes, 0, { A(P(datas), 0, P(datas_0)) }, { A(P(dsizes), 0, P(dsizes_bad)) },
        { A(P(rats), 0, P(rats_bad)) }, { A(2, 0) }, { A(man, 0, 0x1234000, dev, P(page)) }, { A(65536, 0, 4 * MiB) });
    ASK(cuPointerGetAttribute, 0, { A(P(out), 0) }, { A(2, 0, 99, 5, 6, 17) },
        { A(man, 0, 0x1234000, va, P(page), freed) });
    ASK(cuPointerGetAttributes, 0, { A(2, 0) }, { A(P(pats), 0, P(pats_bad)) }, { A(P(datas), 0) },
        { A(man, 0, 0x1234000, va, P(page), freed) });
    ASK(cuPointerSetAttribute, 0, { A(P(sizes), 0) }, { A(6, 0, 2, 99) }, { A(dev, 0, 0x1234000, va, P(page), man) });
    ASK(cuStreamAttachMemAsync, settle, { A(P(s), 0, 1, 2) }, { A(man, man + 4096, dev) }, { A(0, 4096, 1 * MiB) },
        { A(1, 0, 3, 4, 8) });
    ASK(cuMemAllocAsync, free_async, { A(P(out), 0) }, { A(4096, 0, big) }, { A(P(s), 0) });
    ASK(cuMemAllocFromPoolAsync, free_async, { A(P(out), 0) }, { A(4096, 0, big) }, { A(P(pool), 0) }, { A(P(s), 0) });
    ASK(cuMemFreeAsync, 0, { A(0, 0x1234000, P(page), mapped, man, pooled + 512) }, { A(P(s), 0) });
    ASK(cuMemPoolCreate, destroy_pool, { A(P(out), 0) }, { A(P(&pp), 0, P(&pp_type), P(&pp_loc), P(&pp_handle)) });
    ASK(cuMemPoolDestroy, 0, { A(0, P(deflt)) });
    ASK(cuMemPoolGetAttribute, 0, { A(P(pool), 0) }, { A(1, 0, 99, 12, 9) }, { A(P(out), 0) });
    ASK(cuMemPoolSetAttribute, 0, { A(P(pool), 0) }, { A(1, 0, 99, 5, 8, 9) }, { A(P(sizes_0 + 1), P(sizes)) });
    ASK(cuMemPoolSetAccess, 0, { A(P(pool), 0, P(deflt)) }, { A(P(&rw), 0, P(&rw_loc), P(&rw_dev), P(&rw_flags)) },
        { A(1, 0) });
    ASK(cuMemPoolGetAccess, 0, { A(P(out), 0) }, { A(P(pool), 0) },
        { A(P(&at_dev), 0, P(&at_none), P(&at_99), P(&at_host)) });
    ASK(cuMemPoolTrimTo, 0, { A(P(pool), 0, P(deflt)) }, { A(0, big) });
    ASK(cuMemPoolExportToShareableHandle, close_out, { A(P(out), 0) }, { A(P(pool), 0, P(deflt)) },
        { A(1, 0, 2, 8, 64) }, { A(0, 1) });
    ASK(cuMemPoolImportFromShareableHandle, destroy_pool, { A(P(out), 0) }, { A((uint64_t)-1, 777, (uint64_t)fd) },
        { A(1, 0, 2, 64) }, { A(0, 1) });
    ASK(cuMemPoolExportPointer, 0, { A(P(out), 0) }, { A(pooled, 0, dev, man, P(page), 0x1234000) });
    ASK(cuMemPoolImportPointer, 0, { A(P(out), 0) }, { A(P(pool), 0, P(deflt)) }, { A(P(out2), 0) });
    ASK(cuDeviceSetMemPool, set_default, { A(0, (uint64_t)-1, 99) }, { A(P(pool), 0) });
    ASK(cuDeviceGetMemPool, 0, { A(P(out), 0) }, { A(0, (uint64_t)-1, 99) });
    ASK(cuDeviceGetDefaultMemPool, 0, { A(P(out), 0) }, { A(0, (uint64_t)-1, 99) });
    ASK(cuMemGetDefaultMemPool, 0, { A(P(out), 0) }, { A(P(&at_dev), 0, P(&at_none), P(&at_99), P(&at_host)) },
        { A(1, 0, 2, 9) });
    ASK(cuMemGetMemPool, 0, { A(P(out), 0) }, { A(P(&at_dev), 0, P(&at_none), P(&at_99), P(&at_host)) },
        { A(1, 0, 2, 9) });
    ASK(cuMemSetMemPool, set_default, { A(P(&at_dev), 0, P(&at_none), P(&at_99), P(&at_host)) }, { A(1, 0, 2, 9) },
        { A(P(pool), 0) });
    ASK(cuArrayCreate, destroy_array, { A(P(out), 0) }, { A(P(&ad), 0, P(&ad_fmt), P(&ad_ch), P(&ad_w)) });
    ASK(cuArray3DCreate, destroy_array, { A(P(out), 0) }, { A(P(&a3), 0, P(&a3_fmt), P(&a3_ch), P(&a3_w), P(&a3_fl)) });
    ASK(cuArrayGetDescriptor, 0, { A(P(out), 0) }, { A(P(array), 0) });
    ASK(cuArray3DGetDescriptor, 0, { A(P(out), 0) }, { A(P(array), 0) });
    ASK(cuArrayGetPlane, 0, { A(P(out), 0) }, { A(P(array), 0) }, { A(0, 1, 99) });
    ASK(cuArrayGetSparseProperties, 0, { A(P(out), 0) }, { A(P(sparse), 0, P(array)) });
    ASK(cuMipmappedArrayGetSparseProperties, 0, { A(P(out), 0) }, { A(P(mip), 0) });
    ASK(cuArrayGetMemoryRequirements, 0, { A(P(out), 0) }, { A(P(sparse), 0, P(array)) }, { A(0, (uint64_t)-1, 99) });
    ASK(cuMipmappedArrayGetMemoryRequirements, 0, { A(P(out), 0) }, { A(P(mip), 0) }, { A(0, (uint64_t)-1, 99) });
    ASK(cuMipmappedArrayCreate, destroy_mip, { A(P(out), 0) },
        { A(P(&a3), 0, P(&a3_fmt), P(&a3_ch), P(&a3_w), P(&a3_fl)) }, { A(1, 0, 99) });
    ASK(cuMipmappedArrayGetLevel, 0, { A(P(out), 0) }, { A(P(mip), 0) }, { A(0, 2, 99) });
    ASK(cuIpcGetMemHandle, 0, { A(P(out), 0) }, { A(dev, 0, man, mapped, P(host), pooled) });
    ASK(cuMemcpyPeer, settle, { A(dev, 0, 0x1234000, P(page)) }, { A(P(ctx), 0) },
        { A(dev + 65536, 0, 0x1234000, P(page)) }, { A(P(ctx), 0) }, { A(4096, 0, 4 * MiB) });
    ASK(cuMemcpyPeerAsync, settle, { A(dev, 0, 0x1234000, P(page)) }, { A(P(ctx), 0) },
        { A(dev + 65536, 0, 0x1234000, P(page)) }, { A(P(ctx), 0) }, { A(4096, 0, 4 * MiB) }, { A(P(s), 0) });
    ASK(cuCtxEnablePeerAccess, 0, { A(P(ctx), 0) }, { A(0, 1) });
    ASK(cuCtxDisablePeerAccess, 0, { A(P(ctx), 0) });
    ASK(cuDeviceCanAccessPeer, 0, { A(P(out), 0) }, { A(0, (uint64_t)-1, 99) }, { A(0, (uint64_t)-1, 99) });
    ASK(cuDeviceGetP2PAttribute, 0, { A(P(out), 0) }, { A(1, 0, 99) }, { A(0, (uint64_t)-1, 99) },
        { A(0, (uint64_t)-1, 99) });
    ASK(cuMemcpy, settle, { A(dev, P(page), va) }, { A(man, P(page), va) }, { A(4096, 0, 4 * MiB) });
    ASK(cuMemcpyAsync, settle, { A(dev, P(page), va) }, { A(man, P(page), va) }, { A(4096, 0, 4 * MiB) },
        { A(P(s), 0) });
    ASK(cuMemcpyHtoD, settle, { A(dev, 0, 0x1234000, va, P(host)) }, { A(P(page), P(host), man) }, { A(4096, 0) });
    ASK(cuMemcpyDtoH, settle, { A(P(page), P(host), man) }, { A(dev, 0, 0x1234000, va, P(host)) }, { A(4096, 0) });
    ASK(cuMemcpyDtoD, settle, { A(dev, 0, 0x1234000, va, P(page)) }, { A(man, 0, 0x1234000, va, P(page)) },
        { A(4096, 0, 4 * MiB) });
    ASK(cuMemcpyDtoDAsync, settle, { A(dev, 0, 0x1234000, va, P(page)) }, { A(man, 0, 0x1234000, va, P(page)) },
        { A(4096, 0, 4 * MiB) }, { A(P(s), 0) });
    ASK(cuMemcpyDtoA, settle, { A(P(array), 0) }, { A(0, 1, 4096, 8192 - 4096) }, { A(dev, 0, 0x1234000) },
        { A(256, 0, 16384) });
    ASK(cuMemcpyAtoD, settle, { A(dev, 0, 0x1234000) }, { A(P(array), 0) }, { A(0, 1, 4096, 8192 - 4096) },
        { A(256, 0, 16384) });
    ASK(cuMemcpyHtoA, settle, { A(P(array), 0) }, { A(0, 1, 4096) }, { A(P(page), P(host)) }, { A(256, 0, 16384) });
    ASK(cuMemcpyAtoH, settle, { A(P(page), P(host)) }, { A(P(array), 0) }, { A(0, 1, 4096) }, { A(256, 0, 16384) });
    ASK(cuMemcpyAtoA, settle, { A(P(array), 0) }, { A(0, 1, 4096) }, { A(P(array), 0) }, { A(256, 2, 16384) },
        { A(128, 0, 16384) });
    ASK(cuMemsetD8, settle, { A(dev, 0, 0x1234000, va, P(page)) }, { A(1) }, { A(4096, 0, 4 * MiB) });
    ASK(cuMemsetD16, settle, { A(dev, 0, dev + 1, 0x1234000, va) }, { A(1) }, { A(4096, 0, 4 * MiB, ~0ul) });
    ASK(cuMemsetD32, settle, { A(dev, 0, dev + 2, 0x1234000, va) }, { A(1) }, { A(4096, 0, 4 * MiB, ~0ul) });
    ASK(cuMemsetD8Async, settle, { A(dev, 0, 0x1234000, va, P(page)) }, { A(1) }, { A(4096, 0, 4 * MiB) },
        { A(P(s), 0) });
    ASK(cuMemsetD32Async, settle, { A(dev, 0, dev + 2, 0x1234000, va) }, { A(1) }, { A(4096, 0, 4 * MiB) },
        { A(P(s), 0) });
    ASK(cuMemsetD2D8, settle, { A(dev, 0, 0x1234000, va) }, { A(512, 0, 8) }, { A(1) }, { A(16, 0, 1024) },
        { A(16, 0, 65536) });
    ASK(cuMemsetD2D16, settle, { A(dev, 0, dev + 1, 0x1234000, va) }, { A(512, 0, 8, 511) }, { A(1) },
        { A(16, 0, 1024) }, { A(16, 0, 65536) });
    ASK(cuMemsetD2D32, settle, { A(dev, 0, dev + 2, 0x1234000, va) }, { A(512, 0, 8, 510) }, { A(1) },
        { A(16, 0, 1024) }, { A(16, 0, 65536) });
    ASK(cuMemcpyBatchAsync, settle, { A(P(batch_dst), 0) }, { A(P(batch), 0) },
        { A(P(sizes), 0, P(sizes_bad), P(sizes_0)) }, { A(2, 0, 1) }, { A(P(attrs), 0, P(attrs_bad)) },
        { A(P(idx), 0, P(idx_bad), P(idx_far)) }, { A(2, 0, 1, 3) }, { A(P(s), 0, 1) });
    ASK(cuStreamBatchMemOp, settle, { A(P(s), 0) }, { A(0, 1, 257) }, { A(P(ops), 0, P(ops_bad)) }, { A(0, 1) });
    ASK(cuMemcpy3DBatchAsync, settle, { A(1, 0) }, { A(P(&op3), 0, P(&op3_bad)) }, { A(0, 1) }, { A(P(s), 0, 1) });
    ASK(cuMemcpy2D, settle, { A(P(&c2), 0, P(&c2_pitch), P(&c2_type), P(&c2_wide)) });
    ASK(cuMemcpy2DUnaligned, settle, { A(P(&c2), 0, P(&c2_pitch), P(&c2_type), P(&c2_wide)) });
    ASK(cuMemcpy2DAsync, settle, { A(P(&c2), 0, P(&c2_pitch), P(&c2_type), P(&c2_wide)) }, { A(P(s), 0) });
    ASK(cuMemMapArrayAsync, settle, { A(P(&mi), 0, P(&mi_type), P(&mi_mask), P(&mi_off)) }, { A(1, 0, 2) },
        { A(P(s), 0) });
    ASK(cuDeviceGetAttribute, 0, { A(P(out), 0) }, { A(1, 0, 999) }, { A(0, (uint64_t)-1, 99) });
    ASK(cuDeviceGetName, 0, { A(P(out), 0) }, { A(64, 0, (uint64_t)-1) }, { A(0, (uint64_t)-1, 99) });
    ASK(cuDeviceTotalMem, 0, { A(P(out), 0) }, { A(0, (uint64_t)-1, 99) });
    ASK(cuDeviceGetUuid, 0, { A(P(out), 0) }, { A(0, (uint64_t)-1, 99) });
    ASK(cuDeviceGetPCIBusId, 0, { A(P(out), 0) }, { A(64, 0, 3) }, { A(0, (uint64_t)-1, 99) });
    ASK(cuDevicePrimaryCtxGetState, 0, { A(0, (uint64_t)-1, 99) }, { A(P(out), 0) }, { A(P(out2), 0) });
    ASK(cuDevicePrimaryCtxSetFlags, 0, { A(0, (uint64_t)-1, 99) }, { A(0, 0x1000, 3) });
    ASK(cuCtxGetLimit, 0, { A(P(out), 0) }, { A(0, 99, 7) });
    ASK(cuCtxSetLimit, 0, { A(0, 99, 7, 4) }, { A(1024, 0, ~0ul) });
    ASK(cuCtxGetStreamPriorityRange, 0, { A(P(out), 0) }, { A(P(out2), 0) });
    ASK(cuStreamCreate, destroy_stream, { A(P(out), 0) }, { A(1, 2, 99) });
    ASK(cuStreamCreateWithPriority, destroy_stream, { A(P(out), 0) }, { A(1, 2, 99) }, { A(0, 5, (uint64_t)-99) });
    ASK(cuStreamWaitEvent, settle, { A(P(s), 0) }, { A(P(ev), 0) }, { A(0, 1, 2) });
    ASK(cuEventCreate, destroy_event, { A(P(out), 0) }, { A(0, 4, 8, 16) });
    ASK(cuEventRecord, settle, { A(P(ev), 0) }, { A(P(s), 0) });
    ASK(cuEventRecordWithFlags, settle, { A(P(ev), 0) }, { A(P(s), 0) }, { A(0, 1, 2) });
    ASK(cuEventElapsedTime, 0, { A(P(out), 0) }, { A(P(ev), 0) }, { A(P(ev), 0) });
    ASK(cuModuleGetFunction, 0, { A(P(out), 0) }, { A(P(kernels()->mod), 0) }, { A(P("fill"), 0, P("none"), P("")) });
    ASK(cuModuleGetGlobal, 0, { A(P(out), 0) }, { A(P(out2), 0) }, { A(P(kernels()->mod), 0) },
        { A(P("gvar"), 0, P("none"), P("")) });
    ASK(cuFuncGetAttribute, 0, { A(P(out), 0) }, { A(1, 99, (uint64_t)-1) }, { A(P(kernels()->fill), 0) });
    ASK(cuFuncSetAttribute, 0, { A(P(kernels()->fill), 0) }, { A(8, 0, 99) }, { A(0, (uint64_t)-1, 1 << 30) });
    ASK(cuOccupancyMaxActiveBlocksPerMultiprocessor, 0, { A(P(out), 0) }, { A(P(kernels()->fill), 0) },
        { A(128, 0, 99999) }, { A(0, 1 << 20, ~0ul) });
    ASK(cuOccupancyAvailableDynamicSMemPerBlock, 0, { A(P(out), 0) }, { A(P(kernels()->fill), 0) }, { A(1, 0, 99) },
        { A(128, 0, 9999) });
    ASK(cuTexObjectCreate, destroy_tex, { A(P(out), 0) }, { A(P(&rd), 0, P(&rd_type)) },
        { A(P(&td), 0, P(&td_mode), P(&td_flags)) }, { A(0, P(&vd)) });
    ASK(cuSurfObjectCreate, 0, { A(P(out), 0) }, { A(P(&rd), 0, P(&rd_type), P(&rd_plain)) });
    ASK(cuIpcGetEventHandle, 0, { A(P(out), 0) }, { A(P(ev), 0) });
    ASK(cuStreamWaitValue32, settle, { A(P(s)) }, { A(dev, 0, dev + 2, 0x1234000, va) }, { A(0) },
        { A(0, 4, 99, 0x40000000) });
    ASK(cuStreamWriteValue32, settle, { A(P(s)) }, { A(dev, 0, dev + 2, 0x1234000, va) }, { A(0) }, { A(0, 4, 99) });
    ASK(cuStreamWriteValue64, settle, { A(P(s)) }, { A(dev, 0, dev + 4, 0x1234000, va) }, { A(0) }, { A(0, 4, 99) });
}

/* One process until a call ends it. */
static void g_pairs(void)
{
    at = mmap(0, 4096, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int k = 0; k < 60; k++) {
        fflush(stdout);
        pid_t c = fork();
        if (!c) {
            alarm(20);
            things();
            everything();
            fflush(stdout);
            _exit(0);
        }
        int status;
        waitpid(c, &status, 0);
        if (WIFSIGNALED(status))
            rec(keyf("call%d", *at - 1), "signal %d", WTERMSIG(status));
        else if (!WEXITSTATUS(status))
            break;
    }
}
const struct group groups[] = { { "pairs", g_pairs, 1 }, { 0 } };
