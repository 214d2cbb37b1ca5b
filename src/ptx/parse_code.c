/* Function bodies of PTX: statements, instructions and their operands. */
#include "arena.h"
#include "parse.h"

#include <stdlib.h>
#include <string.h>

static struct operand operand(struct parser *p);

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum ptx_op op_of(const struct token *t)
{
    static const char *const names[] = {
#define X(name) [OP_##name] = #name,
        FL_PTX_OPS(X)
#undef X
    };
    char text[32];
    if (t->length >= sizeof text) return OP_none;
    memcpy(text, t->text, t->length);
    text[t->length] = 0;
    const char *key = text;
    const char *const *found = bsearch(&key, names + 1, OP_count - 1, sizeof *names, compare_text);
    return found ? (enum ptx_op)(found - names) : OP_none;
}

static enum ptx_mod mod_of(const struct token *t)
{
    static const char *const names[] = {
#define X(name) [MOD_##name] = #name,
        FL_PTX_MODS(X)
#undef X
    };
    if (token_is(t, ".acc::f16")) return MOD_acc_f16;
    if (token_is(t, ".acc::f32")) return MOD_acc_f32;
    for (int i = 0; i < MOD_count; i++)
        if (t->length == strlen(names[i]) + 1 && !memcmp(t->text + 1, names[i], t->length - 1)) return (enum ptx_mod)i;
    return MOD_count;
}

/* Hints about caches, and proxies of them, which change no result. */
static bool is_hint(const struct token *t)
{
    static const char *const exact[] = { ".ca",
                                         ".cg",
                                         ".cs",
                                         ".lu",
                                         ".cv",
                                         ".wb",
                                         ".wt",
                                         ".L1",
                                         ".L2",
                                         ".tensormap",
                                         ".generic",
                                         ".evict_last",
                                         ".evict_normal",
                                         ".read",
                                         ".to_generic",
                                         ".mbarrier::complete_tx::bytes",
                                         ".multicast::cluster",
                                         ".mbarrier" };
    if (t->length > 6 && (!memcmp(t->text, ".L1::", 5) || !memcmp(t->text, ".L2::", 5))) return true;
    if (t->length > 7 && !memcmp(t->text, ".level::", 7)) return true;
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if (token_is(t, exact[i])) return true;
    return false;
}

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
    { "%aggr_smem_size", SR_total_smem_size, T_u32, false },
    { "%dynamic_smem_size", SR_dynamic_smem_size, T_u32, false },
    { "%reserved_smem_offset_begin", SR_zero, T_u32, false },
    { "%reserved_smem_offset_end", SR_zero, T_u32, false },
    { "%reserved_smem_offset_cap", SR_zero, T_u32, false },
    { "%current_graph_exec", SR_zero, T_u64, false },
    { "%is_explicit_cluster", SR_zero, T_pred, false },
    /* where cooperative groups look for the grid's barrier */
    { "%envreg1", SR_workspace_hi, T_u32, false },
    { "%envreg2", SR_workspace_lo, T_u32, false },
    /* a cluster is one block */
    { "%clusterid", SR_ctaid, T_u32, true },
    { "%nclusterid", SR_nctaid, T_u32, true },
    { "%cluster_ctaid", SR_zero, T_u32, true },
    { "%cluster_nctaid", SR_one, T_u32, true },
    { "%cluster_ctarank", SR_zero, T_u32, false },
    { "%cluster_nctarank", SR_one, T_u32, false },
    { "WARP_SZ", SR_warp_size, T_u32, false },
};

static bool special_register(struct parser *p, struct operand *o)
{
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        if (!token_is(&p->token, specials[i].name)) continue;
        o->kind = OPERAND_special;
        o->special = specials[i].special;
        o->type = specials[i].type;
        next(p);
        if (specials[i].vector) {
            static const char *const parts[] = { ".x", ".y", ".z", ".w" };
            int c = 0;
            while (c < 4 && !token_is(&p->token, parts[c])) c++;
            if (c == 4) syntax_error(p, "'.x', '.y', '.z' or '.w'");
            o->component = (uint8_t)c;
            next(p);
        }
        return true;
    }
    static const char *const zeros[] = { "%envreg", "%pm", "%reserved_" };
    for (size_t i = 0; i < 3; i++)
        if (p->token.length > strlen(zeros[i]) && !memcmp(p->token.text, zeros[i], strlen(zeros[i])) &&
            !lookup(p, &p->token, NAME_REG)) {
            *o = (struct operand){ .kind = OPERAND_special, .special = SR_zero, .type = T_u32 };
            next(p);
            return true;
        }
    return false;
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
    } else if (special_register(p, o)) {
        return;
    } else {
        if (t->text[0] == '%') fatal_at(EXIT_INVALID_PTX, t->line, "unknown register '%.*s'", (int)t->length, t->text);
        o->label = label_use(p, t);
        if (!o->label) syntax_error(p, "an operand");
        o->kind = OPERAND_label;
    }
    next(p);
}

/* [reg], [reg+4], [var+-8], [var][%r1] is not in the language, [4096] is */
static struct operand address(struct parser *p)
{
    struct operand o = { .kind = OPERAND_address };
    if (p->token.kind == TOKEN_WORD) {
        struct operand base = { 0 };
        name_operand(p, &base);
        if (base.kind != OPERAND_reg && base.kind != OPERAND_var)
            fatal_at(EXIT_INVALID_PTX, p->token.line, "an address is a register or a variable");
        o.reg = base.reg;
        o.var = base.var;
        if (accept(p, "+"))
            o.offset = (int64_t)constant(p);
        else if (token_is(&p->token, "-"))
            o.offset = (int64_t)constant(p);
    } else {
        o.offset = (int64_t)constant(p);
    }
    if (accept(p, ",")) fatal_at(EXIT_UNSUPPORTED, p->token.line, "textures, surfaces and tensors are not supported");
    expect(p, "]");
    return o;
}

static void elements(struct parser *p, struct operand *o, const char *end)
{
    if (++p->depth > 200) fatal_at(EXIT_UNSUPPORTED, p->token.line, "operands are nested too deeply");
    while (!accept(p, end)) {
        struct operand e = operand(p);
        ARENA_PUSH(o->elements, o->count) = e;
        if (!token_is(&p->token, end)) expect(p, ",");
    }
    p->depth--;
}

static struct operand operand(struct parser *p)
{
    struct operand o = { 0 };
    if (accept(p, "[")) return address(p);
    if (accept(p, "{")) {
        o.kind = OPERAND_vector;
        elements(p, &o, "}");
        return o;
    }
    if (accept(p, "(")) {
        o.kind = OPERAND_list;
        elements(p, &o, ")");
        return o;
    }
    if (accept(p, "!")) o.negated = true;
    bool minus = p->token.kind == TOKEN_PUNCT && token_is(&p->token, "-");
    if (minus) {
        struct parser ahead = *p;
        next(&ahead);
        minus = ahead.token.kind == TOKEN_FLOAT;
        if (minus) next(p);
    }
    if (p->token.kind == TOKEN_FLOAT) {
        o.kind = OPERAND_float;
        o.bits = p->token.value ^ (uint64_t)minus << 63;
        o.single = p->token.is_single;
        o.fbits = p->token.single ^ (uint32_t)minus << 31;
        next(p);
    } else if (p->token.kind == TOKEN_WORD) {
        if (token_is(&p->token, "_")) {
            o.kind = OPERAND_sink;
            next(p);
        } else {
            name_operand(p, &o);
        }
        if (o.kind == OPERAND_var && (token_is(&p->token, "+") || token_is(&p->token, "-"))) {
            bool plus = accept(p, "+");
            (void)plus;
            o.offset = (int64_t)constant(p);
        }
    } else {
        o.kind = OPERAND_int;
        o.bits = constant(p);
    }
    if (accept(p, "|")) {
        struct operand q = { 0 };
        if (accept(p, "_")) return o;
        name_operand(p, &q);
        if (q.kind != OPERAND_reg) syntax_error(p, "a predicate");
        o.second = q.reg;
    }
    return o;
}

/* .m16n8k16 */
static bool is_shape(const struct token *t)
{
    return t->length > 4 && t->text[1] == 'm' && t->text[2] >= '0' && t->text[2] <= '9' &&
           memchr(t->text, 'n', t->length);
}

/* The opcode and everything after its dots. */
static void opcode(struct parser *p, struct instr *i)
{
    const char *start = p->token.text;
    struct token name = p->token;
    i->op = op_of(&name);
    i->line = name.line;
    if (!i->op) {
        const char *end = start;
        while (end < p->lexer.end && end - start < 80 && *end > ' ' && *end != ';') end++;
        bool known = token_is(&name, "tex") || token_is(&name, "tld4") || token_is(&name, "txq") ||
                     token_is(&name, "suld") || token_is(&name, "sust") || token_is(&name, "sured") ||
                     token_is(&name, "suq") || token_is(&name, "wgmma") || token_is(&name, "tcgen05") ||
                     token_is(&name, "st_async");
        fatal_at(known ? EXIT_UNSUPPORTED : EXIT_INVALID_PTX, name.line,
                 known ? "instruction '%.*s' is not supported" : "unknown instruction '%.*s'", (int)(end - start),
                 start);
    }
    next(p);
    while (p->token.kind == TOKEN_DIRECTIVE && !p->token.spaced) {
        struct token t = p->token;
        enum ptx_type type = type_of(&t);
        enum ptx_space space = space_of(&t);
        enum ptx_mod mod = mod_of(&t);
        if (type && i->ntypes < 4) {
            i->types[i->ntypes++] = type;
        } else if (space) {
            if (i->space && i->op != OP_cp)
                i->space2 = space;
            else if (i->space)
                i->space2 = space;
            else
                i->space = space;
        } else if (mod != MOD_count) {
            i->mods.bits[mod / 64] |= 1ull << (mod % 64);
        } else if (!is_hint(&t) && !is_shape(&t)) {
            fatal_at(EXIT_INVALID_PTX, t.line, "unknown modifier '%.*s' of '%.*s'", (int)t.length, t.text,
                     (int)(t.text + t.length - start), start);
        }
        next(p);
    }
    i->text = arena_text(start, (size_t)(p->token.text - start));
    for (char *c = (char *)i->text; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == ';') *c = 0;
}

/* The flow of control is looked at before anything else is. */
static void check_branch(const struct instr *i)
{
    bool good = true;
    if (i->op == OP_bra) good = i->nops == 1 && i->ops[0].kind == OPERAND_label;
    if (i->op == OP_brx) good = i->nops == 2 && i->ops[1].kind == OPERAND_label;
    if (!good) fatal_at(EXIT_INVALID_PTX, i->line, "instruction '%s': a label was expected", i->text);
}

static void instruction(struct parser *p)
{
    struct instr i = { 0 };
    if (accept(p, "@")) {
        i.guard_negated = accept(p, "!");
        i.guard = p->token.kind == TOKEN_WORD ? lookup(p, &p->token, NAME_REG) : NULL;
        if (!i.guard) syntax_error(p, "a predicate register");
        if (i.guard->type != T_pred) fatal_at(EXIT_INVALID_PTX, p->token.line, "'%s' is no predicate", i.guard->name);
        next(p);
    }
    if (p->token.kind != TOKEN_WORD) syntax_error(p, "an instruction");
    opcode(p, &i);
    while (!token_is(&p->token, ";")) {
        if (i.nops == MAX_OPERANDS) fatal_at(EXIT_INVALID_PTX, i.line, "too many operands of '%s'", i.text);
        i.ops[i.nops++] = operand(p);
        if (!token_is(&p->token, ";")) expect(p, ",");
    }
    expect(p, ";");
    check_branch(&i);
    struct func *f = p->func;
    ARENA_PUSH(f->code, f->ncode) = i;
}

/* name: .callprototype (.param .b32 _) _ (.param .b64 _) ;
 * name: .calltargets f, g;     name: .branchtargets L1, L2; */
static bool labelled_directive(struct parser *p, const struct token *name)
{
    char *text = arena_text(name->text, name->length);
    if (accept(p, ".callprototype")) {
        struct proto *proto = arena_alloc(sizeof *proto);
        if (token_is(&p->token, "(")) parse_params(p, &proto->rets, &proto->nrets, false);
        word(p, "'_'");
        if (token_is(&p->token, "(")) parse_params(p, &proto->params, &proto->nparams, false);
        if (accept(p, ".noreturn")) proto->noreturn = true;
        if (accept(p, ".abi_preserve")) constant(p);
        expect(p, ";");
        declare(p, p->scope, text, NAME_PROTO, proto);
        return true;
    }
    if (accept(p, ".calltargets")) {
        struct proto *proto = arena_alloc(sizeof *proto);
        do {
            struct func *f = lookup(p, &p->token, NAME_FUNC);
            if (!f) syntax_error(p, "a function");
            f->address_taken = true;
            *proto = f->sig;
            next(p);
        } while (accept(p, ","));
        expect(p, ";");
        declare(p, p->scope, text, NAME_PROTO, proto);
        return true;
    }
    if (accept(p, ".branchtargets")) {
        struct label *l = label_use(p, name);
        if (!l) syntax_error(p, "a new label");
        l->defined = true;
        do {
            struct label *target = p->token.kind == TOKEN_WORD ? label_use(p, &p->token) : NULL;
            if (!target) syntax_error(p, "a label");
            ARENA_PUSH(l->targets, l->ntargets) = target;
            next(p);
        } while (accept(p, ","));
        expect(p, ";");
        return true;
    }
    return false;
}

static void statement(struct parser *p)
{
    if (p->token.kind == TOKEN_DIRECTIVE) {
        enum ptx_space space = space_of(&p->token);
        if (space) {
            next(p);
            parse_variable(p, space, 0);
        } else if (accept(p, ".pragma")) {
            while (!accept(p, ";")) {
                if (p->token.kind == TOKEN_END) syntax_error(p, "';'");
                next(p);
            }
        } else if (token_is(&p->token, ".loc") || token_is(&p->token, ".file") || token_is(&p->token, ".section")) {
            debug_directive(p);
        } else {
            syntax_error(p, "a statement");
        }
        return;
    }
    if (p->token.kind == TOKEN_WORD) {
        struct parser ahead = *p;
        next(&ahead);
        if (token_is(&ahead.token, ":") && ahead.token.kind == TOKEN_PUNCT) {
            struct token name = p->token;
            next(p);
            next(p);
            if (!labelled_directive(p, &name)) label_define(p, &name);
            return;
        }
    }
    instruction(p);
}

void parse_body(struct parser *p, struct func *f)
{
    unsigned depth = 0;
    debug_forget(p);
    do {
        if (accept(p, "{")) {
            scope_push(p);
            depth++;
        } else if (accept(p, "}")) {
            scope_pop(p);
            depth--;
        } else if (p->token.kind == TOKEN_END) {
            syntax_error(p, "'}'");
        } else if (accept(p, ";")) {
            continue;
        } else {
            statement(p);
        }
    } while (depth);
    for (uint32_t i = 0; i < f->nlabels; i++) {
        struct label *l = label_resolve(f->labels[i]);
        if (!l->defined) fatal_at(EXIT_INVALID_PTX, l->line, "unknown symbol '%s'", l->name);
    }
}
