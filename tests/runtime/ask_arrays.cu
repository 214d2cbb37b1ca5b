/* Arrays, mipmapped ones too: formats, extents, flags; and copies to, from and between them. */
#include "ask.h"

static void arrays(void)
{
    cudaArray_t a = NULL;
    static const struct cudaChannelFormatDesc formats[] = {
        { 8, 0, 0, 0, cudaChannelFormatKindUnsigned },
        { 8, 8, 0, 0, cudaChannelFormatKindSigned },
        { 8, 8, 8, 0, cudaChannelFormatKindUnsigned },
        { 8, 8, 8, 8, cudaChannelFormatKindUnsigned },
        { 16, 0, 0, 0, cudaChannelFormatKindFloat },
        { 32, 0, 0, 0, cudaChannelFormatKindFloat },
        { 32, 32, 0, 0, cudaChannelFormatKindFloat },
        { 32, 32, 32, 0, cudaChannelFormatKindFloat },
        { 32, 32, 32, 32, cudaChannelFormatKindFloat },
        { 64, 0, 0, 0, cudaChannelFormatKindSigned },
        { 8, 0, 0, 0, cudaChannelFormatKindFloat },
        { 8, 16, 0, 0, cudaChannelFormatKindUnsigned },
        { 0, 8, 0, 0, cudaChannelFormatKindUnsigned },
        { 0, 0, 0, 0, cudaChannelFormatKindNone },
        { 12, 0, 0, 0, cudaChannelFormatKindUnsigned },
        { 8, 0, 0, 0, (enum cudaChannelFormatKind)99 },
        { 8, 0, 0, 0, cudaChannelFormatKindUnsignedNormalized8X1 },
        { 8, 8, 8, 8, cudaChannelFormatKindUnsignedNormalized8X4 },
        { 8, 8, 8, 0, cudaChannelFormatKindNV12 },
    };
    for (size_t i = 0; i < COUNT(formats); i++) {
        a = NULL;
        ASKV(keyf("format%zu", i), cudaMallocArray(&a, &formats[i], 64, 64), "%s", a ? "array" : "null");
        if (!a) continue;
        struct cudaChannelFormatDesc f;
        struct cudaExtent e;
        unsigned flags = 77;
        ASKV(keyf("info%zu", i), cudaArrayGetInfo(&f, &e, &flags, a), "%d %d %d %d kind %d, %zu %zu %zu, flags %x", f.x,
             f.y, f.z, f.w, f.f, e.width, e.height, e.depth, flags);
        ASKV(keyf("channel%zu", i), cudaGetChannelDesc(&f, a), "%d %d %d %d kind %d", f.x, f.y, f.z, f.w, f.f);
        ASK(keyf("free%zu", i), cudaFreeArray(a));
    }
    const struct cudaChannelFormatDesc *format = &formats[5];
    static const size_t sizes[][2] = { { 0, 0 },          { 0, 4 },          { 4, 0 },        { 1, 1 },
                                       { 131072, 1 },     { 131073, 1 },     { 131072, 0 },   { 131073, 0 },
                                       { 131072, 65000 }, { 131072, 65001 }, { 1ul << 33, 1 } };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        if (sizes[i][0] * sizes[i][1] > 1ul << 33) continue;
        a = NULL;
        ASKV(keyf("size%zux%zu", sizes[i][0], sizes[i][1]), cudaMallocArray(&a, format, sizes[i][0], sizes[i][1]), "%s",
             a ? "array" : "null");
        if (a) cudaFreeArray(a);
    }
    static const unsigned flags[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x10, 0x40, 0x80, 0x100 };
    for (size_t i = 0; i < COUNT(flags); i++) {
        a = NULL;
        unsigned got = 77;
        ASKV(keyf("flags2d.%x", flags[i]), cudaMallocArray(&a, format, 64, 64, flags[i]), "%s", a ? "array" : "null");
        if (a) ASKV(keyf("flags2d.got.%x", flags[i]), cudaArrayGetInfo(NULL, NULL, &got, a), "%x", got);
        if (a) cudaFreeArray(a);
        a = NULL;
        ASKV(keyf("flags3d.%x", flags[i]), cudaMalloc3DArray(&a, format, make_cudaExtent(64, 64, 6), flags[i]), "%s",
             a ? "array" : "null");
        if (a) cudaFreeArray(a);
        a = NULL;
        ASKV(keyf("flags1d.%x", flags[i]), cudaMalloc3DArray(&a, format, make_cudaExtent(64, 0, 6), flags[i]), "%s",
             a ? "array" : "null");
        if (a) cudaFreeArray(a);
    }
    static const size_t cubes[][3] = { { 64, 64, 64 },  { 64, 0, 0 },    { 64, 64, 0 },   { 64, 0, 64 },
                                       { 16384, 1, 1 }, { 16385, 1, 1 }, { 1, 1, 16384 }, { 1, 1, 16385 },
                                       { 0, 0, 0 },     { 0, 64, 64 } };
    for (size_t i = 0; i < COUNT(cubes); i++) {
        a = NULL;
        struct cudaExtent e = make_cudaExtent(cubes[i][0], cubes[i][1], cubes[i][2]);
        ASKV(keyf("cube%zux%zux%zu", e.width, e.height, e.depth), cudaMalloc3DArray(&a, format, e), "%s",
             a ? "array" : "null");
        if (a) cudaFreeArray(a);
    }
    RISK("null", cudaMallocArray(NULL, format, 4, 4));
    RISK("null format", cudaMallocArray(&a, NULL, 4, 4));
    RISK("info null", cudaArrayGetInfo(NULL, NULL, NULL, NULL));
    RISK("channel null", cudaGetChannelDesc(NULL, a));
    cudaMipmappedArray_t m = NULL;
    for (unsigned levels = 0; levels <= 9; levels++) {
        m = NULL;
        ASKV(keyf("mipmapped%u", levels), cudaMallocMipmappedArray(&m, format, make_cudaExtent(64, 64, 0), levels),
             "%s", m ? "array" : "null");
        if (!m) continue;
        for (unsigned l = 0; l <= levels; l++) {
            struct cudaExtent e = make_cudaExtent(7, 7, 7);
            a = NULL;
            ASKV(keyf("mipmapped%u.level%u", levels, l), cudaGetMipmappedArrayLevel(&a, m, l), "%s",
                 a ? "array" : "null");
            if (a)
                ASKV(keyf("mipmapped%u.extent%u", levels, l), cudaArrayGetInfo(NULL, &e, NULL, a), "%zu %zu %zu",
                     e.width, e.height, e.depth);
        }
        ASK(keyf("mipmapped%u.free", levels), cudaFreeMipmappedArray(m));
    }
    MUST(cudaMallocArray(&a, format, 64, 64));
    struct cudaArrayMemoryRequirements need;
    struct cudaArraySparseProperties sparse;
    cudaArray_t plane;
    ASK("requirements", cudaArrayGetMemoryRequirements(&need, a, 0));
    ASK("sparse", cudaArrayGetSparseProperties(&sparse, a));
    ASK("plane", cudaArrayGetPlane(&plane, a, 0));
    cudaArray_t deferred;
    MUST(cudaMallocArray(&deferred, format, 64, 64, cudaArrayDeferredMapping));
    memset(&need, 0, sizeof need);
    ASKV("deferred", cudaArrayGetMemoryRequirements(&need, deferred, 0), "%zu %zu", need.size, need.alignment);
    ASKV("sparse array", cudaMallocArray(&deferred, format, 1024, 1024, cudaArraySparse), " ");
    memset(&sparse, 0, sizeof sparse);
    ASKV("sparse properties", cudaArrayGetSparseProperties(&sparse, deferred), "%u %u %u tail %u %llu flags %x",
         sparse.tileExtent.width, sparse.tileExtent.height, sparse.tileExtent.depth, sparse.miptailFirstLevel,
         sparse.miptailSize, sparse.flags);
}

static void array_copies(void)
{
    cudaArray_t a, b;
    static float host[64 * 16], back[64 * 16];
    struct cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    for (int i = 0; i < 64 * 16; i++) host[i] = (float)i;
    MUST(cudaMallocArray(&a, &format, 64, 16));
    MUST(cudaMallocArray(&b, &format, 64, 16));
    ASK("to", cudaMemcpy2DToArray(a, 0, 0, host, 256, 256, 16, cudaMemcpyHostToDevice));
    ASK("from", cudaMemcpy2DFromArray(back, 256, a, 0, 0, 256, 16, cudaMemcpyDeviceToHost));
    say("data", "%s", memcmp(host, back, sizeof host) ? "differs" : "same");
    ASK("to part", cudaMemcpy2DToArray(a, 16, 4, host, 256, 64, 4, cudaMemcpyHostToDevice));
    ASK("between", cudaMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, 256, 16, cudaMemcpyDeviceToDevice));
    ASK("from part", cudaMemcpy2DFromArray(back, 256, b, 8, 2, 128, 8, cudaMemcpyDeviceToHost));
    say("part.data", "%08x", hash(back, sizeof back));
    ASK("wide", cudaMemcpy2DToArray(a, 0, 0, host, 260, 260, 4, cudaMemcpyHostToDevice));
    ASK("tall", cudaMemcpy2DToArray(a, 0, 0, host, 256, 256, 17, cudaMemcpyHostToDevice));
    ASK("offset", cudaMemcpy2DToArray(a, 4, 0, host, 256, 256, 4, cudaMemcpyHostToDevice));
    ASK("offset row", cudaMemcpy2DToArray(a, 0, 13, host, 256, 256, 4, cudaMemcpyHostToDevice));
    ASK("odd offset", cudaMemcpy2DToArray(a, 1, 0, host, 256, 64, 4, cudaMemcpyHostToDevice));
    ASK("odd width", cudaMemcpy2DToArray(a, 0, 0, host, 256, 63, 4, cudaMemcpyHostToDevice));
    ASK("pitch", cudaMemcpy2DToArray(a, 0, 0, host, 64, 256, 4, cudaMemcpyHostToDevice));
    ASK("zero", cudaMemcpy2DToArray(a, 0, 0, host, 256, 0, 4, cudaMemcpyHostToDevice));
    ASK("null array", cudaMemcpy2DToArray(NULL, 0, 0, host, 256, 256, 4, cudaMemcpyHostToDevice));
    ASK("null host", cudaMemcpy2DToArray(a, 0, 0, NULL, 256, 256, 4, cudaMemcpyHostToDevice));
    for (int k = 0; k <= 5; k++) {
        ASK(keyf("kind%d to", k), cudaMemcpy2DToArray(a, 0, 0, host, 256, 256, 4, (enum cudaMemcpyKind)k));
        ASK(keyf("kind%d from", k), cudaMemcpy2DFromArray(back, 256, a, 0, 0, 256, 4, (enum cudaMemcpyKind)k));
        ASK(keyf("kind%d between", k), cudaMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, 256, 4, (enum cudaMemcpyKind)k));
    }
    ASK("old to", cudaMemcpyToArray(a, 0, 0, host, sizeof host, cudaMemcpyHostToDevice));
    ASK("old from", cudaMemcpyFromArray(back, a, 0, 0, sizeof back, cudaMemcpyDeviceToHost));
    say("old.data", "%s", memcmp(host, back, sizeof host) ? "differs" : "same");
    ASK("old to part", cudaMemcpyToArray(a, 240, 1, host, 300, cudaMemcpyHostToDevice));
    ASK("old from part", cudaMemcpyFromArray(back, a, 200, 1, 400, cudaMemcpyDeviceToHost));
    say("old part.data", "%08x", hash(back, 400));
    ASK("old over", cudaMemcpyToArray(a, 4, 0, host, sizeof host, cudaMemcpyHostToDevice));
    ASK("old between", cudaMemcpyArrayToArray(b, 0, 0, a, 0, 0, 1024, cudaMemcpyDeviceToDevice));
    ASK("async", cudaMemcpy2DToArrayAsync(a, 0, 0, host, 256, 256, 16, cudaMemcpyHostToDevice, 0));
    ASK("async from", cudaMemcpy2DFromArrayAsync(back, 256, a, 0, 0, 256, 16, cudaMemcpyDeviceToHost, 0));
    ASK("sync", cudaDeviceSynchronize());
}

const struct group groups[] = {
    GROUP(arrays),
    GROUP(array_copies),
    LAST_GROUP,
};
