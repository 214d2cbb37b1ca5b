/* In place of the C library's syscall: with OLD_SYSTEM in the environment this
 * system refuses what Linux before 6.4 does not have of userfaultfd. */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

enum { ARGUMENTS = 6, WP_UNPOPULATED = 1 << 13, MODE_WP = 1 << 1 /* of UFFDIO_CONTINUE */ };

static bool is_newer(unsigned long request, const void *argument)
{
    if (request == UFFDIO_API) return ((const struct uffdio_api *)argument)->features & WP_UNPOPULATED;
    return request == UFFDIO_CONTINUE && ((const struct uffdio_continue *)argument)->mode & MODE_WP;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    long a[ARGUMENTS];
    va_list list;
    va_start(list, number);
    for (int k = 0; k < ARGUMENTS; k++) a[k] = va_arg(list, long);
    va_end(list);
    if (number == SYS_ioctl && is_newer((unsigned long)a[1], (const void *)a[2]) && getenv("OLD_SYSTEM")) {
        errno = EINVAL;
        return -1;
    }
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
