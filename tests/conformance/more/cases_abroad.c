/* What pools lend, on a machine with two devices. */
#define DEVICES 2
#include "lending.h"

EIGHT(LENT, abroad)

const struct group groups[] = { EIGHT(LISTED, abroad){ 0 } };
