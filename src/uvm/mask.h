/* Sets of the 512 pages of a 2 MiB window. */
#ifndef FL_UVM_MASK_H
#define FL_UVM_MASK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { WINDOW_PAGES = 512, MASK_WORDS = WINDOW_PAGES / 64 };

struct mask { uint64_t w[MASK_WORDS]; };
/* Pages [first, outer). */
struct region { unsigned first, outer; };

static inline bool mask_test(const struct mask *m, unsigned page) { return m->w[page / 64] >> (page % 64) & 1; }
static inline void mask_set(struct mask *m, unsigned page) { m->w[page / 64] |= 1ull << (page % 64); }
static inline void mask_clear(struct mask *m, unsigned page) { m->w[page / 64] &= ~(1ull << (page % 64)); }
static inline void mask_zero(struct mask *m) { memset(m, 0, sizeof *m); }

static inline bool mask_empty(const struct mask *m)
{
    uint64_t any = 0;
    for (int k = 0; k < MASK_WORDS; k++) any |= m->w[k];
    return !any;
}
static inline unsigned mask_weight(const struct mask *m)
{
    unsigned n = 0;
    for (int k = 0; k < MASK_WORDS; k++) n += (unsigned)__builtin_popcountll(m->w[k]);
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
static inline void mask_fill(struct mask *m, struct region r)
{
    for (unsigned page = r.first; page < r.outer;) {
        unsigned bit = page % 64, n = 64 - bit < r.outer - page ? 64 - bit : r.outer - page;
        m->w[page / 64] |= (n == 64 ? ~0ull : (1ull << n) - 1) << bit;
        page += n;
    }
}
static inline struct mask mask_region(struct region r)
{
    struct mask m = { { 0 } };
    mask_fill(&m, r);
    return m;
}
/* The first page of m in [from, outer), or outer. */
static inline unsigned mask_next(const struct mask *m, unsigned from, unsigned outer)
{
    while (from < outer) {
        uint64_t rest = m->w[from / 64] >> (from % 64);
        if (rest) {
            from += (unsigned)__builtin_ctzll(rest);
            return from < outer ? from : outer;
        }
        from = (from / 64 + 1) * 64;
    }
    return outer;
}
/* The first page not in m in [from, outer), or outer. */
static inline unsigned mask_next_clear(const struct mask *m, unsigned from, unsigned outer)
{
    while (from < outer) {
        uint64_t rest = ~m->w[from / 64] >> (from % 64);
        if (rest) {
            from += (unsigned)__builtin_ctzll(rest);
            return from < outer ? from : outer;
        }
        from = (from / 64 + 1) * 64;
    }
    return outer;
}
static inline unsigned mask_count(const struct mask *m, struct region r)
{
    struct mask inside = mask_region(r);
    inside = mask_and(&inside, m);
    return mask_weight(&inside);
}

#define for_each_page(page, m) \
    for (unsigned page = mask_next(m, 0, WINDOW_PAGES); page < WINDOW_PAGES; page = mask_next(m, page + 1, WINDOW_PAGES))
/* Runs of pages of m: region r. */
#define for_each_run(r, m)                                                                                      \
    for (struct region r = { mask_next(m, 0, WINDOW_PAGES), 0 };                                                \
         r.first < WINDOW_PAGES && (r.outer = mask_next_clear(m, r.first, WINDOW_PAGES), true);                 \
         r.first = mask_next(m, r.outer, WINDOW_PAGES))

#endif
