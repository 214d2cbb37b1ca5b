/* Products of matrices (mma.sync), bit for bit: random numbers of like and of very different size, subnormal ones and
 * what is no number; and single products at the edge of what is cut off. */
#include "oracle.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LANES = 32, WORDS = 16, B_AT = 4, C_AT = 8, ROUNDS = 40, ASKED = 8, FORMS = 9 };
enum type { HALF, BRAIN, TF32, E4M3, E5M2 };
static const struct form {
    const char *name, *shape, *types, *result;
    enum type type;
    int bits, a, b, c; /* of an element; registers */
} forms[FORMS] = {
    { "m16n8k16.f32.f16", "m16n8k16", "f16", "f32", HALF, 16, 4, 2, 4 },
    { "m16n8k8.f32.f16", "m16n8k8", "f16", "f32", HALF, 16, 2, 1, 4 },
    { "m16n8k16.f32.bf16", "m16n8k16", "bf16", "f32", BRAIN, 16, 4, 2, 4 },
    { "m16n8k8.f32.bf16", "m16n8k8", "bf16", "f32", BRAIN, 16, 2, 1, 4 },
    { "m16n8k8.f32.tf32", "m16n8k8", "tf32", "f32", TF32, 32, 4, 2, 4 },
    { "m16n8k4.f32.tf32", "m16n8k4", "tf32", "f32", TF32, 32, 2, 1, 4 },
    { "m16n8k16.f16.f16", "m16n8k16", "f16", "f16", HALF, 16, 4, 2, 2 },
    { "m16n8k32.f32.e4m3", "m16n8k32", "e4m3", "f32", E4M3, 8, 4, 2, 4 },
    { "m16n8k32.f32.e5m2", "m16n8k32", "e5m2", "f32", E5M2, 8, 4, 2, 4 },
};
typedef uint32_t lanes[LANES][WORDS];

static uint64_t st = 88172645463325252ull;
static uint32_t rnd(void)
{
    st ^= st << 13;
    st ^= st >> 7;
    st ^= st << 17;
    return (uint32_t)(st >> 16);
}

static int exponent(int middle, int span) { return middle + (int)(rnd() % (2u * (uint32_t)span + 1)) - span; }

/* Infinite, a NaN, zero, or small. */
static uint32_t no_number(uint32_t r, uint32_t infinite, uint32_t nan, uint32_t small)
{
    uint32_t which = (r >> 9) % 4;
    return which == 0 ? infinite : which == 1 ? nan : which == 2 ? 0 : small;
}

/* With an exponent at most span from that of 1. */
static uint32_t number(enum type t, int span, bool special)
{
    uint32_t r = rnd(), v;
    int e;
    switch (t) {
    case HALF:
        e = exponent(15, span);
        if (special && r % 7 == 0) return (r >> 8 & 1 ? 0x8000u : 0) | no_number(r, 0x7c00, 0x7e01, r >> 12 & 0x3ff);
        return (r & 0x8000) | (uint32_t)e << 10 | (r & 0x3ff);
    case BRAIN:
        e = exponent(127, span);
        if (special && r % 7 == 0) return (r >> 8 & 1 ? 0x8000u : 0) | no_number(r, 0x7f80, 0x7fc1, 0);
        return (r & 0x8000) | (uint32_t)e << 7 | (r & 0x7f);
    case TF32:
        e = exponent(127, span);
        if (special && r % 7 == 0) return (r >> 8 & 1 ? 0x80000000u : 0) | no_number(r, 0x7f800000, 0x7fc00001, 0);
        return (r & 0x80000000u) | (uint32_t)e << 23 | (rnd() & 0x7fffff);
    case E4M3:
        e = exponent(7, span);
        v = (r & 0x80) | (uint32_t)(e < 0 ? 0 : e > 15 ? 15 : e) << 3 | (r & 7);
        return (v & 127) == 127 && !special ? v & ~1u : v;
    default:
        e = exponent(15, span);
        if (special && r % 9 == 0) return (r >> 8 & 1 ? 0x80u : 0) | 0x7c | (r >> 9 & 1);
        return (r & 0x80) | (uint32_t)e << 2 | (r & 3);
    }
}

static uint32_t word(const struct form *f, int span, bool special)
{
    uint32_t w = 0;
    for (int at = 0; at < 32; at += f->bits)
        w |= (number(f->type, span, special) & (f->bits == 32 ? ~0u : (1u << f->bits) - 1)) << at;
    return w;
}

static void fill(const struct form *f, int round, lanes h)
{
    int span = round % 8 < 4 ? 2 : round % 8 < 6 ? 5 : 9;
    bool special = round % 8 == 7;
    if (f->type == E4M3 && span > 6) span = 6;
    memset(h, 0, sizeof(lanes));
    for (int l = 0; l < LANES; l++) {
        for (int k = 0; k < C_AT; k++) {
            if (k < B_AT ? k >= f->a : k - B_AT >= f->b) continue;
            h[l][k] = word(f, span, special);
            if (round % 5 == 4 && rnd() % 2) h[l][k] = 0;
        }
        for (int k = 0; k < f->c; k++) {
            if (f->c == 2) {
                uint32_t low = number(HALF, span, special);
                h[l][C_AT + k] = low | number(HALF, span, special) << 16;
            } else {
                h[l][C_AT + k] = round % 3 == 0 ? 0 : number(TF32, span * 2, special);
            }
        }
    }
}

static const char *registers(char name, int n)
{
    return n == 4   ? keyf("{%%%c0, %%%c1, %%%c2, %%%c3}", name, name, name, name)
           : n == 2 ? keyf("{%%%c0, %%%c1}", name, name)
                    : keyf("{%%%c0}", name);
}

static CUfunction kernel(const struct form *f)
{
    static char text[4096];
    CUmodule m;
    CUfunction k;
    const char *c = registers('c', f->c);
    snprintf(text, sizeof text,
             ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
             ".reg .b32 %%a<4>, %%b<4>, %%c<4>, %%t; .reg .b64 %%i, %%o, %%x;\n"
             "ld.param.u64 %%i, [in]; ld.param.u64 %%o, [out]; mov.u32 %%t, %%tid.x; mul.wide.u32 %%x, %%t, 64;\n"
             "add.u64 %%i, %%i, %%x; add.u64 %%o, %%o, %%x; ld.global.v4.b32 {%%a0, %%a1, %%a2, %%a3}, [%%i];\n"
             "ld.global.v4.b32 {%%b0, %%b1, %%b2, %%b3}, [%%i+16]; ld.global.v4.b32 {%%c0, %%c1, %%c2, %%c3}, [%%i+32];\n"
             "mma.sync.aligned.%s.row.col.%s.%s.%s.%s %s, %s, %s, %s;\n"
             "st.global.v4.b32 [%%o], {%%c0, %%c1, %%c2, %%c3}; ret;\n}\n",
             f->shape, f->result, f->types, f->types, f->result, c, registers('a', f->a), registers('b', f->b), c);
    MUST(cuModuleLoadData(&m, text));
    MUST(cuModuleGetFunction(&k, m, "k"));
    return k;
}

static void multiply(CUfunction k, lanes h)
{
    static CUdeviceptr in, out;
    if (!in) MUST(cuMemAlloc(&in, sizeof(lanes)));
    if (!out) MUST(cuMemAlloc(&out, sizeof(lanes)));
    MUST(cuMemcpyHtoD(in, h, sizeof(lanes)));
    MUST(cuLaunchKernel(k, 1, 1, 1, LANES, 1, 1, 0, NULL, (void *[]){ &in, &out }, NULL));
    MUST(cuMemcpyDtoH(h, out, sizeof(lanes)));
}

static void g_random(void)
{
    static lanes h;
    setup();
    for (const struct form *f = forms; f < forms + FORMS; f++) {
        CUfunction k = kernel(f);
        for (int round = 0; round < ROUNDS; round++) {
            fill(f, round, h);
            if (round >= ASKED) continue;
            multiply(k, h);
            for (int l = 0; l < LANES; l++)
                rec(keyf("%s.%d.%d", f->name, round, l), f->c == 2 ? "%x %x" : "%x %x %x %x", h[l][0], h[l][1], h[l][2],
                    h[l][3]);
        }
    }
}

static void ask_edge(const struct form *f, const uint32_t (*v)[3], int count)
{
    static lanes h;
    CUfunction k = kernel(f);
    for (int n = 0; n < count; n++) {
        memset(h, 0, sizeof h);
        h[0][0] = v[n][0];
        h[0][B_AT] = v[n][1];
        h[0][C_AT] = v[n][2];
        multiply(k, h);
        rec(keyf("%s.%x*%x+%x", f->name, v[n][0], v[n][1], v[n][2]), "%x", f->c == 2 ? h[0][0] & 0xffff : h[0][0]);
    }
}

static void g_edges(void)
{
    static const uint32_t tf32[][3] = {
        { 0x5f800000, 0x5f800000, 0 },          { 0x5f7fe000, 0x5fffe000, 0 },          { 0x5f800000, 0x5f000000, 0x7f7fffff },
        { 0x3f800000, 0x73000000, 0x7f7fffff }, { 0x3f800000, 0x73800000, 0x7f7fffff }, { 0x3f800000, 0x72ffe000, 0x7f7fffff },
        { 0xbf800000, 0x73800000, 0xff7fffff }, { 0x7f000000, 0x7f000000, 0 },          { 0x7f000000, 0xff000000, 0x3f800000 },
        { 0x1, 0x1, 0 },                        { 0x00400000, 0x3f800000, 0 },          { 0x00002000, 0x3f800000, 0x80000000 },
        { 0x00800000, 0x3f000000, 0x00000001 }, { 0x20000000, 0x20000000, 0x00000003 },
    };
    static const uint32_t to_half[][3] = {
        { 0x3c00, 0x4c00, 0x7bff }, { 0x3c00, 0x4bff, 0x7bff }, { 0x3c00, 0x4bf0, 0x7bff }, { 0x3c00, 0x5000, 0x7bff },
        { 0x7bff, 0x7bff, 0 },      { 0xbc00, 0x4c00, 0xfbff }, { 0x1, 0x1, 0 },            { 0x1, 0x3800, 0 },
        { 0x3, 0x3800, 0 },         { 0x1, 0x3c00, 0x8001 },    { 0x3ff, 0x3c00, 1 },       { 0x1, 0x3400, 0x1 },
        { 0, 0, 0x8000 },           { 0x8000, 0x3c00, 0x8000 },
    };
    static const uint32_t of_half[][3] = {
        { 0x1, 0x1, 0 },           { 0x1, 0x1, 1 },           { 0x1, 0x3c00, 0x1 },       { 0x3ff, 0x3ff, 0x33800001 },
        { 0x7bff, 0x7bff, 0x1 },   { 0x3ff, 0x1, 0x26800001 }, { 0x1, 0x3ff, 0x2a800001 }, { 0x1, 0x7bff, 0x33ffffff },
        { 0x1, 0x7bff, 0x3affffff }, { 0x1, 0x400, 0x28ffffff }, { 0x1, 0x400, 0x29ffffff }, { 0x1, 0x400, 0x2affffff },
        { 0x2, 0x400, 0x2bffffff }, { 0x3, 0x5, 0x26ffffff },
    };
    setup();
    ask_edge(&forms[4], tf32, 14);
    ask_edge(&forms[6], to_half, 14);
    ask_edge(&forms[0], of_half, 14);
}

const struct group groups[] = { { "matrix", g_random, 1 }, { "matrix_edges", g_edges, 1 }, { 0 } };
