/* Pools imported from other processes: their pointers come and go in every order, cost nothing that grows, and a handle
 * of a pool that is gone does no harm. */
#include "../players.h"
#include "../rig.h"
#include "../usage.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>

static const CUmemAllocationHandleType POSIX = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
static const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                      .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };

static CUcontext context;

static CUstream set_up(void)
{
    CUstream s;
    context = check_context();
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    return s;
}

static CUmemoryPool create(void)
{
    CUmemoryPool p;
    CHECK(cuMemPoolCreate(&p, &props));
    return p;
}

static int export(CUmemoryPool p)
{
    int fd;
    CHECK(cuMemPoolExportToShareableHandle(&fd, p, POSIX, 0));
    return fd;
}

static CUmemoryPool import(int fd)
{
    CUmemoryPool p;
    CHECK(cuMemPoolImportFromShareableHandle(&p, (void *)(intptr_t)fd, POSIX, 0));
    return p;
}

/* An allocation, to be imported. */
static CUmemPoolPtrExportData make(CUmemoryPool p, size_t size, CUstream s)
{
    CUmemPoolPtrExportData data;
    CUdeviceptr at;
    CHECK(cuMemAllocFromPoolAsync(&at, size, p, s));
    CHECK(cuMemsetD32Async(at, (unsigned)size, 1, s));
    CHECK(cuStreamSynchronize(s));
    CHECK(cuMemPoolExportPointer(&data, at));
    return data;
}

static CUdeviceptr import_pointer(CUmemoryPool p, const CUmemPoolPtrExportData *data)
{
    CUdeviceptr at;
    CHECK(cuMemPoolImportPointer(&at, p, (CUmemPoolPtrExportData *)data));
    return at;
}

static uint32_t word(CUdeviceptr at)
{
    uint32_t w;
    CHECK(cuMemcpyDtoH(&w, at, 4));
    return w;
}

/* ---- the same pointers again and again */

enum { MANY = 12 };
static unsigned size_of(unsigned k) { return 512 * (1 + k * 7 % 13); }

static void export_many(int other)
{
    CUstream s = set_up();
    CUmemoryPool p = create();
    hand_over(other, export(p));
    for (unsigned k = 0; k < MANY; k++) {
        const CUmemPoolPtrExportData data = make(p, size_of(k), s);
        tell(other, &data, sizeof data);
    }
    wait_end(other);
}

/* It is imported, or freed if it is. */
static void turn(CUmemoryPool pool, const CUmemPoolPtrExportData *data, CUdeviceptr *p, unsigned k, CUstream s)
{
    if (p[k]) CHECK(cuMemFreeAsync(p[k], s));
    p[k] = p[k] ? 0 : import_pointer(pool, &data[k]);
}

/* The first stays longer than the others, so that what they lie in does, too; what is freed is mostly not waited for. */
static void import_at_random(int other)
{
    static CUmemPoolPtrExportData data[MANY];
    CUdeviceptr p[MANY] = { 0 };
    CUstream s = set_up();
    CUmemoryPool pool = import(take_over(other));
    unsigned seed = 1;
    for (unsigned k = 0; k < MANY; k++) hear(other, &data[k], sizeof data[k]);
    turn(pool, data, p, 0, s);
    for (unsigned round = 0; round < 300; round++) {
        const unsigned kept = round % 11 != 0; /* else all are freed at its end */
        for (unsigned k = 0; k < MANY; k++) {
            turn(pool, data, p, 1 + (unsigned)rand_r(&seed) % (MANY - 1), s);
            if (rand_r(&seed) % 20 == 0) CHECK(cuStreamSynchronize(s));
        }
        for (unsigned k = kept; k < MANY && round % 7 == 0; k++)
            if (p[k]) turn(pool, data, p, k, s);
        CHECK(cuStreamSynchronize(s));
        if (!p[0]) turn(pool, data, p, 0, s);
        for (unsigned k = 0; k < MANY; k++)
            if (p[k]) EXPECT_EQUAL(word(p[k]), size_of(k));
    }
}

static void pointers_are_imported_and_freed_in_any_order(void **state)
{
    (void)state;
    play(export_many, ENDS_WELL, import_at_random, ENDS_WELL);
}

/* One process has both pools. */
static void import_for_long(int unused)
{
    enum { ROUNDS = 2000, FEW = 8, WAIT = 16 };
    CUmemPoolPtrExportData data[FEW];
    (void)unused;
    CUstream s = set_up();
    CUmemoryPool p = create(), q = import(export(p));
    for (unsigned k = 0; k < FEW; k++) data[k] = make(p, 512 * (k + 1), s);
    import_pointer(q, &data[0]);
    long before = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned k = 1; k < FEW; k++) CHECK(cuMemFreeAsync(import_pointer(q, &data[k]), s));
        if (round % WAIT == 0) CHECK(cuStreamSynchronize(s));
        if (round == ROUNDS / 4) before = resident_kib();
    }
    const long grown = resident_kib() - before;
    if (grown > 128) printf("it has %ld KiB more than before\n", grown);
    EXPECT(grown <= 128);
}

static void importing_for_long_leaves_nothing(void **state)
{
    (void)state;
    play_alone(import_for_long);
}

/* ---- what an importer is charged */

enum { PIECES = 24, PIECE = 32 << 20 };

static void export_growing(int other)
{
    CUstream s = set_up();
    CUmemoryPool p = create();
    hand_over(other, export(p));
    for (unsigned k = 0; k < PIECES; k++) {
        const CUmemPoolPtrExportData data = make(p, PIECE, s);
        tell(other, &data, sizeof data);
    }
    wait_end(other);
}

static size_t free_memory(void)
{
    size_t bytes, total;
    CHECK(cuMemGetInfo(&bytes, &total));
    return bytes;
}

/* The pool may have grown, and what is imported then lies in more of it than what was before. */
static void import_growing(int other)
{
    CUmemPoolPtrExportData data;
    CUdeviceptr p[PIECES];
    set_up();
    CUmemoryPool pool = import(take_over(other));
    const size_t before = free_memory();
    for (unsigned k = 0; k < PIECES; k++) {
        hear(other, &data, sizeof data);
        p[k] = import_pointer(pool, &data);
        EXPECT_EQUAL(before - free_memory(), 0);
    }
    for (unsigned k = 0; k < PIECES; k++) EXPECT_EQUAL(word(p[k]), PIECE);
}

static void an_importer_is_charged_nothing(void **state)
{
    (void)state;
    play(export_growing, ENDS_WELL, import_growing, ENDS_WELL);
}

/* ---- handles of pools that are gone */

static _Atomic(CUmemoryPool) stale;
static _Atomic bool enough;
static _Atomic unsigned uses;
static CUmemPoolPtrExportData datum; /* of what is freed, so that it keeps no pool */

static void *import_into_stale(void *unused)
{
    CUdeviceptr at;
    CHECK(cuCtxSetCurrent(context));
    for (; !atomic_load(&enough); atomic_fetch_add(&uses, 1)) cuMemPoolImportPointer(&at, atomic_load(&stale), &datum);
    return unused;
}

static void *export_stale(void *unused)
{
    int fd;
    CHECK(cuCtxSetCurrent(context));
    for (; !atomic_load(&enough); atomic_fetch_add(&uses, 1))
        if (!cuMemPoolExportToShareableHandle(&fd, atomic_load(&stale), POSIX, 0)) close(fd);
    return unused;
}

/* While the other thread uses it. */
static void destroy_stale(void)
{
    for (const unsigned before = atomic_load(&uses); atomic_load(&uses) - before < 2;) sched_yield();
    CHECK(cuMemPoolDestroy(atomic_load(&stale)));
}

enum { LIVES = 500 };

static void destroy_what_is_imported_into(int unused)
{
    pthread_t other;
    CUdeviceptr at;
    (void)unused;
    CUstream s = set_up();
    CUmemoryPool p = create();
    const int fd = export(p);
    CHECK(cuMemAllocFromPoolAsync(&at, 4096, p, s));
    CHECK(cuMemPoolExportPointer(&datum, at));
    CHECK(cuMemFreeAsync(at, s));
    atomic_store(&stale, import(fd));
    EXPECT(!pthread_create(&other, NULL, import_into_stale, NULL));
    for (unsigned k = 0; k < LIVES; k++) {
        destroy_stale();
        atomic_store(&stale, import(fd));
    }
    atomic_store(&enough, true);
    EXPECT(!pthread_join(other, NULL));
}

static void destroy_what_is_exported(int unused)
{
    pthread_t other;
    (void)unused;
    set_up();
    atomic_store(&stale, create());
    EXPECT(!pthread_create(&other, NULL, export_stale, NULL));
    for (unsigned k = 0; k < LIVES; k++) {
        destroy_stale();
        atomic_store(&stale, create());
    }
    atomic_store(&enough, true);
    EXPECT(!pthread_join(other, NULL));
}

static void a_pool_may_end_while_another_thread_imports_into_it(void **state)
{
    (void)state;
    play_alone(destroy_what_is_imported_into);
}

static void a_pool_may_end_while_another_thread_exports_it(void **state)
{
    (void)state;
    play_alone(destroy_what_is_exported);
}

/* ---- descriptors */

static void make_more_than_there_are_descriptors(int unused)
{
    enum { POOLS = 300 };
    struct rlimit limit;
    (void)unused;
    EXPECT(!getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = 256;
    EXPECT(!setrlimit(RLIMIT_NOFILE, &limit));
    CUstream s = set_up();
    CUmemoryPool p = NULL;
    for (unsigned k = 0; k < POOLS; k++) p = create();
    int own = dup(0);
    EXPECT(own >= 0 && own < 256);
    close(export(p));
    make(p, 4096, s);
}

static void exportable_pools_leave_the_application_its_descriptors(void **state)
{
    struct rlimit limit;
    (void)state;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < 4096) skip();
    play_alone(make_more_than_there_are_descriptors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_are_imported_and_freed_in_any_order),
        cmocka_unit_test(importing_for_long_leaves_nothing),
        cmocka_unit_test(an_importer_is_charged_nothing),
        cmocka_unit_test(a_pool_may_end_while_another_thread_imports_into_it),
        cmocka_unit_test(a_pool_may_end_while_another_thread_exports_it),
        cmocka_unit_test(exportable_pools_leave_the_application_its_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
