/* Segments begin where threads go on after they waited, so what follows several
 * such points is written several times over. Where that is much, the kernel is
 * cut at more places: code behind a cut is written once, and threads that come
 * there leave their segment and go on in the cut's at once. A cut never stands in
 * the midst of a loop, only before it: threads go round without leaving. */
#include "arena.h"
#include "kernel.h"

#include <string.h>

enum { MUCH = 1500 /* instructions, in all segments */, MOST_CUTS = 300, MOST_BLOCKS = 4000 };
static const uint64_t MOST_STEPS = 60000000; /* blocks looked at; what takes longer stays as it is */

struct plan {
    struct kernel *k;
    uint32_t *stack;
    uint8_t *seen;
    uint32_t *times;   /* by block: in how many segments it is */
    uint8_t *possible; /* by block: a cut may stand before it */
    uint64_t steps;
};

/* Marks in seen the blocks that a segment consists of which begins at block from. Returns how many instructions. */
static uint64_t spread(struct plan *p, uint32_t from)
{
    const struct kernel *k = p->k;
    uint32_t depth = 0;
    uint64_t size = 0;
    memset(p->seen, 0, k->cfg.nblocks);
    p->stack[depth++] = from;
    p->seen[from] = 1;
    while (depth) {
        const struct block *b = &k->cfg.blocks[p->stack[--depth]];
        size += b->end - b->start;
        p->steps++;
        if (!segment_goes_on(k, b)) continue;
        for (uint32_t i = 0; i < b->nsucc; i++) {
            uint32_t next = b->succ[i];
            if (p->seen[next] || k->cfg.blocks[next].cut) continue;
            p->seen[next] = 1;
            p->stack[depth++] = next;
        }
    }
    return size;
}

static uint64_t total(struct plan *p)
{
    const struct kernel *k = p->k;
    uint64_t size = 0;
    memset(p->times, 0, k->cfg.nblocks * sizeof *p->times);
    for (uint32_t s = 0; s < k->nsegments; s++) {
        if (k->segments[s].start >= k->func->ncode) continue;
        uint32_t from = k->cfg.block_at[k->segments[s].start];
        if (k->cfg.blocks[from].cut && k->cfg.blocks[from].cut != s) continue;
        size += spread(p, from);
        for (uint32_t b = 0; b < k->cfg.nblocks; b++) p->times[b] += p->seen[b];
    }
    return size;
}

static bool same_loop(const uint64_t *reaches, uint32_t words, uint32_t a, uint32_t b)
{
    return bit(reaches + (uint64_t)a * words, b) && bit(reaches + (uint64_t)b * words, a);
}

/* A block in no loop, or the only one by which a loop, the outermost, is entered. */
static void find_possible(struct plan *p)
{
    const struct cfg *c = &p->k->cfg;
    uint32_t n = c->nblocks, words = (n + 63) / 64;
    uint64_t *reaches = arena_alloc((uint64_t)n * words * 8 + 8);
    for (uint32_t b = 0; b < n; b++) {
        uint64_t *row = reaches + (uint64_t)b * words;
        for (uint32_t i = 0; segment_goes_on(p->k, &c->blocks[b]) && i < c->blocks[b].nsucc; i++) {
            if (bit(row, c->blocks[b].succ[i])) continue;
            spread(p, c->blocks[b].succ[i]);
            for (uint32_t x = 0; x < n; x++)
                if (p->seen[x]) bit_set(row, x);
        }
    }
    uint8_t *entered = arena_alloc(n + 1ul);
    for (uint32_t from = 0; from < n; from++)
        for (uint32_t i = 0; segment_goes_on(p->k, &c->blocks[from]) && i < c->blocks[from].nsucc; i++)
            entered[c->blocks[from].succ[i]] |= !same_loop(reaches, words, from, c->blocks[from].succ[i]);
    for (uint32_t b = 0; b < n; b++) {
        p->possible[b] = !same_loop(reaches, words, b, b) || entered[b];
        for (uint32_t x = 0; x < n && p->possible[b]; x++)
            if (x != b && entered[x] && same_loop(reaches, words, b, x)) p->possible[b] = 0;
    }
}

static uint32_t best(struct plan *p)
{
    uint32_t found = 0;
    uint64_t most = 0;
    for (uint32_t b = 1; b < p->k->cfg.nblocks && p->steps < MOST_STEPS; b++) {
        if (!p->possible[b] || p->times[b] < 2 || p->k->cfg.blocks[b].cut) continue;
        uint64_t saved = spread(p, b) * (p->times[b] - 1);
        if (saved > most) {
            most = saved;
            found = b;
        }
    }
    return found;
}

void cuts_find(struct kernel *k)
{
    uint32_t n = k->cfg.nblocks;
    if (k->nsegments == 1 || n > MOST_BLOCKS) return;
    struct plan p = { .k = k,
                      .stack = arena_alloc((n + 1ul) * 4),
                      .seen = arena_alloc(n + 1ul),
                      .times = arena_alloc((n + 1ul) * sizeof *p.times),
                      .possible = arena_alloc(n + 1ul) };
    uint64_t size = total(&p);
    if (size <= MUCH) return;
    find_possible(&p);
    for (uint32_t cuts = 0; cuts < MOST_CUTS && size > MUCH && p.steps < MOST_STEPS;) {
        uint32_t b = best(&p);
        if (!b) return;
        k->cfg.blocks[b].cut = FL_MAX_SEGMENTS; /* as if there were one */
        uint64_t smaller = total(&p) + spread(&p, b);
        if (smaller + 8 < size) {
            const struct block *block = &k->cfg.blocks[b];
            k->cfg.blocks[b].cut =
                segment_add(k, block->start, NULL, FL_SUSPEND_CONTINUE, k->func->code[block->start].line);
            cuts++;
        } else {
            k->cfg.blocks[b].cut = 0;
            p.possible[b] = 0;
        }
        size = total(&p);
    }
}
