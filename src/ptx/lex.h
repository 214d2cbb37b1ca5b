/* Tokens of PTX. */
#ifndef FL_PTX_LEX_H
#define FL_PTX_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum token_kind {
    TOKEN_END, TOKEN_WORD /* names, registers, opcodes; with '.' parts only where asked */, TOKEN_DIRECTIVE /* .word */,
    TOKEN_INT, TOKEN_FLOAT, TOKEN_STRING, TOKEN_PUNCT /* text[0] */,
};
struct token {
    enum token_kind kind;
    const char *text;
    size_t length;
    int line;
    bool spaced;                   /* white space before it */
    uint64_t value;                /* int; float: bits of a double */
    uint32_t single;               /* float written as 0f: its bits */
    bool is_single, is_unsigned;
};
struct lexer { const char *p, *end; int line; };

/* text need not end with a 0. */
void lex_init(struct lexer *l, const char *text, size_t length);
/* Comments and white space are skipped. What is no token ends the process (fatal_at). */
void lex_next(struct lexer *l, struct token *t);
/* Goes behind the '}' of the '{' that the current token is, whatever there is between; false: there is none. */
bool lex_skip_block(struct lexer *l);
bool token_is(const struct token *t, const char *text);

#endif
