/* Surfaces: kernels read and write the bytes of an array's elements, or write elements in the array's format. */
#include "device/texture.h"
#include "device/device.h"
#include "device/rt.h"
#include "ptx/tensor_map.h"

#include <math.h>
#include <string.h>

/* Brings v into [0, most]; false: it was outside. */
static bool inside(int32_t *v, uint32_t most)
{
    if (*v >= 0 && (uint32_t)*v <= most) return true;
    *v = *v < 0 ? 0 : (int32_t)most;
    return false;
}

/* Where the access is, after clamping; *outside: that it would have been outside. */
static uint64_t place(const struct texture *x, const int32_t words[4], uint32_t what, uint32_t bytes, bool *outside)
{
    const struct texture_level *l = &x->level[0];
    uint32_t row = l->extent[0] * x->bytes * x->channels, n = what & FL_TEXTURE_DIMENSIONS;
    int32_t at[4] = { words[0], n > 1 ? words[1] : 0, n > 2 ? words[2] : 0, what & FL_TEXTURE_LAYERED ? words[3] : 0 };
    bool good = inside(&at[0], row - bytes);
    good &= inside(&at[1], l->extent[1] - 1);
    good &= inside(&at[2], l->extent[2] - 1);
    if (at[3] < 0) at[3] = INT32_MAX; /* observed on an H200 */
    good &= inside(&at[3], x->layers - 1);
    *outside = !good;
    return l->base + (uint64_t)(at[2] + at[3]) * l->slice + (uint64_t)at[1] * l->pitch + (uint64_t)at[0];
}

/* ---- elements */

/* A number of at most 1 as a whole one of so many bits: four bits more are looked at, and halves are rounded down
 * (observed on an H200, negative ones likewise). */
static int32_t fraction(float v, bool sign, uint32_t bits)
{
    const double size = fmin(fabs(v), 1);
    if (v != v || (v < 0 && !sign)) return 0;
    const double cut = floor(ldexp(size, (int)bits + 4)),
                 whole = ceil(ldexp(cut, -(int)bits - 4) * ((1 << bits) - 1) - 0.5);
    return (int32_t)(v < 0 ? -whole : whole);
}

/* Towards zero, never to infinity (observed on an H200). */
static uint16_t half_of(float v)
{
    _Float16 h = (_Float16)v;
    uint32_t word;
    uint16_t bits;
    memcpy(&word, &v, sizeof word);
    if (v != v) return (uint16_t)((word >> 16 & 0x8000) | 0x7e00 | (word >> 13 & 0x3ff));
    memcpy(&bits, &h, sizeof bits);
    return (uint16_t)(isfinite(v) && fabsf((float)h) > fabsf(v) ? bits - 1 : bits);
}

/* A word as a channel of the surface has it. */
static uint32_t formatted(const struct texture *x, uint32_t word)
{
    const bool sign = x->number == TEXTURE_SIGNED;
    const uint32_t bits = 8u * x->bytes;
    float f;
    memcpy(&f, &word, sizeof f);
    if (x->number == TEXTURE_FLOAT && x->bytes == 2) return half_of(f);
    if (x->normalised) return (uint32_t)fraction(f, sign, bits - sign);
    if (x->number == TEXTURE_FLOAT || bits == 32) return word;
    if (!sign) return word < 1u << bits ? word : (1u << bits) - 1;
    const int32_t v = (int32_t)word, most = (1 << (bits - 1)) - 1;
    return (uint32_t)(v > most ? most : v < -most - 1 ? -most - 1 : v);
}

static void pack(const struct texture *x, const char *data, char *element)
{
    for (uint32_t k = 0; k < x->channels; k++) {
        uint32_t word;
        memcpy(&word, data + k * 4, sizeof word);
        word = formatted(x, word);
        memcpy(element + k * x->bytes, &word, x->bytes);
    }
}

/* From a number of elements to one of bytes: as far outside as it was. */
static int32_t scaled(int32_t v, uint32_t bytes)
{
    const int64_t at = (int64_t)v * bytes;
    return at < INT32_MIN ? INT32_MIN : at > INT32_MAX ? INT32_MAX : (int32_t)at;
}

/* ---- accesses */

struct access {
    uint32_t what, bytes;
    bool outside;
    void *at;
};

static struct access find(const struct texture *x, uint32_t t, uint32_t line, const void *words, uint32_t what)
{
    const uint32_t element = (uint32_t)x->bytes * x->channels;
    const bool samples = what & FL_SURFACE_SAMPLES, reduces = what >> FL_SURFACE_REDUCTION & 15;
    struct access a = { .what = what, .bytes = samples && !reduces ? element : what >> FL_SURFACE_BYTES & 31 };
    int32_t at[4];
    memcpy(at, words, sizeof at);
    texture_check_shape(t, line, x, what);
    if (x->level[0].extent[0] * element < a.bytes) texture_fault(t, line, "the access is larger than the surface");
    if (samples && reduces && (element != a.bytes || x->bytes < 4 || x->number == TEXTURE_FLOAT))
        texture_fault(t, line, "elements of the surface's format are not reduced");
    if (samples) at[0] = scaled(at[0], element);
    if (at[0] & (int32_t)(a.bytes - 1) && !samples) fault_raise(FAULT_MISALIGNED, t, line, NULL);
    a.at = (void *)place(x, at, what, a.bytes, &a.outside);
    if (a.outside && !(what & (FL_SURFACE_CLAMP | FL_SURFACE_ZERO)))
        fault_raise(FAULT_ADDRESS, t, line, "an access outside the surface"); /* observed on H200 */
    return a;
}

static void store(const struct texture *x, const struct access *a, const char *data)
{
    char element[16];
    if (a->what & FL_SURFACE_SAMPLES) pack(x, data, element);
    memcpy(a->at, a->what & FL_SURFACE_SAMPLES ? element : data, a->bytes);
}

static void reduce(const struct texture *x, const struct access *a, struct fl_block *b, uint32_t t, uint32_t line,
                   const char *data)
{
    uint32_t type = a->what >> FL_SURFACE_TYPE;
    if (a->what & FL_SURFACE_SAMPLES && x->number == TEXTURE_SIGNED)
        type = type == FL_TENSOR_U64 ? FL_TENSOR_S64 : FL_TENSOR_S32;
    device_reduce(b, t, line, (uint64_t)a->at, (uint64_t)data, a->bytes,
                  (a->what >> FL_SURFACE_REDUCTION & 15) << FL_REDUCE_OP | type << FL_REDUCE_TYPE);
}

void device_surface(struct fl_block *b, uint32_t t, uint32_t line, uint64_t handle, void *words, uint32_t what)
{
    const struct texture *x = texture_find(t, line, handle, true);
    char *data = (char *)words + 16;
    if (!x->levels) {
        memset(data, 0, what >> FL_SURFACE_BYTES & 31);
        return;
    }
    const struct access a = find(x, t, line, words, what);
    if (what & FL_SURFACE_STORE && a.outside && !(what & FL_SURFACE_CLAMP)) return;
    if (what >> FL_SURFACE_REDUCTION & 15)
        reduce(x, &a, b, t, line, data);
    else if (what & FL_SURFACE_STORE)
        store(x, &a, data);
    else if (a.outside && what & FL_SURFACE_ZERO)
        memset(data, 0, a.bytes);
    else
        memcpy(data, a.at, a.bytes);
}
