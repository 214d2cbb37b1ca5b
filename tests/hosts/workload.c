/* A little of everything that a CUDA program does, for environments.py to run in strange places: device, managed,
 * mapped, stream-ordered, registered and pinned memory, a kernel on each. Exit 0: all bytes were right.
 * usage: workload [unregistered]   without host memory registered, which needs /proc */
#include "../check.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry add(.param .u64 p, .param .u32 n, .param .u32 v)\n{\n"
    "    .reg .pred %q;\n    .reg .b32 %r<8>;\n    .reg .b64 %d<3>;\n"
    "    ld.param.u64 %d0, [p];\n    ld.param.u32 %r0, [n];\n    ld.param.u32 %r1, [v];\n"
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n    mad.lo.u32 %r5, %r2, %r3, "
    "%r4;\n"
    "    setp.ge.u32 %q, %r5, %r0;\n    @%q bra end;\n    mul.wide.u32 %d1, %r5, 4;\n    add.u64 %d2, %d0, %d1;\n"
    "    ld.global.u32 %r6, [%d2];\n    add.u32 %r6, %r6, %r1;\n    st.global.u32 [%d2], %r6;\nend:\n    ret;\n}\n";
enum { N = 50000 };
static const size_t BYTES = N * sizeof(unsigned), PIECE = 2 << 20;
static CUfunction kernel;

static void add(CUdeviceptr p, unsigned v)
{
    unsigned n = N;
    CHECK(cuLaunchKernel(kernel, (N + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, (void *[]){ &p, &n, &v }, NULL));
    CHECK(cuCtxSynchronize());
}

static void fill(unsigned *p)
{
    for (unsigned k = 0; k < N; k++) p[k] = k;
}

static void expect(const char *what, const unsigned *p, unsigned v)
{
    for (unsigned k = 0; k < N; k++)
        if (p[k] != k + v) {
            printf("%s memory: [%u] is %u instead of %u\n", what, k, p[k], k + v);
            exit(1);
        }
}

static void of_device(unsigned *h)
{
    CUdeviceptr p;
    fill(h);
    CHECK(cuMemAlloc(&p, BYTES));
    CHECK(cuMemcpyHtoD(p, h, BYTES));
    add(p, 5);
    CHECK(cuMemcpyDtoH(h, p, BYTES));
    CHECK(cuMemFree(p));
    expect("device", h, 5);
}

static void managed(void)
{
    CUdeviceptr p;
    CHECK(cuMemAllocManaged(&p, BYTES, CU_MEM_ATTACH_GLOBAL));
    fill((unsigned *)p);
    add(p, 1);
    expect("managed", (unsigned *)p, 1);
    CHECK(cuMemPrefetchAsync(p, BYTES, (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, 0 }, 0, NULL));
    add(p, 1);
    expect("managed", (unsigned *)p, 2);
    CHECK(cuMemFree(p));
}

static void mapped(unsigned *h)
{
    const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    const CUmemAccessDesc access = { prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUdeviceptr p;
    fill(h);
    CHECK(cuMemAddressReserve(&p, 4 * PIECE, 0, 0, 0));
    for (int k = 0; k < 4; k++) {
        CUmemGenericAllocationHandle handle;
        CHECK(cuMemCreate(&handle, PIECE, &prop, 0));
        CHECK(cuMemMap(p + k * PIECE, PIECE, 0, handle, 0));
        CHECK(cuMemRelease(handle));
    }
    CHECK(cuMemSetAccess(p, 4 * PIECE, &access, 1));
    CHECK(cuMemcpyHtoD(p + PIECE - 4, h, BYTES));
    add(p + PIECE - 4, 7);
    CHECK(cuMemcpyDtoH(h, p + PIECE - 4, BYTES));
    CHECK(cuMemUnmap(p, 4 * PIECE));
    CHECK(cuMemAddressFree(p, 4 * PIECE));
    expect("mapped", h, 7);
}

static void of_pool(unsigned *h)
{
    CUdeviceptr p;
    fill(h);
    CHECK(cuMemAllocAsync(&p, BYTES, NULL));
    CHECK(cuMemcpyHtoDAsync(p, h, BYTES, NULL));
    add(p, 3);
    CHECK(cuMemcpyDtoHAsync(h, p, BYTES, NULL));
    CHECK(cuMemFreeAsync(p, NULL));
    CHECK(cuStreamSynchronize(NULL));
    expect("stream-ordered", h, 3);
}

static void of_host(unsigned *h, bool registered)
{
    CUdeviceptr p;
    unsigned *pinned;
    CHECK(cuMemHostAlloc((void **)&pinned, BYTES, CU_MEMHOSTALLOC_DEVICEMAP));
    fill(pinned);
    add((CUdeviceptr)pinned, 2);
    expect("pinned", pinned, 2);
    CHECK(cuMemFreeHost(pinned));
    if (!registered) return;
    fill(h);
    CHECK(cuMemHostRegister(h, BYTES, CU_MEMHOSTREGISTER_DEVICEMAP));
    CHECK(cuMemHostGetDevicePointer(&p, h, 0));
    add(p, 9);
    CHECK(cuMemHostUnregister(h));
    expect("registered", h, 9);
}

/* in a thread of its own that is gone when the process ends */
static void *work(void *registered)
{
    CUmodule module;
    unsigned *h = malloc(BYTES);
    check_context();
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&kernel, module, "add"));
    of_device(h);
    managed();
    mapped(h);
    of_pool(h);
    of_host(h, registered);
    CHECK(cuModuleUnload(module));
    CHECK(cuDevicePrimaryCtxRelease(0));
    free(h);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_attr_t attributes;
    bool registered = argc < 2 || strcmp(argv[1], "unregistered");
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    if (pthread_create(&thread, &attributes, work, registered ? &registered : NULL) || pthread_join(thread, NULL))
        return 2;
    return 0;
}
