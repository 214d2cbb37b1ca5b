/* mma.m8n8k4 of halves: each quarter of a warp, four lanes of its first half and four of its second, makes a product of
 * its own. The PTX manual draws which lane holds what. */
#include "device/quads.h"
#include "device/sums.h"

#include <math.h>
#include <string.h>

enum { QUADS = 4, LANES = 8, SIDE = 8, DEPTH = 4 };

static float half_at(const uint32_t *words, uint32_t n)
{
    _Float16 h;
    memcpy(&h, (const uint16_t *)words + n, 2);
    return (float)h;
}

static uint32_t *words_of(const struct fl_block *b, uint32_t base, uint32_t quad, uint32_t lane)
{
    const uint32_t thread = base + quad * 4 + lane % 4 + lane / 4 * 16;
    return b->op_matrix + (size_t)thread * FL_MATRIX_WORDS;
}

/* Where the n-th element of a lane's part of C or D lies. */
static void place(enum fl_matrix_type type, uint32_t lane, uint32_t n, uint32_t *row, uint32_t *column)
{
    const bool halves = type == FL_MATRIX_F16;
    *row = lane / 4 * 4 + (halves ? lane % 4 : (lane & 1) + (n & 2));
    *column = halves ? n : (n & 4) + (lane & 2) + (n & 1);
}

static void gather(const struct fl_matrix_product *p, const uint32_t *words, uint32_t lane, double (*a)[SUMS_DEPTH],
                   double (*x)[SUMS_COLUMNS], float (*c)[SUMS_COLUMNS])
{
    const uint32_t first = lane / 4 * 4;
    for (uint32_t n = 0; n < DEPTH; n++) {
        const double va = half_at(words, n), vb = half_at(words + 2, n);
        *(p->a_turned ? &a[first + n][lane % 4] : &a[lane][n]) = va;
        *(p->b_turned ? &x[lane % 4][first + n] : &x[n][lane]) = vb;
    }
    for (uint32_t n = 0; n < SIDE; n++) {
        uint32_t row, column;
        place(p->c, lane, n, &row, &column);
        if (p->c == FL_MATRIX_F16)
            c[row][column] = half_at(words + 4, n);
        else
            memcpy(&c[row][column], words + 4 + n, 4);
    }
}

static void scatter(enum fl_matrix_type type, uint32_t *words, uint32_t lane, float (*d)[SUMS_COLUMNS])
{
    for (uint32_t n = 0; n < SIDE; n++) {
        uint32_t row, column;
        place(type, lane, n, &row, &column);
        const _Float16 half = (_Float16)d[row][column];
        if (type == FL_MATRIX_F16)
            memcpy((uint16_t *)words + n, &half, 2);
        else
            memcpy(words + n, &d[row][column], 4);
    }
}

/* Observed on an H200: sums of single precision are made one by one, from zero, and rounded each time; C comes last. */
static void add_singles(const double (*a)[SUMS_DEPTH], const double (*x)[SUMS_COLUMNS], float (*v)[SUMS_COLUMNS])
{
    for (uint32_t row = 0; row < SIDE; row++)
        for (uint32_t column = 0; column < SIDE; column++) {
            float sum = 0;
            for (uint32_t k = 0; k < DEPTH; k++) sum = fmaf((float)a[row][k], (float)x[k][column], sum);
            v[row][column] = sums_plus(sum, v[row][column]);
        }
}

static void add_halves(const struct fl_matrix_product *p, const double (*a)[SUMS_DEPTH],
                       const double (*x)[SUMS_COLUMNS], float (*v)[SUMS_COLUMNS])
{
    struct sums s = { .rows = SIDE, .depth = DEPTH, .a = a, .b = x };
    sums_prepare(&s, p->a, p->b, p->d, false);
    sums_measure(&s);
    sums_add(&s, v);
}

void quads_product(struct fl_block *b, uint32_t base, const struct fl_matrix_product *p)
{
    for (uint32_t quad = 0; quad < QUADS; quad++) {
        double a[SUMS_ROWS][SUMS_DEPTH], x[SUMS_DEPTH][SUMS_COLUMNS];
        float v[SUMS_ROWS][SUMS_COLUMNS];
        for (uint32_t lane = 0; lane < LANES; lane++) gather(p, words_of(b, base, quad, lane), lane, a, x, v);
        if (p->d == FL_MATRIX_F32)
            add_singles(a, x, v);
        else
            add_halves(p, a, x, v);
        for (uint32_t lane = 0; lane < LANES; lane++) scatter(p->d, words_of(b, base, quad, lane), lane, v);
    }
}
