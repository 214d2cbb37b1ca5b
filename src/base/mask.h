/* Sets of the 512 pages of 4 KiB that 2 MiB have. */
#ifndef FL_BASE_MASK_H
#define FL_BASE_MASK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { MASK_PAGES = 512, MASK_WORDS = MASK_PAGES / 64 };

struct mask { uint64_t w[MASK_WORDS]; };
/* Pages [first, outer). */
struct region { unsigned first, outer; };

static inline bool mask_test(const struct mask *m, unsigned page) { return m->w[page / 64] >> (page % 64) & 1; }
static inline void mask_set(struct mask *m, unsigned page) { m->w[page / 64] |= 1ull << (page % 64); }
static inline void mask_clear(struct mask *m, unsigned page) { m->w[page / 64] &= ~(1ull << (page % 64)); }

static inline bool mask_empty(const struct mask *m)
{
    uint64_t any = 0;
    for (int k = 0; k < MASK_WORDS; k++) any |= m->w[k];
    return !any;
}
static inline bool mask_full(const struct mask *m)
{
    uint64_t all = ~0ull;
    for (int k = 0; k < MASK_WORDS; k++) all &= m->w[k];
    return !~all;
}
/* Not the compiler's own: without the newest instructions that is a call. */
static inline unsigned word_weight(uint64_t w)
{
    w -= w >> 1 & 0x5555555555555555;
    w = (w & 0x3333333333333333) + (w >> 2 & 0x3333333333333333);
    return (unsigned)(((w + (w >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56);
}
static inline unsigned mask_weight(const struct mask *m)
{
    unsigned n = 0;
    for (int k = 0; k < MASK_WORDS; k++) n += word_weight(m->w[k]);
    return n;
}
/* How many runs of neighbours its pages are. */
static inline unsigned mask_runs(const struct mask *m)
{
    unsigned n = 0;
    uint64_t before = 0;
    for (int k = 0; k < MASK_WORDS; k++) {
        n += word_weight(m->w[k] & ~(m->w[k] << 1 | before));
        before = m->w[k] >> 63;
    }
    return n;
}
static inline struct mask mask_or(const struct mask *a, const struct mask *b)
{
    struct mask m;
    for (int k = 0; k < MASK_WORDS; k++) m.w[k] = a->w[k] | b->w[k];
    return m;
}
static inline struct mask mask_and(const struct mask *a, const struct mask *b)
{
    struct mask m;
    for (int k = 0; k < MASK_WORDS; k++) m.w[k] = a->w[k] & b->w[k];
    return m;
}
static inline struct mask mask_andnot(const struct mask *a, const struct mask *b)
{
    struct mask m;
    for (int k = 0; k < MASK_WORDS; k++) m.w[k] = a->w[k] & ~b->w[k];
    return m;
}
static inline bool mask_subset(const struct mask *a, const struct mask *b)
{
    uint64_t rest = 0;
    for (int k = 0; k < MASK_WORDS; k++) rest |= a->w[k] & ~b->w[k];
    return !rest;
}
/* The bits of [page, outer) in page's word. */
static inline uint64_t word_bits(unsigned page, unsigned outer)
{
    unsigned bit = page % 64, n = 64 - bit < outer - page ? 64 - bit : outer - page;
    return (n == 64 ? ~0ull : (1ull << n) - 1) << bit;
}
#define for_each_word(page, r) for (unsigned page = (r).first; page < (r).outer; page = (page / 64 + 1) * 64)
/* The pages of r come into m, or go. */
static inline void mask_assign(struct mask *m, struct region r, bool in)
{
    for_each_word(page, r) {
        uint64_t *w = &m->w[page / 64], bits = word_bits(page, r.outer);
        *w = in ? *w | bits : *w & ~bits;
    }
}
static inline void mask_fill(struct mask *m, struct region r) { mask_assign(m, r, true); }
static inline struct mask mask_region(struct region r)
{
    struct mask m = { { 0 } };
    mask_fill(&m, r);
    return m;
}
/* The first page in [from, outer) that is in m, if in, or that is not; outer if there is none. */
static inline unsigned mask_find(const struct mask *m, unsigned from, unsigned outer, bool in)
{
    while (from < outer) {
        uint64_t word = m->w[from / 64], rest = (in ? word : ~word) >> (from % 64);
        if (rest) {
            from += (unsigned)__builtin_ctzll(rest);
            return from < outer ? from : outer;
        }
        from = (from / 64 + 1) * 64;
    }
    return outer;
}
static inline unsigned mask_next(const struct mask *m, unsigned from, unsigned outer)
{
    return mask_find(m, from, outer, true);
}
static inline unsigned mask_next_clear(const struct mask *m, unsigned from, unsigned outer)
{
    return mask_find(m, from, outer, false);
}
/* Where the run that page is in, of pages that are in m or of pages that are not, ends; outer at most. */
static inline unsigned mask_run_end(const struct mask *m, unsigned page, unsigned outer)
{
    return mask_find(m, page, outer, !mask_test(m, page));
}
static inline unsigned mask_count(const struct mask *m, struct region r)
{
    unsigned n = 0;
    for_each_word(page, r) n += word_weight(m->w[page / 64] & word_bits(page, r.outer));
    return n;
}

#define for_each_page(page, m) \
    for (unsigned page = mask_next(m, 0, MASK_PAGES); page < MASK_PAGES; page = mask_next(m, page + 1, MASK_PAGES))
/* Runs of pages of m: region r. */
#define for_each_run(r, m) \
    for (struct region r = { mask_next(m, 0, MASK_PAGES), 0 }; \
         r.first < MASK_PAGES && (r.outer = mask_next_clear(m, r.first, MASK_PAGES), true); \
         r.first = mask_next(m, r.outer, MASK_PAGES))

#endif
