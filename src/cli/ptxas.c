/* faultline ptxas: the program of that name in its folder, as others find it there. */
#include "cli/cli.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *ptxas_folder(const char *library_folder)
{
    static const char *const places[] = { "bin", "src/ptxas" }; /* installed; where it is built */
    static char folder[PATH_MAX];
    char program[PATH_MAX + 16];
    for (int k = 0; k < 2; k++) {
        if ((size_t)snprintf(folder, sizeof folder, "%s/%s", library_folder, places[k]) >= sizeof folder) continue;
        snprintf(program, sizeof program, "%s/ptxas", folder);
        if (!access(program, X_OK)) return folder;
    }
    return NULL;
}

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
