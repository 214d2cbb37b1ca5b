/* Numbers at random that come again with the same seed, so that a run that
 * failed can be repeated. */
#ifndef FL_TESTS_DRAW_H
#define FL_TESTS_DRAW_H

#include <stdint.h>

/* Below n; the state is never 0. */
static inline uint64_t draw_from(uint64_t *state, uint64_t n)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (*state >> 11) % n;
}

/* For programs that draw in one thread. */
static uint64_t draw_state = 1;
static inline uint32_t draw(uint32_t n) { return (uint32_t)draw_from(&draw_state, n); }

#endif
