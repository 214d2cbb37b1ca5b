/* See rescue.h. The thread that serves may wait for a page itself, for all that
 * is done to prevent it: its own memory, or that of who holds a lock that it
 * needs. So nothing here takes a lock or memory, and system calls are made past
 * the C library's functions: the program's sanitizer stands before those, and
 * its books lie among the program's memory and migrate with it. */
#include "processor/rescue.h"
#include "base/thread.h"
#include "base/unseen.h"
#include "processor/table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A thread that only waits for a processor is waited for longer; it may wait for others in a loop, so not for ever. */
enum { STUCK_MS = 20, IDLE_ROUNDS = 50, PATIENT_ROUNDS = 50 };

struct serving serving = { .stat = -1 };
static _Atomic bool awake;
static int alarm_bell = -1;

UNSEEN static int order(unsigned long request, void *argument)
{
    long r;
    while ((r = syscall(SYS_ioctl, mmu.ordinary_fd, request, argument)) < 0 && errno == EINTR)
        ;
    return r < 0 ? errno : 0;
}

/* If the system refuses it now, who waits faults again. */
UNSEEN static void grant(uint64_t page)
{
    struct uffdio_range all = { page, PAGE_BYTES };
    struct uffdio_continue entry = { .range = all };
    struct uffdio_zeropage zeros = { .range = all };
    struct uffdio_writeprotect writable = { .range = all };
    int error = order(UFFDIO_CONTINUE, &entry);
    if (error == EFAULT) error = order(UFFDIO_ZEROPAGE, &zeros);
    if (error == EEXIST) order(UFFDIO_WRITEPROTECT, &writable);
    if (error) order(UFFDIO_WAKE, &all);
}

/* One fault, or memory that is given back; false: there is none. */
UNSEEN static bool take(void)
{
    struct uffd_msg m;
    if (syscall(SYS_read, mmu.ordinary_fd, &m, sizeof m) != (long)sizeof m) return false;
    if (m.event == UFFD_EVENT_PAGEFAULT) grant(m.arg.pagefault.address / PAGE_BYTES * PAGE_BYTES);
    if (m.event == UFFD_EVENT_REMOVE)
        syscall(SYS_fallocate, mmu.ordinary->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, m.arg.remove.start,
                m.arg.remove.end - m.arg.remove.start);
    return true;
}

/* Something is to be served. The thread that serves may not even have come as far as saying so. */
UNSEEN static bool anything(int timeout)
{
    struct pollfd fds[] = { { .fd = mmu.ordinary_fd, .events = POLLIN }, { .fd = alarm_bell, .events = POLLIN } };
    if (atomic_load(&serving.busy)) return true;
    syscall(SYS_poll, fds, timeout ? 2 : 1, timeout);
    return fds[0].revents || atomic_load(&serving.busy);
}

UNSEEN static void sleep_until_called(void)
{
    uint64_t rings;
    atomic_store(&awake, false);
    anything(-1);
    atomic_store(&awake, true);
    syscall(SYS_read, alarm_bell, &rings, sizeof rings);
}

/* The thread that serves could go on, had it a processor: "number (name) R ...". */
UNSEEN static bool could_go_on(void)
{
    char text[64];
    long n = syscall(SYS_pread64, atomic_load(&serving.stat), text, sizeof text, 0l);
    for (long k = n - 3; k >= 0; k--)
        if (text[k] == ')') return text[k + 2] == 'R';
    return false;
}

UNSEEN static void *watch(void *arg)
{
    const struct timespec pause = { .tv_nsec = STUCK_MS * 1000000l };
    unsigned idle = 0, patient = 0;
    for (;;) {
        uint32_t before = atomic_load(&serving.served);
        bool any = anything(0);
        syscall(SYS_nanosleep, &pause, NULL);
        bool progress = atomic_load(&serving.served) != before;
        bool late = any && !progress && anything(0);
        patient = late && could_go_on() ? patient + 1 : 0;
        if (late && (!patient || patient > PATIENT_ROUNDS)) {
            if (atomic_load(&serving.page)) grant(atomic_load(&serving.page));
            while (take())
                ;
        }
        idle = any || progress ? 0 : idle + 1;
        if (idle < IDLE_ROUNDS) continue;
        sleep_until_called();
        idle = 0;
    }
    return arg;
}

CUresult rescue_start(void)
{
    if (alarm_bell < 0 && (alarm_bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    return thread_start(watch, NULL, THREAD_STACK);
}

void rescue_look(void)
{
    uint64_t one = 1;
    if (!atomic_exchange(&awake, true)) syscall(SYS_write, alarm_bell, &one, sizeof one);
}
