/* What pools lend, on a machine with two devices. */
#define DEVICES 2
#include "lending.h"

ALL(abroad)
