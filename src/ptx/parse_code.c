/* Function bodies of PTX: statements, labels and instructions. */
#include "arena.h"
#include "cfg.h"
#include "parse.h"
#include "syntax.h"

#include <string.h>

enum { NUMBERED_MOST = 65536 };

/* The flow of control is looked at before anything else is. */
static void check_branch(const struct instr *i)
{
    bool good = true;
    if (i->op == OP_bra) good = i->nops == 1 && i->ops[0].kind == OPERAND_label && !i->ops[0].label->ntargets;
    if (i->op == OP_brx) good = i->nops == 2 && i->ops[1].kind == OPERAND_label && i->ops[1].label->ntargets;
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

/* Where the lanes of a warp exchange values through volatile shared memory, old programs leave out __syncwarp: those
 * that come to the same place go on together, from reading to writing and from writing to reading. */
static void keep_in_step(struct parser *p, const struct instr *i)
{
    bool exchanges = (i->op == OP_ld || i->op == OP_st) && i->space == SPACE_shared && has(i, MOD_volatile);
    if (exchanges && p->exchanged != i->op) {
        struct instr together = {
            .op = OP_activemask, .text = "activemask.b32", .line = i->line, .ntypes = 1, .nops = 1
        };
        together.types[0] = T_b32;
        together.ops[0].kind = OPERAND_sink;
        code_add(p, &together);
    }
    if (exchanges) p->exchanged = i->op;
    if (is_suspension(i) || is_terminator(i) || i->op == OP_call) p->exchanged = OP_none;
}

/* A register like others, but that no instruction names it. */
static void name_carry(struct parser *p, struct instr *i)
{
    if (!reads_carry(i) && !writes_carry(i)) return;
    if (!p->func->carry) p->func->carry = reg_new(p, "CC", T_pred);
    i->carry = p->func->carry;
}

/* Their operands may be parts of registers. */
static bool is_video(const struct instr *i) { return *i->text == 'v' && i->op != OP_vote; }

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
    struct reg *const guard = i.guard;
    const bool negated = i.guard_negated;
    const struct syntax *syntax = parse_opcode(p, &i);
    i.guard = guard;
    i.guard_negated = negated;
    p->coordinates = i.op == OP_tex || i.op == OP_tld4 || i.op == OP_suld || i.op == OP_sust ||
                     i.op == OP_sured ||
                     (i.op == OP_cp && has(&i, MOD_tensor));
    p->module->maps |= i.op == OP_mapa;
    p->accesses = i.op == OP_ld || i.op == OP_ldu || i.op == OP_st;
    while (!token_is(&p->token, ";")) {
        if (i.nops == MAX_OPERANDS) fatal_at(EXIT_INVALID_PTX, i.line, "too many operands of '%s'", i.text);
        i.ops[i.nops++] = i.op == OP_call && token_is(&p->token, "(") ? parse_list(p)
                          : is_video(&i)                              ? parse_part(p)
                                                                      : parse_operand(p);
        if (!token_is(&p->token, ";")) expect_more(p, ";");
    }
    expect(p, ";");
    unwrap_lone_elements(&i);
    if (i.op == OP_brx && i.ops[0].kind == OPERAND_reg && type_bits(i.ops[0].reg->type) != 32)
        fatal_at(EXIT_INVALID_PTX, i.line, "an index of 32 bits was expected");
    const char *misfit = syntax ? syntax_operands(syntax, &i) : NULL;
    if (misfit) fatal_at(EXIT_INVALID_PTX, i.line, "instruction '%s': %s", i.text, misfit);
    check_branch(&i);
    if (i.op == OP_ret) registers_return(p, &i);
    keep_in_step(p, &i);
    name_carry(p, &i);
    if (i.op == OP_call)
        parsed_call(p, &i);
    else
        code_add(p, &i);
}

/* (.param .b32 _) _ (.param .b64 _) ; */
static struct proto *call_prototype(struct parser *p)
{
    struct proto *proto = arena_alloc(sizeof *proto);
    if (token_is(&p->token, "(")) parse_results(p, proto, false);
    expect(p, "_");
    if (token_is(&p->token, "(")) parse_params(p, &proto->params, &proto->nparams, false);
    proto->noreturn = accept(p, ".noreturn");
    if (proto->noreturn && proto->nrets) fatal_at(EXIT_INVALID_PTX, p->token.line, "what has a result returns");
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

static void branch_target(struct parser *p, struct label *l, const struct token *name)
{
    struct label *target = name->kind == TOKEN_WORD ? label_use(p, name) : NULL;
    if (!target) syntax_error(p, "a label");
    ARENA_PUSH(l->targets, l->ntargets) = target;
}

/* L1, L2, N<2> ; where N<2> are N0 and N1 */
static void branch_targets(struct parser *p, struct label *l)
{
    if (!l) syntax_error(p, "a new label");
    l->defined = true;
    do {
        struct token name = p->token;
        next(p);
        if (!accept(p, "<")) {
            branch_target(p, l, &name);
            continue;
        }
        const char *prefix = arena_text(name.text, name.length);
        const uint64_t n = count(p);
        if (n > NUMBERED_MOST) fatal_at(EXIT_UNSUPPORTED, name.line, "too many labels");
        for (unsigned k = 0; k < n; k++) {
            name.text = arena_printf("%s%u", prefix, k);
            name.length = strlen(name.text);
            branch_target(p, l, &name);
        }
        expect(p, ">");
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
            skip_strings(p);
        } else if (token_is(&p->token, ".loc") || token_is(&p->token, ".section")) {
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
            p->exchanged = OP_none;
            return;
        }
    }
    instruction(p);
}

void parse_body(struct parser *p, struct func *f)
{
    unsigned depth = 0;
    p->exchanged = OP_none;
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
        } else {
            statement(p);
        }
    } while (depth);
    for (uint32_t i = 0; i < f->nlabels; i++) {
        struct label *l = label_resolve(f->labels[i]);
        if (!l->defined) fatal_at(EXIT_INVALID_PTX, l->line, "unknown symbol '%s'", l->name);
    }
}
