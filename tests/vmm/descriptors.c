/* Descriptors of memory above the limit that the application has set itself: nobody sees another limit, whatever happens
 * while memory is made. */
#include "../child.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>

enum { LIMIT = 1024, TAKEN = 150, ROUNDS = 2000 };

static CUcontext context;
static _Atomic unsigned made;
static _Atomic bool enough;

/* So many are taken that memory gets its descriptor above the limit. */
static void start(void)
{
    struct rlimit l;
    EXPECT(!getrlimit(RLIMIT_NOFILE, &l));
    l.rlim_cur = LIMIT;
    EXPECT(!setrlimit(RLIMIT_NOFILE, &l));
    context = check_context();
    for (int k = 0; k < TAKEN; k++) EXPECT(dup(0) >= 0);
}

static CUmemGenericAllocationHandle make(void)
{
    const CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                    .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemGenericAllocationHandle h;
    CHECK(cuMemCreate(&h, 2 << 20, &p, 0));
    return h;
}

static void *make_again_and_again(void *unused)
{
    CHECK(cuCtxSetCurrent(context));
    while (!atomic_load(&enough)) {
        CHECK(cuMemRelease(make()));
        atomic_fetch_add(&made, 1);
    }
    return unused;
}

static pthread_t begin_making(void)
{
    pthread_t t;
    EXPECT(!pthread_create(&t, NULL, make_again_and_again, NULL));
    while (!atomic_load(&made)) usleep(100);
    return t;
}

static void end_making(pthread_t t)
{
    atomic_store(&enough, true);
    EXPECT(!pthread_join(t, NULL));
}

static rlim_t limit(void)
{
    struct rlimit l;
    return getrlimit(RLIMIT_NOFILE, &l) ? 0 : l.rlim_cur;
}

static void a_program_that_is_started_meanwhile_has_the_same_limit(void)
{
    const pthread_t other = begin_making();
    unsigned wrong = 0;
    for (unsigned k = 0; k < ROUNDS; k++) {
        int status = -1;
        const pid_t child = vfork(); /* as posix_spawn does */
        if (!child) _exit(limit() != LIMIT);
        EXPECT_EQUAL(waitpid(child, &status, 0), child);
        wrong += status != 0;
    }
    end_making(other);
    EXPECT_EQUAL(wrong, 0);
}

static void a_limit_that_is_set_meanwhile_stays(void)
{
    const pthread_t other = begin_making();
    struct rlimit l;
    EXPECT(!getrlimit(RLIMIT_NOFILE, &l));
    for (unsigned k = 0; k < ROUNDS; k++) {
        const unsigned before = atomic_load(&made);
        l.rlim_cur = LIMIT - (rlim_t)k % 2;
        EXPECT(!setrlimit(RLIMIT_NOFILE, &l));
        while (atomic_load(&made) == before) sched_yield();
        EXPECT_EQUAL(limit(), l.rlim_cur);
    }
    end_making(other);
}

/* And nothing of another thread gets a number above it. */
static void what_an_application_opens_lies_below_its_limit(void)
{
    while (dup(0) >= 0) {}
    const CUmemGenericAllocationHandle h = make();
    const pthread_t other = begin_making();
    for (unsigned k = 0; k < 20 * ROUNDS; k++) EXPECT_EQUAL(dup(0), -1);
    end_making(other);
    CHECK(cuMemRelease(h));
}

static void a_forked_child_has_the_same_limit_and_no_siblings(void)
{
    const pthread_t other = begin_making();
    for (unsigned k = 0; k < 100; k++) {
        const pid_t child = fork();
        if (!child) _exit(limit() != LIMIT);
        int status = -1;
        EXPECT_EQUAL(waitpid(child, &status, 0), child);
        EXPECT_EQUAL(status, 0);
    }
    EXPECT_EQUAL(waitpid(-1, NULL, 0), -1); /* who makes memory is no child that the program finds */
    end_making(other);
}

int main(void)
{
    struct rlimit l;
    const struct CMUnitTest tests[] = {
        ALONE(start, a_program_that_is_started_meanwhile_has_the_same_limit),
        ALONE(start, a_limit_that_is_set_meanwhile_stays),
        ALONE(start, what_an_application_opens_lies_below_its_limit),
        ALONE(start, a_forked_child_has_the_same_limit_and_no_siblings),
    };
    if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_max < 4096) {
        puts("SKIP: no descriptor can have a number above the limit");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
