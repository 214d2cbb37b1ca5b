/* Resource views of texture objects: which formats, extents, levels and layers may be seen, and what a kernel reads. */
#include "oracle.h"

static const char fetch_ptx[] = ".version 7.8\n.target sm_80\n.address_size 64\n"
                                ".entry fetch(.param .u64 object, .param .u64 out, .param .f32 level)\n"
                                "{ .reg .b64 t, o; .reg .f32 x, y, l; .reg .b32 %a, %b, %c, %d, i;\n"
                                "ld.param.u64 t, [object]; ld.param.u64 o, [out]; ld.param.f32 l, [level];\n"
                                "mov.u32 i, %tid.x; cvt.rn.f32.u32 x, i; mul.wide.u32 o, i, 16;\n"
                                "add.f32 x, x, 0f3F000000; mul.f32 x, x, 0f3E000000; mov.f32 y, 0f3F200000;\n"
                                "{ .reg .b64 p; ld.param.u64 p, [out]; add.u64 o, o, p; }\n"
                                "tex.level.KIND.v4.u32.f32 {%a, %b, %c, %d}, [t, COORDINATES], l;\n"
                                "st.global.v4.u32 [o], {%a, %b, %c, %d}; ret; }\n";

enum { W = 8, H = 4, D = 2, LEVELS = 3, LAYERS = 5 };

struct base {
    const char *name;
    CUarray_format format;
    unsigned channels, bytes; /* of an element */
    int dimensions, layered, levels;
};
static const struct base bases[] = {
    { "1d_f32x1", CU_AD_FORMAT_FLOAT, 1, 4, 1, 0, 0 },
    { "2d_f32x1", CU_AD_FORMAT_FLOAT, 1, 4, 2, 0, 0 },
    { "2d_f32x2", CU_AD_FORMAT_FLOAT, 2, 8, 2, 0, 0 },
    { "2d_f32x4", CU_AD_FORMAT_FLOAT, 4, 16, 2, 0, 0 },
    { "2d_f16x1", CU_AD_FORMAT_HALF, 1, 2, 2, 0, 0 },
    { "2d_f16x4", CU_AD_FORMAT_HALF, 4, 8, 2, 0, 0 },
    { "2d_u32x1", CU_AD_FORMAT_UNSIGNED_INT32, 1, 4, 2, 0, 0 },
    { "2d_u32x2", CU_AD_FORMAT_UNSIGNED_INT32, 2, 8, 2, 0, 0 },
    { "2d_u32x4", CU_AD_FORMAT_UNSIGNED_INT32, 4, 16, 2, 0, 0 },
    { "2d_s32x1", CU_AD_FORMAT_SIGNED_INT32, 1, 4, 2, 0, 0 },
    { "2d_u16x1", CU_AD_FORMAT_UNSIGNED_INT16, 1, 2, 2, 0, 0 },
    { "2d_s16x2", CU_AD_FORMAT_SIGNED_INT16, 2, 4, 2, 0, 0 },
    { "2d_u8x1", CU_AD_FORMAT_UNSIGNED_INT8, 1, 1, 2, 0, 0 },
    { "2d_u8x4", CU_AD_FORMAT_UNSIGNED_INT8, 4, 4, 2, 0, 0 },
    { "2d_s8x2", CU_AD_FORMAT_SIGNED_INT8, 2, 2, 2, 0, 0 },
    { "3d_f32x1", CU_AD_FORMAT_FLOAT, 1, 4, 3, 0, 0 },
    { "3d_u8x4", CU_AD_FORMAT_UNSIGNED_INT8, 4, 4, 3, 0, 0 },
    { "a1d_f32x1", CU_AD_FORMAT_FLOAT, 1, 4, 1, LAYERS, 0 },
    { "a2d_f32x1", CU_AD_FORMAT_FLOAT, 1, 4, 2, LAYERS, 0 },
    { "mip2d_f32x1", CU_AD_FORMAT_FLOAT, 1, 4, 2, 0, LEVELS },
    { "mip2d_u32x2", CU_AD_FORMAT_UNSIGNED_INT32, 2, 8, 2, 0, LEVELS },
    { "mip1d_f32x1", CU_AD_FORMAT_FLOAT, 1, 4, 1, 0, LEVELS },
    { "mipa2d_f32x1", CU_AD_FORMAT_FLOAT, 1, 4, 2, LAYERS, LEVELS },
};
enum { BASES = sizeof bases / sizeof *bases };

struct made {
    const struct base *base;
    CUDA_RESOURCE_DESC resource;
    CUDA_RESOURCE_VIEW_DESC view; /* of all of it, without a format */
};

static void fill(CUarray a, const struct base *b, unsigned w, unsigned h, unsigned d, unsigned level)
{
    static uint8_t bytes[W * H * LAYERS * 16];
    h = h ? h : 1;
    d = d ? d : 1;
    for (unsigned k = 0; k < sizeof bytes; k++)
        bytes[k] = b->format == CU_AD_FORMAT_FLOAT || b->format == CU_AD_FORMAT_HALF
                       ? (k % (b->bytes / b->channels) == b->bytes / b->channels - 1 ? 0x3c : (uint8_t)(k + 64 * level))
                       : (uint8_t)(k * 7 + level);
    CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = bytes, .srcPitch = (size_t)w * b->bytes,
                        .srcHeight = h, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = a,
                        .WidthInBytes = (size_t)w * b->bytes, .Height = h, .Depth = d };
    MUST(cuMemcpy3D(&c));
}

static struct made make(const struct base *b)
{
    unsigned depth = b->layered ? (unsigned)b->layered : b->dimensions == 3 ? D : 0, height = b->dimensions > 1 ? H : 0;
    CUDA_ARRAY3D_DESCRIPTOR d = { .Width = W, .Height = height, .Depth = depth, .Format = b->format,
                                  .NumChannels = b->channels, .Flags = b->layered ? CUDA_ARRAY3D_LAYERED : 0 };
    struct made m = { .base = b };
    if (b->levels) {
        MUST(cuMipmappedArrayCreate(&m.resource.res.mipmap.hMipmappedArray, &d, (unsigned)b->levels));
        m.resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        for (unsigned k = 0; k < (unsigned)b->levels; k++) {
            CUarray a;
            MUST(cuMipmappedArrayGetLevel(&a, m.resource.res.mipmap.hMipmappedArray, k));
            fill(a, b, W >> k, height >> k, depth, k);
        }
        m.view.lastMipmapLevel = (unsigned)b->levels - 1;
    } else {
        MUST(cuArray3DCreate(&m.resource.res.array.hArray, &d));
        m.resource.resType = CU_RESOURCE_TYPE_ARRAY;
        fill(m.resource.res.array.hArray, b, W, height, depth, 0);
    }
    m.view.width = W;
    m.view.height = height;
    m.view.depth = depth;
    if (b->layered) m.view.lastLayer = (unsigned)b->layered - 1;
    return m;
}

static CUfunction fetcher(const struct base *b)
{
    static const char *const kinds[] = { "1d", "2d", "3d", "a1d", "a2d" };
    static const char *const coordinates[] = { "{x}", "{x, y}", "{x, y, y, y}", "{2, x}", "{2, x, y, y}" };
    static CUfunction f[5];
    static char text[5][2048];
    int k = b->layered ? 2 + b->dimensions : b->dimensions - 1;
    if (f[k]) return f[k];
    const char *kind = strstr(fetch_ptx, "KIND"), *at = strstr(fetch_ptx, "COORDINATES");
    CUmodule m;
    sprintf(text[k], "%.*s%s%.*s%s%s", (int)(kind - fetch_ptx), fetch_ptx, kinds[k], (int)(at - kind - 4), kind + 4,
            coordinates[k], at + 11);
    if (b->layered) { /* a layer is an integer in a register */
        static char other[2048];
        char *two = strstr(text[k], "{2,");
        sprintf(other, "%.*s{lay,%s", (int)(two - text[k]), text[k], two + 3);
        char *use = strstr(other, "tex.level");
        sprintf(text[k], "%.*s.reg .b32 lay; mov.u32 lay, 2;\n%s", (int)(use - other), other, use);
    }
    MUST(cuModuleLoadData(&m, text[k]));
    MUST(cuModuleGetFunction(&f[k], m, "fetch"));
    return f[k];
}

/* What a view gives: the first elements of a level, as bits. */
static void look(const char *key, const struct made *m, CUtexObject t, float level)
{
    static CUdeviceptr out;
    uint32_t got[W][4];
    char line[256] = "";
    if (!out) MUST(cuMemAlloc(&out, sizeof got));
    MUST(cuMemsetD32(out, 0xeeeeeeee, W * 4));
    MUST(cuLaunchKernel(fetcher(m->base), 1, 1, 1, W, 1, 1, 0, 0, (void *[]){ &t, &out, &level }, NULL));
    MUST(cuMemcpyDtoH(got, out, sizeof got));
    for (int k = 0; k < W; k += 3)
        sprintf(line + strlen(line), "%s%x,%x,%x,%x", k ? " " : "", got[k][0], got[k][1], got[k][2], got[k][3]);
    rec(key, "%s", line);
}

static CUDA_TEXTURE_DESC points(unsigned flags)
{
    CUDA_TEXTURE_DESC d = { .flags = flags | CU_TRSF_NORMALIZED_COORDINATES, .maxMipmapLevelClamp = 99 };
    for (int k = 0; k < 3; k++) d.addressMode[k] = CU_TR_ADDRESS_MODE_CLAMP;
    return d;
}

static void attempt(const char *key, const struct made *m, const CUDA_TEXTURE_DESC *d, const CUDA_RESOURCE_VIEW_DESC *v,
                    float level)
{
    CUtexObject t = 0;
    if (K(key, cuTexObjectCreate(&t, &m->resource, d, v))) return;
    look(keyf("%s.reads", key), m, t, level);
    CUDA_RESOURCE_VIEW_DESC told;
    memset(&told, 0x55, sizeof told);
    MUST(cuTexObjectGetResourceViewDesc(&told, t));
    rec(keyf("%s.told", key), "%u %zu %zu %zu %u %u %u %u", told.format, told.width, told.height, told.depth,
        told.firstMipmapLevel, told.lastMipmapLevel, told.firstLayer, told.lastLayer);
    MUST(cuTexObjectDestroy(t));
}

static CUresourceViewFormat own_format(const struct base *b)
{
    int width = b->channels == 1 ? 0 : b->channels == 2 ? 1 : 2;
    switch (b->format) {
    case CU_AD_FORMAT_UNSIGNED_INT8: return CU_RES_VIEW_FORMAT_UINT_1X8 + width;
    case CU_AD_FORMAT_SIGNED_INT8: return CU_RES_VIEW_FORMAT_SINT_1X8 + width;
    case CU_AD_FORMAT_UNSIGNED_INT16: return CU_RES_VIEW_FORMAT_UINT_1X16 + width;
    case CU_AD_FORMAT_SIGNED_INT16: return CU_RES_VIEW_FORMAT_SINT_1X16 + width;
    case CU_AD_FORMAT_UNSIGNED_INT32: return CU_RES_VIEW_FORMAT_UINT_1X32 + width;
    case CU_AD_FORMAT_SIGNED_INT32: return CU_RES_VIEW_FORMAT_SINT_1X32 + width;
    case CU_AD_FORMAT_HALF: return CU_RES_VIEW_FORMAT_FLOAT_1X16 + width;
    default: return CU_RES_VIEW_FORMAT_FLOAT_1X32 + width;
    }
}

static void g_view_formats(void)
{
    setup();
    for (int b = 0; b < BASES; b++) {
        struct made m = make(&bases[b]);
        for (unsigned f = 0; f <= 0x23; f++)
            for (unsigned flags = 0; flags < 2; flags++) {
                CUDA_RESOURCE_VIEW_DESC v = m.view;
                CUDA_TEXTURE_DESC d = points(flags ? CU_TRSF_READ_AS_INTEGER : 0);
                v.format = f;
                attempt(keyf("%s.format%x.%s", bases[b].name, f, flags ? "integer" : "plain"), &m, &d, &v, 0);
                if (f < CU_RES_VIEW_FORMAT_UNSIGNED_BC1) continue;
                v.width *= 4;
                v.height *= 4;
                CUtexObject t;
                K(keyf("%s.format%x.%s.blocks", bases[b].name, f, flags ? "integer" : "plain"),
                  cuTexObjectCreate(&t, &m.resource, &d, &v));
            }
    }
}

static void g_view_extents(void)
{
    setup();
    for (int b = 0; b < BASES; b++) {
        struct made m = make(&bases[b]);
        static const int extents[][3] = { { -1, 0, 0 }, { 1, 0, 0 }, { -W, 0, 0 }, { -W / 2, 0, 0 }, { 0, -1, 0 }, { 0, 1, 0 },
                                          { 0, -H, 0 }, { 0, -H / 2, 0 }, { 0, 0, -1 }, { 0, 0, 1 }, { 0, 0, -D }, { 0, 0, LAYERS },
                                          { 0, 1, 1 }, { W, H, 0 }, { -W, -H, 0 }, { -W, -H, -D }, { 0, 0, 2 } };
        for (size_t k = 0; k < sizeof extents / sizeof *extents; k++) {
            CUDA_RESOURCE_VIEW_DESC v = m.view;
            CUDA_TEXTURE_DESC d = points(CU_TRSF_READ_AS_INTEGER);
            v.format = own_format(&bases[b]);
            v.width += (size_t)extents[k][0];
            v.height += (size_t)extents[k][1];
            v.depth += (size_t)extents[k][2];
            if (v.width > 1000 || v.height > 1000 || v.depth > 1000) continue;
            attempt(keyf("%s.extent%d_%d_%d", bases[b].name, (int)v.width, (int)v.height, (int)v.depth), &m, &d, &v, 0);
        }
    }
}

static void g_view_ranges(void)
{
    setup();
    for (int b = 0; b < BASES; b++) {
        struct made m = make(&bases[b]);
        int both = bases[b].levels || bases[b].layered;
        for (unsigned first = 0; first < (both ? LAYERS + 1 : 2); first++)
            for (unsigned last = 0; last <= LAYERS; last++) {
                CUDA_RESOURCE_VIEW_DESC v = m.view;
                CUDA_TEXTURE_DESC d = points(CU_TRSF_READ_AS_INTEGER);
                v.format = own_format(&bases[b]);
                v.firstLayer = first;
                v.lastLayer = last;
                attempt(keyf("%s.layers%u_%u", bases[b].name, first, last), &m, &d, &v, 0);
                v = m.view;
                v.format = own_format(&bases[b]);
                v.firstMipmapLevel = first;
                v.lastMipmapLevel = last;
                for (int level = 0; level < (bases[b].levels ? 3 : 1); level++)
                    attempt(keyf("%s.levels%u_%u.at%d", bases[b].name, first, last, level), &m, &d, &v, (float)level);
                d.minMipmapLevelClamp = 1;
                d.maxMipmapLevelClamp = 1;
                if (bases[b].levels) attempt(keyf("%s.levels%u_%u.clamped", bases[b].name, first, last), &m, &d, &v, 0);
            }
    }
}

/* Filters and borders are those of the format that is seen. */
static void g_view_filters(void)
{
    setup();
    for (int b = 0; b < BASES; b++) {
        if (bases[b].levels || bases[b].layered) continue;
        struct made m = make(&bases[b]);
        for (unsigned f = 1; f < CU_RES_VIEW_FORMAT_UNSIGNED_BC1; f++)
            for (unsigned how = 0; how < 4; how++) {
                CUDA_RESOURCE_VIEW_DESC v = m.view;
                CUDA_TEXTURE_DESC d = points(how & 1 ? CU_TRSF_READ_AS_INTEGER : 0);
                v.format = f;
                if (how & 2) {
                    d.filterMode = CU_TR_FILTER_MODE_LINEAR;
                } else {
                    d.addressMode[0] = d.addressMode[1] = d.addressMode[2] = CU_TR_ADDRESS_MODE_BORDER;
                    for (int k = 0; k < 4; k++) d.borderColor[k] = .3f + (float)k;
                    d.flags &= ~CU_TRSF_NORMALIZED_COORDINATES;
                }
                CUtexObject t = 0;
                const char *key = keyf("%s.%s%x.%s", bases[b].name, how & 2 ? "linear" : "border", f, how & 1 ? "integer" : "plain");
                if (!K(key, cuTexObjectCreate(&t, &m.resource, &d, &v))) look(keyf("%s.reads", key), &m, t, 0);
            }
    }
}

static void g_view_order(void)
{
    setup();
    struct made m = make(&bases[1]), u = make(&bases[6]);
    CUtexObject t;
    CUDA_TEXTURE_DESC d = points(0), bad = d, linear = d;
    CUDA_RESOURCE_VIEW_DESC v = m.view;
    bad.addressMode[0] = 77;
    linear.filterMode = CU_TR_FILTER_MODE_LINEAR;
    v.format = 99;
    K("format_99", cuTexObjectCreate(&t, &m.resource, &d, &v));
    K("format_99.bad_mode", cuTexObjectCreate(&t, &m.resource, &bad, &v));
    K("no_object", cuTexObjectCreate(NULL, &m.resource, &d, &v));
    v.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
    v.reserved[0] = 1;
    K("reserved", cuTexObjectCreate(&t, &m.resource, &d, &v));
    v.reserved[0] = 0;
    v.format = CU_RES_VIEW_FORMAT_UINT_1X32;
    K("linear_filter.f32_seen_as_u32", cuTexObjectCreate(&t, &m.resource, &linear, &v));
    v.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
    K("linear_filter.u32_seen_as_f32", cuTexObjectCreate(&t, &u.resource, &linear, &v));
    K("linear_filter.f32", cuTexObjectCreate(&t, &m.resource, &linear, &v));
    CUdeviceptr p;
    MUST(cuMemAlloc(&p, 65536));
    CUDA_RESOURCE_DESC memory = { .resType = CU_RESOURCE_TYPE_LINEAR,
                                  .res.linear = { p, CU_AD_FORMAT_FLOAT, 1, 4096 } };
    v.width = 1024;
    v.height = 0;
    K("linear_memory", cuTexObjectCreate(&t, &memory, &d, &v));
    v.format = 0;
    K("linear_memory.none", cuTexObjectCreate(&t, &memory, &d, &v));
    v = (CUDA_RESOURCE_VIEW_DESC){ 0 };
    K("linear_memory.zeros", cuTexObjectCreate(&t, &memory, &d, &v));
    K("array.zeros", cuTexObjectCreate(&t, &m.resource, &d, &v));
    CUDA_RESOURCE_DESC pitched = { .resType = CU_RESOURCE_TYPE_PITCH2D,
                                   .res.pitch2D = { p, CU_AD_FORMAT_FLOAT, 1, 32, 32, 512 } };
    v = (CUDA_RESOURCE_VIEW_DESC){ .format = CU_RES_VIEW_FORMAT_FLOAT_1X32, .width = 32, .height = 32 };
    K("pitched", cuTexObjectCreate(&t, &pitched, &d, &v));
    v.format = CU_RES_VIEW_FORMAT_UINT_1X32;
    K("pitched.other", cuTexObjectCreate(&t, &pitched, &d, &v));
    v = (CUDA_RESOURCE_VIEW_DESC){ 0 };
    K("pitched.zeros", cuTexObjectCreate(&t, &pitched, &d, &v));
}

const struct group groups[] = { { "view_formats", g_view_formats, 1 }, { "view_extents", g_view_extents, 1 },
                                { "view_ranges", g_view_ranges, 1 },   { "view_filters", g_view_filters, 1 },
                                { "view_order", g_view_order, 1 },     { 0 } };
