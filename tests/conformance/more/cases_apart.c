/* cases_spaces.c with two devices. */
#define DEVICES 2
#define SEEDS 400
#include "cases_spaces.c"
