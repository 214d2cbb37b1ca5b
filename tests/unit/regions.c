/* What this process has mapped, where the kernel tells it as text: a list that cannot be read to its end is none. */
#undef _FORTIFY_SOURCE /* read() is to be the one below */
#include "ordinary/regions.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

static unsigned good_reads; /* until one fails */

ssize_t read(int fd, void *to, size_t size)
{
    if (good_reads--) return syscall(SYS_read, fd, to, size);
    errno = ENOMEM;
    return -1;
}

int ioctl(int fd, unsigned long request, ...)
{
    (void)fd, (void)request;
    errno = ENOTTY;
    return -1;
}

static void a_list_that_ends_by_an_error_is_none(void **state)
{
    (void)state;
    struct region *list, r;
    size_t count;
    for (good_reads = 0; good_reads < 2; good_reads++) {
        unsigned reads = good_reads;
        assert_int_equal(regions_of(0, UINT64_MAX, &list, &count), CUDA_ERROR_OPERATING_SYSTEM);
        good_reads = reads;
        assert_int_equal(region_at(UINT64_MAX, &r), -1);
        good_reads = reads;
    }
}

static void a_list_is_whole(void **state)
{
    (void)state;
    struct region *list, r;
    size_t count;
    bool found = false;
    int here;
    good_reads = 1000;
    assert_int_equal(regions_of(0, UINT64_MAX, &list, &count), CUDA_SUCCESS);
    for (size_t k = 0; k < count; k++) found |= list[k].start <= (uint64_t)&here && (uint64_t)&here < list[k].end;
    assert_true(found);
    free(list);
    assert_int_equal(region_at((uint64_t)&here, &r), 1);
    assert_true(r.start <= (uint64_t)&here);
    assert_int_equal(region_at(UINT64_MAX, &r), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_whole),
        cmocka_unit_test(a_list_that_ends_by_an_error_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
