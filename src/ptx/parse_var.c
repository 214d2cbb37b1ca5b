/* Declarations: variables with their initial values, registers, parameters. */
#include "arena.h"
#include "image.h"
#include "parse.h"

#include <string.h>

static void store(struct var *v, uint64_t at, uint64_t bits, unsigned bytes)
{
    for (unsigned k = 0; k < bytes; k++) v->init[at + k] = (uint8_t)(bits >> (8 * k));
}

static uint64_t float_value(const struct number *n, enum ptx_type type)
{
    double d = n->is_float ? number_real(n) : n->is_unsigned ? (double)n->bits : (double)(int64_t)n->bits;
    uint64_t bits = 0;
    if (type == T_f32 && n->is_single) return n->single;
    float f = (float)d;
    if (type == T_f32)
        memcpy(&bits, &f, sizeof f);
    else
        memcpy(&bits, &d, sizeof d);
    return bits;
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
    if (r.target && (r.target->texture || r.target->surface))
        fatal_at(EXIT_UNSUPPORTED, p->token.line, "a reference is no initial value");
    if (type_bytes(v->type) != 8)
        fatal_at(EXIT_UNSUPPORTED, p->token.line, "only 64-bit words can hold an initial address");
    ARENA_PUSH(v->refs, v->nrefs) = r;
}

/* One value, or several in braces, for v's bytes from at on; where they end. */
static uint64_t initial_value(struct parser *p, struct var *v, uint64_t at, uint64_t end)
{
    unsigned bytes = type_bytes(v->type);
    if (accept(p, "{")) {
        if (++p->depth > NESTING_MOST)
            fatal_at(EXIT_UNSUPPORTED, p->token.line, "initial values are nested too deeply");
        while (!accept(p, "}")) {
            at = initial_value(p, v, at, end);
            if (!accept(p, ",") && !token_is(&p->token, "}")) syntax_error(p, "',' or '}'");
        }
        p->depth--;
        return at;
    }
    if (at + bytes > end) fatal_at(EXIT_INVALID_PTX, p->token.line, "too many initial values for %s", v->name);
    if (p->token.kind == TOKEN_WORD && !token_is(&p->token, "WARP_SZ")) {
        initial_address(p, v, at);
        return at + bytes;
    }
    const struct number n = expression(p);
    const bool is_float = v->type == T_f32 || v->type == T_f64;
    if (n.is_float && !is_float)
        fatal_at(EXIT_INVALID_PTX, p->token.line, "%s cannot be initialised with a floating-point value", v->name);
    store(v, at, is_float ? float_value(&n, v->type) : n.bits, bytes > 8 ? 8 : bytes);
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
        uint64_t d = count(p);
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
        else if (token_is(&ahead.token, "}")) {
            depth--;
            n += value;
            value = false;
        } else if (token_is(&ahead.token, ",")) {
            n += value;
            value = false;
        } else
            value = true;
        if (ahead.token.kind == TOKEN_END) syntax_error(p, "the end of the initial values");
        next(&ahead);
    } while (depth);
    return n;
}

static unsigned accept_vector(struct parser *p)
{
    return accept(p, ".v2") ? 2 : accept(p, ".v4") ? 4 : accept(p, ".v8") ? 8 : 1;
}

static void parse_registers(struct parser *p)
{
    if (accept_vector(p) != 1) fatal_at(EXIT_UNSUPPORTED, p->token.line, "vector registers");
    enum ptx_type type = type_of(&p->token);
    if (!type || type_element(type)) syntax_error(p, "a type");
    if (!p->func) fatal_at(EXIT_UNSUPPORTED, p->token.line, "registers outside functions");
    next(p);
    do {
        struct token name = p->token;
        char *text = word(p, "a register's name");
        if (accept(p, "<")) {
            struct reg_range *r = arena_alloc(sizeof *r);
            *r = (struct reg_range){ text, count(p), type, p->scope->ranges };
            p->scope->ranges = r;
            expect(p, ">");
        } else {
            if (declared_here(p->scope, &name)) fatal_at(EXIT_INVALID_PTX, name.line, "'%s' is declared twice", text);
            declare(p->scope, text, NAME_REG, reg_new(p, text, type));
        }
    } while (accept(p, ","));
    expect(p, ";");
}

/* Whether a file may say again what another has defined. */
static bool repeatable(uint8_t linkage)
{
    return linkage == FL_LINK_EXTERN || linkage == FL_LINK_WEAK || linkage == FL_LINK_COMMON;
}

static struct var *variable_new(struct parser *p, const struct token *name, char *text, enum ptx_space space,
                                uint8_t linkage)
{
    struct scope *s = p->scope;
    struct var *v = p->func ? NULL : lookup(p, name, NAME_VAR);
    if (v && !v->is_extern && (repeatable(linkage) || v->linkage == FL_LINK_WEAK)) {
        struct var *unseen = arena_alloc(sizeof *unseen);
        *unseen = (struct var){ .name = text, .space = space, .line = name->line };
        return unseen;
    }
    if (v && !v->is_extern) fatal_at(EXIT_INVALID_PTX, name->line, "'%s' is declared twice", text);
    if (!v) {
        if (declared_here(s, name)) fatal_at(EXIT_INVALID_PTX, name->line, "'%s' is declared twice", text);
        v = arena_alloc(sizeof *v);
        declare(s, text, NAME_VAR, v);
        if (p->func)
            ARENA_PUSH(p->func->vars, p->func->nvars) = v;
        else
            ARENA_PUSH(p->module->vars, p->module->nvars) = v;
    }
    *v = (struct var){ .name = text, .space = space, .line = name->line };
    return v;
}

static void check_alignment(const struct parser *p, uint32_t align)
{
    if (align & (align - 1)) fatal_at(EXIT_INVALID_PTX, p->token.line, "an alignment is a power of two");
}

/* .attribute(.managed), with others that mean nothing here; true: managed */
static bool attributes(struct parser *p)
{
    bool managed = false;
    expect(p, "(");
    while (!accept(p, ")")) {
        if (token_is(&p->token, ".managed")) managed = true;
        if (p->token.kind == TOKEN_END) syntax_error(p, "')'");
        next(p);
    }
    return managed;
}

/* What a declaration says before the names: .align 16 .v4 .f32 */
struct declaration {
    enum ptx_type type;
    uint32_t align; /* 0: the type's */
    unsigned vector;
    bool managed;
};

static struct declaration declaration(struct parser *p)
{
    struct declaration d = { .vector = 1 };
    for (;;) {
        if (accept(p, ".align"))
            d.align = (uint32_t)count(p);
        else if (accept(p, ".attribute"))
            d.managed |= attributes(p);
        else if (accept(p, ".ptr"))
            continue;
        else if (token_is(&p->token, ".v2") || token_is(&p->token, ".v4"))
            d.vector = accept_vector(p);
        else if (type_of(&p->token)) {
            d.type = type_of(&p->token);
            next(p);
        } else
            break;
    }
    if (!d.type) syntax_error(p, "a type");
    check_alignment(p, d.align);
    return d;
}

/* How many elements of its type the variable has; one whose size is left open is as long as its initial value. */
static uint64_t element_count(struct parser *p, const struct var *v, unsigned vector, uint8_t linkage)
{
    bool open;
    uint64_t count = dimensions(p, &open) * vector;
    if (!open) return count;
    if (token_is(&p->token, "=")) {
        struct parser ahead = *p;
        next(&ahead);
        return count * (count_initial(&ahead) / (count ? count : 1));
    }
    if (linkage != FL_LINK_EXTERN) fatal_at(EXIT_INVALID_PTX, v->line, "the size of '%s' is missing", v->name);
    return 0;
}

void parse_variable(struct parser *p, enum ptx_space space, uint8_t linkage)
{
    if (space == SPACE_reg) {
        parse_registers(p);
        return;
    }
    struct declaration d = declaration(p);
    do {
        struct token name = p->token;
        struct var *v = variable_new(p, &name, word(p, "a variable's name"), space, linkage);
        if (accept(p, "<")) fatal_at(EXIT_UNSUPPORTED, name.line, "parameterised variable names");
        v->type = d.type;
        if (token_is(&p->token, "[")) v->stride = type_bytes(d.type);
        v->size = element_count(p, v, d.vector, linkage) * type_bytes(d.type);
        v->align = d.align ? d.align : type_bytes(d.type) * d.vector;
        v->managed = d.managed;
        v->linkage = linkage;
        v->is_extern = linkage == FL_LINK_EXTERN;
        if (v->size > 1ull << 40) fatal_at(EXIT_INVALID_PTX, name.line, "'%s' is too large", v->name);
        if (accept(p, "=")) {
            if (space != SPACE_global && space != SPACE_const)
                fatal_at(EXIT_INVALID_PTX, name.line, "'%s' cannot have an initial value", v->name);
            v->init = arena_alloc(v->size);
            initial_value(p, v, 0, v->size);
        }
    } while (accept(p, ","));
    expect(p, ";");
}

/* .global .texref name, .global .surfref name: variables that hold a handle, which the host sets. */
bool parse_reference(struct parser *p, uint8_t linkage)
{
    bool texture = token_is(&p->token, ".texref"), surface = token_is(&p->token, ".surfref");
    if (token_is(&p->token, ".samplerref"))
        fatal_at(EXIT_UNSUPPORTED, p->token.line, "samplers beside textures are not supported");
    if (!texture && !surface) return false;
    next(p);
    do {
        struct token name = p->token;
        struct var *v = variable_new(p, &name, word(p, "a variable's name"), SPACE_global, linkage);
        v->type = T_b64;
        v->size = v->align = 8;
        v->linkage = linkage;
        v->texture = texture;
        v->surface = surface;
        if (token_is(&p->token, "[")) fatal_at(EXIT_UNSUPPORTED, name.line, "arrays of references are not supported");
        /* how it is to be read: nobody looks at that (observed on an H200) */
        for (bool initial = accept(p, "="); initial; next(p)) {
            initial = !token_is(&p->token, "}");
            if (token_is(&p->token, ";") || p->token.kind == TOKEN_END) syntax_error(p, "'}'");
        }
    } while (accept(p, ","));
    expect(p, ";");
    return true;
}

/* .param .u64 .ptr .global .align 8 name[4] ; its place is behind *offset */
static void parse_param(struct parser *p, struct var *v, uint32_t *offset)
{
    enum ptx_space space = space_of(&p->token);
    if (space != SPACE_param && space != SPACE_reg) syntax_error(p, "'.param'");
    next(p);
    v->space = SPACE_param;
    for (;;) {
        if (accept(p, ".align")) {
            uint32_t align = (uint32_t)count(p);
            if (!v->is_pointer) v->align = align; /* after .ptr it is the pointee's */
        } else if (accept(p, ".ptr"))
            v->is_pointer = true;
        else if (v->is_pointer && space_of(&p->token))
            next(p);
        else if (token_is(&p->token, ".v2") || token_is(&p->token, ".v4"))
            syntax_error(p, "a scalar type");
        else if (type_of(&p->token)) {
            v->type = type_of(&p->token);
            next(p);
        } else
            break;
    }
    if (!v->type) syntax_error(p, "a type");
    v->line = p->token.line;
    v->name = p->token.kind == TOKEN_WORD ? word(p, "a name") : "_";
    if (token_is(&p->token, "[")) v->stride = type_bytes(v->type);
    bool open;
    uint64_t n = dimensions(p, &open);
    if (n > 65536) fatal_at(EXIT_INVALID_PTX, v->line, "the parameter is too large");
    v->size = n * (type_bytes(v->type) ? type_bytes(v->type) : 1);
    if (!v->align) v->align = type_bytes(v->type);
    if (!v->align) fatal_at(EXIT_INVALID_PTX, v->line, "the type has no place in memory");
    check_alignment(p, v->align);
    v->offset = (*offset + v->align - 1) & ~(v->align - 1);
    *offset = v->offset + (uint32_t)v->size;
    v->is_register = space == SPACE_reg;
}

void parse_params(struct parser *p, struct var **list, uint32_t *count, bool declare_them)
{
    uint32_t offset = 0;
    expect(p, "(");
    while (!accept(p, ")")) {
        parse_param(p, &ARENA_PUSH(*list, *count), &offset);
        if (!token_is(&p->token, ")")) expect(p, ",");
    }
    if (declare_them)
        for (uint32_t i = 0; i < *count; i++) declare(p->scope, (*list)[i].name, NAME_VAR, &(*list)[i]);
}
