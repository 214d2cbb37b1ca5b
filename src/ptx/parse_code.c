/* Function bodies of PTX: statements, labels and instructions. */
#include "arena.h"
#include "parse.h"

#include <stdlib.h>
#include <string.h>

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
    if (token_is(t, ".fence")) return MOD_wgmma_fence;
    if (token_is(t, ".multicast::cluster")) return MOD_multicast;
    for (int i = 0; i < MOD_count; i++)
        if (t->length == strlen(names[i]) + 1 && !memcmp(t->text + 1, names[i], t->length - 1)) return (enum ptx_mod)i;
    return MOD_count;
}

/* Hints about caches, and proxies of them, which change no result. */
static bool is_hint(enum ptx_op op, const struct token *t)
{
    static const char *const exact[] = { ".ca", ".cg", ".cs", ".lu", ".cv", ".wb", ".wt", ".L1", ".L2", ".read",
                                         ".tensormap", ".generic", ".to_generic", ".evict_last", ".evict_normal",
                                         ".mbarrier::complete_tx::bytes", ".mbarrier" };
    if (t->length > 6 && (!memcmp(t->text, ".L1::", 5) || !memcmp(t->text, ".L2::", 5))) return true;
    if (t->length > 7 && !memcmp(t->text, ".level::", 7)) return true;
    static const char *const fences[] = { ".tensormap::generic", ".async::generic", ".sync_restrict::shared::cluster",
                                          ".sync_restrict::shared::cta" };
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if (token_is(t, exact[i])) return true;
    for (size_t i = 0; op == OP_fence && i < sizeof fences / sizeof *fences; i++)
        if (token_is(t, fences[i])) return true;
    return op == OP_tensormap; /* the fields of a map, which emit_tensor.c knows */
}

/* What means something to one instruction only. */
static bool belongs(enum ptx_op op, enum ptx_mod mod)
{
    switch (mod) {
    case MOD_mma_async:
    case MOD_wgmma_fence: return op == OP_wgmma;
    case MOD_tensor:
    case MOD_reduce:
    case MOD_tile:
    case MOD_im2col:
    case MOD_4d:
    case MOD_5d:
    case MOD_multicast: return op == OP_cp;
    default: return true;
    }
}

/* .m16n8k16 */
static bool is_shape(const struct token *t)
{
    return t->length > 4 && t->text[1] == 'm' && t->text[2] >= '0' && t->text[2] <= '9' &&
           memchr(t->text, 'n', t->length);
}

/* Legal instructions of which no emitter knows anything: their operands may look like no other's. */
static bool is_legal_opcode(const struct token *t)
{
    static const char *const names[] = { "istypep", "sured",  "tcgen05", "vabsdiff", "vadd",  "vadd2",
                                         "vadd4",   "vavrg2", "vavrg4",  "vmad",      "vmax",     "vmax2", "vmax4",
                                         "vmin",    "vmin2",  "vmin4",   "vset",      "vset2",    "vset4", "vshl",
                                         "vshr",    "vsub",   "vsub2",   "vsub4" };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (token_is(t, names[k])) return true;
    return false;
}

/* The same of ways to do what others do otherwise. */
static bool is_legal_modifier(enum ptx_op op, const struct token *t)
{
    static const struct {
        enum ptx_op op;
        const char *modifier;
    } legal[] = { { OP_cp, ".im2col_no_offs" },
                  { OP_cp, ".im2col::w" },
                  { OP_cp, ".im2col::w::128" },
                  { OP_cp, ".tile::gather4" },
                  { OP_cp, ".tile::scatter4" },
                  { OP_cvt, ".s2" },
                  { OP_cvt, ".u2" },
                  { OP_cvt, ".s4" },
                  { OP_cvt, ".u4" },
                  { OP_mma, ".sp" },
                  { OP_mma, ".sp::ordered_metadata" },
                  { OP_mma, ".b1" },
                  { OP_mma, ".s4" },
                  { OP_mma, ".u4" },
                  { OP_pmevent, ".mask" },
                  { OP_suq, ".channel_data_type" },
                  { OP_suq, ".channel_order" },
                  { OP_suq, ".memory_layout" },
                  { OP_txq, ".channel_data_type" },
                  { OP_txq, ".channel_order" },
                  { OP_txq, ".num_samples" },
                  { OP_txq, ".filter_mode" },
                  { OP_txq, ".force_unnormalized_coords" },
                  { OP_txq, ".addr_mode_0" },
                  { OP_txq, ".addr_mode_1" },
                  { OP_txq, ".addr_mode_2" },
                  { OP_wgmma, ".sp" },
                  { OP_wgmma, ".b1" },
                  { OP_wmma, ".b1" },
                  { OP_wmma, ".s4" },
                  { OP_wmma, ".u4" } };
    for (size_t k = 0; k < sizeof legal / sizeof *legal; k++)
        if (op == legal[k].op && token_is(t, legal[k].modifier)) return true;
    return false;
}

/* Bytes from the opcode to its last modifier. */
static int whole_name(const struct parser *p, const char *start)
{
    const char *end = start;
    while (end < p->lexer.end && end - start < 120 && *end > ' ' && *end != ';') end++;
    return (int)(end - start);
}

static void __attribute__((noreturn)) not_supported(const struct parser *p, const struct token *opcode)
{
    fatal_at(EXIT_UNSUPPORTED, opcode->line, "instruction '%.*s' is not supported", whole_name(p, opcode->text),
             opcode->text);
}

static void __attribute__((noreturn)) unknown_opcode(const struct parser *p, const struct token *opcode)
{
    if (is_legal_opcode(opcode)) not_supported(p, opcode);
    fatal_at(EXIT_INVALID_PTX, opcode->line, "unknown instruction '%.*s'", whole_name(p, opcode->text), opcode->text);
}

static void __attribute__((noreturn))
unknown_modifier(const struct parser *p, const struct token *opcode, enum ptx_op op, const struct token *t)
{
    if (is_legal_modifier(op, t)) not_supported(p, opcode);
    fatal_at(EXIT_INVALID_PTX, t->line, "unknown modifier '%.*s' of '%.*s'", (int)t->length, t->text,
             (int)(t->text + t->length - opcode->text), opcode->text);
}

/* The opcode and everything after its dots. */
static void opcode(struct parser *p, struct instr *i)
{
    const char *start = p->token.text;
    struct token name = p->token;
    i->op = op_of(&name);
    i->line = name.line;
    if (!i->op) unknown_opcode(p, &name);
    next(p);
    while (p->token.kind == TOKEN_DIRECTIVE && !p->token.spaced) {
        struct token t = p->token;
        enum ptx_type type = type_of(&t);
        enum ptx_space space = space_of(&t);
        enum ptx_mod mod = mod_of(&t);
        if (type && i->ntypes < 4) {
            i->types[i->ntypes++] = type;
        } else if (space) {
            *(i->space ? &i->space2 : &i->space) = space;
        } else if (mod != MOD_count && belongs(i->op, mod)) {
            i->mods.bits[mod / 64] |= 1ull << (mod % 64);
        } else if (!is_hint(i->op, &t) && !is_shape(&t)) {
            unknown_modifier(p, &name, i->op, &t);
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

/* {a} is a, where there may be vectors of several lengths. Compilers write it for one of any length. */
static void unwrap_lone_elements(struct instr *i)
{
    if (i->op != OP_ld && i->op != OP_ldu && i->op != OP_st && i->op != OP_mov) return;
    for (unsigned k = 0; k < i->nops; k++)
        if (i->ops[k].kind == OPERAND_vector && i->ops[k].count == 1) i->ops[k] = i->ops[k].elements[0];
}

void code_add(struct parser *p, const struct instr *i)
{
    struct func *f = p->func;
    if (f->ncode == p->room) {
        struct instr *wider = arena_alloc(2ul * (p->room + 512) * sizeof *wider);
        if (f->ncode) memcpy(wider, p->code, f->ncode * sizeof *wider);
        p->room = 2 * (p->room + 512);
        p->code = wider;
    }
    p->code[f->ncode++] = *i;
    f->code = p->code;
}

void code_end(struct parser *p)
{
    struct func *f = p->func;
    if (!f->ncode) return;
    f->code = arena_alloc((f->ncode + 1ul) * sizeof *f->code); /* a return may be missing at its end */
    memcpy(f->code, p->code, f->ncode * sizeof *f->code);
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
    p->coordinates = i.op == OP_tex || i.op == OP_tld4 || i.op == OP_suld || i.op == OP_sust ||
                     (i.op == OP_cp && has(&i, MOD_tensor));
    p->accesses = i.op == OP_ld || i.op == OP_ldu || i.op == OP_st;
    while (!token_is(&p->token, ";")) {
        if (i.nops == MAX_OPERANDS) fatal_at(EXIT_INVALID_PTX, i.line, "too many operands of '%s'", i.text);
        i.ops[i.nops++] = i.op == OP_call && token_is(&p->token, "(") ? parse_list(p) : parse_operand(p);
        bool chosen = p->token.kind == TOKEN_DIRECTIVE; /* bytes or halves of an operand, .b3210 */
        if (chosen && (i.op == OP_vabsdiff2 || i.op == OP_vabsdiff4))
            fatal_at(EXIT_UNSUPPORTED, i.line, "instruction '%s' is not supported with other parts than all", i.text);
        if (!token_is(&p->token, ";")) expect(p, ",");
    }
    expect(p, ";");
    unwrap_lone_elements(&i);
    check_branch(&i);
    if (i.op == OP_ret) registers_return(p, &i);
    if (i.op == OP_call)
        parsed_call(p, &i);
    else
        code_add(p, &i);
}

/* (.param .b32 _) _ (.param .b64 _) ; */
static struct proto *call_prototype(struct parser *p)
{
    struct proto *proto = arena_alloc(sizeof *proto);
    if (token_is(&p->token, "(")) parse_params(p, &proto->rets, &proto->nrets, false);
    word(p, "'_'");
    if (token_is(&p->token, "(")) parse_params(p, &proto->params, &proto->nparams, false);
    if (accept(p, ".noreturn")) proto->noreturn = true;
    if (accept(p, ".abi_preserve")) constant(p);
    return proto;
}

/* f, g ; all are alike. */
static struct proto *call_targets(struct parser *p)
{
    struct proto *proto = arena_alloc(sizeof *proto);
    do {
        struct func *f = lookup(p, &p->token, NAME_FUNC);
        if (!f) syntax_error(p, "a function");
        f->address_taken = true;
        *proto = f->sig;
        next(p);
    } while (accept(p, ","));
    return proto;
}

/* L1, L2 ; */
static void branch_targets(struct parser *p, struct label *l)
{
    if (!l) syntax_error(p, "a new label");
    l->defined = true;
    do {
        struct label *target = p->token.kind == TOKEN_WORD ? label_use(p, &p->token) : NULL;
        if (!target) syntax_error(p, "a label");
        ARENA_PUSH(l->targets, l->ntargets) = target;
        next(p);
    } while (accept(p, ","));
}

/* What follows "name:", if it is one of these directives. */
static bool labelled_directive(struct parser *p, const struct token *name)
{
    struct proto *proto = NULL;
    if (accept(p, ".callprototype"))
        proto = call_prototype(p);
    else if (accept(p, ".calltargets"))
        proto = call_targets(p);
    else if (accept(p, ".branchtargets"))
        branch_targets(p, label_use(p, name));
    else
        return false;
    expect(p, ";");
    if (proto) declare(p->scope, arena_text(name->text, name->length), NAME_PROTO, proto);
    return true;
}

static void statement(struct parser *p)
{
    if (p->token.kind == TOKEN_DIRECTIVE) {
        enum ptx_space space = space_of(&p->token);
        if (space) {
            next(p);
            parse_variable(p, space, 0);
        } else if (accept(p, ".pragma")) {
            skip_statement(p);
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
