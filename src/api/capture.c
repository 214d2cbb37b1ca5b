/* Stream capture: the checks of arguments, in the driver's order. */
#include "graph/capture.h"
#include "graph/user.h"

CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
    struct stream *s;
    CUresult r = stream_named(hStream, &s);
    if (r) return r;
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    return capture_begin(s, mode, NULL, NULL, NULL, 0);
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream hStream)
{
    return cuStreamBeginCapture_v2(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult CUDAAPI cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
                                             const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                             CUstreamCaptureMode mode)
{
    struct stream *s;
    struct graph *g;
    CUresult r = stream_named(hStream, &s);
    if (r) return r;
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    if ((r = graph_get(hGraph, &g))) return r;
    return capture_begin(s, mode, g, dependencies, dependencyData, numDependencies);
}

CUresult CUDAAPI cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
    struct stream *s;
    struct graph *g;
    CUresult r = stream_named(hStream, &s);
    if (r) return r;
    r = capture_end(s, &g);
    user_objects_bury(); /* of a graph that went with its capture */
    if (phGraph) *phGraph = (CUgraph)g; /* who does not want it has it from cuStreamGetCaptureInfo */
    return r;
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
    struct stream *s;
    struct capture_info i;
    CUresult r = stream_named(hStream, &s);
    if (r) return r;
    if (!captureStatus) return CUDA_ERROR_INVALID_VALUE;
    if (!(r = capture_describe(s, &i))) *captureStatus = i.status;
    return r;
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                           cuuint64_t *id_out, CUgraph *graph_out, const CUgraphNode **dependencies_out,
                                           const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out)
{
    struct stream *s;
    struct capture_info i;
    CUresult r = stream_named(hStream, &s);
    if (r) return r;
    if (!captureStatus_out) return CUDA_ERROR_INVALID_VALUE;
    if ((r = capture_describe(s, &i))) return r;
    *captureStatus_out = i.status;
    if (i.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return r;
    if (id_out) *id_out = i.id;
    if (graph_out) *graph_out = (CUgraph)i.graph;
    if (dependencies_out) *dependencies_out = i.before;
    if (edgeData_out) *edgeData_out = i.edges;
    if (numDependencies_out) *numDependencies_out = i.count;
    return r;
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                           cuuint64_t *id_out, CUgraph *graph_out, const CUgraphNode **dependencies_out,
                                           size_t *numDependencies_out)
{
    return cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, graph_out, dependencies_out, NULL,
                                     numDependencies_out);
}

CUresult CUDAAPI cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out)
{
    return cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, NULL, NULL, NULL, NULL);
}

CUresult CUDAAPI cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode *dependencies,
                                                      const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                                      unsigned int flags)
{
    struct stream *s;
    CUresult r = stream_named(hStream, &s);
    if (r) return r;
    if (!capture_has(s)) flags = CU_STREAM_SET_CAPTURE_DEPENDENCIES; /* what is not captured has no wrong ones */
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
    return capture_set_dependencies(s, dependencies, dependencyData, numDependencies,
                                    flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES);
}

CUresult CUDAAPI cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode *dependencies, size_t numDependencies,
                                                   unsigned int flags)
{
    return cuStreamUpdateCaptureDependencies_v2(hStream, dependencies, NULL, numDependencies, flags);
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUresult r = library_ready();
    if (r) return r;
    if (!mode) return CUDA_ERROR_INVALID_VALUE;
    *mode = capture_exchange_mode(*mode);
    return CUDA_SUCCESS;
}
