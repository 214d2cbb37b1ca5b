/* Cuts PTX text into tokens. Knows nothing of their meaning. */
#include "lex.h"
#include "ptxc.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void lex_init(struct lexer *l, const char *text, size_t length)
{
    l->p = text;
    l->end = text + length;
    l->line = 1;
}

bool token_is(const struct token *t, const char *text)
{
    return t->length == strlen(text) && !memcmp(t->text, text, t->length);
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    return at;
}

/* # 12 "a.cu", #line 12 "a.cu": what a C preprocessor leaves of the files that it read */
static bool skip_marker(struct lexer *l)
{
    const char *end = memchr(l->p, '\n', (size_t)(l->end - l->p)), *at;
    if (!end) end = l->end;
    at = skip_blanks(l->p + 1, end);
    if (end - at > 4 && !memcmp(at, "line", 4)) at = skip_blanks(at + 4, end);
    const char *const number = at;
    while (at < end && isdigit((unsigned char)*at)) at++;
    if (at == number) return false;
    at = skip_blanks(at, end);
    if (at == end || *at != '"' || !memchr(at + 1, '"', (size_t)(end - at - 1))) return false;
    l->p = end;
    return true;
}

static bool skip_space(struct lexer *l)
{
    const char *start = l->p;
    while (l->p < l->end) {
        if (*l->p == '\n') l->line++;
        if (isspace((unsigned char)*l->p)) {
            l->p++;
        } else if (*l->p == '/' && l->p + 1 < l->end && l->p[1] == '/') {
            while (l->p < l->end && *l->p != '\n') l->p++;
        } else if (*l->p == '/' && l->p + 1 < l->end && l->p[1] == '*') {
            int line = l->line;
            for (l->p += 2; l->p + 1 < l->end && !(l->p[0] == '*' && l->p[1] == '/'); l->p++)
                if (*l->p == '\n') l->line++;
            if (l->p + 1 >= l->end) fatal_at(EXIT_INVALID_PTX, line, "a comment that does not end");
            l->p += 2;
        } else if (*l->p != '#' || !skip_marker(l)) {
            break;
        }
    }
    return l->p > start;
}

static bool word_start(int c) { return isalpha(c) || c == '_' || c == '$' || c == '%'; }
static bool word_part(int c) { return isalnum(c) || c == '_' || c == '$'; }

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && isdigit((unsigned char)*at)) at++;
    return at;
}

/* .5, .5e-3; not .1d or .16x64b */
static bool begins_fraction(const struct lexer *l)
{
    const char *at = skip_digits(l->p + 1, l->end);
    if (at == l->p + 1) return false;
    if (l->end - at > 1 && (*at == 'e' || *at == 'E')) {
        const char *power = at + 1 + (at[1] == '+' || at[1] == '-'), *end = skip_digits(power, l->end);
        if (end > power) at = end;
    }
    return at == l->end || !word_part((unsigned char)*at);
}

static uint64_t hex_digits(struct lexer *l, struct token *t, int count)
{
    uint64_t v = 0;
    for (int i = 0; i < count; i++, l->p++) {
        if (l->p >= l->end || !isxdigit((unsigned char)*l->p))
            fatal_at(EXIT_INVALID_PTX, t->line, "a floating-point constant of %d hexadecimal digits was expected",
                     count);
        int c = tolower((unsigned char)*l->p);
        v = v << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return v;
}

static void number(struct lexer *l, struct token *t)
{
    char buffer[128];
    size_t n = 0, room = (size_t)(l->end - l->p);
    if (room > 2 && l->p[0] == '0' && (l->p[1] == 'f' || l->p[1] == 'F')) {
        l->p += 2;
        t->kind = TOKEN_FLOAT;
        t->is_single = true;
        t->single = (uint32_t)hex_digits(l, t, 8);
        float f;
        memcpy(&f, &t->single, 4);
        double d = f;
        memcpy(&t->value, &d, 8);
        return;
    }
    if (room > 2 && l->p[0] == '0' && (l->p[1] == 'd' || l->p[1] == 'D')) {
        l->p += 2;
        t->kind = TOKEN_FLOAT;
        t->value = hex_digits(l, t, 16);
        return;
    }
    bool hex = room > 2 && l->p[0] == '0' && (l->p[1] == 'x' || l->p[1] == 'X'), is_float = false;
    while (l->p + n < l->end && n < sizeof buffer - 1) {
        char c = l->p[n];
        bool sign = (c == '+' || c == '-') && n && !hex && (buffer[n - 1] == 'e' || buffer[n - 1] == 'E');
        if (!isalnum((unsigned char)c) && c != '.' && !sign) break;
        if (!hex && (c == '.' || ((c == 'e' || c == 'E') && n))) is_float = true;
        buffer[n++] = c;
    }
    buffer[n] = 0;
    l->p += n;
    char *end;
    if (is_float) {
        errno = 0;
        double d = strtod(buffer, &end);
        if (errno == ERANGE) fatal_at(EXIT_INVALID_PTX, t->line, "'%s' is no number that a double can be", buffer);
        t->kind = TOKEN_FLOAT;
        memcpy(&t->value, &d, 8);
    } else {
        t->kind = TOKEN_INT;
        if (buffer[0] == '0' && (buffer[1] == 'b' || buffer[1] == 'B'))
            t->value = strtoull(buffer + 2, &end, 2);
        else
            t->value = strtoull(buffer, &end, 0);
        t->is_unsigned = *end == 'U' || t->value >> 63;
        if (*end == 'U') end++;
    }
    if (*end) fatal_at(EXIT_INVALID_PTX, t->line, "'%s' is not a number", buffer);
}

void lex_next(struct lexer *l, struct token *t)
{
    *t = (struct token){ .spaced = skip_space(l), .line = l->line, .text = l->p };
    t->line = l->line;
    t->text = l->p;
    if (l->p >= l->end || !*l->p) {
        t->kind = TOKEN_END;
        return;
    }
    unsigned char c = (unsigned char)*l->p;
    if (isdigit(c) || (c == '.' && begins_fraction(l))) {
        number(l, t);
    } else if (word_start(c) || (c == '.' && l->p + 1 < l->end && word_part((unsigned char)l->p[1]))) {
        t->kind = c == '.' ? TOKEN_DIRECTIVE : TOKEN_WORD;
        l->p++;
        while (l->p < l->end && word_part((unsigned char)*l->p)) l->p++;
        /* .shared::cta, .L2::128B, .L1::evict_last.v2: one modifier each */
        while (c == '.' && l->end - l->p > 2 && l->p[0] == ':' && l->p[1] == ':')
            for (l->p += 2; l->p < l->end && word_part((unsigned char)*l->p); l->p++)
                ;
    } else if (c == '"') {
        t->kind = TOKEN_STRING;
        for (l->p++; l->p < l->end && *l->p != '"' && *l->p != '\n'; l->p++)
            ;
        if (l->p >= l->end || *l->p != '"') fatal_at(EXIT_INVALID_PTX, t->line, "a string that does not end");
        l->p++;
    } else if (strchr("{}()[]<>,;:@!|+-=*&~.?/^", c)) {
        t->kind = TOKEN_PUNCT;
        l->p++;
    } else {
        fatal_at(EXIT_INVALID_PTX, t->line, "the character '%c' (0x%02x) does not belong here",
                 c >= ' ' && c < 127 ? c : '?', c);
    }
    t->length = (size_t)(l->p - t->text);
}

bool lex_skip_block(struct lexer *l)
{
    for (unsigned depth = 1; l->p < l->end; l->p++) {
        skip_space(l);
        if (l->p == l->end) break;
        if (*l->p == '"')
            while (l->p + 1 < l->end && *++l->p != '"') l->line += *l->p == '\n';
        depth += *l->p == '{';
        depth -= *l->p == '}';
        if (!depth) return l->p++, true;
    }
    return false;
}
