/* What kernels read through textures, and read and write through surfaces.
 * Weights of linear filters have 8 bits behind the point, as a GPU's. */
#include "device/device.h"
#include "device/rt.h"

#include <math.h>
#include <string.h>

/* A place in a texture; -1: outside, where the border is. */
struct place {
    int64_t at[3];
    uint32_t layer;
};

/* ---- elements */

static float half(uint16_t h)
{
    _Float16 f;
    memcpy(&f, &h, sizeof f);
    return (float)f;
}

static const uint8_t *element(const struct fl_texture *t, const struct place *p)
{
    const uint64_t slice = t->layers ? p->layer : (uint64_t)p->at[2];
    return (const uint8_t *)t->base + slice * t->slice + (uint64_t)p->at[1] * t->row +
           (uint64_t)p->at[0] * t->channels * t->bytes;
}

/* A channel as it is stored, widened to a word. */
static uint32_t raw(const struct fl_texture *t, const uint8_t *at)
{
    uint16_t h;
    uint32_t w;
    if (t->bytes == 1) return t->format == FL_TEXTURE_SIGNED ? (uint32_t)(int8_t)*at : *at;
    if (t->bytes == 2) {
        memcpy(&h, at, sizeof h);
        return t->format == FL_TEXTURE_SIGNED ? (uint32_t)(int16_t)h : h;
    }
    memcpy(&w, at, sizeof w);
    return w;
}

static float as_float(const struct fl_texture *t, uint32_t word)
{
    float f;
    const float most = t->bytes == 1 ? 255.0f : 65535.0f, most_signed = t->bytes == 1 ? 127.0f : 32767.0f;
    if (t->format == FL_TEXTURE_FLOAT && t->bytes == 2) return half((uint16_t)word);
    if (t->format == FL_TEXTURE_UNSIGNED && t->fractions) return (float)word / most;
    if (t->format == FL_TEXTURE_SIGNED && t->fractions) return fmaxf((float)(int32_t)word / most_signed, -1.0f);
    memcpy(&f, &word, sizeof f);
    return f;
}

static bool inside(const struct fl_texture *t, const struct place *p)
{
    for (int k = 0; k < 3; k++)
        if (p->at[k] < 0 || p->at[k] >= t->extent[k]) return false;
    return true;
}

static void texel(const struct fl_texture *t, const struct place *p, float out[4])
{
    const bool there = inside(t, p);
    for (int c = 0; c < 4; c++) {
        if (!there)
            out[c] = c < t->channels ? t->border[c] : 0.0f;
        else
            out[c] = c < t->channels ? as_float(t, raw(t, element(t, p) + c * t->bytes)) : 0.0f;
    }
}

static void words(const struct fl_texture *t, const struct place *p, uint32_t out[4])
{
    const bool there = inside(t, p);
    for (int c = 0; c < 4; c++) out[c] = there && c < t->channels ? raw(t, element(t, p) + c * t->bytes) : 0;
}

/* ---- coordinates */

/* Wrapping and mirroring are for coordinates from 0 to 1. */
static int64_t address(const struct fl_texture *t, int k, int64_t i)
{
    const int64_t n = t->extent[k];
    const unsigned mode = t->flat || t->address[k] == FL_TEXTURE_BORDER ? FL_TEXTURE_BORDER
                          : t->normalized                               ? t->address[k]
                                                                        : FL_TEXTURE_CLAMP;
    if (i >= 0 && i < n) return i;
    switch (mode) {
    case FL_TEXTURE_BORDER: return -1;
    case FL_TEXTURE_WRAP: return ((i % n) + n) % n;
    case FL_TEXTURE_MIRROR: {
        const int64_t m = ((i % (2 * n)) + 2 * n) % (2 * n);
        return m < n ? m : 2 * n - 1 - m;
    }
    default: return i < 0 ? 0 : n - 1;
    }
}

static int64_t whole(double x)
{
    return x >= 0x1p40 ? (int64_t)1 << 40 : x > -0x1p40 ? (int64_t)x : -((int64_t)1 << 40);
}

static void point(const struct fl_texture *t, const double x[3], int n, struct place *p)
{
    for (int k = 0; k < n; k++) p->at[k] = address(t, k, whole(floor(x[k])));
}

/* Of 256, what a corner of the cell has in the result: a GPU divides them by the third coordinate, then by the first
 * and the second, and rounds each time (found in what an H200 answered). */
static uint32_t share(const uint32_t up[3], int x, int y, int z)
{
    uint32_t all = z ? up[2] : 256 - up[2];
    const uint32_t right = (all * up[0] + 128) >> 8;
    all = x ? right : all - right;
    const uint32_t lower = x ? all - ((all * up[1] + 128) >> 8) : (all * (256 - up[1]) + 128) >> 8;
    return y ? all - lower : lower;
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
static double number(const struct fl_texture *t, const struct place *p, int c)
{
    const bool sign = t->format == FL_TEXTURE_SIGNED;
    if (c >= t->channels) return 0;
    if (inside(t, p)) {
        const uint32_t word = raw(t, element(t, p) + c * t->bytes);
        return t->format == FL_TEXTURE_FLOAT ? as_float(t, word) : sign ? (double)(int32_t)word : word;
    }
    const double most = t->format == FL_TEXTURE_FLOAT ? 1 : (1 << (8 * t->bytes - sign)) - 1;
    return most > 1 ? rint(t->border[c] * most) : t->border[c];
}

/* sum: of 256 parts. Numbers of 8 and 16 bits give one of 16 bits. */
static float blended(const struct fl_texture *t, double sum)
{
    const bool sign = t->format == FL_TEXTURE_SIGNED;
    if (t->format == FL_TEXTURE_FLOAT)
        return t->bytes == 2 ? rounded(sum / 256, 11, -13) : rounded(sum / 256, 24, -125);
    const double most = sign ? 32767 : 65535, wider = t->bytes == 2 ? 1 : sign ? 32767.0 / 127 : 257;
    return fmaxf((float)(floor(sum * wider / 256 + 0.5) / most), -1.0f);
}

/* One coordinate is looked up as two, of which the second is 0. */
static void linear(const struct fl_texture *t, const double x[3], int n, struct place *p, float out[4])
{
    int64_t at[3][2] = { 0 };
    uint32_t up[3] = { 0 };
    double sum[4] = { 0 };
    for (int k = 0; k < n || k < 2; k++) {
        const int64_t q = whole(floor(x[k] * 256 - 127.5));
        at[k][0] = address(t, k, q >> 8);
        at[k][1] = address(t, k, (q >> 8) + 1);
        up[k] = at[k][0] == at[k][1] ? 0 : q & 255;
    }
    for (int corner = 0; corner < 8; corner++) {
        const int px = corner & 1, py = corner >> 1 & 1, pz = corner >> 2;
        const uint32_t part = share(up, px, py, pz);
        if (!part) continue;
        p->at[0] = at[0][px];
        p->at[1] = at[1][py];
        p->at[2] = at[2][pz];
        for (int c = 0; c < 4; c++) sum[c] += part * number(t, p, c);
    }
    for (int c = 0; c < 4; c++) out[c] = blended(t, sum[c]);
}

/* ---- operations */

static void layer(const struct fl_texture *t, uint32_t what, const uint32_t **at, struct place *p)
{
    *p = (struct place){ .layer = 0 };
    if (!(what & FL_TEXTURE_LAYERED)) return;
    const int32_t asked = (int32_t) * (*at)++;
    p->layer = asked < 0 || !t->layers ? 0 : (uint32_t)asked < t->layers ? (uint32_t)asked : t->layers - 1;
}

static void fetch(const struct fl_texture *t, const uint32_t *at, uint32_t *data, uint32_t what)
{
    const int n = what >> FL_TEXTURE_COORDINATES & 3;
    struct place p;
    double x[3] = { 0 };
    layer(t, what, &at, &p);
    for (int k = 0; k < n; k++) {
        float f;
        memcpy(&f, &at[k], sizeof f);
        if (!(what & FL_TEXTURE_AT_FLOATS))
            x[k] = (int32_t)at[k];
        else
            x[k] = f != f ? 0.0 : t->normalized ? (double)f * t->extent[k] : f;
    }
    if (what & FL_TEXTURE_TO_FLOATS && t->linear && what & FL_TEXTURE_AT_FLOATS) {
        linear(t, x, n, &p, (float *)data);
        return;
    }
    point(t, x, n, &p);
    if (what & FL_TEXTURE_TO_FLOATS)
        texel(t, &p, (float *)data);
    else
        words(t, &p, data);
}

/* Surfaces count bytes in the first coordinate. Outside, reads are zeros and writes go nowhere. False: a trap. */
static bool surface(const struct fl_texture *t, const uint32_t *at, void *data, uint32_t what)
{
    const int n = what >> FL_TEXTURE_COORDINATES & 3;
    const uint32_t bytes = what >> FL_TEXTURE_BYTES;
    const int64_t width = (int64_t)t->extent[0] * t->channels * t->bytes;
    struct place p;
    layer(t, what, &at, &p);
    for (int k = 0; k < n; k++) {
        const int64_t most = k ? (int64_t)t->extent[k] - 1 : width - bytes;
        p.at[k] = (int32_t)at[k];
        if (p.at[k] >= 0 && p.at[k] <= most) continue;
        if (!(what & FL_TEXTURE_CLAMPS)) {
            if ((what & 3) == FL_TEXTURE_LOAD) memset(data, 0, bytes);
            return !(what & FL_TEXTURE_TRAPS);
        }
        p.at[k] = p.at[k] < 0 ? 0 : most;
    }
    const uint64_t slice = t->layers ? p.layer : (uint64_t)p.at[2];
    void *place = (uint8_t *)t->base + slice * t->slice + (uint64_t)p.at[1] * t->row + (uint64_t)p.at[0];
    if ((what & 3) == FL_TEXTURE_LOAD)
        memcpy(data, place, bytes);
    else
        memcpy(place, data, bytes);
    return true;
}

void device_texture(struct fl_block *b, uint32_t t, uint32_t line, uint64_t object, const void *at, void *data,
                    uint32_t what)
{
    const struct fl_texture *texture = (const struct fl_texture *)object;
    if ((what & 3) == FL_TEXTURE_FETCH)
        fetch(texture, at, data, what);
    else if (!surface(texture, at, data, what))
        runtime.trap(b, t, line);
}
