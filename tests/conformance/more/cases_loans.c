/* What pools lend, on a machine with one device. */
#define DEVICES 1
#define CRASHES \
    " loans_7701.120 loans_7702.171 loans_7703.152 loans_7704.256 loans_7704.279 loans_7705.278 loans_7706.300 " \
    "loans_7708.398 "
#include "lending.h"

#define LATER(X, name) \
    X(name, 7701) X(name, 7702) X(name, 7703) X(name, 7704) X(name, 7705) X(name, 7706) X(name, 7707) X(name, 7708)
EIGHT(LENT, loans)
LATER(LENT, loans)

const struct group groups[] = { EIGHT(LISTED, loans) LATER(LISTED, loans){ 0 } };
