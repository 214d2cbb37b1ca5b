/* Copies and fills of managed memory that was new, on the host or on the device, read mostly or to be on the host:
 * what moves, and in how many batches of faults. An H200 does not repeat the batches of longer ones itself, so LEAST
 * are to be equal, and the bytes of LEAST_BYTES.
 * usage: engines GOLDEN LEAST LEAST_BYTES; without LEAST it prints what it sees, to record */
#include "walk.h"

enum { MOST = 1024 };
static CUdeviceptr device_memory;
static void *pinned, *pageable;

static void some_on_the_host(CUdeviceptr p, size_t pages)
{
    pf(p, pages * PG, dev);
    OK(cuCtxSynchronize());
    adv(p, pages * PG, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, hst);
    cpu(p, pages / 2, 2 * PG, 1);
    adv(p, pages * PG, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, hst);
}

static void prepare(const char *state, CUdeviceptr p, size_t pages)
{
    if (!strcmp(state, "host")) cpu(p, pages, PG, 1);
    if (!strcmp(state, "device")) pf(p, pages * PG, dev);
    if (!strcmp(state, "pages")) some_on_the_host(p, pages);
    if (!strcmp(state, "pieces")) {
        cpu(p, pages, PG, 1);
        for (size_t k = 0; k < pages; k += 32) pf(p + k * PG, 16 * PG, dev);
    }
    if (!strcmp(state, "mostly") || !strcmp(state, "preferred")) {
        adv(p, pages * PG, *state == 'm' ? CU_MEM_ADVISE_SET_READ_MOSTLY : CU_MEM_ADVISE_SET_PREFERRED_LOCATION, hst);
        cpu(p, pages, PG, 1);
    }
}

static void perform(const char *what, CUdeviceptr p, size_t bytes)
{
    if (!strcmp(what, "fill")) OK(cuMemsetD8(p, 1, bytes));
    if (!strcmp(what, "from-pinned")) OK(cuMemcpyHtoD(p, pinned, bytes));
    if (!strcmp(what, "from-pageable")) OK(cuMemcpyHtoD(p, pageable, bytes));
    if (!strcmp(what, "to-pinned")) OK(cuMemcpyDtoH(pinned, p, bytes));
    if (!strcmp(what, "to-pageable")) OK(cuMemcpyDtoH(pageable, p, bytes));
    if (!strcmp(what, "to-device")) OK(cuMemcpyDtoD(device_memory, p, bytes));
    if (!strcmp(what, "from-device")) OK(cuMemcpyDtoD(p, device_memory, bytes));
}

int main(int argc, char **argv)
{
    char line[256], what[32], state[32];
    unsigned total = 0, equal = 0, bytes = 0;
    unsigned long at, n, htod, dtoh, batches;
    size_t pages;
    FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!f) return 2;
    begin_walk(1, &pages);
    OK(cuMemAlloc(&device_memory, MOST * PG));
    OK(cuMemAllocHost(&pinned, MOST * PG));
    pageable = malloc(MOST * PG);
    memset(pageable, 1, MOST * PG);
    while (fgets(line, sizeof line, f)) {
        int fields = sscanf(line, "%31s %31s %lu+%lu | HtoD %lu DtoH %lu gpuPF %lu", what, state, &at, &n, &htod, &dtoh, &batches);
        if (fields < 4 || n + at > MOST + 8) return 3;
        CUdeviceptr p = mk((MOST + 8) * PG);
        prepare(state, p, n + at);
        begin();
        perform(what, p + at * PG, n * PG);
        settle();
        if (argc < 3)
            printf("%s %s %lu+%lu | HtoD %lu DtoH %lu gpuPF %lu\n", what, state, at, n, cnt[1].val, cnt[2].val, cnt[4].n);
        total++;
        bytes += cnt[1].val == htod && cnt[2].val == dtoh;
        equal += cnt[1].val == htod && cnt[2].val == dtoh && cnt[4].n == batches;
        OK(cuMemFree(p));
    }
    if (argc < 4) return 0;
    printf("%u of %u equal, bytes of %u\n", equal, total, bytes);
    return equal < strtoul(argv[2], NULL, 10) || bytes < strtoul(argv[3], NULL, 10);
}
