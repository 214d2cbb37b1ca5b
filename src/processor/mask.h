/* One bit for each 4 KiB page of a 2 MiB block. */
#ifndef FL_PROCESSOR_MASK_H
#define FL_PROCESSOR_MASK_H

#include <stdbool.h>
#include <stdint.h>

enum { BLOCK_PAGES = 512, MASK_WORDS = BLOCK_PAGES / 64 };

struct mask { uint64_t word[MASK_WORDS]; };

static inline bool mask_has(const struct mask *m, unsigned page) { return m->word[page / 64] >> (page % 64) & 1; }

/* Pages [first, end) become value. */
static inline void mask_fill(struct mask *m, unsigned first, unsigned end, bool value)
{
    for (unsigned w = first / 64; first < end; w++, first = w * 64) {
        unsigned n = end - first < 64 - first % 64 ? end - first : 64 - first % 64;
        uint64_t bits = (n == 64 ? ~0ull : (1ull << n) - 1) << (first % 64);
        m->word[w] = value ? m->word[w] | bits : m->word[w] & ~bits;
    }
}

/* The first page of [first, end) whose bit is not as first's; end if there is none. */
static inline unsigned mask_run(const struct mask *m, unsigned first, unsigned end)
{
    uint64_t same = mask_has(m, first) ? ~0ull : 0;
    for (unsigned w = first / 64; w * 64 < end; w++) {
        uint64_t differ = m->word[w] ^ same;
        if (w == first / 64) differ &= ~0ull << (first % 64);
        if (differ) {
            unsigned at = w * 64 + (unsigned)__builtin_ctzll(differ);
            return at < end ? at : end;
        }
    }
    return end;
}

static inline bool mask_full(const struct mask *m)
{
    uint64_t all = ~0ull;
    for (unsigned w = 0; w < MASK_WORDS; w++) all &= m->word[w];
    return !~all;
}

static inline bool mask_any(const struct mask *m)
{
    uint64_t any = 0;
    for (unsigned w = 0; w < MASK_WORDS; w++) any |= m->word[w];
    return any != 0;
}

#endif
