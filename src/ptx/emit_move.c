/* mov in all its forms: registers, constants, special registers, addresses,
 * packing and unpacking of vectors. */
#include "emit.h"

/* The type of each of v's elements, if together they have bits. */
static enum ptx_type element_type(const struct instr *i, const struct operand *v, unsigned bits)
{
    enum ptx_type type = T_none;
    if (v->count < 2 || bits % v->count) fail(i, "the vector's length does not fit");
    switch (bits / v->count) {
    case 8: type = T_b8; break;
    case 16: type = T_b16; break;
    case 32: type = T_b32; break;
    case 64: type = T_b64; break;
    default: fail(i, "the vector's length does not fit");
    }
    for (uint32_t k = 0; k < v->count; k++)
        if (v->elements[k].kind == OPERAND_reg && type_bits(v->elements[k].reg->type) != type_bits(type))
            fail(i, "the vector's elements do not fit");
    return type;
}

static const char *pack(struct emitter *e, const struct instr *i, const struct operand *v, unsigned bits)
{
    enum ptx_type type = element_type(i, v, bits);
    unsigned part = type_bits(type);
    const char *sum = NULL;
    for (uint32_t k = 0; k < v->count; k++) {
        const char *x = emit(e, "zext %s %s to %s", lltype(type), value(e, &v->elements[k], type), lltype_bits(bits));
        if (k) x = emit(e, "shl %s %s, %u", lltype_bits(bits), x, k * part);
        sum = sum ? emit(e, "or %s %s, %s", lltype_bits(bits), sum, x) : x;
    }
    return sum;
}

static void unpack(struct emitter *e, const struct instr *i, const struct operand *d, const char *v, unsigned bits)
{
    enum ptx_type type = element_type(i, d, bits);
    unsigned part = type_bits(type);
    for (uint32_t k = 0; k < d->count; k++) {
        const char *x = k ? emit(e, "lshr %s %s, %u", lltype_bits(bits), v, k * part) : v;
        result(e, &d->elements[k], type, emit(e, "trunc %s %s to %s", lltype_bits(bits), x, lltype_bits(part)));
    }
}

bool emit_move(struct emitter *e, const struct instr *i)
{
    if (i->op != OP_mov) return false;
    need_operands(i, 2, 2);
    enum ptx_type type = need_type(i, 0);
    const struct operand *d = &i->ops[0], *s = &i->ops[1];
    unsigned bits = type_bits(type);
    if (has(i, MOD_v2) || has(i, MOD_v4)) {
        if (d->kind != OPERAND_vector || s->kind != OPERAND_vector || d->count != s->count)
            fail(i, "the vector's length does not fit");
        const char *v[8];
        for (uint32_t k = 0; k < d->count && k < 8; k++) v[k] = value(e, &s->elements[k], type);
        for (uint32_t k = 0; k < d->count && k < 8; k++) result(e, &d->elements[k], type, v[k]);
        return true;
    }
    if (d->kind == OPERAND_vector && s->kind == OPERAND_vector) fail(i, "one side is a scalar");
    if (s->kind == OPERAND_vector) {
        fits(e, d, type);
        const char *v = pack(e, i, s, bits);
        if (is_float_value(type)) v = emit(e, "bitcast %s %s to %s", lltype_bits(bits), v, lltype(type));
        result(e, d, type, v);
        return true;
    }
    if (d->kind == OPERAND_vector) {
        fits(e, s, type);
        const char *v = value(e, s, type);
        if (is_float_value(type)) v = emit(e, "bitcast %s %s to %s", lltype(type), v, lltype_bits(bits));
        unpack(e, i, d, v, bits);
        return true;
    }
    fits(e, d, type);
    fits(e, s, type);
    if (s->kind == OPERAND_float && !is_float_value(type) && (type_integer(type) || bits < 32))
        fail(i, "a floating-point constant does not fit here");
    result(e, d, type, value(e, s, type));
    return true;
}
