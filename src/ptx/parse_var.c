/* Declarations: variables with their initial values, registers, parameters. */
#include "arena.h"
#include "image.h"
#include "parse.h"

#include <ctype.h>
#include <string.h>

enum { LEVELS = 16, VECTOR_BITS = 128, NUMBERED_MOST = 65536 };

static void store(struct var *v, uint64_t at, uint64_t bits, unsigned bytes)
{
    for (unsigned k = 0; k < bytes; k++) v->init[at + k] = (uint8_t)(bits >> (8 * k));
}

static uint64_t float_value(const struct number *n, enum ptx_type type)
{
    double d = number_real(n);
    uint64_t bits = 0;
    if (n->is_single) return n->single; /* of a double, too, these bits (observed on an H200) */
    float f = (float)d;
    if (type_bits(type) == 32)
        memcpy(&bits, &f, sizeof f);
    else
        memcpy(&bits, &d, sizeof d);
    return bits;
}

static void wrong_kind(struct parser *p, const struct var *v) __attribute__((noreturn));
static void wrong_kind(struct parser *p, const struct var *v)
{
    fatal_at(EXIT_INVALID_PTX, p->token.line, "%s cannot be initialised with such a value", v->name);
}

/* name, name+4, generic(name)+4 */
static struct symbol_ref address_of(struct parser *p, struct var *v, uint64_t at)
{
    struct symbol_ref r = { .offset = at, .bytes = (uint8_t)type_bytes(v->type) };
    const bool generic = accept(p, "generic");
    if (generic) expect(p, "(");
    r.target = lookup(p, &p->token, NAME_VAR);
    r.function = r.target || generic ? NULL : lookup(p, &p->token, NAME_FUNC);
    if (!r.target && !r.function) syntax_error(p, "the name of a variable or function");
    next(p);
    if (generic) expect(p, ")");
    if (r.target && accept(p, "+")) r.addend = (int64_t)constant(p);
    if (r.function) r.function->address_taken = true;
    if (r.target && (r.target->texture || r.target->surface))
        fatal_at(EXIT_UNSUPPORTED, p->token.line, "a reference is no initial value");
    if (r.target && r.target->space != SPACE_global && r.target->space != SPACE_const) wrong_kind(p, v);
    if (v->type != T_u8 && v->type != T_u32 && v->type != T_u64) wrong_kind(p, v);
    return r;
}

static void initial_address(struct parser *p, struct var *v, uint64_t at)
{
    struct symbol_ref r = address_of(p, v, at);
    if (r.bytes < 4) wrong_kind(p, v);
    ARENA_PUSH(v->refs, v->nrefs) = r;
}

static bool is_mask(const struct parser *p)
{
    struct parser ahead = *p;
    if (p->token.kind != TOKEN_INT) return false;
    next(&ahead);
    return token_is(&ahead.token, "(");
}

/* 0xff00(name): a byte of the address */
static void address_byte(struct parser *p, struct var *v, uint64_t at)
{
    const uint64_t mask = count(p);
    expect(p, "(");
    struct symbol_ref r = address_of(p, v, at);
    expect(p, ")");
    while (r.shift < 56 && mask != 0xffull << r.shift) r.shift += 8;
    if (mask != 0xffull << r.shift) fatal_at(EXIT_INVALID_PTX, p->token.line, "no mask of one byte");
    r.bytes = 1;
    ARENA_PUSH(v->refs, v->nrefs) = r;
}

static void scalar_value(struct parser *p, struct var *v, uint64_t at)
{
    const bool number = v->type == T_f32 || v->type == T_f64, bits = v->type == T_b32 || v->type == T_b64;
    const unsigned bytes = type_bytes(v->type);
    if (is_mask(p)) {
        address_byte(p, v, at);
        return;
    }
    if (p->token.kind == TOKEN_WORD && !token_is(&p->token, "WARP_SZ")) {
        initial_address(p, v, at);
        return;
    }
    const struct number n = expression(p);
    if ((n.is_float ? !number && !bits : number) || v->type == T_f16 || v->type == T_f16x2) wrong_kind(p, v);
    store(v, at, n.is_float ? float_value(&n, v->type) : n.bits, bytes > 8 ? 8 : bytes);
}

/* An array's dimensions, of which a vector's elements are the last. */
struct shape {
    uint64_t count, lengths[LEVELS]; /* of all elements; of each dimension */
    unsigned levels;
    bool vector;
    bool open; /* the first one is counted from the initial values */
};

static void add_level(struct parser *p, struct shape *s, uint64_t length)
{
    if (s->levels == LEVELS) fatal_at(EXIT_UNSUPPORTED, p->token.line, "an array of too many dimensions");
    if (length > 1ull << 40 || __builtin_mul_overflow(s->count, length, &s->count))
        fatal_at(EXIT_INVALID_PTX, p->token.line, "the array is too large");
    s->lengths[s->levels++] = length;
}

/* [2][3], or [][3] */
static struct shape dimensions(struct parser *p)
{
    struct shape s = { .count = 1 };
    while (accept(p, "[")) {
        const bool open = !s.levels && accept(p, "]");
        s.open |= open;
        add_level(p, &s, open ? 1 : count(p));
        if (!open) expect(p, "]");
    }
    return s;
}

/* What the braces of one level hold lies from at on, one value after the other, even if braces within hold less than
 * their dimension (observed on an H200); where it ends. */
static uint64_t initial_values(struct parser *p, struct var *v, const struct shape *s, unsigned level, uint64_t at)
{
    if (level == s->levels) {
        scalar_value(p, v, at);
        return at + type_bytes(v->type);
    }
    uint64_t n = 0;
    expect(p, "{");
    while (!accept(p, "}")) {
        if (n++ == s->lengths[level])
            fatal_at(EXIT_INVALID_PTX, p->token.line, "too many initial values for %s", v->name);
        at = initial_values(p, v, s, level + 1, at);
        if (!token_is(&p->token, "}")) expect_more(p, "}");
    }
    if (s->vector && level + 1 == s->levels && n && n < s->lengths[level])
        fatal_at(EXIT_INVALID_PTX, p->token.line, "a vector of too few values for %s", v->name);
    return at;
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

/* Types of one register or one place in memory. Others are of instructions only. */
static bool is_fundamental(enum ptx_type t)
{
    return (type_bitwise(t) || type_integer(t) || t == T_f16 || t == T_f16x2 || t == T_f32 || t == T_f64) &&
           t != T_bf16 && t != T_bf16x2 && t != T_tf32;
}

/* _, $ and % alone are no names. */
static char *new_name(struct parser *p, const char *what)
{
    const struct token *t = &p->token;
    if ((t->length == 1 && !isalpha((unsigned char)*t->text)) || token_is(t, "WARP_SZ")) syntax_error(p, what);
    return word(p, what);
}

static void vector_register(struct parser *p, const char *name, enum ptx_type type, unsigned vector)
{
    static const char *const parts[] = { "x", "y", "z", "w" };
    struct vector_reg *v = arena_alloc(sizeof *v);
    v->count = vector;
    for (unsigned k = 0; k < vector; k++) v->parts[k] = reg_new(p, arena_printf("%s.%s", name, parts[k]), type);
    declare(p->scope, name, NAME_VECTOR, v);
}

/* .reg .v2 .f32 a, b<3>; */
static void vector_registers(struct parser *p, unsigned vector)
{
    const enum ptx_type type = type_of(&p->token);
    if (!is_fundamental(type) || type_bits(type) * vector > VECTOR_BITS || vector > 4)
        syntax_error(p, "a vector's type");
    if (!p->func) fatal_at(EXIT_UNSUPPORTED, p->token.line, "registers outside functions");
    next(p);
    do {
        struct token name = p->token;
        char *text = new_name(p, "a register's name");
        if (declared_here(p->scope, &name)) fatal_at(EXIT_INVALID_PTX, name.line, "'%s' is declared twice", text);
        if (!accept(p, "<")) {
            vector_register(p, text, type, vector);
            continue;
        }
        const uint64_t n = count(p);
        if (n > NUMBERED_MOST) fatal_at(EXIT_UNSUPPORTED, name.line, "too many vectors of registers");
        for (unsigned k = 0; k < n; k++) vector_register(p, arena_printf("%s%u", text, k), type, vector);
        expect(p, ">");
    } while (accept(p, ","));
    expect(p, ";");
}

static void parse_registers(struct parser *p)
{
    const unsigned vector = accept_vector(p);
    if (vector != 1) {
        vector_registers(p, vector);
        return;
    }
    enum ptx_type type = type_of(&p->token);
    if (!is_fundamental(type) && type != T_pred) syntax_error(p, "a type");
    if (!p->func) fatal_at(EXIT_UNSUPPORTED, p->token.line, "registers outside functions");
    next(p);
    do {
        struct token name = p->token;
        char *text = new_name(p, "a register's name");
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

/* Whether a file's definition is nothing beside that of another file. */
static bool gives_way(const struct var *v, uint8_t to)
{
    return v->linkage == FL_LINK_COMMON ? to != FL_LINK_COMMON && to != FL_LINK_EXTERN
                                        : v->linkage == FL_LINK_WEAK && !repeatable(to);
}

/* The size that another file's declaration gives a module's variable, and that it must have here, too; 0: none does. */
static uint64_t size_elsewhere(const struct parser *p, const struct var *v, uint8_t linkage)
{
    const bool memory = v && (v->space == SPACE_global || v->space == SPACE_const),
               open = v && ((v->is_extern && linkage == FL_LINK_EXTERN) ||
                            (v->linkage == FL_LINK_COMMON && (linkage == FL_LINK_COMMON || linkage == FL_LINK_WEAK)) ||
                            (v->linkage == FL_LINK_WEAK && linkage == FL_LINK_COMMON));
    return memory && v->file != p->file && !open ? v->size : 0;
}

/* The module's variable of that name; NULL: this is the first one. */
static struct var *variable_known(const struct parser *p, struct var *v, enum ptx_space space, uint8_t linkage, int line)
{
    /* a file has what it names no linkage of for itself, whatever others have (observed on H200) */
    if (!v || (linkage == FL_LINK_STATIC && v->file != p->file)) return NULL;
    if (v->file != p->file && v->space != space)
        fatal_at(EXIT_INVALID_PTX, line, "'%s' is in another state space in another file", v->name);
    return v;
}

static struct var *variable_new(struct parser *p, const struct token *name, char *text, enum ptx_space space,
                                uint8_t linkage)
{
    struct scope *s = p->scope;
    struct var *found = p->func ? NULL : lookup(p, name, NAME_VAR),
               *v = variable_known(p, found, space, linkage, name->line);
    const uint64_t elsewhere = size_elsewhere(p, v, linkage);
    const bool other = v && v->file != p->file, replaced = v && (v->is_extern || (other && gives_way(v, linkage)));
    if (other && v->linkage == FL_LINK_COMMON && linkage == FL_LINK_COMMON) return v;
    if (v && !replaced && (repeatable(linkage) || v->linkage == FL_LINK_WEAK)) {
        struct var *unseen = arena_alloc(sizeof *unseen);
        *unseen = (struct var){ .name = text, .space = space, .elsewhere = elsewhere, .line = name->line };
        return unseen;
    }
    if (v && !replaced) fatal_at(EXIT_INVALID_PTX, name->line, "'%s' is declared twice", text);
    if (!v) {
        if (!found && declared_here(s, name)) fatal_at(EXIT_INVALID_PTX, name->line, "'%s' is declared twice", text);
        v = arena_alloc(sizeof *v);
        declare(s, text, NAME_VAR, v);
        if (p->func)
            ARENA_PUSH(p->func->vars, p->func->nvars) = v;
        else
            ARENA_PUSH(p->module->vars, p->module->nvars) = v;
    }
    *v = (struct var){ .name = text, .space = space, .file = p->file, .elsewhere = elsewhere, .line = name->line };
    return v;
}

/* Of what several files have in common the largest counts, and what is aligned most. */
static void join_common(struct var *v, const struct var *before)
{
    if (before->init && v->size > before->size)
        fatal_at(EXIT_INVALID_PTX, v->line, "'%s' is larger than its initial value", v->name);
    if (v->size < before->size) v->size = before->size;
    if (v->align < before->align) v->align = before->align;
}

static void check_alignment(const struct parser *p, uint32_t align)
{
    if (!align || align & (align - 1)) fatal_at(EXIT_INVALID_PTX, p->token.line, "an alignment is a power of two");
}

/* (1, 2) */
static void attribute_numbers(struct parser *p)
{
    expect(p, "(");
    do {
        constant(p);
    } while (accept(p, ","));
    expect(p, ")");
}

/* .attribute(.managed), with others that mean nothing here; true: managed */
static bool attributes(struct parser *p)
{
    bool managed = false;
    expect(p, "(");
    while (!accept(p, ")")) {
        if (accept(p, ".managed"))
            managed = true;
        else if (accept(p, ".unified"))
            attribute_numbers(p);
        else
            syntax_error(p, "an attribute");
        if (!token_is(&p->token, ")")) expect_more(p, ")");
    }
    return managed;
}

void parse_attributes(struct parser *p)
{
    expect(p, ".attribute");
    p->managed = attributes(p);
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
    struct declaration d = { .vector = 1, .managed = p->managed };
    p->managed = false;
    for (;;) {
        if (accept(p, ".align"))
            check_alignment(p, d.align = (uint32_t)count(p));
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
    if (!is_fundamental(d.type)) syntax_error(p, "a type");
    if (type_bits(d.type) * d.vector > VECTOR_BITS)
        fatal_at(EXIT_INVALID_PTX, p->token.line, "a vector has %d bits at most", VECTOR_BITS);
    return d;
}

/* The dimensions of the variable; one whose size is left open is as long as its initial value. */
static struct shape shape_of(struct parser *p, const struct var *v, unsigned vector, uint8_t linkage)
{
    struct shape s = dimensions(p);
    if (s.levels && !s.count) fatal_at(EXIT_INVALID_PTX, v->line, "'%s' is an array of no elements", v->name);
    s.vector = vector > 1;
    if (s.vector) add_level(p, &s, vector);
    if (s.open && token_is(&p->token, "=")) {
        struct parser ahead = *p;
        next(&ahead);
        s.lengths[0] = count_initial(&ahead) / s.count;
        s.count *= s.lengths[0];
    } else if (s.open) {
        if (linkage != FL_LINK_EXTERN) fatal_at(EXIT_INVALID_PTX, v->line, "the size of '%s' is missing", v->name);
        s.count = 0;
    }
    return s;
}

static void check_variable(const struct var *v)
{
    if (v->size > 1ull << 40) fatal_at(EXIT_INVALID_PTX, v->line, "'%s' is too large", v->name);
    if ((v->linkage == FL_LINK_COMMON || v->managed) && v->space != SPACE_global)
        fatal_at(EXIT_INVALID_PTX, v->line, "'%s' is not in global memory", v->name);
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
        struct var *v = variable_new(p, &name, new_name(p, "a variable's name"), space, linkage);
        const struct var before = *v;
        if (accept(p, "<")) fatal_at(EXIT_UNSUPPORTED, name.line, "parameterised variable names");
        v->type = d.type;
        if (token_is(&p->token, "[")) v->stride = type_bytes(d.type);
        const struct shape shape = shape_of(p, v, d.vector, linkage);
        v->size = shape.count * type_bytes(d.type);
        if (v->elsewhere && v->size && v->size != v->elsewhere)
            fatal_at(EXIT_INVALID_PTX, name.line, "'%s' has another size in another file", v->name);
        v->align = d.align ? d.align : type_bytes(d.type) * d.vector;
        v->managed = d.managed;
        v->linkage = linkage;
        v->is_extern = linkage == FL_LINK_EXTERN;
        if (before.linkage == FL_LINK_COMMON) join_common(v, &before);
        check_variable(v);
        if (accept(p, "=")) {
            if ((space != SPACE_global && space != SPACE_const) || v->is_extern)
                fatal_at(EXIT_INVALID_PTX, name.line, "'%s' cannot have an initial value", v->name);
            v->init = arena_alloc(v->size);
            initial_values(p, v, &shape, 0, 0);
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

static bool is_pointed_to(enum ptx_space s)
{
    return s == SPACE_global || s == SPACE_const || s == SPACE_shared || s == SPACE_local;
}

/* .param .u64 .ptr .global .align 8 name[4] ; its place is behind *offset */
static void parse_param(struct parser *p, struct var *v, uint32_t *offset)
{
    enum ptx_space space = space_of(&p->token);
    if (space != SPACE_param && space != SPACE_reg) syntax_error(p, "'.param'");
    bool named = false; /* what a pointer's space is */
    next(p);
    v->space = SPACE_param;
    for (;;) {
        if (accept(p, ".align")) {
            uint32_t align = (uint32_t)count(p);
            check_alignment(p, align);
            if (!v->is_pointer) v->align = align; /* after .ptr it is the pointee's */
        } else if (accept(p, ".ptr"))
            v->is_pointer = true;
        else if (v->is_pointer && !named && is_pointed_to(space_of(&p->token))) {
            named = true;
            next(p);
        } else if (token_is(&p->token, ".v2") || token_is(&p->token, ".v4"))
            syntax_error(p, "a scalar type");
        else if (type_of(&p->token)) {
            v->type = type_of(&p->token);
            next(p);
        } else
            break;
    }
    if (!is_fundamental(v->type) && (v->type != T_pred || space != SPACE_reg)) syntax_error(p, "a type");
    v->line = p->token.line;
    v->name = word(p, "a name");
    if (token_is(&p->token, "[")) v->stride = type_bytes(v->type);
    const struct shape shape = dimensions(p);
    const uint64_t n = shape.open ? 0 : shape.count;
    if (shape.levels > 1) fatal_at(EXIT_INVALID_PTX, v->line, "a parameter has one dimension at most");
    if (n > 65536) fatal_at(EXIT_INVALID_PTX, v->line, "the parameter is too large");
    v->size = n * (type_bytes(v->type) ? type_bytes(v->type) : 1);
    if (!v->align) v->align = type_bytes(v->type);
    if (!v->align) fatal_at(EXIT_INVALID_PTX, v->line, "the type has no place in memory");
    v->offset = (*offset + v->align - 1) & ~(v->align - 1);
    *offset = v->offset + (uint32_t)v->size;
    v->is_register = space == SPACE_reg;
}

void parse_results(struct parser *p, struct proto *proto, bool declare_them)
{
    parse_params(p, &proto->rets, &proto->nrets, declare_them);
    for (uint32_t k = 0; proto->nrets > 1 && k < proto->nrets; k++)
        if (!proto->rets[k].is_register) fatal_at(EXIT_INVALID_PTX, p->token.line, "several results are in registers");
}

void parse_params(struct parser *p, struct var **list, uint32_t *count, bool declare_them)
{
    uint32_t offset = 0;
    expect(p, "(");
    while (!accept(p, ")")) {
        parse_param(p, &ARENA_PUSH(*list, *count), &offset);
        for (uint32_t k = 0; declare_them && k + 1 < *count; k++)
            if (!strcmp((*list)[k].name, (*list)[*count - 1].name) && strcmp((*list)[k].name, "_"))
                fatal_at(EXIT_INVALID_PTX, p->token.line, "two parameters '%s'", (*list)[k].name);
        if (!token_is(&p->token, ")")) expect_more(p, ")");
    }
    if (declare_them)
        for (uint32_t i = 0; i < *count; i++) declare(p->scope, (*list)[i].name, NAME_VAR, &(*list)[i]);
}
