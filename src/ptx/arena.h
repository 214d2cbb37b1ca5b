/* Memory of one compilation: never freed piece by piece, bounded so that
 * hostile input cannot take the machine down. Out of memory ends ptxc. */
#ifndef FL_PTX_ARENA_H
#define FL_PTX_ARENA_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void *arena_alloc(size_t size);                    /* zeroed */
char *arena_text(const char *start, size_t length); /* NUL-terminated copy */
char *arena_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Gives everything back: compiling begins again. */
void arena_again(void);

/* Appends to a growing array: ARENA_PUSH(array, count) is the new last element, zeroed. */
void *arena_grow(void *array, uint32_t count, size_t element);
#define ARENA_PUSH(array, count) (*((array) = arena_grow((array), (count), sizeof *(array)), &(array)[(count)++]))

/* Closes a stream into memory (open_memstream), of which nothing may be missing. */
void close_text(FILE *f);

#endif
