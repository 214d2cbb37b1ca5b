/* The list of what waits; see lazy.h. A range is only mapped, protected and
 * unmapped as a whole, so an unmap and the map before it annihilate each other. */
#include "processor/lazy.h"

#include <stdlib.h>
#include <string.h>

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

static void enter(struct lazy *l, uint32_t index)
{
    struct lazy_command *c = &l->commands[index];
    if (c->kind != COMMAND_MAP || c->dropped) return;
    uint32_t *at = bucket(l, c->va);
    c->next = *at;
    *at = index + 1;
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
    l->commands[l->count] = *c;
    enter(l, l->count++);
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

static void remove_first(struct lazy *l, uint32_t n)
{
    for (uint32_t k = 0; k < l->count; k++) *bucket(l, l->commands[k].va) = 0;
    l->count -= n;
    memmove(l->commands, l->commands + n, l->count * sizeof *l->commands);
    for (uint32_t k = 0; k < l->count; k++) enter(l, k);
}

CUresult lazy_flush(struct processor *p)
{
    CUresult r = CUDA_SUCCESS;
    struct lazy *l = p->lazy;
    uint32_t sent = 0;
    while (l && sent < l->count && !r) {
        struct lazy_command c = l->commands[sent];
        uint32_t k = sent + 1;
        for (; k < l->count && continues(&c, &l->commands[k]); k++) c.size += l->commands[k].size;
        r = send(p, &c);
        if (!r) sent = k;
    }
    if (sent) remove_first(l, sent);
    return r;
}

void lazy_free(struct processor *p)
{
    if (!p->lazy) return;
    free(p->lazy->commands);
    free(p->lazy);
    p->lazy = NULL;
}
