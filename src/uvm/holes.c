/* Free places in chunks that allocations share, by size: the best one is found in a
 * tree, however many chunks there are. A hole belongs to what it lies behind, so
 * that no memory is needed for it. The rule (what cuMemRangeGetAttribute answers
 * shows it): the smallest hole, the newest chunk's of equal ones, the lowest in it. */
#include "base/tree.h"
#include "uvm/internal.h"

static int compare(uint64_t x, uint64_t y) { return x < y ? -1 : x > y; }

/* By whose it is, size, the chunk's age, address. */
static int by_fit(struct hole *x, struct hole *y)
{
    const struct managed *a = x->chunk, *b = y->chunk;
    int c = compare((uintptr_t)a->context, (uintptr_t)b->context);
    if (!c) c = a->of_module - b->of_module;
    if (!c) c = compare(x->size, y->size);
    if (!c) c = compare(b->number, a->number);
    return c ? c : compare(x->at, y->at);
}

RB_HEAD(holes, hole);
TREE_FUNCTIONS(holes, hole, link, by_fit)
static struct holes all = RB_INITIALIZER(&all);

static void resize(struct hole *h, uint64_t size)
{
    if (h->size) RB_REMOVE(holes, &all, h);
    h->size = size;
    if (h->size) RB_INSERT(holes, &all, h);
}

void holes_begin(struct managed *m)
{
    static uint64_t numbers;
    m->number = ++numbers;
    m->hole = (struct hole){ .at = m->start, .chunk = m };
    TAILQ_INIT(&m->holes);
    TAILQ_INSERT_HEAD(&m->holes, &m->hole, order);
    resize(&m->hole, m->end - m->start);
}

void holes_end(struct managed *m) { resize(&m->hole, 0); }

struct hole *hole_find(struct context *c, bool of_module, uint64_t size)
{
    struct managed newest = { .context = c, .of_module = of_module, .number = UINT64_MAX };
    struct hole *h = RB_NFIND(holes, &all, (&(struct hole){ .size = round_up(size, SLAB_UNIT), .chunk = &newest }));
    return h && h->chunk->context == c && h->chunk->of_module == of_module ? h : NULL;
}

void hole_take(struct hole *h, uint64_t size, struct hole *behind)
{
    uint64_t taken = round_up(size, SLAB_UNIT), left = h->size - taken;
    *behind = (struct hole){ .at = h->at + taken, .chunk = h->chunk };
    TAILQ_INSERT_AFTER(&h->chunk->holes, h, behind, order);
    resize(h, 0);
    resize(behind, left);
}

void hole_give(struct hole *behind)
{
    struct managed *m = behind->chunk;
    uint64_t end = behind->at + behind->size;
    struct hole *before = TAILQ_PREV(behind, holes_of_chunk, order);
    resize(behind, 0);
    TAILQ_REMOVE(&m->holes, behind, order);
    resize(before, end - before->at);
}
