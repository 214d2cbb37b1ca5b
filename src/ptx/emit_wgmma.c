/* Matrix operations of warpgroups (wgmma). Each warp makes its own 16 rows, at
 * once: nothing of it is ever to be waited for. The sums stay in the threads'
 * context, where the run time changes them (FL_WARP_WGMMA in abi.h). */
#include "abi.h"
#include "emit.h"
#include "kernel.h"

#include <stdio.h>
#include <string.h>

/* Operands, those behind B one after the other; of a sparse matrix there are two more before them. */
enum { D, A, B, METADATA, SELECTOR };
enum { SCALE_D, SCALE_A, SCALE_B, TRANSPOSE };

static unsigned behind_b(const struct instr *i, unsigned n) { return METADATA + (has(i, MOD_sp) ? 2 : 0) + n; }


bool is_wgmma(const struct instr *i) { return i->op == OP_wgmma && has(i, MOD_mma_async); }

static bool a_in_registers(const struct instr *i) { return i->nops > A && i->ops[A].kind == OPERAND_vector; }

/* Integers do not have all widths. */
static bool wide_enough(unsigned columns) { return columns % 16 == 0 || columns == 8 || columns == 24; }

/* Whether matrices of such elements are multiplied into such sums, with such a depth and so many columns. */
static bool fit(const struct fl_warpgroup_product *p, unsigned depth)
{
    bool half_sums = p->d == FL_MATRIX_F16, sums = half_sums || p->d == FL_MATRIX_F32;
    if (depth != FL_WARPGROUP_DEPTH / 4 * fl_matrix_packed(p->a) << p->sparse) return false;
    if (p->columns % 8 || !p->columns || p->columns > 256) return false;
    switch (p->a) {
    case FL_MATRIX_F16: return p->b == p->a && sums;
    case FL_MATRIX_BF16:
    case FL_MATRIX_TF32: return p->b == p->a && p->d == FL_MATRIX_F32;
    case FL_MATRIX_E4M3:
    case FL_MATRIX_E5M2: return (p->b == FL_MATRIX_E4M3 || p->b == FL_MATRIX_E5M2) && sums;
    case FL_MATRIX_S8:
    case FL_MATRIX_U8:
        return (p->b == FL_MATRIX_S8 || p->b == FL_MATRIX_U8) && p->d == FL_MATRIX_S32 && wide_enough(p->columns);
    case FL_MATRIX_B1: return p->b == p->a && p->d == FL_MATRIX_S32 && !p->sparse && wide_enough(p->columns);
    default: return false;
    }
}

static uint64_t immediate(const struct instr *i, unsigned n)
{
    if (i->ops[n].kind != OPERAND_int) fail(i, "a constant was expected");
    return i->ops[n].bits;
}

static bool is_negated(const struct instr *i, unsigned n)
{
    int64_t scale = (int64_t)immediate(i, n);
    if (scale != 1 && scale != -1) fail(i, "matrices are scaled by 1 or -1");
    return scale < 0;
}

static bool is_transposed(const struct instr *i, unsigned n)
{
    if (immediate(i, n) > 1) fail(i, "a matrix is transposed, 1, or not, 0");
    return immediate(i, n);
}

static unsigned registers(const struct fl_warpgroup_product *p) { return p->columns / 2 / fl_matrix_packed(p->d); }

static void check_sums(const struct instr *i, unsigned count)
{
    const struct operand *d = &i->ops[D];
    if (d->kind != OPERAND_vector || d->count != count) fail(i, "the number of registers does not fit the shape");
    for (unsigned k = 0; k < count; k++) {
        const struct operand *o = &d->elements[k];
        if (o->kind != OPERAND_reg || type_bits(o->reg->type) != 32) fail(i, "32-bit registers were expected");
        for (unsigned n = 0; n < k; n++)
            if (d->elements[n].reg == o->reg) fail(i, "a register is there twice");
    }
}

static struct fl_warpgroup_product product_of(const struct instr *i)
{
    struct fl_warpgroup_product p = { .a_in_registers = a_in_registers(i), .saturated = has(i, MOD_satfinite),
                                      .sparse = has(i, MOD_sp) };
    unsigned m = 0, depth = 0;
    const char *shape = strstr(i->text, ".m64n");
    if (!shape || sscanf(shape, ".m%un%uk%u", &m, &p.columns, &depth) != 3 || i->ntypes != 3) unsupported(i, NULL);
    if (!matrix_type(i->types[0], &p.d) || !matrix_type(i->types[1], &p.a) || !matrix_type(i->types[2], &p.b) ||
        !fit(&p, depth))
        unsupported(i, NULL);
    bool integers = p.d == FL_MATRIX_S32, halves = p.a == FL_MATRIX_F16 || p.a == FL_MATRIX_BF16;
    unsigned wanted =
        behind_b(i, integers ? SCALE_A : !halves ? TRANSPOSE : p.a_in_registers ? TRANSPOSE + 1 : TRANSPOSE + 2);
    need_operands(i, wanted, wanted);
    check_sums(i, registers(&p));
    if (!integers) {
        p.a_negated = is_negated(i, behind_b(i, SCALE_A));
        p.b_negated = is_negated(i, behind_b(i, SCALE_B));
    }
    if (halves && !p.a_in_registers) p.a_transposed = is_transposed(i, behind_b(i, TRANSPOSE));
    if (halves) p.b_transposed = is_transposed(i, wanted - 1);
    if (p.sparse) p.selector = (unsigned)immediate(i, SELECTOR);
    if (p.selector >= (fl_matrix_packed(p.a) == 4 ? 1 : 2)) fail(i, "the selector does not fit the shape");
    return p;
}

void wgmma_describe(const struct instr *i, struct fl_image_segment *s)
{
    struct fl_warpgroup_product p = product_of(i);
    s->flags |= FL_SEG_FULL_MASK;
    s->width = 32;
    s->op = FL_WARP_WGMMA;
    s->imm0 = fl_warpgroup_imm0(&p);
}

uint32_t wgmma_sums(const struct instr *i, struct reg *const **regs)
{
    static struct reg *list[FL_WARPGROUP_REGISTERS];
    struct fl_warpgroup_product p = product_of(i);
    for (unsigned k = 0; k < registers(&p); k++) list[k] = i->ops[D].elements[k].reg;
    *regs = list;
    return registers(&p);
}

/* Two of A's four registers. */
static const char *pair(struct emitter *e, const struct instr *i, unsigned n)
{
    const struct operand *a = i->ops[A].elements;
    const char *lo = emit(e, "zext i32 %s to i64", value(e, &a[n], T_b32)),
               *hi = emit(e, "zext i32 %s to i64", value(e, &a[n + 1], T_b32));
    return emit(e, "or i64 %s, %s", lo, emit(e, "shl i64 %s, 32", hi));
}

void wgmma_suspend(struct emitter *e, const struct instr *i)
{
    if (e->whole || !e->kernel) unsupported(i, "in a function that may be called through an address");
    if (a_in_registers(i)) {
        if (i->ops[A].count != 4) fail(i, "the number of registers does not fit the shape");
        lane_put(e, offsetof(struct fl_block, op_a), 8, pair(e, i, 0));
        lane_put(e, offsetof(struct fl_block, op_c), 8, pair(e, i, 2));
    } else {
        lane_put(e, offsetof(struct fl_block, op_a), 8, value(e, &i->ops[A], T_b64));
    }
    lane_put(e, offsetof(struct fl_block, op_b), 8, value(e, &i->ops[B], T_b64));
    if (has(i, MOD_sp)) lane_put(e, offsetof(struct fl_block, op_mask), 4, value(e, &i->ops[METADATA], T_b32));
    lane_put_predicate(e, &i->ops[behind_b(i, SCALE_D)]);
}

bool emit_wgmma(struct emitter *e, const struct instr *i)
{
    (void)e;
    if (i->op != OP_wgmma) return false;
    if (has(i, MOD_wait_group)) {
        need_operands(i, 1, 1);
        immediate(i, 0);
    } else if (has(i, MOD_wgmma_fence) || has(i, MOD_commit_group)) {
        need_operands(i, 0, 0);
    } else {
        fail(i, "an operation is missing");
    }
    return true;
}
