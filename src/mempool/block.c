/* The blocks of chunks: found by size, cut, merged. Who may use a free block
 * is decided here too: the pool's policies say what counts as an order. */
#include "mempool/internal.h"
#include "base/tree.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCKS_AT_ONCE = 64, LOOKS = 64 };

static int by_size(struct block *x, struct block *y)
{
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    uint64_t a = x->chunk->memory.va + x->at, b = y->chunk->memory.va + y->at;
    return a < b ? -1 : a > b;
}
TREE_FUNCTIONS(free_tree, block, by_size, by_size)

struct block *block_new(struct mempool *p)
{
    if (!p->spare) {
        struct block *more = calloc(BLOCKS_AT_ONCE, sizeof *more);
        if (!more) return NULL;
        for (unsigned k = 0; k < BLOCKS_AT_ONCE; k++) block_spare(p, &more[k]);
    }
    struct block *b = p->spare;
    p->spare = b->above;
    b->above = b->below = NULL;
    b->bound = false;
    b->mark = NULL;
    b->slot = 0;
    return b;
}

void block_spare(struct mempool *p, struct block *b)
{
    b->state = BLOCK_SPARE;
    b->above = p->spare;
    p->spare = b;
}

/* Several of an imported pool may be the same memory, of which it lends nothing: they are in no tree. */
void block_insert_free(struct mempool *p, struct block *b)
{
    b->state = BLOCK_FREE;
    p->bound += b->bound;
    if (!p->imported) RB_INSERT(free_tree, &p->free, b);
}

void block_remove_free(struct mempool *p, struct block *b)
{
    p->bound -= b->bound;
    if (!p->imported) RB_REMOVE(free_tree, &p->free, b);
}

static void drop_mark(struct block *b)
{
    if (b->mark) point_release(b->mark);
    b->mark = NULL;
}

void block_unbind(struct mempool *p, struct block *b)
{
    if (b->state == BLOCK_FREE) p->bound -= b->bound;
    b->bound = false;
    drop_mark(b);
}

/* ---- joining and cutting */

/* Blocks of one stream whose frees are not done stay apart: others may come after one, and not after the other. */
static bool alike(const struct block *x, const struct block *y)
{
    if (x->bound != y->bound) return false;
    if (!x->bound) return true;
    if (x->place.stream != y->place.stream || x->place.id != y->place.id) return false;
    return x->place.number == y->place.number || (point_done(x->mark) && point_done(y->mark));
}

/* Takes the block above into b; both are free and out of the tree. */
static void swallow(struct mempool *p, struct block *b)
{
    struct block *gone = b->above;
    if (gone->bound && gone->place.number > b->place.number) {
        drop_mark(b);
        b->place = gone->place;
        b->mark = gone->mark;
        gone->mark = NULL;
    }
    drop_mark(gone);
    b->size += gone->size;
    b->above = gone->above;
    *(b->above ? &b->above->below : &b->chunk->last) = b;
    block_spare(p, gone);
}

struct block *block_merge(struct mempool *p, struct block *b)
{
    struct block *below = b->below;
    bool down = below && below->state == BLOCK_FREE && alike(below, b);
    bool up = b->above && b->above->state == BLOCK_FREE && alike(b, b->above);
    if (!down && !up) return b;
    block_remove_free(p, b);
    if (up) {
        block_remove_free(p, b->above);
        swallow(p, b);
    }
    if (down) {
        block_remove_free(p, below);
        swallow(p, below);
        b = below;
    }
    block_insert_free(p, b);
    return b;
}

bool block_cut(struct mempool *p, struct block *b, uint64_t size)
{
    if (b->size == size) return true;
    struct block *rest = block_new(p);
    if (!rest) return false;
    block_remove_free(p, b);
    rest->chunk = b->chunk;
    rest->at = b->at + size;
    rest->size = b->size - size;
    rest->bound = b->bound;
    rest->place = b->place;
    rest->mark = b->mark ? point_share(b->mark) : NULL;
    rest->below = b;
    rest->above = b->above;
    *(rest->above ? &rest->above->below : &rest->chunk->last) = rest;
    b->above = rest;
    b->size = size;
    block_insert_free(p, b);
    block_insert_free(p, rest);
    return true;
}

/* ---- finding */

typedef bool may_use(const struct mempool *p, struct block *b, struct stream *s);

bool block_usable(const struct mempool *p, struct block *b, struct stream *s)
{
    if (!b->bound || stream_is_at(s, &b->place)) return true;
    if (p->follow && stream_follows(s, &b->place)) return true;
    return p->opportunistic && point_done(b->mark);
}

static bool freed_by(const struct mempool *p, struct block *b, struct stream *s)
{
    (void)p;
    return b->bound && stream_is_at(s, &b->place);
}

/* The end of the pool, which was perhaps never lent. */
static bool is_end(const struct mempool *p, const struct block *b)
{
    if (b->bound || b->above) return false;
    for (const struct chunk *c = p->chunks; c; c = c->next)
        if (c->memory.va > b->chunk->memory.va) return false;
    return true;
}

static bool for_all(const struct mempool *p, struct block *b, struct stream *s)
{
    (void)s;
    return !b->bound && !is_end(p, b);
}

static bool inside(const struct mempool *p, struct block *b, struct stream *s)
{
    return !is_end(p, b) && block_usable(p, b, s);
}

/* The first of at least size bytes. */
static struct block *large_enough(struct mempool *p, uint64_t size)
{
    struct block *b = NULL, *next = RB_ROOT(&p->free);
    while (next)
        if (next->size >= size)
            b = next, next = RB_LEFT(next, by_size);
        else
            next = RB_RIGHT(next, by_size);
    return b;
}

static struct block *smallest(struct mempool *p, uint64_t size, struct stream *s, may_use *may)
{
    struct block *b = large_enough(p, size);
    for (unsigned k = 0; b && k < LOOKS; k++, b = RB_NEXT(free_tree, &p->free, b))
        if (may(p, b, s)) return b;
    return NULL;
}

/* Joins the blocks from first to last, which s comes after, into one that is bound to s. */
static struct block *join(struct mempool *p, struct block *first, struct block *last, struct stream *s)
{
    struct place place;
    struct mark *mark;
    if (first == last) return first;
    if (stream_point(s, &place, &mark)) return NULL;
    block_remove_free(p, first);
    for (bool more = true; more;) {
        more = first->above != last;
        block_remove_free(p, first->above);
        swallow(p, first);
    }
    drop_mark(first);
    first->bound = true;
    first->place = place;
    first->mark = mark;
    block_insert_free(p, first);
    return first;
}

static bool any(const struct mempool *p, struct block *b, struct stream *s)
{
    (void)p, (void)b, (void)s;
    return true;
}

/* The first run of free blocks that are together large enough. */
static bool find_run(struct mempool *p, uint64_t size, struct stream *s, may_use *may, struct block **first,
                     struct block **last)
{
    for (struct chunk *c = p->chunks; c; c = c->next) {
        uint64_t room = 0;
        for (struct block *b = c->first; b; b = b->above) {
            if (b->state != BLOCK_FREE || !may(p, b, s)) {
                room = 0;
                continue;
            }
            if (!room) *first = b;
            room += b->size;
            *last = b;
            if (room >= size) return true;
        }
    }
    return false;
}

/* One block, or several side by side. */
static struct block *find_among(struct mempool *p, uint64_t size, struct stream *s, may_use *may)
{
    struct block *b = smallest(p, size, s, may), *last;
    if (b || !p->bound) return b;
    return find_run(p, size, s, may, &b, &last) ? join(p, b, last, s) : NULL;
}

/* Observed on an H200: the smallest that is large enough, but first of what s has freed itself, then of what is
 * everybody's, then of what others have freed; the end of the pool comes last. */
struct block *block_find(struct mempool *p, uint64_t size, struct stream *s)
{
    struct block *b;
    if (p->bound && (b = smallest(p, size, s, freed_by))) return b;
    if ((b = smallest(p, size, s, for_all))) return b;
    if (p->bound && p->opportunistic) blocks_settle(p, NULL);
    if ((b = find_among(p, size, s, inside))) return b;
    return find_among(p, size, s, block_usable);
}

struct block *block_find_waiting(struct mempool *p, uint64_t size, struct stream *s)
{
    struct block *first, *last;
    if (!find_run(p, size, s, any, &first, &last)) return NULL;
    for (struct block *b = first;; b = b->above) {
        if (b->bound && !stream_is_at(s, &b->place) && stream_after(s, b->mark)) return NULL;
        if (b == last) break;
    }
    return join(p, first, last, s);
}

void block_drop_imported(struct mempool *p, struct block *b)
{
    block_remove_free(p, b);
    *(b->below ? &b->below->above : &b->chunk->first) = b->above;
    if (b->above) b->above->below = b->below;
    block_spare(p, b);
}

void blocks_settle(struct mempool *p, const struct waited *w)
{
    for (struct chunk *k = p->chunks; k && p->bound; k = k->next)
        for (struct block *b = k->first, *next; b && p->bound; b = next) {
            next = b->above;
            if (b->state != BLOCK_FREE || !b->bound || !point_done(b->mark)) continue;
            if (!p->opportunistic && !(w && was_waited_for(&b->place, w))) continue;
            block_unbind(p, b);
            if (p->imported)
                block_drop_imported(p, b);
            else
                next = block_merge(p, b)->above;
        }
}
