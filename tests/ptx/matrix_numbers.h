/* Elements of matrices for matrices.c: random ones, the same in every run. */
#ifndef MATRIX_NUMBERS_H
#define MATRIX_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum type { F16, BF16, TF32, F32, F64, E4M3, E5M2, S8, U8, S4, U4, B1, S32 };
static const struct {
    const char *name;
    unsigned bits, exponent, fraction;
} types[] = {
    [F16] = { "f16", 16, 5, 10 },   [BF16] = { "bf16", 16, 8, 7 },  [TF32] = { "tf32", 32, 8, 23 },
    [F32] = { "f32", 32, 8, 23 },   [F64] = { "f64", 64, 11, 52 },  [E4M3] = { "e4m3", 8, 4, 3 },
    [E5M2] = { "e5m2", 8, 5, 2 },   [S8] = { "s8", 8, 0, 0 },       [U8] = { "u8", 8, 0, 0 },
    [S4] = { "s4", 4, 0, 0 },       [U4] = { "u4", 4, 0, 0 },       [B1] = { "b1", 1, 0, 0 },
    [S32] = { "s32", 32, 0, 0 },
};
enum numbers { SMALL, NORMAL, LIMITS, SPREAD };
static const char *const sets[] = { "small", "normal", "limits", "spread" };


static uint64_t state;
static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33) % below;
}
static uint64_t draw_bits(void) { return (uint64_t)draw(1 << 22) << 42 ^ (uint64_t)draw(1 << 22) << 21 ^ draw(1 << 22); }

static uint64_t number(enum type t, bool negative, uint32_t exponent, uint64_t fraction)
{
    unsigned f = types[t].fraction;
    return (uint64_t)negative << (types[t].bits - 1) | (uint64_t)exponent << f | (fraction & ((1ull << f) - 1));
}

static uint64_t some_float(enum type t, enum numbers set, unsigned trial, bool sum)
{
    const uint32_t bias = (1u << (types[t].exponent - 1)) - 1, top = 2 * bias + 1, last = top - (t != E4M3);
    bool negative = draw(2);
    uint64_t bits = draw_bits();
    if (set == SMALL) {
        uint32_t v = draw(9), size = 0;
        if (!v) return 0;
        while (v >> size > 1) size++;
        return number(t, negative, bias + size - 2, (uint64_t)v << types[t].fraction >> size);
    }
    if (set == SPREAD) return number(t, negative, draw(last) | (t == E4M3 && draw(2)), t == E4M3 ? bits & 6 : bits);
    if (set == LIMITS && trial % 3 == 0) return number(t, negative, sum && t != F16 ? bias - draw(40) : draw(4), bits);
    if (set == LIMITS && trial % 3 == 1) return number(t, negative, last - draw(4), t == E4M3 ? bits & 6 : bits);
    if (set == LIMITS && !draw(24)) {
        if (draw(2)) return number(t, negative, 0, 0);
        return number(t, negative, top, t == E4M3 ? 7 : draw(2));
    }
    return number(t, negative, bias + draw(7) - 3, bits);
}

static uint64_t some(enum type t, enum numbers set, unsigned trial, bool sum)
{
    if (types[t].exponent) return some_float(t, set, trial, sum);
    uint32_t bits = (uint32_t)draw_bits();
    if (t != S32) return bits & ((1u << types[t].bits) - 1);
    if (set == SMALL) return bits % 2000;
    if (set == LIMITS) return draw(2) ? INT32_MAX - bits % 5000 : (uint32_t)INT32_MIN + bits % 5000;
    return bits;
}

/* Which two of four have values: in order, or, for what permits it, in another one. */
static uint32_t some_metadata(enum type t, bool ordered)
{
    static const uint8_t pairs[] = { 0x4, 0x8, 0xc, 0x9, 0xd, 0xe, 0x1, 0x2, 0x3, 0x6, 0x7, 0xb };
    uint32_t word = 0;
    for (unsigned k = 0; k < 8; k++)
        word |= (t == TF32 ? draw(2) ? 0xeu : 0x4u : pairs[draw(ordered ? 6 : 12)]) << 4 * k;
    return word;
}

static void fill(uint8_t *to, size_t bytes, enum type t, enum numbers set, unsigned trial, bool sum)
{
    unsigned per = types[t].bits < 8 ? 8 / types[t].bits : 1, size = types[t].bits < 8 ? 1 : types[t].bits / 8;
    for (size_t at = 0; at < bytes; at += size) {
        uint64_t v = 0;
        for (unsigned n = 0; n < per; n++) v |= some(t, set, trial, sum) << n * types[t].bits;
        memcpy(to + at, &v, size);
    }
}

#endif
