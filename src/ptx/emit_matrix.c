/* Matrix operations of warps: mma and wmma, and the ways of fragments to and
 * from memory. Registers go to the run time and come back (FL_WARP_MMA ... in
 * abi.h), as for all operations of warps; the product is made in
 * src/device/matrix.c. */
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

bool matrix_type(enum ptx_type t, enum fl_matrix_type *type)
{
    static const struct {
        enum ptx_type name;
        enum fl_matrix_type type;
    } known[] = { { T_f16, FL_MATRIX_F16 },   { T_bf16, FL_MATRIX_BF16 }, { T_tf32, FL_MATRIX_TF32 },
                  { T_e4m3, FL_MATRIX_E4M3 }, { T_e5m2, FL_MATRIX_E5M2 }, { T_s8, FL_MATRIX_S8 },
                  { T_u8, FL_MATRIX_U8 },     { T_s4, FL_MATRIX_S4 },     { T_u4, FL_MATRIX_U4 },
                  { T_b1, FL_MATRIX_B1 },     { T_f64, FL_MATRIX_F64 },   { T_f32, FL_MATRIX_F32 },
                  { T_s32, FL_MATRIX_S32 } };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (known[k].name == t) {
            *type = known[k].type;
            return true;
        }
    return false;
}

static enum fl_matrix_type type_of_element(const struct instr *i, unsigned n)
{
    enum fl_matrix_type type;
    if (!matrix_type(i->types[n], &type)) unsupported(i, NULL);
    return type;
}

struct product {
    struct fl_matrix_product p;
    unsigned regs_d, regs_a, regs_b, regs_c;
};

/* Since PTX 6.3 it has to be said. */
static void check_aligned(const struct emitter *e, const struct instr *i)
{
    if (e->module->version >= 63 && !has(i, MOD_aligned)) fail(i, "it must be .aligned");
}

/* What is said of A, or of B. */
static bool by_rows(const struct instr *i, unsigned matrix)
{
    const char *at = i->text;
    while ((at = strchr(at, '.')) && ((strncmp(at, ".row", 4) && strncmp(at, ".col", 4)) || matrix--)) at++;
    return at && at[1] == 'r';
}

static struct product product_of(const struct instr *i)
{
    const struct shape s = shape_of(i);
    const bool halves = i->op == OP_wmma && i->ntypes == 2; /* f16: only D's and C's types are told */
    if (i->ntypes != 4 && !halves) unsupported(i, NULL);
    struct product m = { .p = { .rows = s.m, .depth = s.k, .columns = s.n } };
    struct fl_matrix_product *p = &m.p;
    p->d = type_of_element(i, 0);
    p->a = halves ? FL_MATRIX_F16 : type_of_element(i, 1);
    p->b = halves ? FL_MATRIX_F16 : type_of_element(i, 2);
    p->c = type_of_element(i, halves ? 1 : 3);
    p->wmma = i->op == OP_wmma;
    p->saturated = has(i, MOD_satfinite);
    p->differing = has(i, MOD_xor);
    p->sparse = has(i, MOD_sp);
    p->rounding = has(i, MOD_rz) ? FL_ROUND_ZERO : has(i, MOD_rm) ? FL_ROUND_DOWN : has(i, MOD_rp) ? FL_ROUND_UP
                                                                                                   : FL_ROUND_NEAREST;
    const bool quads = fl_product_quads(p);
    const unsigned lanes = quads ? 8 : LANES;
    if (!quads && (!p->wmma || fl_matrix_packed(p->a) > 4) && !strstr(i->text, ".row.col"))
        fail(i, "A is .row and B .col");
    p->a_turned = quads && !by_rows(i, 0);
    p->b_turned = quads && by_rows(i, 1);
    if (s.m > 32 || s.n > 32 || s.m * s.k > FL_MATRIX_MOST) unsupported(i, NULL);
    m.regs_a = fl_product_registers(p, p->a, s.m * s.k >> p->sparse);
    m.regs_b = fl_product_registers(p, p->b, s.k * s.n);
    m.regs_c = s.m * s.n / lanes / fl_matrix_packed(p->c);
    m.regs_d = s.m * s.n / lanes / fl_matrix_packed(p->d);
    unsigned words = m.regs_a * fl_matrix_words(p->a) + m.regs_b * fl_matrix_words(p->b) +
                     m.regs_c * fl_matrix_words(p->c) + p->sparse;
    if (!m.regs_a || !m.regs_b || !m.regs_c || !m.regs_d || words > FL_MATRIX_WORDS) unsupported(i, NULL);
    return m;
}

/* Which of the lanes have metadata: as many of each four as it takes. */
static unsigned selector_of(const struct instr *i, const struct fl_matrix_product *p)
{
    const unsigned count = p->depth / 2 / fl_matrix_told(p->a);
    if (i->ops[5].kind != OPERAND_int || i->ops[5].bits >= 16 / count)
        fail(i, "the selector does not fit the shape");
    return (unsigned)i->ops[5].bits;
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
        struct fl_matrix_product p = product_of(i).p;
        need_operands(i, p.sparse ? 6 : 4, p.sparse ? 6 : 4);
        if (p.sparse) p.selector = selector_of(i, &p);
        s->op = FL_WARP_MMA;
        s->imm0 = fl_product_imm0(&p);
        s->imm1 = fl_product_imm1(&p);
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
        struct product m = product_of(i);
        check_aligned(e, i);
        unsigned at = put(e, i, 1, m.regs_a, fl_matrix_words(m.p.a), 0);
        at = put(e, i, 2, m.regs_b, fl_matrix_words(m.p.b), at);
        at = put(e, i, 3, m.regs_c, fl_matrix_words(m.p.c), at);
        if (m.p.sparse) put(e, i, 4, 1, 1, at);
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
        struct product m = product_of(i);
        get(e, i, m.regs_d, fl_matrix_words(m.p.d));
    }
}

/* ---- wmma.load, wmma.store: each lane by itself */

struct fragment {
    enum fl_fragment_part part;
    enum fl_matrix_type type;
    unsigned rows, columns;
    unsigned registers, different; /* of a lane; after so many they are there again */
    unsigned bits, per;            /* of what is accessed at once, and how many such a register has */
    bool by_rows, store;
};

static struct fragment fragment_of(const struct instr *i)
{
    const struct shape s = shape_of(i);
    const bool a = has(i, MOD_a), b = has(i, MOD_b);
    const struct fl_matrix_product p = { .wmma = true };
    if (i->ntypes != 1 || has(i, MOD_row) == has(i, MOD_col)) unsupported(i, NULL);
    struct fragment f = { .part = a ? FL_FRAGMENT_A : b ? FL_FRAGMENT_B : FL_FRAGMENT_C,
                          .type = type_of_element(i, 0),
                          .rows = b ? s.k : s.m,
                          .columns = a ? s.k : s.n,
                          .by_rows = has(i, MOD_row),
                          .store = has(i, MOD_store) };
    const unsigned elements = f.rows * f.columns, packed = fl_matrix_packed(f.type);
    f.different = elements / LANES / packed;
    f.registers = a || b ? fl_product_registers(&p, f.type, elements) : f.different;
    f.per = packed > 4 ? 1 : packed;
    f.bits = 32 * fl_matrix_words(f.type) / f.per;
    if (!f.different || (packed > 4 && f.by_rows == b)) unsupported(i, NULL);
    return f;
}

/* Where the n-th part of the lane's register r is. */
static const char *element_at(struct emitter *e, const struct fragment *f, const char *base, const char *stride,
                              unsigned r, unsigned n)
{
    const struct fl_fragment_place p = fl_fragment_place(f->part, f->type, f->rows, f->columns, r % f->different, n);
    const unsigned bits = 32 * fl_matrix_words(f->type) / fl_matrix_packed(f->type);
    const bool turned = fl_fragment_turned(f->part, f->columns);
    const char *across = emit(e, "lshr i32 %s, 2", emit(e, "and i32 %s, 31", e->t)),
               *along = emit(e, "mul i32 %s, %u", emit(e, "and i32 %s, 3", e->t), fl_fragment_step(f->part, f->type));
    const char *row = emit(e, "add i32 %s, %u", turned ? along : across, p.row),
               *column = emit(e, "add i32 %s, %u", turned ? across : along, p.column);
    const char *place = emit(e, "add i32 %s, %s", emit(e, "mul i32 %s, %s", f->by_rows ? row : column, stride),
                             f->by_rows ? column : row);
    return emit(e, "getelementptr i8, ptr %s, i64 %s", base,
                emit(e, "lshr i64 %s, 3", emit(e, "mul i64 %s, %u", emit(e, "zext i32 %s to i64", place), bits)));
}

bool emit_matrix(struct emitter *e, const struct instr *i)
{
    if (i->op != OP_wmma) return false;
    if (!has(i, MOD_load) && !has(i, MOD_store)) unsupported(i, NULL);
    check_aligned(e, i);
    struct fragment f = fragment_of(i);
    unsigned memory = f.store ? 0 : 1, bits = f.bits, whole = 32 * fl_matrix_words(f.type);
    need_operands(i, 2, 3);
    const char *group, *base = address_of(e, i, &i->ops[memory], i->space, bits / 8, &group),
                       *stride = i->nops > 2 ? value(e, &i->ops[2], T_b32) : arena_printf("%u", f.by_rows ? f.columns : f.rows);
    for (unsigned r = 0; r < f.registers; r++) {
        const struct operand *o = element(i, f.store ? 1 : 0, r, f.registers);
        const char *v = f.store ? value(e, o, whole == 64 ? T_b64 : T_b32) : "0";
        for (unsigned k = 0; k < f.per; k++) {
            const char *p = element_at(e, &f, base, stride, r, k);
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
