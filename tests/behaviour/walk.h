/* What the walks of one device have in common: how they begin, and what is told of each step. */
#define main behave_main
#include "behave.c"
#undef main
static uint64_t st;
static uint32_t rnd(uint32_t n)
{
    st ^= st << 13;
    st ^= st >> 7;
    st ^= st << 17;
    return n ? (uint32_t)(st >> 11) % n : 0;
}

/* The walk's allocation, which its seed decides on. */
static CUdeviceptr begin_walk(int seed, size_t *pages)
{
    st = seed * 0x9E3779B97F4A7C15ull + 7;
    OK(cuInit(0));
    CUpti_ActivityUnifiedMemoryCounterConfig cf[8];
    int kinds[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    for (int i = 0; i < 8; i++) {
        cf[i].scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE;
        cf[i].kind = kinds[i];
        cf[i].deviceId = 0;
        cf[i].enable = 1;
    }
    OK(cuptiActivityRegisterCallbacks(req, done));
    OK(cuptiActivityConfigureUnifiedMemoryCounter(cf, 8));
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER));
    CUcontext c;
    OK(cuDevicePrimaryCtxRetain(&c, 0));
    OK(cuCtxSetCurrent(c));
    CUmodule m;
    OK(cuModuleLoadData(&m, ptx));
    OK(cuModuleGetFunction(&touch, m, "touch"));
    OK(cuMemAlloc(&out, 64));
    *pages = (size_t[]){ 512, 1024, 768, 100, 1536, 16 }[rnd(6)];
    CUdeviceptr p = mk(*pages * PG);
    printf("seed %d pages %zu\n", seed, *pages);
    return p;
}

static void tell(const char *b)
{
    settle();
    printf("%-34s HtoD %8lu DtoH %8lu cpuPF %3lu gpuPF %3lu remote %lu\n", b, cnt[1].val, cnt[2].val, cnt[3].n,
           cnt[4].n, cnt[7].n);
    fflush(stdout);
    memset(cnt, 0, sizeof cnt);
}
