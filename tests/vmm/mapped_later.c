/* Arrays whose memory is mapped later: as a whole (deferred) or by tiles. What
 * copies find, in which order maps and copies happen, and what keeps memory
 * alive. sparse.c tries tiles at random, against a model. */
#include "../child.h"
#include "rig.h"

#include <string.h>

static struct device device;
static CUstream stream;

static CUresult map_whole(CUarray a, CUmemGenericAllocationHandle h, uint64_t offset)
{
    CUarrayMapInfo m = { .resourceType = CU_RESOURCE_TYPE_ARRAY,
                         .resource.array = a,
                         .memOperationType = CU_MEM_OPERATION_TYPE_MAP,
                         .memHandle.memHandle = h,
                         .offset = offset,
                         .deviceBitMask = 1,
                         .subresourceType = 77 /* is not looked at */ };
    return cuMemMapArrayAsync(&m, 1, stream);
}

static void an_array_mapped_as_a_whole_holds_what_is_copied(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { 300, 200, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEFERRED_MAPPING };
    CUDA_ARRAY_MEMORY_REQUIREMENTS r;
    CUarray a;
    static float in[300 * 200], out[300 * 200];
    for (int k = 0; k < 300 * 200; k++) in[k] = (float)k;
    CHECK(cuArray3DCreate(&a, &d));
    CHECK(cuArrayGetMemoryRequirements(&r, a, 0));
    EXPECT(r.size >= sizeof in);
    EXPECT(r.alignment == TILE);
    EXPECT(r.size % TILE == 0);
    CUmemGenericAllocationHandle h = tile_pool_of(r.size + TILE);
    CUDA_MEMCPY2D to = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                         .srcHost = in,
                         .srcPitch = 1200,
                         .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                         .dstArray = a,
                         .WidthInBytes = 1200,
                         .Height = 200 };
    CUDA_MEMCPY2D from = { .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = out,
                           .dstPitch = 1200,
                           .srcMemoryType = CU_MEMORYTYPE_ARRAY,
                           .srcArray = a,
                           .WidthInBytes = 1200,
                           .Height = 200 };
    ANSWERS(map_whole(a, h, 2 * MIB), CUDA_ERROR_INVALID_VALUE); /* not so much is left */
    CHECK(map_whole(a, h, TILE));
    CHECK(cuMemcpy2DAsync(&to, stream));
    CHECK(cuMemcpy2DAsync(&from, stream));
    CHECK(cuStreamSynchronize(stream));
    EXPECT(!memcmp(in, out, sizeof in));
    CHECK(cuArrayDestroy(a));
    CHECK(cuMemRelease(h));
}

static void deferred_shape(size_t height, size_t depth, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { 96, height, depth, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEFERRED_MAPPING | flags };
    CUDA_ARRAY_MEMORY_REQUIREMENTS r;
    CUarray a;
    static float in[6 * 96 * 96], out[6 * 96 * 96];
    for (int k = 0; k < 6 * 96 * 96; k++) in[k] = (float)k + (float)depth, out[k] = -1;
    CHECK(cuArray3DCreate(&a, &d));
    CHECK(cuArrayGetMemoryRequirements(&r, a, 0));
    CUmemGenericAllocationHandle h = tile_pool_of(r.size);
    size_t rows = height ? height : 1, slices = depth ? depth : 1;
    CUDA_MEMCPY3D to = { .WidthInBytes = 384, .Height = rows, .Depth = slices }, from = to;
    to.srcMemoryType = CU_MEMORYTYPE_HOST;
    to.srcHost = in;
    to.srcPitch = 384;
    to.srcHeight = rows;
    to.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    to.dstArray = a;
    from.dstMemoryType = CU_MEMORYTYPE_HOST;
    from.dstHost = out;
    from.dstPitch = 384;
    from.dstHeight = rows;
    from.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    from.srcArray = a;
    CHECK(map_whole(a, h, 0));
    CHECK(cuMemcpy3DAsync(&to, stream));
    CHECK(cuMemcpy3DAsync(&from, stream));
    CHECK(cuStreamSynchronize(stream));
    EXPECT(!memcmp(in, out, slices * rows * 384));
    CHECK(cuArrayDestroy(a));
    CHECK(cuMemRelease(h));
}

static void a_level_stays_with_its_mipmapped_array(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { 64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0 };
    CUmipmappedArray m;
    CUarray level, again;
    float value = 7, seen = 0;
    CHECK(cuMipmappedArrayCreate(&m, &d, 3));
    CHECK(cuMipmappedArrayGetLevel(&level, m, 1));
    CHECK(cuMemcpyHtoA(level, 8, &value, 4));
    CHECK(cuArrayDestroy(level));
    CHECK(cuMipmappedArrayGetLevel(&again, m, 1));
    CHECK(cuMemcpyAtoH(&seen, again, 8, 4));
    EXPECT(seen == 7);
    CHECK(cuMipmappedArrayDestroy(m));
}

static void an_array_without_memory_faults(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { 256, 256, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEFERRED_MAPPING };
    CUarray a;
    float value = 7;
    CHECK(cuArray3DCreate(&a, &d));
    CHECK(cuMemcpyHtoA(a, 0, &value, 4));
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    ANSWERS(cuMemcpyAtoH(&value, a, 0, 4), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT(value == 7);
}

static void a_copy_sees_what_is_mapped_when_its_turn_comes(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { 128, 128, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE };
    CUarray a;
    CUmemGenericAllocationHandle h = tile_pool_of(2 * TILE);
    uint32_t *values;
    CUarrayMapInfo m = { .resourceType = CU_RESOURCE_TYPE_ARRAY, .memHandle.memHandle = h, .deviceBitMask = 1 };
    CHECK(cuArray3DCreate(&a, &d));
    CHECK(cuMemAllocHost((void **)&values, 4 * 200));
    m.resource.array = a;
    m.subresource.sparseLevel.extentWidth = m.subresource.sparseLevel.extentHeight = 128;
    m.subresource.sparseLevel.extentDepth = 1;
    for (uint32_t k = 0; k < 100; k++) {
        values[k] = 1000 + k;
        m.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
        m.offset = k % 2 * TILE;
        CHECK(cuMemMapArrayAsync(&m, 1, stream));
        CHECK(cuMemcpyHtoAAsync(a, 64, &values[k], 4, stream));
        m.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
        if (k % 5 == 4) CHECK(cuMemMapArrayAsync(&m, 1, stream));
        CHECK(cuMemcpyAtoHAsync(&values[100 + k], a, 64, 4, stream));
    }
    CHECK(cuMemRelease(h));
    CHECK(cuStreamSynchronize(stream));
    for (uint32_t k = 0; k < 100; k++) EXPECT(values[100 + k] == (k % 5 == 4 ? 0 : 1000 + k));
    CHECK(cuArrayDestroy(a));
    CHECK(cuMemFreeHost(values));
}

/* The arrays of a context go with it, and the memory that their tiles keep. */
static void arrays_and_their_memory_go_with_the_context(void)
{
    CUcontext c;
    CUarray a;
    CUDA_ARRAY3D_DESCRIPTOR d = { 128, 128, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE };
    CUarrayMapInfo m = { .resourceType = CU_RESOURCE_TYPE_ARRAY,
                         .memOperationType = CU_MEM_OPERATION_TYPE_MAP,
                         .deviceBitMask = 1 };
    size_t before = free_memory();
    CHECK(cuCtxCreate(&c, NULL, 0, 0));
    CHECK(cuArray3DCreate(&a, &d));
    m.memHandle.memHandle = tile_pool_of(TILE);
    m.resource.array = a;
    m.subresource.sparseLevel.extentWidth = m.subresource.sparseLevel.extentHeight = 128;
    m.subresource.sparseLevel.extentDepth = 1;
    CHECK(cuMemMapArrayAsync(&m, 1, NULL));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemRelease(m.memHandle.memHandle));
    CHECK(cuCtxDestroy(c));
    CHECK(cuCtxSetCurrent(device.context));
    EXPECT(free_memory() == before);
}

static void lines_layers_and_cubes_can_be_mapped_as_a_whole(void)
{
    deferred_shape(0, 0, 0);
    deferred_shape(0, 6, CUDA_ARRAY3D_LAYERED);
    deferred_shape(96, 6, CUDA_ARRAY3D_CUBEMAP);
}

static void start(void)
{
    device_open(&device, 1);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, an_array_mapped_as_a_whole_holds_what_is_copied),
        ALONE(start, lines_layers_and_cubes_can_be_mapped_as_a_whole),
        ALONE(start, an_array_without_memory_faults),
        ALONE(start, a_level_stays_with_its_mipmapped_array),
        ALONE(start, a_copy_sees_what_is_mapped_when_its_turn_comes),
        ALONE(start, arrays_and_their_memory_go_with_the_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
