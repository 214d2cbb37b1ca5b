/* Two processes share a multicast object, as ranks of a job do: one makes it,
 * the other gets its descriptor, each brings a device, and one of them dies.
 * usage: FAULTLINE_PROFILE=h200-nvswitch FAULTLINE_DEVICES=3 multicast_share */
#include "../players.h"
#include "multicast_rig.h"

#include <sched.h>
#include <sys/resource.h>

static void make_object(int socket)
{
    const CUmulticastObjectProp prop = { .numDevices = 2,
                                         .size = SIZE,
                                         .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR };
    int descriptor;
    CHECK(cuMulticastCreate(&object, &prop));
    CHECK(cuMemExportToShareableHandle(&descriptor, object, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    hand_over(socket, descriptor);
}

static void import_object(int socket)
{
    int descriptor = take_over(socket);
    CHECK(cuMemImportFromShareableHandle(&object, (void *)(long)descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(descriptor);
    usleep(50000); /* the other waits for the team to be whole: it should really have to */
}

/* This process's device becomes a member, with memory of its own. */
static void join(int me)
{
    const CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                    .location = { CU_MEM_LOCATION_TYPE_DEVICE, me } };
    CHECK(cuMulticastAddDevice(object, me));
    CHECK(cuMemCreate(&memory[me], SIZE, &p, 0));
    memory_at[me] = map(memory[me], SIZE);
    access_by(memory_at[me], SIZE, me, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    object_at = map(object, SIZE);
    access_by(object_at, SIZE, me, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK(cuMulticastBindMem(object, 0, memory[me], 0, SIZE, 0));
}

static uint32_t word_of(int member, size_t offset)
{
    uint32_t v;
    get(member, offset, &v, sizeof v);
    return v;
}

/* Each finds the sum of what both have, and what both have added. */
static void add_up_together(int me, int socket)
{
    for (uint32_t round = 0; round < 20; round++) {
        uint32_t mine = 1000 * (uint32_t)me + round;
        put(me, 64, &mine, sizeof mine);
        meet(socket);
        EXPECT_EQUAL(add_up(object_at + 64), 1000 + 2 * round);
        CHECK(run_one(ADD_7, object_at + 128, 0));
        meet(socket);
        EXPECT_EQUAL(word_of(me, 128), 2 * 7 * (round + 1));
        meet(socket);
    }
}

static void see_memsets_of_both(int me, int socket)
{
    CHECK(cuMemsetD32(object_at + 4096u * (unsigned)(me + 1), 0x5a5a0000u + (unsigned)me, 1024));
    meet(socket);
    for (unsigned rank = 0; rank < 2; rank++) EXPECT_EQUAL(word_of(me, 4096 * (rank + 1) + 400), 0x5a5a0000u + rank);
    meet(socket);
}

static void work(int me, int socket)
{
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&contexts[me], me));
    on(me);
    if (me == 0)
        make_object(socket);
    else
        import_object(socket);
    join(me);
    add_up_together(me, socket);
    see_memsets_of_both(me, socket);
}

static void second_rank(int socket)
{
    work(1, socket);
    kill(getpid(), SIGKILL);
}

static void first_rank(int socket)
{
    work(0, socket);
    wait_end(socket);
    /* what the other had bound is still there; nothing of ours is lost */
    CHECK(cuMemsetD32(object_at, 9, 4));
    EXPECT_EQUAL(word_of(0, 0), 9);
    CHECK(cuMulticastUnbind(object, 0, 0, SIZE));
    CHECK(cuMemUnmap(object_at, SIZE));
    CHECK(cuMemRelease(object));
}

static void two_processes_add_up_what_both_have_and_one_survives_the_other(void **state)
{
    (void)state;
    play(first_rank, ENDS_WELL, second_rank, IS_KILLED);
}

/* ---- one that is stopped for longer than anybody who answers takes */

enum { STOPPED_S = 11 };

static void stopped_rank(int socket)
{
    pid_t me = getpid();
    work(1, socket);
    CHECK(cuMulticastUnbind(object, 1, 0, SIZE));
    CHECK(cuMulticastBindMem(object, 0, memory[1], 0, SIZE, 0));
    pid_t waker = fork();
    if (!waker) {
        sleep(STOPPED_S);
        _exit(kill(me, SIGCONT));
    }
    signal_other(socket);
    kill(me, SIGSTOP);
    EXPECT(ended(waker, ENDS_WELL));
    wait_other(socket);
    EXPECT_EQUAL(word_of(1, 0), 9);
}

static void patient_rank(int socket)
{
    work(0, socket);
    wait_other(socket);
    usleep(200000); /* it stops */
    CHECK(cuMemsetD32(object_at, 9, 4));
    CHECK(cuCtxSynchronize());
    signal_other(socket);
}

static void nothing_is_done_without_one_that_is_stopped(void **state)
{
    (void)state;
    play(patient_rank, ENDS_WELL, stopped_rank, ENDS_WELL);
}

/* In a container of its own, where the other's number is nobody's. */
static void patient_rank_elsewhere(int socket)
{
    if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID)) return patient_rank(socket);
    EXPECT(ended(begin_player(patient_rank, socket, -1), ENDS_WELL));
}

static void nothing_is_done_without_one_of_another_container_that_is_stopped(void **state)
{
    (void)state;
    play(patient_rank_elsewhere, ENDS_WELL, stopped_rank, ENDS_WELL);
}

/* It was allowed when memory was made. */
static void make_no_file(int unused)
{
    const CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                    .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    int descriptor;
    const CUmulticastObjectProp prop = { .numDevices = 2,
                                         .size = SIZE,
                                         .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR };
    (void)unused;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&contexts[0], 0));
    on(0);
    CHECK(cuMemCreate(&memory[0], SIZE, &p, 0));
    EXPECT(!setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 4096, 4096 }));
    EXPECT_EQUAL(cuMulticastCreate(&object, &prop), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQUAL(cuMemExportToShareableHandle(&descriptor, memory[0], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                 CUDA_ERROR_OPERATING_SYSTEM);
}

static void where_files_may_not_be_large_calls_are_refused(void **state)
{
    (void)state;
    play_alone(make_no_file);
}

/* ---- ranks that come and go */

enum { PIECE = 2 * MIB, PIECES = 200 }; /* which is more than a third of what one object can have */

static void bind_pieces_and_die(int descriptor)
{
    const CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                    .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&contexts[0], 0));
    CHECK(cuMemImportFromShareableHandle(&object, (void *)(long)descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CHECK(cuMemCreate(&memory[0], (size_t)PIECES * PIECE, &p, 0));
    for (size_t at = 0; at < (size_t)PIECES * PIECE; at += PIECE) CHECK(cuMulticastBindMem(object, at, memory[0], at, PIECE, 0));
    kill(getpid(), SIGKILL);
}

static void begin_ranks(int socket)
{
    const int descriptor = take_over(socket);
    for (int k = 0; k < 3; k++) EXPECT(ended(begin_player(bind_pieces_and_die, descriptor, -1), IS_KILLED));
}

static void keep_object(int socket)
{
    const CUmulticastObjectProp prop = { .numDevices = 2,
                                         .size = (size_t)PIECES * PIECE,
                                         .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR };
    int descriptor;
    CHECK(cuInit(0));
    CHECK(cuMulticastCreate(&object, &prop));
    for (int k = 0; k < 2; k++) {
        CHECK(cuDevicePrimaryCtxRetain(&contexts[k], k));
        CHECK(cuMulticastAddDevice(object, k));
    }
    CHECK(cuMemExportToShareableHandle(&descriptor, object, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    hand_over(socket, descriptor);
    wait_end(socket);
}

static void what_dead_ranks_had_bound_leaves_room_for_others(void **state)
{
    (void)state;
    play(keep_object, ENDS_WELL, begin_ranks, ENDS_WELL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_processes_add_up_what_both_have_and_one_survives_the_other),
        cmocka_unit_test(nothing_is_done_without_one_that_is_stopped),
        cmocka_unit_test(nothing_is_done_without_one_of_another_container_that_is_stopped),
        cmocka_unit_test(what_dead_ranks_had_bound_leaves_room_for_others),
        cmocka_unit_test(where_files_may_not_be_large_calls_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
