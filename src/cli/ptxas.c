/* faultline ptxas: the program of that name in its folder, as others find it there. */
#include "base/ptxas_folder.h"
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int command_ptxas(int argc, char **argv)
{
    char program[PATH_MAX + 16];
    const char *folder = library_folder();
    (void)argc;
    if (!folder) return EXIT_CANNOT_RUN;
    if (!(folder = ptxas_folder(folder))) {
        complain("ptxas is not installed");
        return EXIT_CANNOT_RUN;
    }
    snprintf(program, sizeof program, "%s/ptxas", folder);
    execv(program, argv);
    complain("cannot run %s: %s", program, strerror(errno));
    return EXIT_CANNOT_RUN;
}
