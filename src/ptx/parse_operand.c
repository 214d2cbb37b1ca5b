/* Operands of instructions: registers, special ones too, variables, addresses,
 * constants, vectors of them. */
#include "arena.h"
#include "parse.h"

#include <string.h>

static const struct {
    const char *name;
    enum special special;
    enum ptx_type type;
    bool vector;
} specials[] = {
    { "%tid", SR_tid, T_u32, true },
    { "%ntid", SR_ntid, T_u32, true },
    { "%ctaid", SR_ctaid, T_u32, true },
    { "%nctaid", SR_nctaid, T_u32, true },
    { "%laneid", SR_laneid, T_u32, false },
    { "%warpid", SR_warpid, T_u32, false },
    { "%nwarpid", SR_nwarpid, T_u32, false },
    { "%smid", SR_smid, T_u32, false },
    { "%nsmid", SR_nsmid, T_u32, false },
    { "%gridid", SR_gridid, T_u64, false },
    { "%lanemask_eq", SR_lanemask_eq, T_u32, false },
    { "%lanemask_le", SR_lanemask_le, T_u32, false },
    { "%lanemask_lt", SR_lanemask_lt, T_u32, false },
    { "%lanemask_ge", SR_lanemask_ge, T_u32, false },
    { "%lanemask_gt", SR_lanemask_gt, T_u32, false },
    { "%clock", SR_clock, T_u32, false },
    { "%clock_hi", SR_clock_hi, T_u32, false },
    { "%clock64", SR_clock64, T_u64, false },
    { "%globaltimer", SR_globaltimer, T_u64, false },
    { "%globaltimer_lo", SR_globaltimer_lo, T_u32, false },
    { "%globaltimer_hi", SR_globaltimer_hi, T_u32, false },
    { "%total_smem_size", SR_total_smem_size, T_u32, false },
    { "%aggr_smem_size", SR_aggr_smem_size, T_u32, false },
    { "%dynamic_smem_size", SR_dynamic_smem_size, T_u32, false },
    { "%reserved_smem_offset_begin", SR_reserved_begin, T_u32, false },
    { "%reserved_smem_offset_end", SR_reserved_end, T_u32, false },
    { "%reserved_smem_offset_cap", SR_reserved_cap, T_u32, false },
    { "%reserved_smem_offset_0", SR_reserved_begin, T_u32, false },
    { "%reserved_smem_offset_1", SR_reserved_begin, T_u32, false },
    { "%current_graph_exec", SR_zero, T_u64, false },
    { "%is_explicit_cluster", SR_explicit_cluster, T_pred, false },
    /* where cooperative groups look for the grid's barrier */
    { "%envreg1", SR_workspace_hi, T_u32, false },
    { "%envreg2", SR_workspace_lo, T_u32, false },
    { "%clusterid", SR_clusterid, T_u32, true },
    { "%nclusterid", SR_nclusterid, T_u32, true },
    { "%cluster_ctaid", SR_cluster_ctaid, T_u32, true },
    { "%cluster_nctaid", SR_cluster_nctaid, T_u32, true },
    { "%cluster_ctarank", SR_cluster_ctarank, T_u32, false },
    { "%cluster_nctarank", SR_cluster_nctarank, T_u32, false },
    { "WARP_SZ", SR_warp_size, T_u32, false },
};

/* Which component the token names, .x or .r; -1: none */
static int component(const struct token *t)
{
    static const char *const parts[] = { ".x", ".y", ".z", ".w", ".r", ".g", ".b", ".a" };
    int c = 0;
    while (c < 8 && !token_is(t, parts[c])) c++;
    return c == 8 ? -1 : c % 4;
}

/* All components of a special register */
static void special_vector(struct operand *o)
{
    const struct operand each = *o;
    *o = (struct operand){ .kind = OPERAND_vector };
    for (uint8_t k = 0; k < 4; k++) {
        ARENA_PUSH(o->elements, o->count) = each;
        o->elements[k].component = k;
    }
}

/* %envreg0 to %envreg31, %pm0 to %pm7: nothing is in them. */
static bool numbered_register(struct parser *p, struct operand *o)
{
    static const struct {
        const char *before, *behind;
        unsigned count;
        enum ptx_type type;
    } kinds[] = { { "%envreg", "", 32, T_u32 },
                  { "%pm", "", 8, T_u32 },
                  { "%pm", "_64", 8, T_u64 } };
    if (p->token.length < 4 || *p->token.text != '%' || lookup(p, &p->token, NAME_REG)) return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (unsigned n = 0; n < kinds[i].count; n++) {
            char name[32];
            snprintf(name, sizeof name, "%s%u%s", kinds[i].before, n, kinds[i].behind);
            if (!token_is(&p->token, name)) continue;
            *o = (struct operand){ .kind = OPERAND_special, .special = SR_zero, .type = kinds[i].type };
            next(p);
            return true;
        }
    return false;
}

static bool special_register(struct parser *p, struct operand *o)
{
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        if (!token_is(&p->token, specials[i].name)) continue;
        o->kind = OPERAND_special;
        o->special = specials[i].special;
        p->func->uses_reserved |= o->special == SR_reserved_begin || o->special == SR_reserved_end;
        o->type = specials[i].type;
        next(p);
        const int c = specials[i].vector ? component(&p->token) : -1;
        if (c >= 0) {
            o->component = (uint8_t)c;
            next(p);
        } else if (specials[i].vector) {
            special_vector(o);
        }
        return true;
    }
    return numbered_register(p, o);
}

/* A vector of registers, or one of its components */
static bool vector_register(struct parser *p, struct operand *o)
{
    const struct vector_reg *v = lookup(p, &p->token, NAME_VECTOR);
    if (!v) return false;
    next(p);
    const int c = component(&p->token);
    if (c >= 0) {
        if (c >= (int)v->count) fatal_at(EXIT_INVALID_PTX, p->token.line, "the vector has no such component");
        *o = (struct operand){ .kind = OPERAND_reg, .reg = v->parts[c] };
        next(p);
        return true;
    }
    o->kind = OPERAND_vector;
    for (unsigned k = 0; k < v->count; k++)
        ARENA_PUSH(o->elements, o->count) = (struct operand){ .kind = OPERAND_reg, .reg = v->parts[k] };
    return true;
}

static void name_operand(struct parser *p, struct operand *o)
{
    struct token *t = &p->token;
    if ((o->reg = lookup(p, t, NAME_REG))) {
        o->kind = OPERAND_reg;
    } else if ((o->var = lookup(p, t, NAME_VAR))) {
        o->kind = OPERAND_var;
    } else if ((o->func = lookup(p, t, NAME_FUNC))) {
        o->kind = OPERAND_func;
    } else if ((o->proto = lookup(p, t, NAME_PROTO))) {
        o->kind = OPERAND_proto;
    } else if (vector_register(p, o) || special_register(p, o)) {
        return;
    } else {
        if (t->text[0] == '%') fatal_at(EXIT_INVALID_PTX, t->line, "unknown register '%.*s'", (int)t->length, t->text);
        o->label = label_use(p, t);
        if (!o->label) syntax_error(p, "an operand");
        o->kind = OPERAND_label;
    }
    next(p);
}

/* The coordinates behind a texture's or surface's handle: [handle, {x, y}], [handle, x]. */
static void coordinates(struct parser *p, struct operand *o)
{
    struct operand at = parse_operand(p);
    o->elements = at.elements;
    o->count = at.count;
    if (at.kind == OPERAND_vector) return;
    if (at.kind != OPERAND_reg && at.kind != OPERAND_int && at.kind != OPERAND_float)
        fatal_at(EXIT_INVALID_PTX, p->token.line, "coordinates are registers or constants");
    if (token_is(&p->token, ","))
        fatal_at(EXIT_UNSUPPORTED, p->token.line, "a sampler beside the texture is not supported");
    ARENA_PUSH(o->elements, o->count) = at;
}

/* [reg], [reg+4], [var+-8], [var][%r1] is not in the language, [4096] is */
static struct operand address(struct parser *p)
{
    struct operand o = { .kind = OPERAND_address };
    if (p->token.kind == TOKEN_WORD && !token_is(&p->token, "WARP_SZ")) {
        struct operand base = { 0 };
        name_operand(p, &base);
        if (base.kind != OPERAND_reg && base.kind != OPERAND_var)
            fatal_at(EXIT_INVALID_PTX, p->token.line, "an address is a register or a variable");
        o.reg = base.reg;
        o.var = base.var;
        if (accept(p, "+")) o.offset = (int64_t)constant(p);
    } else {
        o.offset = (int64_t)constant(p);
    }
    if (accept(p, ",")) {
        if (!p->coordinates) fatal_at(EXIT_UNSUPPORTED, p->token.line, "tensors are not supported");
        coordinates(p, &o);
    }
    expect(p, "]");
    return o;
}

static void elements(struct parser *p, struct operand *o, const char *end)
{
    if (++p->depth > NESTING_MOST) fatal_at(EXIT_UNSUPPORTED, p->token.line, "operands are nested too deeply");
    while (!accept(p, end)) {
        struct operand e = parse_operand(p);
        ARENA_PUSH(o->elements, o->count) = e;
        if (!token_is(&p->token, end)) expect_more(p, end);
    }
    p->depth--;
}

/* a|p */
static void second_register(struct parser *p, struct operand *o)
{
    struct operand q = { 0 };
    o->paired = accept(p, "|");
    if (!o->paired || accept(p, "_")) return;
    name_operand(p, &q);
    if (q.kind != OPERAND_reg) syntax_error(p, "a predicate");
    o->second = q.reg;
}

struct operand parse_operand(struct parser *p)
{
    struct operand o = { 0 };
    if (accept(p, "[")) return address(p);
    if (accept(p, "{")) {
        o.kind = OPERAND_vector;
        elements(p, &o, "}");
        if (p->coordinates) second_register(p, &o);
        return o;
    }
    if (begins_constant(p)) {
        const struct number n = expression(p);
        o.kind = n.is_float ? OPERAND_float : OPERAND_int;
        o.bits = n.bits;
        o.single = n.is_single;
        o.fbits = n.single;
        return o;
    }
    if (accept(p, "!")) o.negated = true;
    if (p->token.kind == TOKEN_WORD) {
        if (token_is(&p->token, "_")) {
            o.kind = OPERAND_sink;
            next(p);
        } else {
            name_operand(p, &o);
        }
        if (o.kind == OPERAND_var && accept(p, "[")) {
            parse_element(p, &o);
        } else if (o.kind == OPERAND_var && accept(p, "+")) {
            o.offset = (int64_t)constant(p);
        }
    } else {
        syntax_error(p, "an operand");
    }
    second_register(p, &o);
    return o;
}

struct operand parse_part(struct parser *p)
{
    struct parser ahead = *p;
    bool minus = accept(&ahead, "-") && ahead.token.kind == TOKEN_WORD && lookup(&ahead, &ahead.token, NAME_REG);
    if (minus) *p = ahead;
    struct operand o = parse_operand(p);
    o.minus = minus;
    if (o.kind == OPERAND_reg && p->token.kind == TOKEN_DIRECTIVE) {
        o.part = arena_text(p->token.text + 1, p->token.length - 1);
        next(p);
    }
    return o;
}

struct operand parse_list(struct parser *p)
{
    struct operand o = { .kind = OPERAND_list };
    expect(p, "(");
    elements(p, &o, ")");
    return o;
}
