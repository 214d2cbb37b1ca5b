/* Matrix operations of warps: mma and wmma, and the ways of fragments to and
 * from memory. Registers go to the run time and come back (FL_WARP_MMA ... in
 * abi.h), as for all operations of warps; the product is made in
 * src/device/matrix.c. The fragments of wmma are laid out as we please. */
#include "abi.h"
#include "arena.h"
#include "emit.h"
#include "image.h"

#include <stdio.h>
#include <string.h>

enum { LANES = 32 };

struct shape {
    unsigned m, n, k;
};

bool is_matrix(const struct instr *i)
{
    return i->op == OP_mma || i->op == OP_ldmatrix || i->op == OP_stmatrix || i->op == OP_movmatrix || i->op == OP_wmma;
}

static struct shape shape_of(const struct instr *i)
{
    struct shape s = { 0 };
    const char *at = strstr(i->text, ".m");
    while (at && sscanf(at, ".m%un%uk%u", &s.m, &s.n, &s.k) != 3) at = strstr(at + 1, ".m");
    if (!at) unsupported(i, NULL);
    return s;
}

static enum fl_matrix_type matrix_type(const struct instr *i, enum ptx_type t)
{
    switch (t) {
    case T_f16: return FL_MATRIX_F16;
    case T_bf16: return FL_MATRIX_BF16;
    case T_tf32: return FL_MATRIX_TF32;
    case T_s8: return FL_MATRIX_S8;
    case T_u8: return FL_MATRIX_U8;
    case T_f64: return FL_MATRIX_F64;
    case T_f32: return FL_MATRIX_F32;
    case T_s32: return FL_MATRIX_S32;
    case T_e4m3: return FL_MATRIX_E4M3;
    case T_e5m2: return FL_MATRIX_E5M2;
    default: unsupported(i, NULL); return FL_MATRIX_F16;
    }
}

struct product {
    struct shape shape;
    enum fl_matrix_type d, a, b, c;
    unsigned regs_d, regs_a, regs_b, regs_c;
};

/* Of a wmma: elements of f16 matrices are there twice or more. */
static unsigned wmma_registers(enum fl_matrix_type t, unsigned elements, bool accumulator)
{
    if (t == FL_MATRIX_F16 && !accumulator) return 8;
    return elements / LANES / fl_matrix_packed(t) ? elements / LANES / fl_matrix_packed(t) : 1;
}

static bool wmma_shape(const struct product *p)
{
    const struct shape s = p->shape;
    bool large = s.k == 16 && ((s.m == 16 && s.n == 16) || (s.m == 32 && s.n == 8) || (s.m == 8 && s.n == 32));
    if (p->a != p->b) return false;
    switch (p->a) {
    case FL_MATRIX_F16:
        return large && (p->c == FL_MATRIX_F16 || p->c == FL_MATRIX_F32) &&
               (p->d == FL_MATRIX_F16 || p->d == FL_MATRIX_F32);
    case FL_MATRIX_BF16: return large && p->c == FL_MATRIX_F32 && p->d == FL_MATRIX_F32;
    case FL_MATRIX_S8:
    case FL_MATRIX_U8: return large && p->c == FL_MATRIX_S32 && p->d == FL_MATRIX_S32;
    case FL_MATRIX_TF32: return s.m == 16 && s.n == 16 && s.k == 8 && p->c == FL_MATRIX_F32 && p->d == FL_MATRIX_F32;
    case FL_MATRIX_F64: return s.m == 8 && s.n == 8 && s.k == 4 && p->c == FL_MATRIX_F64 && p->d == FL_MATRIX_F64;
    default: return false;
    }
}

static bool mma_shape(const struct product *p)
{
    const struct shape s = p->shape;
    bool half = p->c == FL_MATRIX_F16;
    if (s.n != 8) return false;
    switch (p->a) {
    case FL_MATRIX_F16:
        return p->b == p->a && s.m == 16 && (s.k == 8 || s.k == 16) && p->d == p->c && (half || p->c == FL_MATRIX_F32);
    case FL_MATRIX_BF16:
        return p->b == p->a && s.m == 16 && (s.k == 8 || s.k == 16) && p->d == FL_MATRIX_F32 && p->c == FL_MATRIX_F32;
    case FL_MATRIX_TF32:
        return p->b == p->a && s.m == 16 && (s.k == 4 || s.k == 8) && p->d == FL_MATRIX_F32 && p->c == FL_MATRIX_F32;
    case FL_MATRIX_S8:
    case FL_MATRIX_U8:
        return (p->b == FL_MATRIX_S8 || p->b == FL_MATRIX_U8) && p->d == FL_MATRIX_S32 && p->c == FL_MATRIX_S32 &&
               ((s.m == 8 && s.k == 16) || (s.m == 16 && (s.k == 16 || s.k == 32)));
    case FL_MATRIX_E4M3:
    case FL_MATRIX_E5M2:
        return (p->b == FL_MATRIX_E4M3 || p->b == FL_MATRIX_E5M2) && s.m == 16 && (s.k == 16 || s.k == 32) &&
               p->d == p->c && (half || p->c == FL_MATRIX_F32);
    case FL_MATRIX_F64:
        return p->b == p->a && p->d == FL_MATRIX_F64 && p->c == FL_MATRIX_F64 &&
               ((s.m == 8 && s.k == 4) || (s.m == 16 && (s.k == 4 || s.k == 8 || s.k == 16)));
    default: return false;
    }
}

static struct product product_of(const struct instr *i)
{
    struct product p = { .shape = shape_of(i) };
    const struct shape s = p.shape;
    bool wmma = i->op == OP_wmma, halves = wmma && i->ntypes == 2; /* f16: only D's and C's types are told */
    if (i->ntypes != 4 && !halves) unsupported(i, NULL);
    p.d = matrix_type(i, i->types[0]);
    p.a = halves ? FL_MATRIX_F16 : matrix_type(i, i->types[1]);
    p.b = halves ? FL_MATRIX_F16 : matrix_type(i, i->types[2]);
    p.c = matrix_type(i, i->types[halves ? 1 : 3]);
    if (wmma ? !wmma_shape(&p) : !mma_shape(&p)) unsupported(i, NULL);
    if (wmma) {
        p.regs_a = wmma_registers(p.a, s.m * s.k, false);
        p.regs_b = wmma_registers(p.b, s.k * s.n, false);
        p.regs_c = wmma_registers(p.c, s.m * s.n, true);
        p.regs_d = wmma_registers(p.d, s.m * s.n, true);
    } else {
        p.regs_b = s.k / (4 * fl_matrix_packed(p.b));
        p.regs_a = s.m / 8 * s.k / (4 * fl_matrix_packed(p.a));
        p.regs_c = p.regs_d = s.m / 8 * (p.c == FL_MATRIX_F16 ? 1 : 2);
    }
    return p;
}

/* Rows of 8 times 16 bytes in ldmatrix, stmatrix. */
static unsigned matrices(const struct instr *i)
{
    if (!strstr(i->text, ".m8n8") || !i->ntypes || i->types[0] != T_b16) unsupported(i, NULL);
    return has(i, MOD_x4) ? 4 : has(i, MOD_x2) ? 2 : 1;
}

void matrix_describe(const struct instr *i, struct fl_image_segment *s)
{
    s->flags |= FL_SEG_FULL_MASK;
    s->width = 32;
    if (i->op == OP_movmatrix) {
        if (!strstr(i->text, ".m8n8") || !has(i, MOD_trans)) unsupported(i, NULL);
        s->op = FL_WARP_TRANSPOSE;
    } else if (i->op == OP_ldmatrix || i->op == OP_stmatrix) {
        s->op = FL_WARP_ROWS;
        s->imm0 = matrices(i) | (has(i, MOD_trans) ? (uint32_t)FL_ROWS_TRANSPOSED : 0);
    } else {
        struct product p = product_of(i);
        const struct fl_matrix_product product = { .rows = p.shape.m,
                                                   .depth = p.shape.k,
                                                   .columns = p.shape.n,
                                                   .a = p.a,
                                                   .b = p.b,
                                                   .c = p.c,
                                                   .d = p.d,
                                                   .saturated = has(i, MOD_satfinite),
                                                   .wmma = i->op == OP_wmma };
        s->op = FL_WARP_MMA;
        s->imm0 = fl_product_imm0(&product);
        s->imm1 = fl_product_imm1(&product);
    }
}

/* ---- registers to and from the run time */

static const char *word(struct emitter *e, unsigned n)
{
    const char *base = block_field(e, "ptr", offsetof(struct fl_block, op_matrix));
    const char *mine = emit(e, "mul nuw nsw i64 %s, %u", emit(e, "zext i32 %s to i64", e->t), FL_MATRIX_WORDS);
    return emit(e, "getelementptr i32, ptr %s, i64 %s", base, emit(e, "add i64 %s, %u", mine, n));
}

static const struct operand *element(const struct instr *i, unsigned operand, unsigned n, unsigned count)
{
    if (i->nops <= operand) fail(i, "wrong number of operands");
    const struct operand *o = &i->ops[operand];
    if (o->kind != OPERAND_vector && count == 1) return o;
    if (o->kind != OPERAND_vector || o->count != count) fail(i, "the number of registers does not fit the shape");
    return &o->elements[n];
}

static unsigned put(struct emitter *e, const struct instr *i, unsigned operand, unsigned count, unsigned words,
                    unsigned at)
{
    for (unsigned n = 0; n < count; n++, at += words) {
        const char *v = value(e, element(i, operand, n, count), words == 2 ? T_b64 : T_b32);
        emit_void(e, "store i%u %s, ptr %s, align 4", words * 32, v, word(e, at));
    }
    return at;
}

static void get(struct emitter *e, const struct instr *i, unsigned count, unsigned words)
{
    for (unsigned n = 0; n < count; n++)
        result(e, element(i, 0, n, count), words == 2 ? T_b64 : T_b32,
               emit(e, "load i%u, ptr %s, align 4", words * 32, word(e, n * words)));
}

void matrix_suspend(struct emitter *e, const struct instr *i)
{
    if (i->op == OP_movmatrix) {
        need_operands(i, 2, 2);
        put(e, i, 1, 1, 1, 0);
    } else if (i->op == OP_ldmatrix || i->op == OP_stmatrix) {
        unsigned memory = i->op == OP_ldmatrix ? 1 : 0;
        const char *group, *t = emit(e, "zext i32 %s to i64", e->t);
        need_operands(i, 2, 2);
        /* lanes whose row is not among the matrices need not have an address */
        const char *p = address_of(e, i, &i->ops[memory], i->space, 1, &group);
        emit_void(
            e, "store i64 %s, ptr %s", emit(e, "ptrtoint ptr %s to i64", p),
            emit(e, "getelementptr i64, ptr %s, i64 %s", block_field(e, "ptr", offsetof(struct fl_block, op_a)), t));
        if (i->op == OP_stmatrix) put(e, i, 1, matrices(i), 1, FL_MATRIX_DATA);
    } else {
        struct product p = product_of(i);
        need_operands(i, 4, 4);
        unsigned at = put(e, i, 1, p.regs_a, fl_matrix_words(p.a), 0);
        at = put(e, i, 2, p.regs_b, fl_matrix_words(p.b), at);
        put(e, i, 3, p.regs_c, fl_matrix_words(p.c), at);
    }
}

/* The place of the n-th pair, or half of one, that this lane accesses. */
static const char *place(struct emitter *e, const struct instr *i, unsigned n)
{
    const char *a = emit(e, "load i64, ptr %s, align 4", word(e, n * 2));
    tell_place(e, i);
    return emit(e, "getelementptr i8, ptr null, i64 %s", a);
}

static void rows_access(struct emitter *e, const struct instr *i)
{
    unsigned count = matrices(i);
    bool trans = has(i, MOD_trans), store = i->op == OP_stmatrix;
    for (unsigned n = 0; n < count; n++) {
        const char *v = store ? emit(e, "load i32, ptr %s, align 4", word(e, FL_MATRIX_DATA + n)) : NULL;
        if (!trans && store) {
            emit_void(e, "store i32 %s, ptr %s, align 4", v, place(e, i, n));
        } else if (!trans) {
            result(e, element(i, 0, n, count), T_b32, emit(e, "load i32, ptr %s, align 4", place(e, i, n)));
        } else if (store) {
            emit_void(e, "store i16 %s, ptr %s", emit(e, "trunc i32 %s to i16", v), place(e, i, n * 2));
            v = emit(e, "lshr i32 %s, 16", v);
            emit_void(e, "store i16 %s, ptr %s", emit(e, "trunc i32 %s to i16", v), place(e, i, n * 2 + 1));
        } else {
            const char *lo = emit(e, "zext i16 %s to i32", emit(e, "load i16, ptr %s", place(e, i, n * 2)));
            const char *hi = emit(e, "zext i16 %s to i32", emit(e, "load i16, ptr %s", place(e, i, n * 2 + 1)));
            result(e, element(i, 0, n, count), T_b32, emit(e, "or i32 %s, %s", lo, emit(e, "shl i32 %s, 16", hi)));
        }
    }
}

void matrix_resume(struct emitter *e, const struct instr *i)
{
    if (i->op == OP_movmatrix) {
        get(e, i, 1, 1);
    } else if (i->op == OP_ldmatrix || i->op == OP_stmatrix) {
        rows_access(e, i);
    } else {
        struct product p = product_of(i);
        get(e, i, p.regs_d, fl_matrix_words(p.d));
    }
}

/* ---- wmma.load, wmma.store: each lane by itself */

struct fragment {
    enum fl_matrix_type type;
    unsigned columns, registers, each; /* elements of a lane */
    bool by_rows, store;
};

static struct fragment fragment_of(const struct instr *i)
{
    struct shape s = shape_of(i);
    struct fragment f = { .by_rows = has(i, MOD_row), .store = has(i, MOD_store) };
    if (i->ntypes != 1 || has(i, MOD_row) == has(i, MOD_col)) unsupported(i, NULL);
    f.type = matrix_type(i, i->types[0]);
    bool a = has(i, MOD_a), accumulator = has(i, MOD_c) || has(i, MOD_d);
    unsigned rows = has(i, MOD_b) ? s.k : s.m;
    f.columns = a ? s.k : s.n;
    f.each = rows * f.columns / LANES;
    f.registers = wmma_registers(f.type, rows * f.columns, accumulator);
    struct product p = { .shape = s, .a = f.type, .b = f.type, .c = FL_MATRIX_F32, .d = FL_MATRIX_F32 };
    if (f.type == FL_MATRIX_S8 || f.type == FL_MATRIX_U8) p.c = p.d = FL_MATRIX_S32;
    if (f.type == FL_MATRIX_F64) p.c = p.d = FL_MATRIX_F64;
    if (accumulator && f.type != FL_MATRIX_F64) {
        p.a = p.b = s.k == 8 ? FL_MATRIX_TF32 : FL_MATRIX_F16;
        p.c = p.d = FL_MATRIX_F32;
    }
    if (!wmma_shape(&p)) unsupported(i, NULL);
    return f;
}

/* Where the lane's n-th element is. */
static const char *element_at(struct emitter *e, const struct fragment *f, const char *base, const char *stride,
                              unsigned n)
{
    unsigned bytes = f->type == FL_MATRIX_F64 ? 8 : 4 / fl_matrix_packed(f->type),
             shift = (unsigned)__builtin_ctz(f->columns);
    const char *linear =
        emit(e, "add i32 %s, %u", emit(e, "mul i32 %s, %u", emit(e, "and i32 %s, 31", e->t), f->each), n);
    const char *row = emit(e, "lshr i32 %s, %u", linear, shift),
               *col = emit(e, "and i32 %s, %u", linear, f->columns - 1);
    const char *place =
        emit(e, "add i32 %s, %s", emit(e, "mul i32 %s, %s", f->by_rows ? row : col, stride), f->by_rows ? col : row);
    return emit(e, "getelementptr i8, ptr %s, i64 %s", base,
                emit(e, "mul i64 %s, %u", emit(e, "zext i32 %s to i64", place), bytes));
}

bool emit_matrix(struct emitter *e, const struct instr *i)
{
    if (i->op != OP_wmma) return false;
    if (!has(i, MOD_load) && !has(i, MOD_store)) unsupported(i, NULL);
    struct fragment f = fragment_of(i);
    unsigned memory = f.store ? 0 : 1, bits = f.type == FL_MATRIX_F64 ? 64 : 32 / fl_matrix_packed(f.type),
             per = fl_matrix_packed(f.type), whole = f.type == FL_MATRIX_F64 ? 64 : 32;
    need_operands(i, 2, 3);
    const char *group, *base = address_of(e, i, &i->ops[memory], i->space, bits / 8, &group),
                       *stride = i->nops > 2 ? value(e, &i->ops[2], T_b32) : arena_printf("%u", f.columns);
    for (unsigned r = 0; r < f.registers; r++) {
        const struct operand *o = element(i, f.store ? 1 : 0, r, f.registers);
        const char *v = f.store ? value(e, o, whole == 64 ? T_b64 : T_b32) : "0";
        for (unsigned k = 0; k < per; k++) {
            const char *p = element_at(e, &f, base, stride, (r * per + k) % f.each);
            if (f.store) {
                const char *part = k ? emit(e, "lshr i%u %s, %u", whole, v, k * bits) : v;
                emit_void(e, "store i%u %s, ptr %s", bits,
                          bits == whole ? part : emit(e, "trunc i%u %s to i%u", whole, part, bits), p);
            } else {
                const char *part = emit(e, "load i%u, ptr %s", bits, p);
                if (bits != whole) part = emit(e, "zext i%u %s to i%u", bits, part, whole);
                v = emit(e, "or i%u %s, %s", whole, v, k ? emit(e, "shl i%u %s, %u", whole, part, k * bits) : part);
            }
        }
        if (!f.store) result(e, o, whole == 64 ? T_b64 : T_b32, v);
    }
    return true;
}
