/* Sums of products as the matrix units of an H200 make them. Observed there: all
 * products and the number that they are added to are cut off, towards zero, some
 * bits below the largest of them; their exact sum is cut off to the result's
 * precision. How large a product is its factors' exponents say, of subnormal ones
 * the smallest exponent of normal numbers. Everything that is no number is one NaN. */
#ifndef FL_DEVICE_SUMS_H
#define FL_DEVICE_SUMS_H

#include "ptx/abi.h"

#include <stdbool.h>
#include <stdint.h>

enum { SUMS_ROWS = 16, SUMS_COLUMNS = 8, SUMS_DEPTH = 32 };

struct sums {
    uint32_t rows, depth;
    const double (*a)[SUMS_DEPTH];   /* [row][k] */
    const double (*b)[SUMS_COLUMNS]; /* [k] */
    double least_a, least_b, least_sum; /* the smallest normal numbers of their types */
    uint32_t bits;                   /* below the largest product's first */
    uint32_t dropped;                /* of the result's fraction */
    bool odd;                        /* the last bit is set if anything was cut off: it is rounded again */
    double sizes[SUMS_ROWS][SUMS_DEPTH]; /* of a's elements: the powers of two that they begin with */
};

/* Sets what depends on the types, d being the result's. Operations of warpgroups keep less of numbers of 8 bits. */
void sums_prepare(struct sums *s, enum fl_matrix_type a, enum fl_matrix_type b, enum fl_matrix_type d, bool warpgroup);
/* Looks at a, of which sums are made then. */
void sums_measure(struct sums *s);
/* v[row] += what a[row] and b give. */
void sums_add(const struct sums *s, float (*v)[SUMS_COLUMNS]);

/* One sum more. */
float sums_plus(float a, float b);

#endif
