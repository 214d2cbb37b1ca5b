/* Questions about sparse and deferred arrays that have been asked of the golden machine beside golden/h200.txt;
 * its answers are golden/h200-sparse.txt. The last (deferred.unmapped) touch an array without memory: a fault. */
#include "oracle.h"

static void one(const char *k, int fmt, unsigned ch, size_t w, size_t h, size_t d, unsigned fl)
{
    CUDA_ARRAY3D_DESCRIPTOR x = { w, h, d, (CUarray_format)fmt, ch, fl };
    CUarray a;
    CUresult r = cuArray3DCreate(&a, &x);
    if (r) {
        rec(k, "%s", rname(r));
        return;
    }
    CUDA_ARRAY_SPARSE_PROPERTIES s = { 0 };
    CUDA_ARRAY_MEMORY_REQUIREMENTS q = { 0 };
    CUresult r1 = cuArrayGetSparseProperties(&s, a), r2 = cuArrayGetMemoryRequirements(&q, a, 0);
    rec(k, "OK sp=%s %ux%ux%u %u/%llu fl=%u req=%s %zu %zu", rname(r1), s.tileExtent.width, s.tileExtent.height,
        s.tileExtent.depth, s.miptailFirstLevel, s.miptailSize, s.flags, rname(r2), q.size, q.alignment);
    cuArrayDestroy(a);
}

static void mip(const char *k, int fmt, unsigned ch, size_t w, size_t h, size_t d, unsigned fl, unsigned lv)
{
    CUDA_ARRAY3D_DESCRIPTOR x = { w, h, d, (CUarray_format)fmt, ch, fl };
    CUmipmappedArray m;
    CUresult r = cuMipmappedArrayCreate(&m, &x, lv);
    if (r) {
        rec(k, "%s", rname(r));
        return;
    }
    CUDA_ARRAY_SPARSE_PROPERTIES s = { 0 };
    CUDA_ARRAY_MEMORY_REQUIREMENTS q = { 0 };
    CUresult r1 = cuMipmappedArrayGetSparseProperties(&s, m), r2 = cuMipmappedArrayGetMemoryRequirements(&q, m, 0);
    rec(k, "OK sp=%s %ux%ux%u %u/%llu fl=%u req=%s %zu %zu", rname(r1), s.tileExtent.width, s.tileExtent.height,
        s.tileExtent.depth, s.miptailFirstLevel, s.miptailSize, s.flags, rname(r2), q.size, q.alignment);
    CUarray a;
    if (!cuMipmappedArrayGetLevel(&a, m, 0)) {
        K(keyf("%s.levelprops", k), cuArrayGetSparseProperties(&s, a));
        K(keyf("%s.levelreq", k), cuArrayGetMemoryRequirements(&q, a, 0));
    }
    cuMipmappedArrayDestroy(m);
}

void g_sparse_more(void)
{
    setup();
    const unsigned S = CUDA_ARRAY3D_SPARSE, L = CUDA_ARRAY3D_LAYERED, D = CUDA_ARRAY3D_DEFERRED_MAPPING;
    size_t w[] = { 1, 16, 100, 127, 128, 129, 600, 1000, 4096 }, h[] = { 1, 8, 20, 64, 100, 127, 128, 333 };
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 8; j++) {
            one(keyf("sp.%zux%zu", w[i], h[j]), 0x20, 1, w[i], h[j], 0, S);
            one(keyf("sp.lay3.%zux%zu", w[i], h[j]), 0x20, 1, w[i], h[j], 3, S | L);
            one(keyf("def.%zux%zu", w[i], h[j]), 0x20, 1, w[i], h[j], 0, D);
            one(keyf("def.lay3.%zux%zu", w[i], h[j]), 0x20, 1, w[i], h[j], 3, D | L);
            one(keyf("def.u8.%zux%zu", w[i], h[j]), 1, 1, w[i], h[j], 0, D);
            one(keyf("def.f4.%zux%zu", w[i], h[j]), 0x20, 4, w[i], h[j], 0, D);
        }
    size_t d[] = { 1, 8, 15, 16, 17, 40 };
    for (int i = 0; i < 6; i++) {
        one(keyf("sp3.%zu", d[i]), 0x20, 1, 100, 60, d[i], S);
        one(keyf("sp3.small.%zu", d[i]), 0x20, 1, 20, 60, d[i], S);
        one(keyf("def3.%zu", d[i]), 0x20, 1, 100, 60, d[i], D);
    }
    one("def.1d", 0x20, 1, 1024, 0, 0, D);
    one("def.1dlay", 0x20, 1, 1024, 0, 3, D | L);
    one("def.surf", 0x20, 1, 256, 256, 0, D | CUDA_ARRAY3D_SURFACE_LDST);
    one("def.cube", 0x20, 1, 256, 256, 6, D | CUDA_ARRAY3D_CUBEMAP);
    one("sp.gather", 0x20, 1, 256, 256, 0, S | CUDA_ARRAY3D_TEXTURE_GATHER);
    one("sp.1dlay", 0x20, 1, 1024, 0, 3, S | L);
    for (unsigned lv = 1; lv <= 8; lv++) {
        mip(keyf("mip.%u", lv), 0x20, 1, 1000, 333, 0, S, lv);
        mip(keyf("mip.small.%u", lv), 0x20, 1, 100, 100, 0, S, lv);
        mip(keyf("mip.small.lay.%u", lv), 0x20, 1, 100, 100, 3, S | L, lv);
        mip(keyf("mip3.%u", lv), 0x20, 1, 256, 128, 64, S, lv);
        mip(keyf("mip.wide.%u", lv), 0x20, 1, 8192, 256, 0, S, lv);
        mip(keyf("mipdef.%u", lv), 0x20, 1, 1000, 333, 0, D, lv);
        mip(keyf("mipdef.lay.%u", lv), 0x20, 1, 100, 100, 3, D | L, lv);
    }
    CUDA_ARRAY3D_DESCRIPTOR x = { 1000, 333, 0, CU_AD_FORMAT_FLOAT, 1, S };
    CUarray a;
    MUST(cuArray3DCreate(&a, &x));
    CUmemAllocationProp p = prop_dev(0);
    p.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
    CUmemGenericAllocationHandle hd;
    MUST(cuMemCreate(&hd, 4 * GRAN, &p, 0));
    CUarrayMapInfo m;
    memset(&m, 0, sizeof m);
    m.resourceType = CU_RESOURCE_TYPE_ARRAY;
    m.resource.array = a;
    m.subresource.sparseLevel.offsetX = 896;
    m.subresource.sparseLevel.extentWidth = 128;
    m.subresource.sparseLevel.extentHeight = 128;
    m.subresource.sparseLevel.extentDepth = 1;
    m.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
    m.memHandle.memHandle = hd;
    m.deviceBitMask = 1;
    K("edge.aligned", cuMemMapArrayAsync(&m, 1, 0));
    m.subresource.sparseLevel.extentWidth = 104;
    K("edge.clipped", cuMemMapArrayAsync(&m, 1, 0));
    m.subresource.sparseLevel.extentWidth = 256;
    K("edge.beyond", cuMemMapArrayAsync(&m, 1, 0));
    m.subresource.sparseLevel.extentWidth = 128;
    m.memHandleType = 5;
    m.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
    K("unmap.handletype5", cuMemMapArrayAsync(&m, 1, 0));
    m.offset = 123;
    m.memHandleType = 0;
    K("unmap.offset", cuMemMapArrayAsync(&m, 1, 0));
    cuCtxSynchronize();
    CUmipmappedArray mm;
    x.Flags = S;
    if (!cuMipmappedArrayCreate(&mm, &x, 4)) {
        CUarray lvl;
        MUST(cuMipmappedArrayGetLevel(&lvl, mm, 0));
        m.resource.array = lvl;
        m.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
        m.offset = 0;
        K("level.map", cuMemMapArrayAsync(&m, 1, 0));
        K("level.destroy", cuArrayDestroy(lvl));
        K("mip.destroy", cuMipmappedArrayDestroy(mm));
    }
    K("plane", ({
          CUarray q;
          cuArrayGetPlane(&q, a, 0);
      }));
    x = (CUDA_ARRAY3D_DESCRIPTOR){ 256, 256, 0, CU_AD_FORMAT_FLOAT, 1, D };
    CUarray df;
    MUST(cuArray3DCreate(&df, &x));
    float v[4] = { 1, 2, 3, 4 };
    CUresult r = K("deferred.unmapped.write", cuMemcpyHtoA(df, 0, v, 16));
    if (!r) {
        K("deferred.unmapped.sync", cuCtxSynchronize());
        K("deferred.unmapped.read", cuMemcpyAtoH(v, df, 0, 16));
        rec("deferred.unmapped.v", "%g", v[0]);
    }
}

const struct group groups[] = { { "sparse_more", g_sparse_more, 1 }, { 0 } };
