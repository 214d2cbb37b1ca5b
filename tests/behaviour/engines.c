/* Copies and fills of managed memory that was new, on the host or on the device, read mostly or to be on the host:
 * what moves, and in how many batches of faults. An H200 does not repeat the batches of longer ones itself, so LEAST
 * are to be equal, and the bytes of LEAST_BYTES.
 * usage: engines GOLDEN LEAST LEAST_BYTES; without LEAST it prints what it sees, to record */
#include "engines.h"

enum { MOST = 1024 };

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
    FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!f) return 2;
    begin_engines(MOST);
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
