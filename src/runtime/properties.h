/* Properties of devices in one structure, which is another one in CUDA 12 and in CUDA 13. */
#ifndef FL_RUNTIME_PROPERTIES_H
#define FL_RUNTIME_PROPERTIES_H

#include "runtime/runtime.h"

/* A member, and what it is called in the driver. */
struct property {
    size_t at, size; /* an int or a size_t */
    CUdevice_attribute attribute;
};

#define PROPERTY(structure, member, name) \
    { \
        offsetof(structure, member), sizeof(((structure *)0)->member), CU_DEVICE_ATTRIBUTE_##name \
    }

/* One of the two structures. What is no attribute is at the same place in both. */
struct properties {
    size_t size; /* of all that is filled in */
    const struct property *all;
    int count;
};

/* prop: what is not filled in stays. */
cudaError_t runtime_properties(const struct properties *of, void *prop, int device);
cudaError_t runtime_choose_device(const struct properties *of, int *device, const void *wish);

/* Those that both have. X(structure, member, name in the driver) */
#define PROPERTIES(X, S) \
    X(S, sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK), \
    X(S, regsPerBlock, MAX_REGISTERS_PER_BLOCK), \
    X(S, warpSize, WARP_SIZE), \
    X(S, memPitch, MAX_PITCH), \
    X(S, maxThreadsPerBlock, MAX_THREADS_PER_BLOCK), \
    X(S, maxThreadsDim[0], MAX_BLOCK_DIM_X), \
    X(S, maxThreadsDim[1], MAX_BLOCK_DIM_Y), \
    X(S, maxThreadsDim[2], MAX_BLOCK_DIM_Z), \
    X(S, maxGridSize[0], MAX_GRID_DIM_X), \
    X(S, maxGridSize[1], MAX_GRID_DIM_Y), \
    X(S, maxGridSize[2], MAX_GRID_DIM_Z), \
    X(S, totalConstMem, TOTAL_CONSTANT_MEMORY), \
    X(S, major, COMPUTE_CAPABILITY_MAJOR), \
    X(S, minor, COMPUTE_CAPABILITY_MINOR), \
    X(S, textureAlignment, TEXTURE_ALIGNMENT), \
    X(S, texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT), \
    X(S, multiProcessorCount, MULTIPROCESSOR_COUNT), \
    X(S, integrated, INTEGRATED), \
    X(S, canMapHostMemory, CAN_MAP_HOST_MEMORY), \
    X(S, maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH), \
    X(S, maxTexture1DMipmap, MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH), \
    X(S, maxTexture2D[0], MAXIMUM_TEXTURE2D_WIDTH), \
    X(S, maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT), \
    X(S, maxTexture2DMipmap[0], MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH), \
    X(S, maxTexture2DMipmap[1], MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT), \
    X(S, maxTexture2DLinear[0], MAXIMUM_TEXTURE2D_LINEAR_WIDTH), \
    X(S, maxTexture2DLinear[1], MAXIMUM_TEXTURE2D_LINEAR_HEIGHT), \
    X(S, maxTexture2DLinear[2], MAXIMUM_TEXTURE2D_LINEAR_PITCH), \
    X(S, maxTexture2DGather[0], MAXIMUM_TEXTURE2D_GATHER_WIDTH), \
    X(S, maxTexture2DGather[1], MAXIMUM_TEXTURE2D_GATHER_HEIGHT), \
    X(S, maxTexture3D[0], MAXIMUM_TEXTURE3D_WIDTH), \
    X(S, maxTexture3D[1], MAXIMUM_TEXTURE3D_HEIGHT), \
    X(S, maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH), \
    X(S, maxTexture3DAlt[0], MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE), \
    X(S, maxTexture3DAlt[1], MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE), \
    X(S, maxTexture3DAlt[2], MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE), \
    X(S, maxTextureCubemap, MAXIMUM_TEXTURECUBEMAP_WIDTH), \
    X(S, maxTexture1DLayered[0], MAXIMUM_TEXTURE1D_LAYERED_WIDTH), \
    X(S, maxTexture1DLayered[1], MAXIMUM_TEXTURE1D_LAYERED_LAYERS), \
    X(S, maxTexture2DLayered[0], MAXIMUM_TEXTURE2D_LAYERED_WIDTH), \
    X(S, maxTexture2DLayered[1], MAXIMUM_TEXTURE2D_LAYERED_HEIGHT), \
    X(S, maxTexture2DLayered[2], MAXIMUM_TEXTURE2D_LAYERED_LAYERS), \
    X(S, maxTextureCubemapLayered[0], MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH), \
    X(S, maxTextureCubemapLayered[1], MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS), \
    X(S, maxSurface1D, MAXIMUM_SURFACE1D_WIDTH), \
    X(S, maxSurface2D[0], MAXIMUM_SURFACE2D_WIDTH), \
    X(S, maxSurface2D[1], MAXIMUM_SURFACE2D_HEIGHT), \
    X(S, maxSurface3D[0], MAXIMUM_SURFACE3D_WIDTH), \
    X(S, maxSurface3D[1], MAXIMUM_SURFACE3D_HEIGHT), \
    X(S, maxSurface3D[2], MAXIMUM_SURFACE3D_DEPTH), \
    X(S, maxSurface1DLayered[0], MAXIMUM_SURFACE1D_LAYERED_WIDTH), \
    X(S, maxSurface1DLayered[1], MAXIMUM_SURFACE1D_LAYERED_LAYERS), \
    X(S, maxSurface2DLayered[0], MAXIMUM_SURFACE2D_LAYERED_WIDTH), \
    X(S, maxSurface2DLayered[1], MAXIMUM_SURFACE2D_LAYERED_HEIGHT), \
    X(S, maxSurface2DLayered[2], MAXIMUM_SURFACE2D_LAYERED_LAYERS), \
    X(S, maxSurfaceCubemap, MAXIMUM_SURFACECUBEMAP_WIDTH), \
    X(S, maxSurfaceCubemapLayered[0], MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH), \
    X(S, maxSurfaceCubemapLayered[1], MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS), \
    X(S, surfaceAlignment, SURFACE_ALIGNMENT), \
    X(S, concurrentKernels, CONCURRENT_KERNELS), \
    X(S, ECCEnabled, ECC_ENABLED), \
    X(S, pciBusID, PCI_BUS_ID), \
    X(S, pciDeviceID, PCI_DEVICE_ID), \
    X(S, pciDomainID, PCI_DOMAIN_ID), \
    X(S, tccDriver, TCC_DRIVER), \
    X(S, asyncEngineCount, ASYNC_ENGINE_COUNT), \
    X(S, unifiedAddressing, UNIFIED_ADDRESSING), \
    X(S, memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH), \
    X(S, l2CacheSize, L2_CACHE_SIZE), \
    X(S, persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE), \
    X(S, maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR), \
    X(S, streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED), \
    X(S, globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED), \
    X(S, localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED), \
    X(S, sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR), \
    X(S, regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR), \
    X(S, managedMemory, MANAGED_MEMORY), \
    X(S, isMultiGpuBoard, MULTI_GPU_BOARD), \
    X(S, multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID), \
    X(S, hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED), \
    X(S, pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS), \
    X(S, concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS), \
    X(S, computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED), \
    X(S, canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM), \
    X(S, cooperativeLaunch, COOPERATIVE_LAUNCH), \
    X(S, sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), \
    X(S, pageableMemoryAccessUsesHostPageTables, PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES), \
    X(S, directManagedMemAccessFromHost, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST), \
    X(S, maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR), \
    X(S, accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE), \
    X(S, reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK), \
    X(S, hostRegisterSupported, HOST_REGISTER_SUPPORTED), \
    X(S, sparseCudaArraySupported, SPARSE_CUDA_ARRAY_SUPPORTED), \
    X(S, hostRegisterReadOnlySupported, READ_ONLY_HOST_REGISTER_SUPPORTED), \
    X(S, timelineSemaphoreInteropSupported, TIMELINE_SEMAPHORE_INTEROP_SUPPORTED), \
    X(S, memoryPoolsSupported, MEMORY_POOLS_SUPPORTED), \
    X(S, gpuDirectRDMASupported, GPU_DIRECT_RDMA_SUPPORTED), \
    X(S, gpuDirectRDMAFlushWritesOptions, GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS), \
    X(S, gpuDirectRDMAWritesOrdering, GPU_DIRECT_RDMA_WRITES_ORDERING), \
    X(S, memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES), \
    X(S, deferredMappingCudaArraySupported, DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED), \
    X(S, ipcEventSupported, IPC_EVENT_SUPPORTED), \
    X(S, clusterLaunch, CLUSTER_LAUNCH), \
    X(S, unifiedFunctionPointers, UNIFIED_FUNCTION_POINTERS),

#endif
