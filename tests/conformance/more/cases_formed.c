/* Textures and surfaces in forms of PTX for which CUDA C++ has no functions: offsets, a depth to compare with, results of
 * halves, formatted writes of surfaces, reductions there, and all that can be asked. */
#include "sampling.h"

enum { KERNELS = 600, VALUES = 16 /* words of a point */ };

static void begin(void)
{
    setup();
    MUST(cuMemAlloc(&points_at, 4096));
    MUST(cuMemAlloc(&values_at, 4096));
}

/* A kernel whose threads do this with the object %d1, the point %r9 (layer), %r1.. or %f1.. (coordinates) and %r4 or %f4
 * (level), and what lies at %d3. */
static CUfunction kernel(const char *body)
{
    static struct {
        char body[400];
        CUfunction f;
    } kept[KERNELS];
    char text[2500];
    CUmodule m;
    int n = 0;
    for (; *kept[n].body; n++)
        if (!strcmp(kept[n].body, body)) return kept[n].f;
    snprintf(kept[n].body, sizeof kept[n].body, "%s", body);
    snprintf(
        text, sizeof text,
        ".version 8.1\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 t, .param .u64 p, .param .u64 o) {\n"
        ".reg .b64 %%d<6>; .reg .b64 %%e<9>; .reg .b32 %%r<24>; .reg .f32 %%f<12>; .reg .b16 %%h<9>;\n"
        "ld.param.u64 %%d1,[t]; ld.param.u64 %%d2,[p]; ld.param.u64 %%d3,[o]; mov.u32 %%r10,%%tid.x;\n"
        "mad.wide.u32 %%d2,%%r10,20,%%d2; mad.wide.u32 %%d3,%%r10,%u,%%d3;\n"
        "ld.global.u32 %%r9,[%%d2]; ld.global.u32 %%r1,[%%d2+4]; ld.global.u32 %%r2,[%%d2+8];\n"
        "ld.global.u32 %%r3,[%%d2+12]; ld.global.u32 %%r4,[%%d2+16]; mov.b32 %%f1,%%r1; mov.b32 %%f2,%%r2;\n"
        "mov.b32 %%f3,%%r3; mov.b32 %%f4,%%r4; ld.global.v4.u32 {%%r15,%%r16,%%r17,%%r18},[%%d3+16];\n%s\nret; }\n",
        VALUES * 4, body);
    CUresult r = cuModuleLoadData(&m, text);
    if (!r) r = cuModuleGetFunction(&kept[n].f, m, "k");
    if (r) add(" module %s", rname(r));
    return kept[n].f;
}

/* Whether the kernel ran; values go there and come back. */
static bool perform(CUfunction f, unsigned long long object, const struct point *p, unsigned *values)
{
    void *arguments[] = { &object, &points_at, &values_at };
    if (!f) return false;
    MUST(cuMemcpyHtoD(points_at, p, sizeof *p * POINTS));
    MUST(cuMemcpyHtoD(values_at, values, VALUES * POINTS * 4));
    CUresult r = cuLaunchKernel(f, 1, 1, 1, POINTS, 1, 1, 0, NULL, arguments, NULL);
    if (!r) r = cuCtxSynchronize();
    add(" ran=%s", rname(r));
    if (r) {
        say();
        exit(STICKY);
    }
    MUST(cuMemcpyDtoH(values, values_at, VALUES * POINTS * 4));
    return true;
}

static int dimensions_of(int shape)
{
    return shape >= CUBE ? 3 : shape == ONE_LAYERED ? 1 : shape == TWO_LAYERED ? 2 : shape;
}

/* ---- textures */

/* Offsets: each point's own, in %r15.., or the same for all. */
static const char *some_offset(int shape)
{
    static const char *const places[][2] = { { ", {%r15}", ", {3}" },
                                             { ", {%r15,%r16}", ", {-8,7}" },
                                             { ", {%r15,%r16,%r17,%r17}", ", {1,-1,2,0}" } };
    return places[dimensions_of(shape) - 1][draw(8) == 0];
}

static void draw_offsets(unsigned *values, int n)
{
    for (int i = 0; i < POINTS; i++) {
        for (int k = 0; k < 3; k++) values[VALUES * i + 4 + k] = draw(8) ? draw(16) - 8u : draw(80) - 40u;
        for (int k = 0; k < n; k++) add("%c%d", k ? ',' : ' ', (int)values[VALUES * i + 4 + k]);
    }
}

static void tell_halves(const unsigned *values)
{
    for (int i = 0; i < POINTS; i++) add("; %x %x", values[VALUES * i], values[VALUES * i + 1]);
}

static void tell_results(const unsigned *values, char result)
{
    unsigned packed[4 * POINTS];
    for (int i = 0; i < 4 * POINTS; i++) packed[i] = values[i / 4 * VALUES + i % 4];
    tell_values(packed, result);
}

enum form { OFFSETS, DEPTHS, HALVES };

/* Of a cube, or a texture without a level to tell, the compared depth is the point's last word. */
static void textures(enum form form)
{
    static const char components[] = "rgba";
    struct source o;
    CUtexObject t;
    struct point p[POINTS];
    char body[400], more[120] = "", op[60];
    unsigned values[VALUES * POINTS] = { 0 };
    if (!make_source(&o, draw(4) == 0 ? 8 : 0)) {
        unmake_source(&o);
        return;
    }
    CUDA_TEXTURE_DESC d = any_texture(false);
    if (o.mips || o.shape >= CUBE) d.flags |= CU_TRSF_NORMALIZED_COORDINATES;
    const bool linear = o.desc.resType == CU_RESOURCE_TYPE_LINEAR;
    char result = result_of(&o, &d), coordinate = linear || (o.shape < CUBE && draw(4) == 0) ? 's' : 'f';
    if (form == DEPTHS && (linear || o.shape == THREE)) {
        unmake_source(&o);
        return;
    }
    if (form == DEPTHS) coordinate = 'f';
    const bool gathers = (o.shape == TWO || o.shape == TWO_LAYERED || o.shape >= CUBE) && form != HALVES && !linear &&
                         draw(3) == 0,
               level = !gathers && !o.memory && draw(2), base = !gathers && !level && !linear && draw(6) == 0,
               offset = o.shape < CUBE && (form == OFFSETS || draw(4) == 0), depth = form == DEPTHS;
    if (gathers) coordinate = 'f';
    const char c = coordinate == 's' ? 'r' : 'f', v = result == 'f' ? 'f' : 'r';
    sample_points(p, &o, coordinate == 's', d.flags & CU_TRSF_NORMALIZED_COORDINATES,
                  d.filterMode == CU_TR_FILTER_MODE_POINT);
    if (level) snprintf(more, sizeof more, ", %%%c4", c);
    if (offset) strcat(more, some_offset(o.shape));
    if (depth) strcat(more, ", %f4");
    if (gathers)
        snprintf(op, sizeof op, "tld4.%c.%s.v4.%c32.f32", components[draw(4)], geometry[o.shape], result);
    else if (form == HALVES)
        snprintf(op, sizeof op, "tex%s.%s.%s.%c32",
                 level  ? ".level"
                 : base ? ".base"
                        : "",
                 geometry[o.shape], draw(2) ? "v4.f16" : "v2.f16x2", coordinate);
    else
        snprintf(op, sizeof op, "tex%s.%s.v4.%c32.%c32",
                 level  ? ".level"
                 : base ? ".base"
                        : "",
                 geometry[o.shape], result, coordinate);
    if (strstr(op, "f16x2"))
        snprintf(body, sizeof body, "%s {%%r5,%%r6}, [%%d1, %s]%s; st.global.v2.u32 [%%d3],{%%r5,%%r6};", op,
                 place_of(o.shape, c), more);
    else if (strstr(op, "f16"))
        snprintf(body, sizeof body,
                 "%s {%%h1,%%h2,%%h3,%%h4}, [%%d1, %s]%s; st.global.v4.u16 [%%d3],{%%h1,%%h2,%%h3,%%h4};", op,
                 place_of(o.shape, c), more);
    else
        snprintf(body, sizeof body,
                 "%s {%%%c5,%%%c6,%%%c7,%%%c8}, [%%d1, %s]%s; st.global.v4.b32 [%%d3],{%%%c5,%%%c6,%%%c7,%%%c8};", op, v, v, v, v,
                 place_of(o.shape, c), more, v, v, v, v);
    tell_source(&o);
    tell_texture(&d);
    add(" %s%s", op, more);
    tell_points(p, dimensions_of(o.shape), coordinate == 's');
    if (strstr(more, "%r15")) draw_offsets(values, dimensions_of(o.shape));
    CUresult r = cuTexObjectCreate(&t, &o.desc, &d, NULL);
    add(" = %s", rname(r));
    if (!r && perform(kernel(body), t, p, values)) {
        if (form == HALVES)
            tell_halves(values);
        else
            tell_results(values, result);
    }
    if (!r) cuTexObjectDestroy(t);
    say();
    unmake_source(&o);
}

static void offsets(void) { textures(OFFSETS); }
static void depths(void) { textures(DEPTHS); }
static void halves(void) { textures(HALVES); }
WALK(offsets, 0, 500, begin, offsets)
WALK(offsets, 7700, 500, begin, offsets)
WALK(depths, 0, 300, begin, depths)
WALK(depths, 7700, 300, begin, depths)
WALK(halves, 0, 300, begin, halves)
WALK(halves, 7700, 300, begin, halves)

/* ---- surfaces */

static bool make_surface(struct source *o, CUsurfObject *u)
{
    if (!make_source(o, 2) || o->memory || o->mips || o->shape > TWO_LAYERED) return false;
    return !cuSurfObjectCreate(u, &o->desc);
}

/* What an element has now, of a point that is within the array. */
static void tell_elements(const struct source *o, const struct point *p, unsigned unit)
{
    static unsigned char host[1 << 18];
    const size_t element = o->channels * bytes_of(o->format), w = dimensions[o->shape].w,
                 h = dimensions[o->shape].h ? dimensions[o->shape].h : 1;
    CUDA_MEMCPY3D c = level_box(o, 0);
    c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    c.srcArray = o->array[0];
    c.dstMemoryType = CU_MEMORYTYPE_HOST;
    c.dstHost = host;
    MUST(cuMemcpy3D(&c));
    uint32_t sum = 0;
    for (size_t i = 0; i < c.WidthInBytes * c.Height * c.Depth; i++) sum = sum * 31 + host[i];
    add(" %08x", sum);
    for (int i = 0; i < POINTS; i++) {
        const int shape = o->shape, x = p[i].c[0].i / (int)unit,
                  y = shape == ONE || shape == ONE_LAYERED ? 0 : p[i].c[1].i,
                  z = shape == THREE         ? p[i].c[2].i
                      : shape >= ONE_LAYERED ? p[i].layer
                                             : 0;
        add(";");
        if (x < 0 || (size_t)x >= w || y < 0 || (size_t)y >= h || z < 0 || (size_t)z >= c.Depth) continue;
        for (size_t k = 0; k < element; k++)
            add("%02x", host[(((size_t)z * h + (size_t)y) * w + (size_t)x) * element + k]);
    }
}

static unsigned some_word(int format)
{
    static const float odd[] = { 0, 1, -1, 0.5f, 2, -2, 1e-3f, 65504, 65520, 1e6f, -1e6f, 1e-7f, 1e-41f, 1e30f };
    float f = draw(4) ? (float)((int)draw(4000) - 2000) / 1717 : odd[draw(14)];
    unsigned bits = (unsigned)draw(1 << 16) << 16 | draw(1 << 16);
    if (format < 0x10) return draw(3) ? draw(400) - 200u : bits;
    if (draw(24) == 0) return draw(2) ? 0x7fc12345 : 0xff800000;
    memcpy(&bits, &f, 4);
    return bits;
}

static void written(void)
{
    struct source o;
    CUsurfObject u;
    struct point p[POINTS] = { 0 };
    unsigned values[VALUES * POINTS], n = 1u << draw(3);
    char body[400], data[40];
    if (!make_surface(&o, &u)) {
        unmake_source(&o);
        return;
    }
    const char *mode = draw(3) == 0 ? "trap" : draw(2) ? "zero" : "clamp";
    for (int i = 0; i < POINTS; i++) { /* no two threads write the same */
        p[i].layer = i % 3;
        p[i].c[0].i = i;
        p[i].c[1].i = (int)draw(8);
        p[i].c[2].i = (int)draw(4);
    }
    if (*mode != 't') {
        p[POINTS - 1].c[0].i = draw(2) ? 15 : 16;
        p[1].c[1].i = 8;
        p[2].c[2].i = -1;
        p[3].layer = draw(2) ? 3 : -1;
    }
    for (int i = 0; i < VALUES * POINTS; i++) values[i] = some_word(o.format);
    snprintf(data, sizeof data, n == 1 ? "%%r11" : n == 2 ? "{%%r11,%%r12}" : "{%%r11,%%r12,%%r13,%%r14}");
    snprintf(body, sizeof body, "ld.global.v4.u32 {%%r11,%%r12,%%r13,%%r14},[%%d3]; sust.p.%s%s.b32.%s [%%d1, %s], %s;",
             geometry[o.shape],
             n == 1   ? ""
             : n == 2 ? ".v2"
                      : ".v4",
             mode, place_of(o.shape, 'r'), data);
    tell_source(&o);
    add(" x%u %s", n, mode);
    tell_points(p, 3, true);
    for (int i = 0; i < POINTS; i++)
        add(" %x,%x,%x,%x", values[VALUES * i], values[VALUES * i + 1], values[VALUES * i + 2], values[VALUES * i + 3]);
    add(" =");
    if (perform(kernel(body), u, p, values)) tell_elements(&o, p, 1);
    cuSurfObjectDestroy(u);
    say();
    unmake_source(&o);
}

static void reduced(void)
{
    static const char *const plain[] = { "add.u32", "add.s32", "add.u64", "min.u32", "min.s32", "min.u64", "min.s64",
                                         "max.u32", "max.s32", "max.u64", "max.s64", "and.b32", "or.b32" },
                             *const formatted[] = { "add.b32", "min.b32", "max.b32", "and.b32",
                                                    "or.b32",  "min.b64", "max.b64" };
    struct source o;
    CUsurfObject u;
    struct point p[POINTS] = { 0 };
    unsigned values[VALUES * POINTS];
    char body[400], op[8], type[8];
    if (!make_surface(&o, &u) || o.shape > THREE) {
        unmake_source(&o);
        return;
    }
    const bool samples = draw(2);
    sscanf(samples ? formatted[draw(7)] : plain[draw(13)], "%7[^.].%7s", op, type);
    const unsigned size = strchr(type, '6') ? 8 : 4, element = o.channels * bytes_of(o.format);
    /* elsewhere a GPU may well give up */
    if (samples ? element != size || bytes_of(o.format) != 4 || o.format >= 0x10 : 16 * element < size) {
        unmake_source(&o);
        return;
    }
    const char *mode = draw(3) == 0 ? "trap" : draw(2) ? "zero" : "clamp";
    const unsigned unit = samples ? 1 : size, n = 16 * element / (samples ? element : size);
    for (int i = 0; i < POINTS; i++) {
        const int more = *mode != 't' ? 2 : 0;
        p[i].c[0].i = ((int)draw(n + 2 * (unsigned)more) - more) * (int)unit;
        p[i].c[1].i = (int)draw(8 + 2 * (unsigned)more) - more;
        p[i].c[2].i = (int)draw(4 + 2 * (unsigned)more) - more;
        if (i && draw(2)) p[i] = p[i - 1];
    }
    for (int i = 0; i < VALUES * POINTS; i++) values[i] = draw(2) ? draw(1000) - 500u : some_word(0);
    snprintf(body, sizeof body, "ld.global.%s %%%c5,[%%d3]; sured.%c.%s.%s.%s.%s [%%d1, %s], %%%c5;",
             size == 8 ? "u64" : "u32", size == 8 ? 'e' : 'r', samples ? 'p' : 'b', op, geometry[o.shape], type, mode,
             place_of(o.shape, 'r'), size == 8 ? 'e' : 'r');
    tell_source(&o);
    add(" %c %s.%s %s", samples ? 'p' : 'b', op, type, mode);
    tell_points(p, 3, true);
    for (int i = 0; i < POINTS; i++) add(" %x,%x", values[VALUES * i], values[VALUES * i + 1]);
    add(" =");
    if (perform(kernel(body), u, p, values)) tell_elements(&o, p, samples ? 1 : element);
    cuSurfObjectDestroy(u);
    say();
    unmake_source(&o);
}
WALK(written, 0, 800, begin, written)
WALK(reduced, 0, 1500, begin, reduced)

/* ---- what is asked */

static void asked(const char *question)
{
    struct source o;
    CUtexObject t = 0;
    CUsurfObject u = 0;
    CUDA_TEXTURE_DESC d = any_texture(false);
    struct point p[POINTS] = { 0 };
    unsigned values[VALUES * POINTS] = { 0 };
    char body[400];
    const bool surface = *question == 's', level = strstr(question, "level.");
    if (!make_source(&o, 2) || (surface && (o.memory || o.mips))) {
        unmake_source(&o);
        return;
    }
    if (o.mips) d.flags |= CU_TRSF_NORMALIZED_COORDINATES;
    for (int i = 0; i < POINTS; i++) p[i].level.i = i % 6 - 1;
    tell_source(&o);
    tell_texture(&d);
    CUresult r = surface ? cuSurfObjectCreate(&u, &o.desc) : cuTexObjectCreate(&t, &o.desc, &d, NULL);
    add(" %s = %s", question, rname(r));
    snprintf(body, sizeof body, "%s.b32 %%r5,[%%d1]%s; st.global.u32 [%%d3],%%r5;", question, level ? ",%r4" : "");
    if (!r && perform(kernel(body), surface ? u : t, p, values))
        for (int i = 0; i < (level ? POINTS : 1); i++) add(" %x", values[VALUES * i]);
    if (t) cuTexObjectDestroy(t);
    if (u) cuSurfObjectDestroy(u);
    say();
    unmake_source(&o);
}

#define ASK(number, question) \
    static void ask_##number(void) { asked(question); } \
    WALK(asked, number, 40, begin, ask_##number)
ASK(0, "txq.channel_data_type")
ASK(1, "txq.channel_order")
ASK(2, "txq.num_samples")
ASK(3, "txq.filter_mode")
ASK(4, "txq.addr_mode_0")
ASK(5, "txq.addr_mode_1")
ASK(6, "txq.addr_mode_2")
ASK(7, "txq.force_unnormalized_coords")
ASK(8, "txq.level.width")
ASK(9, "txq.level.height")
ASK(10, "txq.level.depth")
ASK(11, "suq.channel_data_type")
ASK(12, "suq.channel_order")
ASK(13, "suq.array_size")
ASK(14, "suq.memory_layout")

/* ---- samplers beside textures */

static void load(const char *name, const char *options, const char *globals, const char *body)
{
    char text[1000];
    CUmodule m;
    CUfunction f;
    CUtexref t;
    snprintf(
        text, sizeof text,
        ".version 8.1\n.target sm_90%s\n.address_size 64\n%s\n.visible .entry k(.param .u64 o) {\n"
        ".reg .b64 %%d<4>; .reg .f32 %%f<8>; .reg .b32 %%r<4>; .reg .pred %%p;\nld.param.u64 %%d1,[o]; %s ret; }\n",
        options, globals, body);
    CUresult r = cuModuleLoadData(&m, text);
    rec(name, "%s", rname(r));
    if (r) return;
    rec(keyf("%s.function", name), "%s", rname(cuModuleGetFunction(&f, m, "k")));
    rec(keyf("%s.texture", name), "%s", rname(cuModuleGetTexRef(&t, m, "t")));
    rec(keyf("%s.sampler", name), "%s", rname(cuModuleGetTexRef(&t, m, "s")));
}

static void g_samplers(void)
{
    static const char both[] = ".global .texref t;\n.global .samplerref s;",
                      shown[] = ".visible .global .texref t;\n.visible .global .samplerref s;";
    static const char
        beside[] =
            "mov.f32 %f1,0f00000000; tex.2d.v4.f32.f32 {%f4,%f5,%f6,%f7},[t,s,{%f1,%f1}]; st.global.f32 [%d1],%f4;",
        alone[] = "mov.f32 %f1,0f00000000; tex.2d.v4.f32.f32 {%f4,%f5,%f6,%f7},[t,{%f1,%f1}]; st.global.f32 [%d1],%f4;";
    setup();
    load("unused", "", both, "");
    load("unused.independent", ", texmode_independent", shown, "");
    load("alone", "", shown, alone);
    load("alone.independent", ", texmode_independent", shown, alone);
    load("beside", "", shown, beside);
    load("beside.independent", ", texmode_independent", shown, beside);
    load("beside.unified", ", texmode_unified", shown, beside);
    load("set", ", texmode_independent",
         ".visible .global .samplerref s = { addr_mode_0 = wrap, filter_mode = nearest };", "");
    load("asked", ", texmode_independent", shown, "txq.filter_mode.b32 %r1,[s]; st.global.u32 [%d1],%r1;");
    load("asked.address", ", texmode_independent", shown, "txq.addr_mode_1.b32 %r1,[s]; st.global.u32 [%d1],%r1;");
    load("asked.units", ", texmode_independent", shown,
         "txq.force_unnormalized_coords.b32 %r1,[s]; st.global.u32 [%d1],%r1;");
}

const struct group groups[] = { { "samplers", g_samplers, 1 },
                                WALKED(offsets, 0),
                                WALKED(offsets, 7700),
                                WALKED(depths, 0),
                                WALKED(depths, 7700),
                                WALKED(halves, 0),
                                WALKED(halves, 7700),
                                WALKED(written, 0),
                                WALKED(reduced, 0),
                                WALKED(asked, 0),
                                WALKED(asked, 1),
                                WALKED(asked, 2),
                                WALKED(asked, 3),
                                WALKED(asked, 4),
                                WALKED(asked, 5),
                                WALKED(asked, 6),
                                WALKED(asked, 7),
                                WALKED(asked, 8),
                                WALKED(asked, 9),
                                WALKED(asked, 10),
                                WALKED(asked, 11),
                                WALKED(asked, 12),
                                WALKED(asked, 13),
                                WALKED(asked, 14),
                                { 0 } };
