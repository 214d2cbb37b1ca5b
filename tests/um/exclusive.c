/* Managed memory where host and kernels take turns. Each test runs in a process of its own.
 * usage: FAULTLINE_PROFILE=wddm FAULTLINE_VRAM=64M FAULTLINE_DEVICES=2 exclusive */
#include "rig.h"

#include <faultline.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

static const char kernels[] = PTX_HEADER PTX_POKE;
static const char waiting[] = PTX_HEADER
    ".visible .entry wait(.param .u64 at) { .reg .pred %p; .reg .b32 %r; .reg .b64 %a; ld.param.u64 %a, [at];\n"
    "L: ld.volatile.global.u32 %r, [%a]; setp.eq.u32 %p, %r, 0; @%p bra L; ret; }\n";

static const CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
static CUfunction poke_kernel;
static CUstream streams[2];

static void start(void)
{
    poke_kernel = function_of(start_with(0, kernels), "poke");
    for (int k = 0; k < 2; k++) CHECK(cuStreamCreate(&streams[k], CU_STREAM_NON_BLOCKING));
}

static void poke(CUdeviceptr at, uint32_t value, CUstream s)
{
    void *parameters[] = { &at, &value };
    CHECK(cuLaunchKernel(poke_kernel, 1, 1, 1, 1, 1, 1, 0, s, parameters, NULL));
}

static CUdeviceptr managed(size_t size, unsigned flags)
{
    CUdeviceptr p;
    CHECK(cuMemAllocManaged(&p, size, flags));
    return p;
}

static void after_a_launch_the_host_may_not_touch_managed_memory(void)
{
    CUdeviceptr p = managed(MIB, CU_MEM_ATTACH_GLOBAL), other = managed(4 * MIB, CU_MEM_ATTACH_GLOBAL);
    *(volatile int *)other = 1;
    poke(p, 5, streams[0]);
    usleep(20000); /* the kernel is done, but nobody has waited for it */
    *(volatile int *)other = 2;
}

static void every_way_to_wait_gives_it_back(void)
{
    CUdeviceptr p = managed(4 * MIB, CU_MEM_ATTACH_GLOBAL);
    volatile uint32_t *word = (void *)p;
    CUevent e;
    uint32_t copy;
    CHECK(cuEventCreate(&e, CU_EVENT_DEFAULT));
    for (uint32_t way = 0; way < 6; way++) {
        word[0] = 1000;
        word[MIB / 2] = way;
        poke(p, way, streams[0]);
        switch (way) {
        case 0: CHECK(cuCtxSynchronize()); break;
        case 1: CHECK(cuStreamSynchronize(streams[0])); break;
        case 2:
            while (cuStreamQuery(streams[0]) == CUDA_ERROR_NOT_READY) usleep(100);
            break;
        case 3:
            CHECK(cuEventRecord(e, streams[0]));
            CHECK(cuEventSynchronize(e));
            break;
        case 4:
            CHECK(cuEventRecord(e, streams[0]));
            while (cuEventQuery(e) == CUDA_ERROR_NOT_READY) usleep(100);
            break;
        default:
            CHECK(cuStreamSynchronize(streams[0]));
            poke(p, way, NULL);
            CHECK(cuMemcpyDtoH(&copy, p, 4));
            EXPECT_EQUAL(copy, way);
        }
        EXPECT_EQUAL(word[0], way);
        EXPECT_EQUAL(word[MIB / 2], way);
    }
}

static void what_is_attached_to_the_host_stays_with_it(void)
{
    CUdeviceptr p = managed(MIB, CU_MEM_ATTACH_GLOBAL), mine = managed(4 * MIB, CU_MEM_ATTACH_HOST);
    poke(p, 5, streams[0]);
    *(volatile int *)mine = 2;
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(*(int *)mine, 2);
    EXPECT_EQUAL(*(int *)p, 5);
    CHECK(cuStreamAttachMemAsync(streams[0], mine, 0, CU_MEM_ATTACH_GLOBAL));
    poke(mine, 7, streams[0]);
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(*(int *)mine, 7);
    CHECK(cuStreamAttachMemAsync(streams[0], mine, 0, CU_MEM_ATTACH_HOST));
    CHECK(cuStreamSynchronize(streams[0]));
    poke(p, 6, streams[0]);
    EXPECT_EQUAL(*(volatile int *)mine, 7);
}

static void a_kernel_may_not_touch_what_is_attached_to_the_host(void)
{
    CUdeviceptr mine = managed(4 * MIB, CU_MEM_ATTACH_HOST);
    *(int *)mine = 1;
    poke(mine, 5, streams[0]);
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void what_is_attached_to_an_idle_stream_is_the_hosts(void)
{
    CUdeviceptr p = managed(4 * MIB, CU_MEM_ATTACH_GLOBAL), own = managed(4 * MIB, CU_MEM_ATTACH_GLOBAL);
    CHECK(cuStreamAttachMemAsync(streams[1], own, 0, CU_MEM_ATTACH_SINGLE));
    CHECK(cuStreamSynchronize(streams[1]));
    poke(p, 1, streams[0]);
    *(volatile int *)own = 3;
    CHECK(cuCtxSynchronize());
    poke(own, 4, streams[1]);
    CHECK(cuStreamSynchronize(streams[1]));
    EXPECT_EQUAL(*(int *)own, 4);
}

static void what_is_attached_to_a_busy_stream_is_not(void)
{
    CUdeviceptr own = managed(4 * MIB, CU_MEM_ATTACH_GLOBAL);
    CHECK(cuStreamAttachMemAsync(streams[1], own, 0, CU_MEM_ATTACH_SINGLE));
    CHECK(cuStreamSynchronize(streams[1]));
    *(volatile int *)own = 3;
    poke(own, 4, streams[1]);
    *(volatile int *)own = 5;
}

static void a_destroyed_streams_memory_is_everybodys(void)
{
    CUdeviceptr own = managed(4 * MIB, CU_MEM_ATTACH_GLOBAL);
    CHECK(cuStreamAttachMemAsync(streams[1], own, 0, CU_MEM_ATTACH_SINGLE));
    CHECK(cuStreamSynchronize(streams[1]));
    CHECK(cuStreamDestroy(streams[1]));
    *(volatile int *)own = 3;
    poke(own, 4, streams[0]);
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(*(int *)own, 4);
}

static void advice_to_devices_and_prefetches_are_refused(void)
{
    CUdeviceptr p = managed(4 * MIB, CU_MEM_ATTACH_GLOBAL);
    CUmemLocation host = { .type = CU_MEM_LOCATION_TYPE_HOST };
    int v;
    ANSWERS(cuMemAdvise(p, MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device), CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(cuMemAdvise(p, MIB, CU_MEM_ADVISE_SET_ACCESSED_BY, device), CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuMemAdvise(p, MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
    CHECK(cuMemAdvise(p, MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
    CHECK(cuMemRangeGetAttribute(&v, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, MIB));
    EXPECT_EQUAL(v, 1);
    ANSWERS(cuMemPrefetchAsync(p, MIB, device, 0, NULL), CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(cuMemPrefetchAsync(p, MIB, host, 0, NULL), CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(cuMemPrefetchAsync(p, 0, host, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    *(volatile int *)p = 1;
    poke(p, 9, NULL);
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(*(int *)p, 9);
}

static void touch(void *at) { ++*(volatile uint32_t *)at; }

static void a_host_function_may_touch_what_its_stream_left(void)
{
    CUdeviceptr p = managed(4 * MIB, CU_MEM_ATTACH_GLOBAL);
    poke(p, 5, streams[0]);
    CHECK(cuLaunchHostFunc(streams[0], touch, (void *)p));
    CHECK(cuStreamSynchronize(streams[0]));
    EXPECT_EQUAL(*(uint32_t *)p, 6);
}

static void a_graphs_host_node_may_touch_what_its_branches_left(void)
{
    CUdeviceptr p = managed(4 * MIB, CU_MEM_ATTACH_GLOBAL);
    CUevent forked, joined;
    CUgraph graph;
    CUgraphExec executable;
    CHECK(cuEventCreate(&forked, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING));
    CHECK(cuStreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(cuEventRecord(forked, streams[0]));
    CHECK(cuStreamWaitEvent(streams[1], forked, 0));
    poke(p, 5, streams[0]);
    poke(p + MIB, 6, streams[1]);
    CHECK(cuEventRecord(joined, streams[1]));
    CHECK(cuStreamWaitEvent(streams[0], joined, 0));
    CHECK(cuLaunchHostFunc(streams[0], touch, (void *)p));
    CHECK(cuStreamEndCapture(streams[0], &graph));
    CHECK(cuGraphInstantiate(&executable, graph, 0));
    CHECK(cuGraphLaunch(executable, streams[0]));
    CHECK(cuStreamSynchronize(streams[0]));
    EXPECT_EQUAL(*(uint32_t *)p, 6);
}

static atomic_bool touched;
static void touch_and_tell(void *at)
{
    touch(at);
    touched = true;
}

static void after_a_host_function_the_next_kernel_has_the_memory(void)
{
    CUdeviceptr p = managed(4 * MIB, CU_MEM_ATTACH_GLOBAL);
    poke(p, 5, streams[0]);
    CHECK(cuLaunchHostFunc(streams[0], touch_and_tell, (void *)p));
    poke(p + 64, 7, streams[0]);
    while (!touched) usleep(1000);
    for (;; usleep(1000)) *(volatile uint32_t *)p = 1; /* its thread may be slow to come back */
}

/* ---- while other threads look for streams that are idle */

static sigjmp_buf back;
static void on_segv(int number) { siglongjmp(back, number); }

static void catch_refusals(void)
{
    sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = on_segv, .sa_flags = SA_NODEFER }, NULL);
}

static bool host_touches(CUdeviceptr at)
{
    if (sigsetjmp(back, 1)) return false;
    *(volatile uint32_t *)at = 1;
    return true;
}

/* *go_on: what it waits for. */
static CUfunction waiting_kernel(volatile uint32_t **go_on)
{
    CUmodule m;
    CUfunction f;
    CHECK(cuModuleLoadData(&m, waiting));
    CHECK(cuModuleGetFunction(&f, m, "wait"));
    CHECK(cuMemAllocHost((void **)go_on, 4));
    return f;
}

static void run_until_told(CUfunction wait_kernel, volatile uint32_t **go_on, CUstream s)
{
    void *parameters[] = { (void *)go_on };
    **go_on = 0;
    CHECK(cuLaunchKernel(wait_kernel, 1, 1, 1, 1, 1, 1, 0, s, parameters, NULL));
}

static atomic_bool enough;
static void *look_for_idle_streams(void *arg)
{
    CUcontext c;
    CHECK(cuDevicePrimaryCtxRetain(&c, 0));
    CHECK(cuCtxSetCurrent(c));
    while (!enough) CHECK(cuStreamSynchronize(streams[1]));
    return arg;
}

static void a_launch_on_its_way_is_not_idle(void)
{
    volatile uint32_t *go_on;
    CUfunction wait_kernel = waiting_kernel(&go_on);
    CUdeviceptr p = managed(4 * MIB, CU_MEM_ATTACH_GLOBAL);
    pthread_t looker;
    catch_refusals();
    pthread_create(&looker, NULL, look_for_idle_streams, NULL);
    for (unsigned k = 0; k < 20000; k++) {
        run_until_told(wait_kernel, &go_on, streams[0]);
        bool touches = host_touches(p);
        *go_on = 1;
        EXPECT(!touches);
        CHECK(cuStreamSynchronize(streams[0]));
    }
    enough = true;
    pthread_join(looker, NULL);
}

/* What it may have touched for a moment more is not its after that. */
static void a_kernel_behind_a_host_function_has_the_memory_whenever_it_comes(void)
{
    volatile uint32_t *go_on;
    CUfunction wait_kernel = waiting_kernel(&go_on);
    CUdeviceptr p = managed(4 * MIB, CU_MEM_ATTACH_GLOBAL);
    catch_refusals();
    for (unsigned k = 0; k < 2000; k++) {
        touched = false;
        poke(p, k, streams[0]);
        CHECK(cuLaunchHostFunc(streams[0], touch_and_tell, (void *)p));
        while (k % 2 && !touched) sched_yield();
        run_until_told(wait_kernel, &go_on, streams[0]);
        while (!touched || host_touches(p)) sched_yield();
        *go_on = 1;
        CHECK(cuStreamSynchronize(streams[0]));
    }
}

/* By the end of one stream the other's kernels are known to be done, though that has not got over its wait yet. */
static void who_waited_for_all_kernels_may_touch(void)
{
    CUdeviceptr p = managed(4 * MIB, CU_MEM_ATTACH_GLOBAL);
    CUevent first, second;
    CHECK(cuEventCreate(&first, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventCreate(&second, CU_EVENT_DISABLE_TIMING));
    for (uint32_t k = 0; k < 3000; k++) {
        poke(p, k, streams[1]);
        CHECK(cuEventRecord(first, streams[1]));
        CHECK(cuStreamWaitEvent(streams[0], first, 0));
        if (k % 2) CHECK(cuLaunchHostFunc(streams[0], touch_and_tell, (void *)(p + 4)));
        poke(p + 64, k, streams[0]);
        CHECK(cuEventRecord(second, streams[0]));
        CHECK(cuStreamWaitEvent(streams[1], second, 0));
        if (k % 3)
            CHECK(cuStreamSynchronize(streams[0]));
        else
            while (cuEventQuery(second) == CUDA_ERROR_NOT_READY) sched_yield();
        EXPECT_EQUAL(*(volatile uint32_t *)p, k);
    }
}

static void what_becomes_global_while_a_kernel_runs_is_not_the_hosts(void)
{
    CUdeviceptr p = managed(4 * MIB, CU_MEM_ATTACH_GLOBAL), mine = managed(4 * MIB, CU_MEM_ATTACH_HOST);
    poke(p, 5, streams[0]);
    *(volatile uint32_t *)mine = 1;
    CHECK(cuStreamAttachMemAsync(streams[1], mine, 0, CU_MEM_ATTACH_GLOBAL));
    *(volatile uint32_t *)mine = 2;
}

static void devices_share_what_one_of_them_has(void)
{
    CUcontext other;
    CUmodule m;
    CUfunction f;
    CUdeviceptr p = managed(4 * MIB, CU_MEM_ATTACH_GLOBAL);
    uint8_t at;
    uint32_t value = 8;
    void *parameters[] = { &p, &value };
    *(uint32_t *)p = 1;
    CHECK(cuDevicePrimaryCtxRetain(&other, 1));
    CHECK(cuCtxPushCurrent(other));
    CHECK(cuModuleLoadData(&m, kernels));
    CHECK(cuModuleGetFunction(&f, m, "poke"));
    CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(faultline_residency((void *)p, 1, &at), 0);
    EXPECT_EQUAL(at, FAULTLINE_ON_DEVICE); /* device 0's, whose context made it */
    EXPECT_EQUAL(*(uint32_t *)p, 8);
    CHECK(cuMemAdvise(p, 4 * MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                      (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST }));
    CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    CHECK(cuCtxSynchronize());
    CHECK(cuCtxPopCurrent(&other));
    poke(p, 9, NULL);
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(faultline_residency((void *)p, 1, &at), 0);
    EXPECT_EQUAL(at, FAULTLINE_ON_HOST);
    EXPECT_EQUAL(*(uint32_t *)p, 9);
}

/* ---- at random */

enum { MEMORIES = 6, STEPS = 1500 };
static struct {
    CUdeviceptr at;
    unsigned attached;
    int stream;
} memory[MEMORIES];
static volatile uint32_t *go_on[2]; /* what a stream's kernel waits for */
static bool busy[2];

static bool host_may_touch(int k)
{
    if (memory[k].attached == CU_MEM_ATTACH_HOST) return true;
    return memory[k].attached == CU_MEM_ATTACH_SINGLE ? !busy[memory[k].stream] : !busy[0] && !busy[1];
}

static void begin_work(CUfunction wait_kernel, int s)
{
    run_until_told(wait_kernel, &go_on[s], streams[s]);
    busy[s] = true;
    for (int k = 0; k < MEMORIES; k++)
        if (memory[k].attached == CU_MEM_ATTACH_GLOBAL ||
            (memory[k].attached == CU_MEM_ATTACH_SINGLE && memory[k].stream == s))
            poke(memory[k].at, 7, streams[s]);
}

/* No kernel that runs may be using it. */
static void attach(int k, int s, unsigned flags)
{
    bool used = memory[k].attached != CU_MEM_ATTACH_HOST && !host_may_touch(k);
    if (used || busy[s]) return;
    CHECK(cuStreamAttachMemAsync(streams[s], memory[k].at, 0, flags));
    CHECK(cuStreamSynchronize(streams[s]));
    memory[k].attached = flags;
    memory[k].stream = s;
}

static void attach_at_random(size_t size)
{
    static const unsigned flags[] = { CU_MEM_ATTACH_GLOBAL, CU_MEM_ATTACH_HOST, CU_MEM_ATTACH_SINGLE };
    CUfunction wait_kernel = NULL;
    unsigned seed = (unsigned)size;
    for (int s = 0; s < 2; s++) wait_kernel = waiting_kernel(&go_on[s]);
    catch_refusals();
    for (int k = 0; k < MEMORIES; k++) {
        memory[k].attached = flags[k % 2];
        memory[k].at = managed(size, memory[k].attached);
    }
    for (int step = 0; step < STEPS; step++) {
        int k = rand_r(&seed) % MEMORIES, s = rand_r(&seed) % 2, what = rand_r(&seed) % 10;
        if (what < 5) {
            EXPECT_EQUAL(host_touches(memory[k].at + rand_r(&seed) % size / 4 * 4), host_may_touch(k));
        } else if (what < 6) {
            attach(k, s, flags[rand_r(&seed) % 3]);
        } else if (busy[s]) {
            *go_on[s] = 1;
            CHECK(cuStreamSynchronize(streams[s]));
            busy[s] = false;
        } else {
            begin_work(wait_kernel, s);
        }
    }
    for (int s = 0; s < 2; s++) *go_on[s] = 1;
    CHECK(cuCtxSynchronize());
}

static void memory_that_shares_a_block_has_one_owner_each(void) { attach_at_random(64 << 10); }
static void memory_of_its_own_has_one_owner(void) { attach_at_random(2 * MIB); }

static void no_more_can_be_allocated_than_the_device_has(void)
{
    CUdeviceptr p;
    ANSWERS(cuMemAllocManaged(&p, 128 * MIB, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(cuMemAllocManaged(&p, 32 * MIB, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemAlloc(&p, 24 * MIB));
    ANSWERS(cuMemAllocManaged(&p, 16 * MIB, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_OUT_OF_MEMORY);
}

static _Atomic int rounds;
static _Atomic bool over;

/* Reads into managed memory all the time, whoever has it. */
static void *read_into(void *at)
{
    int zeros = open("/dev/zero", O_RDONLY);
    while (!over) {
        ssize_t n = read(zeros, (char *)at + 2048, 8);
        EXPECT(n > 0 || (n < 0 && errno == EFAULT)); /* fewer bytes than 8 if the page goes meanwhile */
        rounds++;
    }
    close(zeros);
    return NULL;
}

static void a_refused_system_call_is_in_nobodys_way(void)
{
    CUdeviceptr p = managed(4096, CU_MEM_ATTACH_GLOBAL);
    pthread_t reader;
    pthread_create(&reader, NULL, read_into, (void *)p);
    for (uint32_t k = 0; k < 300; k++) {
        int before = rounds;
        poke(p, k, streams[0]);
        while (rounds == before) usleep(1);
        CHECK(cuStreamSynchronize(streams[0]));
        EXPECT_EQUAL(*(volatile uint32_t *)p, k);
    }
    over = true;
    pthread_join(reader, NULL);
}

static size_t free_bytes(void)
{
    size_t free, total;
    CHECK(cuMemGetInfo(&free, &total));
    return free;
}

static void managed_memory_takes_the_devices_before_it_is_touched(void)
{
    CUdeviceptr small, large, other;
    size_t before = free_bytes();
    small = managed(64 << 10, CU_MEM_ATTACH_GLOBAL);
    large = managed(40 * MIB, CU_MEM_ATTACH_GLOBAL);
    EXPECT_EQUAL(before - free_bytes(), 42 * MIB);
    ANSWERS(cuMemAlloc(&other, 24 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
    poke(large, 1, NULL);
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(before - free_bytes(), 42 * MIB);
    CHECK(cuMemFree(small));
    CHECK(cuMemFree(large));
    EXPECT_EQUAL(free_bytes(), before);
    CHECK(cuMemAlloc(&other, 40 * MIB));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE_ENDS(start, after_a_launch_the_host_may_not_touch_managed_memory, SIGSEGV),
        ALONE(start, every_way_to_wait_gives_it_back),
        ALONE(start, what_is_attached_to_the_host_stays_with_it),
        ALONE(start, a_kernel_may_not_touch_what_is_attached_to_the_host),
        ALONE(start, what_is_attached_to_an_idle_stream_is_the_hosts),
        ALONE_ENDS(start, what_is_attached_to_a_busy_stream_is_not, SIGSEGV),
        ALONE(start, a_destroyed_streams_memory_is_everybodys),
        ALONE(start, advice_to_devices_and_prefetches_are_refused),
        ALONE(start, a_host_function_may_touch_what_its_stream_left),
        ALONE(start, a_graphs_host_node_may_touch_what_its_branches_left),
        ALONE_ENDS(start, after_a_host_function_the_next_kernel_has_the_memory, SIGSEGV),
        ALONE(start, a_launch_on_its_way_is_not_idle),
        ALONE(start, a_kernel_behind_a_host_function_has_the_memory_whenever_it_comes),
        ALONE(start, who_waited_for_all_kernels_may_touch),
        ALONE_ENDS(start, what_becomes_global_while_a_kernel_runs_is_not_the_hosts, SIGSEGV),
        ALONE(start, devices_share_what_one_of_them_has),
        ALONE(start, memory_that_shares_a_block_has_one_owner_each),
        ALONE(start, memory_of_its_own_has_one_owner),
        ALONE(start, a_refused_system_call_is_in_nobodys_way),
        ALONE(start, no_more_can_be_allocated_than_the_device_has),
        ALONE(start, managed_memory_takes_the_devices_before_it_is_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
