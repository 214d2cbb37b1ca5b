/* Runs every matrix instruction (mma, wmma, wgmma, and their sparse forms) over matrices of small numbers, of normal
 * ones, and of those at the limits of their types, and prints, for each, a CRC of all results and a sample.
 * usage: matrices [all] [NAME-PART]     all: prints all results */
#include <cuda.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "matrix_numbers.h"

enum { WARP = 32, GROUP = 128, TRIALS = 6, IMAGE = 32 << 10, MOST = 4 << 20 };

/* ---- text */

struct text {
    char bytes[64 << 10];
    size_t size;
};
static struct text ptx;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    ptx.size += (size_t)vsnprintf(ptx.bytes + ptx.size, sizeof ptx.bytes - ptx.size, format, list);
    va_end(list);
    if (ptx.size >= sizeof ptx.bytes) abort();
}

static void say_list(const char *reg, unsigned first, unsigned count)
{
    for (unsigned n = 0; n < count; n++) say("%s%%%s%u", n ? "," : "{", reg, first + n);
    say("}");
}

static void say_head(void)
{
    ptx.size = 0;
    say(".version 9.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 s[];\n"
        ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 da, .param .u64 db)\n{\n"
        ".reg .b32 %%r<16>,%%a<16>,%%b<16>,%%c<16>,%%d<128>,%%e; .reg .b64 %%l<16>,%%ga<16>,%%gb<16>,%%gc<16>,%%gd<16>; "
        ".reg .pred %%p<4>;\n"
        "mov.u32 %%r0,%%tid.x; mov.u32 %%r1,%%ctaid.x; ld.param.u64 %%l0,[in]; ld.param.u64 %%l1,[out];\n");
}

/* ---- what is asked */

struct asked {
    char name[160];
    enum type a, b, c, d;
    bool sparse, ordered;
    unsigned threads, words_in, words_out, trials; /* of a thread, or in IMAGE if they are in shared memory */
    bool image, in_memory;
    unsigned regs_a, regs_b, regs_c;
    uint64_t da, db;
};
static bool all;
static const char *part = "";

static uint32_t crc(const void *p, size_t n)
{
    const uint8_t *b = p;
    uint32_t c = ~0u;
    while (n--) {
        c ^= *b++;
        for (int k = 0; k < 8; k++) c = c >> 1 ^ (0xedb88320u & -(c & 1));
    }
    return ~c;
}

static unsigned per_word(enum type t) { return types[t].bits < 32 ? 32 / types[t].bits : 1; }
static unsigned words_of(enum type t) { return types[t].bits == 64 ? 2 : 1; }

static void fill_registers(const struct asked *q, uint32_t *in, enum numbers set, unsigned trial)
{
    const struct {
        enum type t;
        unsigned regs;
        bool sum;
    } parts[] = { { q->a, q->regs_a, false }, { q->b, q->regs_b, false }, { q->c, q->regs_c, true } };
    uint32_t *at = in;
    memset(in, 0, q->words_in * WARP * 4);
    for (unsigned k = 0; k < 3 && q->in_memory; at += parts[k].regs * words_of(parts[k].t) * WARP, k++)
        fill((uint8_t *)at, parts[k].regs * words_of(parts[k].t) * WARP * 4, parts[k].t, set, trial, parts[k].sum);
    for (unsigned k = 0; k < 3 && !q->in_memory; k++)
        for (unsigned r = 0; r < parts[k].regs; r++, at += words_of(parts[k].t) * WARP)
            for (unsigned lane = 0; lane < WARP; lane++) {
                uint64_t v;
                fill((uint8_t *)&v, words_of(parts[k].t) * 4, parts[k].t, set, trial, parts[k].sum);
                for (unsigned w = 0; w < words_of(parts[k].t); w++) at[w * WARP + lane] = (uint32_t)(v >> 32 * w);
            }
    if (q->sparse)
        for (unsigned lane = 0; lane < WARP; lane++)
            in[(q->words_in - 1) * WARP + lane] = some_metadata(q->a, q->ordered);
}

/* Shared memory: A in its first half, B in the second; registers of threads behind it: A's, the sums, metadata. */
static void fill_image(const struct asked *q, uint8_t *in, enum numbers set, unsigned trial)
{
    uint32_t *words = (uint32_t *)(in + IMAGE);
    fill(in, IMAGE / 2, q->a, set, trial, false);
    fill(in + IMAGE / 2, IMAGE / 2, q->b, set, trial, false);
    fill((uint8_t *)words, q->regs_a * q->threads * 4, q->a, set, trial, false);
    words += q->regs_a * q->threads;
    fill((uint8_t *)words, q->regs_c * q->threads * 4, q->c, set, trial, true);
    words += q->regs_c * q->threads;
    for (unsigned t = 0; t < q->threads && q->sparse; t++) words[t] = some_metadata(q->a, q->ordered);
}

/* NaNs of doubles are made one NaN: neither sign nor payload is part of the contract. Words of fragments lie lane by lane. */
static void unite_nans(const struct asked *q, uint32_t *results, size_t count)
{
    const size_t apart = q->in_memory ? 1 : WARP;
    for (size_t n = 0; n < count; n++) {
        uint32_t *low = results + n / apart * apart * 2 + n % apart, *high = low + apart;
        if ((((uint64_t)*high << 32 | *low) << 1) <= 0xffe0000000000000) continue;
        *high = 0x7ff80000;
        *low = 0;
    }
}

static void print(const struct asked *q, enum numbers set, uint32_t *results, unsigned trials)
{
    size_t each = (size_t)q->words_out * q->threads;
    if (q->d == F64) unite_nans(q, results, each * trials / 2);
    if (!all) {
        printf("%s %s = %08x", q->name, sets[set], crc(results, each * trials * 4));
        for (unsigned n = 0; n < 12; n++) printf(" %x", results[n * 61 % (each * trials)]);
        putchar('\n');
    }
    for (unsigned k = 0; k < trials && all; k++) {
        printf("%s %s %u = ", q->name, sets[set], k);
        for (size_t n = 0; n < each; n++)
            printf("%08x", results[k * each + n]);
        putchar('\n');
    }
    fflush(stdout);
}

static bool run(const struct asked *q, CUfunction f, enum numbers set)
{
    static uint8_t in[MOST], out[MOST];
    unsigned trials = q->trials;
    size_t bytes_in = (size_t)q->words_in * q->threads * 4 + (q->image ? IMAGE : 0),
           bytes_out = (size_t)q->words_out * q->threads * 4;
    CUdeviceptr di, dout;
    state = crc(q->name, strlen(q->name)) + set;
    for (unsigned k = 0; k < trials; k++)
        if (q->image)
            fill_image(q, in + k * bytes_in, set, k);
        else
            fill_registers(q, (uint32_t *)(in + k * bytes_in), set, k);
    if (cuMemAlloc(&di, MOST) || cuMemAlloc(&dout, MOST) || cuMemcpyHtoD(di, in, MOST) || cuMemsetD8(dout, 0xee, MOST))
        return false;
    void *args[] = { &di, &dout, (void *)&q->da, (void *)&q->db };
    CUresult r = cuLaunchKernel(f, trials, 1, 1, q->threads, 1, 1, q->image ? IMAGE : 0, NULL, args, NULL);
    if (!r) r = cuCtxSynchronize();
    if (!r) r = cuMemcpyDtoH(out, dout, bytes_out * trials);
    if (r)
        printf("%s %s = run %d\n", q->name, sets[set], r);
    else
        print(q, set, (uint32_t *)out, trials);
    fflush(stdout);
    return !r && !cuMemFree(di) && !cuMemFree(dout);
}

static void ask(const struct asked *q)
{
    CUmodule m;
    CUfunction f;
    if (!strstr(q->name, part)) return;
    CUresult r = cuModuleLoadData(&m, ptx.bytes);
    if (r || (r = cuModuleGetFunction(&f, m, "k"))) {
        printf("%s = load %d\n", q->name, r);
        fflush(stdout);
        return;
    }
    if (q->image) cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, IMAGE);
    for (enum numbers set = SMALL; set <= SPREAD; set++) {
        if (!run(q, f, set)) exit(1);
    }
    cuModuleUnload(m);
}

/* ---- mma */

static void say_registers(bool load, const char *name, enum type t, unsigned count, unsigned *word)
{
    unsigned wide = words_of(t);
    for (unsigned n = 0; n < count; n++, *word += wide)
        for (unsigned w = 0; w < wide; w++) {
            if (load) {
                say("ld.global.b32 %%r%u,[%%l2+%u];", 4 + w, (*word + w) * WARP * 4);
                if (w + 1 < wide) continue;
                if (wide == 2)
                    say("mov.b64 %%g%s%u,{%%r4,%%r5};\n", name, n);
                else
                    say("mov.b32 %%%s%u,%%r4;\n", name, n);
            } else {
                if (wide == 2 && !w) say("mov.b64 {%%r4,%%r5},%%g%s%u;", name, n);
                if (wide == 1) say("mov.b32 %%r4,%%%s%u;", name, n);
                say("st.global.b32 [%%l3+%u],%%r%u;\n", (*word + w) * WARP * 4, 4 + w);
            }
        }
}

static void say_operand(const char *name, enum type t, unsigned count)
{
    char reg[4];
    snprintf(reg, sizeof reg, "%s%s", words_of(t) == 2 ? "g" : "", name);
    say_list(reg, 0, count);
}

static unsigned registers(unsigned elements, enum type t)
{
    unsigned n = elements / WARP / per_word(t);
    return n ? n : 1;
}

/* head: "mma.sync.aligned.m16n8k16.row.col"; tail: ".satfinite" before the types, or an operation after them. */
static void ask_mma(const char *sort, unsigned m, unsigned n, unsigned k, const char *before, enum type d, enum type a,
                    enum type b, enum type c, const char *after, unsigned selector)
{
    struct asked q = { .a = a, .b = b, .c = c, .d = d, .threads = WARP, .trials = TRIALS };
    q.sparse = strstr(sort, "sp");
    q.ordered = strstr(sort, "ordered");
    const unsigned products = k == 4 && a == F16 ? 4 : 1;
    q.regs_a = registers(products * m * k / (q.sparse ? 2 : 1), a);
    q.regs_b = registers(products * n * k, b);
    q.regs_c = registers(products * m * n, c);
    unsigned regs_d = registers(products * m * n, d), word = 0;
    q.words_in = q.regs_a * words_of(a) + q.regs_b * words_of(b) + q.regs_c * words_of(c) + q.sparse;
    q.words_out = regs_d * words_of(d);
    char name[120];
    snprintf(name, sizeof name, "%s.sync.aligned.m%un%uk%u%s.%s.%s.%s.%s%s", sort, m, n, k, before, types[d].name,
             types[a].name, types[b].name, types[c].name, after);
    snprintf(q.name, sizeof q.name, "%s", name);
    if (q.sparse) snprintf(q.name, sizeof q.name, "%s by %u", name, selector);
    say_head();
    say("mul.lo.u32 %%r2,%%r1,%u; mul.lo.u32 %%r3,%%r1,%u; shl.b32 %%r0,%%r0,2; add.u32 %%r2,%%r2,%%r0; "
        "add.u32 %%r3,%%r3,%%r0; cvt.u64.u32 %%l2,%%r2; cvt.u64.u32 %%l3,%%r3; add.u64 %%l2,%%l2,%%l0; "
        "add.u64 %%l3,%%l3,%%l1;\n",
        q.words_in * WARP * 4, q.words_out * WARP * 4);
    say_registers(true, "a", a, q.regs_a, &word);
    say_registers(true, "b", b, q.regs_b, &word);
    say_registers(true, "c", c, q.regs_c, &word);
    if (q.sparse) say("ld.global.b32 %%e,[%%l2+%u];\n", word * WARP * 4);
    say("%s ", name);
    say_operand("d", d, regs_d);
    say(",");
    say_operand("a", a, q.regs_a);
    say(",");
    say_operand("b", b, q.regs_b);
    say(",");
    say_operand("c", c, q.regs_c);
    if (q.sparse) say(",%%e,%u", selector);
    say(";\n");
    word = 0;
    say_registers(false, "d", d, regs_d, &word);
    say("ret;\n}\n");
    ask(&q);
}

#define ROWS ".row.col"
static void dense(void)
{
    static const enum type ints[] = { S8, U8 }, nibbles[] = { S4, U4 }, small[] = { E4M3, E5M2 };
    static const char *const orders[] = { ".row.row", ROWS, ".col.row", ".col.col" };
    for (unsigned order = 0; order < 4; order++) {
        ask_mma("mma", 8, 8, 4, orders[order], F16, F16, F16, F16, "", 0);
        ask_mma("mma", 8, 8, 4, orders[order], F32, F16, F16, F16, "", 0);
        ask_mma("mma", 8, 8, 4, orders[order], F32, F16, F16, F32, "", 0);
    }
    for (unsigned k = 8; k <= 16; k += 8) {
        ask_mma("mma", 16, 8, k, ROWS, F16, F16, F16, F16, "", 0);
        ask_mma("mma", 16, 8, k, ROWS, F32, F16, F16, F32, "", 0);
        ask_mma("mma", 16, 8, k, ROWS, F32, BF16, BF16, F32, "", 0);
        ask_mma("mma", 16, 8, k / 2, ROWS, F32, TF32, TF32, F32, "", 0);
    }
    ask_mma("mma", 8, 8, 4, ROWS, F64, F64, F64, F64, "", 0);
    for (unsigned k = 4; k <= 16; k *= 2) ask_mma("mma", 16, 8, k, ROWS, F64, F64, F64, F64, "", 0);
    ask_mma("mma", 8, 8, 4, ROWS ".rz", F64, F64, F64, F64, "", 0);
    ask_mma("mma", 16, 8, 8, ROWS ".rm", F64, F64, F64, F64, "", 0);
    ask_mma("mma", 16, 8, 16, ROWS ".rp", F64, F64, F64, F64, "", 0);
    for (unsigned i = 0; i < 2; i++)
        for (unsigned j = 0; j < 2; j++) {
            for (unsigned k = 16; k <= 32; k *= 2) {
                ask_mma("mma", 16, 8, k, ROWS, F32, small[i], small[j], F32, "", 0);
                ask_mma("mma", 16, 8, k, ROWS, F16, small[i], small[j], F16, "", 0);
            }
            for (unsigned s = 0; s < 2; s++) {
                const char *how = s ? ROWS ".satfinite" : ROWS;
                ask_mma("mma", 8, 8, 16, how, S32, ints[i], ints[j], S32, "", 0);
                ask_mma("mma", 16, 8, 16, how, S32, ints[i], ints[j], S32, "", 0);
                ask_mma("mma", 16, 8, 32, how, S32, ints[i], ints[j], S32, "", 0);
                ask_mma("mma", 8, 8, 32, how, S32, nibbles[i], nibbles[j], S32, "", 0);
                ask_mma("mma", 16, 8, 32, how, S32, nibbles[i], nibbles[j], S32, "", 0);
                ask_mma("mma", 16, 8, 64, how, S32, nibbles[i], nibbles[j], S32, "", 0);
            }
            const char *how = i ? ".xor.popc" : ".and.popc";
            if (j) continue;
            ask_mma("mma", 8, 8, 128, ROWS, S32, B1, B1, S32, how, 0);
            ask_mma("mma", 16, 8, 128, ROWS, S32, B1, B1, S32, how, 0);
            ask_mma("mma", 16, 8, 256, ROWS, S32, B1, B1, S32, how, 0);
        }
}

static void sparse(const char *sort)
{
    static const enum type ints[] = { S8, U8 }, nibbles[] = { S4, U4 }, small[] = { E4M3, E5M2 };
    for (unsigned by = 0; by < 4; by++) {
        ask_mma(sort, 16, 8, 16, ROWS, F16, F16, F16, F16, "", by);
        ask_mma(sort, 16, 8, 16, ROWS, F32, F16, F16, F32, "", by);
        ask_mma(sort, 16, 8, 16, ROWS, F32, BF16, BF16, F32, "", by);
        ask_mma(sort, 16, 8, 8, ROWS, F32, TF32, TF32, F32, "", by);
    }
    for (unsigned by = 0; by < 2; by++) {
        ask_mma(sort, 16, 8, 32, ROWS, F16, F16, F16, F16, "", by);
        ask_mma(sort, 16, 8, 32, ROWS, F32, F16, F16, F32, "", by);
        ask_mma(sort, 16, 8, 32, ROWS, F32, BF16, BF16, F32, "", by);
        ask_mma(sort, 16, 8, 16, ROWS, F32, TF32, TF32, F32, "", by);
    }
    for (unsigned i = 0; i < 2; i++)
        for (unsigned j = 0; j < 2; j++) {
            ask_mma(sort, 16, 8, 64, ROWS, F32, small[i], small[j], F32, "", 0);
            for (unsigned s = 0; s < 2; s++) {
                const char *how = s ? ROWS ".satfinite" : ROWS;
                for (unsigned by = 0; by < 2; by++) {
                    ask_mma(sort, 16, 8, 32, how, S32, ints[i], ints[j], S32, "", by);
                    ask_mma(sort, 16, 8, 64, how, S32, nibbles[i], nibbles[j], S32, "", by);
                }
                ask_mma(sort, 16, 8, 64, how, S32, ints[i], ints[j], S32, "", 0);
                ask_mma(sort, 16, 8, 128, how, S32, nibbles[i], nibbles[j], S32, "", 0);
            }
        }
}

/* ---- wmma */

/* A, B and C lie in the words of a block one after the other, rows and columns as far apart as the matrix is wide. */
static void ask_wmma(unsigned m, unsigned n, unsigned k, bool a_by_rows, bool b_by_rows, enum type d, enum type a,
                     enum type b, enum type c, const char *before, const char *after)
{
    struct asked q = { .a = a, .b = b, .c = c, .d = d, .threads = WARP, .trials = TRIALS };
    const unsigned words_a = m * k * types[a].bits / 1024, words_b = n * k * types[b].bits / 1024;
    q.in_memory = true;
    q.trials = TRIALS / 2;
    q.regs_a = words_a / words_of(a);
    q.regs_b = words_b / words_of(b);
    q.regs_c = m * n * types[c].bits / 1024 / words_of(c);
    q.words_in = words_a + words_b + q.regs_c * words_of(c);
    q.words_out = m * n * types[d].bits / 1024;
    const unsigned fragment_a = a == F16 ? 8 : registers(m * k, a),
                   fragment_b = a == F16 ? 8 : registers(n * k, b), fragment_c = registers(m * n, c),
                   fragment_d = registers(m * n, d);
    char shape[24], how[80];
    snprintf(shape, sizeof shape, ".m%un%uk%u", m, n, k);
    const char *order_a = a_by_rows ? ".row" : ".col", *order_b = b_by_rows ? ".row" : ".col";
    if (a == F16)
        snprintf(how, sizeof how, "wmma.mma%s.sync.aligned%s%s%s.%s.%s%s", before, order_a, order_b, shape,
                 types[d].name, types[c].name, after);
    else
        snprintf(how, sizeof how, "wmma.mma%s.sync.aligned%s%s%s.%s.%s.%s.%s%s", before, order_a, order_b, shape,
                 types[d].name, types[a].name, types[b].name, types[c].name, after);
    snprintf(q.name, sizeof q.name, "%s", how);
    say_head();
    say("mul.lo.u32 %%r2,%%r1,%u; mul.lo.u32 %%r3,%%r1,%u; cvt.u64.u32 %%l2,%%r2; cvt.u64.u32 %%l3,%%r3; "
        "add.u64 %%l2,%%l2,%%l0; add.u64 %%l3,%%l3,%%l1; cvta.to.global.u64 %%l2,%%l2; cvta.to.global.u64 %%l3,%%l3;\n",
        q.words_in * WARP * 4, q.words_out * WARP * 4);
    say("wmma.load.a.sync.aligned%s%s.global.%s ", order_a, shape, types[a].name);
    say_operand("a", a, fragment_a);
    say(",[%%l2],%u;\nwmma.load.b.sync.aligned%s%s.global.%s ", a_by_rows ? k : m, order_b, shape, types[b].name);
    say_operand("b", b, fragment_b);
    say(",[%%l2+%u],%u;\nwmma.load.c.sync.aligned.row%s.global.%s ", words_a * WARP * 4, b_by_rows ? n : k, shape,
        types[c].name);
    say_operand("c", c, fragment_c);
    say(",[%%l2+%u],%u;\n%s ", (words_a + words_b) * WARP * 4, n, how);
    say_operand("d", d, fragment_d);
    say(",");
    say_operand("a", a, fragment_a);
    say(",");
    say_operand("b", b, fragment_b);
    say(",");
    say_operand("c", c, fragment_c);
    say(";\nwmma.store.d.sync.aligned.row%s.global.%s [%%l3],", shape, types[d].name);
    say_operand("d", d, fragment_d);
    say(",%u;\nret;\n}\n", n);
    ask(&q);
}

static void warps(void)
{
    static const unsigned shapes[][3] = { { 16, 16, 16 }, { 32, 8, 16 }, { 8, 32, 16 } };
    for (unsigned s = 0; s < 3; s++)
        for (unsigned how = 0; how < 4; how++) {
            const unsigned *z = shapes[s];
            bool x = how & 1, y = how & 2;
            ask_wmma(z[0], z[1], z[2], x, y, F32, F16, F16, F32, "", "");
            ask_wmma(z[0], z[1], z[2], x, y, F16, F16, F16, F16, "", "");
            ask_wmma(z[0], z[1], z[2], x, y, F32, F16, F16, F16, "", "");
            ask_wmma(z[0], z[1], z[2], x, y, F16, F16, F16, F32, "", "");
            ask_wmma(z[0], z[1], z[2], x, y, F32, BF16, BF16, F32, "", "");
            ask_wmma(z[0], z[1], z[2], x, y, S32, S8, S8, S32, "", "");
            ask_wmma(z[0], z[1], z[2], x, y, S32, U8, U8, S32, "", ".satfinite");
            if (s) continue;
            ask_wmma(16, 16, 8, x, y, F32, TF32, TF32, F32, "", "");
            ask_wmma(8, 8, 4, x, y, F64, F64, F64, F64, "", "");
        }
    ask_wmma(8, 8, 32, true, false, S32, S4, S4, S32, "", "");
    ask_wmma(8, 8, 32, true, false, S32, U4, U4, S32, "", "");
    ask_wmma(8, 8, 32, true, false, S32, S4, S4, S32, "", ".satfinite");
    ask_wmma(8, 8, 32, true, false, S32, U4, U4, S32, "", ".satfinite");
    ask_wmma(8, 8, 128, true, false, S32, B1, B1, S32, ".xor.popc", "");
    ask_wmma(8, 8, 128, true, false, S32, B1, B1, S32, ".and.popc", "");
}

/* ---- wgmma */

struct layout {
    unsigned start, leading, stride, swizzle, base;
    bool transposed;
};

static uint64_t descriptor(const struct layout *l)
{
    return (uint64_t)l->start >> 4 | (uint64_t)l->leading >> 4 << 16 | (uint64_t)l->stride >> 4 << 32 |
           (uint64_t)l->base << 49 | (uint64_t)l->swizzle << 62;
}

static void ask_wgmma(bool is_sparse, unsigned n, enum type d, enum type a, enum type b, const char *after,
                      unsigned selector, const struct layout *la, const struct layout *lb, const char *what)
{
    struct asked q = { .a = a, .b = b, .c = d, .d = d, .threads = GROUP, .image = true, .sparse = is_sparse };
    unsigned k = 256 / types[a].bits * (is_sparse ? 2 : 1), word = 0;
    bool halves = a == F16 || a == BF16, in_order = d != S32;
    q.trials = n > 16 || *what ? 1 : 3;
    q.regs_a = la ? 0 : 4;
    q.regs_c = n / 2 / per_word(d);
    q.words_in = q.regs_a + q.regs_c + is_sparse;
    q.words_out = q.regs_c;
    if (la) q.da = descriptor(la);
    q.db = descriptor(lb);
    char name[120];
    snprintf(name, sizeof name, "wgmma.mma_async%s.sync.aligned.m64n%uk%u.%s.%s.%s%s", is_sparse ? ".sp" : "", n, k,
             types[d].name, types[a].name, types[b].name, after);
    snprintf(q.name, sizeof q.name, "%s%s%s", name, la ? "" : " registers", what);
    if (is_sparse) snprintf(q.name + strlen(q.name), 8, " by %u", selector);
    say_head();
    say("mul.lo.u32 %%r2,%%r1,%u; mul.lo.u32 %%r3,%%r1,%u; cvt.u64.u32 %%l2,%%r2; cvt.u64.u32 %%l3,%%r3; "
        "add.u64 %%l2,%%l2,%%l0; add.u64 %%l3,%%l3,%%l1; shl.b32 %%r4,%%r0,2; cvt.u64.u32 %%l4,%%r4; "
        "add.u64 %%l3,%%l3,%%l4;\n",
        IMAGE + q.words_in * GROUP * 4, q.words_out * GROUP * 4);
    say("mov.u32 %%r5,s; shl.b32 %%r6,%%r0,4;\nCOPY: cvt.u64.u32 %%l5,%%r6; add.u64 %%l5,%%l5,%%l2; "
        "ld.global.v2.b64 {%%l6,%%l7},[%%l5]; add.u32 %%r7,%%r5,%%r6; st.shared.v2.b64 [%%r7],{%%l6,%%l7}; "
        "add.u32 %%r6,%%r6,%u; setp.lt.u32 %%p0,%%r6,%u; @%%p0 bra COPY;\nfence.proxy.async; bar.sync 0;\n"
        "add.u64 %%l2,%%l2,%%l4;\n",
        GROUP * 16, IMAGE);
    for (unsigned r = 0; r < q.regs_a; r++) say("ld.global.b32 %%a%u,[%%l2+%u];\n", r, IMAGE + word++ * GROUP * 4);
    for (unsigned r = 0; r < q.regs_c; r++) say("ld.global.b32 %%d%u,[%%l2+%u];\n", r, IMAGE + word++ * GROUP * 4);
    if (is_sparse) say("ld.global.b32 %%e,[%%l2+%u];\n", IMAGE + word * GROUP * 4);
    say("ld.param.u64 %%l8,[da]; ld.param.u64 %%l9,[db]; cvt.u64.u32 %%l10,%%r5; and.b64 %%l10,%%l10,0x3ffff; "
        "shr.u64 %%l10,%%l10,4; add.u64 %%l8,%%l8,%%l10; add.u64 %%l9,%%l9,%%l10; setp.eq.u32 %%p1,1,1; "
        "wgmma.fence.sync.aligned;\n%s ",
        name);
    say_list("d", 0, q.regs_c);
    if (la)
        say(",%%l8");
    else
        say(",{%%a0,%%a1,%%a2,%%a3}");
    say(",%%l9");
    if (is_sparse) say(",%%e,%u", selector);
    say(",%%p1");
    if (in_order) say(",1,1");
    if (halves && la) say(",%d", la->transposed);
    if (halves) say(",%d", lb->transposed);
    say(";\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n");
    for (unsigned r = 0; r < q.regs_c; r++) say("st.global.b32 [%%l3+%u],%%d%u;\n", r * GROUP * 4, r);
    say("ret;\n}\n");
    ask(&q);
}

static const struct layout plain_a = { .leading = 128, .stride = 256 },
                           plain_b = { .start = IMAGE / 2, .leading = 128, .stride = 512 };

static void warpgroups(void)
{
    static const enum type kinds[][3] = { { F32, F16, F16 },   { F16, F16, F16 },   { F32, BF16, BF16 },
                                          { F32, TF32, TF32 }, { F32, E4M3, E4M3 }, { F32, E4M3, E5M2 },
                                          { F16, E5M2, E4M3 }, { F16, E5M2, E5M2 }, { S32, S8, S8 },
                                          { S32, U8, U8 },     { S32, S8, U8 },     { S32, U8, S8 } };
    static const unsigned widths[] = { 8, 24, 64 };
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (unsigned registers = 0; registers < 2; registers++)
            for (unsigned by = 0; by < (types[kinds[k][1]].bits < 16 ? 1 : 2); by++) {
                const enum type *t = kinds[k];
                const struct layout *la = registers ? NULL : &plain_a;
                if (!by) ask_wgmma(false, 16, t[0], t[1], t[2], "", 0, la, &plain_b, "");
                ask_wgmma(true, k % 2 ? 8 : 16, t[0], t[1], t[2], "", by, la, &plain_b, "");
                if (k == 8) ask_wgmma(true, 8, t[0], t[1], t[2], ".satfinite", by, la, &plain_b, "");
            }
    for (unsigned k = 0; k < 3; k++) {
        ask_wgmma(false, widths[k], S32, B1, B1, ".and.popc", 0, &plain_a, &plain_b, "");
        ask_wgmma(false, widths[k], S32, B1, B1, ".and.popc", 0, NULL, &plain_b, "");
        ask_wgmma(true, widths[k], F32, F16, F16, "", 0, &plain_a, &plain_b, "");
    }
    /* how matrices lie */
    for (unsigned swizzle = 0; swizzle < 4; swizzle++)
        for (unsigned how = 0; how < 8; how++) {
            static const unsigned rows[] = { 16, 128, 64, 32 };
            char what[40];
            unsigned row = rows[swizzle], far = how & 4 ? 2048 : row * 16;
            struct layout la = { .swizzle = swizzle, .leading = row * 8, .stride = how & 4 ? 1024 : row * 8,
                                 .transposed = how & 1 },
                          lb = { .start = IMAGE / 2, .swizzle = swizzle, .leading = far, .stride = row * 8 * (how & 4 ? 2 : 1),
                                 .transposed = how & 2 };
            if (how == 0) lb.leading = 16;
            snprintf(what, sizeof what, " swizzle %u how %u", swizzle, how);
            ask_wgmma(true, 16, F32, F16, F16, "", 0, &la, &lb, what);
            if (how % 4 == 0) ask_wgmma(true, 16, S32, S8, U8, "", 0, &la, &lb, what);
        }
}

int main(int argc, char **argv)
{
    CUcontext c;
    if (argc > 1 && !strcmp(argv[1], "all")) {
        all = true;
        argv++;
        argc--;
    }
    if (argc > 1) part = argv[1];
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c)) return 2;
    dense();
    sparse("mma.sp");
    sparse("mma.sp::ordered_metadata");
    warps();
    warpgroups();
    return 0;
}
