/* Descriptors out of the application's way; see descriptor.h. */
#include "vmm/descriptor.h"
#include "base/unseen.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The application's ThreadSanitizer, if it has one, takes clone for fork. */
int __clone(int (*f)(void *), void *stack, int flags, void *arg, ...);
#define clone __clone

enum { LOW = 128 }; /* numbers from here on are left to the application */

/* What a child is sent for that shares this process's descriptors and its memory: only its limit is its own, so that
 * nobody here ever sees a higher one, begins a child with it, or sets one that is undone. */
struct errand {
    const char *name; /* of a new file */
    int fd, got;      /* a copy of fd, or the file if it is -1 */
};

/* On a stack that goes. It returns: a sanitizer's _exit takes its time. */
UNSEEN static int fetch(void *arg)
{
    struct errand *e = arg;
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) || setrlimit(RLIMIT_NOFILE, &(struct rlimit){ l.rlim_max, l.rlim_max })) return 0;
    int from = e->fd < 0 ? memfd_create(e->name, MFD_CLOEXEC | MFD_ALLOW_SEALING) : e->fd;
    e->got = fcntl(from, F_DUPFD_CLOEXEC, (int)l.rlim_cur);
    if (e->fd < 0 && from >= 0) close(from);
    return 0;
}

/* A number above the limit, -1 where that cannot be. */
static int fetch_high(const char *name, int fd)
{
    enum { STACK = 64 << 10 };
    struct errand e = { name, fd, -1 };
    struct rlimit l;
    sigset_t all, old;
    if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur >= l.rlim_max) return -1;
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) return -1;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pid_t child = clone(fetch, stack + STACK, CLONE_VM | CLONE_VFORK | CLONE_FILES, &e);
    while (child > 0 && waitpid(child, NULL, __WCLONE) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    munmap(stack, STACK);
    return e.got;
}

/* The lower half of the numbers is enough for what is not needed yet. */
static int leave_some(int fd)
{
    struct rlimit l;
    if (fd < 0 || getrlimit(RLIMIT_NOFILE, &l) || (rlim_t)fd < l.rlim_cur / 2) return fd;
    close(fd);
    errno = EMFILE;
    return -1;
}

int descriptor_memory(const char *name, bool needed)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if ((fd >= 0 && fd < LOW) || (fd < 0 && errno != EMFILE)) return fd;
    int high = fetch_high(name, fd);
    if (high < 0) return needed ? fd : leave_some(fd);
    if (fd >= 0) close(fd);
    return high;
}

int descriptor_copy(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if ((copy >= 0 && copy < LOW) || (copy < 0 && errno != EMFILE)) return copy;
    int high = fetch_high(NULL, fd);
    if (high < 0) return copy;
    if (copy >= 0) close(copy);
    return high;
}
