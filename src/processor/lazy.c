/* The list of what waits; see lazy.h. A range is only mapped, protected and
 * unmapped as a whole, so an unmap and the map before it annihilate each other. */
#include "processor/lazy.h"

#include <stdlib.h>

enum { MOST = 1 << 16, HASH = 4096 };

struct lazy {
    uint32_t count, capacity;
    struct lazy_command *commands;
    uint32_t maps[HASH]; /* by va: index + 1 */
};

static uint32_t *bucket(struct lazy *l, uint64_t va) { return &l->maps[(va >> 21 ^ va >> 33) % HASH]; }

static uint32_t *find_map(struct lazy *l, uint64_t va, uint64_t size)
{
    uint32_t *at = bucket(l, va);
    while (*at && (l->commands[*at - 1].va != va || l->commands[*at - 1].size != size)) at = &l->commands[*at - 1].next;
    return at;
}

static bool grow(struct lazy *l)
{
    uint32_t capacity = l->capacity ? 2 * l->capacity : 256;
    if (l->count < l->capacity) return true;
    struct lazy_command *more = l->count < MOST ? reallocarray(l->commands, capacity, sizeof *more) : NULL;
    if (!more) return false;
    l->commands = more;
    l->capacity = capacity;
    return true;
}

static void drop(struct lazy *l, uint32_t *at)
{
    struct lazy_command *c = &l->commands[*at - 1];
    *at = c->next;
    c->dropped = true;
    while (l->count && l->commands[l->count - 1].dropped) l->count--;
}

bool lazy_put(struct processor *p, const struct lazy_command *c)
{
    if (!p->lazy && !(p->lazy = calloc(1, sizeof *p->lazy))) return false;
    struct lazy *l = p->lazy;
    uint32_t *map = c->kind == COMMAND_UNMAP || c->kind == COMMAND_PROTECT ? find_map(l, c->va, c->size) : NULL;
    if (map && *map) {
        if (c->kind == COMMAND_UNMAP)
            drop(l, map);
        else
            l->commands[*map - 1].prot = c->prot;
        return true;
    }
    if (!grow(l)) return false;
    struct lazy_command *n = &l->commands[l->count++];
    *n = *c;
    if (n->kind == COMMAND_MAP) {
        uint32_t *at = bucket(l, n->va);
        n->next = *at;
        *at = l->count;
    }
    return true;
}

/* Whether b goes on where a ends, in addresses and in memory. */
static bool continues(const struct lazy_command *a, const struct lazy_command *b)
{
    return a->kind == COMMAND_MAP && b->kind == COMMAND_MAP && !a->dropped && !b->dropped && b->backing == a->backing &&
           b->prot == a->prot && b->va == a->va + a->size && b->offset == a->offset + a->size;
}

static CUresult send(struct processor *p, const struct lazy_command *c)
{
    if (c->dropped) return CUDA_SUCCESS;
    return page_command_now(p, c->kind, c->va, c->size, c->backing, c->offset, c->prot);
}

CUresult lazy_flush(struct processor *p)
{
    CUresult r = CUDA_SUCCESS;
    struct lazy *l = p->lazy;
    for (uint32_t k = 0; l && k < l->count && !r;) {
        struct lazy_command c = l->commands[k++];
        for (; k < l->count && continues(&c, &l->commands[k]); k++) c.size += l->commands[k].size;
        r = send(p, &c);
    }
    for (uint32_t k = 0; l && k < l->count; k++) *bucket(l, l->commands[k].va) = 0;
    if (l) l->count = 0;
    return r;
}

void lazy_free(struct processor *p)
{
    if (!p->lazy) return;
    free(p->lazy->commands);
    free(p->lazy);
    p->lazy = NULL;
}
