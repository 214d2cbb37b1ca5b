/* See spawn.h. The process that is started is a grandchild: execve gives every
 * child back the exit signal SIGCHLD, so a child in between, which has none,
 * starts it and ends. Both share this address space until the execve. */
#include "base/spawn.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/unseen.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK = 64 << 10 };

/* The application's ThreadSanitizer, if it has one, takes clone for fork. */
int __clone(int (*f)(void *), void *stack, int flags, void *arg, ...);
#define clone __clone

struct plan {
    const char *path;
    char *const *argv;
    char **environment;
    const int *fds;
    int nfds;
    char *inner_stack;
    int error;
};

/* UNSEEN: it never returns, on a stack that goes. */
UNSEEN static int program(void *arg)
{
    struct plan *p = arg;
    sigset_t none;
    int moved[16];
    for (int s = 1; s < NSIG; s++)
        if (s != SIGKILL && s != SIGSTOP) signal(s, SIG_DFL);
    for (int k = 0; k < p->nfds; k++)
        if ((moved[k] = fcntl(p->fds[k], F_DUPFD, 3 + p->nfds)) < 0) goto failed;
    for (int k = 0; k < p->nfds; k++)
        if (dup2(moved[k], 3 + k) < 0) goto failed;
    if (syscall(SYS_close_range, 3 + p->nfds, ~0u, 0))
        for (int fd = 3 + p->nfds; fd < 4096; fd++) close(fd);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(p->path, p->argv, p->environment);
failed:
    p->error = errno;
    _exit(127);
}

UNSEEN static int between(void *arg)
{
    struct plan *p = arg;
    if (clone(program, p->inner_stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, p) < 0) p->error = errno;
    _exit(0);
}

/* What the application has loaded into itself (an allocator, a sanitizer) is not for our programs. */
static char **environment(void)
{
    size_t n = 0, kept = 0;
    while (environ && environ[n]) n++;
    char **own = calloc(n + 1, sizeof *own);
    for (size_t k = 0; own && k < n; k++)
        if (strncmp(environ[k], "LD_PRELOAD=", 11) && strncmp(environ[k], "LD_AUDIT=", 9)) own[kept++] = environ[k];
    return own;
}

CUresult spawn(const char *path, char *const argv[], const int *fds, int nfds)
{
    struct plan p = { path, argv, environment(), fds, nfds, NULL, 0 };
    sigset_t all, old;
    if (!p.environment) return CUDA_ERROR_OUT_OF_MEMORY;
    char *stacks = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED) {
        free(p.environment);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    p.inner_stack = stacks + STACK;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pid_t child = clone(between, stacks + STACK, CLONE_VM | CLONE_VFORK, &p);
    if (child < 0) p.error = errno;
    while (child > 0 && waitpid(child, NULL, __WCLONE) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    munmap(stacks, 2 * STACK);
    free(p.environment);
    if (!p.error) return CUDA_SUCCESS;
    if (p.error == ENOENT || p.error == EACCES) return CUDA_ERROR_FILE_NOT_FOUND;
    fl_log(FL_LOG_ERROR, "%s cannot be started: %s%s", argv[0], strerror(p.error), FEW_TASKS(p.error));
    return CUDA_ERROR_OPERATING_SYSTEM;
}

/* Of the object that this is part of. Empty: unknown. */
static char folder[PATH_MAX];

/* Early, because dladdr waits for the dynamic linker's lock, and who has that may be waiting for a lock of ours. */
__attribute__((constructor)) static void find_folder(void)
{
    Dl_info here;
    if (!dladdr((void *)library_sibling, &here) || !here.dli_fname) return;
    const char *slash = strrchr(here.dli_fname, '/');
    const size_t length = slash ? (size_t)(slash - here.dli_fname) : 1;
    if (length < sizeof folder) memcpy(folder, slash ? here.dli_fname : ".", length);
}

CUresult library_sibling(const char *name, const char *environment, char *out, size_t size)
{
    const char *asked = secure_getenv(environment);
    int n;
    if (asked && *asked)
        n = snprintf(out, size, "%s", asked);
    else if (*folder)
        n = snprintf(out, size, "%s/%s", folder, name);
    else
        return CUDA_ERROR_FILE_NOT_FOUND;
    return n >= 0 && (size_t)n < size ? CUDA_SUCCESS : CUDA_ERROR_FILE_NOT_FOUND;
}
