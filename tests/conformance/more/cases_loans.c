/* What pools lend, on a machine with one device. */
#define DEVICES 1
#include "lending.h"

ALL(loans)
