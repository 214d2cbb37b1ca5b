/* A library whose constructor wants to know what the program was given, as Go's
 * runtime does in one. */
#include <stddef.h>

static int count = -1; /* of arguments */

__attribute__((constructor)) static void begin(int argc, char **argv, char **environment)
{
    if (!argv || !environment) return;
    for (count = 0; argv[count]; count++) {}
    if (count != argc) count = -1;
}

/* How many arguments there are; -1: it was not told. */
__attribute__((visibility("default"))) int arguments_told(void) { return count; }
