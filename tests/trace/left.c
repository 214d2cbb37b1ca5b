/* A program that ends by _exit as soon as it has waited for its kernels, as children of Python's multiprocessing do.
 * usage: left HOW */
#include "../check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KERNELS = 5 };

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                          ".visible .entry mark(.param .u64 a)\n{\n.reg .b64 %d;\n"
                          "ld.param.u64 %d, [a];\nst.global.u32 [%d], 1;\nret;\n}\n";

static void wait_for(const char *how, CUdeviceptr p, CUevent e)
{
    uint32_t word;
    if (!strcmp(how, "context")) CHECK(cuCtxSynchronize());
    if (!strcmp(how, "stream")) CHECK(cuStreamSynchronize(NULL));
    if (!strcmp(how, "event")) CHECK(cuEventSynchronize(e));
    if (!strcmp(how, "copy")) CHECK(cuMemcpyDtoH(&word, p, sizeof word));
    while (!strcmp(how, "query") && cuStreamQuery(NULL)) {}
    while (!strcmp(how, "event-query") && cuEventQuery(e)) {}
}

int main(int argc, char **argv)
{
    CUmodule m;
    CUfunction f;
    CUdeviceptr p;
    CUevent e;
    check_context();
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&f, m, "mark"));
    CHECK(cuMemAllocManaged(&p, 4096 * KERNELS, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    memset((void *)p, 0, 4096 * KERNELS);
    for (CUdeviceptr at = p; at < p + 4096 * KERNELS; at += 4096)
        CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &at }, NULL));
    CHECK(cuEventRecord(e, NULL));
    wait_for(argc > 1 ? argv[1] : "", p, e);
    _exit(EXIT_SUCCESS);
}
