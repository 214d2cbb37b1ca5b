/* Opcodes with all that follows their dots. What one means is found out once: it
 * comes thousands of times in a large module. */
#include "arena.h"
#include "base/hash.h"
#include "parse.h"
#include "syntax.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum ptx_op op_of(const struct token *t)
{
    static const char *const names[] = {
#define X(name) [OP_##name] = #name,
        FL_PTX_OPS(X)
#undef X
    };
    char text[32];
    if (t->length >= sizeof text) return OP_none;
    memcpy(text, t->text, t->length);
    text[t->length] = 0;
    const char *key = text;
    const char *const *found = bsearch(&key, names + 1, OP_count - 1, sizeof *names, compare_text);
    return found ? (enum ptx_op)(found - names) : OP_none;
}

static enum ptx_mod mod_of(const struct token *t)
{
    static const char *const names[] = {
#define X(name) [MOD_##name] = #name,
        FL_PTX_MODS(X)
#undef X
    };
    if (token_is(t, ".acc::f16")) return MOD_acc_f16;
    if (token_is(t, ".acc::f32")) return MOD_acc_f32;
    if (token_is(t, ".fence")) return MOD_wgmma_fence;
    if (token_is(t, ".sp::ordered_metadata")) return MOD_sp;
    if (token_is(t, ".multicast::cluster")) return MOD_multicast;
    for (int i = 0; i < MOD_count; i++)
        if (t->length == strlen(names[i]) + 1 && !memcmp(t->text + 1, names[i], t->length - 1)) return (enum ptx_mod)i;
    return MOD_count;
}

/* Hints about caches, and proxies of them, which change no result. */
static bool is_hint(enum ptx_op op, const struct token *t)
{
    static const char *const exact[] = { ".ca",         ".cg",         ".cs",           ".lu",
                                         ".cv",         ".wb",         ".wt",           ".L1",
                                         ".L2",         ".read",       ".tensormap",    ".generic",
                                         ".to_generic", ".evict_last", ".evict_normal", ".mbarrier::complete_tx::bytes",
                                         ".mbarrier" };
    if (t->length > 6 && (!memcmp(t->text, ".L1::", 5) || !memcmp(t->text, ".L2::", 5))) return true;
    if (t->length > 7 && !memcmp(t->text, ".level::", 7)) return true;
    static const char *const fences[] = { ".tensormap::generic", ".async::generic", ".sync_restrict::shared::cluster",
                                          ".sync_restrict::shared::cta" };
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if (token_is(t, exact[i])) return true;
    for (size_t i = 0; op == OP_fence && i < sizeof fences / sizeof *fences; i++)
        if (token_is(t, fences[i])) return true;
    return op == OP_tensormap; /* the fields of a map, which emit_tensor.c knows */
}

/* What means something to one instruction only. */
static bool belongs(enum ptx_op op, enum ptx_mod mod)
{
    switch (mod) {
    case MOD_sp: return op == OP_mma || op == OP_wgmma;
    case MOD_mma_async:
    case MOD_wgmma_fence: return op == OP_wgmma;
    case MOD_tensor:
    case MOD_reduce:
    case MOD_tile:
    case MOD_im2col:
    case MOD_im2col_no_offs:
    case MOD_4d:
    case MOD_5d:
    case MOD_multicast: return op == OP_cp;
    default: return true;
    }
}

/* .m16n8k16 */
static bool is_shape(const struct token *t)
{
    return t->length > 4 && t->text[1] == 'm' && t->text[2] >= '0' && t->text[2] <= '9' &&
           memchr(t->text, 'n', t->length);
}

/* Legal instructions of which no emitter knows anything: their operands may look like no other's. */
static bool is_legal_opcode(const struct token *t)
{
    static const char *const names[] = {
        "istypep",
        "tcgen05",
    };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (token_is(t, names[k])) return true;
    return false;
}

/* The same of ways to do what others do otherwise. */
static bool is_legal_modifier(enum ptx_op op, const struct token *t)
{
    static const struct {
        enum ptx_op op;
        const char *modifier;
    } legal[] = { { OP_cp, ".im2col::w" },
                  { OP_cp, ".im2col::w::128" },
                  { OP_cp, ".tile::gather4" },
                  { OP_cp, ".tile::scatter4" },
                  { OP_pmevent, ".mask" },
                  { OP_suq, ".channel_data_type" },
                  { OP_suq, ".channel_order" },
                  { OP_suq, ".memory_layout" },
                  { OP_txq, ".channel_data_type" },
                  { OP_txq, ".channel_order" },
                  { OP_txq, ".num_samples" },
                  { OP_txq, ".filter_mode" },
                  { OP_txq, ".force_unnormalized_coords" },
                  { OP_txq, ".addr_mode_0" },
                  { OP_txq, ".addr_mode_1" },
                  { OP_txq, ".addr_mode_2" } };
    for (size_t k = 0; k < sizeof legal / sizeof *legal; k++)
        if (op == legal[k].op && token_is(t, legal[k].modifier)) return true;
    return false;
}

static void __attribute__((noreturn)) not_supported(const struct token *opcode, const char *text)
{
    fatal_at(EXIT_UNSUPPORTED, opcode->line, "instruction '%.120s' is not supported", text);
}

static void __attribute__((noreturn)) unknown_opcode(const struct token *opcode, const char *text)
{
    if (is_legal_opcode(opcode)) not_supported(opcode, text);
    fatal_at(EXIT_INVALID_PTX, opcode->line, "unknown instruction '%.120s'", text);
}

static void __attribute__((noreturn)) unknown_modifier(const struct parser *p, const struct token *opcode,
                                                       const char *text, enum ptx_op op, const struct token *t)
{
    const char *why;
    if (is_legal_modifier(op, t) || syntax_of(p->module, text, &why)) not_supported(opcode, text);
    fatal_at(EXIT_INVALID_PTX, t->line, "unknown modifier '%.*s' of '%.*s'", (int)t->length, t->text,
             (int)(t->text + t->length - opcode->text), opcode->text);
}

/* Bytes from the opcode to its last modifier. */
static size_t whole_length(const struct parser *p)
{
    const char *start = p->token.text, *end = start;
    while (end < p->lexer.end && (isalnum((unsigned char)*end) || strchr("_$.:", *end)) && *end) end++;
    while (end > start && end[-1] == ':') end--;
    return (size_t)(end - start);
}

/* Takes the words one by one. */
static void read_words(struct parser *p, struct instr *i)
{
    const struct token name = p->token;
    i->op = op_of(&name);
    if (!i->op) unknown_opcode(&name, i->text);
    next(p);
    while (p->token.kind == TOKEN_DIRECTIVE && !p->token.spaced) {
        struct token t = p->token;
        enum ptx_type type = type_of(&t);
        enum ptx_space space = space_of(&t);
        enum ptx_mod mod = mod_of(&t);
        if (is_legal_modifier(i->op, &t)) unknown_modifier(p, &name, i->text, i->op, &t);
        if (type && i->ntypes < 4) {
            i->types[i->ntypes++] = type;
        } else if (space) {
            *(i->space ? &i->space2 : &i->space) = space;
        } else if (mod != MOD_count && belongs(i->op, mod)) {
            i->mods.bits[mod / 64] |= 1ull << (mod % 64);
        } else if (!is_hint(i->op, &t) && !is_shape(&t)) {
            unknown_modifier(p, &name, i->text, i->op, &t);
        }
        next(p);
    }
}

/* What a text of an opcode was found to mean. */
struct opcode {
    const char *text;
    size_t length;
    struct instr meaning; /* but for its operands */
    const struct syntax *syntax;
    struct opcode *next;
};

static struct opcode **find(struct parser *p, const char *text, size_t length)
{
    struct opcode **at = &p->opcodes[name_hash(text, length) % OPCODE_BUCKETS];
    while (*at && ((*at)->length != length || memcmp((*at)->text, text, length))) at = &(*at)->next;
    return at;
}

const struct syntax *parse_opcode(struct parser *p, struct instr *i)
{
    size_t length = whole_length(p);
    const int line = p->token.line;
    struct opcode **at = find(p, p->token.text, length), *known = *at;
    if (known) {
        p->lexer.p = p->token.text + length;
        next(p);
    } else {
        const char *why = NULL;
        known = arena_alloc(sizeof *known);
        known->length = length;
        known->text = known->meaning.text = arena_text(p->token.text, length);
        known->meaning.line = line;
        read_words(p, &known->meaning);
        if (!p->unchecked) known->syntax = syntax_of(p->module, known->text, &why);
        if (why) fatal_at(EXIT_INVALID_PTX, line, "instruction '%.120s': %s", known->text, why);
        *at = known;
    }
    *i = known->meaning;
    i->line = line;
    return known->syntax;
}
