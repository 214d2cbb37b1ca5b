/* Programs that lock all their memory (mlockall), before cuInit and after: their own is made at once, devices' is not, nor
 * managed memory that nobody has touched, which faults and migrates as ever. */
#include "../check.h"
#include "../usage.h"

#include <faultline.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define MIB ((size_t)1 << 20)
enum { SKIPPED = 77, OWN = 16, MANAGED = 64, DEVICES_MOST_KIB = 8 << 10 };

/* If devices' memory were made, too, there should not be much of it. */
static void limit_addresses(void)
{
    struct rlimit few = { 8ul << 30, 8ul << 30 };
    EXPECT_EQUAL(setrlimit(RLIMIT_AS, &few), 0);
}

static long status_kib(const char *what)
{
    char line[256];
    long kib = -1;
    const size_t n = strlen(what);
    FILE *f = fopen("/proc/self/status", "r");
    EXPECT(f);
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, what, n)) kib = atol(line + n);
    fclose(f);
    return kib;
}

static uint64_t host_faults(void)
{
    struct faultline_counters c;
    EXPECT_EQUAL(faultline_get_counters(&c), 0);
    return c.cpu_faults;
}

static void use_managed_memory(void)
{
    const CUmemLocation device = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };
    const uint64_t before = host_faults();
    CUdeviceptr p, d;
    CHECK(cuMemAllocManaged(&p, MANAGED * MIB, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemAlloc(&d, MANAGED * MIB));
    volatile char *byte = (char *)p;
    *byte = 7;
    EXPECT_EQUAL(host_faults() - before, 1);
    CHECK(cuMemPrefetchAsync(p, MIB, device, 0, NULL));
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(*byte, 7);
    EXPECT_EQUAL(host_faults() - before, 2);
    CHECK(cuMemFree(p));
    CHECK(cuMemFree(d));
}

static void lock(int flags, char **own)
{
    *own = mmap(NULL, OWN * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(*own != MAP_FAILED);
    EXPECT_EQUAL(mlockall(flags), 0);
}

static int program(int flags, int when)
{
    CUcontext c;
    char *own;
    limit_addresses();
    if (when == 0) lock(flags, &own);
    CHECK(cuInit(0));
    if (when == 1) lock(flags, &own);
    CHECK(cuDevicePrimaryCtxRetain(&c, 0));
    CHECK(cuCtxSetCurrent(c));
    use_managed_memory();
    if (when == 2) lock(flags, &own);
    use_managed_memory();
    EXPECT(status_kib("RssShmem:") < DEVICES_MOST_KIB);
    EXPECT(!(flags & MCL_CURRENT) || status_kib("VmLck:") >= OWN << 10);
    bool made = flags & MCL_CURRENT && !(flags & MCL_ONFAULT);
    EXPECT(!made || resident_kib() >= OWN << 10);
    return 0;
}

static bool may_lock(void)
{
    struct rlimit most;
    unsigned long long capabilities = 0;
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    EXPECT(f);
    while (fgets(line, sizeof line, f)) sscanf(line, "CapEff: %llx", &capabilities);
    fclose(f);
    return capabilities >> CAP_IPC_LOCK & 1 || (!getrlimit(RLIMIT_MEMLOCK, &most) && most.rlim_cur == RLIM_INFINITY);
}

static void run(int flags, int when)
{
    static const char *const names[] = { "before cuInit", "before the context", "in between" };
    int status;
    pid_t child = fork();
    if (!child) _exit(program(flags, when));
    EXPECT_EQUAL(waitpid(child, &status, 0), child);
    if (status) printf("mlockall(%d) %s: status %d\n", flags, names[when], status);
    EXPECT_EQUAL(status, 0);
}

int main(void)
{
    static const int flags[] = { MCL_CURRENT, MCL_FUTURE, MCL_CURRENT | MCL_FUTURE, MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT };
    if (!may_lock()) {
        puts("SKIP: this process may not lock much memory (RLIMIT_MEMLOCK)");
        return SKIPPED;
    }
    for (unsigned k = 0; k < sizeof flags / sizeof *flags; k++)
        for (int when = 0; when < 3; when++) run(flags[k], when);
    return 0;
}
