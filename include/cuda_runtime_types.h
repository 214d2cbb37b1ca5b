/* The CUDA 13.0 runtime API: the types, constants and macros of what
 * cuda_runtime_api.h declares, grouped as the runtime API manual's chapters.
 * Source- and binary-compatible: a program compiled with it runs on NVIDIA's
 * runtime and the other way round.
 *
 * It stands in the place of NVIDIA's driver_types.h, vector_types.h,
 * texture_types.h and surface_types.h. A program includes these or this, not
 * both; with cuda.h it gets along in any order. */
#ifndef __FAULTLINE_CUDA_RUNTIME_TYPES_H__
#define __FAULTLINE_CUDA_RUNTIME_TYPES_H__

#include <limits.h>
#include <stddef.h>

#include "cuda_runtime_vector.h"
#include "cuda_runtime_memory.h"

/* ---- Handles ---- */
/* Every object is known by a handle that only the library can look into; those with the driver's tag are the
 * driver's own. */

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef struct CUgraphDeviceUpdatableNode_st *cudaGraphDeviceNode_t;
typedef struct CUuserObject_st *cudaUserObject_t;
typedef struct CUfunc_st *cudaFunction_t;
typedef struct CUkern_st *cudaKernel_t;
typedef struct CUlib_st *cudaLibrary_t;
typedef struct CUexternalMemory_st *cudaExternalMemory_t;
typedef struct CUexternalSemaphore_st *cudaExternalSemaphore_t;
typedef struct cudaGraphicsResource *cudaGraphicsResource_t;
typedef struct cudaAsyncCallbackEntry *cudaAsyncCallbackHandle_t;
typedef struct CUlogsCallbackEntry_st *cudaLogsCallbackHandle;
typedef unsigned long long cudaGraphConditionalHandle;
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

#ifndef CU_UUID_HAS_BEEN_DEFINED
#define CU_UUID_HAS_BEEN_DEFINED
typedef struct CUuuid_st {
    char bytes[16];
} CUuuid;
#endif
typedef struct CUuuid_st cudaUUID_t;

/* ---- Error Handling ---- */

/* What functions return. Some codes report failures of earlier, asynchronous work. */
enum cudaError {
    cudaSuccess                             = 0,
    cudaErrorInvalidValue                   = 1,
    cudaErrorMemoryAllocation               = 2,
    cudaErrorInitializationError            = 3,
    cudaErrorCudartUnloading                = 4,
    cudaErrorProfilerDisabled               = 5,
    cudaErrorProfilerNotInitialized         = 6,
    cudaErrorProfilerAlreadyStarted         = 7,
    cudaErrorProfilerAlreadyStopped         = 8,
    cudaErrorInvalidConfiguration           = 9,
    cudaErrorInvalidPitchValue              = 12,
    cudaErrorInvalidSymbol                  = 13,
    cudaErrorInvalidHostPointer             = 16,
    cudaErrorInvalidDevicePointer           = 17,
    cudaErrorInvalidTexture                 = 18,
    cudaErrorInvalidTextureBinding          = 19,
    cudaErrorInvalidChannelDescriptor       = 20,
    cudaErrorInvalidMemcpyDirection         = 21,
    cudaErrorAddressOfConstant              = 22,
    cudaErrorTextureFetchFailed             = 23,
    cudaErrorTextureNotBound                = 24,
    cudaErrorSynchronizationError           = 25,
    cudaErrorInvalidFilterSetting           = 26,
    cudaErrorInvalidNormSetting             = 27,
    cudaErrorMixedDeviceExecution           = 28,
    cudaErrorNotYetImplemented              = 31,
    cudaErrorMemoryValueTooLarge            = 32,
    cudaErrorStubLibrary                    = 34,
    cudaErrorInsufficientDriver             = 35,
    cudaErrorCallRequiresNewerDriver        = 36,
    cudaErrorInvalidSurface                 = 37,
    cudaErrorDuplicateVariableName          = 43,
    cudaErrorDuplicateTextureName           = 44,
    cudaErrorDuplicateSurfaceName           = 45,
    cudaErrorDevicesUnavailable             = 46,
    cudaErrorIncompatibleDriverContext      = 49,
    cudaErrorMissingConfiguration           = 52,
    cudaErrorPriorLaunchFailure             = 53,
    cudaErrorLaunchMaxDepthExceeded         = 65,
    cudaErrorLaunchFileScopedTex            = 66,
    cudaErrorLaunchFileScopedSurf           = 67,
    cudaErrorSyncDepthExceeded              = 68,
    cudaErrorLaunchPendingCountExceeded     = 69,
    cudaErrorInvalidDeviceFunction          = 98,
    cudaErrorNoDevice                       = 100,
    cudaErrorInvalidDevice                  = 101,
    cudaErrorDeviceNotLicensed              = 102,
    cudaErrorSoftwareValidityNotEstablished = 103,
    cudaErrorStartupFailure                 = 127,
    cudaErrorInvalidKernelImage             = 200,
    cudaErrorDeviceUninitialized            = 201,
    cudaErrorMapBufferObjectFailed          = 205,
    cudaErrorUnmapBufferObjectFailed        = 206,
    cudaErrorArrayIsMapped                  = 207,
    cudaErrorAlreadyMapped                  = 208,
    cudaErrorNoKernelImageForDevice         = 209,
    cudaErrorAlreadyAcquired                = 210,
    cudaErrorNotMapped                      = 211,
    cudaErrorNotMappedAsArray               = 212,
    cudaErrorNotMappedAsPointer             = 213,
    cudaErrorECCUncorrectable               = 214,
    cudaErrorUnsupportedLimit               = 215,
    cudaErrorDeviceAlreadyInUse             = 216,
    cudaErrorPeerAccessUnsupported          = 217,
    cudaErrorInvalidPtx                     = 218,
    cudaErrorInvalidGraphicsContext         = 219,
    cudaErrorNvlinkUncorrectable            = 220,
    cudaErrorJitCompilerNotFound            = 221,
    cudaErrorUnsupportedPtxVersion          = 222,
    cudaErrorJitCompilationDisabled         = 223,
    cudaErrorUnsupportedExecAffinity        = 224,
    cudaErrorUnsupportedDevSideSync         = 225,
    cudaErrorContained                      = 226,
    cudaErrorInvalidSource                  = 300,
    cudaErrorFileNotFound                   = 301,
    cudaErrorSharedObjectSymbolNotFound     = 302,
    cudaErrorSharedObjectInitFailed         = 303,
    cudaErrorOperatingSystem                = 304,
    cudaErrorInvalidResourceHandle          = 400,
    cudaErrorIllegalState                   = 401,
    cudaErrorLossyQuery                     = 402,
    cudaErrorSymbolNotFound                 = 500,
    cudaErrorNotReady                       = 600,
    cudaErrorIllegalAddress                 = 700,
    cudaErrorLaunchOutOfResources           = 701,
    cudaErrorLaunchTimeout                  = 702,
    cudaErrorLaunchIncompatibleTexturing    = 703,
    cudaErrorPeerAccessAlreadyEnabled       = 704,
    cudaErrorPeerAccessNotEnabled           = 705,
    cudaErrorSetOnActiveProcess             = 708,
    cudaErrorContextIsDestroyed             = 709,
    cudaErrorAssert                         = 710,
    cudaErrorTooManyPeers                   = 711,
    cudaErrorHostMemoryAlreadyRegistered    = 712,
    cudaErrorHostMemoryNotRegistered        = 713,
    cudaErrorHardwareStackError             = 714,
    cudaErrorIllegalInstruction             = 715,
    cudaErrorMisalignedAddress              = 716,
    cudaErrorInvalidAddressSpace            = 717,
    cudaErrorInvalidPc                      = 718,
    cudaErrorLaunchFailure                  = 719,
    cudaErrorCooperativeLaunchTooLarge      = 720,
    cudaErrorTensorMemoryLeak               = 721,
    cudaErrorNotPermitted                   = 800,
    cudaErrorNotSupported                   = 801,
    cudaErrorSystemNotReady                 = 802,
    cudaErrorSystemDriverMismatch           = 803,
    cudaErrorCompatNotSupportedOnDevice     = 804,
    cudaErrorMpsConnectionFailed            = 805,
    cudaErrorMpsRpcFailure                  = 806,
    cudaErrorMpsServerNotReady              = 807,
    cudaErrorMpsMaxClientsReached           = 808,
    cudaErrorMpsMaxConnectionsReached       = 809,
    cudaErrorMpsClientTerminated            = 810,
    cudaErrorCdpNotSupported                = 811,
    cudaErrorCdpVersionMismatch             = 812,
    cudaErrorStreamCaptureUnsupported       = 900,
    cudaErrorStreamCaptureInvalidated       = 901,
    cudaErrorStreamCaptureMerge             = 902,
    cudaErrorStreamCaptureUnmatched         = 903,
    cudaErrorStreamCaptureUnjoined          = 904,
    cudaErrorStreamCaptureIsolation         = 905,
    cudaErrorStreamCaptureImplicit          = 906,
    cudaErrorCapturedEvent                  = 907,
    cudaErrorStreamCaptureWrongThread       = 908,
    cudaErrorTimeout                        = 909,
    cudaErrorGraphExecUpdateFailure         = 910,
    cudaErrorExternalDevice                 = 911,
    cudaErrorInvalidClusterSize             = 912,
    cudaErrorFunctionNotLoaded              = 913,
    cudaErrorInvalidResourceType            = 914,
    cudaErrorInvalidResourceConfiguration   = 915,
    cudaErrorUnknown                        = 999,
    cudaErrorApiFailureBase                 = 10000,  /* no longer used */
};

typedef enum cudaError cudaError_t;

/* ---- Device Management ---- */

/* Flags of a device: how the host waits (one of the first four), mapping of host memory, local memory stays as
 * large as it was needed, copies wait for their end */
#define cudaDeviceScheduleAuto         0x00
#define cudaDeviceScheduleSpin         0x01
#define cudaDeviceScheduleYield        0x02
#define cudaDeviceScheduleBlockingSync 0x04
#define cudaDeviceBlockingSync         0x04
#define cudaDeviceScheduleMask         0x07
#define cudaDeviceMapHost              0x08
#define cudaDeviceLmemResizeToMax      0x10
#define cudaDeviceSyncMemops           0x80
#define cudaDeviceMask                 0xff

/* Flag of cudaInitDevice: the other flags are to be used */
#define cudaInitDeviceFlagsAreValid 0x01

/* What cudaDeviceGetAttribute can be asked. Sizes are in bytes, clock rates in kHz, yes is 1 and no is 0; texture
 * and surface extents are in elements. */
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock                     = 1,
    cudaDevAttrMaxBlockDimX                           = 2,
    cudaDevAttrMaxBlockDimY                           = 3,
    cudaDevAttrMaxBlockDimZ                           = 4,
    cudaDevAttrMaxGridDimX                            = 5,
    cudaDevAttrMaxGridDimY                            = 6,
    cudaDevAttrMaxGridDimZ                            = 7,
    cudaDevAttrMaxSharedMemoryPerBlock                = 8,
    cudaDevAttrTotalConstantMemory                    = 9,
    cudaDevAttrWarpSize                               = 10,
    cudaDevAttrMaxPitch                               = 11,
    cudaDevAttrMaxRegistersPerBlock                   = 12,
    cudaDevAttrClockRate                              = 13,
    cudaDevAttrTextureAlignment                       = 14,
    cudaDevAttrGpuOverlap                             = 15,   /* copies beside kernels; see the copy engines */
    cudaDevAttrMultiProcessorCount                    = 16,
    cudaDevAttrKernelExecTimeout                      = 17,   /* kernels that run too long are ended */
    cudaDevAttrIntegrated                             = 18,   /* shares the host's memory */
    cudaDevAttrCanMapHostMemory                       = 19,
    cudaDevAttrComputeMode                            = 20,   /* cudaComputeMode */
    cudaDevAttrMaxTexture1DWidth                      = 21,
    cudaDevAttrMaxTexture2DWidth                      = 22,
    cudaDevAttrMaxTexture2DHeight                     = 23,
    cudaDevAttrMaxTexture3DWidth                      = 24,
    cudaDevAttrMaxTexture3DHeight                     = 25,
    cudaDevAttrMaxTexture3DDepth                      = 26,
    cudaDevAttrMaxTexture2DLayeredWidth               = 27,
    cudaDevAttrMaxTexture2DLayeredHeight              = 28,
    cudaDevAttrMaxTexture2DLayeredLayers              = 29,
    cudaDevAttrSurfaceAlignment                       = 30,
    cudaDevAttrConcurrentKernels                      = 31,
    cudaDevAttrEccEnabled                             = 32,
    cudaDevAttrPciBusId                               = 33,
    cudaDevAttrPciDeviceId                            = 34,
    cudaDevAttrTccDriver                              = 35,
    cudaDevAttrMemoryClockRate                        = 36,
    cudaDevAttrGlobalMemoryBusWidth                   = 37,   /* bits */
    cudaDevAttrL2CacheSize                            = 38,
    cudaDevAttrMaxThreadsPerMultiProcessor            = 39,
    cudaDevAttrAsyncEngineCount                       = 40,   /* copy engines */
    cudaDevAttrUnifiedAddressing                      = 41,   /* one address space with the host */
    cudaDevAttrMaxTexture1DLayeredWidth               = 42,
    cudaDevAttrMaxTexture1DLayeredLayers              = 43,
    cudaDevAttrMaxTexture2DGatherWidth                = 45,
    cudaDevAttrMaxTexture2DGatherHeight               = 46,
    cudaDevAttrMaxTexture3DWidthAlt                   = 47,
    cudaDevAttrMaxTexture3DHeightAlt                  = 48,
    cudaDevAttrMaxTexture3DDepthAlt                   = 49,
    cudaDevAttrPciDomainId                            = 50,
    cudaDevAttrTexturePitchAlignment                  = 51,
    cudaDevAttrMaxTextureCubemapWidth                 = 52,
    cudaDevAttrMaxTextureCubemapLayeredWidth          = 53,
    cudaDevAttrMaxTextureCubemapLayeredLayers         = 54,
    cudaDevAttrMaxSurface1DWidth                      = 55,
    cudaDevAttrMaxSurface2DWidth                      = 56,
    cudaDevAttrMaxSurface2DHeight                     = 57,
    cudaDevAttrMaxSurface3DWidth                      = 58,
    cudaDevAttrMaxSurface3DHeight                     = 59,
    cudaDevAttrMaxSurface3DDepth                      = 60,
    cudaDevAttrMaxSurface1DLayeredWidth               = 61,
    cudaDevAttrMaxSurface1DLayeredLayers              = 62,
    cudaDevAttrMaxSurface2DLayeredWidth               = 63,
    cudaDevAttrMaxSurface2DLayeredHeight              = 64,
    cudaDevAttrMaxSurface2DLayeredLayers              = 65,
    cudaDevAttrMaxSurfaceCubemapWidth                 = 66,
    cudaDevAttrMaxSurfaceCubemapLayeredWidth          = 67,
    cudaDevAttrMaxSurfaceCubemapLayeredLayers         = 68,
    cudaDevAttrMaxTexture1DLinearWidth                = 69,
    cudaDevAttrMaxTexture2DLinearWidth                = 70,
    cudaDevAttrMaxTexture2DLinearHeight               = 71,
    cudaDevAttrMaxTexture2DLinearPitch                = 72,
    cudaDevAttrMaxTexture2DMipmappedWidth             = 73,
    cudaDevAttrMaxTexture2DMipmappedHeight            = 74,
    cudaDevAttrComputeCapabilityMajor                 = 75,
    cudaDevAttrComputeCapabilityMinor                 = 76,
    cudaDevAttrMaxTexture1DMipmappedWidth             = 77,
    cudaDevAttrStreamPrioritiesSupported              = 78,
    cudaDevAttrGlobalL1CacheSupported                 = 79,
    cudaDevAttrLocalL1CacheSupported                  = 80,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor       = 81,
    cudaDevAttrMaxRegistersPerMultiprocessor          = 82,
    cudaDevAttrManagedMemory                          = 83,   /* cudaMallocManaged works */
    cudaDevAttrIsMultiGpuBoard                        = 84,
    cudaDevAttrMultiGpuBoardGroupID                   = 85,
    cudaDevAttrHostNativeAtomicSupported              = 86,
    cudaDevAttrSingleToDoublePrecisionPerfRatio       = 87,   /* how many times faster float is than double */
    cudaDevAttrPageableMemoryAccess                   = 88,   /* kernels may access malloc'd host memory */
    cudaDevAttrConcurrentManagedAccess                = 89,   /* the host may access managed memory while kernels run */
    cudaDevAttrComputePreemptionSupported             = 90,
    cudaDevAttrCanUseHostPointerForRegisteredMem      = 91,   /* registered memory has the same address on the device */
    cudaDevAttrReserved92                             = 92,
    cudaDevAttrReserved93                             = 93,
    cudaDevAttrReserved94                             = 94,
    cudaDevAttrCooperativeLaunch                      = 95,
    cudaDevAttrReserved96                             = 96,
    cudaDevAttrMaxSharedMemoryPerBlockOptin           = 97,   /* with cudaFuncAttributeMaxDynamicSharedMemorySize */
    cudaDevAttrCanFlushRemoteWrites                   = 98,
    cudaDevAttrHostRegisterSupported                  = 99,
    cudaDevAttrPageableMemoryAccessUsesHostPageTables = 100,
    cudaDevAttrDirectManagedMemAccessFromHost         = 101,  /* without migration */
    cudaDevAttrMaxBlocksPerMultiprocessor             = 106,
    cudaDevAttrMaxPersistingL2CacheSize               = 108,
    cudaDevAttrMaxAccessPolicyWindowSize              = 109,
    cudaDevAttrReservedSharedMemoryPerBlock           = 111,  /* that the driver takes */
    cudaDevAttrSparseCudaArraySupported               = 112,
    cudaDevAttrHostRegisterReadOnlySupported          = 113,
    cudaDevAttrTimelineSemaphoreInteropSupported      = 114,
    cudaDevAttrMemoryPoolsSupported                   = 115,
    cudaDevAttrGPUDirectRDMASupported                 = 116,
    cudaDevAttrGPUDirectRDMAFlushWritesOptions        = 117,  /* cudaFlushGPUDirectRDMAWritesOptions */
    cudaDevAttrGPUDirectRDMAWritesOrdering            = 118,  /* cudaGPUDirectRDMAWritesOrdering */
    cudaDevAttrMemoryPoolSupportedHandleTypes         = 119,  /* cudaMemAllocationHandleType */
    cudaDevAttrClusterLaunch                          = 120,
    cudaDevAttrDeferredMappingCudaArraySupported      = 121,
    cudaDevAttrReserved122                            = 122,
    cudaDevAttrReserved123                            = 123,
    cudaDevAttrReserved124                            = 124,
    cudaDevAttrIpcEventSupport                        = 125,
    cudaDevAttrMemSyncDomainCount                     = 126,
    cudaDevAttrReserved127                            = 127,
    cudaDevAttrReserved128                            = 128,
    cudaDevAttrReserved129                            = 129,
    cudaDevAttrNumaConfig                             = 130,  /* cudaDeviceNumaConfig */
    cudaDevAttrNumaId                                 = 131,  /* of the device's memory, -1: it is no node */
    cudaDevAttrReserved132                            = 132,
    cudaDevAttrMpsEnabled                             = 133,
    cudaDevAttrHostNumaId                             = 134,  /* of the nearest host memory */
    cudaDevAttrD3D12CigSupported                      = 135,
    cudaDevAttrVulkanCigSupported                     = 138,
    cudaDevAttrGpuPciDeviceId                         = 139,  /* PCI device in the upper 16 bits, vendor in the lower */
    cudaDevAttrGpuPciSubsystemId                      = 140,  /* likewise, of the board */
    cudaDevAttrReserved141                            = 141,
    cudaDevAttrHostNumaMemoryPoolsSupported           = 142,
    cudaDevAttrHostNumaMultinodeIpcSupported          = 143,
    cudaDevAttrHostMemoryPoolsSupported               = 144,
    cudaDevAttrReserved145                            = 145,
    cudaDevAttrOnlyPartialHostNativeAtomicSupported   = 147,
    cudaDevAttrMax,                                           /* one more than the last */
};

/* Who may use a device */
enum cudaComputeMode {
    cudaComputeModeDefault          = 0,  /* everyone */
    cudaComputeModeExclusive        = 1,  /* no longer used */
    cudaComputeModeProhibited       = 2,  /* no one */
    cudaComputeModeExclusiveProcess = 3,  /* one process */
};

/* What cudaDeviceSetLimit can set, in bytes or a count */
enum cudaLimit {
    cudaLimitStackSize                    = 0x00,  /* of a thread */
    cudaLimitPrintfFifoSize               = 0x01,  /* buffer of printf in kernels */
    cudaLimitMallocHeapSize               = 0x02,  /* heap of malloc in kernels */
    cudaLimitDevRuntimeSyncDepth          = 0x03,
    cudaLimitDevRuntimePendingLaunchCount = 0x04,
    cudaLimitMaxL2FetchGranularity        = 0x05,  /* a hint, up to 128 */
    cudaLimitPersistingL2CacheSize        = 0x06,
};

enum cudaDeviceNumaConfig {
    cudaDeviceNumaConfigNone     = 0,
    cudaDeviceNumaConfigNumaNode,      /* the device's memory is a node */
};

enum cudaFlushGPUDirectRDMAWritesOptions {
    cudaFlushGPUDirectRDMAWritesOptionHost   = 1 << 0,  /* cudaDeviceFlushGPUDirectRDMAWrites */
    cudaFlushGPUDirectRDMAWritesOptionMemOps = 1 << 1,
};

/* For whom writes of third parties arrive in order, without a flush */
enum cudaGPUDirectRDMAWritesOrdering {
    cudaGPUDirectRDMAWritesOrderingNone       = 0,
    cudaGPUDirectRDMAWritesOrderingOwner      = 100,
    cudaGPUDirectRDMAWritesOrderingAllDevices = 200,
};

enum cudaFlushGPUDirectRDMAWritesScope {
    cudaFlushGPUDirectRDMAWritesToOwner      = 100,
    cudaFlushGPUDirectRDMAWritesToAllDevices = 200,
};

enum cudaFlushGPUDirectRDMAWritesTarget {
    cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
};

/* What is known of a device. Sizes are in bytes, yes is 1 and no is 0; texture and surface extents in elements. */
struct cudaDeviceProp {
    char name[256];                                /* text, ended by a zero */
    cudaUUID_t uuid;
    char luid[8];                                  /* Windows only */
    unsigned int luidDeviceNodeMask;
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;                              /* of 32 bits */
    int warpSize;
    size_t memPitch;                               /* the largest of a copy */
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    size_t totalConstMem;
    int major;
    int minor;
    size_t textureAlignment;
    size_t texturePitchAlignment;
    int multiProcessorCount;
    int integrated;                                /* shares the host's memory */
    int canMapHostMemory;
    int maxTexture1D;
    int maxTexture1DMipmap;
    int maxTexture2D[2];
    int maxTexture2DMipmap[2];
    int maxTexture2DLinear[3];
    int maxTexture2DGather[2];
    int maxTexture3D[3];
    int maxTexture3DAlt[3];
    int maxTextureCubemap;
    int maxTexture1DLayered[2];
    int maxTexture2DLayered[3];
    int maxTextureCubemapLayered[2];
    int maxSurface1D;
    int maxSurface2D[2];
    int maxSurface3D[3];
    int maxSurface1DLayered[2];
    int maxSurface2DLayered[3];
    int maxSurfaceCubemap;
    int maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels;
    int ECCEnabled;
    int pciBusID;
    int pciDeviceID;
    int pciDomainID;
    int tccDriver;                                 /* Windows only */
    int asyncEngineCount;                          /* copy engines */
    int unifiedAddressing;                         /* one address space with the host */
    int memoryBusWidth;                            /* bits */
    int l2CacheSize;
    int persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported;
    int globalL1CacheSupported;
    int localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor;
    int managedMemory;
    int isMultiGpuBoard;
    int multiGpuBoardGroupID;
    int hostNativeAtomicSupported;
    int pageableMemoryAccess;                      /* kernels may access malloc'd host memory */
    int concurrentManagedAccess;                   /* the host may access managed memory while kernels run */
    int computePreemptionSupported;
    int canUseHostPointerForRegisteredMem;
    int cooperativeLaunch;
    size_t sharedMemPerBlockOptin;                 /* with cudaFuncAttributeMaxDynamicSharedMemorySize */
    int pageableMemoryAccessUsesHostPageTables;
    int directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;              /* that the driver takes */
    int hostRegisterSupported;
    int sparseCudaArraySupported;
    int hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported;
    int memoryPoolsSupported;
    int gpuDirectRDMASupported;
    unsigned int gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned int memoryPoolSupportedHandleTypes;   /* cudaMemAllocationHandleType */
    int deferredMappingCudaArraySupported;
    int ipcEventSupported;
    int clusterLaunch;
    int unifiedFunctionPointers;
    int deviceNumaConfig;                          /* cudaDeviceNumaConfig */
    int deviceNumaId;                              /* -1: its memory is no node */
    int mpsEnabled;
    int hostNumaId;                                /* of the nearest host memory */
    unsigned int gpuPciDeviceID;                   /* PCI device in the upper 16 bits, vendor in the lower */
    unsigned int gpuPciSubsystemID;
    int hostNumaMultinodeIpcSupported;
    int reserved[56];
};

/* Of what cudaDeviceRegisterAsyncNotification tells */
typedef enum cudaAsyncNotificationType_enum {
    cudaAsyncNotificationTypeOverBudget = 0x1,  /* the process uses more memory than it may */
} cudaAsyncNotificationType;

typedef struct cudaAsyncNotificationInfo {
    cudaAsyncNotificationType type;
    union {
        struct {
            unsigned long long bytesOverBudget;
        } overBudget;
    } info;
} cudaAsyncNotificationInfo_t;

typedef void (*cudaAsyncCallback)(cudaAsyncNotificationInfo_t *, void *, cudaAsyncCallbackHandle_t);

/* ---- Stream Management ---- */

/* Flags of streams: the second is not ordered with the default stream */
#define cudaStreamDefault     0x00
#define cudaStreamNonBlocking 0x01

/* The default stream that all threads share, and the thread's own */
#define cudaStreamLegacy    ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)

typedef void(CUDART_CB *cudaHostFn_t)(void *userData);

/* ---- Event Management ---- */

/* Flags of events: the host sleeps while it waits; they tell no time; usable in other processes */
#define cudaEventDefault       0x00
#define cudaEventBlockingSync  0x01
#define cudaEventDisableTiming 0x02
#define cudaEventInterprocess  0x04

/* External: in a capture, a node of its own instead of an edge */
#define cudaEventRecordDefault  0x00
#define cudaEventRecordExternal 0x01
#define cudaEventWaitDefault    0x00
#define cudaEventWaitExternal   0x01

/* ---- External Resource Interoperability ---- */

enum cudaExternalMemoryHandleType {
    cudaExternalMemoryHandleTypeOpaqueFd         = 1,
    cudaExternalMemoryHandleTypeOpaqueWin32      = 2,
    cudaExternalMemoryHandleTypeOpaqueWin32Kmt   = 3,
    cudaExternalMemoryHandleTypeD3D12Heap        = 4,
    cudaExternalMemoryHandleTypeD3D12Resource    = 5,
    cudaExternalMemoryHandleTypeD3D11Resource    = 6,
    cudaExternalMemoryHandleTypeD3D11ResourceKmt = 7,
    cudaExternalMemoryHandleTypeNvSciBuf         = 8,
};

/* Flag of external memory: it is of one resource */
#define cudaExternalMemoryDedicated 0x1

/* Flags of signals and waits: memory of NvSciBuf is left as it is */
#define cudaExternalSemaphoreSignalSkipNvSciBufMemSync 0x01
#define cudaExternalSemaphoreWaitSkipNvSciBufMemSync   0x02

/* For which side cudaDeviceGetNvSciSyncAttributes asks */
#define cudaNvSciSyncAttrSignal 0x1
#define cudaNvSciSyncAttrWait   0x2

struct cudaExternalMemoryHandleDesc {
    enum cudaExternalMemoryHandleType type;
    union {
        int fd;                              /* owned by the library after a successful import */
        struct {
            void *handle;
            const void *name;
        } win32;
        const void *nvSciBufObject;
    } handle;
    unsigned long long size;                 /* bytes */
    unsigned int flags;
    unsigned int reserved[16];
};

struct cudaExternalMemoryBufferDesc {
    unsigned long long offset;  /* bytes */
    unsigned long long size;
    unsigned int flags;         /* 0 */
    unsigned int reserved[16];
};

struct cudaExternalMemoryMipmappedArrayDesc {
    unsigned long long offset;                /* of the first level, bytes */
    struct cudaChannelFormatDesc formatDesc;
    struct cudaExtent extent;
    unsigned int flags;                       /* cudaArray... */
    unsigned int numLevels;
    unsigned int reserved[16];
};

enum cudaExternalSemaphoreHandleType {
    cudaExternalSemaphoreHandleTypeOpaqueFd               = 1,
    cudaExternalSemaphoreHandleTypeOpaqueWin32            = 2,
    cudaExternalSemaphoreHandleTypeOpaqueWin32Kmt         = 3,
    cudaExternalSemaphoreHandleTypeD3D12Fence             = 4,
    cudaExternalSemaphoreHandleTypeD3D11Fence             = 5,
    cudaExternalSemaphoreHandleTypeNvSciSync              = 6,
    cudaExternalSemaphoreHandleTypeKeyedMutex             = 7,
    cudaExternalSemaphoreHandleTypeKeyedMutexKmt          = 8,
    cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd    = 9,
    cudaExternalSemaphoreHandleTypeTimelineSemaphoreWin32 = 10,
};

struct cudaExternalSemaphoreHandleDesc {
    enum cudaExternalSemaphoreHandleType type;
    union {
        int fd;  /* owned by the library after a successful import */
        struct {
            void *handle;
            const void *name;
        } win32;
        const void *nvSciSyncObj;
    } handle;
    unsigned int flags;
    unsigned int reserved[16];
};

struct cudaExternalSemaphoreSignalParams {
    struct {
        struct {
            unsigned long long value;     /* becomes the semaphore's */
        } fence;
        union {
            void *fence;
            unsigned long long reserved;
        } nvSciSync;
        struct {
            unsigned long long key;
        } keyedMutex;
        unsigned int reserved[12];
    } params;
    unsigned int flags;
    unsigned int reserved[16];
};

struct cudaExternalSemaphoreWaitParams {
    struct {
        struct {
            unsigned long long value;     /* that the semaphore must have reached */
        } fence;
        union {
            void *fence;
            unsigned long long reserved;
        } nvSciSync;
        struct {
            unsigned long long key;
            unsigned int timeoutMs;
        } keyedMutex;
        unsigned int reserved[10];
    } params;
    unsigned int flags;
    unsigned int reserved[16];
};

/* ---- Execution Control ---- */

/* What is known of a kernel. Sizes are in bytes, yes is 1 and no is 0. */
struct cudaFuncAttributes {
    size_t sharedSizeBytes;                 /* static shared memory */
    size_t constSizeBytes;                  /* constants of the user */
    size_t localSizeBytes;                  /* local memory of a thread */
    int maxThreadsPerBlock;
    int numRegs;                            /* of a thread */
    int ptxVersion;                         /* ten times the major version plus the minor one */
    int binaryVersion;                      /* likewise */
    int cacheModeCA;                        /* compiled with -Xptxas -dlcm=ca */
    int maxDynamicSharedSizeBytes;          /* what a launch can ask for */
    int preferredShmemCarveout;             /* cudaSharedCarveout or percent */
    int clusterDimMustBeSet;
    int requiredClusterWidth;
    int requiredClusterHeight;
    int requiredClusterDepth;
    int clusterSchedulingPolicyPreference;
    int nonPortableClusterSizeAllowed;
    int reserved[16];
};

/* What cudaFuncSetAttribute can set */
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize        = 8,   /* what a launch can ask for, bytes */
    cudaFuncAttributePreferredSharedMemoryCarveout     = 9,   /* cudaSharedCarveout or percent */
    cudaFuncAttributeClusterDimMustBeSet               = 10,
    cudaFuncAttributeRequiredClusterWidth              = 11,
    cudaFuncAttributeRequiredClusterHeight             = 12,
    cudaFuncAttributeRequiredClusterDepth              = 13,
    cudaFuncAttributeNonPortableClusterSizeAllowed     = 14,
    cudaFuncAttributeClusterSchedulingPolicyPreference = 15,
    cudaFuncAttributeMax,
};

enum cudaFuncCache {
    cudaFuncCachePreferNone   = 0,  /* no preference */
    cudaFuncCachePreferShared = 1,
    cudaFuncCachePreferL1     = 2,
    cudaFuncCachePreferEqual  = 3,
};

enum cudaSharedMemConfig {
    cudaSharedMemBankSizeDefault   = 0,
    cudaSharedMemBankSizeFourByte  = 1,
    cudaSharedMemBankSizeEightByte = 2,
};

/* Shared memory in percent of what L1 cache and shared memory have together */
enum cudaSharedCarveout {
    cudaSharedmemCarveoutDefault   = -1,
    cudaSharedmemCarveoutMaxShared = 100,
    cudaSharedmemCarveoutMaxL1     = 0,
};

enum cudaRoundMode {
    cudaRoundNearest,
    cudaRoundZero,
    cudaRoundPosInf,
    cudaRoundMinInf,
};

enum cudaCGScope {
    cudaCGScopeInvalid  = 0,
    cudaCGScopeGrid     = 1,
    cudaCGScopeReserved = 2,
};

#define cudaOccupancyDefault                0x00
#define cudaOccupancyDisableCachingOverride 0x01

enum cudaAccessProperty {
    cudaAccessPropertyNormal     = 0,
    cudaAccessPropertyStreaming  = 1,
    cudaAccessPropertyPersisting = 2,
};

/* How accesses to a range use the L2 cache; hitRatio of them have the property hitProp */
struct cudaAccessPolicyWindow {
    void *base_ptr;
    size_t num_bytes;
    float hitRatio;
    enum cudaAccessProperty hitProp;
    enum cudaAccessProperty missProp;
};

/* How the host waits */
enum cudaSynchronizationPolicy {
    cudaSyncPolicyAuto         = 1,
    cudaSyncPolicySpin         = 2,
    cudaSyncPolicyYield        = 3,
    cudaSyncPolicyBlockingSync = 4,
};

enum cudaClusterSchedulingPolicy {
    cudaClusterSchedulingPolicyDefault       = 0,
    cudaClusterSchedulingPolicySpread        = 1,
    cudaClusterSchedulingPolicyLoadBalancing = 2,
};

typedef enum cudaLaunchMemSyncDomain {
    cudaLaunchMemSyncDomainDefault = 0,
    cudaLaunchMemSyncDomainRemote  = 1,
} cudaLaunchMemSyncDomain;

typedef struct cudaLaunchMemSyncDomainMap_st {
    unsigned char default_;
    unsigned char remote;
} cudaLaunchMemSyncDomainMap;

/* What a launch attribute says; its value is the member of the same name */
typedef enum cudaLaunchAttributeID {
    cudaLaunchAttributeIgnore                            = 0,
    cudaLaunchAttributeAccessPolicyWindow                = 1,
    cudaLaunchAttributeCooperative                       = 2,
    cudaLaunchAttributeSynchronizationPolicy             = 3,
    cudaLaunchAttributeClusterDimension                  = 4,
    cudaLaunchAttributeClusterSchedulingPolicyPreference = 5,
    cudaLaunchAttributeProgrammaticStreamSerialization   = 6,
    cudaLaunchAttributeProgrammaticEvent                 = 7,
    cudaLaunchAttributePriority                          = 8,
    cudaLaunchAttributeMemSyncDomainMap                  = 9,
    cudaLaunchAttributeMemSyncDomain                     = 10,
    cudaLaunchAttributePreferredClusterDimension         = 11,
    cudaLaunchAttributeLaunchCompletionEvent             = 12,
    cudaLaunchAttributeDeviceUpdatableKernelNode         = 13,
    cudaLaunchAttributePreferredSharedMemoryCarveout     = 14,
    cudaLaunchAttributeNvlinkUtilCentricScheduling       = 16,
} cudaLaunchAttributeID;

typedef union cudaLaunchAttributeValue {
    char pad[64];
    struct cudaAccessPolicyWindow accessPolicyWindow;
    int cooperative;
    enum cudaSynchronizationPolicy syncPolicy;
    struct {
        unsigned int x;
        unsigned int y;
        unsigned int z;
    } clusterDim;
    enum cudaClusterSchedulingPolicy clusterSchedulingPolicyPreference;
    int programmaticStreamSerializationAllowed;
    struct {
        cudaEvent_t event;
        int flags;
        int triggerAtBlockStart;
    } programmaticEvent;
    int priority;
    cudaLaunchMemSyncDomainMap memSyncDomainMap;
    cudaLaunchMemSyncDomain memSyncDomain;
    struct {
        unsigned int x;
        unsigned int y;
        unsigned int z;
    } preferredClusterDim;
    struct {
        cudaEvent_t event;
        int flags;
    } launchCompletionEvent;
    struct {
        int deviceUpdatable;
        cudaGraphDeviceNode_t devNode;
    } deviceUpdatableKernelNode;
    unsigned int sharedMemCarveout;
    unsigned int nvlinkUtilCentricScheduling;
} cudaLaunchAttributeValue;

typedef struct cudaLaunchAttribute_st {
    cudaLaunchAttributeID id;
    char pad[8 - sizeof(cudaLaunchAttributeID)];
    cudaLaunchAttributeValue val;
} cudaLaunchAttribute;

/* A launch: dimensions in blocks and threads */
typedef struct cudaLaunchConfig_st {
    dim3 gridDim;
    dim3 blockDim;
    size_t dynamicSmemBytes;     /* dynamic shared memory */
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned int numAttrs;
} cudaLaunchConfig_t;

/* The attributes that a stream and a kernel node have */
#define cudaStreamAttrID                           cudaLaunchAttributeID
#define cudaStreamAttrValue                        cudaLaunchAttributeValue
#define cudaStreamAttributeAccessPolicyWindow      cudaLaunchAttributeAccessPolicyWindow
#define cudaStreamAttributeSynchronizationPolicy   cudaLaunchAttributeSynchronizationPolicy
#define cudaStreamAttributeMemSyncDomainMap        cudaLaunchAttributeMemSyncDomainMap
#define cudaStreamAttributeMemSyncDomain           cudaLaunchAttributeMemSyncDomain
#define cudaStreamAttributePriority                cudaLaunchAttributePriority
#define cudaKernelNodeAttrID                       cudaLaunchAttributeID
#define cudaKernelNodeAttrValue                    cudaLaunchAttributeValue
#define cudaKernelNodeAttributeAccessPolicyWindow  cudaLaunchAttributeAccessPolicyWindow
#define cudaKernelNodeAttributeCooperative         cudaLaunchAttributeCooperative
#define cudaKernelNodeAttributePriority            cudaLaunchAttributePriority
#define cudaKernelNodeAttributeClusterDimension    cudaLaunchAttributeClusterDimension
#define cudaKernelNodeAttributeMemSyncDomainMap    cudaLaunchAttributeMemSyncDomainMap
#define cudaKernelNodeAttributeMemSyncDomain       cudaLaunchAttributeMemSyncDomain
#define cudaKernelNodeAttributeClusterSchedulingPolicyPreference cudaLaunchAttributeClusterSchedulingPolicyPreference
#define cudaKernelNodeAttributePreferredSharedMemoryCarveout cudaLaunchAttributePreferredSharedMemoryCarveout
#define cudaKernelNodeAttributeDeviceUpdatableKernelNode cudaLaunchAttributeDeviceUpdatableKernelNode
#define cudaKernelNodeAttributeNvlinkUtilCentricScheduling cudaLaunchAttributeNvlinkUtilCentricScheduling

/* ---- Library Management ---- */

/* What the compiler of PTX can be told */
enum cudaJitOption {
    cudaJitMaxRegisters            = 0,
    cudaJitThreadsPerBlock         = 1,
    cudaJitWallTime                = 2,   /* out: milliseconds it took, a float */
    cudaJitInfoLogBuffer           = 3,
    cudaJitInfoLogBufferSizeBytes  = 4,
    cudaJitErrorLogBuffer          = 5,
    cudaJitErrorLogBufferSizeBytes = 6,
    cudaJitOptimizationLevel       = 7,   /* 0 to 4 */
    cudaJitFallbackStrategy        = 10,  /* cudaJit_Fallback */
    cudaJitGenerateDebugInfo       = 11,
    cudaJitLogVerbose              = 12,
    cudaJitGenerateLineInfo        = 13,
    cudaJitCacheMode               = 14,  /* cudaJit_CacheMode */
    cudaJitPositionIndependentCode = 30,
    cudaJitMinCtaPerSm             = 31,
    cudaJitMaxThreadsPerBlock      = 32,
    cudaJitOverrideDirectiveValues = 33,
};

/* How loads use the L1 cache */
enum cudaJit_CacheMode {
    cudaJitCacheOptionNone = 0,
    cudaJitCacheOptionCG,
    cudaJitCacheOptionCA,
};

enum cudaJit_Fallback {
    cudaPreferPtx    = 0,
    cudaPreferBinary,
};

enum cudaLibraryOption {
    cudaLibraryHostUniversalFunctionAndDataTable = 0,
    cudaLibraryBinaryIsPreserved                 = 1,  /* the program keeps the code as long as it is loaded */
};

/* Named so by NVIDIA */
struct cudalibraryHostUniversalFunctionAndDataTable {
    void *functionTable;
    size_t functionWindowSize;  /* bytes */
    void *dataTable;
    size_t dataWindowSize;      /* bytes */
};

/* ---- Textures and Surfaces ---- */

#define cudaTextureType1D             0x01
#define cudaTextureType2D             0x02
#define cudaTextureType3D             0x03
#define cudaTextureTypeCubemap        0x0C
#define cudaTextureType1DLayered      0xF1
#define cudaTextureType2DLayered      0xF2
#define cudaTextureTypeCubemapLayered 0xFC

#define cudaSurfaceType1D             0x01
#define cudaSurfaceType2D             0x02
#define cudaSurfaceType3D             0x03
#define cudaSurfaceTypeCubemap        0x0C
#define cudaSurfaceType1DLayered      0xF1
#define cudaSurfaceType2DLayered      0xF2
#define cudaSurfaceTypeCubemapLayered 0xFC

/* What a texture reads outside its extent */
enum cudaTextureAddressMode {
    cudaAddressModeWrap   = 0,
    cudaAddressModeClamp  = 1,
    cudaAddressModeMirror = 2,
    cudaAddressModeBorder = 3,
};

enum cudaTextureFilterMode {
    cudaFilterModePoint  = 0,
    cudaFilterModeLinear = 1,
};

/* Elements as they are, or integers as fractions */
enum cudaTextureReadMode {
    cudaReadModeElementType     = 0,
    cudaReadModeNormalizedFloat = 1,
};

struct cudaTextureDesc {
    enum cudaTextureAddressMode addressMode[3];
    enum cudaTextureFilterMode filterMode;
    enum cudaTextureReadMode readMode;
    int sRGB;                                     /* colours are made linear when they are read */
    float borderColor[4];
    int normalizedCoords;                         /* 0 to 1 instead of elements */
    unsigned int maxAnisotropy;
    enum cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias;
    float minMipmapLevelClamp;
    float maxMipmapLevelClamp;
    int disableTrilinearOptimization;
    int seamlessCubemap;
};

/* What a surface does outside its extent */
enum cudaSurfaceBoundaryMode {
    cudaBoundaryModeZero  = 0,
    cudaBoundaryModeClamp = 1,
    cudaBoundaryModeTrap  = 2,
};

enum cudaSurfaceFormatMode {
    cudaFormatModeForced = 0,
    cudaFormatModeAuto   = 1,
};

/* What a texture or surface looks at */
enum cudaResourceType {
    cudaResourceTypeArray          = 0x00,
    cudaResourceTypeMipmappedArray = 0x01,
    cudaResourceTypeLinear         = 0x02,
    cudaResourceTypePitch2D        = 0x03,
};

struct cudaResourceDesc {
    enum cudaResourceType resType;
    union {
        struct {
            cudaArray_t array;
        } array;
        struct {
            cudaMipmappedArray_t mipmap;
        } mipmap;
        struct {
            void *devPtr;
            struct cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            struct cudaChannelFormatDesc desc;
            size_t width;
            size_t height;
            size_t pitchInBytes;
        } pitch2D;
        struct {
            int reserved[32];
        } reserved;
    } res;
    unsigned int flags;                         /* 0 */
};

/* As what else a texture may read its elements */
enum cudaResourceViewFormat {
    cudaResViewFormatNone                      = 0x00,
    cudaResViewFormatUnsignedChar1             = 0x01,
    cudaResViewFormatUnsignedChar2             = 0x02,
    cudaResViewFormatUnsignedChar4             = 0x03,
    cudaResViewFormatSignedChar1               = 0x04,
    cudaResViewFormatSignedChar2               = 0x05,
    cudaResViewFormatSignedChar4               = 0x06,
    cudaResViewFormatUnsignedShort1            = 0x07,
    cudaResViewFormatUnsignedShort2            = 0x08,
    cudaResViewFormatUnsignedShort4            = 0x09,
    cudaResViewFormatSignedShort1              = 0x0a,
    cudaResViewFormatSignedShort2              = 0x0b,
    cudaResViewFormatSignedShort4              = 0x0c,
    cudaResViewFormatUnsignedInt1              = 0x0d,
    cudaResViewFormatUnsignedInt2              = 0x0e,
    cudaResViewFormatUnsignedInt4              = 0x0f,
    cudaResViewFormatSignedInt1                = 0x10,
    cudaResViewFormatSignedInt2                = 0x11,
    cudaResViewFormatSignedInt4                = 0x12,
    cudaResViewFormatHalf1                     = 0x13,
    cudaResViewFormatHalf2                     = 0x14,
    cudaResViewFormatHalf4                     = 0x15,
    cudaResViewFormatFloat1                    = 0x16,
    cudaResViewFormatFloat2                    = 0x17,
    cudaResViewFormatFloat4                    = 0x18,
    cudaResViewFormatUnsignedBlockCompressed1  = 0x19,
    cudaResViewFormatUnsignedBlockCompressed2  = 0x1a,
    cudaResViewFormatUnsignedBlockCompressed3  = 0x1b,
    cudaResViewFormatUnsignedBlockCompressed4  = 0x1c,
    cudaResViewFormatSignedBlockCompressed4    = 0x1d,
    cudaResViewFormatUnsignedBlockCompressed5  = 0x1e,
    cudaResViewFormatSignedBlockCompressed5    = 0x1f,
    cudaResViewFormatUnsignedBlockCompressed6H = 0x20,
    cudaResViewFormatSignedBlockCompressed6H   = 0x21,
    cudaResViewFormatUnsignedBlockCompressed7  = 0x22,
};

struct cudaResourceViewDesc {
    enum cudaResourceViewFormat format;
    size_t width;
    size_t height;
    size_t depth;
    unsigned int firstMipmapLevel;
    unsigned int lastMipmapLevel;
    unsigned int firstLayer;
    unsigned int lastLayer;
    unsigned int reserved[16];
};

/* ---- Graphics Interoperability ---- */

enum cudaGraphicsRegisterFlags {
    cudaGraphicsRegisterFlagsNone             = 0,
    cudaGraphicsRegisterFlagsReadOnly         = 1,
    cudaGraphicsRegisterFlagsWriteDiscard     = 2,
    cudaGraphicsRegisterFlagsSurfaceLoadStore = 4,
    cudaGraphicsRegisterFlagsTextureGather    = 8,
};

enum cudaGraphicsMapFlags {
    cudaGraphicsMapFlagsNone         = 0,
    cudaGraphicsMapFlagsReadOnly     = 1,
    cudaGraphicsMapFlagsWriteDiscard = 2,
};

enum cudaGraphicsCubeFace {
    cudaGraphicsCubeFacePositiveX = 0x00,
    cudaGraphicsCubeFaceNegativeX = 0x01,
    cudaGraphicsCubeFacePositiveY = 0x02,
    cudaGraphicsCubeFaceNegativeY = 0x03,
    cudaGraphicsCubeFacePositiveZ = 0x04,
    cudaGraphicsCubeFaceNegativeZ = 0x05,
};

/* ---- Driver Entry Point Access ---- */

/* Which default stream the entry points asked for use */
enum cudaGetDriverEntryPointFlags {
    cudaEnableDefault                = 0x0,
    cudaEnableLegacyStream           = 0x1,
    cudaEnablePerThreadDefaultStream = 0x2,
};

/* NVIDIA's spelling */
enum cudaDriverEntryPointQueryResult {
    cudaDriverEntryPointSuccess             = 0,
    cudaDriverEntryPointSymbolNotFound      = 1,
    cudaDriverEntryPointVersionNotSufficent = 2,
};

/* ---- Error Log Management ---- */

typedef enum CUDAlogLevel_enum {
    cudaLogLevelError   = 0,
    cudaLogLevelWarning = 1,
} cudaLogLevel;

/* A place in the log */
typedef unsigned int cudaLogIterator;

#include "cuda_runtime_graph.h"

#endif
