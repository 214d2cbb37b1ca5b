/* faultline run: a program with our libcuda.so.1 before any other, and what to
 * say when it does not end well. */
#include "base/ptxas_folder.h"
#include "cli/cli.h"
#include "cli/machine.h"
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage[] =
    "usage: faultline run [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
    MACHINE_USAGE
    "  --log LEVEL     off, error, warn, info or debug (FAULTLINE_LOG)\n"
    "  --um-summary    at the end: what happened to each managed allocation\n"
    "  --page-map      at the end: where its pages were, before and after each kernel\n"
    "  --trace FILE    write all events of managed memory, kernels and copies, for ui.perfetto.dev or chrome://tracing\n"
    "  --leaks         at the end: memory that was not given back, and which calls it came from; exit status 1 then\n"
    "  --help          this text\n"
    "The exit status is the program's, or 128 plus the signal that ended it; 126 or 127 if it could not be run.\n"
    "The name behind an option is the variable that does the same. README.md has more variables.\n";

static const struct option options[] = {
    MACHINE_OPTIONS,
    { "log", required_argument, NULL, 'l' },
    { "um-summary", no_argument, NULL, 's' },
    { "page-map", no_argument, NULL, 'm' },
    { "trace", required_argument, NULL, 't' },
    { "leaks", no_argument, NULL, 'k' },
    { "help", no_argument, NULL, 'h' },
    { 0 },
};

static volatile sig_atomic_t child;

static bool stops(int signal) { return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU; }

/* A terminal tells the program as well, which decides whether it ends; what somebody sends to this process goes to no
 * other, nor does that of a timer which was set before this process became what it is. */
static bool is_of_terminal(int signal, const siginfo_t *info)
{
    return info->si_code == SI_KERNEL && (stops(signal) || signal == SIGINT || signal == SIGQUIT || signal == SIGWINCH);
}

/* What the signal does by default, which is nothing where nobody could continue this process. */
static void stop(int signal)
{
    const struct sigaction by_default = { .sa_handler = SIG_DFL };
    struct sigaction ours;
    sigset_t it;
    sigemptyset(&it);
    sigaddset(&it, signal);
    sigaction(signal, &by_default, &ours);
    raise(signal);
    pthread_sigmask(SIG_UNBLOCK, &it, NULL);
    sigaction(signal, &ours, NULL);
}

static void pass_on(int signal, siginfo_t *info, void *unused)
{
    (void)unused;
    const int error = errno;
    if (child && !is_of_terminal(signal, info)) kill(child, signal);
    if (stops(signal)) stop(signal);
    errno = error;
}

/* All that others send but for what ends or stops a process in any case, and what tells of its own mistakes and children. */
static sigset_t passed(void)
{
    static const int named[] = { SIGTERM, SIGHUP,    SIGINT,  SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT,  SIGTSTP, SIGTTIN,
                                 SIGTTOU, SIGVTALRM, SIGALRM, SIGPROF, SIGIO,   SIGPWR,  SIGWINCH, SIGURG };
    sigset_t set;
    sigemptyset(&set);
    for (size_t k = 0; k < sizeof named / sizeof *named; k++) sigaddset(&set, named[k]);
    for (int k = SIGRTMIN; k <= SIGRTMAX; k++) sigaddset(&set, k);
    return set;
}

/* One that stops, but is ignored, stays ignored. */
static void pass_all_on(const sigset_t *set)
{
    const struct sigaction action = { .sa_sigaction = pass_on, .sa_flags = SA_RESTART | SA_SIGINFO };
    struct sigaction before;
    for (int k = 1; k <= SIGRTMAX; k++) {
        if (sigismember(set, k) != 1 || sigaction(k, NULL, &before)) continue;
        if (!stops(k) || before.sa_handler != SIG_IGN) sigaction(k, &action, NULL);
    }
}

/* A trace that becomes larger than files may be here, or what is said and nobody reads, is no reason to end, and the
 * program with this: these are the program's alone. */
static const int harmless[] = { SIGXFSZ, SIGPIPE };
enum { HARMLESS = sizeof harmless / sizeof *harmless };
static void (*inherited[HARMLESS])(int);

/* A file that the library notes failed calls in; -1: there is none. It ends with the processes that have it open. */
static int report_create(void)
{
    char path[64];
    int fd = memfd_create("faultline-report", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);
    if (fd >= 0) setenv("FAULTLINE_REPORT", path, 1);
    return fd;
}

/* Several processes may have noted the same. */
static void report_print(int fd)
{
    enum { MOST_LINES = 32 };
    char line[MOST_LINES][256];
    int lines = 0;
    FILE *f = fdopen(fd, "r");
    if (!f) return;
    rewind(f);
    while (lines < MOST_LINES && fgets(line[lines], sizeof line[lines], f)) {
        int known = 0;
        while (known < lines && strcmp(line[known], line[lines])) known++;
        if (known < lines) continue;
        if (!lines) fputs("faultline: driver calls that failed:\n", stderr);
        fprintf(stderr, "    %s", line[lines++]);
    }
    fclose(f);
}

/* Sets a variable of the environment to two lists, of which either may be empty. */
static void put_both(const char *variable, const char *first, const char *then)
{
    char *all;
    if (asprintf(&all, "%s%s%s", first, *first && *then ? ":" : "", then) < 0) return;
    setenv(variable, all, 1);
    free(all);
}
static const char *had(const char *variable)
{
    const char *old = getenv(variable);
    return old ? old : "";
}
static void put_first(const char *variable, const char *word) { put_both(variable, word, had(variable)); }
static void put_last(const char *variable, const char *word) { put_both(variable, had(variable), word); }

/* src/lead: ours take the place of those in the program, or in what it loads or starts. What the user preloads comes
 * before it: allocators stand before cudaMalloc that way. A path with spaces would be several to the dynamic linker; then
 * LD_LIBRARY_PATH, where spaces are allowed, says where the file is. */
static void preload_lead(const char *folder)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/libfaultline-lead.so", folder);
    if (!access(path, R_OK)) put_last("LD_PRELOAD", strchr(path, ' ') ? strrchr(path, '/') + 1 : path);
    put_first("ASAN_OPTIONS", "verify_asan_link_order=0"); /* or it insists on being the first library itself */
}

/* Programs that compile kernels by starting ptxas find ours; who has chosen another one keeps it. */
static void offer_ptxas(const char *folder)
{
    char path[PATH_MAX + 16];
    if (!(folder = ptxas_folder(folder))) return;
    snprintf(path, sizeof path, "%s/ptxas", folder);
    put_first("PATH", folder);
    setenv("TRITON_PTXAS_PATH", path, 0);
    setenv("TRITON_PTXAS_BLACKWELL_PATH", path, 0);
}

/* Of NCCL's protocols this is the one whose kernels have it in themselves; other functions are called through a table of
 * some hundreds, which are not compiled (src/ptx/remote.h). */
static void choose_protocol(void) { setenv("NCCL_PROTO", "LL", 0); }

/* The exit status for the wait status, after a word to the user; report: what failed calls are in. */
static int explain(const char *program, int status, int report)
{
    int result = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) {
        int n = WTERMSIG(status);
        complain("%s was ended by signal %d (%s)%s", program, n, strsignal(n),
                 n == SIGSEGV || n == SIGBUS ? ": host code touched memory that is not for the host, or not now" : "");
        result = EXIT_BY_SIGNAL + n;
    } else if (result) {
        complain("%s ended with exit status %d", program, result);
    }
    if (result && report >= 0) report_print(report);
    return result;
}

/* In the child. It ends with its parent, even one that has ended already. */
static _Noreturn void become(char **argv, pid_t parent, const sigset_t *mask)
{
    sigprocmask(SIG_SETMASK, mask, NULL);
    for (int k = 0; k < HARMLESS; k++) signal(harmless[k], inherited[k]);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(EXIT_CANNOT_RUN);
    execvp(*argv, argv);
    int error = errno;
    complain("cannot run %s: %s", *argv, strerror(error));
    _exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

/* Until it has ended. 0, or after a message the exit status for a program that cannot be run. */
static int run_program(char **argv, int *status)
{
    /* who asks the program to end may do so before it is known here whom to tell */
    const sigset_t wait = passed();
    sigset_t before;
    sigprocmask(SIG_BLOCK, &wait, &before);
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        complain("cannot start another process: %s", strerror(errno));
        return EXIT_CANNOT_RUN;
    }
    if (!pid) become(argv, parent, &before);
    child = pid;
    pass_all_on(&wait);
    sigprocmask(SIG_SETMASK, &before, NULL);
    while (waitpid(pid, status, 0) < 0)
        if (errno != EINTR) return EXIT_CANNOT_RUN;
    return 0;
}

/* Programs would find another libcuda.so.1, or none. */
static bool may_be_searched(const char *folder)
{
    if (!strpbrk(folder, ":;")) return true;
    complain("programs cannot find libraries in %s: in LD_LIBRARY_PATH ':' and ';' end a folder's name", folder);
    return false;
}

/* Returns the exit status. */
static int run_watched(char **argv, const char *folder, const struct watch_options *watch)
{
    int status, result = program_check(*argv);
    if (result) return result;
    put_first("LD_LIBRARY_PATH", folder);
    preload_lead(folder);
    offer_ptxas(folder);
    choose_protocol();
    const int report = report_create();
    for (int k = 0; k < HARMLESS; k++) inherited[k] = signal(harmless[k], SIG_IGN);
    if (!watch_begin(watch)) return EXIT_CANNOT_RUN;
    result = run_program(argv, &status);
    watch_stop();
    if (!result) result = explain(*argv, status, report);
    return watch_end() && !result ? EXIT_LEAKS : result;
}

int command_run(int argc, char **argv)
{
    struct watch_options watch = { 0 };
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, "+:h", options, NULL)) != -1) {
        switch (c) {
        case 'l': setenv("FAULTLINE_LOG", optarg, 1); break;
        case 's': watch.summary = true; break;
        case 'm': watch.page_map = true; break;
        case 't': watch.trace_file = optarg; break;
        case 'k': watch.leaks = true; break;
        case 'h': fputs(usage, stdout); return 0;
        default:
            if (machine_option(c, optarg)) break;
            fputs(usage, stderr);
            return complain("run: %s %s", argv[optind - 1], c == ':' ? "lacks its argument" : "is no option");
        }
    }
    if (optind == argc) {
        fputs(usage, stderr);
        return complain("run: which program?");
    }
    const char *folder = library_folder();
    if (!folder || !may_be_searched(folder)) return EXIT_CANNOT_RUN;
    return run_watched(argv + optind, folder, &watch);
}
