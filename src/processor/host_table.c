/* The host's page table: its userfaultfd, and what an access gets that may not be. */
#include "base/log.h"
#include "base/userfault.h"
#include "processor/table.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

CUresult host_open(void)
{
    const char *asked = getenv("FAULTLINE_UFFD");
    bool user = asked && !strcmp(asked, "user");
    int fd = user ? -1 : userfault_open(USERFAULT_KERNEL);
    mmu.rung = MMU_USERFAULTFD;
    if (fd < 0) {
        fd = userfault_open(USERFAULT_USER);
        mmu.rung = MMU_USERFAULTFD_USER;
    }
    if (fd < 0) return CUDA_ERROR_NOT_SUPPORTED;
    if (mmu.rung == MMU_USERFAULTFD_USER)
        fl_log_once(FL_LOG_WARN, "this system allows userfaultfd for user mode only: system calls cannot touch managed "
                                 "memory that is resident on a device (they fail with EFAULT)");
    mmu.tables[MMU_HOST].fd = fd;
    return CUDA_SUCCESS;
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
