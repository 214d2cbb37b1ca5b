/* What blocks know of processors. Most of it is alike for all pages of a window:
 * such places are shared, so that the books do not grow with every device that
 * has been everywhere. Memory is needed where pages come to differ. */
#include "uvm/internal.h"

#define EVERY_PAGE \
    { \
        { \
            [0 ... MASK_WORDS - 1] = ~0ull \
        } \
    }
/* By whether the pages are resident, and by prot. */
static const struct place alike[2][PROT_RWA + 1] = {
    { { .mapped = { { { 0 } } } },
      { .mapped = { EVERY_PAGE } },
      { .mapped = { EVERY_PAGE, EVERY_PAGE } },
      { .mapped = { EVERY_PAGE, EVERY_PAGE, EVERY_PAGE } } },
    { { .resident = EVERY_PAGE },
      { .resident = EVERY_PAGE, .mapped = { EVERY_PAGE } },
      { .resident = EVERY_PAGE, .mapped = { EVERY_PAGE, EVERY_PAGE } },
      { .resident = EVERY_PAGE, .mapped = { EVERY_PAGE, EVERY_PAGE, EVERY_PAGE } } },
};

static bool is_shared(const struct place *at)
{
    return (uintptr_t)at >= (uintptr_t)alike && (uintptr_t)at < (uintptr_t)alike + sizeof alike;
}

/* NULL: none says the same. */
static const struct place *shared_place(const struct place *to)
{
    unsigned prot = PROT_NOTHING;
    while (prot < PROT_RWA && mask_test(&to->mapped[prot], 0)) prot++;
    const struct place *first_page = &alike[mask_test(&to->resident, 0)][prot];
    return memcmp(to, first_page, sizeof *to) ? NULL : first_page;
}

void places_begin(struct block *b)
{
    for (unsigned p = 0; p < PROCESSORS; p++) b->place[p] = &alike[0][PROT_NOTHING];
}

/* NULL: no memory. */
static struct place *own(struct block *b, unsigned p)
{
    if (!is_shared(b->place[p])) return (struct place *)b->place[p];
    struct place *mine = heap_take(sizeof *mine);
    if (!mine) return NULL;
    *mine = *b->place[p];
    b->place[p] = mine;
    return mine;
}

static void share(struct block *b, unsigned p, const struct place *shared)
{
    if (!is_shared(b->place[p])) heap_give((struct place *)b->place[p]);
    b->place[p] = shared;
}

void places_end(struct block *b)
{
    for (unsigned p = 0; p < PROCESSORS; p++) share(b, p, &alike[0][PROT_NOTHING]);
}

void places_tidy(struct block *b)
{
    for (unsigned p = 0; p < topology.processors; p++) {
        const struct place *shared = is_shared(b->place[p]) ? NULL : shared_place(b->place[p]);
        if (shared) share(b, p, shared);
    }
}

CUresult places_loosen(struct block *b, uint32_t processors, const struct mask *pages)
{
    CUresult r = CUDA_SUCCESS;
    if (mask_empty(pages) || mask_full(pages)) return r;
    for_each_processor(p, processors)
        if (!own(b, p)) r = CUDA_ERROR_OUT_OF_MEMORY;
    return r;
}

/* To be written to; NULL: `to` is shared, or there is no memory for it. */
static struct place *place_for(struct block *b, unsigned p, const struct place *to, const struct place **shared)
{
    *shared = is_shared(b->place[p]) ? shared_place(to) : NULL;
    return *shared ? NULL : own(b, p);
}

CUresult place_prepare(struct block *b, unsigned p, const struct place *to)
{
    const struct place *shared;
    return place_for(b, p, to, &shared) || shared ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult place_set(struct block *b, unsigned p, const struct place *to)
{
    const struct place *shared;
    struct place *mine = place_for(b, p, to, &shared);
    if (!shared && !mine) return CUDA_ERROR_OUT_OF_MEMORY;
    if (shared) b->place[p] = shared;
    if (mine) *mine = *to;
    b->resident &= ~bit(p);
    b->mapped &= ~bit(p);
    if (!mask_empty(&to->resident)) b->resident |= bit(p);
    if (!mask_empty(&to->mapped[PROT_RO - 1])) b->mapped |= bit(p);
    return CUDA_SUCCESS;
}
