/* cases_ranges.c with small allocations, which share a mapping with others, a managed variable, and memory of a managed
 * pool. */
#define KIN
#define FIRST_SIZE 600000
#define SEEDS 300
#include "cases_ranges.c"
