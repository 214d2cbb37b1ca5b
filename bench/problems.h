/* The problems that basics.c and its peer pocl.c both solve: how large they are,
 * how threads are divided into blocks, and what the input is. */
#ifndef FL_BENCH_PROBLEMS_H
#define FL_BENCH_PROBLEMS_H

#include <stdlib.h>

/* numbers; of the matrices numbers in a row */
enum { ADD_N = 16 << 20, REDUCE_N = 16 << 20, MATMUL_N = 768 };
enum { LINE_BLOCK = 256, SQUARE_BLOCK = 16 };
enum { GRID_BLOCKS = 132 }; /* of a kernel that goes over its numbers in strides */
enum { LINE_RUNS = 15, SQUARE_RUNS = 7, RUNS_BEFORE = 2, MOST_RUNS = 64 };

enum fill { ZEROS, FRACTIONS };
/* The caller frees it. */
static inline float *make_numbers(size_t count, enum fill fill)
{
    float *out = malloc(count * sizeof *out);
    for (size_t i = 0; i < count; i++) out[i] = fill == FRACTIONS ? (float)(i % 1000) / 1000 : 0;
    return out;
}

#endif
