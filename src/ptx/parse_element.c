/* Elements of arrays, which stand for their addresses: a[2], a[r], a[r+1]. The address
 * of one at a register is computed by instructions before the one that names it;
 * what follows the parser knows no others. */
#include "parse.h"

static struct operand of_reg(struct reg *r) { return (struct operand){ .kind = OPERAND_reg, .reg = r }; }

static enum ptx_type number_of(const struct parser *p, const struct reg *r)
{
    bool negative = type_signed(r->type);
    switch (type_bits(r->type)) {
    case 16: return negative ? T_s16 : T_u16;
    case 32: return negative ? T_s32 : T_u32;
    case 64: return negative ? T_s64 : T_u64;
    default: fatal_at(EXIT_INVALID_PTX, p->token.line, "'%s' cannot be an index", r->name);
    }
}

/* array + offset + index * stride */
static struct reg *address_at(struct parser *p, const struct operand *array, struct reg *index)
{
    struct reg *n = reg_new(p, index->name, T_u64), *address = reg_new(p, array->var->name, T_u64);
    struct operand stride = { .kind = OPERAND_int, .bits = array->var->stride };
    const struct instr steps[] = {
        { .op = OP_cvt, .text = "cvt", .types = { T_u64, number_of(p, index) }, .ntypes = 2, .nops = 2,
          .ops = { of_reg(n), of_reg(index) } },
        { .op = OP_mov, .text = "mov", .types = { T_u64 }, .ntypes = 1, .nops = 2, .ops = { of_reg(address), *array } },
        { .op = OP_mad, .text = "mad.lo", .types = { T_u64 }, .ntypes = 1, .nops = 4,
          .mods.bits[MOD_lo / 64] = 1ull << MOD_lo % 64,
          .ops = { of_reg(address), of_reg(n), stride, of_reg(address) } },
    };
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        struct instr step = steps[k];
        step.line = p->token.line;
        code_add(p, &step);
    }
    return address;
}

void parse_element(struct parser *p, struct operand *o)
{
    if (!o->var->stride) fatal_at(EXIT_INVALID_PTX, p->token.line, "'%s' is no array", o->var->name);
    struct reg *index = p->token.kind == TOKEN_WORD ? lookup(p, &p->token, NAME_REG) : NULL;
    if (index) next(p);
    if (!index || accept(p, "+")) o->offset = (int64_t)(constant(p) * o->var->stride);
    expect(p, "]");
    if (index) *o = of_reg(address_at(p, o, index));
    if (p->accesses) o->kind = OPERAND_address;
}
