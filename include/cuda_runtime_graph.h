/* The types of the CUDA 13.0 runtime that speak of graphs: capture, nodes,
 * edges, instantiation, update. The last part of cuda_runtime_types.h, which
 * includes it and whose handles it names. */
#ifndef __FAULTLINE_CUDA_RUNTIME_GRAPH_H__
#define __FAULTLINE_CUDA_RUNTIME_GRAPH_H__

/* ---- Stream Capture ---- */

enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone        = 0,
    cudaStreamCaptureStatusActive      = 1,
    cudaStreamCaptureStatusInvalidated = 2,  /* to be ended without a graph */
};

/* Which calls that a capture forbids fail: in any thread; in the capturing thread; none */
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal      = 0,
    cudaStreamCaptureModeThreadLocal = 1,
    cudaStreamCaptureModeRelaxed     = 2,
};

enum cudaStreamUpdateCaptureDependenciesFlags {
    cudaStreamAddCaptureDependencies = 0x0,
    cudaStreamSetCaptureDependencies = 0x1,
};

/* ---- Nodes ---- */

enum cudaGraphNodeType {
    cudaGraphNodeTypeKernel             = 0x00,
    cudaGraphNodeTypeMemcpy             = 0x01,
    cudaGraphNodeTypeMemset             = 0x02,
    cudaGraphNodeTypeHost               = 0x03,
    cudaGraphNodeTypeGraph              = 0x04,
    cudaGraphNodeTypeEmpty              = 0x05,
    cudaGraphNodeTypeWaitEvent          = 0x06,
    cudaGraphNodeTypeEventRecord        = 0x07,
    cudaGraphNodeTypeExtSemaphoreSignal = 0x08,
    cudaGraphNodeTypeExtSemaphoreWait   = 0x09,
    cudaGraphNodeTypeMemAlloc           = 0x0a,
    cudaGraphNodeTypeMemFree            = 0x0b,
    cudaGraphNodeTypeConditional        = 0x0d,
    cudaGraphNodeTypeCount,
};

/* Structures with V2 behind their name are members of cudaGraphNodeParams */

struct cudaKernelNodeParams {
    void *func;                   /* a function of the program, or a cudaKernel_t */
    dim3 gridDim;
    dim3 blockDim;
    unsigned int sharedMemBytes;  /* dynamic shared memory */
    void **kernelParams;
    void **extra;
};

struct cudaKernelNodeParamsV2 {
    void *func;
#if !defined(__cplusplus) || __cplusplus >= 201103L
    dim3 gridDim;
    dim3 blockDim;
#else
    uint3 gridDim;
    uint3 blockDim;
#endif
    unsigned int sharedMemBytes;                     /* dynamic shared memory */
    void **kernelParams;
    void **extra;
};

struct cudaMemcpyNodeParams {
    int flags;                            /* 0 */
    int reserved[3];
    struct cudaMemcpy3DParms copyParams;
};

/* A fill of rows: pitch in bytes, width in elements of 1, 2 or 4 bytes */
struct cudaMemsetParams {
    void *dst;
    size_t pitch;
    unsigned int value;
    unsigned int elementSize;
    size_t width;
    size_t height;
};

struct cudaMemsetParamsV2 {
    void *dst;
    size_t pitch;
    unsigned int value;
    unsigned int elementSize;
    size_t width;
    size_t height;
};

struct cudaHostNodeParams {
    cudaHostFn_t fn;
    void *userData;
};

struct cudaHostNodeParamsV2 {
    cudaHostFn_t fn;
    void *userData;
};

struct cudaMemAllocNodeParams {
    struct cudaMemPoolProps poolProps;
    const struct cudaMemAccessDesc *accessDescs;
    size_t accessDescCount;
    size_t bytesize;                              /* in */
    void *dptr;                                   /* out */
};

struct cudaMemAllocNodeParamsV2 {
    struct cudaMemPoolProps poolProps;
    const struct cudaMemAccessDesc *accessDescs;
    size_t accessDescCount;
    size_t bytesize;                              /* in */
    void *dptr;                                   /* out */
};

struct cudaMemFreeNodeParams {
    void *dptr;
};

struct cudaExternalSemaphoreSignalNodeParams {
    cudaExternalSemaphore_t *extSemArray;
    const struct cudaExternalSemaphoreSignalParams *paramsArray;
    unsigned int numExtSems;
};

struct cudaExternalSemaphoreSignalNodeParamsV2 {
    cudaExternalSemaphore_t *extSemArray;
    const struct cudaExternalSemaphoreSignalParams *paramsArray;
    unsigned int numExtSems;
};

struct cudaExternalSemaphoreWaitNodeParams {
    cudaExternalSemaphore_t *extSemArray;
    const struct cudaExternalSemaphoreWaitParams *paramsArray;
    unsigned int numExtSems;
};

struct cudaExternalSemaphoreWaitNodeParamsV2 {
    cudaExternalSemaphore_t *extSemArray;
    const struct cudaExternalSemaphoreWaitParams *paramsArray;
    unsigned int numExtSems;
};

/* Flag of a handle: it gets its first value again at every launch */
enum cudaGraphConditionalHandleFlags {
    cudaGraphCondAssignDefault = 1,
};

enum cudaGraphConditionalNodeType {
    cudaGraphCondTypeIf     = 0,  /* not 0: the first body; 0: the second one, if there is one */
    cudaGraphCondTypeWhile  = 1,  /* as long as it is not 0 */
    cudaGraphCondTypeSwitch = 2,  /* the body of that number, if there is one */
};

struct cudaConditionalNodeParams {
    cudaGraphConditionalHandle handle;
    enum cudaGraphConditionalNodeType type;
    unsigned int size;                       /* bodies */
    cudaGraph_t *phGraph_out;                /* out: array of the bodies, of the node */
};

/* Whether a child graph is copied or becomes the parent's */
enum cudaGraphChildGraphNodeOwnership {
    cudaGraphChildGraphOwnershipClone = 0,
    cudaGraphChildGraphOwnershipMove  = 1,
};

struct cudaChildGraphNodeParams {
    cudaGraph_t graph;
    enum cudaGraphChildGraphNodeOwnership ownership;
};

struct cudaEventRecordNodeParams {
    cudaEvent_t event;
};

struct cudaEventWaitNodeParams {
    cudaEvent_t event;
};

/* The parameters of any node */
struct cudaGraphNodeParams {
    enum cudaGraphNodeType type;
    int reserved0[3];
    union {
        long long reserved1[29];
        struct cudaKernelNodeParamsV2 kernel;
        struct cudaMemcpyNodeParams memcpy;
        struct cudaMemsetParamsV2 memset;
        struct cudaHostNodeParamsV2 host;
        struct cudaChildGraphNodeParams graph;
        struct cudaEventWaitNodeParams eventWait;
        struct cudaEventRecordNodeParams eventRecord;
        struct cudaExternalSemaphoreSignalNodeParamsV2 extSemSignal;
        struct cudaExternalSemaphoreWaitNodeParamsV2 extSemWait;
        struct cudaMemAllocNodeParamsV2 alloc;
        struct cudaMemFreeNodeParams free;
        struct cudaConditionalNodeParams conditional;
    };
    long long reserved2;
};

/* ---- Edges ---- */

typedef enum cudaGraphDependencyType_enum {
    cudaGraphDependencyTypeDefault      = 0,
    cudaGraphDependencyTypeProgrammatic = 1,  /* between kernels: griddepcontrol */
} cudaGraphDependencyType;

/* On what of the node before the one behind waits; all zero: its end */
typedef struct cudaGraphEdgeData_st {
    unsigned char from_port;
    unsigned char to_port;
    unsigned char type;
    unsigned char reserved[5];
} cudaGraphEdgeData;

/* Ports of a kernel node: its end; when its blocks have signalled; when its blocks have begun */
#define cudaGraphKernelNodePortDefault          0
#define cudaGraphKernelNodePortProgrammatic     1
#define cudaGraphKernelNodePortLaunchCompletion 2

/* ---- Instantiation, Update, Launch ---- */

enum cudaGraphInstantiateFlags {
    cudaGraphInstantiateFlagAutoFreeOnLaunch = 1,  /* memory of the last launch is freed */
    cudaGraphInstantiateFlagUpload           = 2,
    cudaGraphInstantiateFlagDeviceLaunch     = 4,  /* kernels may launch it */
    cudaGraphInstantiateFlagUseNodePriority  = 8,
};

typedef enum cudaGraphInstantiateResult {
    cudaGraphInstantiateSuccess                     = 0,
    cudaGraphInstantiateError                       = 1,
    cudaGraphInstantiateInvalidStructure            = 2,
    cudaGraphInstantiateNodeOperationNotSupported   = 3,
    cudaGraphInstantiateMultipleDevicesNotSupported = 4,
    cudaGraphInstantiateConditionalHandleUnused     = 5,
} cudaGraphInstantiateResult;

typedef struct cudaGraphInstantiateParams_st {
    unsigned long long flags;               /* cudaGraphInstantiateFlags */
    cudaStream_t uploadStream;
    cudaGraphNode_t errNode_out;            /* out: NULL if it is no node's fault */
    cudaGraphInstantiateResult result_out;
} cudaGraphInstantiateParams;

enum cudaGraphExecUpdateResult {
    cudaGraphExecUpdateSuccess                        = 0x0,
    cudaGraphExecUpdateError                          = 0x1,
    cudaGraphExecUpdateErrorTopologyChanged           = 0x2,
    cudaGraphExecUpdateErrorNodeTypeChanged           = 0x3,
    cudaGraphExecUpdateErrorFunctionChanged           = 0x4,
    cudaGraphExecUpdateErrorParametersChanged         = 0x5,
    cudaGraphExecUpdateErrorNotSupported              = 0x6,
    cudaGraphExecUpdateErrorUnsupportedFunctionChange = 0x7,
    cudaGraphExecUpdateErrorAttributesChanged         = 0x8,
};

typedef struct cudaGraphExecUpdateResultInfo_st {
    enum cudaGraphExecUpdateResult result;
    cudaGraphNode_t errorNode;
    cudaGraphNode_t errorFromNode;
} cudaGraphExecUpdateResultInfo;

/* What a kernel may change of a node */
enum cudaGraphKernelNodeField {
    cudaGraphKernelNodeFieldInvalid = 0,
    cudaGraphKernelNodeFieldGridDim,
    cudaGraphKernelNodeFieldParam,
    cudaGraphKernelNodeFieldEnabled,
};

struct cudaGraphKernelNodeUpdate {
    cudaGraphDeviceNode_t node;
    enum cudaGraphKernelNodeField field;
    union {
#if !defined(__cplusplus) || __cplusplus >= 201103L
        dim3 gridDim;
#else
        uint3 gridDim;
#endif
        struct {
            const void *pValue;
            size_t offset;                           /* bytes */
            size_t size;
        } param;
        unsigned int isEnabled;
    } updateData;
};

/* ---- User Objects ---- */

/* The library does not wait until a destructor has run */
enum cudaUserObjectFlags {
    cudaUserObjectNoDestructorSync = 0x1,
};

/* The caller's references become the graph's */
enum cudaUserObjectRetainFlags {
    cudaGraphUserObjectMove = 0x1,
};

/* ---- Debugging ---- */

/* What cudaGraphDebugDotPrint writes */
enum cudaGraphDebugDotFlags {
    cudaGraphDebugDotFlagsVerbose                  = 1 << 0,
    cudaGraphDebugDotFlagsKernelNodeParams         = 1 << 2,
    cudaGraphDebugDotFlagsMemcpyNodeParams         = 1 << 3,
    cudaGraphDebugDotFlagsMemsetNodeParams         = 1 << 4,
    cudaGraphDebugDotFlagsHostNodeParams           = 1 << 5,
    cudaGraphDebugDotFlagsEventNodeParams          = 1 << 6,
    cudaGraphDebugDotFlagsExtSemasSignalNodeParams = 1 << 7,
    cudaGraphDebugDotFlagsExtSemasWaitNodeParams   = 1 << 8,
    cudaGraphDebugDotFlagsKernelNodeAttributes     = 1 << 9,
    cudaGraphDebugDotFlagsHandles                  = 1 << 10,
    cudaGraphDebugDotFlagsConditionalNodeParams    = 1 << 15,
};

#endif
