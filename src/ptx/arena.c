/* One compilation's memory; see arena.h. */
#include "arena.h"
#include "ptxc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 1 << 20 };
static const size_t LIMIT = 4ul << 30;

static char *block;
static size_t left, total;
static struct piece {
    struct piece *next;
    uint64_t pad; /* what follows is aligned to 16 bytes */
} *pieces; /* all that was allocated */

void *arena_alloc(size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (size > LIMIT || total + size > LIMIT) fatal(EXIT_UNSUPPORTED, "the module needs too much memory to compile");
    if (size > left) {
        size_t bytes = size > BLOCK ? size : BLOCK;
        struct piece *piece = calloc(1, sizeof *piece + bytes);
        if (!piece) fatal(EXIT_INTERNAL, "out of memory");
        *piece = (struct piece){ .next = pieces };
        pieces = piece;
        char *fresh = (char *)(piece + 1);
        total += bytes;
        if (bytes > BLOCK) return fresh;
        block = fresh;
        left = bytes;
    }
    void *p = block;
    block += size;
    left -= size;
    return p;
}

void arena_again(void)
{
    for (struct piece *next; pieces; pieces = next) {
        next = pieces->next;
        free(pieces);
    }
    left = total = 0;
}

char *arena_text(const char *start, size_t length)
{
    char *t = arena_alloc(length + 1);
    memcpy(t, start, length);
    return t;
}

char *arena_printf(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(NULL, 0, format, list);
    va_end(list);
    char *t = arena_alloc((size_t)n + 1);
    va_start(list, format);
    vsnprintf(t, (size_t)n + 1, format, list);
    va_end(list);
    return t;
}

/* Capacity is implied by the count: it doubles at powers of two. */
void *arena_grow(void *array, uint32_t count, size_t element)
{
    if (count && (count & (count - 1))) return array;
    void *bigger = arena_alloc((count ? count * 2ul : 1) * element);
    if (count) memcpy(bigger, array, count * element);
    return bigger;
}

void close_text(FILE *f)
{
    const bool whole = !ferror(f);
    if (fclose(f) || !whole) fatal(EXIT_INTERNAL, "out of memory");
}
