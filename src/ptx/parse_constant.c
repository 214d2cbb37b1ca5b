/* Constants: literals, and what is computed from them as in C. Integers are signed or unsigned words of 64 bits,
 * floating-point numbers are doubles; both in one operation are refused. */
#include "parse.h"

#include <string.h>

enum { TERNARY, LEVELS = 10, UNARY = LEVELS + 1 };

/* What binds alike; later levels bind tighter. An operator of two characters is two tokens side by side. */
static const char *const levels[LEVELS][5] = {
    { "||" },       { "&&" },     { "|" },           { "^" }, { "&" }, { "==", "!=" }, { "<=", ">=", "<", ">" },
    { "<<", ">>" }, { "+", "-" }, { "*", "/", "%" },
};

static struct number expression_at(struct parser *p, unsigned level);

static struct number integer(uint64_t v, bool is_unsigned)
{
    return (struct number){ .bits = v, .is_unsigned = is_unsigned };
}

static struct number real(double d)
{
    struct number n = { .is_float = true };
    memcpy(&n.bits, &d, 8);
    return n;
}

double number_real(const struct number *n)
{
    double d;
    memcpy(&d, &n->bits, 8);
    return d;
}

static void need_integer(const struct parser *p, const struct number *n)
{
    if (n->is_float) fatal_at(EXIT_INVALID_PTX, p->token.line, "a floating-point constant where an integer is needed");
}

static struct number conversion(struct parser *p)
{
    bool is_signed = accept(p, ".s64");
    if (!is_signed && !accept(p, ".u64")) syntax_error(p, "'.s64' or '.u64'");
    expect(p, ")");
    struct number n = expression_at(p, UNARY);
    need_integer(p, &n);
    return integer(n.bits, !is_signed);
}

static struct number literal(struct parser *p)
{
    const struct token t = p->token;
    struct number n = { .bits = t.value, .is_unsigned = t.is_unsigned };
    if (t.kind == TOKEN_FLOAT) {
        n = (struct number){
            .bits = t.value, .is_float = true, .is_single = t.is_single, .is_bare = t.is_single, .single = t.single
        };
    } else if (token_is(&t, "WARP_SZ")) {
        n = integer(32, false);
    } else if (t.kind != TOKEN_INT) {
        syntax_error(p, "a constant");
    }
    next(p);
    return n;
}

/* 0f3f800000 stands alone, or in brackets. */
static void need_value(const struct parser *p, const struct number *n)
{
    if (n->is_bare) fatal_at(EXIT_INVALID_PTX, p->token.line, "a number written as 0f is in no expression");
}

static struct number negative(const struct number *n)
{
    if (!n->is_float) return integer(-n->bits, n->is_unsigned);
    struct number m = *n;
    m.bits ^= 1ull << 63;
    m.single ^= 1u << 31;
    return m;
}

static struct number primary(struct parser *p)
{
    char sign = p->token.kind == TOKEN_PUNCT && strchr("-+~!", *p->token.text) ? *p->token.text : 0;
    struct number n;
    if (sign) {
        next(p);
        n = expression_at(p, UNARY);
        need_value(p, &n);
        if (sign == '~' || sign == '!') need_integer(p, &n);
        if (sign == '-') n = negative(&n);
        if (sign == '~') n = integer(~n.bits, true);
        if (sign == '!') n = integer(!n.bits, false);
    } else if (!accept(p, "(")) {
        n = literal(p);
    } else if (p->token.kind == TOKEN_DIRECTIVE) {
        n = conversion(p);
    } else {
        n = expression_at(p, TERNARY);
        n.is_bare = false;
        expect(p, ")");
    }
    return n;
}

/* Which operator of the level comes next; NULL: none, or one of another level. It is not consumed. */
static const char *operator_of(const struct parser *p, unsigned level)
{
    /* a single '%' looks like a name's beginning */
    if (p->token.kind != TOKEN_PUNCT && !token_is(&p->token, "%")) return NULL;
    char here[3] = { *p->token.text };
    struct parser ahead = *p;
    next(&ahead);
    const char *const doubles[] = { "||", "&&", "==", "!=", "<=", ">=", "<<", ">>" };
    for (size_t k = 0; k < sizeof doubles / sizeof *doubles && ahead.token.kind == TOKEN_PUNCT && !ahead.token.spaced;
         k++)
        if (*here == doubles[k][0] && *ahead.token.text == doubles[k][1]) here[1] = doubles[k][1];
    for (unsigned k = 0; levels[level][k]; k++)
        if (!strcmp(here, levels[level][k])) return levels[level][k];
    return NULL;
}

static struct number of_reals(struct parser *p, const char *op, double a, double b)
{
    switch (*op) {
    case '+': return real(a + b);
    case '-': return real(a - b);
    case '*': return real(a * b);
    case '/': return real(a / b);
    case '=': return integer(a == b, false);
    case '!': return integer(a != b, false);
    case '<':
        if (op[1] != '<') return integer(op[1] ? a <= b : a < b, false);
        break;
    case '>':
        if (op[1] != '>') return integer(op[1] ? a >= b : a > b, false);
        break;
    }
    fatal_at(EXIT_INVALID_PTX, p->token.line, "floating-point constants have no operator '%s'", op);
}

/* A rest is of unsigned numbers always. */
static struct number divided(const struct parser *p, uint64_t a, uint64_t b, bool is_unsigned, bool rest)
{
    if (!b) fatal_at(EXIT_INVALID_PTX, p->token.line, "division by zero in a constant");
    if (rest) return integer(a % b, true);
    if (is_unsigned) return integer(a / b, true);
    return integer((int64_t)b == -1 ? -a : (uint64_t)((int64_t)a / (int64_t)b), false);
}

/* How a and b compare: less than 0, 0, more than 0. */
static int order(uint64_t a, uint64_t b, bool is_unsigned)
{
    if (a == b) return 0;
    return (is_unsigned ? a < b : (int64_t)a < (int64_t)b) ? -1 : 1;
}

/* a << b and a >> b are of a's kind and by less than 64. */
static struct number shifted(const struct number *a, uint64_t by, bool left)
{
    by &= 63;
    if (left) return integer(a->bits << by, a->is_unsigned);
    return integer(a->is_unsigned ? a->bits >> by : (uint64_t)((int64_t)a->bits >> by), a->is_unsigned);
}

static struct number of_integers(struct parser *p, const char *op, const struct number *x, const struct number *y)
{
    uint64_t a = x->bits, b = y->bits;
    bool u = x->is_unsigned || y->is_unsigned;
    switch (*op) {
    case '+': return integer(a + b, u);
    case '-': return integer(a - b, u);
    case '*': return integer(a * b, u);
    case '/':
    case '%': return divided(p, a, b, u, *op == '%');
    case '^': return integer(a ^ b, u);
    case '&': return op[1] ? integer(a && b, false) : integer(a & b, u);
    case '|': return op[1] ? integer(a || b, false) : integer(a | b, u);
    case '=': return integer(a == b, false);
    case '!': return integer(a != b, false);
    }
    if (op[1] == *op) return shifted(x, b, *op == '<');
    int o = order(a, b, u);
    return integer(*op == '<' ? o < 0 || (op[1] && !o) : o > 0 || (op[1] && !o), false);
}

static struct number combined(struct parser *p, const char *op, const struct number *a, const struct number *b)
{
    need_value(p, a);
    need_value(p, b);
    if (a->is_float != b->is_float)
        fatal_at(EXIT_INVALID_PTX, p->token.line, "an integer and a floating-point constant in one operation");
    return a->is_float ? of_reals(p, op, number_real(a), number_real(b)) : of_integers(p, op, a, b);
}

static struct number chosen(struct parser *p)
{
    struct number condition = expression_at(p, TERNARY + 1);
    if (!accept(p, "?")) return condition;
    struct number a = expression_at(p, TERNARY);
    expect(p, ":");
    struct number b = expression_at(p, TERNARY);
    need_integer(p, &condition);
    need_integer(p, &a);
    need_integer(p, &b);
    return condition.bits ? a : b;
}

static struct number binary(struct parser *p, unsigned level)
{
    struct number a = expression_at(p, level + 1);
    for (const char *op; (op = operator_of(p, level - 1));) {
        for (const char *c = op; *c; c++) next(p);
        struct number b = expression_at(p, level + 1);
        a = combined(p, op, &a, &b);
    }
    return a;
}

static struct number expression_at(struct parser *p, unsigned level)
{
    if (level == TERNARY) return chosen(p);
    if (level < UNARY) return binary(p, level);
    if (++p->depth > NESTING_MOST) fatal_at(EXIT_UNSUPPORTED, p->token.line, "the expression is nested too deeply");
    struct number n = primary(p);
    p->depth--;
    return n;
}

struct number expression(struct parser *p) { return expression_at(p, TERNARY); }

uint64_t constant(struct parser *p)
{
    struct number n = expression(p);
    need_integer(p, &n);
    return n.bits;
}

uint64_t count(struct parser *p)
{
    struct number n = literal(p);
    need_integer(p, &n);
    return n.bits;
}

bool begins_constant(const struct parser *p)
{
    if (p->token.kind == TOKEN_INT || p->token.kind == TOKEN_FLOAT) return true;
    struct parser ahead = *p;
    next(&ahead);
    if (token_is(&p->token, "WARP_SZ"))
        return ahead.token.kind == TOKEN_PUNCT && strchr("*/+-<>=!&|^?", *ahead.token.text);
    if (p->token.kind != TOKEN_PUNCT || !strchr("-+~!(", *p->token.text)) return false;
    return ahead.token.kind != TOKEN_WORD || token_is(&ahead.token, "WARP_SZ");
}
