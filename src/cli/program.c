/* What can be said of a program before it is run: that it is not there, or that
 * it will never load a library of ours. */
#include "cli/cli.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where execvp would find it; false: nowhere. */
static bool find(const char *name, char path[PATH_MAX])
{
    const char *folders = getenv("PATH");
    if (strchr(name, '/')) return (size_t)snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
    for (const char *p = folders ? folders : "/bin:/usr/bin";; p++) {
        int n = (int)strcspn(p, ":");
        struct stat s;
        snprintf(path, PATH_MAX, "%.*s%s%s", n, p, n ? "/" : "", name); /* an empty one is where one is */
        if (!stat(path, &s) && S_ISREG(s.st_mode) && !access(path, X_OK)) return true;
        p += n;
        if (!*p) return false;
    }
}

/* Whether the 64-bit program names an interpreter, the dynamic linker. */
static bool is_linked_dynamically(int fd, const Elf64_Ehdr *h)
{
    for (int k = 0; k < h->e_phnum; k++) {
        Elf64_Phdr p;
        if (pread(fd, &p, sizeof p, (off_t)h->e_phoff + k * (off_t)h->e_phentsize) != sizeof p) return true;
        if (p.p_type == PT_INTERP) return true;
    }
    return false;
}

static void look_inside(const char *name, const char *path)
{
    Elf64_Ehdr h;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return; /* executable, but not readable: nothing is wrong with that */
    if (read(fd, &h, sizeof h) == sizeof h && !memcmp(h.e_ident, ELFMAG, SELFMAG)) {
        if (h.e_ident[EI_CLASS] == ELFCLASS32)
            complain("%s is a 32-bit program, which cannot load libcuda.so.1: nothing will be simulated", name);
        else if (!is_linked_dynamically(fd, &h))
            complain("%s is linked statically, so it loads no libcuda.so.1: nothing will be simulated", name);
    }
    close(fd);
}

int program_check(const char *name)
{
    char path[PATH_MAX];
    struct stat s;
    if (!find(name, path)) {
        bool here = !access(name, F_OK);
        complain("cannot run %s: there is no such program in PATH%s%s", name, here ? "; did you mean ./" : "",
                 here ? name : "");
        return EXIT_NOT_FOUND;
    }
    if (stat(path, &s)) {
        int error = errno;
        complain("cannot run %s: %s", name, strerror(error));
        return error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
    }
    if (S_ISDIR(s.st_mode)) {
        complain("cannot run %s: it is a directory", name);
        return EXIT_CANNOT_RUN;
    }
    if (access(path, X_OK)) {
        complain("cannot run %s: it is not executable (chmod +x makes it so, if it is a program)", name);
        return EXIT_CANNOT_RUN;
    }
    look_inside(name, path);
    return 0;
}
