/* Arrays of random shapes and formats, what they say of themselves, and how much of them can be copied; texture and
 * surface objects of random descriptions. What kernels read through them: cases_samples.c. */
#include "sources.h"

/* ---- arrays */

/* The longest row and the most rows and slices of it that can be copied. */
static size_t most(CUarray a, int which)
{
    static char host[1 << 22];
    size_t low = 0, high = 1 << 16; /* low can be copied, high cannot */
    while (high - low > 1) {
        size_t n = (low + high) / 2;
        CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = a, .dstMemoryType = CU_MEMORYTYPE_HOST };
        c.dstHost = host;
        c.WidthInBytes = which == 0 ? n : 16;
        c.Height = which == 1 ? n : 1;
        c.Depth = which == 2 ? n : 1;
        c.dstPitch = c.WidthInBytes;
        c.dstHeight = c.Height;
        if (cuMemcpy3D(&c))
            high = n;
        else
            low = n;
    }
    return low;
}

static void describe(CUarray a, bool copies)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { 0 };
    CUDA_ARRAY_DESCRIPTOR e = { 0 };
    CUDA_ARRAY_MEMORY_REQUIREMENTS q = { 0 };
    CUDA_ARRAY_SPARSE_PROPERTIES p = { 0 };
    CUarray plane;
    CUresult r = cuArray3DGetDescriptor(&d, a);
    add(" 3d=%s %zux%zux%zu %x/%u f%x", rname(r), d.Width, d.Height, d.Depth, d.Format, d.NumChannels, d.Flags);
    r = cuArrayGetDescriptor(&e, a);
    add(" 2d=%s %zux%zu %x/%u", rname(r), e.Width, e.Height, e.Format, e.NumChannels);
    r = cuArrayGetMemoryRequirements(&q, a, dev0);
    add(" req=%s %zu/%zu", rname(r), q.size, q.alignment);
    r = cuArrayGetSparseProperties(&p, a);
    add(" sp=%s %ux%ux%u %u/%llu/%u", rname(r), p.tileExtent.width, p.tileExtent.height, p.tileExtent.depth,
        p.miptailFirstLevel, p.miptailSize, p.flags);
    for (unsigned k = 0; k < 3; k++) {
        r = cuArrayGetPlane(&plane, a, k);
        add(" plane%u=%s", k, rname(r));
        if (r) continue;
        memset(&d, 0, sizeof d);
        cuArray3DGetDescriptor(&d, plane);
        add(" %zux%zux%zu %x/%u f%x", d.Width, d.Height, d.Depth, d.Format, d.NumChannels, d.Flags);
        if (copies) add(" c%zu,%zu", most(plane, 0), most(plane, 1));
    }
    if (copies) add(" copy %zu,%zu,%zu", most(a, 0), most(a, 1), most(a, 2));
}

static size_t extent(void)
{
    static const size_t limits[] = { 2048,  2049,  16384,  16385,  32768,     32769,
                                     65536, 65537, 131072, 131073, 1ul << 31, ~0ul };
    switch (draw(16)) {
    case 0: return limits[draw(12)];
    case 1:
    case 2:
    case 3: return 0;
    case 4:
    case 5: return 1 + draw(8);
    case 6: return 6;
    case 7: return 12;
    default: return 1 + draw(200);
    }
}

static unsigned any_flags(void)
{
    static const unsigned flags[] = { 0, 0, 0, 1, 2, 3, 4, 5, 8, 0x40, 0x41, 0x80, 0x81, 0x100, 0x10, 0x20 };
    return draw(5) ? flags[draw(16)] : draw(0x400);
}

static size_t product(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    size_t n = 16;
    n = d->Width && n > (1ul << 40) / d->Width ? 1ul << 40 : n * (d->Width ? d->Width : 1);
    n = d->Height && n > (1ul << 40) / d->Height ? 1ul << 40 : n * (d->Height ? d->Height : 1);
    return d->Depth && n > (1ul << 40) / d->Depth ? 1ul << 40 : n * (d->Depth ? d->Depth : 1);
}

static void created(CUDA_ARRAY3D_DESCRIPTOR d, bool copies)
{
    CUarray a;
    add("%zux%zux%zu %x/%u f%x", d.Width, d.Height, d.Depth, d.Format, d.NumChannels, d.Flags);
    CUresult r = cuArray3DCreate(&a, &d);
    add(" = %s", rname(r));
    if (r) return;
    describe(a, copies && !(d.Flags & 0xc0));
    add(" destroy=%s", rname(cuArrayDestroy(a)));
}

static void created_flat(CUDA_ARRAY3D_DESCRIPTOR d)
{
    CUarray a;
    CUDA_ARRAY_DESCRIPTOR e = { d.Width, d.Height, d.Format, d.NumChannels };
    add("flat %zux%zu %x/%u", d.Width, d.Height, d.Format, d.NumChannels);
    CUresult r = cuArrayCreate(&a, &e);
    add(" = %s", rname(r));
    if (r) return;
    describe(a, false);
    cuArrayDestroy(a);
}

static void created_mips(CUDA_ARRAY3D_DESCRIPTOR d, unsigned levels)
{
    CUmipmappedArray m;
    CUDA_ARRAY_MEMORY_REQUIREMENTS q = { 0 };
    CUDA_ARRAY_SPARSE_PROPERTIES p = { 0 };
    CUarray a;
    add("mips%u %zux%zux%zu %x/%u f%x", levels, d.Width, d.Height, d.Depth, d.Format, d.NumChannels, d.Flags);
    CUresult r = cuMipmappedArrayCreate(&m, &d, levels);
    add(" = %s", rname(r));
    if (r) return;
    r = cuMipmappedArrayGetMemoryRequirements(&q, m, dev0);
    add(" req=%s %zu/%zu", rname(r), q.size, q.alignment);
    r = cuMipmappedArrayGetSparseProperties(&p, m);
    add(" sp=%s %ux%ux%u %u/%llu/%u", rname(r), p.tileExtent.width, p.tileExtent.height, p.tileExtent.depth,
        p.miptailFirstLevel, p.miptailSize, p.flags);
    for (unsigned k = 0; k < 20; k++) {
        if ((r = cuMipmappedArrayGetLevel(&a, m, k))) {
            add(" %u=%s", k, rname(r));
            break;
        }
        CUDA_ARRAY3D_DESCRIPTOR e = { 0 };
        r = cuArray3DGetDescriptor(&e, a);
        add(" %u=%zux%zux%zu", k, e.Width, e.Height, e.Depth);
        if (k == 1) add(" %x/%u f%x", e.Format, e.NumChannels, e.Flags);
    }
    add(" destroy=%s", rname(cuMipmappedArrayDestroy(m)));
}

static void shapes(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { extent(),
                                  extent(),
                                  draw(2) ? 0 : extent(),
                                  (CUarray_format)formats[draw(3) ? draw(8) : draw(FORMATS)],
                                  (unsigned[]){ 1, 2, 4, 1, 2, 4, 3, 0, 5, 1 }[draw(10)],
                                  any_flags() };
    if (d.Flags & 4 && draw(4)) d.Height = d.Width, d.Depth = d.Flags & 1 ? 6 * (1 + draw(3)) : 6;
    if (product(&d) > 1ul << 30 && !(d.Width > 1ul << 30 || d.Height > 1ul << 30 || d.Depth > 1ul << 30)) {
        if (draw(3))
            d.Height = 1 + draw(3);
        else
            d.Width = 1 + draw(3);
        if (product(&d) > 1ul << 30) d.Depth = 0;
    }
    if (product(&d) > 1ul << 32 && product(&d) < 1ul << 40) d.Width = 16;
    unsigned what = draw(8);
    if (what < 4)
        created(d, draw(4) == 0);
    else if (what < 6)
        created_flat(d);
    else
        created_mips(d, draw(3) ? draw(9) : draw(40));
    say();
}

WALK(shapes, 0, 1500, setup, shapes)
WALK(shapes, 1, 1500, setup, shapes)

static void g_formats(void)
{
    static const struct {
        size_t w, h, d;
        unsigned flags;
    } shape[] = { { 64, 32, 0, 0 },    { 63, 33, 0, 0 }, { 64, 0, 0, 0 },     { 64, 32, 8, 0 },
                  { 64, 32, 4, 1 },    { 64, 64, 6, 4 }, { 64, 32, 0, 2 },    { 64, 32, 0, 0x80 },
                  { 64, 32, 0, 0x40 }, { 64, 32, 0, 8 }, { 64, 32, 0, 0x100 } };
    setup();
    for (int f = 0; f < FORMATS; f++)
        for (unsigned c = 0; c < 6; c++)
            for (int k = 0; k < 11; k++, step++) {
                bool plain = c == 1 || c == 2 || c == 4;
                if (!plain && k > 3) continue;
                created((CUDA_ARRAY3D_DESCRIPTOR){ shape[k].w, shape[k].h, shape[k].d, (CUarray_format)formats[f], c,
                                                   shape[k].flags },
                        k < 5);
                say();
            }
    for (int f = 0; f < FORMATS; f++)
        for (unsigned c = 1; c < 5; c++, step++) {
            created_mips((CUDA_ARRAY3D_DESCRIPTOR){ 64, 32, 0, (CUarray_format)formats[f], c, 0 }, 4);
            say();
        }
}

/* ---- objects */

static void object_descriptions(CUtexObject t)
{
    CUDA_RESOURCE_DESC r = { 0 };
    CUDA_TEXTURE_DESC d = { 0 };
    CUDA_RESOURCE_VIEW_DESC v = { 0 };
    memset(&v, 0x11, sizeof v);
    add(" res=%s", rname(cuTexObjectGetResourceDesc(&r, t)));
    add(" %d %x", r.resType, r.flags);
    if (r.resType == CU_RESOURCE_TYPE_LINEAR)
        add(" %x/%u %zu", r.res.linear.format, r.res.linear.numChannels, r.res.linear.sizeInBytes);
    if (r.resType == CU_RESOURCE_TYPE_PITCH2D)
        add(" %x/%u %zux%zu p%zu", r.res.pitch2D.format, r.res.pitch2D.numChannels, r.res.pitch2D.width,
            r.res.pitch2D.height, r.res.pitch2D.pitchInBytes);
    add(" tex=%s", rname(cuTexObjectGetTextureDesc(&d, t)));
    tell_texture(&d);
    add(" view=%s", rname(cuTexObjectGetResourceViewDesc(&v, t)));
    tell_view(&v);
}

/* One or two things about a description of memory are off. */
static void spoil_memory(struct source *o)
{
    bool rows = o->desc.resType == CU_RESOURCE_TYPE_PITCH2D;
    static const size_t sizes[] = { 0, 1, 3, 100, 4096, 4097, 5000, 1ul << 27, (1ul << 27) + 4, 1ul << 40, ~0ul };
    static const size_t pitches[] = { 0, 16, 32, 33, 64, 96, 100, 128, 1ul << 21, 1ul << 22, 1ul << 40 };
    switch (draw(rows ? 7 : 4)) {
    case 0:
        if (rows)
            o->desc.res.pitch2D.devPtr += 1ul << draw(11);
        else
            o->desc.res.linear.devPtr += 1ul << draw(11);
        break;
    case 1:
        if (rows)
            o->desc.res.pitch2D.format = (CUarray_format)formats[draw(FORMATS)];
        else
            o->desc.res.linear.format = (CUarray_format)formats[draw(FORMATS)];
        break;
    case 2:
        if (rows)
            o->desc.res.pitch2D.numChannels = draw(6);
        else
            o->desc.res.linear.numChannels = draw(6);
        break;
    case 3:
        if (rows)
            o->desc.res.pitch2D.pitchInBytes = pitches[draw(11)];
        else
            o->desc.res.linear.sizeInBytes = sizes[draw(11)];
        break;
    case 4: o->desc.res.pitch2D.width = (size_t[]){ 0, 1, 128, 129, 131072, 131073, 1ul << 40 }[draw(7)]; break;
    case 5: o->desc.res.pitch2D.height = (size_t[]){ 0, 1, 9, 65000, 65001, 1ul << 40 }[draw(6)]; break;
    default: o->desc.res.pitch2D.devPtr = 0;
    }
}

static void objects(void)
{
    struct source o;
    static const unsigned extras[] = { 0, 0, 0, 2, 8, 0x80, 0x40 };
    unsigned extra = extras[draw(7)];
    CUtexObject t;
    CUsurfObject u;
    if (!make_source(&o, extra & 0xc0 ? 0 : extra)) {
        unmake_source(&o);
        return;
    }
    CUDA_TEXTURE_DESC d = any_texture(draw(2));
    CUDA_RESOURCE_VIEW_DESC v = plain_view(&o);
    bool viewed = draw(3) == 0;
    if (o.memory && draw(2)) spoil_memory(&o);
    if (o.memory && draw(5) == 0) spoil_memory(&o);
    if (draw(25) == 0) o.desc.flags = 1 + draw(3);
    if (draw(40) == 0) o.desc.resType = (CUresourcetype)(4 + draw(3));
    if (viewed && draw(2)) spoil_view(&v, &o);
    if (viewed && draw(6) == 0) spoil_view(&v, &o);
    tell_source(&o);
    if (o.desc.resType == CU_RESOURCE_TYPE_LINEAR)
        add(" +%lu %x/%u %zu", (unsigned long)(o.desc.res.linear.devPtr - o.memory), o.desc.res.linear.format,
            o.desc.res.linear.numChannels, o.desc.res.linear.sizeInBytes);
    if (o.desc.resType == CU_RESOURCE_TYPE_PITCH2D)
        add(" +%ld %x/%u %zux%zu p%zu", o.desc.res.pitch2D.devPtr ? (long)(o.desc.res.pitch2D.devPtr - o.memory) : -1,
            o.desc.res.pitch2D.format, o.desc.res.pitch2D.numChannels, o.desc.res.pitch2D.width,
            o.desc.res.pitch2D.height, o.desc.res.pitch2D.pitchInBytes);
    add(" fl%x e%x", o.desc.flags, extra);
    tell_texture(&d);
    if (viewed) tell_view(&v);
    CUresult r = cuTexObjectCreate(&t, &o.desc, &d, viewed ? &v : NULL);
    add(" = %s", rname(r));
    if (!r) {
        object_descriptions(t);
        add(" destroy=%s", rname(cuTexObjectDestroy(t)));
    }
    CUresult e = cuSurfObjectCreate(&u, &o.desc);
    add(" surf=%s", rname(e));
    if (!e) {
        CUDA_RESOURCE_DESC back = { 0 };
        add(" res=%s", rname(cuSurfObjectGetResourceDesc(&back, u)));
        add(" %d %x destroy=%s", back.resType, back.flags, rname(cuSurfObjectDestroy(u)));
    }
    say();
    unmake_source(&o);
}

WALK(objects, 0, 1500, setup, objects)
WALK(objects, 1, 1500, setup, objects)

const struct group groups[] = { WALKED(shapes, 0),  WALKED(shapes, 1),           WALKED(objects, 0),
                                WALKED(objects, 1), { "formats", g_formats, 1 }, { 0 } };
