/* The options that `faultline run` and `faultline devices` share. */
#ifndef FL_CLI_MACHINE_H
#define FL_CLI_MACHINE_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#define MACHINE_USAGE                                                                     \
    "  --devices N     simulate N GPUs (FAULTLINE_DEVICES)\n"                             \
    "  --vram SIZE     memory of each GPU, such as 8G (FAULTLINE_VRAM)\n"                 \
    "  --profile P     the machine to simulate: a name or a file (FAULTLINE_PROFILE)\n"   \
    "  --driver 13.N   the CUDA version of the driver, if not 13.0 (FAULTLINE_DRIVER)\n"

/* Of an array of struct option. */
#define MACHINE_OPTIONS                                                                            \
    { "devices", required_argument, NULL, 'd' }, { "vram", required_argument, NULL, 'v' },         \
        { "profile", required_argument, NULL, 'p' }, { "driver", required_argument, NULL, 'c' }

/* Whether c, from getopt_long, is one of these; then its variable is set. */
bool machine_option(int c, const char *value);

#endif
