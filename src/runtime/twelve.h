/* CUDA 12's runtime API where it is another than 13's: with cuda_runtime_api.h the
 * table that generate.py makes libcudart.so.12 from.
 *
 * NAME_12 is exported as NAME; twelve.c and twelve_properties.c define it, or it
 * is a stub. It has the per-thread form that the function of 13 has. What #define
 * gives another name is that function of 13 under 12's name; what is poisoned
 * is not in 12 at all. All else is 13's. */
#ifndef FL_RUNTIME_TWELVE_H
#define FL_RUNTIME_TWELVE_H

#include <cuda_runtime_api.h>

#define RUNTIME_VERSION_12 12090

/* ---- Structures that were shorter: their members are those that 13's begin with ---- */

#define POINTER_ATTRIBUTES_SIZE_12 offsetof(struct cudaPointerAttributes, reserved)
#define RESOURCE_DESC_SIZE_12 64
#define RESOURCE_VIEW_DESC_SIZE_12 48

/* ---- Structures that were others ---- */

struct cudaDeviceProp_12 {
    char name[256];
    cudaUUID_t uuid;
    char luid[8];
    unsigned int luidDeviceNodeMask;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment, texturePitchAlignment;
    int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
    int maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear;
    int maxTexture2D[2], maxTexture2DMipmap[2], maxTexture2DLinear[3], maxTexture2DGather[2];
    int maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap;
    int maxTexture1DLayered[2], maxTexture2DLayered[3], maxTextureCubemapLayered[2];
    int maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3];
    int maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount;
    int unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported;
    int singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported;
    int canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    /* from here on: since 12, cudaGetDeviceProperties_v2 */
    int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned int gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned int memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
    int reserved[63];
};
_Static_assert(sizeof(struct cudaDeviceProp_12) == 1032, "12's layout");

struct cudaLaunchParams_12 {
    void *func;
    dim3 gridDim, blockDim;
    void **args;
    size_t sharedMem;
    cudaStream_t stream;
};

/* ---- Devices ---- */

cudaError_t CUDARTAPI cudaGetDeviceProperties_12(struct cudaDeviceProp_12 *prop, int device);
cudaError_t CUDARTAPI cudaGetDeviceProperties_v2_12(struct cudaDeviceProp_12 *prop, int device);
cudaError_t CUDARTAPI cudaChooseDevice_12(int *device, const struct cudaDeviceProp_12 *prop);

cudaError_t CUDARTAPI cudaThreadExit_12(void);

#define cudaThreadSynchronize cudaDeviceSynchronize
#define cudaThreadSetLimit cudaDeviceSetLimit
#define cudaThreadGetLimit cudaDeviceGetLimit
#define cudaThreadGetCacheConfig cudaDeviceGetCacheConfig
#define cudaThreadSetCacheConfig cudaDeviceSetCacheConfig

/* ---- Memory ---- */

cudaError_t CUDARTAPI cudaPointerGetAttributes_12(struct cudaPointerAttributes *attributes, const void *ptr);
cudaError_t CUDARTAPI cudaMemAdvise_12(const void *devPtr, size_t count, enum cudaMemoryAdvise advice, int device);
cudaError_t CUDARTAPI cudaMemPrefetchAsync_12(const void *devPtr, size_t count, int dstDevice, cudaStream_t stream);
/* failIdx: the copy that failed, SIZE_MAX if it was none in particular, or nothing failed */
cudaError_t CUDARTAPI cudaMemcpyBatchAsync_12(void **dsts, void **srcs, size_t *sizes, size_t count,
    struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx, cudaStream_t stream);
cudaError_t CUDARTAPI cudaMemcpy3DBatchAsync_12(size_t numOps, struct cudaMemcpy3DBatchOp *opList, size_t *failIdx,
    unsigned long long flags, cudaStream_t stream);

#define cudaMemAdvise_v2 cudaMemAdvise
#define cudaMemPrefetchAsync_v2 cudaMemPrefetchAsync

#pragma GCC poison cudaMemGetDefaultMemPool cudaMemGetMemPool cudaMemSetMemPool
#pragma GCC poison cudaMemPrefetchBatchAsync cudaMemDiscardBatchAsync cudaMemDiscardAndPrefetchBatchAsync

/* ---- Textures and surfaces ---- */

cudaError_t CUDARTAPI cudaCreateTextureObject_12(cudaTextureObject_t *pTexObject,
    const struct cudaResourceDesc *pResDesc, const struct cudaTextureDesc *pTexDesc,
    const struct cudaResourceViewDesc *pResViewDesc);
cudaError_t CUDARTAPI cudaCreateSurfaceObject_12(cudaSurfaceObject_t *pSurfObject,
    const struct cudaResourceDesc *pResDesc);
cudaError_t CUDARTAPI cudaGetTextureObjectResourceDesc_12(struct cudaResourceDesc *pResDesc,
    cudaTextureObject_t texObject);
cudaError_t CUDARTAPI cudaGetTextureObjectResourceViewDesc_12(struct cudaResourceViewDesc *pResViewDesc,
    cudaTextureObject_t texObject);
cudaError_t CUDARTAPI cudaGetSurfaceObjectResourceDesc_12(struct cudaResourceDesc *pResDesc,
    cudaSurfaceObject_t surfObject);

/* ---- Streams, events, launches ---- */

cudaError_t CUDARTAPI cudaStreamGetCaptureInfo_12(cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out,
    unsigned long long *id_out);
cudaError_t CUDARTAPI cudaStreamGetCaptureInfo_v2_12(cudaStream_t stream,
    enum cudaStreamCaptureStatus *captureStatus_out, unsigned long long *id_out, cudaGraph_t *graph_out,
    const cudaGraphNode_t **dependencies_out, size_t *numDependencies_out);
cudaError_t CUDARTAPI cudaStreamUpdateCaptureDependencies_12(cudaStream_t stream, cudaGraphNode_t *dependencies,
    size_t numDependencies, unsigned int flags);
cudaError_t CUDARTAPI cudaEventElapsedTime_12(float *ms, cudaEvent_t start, cudaEvent_t end);
cudaError_t CUDARTAPI cudaSetDoubleForDevice_12(double *d);
cudaError_t CUDARTAPI cudaSetDoubleForHost_12(double *d);
cudaError_t CUDARTAPI cudaFuncGetName_12(const char **name, const void *func);
cudaError_t CUDARTAPI cudaFuncGetAttributes_12(struct cudaFuncAttributes *attr, const void *func);
cudaError_t CUDARTAPI cudaFuncSetCacheConfig_12(const void *func, enum cudaFuncCache cacheConfig);
cudaError_t CUDARTAPI cudaLaunchCooperativeKernelMultiDevice_12(struct cudaLaunchParams_12 *launchParamsList,
    unsigned int numDevices, unsigned int flags);

#define cudaStreamGetCaptureInfo_v3 cudaStreamGetCaptureInfo
#define cudaStreamUpdateCaptureDependencies_v2 cudaStreamUpdateCaptureDependencies
#define cudaEventElapsedTime_v2 cudaEventElapsedTime

/* ---- Graphs: without what edges carry ---- */

cudaError_t CUDARTAPI cudaGraphGetEdges_12(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
    size_t *numEdges);
cudaError_t CUDARTAPI cudaGraphNodeGetDependencies_12(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
    size_t *pNumDependencies);
cudaError_t CUDARTAPI cudaGraphNodeGetDependentNodes_12(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes,
    size_t *pNumDependentNodes);
cudaError_t CUDARTAPI cudaGraphAddDependencies_12(cudaGraph_t graph, const cudaGraphNode_t *from,
    const cudaGraphNode_t *to, size_t numDependencies);
cudaError_t CUDARTAPI cudaGraphRemoveDependencies_12(cudaGraph_t graph, const cudaGraphNode_t *from,
    const cudaGraphNode_t *to, size_t numDependencies);
cudaError_t CUDARTAPI cudaGraphAddNode_12(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
    const cudaGraphNode_t *pDependencies, size_t numDependencies, struct cudaGraphNodeParams *nodeParams);

cudaError_t CUDARTAPI cudaGraphKernelNodeSetAttribute_12(cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
    const cudaLaunchAttributeValue *value);

#define cudaGraphGetEdges_v2 cudaGraphGetEdges
#define cudaGraphNodeGetDependencies_v2 cudaGraphNodeGetDependencies
#define cudaGraphNodeGetDependentNodes_v2 cudaGraphNodeGetDependentNodes
#define cudaGraphAddDependencies_v2 cudaGraphAddDependencies
#define cudaGraphRemoveDependencies_v2 cudaGraphRemoveDependencies
#define cudaGraphAddNode_v2 cudaGraphAddNode

/* ---- What 12 has under two names, or not at all ---- */

#define cudaSignalExternalSemaphoresAsync_v2 cudaSignalExternalSemaphoresAsync
#define cudaWaitExternalSemaphoresAsync_v2 cudaWaitExternalSemaphoresAsync

#pragma GCC poison cudaDeviceGetHostAtomicCapabilities cudaDeviceGetP2PAtomicCapabilities
#pragma GCC poison cudaLogsRegisterCallback cudaLogsUnregisterCallback cudaLogsCurrent
#pragma GCC poison cudaLogsDumpToFile cudaLogsDumpToMemory
#pragma GCC poison __cudaGetProcAddress

#endif
