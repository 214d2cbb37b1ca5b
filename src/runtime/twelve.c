/* The functions of CUDA 12 that have another form than 13's, or that 13 has not: see
 * twelve.h. The driver has most of them in the same two forms. */
#define __CUDA_API_VERSION_INTERNAL /* every form under its own name */
#include "runtime/runtime.h"
#include "runtime/twelve.h"

#include <string.h>

/* ---- Memory ---- */

cudaError_t CUDARTAPI cudaPointerGetAttributes_12(struct cudaPointerAttributes *attributes, const void *ptr)
{
    struct cudaPointerAttributes all;
    cudaError_t r = cudaPointerGetAttributes(attributes ? &all : NULL, ptr);
    if (!r) memcpy(attributes, &all, POINTER_ATTRIBUTES_SIZE_12);
    return r;
}

cudaError_t CUDARTAPI cudaMemAdvise_12(const void *devPtr, size_t count, enum cudaMemoryAdvise advice, int device)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemAdvise((CUdeviceptr)devPtr, count, (CUmem_advise)advice, device));
}

cudaError_t CUDARTAPI cudaMemPrefetchAsync_12(const void *devPtr, size_t count, int dstDevice, cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemPrefetchAsync((CUdeviceptr)devPtr, count, dstDevice, stream));
}

cudaError_t CUDARTAPI cudaMemcpyBatchAsync_12(void **dsts, void **srcs, size_t *sizes, size_t count,
                                              struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
                                              size_t *failIdx, cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(cuMemcpyBatchAsync((CUdeviceptr *)dsts, (CUdeviceptr *)srcs, sizes, count,
                                            (CUmemcpyAttributes *)attrs, attrsIdxs, numAttrs, failIdx, stream));
}

cudaError_t CUDARTAPI cudaMemcpy3DBatchAsync_12(size_t numOps, struct cudaMemcpy3DBatchOp *opList, size_t *failIdx,
                                                unsigned long long flags, cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(cuMemcpy3DBatchAsync(numOps, (CUDA_MEMCPY3D_BATCH_OP *)opList, failIdx, flags, stream));
}

/* ---- Devices ---- */

cudaError_t CUDARTAPI cudaThreadExit_12(void)
{
    cudaError_t r = cudaDeviceReset();
    return r ? r : runtime_error(cuCtxSetCurrent(NULL));
}

/* For devices that had no double. */
cudaError_t CUDARTAPI cudaSetDoubleForDevice_12(double *d)
{
    (void)d;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaSetDoubleForHost_12(double *d)
{
    (void)d;
    return cudaSuccess;
}

/* ---- Textures and surfaces ---- */

/* 13's form of a resource; NULL: there is none. */
static const struct cudaResourceDesc *longer(const struct cudaResourceDesc *given, struct cudaResourceDesc *all)
{
    if (!given) return NULL;
    memset(all, 0, sizeof *all);
    return memcpy(all, given, RESOURCE_DESC_SIZE_12);
}

static const struct cudaResourceViewDesc *longer_view(const struct cudaResourceViewDesc *given,
                                                      struct cudaResourceViewDesc *all)
{
    if (!given) return NULL;
    memset(all, 0, sizeof *all);
    return memcpy(all, given, RESOURCE_VIEW_DESC_SIZE_12);
}

cudaError_t CUDARTAPI cudaCreateTextureObject_12(cudaTextureObject_t *pTexObject,
                                                 const struct cudaResourceDesc *pResDesc,
                                                 const struct cudaTextureDesc *pTexDesc,
                                                 const struct cudaResourceViewDesc *pResViewDesc)
{
    struct cudaResourceDesc resource;
    struct cudaResourceViewDesc view;
    return cudaCreateTextureObject(pTexObject, longer(pResDesc, &resource), pTexDesc, longer_view(pResViewDesc, &view));
}

cudaError_t CUDARTAPI cudaCreateSurfaceObject_12(cudaSurfaceObject_t *pSurfObject,
                                                 const struct cudaResourceDesc *pResDesc)
{
    struct cudaResourceDesc resource;
    return cudaCreateSurfaceObject(pSurfObject, longer(pResDesc, &resource));
}

cudaError_t CUDARTAPI cudaGetTextureObjectResourceDesc_12(struct cudaResourceDesc *pResDesc,
                                                          cudaTextureObject_t texObject)
{
    struct cudaResourceDesc all;
    cudaError_t r = cudaGetTextureObjectResourceDesc(pResDesc ? &all : NULL, texObject);
    if (!r) memcpy(pResDesc, &all, RESOURCE_DESC_SIZE_12);
    return r;
}

cudaError_t CUDARTAPI cudaGetTextureObjectResourceViewDesc_12(struct cudaResourceViewDesc *pResViewDesc,
                                                              cudaTextureObject_t texObject)
{
    struct cudaResourceViewDesc all = { 0 }; /* stays so if the texture has no view */
    cudaError_t r = cudaGetTextureObjectResourceViewDesc(&all, texObject);
    if (!r && pResViewDesc) memcpy(pResViewDesc, &all, RESOURCE_VIEW_DESC_SIZE_12);
    return r;
}

cudaError_t CUDARTAPI cudaGetSurfaceObjectResourceDesc_12(struct cudaResourceDesc *pResDesc,
                                                          cudaSurfaceObject_t surfObject)
{
    struct cudaResourceDesc all;
    cudaError_t r = cudaGetSurfaceObjectResourceDesc(pResDesc ? &all : NULL, surfObject);
    if (!r) memcpy(pResDesc, &all, RESOURCE_DESC_SIZE_12);
    return r;
}

/* ---- Streams and events ---- */

cudaError_t CUDARTAPI cudaStreamGetCaptureInfo_12(cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out,
                                                  unsigned long long *id_out)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(
        cuStreamGetCaptureInfo(stream, (CUstreamCaptureStatus *)captureStatus_out, (cuuint64_t *)id_out));
}

cudaError_t CUDARTAPI cudaStreamGetCaptureInfo_v2_12(cudaStream_t stream,
                                                     enum cudaStreamCaptureStatus *captureStatus_out,
                                                     unsigned long long *id_out, cudaGraph_t *graph_out,
                                                     const cudaGraphNode_t **dependencies_out,
                                                     size_t *numDependencies_out)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(cuStreamGetCaptureInfo_v2(stream, (CUstreamCaptureStatus *)captureStatus_out,
                                                   (cuuint64_t *)id_out, graph_out, dependencies_out,
                                                   numDependencies_out));
}

cudaError_t CUDARTAPI cudaStreamUpdateCaptureDependencies_12(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                             size_t numDependencies, unsigned int flags)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamUpdateCaptureDependencies(stream, dependencies, numDependencies, flags));
}

cudaError_t CUDARTAPI cudaEventElapsedTime_12(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return ms ? runtime_error(cuEventElapsedTime(ms, start, end)) : cudaErrorInvalidValue;
}

/* ---- Kernels ---- */

cudaError_t CUDARTAPI cudaFuncGetName_12(const char **name, const void *func)
{
    cudaError_t r = runtime_ready();
    return r ? r : cudaFuncGetName(name, func);
}

cudaError_t CUDARTAPI cudaFuncGetAttributes_12(struct cudaFuncAttributes *attr, const void *func)
{
    cudaError_t r = cudaFuncGetAttributes(attr, func);
    if (!r) attr->nonPortableClusterSizeAllowed = attr->nonPortableClusterSizeAllowed != 0;
    return r;
}

cudaError_t CUDARTAPI cudaFuncSetCacheConfig_12(const void *func, enum cudaFuncCache cacheConfig)
{
    cudaError_t r = cudaFuncSetCacheConfig(func, cacheConfig);
    return r == cudaErrorInvalidResourceHandle ? cudaErrorInvalidDeviceFunction : r;
}

/* As long as it is one device: the blocks of several cannot wait for each other here. */
cudaError_t CUDARTAPI cudaLaunchCooperativeKernelMultiDevice_12(struct cudaLaunchParams_12 *launchParamsList,
                                                                unsigned int numDevices, unsigned int flags)
{
    enum { NO_PRE_SYNC = 1, NO_POST_SYNC = 2 };
    const struct cudaLaunchParams_12 *p = launchParamsList;
    CUkernel kernel;
    int devices;
    cudaError_t r = runtime_ready();
    if (!r) r = runtime_error(cuDeviceGetCount(&devices));
    if (r) return r;
    if (!p || !numDevices || numDevices > (unsigned)devices || flags & ~(unsigned)(NO_PRE_SYNC | NO_POST_SYNC))
        return cudaErrorInvalidValue;
    if (numDevices > 1) return cudaErrorNotSupported;
    if (!p->stream) return cudaErrorInvalidResourceHandle;
    if ((r = runtime_registered_kernel(p->func, &kernel))) return r;
    return cudaLaunchCooperativeKernel(p->func, p->gridDim, p->blockDim, p->args, p->sharedMem, p->stream);
}

/* ---- Graphs ---- */

cudaError_t CUDARTAPI cudaGraphGetEdges_12(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                           size_t *numEdges)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphGetEdges(graph, from, to, numEdges));
}

cudaError_t CUDARTAPI cudaGraphNodeGetDependencies_12(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
                                                      size_t *pNumDependencies)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphNodeGetDependencies(node, pDependencies, pNumDependencies));
}

cudaError_t CUDARTAPI cudaGraphNodeGetDependentNodes_12(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes,
                                                        size_t *pNumDependentNodes)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphNodeGetDependentNodes(node, pDependentNodes, pNumDependentNodes));
}

cudaError_t CUDARTAPI cudaGraphAddDependencies_12(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                  const cudaGraphNode_t *to, size_t numDependencies)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphAddDependencies(graph, from, to, numDependencies));
}

cudaError_t CUDARTAPI cudaGraphRemoveDependencies_12(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                     const cudaGraphNode_t *to, size_t numDependencies)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphRemoveDependencies(graph, from, to, numDependencies));
}

cudaError_t CUDARTAPI cudaGraphAddNode_12(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                          const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                          struct cudaGraphNodeParams *nodeParams)
{
    return cudaGraphAddNode(pGraphNode, graph, pDependencies, NULL, numDependencies, nodeParams);
}

cudaError_t CUDARTAPI cudaGraphKernelNodeSetAttribute_12(cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
                                                         const cudaLaunchAttributeValue *value)
{
    if (attr == cudaLaunchAttributeNvlinkUtilCentricScheduling) return cudaErrorInvalidValue;
    return cudaGraphKernelNodeSetAttribute(hNode, attr, value);
}
