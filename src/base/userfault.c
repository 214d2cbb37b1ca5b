/* Linux's userfaultfd; see userfault.h. */
#include "base/userfault.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers of some systems we build on. */
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED (1 << 13)
#endif
#ifndef UFFDIO_CONTINUE_MODE_WP
#define UFFDIO_CONTINUE_MODE_WP ((__u64)1 << 1)
#endif

static uint64_t features(enum userfault_kind kind)
{
    static const uint64_t all = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM,
                          pages = UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM | UFFD_FEATURE_EXACT_ADDRESS;
    switch (kind) {
    case USERFAULT_SIGBUS: return all | pages | UFFD_FEATURE_SIGBUS;
    case USERFAULT_TOLD: return all | pages | UFFD_FEATURE_THREAD_ID | UFFD_FEATURE_EVENT_REMOVE;
    case USERFAULT_WRITES: return all | UFFD_FEATURE_WP_UNPOPULATED;
    case USERFAULT_WRITES_PRESENT: return all;
    default: return all | pages | UFFD_FEATURE_THREAD_ID;
    }
}

/* Past the C library's functions: what a sanitizer of the program's does there may take a fault. */
static int call(int fd, unsigned long request, void *argument)
{
    long r;
    while ((r = syscall(SYS_ioctl, fd, request, argument)) < 0 && errno == EINTR)
        ;
    return r < 0 ? errno : 0;
}

static int shake_hands(int fd, enum userfault_kind kind)
{
    struct uffdio_api api = { .api = UFFD_API, .features = features(kind) };
    if (fd < 0 || !call(fd, UFFDIO_API, &api)) return fd;
    close(fd);
    return -1;
}

static int open_user(enum userfault_kind kind)
{
    return shake_hands((int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY), kind);
}

static int open_kernel(enum userfault_kind kind)
{
    int fd = -1, maker = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    if (maker >= 0) {
        fd = ioctl(maker, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
        close(maker);
    }
    if (fd < 0) fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    return shake_hands(fd, kind);
}

int userfault_open(enum userfault_kind kind)
{
    if (kind == USERFAULT_USER || kind == USERFAULT_SIGBUS) return open_user(kind);
    int fd = open_kernel(kind);
    return fd < 0 && (kind == USERFAULT_WRITES || kind == USERFAULT_WRITES_PRESENT) ? open_user(kind) : fd;
}

static _Atomic int told = -1;
static void (*read_told)(void);

void userfault_when_refused(int fd, void (*read)(void))
{
    read_told = read;
    atomic_store(&told, fd);
}

/* EAGAIN: the address space is changing under it. */
static int patient_call(int fd, unsigned long request, void *argument)
{
    int error;
    while ((error = call(fd, request, argument)) == EAGAIN)
        if (fd == atomic_load_explicit(&told, memory_order_relaxed)) read_told();
    return error;
}

int userfault_register(int fd, uint64_t va, uint64_t size)
{
    struct uffdio_register r = {
        .range = { va, size },
        .mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_WP,
    };
    return call(fd, UFFDIO_REGISTER, &r);
}

int userfault_register_writes(int fd, uint64_t va, uint64_t size)
{
    struct uffdio_register r = { .range = { va, size }, .mode = UFFDIO_REGISTER_MODE_WP };
    return call(fd, UFFDIO_REGISTER, &r);
}

int userfault_unregister(int fd, uint64_t va, uint64_t size)
{
    struct uffdio_range r = { va, size };
    return call(fd, UFFDIO_UNREGISTER, &r);
}

/* Before Linux 6.4 an entry is made writable first, then protected. What another thread stores there in between is not
 * noticed (but not lost: there is one physical page), so nobody is woken before all that is being done is done. */
static _Atomic bool no_mode_wp;

static bool protects_late(void) { return atomic_load_explicit(&no_mode_wp, memory_order_relaxed); }

int userfault_protect(int fd, uint64_t va, uint64_t size, bool writable)
{
    struct uffdio_writeprotect w = { .range = { va, size } };
    w.mode = !writable ? UFFDIO_WRITEPROTECT_MODE_WP : protects_late() ? UFFDIO_WRITEPROTECT_MODE_DONTWAKE : 0;
    return patient_call(fd, UFFDIO_WRITEPROTECT, &w);
}

int userfault_zero(int fd, uint64_t va, uint64_t size)
{
    struct uffdio_zeropage z = { .range = { va, size } };
    return patient_call(fd, UFFDIO_ZEROPAGE, &z);
}

static int continue_range(int fd, uint64_t va, uint64_t size, bool writable, int64_t *done)
{
    struct uffdio_continue c = { .range = { va, size } };
    const bool late = protects_late();
    c.mode = late ? UFFDIO_CONTINUE_MODE_DONTWAKE : writable ? 0 : UFFDIO_CONTINUE_MODE_WP;
    int error = call(fd, UFFDIO_CONTINUE, &c);
    if (error == EINVAL && c.mode == UFFDIO_CONTINUE_MODE_WP) {
        atomic_store_explicit(&no_mode_wp, true, memory_order_relaxed);
        return continue_range(fd, va, size, writable, done);
    }
    *done = error ? c.mapped > 0 ? c.mapped : 0 : (int64_t)size;
    if (late && !writable && *done > 0) userfault_protect(fd, va, (uint64_t)*done, false);
    return error;
}

int userfault_enter(int fd, uint64_t va, uint64_t size, bool writable, uint64_t *done, bool *woken)
{
    uint64_t most = size;
    bool stepped = false;
    for (*done = 0; *done < size;) {
        int64_t entered = 0;
        uint64_t rest = size - *done;
        int error = continue_range(fd, va + *done, rest < most ? rest : most, writable, &entered);
        *done += (uint64_t)entered;
        if (error == ENOENT && most > PAGE_BYTES) {
            /* the program may have cut the mapping, by mlock, say: only what lies in one part of it is taken */
            most = (rest < most ? rest : most) / 2 / PAGE_BYTES * PAGE_BYTES;
            if (most) continue;
        }
        if (error == EAGAIN && fd == atomic_load_explicit(&told, memory_order_relaxed)) read_told();
        if (!error || error == EAGAIN) continue;
        if (error != EEXIST) return error;
        /* what is entered already gets its protection all at once; then it is stepped over */
        if (!stepped && (error = userfault_protect(fd, va + *done, size - *done, writable))) return error;
        stepped = true;
        *done += PAGE_BYTES;
    }
    *woken = !stepped && !protects_late();
    return 0;
}

void userfault_wake(int fd, uint64_t va, uint64_t size)
{
    struct uffdio_range r = { va, size };
    call(fd, UFFDIO_WAKE, &r);
}

unsigned userfault_read(int fd, struct userfault_event *out, unsigned most)
{
    struct uffd_msg messages[16];
    if (most > 16) most = 16;
    ssize_t n = syscall(SYS_read, fd, messages, most * sizeof *messages);
    unsigned count = 0;
    for (ssize_t k = 0; n > 0 && k < n / (ssize_t)sizeof *messages; k++) {
        const struct uffd_msg *m = &messages[k];
        if (m->event == UFFD_EVENT_REMOVE)
            out[count++] = (struct userfault_event){ .address = m->arg.remove.start, .end = m->arg.remove.end };
        if (m->event != UFFD_EVENT_PAGEFAULT) continue;
        uint64_t flags = m->arg.pagefault.flags;
        out[count++] = (struct userfault_event){
            .address = m->arg.pagefault.address,
            .write = flags & (UFFD_PAGEFAULT_FLAG_WRITE | UFFD_PAGEFAULT_FLAG_WP),
            .protected_page = flags & UFFD_PAGEFAULT_FLAG_WP,
            .missing = !(flags & (UFFD_PAGEFAULT_FLAG_WP | UFFD_PAGEFAULT_FLAG_MINOR)),
            .thread = (int)m->arg.pagefault.feat.ptid,
        };
    }
    return count;
}
