/* What discards leave behind, page by page: 2 MiB under some advice, pages 8 to 39 of it discarded in one of several
 * ways, then something touches page 20, and others its neighbours. A line each; after every step the pages moved to
 * the device (H) and to the host (D), the host's faults (c), batches of the device's (g), pages mapped remotely (r),
 * and in how many records; -: nothing. */
enum { PAGE_COUNT = 512, FROM = 8, COUNT = 32, TOUCHED = 20 };
#include "steps.h"

static void discard(CUdeviceptr p)
{
    size_t n = COUNT * PG;
    OK(cuMemDiscardBatchAsync(&p, &n, 1, 0, stream));
    OK(cuStreamSynchronize(stream));
}

static void discard_and_prefetch(CUdeviceptr p, CUmemLocation to)
{
    size_t n = COUNT * PG, first = 0;
    OK(cuMemDiscardAndPrefetchBatchAsync(&p, &n, 1, &to, &first, 1, 0, stream));
    OK(cuStreamSynchronize(stream));
}

/* Each prints what it did. */
static const char *ways[] = { "discard", "dpcpu", "dpgpu", "d,pcpu", "d,pgpu" };
static void lose(CUdeviceptr p, int way)
{
    if (way == 1 || way == 2)
        discard_and_prefetch(p, way == 1 ? hst : dev);
    else
        discard(p);
    show("1");
    if (way < 3) return;
    pf(p, COUNT * PG, way == 3 ? hst : dev);
    show("2");
}

static const char *touches[] = {
    "cpu read", "cpu write", "gpu read", "gpu write", "memset", "copy", "pf gpu", "pf cpu"
};
static void touch_one(CUdeviceptr p, int how)
{
    switch (how) {
    case 0:
    case 1: cpu(p, 1, PG, how); break;
    case 2:
    case 3: gpu(p, 1, PG, how - 2); break;
    case 4: OK(cuMemsetD8Async(p, 1, PG, stream)); break;
    case 5: OK(cuMemcpyDtoDAsync(device_memory, p, PG, stream)); break;
    default: pf(p, 4 * PG, how == 6 ? dev : hst);
    }
    OK(cuStreamSynchronize(stream));
    show("3");
}

static void scenario(bool written, int advice, int way, int how)
{
    CUdeviceptr p = begin_with(advice, written);
    printf("%s %s %s %s:", written ? "cpu" : "nowhere", advices[advice], ways[way], touches[how]);
    lose(p + FROM * PG, way);
    touch_one(p + TOUCHED * PG, how);
    cpu(p + (TOUCHED + 1) * PG, 1, PG, 1);
    show("cw");
    cpu(p + TOUCHED * PG, 1, PG, 0);
    show("cr");
    gpu(p + (TOUCHED + 2) * PG, 1, PG, 1);
    show("gw");
    gpu(p + TOUCHED * PG, 1, PG, 0);
    show("gr");
    printf("\n");
    OK(cuMemFree(p));
}

int main(void)
{
    start();
    for (int written = 0; written < 2; written++)
        for (int advice = 0; advice < 5; advice++)
            for (int way = 0; way < 5; way++)
                for (int how = 0; how < 8; how++) scenario(written, advice, way, how);
    return 0;
}
