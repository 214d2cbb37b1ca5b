/* For cases_samples.c and cases_references.c: kernels that sample a texture at some points. */
#ifndef SAMPLING_H
#define SAMPLING_H
#include "sources.h"

enum { POINTS = 12 };
struct point {
    int layer;
    union {
        float f;
        int i;
    } c[3], level;
};

/* Kernels that were made; one without a function ends a list of them. */
struct kept {
    char name[40];
    CUfunction f;
    CUtexref t; /* its module's, if there is one */
};

/* The kernel "k" of the text, known by this name from now on. NULL: the answer says why there is none. */
static CUfunction keep(struct kept *as, const char *name, const char *text)
{
    CUmodule m;
    CUresult r = cuModuleLoadData(&m, text);
    if (r)
        add(" module %s %s", name, rname(r));
    else if (cuModuleGetFunction(&as->f, m, "k"))
        add(" no function %s", name);
    else
        strcpy(as->name, name);
    if (as->f) cuModuleGetTexRef(&as->t, m, "named");
    return as->f;
}

static const char *const geometry[] = { "", "1d", "2d", "3d", "a1d", "a2d", "cube", "acube" };

/* Coordinates as an instruction takes them, in registers of this letter. */
static const char *place_of(int shape, char c)
{
    static const char *const places[] = { "",
                                          "{%@1}",
                                          "{%@1,%@2}",
                                          "{%@1,%@2,%@3,%@3}",
                                          "{%r9,%@1}",
                                          "{%r9,%@1,%@2,%@2}",
                                          "{%@1,%@2,%@3,%@3}",
                                          "{%r9,%@1,%@2,%@3}" };
    static char where[64];
    size_t n = 0;
    for (const char *p = places[shape]; *p; p++) where[n++] = *p == '@' ? c : *p;
    where[n] = 0;
    return where;
}

/* Coordinates: c[0..2]; a kernel for each geometry, type of result and of coordinates, and whether a level is told.
 * Of an object that is its parameter, or of its module's reference, which *reference becomes. */
static CUfunction sampler(int shape, char result, char coordinate, int how, CUtexref *reference)
{
    static const char *const gather[] = { "r", "g", "b", "a" };
    static struct kept kept[400];
    char name[40], text[2000], c = coordinate == 's' ? 'r' : 'f';
    int n;
    snprintf(name, sizeof name, "k_%s_%c_%c_%d", geometry[shape], result, coordinate, how);
    for (n = 0; kept[n].f && strcmp(kept[n].name, name); n++)
        ;
    if (reference) *reference = kept[n].t;
    if (kept[n].f) return kept[n].f;
    char op[64], more[16] = "";
    if (how >= 2)
        sprintf(op, "tld4.%s.%s.v4.%c32.f32", gather[how - 2], geometry[shape], result);
    else
        sprintf(op, "tex.%s%s.v4.%c32.%c32", how ? "level." : "", geometry[shape], result, coordinate);
    if (how == 1) sprintf(more, ", %%%c4", c);
    snprintf(text, sizeof text,
             ".version 7.0\n.target sm_70\n.address_size 64\n%s"
             ".visible .entry k(.param .u64 t, .param .u64 p, .param .u64 o) {\n"
             ".reg .b64 %%d<6>; .reg .b32 %%r<12>; .reg .f32 %%f<12>;\n"
             "ld.param.u64 %%d1,[t]; ld.param.u64 %%d2,[p]; ld.param.u64 %%d3,[o]; mov.u32 %%r10,%%tid.x;\n"
             "mad.wide.u32 %%d2,%%r10,20,%%d2; mad.wide.u32 %%d3,%%r10,16,%%d3;\n"
             "ld.global.u32 %%r9,[%%d2]; ld.global.%s %%%c1,[%%d2+4]; ld.global.%s %%%c2,[%%d2+8]; ld.global.%s "
             "%%%c3,[%%d2+12]; ld.global.%s %%%c4,[%%d2+16];\n"
             "%s {%%%c5,%%%c6,%%%c7,%%%c8}, [%s, %s]%s;\n"
             "st.global.v4.%s [%%d3], {%%%c5,%%%c6,%%%c7,%%%c8}; ret; }\n",
             reference ? ".visible .global .texref named;\n" : "", c == 'r' ? "u32" : "f32", c,
             c == 'r' ? "u32" : "f32", c, c == 'r' ? "u32" : "f32", c, c == 'r' ? "u32" : "f32", c, op,
             result == 'f' ? 'f' : 'r', result == 'f' ? 'f' : 'r', result == 'f' ? 'f' : 'r', result == 'f' ? 'f' : 'r',
             reference ? "named" : "%d1", place_of(shape, c), more, result == 'f' ? "f32" : "u32", result == 'f' ? 'f' : 'r',
             result == 'f' ? 'f' : 'r', result == 'f' ? 'f' : 'r', result == 'f' ? 'f' : 'r');
    CUfunction f = keep(&kept[n], name, text);
    if (reference) *reference = kept[n].t;
    return f;
}

/* In the middle of an element, or a quarter off. Nothing that a GPU would have to round. */
static float place_in(size_t n, bool unit, bool strange)
{
    static const float odd[] = { 1e9f, -1e9f, 1e30f, -1e30f };
    if (!n) n = 1;
    if (strange && draw(12) == 0) return odd[draw(4)];
    float x = (float)((int)draw((uint32_t)n * 3) - (int)n) + 0.25f * (float)(1 + draw(3));
    return unit ? x / (float)n : x;
}

static void sample_points(struct point *p, const struct source *o, bool whole, bool unit, bool strange)
{
    const size_t n[] = { dimensions[o->shape].w, dimensions[o->shape].h, dimensions[o->shape].d };
    for (int i = 0; i < POINTS; i++) {
        p[i].layer = draw(4) ? (int)draw(3) : (int)draw(6) - 1;
        for (int k = 0; k < 3; k++) {
            if (o->shape >= CUBE)
                p[i].c[k].f = (float)((int)draw(17) - 8) / 8 + 0.0625f;
            else if (whole)
                p[i].c[k].i = (int)draw((uint32_t)(n[k] ? n[k] : 1) + 4) - 2;
            else
                p[i].c[k].f = place_in(n[k], unit, strange);
        }
        if (whole)
            p[i].level.i = (int)draw(6) - 1;
        else
            p[i].level.f = (float)((int)draw(12) - 2) / 2 + 0.125f;
    }
}

static void tell_values(const void *out, char result)
{
    for (int i = 0; i < POINTS; i++) {
        add(";");
        for (int k = 0; k < 4; k++)
            if (result == 'f')
                add(" %.9g", ((const float *)out)[4 * i + k]);
            else
                add(" %x", ((const unsigned *)out)[4 * i + k]);
    }
}

/* Where: what a line is about can be computed again from it. */
static void tell_points(const struct point *p, int dimensions, bool whole)
{
    add(" @");
    for (int i = 0; i < POINTS; i++) {
        add(" %d", p[i].layer);
        for (int k = 0; k < dimensions; k++)
            if (whole)
                add(",%d", p[i].c[k].i);
            else
                add(",%g", p[i].c[k].f);
        if (whole)
            add("/%d", p[i].level.i);
        else
            add("/%g", p[i].level.f);
    }
}

static CUdeviceptr points_at, values_at;

static void run(CUfunction f, unsigned long long object, const struct point *p, char result)
{
    unsigned values[4 * POINTS];
    void *arguments[] = { &object, &points_at, &values_at };
    MUST(cuMemcpyHtoD(points_at, p, sizeof *p * POINTS));
    MUST(cuMemsetD32(values_at, 0xabcdef, 4 * POINTS));
    CUresult r = cuLaunchKernel(f, 1, 1, 1, POINTS, 1, 1, 0, NULL, arguments, NULL);
    if (!r) r = cuCtxSynchronize();
    add(" ran=%s", rname(r));
    if (r) {
        say();
        exit(STICKY);
    }
    MUST(cuMemcpyDtoH(values, values_at, sizeof values));
    tell_values(values, result);
}

/* A kernel asks for numbers of the kind that the texture has. */
static char result_of(const struct source *o, const CUDA_TEXTURE_DESC *d)
{
    bool number = o->format < 0x10 && (bytes_of(o->format) == 4 || d->flags & CU_TRSF_READ_AS_INTEGER);
    return !number ? 'f' : o->format >= 8 ? 's' : 'u';
}

#endif
