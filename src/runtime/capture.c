/* Streams whose work becomes the nodes of a graph. */
#include "runtime/runtime.h"

_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData), "one layout");

cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamBeginCapture_v2(stream, (CUstreamCaptureMode)mode));
}

cudaError_t CUDARTAPI cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                    const cudaGraphNode_t *dependencies,
                                                    const cudaGraphEdgeData *dependencyData, size_t numDependencies,
                                                    enum cudaStreamCaptureMode mode)
{
    cudaError_t r = runtime_ready();
    return r ? r
             : runtime_error(cuStreamBeginCaptureToGraph(stream, graph, dependencies,
                                                         (const CUgraphEdgeData *)dependencyData, numDependencies,
                                                         (CUstreamCaptureMode)mode));
}

cudaError_t CUDARTAPI cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode));
}

cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamEndCapture(stream, pGraph));
}

cudaError_t CUDARTAPI cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *pCaptureStatus)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamIsCapturing(stream, (CUstreamCaptureStatus *)pCaptureStatus));
}

cudaError_t CUDARTAPI cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out,
                                               unsigned long long *id_out, cudaGraph_t *graph_out,
                                               const cudaGraphNode_t **dependencies_out,
                                               const cudaGraphEdgeData **edgeData_out, size_t *numDependencies_out)
{
    cudaError_t r = runtime_ready();
    return r ? r
             : runtime_error(cuStreamGetCaptureInfo_v3(stream, (CUstreamCaptureStatus *)captureStatus_out,
                                                       (cuuint64_t *)id_out, graph_out, dependencies_out,
                                                       (const CUgraphEdgeData **)edgeData_out, numDependencies_out));
}

cudaError_t CUDARTAPI cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                          const cudaGraphEdgeData *dependencyData,
                                                          size_t numDependencies, unsigned int flags)
{
    cudaError_t r = runtime_ready();
    return r ? r
             : runtime_error(cuStreamUpdateCaptureDependencies_v2(
                   stream, dependencies, (const CUgraphEdgeData *)dependencyData, numDependencies, flags));
}
