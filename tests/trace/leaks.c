/* What `faultline run --leaks` is to find, or not. usage: leaks CASE [PATH] */
#include "../check.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define MIB ((size_t)1 << 20)
enum { PIECES = 10000, THREADS = 8, TOO_MANY = 66000 };

static const CUmemLocation device = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };
static const CUmemAllocationProp on_device = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                               .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };

#define FOUND __attribute__((noinline)) /* by its name */

static void use_device(void)
{
    CUcontext c;
    CHECK(cuDevicePrimaryCtxRetain(&c, 0));
    CHECK(cuCtxSetCurrent(c));
}

struct everything {
    CUdeviceptr memory, pitched, managed, pooled, of_pool, addresses;
    void *pinned, *also_pinned, *registered;
    CUarray array;
    CUmipmappedArray levels;
    CUmemGenericAllocationHandle handle, again;
    CUmemoryPool pool;
};

FOUND static void take_memory(struct everything *e)
{
    size_t pitch;
    CHECK(cuMemAlloc(&e->memory, 3 * MIB));
    CHECK(cuMemAllocPitch(&e->pitched, &pitch, 100, 10, 4));
    CHECK(cuMemAllocManaged(&e->managed, 5 * MIB, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemAllocHost(&e->pinned, 5000));
    CHECK(cuMemHostAlloc(&e->also_pinned, 100, 0));
    e->registered = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(e->registered != MAP_FAILED);
    CHECK(cuMemHostRegister(e->registered, MIB, 0));
}

FOUND static void take_arrays(struct everything *e)
{
    const CUDA_ARRAY3D_DESCRIPTOR square = { 64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0 };
    CHECK(cuArray3DCreate(&e->array, &square));
    CHECK(cuMipmappedArrayCreate(&e->levels, &square, 2));
}

FOUND static void take_pools(struct everything *e)
{
    const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = device };
    CHECK(cuMemAllocAsync(&e->pooled, 1000, NULL));
    CHECK(cuMemPoolCreate(&e->pool, &props));
    CHECK(cuMemAllocFromPoolAsync(&e->of_pool, 2 * MIB, e->pool, CU_STREAM_PER_THREAD));
}

FOUND static void take_mapped(struct everything *e)
{
    CHECK(cuMemAddressReserve(&e->addresses, 8 * MIB, 0, 0, 0));
    CHECK(cuMemCreate(&e->handle, 4 * MIB, &on_device, 0));
    CHECK(cuMemMap(e->addresses, 4 * MIB, 0, e->handle, 0));
    CHECK(cuMemMap(e->addresses + 4 * MIB, 4 * MIB, 0, e->handle, 0));
    CHECK(cuMemRetainAllocationHandle(&e->again, (void *)e->addresses));
}

static void take_everything(struct everything *e)
{
    take_memory(e);
    take_arrays(e);
    take_pools(e);
    take_mapped(e);
}

static void give_everything(const struct everything *e)
{
    CHECK(cuMemFree(e->memory));
    CHECK(cuMemFree(e->pitched));
    CHECK(cuMemFree(e->managed));
    CHECK(cuMemFreeHost(e->pinned));
    CHECK(cuMemFreeHost(e->also_pinned));
    CHECK(cuMemHostUnregister(e->registered));
    CHECK(cuArrayDestroy(e->array));
    CHECK(cuMipmappedArrayDestroy(e->levels));
    CHECK(cuMemFreeAsync(e->pooled, CU_STREAM_PER_THREAD));
    CHECK(cuMemFree(e->of_pool));
    CHECK(cuMemPoolDestroy(e->pool));
    CHECK(cuMemUnmap(e->addresses, 8 * MIB));
    CHECK(cuMemRelease(e->handle));
    CHECK(cuMemRelease(e->again));
    CHECK(cuMemAddressFree(e->addresses, 8 * MIB));
}

/* Calls that fail take nothing and give nothing. */
static void fail(void)
{
    CUdeviceptr p, q;
    CHECK(cuMemAlloc(&p, 7 * MIB));
    ANSWERS(cuMemFree(p + 256), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemFreeHost((void *)p), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemHostUnregister((void *)p), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    ANSWERS(cuMemAlloc(&q, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemRelease(12345), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemFree(0));
}

/* What a graph allocates is the graph's. */
static void capture(void)
{
    CUstream s;
    CUgraph g;
    CUgraphExec x;
    CUdeviceptr p;
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(cuMemAllocAsync(&p, MIB, s));
    CHECK(cuMemFreeAsync(p, s));
    CHECK(cuStreamEndCapture(s, &g));
    CHECK(cuGraphInstantiate(&x, g, 0));
    CHECK(cuGraphLaunch(x, s));
    CHECK(cuStreamSynchronize(s));
}

static void *come_and_go(void *unused)
{
    (void)unused;
    use_device();
    for (int k = 0; k < 100; k++) {
        CUdeviceptr p[10];
        for (int i = 0; i < 10; i++) CHECK(i % 2 ? cuMemAlloc(&p[i], 1000) : cuMemAllocAsync(&p[i], 1000, NULL));
        for (int i = 0; i < 10; i++) CHECK(i % 2 ? cuMemFree(p[i]) : cuMemFreeAsync(p[i], NULL));
    }
    CHECK(cuDevicePrimaryCtxRelease(0));
    return NULL;
}

static void many_threads(void)
{
    pthread_t thread[THREADS];
    for (int k = 0; k < THREADS; k++) EXPECT(!pthread_create(&thread[k], NULL, come_and_go, NULL));
    for (int k = 0; k < THREADS; k++) EXPECT(!pthread_join(thread[k], NULL));
}

static void many_pieces(int n, bool give)
{
    CUdeviceptr *p = calloc((size_t)n, sizeof *p);
    EXPECT(p);
    for (int k = 0; k < n; k++) CHECK(cuMemAlloc(&p[k], 512));
    for (int k = 0; give && k < n; k++) CHECK(cuMemFree(p[(size_t)k * 7919 % (size_t)n]));
    free(p);
}

/* What the ledger has no room for is given back like anything else, and what comes then has room again. */
static void many_come_and_go(void)
{
    struct everything e;
    CUdeviceptr p;
    many_pieces(TOO_MANY, false);
    take_everything(&e);
    give_everything(&e);
    CHECK(cuDevicePrimaryCtxReset(0));
    use_device();
    many_pieces(TOO_MANY, true);
    CHECK(cuMemAlloc(&p, 7 * MIB));
}

/* A child has a ledger of its own, and none of its parent's memory. */
static void have_a_child(void)
{
    CUdeviceptr p;
    int status;
    CHECK(cuMemAlloc(&p, MIB));
    pid_t child = fork();
    if (!child) {
        ANSWERS(cuMemFree(p), CUDA_ERROR_NOT_INITIALIZED);
        _exit(0);
    }
    EXPECT_EQUAL(waitpid(child, &status, 0), child);
    EXPECT_EQUAL(status, 0);
    CHECK(cuMemFree(p));
}

/* Leaves a child behind that has memory until somebody opens the FIFO, and says nothing. */
static void leave_a_child(const char *path)
{
    CUdeviceptr p;
    int ready[2];
    char c;
    EXPECT(!pipe(ready));
    if (fork()) {
        EXPECT_EQUAL(close(ready[1]), 0);
        EXPECT_EQUAL(read(ready[0], &c, 1), 1);
        return;
    }
    EXPECT(freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr));
    CHECK(cuInit(0));
    use_device();
    CHECK(cuMemAlloc(&p, MIB));
    EXPECT_EQUAL(write(ready[1], "", 1), 1);
    const int to = open(path, O_WRONLY);
    EXPECT(to >= 0);
    CHECK(cuMemFree(p));
    EXPECT_EQUAL(close(to), 0);
    _exit(0);
}

static struct everything late;
__attribute__((destructor)) static void give_late(void)
{
    if (late.memory) give_everything(&late);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    struct everything e;
    if (!strcmp(what, "cleared")) EXPECT(!clearenv());
    if (!strcmp(what, "left")) {
        leave_a_child(argv[2]);
        return 0;
    }
    CHECK(cuInit(0));
    use_device();
    if (!strcmp(what, "threads")) many_threads();
    if (!strcmp(what, "pieces")) many_pieces(PIECES, true);
    if (!strcmp(what, "too many")) many_pieces(TOO_MANY, false);
    if (!strcmp(what, "come and go")) many_come_and_go();
    if (!strcmp(what, "fails")) fail();
    if (!strcmp(what, "captures")) capture();
    if (!strcmp(what, "child")) have_a_child();
    if (!strcmp(what, "late")) take_everything(&late);
    if (!strcmp(what, "gives") || !strcmp(what, "keeps") || !strcmp(what, "resets")) take_everything(&e);
    if (!strcmp(what, "gives")) give_everything(&e);
    if (!strcmp(what, "resets")) CHECK(cuDevicePrimaryCtxReset(0));
    if (!strcmp(what, "cleared")) take_pools(&e);
    if (!strcmp(what, "killed") || !strcmp(what, "status 3")) take_memory(&e);
    if (!strcmp(what, "killed")) raise(SIGKILL);
    return !strcmp(what, "status 3") ? 3 : 0;
}
