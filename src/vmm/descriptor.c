/* Descriptors out of the application's way; see descriptor.h. */
#include "vmm/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LOW = 128 }; /* numbers from here on are left to the application */

/* While the limit is raised: nobody else raises it, and no child begins with it, unless by vfork. */
static pthread_mutex_t raised = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before_fork(void) { pthread_mutex_lock(&raised); }
static void after_fork(void) { pthread_mutex_unlock(&raised); }
static void follow_forks(void) { pthread_atfork(before_fork, after_fork, after_fork); }

/* The limit is raised for a moment, in which other threads can open more than they otherwise could. */
static bool widen(struct rlimit *old)
{
    pthread_once(&once, follow_forks);
    pthread_mutex_lock(&raised);
    if (!getrlimit(RLIMIT_NOFILE, old) && old->rlim_cur < old->rlim_max &&
        !setrlimit(RLIMIT_NOFILE, &(struct rlimit){ old->rlim_max, old->rlim_max }))
        return true;
    pthread_mutex_unlock(&raised);
    return false;
}

/* What the application has set meanwhile stays. */
static void narrow(const struct rlimit *old)
{
    struct rlimit now;
    if (!prlimit(0, RLIMIT_NOFILE, old, &now) && (now.rlim_cur != old->rlim_max || now.rlim_max != old->rlim_max))
        setrlimit(RLIMIT_NOFILE, &now);
    pthread_mutex_unlock(&raised);
}

/* Moves fd above the limit; as it is where that cannot be. */
static int lift(int fd, const struct rlimit *old)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, (int)old->rlim_cur);
    if (high < 0) return fd;
    close(fd);
    return high;
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
    struct rlimit old;
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if ((fd >= 0 && fd < LOW) || (fd < 0 && errno != EMFILE)) return fd;
    if (!widen(&old)) return needed ? fd : leave_some(fd);
    if (fd < 0) fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && (rlim_t)fd < old.rlim_cur) fd = lift(fd, &old);
    narrow(&old);
    return fd;
}

int descriptor_copy(int fd)
{
    struct rlimit old;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if ((copy >= 0 && copy < LOW) || (copy < 0 && errno != EMFILE) || !widen(&old)) return copy;
    if (copy >= 0)
        copy = lift(copy, &old);
    else
        copy = fcntl(fd, F_DUPFD_CLOEXEC, (int)old.rlim_cur);
    narrow(&old);
    return copy;
}
