/* Pools of the host's memory: what calls say that want an address of a device, whoever may touch the memory. */
#include "../child.h"

#include <stdbool.h>

static CUdeviceptr on_device, p;
static CUstream stream;
static CUarray array;
static CUcontext context;

static void start(void)
{
    const CUDA_ARRAY_DESCRIPTOR row = { 64, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1 };
    context = check_context();
    CHECK(cuMemAlloc(&on_device, 4096));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuArrayCreate(&array, &row));
}

static CUmemoryPool make(CUmemLocationType where)
{
    const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { .type = where } };
    CUmemoryPool pool;
    CHECK(cuMemPoolCreate(&pool, &props));
    CHECK(cuMemAllocFromPoolAsync(&p, 4096, pool, stream));
    CHECK(cuStreamSynchronize(stream));
    return pool;
}

static CUresult rows(CUmemorytype type, bool to)
{
    CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = on_device, .srcPitch = 64,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = on_device, .dstPitch = 64,
                        .WidthInBytes = 16, .Height = 4 };
    if (to) {
        c.dstMemoryType = type;
        c.dstDevice = p;
        c.dstHost = (void *)p;
    } else {
        c.srcMemoryType = type;
        c.srcDevice = p;
        c.srcHost = (void *)p;
    }
    return cuMemcpy2D(&c);
}

static void expect_no_device_address(void)
{
    int word = 0;
    ANSWERS(cuMemcpyHtoD(p, &word, 4), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemcpyDtoH(&word, p, 4), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemcpyDtoHAsync(&word, p, 4, stream), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemcpyDtoD(on_device, p, 4), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemcpyDtoDAsync(p, on_device, 4, stream), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemcpyPeer(p, context, on_device, context, 4), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemcpyAtoD(p, array, 0, 4), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(rows(CU_MEMORYTYPE_DEVICE, true), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(rows(CU_MEMORYTYPE_DEVICE, false), CUDA_ERROR_INVALID_VALUE);
}

static void expect_host_memory(void)
{
    volatile int *word = (int *)p;
    int seen = 0;
    *word = 5;
    CHECK(cuMemcpyHtoD(on_device, (void *)p, 4));
    *word = 6;
    CHECK(cuMemcpyDtoH((void *)p, on_device, 4));
    EXPECT(*word == 5);
    CHECK(cuMemcpy(on_device, p, 4));
    CHECK(cuMemcpyAsync(p, on_device, 4, stream));
    CHECK(cuMemcpyAtoH((void *)p, array, 0, 4));
    *word = 7;
    CHECK(rows(CU_MEMORYTYPE_UNIFIED, false));
    CHECK(rows(CU_MEMORYTYPE_HOST, true));
    CHECK(cuMemcpyDtoH(&seen, on_device, 4));
    EXPECT(seen == 7 && *word == 7);
}

static void ask(CUmemLocationType where)
{
    const CUmemAccessDesc all = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemoryPool pool = make(where);
    expect_no_device_address();
    expect_host_memory();
    ANSWERS(cuMemsetD8(p, 1, 16), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemPoolSetAccess(pool, &all, 1));
    expect_no_device_address();
    expect_host_memory();
    CHECK(cuMemsetD8(p, 1, 16));
}

static void memory_of_the_hosts_pools_is_at_no_address_of_a_device(void) { ask(CU_MEM_LOCATION_TYPE_HOST); }
static void nor_is_a_nodes(void) { ask(CU_MEM_LOCATION_TYPE_HOST_NUMA); }

static void of_the_hosts_pools_only_a_nodes_can_be_exported(void)
{
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                             .location = { .type = CU_MEM_LOCATION_TYPE_HOST } };
    CUmemoryPool pool;
    ANSWERS(cuMemPoolCreate(&pool, &props), CUDA_ERROR_INVALID_VALUE);
    props.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    CHECK(cuMemPoolCreate(&pool, &props));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, memory_of_the_hosts_pools_is_at_no_address_of_a_device),
        ALONE(start, nor_is_a_nodes),
        ALONE(start, of_the_hosts_pools_only_a_nodes_can_be_exported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
