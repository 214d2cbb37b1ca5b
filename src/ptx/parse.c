/* The module's level of PTX: its header, functions, directives. Declarations
 * are parse_var.c's, bodies parse_code.c's. */
#include "parse.h"
#include "provided.h"
#include "arena.h"
#include "image.h"
#include "refuse.h"
#include "remote.h"
#include "base/ptx_version.h"

#include <string.h>

enum { NEWEST_TARGET = 90 }; /* that devices have */

/* .maxntid 256, 1, 1 and the like: up to three numbers. */
static bool launch_bounds(struct parser *p, struct func *f)
{
    static const char *const names[] = { ".maxntid",        ".reqntid",      ".reqnctapercluster",
                                         ".maxclusterrank", ".minnctapersm", ".maxnctapersm",
                                         ".maxnreg" };
    enum { MAX, REQUIRED, CLUSTER, RANK, KINDS = sizeof names / sizeof *names };
    uint32_t three[3] = { 1, 1, 1 };
    unsigned kind = 0;
    while (kind < KINDS && !token_is(&p->token, names[kind])) kind++;
    if (kind == KINDS) return false;
    next(p);
    for (int i = 0; i < 3; i++) {
        three[i] = (uint32_t)constant(p);
        if (!three[i]) fatal_at(EXIT_INVALID_PTX, p->token.line, "%s of nothing", names[kind]);
        if (!accept(p, ",")) break;
    }
    if (kind == CLUSTER) memcpy(f->cluster, three, sizeof three);
    if (kind == RANK) f->max_cluster = three[0];
    if (kind == MAX) f->max_threads = three[0] * three[1] * three[2];
    if (kind == REQUIRED) memcpy(f->reqntid, three, sizeof three);
    return true;
}

static void performance_directives(struct parser *p, struct func *f)
{
    for (;;) {
        if (f->entry && launch_bounds(p, f)) continue;
        if (f->entry && accept(p, ".blocksareclusters"))
            f->blocks_are_clusters = true;
        else if (accept(p, ".explicitcluster"))
            f->explicit_cluster = true;
        else if (!f->entry && accept(p, ".noreturn"))
            f->noreturn = true;
        else if (f->entry && accept(p, ".pragma"))
            skip_strings(p);
        else if ((!f->entry && accept(p, ".abi_preserve")) || accept(p, ".abi_preserve_control"))
            constant(p);
        else
            return;
    }
}

static void check_signature(const struct func *f)
{
    const struct proto *sig = &f->sig;
    for (uint32_t k = 0; k < sig->nparams; k++) {
        if (f->entry && (sig->params[k].is_register || !sig->params[k].size))
            fatal_at(EXIT_INVALID_PTX, f->line, "parameter '%s' of a kernel", sig->params[k].name);
        if (!f->entry && sig->params[k].is_pointer)
            fatal_at(EXIT_INVALID_PTX, f->line, "only kernels have .ptr parameters");
    }
}

/* (results) name (parameters) directives */
static struct func *signature(struct parser *p, bool entry, uint8_t linkage, struct token *name)
{
    struct func *f = arena_alloc(sizeof *f);
    struct proto *sig = &f->sig;
    *f = (struct func){ .entry = entry, .linkage = linkage, .line = p->token.line, .file = p->file, .said = p->file };
    p->func = f;
    if (!entry && token_is(&p->token, "(")) parse_results(p, sig, true);
    for (uint32_t i = 0; i < sig->nrets; i++) sig->rets[i].is_result = true;
    *name = p->token;
    f->name = word(p, "a function's name");
    if (token_is(&p->token, "(")) parse_params(p, &sig->params, &sig->nparams, true);
    for (uint32_t i = 0; i < sig->nparams; i++) sig->params[i].is_argument = true;
    performance_directives(p, f);
    if (f->max_threads && f->reqntid[0])
        fatal_at(EXIT_INVALID_PTX, f->line, ".maxntid and .reqntid of one kernel");
    if (f->blocks_are_clusters && (!f->reqntid[0] || !f->cluster[0]))
        fatal_at(EXIT_INVALID_PTX, f->line, ".blocksareclusters without .reqntid and .reqnctapercluster");
    check_signature(f);
    if (f->noreturn && sig->nrets) fatal_at(EXIT_INVALID_PTX, f->line, "'%s' has a result, but does not return", f->name);
    sig->noreturn = f->noreturn;
    return f;
}

static bool same_parameters(const struct var *a, uint32_t na, const struct var *b, uint32_t nb)
{
    if (na != nb) return false;
    for (uint32_t k = 0; k < na; k++)
        if (a[k].type != b[k].type || a[k].size != b[k].size || a[k].align != b[k].align) return false;
    return true;
}

static bool is_single_or_double(enum ptx_type t) { return t == T_f32 || t == T_f64; }

/* What files may say of the same parameters; they may lie in registers or not (observed on H200). */
static bool equivalent(const struct var *a, uint32_t na, const struct var *b, uint32_t nb)
{
    if (na != nb) return false;
    for (uint32_t k = 0; k < na; k++)
        if (type_bits(a[k].type) != type_bits(b[k].type) || a[k].size != b[k].size || !a[k].stride != !b[k].stride ||
            is_single_or_double(a[k].type) != is_single_or_double(b[k].type))
            return false;
    return true;
}

/* Whether two files may say this of a function. */
static bool goes_with_another(const struct func *known, const struct func *f, bool body)
{
    const struct proto *a = &known->sig, *b = &f->sig;
    const bool less = body ? b->nrets < a->nrets : known->body && a->nrets < b->nrets;
    return f->entry || known->entry ||
           (equivalent(a->params, a->nparams, b->params, b->nparams) &&
            (less || equivalent(a->rets, a->nrets, b->rets, b->nrets)));
}

/* Whether both may be said of a function. What names no linkage has the one that was said before. */
static bool goes_with(const struct func *known, const struct func *f, bool body)
{
    if (known->file != f->file) return goes_with_another(known, f, body);
    if (f->linkage == FL_LINK_EXTERN ? body || known->linkage != FL_LINK_EXTERN : known->linkage == FL_LINK_EXTERN)
        return false;
    return (f->linkage == known->linkage || f->linkage == FL_LINK_STATIC) &&
           same_parameters(known->sig.params, known->sig.nparams, f->sig.params, f->sig.nparams) &&
           same_parameters(known->sig.rets, known->sig.nrets, f->sig.rets, f->sig.nrets);
}

/* The module's function of that name, which f declares or, with a body, defines. */
static struct func *function_of(struct parser *p, struct func *f, const struct token *name, bool body)
{
    struct func *known = lookup(p, name, NAME_FUNC);
    /* a file has what it names no linkage of for itself, whatever others have (observed on H200) */
    const bool own = known && !f->entry && f->linkage == FL_LINK_STATIC && known->said != f->said;
    if (own) known = NULL;
    if (!known && body && f->linkage == FL_LINK_EXTERN)
        fatal_at(EXIT_INVALID_PTX, name->line, "function '%s' is elsewhere", f->name);
    const bool twice = known && known->body && body, weak = twice && known->linkage == FL_LINK_WEAK,
               replaces = weak && f->linkage != FL_LINK_WEAK && known->file != f->file;
    if (twice && !replaces && (weak || f->linkage == FL_LINK_WEAK)) return f; /* nobody sees this one */
    if (twice && !replaces) fatal_at(EXIT_INVALID_PTX, name->line, "function '%s' is defined twice", f->name);
    if (!known) {
        if (!own && declared_here(p->global, name))
            fatal_at(EXIT_INVALID_PTX, name->line, "'%s' is declared twice", f->name);
        declare(p->global, f->name, NAME_FUNC, f);
        ARENA_PUSH(p->module->funcs, p->module->nfuncs) = f;
        return f;
    }
    if (!p->unchecked && !goes_with(known, f, body))
        fatal_at(EXIT_INVALID_PTX, name->line, "function '%s' was declared otherwise", f->name);
    const struct proto *defined = body ? &f->sig : &known->sig, *declared = body ? &known->sig : &f->sig;
    bool less = known->returns_less || (known->file != f->file && defined->nrets < declared->nrets);
    if (body) {
        f->address_taken = known->address_taken;
        *known = *f;
    }
    known->returns_less = less;
    known->said = p->file;
    return known;
}

/* Of a function that is not run nothing is looked at. */
static void skip_body(struct parser *p)
{
    if (!lex_skip_block(&p->lexer)) syntax_error(p, "'}'");
    next(p);
}

static bool is_idle(const struct module_ir *m, const char *kernel)
{
    for (uint32_t k = 0; k < m->nidle; k++)
        if (!strcmp(m->idle[k], kernel)) return true;
    return false;
}

/* What a kernel does for the device's own architecture is often left out for others: the twin of machine code that does
 * something may do nothing. */
static void refuse_hollow(const struct parser *p, struct func *f)
{
    bool hollow = p->module->twin && p->module->target > NEWEST_TARGET && f->entry && f->sig.nparams && !f->refused;
    for (uint32_t k = 0; hollow && k < f->ncode; k++) hollow = f->code[k].op == OP_ret || f->code[k].op == OP_exit;
    if (!hollow || is_idle(p->module, f->name)) return;
    f->refused = "only machine code says what it does on this device";
    f->refused_line = f->line;
}

static void parse_function(struct parser *p, bool entry, uint8_t linkage)
{
    struct scope *outside = p->scope;
    struct token name;
    scope_push(p);
    struct func *f = signature(p, entry, linkage, &name);
    p->scope = outside;
    bool body = token_is(&p->token, "{");
    f = function_of(p, f, &name, body);
    if (body) {
        struct scope *inside = arena_alloc(sizeof *inside);
        inside->outer = outside;
        p->scope = inside;
        for (uint32_t i = 0; i < f->sig.nrets; i++)
            if (!f->sig.rets[i].is_register) declare(inside, f->sig.rets[i].name, NAME_VAR, &f->sig.rets[i]);
        for (uint32_t i = 0; i < f->sig.nparams; i++)
            if (!f->sig.params[i].is_register) declare(inside, f->sig.params[i].name, NAME_VAR, &f->sig.params[i]);
        f->body = true;
        p->func = f;
        refuse_enter(f->line);
        if (!f->refused) f->refused = refused(f->line, &f->refused_line);
        f->remote = !entry && remote_is(f->name);
        registers_begin(p, f);
        if (f->refused || f->remote)
            skip_body(p);
        else
            parse_body(p, f);
        refuse_leave(p->token.line);
        if (f->remote) code_add(p, &(struct instr){ .op = OP_trap, .text = "trap", .line = f->line });
        registers_return(p, &(struct instr){ .line = p->token.line }); /* if it ends without ret */
        code_end(p);
        refuse_hollow(p, f);
    } else {
        f->is_extern |= linkage == FL_LINK_EXTERN;
        if (!accept(p, ";") && entry) syntax_error(p, "';'"); /* ptxas demands none after a .func */
    }
    p->func = NULL;
    p->scope = outside;
    p->depth = 0;
}

static uint8_t parse_linkage(struct parser *p)
{
    static const struct {
        const char *name;
        uint8_t linkage;
    } names[] = {
        { ".visible", FL_LINK_VISIBLE },
        { ".extern", FL_LINK_EXTERN },
        { ".weak", FL_LINK_WEAK },
        { ".common", FL_LINK_COMMON },
    };
    uint8_t found = FL_LINK_STATIC;
    for (size_t i = 0; i < 4; i++)
        if (accept(p, names[i].name)) {
            found = names[i].linkage;
            i = (size_t)-1;
        }
    return found;
}

static void check_target(const struct parser *p, const char *name, unsigned sm)
{
    /* "PTX ISA", .target: the version that brings each, times ten */
    static const struct {
        unsigned sm, since;
    } known[] = { { 10, 10 }, { 11, 10 }, { 12, 12 }, { 13, 12 }, { 20, 20 }, { 21, 20 }, { 30, 30 },
                  { 32, 40 }, { 35, 31 }, { 37, 41 }, { 50, 40 }, { 52, 41 }, { 53, 42 }, { 60, 50 },
                  { 61, 50 }, { 62, 50 }, { 70, 60 }, { 72, 61 }, { 75, 63 }, { 80, 70 }, { 86, 71 },
                  { 87, 74 }, { 88, 90 }, { 89, 78 }, { 90, 78 } };
    unsigned version = p->module->version;
    if (p->module->twin) return;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].sm == sm && version >= known[i].since) return;
    fatal_at(EXIT_INVALID_PTX, p->token.line, "target %s is unknown to PTX version %u.%u, or newer than sm_%u", name,
             version / 10, version % 10, NEWEST_TARGET);
}

static void parse_target(struct parser *p)
{
    char *t = word(p, "a target");
    unsigned sm = 0;
    if (sscanf(t, "sm_%u", &sm) == 1) {
        p->module->target = sm;
        p->module->specific |= t[strlen(t) - 1] == 'a';
        check_target(p, t, sm);
    } else if (!strcmp(t, "debug")) {
        p->module->debug = p->token.line;
    } else if (strcmp(t, "texmode_unified") && strcmp(t, "texmode_independent") && strcmp(t, "map_f64_to_f32")) {
        fatal_at(EXIT_INVALID_PTX, p->token.line, "unknown target '%s'", t);
    }
}

static void parse_twin(struct parser *p)
{
    struct module_ir *m = p->module;
    next(p);
    m->twin = token_is(&p->token, "\"" FL_TWIN_PRAGMA "\"");
    next(p);
    while (m->twin && accept(p, ",") && p->token.kind == TOKEN_STRING && p->token.length > 2) {
        ARENA_PUSH(m->idle, m->nidle) = arena_text(p->token.text + 1, p->token.length - 2);
        next(p);
    }
    skip_statement(p);
}

static void parse_header(struct parser *p)
{
    struct module_ir *m = p->module;
    if (token_is(&p->token, ".pragma")) parse_twin(p);
    expect(p, ".version");
    if (p->token.kind != TOKEN_FLOAT) syntax_error(p, "a version like 7.5");
    double version;
    memcpy(&version, &p->token.value, 8);
    m->version = (unsigned)(version * 10 + 0.5);
    if (m->version > 90 && !m->twin)
        fatal_at(EXIT_VERSION, p->token.line, "PTX version %.1f is newer than 9.0, the newest known", version);
    if (m->version == 90 && p->token.text[-1] == PTX_LOWERED) m->version = 91;
    next(p);
    if (!accept(p, ".target")) syntax_error(p, "'.target'");
    do {
        parse_target(p);
    } while (accept(p, ","));
    /* what was legal then is not known, or what will be */
    p->unchecked |= m->version < 30 || m->target < 20 || m->target > NEWEST_TARGET;
    /* the default is 32, but where the directive is missing the driver takes the device's 64 */
    if (accept(p, ".address_size") && constant(p) != 64)
        fatal_at(EXIT_INVALID_PTX, p->token.line, "only 64-bit addresses are supported");
}

static void begin_file(struct parser *p)
{
    names_forget(p->global);
    memset(p->opcodes, 0, sizeof p->opcodes); /* another version has other forms of them */
    p->file++;
}

/* Another file, which was joined to those before: it has a header of its own. What follows from versions and targets is
 * as the newest of them say. */
static void parse_piece(struct parser *p)
{
    struct module_ir *m = p->module;
    const unsigned version = m->version, target = m->target;
    begin_file(p);
    skip_statement(p);
    if (p->token.kind == TOKEN_END) return;
    m->twin = false;
    parse_header(p);
    if (version > m->version) m->version = version;
    if (target > m->target) m->target = target;
}

static void parse_alias(struct parser *p)
{
    struct token a = p->token;
    char *name = word(p, "a function's name");
    expect(p, ",");
    struct func *target = lookup(p, &p->token, NAME_FUNC), *f = lookup(p, &a, NAME_FUNC);
    if (!target || !f) fatal_at(EXIT_INVALID_PTX, a.line, "'%s' cannot be an alias", name);
    next(p);
    f->alias = target;
    f->is_extern = false;
    expect(p, ";");
}

/* A function or a variable. */
static void parse_definition(struct parser *p)
{
    uint8_t linkage = parse_linkage(p);
    const bool attributed = token_is(&p->token, ".attribute");
    if (attributed) parse_attributes(p);
    enum ptx_space space = space_of(&p->token);
    if (attributed && !space) {
        syntax_error(p, "a state space");
    } else if (accept(p, ".entry")) {
        parse_function(p, true, linkage);
    } else if (accept(p, ".func")) {
        if (token_is(&p->token, ".attribute")) debug_directive(p);
        parse_function(p, false, linkage);
    } else if (space && space != SPACE_param) {
        next(p);
        if (space != SPACE_global || !parse_reference(p, linkage)) parse_variable(p, space, linkage);
    } else {
        syntax_error(p, "a directive");
    }
}

static void parse_all(struct parser *p)
{
    while (p->token.kind != TOKEN_END) {
        if (token_is(&p->token, ".file") || token_is(&p->token, ".loc") || token_is(&p->token, ".section") ||
            token_is(&p->token, "@"))
            debug_directive(p);
        else if (accept(p, ".pragma")) {
            if (token_is(&p->token, "\"" FL_PIECE_PRAGMA "\""))
                parse_piece(p);
            else
                skip_strings(p);
        } else if (accept(p, ".alias"))
            parse_alias(p);
        else
            parse_definition(p);
    }
}

struct module_ir *parse(const char *text, size_t length)
{
    struct parser p = { .module = arena_alloc(sizeof(struct module_ir)) };
    lex_init(&p.lexer, text, length);
    p.global = scope_push(&p);
    next(&p);
    parse_header(&p);
    parse_all(&p);
    const char *more = provided(p.module);
    if (more) {
        begin_file(&p);
        p.unchecked = true;
        lex_init(&p.lexer, more, strlen(more));
        next(&p);
        parse_all(&p);
    }
    if (p.module->debug && !p.module->described)
        fatal_at(EXIT_INVALID_PTX, p.module->debug, "target option 'debug' needs debugging information");
    return p.module;
}
