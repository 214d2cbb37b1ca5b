/* What a forked child gets of registered memory: private copies; see registered.h.
 * While it is made and copies, all of that is set apart in the parent, too: the
 * child's C library, the system and handlers of the program's store to it before
 * our handler is called, and other threads of the parent while it copies. The
 * parent's pages are devices' again once the child has its own.
 *
 * The stack on which the child copies it cannot replace: there it has copies of
 * the pages in place. */
#include "base/cancel.h"
#include "base/log.h"
#include "base/units.h"
#include "context/context.h"
#include "ordinary/registered.h"
#include "ordinary/registration.h"
#include "ordinary/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTORS = 8 /* that are needed at a time, and then some */, TRIES = 4, DEEP = 64 << 10 /* calls of ours */ };

static int done[2] = { -1, -1 }; /* the child closes it when it has its copies */

/* What is set apart until the fork is over. */
static struct apart {
    struct region r;
    char *was; /* NULL, or its bytes then: a device may change some beside those that the program does */
} *apart;
static size_t count;
static uint64_t copied; /* FORK_COPIES at most */

static bool devices_write(void)
{
    for (int d = 0; d < device_count; d++)
        if (devices[d].processor && processor_busy(devices[d].processor)) return true;
    return false;
}

static char *room_for(size_t size)
{
    if (copied + size > FORK_COPIES || !devices_write()) return NULL;
    char *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return NULL;
    madvise(room, size, MADV_DONTFORK);
    copied += size;
    return room;
}

static void set_apart(struct apart *a)
{
    const size_t size = a->r.end - a->r.start;
    a->was = room_for(size);
    if (a->was && !registration_copy_apart(&a->r, a->was)) return;
    if (a->was) munmap(a->was, size);
    a->was = NULL;
    if (!registration_set_apart(&a->r))
        fl_log(FL_LOG_ERROR, "0x%llx, which is registered, cannot be kept from a forked child: both have the same pages",
               (unsigned long long)a->r.start);
}

static void set_all_apart(void)
{
    struct region *list;
    size_t n;
    copied = count = 0;
    apart = NULL;
    if (!registration_above(0) || regions_of(0, UINT64_MAX, &list, &n)) return;
    apart = calloc(n ? n : 1, sizeof *apart);
    for (size_t k = 0; k < n && apart; k++) {
        if (!registration_shows(&list[k])) continue;
        apart[count].r = list[k];
        set_apart(&apart[count++]);
    }
    free(list);
}

/* A program may have used up what it may have of descriptors. Without any it could not be seen what to copy, and the child
 * would share its parent's pages; so some are held for forks. A program that allows itself fewer afterwards may have more
 * until the fork is over. */
static int reserve[DESCRIPTORS];
static unsigned held;
static struct rlimit limit;
static bool raised;

static void hold_descriptors(void)
{
    while (held < DESCRIPTORS && (reserve[held] = fcntl(registrations_descriptor(), F_DUPFD_CLOEXEC, 0)) >= 0) held++;
}

/* The program may have closed all that it does not know, and have files of its own by these numbers. */
static bool is_ours(int fd)
{
    struct stat a, b;
    return !fstat(fd, &a) && !fstat(registrations_descriptor(), &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void free_descriptors(void)
{
    for (; held; held--)
        if (is_ours(reserve[held - 1])) close(reserve[held - 1]);
}

static void find_descriptors(void)
{
    free_descriptors();
    hold_descriptors();
    raised = held < DESCRIPTORS && !getrlimit(RLIMIT_NOFILE, &limit);
    free_descriptors();
    if (raised) raised = !setrlimit(RLIMIT_NOFILE, &(struct rlimit){ limit.rlim_max, limit.rlim_max });
}

static void restore_limit(void)
{
    if (raised) setrlimit(RLIMIT_NOFILE, &limit);
    raised = false;
}

static int cancel; /* of the thread that forks */

static void prepare(void)
{
    const int before = cancel_defer();
    pthread_mutex_lock(&registrations_lock);
    cancel = before;
    if (registration_above(0)) find_descriptors();
    /* the child's C library mends its heap, which may have been adopted, before any handler is called */
    for (struct registration *g = registration_above(0), *next; g; g = next) {
        next = registration_next(g);
        if (g->adopted) registration_drop(g);
    }
    if (!registration_above(0) || pipe2(done, O_CLOEXEC)) done[0] = done[1] = -1;
    set_all_apart();
}

static void rejoin(const struct apart *a)
{
    CUresult e = CUDA_ERROR_NOT_READY;
    for (int tries = 0; tries < TRIES && e == CUDA_ERROR_NOT_READY; tries++) e = registration_rejoin(&a->r, a->was);
    if (e)
        fl_log(FL_LOG_ERROR, "0x%llx, which is registered, cannot be shared with devices again after a fork",
               (unsigned long long)a->r.start);
    if (a->was) munmap(a->was, a->r.end - a->r.start);
}

static void in_parent(void)
{
    char none;
    if (done[1] >= 0) {
        close(done[1]);
        while (read(done[0], &none, 1) < 0 && errno == EINTR)
            ;
        close(done[0]);
    }
    for (size_t k = 0; k < count; k++) rejoin(&apart[k]);
    free(apart);
    restore_limit();
    hold_descriptors();
    const int before = cancel;
    pthread_mutex_unlock(&registrations_lock);
    cancel_restore(before);
}

/* The pages themselves become private. */
static void copy_in_place(const struct region *r)
{
    char *p = (char *)r->start;
    const size_t size = r->end - r->start;
    if (r->prot != (PROT_READ | PROT_WRITE)) mprotect(p, size, PROT_READ | PROT_WRITE);
    for (size_t at = 0; at < size; at += PAGE_BYTES) pages_copy(p + at, r->start + at, 1);
    if (r->prot != (PROT_READ | PROT_WRITE)) mprotect(p, size, r->prot);
}

/* Memory of no file, so that what is given back of it (madvise) is zeros. */
static void copy(const struct region *r)
{
    char *p = (char *)r->start;
    const size_t size = r->end - r->start;
    char *with = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (with == MAP_FAILED) return;
    if (!(r->prot & PROT_READ)) mprotect(p, size, PROT_READ);
    pages_copy(with, r->start, size);
    mprotect(with, size, r->prot);
    if (mremap(with, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, p) == MAP_FAILED) munmap(with, size);
}

/* What other threads have changed since is left as it is. */
static void copy_all(void)
{
    uint64_t here = (uint64_t)&here;
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    copied = 0;
    for (size_t k = 0; k < count && maps >= 0; k++) {
        struct region now = apart[k].r;
        now.shared = false;
        if ((copied += now.end - now.start) > FORK_COPIES || !regions_are(maps, &now)) continue;
        if (now.start < here + PAGE_BYTES && now.end > here - DEEP)
            copy_in_place(&now);
        else
            copy(&now);
    }
    if (maps >= 0) close(maps);
}

static void in_child(void)
{
    copy_all();
    if (done[0] >= 0) {
        close(done[0]);
        close(done[1]);
    }
    restore_limit();
    free_descriptors();
    free(apart);
    registrations_clear();
    pthread_mutex_init(&registrations_lock, NULL);
    cancel_restore(cancel);
}

CUresult registrations_watch_forks(void)
{
    static bool watching;
    if (!watching && pthread_atfork(prepare, in_parent, in_child)) return CUDA_ERROR_OUT_OF_MEMORY;
    watching = true;
    hold_descriptors();
    return CUDA_SUCCESS;
}
