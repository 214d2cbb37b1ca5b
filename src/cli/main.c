/* The faultline command: finds the subcommand and the library that belongs to it. */
#include "cli/cli.h"
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *usage;
} commands[] = {
    { "run", command_run, "run [OPTION...] -- PROGRAM [ARGUMENT...]   run a CUDA program on simulated GPUs" },
    { "devices", command_devices, "devices                                    what the simulated machine looks like" },
    { "ptxc", command_ptxc,
      "ptxc FILE                                  does a PTX file compile, and can its kernels be launched?" },
    { "ptxas", command_ptxas, "ptxas ARGUMENT...                          what runs in the place of NVIDIA's ptxas" },
};
enum { COMMANDS = sizeof commands / sizeof *commands };

int complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("faultline: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return 2;
}

bool wants_help(const char *argument) { return !strcmp(argument, "--help") || !strcmp(argument, "-h"); }

const char *library_folder(void)
{
    static char folder[PATH_MAX];
    static const char *const places[] = { ".", "../lib/faultline" };
    char self[PATH_MAX], candidate[2 * PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) {
        complain("cannot read /proc/self/exe");
        return NULL;
    }
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(candidate, sizeof candidate, "%s/%s/libcuda.so.1", self, places[i]);
        if (!access(candidate, R_OK) && realpath(candidate, folder)) {
            *strrchr(folder, '/') = '\0';
            return folder;
        }
    }
    complain("libcuda.so.1 is neither in %s nor in %s/../lib/faultline", self, self);
    return NULL;
}

static void print_usage(FILE *to)
{
    fputs("usage:\n", to);
    for (int i = 0; i < COMMANDS; i++) fprintf(to, "  faultline %s\n", commands[i].usage);
    fputs("\nfaultline COMMAND --help says more, faultline --version which one this is.\n", to);
}

int main(int argc, char **argv)
{
    if (argc > 1 && (wants_help(argv[1]) || !strcmp(argv[1], "help"))) {
        print_usage(stdout);
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        puts("faultline " FAULTLINE_VERSION);
        return 0;
    }
    for (int i = 0; argc > 1 && i < COMMANDS; i++)
        if (!strcmp(argv[1], commands[i].name)) return commands[i].run(argc - 1, argv + 1);
    if (argc > 1) complain("there is no command %s", argv[1]);
    print_usage(stderr);
    return 2;
}
