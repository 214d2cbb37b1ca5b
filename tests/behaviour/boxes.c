/* Copies and fills in two and three dimensions of managed memory that was new, on the host, or to be there: what moves,
 * and in how many batches of faults. An H200 does not repeat the batches of larger ones itself: those of LEAST are to be
 * the same within one, and the bytes of LEAST_BYTES.
 * usage: boxes GOLDEN LEAST LEAST_BYTES; without LEAST it prints what it sees, to record */
#include "engines.h"

enum { MOST = 2304 };
struct box {
    size_t pitch, width, rows, depth, high;
};

static size_t pages_of(const struct box *b)
{
    return (((b->depth - 1) * b->high + b->rows) * b->pitch + PG - 1) / PG;
}

static void perform_box(const char *what, CUdeviceptr p, const struct box *b)
{
    CUDA_MEMCPY3D c = { .WidthInBytes = b->width, .Height = b->rows, .Depth = b->depth };
    const bool to = !strncmp(what, "from-", 5), device = strstr(what, "device") != NULL;
    void *const host = strstr(what, "pinned") ? pinned : pageable;
    if (!strcmp(what, "fill")) {
        OK(cuMemsetD2D8(p, b->pitch, 1, b->width, b->rows));
        return;
    }
    c.dstMemoryType = c.srcMemoryType = device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    c.dstDevice = c.srcDevice = device_memory;
    c.dstHost = c.srcHost = host;
    c.dstPitch = c.srcPitch = b->width;
    c.dstHeight = c.srcHeight = b->rows;
    if (to) {
        c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        c.dstDevice = p;
        c.dstPitch = b->pitch;
        c.dstHeight = b->high;
    } else {
        c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
        c.srcDevice = p;
        c.srcPitch = b->pitch;
        c.srcHeight = b->high;
    }
    OK(cuMemcpy3D(&c));
}

int main(int argc, char **argv)
{
    char line[256], what[32], state[32];
    unsigned total = 0, near = 0, bytes = 0;
    unsigned long htod, dtoh, batches;
    FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!f) return 2;
    begin_engines(MOST);
    while (fgets(line, sizeof line, f)) {
        struct box b;
        int fields = sscanf(line, "%31s %31s %zu/%zu %zu*%zu/%zu | HtoD %lu DtoH %lu gpuPF %lu", what, state, &b.width,
                            &b.pitch, &b.rows, &b.depth, &b.high, &htod, &dtoh, &batches);
        if (fields < 7 || pages_of(&b) > MOST) return 3;
        CUdeviceptr p = mk(MOST * PG);
        prepare(state, p, pages_of(&b));
        begin();
        perform_box(what, p, &b);
        settle();
        if (argc < 3)
            printf("%s %s %zu/%zu %zu*%zu/%zu | HtoD %lu DtoH %lu gpuPF %lu\n", what, state, b.width, b.pitch, b.rows,
                   b.depth, b.high, cnt[1].val, cnt[2].val, cnt[4].n);
        const bool same = fields == 10 && cnt[1].val == htod && cnt[2].val == dtoh;
        total++;
        bytes += same;
        near += same && cnt[4].n + 1 >= batches && cnt[4].n <= batches + 1;
        OK(cuMemFree(p));
    }
    if (argc < 4) return 0;
    printf("%u of %u within one, bytes of %u\n", near, total, bytes);
    return near < strtoul(argv[2], NULL, 10) || bytes < strtoul(argv[3], NULL, 10);
}
