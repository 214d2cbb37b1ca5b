/* Random steps, one line each, that come again with the same seed. Each step draws from a seed of its own, so that what
 * one step was answered does not change what the next one asks. */
#ifndef WALK_H
#define WALK_H
#include "oracle.h"
#include <stdbool.h>

static uint64_t walk_state;
static int walk_step;

static unsigned rnd(unsigned n)
{
    walk_state = walk_state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(walk_state >> 33) % n;
}

static void walk_to(uint64_t seed, int step)
{
    walk_step = step;
    walk_state = (seed * 1000003 + (uint64_t)step) * 0x9e3779b97f4a7c15ull;
    rnd(2);
    rnd(2);
}

#define PICK(list) ((list)[rnd(sizeof(list) / sizeof *(list))])
#define SAY(...) rec(keyf("%d", walk_step), __VA_ARGS__)

/* Text that grows, in a few buffers that take turns. */
static char *text(void)
{
    static char room[8][1024];
    static int next;
    char *t = room[next++ % 8];
    *t = 0;
    return t;
}

static void add(char *t, const char *format, ...)
{
    va_list ap;
    size_t n = strlen(t);
    va_start(ap, format);
    vsnprintf(t + n, 1024 - n, format, ap);
    va_end(ap);
}
#endif
