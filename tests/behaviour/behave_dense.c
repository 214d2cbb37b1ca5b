/* As behave_fuzz, but of 64 pages, over and over, after one piece of advice for all:
 * read mostly (every third seed) or to be on the host. It shows what pages do that
 * processors take from each other, and which page table entries a device has at hand.
 * usage: behave_dense SEED STEPS */
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

int main(int argc, char **argv)
{
    int seed = atoi(argv[1]), steps = atoi(argv[2]);
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
    size_t pages = (size_t[]){ 512, 1024, 768, 100, 1536, 16 }[rnd(6)];
    CUdeviceptr p = mk(pages * PG);
    printf("seed %d pages %zu\n", seed, pages);
    uint32_t room = pages < 64 ? pages : 64, low = (seed & 1) && pages > 80 ? (pages - 64) / 32 * 16 : 0;
    int advice = seed % 3 == 2 ? CU_MEM_ADVISE_SET_READ_MOSTLY : CU_MEM_ADVISE_SET_PREFERRED_LOCATION;
    for (int i = 0; i < steps; i++) {
        uint32_t at = rnd(room), n = 1 + rnd(rnd(4) ? 14 : 40), o = rnd(100);
        if (at + n > room) n = room - at;
        at += low;
        char b[96];
        if (i == 0) {
            cpu(p, pages, PG, 1);
            sprintf(b, "%03d cpu write %u+%zux%u", i, 0, pages, 1);
        } else if (i == 1) {
            adv(p, pages * PG, advice, hst);
            sprintf(b, "%03d advise %d cpu %u+%zu", i, advice, 0, pages);
        } else if (o < 22) {
            if (n > 4) n = 1 + n % 4;
            cpu(p + at * PG, n, PG, o >= 9);
            sprintf(b, "%03d cpu %s %u+%ux%u", i, o < 9 ? "read " : "write", at, n, 1);
        } else if (o < 82) {
            gpu(p + at * PG, n, PG, o >= 60);
            sprintf(b, "%03d gpu %s %u+%ux%u", i, o < 60 ? "read " : "write", at, n, 1);
        } else if (o < 94) {
            if (n > 6 && rnd(3)) n = 1 + n % 6;
            pf(p + at * PG, n * PG, dev);
            sprintf(b, "%03d prefetch gpu %u+%u", i, at, n);
        } else {
            pf(p + at * PG, n * PG, hst);
            sprintf(b, "%03d prefetch cpu %u+%u", i, at, n);
        }
        settle();
        printf("%-34s HtoD %8lu DtoH %8lu cpuPF %3lu gpuPF %3lu remote %lu\n", b, cnt[1].val, cnt[2].val, cnt[3].n,
               cnt[4].n, cnt[7].n);
        fflush(stdout);
        memset(cnt, 0, sizeof cnt);
    }
    return 0;
}
