/* Looks opcodes up in the tables of legal forms; see syntax.h. */
#include "arena.h"
#include "parse.h"
#include "syntax_shape.h"

#include <string.h>

enum { WORDS = 24 };

struct word {
    const char *text; /* without the dot */
    size_t length;
};
/* An opcode, taken apart. */
struct parts {
    struct word opcode, mods[WORDS];
    enum ptx_type types[WORDS];
    unsigned nmods, ntypes;
    unsigned leading; /* of mods, before the first type */
};

static struct word word_at(const char *text, const char *ends) { return (struct word){ text, strcspn(text, ends) }; }

static bool same(struct word a, struct word b) { return a.length == b.length && !memcmp(a.text, b.text, a.length); }

/* A '#' stands for a number. */
static bool alike(struct word pattern, struct word w)
{
    size_t n = 0;
    for (size_t k = 0; k < pattern.length; k++)
        if (pattern.text[k] == '#') {
            const size_t first = n;
            while (n < w.length && w.text[n] >= '0' && w.text[n] <= '9') n++;
            if (n == first) return false;
        } else if (n == w.length || pattern.text[k] != w.text[n++]) {
            return false;
        }
    return n == w.length;
}

static bool is_among(const char *alternatives, size_t length, struct word w)
{
    for (const char *at = alternatives, *end = at + length; at < end;) {
        struct word one = word_at(at, "| ?");
        if (alike(one, w)) return true;
        at += one.length + 1;
    }
    return false;
}

static bool take_apart(const char *text, struct parts *parts)
{
    *parts = (struct parts){ .opcode = word_at(text, ".") };
    for (const char *at = text + parts->opcode.length; *at;) {
        struct word w = word_at(at + 1, ".");
        struct token t = { .text = at, .length = w.length + 1 };
        enum ptx_type type = type_of(&t);
        at += t.length;
        if (parts->nmods == WORDS || parts->ntypes == WORDS) return false;
        if (type)
            parts->types[parts->ntypes++] = type;
        else
            parts->mods[parts->nmods++] = w;
        if (!parts->ntypes) parts->leading = parts->nmods;
    }
    return true;
}

/* The next of a pattern's words, of which none is left: false. */
static bool next_choice(const char **pattern, struct word *choice, bool *optional)
{
    *pattern += strspn(*pattern, " ");
    if (!**pattern) return false;
    *choice = word_at(*pattern, " ");
    *pattern += choice->length;
    *optional = choice->text[choice->length - 1] == '?';
    choice->length -= *optional;
    return true;
}

/* All but the first words, which are part of the opcode. */
static bool mods_match(const char *pattern, const struct parts *parts, unsigned skipped)
{
    unsigned taken = (1u << skipped) - 1, left = parts->nmods - skipped;
    struct word choice;
    bool optional;
    while (next_choice(&pattern, &choice, &optional)) {
        unsigned k = 0;
        while (k < parts->nmods && (taken >> k & 1 || !is_among(choice.text, choice.length, parts->mods[k]))) k++;
        if (k < parts->nmods) {
            taken |= 1u << k;
            left--;
        } else if (!optional) {
            return false;
        }
    }
    return !left;
}

static bool types_match(const char *pattern, const struct parts *parts)
{
    unsigned n = 0;
    struct word choice;
    bool optional;
    while (next_choice(&pattern, &choice, &optional)) {
        const char *name = n < parts->ntypes ? type_name(parts->types[n]) : "";
        bool alike = *choice.text == '=' && n && n < parts->ntypes && parts->types[n] == parts->types[n - 1];
        if (alike || is_among(choice.text, choice.length, (struct word){ name, strlen(name) }))
            n++;
        else if (!optional)
            return false;
    }
    return n == parts->ntypes;
}

static enum ptx_type twice_as_wide(enum ptx_type t)
{
    return t == T_u16 ? T_u32 : t == T_s16 ? T_s32 : t == T_u32 ? T_u64 : t == T_s32 ? T_s64 : T_none;
}

static struct slot slot_of(struct word w, const struct parts *parts)
{
    const char *at = w.text, *end = at + w.length;
    struct slot s = { .optional = *at == '?', .type = parts->types[0] };
    at += s.optional;
    s.kind = *at++;
    if (at == end) return s;
    if (*at == ':') {
        char name[16] = ".";
        memcpy(name + 1, at + 1, (size_t)(end - at - 1));
        s.type = type_of(&(struct token){ .text = name, .length = (size_t)(end - at) });
    } else if (*at == 'w') {
        s.type = twice_as_wide(s.type);
    } else {
        s.type = parts->types[*at - '1'];
    }
    return s;
}

static bool has_word(const struct parts *parts, const char *text)
{
    unsigned k = 0;
    while (k < parts->nmods && !same(parts->mods[k], (struct word){ text, strlen(text) })) k++;
    return k < parts->nmods;
}

static struct shape shape_of(const struct form *f, const struct parts *parts)
{
    struct shape shape = { 0 };
    for (const char *at = f->operands; *at; at += strspn(at, " ")) {
        struct word w = word_at(at, " ");
        struct slot s = slot_of(w, parts);
        if (s.kind != 'h' || has_word(parts, "L2::cache_hint")) shape.slots[shape.count++] = s;
        at += w.length;
    }
    return shape;
}

/* Words that are newer than the forms they may belong to. */
static const struct {
    const char *word;
    uint8_t version, target;
} newer[] = {
    { "weak", 60, 70 },
    { "acq_rel", 60, 70 },
    { "relaxed", 60, 70 },
    { "cta", 50, 60 },
    { "gpu", 50, 60 },
    { "sys", 50, 60 },
    { "acquire", 60, 70 },
    { "release", 60, 70 },
    { "cluster", 78, 90 },
    { "shared::cta", 78, 0 },
    { "shared::cluster", 78, 90 },
    { "param::entry", 83, 0 },
    { "param::func", 83, 0 },
    { "L1::evict_last", 74, 70 },
    { "L1::evict_normal", 74, 70 },
    { "L1::evict_first", 74, 70 },
    { "L1::evict_unchanged", 74, 70 },
    { "L1::no_allocate", 74, 70 },
    { "L2::64B", 74, 75 },
    { "L2::128B", 74, 75 },
    { "L2::256B", 74, 80 },
    { "L2::cache_hint", 74, 80 },
    { "sp::ordered_metadata", 85, 80 },
};

/* NULL, or why the module must not have it. */
static const char *too_new(const struct module_ir *m, const struct form *f, const struct parts *parts)
{
    unsigned version = f->version, target = f->target;
    bool old = !strcmp(f->opcode, "membar"); /* has had words of its own that others got later */
    for (unsigned k = 0; !old && k < sizeof newer / sizeof *newer; k++)
        if (has_word(parts, newer[k].word)) {
            if (newer[k].version > version) version = newer[k].version;
            if (newer[k].target > target) target = newer[k].target;
        }
    if (m->version < version) return arena_printf("it needs PTX version %u.%u", version / 10, version % 10);
    if (target == ONLY_90A) return m->target == 90 && m->specific ? NULL : "it needs the target sm_90a";
    if (m->target < target) return arena_printf("it needs the target sm_%u or a later one", target);
    return NULL;
}

static unsigned vector_of(const struct parts *parts)
{
    for (unsigned k = 0; k < parts->nmods; k++)
        if (parts->mods[k].length == 2 && *parts->mods[k].text == 'v') return (unsigned)(parts->mods[k].text[1] - '0');
    return 1;
}

/* How many words it has behind the first, "mul.lo" one; -1: it is another. */
static int opcode_words(const char *opcode, const struct parts *parts)
{
    unsigned words = 0;
    struct word w = word_at(opcode, ".");
    for (const char *at = opcode + w.length; *at; at += 1 + w.length) {
        w = word_at(at + 1, ".");
        if (words == parts->leading || !same(w, parts->mods[words++])) return -1;
    }
    return (int)words;
}

/* Adds what the table has; known: whether it has the opcode. */
static const char *search(const struct module_ir *m, struct forms table, const struct parts *parts, struct syntax *s,
                          bool *known)
{
    const char *why = NULL;
    for (unsigned k = 0; k < table.count; k++) {
        const struct form *f = &table.list[k];
        if (!same(word_at(f->opcode, "."), parts->opcode)) continue;
        *known = true;
        int words = opcode_words(f->opcode, parts);
        if (words >= 0 && *f->mods == '*') s->anything = true;
        if (words < 0 || !mods_match(f->mods, parts, (unsigned)words) || !types_match(f->types, parts)) continue;
        const char *later = too_new(m, f, parts);
        if (later)
            why = later;
        else
            ARENA_PUSH(s->shapes, s->count) = shape_of(f, parts);
    }
    return why;
}

const struct syntax *syntax_of(const struct module_ir *m, const char *text, const char **why)
{
    const struct forms *const tables[] = { &forms_integer, &forms_float, &forms_convert, &forms_move,
                                           &forms_memory,  &forms_warp,  &forms_async,   &forms_video,
                                           &forms_matrix,  &forms_texture };
    struct parts parts;
    bool known = false;
    const char *later = NULL;
    struct syntax *s = arena_alloc(sizeof *s);
    *why = NULL;
    if (!take_apart(text, &parts)) return NULL;
    s->vector = vector_of(&parts);
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
        const char *here = search(m, *tables[k], &parts, s, &known);
        if (here) later = here;
    }
    if (s->anything) return NULL;
    if (known && !s->count) *why = later ? later : "no such modifiers and types belong to it";
    return known && s->count ? s : NULL;
}
