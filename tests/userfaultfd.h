/* What of userfaultfd the user who runs the tests may have. */
#ifndef FL_TESTS_USERFAULTFD_H
#define FL_TESTS_USERFAULTFD_H

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One that serves system calls, too, and protects shared memory (Linux 5.19): where there is none, ordinary memory does not
 * migrate, and what a system call writes to memory that is being registered fails. */
static inline bool system_calls_can_wait(void)
{
    const char *rung = getenv("FAULTLINE_UFFD");
    struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_WP_HUGETLBFS_SHMEM };
    int maker = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC), fd = -1;
    if (maker >= 0) fd = ioctl(maker, USERFAULTFD_IOC_NEW, O_CLOEXEC);
    if (fd < 0) fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    bool can = fd >= 0 && !ioctl(fd, UFFDIO_API, &api);
    if (maker >= 0) close(maker);
    if (fd >= 0) close(fd);
    return can && (!rung || !strcmp(rung, "on"));
}

#endif
