/* Ordinary memory that migrates: programs do not notice, whatever they do. Each test runs in a process of its own.
 * usage: FAULTLINE_PROFILE=h200-hmm FAULTLINE_DEVICES=2 FAULTLINE_VRAM=64M unnoticed */
#include "migrating.h"

/* ---- programs do not notice */

static void system_calls_read_and_write_what_a_device_has(void)
{
    char *p = memory(WINDOW, true), *q = memory(WINDOW, true);
    int ends[2];
    EXPECT_EQUAL(pipe(ends), 0);
    CHECK(write_word(p, 0x41424344));
    CHECK(write_word(q, 1));
    EXPECT_EQUAL(write(ends[1], p, 8), 8);
    EXPECT_EQUAL(read(ends[0], q, 8), 8);
    EXPECT_EQUAL(look(q), 0x41424344);
    CHECK(write_word(p, 3));
    struct iovec from = { p, 4 }, to = { q, 4 };
    EXPECT_EQUAL(process_vm_readv(getpid(), &to, 1, &from, 1, 0), 4);
    EXPECT_EQUAL(look(q), 3);
}

static void stacks_are_reached_but_stay(void)
{
    uint32_t words[64] = { 0 };
    CHECK(write_word(&words[5], 9));
    EXPECT_EQUAL(words[5], 9);
    EXPECT_EQUAL(place(words), HOST);
    EXPECT_EQUAL(counted().bytes_to_device, 0);
}

static void *end_at_once(void *arg) { return arg; }

/* Aligned, so that zeroed data begin with a page of their own. */
static uint32_t of_the_program[1 << 20] __attribute__((aligned(PAGE)));

/* The linker puts variables that the program and the C library share into the program, most often. */
static void data_of_shared_objects_stay_wherever_they_lie(void)
{
    EXPECT_EQUAL(read_word(&stderr), (uint32_t)(uintptr_t)stderr);
    EXPECT_EQUAL(place(&stderr), HOST);
    CHECK(write_word(&of_the_program[1 << 19], 6));
    EXPECT_EQUAL(place(&of_the_program[1 << 19]), DEVICE);
    EXPECT_EQUAL(of_the_program[1 << 19], 6);
}

static void *use_stack(void *arg)
{
    volatile uint32_t words[4096] = { 0 };
    (void)arg;
    on(0);
    CHECK(write_word(&words[77], 9));
    EXPECT_EQUAL(words[77], 9);
    EXPECT_EQUAL(place((void *)words), HOST);
    return NULL;
}

static void threads_come_and_go_while_a_device_takes_what_lies_beside_their_stacks(void)
{
    pthread_t t[4];
    for (int round = 0; round < 20; round++) {
        for (int k = 0; k < 4; k++) EXPECT_EQUAL(pthread_create(&t[k], NULL, k ? end_at_once : use_stack, NULL), 0);
        char *p = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(p, 1, WINDOW);
        fill(p, WINDOW);
        for (int k = 0; k < 4; k++) EXPECT_EQUAL(pthread_join(t[k], NULL), 0);
        check_filled((void *)p, WINDOW);
        if (round % 2) munmap(p, WINDOW);
    }
}

static _Atomic bool stop;

/* The library holds its locks while it runs on this stack. */
static _Atomic uint32_t rounds;
static void *advise_until_told(void *arg)
{
    CUdeviceptr managed = *(CUdeviceptr *)arg;
    CUmemLocation host = { .type = CU_MEM_LOCATION_TYPE_HOST };
    on(1);
    while (!stop) {
        CHECK(cuMemAdvise(managed, PAGE, (CUmem_advise)(3 + rounds % 2), host));
        rounds++;
    }
    return arg;
}

static void a_thread_goes_on_whose_stack_lies_in_memory_that_devices_take(void)
{
    char *p = memory(WINDOW, true);
    CUdeviceptr managed;
    pthread_attr_t a;
    pthread_t t;
    CHECK(cuMemAllocManaged(&managed, PAGE, CU_MEM_ATTACH_GLOBAL));
    CHECK(write_word(p, 1));
    pthread_attr_init(&a);
    EXPECT_EQUAL(pthread_attr_setstack(&a, p, WINDOW), 0);
    EXPECT_EQUAL(pthread_create(&t, &a, advise_until_told, &managed), 0);
    for (int k = 0; rounds < 500; k++) prefetch(p, WINDOW, k % 2);
    stop = true;
    EXPECT_EQUAL(pthread_join(t, NULL), 0);
}

static char *watched_by_handler;
static volatile uint32_t seen_by_handler;
static void on_alarm(int number)
{
    (void)number;
    seen_by_handler = look(watched_by_handler);
    watched_by_handler[8]++;
}

static void a_signal_handler_on_the_heap_touches_what_a_device_has(void)
{
    stack_t s = { .ss_sp = malloc(64 << 10), .ss_size = 64 << 10 };
    struct sigaction a = { .sa_handler = on_alarm, .sa_flags = SA_ONSTACK };
    memset(s.ss_sp, 0, s.ss_size);
    EXPECT_EQUAL(sigaltstack(&s, NULL), 0);
    EXPECT_EQUAL(sigaction(SIGUSR1, &a, NULL), 0);
    watched_by_handler = memory(WINDOW, true);
    for (uint32_t k = 0; k < 20; k++) {
        CHECK(write_word(watched_by_handler, k));
        CHECK(write_word((char *)s.ss_sp + 4096, k));
        EXPECT_EQUAL(raise(SIGUSR1), 0);
        EXPECT_EQUAL(seen_by_handler, k);
    }
}

/* What malloc notes beside the pieces, and what this library has on the heap, goes to devices as well. */
static void the_heap_itself_moves(void)
{
    unsigned char *piece[200];
    for (int round = 0; round < 20; round++) {
        for (int k = 0; k < 200; k++) {
            piece[k] = malloc((size_t)(100 + 50 * k));
            memset(piece[k], k, (size_t)(100 + 50 * k));
        }
        for (int k = 0; k < 200; k += 10) prefetch(piece[k], (size_t)(100 + 50 * k), round % 2);
        CHECK(write_word(piece[7] + 4, 8));
        for (int k = 0; k < 200; k++) {
            EXPECT_EQUAL(piece[k][99], k);
            free(piece[k]);
        }
    }
}

static uint32_t *counters;
static void *count_up(void *arg)
{
    uint64_t n = 0;
    size_t mine = (size_t)arg;
    while (!stop) {
        __atomic_fetch_add(&counters[mine * 1024 + n % 1024], 1, __ATOMIC_RELAXED);
        n++;
    }
    return (void *)n;
}

static void no_store_is_lost_while_pages_go_back_and_forth(void)
{
    pthread_t t[3];
    void *n;
    counters = (void *)memory(WINDOW, true);
    memset(counters, 0, WINDOW);
    for (size_t k = 0; k < 3; k++) pthread_create(&t[k], NULL, count_up, (void *)k);
    for (uint32_t k = 0; k < 50; k++) {
        on((int)(k % 2));
        CHECK(write_word(&counters[3 * 1024 + k], k + 1));
        prefetch(counters, WINDOW, (int)(k % 2));
    }
    stop = true;
    for (size_t k = 0; k < 3; k++) {
        uint64_t sum = 0;
        pthread_join(t[k], &n);
        for (size_t i = 0; i < 1024; i++) sum += counters[k * 1024 + i];
        EXPECT_EQUAL(sum, (uint64_t)n);
    }
    for (uint32_t k = 0; k < 50; k++) EXPECT_EQUAL(counters[3 * 1024 + k], k + 1);
}

static void a_running_kernel_and_the_host_see_each_others_stores(void)
{
    uint32_t *p = (void *)memory(WINDOW, true);
    p[0] = 0;
    void *parameters[] = { &p };
    CHECK(cuLaunchKernel(spin_kernel[0], 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    usleep(20000);
    *(volatile uint32_t *)p = 1;
    CHECK(cuCtxSynchronize());
}

/* ---- what the program does to its mappings */

static void memory_mapped_anew_has_no_policy_and_is_on_the_host(void)
{
    char *p = memory(WINDOW, true);
    advise(p, WINDOW, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, -1);
    CHECK(write_word(p, 7));
    EXPECT(mmap(p, WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
    EXPECT_EQUAL(look(p), 0);
    CHECK(write_word(p, 8));
    EXPECT_EQUAL(place(p), DEVICE);
    EXPECT_EQUAL(look(p), 8);
}

/* Nobody has looked at what the program has mapped since. */
static void what_was_freed_leaves_a_full_device_without_complaint(void)
{
    CUdeviceptr d;
    for (int round = 0; round < 3; round++) {
        char *p = memory(16 * WINDOW, true);
        fill(p, 16 * WINDOW);
        munmap(p + WINDOW, 15 * WINDOW);
        CHECK(cuMemAlloc(&d, 60 << 20));
        EXPECT_EQUAL(place(p), HOST);
        check_filled((void *)p, WINDOW);
        CHECK(cuMemFree(d));
    }
}

static void unmapped_before_any_device_came_it_has_no_policy_either(void)
{
    char *p = memory(WINDOW, true);
    advise(p, WINDOW, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, -1);
    munmap(p, WINDOW);
    CHECK(write_word(memory(PAGE, true), 7));
    EXPECT(mmap(p, WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == p);
    CHECK(write_word(p, 8));
    EXPECT_EQUAL(place(p), DEVICE);
}

static void what_is_moved_keeps_its_bytes(void)
{
    char *p = memory(2 * WINDOW, true);
    fill(p, 2 * WINDOW);
    char *q = mremap(p, 2 * WINDOW, 4 * WINDOW, MREMAP_MAYMOVE);
    EXPECT(q != MAP_FAILED && q != p);
    check_filled((void *)q, 2 * WINDOW);
    EXPECT_EQUAL(look(q + 3 * WINDOW), 0);
    CHECK(write_word(q + WINDOW, 5));
    EXPECT_EQUAL(place(q + WINDOW), DEVICE);
    EXPECT_EQUAL(look(q + WINDOW), 5);
    EXPECT_EQUAL(look(q + WINDOW + 4), WINDOW / 4 + 1);
}

/* Linux before 6.17 moves only what is one mapping. */
static void memory_moves_as_a_whole_or_not_at_all(void)
{
    char *p = memory(4 * WINDOW, true),
         *to = mmap(NULL, 4 * WINDOW, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (uint32_t k = 0; k < WINDOW; k++) ((uint32_t *)p)[k] = k; /* by the host: most of it was never adopted */
    CHECK(write_word(p + 2 * WINDOW, 5));
    EXPECT_EQUAL(place(p + 2 * WINDOW), DEVICE);
    errno = 0;
    bool moved = mremap(p, 4 * WINDOW, 4 * WINDOW, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to;
    EXPECT_EQUAL(errno, moved ? 0 : EFAULT);
    if (moved) p = to;
    EXPECT_EQUAL(look(p + 2 * WINDOW), 5);
    *(uint32_t *)(p + 2 * WINDOW) = 2 * WINDOW / 4;
    check_filled((void *)p, 4 * WINDOW);
    CHECK(write_word(p + 2 * WINDOW, 6));
    EXPECT_EQUAL(place(p + 2 * WINDOW), DEVICE);
    EXPECT_EQUAL(look(p + 2 * WINDOW), 6);
}

static void what_may_not_be_written_any_more_kernels_may_not_write(void)
{
    char *p = memory(WINDOW, true);
    advise(p, WINDOW, CU_MEM_ADVISE_SET_ACCESSED_BY, 1);
    CHECK(write_word(p, 7));
    EXPECT_EQUAL(mprotect(p, WINDOW, PROT_READ), 0);
    EXPECT_EQUAL(read_word(p), 7);
    EXPECT_EQUAL(mprotect(p, WINDOW, PROT_READ | PROT_WRITE), 0);
    CHECK(write_word(p, 8));
    EXPECT_EQUAL(look(p), 8);
    int by = -9;
    CHECK(cuMemRangeGetAttribute(&by, 4, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, (CUdeviceptr)p, WINDOW));
    EXPECT_EQUAL(by, 1);
    EXPECT_EQUAL(mprotect(p, WINDOW, PROT_READ), 0);
    ANSWERS(write_word(p, 9), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQUAL(look(p), 8);
}

static void a_child_sees_what_a_device_had(void)
{
    char *p = memory(4 * WINDOW, true);
    int status;
    advise(p, WINDOW, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, -1);
    fill(p, 4 * WINDOW);
    pid_t child = fork();
    if (!child) {
        check_filled((void *)p, 4 * WINDOW);
        p[0] = 99;
        _exit(0);
    }
    EXPECT_EQUAL(waitpid(child, &status, 0), child);
    EXPECT_EQUAL(status, 0);
    check_filled((void *)p, 4 * WINDOW);
    CHECK(write_word(p, 3));
    EXPECT_EQUAL(place(p), HOST); /* as it is preferred */
    CHECK(write_word(p + WINDOW, 3));
    EXPECT_EQUAL(place(p + WINDOW), DEVICE);
}

static void a_child_of_vfork_uses_what_a_device_has(void)
{
    char *p = memory(WINDOW, true);
    int status;
    CHECK(write_word(p, 7));
    pid_t child = vfork();
    if (!child) _exit(look(p) == 7 ? 0 : 1);
    EXPECT_EQUAL(waitpid(child, &status, 0), child);
    EXPECT_EQUAL(status, 0);
}

static void what_is_given_back_is_zeros_for_all_and_on_none(void)
{
    char *p = memory(WINDOW, true);
    fill(p, WINDOW / 2);
    EXPECT_EQUAL(read_word(p + WINDOW / 2), 0x01010101);
    EXPECT_EQUAL(madvise(p + PAGE, WINDOW - 2 * PAGE, MADV_DONTNEED), 0);
    EXPECT_EQUAL(pages_at(p, WINDOW, NOWHERE), WINDOW / PAGE - 2);
    EXPECT_EQUAL(look(p + 4), 1);
    struct faultline_counters before = counted();
    for (size_t at = PAGE; at < WINDOW - PAGE; at += 2 * PAGE) EXPECT_EQUAL(look(p + at), 0);
    EXPECT_EQUAL(counted().cpu_faults, before.cpu_faults);
    for (size_t at = 2 * PAGE; at < WINDOW - PAGE; at += 64 * PAGE) EXPECT_EQUAL(read_word(p + at), 0);
    CHECK(write_word(p + 5 * PAGE, 7));
    EXPECT_EQUAL(look(p + 5 * PAGE), 7);
    EXPECT_EQUAL(look(p + WINDOW - PAGE), 0x01010101);
}

/* Each page is one thread's: it gives it back, and stores to it at once; devices take all of them. */
static char *given_back;
static void *give_back_and_store(void *arg)
{
    size_t mine = (size_t)arg;
    for (uint32_t n = 1; !stop; n++)
        for (size_t page = mine; page < 64; page += 2) {
            volatile uint32_t *word = (uint32_t *)(given_back + page * PAGE);
            if (madvise((void *)word, PAGE, MADV_DONTNEED)) return "madvise";
            if (word[1]) return "not zero";
            word[0] = word[1] = n;
            sched_yield();
            if (word[0] != n || word[1] != n) return "store lost";
        }
    return NULL;
}

static void who_gives_back_and_stores_at_once_loses_nothing(void)
{
    pthread_t t[2];
    void *wrong;
    given_back = memory(WINDOW, true);
    CHECK(write_word(given_back, 1));
    for (size_t k = 0; k < 2; k++) pthread_create(&t[k], NULL, give_back_and_store, (void *)k);
    for (uint32_t k = 0; k < 300; k++) {
        CHECK(write_word(given_back + (100 + k) * PAGE, k));
        prefetch(given_back + 64 * PAGE, WINDOW - 64 * PAGE, k % 3 ? 0 : -1);
    }
    stop = true;
    for (size_t k = 0; k < 2; k++) {
        pthread_join(t[k], &wrong);
        if (wrong) fprintf(stderr, "%s\n", (char *)wrong);
        EXPECT_EQUAL(wrong, 0);
    }
}

static void a_registered_page_stays(void)
{
    char *p = memory(WINDOW, true);
    CHECK(write_word(p, 7));
    CHECK(cuMemHostRegister(p, 4 * PAGE, 0));
    struct faultline_counters before = counted();
    CHECK(write_word(p, 8));
    EXPECT_EQUAL(look(p), 8);
    EXPECT_EQUAL(counted().bytes_to_device, before.bytes_to_device);
    CHECK(cuMemHostUnregister(p));
    CHECK(write_word(p, 9));
    EXPECT_EQUAL(place(p), DEVICE);
    EXPECT_EQUAL(look(p), 9);
}

static void a_device_that_is_reset_has_nothing(void)
{
    char *p = memory(WINDOW, true);
    CHECK(write_word(p, 7));
    CHECK(cuDevicePrimaryCtxReset(0));
    EXPECT_EQUAL(look(p), 7);
    EXPECT_EQUAL(place(p), HOST);
    on(1);
    CHECK(write_word(p, 8));
    EXPECT_EQUAL(place(p), DEVICE + 1);
    EXPECT_EQUAL(look(p), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, system_calls_read_and_write_what_a_device_has),
        ALONE(start, stacks_are_reached_but_stay),
        ALONE(start, data_of_shared_objects_stay_wherever_they_lie),
        ALONE(start, threads_come_and_go_while_a_device_takes_what_lies_beside_their_stacks),
        ALONE(start, a_thread_goes_on_whose_stack_lies_in_memory_that_devices_take),
        ALONE(start, a_signal_handler_on_the_heap_touches_what_a_device_has),
        ALONE(start, the_heap_itself_moves),
        ALONE(start, no_store_is_lost_while_pages_go_back_and_forth),
        ALONE(start, a_running_kernel_and_the_host_see_each_others_stores),
        ALONE(start, memory_mapped_anew_has_no_policy_and_is_on_the_host),
        ALONE(start, what_was_freed_leaves_a_full_device_without_complaint),
        ALONE(start, unmapped_before_any_device_came_it_has_no_policy_either),
        ALONE(start, what_is_moved_keeps_its_bytes),
        ALONE(start, memory_moves_as_a_whole_or_not_at_all),
        ALONE(start, what_may_not_be_written_any_more_kernels_may_not_write),
        ALONE(start, a_child_sees_what_a_device_had),
        ALONE(start, a_child_of_vfork_uses_what_a_device_has),
        ALONE(start, what_is_given_back_is_zeros_for_all_and_on_none),
        ALONE(start, who_gives_back_and_stores_at_once_loses_nothing),
        ALONE(start, a_registered_page_stays),
        ALONE(start, a_device_that_is_reset_has_nothing),
    };
    if (!migrates_here()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
