/* What scripted steps on managed memory have in common: how they begin, under which advice, and what is told of each step.
 * PAGE_COUNT: of the memory. */
#define main behave_main
#include "behave.c"
#undef main
#include <stdbool.h>

static CUstream stream;
static CUdeviceptr device_memory;

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
