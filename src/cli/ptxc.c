/* faultline ptxc: compiles a PTX file with the compiler that the library uses,
 * to see what it says about it. */
#include "cli/cli.h"
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: faultline ptxc FILE\n"
    "Compiles a PTX file and prints errors, and which of its kernels cannot be launched, with the line that says why.\n"
    "The exit status is 0 if the file can be loaded. Nothing is written.\n";

/* Says what is wrong with the file before the compiler finds its first character odd. */
static bool looks_like_ptx(const char *name)
{
    char begin[4] = "";
    size_t n = strlen(name);
    FILE *f = fopen(name, "r");
    size_t got = f ? fread(begin, 1, sizeof begin, f) : 0;
    int error = f && !ferror(f) ? 0 : errno;
    if (f) fclose(f);
    if (error)
        complain("%s: %s", name, strerror(error));
    else if (!got)
        complain("%s is empty", name);
    else if (!memcmp(begin, "\177ELF", 4) || !memcmp(begin, "\x50\xed\x55\xba", 4))
        complain("%s is machine code or a fatbinary, not PTX (nvcc -ptx makes PTX of CUDA C++)", name);
    else if (n > 3 && !strcmp(name + n - 3, ".cu"))
        complain("%s is CUDA C++, not PTX: compile it with nvcc -ptx, or with clang -x cuda --cuda-device-only -S",
                 name);
    else
        return true;
    return false;
}

int command_ptxc(int argc, char **argv)
{
    char compiler[PATH_MAX + 32];
    if (argc > 1 && wants_help(argv[1])) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc != 2) {
        fputs(usage, stderr);
        return 2;
    }
    if (!looks_like_ptx(argv[1])) return 2;
    const char *folder = library_folder();
    if (!folder) return EXIT_CANNOT_RUN;
    snprintf(compiler, sizeof compiler, "%s/faultline-ptxc", folder);
    execl(compiler, compiler, "--refused", argv[1], "-o", "/dev/null", (char *)NULL);
    complain("cannot run %s: %s", compiler, strerror(errno));
    return EXIT_CANNOT_RUN;
}
