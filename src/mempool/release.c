/* Giving memory of pools back: whole chunks in which nothing is lent, the end of
 * such a chunk, and whole mappings (MEMPOOL_MAPPING) out of a chunk in use. Only what
 * every stream is done with goes. Policy is the callers': how much is to stay,
 * and whether a release must have been seen by a synchronising call. */
#include "mempool/internal.h"

#include <stdlib.h>

static bool unused(const struct chunk *c)
{
    for (struct block *b = c->first; b; b = b->above)
        if (b->state != BLOCK_FREE || !point_done(b->mark)) return false;
    return true;
}

static void unlink_chunk(const struct chunk *c)
{
    struct chunk **at = &c->pool->chunks;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
}

static void release_chunk(struct chunk *c)
{
    struct mempool *p = c->pool;
    unlink_chunk(c);
    for (struct block *b = c->first, *next; b; b = next) {
        next = b->above;
        block_remove_free(p, b);
        b->bound = false;
        block_unbind(p, b);
        block_spare(p, b);
    }
    p->reserved -= c->memory.size;
    chunk_free_memory(c, 0, c->memory.size);
    free(c);
}

/* Gives the end of a large unused chunk back. Its one block is not bound. */
static void shorten(struct chunk *c, uint64_t bytes)
{
    struct mempool *p = c->pool;
    block_remove_free(p, c->first);
    c->first->size -= bytes;
    block_insert_free(p, c->first);
    chunk_free_memory(c, c->memory.size - bytes, bytes);
    c->memory.size -= bytes;
    p->reserved -= bytes;
}

/* What lies in a chunk from `at` on becomes a chunk of its own. */
static void split(struct chunk *c, struct chunk *up, struct block *first, uint64_t at)
{
    *up = *c;
    up->memory.va += at, up->memory.offset += at, up->memory.size -= at;
    unseen_cut(up, at, at + up->memory.size);
    up->offset += at;
    up->first = first;
    up->lent = 0;
    first->below = NULL;
    for (struct block *b = first; b; b = b->above) {
        b->chunk = up;
        b->at -= at;
        up->lent += b->state == BLOCK_LENT;
    }
    c->lent -= up->lent;
    c->next = up;
}

/* Gives back what a free block has of a chunk in use, from `from` to `to`. */
static bool carve(struct chunk *c, struct block *b, uint64_t from, uint64_t to)
{
    struct mempool *p = c->pool;
    struct chunk *up = calloc(1, sizeof *up);
    if (!up) return false;
    block_unbind(p, b);
    if (b->at < from) {
        if (!block_cut(p, b, from - b->at)) goto failed;
        b = b->above;
    }
    if (!block_cut(p, b, to - from)) goto failed;
    if (b->above)
        split(c, up, b->above, to);
    else
        free(up);
    if ((c->last = b->below))
        c->last->above = NULL;
    else
        c->first = NULL;
    block_remove_free(p, b);
    block_spare(p, b);
    chunk_free_memory(c, from, to - from);
    p->reserved -= to - from;
    c->memory.size = from;
    unseen_cut(c, 0, from);
    if (c->first) return true;
    unlink_chunk(c);
    free(c);
    return true;
failed:
    free(up);
    return false;
}

/* Gives back mappings in which nothing is used any more, of a chunk in which something is. */
static bool release_part(struct chunk *c, uint64_t most, bool only_seen)
{
    for (struct block *b = c->first; b; b = b->above) {
        uint64_t from = round_up(b->at, MEMPOOL_MAPPING), to = (b->at + b->size) / MEMPOOL_MAPPING * MEMPOOL_MAPPING;
        if (b->state != BLOCK_FREE || from >= to || !point_done(b->mark)) continue;
        if (to - from > most) from = to - most;
        if (only_seen && unseen_any(c, from, to)) continue;
        return carve(c, b, from, to);
    }
    return false;
}

static bool release(struct mempool *p, uint64_t keep, bool only_seen)
{
    bool any = false;
    for (struct chunk *c = p->chunks, *next; c && p->reserved > keep; c = next) {
        uint64_t most = (p->reserved - keep) / MEMPOOL_MAPPING * MEMPOOL_MAPPING;
        next = c->next;
        if (!most) continue;
        if (!unused(c)) {
            if (!chunk_divisible(c) || !release_part(c, most, only_seen)) continue;
            any = true;
            next = p->chunks; /* there may be more to give back, and other chunks */
            continue;
        }
        if (only_seen && unseen_any(c, c->memory.size <= most ? 0 : c->memory.size - most, c->memory.size)) continue;
        if (c->memory.size <= most)
            release_chunk(c);
        else if (!c->managed && !p->imported && !c->first->above && !c->first->bound)
            shorten(c, most);
        else
            continue;
        any = true;
    }
    return any;
}

bool chunks_release(struct mempool *p, uint64_t keep) { return release(p, keep, false); }

bool chunks_release_seen(struct mempool *p, uint64_t keep) { return release(p, keep, true); }

void chunks_release_surplus(struct mempool *p)
{
    if (p->reserved > p->threshold) release(p, p->threshold / MEMPOOL_MAPPING * MEMPOOL_MAPPING, true);
}
