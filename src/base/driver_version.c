/* See driver_version.h. */
#include "base/driver_version.h"
#include "base/log.h"

#include <cuda.h>
#include <stdlib.h>
#include <string.h>

static int read_minor(void)
{
    static const char major[] = "13.";
    const char *asked = getenv("FAULTLINE_DRIVER");
    if (!asked || !*asked) return 0;
    const char *minor = asked + strlen(major);
    if (!strncmp(asked, major, strlen(major)) && *minor >= '0' && *minor <= '9' && !minor[1]) return *minor - '0';
    fl_log_once(FL_LOG_ERROR, "FAULTLINE_DRIVER=%s: a version from 13.0 to 13.9 is wanted; it stays 13.0", asked);
    return 0;
}

/* Once: what the program does to its environment later is its own affair. */
int driver_minor(void)
{
    static _Atomic int known = -1;
    if (known < 0) known = read_minor();
    return known;
}

int driver_version(void) { return CUDA_VERSION + 10 * driver_minor(); }
