/* The host's page table where it has a userfaultfd: how one is had, and what
 * an access gets that may not be. host_signals.c is for where it has none. */
#include "base/log.h"
#include "base/userfault.h"
#include "processor/table.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static enum mmu_rung lowest_asked(void)
{
    const char *asked = getenv("FAULTLINE_UFFD");
    if (asked && !strcmp(asked, "off")) return MMU_SIGNALS;
    return asked && !strcmp(asked, "user") ? MMU_USERFAULTFD_USER : MMU_USERFAULTFD;
}

CUresult host_open(void)
{
    struct table *host = &mmu.tables[MMU_HOST];
    mmu.rung = lowest_asked();
    if (mmu.rung == MMU_USERFAULTFD && (host->fd = userfault_open(USERFAULT_KERNEL)) < 0)
        mmu.rung = MMU_USERFAULTFD_USER;
    if (mmu.rung == MMU_USERFAULTFD_USER && (host->fd = userfault_open(USERFAULT_USER)) < 0) mmu.rung = MMU_SIGNALS;
    host->signals = mmu.rung == MMU_SIGNALS;
    if (mmu.rung != MMU_USERFAULTFD)
        fl_log(FL_LOG_WARN,
               "%s: system calls cannot touch managed memory that is resident on a device (they fail with EFAULT)",
               host->signals ? "this system allows no userfaultfd"
                             : "this system allows userfaultfd for user mode only");
    return host->signals ? host_catch_signals() : CUDA_SUCCESS;
}

/* The thread waits in its fault, which the signal ends; if its handler returns, it faults again.
 * The system lets nobody but itself claim SEGV_ACCERR as the reason; the address it passes on. */
void host_fatal(const struct mmu_fault *f)
{
    siginfo_t info = { .si_signo = SIGSEGV, .si_code = SI_QUEUE, .si_addr = (void *)f->address };
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), f->thread, SIGSEGV, &info))
        fl_log_once(FL_LOG_ERROR, "a thread that touched managed memory it may not cannot be told: %s",
                    strerror(errno));
}
