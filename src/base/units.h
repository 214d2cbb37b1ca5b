/* What memory is counted in, and rounding to it. Linux on x86-64 has pages of no other size. */
#ifndef FL_BASE_UNITS_H
#define FL_BASE_UNITS_H

#include <stdint.h>

enum { PAGE_BYTES = 4096 };

static inline uint64_t round_down(uint64_t n, uint64_t unit) { return n / unit * unit; }
static inline uint64_t round_up(uint64_t n, uint64_t unit) { return round_down(n + unit - 1, unit); }
static inline uint64_t page_down(uint64_t n) { return round_down(n, PAGE_BYTES); }
static inline uint64_t page_up(uint64_t n) { return round_up(n, PAGE_BYTES); }

#endif
