/* Debugging information: which line of the source a line of the PTX was made
 * from, as .file and .loc say (nvcc -lineinfo). The rest is skipped. */
#include "arena.h"
#include "parse.h"

static void skip_section(struct parser *p)
{
    int depth = 0;
    while (p->token.kind != TOKEN_END && !token_is(&p->token, "{")) next(p);
    do {
        if (token_is(&p->token, "{")) depth++;
        if (token_is(&p->token, "}")) depth--;
        if (p->token.kind == TOKEN_END) syntax_error(p, "'}'");
        next(p);
    } while (depth);
}

/* .file NUMBER "NAME" */
static void read_file(struct parser *p, int line)
{
    struct module_ir *m = p->module;
    if (p->token.line != line || p->token.kind != TOKEN_INT) return;
    uint64_t number = p->token.value;
    next(p);
    if (p->token.line != line || p->token.kind != TOKEN_STRING) return;
    ARENA_PUSH(m->files, m->nfiles) =
        (struct source_file){ number, arena_printf("%.*s", (int)p->token.length - 2, p->token.text + 1), 0 };
}

/* .loc FILE LINE COLUMN, and where the function was called that this is a copy of */
static void read_place(struct parser *p, int line)
{
    struct module_ir *m = p->module;
    if (p->token.line != line || p->token.kind != TOKEN_INT) return;
    uint64_t file = p->token.value;
    next(p);
    if (p->token.line != line || p->token.kind != TOKEN_INT) return;
    ARENA_PUSH(m->lines, m->nlines) = (struct source_line){ (uint32_t)line, (uint32_t)p->token.value, file };
}

void debug_directive(struct parser *p)
{
    int line = p->token.line;
    if (accept(p, ".section")) {
        p->module->described = true;
        skip_section(p);
        return;
    }
    if (accept(p, ".file"))
        read_file(p, line);
    else if (accept(p, ".loc"))
        read_place(p, line);
    while (p->token.kind != TOKEN_END && p->token.line == line) next(p);
}

void debug_forget(struct parser *p)
{
    struct module_ir *m = p->module;
    if (m->nlines && m->lines[m->nlines - 1].line)
        ARENA_PUSH(m->lines, m->nlines) = (struct source_line){ (uint32_t)p->token.line, 0, 0 };
}
