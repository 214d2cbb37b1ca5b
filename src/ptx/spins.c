/* Loops that may wait; see spins.h. What a loop loads in a way that
 * sees other threads' writes, what clocks say, and whatever is computed of that, is followed
 * to the branches: a loop that such a value may end is one. */
#include "spins.h"
#include "arena.h"
#include "calls.h"
#include "cfg.h"

#include <string.h>

enum { SHORT_LOOP = 16 }; /* instructions: with no effects and that short, a plain load waits too */

struct taint {
    uint64_t *set;
    uint8_t *stored; /* by instruction: what it stores has been followed */
    bool hit, changed;
};
static void test_taint(struct reg *r, void *arg)
{
    struct taint *t = arg;
    t->hit |= bit(t->set, r->index);
}
static void spread_taint(struct reg *r, void *arg)
{
    struct taint *t = arg;
    if (!bit(t->set, r->index)) {
        bit_set(t->set, r->index);
        t->changed = true;
    }
}

bool is_sync_load(const struct instr *i)
{
    return (i->op == OP_ld &&
            (has(i, MOD_volatile) || has(i, MOD_relaxed) || has(i, MOD_acquire) || has(i, MOD_mmio))) ||
           (i->op == OP_atom && i->nops && i->ops[0].kind != OPERAND_sink) ||
           (i->op == OP_mbarrier && (has(i, MOD_test_wait) || has(i, MOD_try_wait)));
}

bool looks_at_memory(const struct instr *i)
{
    return is_sync_load(i) || (i->op == OP_ld && (strstr(i->text, ".cv") || strstr(i->text, ".cg")));
}

bool reads_clock(const struct instr *i)
{
    for (uint32_t k = 0; k < i->nops; k++)
        if (i->ops[k].kind == OPERAND_special && i->ops[k].special >= SR_clock &&
            i->ops[k].special <= SR_globaltimer_hi)
            return true;
    return false;
}

static bool has_effect(const struct instr *i)
{
    return i->op == OP_st || i->op == OP_atom || i->op == OP_red || i->op == OP_call || i->op == OP_mbarrier ||
           i->op == OP_cp;
}

/* A call of what looks at memory: its result may be what decides. */
static bool is_told(const struct instr *i, bool others_look)
{
    if (i->op == OP_ld) return i->space == SPACE_param && i->ops[1].var && i->ops[1].var->told;
    if (i->op != OP_call || i->nops < 2 || i->ops[0].kind != OPERAND_list) return false;
    const struct func *f = callee(i);
    if (f ? !f->looks : !others_look) return false;
    for (uint32_t k = 0; k < i->ops[0].count; k++)
        if (i->ops[0].elements[k].var) i->ops[0].elements[k].var->told = true;
    return true;
}

/* ---- what goes through memory of the thread's own */

static bool is_own(const struct instr *i)
{
    return i->space == SPACE_local || i->space == SPACE_param || i->space == SPACE_none || i->space == SPACE_generic;
}

static bool overlap(const struct instr *st, const struct instr *ld)
{
    const int64_t a = st->ops[0].offset, b = ld->ops[1].offset;
    return a < b + (int64_t)(type_bytes(ld->types[0]) * vector_length(ld)) &&
           b < a + (int64_t)(type_bytes(st->types[0]) * vector_length(st));
}

/* Whether ld may read what st stores to memory that is the thread's own: of local memory all that is not seen to lie
 * elsewhere, of other memory what lies at the same address. */
static bool gives_to(const struct instr *st, const struct instr *ld)
{
    const struct operand *to = &st->ops[0], *from = &ld->ops[1];
    if (ld->op != OP_ld || ld->nops < 2 || ld->space != st->space || !is_own(ld)) return false;
    if (to->var == from->var && to->reg == from->reg) return overlap(st, ld);
    return st->space == SPACE_local && (to->reg || from->reg);
}

/* Follows what the instruction, of the loop, stores there. */
static void spread_through_memory(const struct cfg *c, const uint8_t *in_loop, uint32_t at, struct taint *t)
{
    const struct instr *i = &c->func->code[at];
    if (i->op != OP_st || i->nops < 2 || !is_own(i) || t->stored[at]) return;
    t->stored[at] = 1;
    for (uint32_t k = 0; k < c->func->ncode; k++)
        if (in_loop[c->block_at[k]] && gives_to(i, &c->func->code[k])) instr_defs(&c->func->code[k], spread_taint, t);
}

/* ---- loops */

struct loop {
    uint8_t *in;     /* by block */
    uint8_t *seen;   /* room for a search */
    uint32_t *stack;
    bool waits;      /* it can also be gone round in a way that waits for other threads: that is left out */
};

static bool is_waiting(const struct cfg *c, uint32_t block)
{
    return is_suspension(&c->func->code[c->blocks[block].end - 1]);
}

static bool decides(const struct instr *i)
{
    return i->op == OP_bra || i->op == OP_brx || i->op == OP_ret || i->op == OP_exit;
}

/* What is seen by chance, when nothing else is done and the address does not change. */
static bool is_bare_look(const struct instr *i, const uint64_t *defined)
{
    return i->op == OP_ld && i->space != SPACE_param && (!i->ops[1].reg || !bit(defined, i->ops[1].reg->index));
}

/* Whether what some memory word holds, or the time, decides how often the loop goes round. */
static bool loop_spins(const struct cfg *c, const struct loop *l, bool others_look)
{
    const struct func *f = c->func;
    uint64_t *defined = arena_alloc(c->words * 8ul);
    struct taint t = { .set = arena_alloc(c->words * 8ul) };
    uint32_t size = 0;
    bool effects = l->waits;
    for (uint32_t i = 0; i < f->ncode; i++) {
        if (!l->in[c->block_at[i]]) continue;
        if (f->code[i].op == OP_nanosleep) return true;
        size++;
        effects |= has_effect(&f->code[i]);
        instr_defs(&f->code[i], reg_set, defined);
    }
    for (uint32_t i = 0; i < f->ncode; i++) {
        const struct instr *in = &f->code[i];
        if (!l->in[c->block_at[i]]) continue;
        bool seed = looks_at_memory(in) || reads_clock(in) || is_told(in, others_look);
        if (!effects && size <= SHORT_LOOP) seed |= is_bare_look(in, defined);
        if (seed) instr_defs(in, spread_taint, &t);
    }
    if (!t.changed) return false;
    t.stored = arena_alloc(f->ncode);
    do {
        t.changed = false;
        for (uint32_t i = 0; i < f->ncode; i++) {
            if (!l->in[c->block_at[i]]) continue;
            t.hit = false;
            instr_uses(&f->code[i], test_taint, &t);
            if (!t.hit) continue;
            if (decides(&f->code[i])) return true;
            instr_defs(&f->code[i], spread_taint, &t);
            spread_through_memory(c, l->in, i, &t);
        }
    } while (t.changed);
    return false;
}

/* Of the blocks in the loop those that are reached from head. */
static void keep_reached(const struct cfg *c, uint32_t head, struct loop *l)
{
    uint32_t depth = 0;
    memset(l->seen, 0, c->nblocks);
    l->seen[head] = 1;
    l->stack[depth++] = head;
    while (depth) {
        const struct block *b = &c->blocks[l->stack[--depth]];
        for (uint32_t s = 0; s < b->nsucc; s++)
            if (l->in[b->succ[s]] && !l->seen[b->succ[s]]) {
                l->seen[b->succ[s]] = 1;
                l->stack[depth++] = b->succ[s];
            }
    }
    memcpy(l->in, l->seen, c->nblocks);
}

/* The blocks that reach tail without passing head, and both. False: nobody goes round without waiting for other threads. */
static bool loop_body(const struct cfg *c, uint32_t head, uint32_t tail, struct loop *l)
{
    memset(l->in, 0, c->nblocks);
    l->in[head] = l->in[tail] = 1;
    l->waits = false;
    if (is_waiting(c, head) || is_waiting(c, tail)) return false;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = c->nblocks; k-- > 0;) {
            for (uint32_t s = 0; s < c->blocks[k].nsucc && !l->in[k]; s++) {
                uint32_t to = c->blocks[k].succ[s];
                if (!l->in[to] || to == head) continue;
                l->waits |= is_waiting(c, k);
                if (is_waiting(c, k)) continue;
                l->in[k] = 1;
                changed = true;
            }
        }
    }
    keep_reached(c, head, l);
    return l->in[tail];
}

/* ---- back edges that are no branches */

struct edge {
    struct edge *next; /* which leaves a block before this one's */
    uint32_t after;     /* instruction */
    struct label *to;
    bool indexed;
};

static struct label *label_at(struct func *f, uint32_t position)
{
    struct label *l = arena_alloc(sizeof *l);
    l->defined = true;
    l->name = "";
    l->position = position;
    ARENA_PUSH(f->labels, f->nlabels) = l;
    return l;
}

static struct instr yielding_jump(struct label *to, int line)
{
    struct instr i = { .op = OP_bra, .text = "bra", .line = line, .nops = 1, .yield = true };
    i.ops[0] = (struct operand){ .kind = OPERAND_label, .label = to };
    return i;
}

/* The branch goes to a jump behind the function's code. */
static void lead_aside(struct func *f, const struct instr *brx, const struct instr *jump)
{
    struct label *table = label_resolve(brx->ops[1].label), *aside = label_at(f, f->ncode);
    const uint32_t to = label_position(jump->ops[0].label);
    f->code[f->ncode++] = *jump;
    for (uint32_t k = 0; k < table->ntargets; k++)
        if (label_position(table->targets[k]) == to) table->targets[k] = aside;
}

/* A jump stands where the block went on without one. */
static void put_between(struct func *f, uint32_t at, const struct instr *jump)
{
    memmove(&f->code[at + 1], &f->code[at], (f->ncode - at) * sizeof *f->code);
    f->ncode++;
    f->code[at] = *jump;
    for (uint32_t k = 0; k < f->nlabels; k++) f->labels[k]->position += f->labels[k]->position >= at;
}

static void make_branches(struct func *f, const struct edge *edges)
{
    uint32_t more = 0;
    for (const struct edge *e = edges; e; e = e->next) more++;
    struct instr *code = arena_alloc((f->ncode + more + 1ul) * sizeof *code); /* and a return, as after parsing */
    memcpy(code, f->code, f->ncode * sizeof *code);
    f->code = code;
    for (const struct edge *e = edges; e; e = e->next) {
        const struct instr *last = &f->code[e->after - 1], jump = yielding_jump(e->to, last->line);
        if (e->indexed)
            lead_aside(f, last, &jump);
        else
            put_between(f, e->after, &jump);
    }
}

static void note_edge(struct func *f, struct edge **list, uint32_t after, uint32_t to, bool indexed)
{
    struct edge *e = arena_alloc(sizeof *e);
    while (*list && (*list)->after > after) list = &(*list)->next;
    for (const struct edge *k = *list; k && k->after == after; k = k->next)
        if (k->to->position == to) return;
    *e = (struct edge){ *list, after, label_at(f, to), indexed };
    *list = e;
}

static bool goes_by_index(const struct instr *i, uint32_t to)
{
    if (i->op != OP_brx) return false;
    const struct label *table = label_resolve(i->ops[1].label);
    for (uint32_t k = 0; k < table->ntargets; k++)
        if (label_position(table->targets[k]) == to) return true;
    return false;
}

/* The edge from block tail back to head is one at which the thread has to let others run. */
static void mark_edge(struct cfg *c, uint32_t head, uint32_t tail, struct edge **others)
{
    const struct block *b = &c->blocks[tail];
    const uint32_t to = c->blocks[head].start;
    struct instr *last = &c->func->code[b->end - 1];
    if (last->op == OP_bra && label_position(last->ops[0].label) == to)
        last->yield = true;
    else
        note_edge(c->func, others, b->end, to, goes_by_index(last, to));
}

bool mark_spins(struct func *f, bool others_look)
{
    struct cfg c;
    struct edge *others = NULL;
    bool found = false;
    if (!f->ncode) return false;
    cfg_build(&c, f);
    struct loop l = { .in = arena_alloc(c.nblocks),
                      .seen = arena_alloc(c.nblocks),
                      .stack = arena_alloc(c.nblocks * sizeof *l.stack) };
    uint8_t *state = arena_alloc(c.nblocks);
    uint32_t *stack = arena_alloc((c.nblocks + 1ul) * 4), *at = arena_alloc((c.nblocks + 1ul) * 4), depth = 0;
    stack[depth++] = 0;
    state[0] = 1;
    while (depth) {
        uint32_t k = stack[depth - 1];
        struct block *b = &c.blocks[k];
        if (at[k] == b->nsucc) {
            state[k] = 2;
            depth--;
            continue;
        }
        uint32_t to = b->succ[at[k]++];
        if (!state[to]) {
            state[to] = 1;
            stack[depth++] = to;
        } else if (state[to] == 1 && loop_body(&c, to, k, &l) && loop_spins(&c, &l, others_look)) {
            mark_edge(&c, to, k, &others);
            found = true;
        }
    }
    make_branches(f, others);
    return found;
}
