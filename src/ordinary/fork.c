/* What a forked child gets of registered memory: private copies, which its
 * handler makes while the parent waits; see registered.h. Until then heap and
 * data of the child may be the parent's pages, so the handler does nothing but
 * system calls and copies. The stack of the thread that forks is made private
 * before, and the parent's shared with devices again afterwards. */
#include "base/cancel.h"
#include "base/log.h"
#include "base/units.h"
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

enum { DESCRIPTORS = 8 }; /* that are needed at a time, and then some */

static int done[2] = { -1, -1 }; /* the child closes it when it has its copies */

static bool on_my_stack(const struct piece *p)
{
    pthread_attr_t attributes;
    void *stack = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes)) return false;
    pthread_attr_getstack(&attributes, &stack, &size);
    pthread_attr_destroy(&attributes);
    /* of the main thread's stack that tells the part above a registered page alone */
    uint64_t top = (uint64_t)stack + size, here = page_down((uint64_t)&attributes);
    return p->va < top && p->va + p->size > (here < (uint64_t)stack ? here : (uint64_t)stack);
}

/* The application may have unmapped it, or mapped something else there. */
static bool intact(const struct piece *p)
{
    struct region *list;
    size_t count;
    uint64_t at = p->va;
    if (regions_of(p->va, p->va + p->size, &list, &count)) return false;
    for (size_t k = 0; k < count && list[k].start == at && registration_shows(&list[k]) && list[k].prot & PROT_READ;
         k++)
        at = list[k].end;
    free(list);
    return at == p->va + p->size;
}

static void for_each(void (*f)(struct piece *p))
{
    for (struct registration *g = registration_above(0); g; g = registration_next(g))
        for (size_t k = 0; k < g->count; k++) f(&g->pieces[k]);
}

static void decide(struct piece *p)
{
    p->fork = p->file || !intact(p) ? FORK_LEAVE : on_my_stack(p) ? FORK_STACK : FORK_COPY;
    if (p->fork == FORK_STACK) registration_unshare(p->va, p->va + p->size);
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
    for_each(decide);
}

static void share_stack(struct piece *p)
{
    if (p->fork == FORK_STACK && registration_share(p))
        fl_log(FL_LOG_ERROR, "no memory to share the stack at 0x%llx with devices again after a fork",
               (unsigned long long)p->va);
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
    for_each(share_stack);
    restore_limit();
    hold_descriptors();
    const int before = cancel;
    pthread_mutex_unlock(&registrations_lock);
    cancel_restore(before);
}

static uint64_t copied;

static void copy(struct piece *p)
{
    char *with = MAP_FAILED;
    if (p->fork != FORK_COPY) return;
    if (copied + p->size <= FORK_COPIES)
        with = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (with == MAP_FAILED) {
        mmap((void *)p->va, p->size, p->prot, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, registrations_descriptor(),
             (off_t)p->va);
        return;
    }
    pages_copy(with, p->va, p->size);
    mprotect(with, p->size, p->prot);
    mremap(with, p->size, p->size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)p->va);
    copied += p->size;
}

static void in_child(void)
{
    copied = 0;
    for_each(copy);
    if (done[0] >= 0) {
        close(done[0]);
        close(done[1]);
    }
    restore_limit();
    free_descriptors();
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
