/* Sampling: from coordinates to elements, by the formulas of the programming
 * guide's chapter on texture fetching. Positions between elements have 8 bits of
 * fraction. The descriptor that says how: processor/texture.h. */
#include "device/texture.h"
#include "device/rt.h"

#include <math.h>
#include <string.h>

enum { FRACTION = 256, FARTHEST = 1 << 29 /* elements: as far outside as any */ };

union word {
    float f;
    uint32_t u;
};

/* ---- elements */

/* What is no number keeps all its bits (observed on H200). */
static union word half(uint16_t bits)
{
    _Float16 v;
    memcpy(&v, &bits, 2);
    if (v != v) return (union word){ .u = (bits & 0x8000u) << 16 | 0x7f800000u | (bits & 0x3ffu) << 13 };
    return (union word){ .f = (float)v };
}

/* As it is stored, widened. */
static uint32_t stored(const struct texture *x, uint64_t at)
{
    uint32_t raw = 0;
    memcpy(&raw, (const void *)at, x->bytes);
    if (x->number != TEXTURE_SIGNED) return raw;
    return (uint32_t)(x->bytes == 1 ? (int8_t)raw : x->bytes == 2 ? (int16_t)raw : (int32_t)raw);
}

/* What the number 1 is stored as, of fractions. */
static double whole(const struct texture *x) { return (1 << (8 * x->bytes - (x->number == TEXTURE_SIGNED))) - 1; }

static union word channel(const struct texture *x, uint64_t at)
{
    uint32_t v = stored(x, at);
    if (x->number == TEXTURE_FLOAT && x->bytes == 2) return half((uint16_t)v);
    if (!x->normalised) return (union word){ .u = v };
    float f = x->number == TEXTURE_SIGNED ? (float)(int32_t)v : (float)v;
    return (union word){ .f = fmaxf(f / (float)whole(x), -1) };
}

/* An element's number along one axis; -1: the border. */
static int64_t resolve(int64_t i, int64_t extent, unsigned mode)
{
    if (i >= 0 && i < extent) return i;
    int64_t m;
    switch (mode) {
    case TEXTURE_WRAP: m = i % extent; return m < 0 ? m + extent : m;
    case TEXTURE_MIRROR:
        m = i % (2 * extent);
        if (m < 0) m += 2 * extent;
        return m < extent ? m : 2 * extent - 1 - m;
    case TEXTURE_BORDER: return -1;
    default: return i < 0 ? 0 : extent - 1;
    }
}

/* Where an element is; 0: it is the border. */
static uint64_t place(const struct texture *x, const struct texture_level *l, const int64_t at[3], uint32_t layer)
{
    if (at[0] < 0 || at[1] < 0 || at[2] < 0) return 0;
    return l->base + ((uint64_t)at[2] + layer) * l->slice + (uint64_t)at[1] * l->pitch +
           (uint64_t)at[0] * x->bytes * x->channels;
}

/* Channels that are not there are 0 (observed on H200). */
static void fetch(const struct texture *x, const struct texture_level *l, const int64_t at[3], uint32_t layer,
                  union word out[4])
{
    int64_t resolved[3];
    for (unsigned k = 0; k < 3; k++) resolved[k] = resolve(at[k], l->extent[k], x->address[k]);
    uint64_t address = place(x, l, resolved, layer);
    for (unsigned k = 0; k < x->channels; k++)
        out[k] = address ? channel(x, address + (uint64_t)k * x->bytes) : (union word){ .f = x->border[k] };
}

/* ---- positions */

/* Along one axis, in elements. */
static double position(const struct texture *x, float coordinate, uint32_t extent, unsigned mode)
{
    double v = coordinate == coordinate ? coordinate : 0;
    if (x->unit && isfinite(v)) {
        if (mode == TEXTURE_WRAP) v -= floor(v);
        if (mode == TEXTURE_MIRROR) v -= 2 * floor(v / 2);
        v *= extent;
    }
    return v < -FARTHEST ? -FARTHEST : v > FARTHEST ? FARTHEST : v;
}

/* The element at or before the position, as filters see it, and how much of 256 the next one has. */
static int64_t between(double position, uint32_t *up)
{
    int64_t fixed = (int64_t)floor(position * FRACTION - 127.5);
    *up = (uint32_t)(fixed & (FRACTION - 1));
    return fixed >> 8;
}

/* Of a level's parts, what a corner of the cell has: a GPU divides them by the third coordinate, then by the first and
 * the second, and rounds each time (found in what an H200 answered). */
static uint32_t share(uint32_t parts, const uint32_t up[3], unsigned corner)
{
    const uint32_t behind = (parts * up[2] + 128) >> 8;
    uint32_t all = corner & 4 ? behind : parts - behind;
    const uint32_t right = (all * up[0] + 128) >> 8;
    all = corner & 1 ? right : all - right;
    const uint32_t lower = corner & 1 ? all - ((all * up[1] + 128) >> 8) : (all * (FRACTION - up[1]) + 128) >> 8;
    return corner & 2 ? all - lower : lower;
}

/* To so many bits, halves away from zero; least: the exponent of the smallest normal number. */
static float rounded(double v, int bits, int least)
{
    int e;
    frexp(v, &e);
    if (!isfinite(v)) return (float)v;
    const double step = ldexp(1.0, (e < least ? least : e) - bits);
    return (float)copysign(floor(fabs(v) / step + 0.5) * step, v);
}

/* What is blended: a number as it is stored, or that of the border. */
static double number(const struct texture *x, uint64_t address, unsigned k)
{
    if (!address) return x->number == TEXTURE_FLOAT ? x->border[k] : rint(x->border[k] * whole(x));
    address += (uint64_t)k * x->bytes;
    if (x->number == TEXTURE_FLOAT) return channel(x, address).f;
    uint32_t v = stored(x, address);
    return x->number == TEXTURE_SIGNED ? (double)(int32_t)v : v;
}

/* sum: of 256 parts. Numbers of 8 and 16 bits give one of 16 bits (observed on H200). */
static float blended(const struct texture *x, double sum)
{
    const bool sign = x->number == TEXTURE_SIGNED;
    sum /= FRACTION;
    if (x->bytes == 2 && sum != sum) return (union word){ .u = 0x7fffe000 }.f; /* a half (observed on H200) */
    if (x->number == TEXTURE_FLOAT) return x->bytes == 2 ? rounded(sum, 11, -13) : rounded(sum, 24, -125);
    const double most = sign ? 32767 : 65535;
    return fmaxf((float)(floor(sum * (x->bytes == 2 ? 1 : most / whole(x)) + 0.5) / most), -1);
}

static void nearest(const struct texture *x, const struct texture_level *l, const double p[3], int64_t at[3])
{
    for (unsigned k = 0; k < 3; k++) at[k] = resolve((int64_t)floor(p[k]), l->extent[k], x->address[k]);
}

/* Adds parts of what is at a position. One coordinate is looked up as two, of which the second is 0; a clamped one has a
 * single element outside, a mirrored one the same twice, with a share each (observed on H200). */
static void blend(const struct texture *x, const struct texture_level *l, const double p[3], unsigned n, uint32_t layer,
                  uint32_t parts, double sum[4])
{
    int64_t ends[3][2] = { 0 }, at[3];
    uint32_t up[3] = { 0 };
    nearest(x, l, p, at);
    for (unsigned k = 0; k < 3; k++) ends[k][0] = at[k];
    for (unsigned k = 0; x->filtered && (k < n || k < 2); k++) {
        int64_t low = between(p[k], &up[k]);
        for (unsigned next = 0; next < 2; next++) ends[k][next] = resolve(low + next, l->extent[k], x->address[k]);
        if (ends[k][0] == ends[k][1] && x->address[k] == TEXTURE_CLAMP) up[k] = 0;
    }
    for (unsigned corner = 0; corner < 8; corner++) {
        const uint32_t part = share(parts, up, corner);
        if (!part) continue; /* what has no part may be infinite */
        for (unsigned k = 0; k < 3; k++) at[k] = ends[k][corner >> k & 1];
        uint64_t address = place(x, l, at, layer);
        for (unsigned k = 0; k < x->channels; k++) sum[k] += part * number(x, address, k);
    }
}

/* What a filter makes of a single element, and tld4 (observed on an H200). */
static union word whole_of(const struct texture *x, float v)
{
    return (union word){ .f = blended(x, rint((double)v * whole(x)) * FRACTION) };
}

/* The four elements that a filter would take, in the order in which tld4 gives them. */
static void gather(const struct texture *x, const struct texture_level *l, const double p[3], uint32_t layer,
                   unsigned component, union word out[4])
{
    static const int64_t corners[4][2] = { { 0, 1 }, { 1, 1 }, { 1, 0 }, { 0, 0 } };
    uint32_t up;
    int64_t i = between(p[0], &up), j = between(p[1], &up);
    for (unsigned k = 0; k < 4; k++) {
        union word v[4] = { 0 };
        const int64_t at[3] = { i + corners[k][0], j + corners[k][1], 0 };
        fetch(x, l, at, layer, v);
        out[k] = v[component];
        if (x->normalised) out[k] = whole_of(x, v[component].f);
    }
}

/* ---- levels of detail */

/* A gradient's, in elements. Of two dimensions as a GPU has it (found in what an H200 answered). */
static double length(const struct texture *x, const float *gradient, unsigned n)
{
    double v[3] = { 0 };
    for (unsigned k = 0; k < n; k++) v[k] = fabs(gradient[k] * (x->unit ? (double)x->level[0].extent[k] : 1));
    if (n == 2) return fmax(v[0], v[1]) + fmin(v[0], v[1]) * 11 / 32;
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static double detail(const struct texture *x, const float *words, uint32_t what)
{
    double lod = 0;
    if (what & FL_TEXTURE_LEVEL) lod = words[4] == words[4] ? words[4] : 0;
    if (what & FL_TEXTURE_GRADIENT) {
        const unsigned n = what & FL_TEXTURE_DIMENSIONS;
        const double longest = fmax(length(x, words + 4, n), length(x, words + 8, n));
        lod = longest > 0 ? log2(longest) : -FARTHEST;
    }
    if (what & (FL_TEXTURE_LEVEL | FL_TEXTURE_GRADIENT)) lod += x->bias; /* observed on an H200 */
    lod = lod > x->most ? x->most : lod;
    lod = lod < x->least ? x->least : lod; /* though it is more than the most (observed on an H200) */
    return !(lod > 0) ? 0 : lod > x->levels - 1 ? x->levels - 1 : lod; /* a bias may be no number */
}

/* How far from its coordinate an element is asked for: four bits are looked at, six by tld4 (observed on an H200). */
static int32_t offset(const void *words, uint32_t what, unsigned k)
{
    const unsigned others = what & FL_TEXTURE_GATHER ? 26 : 28;
    int32_t v = 0;
    if (what & FL_TEXTURE_OFFSETS) memcpy(&v, (const char *)words + (12 + k) * 4, sizeof v);
    return (int32_t)((uint32_t)v << others) >> others;
}

/* The coordinates as a level's elements. */
static void positions(const struct texture *x, const struct texture_level *l, const float *words, uint32_t what,
                      unsigned n, double p[3])
{
    for (unsigned k = 0; k < 3; k++)
        p[k] = (k < n ? position(x, words[k], l->extent[k], x->address[k]) : 0) + offset(words, what, k);
}

/* The face of a cube that a direction hits, and where on it, from 0 to 1. */
static unsigned face(const float d[3], float at[2])
{
    const float x = fabsf(d[0]), y = fabsf(d[1]), z = fabsf(d[2]);
    const unsigned axis = z >= x && z >= y ? 2 : y >= x ? 1 : 0;
    const bool back = signbit(d[axis]);
    const float longest = fabsf(d[axis]);
    float right = axis == 0 ? -d[2] : d[0], down = axis == 1 ? d[2] : -d[1];
    if (back && axis == 1) down = -down;
    if (back && axis != 1) right = -right;
    at[0] = (right / longest + 1) / 2;
    at[1] = (down / longest + 1) / 2;
    return axis * 2 + back;
}

/* A negative number is beyond the last one (observed on H200). */
static uint32_t within(uint32_t i, uint32_t n) { return i < n ? i : n - 1; }

/* The layer that is asked for; of a cube that is a face, and coordinates become those on it. */
static uint32_t layer_of(const struct texture *x, float *words, uint32_t what)
{
    uint32_t layer = 0;
    if (x->layered && what & FL_TEXTURE_LAYERED) memcpy(&layer, words + 3, 4);
    if (!x->cube) return within(layer, x->layers);
    const float direction[3] = { words[0], words[1], words[2] };
    return within(layer, x->layers / 6) * 6 + face(direction, words);
}

static void sample(const struct texture *x, float *words, uint32_t what, union word out[4])
{
    const unsigned n = x->cube ? 2 : what & FL_TEXTURE_DIMENSIONS;
    double p[3], sum[4] = { 0 }, lod = x->levels > 1 ? detail(x, words, what) : 0;
    const unsigned level = (unsigned)floor(x->blended ? lod : lod + 0.5);
    const uint32_t next = x->blended ? (uint32_t)((lod - level) * FRACTION) : 0;
    const struct texture_level *l = &x->level[what & FL_TEXTURE_GATHER ? 0 : level]; /* observed on an H200 */
    const uint32_t layer = layer_of(x, words, what);
    positions(x, l, words, what, n, p);
    if (what & FL_TEXTURE_GATHER) {
        gather(x, l, p, layer, what >> FL_TEXTURE_COMPONENT & 3, out);
    } else if (x->filtered || next) {
        blend(x, l, p, n, layer, FRACTION - next, sum);
        if (next) {
            positions(x, l + 1, words, what, n, p);
            blend(x, l + 1, p, n, layer, next, sum);
        }
        for (unsigned k = 0; k < x->channels; k++) out[k].f = blended(x, sum[k]);
    } else {
        fetch(x, l, (const int64_t[]){ (int64_t)floor(p[0]), (int64_t)floor(p[1]), (int64_t)floor(p[2]) }, layer, out);
    }
}

/* By its numbers. As observed on an H200: where a level is told, what is outside is the nearest element, else it is 0, as are
 * other levels, and all of an array that is a line. */
static void element(const struct texture *x, const void *words, uint32_t what, union word out[4])
{
    const bool told = what & FL_TEXTURE_LEVEL, line = (what & (FL_TEXTURE_DIMENSIONS | FL_TEXTURE_LAYERED)) == 1;
    int32_t number[5];
    int64_t at[3] = { 0 };
    memcpy(number, words, sizeof number);
    const uint32_t level = told ? (uint32_t)number[4] : 0,
                   layer = x->layered && what & FL_TEXTURE_LAYERED ? (uint32_t)number[3] : 0;
    bool inside = level < x->levels && (told || layer < x->layers) && (!line || x->linear);
    for (unsigned k = 0; inside && k < 3; k++) {
        const int64_t most = (int64_t)x->level[level].extent[k] - 1;
        if (k < (what & FL_TEXTURE_DIMENSIONS)) at[k] = number[k];
        if (!x->linear) at[k] += offset(words, what, k);
        if (told) at[k] = at[k] < 0 ? 0 : at[k] > most ? most : at[k];
        inside = at[k] >= 0 && at[k] <= most;
    }
    if (inside)
        fetch(x, &x->level[level], at, within(layer, x->layers), out);
    else
        memset(out, 0, 4 * sizeof *out);
}

/* What is no number has no sign then (observed on an H200). */
static void make_halves(void *words)
{
    float v[4];
    uint16_t bits[4];
    memcpy(v, words, sizeof v);
    for (unsigned k = 0; k < 4; k++) {
        const _Float16 h = (_Float16)v[k];
        memcpy(&bits[k], &h, sizeof h);
        if (v[k] != v[k]) bits[k] = 0x7fff;
    }
    memcpy(words, bits, sizeof bits);
}

void device_texture(struct fl_block *b, uint32_t t, uint32_t line, uint64_t handle, void *words, uint32_t what)
{
    const struct texture *x = texture_find(t, line, handle, false);
    union word out[4] = { 0 };
    float in[FL_TEXTURE_WORDS];
    (void)b;
    memcpy(in, words, sizeof in);
    if (!x->levels) {
        memcpy(words, out, sizeof out);
        return;
    }
    if (what & FL_TEXTURE_INTEGER && x->named) {
        texture_fault(t, line, "by a reference, arrays are read at floating-point coordinates only");
    } else if (what & FL_TEXTURE_INTEGER) {
        texture_check_shape(t, line, x, what);
        element(x, words, what, out);
    } else if (x->linear) {
        texture_fault(t, line, "linear memory is read by the number of an element only (tex1Dfetch)");
    } else if (what & FL_TEXTURE_GRADIENT && x->anisotropic) {
        texture_fault(t, line, "anisotropic filtering is not supported");
    } else {
        texture_check_sampled(t, line, x, what);
        sample(x, in, what, out);
    }
    memcpy(words, out, sizeof out);
    if (what & FL_TEXTURE_HALVES) make_halves(words);
}
