// The kernels of text.c: a histogram in shared memory, a tiled transpose, a
// count by warp shuffles.
#include "cuda_builtins.h"

// counts[c] += how often byte c occurs in text
KERNEL histogram(const unsigned char *text, unsigned n, unsigned *counts)
{
    __shared__ static unsigned local[256];
    for (unsigned k = tid_x(); k < 256; k += size_x()) local[k] = 0;
    __syncthreads();
    for (unsigned k = block_x() * size_x() + tid_x(); k < n; k += grid_x() * size_x()) atomic_add(&local[text[k]], 1);
    __syncthreads();
    for (unsigned k = tid_x(); k < 256; k += size_x())
        if (local[k]) atomic_add(&counts[k], local[k]);
}

// out[x][y] = in[y][x] for a square of n bytes a side, by tiles of 32
KERNEL transpose(const unsigned char *in, unsigned char *out, unsigned n)
{
    __shared__ static unsigned char tile[32][33];
    unsigned x = block_x() * 32 + tid_x(), y = block_y() * 32 + tid_y();
    for (unsigned k = 0; k < 32; k += 8)
        if (x < n && y + k < n) tile[tid_y() + k][tid_x()] = in[(y + k) * n + x];
    __syncthreads();
    x = block_y() * 32 + tid_x();
    y = block_x() * 32 + tid_y();
    for (unsigned k = 0; k < 32; k += 8)
        if (x < n && y + k < n) out[(y + k) * n + x] = tile[tid_x()][tid_y() + k];
}

// *words += how many words begin in text
KERNEL count_words(const unsigned char *text, unsigned n, unsigned *words)
{
    unsigned mine = 0;
    for (unsigned k = block_x() * size_x() + tid_x(); k < n; k += grid_x() * size_x())
        mine += text[k] > ' ' && (k == 0 || text[k - 1] <= ' ');
    for (unsigned by = 16; by; by /= 2) mine += shuffle_down(mine, by);
    if (tid_x() % 32 == 0) atomic_add(words, mine);
}
