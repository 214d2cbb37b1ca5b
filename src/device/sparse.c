/* See sparse.h. */
#include "device/sparse.h"

/* Four bits of metadata, the n-th of so many of a row. Of each four lanes, one has those of two rows if there are four.
 * Otherwise two lanes, or all, have them: of elements of 16 and more bits each lane a part of both rows, of smaller ones
 * all or half of one. */
static uint32_t metadata(enum fl_matrix_type t, const uint32_t *lanes, uint32_t row, uint32_t n, uint32_t count,
                         uint32_t selector)
{
    const bool apart = fl_matrix_packed(t) > 2;
    const uint32_t half = row / 8, first = row % 8 * 4 + selector * (count / 4);
    return apart ? lanes[first + half + n / 8 * 2] >> n % 8 * 4 & 15
                 : lanes[first + n / 4] >> (half * 4 + n % 4) * 4 & 15;
}

/* Four bits name two of four parts of a row, of which each is an element, half of one, or two. */
void sparse_depths(enum fl_matrix_type t, uint32_t stored, const uint32_t lanes[32], uint32_t selector,
                   uint8_t depths[SPARSE_ROWS * SPARSE_MOST])
{
    const uint32_t told = fl_matrix_told(t), count = stored / told;
    for (uint32_t row = 0; row < SPARSE_ROWS; row++)
        for (uint32_t k = 0; k < stored; k++) {
            const uint32_t bits = metadata(t, lanes, row, k / told, count, selector), among = k % told;
            const uint32_t part = bits >> (told == 4 ? among / 2 : among) * 2 & 3;
            const uint32_t element = told == 1 ? part / 2 : told == 4 ? part * 2 + among % 2 : part;
            depths[row * stored + k] = (uint8_t)(k / told * told * 2 + element);
        }
}
