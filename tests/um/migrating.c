/* Ordinary memory that migrates: where its pages are, what is counted, and that programs do not notice.
 * Each test runs in a process of its own.
 * usage: FAULTLINE_PROFILE=h200-hmm FAULTLINE_DEVICES=2 FAULTLINE_VRAM=64M migrating */
#include "rig.h"

#include <faultline.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/uio.h>

enum { PAGE = 4096, WINDOW = 2 << 20 };

/* peek copies a word; fill: thread i writes i to word i; spin waits until a word is not 0. */
static const char kernels[] = PTX_HEADER PTX_POKE
    ".visible .entry peek(.param .u64 at, .param .u64 to) { .reg .b32 %r<2>; .reg .b64 %a<3>;\n"
    "ld.param.u64 %a1, [at]; ld.param.u64 %a2, [to]; ld.global.u32 %r1, [%a1]; st.global.u32 [%a2], %r1; ret; }\n"
    ".visible .entry fill(.param .u64 at, .param .u32 n) { .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %a<4>;\n"
    "ld.param.u64 %a1, [at]; ld.param.u32 %r1, [n]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    "mad.lo.u32 %r5, %r2, %r3, %r4; setp.ge.u32 %p, %r5, %r1; @%p bra E; mul.wide.u32 %a2, %r5, 4; add.u64 %a1, %a1, "
    "%a2;\n"
    "st.global.u32 [%a1], %r5; E: ret; }\n"
    ".visible .entry spin(.param .u64 at) { .reg .pred %p; .reg .b32 %r<2>; .reg .b64 %a<2>;\n"
    "ld.param.u64 %a1, [at]; L: ld.volatile.global.u32 %r1, [%a1]; setp.eq.u32 %p, %r1, 0; @%p bra L; ret; }\n";

static CUcontext context[2];
static CUfunction poke_kernel[2], peek_kernel[2], fill_kernel[2], spin_kernel[2];
static CUdeviceptr scratch[2];

static void start(void)
{
    alarm(60);
    EXPECT(cuInit(0), 0);
    for (int d = 0; d < 2; d++) {
        CUmodule m;
        EXPECT(cuDevicePrimaryCtxRetain(&context[d], d), 0);
        EXPECT(cuCtxSetCurrent(context[d]), 0);
        EXPECT(cuModuleLoadData(&m, kernels), 0);
        EXPECT(cuModuleGetFunction(&poke_kernel[d], m, "poke"), 0);
        EXPECT(cuModuleGetFunction(&peek_kernel[d], m, "peek"), 0);
        EXPECT(cuModuleGetFunction(&fill_kernel[d], m, "fill"), 0);
        EXPECT(cuModuleGetFunction(&spin_kernel[d], m, "spin"), 0);
        EXPECT(cuMemAlloc(&scratch[d], 4096), 0);
    }
    EXPECT(cuCtxSetCurrent(context[0]), 0);
}

/* ---- what devices and the host do */

static void on(int device) { EXPECT(cuCtxSetCurrent(context[device]), 0); }

static int current(void)
{
    CUdevice d;
    EXPECT(cuCtxGetDevice(&d), 0);
    return d;
}

static CUresult run(CUfunction f, unsigned blocks, unsigned threads, void *first, void *second)
{
    void *parameters[] = { first, second };
    EXPECT(cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, NULL, parameters, NULL), 0);
    return cuCtxSynchronize();
}

static CUresult write_word(volatile void *at, uint32_t value)
{
    return run(poke_kernel[current()], 1, 1, &at, &value);
}

static uint32_t read_word(volatile void *at)
{
    uint32_t word = 0;
    EXPECT(run(peek_kernel[current()], 1, 1, &at, &scratch[current()]), 0);
    EXPECT(cuMemcpyDtoH(&word, scratch[current()], 4), 0);
    return word;
}

static void fill(void *at, size_t bytes)
{
    uint32_t n = (uint32_t)(bytes / 4);
    EXPECT(run(fill_kernel[current()], (n + 255) / 256, 256, &at, &n), 0);
}

static void check_filled(const uint32_t *at, size_t bytes)
{
    for (uint32_t k = 0; k < bytes / 4; k++)
        if (at[k] != k) EXPECT(at[k], k);
}

static uint32_t look(volatile void *at) { return *(volatile uint32_t *)at; }

/* Aligned to a window and alone in it, every page touched by the host if it is to be. */
static char *memory(size_t size, bool touched)
{
    size_t room = (size + WINDOW - 1) / WINDOW * WINDOW + 2 * WINDOW;
    char *p = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(p != MAP_FAILED, true);
    p = (char *)(((uintptr_t)p + WINDOW) & -(uintptr_t)WINDOW);
    EXPECT(mprotect(p, size, PROT_READ | PROT_WRITE), 0);
    if (touched) memset(p, 1, size);
    return p;
}

static void advise(void *p, size_t size, CUmem_advise advice, int device)
{
    CUmemLocation l = { .type = device < 0 ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
                        .id = device < 0 ? 0 : device };
    EXPECT(cuMemAdvise((CUdeviceptr)p, size, advice, l), 0);
}

static void prefetch(void *p, size_t size, int device)
{
    CUmemLocation l = { .type = device < 0 ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
                        .id = device < 0 ? 0 : device };
    EXPECT(cuMemPrefetchAsync((CUdeviceptr)p, size, l, 0, NULL), 0);
    EXPECT(cuCtxSynchronize(), 0);
}

/* ---- what is seen */

enum { NOWHERE = FAULTLINE_NOWHERE, HOST = FAULTLINE_ON_HOST, DEVICE = FAULTLINE_ON_DEVICE };

static int place(void *at)
{
    uint8_t where = 99;
    EXPECT(faultline_residency(at, 1, &where), 0);
    return where;
}

static size_t pages_at(void *at, size_t size, int where)
{
    static uint8_t of[1 << 16];
    size_t n = 0;
    EXPECT(faultline_residency(at, size / PAGE, of), 0);
    for (size_t k = 0; k < size / PAGE; k++) n += of[k] == where;
    return n;
}

static struct faultline_counters counted(void)
{
    struct faultline_counters c;
    EXPECT(faultline_get_counters(&c), 0);
    return c;
}

/* ---- migration */

static void a_kernels_fault_brings_the_page_and_what_the_prefetcher_adds(void)
{
    char *p = memory(2 * WINDOW, true);
    struct faultline_counters before = counted(), after;
    EXPECT(place(p), HOST);
    EXPECT(write_word(p + 5 * PAGE, 7), 0);
    after = counted();
    EXPECT(place(p + 5 * PAGE), DEVICE);
    EXPECT(pages_at(p, 2 * WINDOW, DEVICE), 16);
    EXPECT(after.bytes_to_device - before.bytes_to_device, 16 * PAGE);
    EXPECT(after.gpu_faults - before.gpu_faults, 1);
    EXPECT(after.cpu_faults, before.cpu_faults);
    EXPECT(look(p + 5 * PAGE), 7);
}

static void the_hosts_touch_pulls_the_page_back(void)
{
    char *p = memory(WINDOW, true);
    EXPECT(write_word(p, 7), 0);
    struct faultline_counters before = counted(), after;
    EXPECT(look(p + PAGE), 0x01010101);
    after = counted();
    EXPECT(after.cpu_faults - before.cpu_faults, 1);
    EXPECT(after.bytes_to_host - before.bytes_to_host, 16 * PAGE);
    EXPECT(pages_at(p, WINDOW, HOST), WINDOW / PAGE);
    EXPECT(look(p), 7);
    EXPECT(counted().cpu_faults - before.cpu_faults, 1);
    EXPECT(read_word(p), 7);
    EXPECT(place(p), DEVICE);
}

static void what_nobody_touched_is_made_on_the_device_and_is_no_migration(void)
{
    char *p = memory(WINDOW, false);
    struct faultline_counters before = counted();
    EXPECT(place(p), NOWHERE);
    EXPECT(write_word(p, 7), 0);
    EXPECT(place(p), DEVICE);
    EXPECT(counted().bytes_to_device, before.bytes_to_device);
    EXPECT(look(p + 4), 0);
    EXPECT(counted().cpu_faults - before.cpu_faults, 1);
}

static void the_hosts_first_touch_beside_it_is_no_fault_and_counts_later(void)
{
    char *p = memory(WINDOW, false);
    EXPECT(write_word(p, 7), 0);
    struct faultline_counters before = counted();
    memset(p + WINDOW / 2, 3, WINDOW / 2);
    EXPECT(counted().cpu_faults, before.cpu_faults);
    EXPECT(place(p + WINDOW / 2), HOST);
    EXPECT(write_word(p + WINDOW / 2, 7), 0);
    EXPECT(counted().bytes_to_device - before.bytes_to_device, 16 * PAGE);
    EXPECT(look(p + WINDOW / 2 + 4), 0x03030303);
}

static void a_whole_kernel_fills_memory_that_the_host_then_reads(void)
{
    enum { SIZE = 16 * WINDOW };
    char *p = memory(SIZE, true), *q = malloc(SIZE);
    fill(p, SIZE);
    EXPECT(pages_at(p, SIZE, DEVICE), SIZE / PAGE);
    fill(q, SIZE);
    check_filled((void *)p, SIZE);
    check_filled((void *)q, SIZE);
    EXPECT(pages_at(p, SIZE, HOST), SIZE / PAGE);
    EXPECT(counted().bytes_to_host >= SIZE, true);
}

static void another_device_takes_the_page(void)
{
    char *p = memory(WINDOW, true);
    EXPECT(write_word(p, 7), 0);
    on(1);
    EXPECT(read_word(p), 7);
    EXPECT(place(p), DEVICE + 1);
}

static void a_device_that_is_full_evicts(void)
{
    enum { SIZE = 100 << 20 };
    char *p = memory(SIZE, true);
    fill(p, SIZE);
    struct faultline_counters c = counted();
    EXPECT(c.bytes_evicted > 0, true);
    EXPECT(pages_at(p, SIZE, DEVICE) < (64 << 20) / PAGE, true);
    EXPECT(pages_at(p, SIZE, DEVICE) > 0, true);
    EXPECT(pages_at(p, SIZE, DEVICE) + pages_at(p, SIZE, HOST), SIZE / PAGE);
    check_filled((void *)p, SIZE);
}

static void what_is_freed_is_given_back_to_the_device(void)
{
    size_t before, free, total;
    EXPECT(cuMemGetInfo(&before, &total), 0);
    char *p = memory(8 * WINDOW, true);
    fill(p, 8 * WINDOW);
    EXPECT(cuMemGetInfo(&free, &total), 0);
    EXPECT(before - free, 8 * WINDOW);
    munmap(p, 8 * WINDOW);
    char *q = memory(PAGE, true);
    EXPECT(write_word(q, 1), 0);
    EXPECT(cuMemGetInfo(&free, &total), 0);
    EXPECT(before - free, WINDOW);
}

static void a_mapping_that_devices_use_is_told_of_as_an_allocation(void)
{
    struct faultline_allocation a[4];
    char *p = memory(3 * WINDOW, true);
    EXPECT(faultline_count_allocations(), 0);
    EXPECT(faultline_get_allocations(a, 4), 0);
    EXPECT(write_word(p + WINDOW, 7), 0);
    EXPECT(write_word(p, 7), 0);
    EXPECT(faultline_get_allocations(a, 4), 1);
    EXPECT(a[0].address, p);
    EXPECT(a[0].bytes, 3 * WINDOW);
    EXPECT(a[0].freed, 0);
    EXPECT(a[0].counters.bytes_to_device, 32 * PAGE);
    munmap(p, 3 * WINDOW);
    EXPECT(write_word(memory(PAGE, true), 7), 0);
    EXPECT(faultline_get_allocations(a, 4), 2);
    EXPECT(a[0].freed > 0, true);
}

/* ---- policy */

static void preferred_on_the_host_it_is_mapped_remotely(void)
{
    char *p = memory(WINDOW, true);
    advise(p, WINDOW, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, -1);
    struct faultline_counters before = counted();
    EXPECT(write_word(p, 7), 0);
    EXPECT(pages_at(p, WINDOW, HOST), WINDOW / PAGE);
    EXPECT(look(p), 7);
    struct faultline_counters after = counted();
    EXPECT(after.cpu_faults, before.cpu_faults);
    EXPECT(after.bytes_to_device, before.bytes_to_device);
    EXPECT(after.events[FAULTLINE_MAP_REMOTE] > before.events[FAULTLINE_MAP_REMOTE], true);
}

static void preferred_on_a_device_the_hosts_touch_pulls_it_all_the_same(void)
{
    char *p = memory(WINDOW, false);
    advise(p, WINDOW, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0);
    EXPECT(write_word(p, 7), 0);
    EXPECT(pages_at(p, WINDOW, DEVICE), WINDOW / PAGE);
    EXPECT(look(p), 7);
    EXPECT(place(p), HOST);
    EXPECT(pages_at(p, WINDOW, HOST) < WINDOW / PAGE, true);
}

static void who_is_said_to_access_it_maps_it_where_it_is(void)
{
    char *p = memory(WINDOW, true);
    advise(p, WINDOW, CU_MEM_ADVISE_SET_ACCESSED_BY, 0);
    EXPECT(write_word(p, 7), 0);
    EXPECT(place(p), HOST);
    prefetch(p, WINDOW, 1);
    EXPECT(place(p), DEVICE + 1);
    EXPECT(look(p), 7);
    struct faultline_counters before = counted();
    EXPECT(write_word(p, 8), 0);
    EXPECT(counted().gpu_faults, before.gpu_faults);
    EXPECT(place(p), HOST);
}

static void nothing_is_duplicated(void)
{
    char *p = memory(WINDOW, true);
    int said = 0;
    advise(p, WINDOW, CU_MEM_ADVISE_SET_READ_MOSTLY, 0);
    EXPECT(cuMemRangeGetAttribute(&said, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, (CUdeviceptr)p, WINDOW), 0);
    EXPECT(said, 1);
    EXPECT(read_word(p), 0x01010101);
    EXPECT(place(p), DEVICE);
    EXPECT(counted().events[FAULTLINE_READ_DUPLICATE], 0);
}

static void the_prefetcher_stays_within_a_policy_and_a_mapping(void)
{
    char *p = memory(WINDOW, true);
    advise(p + 4 * PAGE, 4 * PAGE, CU_MEM_ADVISE_SET_ACCESSED_BY, 1);
    EXPECT(write_word(p + 5 * PAGE, 7), 0);
    EXPECT(pages_at(p, WINDOW, DEVICE), 4);
    EXPECT(munmap(p + 40 * PAGE, PAGE), 0);
    EXPECT(write_word(p + 41 * PAGE, 7), 0);
    EXPECT(place(p + 41 * PAGE), DEVICE);
    EXPECT(place(p + 39 * PAGE), HOST);
}

static void prefetches_move_what_they_can(void)
{
    char *p = memory(4 * WINDOW, true), name[] = "/tmp/faultline-migrating-XXXXXX";
    int fd = mkstemp(name);
    unlink(name);
    EXPECT(ftruncate(fd, WINDOW), 0);
    char *file = mmap(p + WINDOW, WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0);
    EXPECT(file == p + WINDOW, true);
    file[0] = 9;
    struct faultline_counters before = counted(), after;
    prefetch(p, 4 * WINDOW, 0);
    EXPECT(pages_at(p, 4 * WINDOW, DEVICE), 3 * WINDOW / PAGE);
    EXPECT(place(file), HOST);
    after = counted();
    EXPECT(after.bytes_to_device - before.bytes_to_device, 3 * WINDOW);
    EXPECT(read_word(file) & 0xff, 9);
    EXPECT(counted().gpu_faults, after.gpu_faults);
    prefetch(p, 4 * WINDOW, -1);
    EXPECT(pages_at(p, 4 * WINDOW, DEVICE), 0);
    EXPECT(look(p + 3 * WINDOW), 0x01010101);
    EXPECT(counted().cpu_faults, before.cpu_faults);
}

static void shared_memory_stays_where_it_is(void)
{
    uint32_t *p = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    p[0] = 5;
    struct faultline_counters before = counted();
    EXPECT(write_word(p + 1, 6), 0);
    EXPECT(place(p), HOST);
    EXPECT(p[1], 6);
    EXPECT(counted().bytes_to_device, before.bytes_to_device);
}

/* ---- programs do not notice */

static void system_calls_read_and_write_what_a_device_has(void)
{
    char *p = memory(WINDOW, true), *q = memory(WINDOW, true);
    int ends[2];
    EXPECT(pipe(ends), 0);
    EXPECT(write_word(p, 0x41424344), 0);
    EXPECT(write_word(q, 1), 0);
    EXPECT(write(ends[1], p, 8), 8);
    EXPECT(read(ends[0], q, 8), 8);
    EXPECT(look(q), 0x41424344);
    EXPECT(write_word(p, 3), 0);
    struct iovec from = { p, 4 }, to = { q, 4 };
    EXPECT(process_vm_readv(getpid(), &to, 1, &from, 1, 0), 4);
    EXPECT(look(q), 3);
}

static void stacks_are_reached_but_stay(void)
{
    uint32_t words[64] = { 0 };
    EXPECT(write_word(&words[5], 9), 0);
    EXPECT(words[5], 9);
    EXPECT(place(words), HOST);
    EXPECT(counted().bytes_to_device, 0);
}

static void *end_at_once(void *arg) { return arg; }

static void *use_stack(void *arg)
{
    volatile uint32_t words[4096] = { 0 };
    (void)arg;
    on(0);
    EXPECT(write_word(&words[77], 9), 0);
    EXPECT(words[77], 9);
    EXPECT(place((void *)words), HOST);
    return NULL;
}

static void threads_come_and_go_while_a_device_takes_what_lies_beside_their_stacks(void)
{
    pthread_t t[4];
    for (int round = 0; round < 20; round++) {
        for (int k = 0; k < 4; k++) EXPECT(pthread_create(&t[k], NULL, k ? end_at_once : use_stack, NULL), 0);
        char *p = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(p, 1, WINDOW);
        fill(p, WINDOW);
        for (int k = 0; k < 4; k++) EXPECT(pthread_join(t[k], NULL), 0);
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
        EXPECT(cuMemAdvise(managed, PAGE, (CUmem_advise)(3 + rounds % 2), host), 0);
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
    EXPECT(cuMemAllocManaged(&managed, PAGE, CU_MEM_ATTACH_GLOBAL), 0);
    EXPECT(write_word(p, 1), 0);
    pthread_attr_init(&a);
    EXPECT(pthread_attr_setstack(&a, p, WINDOW), 0);
    EXPECT(pthread_create(&t, &a, advise_until_told, &managed), 0);
    for (int k = 0; rounds < 500; k++) prefetch(p, WINDOW, k % 2);
    stop = true;
    EXPECT(pthread_join(t, NULL), 0);
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
    EXPECT(sigaltstack(&s, NULL), 0);
    EXPECT(sigaction(SIGUSR1, &a, NULL), 0);
    watched_by_handler = memory(WINDOW, true);
    for (uint32_t k = 0; k < 20; k++) {
        EXPECT(write_word(watched_by_handler, k), 0);
        EXPECT(write_word((char *)s.ss_sp + 4096, k), 0);
        EXPECT(raise(SIGUSR1), 0);
        EXPECT(seen_by_handler, k);
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
        EXPECT(write_word(piece[7] + 4, 8), 0);
        for (int k = 0; k < 200; k++) {
            EXPECT(piece[k][99], k);
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
        EXPECT(write_word(&counters[3 * 1024 + k], k + 1), 0);
        prefetch(counters, WINDOW, (int)(k % 2));
    }
    stop = true;
    for (size_t k = 0; k < 3; k++) {
        uint64_t sum = 0;
        pthread_join(t[k], &n);
        for (size_t i = 0; i < 1024; i++) sum += counters[k * 1024 + i];
        EXPECT(sum, (uint64_t)n);
    }
    for (uint32_t k = 0; k < 50; k++) EXPECT(counters[3 * 1024 + k], k + 1);
}

static void a_running_kernel_and_the_host_see_each_others_stores(void)
{
    uint32_t *p = (void *)memory(WINDOW, true);
    p[0] = 0;
    void *parameters[] = { &p };
    EXPECT(cuLaunchKernel(spin_kernel[0], 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL), 0);
    usleep(20000);
    *(volatile uint32_t *)p = 1;
    EXPECT(cuCtxSynchronize(), 0);
}

/* ---- what the program does to its mappings */

static void memory_mapped_anew_has_no_policy_and_is_on_the_host(void)
{
    char *p = memory(WINDOW, true);
    advise(p, WINDOW, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, -1);
    EXPECT(write_word(p, 7), 0);
    EXPECT(mmap(p, WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p, true);
    EXPECT(look(p), 0);
    EXPECT(write_word(p, 8), 0);
    EXPECT(place(p), DEVICE);
    EXPECT(look(p), 8);
}

static void unmapped_before_any_device_came_it_has_no_policy_either(void)
{
    char *p = memory(WINDOW, true);
    advise(p, WINDOW, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, -1);
    munmap(p, WINDOW);
    EXPECT(write_word(memory(PAGE, true), 7), 0);
    EXPECT(mmap(p, WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == p, true);
    EXPECT(write_word(p, 8), 0);
    EXPECT(place(p), DEVICE);
}

static void what_is_moved_keeps_its_bytes(void)
{
    char *p = memory(2 * WINDOW, true);
    fill(p, 2 * WINDOW);
    char *q = mremap(p, 2 * WINDOW, 4 * WINDOW, MREMAP_MAYMOVE);
    EXPECT(q != MAP_FAILED && q != p, true);
    check_filled((void *)q, 2 * WINDOW);
    EXPECT(look(q + 3 * WINDOW), 0);
    EXPECT(write_word(q + WINDOW, 5), 0);
    EXPECT(place(q + WINDOW), DEVICE);
    EXPECT(look(q + WINDOW), 5);
    EXPECT(look(q + WINDOW + 4), WINDOW / 4 + 1);
}

static void what_may_not_be_written_any_more_kernels_may_not_write(void)
{
    char *p = memory(WINDOW, true);
    advise(p, WINDOW, CU_MEM_ADVISE_SET_ACCESSED_BY, 1);
    EXPECT(write_word(p, 7), 0);
    EXPECT(mprotect(p, WINDOW, PROT_READ), 0);
    EXPECT(read_word(p), 7);
    EXPECT(mprotect(p, WINDOW, PROT_READ | PROT_WRITE), 0);
    EXPECT(write_word(p, 8), 0);
    EXPECT(look(p), 8);
    int by = -9;
    EXPECT(cuMemRangeGetAttribute(&by, 4, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, (CUdeviceptr)p, WINDOW), 0);
    EXPECT(by, 1);
    EXPECT(mprotect(p, WINDOW, PROT_READ), 0);
    EXPECT(write_word(p, 9), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT(look(p), 8);
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
    EXPECT(waitpid(child, &status, 0), child);
    EXPECT(status, 0);
    check_filled((void *)p, 4 * WINDOW);
    EXPECT(write_word(p, 3), 0);
    EXPECT(place(p), HOST); /* as it is preferred */
    EXPECT(write_word(p + WINDOW, 3), 0);
    EXPECT(place(p + WINDOW), DEVICE);
}

static void a_child_of_vfork_uses_what_a_device_has(void)
{
    char *p = memory(WINDOW, true);
    int status;
    EXPECT(write_word(p, 7), 0);
    pid_t child = vfork();
    if (!child) _exit(look(p) == 7 ? 0 : 1);
    EXPECT(waitpid(child, &status, 0), child);
    EXPECT(status, 0);
}

static void a_registered_page_stays(void)
{
    char *p = memory(WINDOW, true);
    EXPECT(write_word(p, 7), 0);
    EXPECT(cuMemHostRegister(p, 4 * PAGE, 0), 0);
    struct faultline_counters before = counted();
    EXPECT(write_word(p, 8), 0);
    EXPECT(look(p), 8);
    EXPECT(counted().bytes_to_device, before.bytes_to_device);
    EXPECT(cuMemHostUnregister(p), 0);
    EXPECT(write_word(p, 9), 0);
    EXPECT(place(p), DEVICE);
    EXPECT(look(p), 9);
}

static void a_device_that_is_reset_has_nothing(void)
{
    char *p = memory(WINDOW, true);
    EXPECT(write_word(p, 7), 0);
    EXPECT(cuDevicePrimaryCtxReset(0), 0);
    EXPECT(look(p), 7);
    EXPECT(place(p), HOST);
    on(1);
    EXPECT(write_word(p, 8), 0);
    EXPECT(place(p), DEVICE + 1);
    EXPECT(look(p), 8);
}

#define TESTS(X) \
    X(a_kernels_fault_brings_the_page_and_what_the_prefetcher_adds) \
    X(the_hosts_touch_pulls_the_page_back) \
    X(what_nobody_touched_is_made_on_the_device_and_is_no_migration) \
    X(the_hosts_first_touch_beside_it_is_no_fault_and_counts_later) \
    X(a_whole_kernel_fills_memory_that_the_host_then_reads) \
    X(another_device_takes_the_page) \
    X(a_device_that_is_full_evicts) \
    X(what_is_freed_is_given_back_to_the_device) \
    X(a_mapping_that_devices_use_is_told_of_as_an_allocation) \
    X(preferred_on_the_host_it_is_mapped_remotely) \
    X(preferred_on_a_device_the_hosts_touch_pulls_it_all_the_same) \
    X(who_is_said_to_access_it_maps_it_where_it_is) \
    X(nothing_is_duplicated) \
    X(the_prefetcher_stays_within_a_policy_and_a_mapping) \
    X(prefetches_move_what_they_can) \
    X(shared_memory_stays_where_it_is) \
    X(system_calls_read_and_write_what_a_device_has) \
    X(stacks_are_reached_but_stay) \
    X(threads_come_and_go_while_a_device_takes_what_lies_beside_their_stacks) \
    X(a_thread_goes_on_whose_stack_lies_in_memory_that_devices_take) \
    X(a_signal_handler_on_the_heap_touches_what_a_device_has) \
    X(the_heap_itself_moves) \
    X(no_store_is_lost_while_pages_go_back_and_forth) \
    X(a_running_kernel_and_the_host_see_each_others_stores) \
    X(memory_mapped_anew_has_no_policy_and_is_on_the_host) \
    X(unmapped_before_any_device_came_it_has_no_policy_either) \
    X(what_is_moved_keeps_its_bytes) \
    X(what_may_not_be_written_any_more_kernels_may_not_write) \
    X(a_child_sees_what_a_device_had) \
    X(a_child_of_vfork_uses_what_a_device_has) \
    X(a_registered_page_stays) \
    X(a_device_that_is_reset_has_nothing)

#define DEFINE(name) IN_CHILD(name, 0)
#define LIST(name) cmocka_unit_test(test_##name),
TESTS(DEFINE)

int main(void)
{
    const struct CMUnitTest tests[] = { TESTS(LIST) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
