/* faultline ptxc: compiles a PTX file with the compiler that the library uses,
 * to see what it says about it. */
#include "cli/cli.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int command_ptxc(int argc, char **argv)
{
    char compiler[PATH_MAX + 32];
    if (argc > 1 && !strcmp(argv[1], "--help")) {
        puts("usage: faultline ptxc FILE\nCompiles FILE and prints warnings and errors, with the line they are about.");
        return 0;
    }
    if (argc != 2) return complain("ptxc: usage: faultline ptxc FILE");
    if (access(argv[1], R_OK)) return complain("%s: %s", argv[1], strerror(errno));
    const char *folder = library_folder();
    if (!folder) return 126;
    snprintf(compiler, sizeof compiler, "%s/faultline-ptxc", folder);
    execl(compiler, compiler, argv[1], "-o", "/dev/null", (char *)NULL);
    complain("cannot run %s: %s", compiler, strerror(errno));
    return 126;
}
