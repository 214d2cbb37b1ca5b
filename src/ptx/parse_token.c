/* What the parser reads most: words and punctuation, names of types and spaces,
 * integer constants. */
#include "arena.h"
#include "parse.h"

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
    if (++p->depth > NESTING_MOST) fatal_at(EXIT_UNSUPPORTED, p->token.line, "the expression is nested too deeply");
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
        else {
            v = constant(p);
            expect(p, ")");
        }
    }
    p->depth--;
    return v;
}

/* The operator here, if it binds as tightly as level says; 0: none. "<<" and ">>" are two tokens side by side. */
static char operator_at(struct parser *p, unsigned level)
{
    static const char *const levels[] = { "*/%", "+-", "<>", "&", "^", "|" };
    /* a single '%' looks like a name's beginning */
    const char c = p->token.kind == TOKEN_PUNCT || token_is(&p->token, "%") ? *p->token.text : 0;
    if (!c || !strchr(levels[level], c)) return 0;
    if (c == '<' || c == '>') {
        struct parser ahead = *p;
        next(&ahead);
        if (ahead.token.kind != TOKEN_PUNCT || *ahead.token.text != c || ahead.token.spaced) return 0;
        next(p);
    }
    next(p);
    return c;
}

static uint64_t divide(const struct parser *p, int64_t a, int64_t b, bool rest)
{
    if (!b) fatal_at(EXIT_INVALID_PTX, p->token.line, "division by zero in a constant");
    if (b == -1) return rest ? 0 : -(uint64_t)a;
    return (uint64_t)(rest ? a % b : a / b);
}

static uint64_t binary(struct parser *p, unsigned level)
{
    uint64_t v = level ? binary(p, level - 1) : primary(p);
    for (char c; (c = operator_at(p, level));) {
        uint64_t w = level ? binary(p, level - 1) : primary(p);
        switch (c) {
        case '*': v *= w; break;
        case '/':
        case '%': v = divide(p, (int64_t)v, (int64_t)w, c == '%'); break;
        case '+': v += w; break;
        case '-': v -= w; break;
        case '<': v = w < 64 ? v << w : 0; break;
        case '>': v = (uint64_t)((int64_t)v >> (w < 64 ? w : 63)); break;
        case '&': v &= w; break;
        case '^': v ^= w; break;
        default: v |= w;
        }
    }
    return v;
}

uint64_t constant(struct parser *p) { return binary(p, 5); }

void skip_statement(struct parser *p)
{
    while (!accept(p, ";")) {
        if (p->token.kind == TOKEN_END) syntax_error(p, "';'");
        next(p);
    }
}
