/* Names and scopes of PTX: registers, variables, functions, labels. A label
 * may be used before it is defined, in an inner scope too. */
#include "arena.h"
#include "base/hash.h"
#include "image.h"
#include "parse.h"

#include <string.h>

struct name {
    const char *text;
    enum name_kind kind;
    void *object;
    struct name *next;
};

void declare(struct scope *s, const char *text, enum name_kind kind, void *object)
{
    struct name **slot = &s->names[name_hash(text, strlen(text)) % NAME_BUCKETS], *n = arena_alloc(sizeof *n);
    *n = (struct name){ text, kind, object, *slot };
    *slot = n;
}

static struct name *find(struct scope *s, const struct token *t)
{
    for (struct name *n = s->names[name_hash(t->text, t->length) % NAME_BUCKETS]; n; n = n->next)
        if (token_is(t, n->text)) return n;
    return NULL;
}

/* Splits a name like %r12 into what a range of s could have declared; the range, or NULL. Of r01 that is r<2>, or
 * r0<2> if that is there. */
static struct reg_range *range_of(struct scope *s, const struct token *t, uint64_t *number)
{
    struct reg_range *found = NULL;
    size_t digits = 0;
    while (digits < t->length && t->text[t->length - 1 - digits] >= '0' && t->text[t->length - 1 - digits] <= '9')
        digits++;
    for (struct reg_range *r = s->ranges; r; r = r->next) {
        size_t n = strlen(r->prefix);
        if (n >= t->length || t->length - n > digits || memcmp(t->text, r->prefix, n)) continue;
        uint64_t k = 0;
        for (size_t i = n; i < t->length && k < 1u << 30; i++) k = k * 10 + (uint64_t)(t->text[i] - '0');
        const bool exact = t->text[n] != '0' || t->length - n == 1;
        if (k >= r->count || (found && !exact)) continue;
        found = r;
        *number = k;
        if (exact) break;
    }
    return found;
}

bool declared_here(struct scope *s, const struct token *t)
{
    uint64_t number;
    return find(s, t) || range_of(s, t, &number);
}

struct reg *reg_new(struct parser *p, const char *name, enum ptx_type type)
{
    struct reg *r = arena_alloc(sizeof *r);
    *r = (struct reg){ name, type, p->func->nregs };
    ARENA_PUSH(p->func->regs, p->func->nregs) = r;
    return r;
}

void names_forget(struct scope *s)
{
    for (int k = 0; k < NAME_BUCKETS; k++)
        for (struct name **at = &s->names[k]; *at;) {
            const struct name *n = *at;
            if (n->kind == NAME_VAR ? ((struct var *)n->object)->linkage == FL_LINK_STATIC
                                    : n->kind == NAME_FUNC && ((struct func *)n->object)->linkage == FL_LINK_STATIC)
                *at = n->next;
            else
                at = &(*at)->next;
        }
}

/* A register of a range comes to be when it is first named. */
static struct reg *find_range(struct parser *p, struct scope *s, const struct token *t)
{
    uint64_t number;
    struct reg_range *r = range_of(s, t, &number);
    if (!r) return NULL;
    char *text = arena_printf("%s%llu", r->prefix, (unsigned long long)number);
    const struct token proper = { .text = text, .length = strlen(text) };
    struct name *known = find(s, &proper);
    struct reg *reg = known && known->kind == NAME_REG ? known->object : reg_new(p, text, r->type);
    if (!known) declare(s, text, NAME_REG, reg);
    if (proper.length != t->length) declare(s, arena_text(t->text, t->length), NAME_REG, reg);
    return reg;
}

void *lookup(struct parser *p, const struct token *t, enum name_kind kind)
{
    for (struct scope *s = p->scope; s; s = s->outer) {
        struct name *n = find(s, t);
        if (n) return n->kind == kind ? n->object : NULL;
        if (kind == NAME_REG) {
            struct reg *r = find_range(p, s, t);
            if (r) return r;
        }
    }
    return NULL;
}

struct scope *scope_push(struct parser *p)
{
    struct scope *s = arena_alloc(sizeof *s);
    if (++p->depth > NESTING_MOST) fatal_at(EXIT_UNSUPPORTED, p->token.line, "blocks are nested too deeply");
    s->outer = p->scope;
    return p->scope = s;
}

/* Labels that were used here but not defined are looked for further out. */
void scope_pop(struct parser *p)
{
    struct scope *s = p->scope;
    for (int i = 0; i < NAME_BUCKETS; i++)
        for (struct name *n = s->names[i]; n; n = n->next) {
            struct label *l = n->object;
            if (n->kind != NAME_LABEL || l->defined) continue;
            struct token t = { .text = n->text, .length = strlen(n->text) };
            struct name *outer = s->outer ? find(s->outer, &t) : NULL;
            if (outer && outer->kind == NAME_LABEL)
                l->same = outer->object;
            else
                declare(s->outer, n->text, NAME_LABEL, l);
        }
    p->depth--;
    p->scope = s->outer;
}

struct label *label_use(struct parser *p, const struct token *t)
{
    for (struct scope *s = p->scope; s && s != p->global; s = s->outer) {
        struct name *n = find(s, t);
        if (n && n->kind == NAME_LABEL) return n->object;
        if (n) return NULL;
    }
    struct label *l = arena_alloc(sizeof *l);
    l->name = arena_text(t->text, t->length);
    l->line = t->line;
    ARENA_PUSH(p->func->labels, p->func->nlabels) = l;
    declare(p->scope, l->name, NAME_LABEL, l);
    return l;
}

void label_define(struct parser *p, const struct token *t)
{
    struct name *n = find(p->scope, t);
    struct label *l = n && n->kind == NAME_LABEL ? n->object : NULL;
    if (n && (!l || l->defined))
        fatal_at(EXIT_INVALID_PTX, t->line, "'%.*s' is declared twice", (int)t->length, t->text);
    if (!l) {
        l = arena_alloc(sizeof *l);
        l->name = arena_text(t->text, t->length);
        ARENA_PUSH(p->func->labels, p->func->nlabels) = l;
        declare(p->scope, l->name, NAME_LABEL, l);
    }
    l->defined = true;
    l->position = p->func->ncode;
}
