/* Options that say what machine is simulated: each sets the variable of its meaning. */
#include "cli/machine.h"
#include <stdlib.h>

bool machine_option(int c, const char *value)
{
    switch (c) {
    case 'd': setenv("FAULTLINE_DEVICES", value, 1); break;
    case 'v': setenv("FAULTLINE_VRAM", value, 1); break;
    case 'p': setenv("FAULTLINE_PROFILE", value, 1); break;
    case 'c': setenv("FAULTLINE_DRIVER", value, 1); break;
    default: return false;
    }
    return true;
}
