/* The functions of libcudart.so.12 that have other forms than those of 13, for
 * programs that are compiled with 13's header: NAME_12 is its NAME, and NAME_v2_13
 * is its NAME_v2 where that has the form of 13's NAME. */
#ifndef TWELVE_FORMS_H
#define TWELVE_FORMS_H

#ifdef __cplusplus
#define _Static_assert static_assert
extern "C" {
#endif

#pragma redefine_extname cudaGetDeviceProperties_12 cudaGetDeviceProperties
#pragma redefine_extname cudaGetDeviceProperties_v2_12 cudaGetDeviceProperties_v2
#pragma redefine_extname cudaChooseDevice_12 cudaChooseDevice
#pragma redefine_extname cudaPointerGetAttributes_12 cudaPointerGetAttributes
#pragma redefine_extname cudaMemAdvise_12 cudaMemAdvise
#pragma redefine_extname cudaMemPrefetchAsync_12 cudaMemPrefetchAsync
#pragma redefine_extname cudaMemcpyBatchAsync_12 cudaMemcpyBatchAsync
#pragma redefine_extname cudaMemcpy3DBatchAsync_12 cudaMemcpy3DBatchAsync
#pragma redefine_extname cudaCreateTextureObject_12 cudaCreateTextureObject
#pragma redefine_extname cudaCreateSurfaceObject_12 cudaCreateSurfaceObject
#pragma redefine_extname cudaGetTextureObjectResourceDesc_12 cudaGetTextureObjectResourceDesc
#pragma redefine_extname cudaGetTextureObjectResourceViewDesc_12 cudaGetTextureObjectResourceViewDesc
#pragma redefine_extname cudaGetSurfaceObjectResourceDesc_12 cudaGetSurfaceObjectResourceDesc
#pragma redefine_extname cudaStreamGetCaptureInfo_12 cudaStreamGetCaptureInfo
#pragma redefine_extname cudaStreamGetCaptureInfo_v2_12 cudaStreamGetCaptureInfo_v2
#pragma redefine_extname cudaStreamUpdateCaptureDependencies_12 cudaStreamUpdateCaptureDependencies
#pragma redefine_extname cudaEventElapsedTime_12 cudaEventElapsedTime
#pragma redefine_extname cudaSetDoubleForDevice_12 cudaSetDoubleForDevice
#pragma redefine_extname cudaSetDoubleForHost_12 cudaSetDoubleForHost
#pragma redefine_extname cudaLaunchCooperativeKernelMultiDevice_12 cudaLaunchCooperativeKernelMultiDevice
#pragma redefine_extname cudaThreadExit_12 cudaThreadExit
#pragma redefine_extname cudaFuncGetName_12 cudaFuncGetName
#pragma redefine_extname cudaFuncGetAttributes_12 cudaFuncGetAttributes
#pragma redefine_extname cudaFuncSetCacheConfig_12 cudaFuncSetCacheConfig
#pragma redefine_extname cudaGraphKernelNodeSetAttribute_12 cudaGraphKernelNodeSetAttribute
#pragma redefine_extname cudaGraphGetEdges_12 cudaGraphGetEdges
#pragma redefine_extname cudaGraphNodeGetDependencies_12 cudaGraphNodeGetDependencies
#pragma redefine_extname cudaGraphNodeGetDependentNodes_12 cudaGraphNodeGetDependentNodes
#pragma redefine_extname cudaGraphAddDependencies_12 cudaGraphAddDependencies
#pragma redefine_extname cudaGraphRemoveDependencies_12 cudaGraphRemoveDependencies
#pragma redefine_extname cudaGraphAddNode_12 cudaGraphAddNode

#include "runtime/twelve.h"

#undef cudaThreadSynchronize
#undef cudaThreadSetLimit
#undef cudaThreadGetLimit
#undef cudaThreadGetCacheConfig
#undef cudaThreadSetCacheConfig
cudaError_t cudaThreadSynchronize(void);
cudaError_t cudaThreadSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaThreadGetLimit(size_t *pValue, enum cudaLimit limit);
cudaError_t cudaThreadGetCacheConfig(enum cudaFuncCache *pCacheConfig);
cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache cacheConfig);

cudaError_t cudaMemAdvise_v2_13(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
                                struct cudaMemLocation location) __asm__("cudaMemAdvise_v2");
cudaError_t cudaMemPrefetchAsync_v2_13(const void *devPtr, size_t count, struct cudaMemLocation location,
                                       unsigned flags, cudaStream_t stream) __asm__("cudaMemPrefetchAsync_v2");
cudaError_t cudaEventElapsedTime_v2_13(float *ms, cudaEvent_t start, cudaEvent_t end)
    __asm__("cudaEventElapsedTime_v2");
cudaError_t cudaStreamGetCaptureInfo_v3_13(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                           unsigned long long *id, cudaGraph_t *graph,
                                           const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **edges,
                                           size_t *count) __asm__("cudaStreamGetCaptureInfo_v3");
cudaError_t cudaGraphGetEdges_v2_13(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                    cudaGraphEdgeData *edges, size_t *count) __asm__("cudaGraphGetEdges_v2");
cudaError_t cudaGraphAddDependencies_v2_13(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                           const cudaGraphEdgeData *edges, size_t count)
    __asm__("cudaGraphAddDependencies_v2");

#ifdef __cplusplus
}
#endif
#endif
