/* Compares operands with what is legal; see syntax.h. */
#include "arena.h"
#include "syntax_shape.h"

#include <string.h>

/* Whether a register can be an operand of the type; wider: it may be larger. */
static bool register_fits(enum ptx_type have, enum ptx_type want, bool wider)
{
    unsigned has = type_bits(have), wants = type_bits(want);
    if (have == T_pred || want == T_pred) return have == want;
    if (wider ? has < wants : has != wants) return false;
    if (type_bitwise(want) || type_bitwise(have) || have == want) return true;
    return type_integer(want) && (type_integer(have) || have == T_f16x2);
}

static bool is_warp_size(const struct operand *o) { return o->kind == OPERAND_special && o->special == SR_warp_size; }

static bool constant_fits(const struct operand *o, enum ptx_type want)
{
    if (o->kind == OPERAND_int || is_warp_size(o)) return type_integer(want) || type_bitwise(want) || want == T_pred;
    if (o->kind != OPERAND_float) return false;
    return want == T_f32 || want == T_f64 || (want == T_b32 && o->single) || (want == T_b64 && !o->single);
}

static const char *does_not_fit(const struct operand *o, enum ptx_type want)
{
    if (o->kind != OPERAND_reg || !want) return "an operand of this kind does not belong here";
    return arena_printf("register '%s' of type .%s does not fit .%s", o->reg->name, type_name(o->reg->type),
                        type_name(want));
}

static bool is_element(const struct operand *o, const struct slot *s, bool vector)
{
    if (o->kind == OPERAND_reg) return register_fits(o->reg->type, s->type, true) && !(vector && o->paired);
    if (vector && (o->kind == OPERAND_sink || o->kind == OPERAND_special)) return true;
    return strchr("yY", s->kind) && constant_fits(o, s->type);
}

/* A vector of the instruction's length, or, where it has none, a single value. */
static bool elements_fit(const struct operand *o, const struct slot *s, unsigned vector)
{
    if (vector == 1) return is_element(o, s, false);
    if (o->kind != OPERAND_vector || o->count != vector) return false;
    for (unsigned k = 0; k < vector; k++)
        if (!is_element(&o->elements[k], s, true)) return false;
    return true;
}

/* A variable is of the space that the instruction names. */
static bool is_address(const struct operand *o, const struct instr *i)
{
    if (o->kind != OPERAND_address) return false;
    if (o->var && (i->op == OP_st ? o->var->is_argument : i->op == OP_ld && o->var->is_result)) return false;
    if (!o->var && !o->reg && i->space != SPACE_local) return false; /* a number */
    const bool windowless = o->var && (o->var->space == SPACE_param || o->var->space == SPACE_const);
    if (o->var && !i->space2 && i->space != o->var->space && (i->space || windowless)) return false;
    return !o->reg || type_integer(o->reg->type) || type_bitwise(o->reg->type);
}

static bool is_register(const struct operand *o, enum ptx_type type)
{
    return o->kind == OPERAND_reg && register_fits(o->reg->type, type, false);
}

/* Special registers that were smaller before PTX 2.0 */
static bool had_16_bits(enum special s)
{
    return s == SR_tid || s == SR_ntid || s == SR_ctaid || s == SR_nctaid || s == SR_warp_size;
}

/* What has a name, but is no register of the program's. */
static bool named_fits(const struct operand *o, enum ptx_type want)
{
    bool address = o->kind == OPERAND_var || o->kind == OPERAND_func || o->kind == OPERAND_label;
    if (want == T_pred || o->type == T_pred) return o->kind == OPERAND_special && o->type == want;
    if (!type_integer(want) && !type_bitwise(want)) return false;
    if (address || o->special == SR_gridid) return true;
    if (o->kind != OPERAND_special) return false;
    return type_bits(want) == type_bits(o->type) || (type_bits(want) == 16 && had_16_bits(o->special));
}

static bool is_pair(const struct operand *o, enum ptx_type type)
{
    return (o->kind == OPERAND_sink || is_register(o, type)) && (!o->second || o->second->type == T_pred);
}

/* What is named of a video instruction's operand. */
static bool is_part(const char *part)
{
    return !part || (strlen(part) == 2 && strchr(*part == 'b' ? "0123" : *part == 'h' ? "01" : "", part[1]));
}

/* Of n halves or bytes; which: those of both sources, one for each; otherwise some of them, the last one first. */
static bool are_lanes(const char *part, unsigned n, bool which)
{
    char least = (char)('0' + (which ? 2 * n : n));
    if (!part) return true;
    if (*part++ != (n == 2 ? 'h' : 'b') || !*part || (which && strlen(part) != n)) return false;
    for (; *part >= '0' && *part < least; part++)
        if (!which) least = *part;
    return !*part;
}

/* What is written may have parts that nobody wants. */
static bool is_fragment(const struct operand *o, enum ptx_type type, bool written)
{
    if (o->kind != OPERAND_vector) return false;
    for (unsigned k = 0; k < o->count; k++) {
        const struct operand *each = &o->elements[k];
        const bool number = each->kind == OPERAND_reg && (each->reg->type == T_f32 || each->reg->type == T_f64);
        if (each->kind == OPERAND_sink ? !written : !is_register(each, type) || (number && each->reg->type != type))
            return false;
    }
    return true;
}

static bool fits_slot(const struct operand *o, const struct slot *s, const struct instr *i, unsigned vector)
{
    if (o->paired && !strchr("DePQ.", s->kind)) return false;
    if ((o->part && !strchr("sSgkKlL", s->kind)) || (o->minus && !strchr("gG", s->kind))) return false;
    if (o->negated && !strchr(s->type == T_pred ? "pAa." : "p.", s->kind)) return false;
    switch (s->kind) {
    case 'd': return is_register(o, s->type);
    case 'a':
    case 'G': return is_register(o, s->type) || constant_fits(o, s->type);
    case 'S': return is_register(o, s->type) && is_part(o->part);
    case 's':
    case 'g': return (is_register(o, s->type) && is_part(o->part)) || constant_fits(o, s->type);
    case 'k':
    case 'K': return is_register(o, s->type) && are_lanes(o->part, s->kind == 'k' ? 2 : 4, false);
    case 'l':
    case 'L': return is_register(o, s->type) && are_lanes(o->part, s->kind == 'l' ? 2 : 4, true);
    case 'A':
        if (o->var && i->space && i->space != o->var->space) return false;
        return is_register(o, s->type) || constant_fits(o, s->type) || named_fits(o, s->type);
    case 'o':
    case 'D': return is_pair(o, s->type);
    case 'e': return is_pair(o, s->type) && o->kind != OPERAND_sink;
    case 'P': return is_pair(o, s->type) && o->second;
    case 'q':
    case 'Q': return is_pair(o, T_pred) && (o->second || !o->paired || o->kind == OPERAND_reg);
    case 'p': return is_register(o, T_pred) || constant_fits(o, T_u32);
    case 'h': return is_register(o, T_u64) || constant_fits(o, T_u64);
    case 'n': return is_register(o, T_u32) || (o->kind == OPERAND_int && o->bits < 16);
    case 'w': return is_register(o, T_u32) || is_warp_size(o) || (o->kind == OPERAND_int && o->bits % 32 == 0);
    case 'X': return o->kind == OPERAND_sink || elements_fit(o, s, vector);
    case 'x':
    case 'y': return elements_fit(o, s, vector);
    case 'Y':
        return elements_fit(o, s, vector) || (o->kind == OPERAND_special && register_fits(o->type, s->type, true));
    case 'v': return o->kind == OPERAND_vector;
    case '{': return is_fragment(o, s->type, o == i->ops);
    case 'i': return o->kind == OPERAND_int || is_warp_size(o);
    case 'b': return is_register(o, T_u32) || is_warp_size(o) || (o->kind == OPERAND_int && o->bits < 256);
    case 'c': return o->kind == OPERAND_int && (o->bits == 4 || o->bits == 8 || o->bits == 16);
    case 'C': return o->kind == OPERAND_int && o->bits == 16;
    case '_': return o->kind == OPERAND_sink;
    case 'm': return is_address(o, i);
    default: return true;
    }
}

static const char *misfit(const struct shape *shape, const struct instr *i, unsigned vector)
{
    unsigned n = 0;
    for (unsigned k = 0; k < shape->count; k++) {
        const struct slot *s = &shape->slots[k];
        if (n == i->nops && s->optional) continue;
        if (n == i->nops) return "wrong number of operands";
        if (fits_slot(&i->ops[n], s, i, vector))
            n++;
        else if (!s->optional)
            return does_not_fit(&i->ops[n], s->type);
    }
    return n < i->nops ? "wrong number of operands" : NULL;
}

const char *syntax_operands(const struct syntax *s, const struct instr *i)
{
    const char *why = NULL;
    for (uint32_t k = 0; k < s->count; k++) {
        why = misfit(&s->shapes[k], i, s->vector);
        if (!why) return NULL;
    }
    return why;
}
