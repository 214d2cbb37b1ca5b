// The kernels of heat.c: heat spreads over a plate, in whole numbers, so that
// every processor computes the same.
#include "cuda_builtins.h"

DEVICE int at(const int *plate, int side, int x, int y)
{
    x = x < 0 ? 0 : x < side ? x : side - 1;
    y = y < 0 ? 0 : y < side ? y : side - 1;
    return plate[y * side + x];
}

// next = now, after heat has flowed between neighbours; material says how well it conducts, 0 to 255
KERNEL spread(const int *now, int *next, const unsigned char *material, int side)
{
    int x = (int)(block_x() * size_x() + tid_x()), y = (int)block_y();
    if (x >= side) return;
    int here = now[y * side + x];
    int flow = at(now, side, x - 1, y) + at(now, side, x + 1, y) + at(now, side, x, y - 1) + at(now, side, x, y + 1) - 4 * here;
    next[y * side + x] = here + ((flow >> 2) * material[y * side + x] >> 8);
}

// *warm = how many places are at least as warm as limit
KERNEL count_warm(const int *now, int side, int limit, unsigned *warm)
{
    unsigned mine = 0, all = (unsigned)(side * side);
    for (unsigned k = block_x() * size_x() + tid_x(); k < all; k += grid_x() * size_x()) mine += now[k] >= limit;
    for (unsigned by = 16; by; by /= 2) mine += shuffle_down(mine, by);
    if (tid_x() % 32 == 0) atomic_add(warm, mine);
}
