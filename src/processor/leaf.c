/* One processor's entries in one block: what they may be and what they are. Most
 * are alike for all of the block, and then nothing is kept of each page. Memory
 * is needed where pages come to differ; without it the processor keeps less. */
#include "processor/table.h"
#include "base/heap.h"

#include <string.h>

#define EVERY_PAGE \
    { \
        { \
            [0 ... MASK_WORDS - 1] = ~0ull \
        } \
    }
static const struct entries alike[] = {
    [MMU_NONE] = { { { 0 } }, { { 0 } } },
    [MMU_READ] = { EVERY_PAGE, { { 0 } } },
    [MMU_WRITE] = { EVERY_PAGE, EVERY_PAGE },
};
static const struct entries *const none = &alike[MMU_NONE];

static bool is_shared(const struct entries *e)
{
    return (uintptr_t)e >= (uintptr_t)alike && (uintptr_t)e < (uintptr_t)alike + sizeof alike;
}

/* NULL: none says the same. */
static const struct entries *shared_entries(const struct entries *e)
{
    const struct entries *first_page = &alike[entry_of_page(e, 0)];
    return memcmp(e, first_page, sizeof *e) ? NULL : first_page;
}

static bool is_mine(const struct leaf *l, const struct entries *e) { return !is_shared(e) && l->may != l->has; }

/* Which is l's may or has, each page can have its own from now on, until leaf_tidy; NULL: no memory. */
static struct entries *own(const struct leaf *l, const struct entries **at)
{
    if (is_mine(l, *at)) return (struct entries *)*at;
    struct entries *mine = heap_take(sizeof *mine);
    if (!mine) return NULL;
    *mine = **at;
    *at = mine;
    return mine;
}

static void share(const struct leaf *l, const struct entries **at, const struct entries *shared)
{
    if (is_mine(l, *at)) heap_give((struct entries *)*at);
    *at = shared;
}

static bool set(const struct leaf *l, const struct entries **at, const struct entries *to)
{
    const struct entries *shared = is_mine(l, *at) ? NULL : shared_entries(to);
    struct entries *mine = shared ? NULL : own(l, at);
    if (shared) *at = shared;
    if (mine) *mine = *to;
    return shared || mine;
}

static void tidy(const struct leaf *l, const struct entries **at)
{
    const struct entries *shared = is_mine(l, *at) ? shared_entries(*at) : NULL;
    if (shared) share(l, at, shared);
}

/* Mostly it has what it may. */
void leaf_tidy(struct leaf *l)
{
    tidy(l, &l->may);
    tidy(l, &l->has);
    if (is_mine(l, l->has) && !memcmp(l->may, l->has, sizeof *l->may)) share(l, &l->has, l->may);
}

void leaf_begin(struct leaf *l) { l->may = l->has = none; }

void leaf_end(struct leaf *l)
{
    share(l, &l->may, none);
    share(l, &l->has, none);
}

void entries_fill(struct entries *e, unsigned first, unsigned end, enum mmu_access access)
{
    mask_assign(&e->read, (struct region){ first, end }, access >= MMU_READ);
    mask_assign(&e->write, (struct region){ first, end }, access >= MMU_WRITE);
}

bool leaf_may(struct leaf *l, const struct entries *may) { return set(l, &l->may, may); }
bool leaf_has(struct leaf *l, const struct entries *has) { return set(l, &l->has, has); }
bool leaf_loosen(struct leaf *l) { return own(l, &l->has); }

bool leaf_permit(struct leaf *l, unsigned first, unsigned end, enum mmu_access access)
{
    struct entries may = *l->may;
    entries_fill(&may, first, end, access);
    return leaf_may(l, &may);
}

bool leaf_permits(const struct leaf *l, unsigned page, bool write)
{
    return mask_test(write ? &l->may->write : &l->may->read, page);
}
