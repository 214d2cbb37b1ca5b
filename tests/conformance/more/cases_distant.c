/* cases_ranges.c with two devices, in whose contexts calls are made in turn. */
#define DEVICES 2
#define SEEDS 50
#include "cases_ranges.c"
