/* What of userfaultfd the user who runs the tests may have. */
#ifndef FL_TESTS_USERFAULTFD_H
#define FL_TESTS_USERFAULTFD_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One that serves system calls, too: where there is none, ordinary memory does not migrate, and what a system call
 * writes to memory that is being registered fails. */
static inline bool system_calls_can_wait(void)
{
    const char *rung = getenv("FAULTLINE_UFFD");
    int maker = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC), fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (maker >= 0) close(maker);
    if (fd >= 0) close(fd);
    return (maker >= 0 || fd >= 0) && (!rung || !strcmp(rung, "on"));
}

#endif
