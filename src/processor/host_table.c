/* The host's page table where it has a userfaultfd: how one is had, and what
 * an access gets that may not be. host_signals.c is for where it has none. */
#include "base/log.h"
#include "base/userfault.h"
#include "processor/table.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static enum mmu_rung lowest_asked(void)
{
    const char *asked = getenv("FAULTLINE_UFFD");
    if (!asked || !*asked || !strcmp(asked, "on")) return MMU_USERFAULTFD;
    if (!strcmp(asked, "user")) return MMU_USERFAULTFD_USER;
    if (!strcmp(asked, "off")) return MMU_SIGNALS;
    fl_log(FL_LOG_WARN, "FAULTLINE_UFFD=%s: on, user or off is wanted; it is as if it were not set", asked);
    return MMU_USERFAULTFD;
}

/* The system denies it, or the user did not want it. */
static void say_what_is_missing(bool signals, bool by_system)
{
    fl_log(FL_LOG_WARN,
           "%s: system calls cannot touch managed memory that is resident on a device (they fail with EFAULT)%s",
           !by_system ? "as FAULTLINE_UFFD wants it"
           : signals  ? "this system allows no userfaultfd"
                      : "this system allows userfaultfd for user mode only",
           !by_system ? ""
           : signals  ? "; in a container, a seccomp profile may be what denies it"
                      : "; sysctl vm.unprivileged_userfaultfd=1, or access to /dev/userfaultfd, would permit them");
}

CUresult host_open(void)
{
    struct table *host = &mmu.tables[MMU_HOST];
    const enum mmu_rung asked = lowest_asked();
    mmu.rung = asked;
    if (mmu.rung == MMU_USERFAULTFD && (host->fd = userfault_open(USERFAULT_KERNEL)) < 0)
        mmu.rung = MMU_USERFAULTFD_USER;
    if (mmu.rung == MMU_USERFAULTFD_USER && (host->fd = userfault_open(USERFAULT_USER)) < 0) mmu.rung = MMU_SIGNALS;
    host->signals = mmu.rung == MMU_SIGNALS;
    if (mmu.rung != MMU_USERFAULTFD) say_what_is_missing(host->signals, mmu.rung != asked);
    CUresult r = host->signals ? host_catch_signals() : CUDA_SUCCESS;
    host->attached = !r;
    return r;
}

void host_close(void)
{
    struct table *host = &mmu.tables[MMU_HOST];
    host->attached = false;
    if (host->fd >= 0) close(host->fd);
    host->fd = -1;
}

/* ---- what may not be */

static bool read_about(int thread, const char *what, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", thread, what);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0) close(fd);
    out[n > 0 ? n : 0] = 0;
    return n > 0;
}

uint64_t mmu_where(const struct mmu_fault *f)
{
    char text[256] = "running";
    if (f->pc || !f->thread) return f->pc;
    /* its fault is known a moment before it sleeps */
    for (unsigned k = 0; k < 100 && !strncmp(text, "running", 7); k++)
        if (!read_about(f->thread, "syscall", text, sizeof text)) return 0;
    const char *last = strrchr(text, ' ');
    return last ? strtoull(last, NULL, 16) : 0;
}

/* What would end a thread's fault. */
enum remedy {
    NONE_NEEDED, /* it does not wait in one any more */
    SIGNAL,
    BAR /* it faults within a system call, or blocks the signal, or is no thread of this process */
};

static enum remedy remedy_for(int thread)
{
    char text[4096] = "running";
    /* its fault is known a moment before it sleeps; "-1 ...": it sleeps, in no system call */
    for (unsigned k = 0; k < 1000 && !strncmp(text, "running", 7); k++)
        if (!read_about(thread, "syscall", text, sizeof text)) return BAR;
    if (text[0] != '-') return text[0] == 'r' ? NONE_NEEDED : BAR;
    const char *blocked = read_about(thread, "status", text, sizeof text) ? strstr(text, "SigBlk:") : NULL;
    return blocked && strtoull(blocked + 7, NULL, 16) >> (SIGSEGV - 1) & 1 ? BAR : SIGNAL;
}

static struct {
    struct quiet_mutex lock;
    unsigned permits;           /* how often mmu_permit was called */
    _Atomic uint64_t page;      /* that nobody may touch, for a thread has to see that it may not; 0: none */
} barred = { .lock = QUIET_MUTEX_INITIALIZER };

unsigned host_permits(void)
{
    quiet_lock(&barred.lock);
    unsigned n = barred.permits;
    quiet_unlock(&barred.lock);
    return n;
}

static void lift_bar(void)
{
    if (barred.page) mprotect((void *)barred.page, PAGE_BYTES, PROT_READ | PROT_WRITE);
    barred.page = 0;
}

void mmu_permit(void)
{
    quiet_lock(&barred.lock);
    barred.permits++;
    lift_bar();
    quiet_unlock(&barred.lock);
}

void host_unmap(uint64_t va, uint64_t size)
{
    quiet_lock(&barred.lock);
    barred.permits++;
    lift_bar();
    munmap((void *)va, size); /* under the lock: who waits there is not sent a signal once it has gone on */
    quiet_unlock(&barred.lock);
}

/* Until the thread has seen it, or somebody may touch it, the page cannot be touched by anybody. If the thread is too
 * slow it faults again. */
static void forbid(uint64_t page, int thread, unsigned permits)
{
    char before[256], now[256];
    bool known = read_about(thread, "syscall", before, sizeof before);
    quiet_lock(&barred.lock);
    if (barred.permits == permits && !mprotect((void *)page, PAGE_BYTES, PROT_NONE)) barred.page = page;
    quiet_unlock(&barred.lock);
    userfault_wake(mmu.tables[MMU_HOST].fd, page, PAGE_BYTES);
    for (unsigned k = 0; k < 200 && known && barred.page; k++)
        known = read_about(thread, "syscall", now, sizeof now) && (!strncmp(now, "running", 7) || !strcmp(now, before));
    quiet_lock(&barred.lock);
    lift_bar();
    quiet_unlock(&barred.lock);
}

/* Removed meanwhile: the system says so. Permitted meanwhile: it comes again. */
static bool is_forbidden(uint64_t page, unsigned permits)
{
    unsigned char resident;
    return barred.permits == permits && !mincore((void *)page, PAGE_BYTES, &resident);
}

/* The thread waits in its fault, which the signal ends; if its handler returns, it faults again. It still waits there if
 * nothing was permitted or removed: one that has gone on must not get it.
 * The system lets nobody but itself claim SEGV_ACCERR as the reason; the address it passes on. */
static bool send_signal(const struct mmu_fault *f, unsigned permits)
{
    siginfo_t info = { .si_signo = SIGSEGV, .si_code = SI_QUEUE, .si_addr = (void *)f->address };
    quiet_lock(&barred.lock);
    bool sent = is_forbidden(page_down(f->address), permits) &&
                !syscall(SYS_rt_tgsigqueueinfo, getpid(), f->thread, SIGSEGV, &info);
    quiet_unlock(&barred.lock);
    return sent;
}

void host_fatal(const struct mmu_fault *f, unsigned permits)
{
    uint64_t page = page_down(f->address);
    quiet_lock(&barred.lock);
    bool forbidden = is_forbidden(page, permits);
    quiet_unlock(&barred.lock);
    enum remedy remedy = forbidden ? remedy_for(f->thread) : NONE_NEEDED;
    if (remedy == BAR)
        forbid(page, f->thread, permits);
    else if (remedy == NONE_NEEDED || !send_signal(f, permits))
        userfault_wake(mmu.tables[MMU_HOST].fd, page, PAGE_BYTES);
}
