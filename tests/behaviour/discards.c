/* What discards leave behind, page by page: 2 MiB under some advice, pages 8 to 39 of it discarded in one of several
 * ways, then something touches page 20, and others its neighbours. A line each; after every step the pages moved to
 * the device (H) and to the host (D), the host's faults (c), batches of the device's (g), pages mapped remotely (r),
 * and in how many records; -: nothing. */
#define main behave_main
#include "behave.c"
#undef main
#include <stdbool.h>

enum { PAGE_COUNT = 512, FROM = 8, COUNT = 32, TOUCHED = 20 };
static CUstream stream;
static CUdeviceptr device_memory;

static void show(const char *step)
{
    settle();
    bool any = false;
    for (int k = 1; k <= 7; k++) any |= cnt[k].n != 0;
    if (any)
        printf("  %s: H%lu(%lu) D%lu(%lu) c%lu g%lu r%lu(%lu)", step, cnt[1].val / PG, cnt[1].n, cnt[2].val / PG,
               cnt[2].n, cnt[3].n, cnt[4].n, cnt[7].val / PG, cnt[7].n);
    else
        printf("  %s: -", step);
    memset(cnt, 0, sizeof cnt);
}

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

static const char *advices[] = { "none", "accessed", "prefcpu", "prefgpu", "mostly" };
static CUdeviceptr begin_with(int advice, bool written)
{
    const size_t n = PAGE_COUNT * PG;
    CUdeviceptr p = mk(n);
    if (advice == 1) adv(p, n, CU_MEM_ADVISE_SET_ACCESSED_BY, dev);
    if (advice == 2) adv(p, n, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, hst);
    if (advice == 3) adv(p, n, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, dev);
    if (advice == 4) adv(p, n, CU_MEM_ADVISE_SET_READ_MOSTLY, dev);
    if (written) cpu(p, PAGE_COUNT, PG, 1);
    begin();
    return p;
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

static void start(void)
{
    CUpti_ActivityUnifiedMemoryCounterConfig configs[8];
    CUcontext c;
    CUmodule m;
    OK(cuInit(0));
    for (int k = 0; k < 8; k++)
        configs[k] = (CUpti_ActivityUnifiedMemoryCounterConfig){
            .scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE, .kind = k + 1, .enable = 1
        };
    OK(cuptiActivityRegisterCallbacks(req, done));
    OK(cuptiActivityConfigureUnifiedMemoryCounter(configs, 8));
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER));
    OK(cuDevicePrimaryCtxRetain(&c, 0));
    OK(cuCtxSetCurrent(c));
    OK(cuModuleLoadData(&m, ptx));
    OK(cuModuleGetFunction(&touch, m, "touch"));
    OK(cuMemAlloc(&out, 64));
    OK(cuMemAlloc(&device_memory, MiB));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
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
