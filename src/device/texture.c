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
            out[c] = t->border[c];
        else
            out[c] = c < t->channels ? as_float(t, raw(t, element(t, p) + c * t->bytes)) : c == 3;
    }
}

static void words(const struct fl_texture *t, const struct place *p, uint32_t out[4])
{
    const bool there = inside(t, p);
    for (int c = 0; c < 4; c++) out[c] = !there ? 0 : c < t->channels ? raw(t, element(t, p) + c * t->bytes) : c == 3;
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

static void linear(const struct fl_texture *t, const double x[3], int n, struct place *p, float out[4])
{
    int64_t low[3];
    float weight[3], one[4];
    for (int k = 0; k < n; k++) {
        const double at = x[k] - 0.5, down = floor(at);
        low[k] = whole(down);
        weight[k] = (float)(floor((at - down) * 256.0 + 0.5) / 256.0);
    }
    memset(out, 0, 4 * sizeof *out);
    for (int corner = 0; corner < 1 << n; corner++) {
        float share = 1.0f;
        for (int k = 0; k < n; k++) {
            const int up = corner >> k & 1;
            share *= up ? weight[k] : 1.0f - weight[k];
            p->at[k] = address(t, k, low[k] + up);
        }
        if (share == 0.0f) continue;
        texel(t, p, one);
        for (int c = 0; c < 4; c++) out[c] += share * one[c];
    }
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
