/* See ptxas_folder.h. It depends on whether Faultline is installed, or runs from where it was built. */
#include "base/ptxas_folder.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

const char *ptxas_folder(const char *library_folder)
{
    static const char *const places[] = { "bin", "src/ptxas" };
    static char folder[PATH_MAX];
    char program[PATH_MAX + 16];
    for (int k = 0; k < 2; k++) {
        if ((size_t)snprintf(folder, sizeof folder, "%s/%s", library_folder, places[k]) >= sizeof folder) continue;
        snprintf(program, sizeof program, "%s/ptxas", folder);
        if (!access(program, X_OK)) return folder;
    }
    return NULL;
}
