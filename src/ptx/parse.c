/* The module's level of PTX: directives, variables with initial values,
 * functions and their parameters. Bodies are parse_code.c's. */
#include "parse.h"
#include "arena.h"
#include "image.h"

#include <string.h>

void next(struct parser *p) { lex_next(&p->lexer, &p->token); }

void syntax_error(struct parser *p, const char *wanted)
{
    if (p->token.kind == TOKEN_END)
        fatal_at(EXIT_INVALID_PTX, p->token.line, "syntax error: the text ends where %s was expected", wanted);
    int n = p->token.length > 60 ? 60 : (int)p->token.length;
    fatal_at(EXIT_INVALID_PTX, p->token.line, "syntax error at '%.*s': %s was expected", n, p->token.text, wanted);
}

bool accept(struct parser *p, const char *text)
{
    if (p->token.kind == TOKEN_STRING || p->token.kind == TOKEN_END || !token_is(&p->token, text)) return false;
    next(p);
    return true;
}

void expect(struct parser *p, const char *text)
{
    if (!accept(p, text)) syntax_error(p, arena_printf("'%s'", text));
}

char *word(struct parser *p, const char *what)
{
    if (p->token.kind != TOKEN_WORD) syntax_error(p, what);
    char *t = arena_text(p->token.text, p->token.length);
    next(p);
    return t;
}

enum ptx_type type_of(const struct token *t)
{
    static const char *const names[] = {
#define X(name, bits) [T_##name] = "." #name,
        FL_PTX_TYPES(X)
#undef X
    };
    for (int i = 1; i < T_count; i++)
        if (token_is(t, names[i])) return (enum ptx_type)i;
    return T_none;
}

enum ptx_space space_of(const struct token *t)
{
    static const struct {
        const char *name;
        enum ptx_space space;
    } names[] = {
        { ".reg", SPACE_reg },
        { ".global", SPACE_global },
        { ".const", SPACE_const },
        { ".shared", SPACE_shared },
        { ".local", SPACE_local },
        { ".param", SPACE_param },
        { ".shared::cta", SPACE_shared },
        { ".shared::cluster", SPACE_shared },
        { ".param::entry", SPACE_param },
        { ".param::func", SPACE_param },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (token_is(t, names[i].name)) return names[i].space;
    return SPACE_none;
}

static uint64_t primary(struct parser *p)
{
    if (p->token.kind == TOKEN_INT) {
        uint64_t v = p->token.value;
        next(p);
        return v;
    }
    if (++p->depth > 200) fatal_at(EXIT_UNSUPPORTED, p->token.line, "the expression is nested too deeply");
    uint64_t v;
    if (accept(p, "-")) {
        v = -primary(p);
    } else if (accept(p, "+")) {
        v = primary(p);
    } else if (accept(p, "~")) {
        v = ~primary(p);
    } else if (accept(p, "!")) {
        v = !primary(p);
    } else {
        if (!accept(p, "(")) syntax_error(p, "an integer constant");
        if (p->token.kind == TOKEN_DIRECTIVE) next(p); /* (.s64) and (.u64) casts */
        if (accept(p, ")"))
            v = primary(p);
        else
            v = constant(p), expect(p, ")");
    }
    p->depth--;
    return v;
}

uint64_t constant(struct parser *p)
{
    uint64_t v = primary(p);
    for (;;) {
        if (accept(p, "+"))
            v += primary(p);
        else if (accept(p, "-"))
            v -= primary(p);
        else if (accept(p, "*"))
            v *= primary(p);
        else
            return v;
    }
}

static void store(struct var *v, uint64_t at, uint64_t bits, unsigned bytes)
{
    for (unsigned k = 0; k < bytes; k++) v->init[at + k] = (uint8_t)(bits >> (8 * k));
}

static uint64_t float_value(const struct token *t, enum ptx_type type)
{
    if (type == T_f32) {
        if (t->is_single) return t->single;
        double d;
        memcpy(&d, &t->value, 8);
        float f = (float)d;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        return bits;
    }
    return t->value;
}

/* name, name+4, generic(name)+4 */
static void initial_address(struct parser *p, struct var *v, uint64_t at)
{
    struct symbol_ref r = { .offset = at };
    if (token_is(&p->token, "generic")) {
        next(p);
        expect(p, "(");
        r.generic = true;
    }
    r.target = lookup(p, &p->token, NAME_VAR);
    r.function = r.target ? NULL : lookup(p, &p->token, NAME_FUNC);
    if (!r.target && !r.function) syntax_error(p, "the name of a variable or function");
    next(p);
    if (r.generic) expect(p, ")");
    if (accept(p, "+"))
        r.addend = (int64_t)constant(p);
    else if (token_is(&p->token, "-"))
        r.addend = (int64_t)constant(p);
    if (r.function) r.function->address_taken = true;
    if (type_bytes(v->type) != 8)
        fatal_at(EXIT_UNSUPPORTED, p->token.line, "only 64-bit words can hold an initial address");
    ARENA_PUSH(v->refs, v->nrefs) = r;
}

static uint64_t initial_value(struct parser *p, struct var *v, uint64_t at, uint64_t end)
{
    unsigned bytes = type_bytes(v->type);
    if (accept(p, "{")) {
        if (++p->depth > 200) fatal_at(EXIT_UNSUPPORTED, p->token.line, "initial values are nested too deeply");
        while (!accept(p, "}")) {
            at = initial_value(p, v, at, end);
            if (!accept(p, ",") && !token_is(&p->token, "}")) syntax_error(p, "',' or '}'");
        }
        p->depth--;
        return at;
    }
    if (at + bytes > end) fatal_at(EXIT_INVALID_PTX, p->token.line, "too many initial values for %s", v->name);
    bool is_float = v->type == T_f32 || v->type == T_f64, negative = false;
    if (is_float || p->token.kind == TOKEN_FLOAT) {
        if (!is_float)
            fatal_at(EXIT_INVALID_PTX, p->token.line, "%s cannot be initialised with a floating-point value", v->name);
        negative = accept(p, "-");
        uint64_t bits;
        if (p->token.kind == TOKEN_INT) {
            double d = (double)p->token.value;
            struct token t = { 0 };
            memcpy(&t.value, &d, 8);
            bits = float_value(&t, v->type);
        } else if (p->token.kind == TOKEN_FLOAT) {
            bits = float_value(&p->token, v->type);
        } else {
            syntax_error(p, "a number");
        }
        next(p);
        store(v, at, negative ? bits ^ 1ull << (bytes * 8 - 1) : bits, bytes);
    } else if (p->token.kind == TOKEN_WORD) {
        initial_address(p, v, at);
    } else {
        store(v, at, constant(p), bytes > 8 ? 8 : bytes);
    }
    return at + bytes;
}

/* Array dimensions; an open first one is counted from the initial values. */
static uint64_t dimensions(struct parser *p, bool *open)
{
    uint64_t n = 1;
    *open = false;
    while (accept(p, "[")) {
        if (accept(p, "]")) {
            *open = true;
            continue;
        }
        uint64_t d = constant(p);
        expect(p, "]");
        if (d > 1ull << 40 || __builtin_mul_overflow(n, d, &n))
            fatal_at(EXIT_INVALID_PTX, p->token.line, "the array is too large");
    }
    return n;
}

/* How many elements the braces that come next hold, without consuming them. */
static uint64_t count_initial(struct parser *p)
{
    struct parser ahead = *p;
    uint64_t n = 0, depth = 0;
    bool value = false;
    do {
        if (token_is(&ahead.token, "{"))
            depth++;
        else if (token_is(&ahead.token, "}"))
            depth--, n += value, value = false;
        else if (token_is(&ahead.token, ","))
            n += value, value = false;
        else
            value = true;
        if (ahead.token.kind == TOKEN_END) syntax_error(p, "the end of the initial values");
        next(&ahead);
    } while (depth);
    return n;
}

static unsigned vector_length(struct parser *p)
{
    return accept(p, ".v2") ? 2 : accept(p, ".v4") ? 4 : accept(p, ".v8") ? 8 : 1;
}

static void parse_registers(struct parser *p)
{
    if (vector_length(p) != 1) fatal_at(EXIT_UNSUPPORTED, p->token.line, "vector registers");
    enum ptx_type type = type_of(&p->token);
    if (!type) syntax_error(p, "a type");
    if (!p->func) fatal_at(EXIT_UNSUPPORTED, p->token.line, "registers outside functions");
    next(p);
    do {
        struct token name = p->token;
        char *text = word(p, "a register's name");
        if (accept(p, "<")) {
            struct reg_range *r = arena_alloc(sizeof *r);
            *r = (struct reg_range){ text, constant(p), type, p->scope->ranges };
            p->scope->ranges = r;
            expect(p, ">");
        } else {
            if (declared_here(p->scope, &name)) fatal_at(EXIT_INVALID_PTX, name.line, "'%s' is declared twice", text);
            declare(p, p->scope, text, NAME_REG, reg_new(p, text, type));
        }
    } while (accept(p, ","));
    expect(p, ";");
}

static struct var *variable_new(struct parser *p, const struct token *name, char *text, enum ptx_space space)
{
    struct scope *s = p->scope;
    struct var *v = p->func ? NULL : lookup(p, name, NAME_VAR);
    if (v && !v->is_extern) fatal_at(EXIT_INVALID_PTX, name->line, "'%s' is declared twice", text);
    if (!v) {
        if (declared_here(s, name)) fatal_at(EXIT_INVALID_PTX, name->line, "'%s' is declared twice", text);
        v = arena_alloc(sizeof *v);
        declare(p, s, text, NAME_VAR, v);
        if (p->func)
            ARENA_PUSH(p->func->vars, p->func->nvars) = v;
        else
            ARENA_PUSH(p->module->vars, p->module->nvars) = v;
    }
    *v = (struct var){ .name = text, .space = space, .line = name->line };
    return v;
}

void parse_variable(struct parser *p, enum ptx_space space, uint8_t linkage)
{
    if (space == SPACE_reg) {
        parse_registers(p);
        return;
    }
    uint32_t align = 0;
    bool managed = false;
    unsigned vector = 1;
    enum ptx_type type = T_none;
    for (;;) {
        if (accept(p, ".align"))
            align = (uint32_t)constant(p);
        else if (accept(p, ".attribute")) {
            expect(p, "(");
            while (!accept(p, ")")) {
                if (token_is(&p->token, ".managed")) managed = true;
                if (p->token.kind == TOKEN_END) syntax_error(p, "')'");
                next(p);
            }
        } else if (accept(p, ".ptr"))
            continue;
        else if (token_is(&p->token, ".v2") || token_is(&p->token, ".v4"))
            vector = vector_length(p);
        else if (type_of(&p->token))
            type = type_of(&p->token), next(p);
        else
            break;
    }
    if (!type) syntax_error(p, "a type");
    if (align & (align - 1)) fatal_at(EXIT_INVALID_PTX, p->token.line, "an alignment is a power of two");
    do {
        struct token name = p->token;
        struct var *v = variable_new(p, &name, word(p, "a variable's name"), space);
        uint64_t count = 1;
        if (accept(p, "<")) fatal_at(EXIT_UNSUPPORTED, name.line, "parameterised variable names");
        bool open;
        count = dimensions(p, &open) * vector;
        if (open && token_is(&p->token, "=")) {
            struct parser ahead = *p;
            next(&ahead);
            count *= count_initial(&ahead) / (count ? count : 1);
        } else if (open) {
            if (linkage != FL_LINK_EXTERN)
                fatal_at(EXIT_INVALID_PTX, name.line, "the size of '%s' is missing", v->name);
            count = 0;
        }
        v->type = type;
        v->size = count * type_bytes(type);
        v->align = align ? align : type_bytes(type) * vector;
        v->managed = managed;
        v->linkage = linkage;
        v->is_extern = linkage == FL_LINK_EXTERN;
        if (v->size > 1ull << 40) fatal_at(EXIT_INVALID_PTX, name.line, "'%s' is too large", v->name);
        if (accept(p, "=")) {
            if (space != SPACE_global && space != SPACE_const)
                fatal_at(EXIT_INVALID_PTX, name.line, "'%s' cannot have an initial value", v->name);
            v->init = arena_alloc(v->size);
            v->has_init = true;
            initial_value(p, v, 0, v->size);
        }
    } while (accept(p, ","));
    expect(p, ";");
}

/* ( .param .u64 .ptr .global .align 8 name[4], ... ) ; also .reg parameters of functions */
void parse_params(struct parser *p, struct var **list, uint32_t *count, bool declare_them)
{
    uint32_t offset = 0;
    expect(p, "(");
    while (!accept(p, ")")) {
        struct var *v = &ARENA_PUSH(*list, *count);
        enum ptx_space space = space_of(&p->token);
        if (space != SPACE_param && space != SPACE_reg) syntax_error(p, "'.param'");
        next(p);
        v->space = SPACE_param;
        for (;;) {
            if (accept(p, ".align")) {
                uint32_t align = (uint32_t)constant(p);
                if (!v->is_pointer) v->align = align; /* after .ptr it is the pointee's */
            } else if (accept(p, ".ptr"))
                v->is_pointer = true;
            else if (v->is_pointer && space_of(&p->token))
                next(p);
            else if (token_is(&p->token, ".v2") || token_is(&p->token, ".v4"))
                syntax_error(p, "a scalar type");
            else if (type_of(&p->token))
                v->type = type_of(&p->token), next(p);
            else
                break;
        }
        if (!v->type) syntax_error(p, "a type");
        struct token name = p->token;
        v->name = p->token.kind == TOKEN_WORD ? word(p, "a name") : "_";
        v->line = name.line;
        bool open;
        uint64_t n = dimensions(p, &open);
        if (n > 65536) fatal_at(EXIT_INVALID_PTX, name.line, "the parameter is too large");
        v->size = n * (type_bytes(v->type) ? type_bytes(v->type) : 1);
        if (!v->align) v->align = type_bytes(v->type);
        if (v->align & (v->align - 1) || !v->align)
            fatal_at(EXIT_INVALID_PTX, name.line, "an alignment is a power of two");
        offset = (offset + v->align - 1) & ~(v->align - 1);
        v->offset = offset;
        offset += (uint32_t)v->size;
        if (space == SPACE_reg) fatal_at(EXIT_UNSUPPORTED, name.line, "parameters in registers");
        if (!token_is(&p->token, ")")) expect(p, ",");
    }
    if (declare_them)
        for (uint32_t i = 0; i < *count; i++) declare(p, p->scope, (*list)[i].name, NAME_VAR, &(*list)[i]);
}

static void performance_directives(struct parser *p, struct func *f)
{
    for (;;) {
        uint32_t three[3] = { 1, 1, 1 };
        bool max = token_is(&p->token, ".maxntid"), req = token_is(&p->token, ".reqntid"),
             cluster = token_is(&p->token, ".reqnctapercluster");
        if (max || req || token_is(&p->token, ".minnctapersm") || token_is(&p->token, ".maxnctapersm") ||
            token_is(&p->token, ".maxnreg") || cluster ||
            token_is(&p->token, ".maxclusterrank")) {
            next(p);
            for (int i = 0; i < 3; i++) {
                three[i] = (uint32_t)constant(p);
                if (!accept(p, ",")) break;
            }
            if (cluster && three[0] * three[1] * three[2] > 1)
                fatal_at(EXIT_UNSUPPORTED, p->token.line, "clusters of more than one block");
            if (max) f->max_threads = three[0] * three[1] * three[2];
            if (req) memcpy(f->reqntid, three, sizeof three);
        } else if (accept(p, ".noreturn")) {
            f->noreturn = true;
        } else if (accept(p, ".explicitcluster") || accept(p, ".blocksareclusters")) {
            continue;
        } else if (token_is(&p->token, ".pragma")) {
            while (!accept(p, ";")) {
                if (p->token.kind == TOKEN_END) syntax_error(p, "';'");
                next(p);
            }
        } else if (accept(p, ".abi_preserve") || accept(p, ".abi_preserve_control")) {
            constant(p);
        } else {
            return;
        }
    }
}

static void parse_function(struct parser *p, bool entry, uint8_t linkage)
{
    struct func *f = arena_alloc(sizeof *f);
    f->entry = entry;
    f->linkage = linkage;
    f->line = p->token.line;
    struct scope *outside = p->scope;
    scope_push(p);
    p->func = f;
    if (!entry && token_is(&p->token, "(")) {
        parse_params(p, &f->sig.rets, &f->sig.nrets, true);
        for (uint32_t i = 0; i < f->sig.nrets; i++) f->sig.rets[i].is_result = true;
    }
    struct token name = p->token;
    f->name = word(p, "a function's name");
    if (token_is(&p->token, "(")) parse_params(p, &f->sig.params, &f->sig.nparams, true);
    for (uint32_t i = 0; i < f->sig.nparams; i++) f->sig.params[i].is_argument = true;
    performance_directives(p, f);
    f->sig.noreturn = f->noreturn;

    p->scope = outside;
    struct func *known = lookup(p, &name, NAME_FUNC);
    bool body = token_is(&p->token, "{");
    if (known && known->body && body) fatal_at(EXIT_INVALID_PTX, name.line, "function '%s' is defined twice", f->name);
    if (!known && declared_here(p->global, &name))
        fatal_at(EXIT_INVALID_PTX, name.line, "'%s' is declared twice", f->name);
    if (!known) {
        declare(p, p->global, f->name, NAME_FUNC, f);
        ARENA_PUSH(p->module->funcs, p->module->nfuncs) = f;
        known = f;
    } else if (body) {
        bool taken = known->address_taken;
        *known = *f;
        known->address_taken = taken;
    }
    if (body) {
        struct scope *inside = arena_alloc(sizeof *inside);
        inside->outer = outside;
        p->scope = inside;
        for (uint32_t i = 0; i < known->sig.nrets; i++)
            declare(p, inside, known->sig.rets[i].name, NAME_VAR, &known->sig.rets[i]);
        for (uint32_t i = 0; i < known->sig.nparams; i++)
            declare(p, inside, known->sig.params[i].name, NAME_VAR, &known->sig.params[i]);
        known->body = true;
        p->func = known;
        parse_body(p, known);
    } else {
        known->is_extern |= linkage == FL_LINK_EXTERN;
        expect(p, ";");
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
        if (accept(p, names[i].name)) found = names[i].linkage, i = (size_t)-1;
    return found;
}

static void parse_header(struct parser *p)
{
    struct module_ir *m = p->module;
    expect(p, ".version");
    if (p->token.kind != TOKEN_FLOAT) syntax_error(p, "a version like 7.5");
    double version;
    memcpy(&version, &p->token.value, 8);
    m->version = (unsigned)(version * 10 + 0.5);
    if (m->version > 90)
        fatal_at(EXIT_VERSION, p->token.line, "PTX version %.1f is newer than 9.0, the newest known", version);
    next(p);
    if (!accept(p, ".target")) syntax_error(p, "'.target'");
    do {
        char *t = word(p, "a target");
        unsigned sm = 0, n = 0;
        char suffix = 0;
        if (sscanf(t, "sm_%u%n%c", &sm, &n, &suffix) >= 1) {
            m->target = sm;
            static const struct {
                unsigned sm, since;
            } known[] = { { 10, 10 }, { 11, 10 }, { 12, 12 }, { 13, 12 }, { 20, 20 }, { 21, 20 }, { 30, 30 },
                          { 32, 40 }, { 35, 31 }, { 37, 41 }, { 50, 40 }, { 52, 41 }, { 53, 42 }, { 60, 50 },
                          { 61, 50 }, { 62, 50 }, { 70, 60 }, { 72, 61 }, { 75, 63 }, { 80, 70 }, { 86, 71 },
                          { 87, 74 }, { 88, 90 }, { 89, 78 }, { 90, 78 } };
            bool found = false;
            for (size_t i = 0; i < sizeof known / sizeof *known; i++)
                found |= known[i].sm == sm && m->version >= known[i].since;
            if (!found)
                fatal_at(EXIT_INVALID_PTX, p->token.line,
                         "target %s is unknown to PTX version %u.%u, or newer than sm_90", t, m->version / 10,
                         m->version % 10);
        } else if (strcmp(t, "texmode_unified") && strcmp(t, "texmode_independent") && strcmp(t, "map_f64_to_f32")) {
            if (strcmp(t, "debug")) fatal_at(EXIT_INVALID_PTX, p->token.line, "unknown target '%s'", t);
            fatal_at(EXIT_INVALID_PTX, p->token.line, "target option 'debug' needs debugging information");
        }
    } while (accept(p, ","));
    if (accept(p, ".address_size")) {
        if (constant(p) != 64) fatal_at(EXIT_INVALID_PTX, p->token.line, "only 64-bit addresses are supported");
    } else if (m->version >= 23 && p->token.kind != TOKEN_END) {
        /* the default is 32 where the directive is missing, but the driver takes the device's 64 */
    }
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

struct module_ir *parse(const char *text, size_t length)
{
    struct parser p = { .module = arena_alloc(sizeof(struct module_ir)) };
    lex_init(&p.lexer, text, length);
    p.global = scope_push(&p);
    next(&p);
    parse_header(&p);
    while (p.token.kind != TOKEN_END) {
        if (token_is(&p.token, ".file") || token_is(&p.token, ".loc") || token_is(&p.token, ".section") ||
            token_is(&p.token, "@")) {
            debug_directive(&p);
            continue;
        }
        if (accept(&p, ".pragma")) {
            while (!accept(&p, ";")) {
                if (p.token.kind == TOKEN_END) syntax_error(&p, "';'");
                next(&p);
            }
            continue;
        }
        if (accept(&p, ".alias")) {
            parse_alias(&p);
            continue;
        }
        uint8_t linkage = parse_linkage(&p);
        enum ptx_space space = space_of(&p.token);
        if (accept(&p, ".entry")) {
            parse_function(&p, true, linkage);
        } else if (accept(&p, ".func")) {
            bool noreturn = token_is(&p.token, ".attribute");
            if (noreturn) debug_directive(&p);
            parse_function(&p, false, linkage);
        } else if (accept(&p, ".tex") || accept(&p, ".texref") || accept(&p, ".samplerref") || accept(&p, ".surfref")) {
            fatal_at(EXIT_UNSUPPORTED, p.token.line, "textures and surfaces are not supported");
        } else if (space && space != SPACE_param) {
            if (token_is(&p.token, ".global")) {
                struct parser ahead = p;
                next(&ahead);
                if (token_is(&ahead.token, ".texref") || token_is(&ahead.token, ".surfref") ||
                    token_is(&ahead.token, ".samplerref"))
                    fatal_at(EXIT_UNSUPPORTED, p.token.line, "textures and surfaces are not supported");
            }
            next(&p);
            parse_variable(&p, space, linkage);
        } else {
            syntax_error(&p, "a directive");
        }
    }
    return p.module;
}
