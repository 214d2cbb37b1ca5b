/* Stands in for NVIDIA's CUPTI, which wheels bring: whoever gets to its code is lost. */
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default"), noinline, aligned(16)))
EXPORT int cuptiGetVersion(unsigned *version);
EXPORT int cuptiOfALaterVersion(int anything);
EXPORT int twiceByCupti(int x);

int cuptiGetVersion(unsigned *version)
{
    *version = 0;
    abort();
}

int cuptiOfALaterVersion(int anything)
{
    if (anything) abort();
    return 0;
}

int twiceByCupti(int x) { return 2 * x; }
