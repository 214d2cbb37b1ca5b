/* Pieces of a chunk; see slab.h. Knows nothing of mappings. */
#include "space/slab.h"

static bool unit(const struct slab *s, uint32_t k) { return s->units[k / 64] >> (k % 64) & 1; }

static void occupy(struct slab *s, uint32_t k, uint32_t n)
{
    for (uint32_t j = k; j < k + n; j++) s->units[j / 64] |= 1ull << (j % 64);
    s->used += n;
}

bool slab_take(struct slab *s, uint64_t size, uint64_t align, uint64_t *at)
{
    uint32_t n = (uint32_t)((size + SLAB_UNIT - 1) / SLAB_UNIT),
             step = align > SLAB_UNIT ? (uint32_t)(align / SLAB_UNIT) : 1;
    if (SLAB_UNITS - s->used < n) return false;
    for (uint32_t k = 0; k + n <= SLAB_UNITS; k += step) {
        uint32_t run = 0;
        if (!(k % 64) && s->units[k / 64] == ~0ull) {
            if (step < 64) k += 64 - step;
            continue;
        }
        while (run < n && !unit(s, k + run)) run++;
        if (run < n) continue;
        occupy(s, k, n);
        *at = (uint64_t)k * SLAB_UNIT;
        return true;
    }
    return false;
}

static uint32_t units_of(uint64_t size) { return (uint32_t)((size + SLAB_UNIT - 1) / SLAB_UNIT); }

void slab_fill(struct slab *s, uint64_t at, uint64_t size) { occupy(s, (uint32_t)(at / SLAB_UNIT), units_of(size)); }

void slab_give(struct slab *s, uint64_t at, uint64_t size)
{
    uint32_t k = (uint32_t)(at / SLAB_UNIT), n = units_of(size);
    for (uint32_t j = k; j < k + n; j++) {
        s->units[j / 64] &= ~(1ull << (j % 64));
        s->dead[j / 64] &= ~(1ull << (j % 64));
    }
    s->used -= n;
}

void slab_bury(struct slab *s, uint64_t at, uint64_t size)
{
    uint32_t k = (uint32_t)(at / SLAB_UNIT), n = units_of(size);
    for (uint32_t j = k; j < k + n; j++) s->dead[j / 64] |= 1ull << (j % 64);
}

bool slab_page_used(const struct slab *s, unsigned page)
{
    unsigned word = page * UNITS_PER_PAGE / 64, bit = page * UNITS_PER_PAGE % 64;
    return (s->units[word] & ~s->dead[word]) >> bit & 0xff;
}
