/* For cases_arrays.c and cases_samples.c: formats, and arrays and memory that textures and surfaces can be of. */
#ifndef SOURCES_H
#define SOURCES_H
#include "say.h"

static const int formats[] = {
    0x01, 0x02, 0x03, 0x08, 0x09, 0x0a, 0x10, 0x20, 0x50, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96,
    0x97, 0x98, 0x99, 0x9a, 0x9b, 0x9c, 0x9d, 0x9e, 0x9f, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5,
    0xa6, 0xa7, 0xa8, 0xa9, 0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4,
    0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xcb, 0,    0x04, 0x0b, 0x11, 0x21, 0x51, 0x90, 0xcc
};
enum { FORMATS = sizeof formats / sizeof *formats };

enum { NOTHING, ONE, TWO, THREE, ONE_LAYERED, TWO_LAYERED, CUBE, CUBES, RESOURCES };
static const struct {
    size_t w, h, d;
    unsigned flags;
} dimensions[RESOURCES] = { { 0 },           { 16, 0, 0, 0 }, { 16, 8, 0, 0 }, { 16, 8, 4, 0 },
                            { 16, 0, 3, 1 }, { 16, 8, 3, 1 }, { 8, 8, 6, 4 },  { 8, 8, 12, 5 } };

struct source {
    CUDA_RESOURCE_DESC desc;
    int shape, format;
    unsigned channels, levels;
    CUarray array[8];
    CUmipmappedArray mips;
    CUdeviceptr memory;
};

static unsigned bytes_of(int format)
{
    switch (format) {
    case 0x01:
    case 0x08: return 1;
    case 0x02:
    case 0x09:
    case 0x10: return 2;
    default: return format >= 0xc0 ? ((format - 0xc0) / 3 % 2 ? 2 : 1) : 4;
    }
}

static unsigned short half_of(unsigned n) /* below 2048 */
{
    unsigned e = 0;
    if (!n) return 0;
    while (n >> (e + 1)) e++;
    return (unsigned short)((e + 15) << 10 | ((n << (10 - e)) & 0x3ff));
}

static void element_values(void *to, size_t count, int format, unsigned salt)
{
    for (size_t i = 0; i < count; i++) {
        unsigned v = (unsigned)(i * 5 + i / 7 * 3 + salt);
        if (format == 0x20)
            ((float *)to)[i] = (float)(v % 251) - 20;
        else if (format == 0x10)
            ((unsigned short *)to)[i] = half_of(v % 251);
        else if (bytes_of(format) == 1)
            ((unsigned char *)to)[i] = (unsigned char)(v * 3);
        else if (bytes_of(format) == 2)
            ((unsigned short *)to)[i] = (unsigned short)(v * 301);
        else
            ((unsigned *)to)[i] = v * 0x10203;
    }
}

static size_t halved(size_t n, unsigned times) { return n && !(n >> times) ? 1 : n >> times; }

/* All of a level, as it lies in host memory without gaps. */
static CUDA_MEMCPY3D level_box(const struct source *o, unsigned level)
{
    bool layered = dimensions[o->shape].flags & 5;
    size_t w = halved(dimensions[o->shape].w, level), h = halved(dimensions[o->shape].h, level);
    size_t d = layered ? dimensions[o->shape].d : halved(dimensions[o->shape].d, level);
    CUDA_MEMCPY3D c = { .WidthInBytes = w * o->channels * bytes_of(o->format), .Height = h ? h : 1, .Depth = d ? d : 1 };
    c.srcPitch = c.dstPitch = c.WidthInBytes;
    c.srcHeight = c.dstHeight = c.Height;
    return c;
}

static void fill_array(const struct source *o, CUarray a, unsigned level)
{
    static unsigned char host[1 << 18];
    CUDA_MEMCPY3D c = level_box(o, level);
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = host;
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = a;
    element_values(host, c.WidthInBytes * c.Height * c.Depth / bytes_of(o->format), o->format, level * 100);
    MUST(cuMemcpy3D(&c));
}

static const int sampled[] = { 0x01, 0x02, 0x03, 0x08, 0x09, 0x0a, 0x10, 0x20, 0xc0, 0xc1,
                               0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xcb };

/* The rarer ones have their number of channels in their name. */
static void any_format(struct source *o)
{
    o->format = sampled[draw(3) ? draw(8) : draw(20)];
    o->channels = o->format >= 0xc0 ? 1u << (o->format - 0xc0) % 3 : 1u << draw(3);
}

static bool make_source(struct source *o, unsigned extra)
{
    memset(o, 0, sizeof *o);
    any_format(o);
    unsigned what = draw(10);
    size_t element = o->channels * bytes_of(o->format);
    o->shape = 1 + (int)draw(draw(4) ? 5 : 7);
    o->levels = 1;
    if (what == 0) {
        o->shape = ONE;
        MUST(cuMemAlloc(&o->memory, 4096));
        o->desc.resType = CU_RESOURCE_TYPE_LINEAR;
        o->desc.res.linear.devPtr = o->memory;
        o->desc.res.linear.format = (CUarray_format)o->format;
        o->desc.res.linear.numChannels = o->channels;
        o->desc.res.linear.sizeInBytes = 16 * element;
    } else if (what == 1) {
        o->shape = TWO;
        MUST(cuMemAlloc(&o->memory, 8 * 512));
        o->desc.resType = CU_RESOURCE_TYPE_PITCH2D;
        o->desc.res.pitch2D.devPtr = o->memory;
        o->desc.res.pitch2D.format = (CUarray_format)o->format;
        o->desc.res.pitch2D.numChannels = o->channels;
        o->desc.res.pitch2D.width = 16;
        o->desc.res.pitch2D.height = 8;
        o->desc.res.pitch2D.pitchInBytes = draw(2) ? 512 : 256;
    }
    if (what < 2) {
        static char host[4096];
        element_values(host, 4096 / bytes_of(o->format), o->format, 0);
        MUST(cuMemcpyHtoD(o->memory, host, 4096));
        return true;
    }
    CUDA_ARRAY3D_DESCRIPTOR d = { dimensions[o->shape].w,
                                  dimensions[o->shape].h,
                                  dimensions[o->shape].d,
                                  (CUarray_format)o->format,
                                  o->channels,
                                  dimensions[o->shape].flags | extra };
    if (what < 5) {
        o->levels = 1 + draw(4);
        o->desc.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        if (cuMipmappedArrayCreate(&o->mips, &d, o->levels)) return false;
        o->desc.res.mipmap.hMipmappedArray = o->mips;
        for (unsigned k = 0; k < o->levels; k++) {
            MUST(cuMipmappedArrayGetLevel(&o->array[k], o->mips, k));
            fill_array(o, o->array[k], k);
        }
    } else {
        o->desc.resType = CU_RESOURCE_TYPE_ARRAY;
        if (cuArray3DCreate(&o->array[0], &d)) return false;
        o->desc.res.array.hArray = o->array[0];
        fill_array(o, o->array[0], 0);
    }
    return true;
}

static void unmake_source(struct source *o)
{
    if (o->memory) cuMemFree(o->memory);
    if (o->mips)
        cuMipmappedArrayDestroy(o->mips);
    else if (o->array[0])
        cuArrayDestroy(o->array[0]);
}

static void tell_source(const struct source *o)
{
    static const char *const shape[] = { "", "1d", "2d", "3d", "a1d", "a2d", "cube", "acube" };
    add("r%d %s %x/%u l%u", o->desc.resType, shape[o->shape], o->format, o->channels, o->levels);
}

static void tell_view(const CUDA_RESOURCE_VIEW_DESC *v)
{
    add(" view %x %zux%zux%zu m%u-%u l%u-%u", v->format, v->width, v->height, v->depth, v->firstMipmapLevel,
        v->lastMipmapLevel, v->firstLayer, v->lastLayer);
}

static void tell_texture(const CUDA_TEXTURE_DESC *t)
{
    add(" a%d%d%d f%d fl%x an%u m%d b%g %g-%g c%g,%g,%g,%g", t->addressMode[0], t->addressMode[1], t->addressMode[2],
        t->filterMode, t->flags, t->maxAnisotropy, t->mipmapFilterMode, t->mipmapLevelBias, t->minMipmapLevelClamp,
        t->maxMipmapLevelClamp, t->borderColor[0], t->borderColor[1], t->borderColor[2], t->borderColor[3]);
}

static CUDA_RESOURCE_VIEW_DESC plain_view(const struct source *o)
{
    /* by the bytes of a channel less one: unsigned, signed, floating */
    static const int first[3][3] = { { 0x01, 0x07, 0x0d }, { 0x04, 0x0a, 0x10 }, { 0, 0x13, 0x16 } };
    unsigned bytes = bytes_of(o->format),
             n = bytes == 1   ? 0
                 : bytes == 2 ? 1
                              : 2,
             c = o->channels == 4 ? 2 : o->channels - 1;
    int kind = o->format == 0x10 || o->format == 0x20  ? 2
               : o->format >= 0x08 && o->format < 0x10 ? 1
                                                       : o->format >= 0xc6;
    CUDA_RESOURCE_VIEW_DESC v = { .format = (CUresourceViewFormat)(first[kind][n] + (int)c),
                                  .width = dimensions[o->shape].w,
                                  .height = dimensions[o->shape].h,
                                  .depth = dimensions[o->shape].d };
    if (dimensions[o->shape].flags & 1) v.lastLayer = (unsigned)dimensions[o->shape].d - 1;
    v.lastMipmapLevel = o->levels - 1;
    return v;
}

static CUDA_TEXTURE_DESC any_texture(bool wild)
{
    CUDA_TEXTURE_DESC t = { 0 };
    for (int k = 0; k < 3; k++) t.addressMode[k] = (CUaddress_mode)draw(wild ? 5 : 4);
    t.filterMode = (CUfilter_mode)(draw(wild ? 3 : 4) == (wild ? 2 : 3) ? (wild ? 2 : 1) : wild ? draw(2) : 0);
    t.flags = wild ? draw(4) ? draw(8) : draw(0x100) : draw(4);
    t.maxAnisotropy = wild ? draw(20) * draw(2) : 0;
    t.mipmapFilterMode = (CUfilter_mode)(wild ? draw(8) ? draw(2) : 2 : 0);
    if (draw(3) == 0) t.mipmapLevelBias = (float)((int)draw(9) - 4) / 2;
    if (draw(3) == 0) t.minMipmapLevelClamp = (float)((int)draw(6) - 1) / 2;
    t.maxMipmapLevelClamp = draw(2) ? 99 : (float)((int)draw(8) - 1) / 2;
    if (draw(2))
        for (int k = 0; k < 4; k++) t.borderColor[k] = (float)((int)draw(9) - 4) / 4;
    return t;
}

static void spoil_view(CUDA_RESOURCE_VIEW_DESC *v, const struct source *o)
{
    switch (draw(10)) {
    case 0:
    case 1: v->format = (CUresourceViewFormat)draw(0x25); break;
    case 2: v->width = draw(40); break;
    case 3: v->height = draw(20); break;
    case 4: v->depth = draw(8); break;
    case 5: v->firstMipmapLevel = draw(5); break;
    case 6: v->lastMipmapLevel = draw(6); break;
    case 7: v->firstLayer = draw(4); break;
    case 8: v->lastLayer = draw(6); break;
    default: v->reserved[draw(16)] = 1;
    }
}

#endif
