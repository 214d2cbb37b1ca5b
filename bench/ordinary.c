/* What a kernel's way through ordinary memory costs, when the host has had it meanwhile, beside managed memory. */
#include "client.h"
#include "problems.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, ROUNDS = 7 };
static const size_t BYTES = (size_t)ADD_N * sizeof(float);

static void touch(CUdeviceptr p)
{
    for (size_t at = 0; at < BYTES; at += PAGE) ++*(volatile char *)(p + at);
}

static double touch_and_add(CUfunction f, CUdeviceptr p[3])
{
    int n = ADD_N;
    void *arguments[] = { &p[0], &p[1], &p[2], &n };
    for (int k = 0; k < 3; k++) touch(p[k]);
    double t = now_us();
    CHECK(cuLaunchKernel(f, ADD_N / 256, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL));
    CHECK(cuCtxSynchronize());
    return now_us() - t;
}

int main(int argc, char **argv)
{
    CUmodule module;
    CUfunction f;
    CUdeviceptr ordinary[3], managed[3];
    double ours[ROUNDS], theirs[ROUNDS];
    if (argc < 2) return 2;
    setenv("FAULTLINE_PROFILE", "h200-hmm", 1);
    use_device();
    CHECK(cuModuleLoad(&module, argv[1]));
    CHECK(cuModuleGetFunction(&f, module, "vector_add"));
    for (int k = 0; k < 3; k++) {
        ordinary[k] = (CUdeviceptr)mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(cuMemAllocManaged(&managed[k], BYTES, CU_MEM_ATTACH_GLOBAL));
    }
    for (int k = -1; k < ROUNDS; k++) {
        double t = touch_and_add(f, ordinary), u = touch_and_add(f, managed);
        if (k >= 0) ours[k] = t, theirs[k] = u;
    }
    report("ordinary.returns", median(ours, ROUNDS));
    report("ordinary.returns.managed", median(theirs, ROUNDS));
    return 0;
}
