/* What kernels read through textures of random descriptions where a GPU rounds nothing, what they read and write through
 * surfaces, and what they are told of both. */
#include "sampling.h"

/* ---- what kernels read */

static void samples(void)
{
    struct source o;
    CUtexObject t;
    struct point p[POINTS];
    if (!make_source(&o, draw(4) == 0 ? 8 : 0)) {
        unmake_source(&o);
        return;
    }
    CUDA_TEXTURE_DESC d = any_texture(false);
    CUDA_RESOURCE_VIEW_DESC v = plain_view(&o);
    bool viewed = !o.memory && draw(8) == 0;
    if (o.mips || o.shape >= CUBE) d.flags |= CU_TRSF_NORMALIZED_COORDINATES;
    if (draw(8) == 0) d.flags |= CU_TRSF_SRGB;
    if (draw(12) == 0) d.flags |= CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
    if (viewed && draw(2)) spoil_view(&v, &o);
    bool linear = o.desc.resType == CU_RESOURCE_TYPE_LINEAR;
    char result = result_of(&o, &d), coordinate = linear || (o.shape < CUBE && draw(4) == 0) ? 's' : 'f';
    int how = (o.shape == TWO || o.shape == TWO_LAYERED) && draw(4) == 0 ? 2 + (int)draw(4)
              : !o.memory && draw(2)                                     ? 1
                                                                         : 0;
    if (how >= 2) coordinate = 'f';
    if (how >= 2 && linear) how = 0;
    sample_points(p, &o, coordinate == 's', d.flags & CU_TRSF_NORMALIZED_COORDINATES,
                  d.filterMode == CU_TR_FILTER_MODE_POINT);
    tell_source(&o);
    tell_texture(&d);
    if (viewed) tell_view(&v);
    add(" %c%c%d", result, coordinate, how);
    tell_points(p,
                o.shape >= CUBE          ? 3
                : o.shape == ONE_LAYERED ? 1
                : o.shape == TWO_LAYERED ? 2
                                         : o.shape,
                coordinate == 's');
    CUresult r = cuTexObjectCreate(&t, &o.desc, &d, viewed ? &v : NULL);
    add(" = %s", rname(r));
    if (!r) {
        CUfunction f = sampler(o.shape, result, coordinate, how, NULL);
        if (f) run(f, t, p, result);
        cuTexObjectDestroy(t);
    }
    say();
    unmake_source(&o);
}

static void begin(void)
{
    setup();
    MUST(cuMemAlloc(&points_at, 4096));
    MUST(cuMemAlloc(&values_at, 4096));
}

WALK(samples, 0, 600, begin, samples)
WALK(samples, 1, 600, begin, samples)
WALK(samples, 2, 600, begin, samples)
WALK(samples, 7700, 600, begin, samples)

/* ---- surfaces */

static CUfunction surface_kernel(int shape, unsigned bits, unsigned channels, const char *mode, bool store)
{
    static const char *const places[] = { "",          "{%r1}",
                                          "{%r1,%r2}", "{%r1,%r2,%r3,%r3}",
                                          "{%r9,%r1}", "{%r9,%r1,%r2,%r2}" };
    static struct kept kept[400];
    char name[40], text[2000], to[40] = "";
    const char c = bits == 64   ? 'e'
                   : bits == 32 ? 'r'
                                : 'h',
               *vector = channels == 1   ? ""
                         : channels == 2 ? ".v2"
                                         : ".v4";
    int n;
    snprintf(name, sizeof name, "s_%s_%u_%u_%s_%d", geometry[shape], bits, channels, mode, store);
    for (n = 0; kept[n].f; n++)
        if (!strcmp(kept[n].name, name)) return kept[n].f;
    for (unsigned k = 0; k < channels; k++) sprintf(to + strlen(to), "%s%%%c%u", k ? "," : "", c, 4 + k);
    const char *type = bits == 8 ? "u8" : bits == 16 ? "u16" : bits == 32 ? "u32" : "u64";
    char move[300] = "", access[200];
    for (unsigned k = 0; k < channels; k++)
        if (store)
            sprintf(move + strlen(move), "ld.global.%s %%%c%u,[%%d3+%u];", type, c, 4 + k, k * 8);
        else
            sprintf(move + strlen(move), "st.global.%s [%%d3+%u],%%%c%u;", type, k * 8, c, 4 + k);
    if (store)
        snprintf(access, sizeof access, "sust.b.%s%s.b%u.%s [%%d1, %s], {%s};", geometry[shape], vector, bits, mode,
                 places[shape], to);
    else
        snprintf(access, sizeof access, "suld.b.%s%s.b%u.%s {%s}, [%%d1, %s];", geometry[shape], vector, bits, mode, to,
                 places[shape]);
    snprintf(text, sizeof text,
             ".version 7.0\n.target sm_70\n.address_size 64\n"
             ".visible .entry k(.param .u64 t, .param .u64 p, .param .u64 o) {\n"
             ".reg .b64 %%d<6>; .reg .b64 %%e<9>; .reg .b32 %%r<12>; .reg .b16 %%h<9>;\n"
             "ld.param.u64 %%d1,[t]; ld.param.u64 %%d2,[p]; ld.param.u64 %%d3,[o]; mov.u32 %%r10,%%tid.x;\n"
             "mad.wide.u32 %%d2,%%r10,20,%%d2; mad.wide.u32 %%d3,%%r10,32,%%d3;\n"
             "ld.global.u32 %%r9,[%%d2]; ld.global.u32 %%r1,[%%d2+4]; ld.global.u32 %%r2,[%%d2+8]; ld.global.u32 "
             "%%r3,[%%d2+12];\n"
             "%s %s ret; }\n",
             store ? move : access, store ? access : move);
    return keep(&kept[n], name, text);
}

static uint32_t array_sum(const struct source *o, CUarray a, unsigned level)
{
    static unsigned char host[1 << 18];
    CUDA_MEMCPY3D c = level_box(o, level);
    c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    c.srcArray = a;
    c.dstMemoryType = CU_MEMORYTYPE_HOST;
    c.dstHost = host;
    MUST(cuMemcpy3D(&c));
    uint32_t sum = 0;
    for (size_t i = 0; i < c.WidthInBytes * c.Height * c.Depth; i++) sum = sum * 31 + host[i];
    return sum;
}

static void surfaces(void)
{
    struct source o;
    CUsurfObject u;
    struct point p[POINTS] = { 0 };
    bool store = draw(2);
    if (!make_source(&o, 2) || o.memory || o.shape > TWO_LAYERED) {
        unmake_source(&o);
        return;
    }
    unsigned level = o.mips ? draw(o.levels) : 0, element = o.channels * bytes_of(o.format);
    CUDA_RESOURCE_DESC d = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = o.array[level] };
    unsigned bits = bytes_of(o.format) * 8, channels = o.channels;
    if (draw(4) == 0) { /* the same bytes otherwise */
        bits = 8u << draw(4);
        channels = 1u << draw(bits == 64 ? 2 : 3);
    }
    if (bits / 8 * channels >
        halved(dimensions[o.shape].w, level) * element) { /* an illegal instruction, and the end */
        unmake_source(&o);
        return;
    }
    const char *mode = draw(2) ? "zero" : "clamp";
    bool wide = draw(3) == 0; /* of the element's size, or the kernel's */
    const size_t n[] = { halved(dimensions[o.shape].w, level), halved(dimensions[o.shape].h, level),
                         dimensions[o.shape].d };
    for (int i = 0; i < POINTS; i++) {
        p[i].layer = draw(4) ? (int)draw(3) : (int)draw(6) - 1;
        p[i].c[0].i = ((int)draw((uint32_t)n[0] + 4) - 2) * (int)(wide ? bits / 8 * channels : element);
        p[i].c[1].i = (int)draw((uint32_t)(n[1] ? n[1] : 1) + 4) - 2;
        p[i].c[2].i = (int)draw((uint32_t)(n[2] ? n[2] : 1) + 4) - 2;
        if (p[i].c[0].i % (int)(bits / 8 * channels)) p[i].c[0].i = 0;
        if (store) { /* threads that meet would leave either's value */
            p[i].layer = i % 3;
            p[i].c[0].i = i * (int)(bits / 8 * channels);
            p[i].c[1].i = (int)draw((uint32_t)(n[1] ? n[1] : 1));
            p[i].c[2].i = (int)draw((uint32_t)(n[2] ? n[2] : 1));
        }
    }
    tell_source(&o);
    add(" level %u %s b%u x%u %s", level, store ? "store" : "load", bits, channels, mode);
    tell_points(p, 3, true);
    CUresult r = cuSurfObjectCreate(&u, &d);
    add(" = %s", rname(r));
    if (!r) {
        CUfunction f = surface_kernel(o.shape, bits, channels, mode, store);
        if (f) {
            unsigned values[8 * POINTS];
            void *arguments[] = { &u, &points_at, &values_at };
            MUST(cuMemcpyHtoD(points_at, p, sizeof p));
            for (int i = 0; i < 8 * POINTS; i++) values[i] = store ? (unsigned)(i * 0x01020307 + step) : 0;
            MUST(cuMemcpyHtoD(values_at, values, sizeof values));
            r = cuLaunchKernel(f, 1, 1, 1, POINTS, 1, 1, 0, NULL, arguments, NULL);
            if (!r) r = cuCtxSynchronize();
            add(" ran=%s", rname(r));
            if (r) {
                say();
                exit(STICKY);
            }
            MUST(cuMemcpyDtoH(values, values_at, sizeof values));
            if (store)
                add(" %08x", array_sum(&o, o.array[level], level));
            else
                for (int i = 0; i < POINTS; i++) {
                    add(";");
                    for (unsigned k = 0; k < channels * 2; k++)
                        if (k % 2 == 0 || bits == 64) add(" %x", values[8 * i + (int)k]);
                }
        }
        cuSurfObjectDestroy(u);
    }
    say();
    unmake_source(&o);
}

WALK(surfaces, 0, 600, begin, surfaces)
WALK(surfaces, 1, 600, begin, surfaces)
WALK(surfaces, 7700, 600, begin, surfaces)

/* ---- what kernels ask */

static void g_queries(void)
{
    static const char *const texture[] = { "width",         "height",
                                           "depth",         "channel_data_type",
                                           "channel_order", "normalized_coords",
                                           "array_size",    "num_mipmap_levels",
                                           "num_samples" };
    static const char *const surface[] = { "width",         "height",     "depth",        "channel_data_type",
                                           "channel_order", "array_size", "memory_layout" };
    CUfunction f[16] = { 0 };
    setup();
    MUST(cuMemAlloc(&values_at, 4096));
    for (int k = 0; k < 16; k++) {
        char text[1000];
        CUmodule m;
        snprintf(
            text, sizeof text,
            ".version 7.0\n.target sm_70\n.address_size 64\n"
            ".visible .entry k(.param .u64 t, .param .u64 o) {\n.reg .b64 %%d<4>; .reg .b32 %%r<2>;\n"
            "ld.param.u64 %%d1,[t]; ld.param.u64 %%d2,[o]; %s.%s.b32 %%r1, [%%d1]; st.global.u32 [%%d2],%%r1; ret; }\n",
            k < 9 ? "txq" : "suq", k < 9 ? texture[k] : surface[k - 9]);
        CUresult r = cuModuleLoadData(&m, text);
        rec(keyf("%s.%s", k < 9 ? "txq" : "suq", k < 9 ? texture[k] : surface[k - 9]), "%s", rname(r));
        if (!r) r = cuModuleGetFunction(&f[k], m, "k");
        if (r) f[k] = NULL;
    }
    for (step = 0; step < 200; step++) {
        seeded(0, step);
        struct source o;
        CUtexObject t;
        CUsurfObject u;
        CUDA_TEXTURE_DESC d = any_texture(false);
        d.filterMode = CU_TR_FILTER_MODE_POINT;
        if (!make_source(&o, 2)) {
            unmake_source(&o);
            continue;
        }
        if (o.mips) d.flags |= CU_TRSF_NORMALIZED_COORDINATES;
        tell_source(&o);
        add(" fl%x", d.flags);
        CUresult r = cuTexObjectCreate(&t, &o.desc, &d, NULL);
        add(" tex=%s", rname(r));
        CUDA_RESOURCE_DESC one = o.desc;
        if (o.mips)
            one = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = o.array[o.levels - 1] };
        CUresult e = cuSurfObjectCreate(&u, &one);
        add(" surf=%s", rname(e));
        for (int k = 0; k < 16; k++) {
            int v = -7;
            void *arguments[] = { k < 9 ? &t : &u, &values_at };
            if (!f[k] || (k < 9 ? r : e)) continue;
            MUST(cuMemcpyHtoD(values_at, &v, 4));
            CUresult q = cuLaunchKernel(f[k], 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL);
            if (!q) q = cuCtxSynchronize();
            if (q) {
                add(" %d:%s", k, rname(q));
                say();
                exit(STICKY);
            }
            MUST(cuMemcpyDtoH(&v, values_at, 4));
            add(" %d:%d", k, v);
        }
        if (!r) cuTexObjectDestroy(t);
        if (!e) cuSurfObjectDestroy(u);
        say();
        unmake_source(&o);
    }
}

const struct group groups[] = { WALKED(samples, 0),
                                WALKED(samples, 1),
                                WALKED(samples, 2),
                                WALKED(samples, 7700),
                                WALKED(surfaces, 0),
                                WALKED(surfaces, 1),
                                WALKED(surfaces, 7700),
                                { "queries", g_queries, 1 },
                                { 0 } };
