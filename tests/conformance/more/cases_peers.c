/* cases_mixed.c with two devices. */
#define DEVICES 2
#include "cases_mixed.c"
