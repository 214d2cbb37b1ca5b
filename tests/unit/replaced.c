/* Pages whose backing changes under threads and system calls that write them
 * (ordinary/replace.h). */
#include "base/units.h"
#include "ordinary/copied.h"
#include "ordinary/registration.h"
#include "ordinary/replace.h"
#include "../reader.h"
#include "../userfaultfd.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* after the others */
#include <cmocka.h>

enum { PAGES = 96, SIZE = PAGES * PAGE_BYTES, ROUNDS = 60, WRITE = PROT_READ | PROT_WRITE };

/* What is asked of the places of stacks: nothing is registered here, nor copied. */
bool registration_in_place(const struct region *r)
{
    (void)r;
    return false;
}

bool copied_overlaps(uint64_t low, uint64_t high, uint64_t *from, uint64_t *to)
{
    (void)low, (void)high, (void)from, (void)to;
    return false;
}

/* Between others, lest they look like the end of a thread's stack: such a thread would stand still meanwhile. */
static char *private_pages(void)
{
    char *p = mmap(NULL, SIZE + 2 * PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    assert_int_equal(mprotect(p + PAGE_BYTES, SIZE, WRITE), 0);
    return p + PAGE_BYTES;
}

static int new_file(void)
{
    int fd = memfd_create("replaced", MFD_CLOEXEC);
    assert_true(fd >= 0 && !ftruncate(fd, SIZE));
    return fd;
}

static void replace_by_file(char *p, int fd)
{
    void *with = mmap(NULL, SIZE, WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(with, MAP_FAILED);
    struct page_file file = { .fd = fd, .new = true, .thin = true };
    assert_int_equal(pages_replace((uint64_t)p, SIZE, with, WRITE, WRITE, file), CUDA_SUCCESS);
}

static void replace_by_private(char *p, int fd)
{
    assert_int_equal(pages_replace((uint64_t)p, SIZE, private_pages(), WRITE, WRITE, (struct page_file){ .fd = fd }),
                     CUDA_SUCCESS);
}

static uint64_t pages_of(int fd)
{
    struct stat s;
    assert_int_equal(fstat(fd, &s), 0);
    return (uint64_t)s.st_blocks * 512 / PAGE_BYTES;
}

/* ---- */

static void pages_that_nobody_touched_get_no_memory(void **state)
{
    (void)state;
    char *p = private_pages();
    int fd = new_file();
    p[3 * PAGE_BYTES] = 1;
    p[40 * PAGE_BYTES + 77] = 2;
    replace_by_file(p, fd);
    assert_int_equal(p[3 * PAGE_BYTES], 1);
    assert_int_equal(p[40 * PAGE_BYTES + 77], 2);
    assert_int_equal(pages_of(fd), 2);
    p[5 * PAGE_BYTES] = 3;
    assert_int_equal(pages_of(fd), 3);
    munmap(p, SIZE);
    close(fd);
}

struct writer {
    char *to;
    _Atomic unsigned stores;
};

/* One page after the other, for the first time. */
static void *store_each(void *arg)
{
    struct writer *w = arg;
    for (unsigned k = 0; k < PAGES; k++) {
        w->to[(uint64_t)k * PAGE_BYTES + k] = (char)(k + 1);
        atomic_fetch_add(&w->stores, 1);
    }
    return NULL;
}

static void no_first_store_is_lost(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct writer w = { .to = private_pages() };
        int fd = new_file();
        pthread_t thread;
        pthread_create(&thread, NULL, store_each, &w);
        while (atomic_load(&w.stores) < round % PAGES) {}
        replace_by_file(w.to, fd);
        pthread_join(thread, NULL);
        for (unsigned k = 0; k < PAGES; k++) assert_int_equal(w.to[(uint64_t)k * PAGE_BYTES + k], (char)(k + 1));
        munmap(w.to, SIZE);
        close(fd);
    }
}

static void a_system_call_that_writes_waits(void **state)
{
    (void)state;
    if (!system_calls_can_wait()) skip();
    char *p = private_pages();
    struct reader reader;
    int fd = new_file();
    reader_start(&reader, p, SIZE);
    for (unsigned round = 0; round < ROUNDS; round++) {
        replace_by_file(p, fd);
        replace_by_private(p, fd);
        assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, SIZE), 0);
    }
    assert_true(reader_stop(&reader));
    munmap(p, SIZE);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_that_nobody_touched_get_no_memory),
        cmocka_unit_test(no_first_store_is_lost),
        cmocka_unit_test(a_system_call_that_writes_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
