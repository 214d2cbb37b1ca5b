/* What the parser reads most: words and punctuation, names of types and spaces. */
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

void expect_more(struct parser *p, const char *end)
{
    expect(p, ",");
    if (token_is(&p->token, end)) syntax_error(p, "something after ','");
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

void skip_strings(struct parser *p)
{
    do {
        if (p->token.kind != TOKEN_STRING) syntax_error(p, "a string");
        next(p);
    } while (accept(p, ","));
    expect(p, ";");
}

void skip_statement(struct parser *p)
{
    while (!accept(p, ";")) {
        if (p->token.kind == TOKEN_END) syntax_error(p, "';'");
        next(p);
    }
}
