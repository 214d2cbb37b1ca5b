/* What a core dump of the program would have in it: what the host has, and nothing of devices' memory, every page of
 * which would have to be made for it. Linux says so of each mapping in /proc/self/smaps. A forked child has neither.
 * usage: dumped BYTES   of managed memory that belong into the dump */
#include "../check.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
enum { LARGE = 64, SMALL = 16 };

static const CUmemLocation device = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };

static void map(CUmemAllocationHandleType type)
{
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = device,
                                 .requestedHandleTypes = type };
    CUmemAccessDesc access = { device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemGenericAllocationHandle h;
    CUdeviceptr p;
    CHECK(cuMemCreate(&h, LARGE * MIB, &prop, 0));
    CHECK(cuMemAddressReserve(&p, LARGE * MIB, 0, 0, 0));
    CHECK(cuMemMap(p, LARGE * MIB, 0, h, 0));
    CHECK(cuMemSetAccess(p, LARGE * MIB, &access, 1));
    CHECK(cuMemsetD8(p, 1, LARGE * MIB));
}

static void take_devices_memory(void)
{
    CUmemPoolProps shared = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                              .location = device,
                              .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR };
    CUmemoryPool pool;
    CUdeviceptr p;
    CHECK(cuMemAlloc(&p, LARGE * MIB));
    CHECK(cuMemsetD8(p, 1, LARGE * MIB));
    CHECK(cuMemAllocAsync(&p, LARGE * MIB, NULL));
    CHECK(cuMemsetD8(p, 1, LARGE * MIB));
    CHECK(cuMemPoolCreate(&pool, &shared));
    CHECK(cuMemAllocFromPoolAsync(&p, LARGE * MIB, pool, NULL));
    CHECK(cuMemsetD8(p, 1, LARGE * MIB));
    map(CU_MEM_HANDLE_TYPE_NONE);
    map(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

static bool child_shares_memory(void)
{
    int status;
    pid_t child = fork();
    if (!child) {
        char line[512], sharing;
        FILE *f = fopen("/proc/self/maps", "r");
        while (f && fgets(line, sizeof line, f))
            if (sscanf(line, "%*x-%*x %*c%*c%*c%c", &sharing) == 1 && sharing == 's') _exit(1);
        _exit(!f);
    }
    EXPECT(waitpid(child, &status, 0) == child);
    return status;
}

/* Bytes of [from, to): shared mappings are dumped whole, of private ones what is there. */
static size_t dumped(uintptr_t from, uintptr_t to)
{
    char line[512], sharing = 'p', now;
    uintptr_t start = 0, end = 0, low, high;
    size_t resident = 0, sum = 0;
    FILE *f = fopen("/proc/self/smaps", "r");
    EXPECT(f);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%lx-%lx %*c%*c%*c%c", &low, &high, &now) == 3) start = low, end = high, sharing = now;
        sscanf(line, "Rss: %zu", &resident);
        if (strncmp(line, "VmFlags:", 8) || strstr(line, " dd") || start >= to || end <= from) continue;
        size_t bytes = (end < to ? end : to) - (start > from ? start : from);
        sum += sharing == 's' || resident << 10 > bytes ? bytes : resident << 10;
    }
    fclose(f);
    return sum;
}

int main(int argc, char **argv)
{
    CUdeviceptr managed;
    void *pinned;
    EXPECT(argc == 2);
    check_context();
    take_devices_memory();
    CHECK(cuMemAllocManaged(&managed, SMALL * MIB, CU_MEM_ATTACH_GLOBAL));
    memset((void *)managed, 1, SMALL * MIB);
    CHECK(cuMemAllocHost(&pinned, SMALL * MIB));
    memset(pinned, 1, SMALL * MIB);
    size_t all = dumped(0, UINTPTR_MAX), of_managed = dumped(managed, managed + SMALL * MIB),
           of_pinned = dumped((uintptr_t)pinned, (uintptr_t)pinned + SMALL * MIB);
    printf("%zu bytes, %zu of them managed memory's, %zu pinned memory's\n", all, of_managed, of_pinned);
    EXPECT(of_managed == strtoul(argv[1], NULL, 0));
    EXPECT(of_pinned == SMALL * MIB);
    EXPECT(all < (2 * SMALL + 32) * MIB);
    EXPECT(!child_shares_memory());
    return 0;
}
