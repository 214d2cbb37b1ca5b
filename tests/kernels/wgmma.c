/* Products of warpgroups (wgmma), each against a CPU reference: all types, and
 * matrices that lie in shared memory in all ways that a descriptor can tell.
 * All numbers are so small that every sum is exact. */
#include "../child.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum element { F16, BF16, TF32, E4M3, E5M2, S8, U8, F32, S32 };
static const char *const names[] = { "f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "f32", "s32" };
static const unsigned sizes[] = { 2, 2, 4, 1, 1, 1, 1, 4, 4 };

enum { M = 64, THREADS = 128, MOST_N = 256, MOST_K = 32, SHARED = 96 << 10 };

/* How one matrix lies in shared memory; its lines are rows of A, columns of B. */
struct layout {
    unsigned width; /* 16: not swizzled */
    bool transposed;
    unsigned start;   /* of the pattern; a multiple of 128 */
    unsigned skipped; /* depths before the first, in bytes: those of earlier steps of a longer product */
    bool apart;       /* not swizzled: chunks lie as far apart as they can */
};

struct product {
    enum element d, a, b;
    unsigned n;
    struct layout la, lb;
    bool a_in_registers, keeps, saturated, a_negated, b_negated;
};

/* ---- elements */

static uint32_t random_bits(void)
{
    static uint32_t x = 12345;
    x = x * 1664525u + 1013904223u;
    return x >> 8;
}

static double some(enum element t)
{
    int v = (int)(random_bits() % 17) - 8;
    switch (t) {
    case S8: return (int)(random_bits() % 256) - 128;
    case U8: return random_bits() % 256;
    case S32: return (int)(random_bits() % 2000) - 1000;
    case F32: return v * 8;
    case E5M2: return v / 4;
    case E4M3: return v;
    default: return v * .25;
    }
}

static uint16_t half(double v)
{
    _Float16 h = (_Float16)v;
    uint16_t bits;
    memcpy(&bits, &h, 2);
    return bits;
}

static double of_half(uint16_t bits)
{
    _Float16 h;
    memcpy(&h, &bits, 2);
    return (double)h;
}

static uint32_t encode(enum element t, double v)
{
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    switch (t) {
    case F16: return half(v);
    case BF16: return bits >> 16;
    case TF32:
    case F32: return bits;
    case E5M2: return half(v) >> 8;
    case E4M3: return v == 0 ? 0 : (half(v) >> 8 & 128) | ((half(v) >> 10 & 31) - 8u) << 3 | (half(v) >> 7 & 7);
    default: return (uint32_t)(int)v;
    }
}

static double decode(enum element t, uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return t == F16 ? of_half((uint16_t)bits) : t == S32 ? (double)(int32_t)bits : f;
}

/* ---- layouts */

/* Chunks of 16 bytes of a swizzled row change places by the row's number; a pattern is 8 rows. */
static unsigned swizzled(const struct layout *l, unsigned row, unsigned byte)
{
    unsigned chunk = byte / 16 ^ row * l->width / 128 % (l->width / 16);
    return row * l->width + chunk * 16 + byte % 16;
}

static unsigned leading(const struct layout *l, unsigned lines, unsigned depths)
{
    if (l->width == 16) return l->apart ? lines / 8 * 128 : 128;
    return l->transposed ? depths * l->width : 16;
}

static unsigned stride(const struct layout *l) { return l->width > 16 ? 8 * l->width : l->apart ? 128 : 256; }

static unsigned place(const struct layout *l, unsigned size, unsigned lines, unsigned depths, unsigned line,
                      unsigned depth)
{
    if (l->width == 16 && l->transposed)
        return l->start + line / 8 * stride(l) + depth / 8 * leading(l, lines, depths) + depth % 8 * 16 +
               line % 8 * size;
    unsigned byte = depth * size;
    if (l->width == 16)
        return l->start + line / 8 * stride(l) + byte / 16 * leading(l, lines, depths) + line % 8 * 16 + byte % 16;
    if (!l->transposed) return l->start + swizzled(l, line, l->skipped + byte);
    byte = line * size;
    return l->start + byte / l->width * depths * l->width + swizzled(l, depth, byte % l->width);
}

static uint64_t descriptor(const struct layout *l, unsigned lines, unsigned depths)
{
    uint64_t mode = l->width == 128 ? 1 : l->width == 64 ? 2 : l->width == 32 ? 3 : 0;
    unsigned pattern = l->width * 8, base = mode ? l->start % pattern / 128 : 0;
    return (uint64_t)(l->start + l->skipped) >> 4 | (uint64_t)leading(l, lines, depths) >> 4 << 16 |
           (uint64_t)stride(l) >> 4 << 32 | (uint64_t)base << 49 | mode << 62;
}

/* ---- the kernel */

struct text {
    char bytes[32 << 10];
    size_t size;
};

static void say(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    t->size += (size_t)vsnprintf(t->bytes + t->size, sizeof t->bytes - t->size, format, list);
    va_end(list);
    EXPECT(t->size < sizeof t->bytes);
}

static unsigned sums_of(const struct product *p) { return p->n / 2 / (p->d == F16 ? 2 : 1); }

static void say_head(struct text *t, const char *name)
{
    say(t,
        ".version 8.4\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 s[];\n"
        ".visible .entry %s(.param .u64 image, .param .u64 a, .param .u64 da, .param .u64 db, .param .u64 sums)\n{\n"
        ".reg .b32 %%r<16>; .reg .b64 %%d<16>; .reg .b32 %%a<4>; .reg .f32 %%s<128>; .reg .b32 %%w<128>; "
        ".reg .pred %%p<4>;\n"
        "mov.u32 %%r0, %%tid.x;\nld.param.u64 %%d0, [image];\nld.param.u64 %%d1, [a];\nld.param.u64 %%d2, [da];\n"
        "ld.param.u64 %%d3, [db];\nld.param.u64 %%d4, [sums];\nmov.u32 %%r1, s;\n",
        name);
}

/* All threads bring what goes to shared memory there. */
static void say_copy(struct text *t)
{
    say(t,
        "mul.lo.u32 %%r2, %%r0, 16;\nCOPY:\ncvt.u64.u32 %%d5, %%r2;\nadd.u64 %%d5, %%d0, %%d5;\n"
        "ld.global.v2.b64 {%%d6, %%d7}, [%%d5];\nadd.u32 %%r3, %%r1, %%r2;\nst.shared.v2.b64 [%%r3], {%%d6, %%d7};\n"
        "add.u32 %%r2, %%r2, %d;\nsetp.lt.u32 %%p0, %%r2, %d;\n@%%p0 bra COPY;\n"
        "fence.proxy.async;\nbar.sync 0;\nmul.wide.u32 %%d8, %%r0, 4;\nadd.u64 %%d8, %%d4, %%d8;\n",
        THREADS * 16, SHARED);
}

/* The sums of a thread: word n at sums + (n * THREADS + thread) * 4. */
static void say_load(struct text *t, const char *reg, unsigned count)
{
    for (unsigned n = 0; n < count; n++) say(t, "ld.global.b32 %%%s%u, [%%d8+%u];\n", reg, n, n * THREADS * 4);
}

static void say_store(struct text *t, const char *reg, unsigned count)
{
    for (unsigned n = 0; n < count; n++) say(t, "st.global.b32 [%%d8+%u], %%%s%u;\n", n * THREADS * 4, reg, n);
}

static void say_list(struct text *t, const char *reg, unsigned count)
{
    for (unsigned n = 0; n < count; n++) say(t, "%s%%%s%u", n ? ", " : "{", reg, n);
    say(t, "}");
}

static const char *register_of(const struct product *p) { return p->d == F32 ? "s" : "w"; }

static void say_product(struct text *t, const struct product *p)
{
    bool halves = p->a == F16 || p->a == BF16;
    say(t, "wgmma.mma_async.sync.aligned.m64n%uk%u%s.%s.%s.%s ", p->n, 32 / sizes[p->a],
        p->saturated ? ".satfinite" : "", names[p->d], names[p->a], names[p->b]);
    say_list(t, register_of(p), sums_of(p));
    say(t, p->a_in_registers ? ", {%%a0, %%a1, %%a2, %%a3}, %%d3, %%p1" : ", %%d2, %%d3, %%p1");
    if (p->d != S32) say(t, ", %d, %d", p->a_negated ? -1 : 1, p->b_negated ? -1 : 1);
    if (halves && !p->a_in_registers) say(t, ", %d", p->la.transposed);
    if (halves) say(t, ", %d", p->lb.transposed);
    say(t, ";\n");
}

static void say_kernel(struct text *t, const struct product *p)
{
    t->size = 0;
    say_head(t, "k");
    say_copy(t);
    say(t, "mul.wide.u32 %%d5, %%r0, 16;\nadd.u64 %%d5, %%d1, %%d5;\n"
           "ld.global.v4.b32 {%%a0, %%a1, %%a2, %%a3}, [%%d5];\n");
    say_load(t, register_of(p), sums_of(p));
    say(t, "setp.eq.u32 %%p1, %d, 1;\nwgmma.fence.sync.aligned;\n", p->keeps);
    say_product(t, p);
    say(t, "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
    say_store(t, register_of(p), sums_of(p));
    say(t, "ret;\n}\n");
}

/* ---- what the CPU computes */

static double a[M][MOST_K], b[MOST_N][MOST_K], sums[M][MOST_N];
static uint8_t image[SHARED];
static uint32_t words[128 * THREADS], fragments[THREADS * 4];

/* Which row and column the thread's element has: of A, of its word n; of D, of element n. */
static unsigned row_of(unsigned thread, unsigned half) { return thread / 32 * 16 + thread % 32 / 4 + half * 8; }

static void fill(double *v, unsigned lines, unsigned depths, enum element t, const struct layout *l)
{
    for (unsigned line = 0; line < lines; line++)
        for (unsigned k = 0; k < depths; k++) {
            double *each = v + line * MOST_K + k;
            *each = some(t);
            uint32_t bits = encode(t, *each);
            if (l) memcpy(image + place(l, sizes[t], lines, depths, line, k), &bits, sizes[t]);
        }
}

static void fill_fragments(const struct product *p)
{
    unsigned size = sizes[p->a], per = 4 / size;
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned r = 0; r < 4; r++) {
            fragments[t * 4 + r] = 0;
            for (unsigned n = 0; n < per; n++) {
                uint32_t bits = encode(p->a, a[row_of(t, r % 2)][(r / 2 * 4 + t % 4) * per + n]);
                if (size < 4) bits &= (1u << 8 * size) - 1;
                fragments[t * 4 + r] |= bits << 8 * size * n;
            }
        }
}

static unsigned column_of(unsigned thread, unsigned n) { return n / 4 * 8 + thread % 4 * 2 + n % 2; }

static void fill_sums(const struct product *p)
{
    unsigned per = p->d == F16 ? 2 : 1;
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned n = 0; n < p->n / 2; n++) {
            double v = some(p->d);
            uint32_t *word = &words[n / per * THREADS + t], bits = encode(p->d, v);
            *word = per == 1 ? bits : n % 2 ? *word | bits << 16 : bits;
            sums[row_of(t, n / 2 % 2)][column_of(t, n)] = p->keeps ? v : 0;
        }
}

static void multiply(const struct product *p)
{
    double sign = p->a_negated != p->b_negated ? -1 : 1;
    for (unsigned i = 0; i < M; i++)
        for (unsigned j = 0; j < p->n; j++)
            for (unsigned k = 0; k < 32 / sizes[p->a]; k++) sums[i][j] += sign * a[i][k] * b[j][k];
}

static unsigned wrong(const struct product *p)
{
    unsigned count = 0, per = p->d == F16 ? 2 : 1;
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned n = 0; n < p->n / 2; n++) {
            uint32_t word = words[n / per * THREADS + t];
            double is = decode(p->d, per == 1 ? word : word >> n % 2 * 16 & 0xffff);
            double want = sums[row_of(t, n / 2 % 2)][column_of(t, n)];
            if (p->saturated && want > INT32_MAX) want = INT32_MAX;
            count += is != want;
        }
    return count;
}

/* ---- programs */

static CUresult launch(CUfunction f, uint64_t da, uint64_t db)
{
    CUdeviceptr at_image, at_a, at_sums;
    CHECK(cuMemAlloc(&at_image, sizeof image));
    CHECK(cuMemAlloc(&at_a, sizeof fragments));
    CHECK(cuMemAlloc(&at_sums, sizeof words));
    CHECK(cuMemcpyHtoD(at_image, image, sizeof image));
    CHECK(cuMemcpyHtoD(at_a, fragments, sizeof fragments));
    CHECK(cuMemcpyHtoD(at_sums, words, sizeof words));
    CHECK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, SHARED));
    CHECK(cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, SHARED, NULL, (void *[]){ &at_image, &at_a, &da, &db, &at_sums },
                         NULL));
    CUresult r = cuCtxSynchronize();
    if (r) return r;
    CHECK(cuMemcpyDtoH(words, at_sums, sizeof words));
    CHECK(cuMemFree(at_image));
    CHECK(cuMemFree(at_a));
    CHECK(cuMemFree(at_sums));
    return CUDA_SUCCESS;
}

static CUfunction compiled(CUmodule *m, const char *ptx)
{
    static char log[4096];
    CUfunction f;
    CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    log[0] = 0;
    CUresult r = cuModuleLoadDataEx(m, ptx, 2, options, (void *[]){ log, (void *)sizeof log });
    if (r) printf("%s\n", log);
    CHECK(r);
    CHECK(cuModuleGetFunction(&f, *m, "k"));
    return f;
}

static void check(struct product p)
{
    static struct text t;
    CUmodule m;
    unsigned depths = 32 / sizes[p.a];
    random_bits();
    memset(image, 0x5a, sizeof image);
    fill(a[0], M, depths, p.a, p.a_in_registers ? NULL : &p.la);
    fill(b[0], p.n, depths, p.b, &p.lb);
    fill_fragments(&p);
    fill_sums(&p);
    multiply(&p);
    say_kernel(&t, &p);
    CUfunction f = compiled(&m, t.bytes);
    CHECK(launch(f, p.a_in_registers ? 0 : descriptor(&p.la, M, depths), descriptor(&p.lb, p.n, depths)));
    CHECK(cuModuleUnload(m));
    unsigned count = wrong(&p);
    if (count) printf("m64n%u %s %s %s: %u sums are wrong\n", p.n, names[p.d], names[p.a], names[p.b], count);
    EXPECT_EQUAL(count, 0);
}

static const struct layout plain_a = { .width = 128 }, plain_b = { .width = 128, .start = 32 << 10 };

static void all_types_multiply(void)
{
    static const enum element types[][3] = {
        { F32, F16, F16 },   { F16, F16, F16 },   { F32, BF16, BF16 }, { F32, TF32, TF32 },
        { F32, E4M3, E4M3 }, { F32, E4M3, E5M2 }, { F16, E5M2, E4M3 }, { F16, E5M2, E5M2 },
        { S32, S8, S8 },     { S32, U8, U8 },     { S32, S8, U8 },     { S32, U8, S8 },
    };
    for (unsigned k = 0; k < sizeof types / sizeof *types; k++)
        for (unsigned registers = 0; registers < 2; registers++)
            check((struct product){ .d = types[k][0],
                                    .a = types[k][1],
                                    .b = types[k][2],
                                    .n = 32,
                                    .la = plain_a,
                                    .lb = plain_b,
                                    .a_in_registers = registers,
                                    .keeps = true });
}

static void all_widths_multiply(void)
{
    static const unsigned widths[] = { 8, 16, 24, 40, 120, 248, 256 };
    for (unsigned k = 0; k < sizeof widths / sizeof *widths; k++) {
        check((struct product){
            .d = F32, .a = BF16, .b = BF16, .n = widths[k], .la = plain_a, .lb = plain_b, .keeps = true });
        check((struct product){ .d = F16, .a = F16, .b = F16, .n = widths[k], .la = plain_a, .lb = plain_b });
    }
    check((struct product){ .d = S32, .a = S8, .b = U8, .n = 256, .la = plain_a, .lb = plain_b, .keeps = true });
}

static void matrices_lie_as_descriptors_say(void)
{
    static const unsigned widths[] = { 16, 32, 64, 128 };
    for (unsigned w = 0; w < 4; w++)
        for (unsigned how = 0; how < 6; how++) {
            unsigned width = widths[w], other = widths[(w + how) % 4];
            bool first = how & 1, second = how & 2, apart = how & 4;
            struct layout la = { .width = width, .transposed = first, .apart = apart },
                          lb = { .width = other, .transposed = second, .start = 32 << 10, .apart = !apart };
            check((struct product){ .d = F32, .a = F16, .b = F16, .n = 72 * (1 + second), .la = la, .lb = lb });
            la.transposed = lb.transposed = false;
            if (width > 32) la.skipped = 32 * (how % (width / 32));
            if (other > 32) lb.skipped = other - 32;
            check((struct product){ .d = S32, .a = U8, .b = S8, .n = 64, .la = la, .lb = lb, .keeps = true });
            check((struct product){ .d = F32, .a = TF32, .b = TF32, .n = 8, .la = la, .lb = lb });
        }
}

static void patterns_begin_where_the_base_offset_says(void)
{
    for (unsigned k = 1; k < 8; k += 3)
        check((struct product){ .d = F32,
                                .a = F16,
                                .b = F16,
                                .n = 48,
                                .la = { .width = 128, .start = 128 * k },
                                .lb = { .width = 64, .start = (32 << 10) + 128 * (k % 4) } });
}

static void signs_are_changed_and_sums_bounded(void)
{
    for (unsigned k = 0; k < 4; k++)
        check((struct product){ .d = F32,
                                .a = F16,
                                .b = F16,
                                .n = 16,
                                .la = plain_a,
                                .lb = plain_b,
                                .keeps = k & 1,
                                .a_negated = k & 1,
                                .b_negated = k & 2,
                                .a_in_registers = k & 2 });
    static struct text t;
    for (unsigned saturated = 0; saturated < 2; saturated++) {
        struct product p = {
            .d = S32, .a = U8, .b = U8, .n = 8, .la = plain_a, .lb = plain_b, .keeps = true, .saturated = saturated
        };
        CUmodule m;
        memset(image, 255, sizeof image);
        for (size_t n = 0; n < sizeof words / sizeof *words; n++) words[n] = INT32_MAX - 100;
        say_kernel(&t, &p);
        CHECK(launch(compiled(&m, t.bytes), descriptor(&p.la, M, 32), descriptor(&p.lb, 8, 32)));
        EXPECT_EQUAL(words[5], saturated ? INT32_MAX : (uint32_t)INT32_MAX - 100 + 255 * 255 * 32);
        CHECK(cuModuleUnload(m));
    }
}

/* Products one after the other, with others between that change what they add to, and one that not all warps have. */
static void sums_go_from_product_to_product(void)
{
    static struct text t;
    struct product p = { .d = F32, .a = F16, .b = F16, .n = 16, .la = plain_a, .lb = plain_b, .keeps = true };
    CUmodule m;
    memset(image, 0, sizeof image);
    fill(a[0], M, 16, F16, &p.la);
    fill(b[0], p.n, 16, F16, &p.lb);
    fill_sums(&p);
    t.size = 0;
    say_head(&t, "k");
    say_copy(&t);
    say_load(&t, "s", 8);
    say(&t, "setp.eq.u32 %%p1, 1, 1;\nmov.u32 %%r4, 0;\nsetp.lt.u32 %%p2, %%r0, 64;\nAGAIN:\n");
    say_product(&t, &p);
    say_product(&t, &p);
    say(&t, "add.u32 %%r4, %%r4, 1;\nsetp.lt.u32 %%p0, %%r4, 3;\n@%%p0 bra AGAIN;\n"); /* 6 times so far */
    for (unsigned n = 0; n < 8; n++)
        say(&t, "add.f32 %%s%u, %%s%u, 0f3f800000;\nmov.f32 %%s%u, %%s%u;\n", n, n, n + 8, n);
    say(&t, "@%%p2 bra OVER;\n");
    say_product(&t, &p);
    say(&t, "OVER:\n");
    for (unsigned n = 0; n < 8; n++) say(&t, "mul.f32 %%s%u, %%s%u, 0f40000000;\n", n, n);
    say_product(&t, &p);
    for (unsigned n = 0; n < 8; n += 2) say(&t, "sub.f32 %%s%u, %%s%u, %%s%u;\n", n, n, n + 8);
    say(&t, "bar.sync 0;\n");
    say_store(&t, "s", 8);
    say(&t, "ret;\n}\n");
    CHECK(launch(compiled(&m, t.bytes), descriptor(&p.la, M, 16), descriptor(&p.lb, p.n, 16)));
    CHECK(cuModuleUnload(m));
    for (unsigned i = 0; i < M; i++)
        for (unsigned j = 0; j < p.n; j++) {
            double each = 0, six;
            for (unsigned k = 0; k < 16; k++) each += a[i][k] * b[j][k];
            six = sums[i][j] + 6 * each + 1;
            sums[i][j] = (six + (i >= 32 ? each : 0)) * 2 + each;
            if ((j % 2 == 0)) sums[i][j] -= six;
        }
    EXPECT_EQUAL(wrong(&p), 0);
}

/* As observed on an H200: what lies far below the largest is cut off before it is added, and the sum is cut off. */
static void sums_are_rounded_as_on_a_device(void)
{
    static const struct {
        enum element type;
        unsigned count;
        uint32_t a, b, c, sum; /* so many products a b, and c */
    } cases[] = {
        { F16, 3, 0x0c00, 0x0c00, 0x3f800000, 0x3f800001 }, /* 1 + 3/2 of a last bit */
        { F16, 1, 0x0c00, 0x0800, 0xbf800000, 0xbf7fffff }, /* -1 + half of a last bit of what is below */
        { F16, 3, 0x0c00, 0x0800, 0x3f800000, 0x3f800000 }, /* 1 + 3/4 of a last bit */
        { F16, 1, 0x7c00, 0x0000, 0x3f800000, 0x7fffffff }, /* infinity times zero */
        { F16, 1, 0x3c00, 0x3c00, 0x7fc12345, 0x7fffffff },
        { E5M2, 1, 0x20, 0x20, 0xbf800000, 0xbf800000 }, /* -1 + 2^-14 */
        { E5M2, 3, 0x20, 0x20, 0x3f800000, 0x3f800000 },
    };
    static struct text t;
    for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct product p = {
            .d = F32, .a = cases[k].type, .b = cases[k].type, .n = 8, .la = plain_a, .lb = plain_b, .keeps = true
        };
        unsigned size = sizes[p.a], depths = 32 / size;
        CUmodule m;
        memset(image, 0, sizeof image);
        for (unsigned n = 0; n < cases[k].count; n++) {
            memcpy(image + place(&p.la, size, M, depths, 0, n * 5), &cases[k].a, size);
            memcpy(image + place(&p.lb, size, p.n, depths, 0, n * 5), &cases[k].b, size);
        }
        words[0] = cases[k].c;
        say_kernel(&t, &p);
        CHECK(launch(compiled(&m, t.bytes), descriptor(&p.la, M, depths), descriptor(&p.lb, p.n, depths)));
        EXPECT_EQUAL(words[0], cases[k].sum);
        CHECK(cuModuleUnload(m));
    }
}

static void matrices_that_are_not_there_are_faults(void)
{
    static struct text t;
    struct product p = { .d = F32, .a = F16, .b = F16, .n = 16, .la = plain_a, .lb = plain_b };
    CUmodule m;
    say_kernel(&t, &p);
    EXPECT_EQUAL(launch(compiled(&m, t.bytes), descriptor(&p.la, M, 16), 0x3fff), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void products_that_are_none_do_not_compile(void)
{
    static const struct {
        const char *from, *to;
    } changes[] = {
        { "%p1, 1, 1, 0, 0", "%p1, 1, 1, 0" },
        { "%p1, 1, 1, 0, 0", "%p1, 1, 2, 0, 0" },
        { "%p1, 1, 1, 0, 0", "%p1, 1, 1, 0, 2" },
        { "m64n8k16", "m64n16k16" },
        { "m64n8k16", "m64n8k8" },
        { "{%s0, %s1", "{%s1, %s1" },
        { "{%s0, %s1", "{%d0, %s1" },
        { "wait_group.sync.aligned 0", "wait_group.sync.aligned" },
    };
    static struct text t, other;
    struct product p = { .d = F32, .a = F16, .b = F16, .n = 8, .la = plain_a, .lb = plain_b };
    CUmodule m;
    CUfunction f;
    say_kernel(&t, &p);
    for (unsigned k = 0; k < sizeof changes / sizeof *changes; k++) {
        const char *at = strstr(t.bytes, changes[k].from);
        EXPECT(at != NULL);
        other.size = 0;
        say(&other, "%.*s%s%s", (int)(at - t.bytes), t.bytes, changes[k].to, at + strlen(changes[k].from));
        CUresult r = cuModuleLoadData(&m, other.bytes);
        if (!r && !cuModuleGetFunction(&f, m, "k"))
            r = cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){ image, image, image, image, image },
                               NULL);
        if (!r) printf("%s\n", changes[k].to);
        EXPECT(r == CUDA_ERROR_INVALID_PTX || r == CUDA_ERROR_NOT_SUPPORTED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(with_context, all_types_multiply),
        ALONE(with_context, all_widths_multiply),
        ALONE(with_context, matrices_lie_as_descriptors_say),
        ALONE(with_context, patterns_begin_where_the_base_offset_says),
        ALONE(with_context, signs_are_changed_and_sums_bounded),
        ALONE(with_context, sums_go_from_product_to_product),
        ALONE(with_context, sums_are_rounded_as_on_a_device),
        ALONE(with_context, matrices_that_are_not_there_are_faults),
        ALONE(with_context, products_that_are_none_do_not_compile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
