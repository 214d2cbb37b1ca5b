/* faultline ptxc: compiles a PTX file with the compiler that the library uses,
 * to see what it says about it. */
#include "cli/cli.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
    "usage: faultline ptxc FILE\n"
    "Compiles a PTX file and prints errors, and which of its kernels cannot be launched, with the line that says why.\n"
    "The exit status is 0 if the file can be loaded. Nothing is written.\n";

enum { MOST = (256 << 20) + 1 }; /* of that the compiler says that it is too long */

/* What comes through a pipe is there only once, and is looked at twice. -1: errno says why there is no copy. */
static int copied(int from)
{
    char piece[1 << 16];
    ssize_t n = 0;
    const int to = memfd_create("ptx", 0);
    for (ssize_t size = 0; to >= 0 && size < MOST; size += n)
        if ((n = read(from, piece, sizeof piece)) <= 0 || write(to, piece, (size_t)n) != n) break;
    return to < 0 || n < 0 || lseek(to, 0, SEEK_SET) ? -1 : to;
}

/* -1: after a message. */
static int open_file(const char *name)
{
    struct stat s;
    int fd = open(name, O_RDONLY);
    if (fd >= 0 && !fstat(fd, &s) && !S_ISREG(s.st_mode)) fd = copied(fd);
    if (fd < 0) complain("%s: %s", name, strerror(errno));
    return fd;
}

/* Says what is wrong with the file before the compiler finds its first character odd. */
static bool looks_like_ptx(int fd, const char *name)
{
    char begin[4] = "";
    size_t n = strlen(name);
    ssize_t got = pread(fd, begin, sizeof begin, 0);
    if (got < 0)
        complain("%s: %s", name, strerror(errno));
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
    char compiler[PATH_MAX + 32], file[16];
    if (argc > 1 && wants_help(argv[1])) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc != 2) {
        fputs(usage, stderr);
        return 2;
    }
    const int fd = open_file(argv[1]);
    if (fd < 0 || !looks_like_ptx(fd, argv[1])) return 2;
    const char *folder = library_folder();
    if (!folder) return EXIT_CANNOT_RUN;
    snprintf(compiler, sizeof compiler, "%s/faultline-ptxc", folder);
    snprintf(file, sizeof file, "fd:%d", fd);
    execl(compiler, compiler, "--refused", file, "-o", "/dev/null", (char *)NULL);
    complain("cannot run %s: %s", compiler, strerror(errno));
    return EXIT_CANNOT_RUN;
}
