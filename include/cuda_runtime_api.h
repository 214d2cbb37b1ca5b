/* The CUDA 13.0 runtime API: the functions of libcudart.so.13, in the order of the runtime API manual.
 * Source- and binary-compatible for C: a program compiled with this header runs on any runtime and the
 * other way round. The types are in cuda_runtime_types.h; the C++ templates of cuda_runtime.h are not here.
 *
 * This file is also the table that src/runtime/generate.py makes the library's symbols from: each
 * prototype begins its line.
 *
 * Macros that a program may define before it includes this file:
 *   CUDA_API_PER_THREAD_DEFAULT_STREAM  the default stream is the calling thread's own
 *   __CUDA_API_VERSION_INTERNAL         declare every function under its own name */
#ifndef __CUDA_RUNTIME_API_H__
#define __CUDA_RUNTIME_API_H__

#define CUDART_VERSION 13000       /* 1000 times the major version plus 10 times the minor one */

#include <cuda_runtime_types.h>

#ifndef CUDARTAPI
#ifdef _WIN32
#define CUDARTAPI __stdcall        /* how functions are called */
#else
#define CUDARTAPI
#endif
#endif

/* What a parameter is in C++ if it is left away */
#ifdef __cplusplus
#define CUDART_DEFAULT(value) = value
#else
#define CUDART_DEFAULT(value)
#endif

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define __CUDA_API_PER_THREAD_DEFAULT_STREAM
#endif

#if defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM) && !defined(__CUDA_API_VERSION_INTERNAL)
#define cudaStreamGetPriority               cudaStreamGetPriority_ptsz
#define cudaStreamGetFlags                  cudaStreamGetFlags_ptsz
#define cudaStreamGetId                     cudaStreamGetId_ptsz
#define cudaStreamGetDevice                 cudaStreamGetDevice_ptsz
#define cudaStreamCopyAttributes            cudaStreamCopyAttributes_ptsz
#define cudaStreamGetAttribute              cudaStreamGetAttribute_ptsz
#define cudaStreamSetAttribute              cudaStreamSetAttribute_ptsz
#define cudaStreamWaitEvent                 cudaStreamWaitEvent_ptsz
#define cudaStreamAddCallback               cudaStreamAddCallback_ptsz
#define cudaStreamSynchronize               cudaStreamSynchronize_ptsz
#define cudaStreamQuery                     cudaStreamQuery_ptsz
#define cudaStreamAttachMemAsync            cudaStreamAttachMemAsync_ptsz
#define cudaStreamBeginCapture              cudaStreamBeginCapture_ptsz
#define cudaStreamBeginCaptureToGraph       cudaStreamBeginCaptureToGraph_ptsz
#define cudaStreamEndCapture                cudaStreamEndCapture_ptsz
#define cudaStreamIsCapturing               cudaStreamIsCapturing_ptsz
#define cudaStreamGetCaptureInfo            cudaStreamGetCaptureInfo_ptsz
#define cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_ptsz
#define cudaEventRecord                     cudaEventRecord_ptsz
#define cudaEventRecordWithFlags            cudaEventRecordWithFlags_ptsz
#define cudaSignalExternalSemaphoresAsync   cudaSignalExternalSemaphoresAsync_ptsz
#define cudaWaitExternalSemaphoresAsync     cudaWaitExternalSemaphoresAsync_ptsz
#define cudaLaunchKernel                    cudaLaunchKernel_ptsz
#define cudaLaunchKernelExC                 cudaLaunchKernelExC_ptsz
#define cudaLaunchCooperativeKernel         cudaLaunchCooperativeKernel_ptsz
#define cudaLaunchHostFunc                  cudaLaunchHostFunc_ptsz
#define cudaMemcpy3D                        cudaMemcpy3D_ptds
#define cudaMemcpy3DPeer                    cudaMemcpy3DPeer_ptds
#define cudaMemcpy3DAsync                   cudaMemcpy3DAsync_ptsz
#define cudaMemcpy3DPeerAsync               cudaMemcpy3DPeerAsync_ptsz
#define cudaMemcpy                          cudaMemcpy_ptds
#define cudaMemcpy2D                        cudaMemcpy2D_ptds
#define cudaMemcpy2DToArray                 cudaMemcpy2DToArray_ptds
#define cudaMemcpy2DFromArray               cudaMemcpy2DFromArray_ptds
#define cudaMemcpy2DArrayToArray            cudaMemcpy2DArrayToArray_ptds
#define cudaMemcpyToSymbol                  cudaMemcpyToSymbol_ptds
#define cudaMemcpyFromSymbol                cudaMemcpyFromSymbol_ptds
#define cudaMemcpyAsync                     cudaMemcpyAsync_ptsz
#define cudaMemcpyBatchAsync                cudaMemcpyBatchAsync_ptsz
#define cudaMemcpy3DBatchAsync              cudaMemcpy3DBatchAsync_ptsz
#define cudaMemcpy2DAsync                   cudaMemcpy2DAsync_ptsz
#define cudaMemcpy2DToArrayAsync            cudaMemcpy2DToArrayAsync_ptsz
#define cudaMemcpy2DFromArrayAsync          cudaMemcpy2DFromArrayAsync_ptsz
#define cudaMemcpyToSymbolAsync             cudaMemcpyToSymbolAsync_ptsz
#define cudaMemcpyFromSymbolAsync           cudaMemcpyFromSymbolAsync_ptsz
#define cudaMemset                          cudaMemset_ptds
#define cudaMemset2D                        cudaMemset2D_ptds
#define cudaMemset3D                        cudaMemset3D_ptds
#define cudaMemsetAsync                     cudaMemsetAsync_ptsz
#define cudaMemset2DAsync                   cudaMemset2DAsync_ptsz
#define cudaMemset3DAsync                   cudaMemset3DAsync_ptsz
#define cudaMemPrefetchAsync                cudaMemPrefetchAsync_ptsz
#define cudaMemPrefetchBatchAsync           cudaMemPrefetchBatchAsync_ptsz
#define cudaMemDiscardBatchAsync            cudaMemDiscardBatchAsync_ptsz
#define cudaMemDiscardAndPrefetchBatchAsync cudaMemDiscardAndPrefetchBatchAsync_ptsz
#define cudaMemcpyToArray                   cudaMemcpyToArray_ptds
#define cudaMemcpyFromArray                 cudaMemcpyFromArray_ptds
#define cudaMemcpyArrayToArray              cudaMemcpyArrayToArray_ptds
#define cudaMemcpyToArrayAsync              cudaMemcpyToArrayAsync_ptsz
#define cudaMemcpyFromArrayAsync            cudaMemcpyFromArrayAsync_ptsz
#define cudaMallocAsync                     cudaMallocAsync_ptsz
#define cudaFreeAsync                       cudaFreeAsync_ptsz
#define cudaMallocFromPoolAsync             cudaMallocFromPoolAsync_ptsz
#define cudaGraphInstantiateWithParams      cudaGraphInstantiateWithParams_ptsz
#define cudaGraphUpload                     cudaGraphUpload_ptsz
#define cudaGraphLaunch                     cudaGraphLaunch_ptsz
#define cudaGetDriverEntryPoint             cudaGetDriverEntryPoint_ptsz
#define cudaGetDriverEntryPointByVersion    cudaGetDriverEntryPointByVersion_ptsz
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Device Management ---- */
/* Destroys everything the process has on the current device, for all its threads; the next call starts
 * afresh. */
cudaError_t CUDARTAPI cudaDeviceReset(void);
/* Waits until all work of the current device is done; reports what failed in it. */
cudaError_t CUDARTAPI cudaDeviceSynchronize(void);
/* A bound on what kernels of the current device may use: bytes, or a count for depths and granularities. */
cudaError_t CUDARTAPI cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
/* What holds now, which may be more than was asked for. */
cudaError_t CUDARTAPI cudaDeviceGetLimit(size_t *pValue, enum cudaLimit limit);
/* The widest 1D texture that linear memory of this format can back, in elements. */
cudaError_t CUDARTAPI cudaDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements,
    const struct cudaChannelFormatDesc *fmtDesc, int device);
/* How the current device divides L1 cache and shared memory; cudaFuncCachePreferNone where it is fixed. */
cudaError_t CUDARTAPI cudaDeviceGetCacheConfig(enum cudaFuncCache *pCacheConfig);
/* From the least to the greatest priority; the greater one is the smaller number. Either may be NULL. */
cudaError_t CUDARTAPI cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority);
/* A wish that kernels without one of their own follow (cudaFuncSetCacheConfig). */
cudaError_t CUDARTAPI cudaDeviceSetCacheConfig(enum cudaFuncCache cacheConfig);
/* The device at [domain:]bus:device[.function], in hexadecimal. */
cudaError_t CUDARTAPI cudaDeviceGetByPCIBusId(int *device, const char *pciBusId);
/* Writes domain:bus:device.function, at most len bytes with the final 0; 13 are enough. */
cudaError_t CUDARTAPI cudaDeviceGetPCIBusId(char *pciBusId, int len, int device);
/* A handle for other processes; the event was made with cudaEventInterprocess. */
cudaError_t CUDARTAPI cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event);
/* The event of another process; to be destroyed like one's own. */
cudaError_t CUDARTAPI cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle);
/* A handle of a whole allocation of cudaMalloc, for other processes. */
cudaError_t CUDARTAPI cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr);
/* Maps the allocation of another process; flags: cudaIpcMemLazyEnablePeerAccess. */
cudaError_t CUDARTAPI cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle, unsigned int flags);
/* Ends one cudaIpcOpenMemHandle; the last one unmaps. */
cudaError_t CUDARTAPI cudaIpcCloseMemHandle(void *devPtr);
/* Makes earlier writes of third parties into device memory visible. */
cudaError_t CUDARTAPI cudaDeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
    enum cudaFlushGPUDirectRDMAWritesScope scope);
/* callbackFunc is told of what happens to the device, such as going over its budget of memory. */
cudaError_t CUDARTAPI cudaDeviceRegisterAsyncNotification(int device, cudaAsyncCallback callbackFunc,
    void *userData, cudaAsyncCallbackHandle_t *callback);
/* No call of the callback begins afterwards. */
cudaError_t CUDARTAPI cudaDeviceUnregisterAsyncNotification(int device, cudaAsyncCallbackHandle_t callback);
/* cudaErrorNoDevice and 0 without any, cudaErrorInsufficientDriver with too old a driver. */
cudaError_t CUDARTAPI cudaGetDeviceCount(int *count);
/* All that is known of a device in one structure. */
cudaError_t CUDARTAPI cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
/* One property of a device. */
cudaError_t CUDARTAPI cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device);
/* Which atomic operations on host memory a device performs: bits of cudaAtomicOperationCapability. */
cudaError_t CUDARTAPI cudaDeviceGetHostAtomicCapabilities(unsigned int *capabilities,
    const enum cudaAtomicOperation *operations, unsigned int count, int device);
/* The pool that a device has from the start. */
cudaError_t CUDARTAPI cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device);
/* The pool that cudaMallocAsync takes from; it belongs to this device. */
cudaError_t CUDARTAPI cudaDeviceSetMemPool(int device, cudaMemPool_t memPool);
/* The pool that cudaMallocAsync takes from: the default one until another is set. */
cudaError_t CUDARTAPI cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device);
/* Fills a list of attributes of the NvSciSync library; flags say whether to signal or to wait. */
cudaError_t CUDARTAPI cudaDeviceGetNvSciSyncAttributes(void *nvSciSyncAttrList, int device, int flags);
/* One property of the link from one device to another one. */
cudaError_t CUDARTAPI cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr, int srcDevice,
    int dstDevice);
/* Which atomic operations srcDevice performs on memory of dstDevice. */
cudaError_t CUDARTAPI cudaDeviceGetP2PAtomicCapabilities(unsigned int *capabilities,
    const enum cudaAtomicOperation *operations, unsigned int count, int srcDevice, int dstDevice);
/* The device that fits best what prop asks for. */
cudaError_t CUDARTAPI cudaChooseDevice(int *device, const struct cudaDeviceProp *prop);
/* Makes a device ready without making it current; deviceFlags count if flags has
 * cudaInitDeviceFlagsAreValid. */
cudaError_t CUDARTAPI cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags);
/* The calling thread's device from now on; it is made ready at once. */
cudaError_t CUDARTAPI cudaSetDevice(int device);
/* The calling thread's device; 0 from the start. */
cudaError_t CUDARTAPI cudaGetDevice(int *device);
/* The devices to try, in this order, for a thread that has chosen none; len 0: all of them. */
cudaError_t CUDARTAPI cudaSetValidDevices(int *device_arr, int len);
/* cudaDeviceSchedule*, cudaDeviceMapHost, ... for the current device. */
cudaError_t CUDARTAPI cudaSetDeviceFlags(unsigned int flags);
/* The flags of the current device, or those that it will have. */
cudaError_t CUDARTAPI cudaGetDeviceFlags(unsigned int *flags);

/* ---- Device Management (deprecated) ---- */
/* The width of banks of shared memory, in bytes. */
cudaError_t CUDARTAPI cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *pConfig);
/* Without effect where the width is fixed. */
cudaError_t CUDARTAPI cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config);

/* ---- Error Handling ---- */
/* The last error of a call by this thread; cudaSuccess afterwards, unless the device is lost. */
cudaError_t CUDARTAPI cudaGetLastError(void);
/* The same, and it stays. */
cudaError_t CUDARTAPI cudaPeekAtLastError(void);
/* The name of an error's constant; static storage, "unrecognized error code" if there is none. */
const char * CUDARTAPI cudaGetErrorName(cudaError_t error);
/* Describes an error in words; static storage. */
const char * CUDARTAPI cudaGetErrorString(cudaError_t error);

/* ---- Stream Management ---- */
/* What cudaStreamAddCallback calls, with what came of earlier work. */
typedef void (CUDART_CB *cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *userData);
/* A stream of the current device that waits for the default stream, and the other way round. */
cudaError_t CUDARTAPI cudaStreamCreate(cudaStream_t *pStream);
/* cudaStreamNonBlocking: neither waits for the other. */
cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags);
/* A priority outside cudaDeviceGetStreamPriorityRange becomes the nearest one in it. */
cudaError_t CUDARTAPI cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags, int priority);
/* The priority it has, the nearest possible one to what was asked for. */
cudaError_t CUDARTAPI cudaStreamGetPriority(cudaStream_t hStream, int *priority);
/* As it was made with. */
cudaError_t CUDARTAPI cudaStreamGetFlags(cudaStream_t hStream, unsigned int *flags);
/* A number that no other stream of the process has or had. */
cudaError_t CUDARTAPI cudaStreamGetId(cudaStream_t hStream, unsigned long long *streamId);
/* The device on which it was made. */
cudaError_t CUDARTAPI cudaStreamGetDevice(cudaStream_t hStream, int *device);
/* All lines that persist in the second-level cache of the current device become normal ones. */
cudaError_t CUDARTAPI cudaCtxResetPersistingL2Cache(void);
/* All attributes of src; both belong to one device. */
cudaError_t CUDARTAPI cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src);
/* One attribute. */
cudaError_t CUDARTAPI cudaStreamGetAttribute(cudaStream_t hStream, cudaStreamAttrID attr,
    cudaStreamAttrValue *value_out);
/* For later work in the stream. */
cudaError_t CUDARTAPI cudaStreamSetAttribute(cudaStream_t hStream, cudaStreamAttrID attr,
    const cudaStreamAttrValue *value);
/* Returns at once; what is left is done first. */
cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t stream);
/* Later work in the stream waits for the event's last record; the host does not. */
cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
    unsigned int flags CUDART_DEFAULT(0));
/* Called on the host after earlier work, also when this failed; flags must be 0. It must not call the API. */
cudaError_t CUDARTAPI cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
    void *userData, unsigned int flags);
/* Waits until all work of the stream is done. */
cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t stream);
/* cudaErrorNotReady while there is work left; it does not count as the thread's last error. */
cudaError_t CUDARTAPI cudaStreamQuery(cudaStream_t stream);
/* Who may use managed memory: all, the host, or one stream; length 0: the whole allocation. */
cudaError_t CUDARTAPI cudaStreamAttachMemAsync(cudaStream_t stream, void *devPtr,
    size_t length CUDART_DEFAULT(0), unsigned int flags CUDART_DEFAULT(cudaMemAttachSingle));
/* From now on work in the stream becomes nodes of a graph instead of being done. */
cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
/* The same into a graph that exists, behind these nodes. */
cudaError_t CUDARTAPI cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
    const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *dependencyData, size_t numDependencies,
    enum cudaStreamCaptureMode mode);
/* Swaps the calling thread's mode with *mode. */
cudaError_t CUDARTAPI cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode);
/* The graph that was captured; NULL and an error if the capture became invalid. */
cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph);
/* Whether work in the stream is captured. */
cudaError_t CUDARTAPI cudaStreamIsCapturing(cudaStream_t stream,
    enum cudaStreamCaptureStatus *pCaptureStatus);
/* What is known of a capture; each output but the first may be NULL. */
cudaError_t CUDARTAPI cudaStreamGetCaptureInfo(cudaStream_t stream,
    enum cudaStreamCaptureStatus *captureStatus_out, unsigned long long *id_out CUDART_DEFAULT(0),
    cudaGraph_t *graph_out CUDART_DEFAULT(0), const cudaGraphNode_t **dependencies_out CUDART_DEFAULT(0),
    const cudaGraphEdgeData **edgeData_out CUDART_DEFAULT(0), size_t *numDependencies_out CUDART_DEFAULT(0));
/* The nodes that the next captured node depends on: added, or instead of those so far. */
cudaError_t CUDARTAPI cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
    const cudaGraphEdgeData *dependencyData, size_t numDependencies, unsigned int flags CUDART_DEFAULT(0));

/* ---- Event Management ---- */
/* An event that measures time; who waits for it spins. */
cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t *event);
/* cudaEventBlockingSync, cudaEventDisableTiming, cudaEventInterprocess. */
cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
/* Takes the place of an earlier record. Event and stream belong to one device. */
cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t stream CUDART_DEFAULT(0));
/* cudaEventRecordExternal: in a capture a node that records, instead of a dependency. */
cudaError_t CUDARTAPI cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream CUDART_DEFAULT(0),
    unsigned int flags CUDART_DEFAULT(0));
/* cudaErrorNotReady until what was before the last record is done; cudaSuccess without any record. */
cudaError_t CUDARTAPI cudaEventQuery(cudaEvent_t event);
/* Waits for what was before the last record. */
cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t event);
/* Returns at once, even if the event has been recorded and work is left. */
cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event);
/* Milliseconds between two completed records, to about half a microsecond. */
cudaError_t CUDARTAPI cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end);

/* ---- External Resource Interoperability ---- */
/* Memory that another API allocated. */
cudaError_t CUDARTAPI cudaImportExternalMemory(cudaExternalMemory_t *extMem_out,
    const struct cudaExternalMemoryHandleDesc *memHandleDesc);
/* A part of it as linear memory, to be freed by cudaFree. */
cudaError_t CUDARTAPI cudaExternalMemoryGetMappedBuffer(void **devPtr, cudaExternalMemory_t extMem,
    const struct cudaExternalMemoryBufferDesc *bufferDesc);
/* A part of it as mipmapped array, to be freed by cudaFreeMipmappedArray. */
cudaError_t CUDARTAPI cudaExternalMemoryGetMappedMipmappedArray(cudaMipmappedArray_t *mipmap,
    cudaExternalMemory_t extMem, const struct cudaExternalMemoryMipmappedArrayDesc *mipmapDesc);
/* Buffers mapped from it must be freed as well. */
cudaError_t CUDARTAPI cudaDestroyExternalMemory(cudaExternalMemory_t extMem);
/* A semaphore that another API made. */
cudaError_t CUDARTAPI cudaImportExternalSemaphore(cudaExternalSemaphore_t *extSem_out,
    const struct cudaExternalSemaphoreHandleDesc *semHandleDesc);
/* In the order of a stream. */
cudaError_t CUDARTAPI cudaSignalExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
    const struct cudaExternalSemaphoreSignalParams *paramsArray, unsigned int numExtSems,
    cudaStream_t stream CUDART_DEFAULT(0));
/* In the order of a stream. */
cudaError_t CUDARTAPI cudaWaitExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
    const struct cudaExternalSemaphoreWaitParams *paramsArray, unsigned int numExtSems,
    cudaStream_t stream CUDART_DEFAULT(0));
/* Signals and waits must be done before. */
cudaError_t CUDARTAPI cudaDestroyExternalSemaphore(cudaExternalSemaphore_t extSem);

/* ---- Execution Control ---- */
/* What <<<gridDim, blockDim, sharedMem, stream>>> becomes. args: a pointer to each parameter. */
cudaError_t CUDARTAPI cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
    size_t sharedMem, cudaStream_t stream);
/* The same with attributes. */
cudaError_t CUDARTAPI cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args);
/* All blocks run at the same time, so that they can wait for each other. */
cudaError_t CUDARTAPI cudaLaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
    size_t sharedMem, cudaStream_t stream);
/* A wish how this kernel's L1 cache and shared memory are divided. */
cudaError_t CUDARTAPI cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache cacheConfig);
/* What compiling the kernel for the current device came to, and what was set. */
cudaError_t CUDARTAPI cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func);
/* For example the largest dynamic shared memory, in bytes. */
cudaError_t CUDARTAPI cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value);
/* The mangled name; valid as long as the kernel's module. */
cudaError_t CUDARTAPI cudaFuncGetName(const char **name, const void *func);
/* Offset and size in bytes of a parameter; paramSize may be NULL. cudaErrorInvalidValue past the last one. */
cudaError_t CUDARTAPI cudaFuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset,
    size_t *paramSize);
/* fn runs in the order of the stream, unless earlier work failed; it must not call the API. */
cudaError_t CUDARTAPI cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData);

/* ---- Execution Control (deprecated) ---- */
/* Without effect where the width of banks is fixed. */
cudaError_t CUDARTAPI cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config);

/* ---- Occupancy ---- */
/* Blocks of a kernel that fit on one multiprocessor at a time; shared memory in bytes. */
cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func,
    int blockSize, size_t dynamicSMemSize);
/* Bytes of dynamic shared memory that a block may have if numBlocks are to fit. */
cudaError_t CUDARTAPI cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, const void *func,
    int numBlocks, int blockSize);
/* flags: cudaOccupancyDisableCachingOverride. */
cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, const void *func,
    int blockSize, size_t dynamicSMemSize, unsigned int flags);
/* The largest cluster that could run, in blocks; the grid's size does not count. */
cudaError_t CUDARTAPI cudaOccupancyMaxPotentialClusterSize(int *clusterSize, const void *func,
    const cudaLaunchConfig_t *launchConfig);
/* Clusters of a configuration that run on the device at a time. */
cudaError_t CUDARTAPI cudaOccupancyMaxActiveClusters(int *numClusters, const void *func,
    const cudaLaunchConfig_t *launchConfig);

/* ---- Memory Management ---- */
/* Memory that migrates between host and devices; flags: cudaMemAttachGlobal or cudaMemAttachHost. */
cudaError_t CUDARTAPI cudaMallocManaged(void **devPtr, size_t size,
    unsigned int flags CUDART_DEFAULT(cudaMemAttachGlobal));
/* Memory of the current device, aligned to at least 256 bytes, not cleared. */
cudaError_t CUDARTAPI cudaMalloc(void **devPtr, size_t size);
/* Page-locked host memory that all devices can access. */
cudaError_t CUDARTAPI cudaMallocHost(void **ptr, size_t size);
/* Rows of width bytes, each starting pitch bytes after the one before, where copies are fastest. */
cudaError_t CUDARTAPI cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height);
/* An array for textures and surfaces, in elements; height 0: one-dimensional. flags: cudaArray*. */
cudaError_t CUDARTAPI cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
    size_t width, size_t height CUDART_DEFAULT(0), unsigned int flags CUDART_DEFAULT(0));
/* NULL is allowed. Waits for work that uses the memory. */
cudaError_t CUDARTAPI cudaFree(void *devPtr);
/* Of cudaMallocHost or cudaHostAlloc. */
cudaError_t CUDARTAPI cudaFreeHost(void *ptr);
/* NULL is allowed. */
cudaError_t CUDARTAPI cudaFreeArray(cudaArray_t array);
/* NULL is allowed. */
cudaError_t CUDARTAPI cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray);
/* Page-locked host memory; flags: cudaHostAllocPortable, Mapped, WriteCombined. */
cudaError_t CUDARTAPI cudaHostAlloc(void **pHost, size_t size, unsigned int flags);
/* Page-locks memory that the program allocated; flags: cudaHostRegister*. */
cudaError_t CUDARTAPI cudaHostRegister(void *ptr, size_t size, unsigned int flags);
/* ptr is the beginning that was registered. */
cudaError_t CUDARTAPI cudaHostUnregister(void *ptr);
/* The address for the current device of page-locked host memory; flags must be 0. */
cudaError_t CUDARTAPI cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags);
/* As cudaHostAlloc was given. */
cudaError_t CUDARTAPI cudaHostGetFlags(unsigned int *pFlags, void *pHost);
/* Like cudaMallocPitch with depth; the extent's width is in bytes. */
cudaError_t CUDARTAPI cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent);
/* Dimensions that are 0 are left away; flags make layers, cube maps, ... */
cudaError_t CUDARTAPI cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
    struct cudaExtent extent, unsigned int flags CUDART_DEFAULT(0));
/* numLevels at most 1 + log2 of the largest dimension. */
cudaError_t CUDARTAPI cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray,
    const struct cudaChannelFormatDesc *desc, struct cudaExtent extent, unsigned int numLevels,
    unsigned int flags CUDART_DEFAULT(0));
/* One level as an array; 0 is the largest. It lives as long as the whole. */
cudaError_t CUDARTAPI cudaGetMipmappedArrayLevel(cudaArray_t *levelArray,
    cudaMipmappedArray_const_t mipmappedArray, unsigned int level);
/* Between arrays and pitched memory; extent in elements if an array takes part, else in bytes. */
cudaError_t CUDARTAPI cudaMemcpy3D(const struct cudaMemcpy3DParms *p);
/* The same between two devices. */
cudaError_t CUDARTAPI cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p);
/* In the order of a stream. */
cudaError_t CUDARTAPI cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p,
    cudaStream_t stream CUDART_DEFAULT(0));
/* In the order of a stream. */
cudaError_t CUDARTAPI cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p,
    cudaStream_t stream CUDART_DEFAULT(0));
/* Bytes of the current device's memory that are free, and in all. */
cudaError_t CUDARTAPI cudaMemGetInfo(size_t *free, size_t *total);
/* Each output may be NULL. */
cudaError_t CUDARTAPI cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
    unsigned int *flags, cudaArray_t array);
/* One plane of a multi-planar array; it lives as long as the whole. */
cudaError_t CUDARTAPI cudaArrayGetPlane(cudaArray_t *pPlaneArray, cudaArray_t hArray, unsigned int planeIdx);
/* Size and alignment in bytes of the memory of an array with deferred mapping. */
cudaError_t CUDARTAPI cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *memoryRequirements,
    cudaArray_t array, int device);
/* The same of a mipmapped one. */
cudaError_t CUDARTAPI cudaMipmappedArrayGetMemoryRequirements(
    struct cudaArrayMemoryRequirements *memoryRequirements, cudaMipmappedArray_t mipmap, int device);
/* The tiles of a sparse array. */
cudaError_t CUDARTAPI cudaArrayGetSparseProperties(struct cudaArraySparseProperties *sparseProperties,
    cudaArray_t array);
/* The tiles of a sparse mipmapped array, and where the tail of small levels begins. */
cudaError_t CUDARTAPI cudaMipmappedArrayGetSparseProperties(
    struct cudaArraySparseProperties *sparseProperties, cudaMipmappedArray_t mipmap);
/* Returns when the copy is done, except within device memory, or a small one from pageable memory. */
cudaError_t CUDARTAPI cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind);
/* Between two devices, or within one. */
cudaError_t CUDARTAPI cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count);
/* height rows of width bytes. */
cudaError_t CUDARTAPI cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
    size_t height, enum cudaMemcpyKind kind);
/* Offset in bytes and rows; width in bytes. */
cudaError_t CUDARTAPI cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
    size_t spitch, size_t width, size_t height, enum cudaMemcpyKind kind);
/* Offset in bytes and rows; width in bytes. */
cudaError_t CUDARTAPI cudaMemcpy2DFromArray(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset,
    size_t hOffset, size_t width, size_t height, enum cudaMemcpyKind kind);
/* Offsets in bytes and rows; width in bytes. */
cudaError_t CUDARTAPI cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
    cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc, size_t width, size_t height,
    enum cudaMemcpyKind kind CUDART_DEFAULT(cudaMemcpyDeviceToDevice));
/* Into a __device__ or __constant__ variable, offset bytes behind its beginning. */
cudaError_t CUDARTAPI cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count,
    size_t offset CUDART_DEFAULT(0), enum cudaMemcpyKind kind CUDART_DEFAULT(cudaMemcpyHostToDevice));
/* Out of a __device__ or __constant__ variable. */
cudaError_t CUDARTAPI cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count,
    size_t offset CUDART_DEFAULT(0), enum cudaMemcpyKind kind CUDART_DEFAULT(cudaMemcpyDeviceToHost));
/* In the order of a stream; with pageable memory it may act like cudaMemcpy. */
cudaError_t CUDARTAPI cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
    cudaStream_t stream CUDART_DEFAULT(0));
/* In the order of a stream. */
cudaError_t CUDARTAPI cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice,
    size_t count, cudaStream_t stream CUDART_DEFAULT(0));
/* Many copies, in no order among each other. attrs[i] holds from copy attrsIdxs[i] to before attrsIdxs[i +
 * 1]. */
cudaError_t CUDARTAPI cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs, const size_t *sizes,
    size_t count, struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
    cudaStream_t stream);
/* Many three-dimensional copies, in no order among each other; flags must be 0. */
cudaError_t CUDARTAPI cudaMemcpy3DBatchAsync(size_t numOps, struct cudaMemcpy3DBatchOp *opList,
    unsigned long long flags, cudaStream_t stream);
/* In the order of a stream. */
cudaError_t CUDARTAPI cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
    size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream CUDART_DEFAULT(0));
/* In the order of a stream. */
cudaError_t CUDARTAPI cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
    const void *src, size_t spitch, size_t width, size_t height, enum cudaMemcpyKind kind,
    cudaStream_t stream CUDART_DEFAULT(0));
/* In the order of a stream. */
cudaError_t CUDARTAPI cudaMemcpy2DFromArrayAsync(void *dst, size_t dpitch, cudaArray_const_t src,
    size_t wOffset, size_t hOffset, size_t width, size_t height, enum cudaMemcpyKind kind,
    cudaStream_t stream CUDART_DEFAULT(0));
/* In the order of a stream. */
cudaError_t CUDARTAPI cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
    size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream CUDART_DEFAULT(0));
/* In the order of a stream. */
cudaError_t CUDARTAPI cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset,
    enum cudaMemcpyKind kind, cudaStream_t stream CUDART_DEFAULT(0));
/* Sets count bytes, each to the lowest byte of value. */
cudaError_t CUDARTAPI cudaMemset(void *devPtr, int value, size_t count);
/* height rows of width bytes. */
cudaError_t CUDARTAPI cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width, size_t height);
/* The extent's width is in bytes. */
cudaError_t CUDARTAPI cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent);
/* In the order of a stream. */
cudaError_t CUDARTAPI cudaMemsetAsync(void *devPtr, int value, size_t count,
    cudaStream_t stream CUDART_DEFAULT(0));
/* In the order of a stream. */
cudaError_t CUDARTAPI cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width, size_t height,
    cudaStream_t stream CUDART_DEFAULT(0));
/* In the order of a stream. */
cudaError_t CUDARTAPI cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value,
    struct cudaExtent extent, cudaStream_t stream CUDART_DEFAULT(0));
/* Where a __device__ variable is on the current device. */
cudaError_t CUDARTAPI cudaGetSymbolAddress(void **devPtr, const void *symbol);
/* In bytes. */
cudaError_t CUDARTAPI cudaGetSymbolSize(size_t *size, const void *symbol);
/* Migrates managed memory, in the order of a stream; flags must be 0. */
cudaError_t CUDARTAPI cudaMemPrefetchAsync(const void *devPtr, size_t count, struct cudaMemLocation location,
    unsigned int flags, cudaStream_t stream CUDART_DEFAULT(0));
/* Many ranges. prefetchLocs[i] holds from range prefetchLocIdxs[i] to before prefetchLocIdxs[i + 1]. */
cudaError_t CUDARTAPI cudaMemPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
    struct cudaMemLocation *prefetchLocs, size_t *prefetchLocIdxs, size_t numPrefetchLocs,
    unsigned long long flags, cudaStream_t stream);
/* Says that the contents of these ranges are not needed any more; flags must be 0. */
cudaError_t CUDARTAPI cudaMemDiscardBatchAsync(void **dptrs, size_t *sizes, size_t count,
    unsigned long long flags, cudaStream_t stream);
/* The same, and migrates them without copying. */
cudaError_t CUDARTAPI cudaMemDiscardAndPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
    struct cudaMemLocation *prefetchLocs, size_t *prefetchLocIdxs, size_t numPrefetchLocs,
    unsigned long long flags, cudaStream_t stream);
/* How managed memory will be used: read mostly, preferred location, accessed by. */
cudaError_t CUDARTAPI cudaMemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
    struct cudaMemLocation location);
/* What was advised, or the last prefetch, if it is the same for all pages of the range. */
cudaError_t CUDARTAPI cudaMemRangeGetAttribute(void *data, size_t dataSize,
    enum cudaMemRangeAttribute attribute, const void *devPtr, size_t count);
/* Several at once. */
cudaError_t CUDARTAPI cudaMemRangeGetAttributes(void **data, size_t *dataSizes,
    enum cudaMemRangeAttribute *attributes, size_t numAttributes, const void *devPtr, size_t count);

/* ---- Memory Management (deprecated) ---- */
/* count bytes, row after row; offset in bytes and rows. */
cudaError_t CUDARTAPI cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
    size_t count, enum cudaMemcpyKind kind);
/* count bytes, row after row. */
cudaError_t CUDARTAPI cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset,
    size_t count, enum cudaMemcpyKind kind);
/* count bytes, row after row. */
cudaError_t CUDARTAPI cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
    cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc, size_t count,
    enum cudaMemcpyKind kind CUDART_DEFAULT(cudaMemcpyDeviceToDevice));
/* In the order of a stream. */
cudaError_t CUDARTAPI cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
    size_t count, enum cudaMemcpyKind kind, cudaStream_t stream CUDART_DEFAULT(0));
/* In the order of a stream. */
cudaError_t CUDARTAPI cudaMemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t wOffset,
    size_t hOffset, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream CUDART_DEFAULT(0));

/* ---- Stream Ordered Memory Allocator ---- */
/* From the current pool of the stream's device; to be used in the order of the stream. */
cudaError_t CUDARTAPI cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream);
/* Back into the pool, in the order of a stream; also what cudaMalloc allocated. */
cudaError_t CUDARTAPI cudaFreeAsync(void *devPtr, cudaStream_t hStream);
/* Gives memory back to the system until minBytesToKeep are reserved, or all is in use. */
cudaError_t CUDARTAPI cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep);
/* value points to an int or a cuuint64_t, as the attribute has it. */
cudaError_t CUDARTAPI cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value);
/* value points to an int or a cuuint64_t, as the attribute has it. */
cudaError_t CUDARTAPI cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value);
/* Which devices may access what comes from the pool. */
cudaError_t CUDARTAPI cudaMemPoolSetAccess(cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList,
    size_t count);
/* What one location may do. */
cudaError_t CUDARTAPI cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
    struct cudaMemLocation *location);
/* On a device or on the host; it can be shared with other processes if its properties say how. */
cudaError_t CUDARTAPI cudaMemPoolCreate(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps);
/* What was allocated remains valid; a device's current pool becomes the default one again. */
cudaError_t CUDARTAPI cudaMemPoolDestroy(cudaMemPool_t memPool);
/* The pool that a location has from the start, for one type of allocation. */
cudaError_t CUDARTAPI cudaMemGetDefaultMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
    enum cudaMemAllocationType type);
/* The pool that is used there now. */
cudaError_t CUDARTAPI cudaMemGetMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
    enum cudaMemAllocationType type);
/* The pool that is used there from now on. */
cudaError_t CUDARTAPI cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type,
    cudaMemPool_t memPool);
/* From this pool instead of the current one. */
cudaError_t CUDARTAPI cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool,
    cudaStream_t stream);
/* shareableHandle points to what the type of handle is, such as an int for a file descriptor; flags must
 * be 0. */
cudaError_t CUDARTAPI cudaMemPoolExportToShareableHandle(void *shareableHandle, cudaMemPool_t memPool,
    enum cudaMemAllocationHandleType handleType, unsigned int flags);
/* shareableHandle is the handle's value, a file descriptor, or points to it, as its type has it. */
cudaError_t CUDARTAPI cudaMemPoolImportFromShareableHandle(cudaMemPool_t *memPool, void *shareableHandle,
    enum cudaMemAllocationHandleType handleType, unsigned int flags);
/* For cudaMemPoolImportPointer in a process that has the pool. */
cudaError_t CUDARTAPI cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *exportData, void *ptr);
/* An allocation of an imported pool. */
cudaError_t CUDARTAPI cudaMemPoolImportPointer(void **ptr, cudaMemPool_t memPool,
    struct cudaMemPoolPtrExportData *exportData);

/* ---- Unified Addressing ---- */
/* cudaMemoryTypeUnregistered and cudaSuccess for an address that CUDA does not know. */
cudaError_t CUDARTAPI cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr);

/* ---- Peer Device Memory Access ---- */
/* 1 if device can be given access to memory of peerDevice, else 0. */
cudaError_t CUDARTAPI cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice);
/* The current device may access all memory of peerDevice, not the other way round; flags must be 0. */
cudaError_t CUDARTAPI cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags);
/* cudaErrorPeerAccessNotEnabled if it is not enabled. */
cudaError_t CUDARTAPI cudaDeviceDisablePeerAccess(int peerDevice);

/* ---- Graphics Interoperability ---- */
/* Its handle is invalid afterwards. */
cudaError_t CUDARTAPI cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource);
/* How it will be used the next time it is mapped: cudaGraphicsMapFlags*. */
cudaError_t CUDARTAPI cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource, unsigned int flags);
/* Until it is unmapped only CUDA may use it. */
cudaError_t CUDARTAPI cudaGraphicsMapResources(int count, cudaGraphicsResource_t *resources,
    cudaStream_t stream CUDART_DEFAULT(0));
/* What comes in the graphics API waits for the stream. */
cudaError_t CUDARTAPI cudaGraphicsUnmapResources(int count, cudaGraphicsResource_t *resources,
    cudaStream_t stream CUDART_DEFAULT(0));
/* Where a mapped buffer is; size in bytes. */
cudaError_t CUDARTAPI cudaGraphicsResourceGetMappedPointer(void **devPtr, size_t *size,
    cudaGraphicsResource_t resource);
/* One image of a mapped texture. */
cudaError_t CUDARTAPI cudaGraphicsSubResourceGetMappedArray(cudaArray_t *array,
    cudaGraphicsResource_t resource, unsigned int arrayIndex, unsigned int mipLevel);
/* All levels of a mapped texture. */
cudaError_t CUDARTAPI cudaGraphicsResourceGetMappedMipmappedArray(cudaMipmappedArray_t *mipmappedArray,
    cudaGraphicsResource_t resource);

/* ---- Texture Object Management ---- */
/* The format of an array's elements. */
cudaError_t CUDARTAPI cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array);
/* Bits of each component, 0 for those that are missing. */
struct cudaChannelFormatDesc CUDARTAPI cudaCreateChannelDesc(int x, int y, int z, int w,
    enum cudaChannelFormatKind f);
/* pResViewDesc may be NULL, and must be unless the resource is an array. */
cudaError_t CUDARTAPI cudaCreateTextureObject(cudaTextureObject_t *pTexObject,
    const struct cudaResourceDesc *pResDesc, const struct cudaTextureDesc *pTexDesc,
    const struct cudaResourceViewDesc *pResViewDesc);
/* 0 is allowed. */
cudaError_t CUDARTAPI cudaDestroyTextureObject(cudaTextureObject_t texObject);
/* What the object reads from. */
cudaError_t CUDARTAPI cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *pResDesc,
    cudaTextureObject_t texObject);
/* How it reads. */
cudaError_t CUDARTAPI cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *pTexDesc,
    cudaTextureObject_t texObject);
/* cudaErrorInvalidValue if the object was made without a view. */
cudaError_t CUDARTAPI cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *pResViewDesc,
    cudaTextureObject_t texObject);

/* ---- Surface Object Management ---- */
/* The resource is an array made with cudaArraySurfaceLoadStore. */
cudaError_t CUDARTAPI cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject,
    const struct cudaResourceDesc *pResDesc);
/* 0 is allowed. */
cudaError_t CUDARTAPI cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject);
/* What the object reads and writes. */
cudaError_t CUDARTAPI cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *pResDesc,
    cudaSurfaceObject_t surfObject);

/* ---- Version Management ---- */
/* The newest CUDA that the driver serves: 1000 * major + 10 * minor; 0 without a driver. */
cudaError_t CUDARTAPI cudaDriverGetVersion(int *driverVersion);
/* CUDART_VERSION of the library. */
cudaError_t CUDARTAPI cudaRuntimeGetVersion(int *runtimeVersion);

/* ---- Error Log Management ---- */
/* What is called with each message; length without the final 0. */
typedef void (CUDART_CB *cudaLogsCallback_t)(void *data, cudaLogLevel logLevel, char *message, size_t length);
/* callbackFunc is given each message about an error, when it is written. */
cudaError_t CUDARTAPI cudaLogsRegisterCallback(cudaLogsCallback_t callbackFunc, void *userData,
    cudaLogsCallbackHandle *callback_out);
/* No call begins afterwards. */
cudaError_t CUDARTAPI cudaLogsUnregisterCallback(cudaLogsCallbackHandle callback);
/* Behind the newest message; flags must be 0. */
cudaError_t CUDARTAPI cudaLogsCurrent(cudaLogIterator *iterator_out, unsigned int flags);
/* From *iterator on (NULL: all that are kept), which moves behind the newest; flags must be 0. */
cudaError_t CUDARTAPI cudaLogsDumpToFile(cudaLogIterator *iterator, const char *pathToFile,
    unsigned int flags);
/* As many of the newest as fit into *size bytes, which becomes what was written; flags must be 0. */
cudaError_t CUDARTAPI cudaLogsDumpToMemory(cudaLogIterator *iterator, char *buffer, size_t *size,
    unsigned int flags);

/* ---- Graph Management ---- */
/* flags must be 0. */
cudaError_t CUDARTAPI cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags);
/* The parameters are copied; so are the kernel's. */
cudaError_t CUDARTAPI cudaGraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
    const cudaGraphNode_t *pDependencies, size_t numDependencies,
    const struct cudaKernelNodeParams *pNodeParams);
/* kernelParams points to the node's own copies: valid until the node changes. */
cudaError_t CUDARTAPI cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
    struct cudaKernelNodeParams *pNodeParams);
/* The kernel may become another one of the same device. */
cudaError_t CUDARTAPI cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
    const struct cudaKernelNodeParams *pNodeParams);
/* All attributes of hSrc. */
cudaError_t CUDARTAPI cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc);
/* One attribute of its launch. */
cudaError_t CUDARTAPI cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode, cudaKernelNodeAttrID attr,
    cudaKernelNodeAttrValue *value_out);
/* One attribute of its launch. */
cudaError_t CUDARTAPI cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode, cudaKernelNodeAttrID attr,
    const cudaKernelNodeAttrValue *value);
/* Of the current device. */
cudaError_t CUDARTAPI cudaGraphAddMemcpyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
    const cudaGraphNode_t *pDependencies, size_t numDependencies,
    const struct cudaMemcpy3DParms *pCopyParams);
/* count bytes into a __device__ variable. */
cudaError_t CUDARTAPI cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
    const cudaGraphNode_t *pDependencies, size_t numDependencies, const void *symbol, const void *src,
    size_t count, size_t offset, enum cudaMemcpyKind kind);
/* count bytes out of a __device__ variable. */
cudaError_t CUDARTAPI cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
    const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dst, const void *symbol, size_t count,
    size_t offset, enum cudaMemcpyKind kind);
/* count bytes. */
cudaError_t CUDARTAPI cudaGraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
    const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dst, const void *src, size_t count,
    enum cudaMemcpyKind kind);
/* As they were given. */
cudaError_t CUDARTAPI cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node,
    struct cudaMemcpy3DParms *pNodeParams);
/* The node itself; what was instantiated before does not change. */
cudaError_t CUDARTAPI cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
    const struct cudaMemcpy3DParms *pNodeParams);
/* The copy becomes one into a symbol. */
cudaError_t CUDARTAPI cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol,
    const void *src, size_t count, size_t offset, enum cudaMemcpyKind kind);
/* The copy becomes one out of a symbol. */
cudaError_t CUDARTAPI cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst,
    const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind);
/* The copy becomes a one-dimensional one. */
cudaError_t CUDARTAPI cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src,
    size_t count, enum cudaMemcpyKind kind);
/* Elements of 1, 2 or 4 bytes; width in elements, pitch in bytes. */
cudaError_t CUDARTAPI cudaGraphAddMemsetNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
    const cudaGraphNode_t *pDependencies, size_t numDependencies,
    const struct cudaMemsetParams *pMemsetParams);
/* As they were given. */
cudaError_t CUDARTAPI cudaGraphMemsetNodeGetParams(cudaGraphNode_t node,
    struct cudaMemsetParams *pNodeParams);
/* The node itself; what was instantiated before does not change. */
cudaError_t CUDARTAPI cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
    const struct cudaMemsetParams *pNodeParams);
/* Calls a function on the host; it must not call the API. */
cudaError_t CUDARTAPI cudaGraphAddHostNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
    const cudaGraphNode_t *pDependencies, size_t numDependencies,
    const struct cudaHostNodeParams *pNodeParams);
/* As they were given. */
cudaError_t CUDARTAPI cudaGraphHostNodeGetParams(cudaGraphNode_t node,
    struct cudaHostNodeParams *pNodeParams);
/* The node itself; what was instantiated before does not change. */
cudaError_t CUDARTAPI cudaGraphHostNodeSetParams(cudaGraphNode_t node,
    const struct cudaHostNodeParams *pNodeParams);
/* childGraph is cloned. */
cudaError_t CUDARTAPI cudaGraphAddChildGraphNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
    const cudaGraphNode_t *pDependencies, size_t numDependencies, cudaGraph_t childGraph);
/* The node's own clone, not a copy of it. */
cudaError_t CUDARTAPI cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *pGraph);
/* Does nothing but order others. */
cudaError_t CUDARTAPI cudaGraphAddEmptyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
    const cudaGraphNode_t *pDependencies, size_t numDependencies);
/* Every launch records the event. */
cudaError_t CUDARTAPI cudaGraphAddEventRecordNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
    const cudaGraphNode_t *pDependencies, size_t numDependencies, cudaEvent_t event);
/* The event that it records. */
cudaError_t CUDARTAPI cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out);
/* The node itself; what was instantiated before does not change. */
cudaError_t CUDARTAPI cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event);
/* Every launch waits for the event's last record. */
cudaError_t CUDARTAPI cudaGraphAddEventWaitNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
    const cudaGraphNode_t *pDependencies, size_t numDependencies, cudaEvent_t event);
/* The event that it waits for. */
cudaError_t CUDARTAPI cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out);
/* The node itself; what was instantiated before does not change. */
cudaError_t CUDARTAPI cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event);
/* Every launch signals them. */
cudaError_t CUDARTAPI cudaGraphAddExternalSemaphoresSignalNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
    const cudaGraphNode_t *pDependencies, size_t numDependencies,
    const struct cudaExternalSemaphoreSignalNodeParams *nodeParams);
/* Its arrays belong to the node: valid until it changes. */
cudaError_t CUDARTAPI cudaGraphExternalSemaphoresSignalNodeGetParams(cudaGraphNode_t hNode,
    struct cudaExternalSemaphoreSignalNodeParams *params_out);
/* The node itself; what was instantiated before does not change. */
cudaError_t CUDARTAPI cudaGraphExternalSemaphoresSignalNodeSetParams(cudaGraphNode_t hNode,
    const struct cudaExternalSemaphoreSignalNodeParams *nodeParams);
/* Every launch waits for them. */
cudaError_t CUDARTAPI cudaGraphAddExternalSemaphoresWaitNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
    const cudaGraphNode_t *pDependencies, size_t numDependencies,
    const struct cudaExternalSemaphoreWaitNodeParams *nodeParams);
/* Its arrays belong to the node: valid until it changes. */
cudaError_t CUDARTAPI cudaGraphExternalSemaphoresWaitNodeGetParams(cudaGraphNode_t hNode,
    struct cudaExternalSemaphoreWaitNodeParams *params_out);
/* The node itself; what was instantiated before does not change. */
cudaError_t CUDARTAPI cudaGraphExternalSemaphoresWaitNodeSetParams(cudaGraphNode_t hNode,
    const struct cudaExternalSemaphoreWaitNodeParams *nodeParams);
/* nodeParams->dptr becomes the address, the same for every launch. */
cudaError_t CUDARTAPI cudaGraphAddMemAllocNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
    const cudaGraphNode_t *pDependencies, size_t numDependencies, struct cudaMemAllocNodeParams *nodeParams);
/* As they were given, and the address. */
cudaError_t CUDARTAPI cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
    struct cudaMemAllocNodeParams *params_out);
/* Frees what an allocation node allocates, of this graph or another one. */
cudaError_t CUDARTAPI cudaGraphAddMemFreeNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
    const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dptr);
/* dptr_out points to a void *. */
cudaError_t CUDARTAPI cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out);
/* Gives memory that graphs keep and do not use back to the system. */
cudaError_t CUDARTAPI cudaDeviceGraphMemTrim(int device);
/* value points to a cuuint64_t: bytes. */
cudaError_t CUDARTAPI cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
    void *value);
/* Only high water marks can be set, and only to 0. */
cudaError_t CUDARTAPI cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
    void *value);
/* With all nodes and child graphs. */
cudaError_t CUDARTAPI cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph);
/* cudaErrorInvalidValue if it is not there. */
cudaError_t CUDARTAPI cudaGraphNodeFindInClone(cudaGraphNode_t *pNode, cudaGraphNode_t originalNode,
    cudaGraph_t clonedGraph);
/* What kind of node it is. */
cudaError_t CUDARTAPI cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *pType);
/* nodes may be NULL: *numNodes becomes their number. Else as many as fit, and NULL behind them. */
cudaError_t CUDARTAPI cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes);
/* The nodes that depend on none; lists work as in cudaGraphGetNodes. */
cudaError_t CUDARTAPI cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes,
    size_t *pNumRootNodes);
/* edgeData may be NULL unless an edge has data: cudaErrorLossyQuery. */
cudaError_t CUDARTAPI cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
    cudaGraphEdgeData *edgeData, size_t *numEdges);
/* edgeData may be NULL unless an edge has data: cudaErrorLossyQuery. */
cudaError_t CUDARTAPI cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
    cudaGraphEdgeData *edgeData, size_t *pNumDependencies);
/* edgeData may be NULL unless an edge has data: cudaErrorLossyQuery. */
cudaError_t CUDARTAPI cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes,
    cudaGraphEdgeData *edgeData, size_t *pNumDependentNodes);
/* to[i] shall wait for from[i]; edgeData may be NULL. */
cudaError_t CUDARTAPI cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
    const cudaGraphNode_t *to, const cudaGraphEdgeData *edgeData, size_t numDependencies);
/* All of them exist, or nothing happens. */
cudaError_t CUDARTAPI cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
    const cudaGraphNode_t *to, const cudaGraphEdgeData *edgeData, size_t numDependencies);
/* With its edges. Nodes that allocate or free memory stay. */
cudaError_t CUDARTAPI cudaGraphDestroyNode(cudaGraphNode_t node);
/* Makes what can be launched; flags: cudaGraphInstantiateFlag*. */
cudaError_t CUDARTAPI cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
    unsigned long long flags CUDART_DEFAULT(0));
/* The same. */
cudaError_t CUDARTAPI cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
    unsigned long long flags CUDART_DEFAULT(0));
/* The same; says which node was at fault, and can upload. */
cudaError_t CUDARTAPI cudaGraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
    cudaGraphInstantiateParams *instantiateParams);
/* As it was instantiated with, without cudaGraphInstantiateFlagUpload. */
cudaError_t CUDARTAPI cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long *flags);
/* For later launches; the graph it came from does not change. */
cudaError_t CUDARTAPI cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
    const struct cudaKernelNodeParams *pNodeParams);
/* Same kinds of memory, same device. */
cudaError_t CUDARTAPI cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
    const struct cudaMemcpy3DParms *pNodeParams);
/* Same kinds of memory, same device. */
cudaError_t CUDARTAPI cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec,
    cudaGraphNode_t node, const void *symbol, const void *src, size_t count, size_t offset,
    enum cudaMemcpyKind kind);
/* Same kinds of memory, same device. */
cudaError_t CUDARTAPI cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec,
    cudaGraphNode_t node, void *dst, const void *symbol, size_t count, size_t offset,
    enum cudaMemcpyKind kind);
/* Same kinds of memory, same device; only for a one-dimensional copy. */
cudaError_t CUDARTAPI cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
    void *dst, const void *src, size_t count, enum cudaMemcpyKind kind);
/* Same kind of memory, same device; only for a one-dimensional one. */
cudaError_t CUDARTAPI cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
    const struct cudaMemsetParams *pNodeParams);
/* For later launches. */
cudaError_t CUDARTAPI cudaGraphExecHostNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
    const struct cudaHostNodeParams *pNodeParams);
/* childGraph has the same nodes and edges. */
cudaError_t CUDARTAPI cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
    cudaGraph_t childGraph);
/* For later launches. */
cudaError_t CUDARTAPI cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
    cudaEvent_t event);
/* For later launches. */
cudaError_t CUDARTAPI cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
    cudaEvent_t event);
/* As many semaphores as before. */
cudaError_t CUDARTAPI cudaGraphExecExternalSemaphoresSignalNodeSetParams(cudaGraphExec_t hGraphExec,
    cudaGraphNode_t hNode, const struct cudaExternalSemaphoreSignalNodeParams *nodeParams);
/* As many semaphores as before. */
cudaError_t CUDARTAPI cudaGraphExecExternalSemaphoresWaitNodeSetParams(cudaGraphExec_t hGraphExec,
    cudaGraphNode_t hNode, const struct cudaExternalSemaphoreWaitNodeParams *nodeParams);
/* A disabled kernel, memset or memcpy node acts like an empty one. */
cudaError_t CUDARTAPI cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
    unsigned int isEnabled);
/* 1 or 0. */
cudaError_t CUDARTAPI cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
    unsigned int *isEnabled);
/* All parameters of a graph of the same shape; resultInfo says what stands against it:
 * cudaErrorGraphExecUpdateFailure. */
cudaError_t CUDARTAPI cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
    cudaGraphExecUpdateResultInfo *resultInfo);
/* Prepares a launch, in the order of a stream. */
cudaError_t CUDARTAPI cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream);
/* In the order of a stream; launches of one executable graph follow each other. */
cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream);
/* Launches that are under way come to their end. */
cudaError_t CUDARTAPI cudaGraphExecDestroy(cudaGraphExec_t graphExec);
/* With all its nodes; what was instantiated lives on. */
cudaError_t CUDARTAPI cudaGraphDestroy(cudaGraph_t graph);
/* Writes a file for Graphviz; flags: cudaGraphDebugDotFlags*. */
cudaError_t CUDARTAPI cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags);
/* Calls destroy with ptr when the last reference is gone; flags: cudaUserObjectNoDestructorSync. */
cudaError_t CUDARTAPI cudaUserObjectCreate(cudaUserObject_t *object_out, void *ptr, cudaHostFn_t destroy,
    unsigned int initialRefcount, unsigned int flags);
/* count more references, for the caller. */
cudaError_t CUDARTAPI cudaUserObjectRetain(cudaUserObject_t object, unsigned int count CUDART_DEFAULT(1));
/* count references less. */
cudaError_t CUDARTAPI cudaUserObjectRelease(cudaUserObject_t object, unsigned int count CUDART_DEFAULT(1));
/* References for a graph; with cudaGraphUserObjectMove they are the caller's own. */
cudaError_t CUDARTAPI cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
    unsigned int count CUDART_DEFAULT(1), unsigned int flags CUDART_DEFAULT(0));
/* References that the graph has. */
cudaError_t CUDARTAPI cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
    unsigned int count CUDART_DEFAULT(1));
/* Any kind of node; outputs, such as an address, come back in nodeParams. */
cudaError_t CUDARTAPI cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
    const cudaGraphNode_t *pDependencies, const cudaGraphEdgeData *dependencyData, size_t numDependencies,
    struct cudaGraphNodeParams *nodeParams);
/* Any kind of node that has parameters. */
cudaError_t CUDARTAPI cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *nodeParams);
/* Any kind of node that has parameters. */
cudaError_t CUDARTAPI cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
    struct cudaGraphNodeParams *nodeParams);
/* What a conditional node of the graph looks at; cudaGraphCondAssignDefault: every launch starts with the
 * default. */
cudaError_t CUDARTAPI cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *pHandle_out,
    cudaGraph_t graph, unsigned int defaultLaunchValue CUDART_DEFAULT(0),
    unsigned int flags CUDART_DEFAULT(0));

/* ---- Driver Entry Point Access ---- */
/* The newest form, up to CUDART_VERSION, of a function of the driver API. Deprecated. */
cudaError_t CUDARTAPI cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
    enum cudaDriverEntryPointQueryResult *driverStatus CUDART_DEFAULT(NULL));
/* The form of cudaVersion; driverStatus says whether it was found. flags: cudaEnable*. */
cudaError_t CUDARTAPI cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr,
    unsigned int cudaVersion, unsigned long long flags,
    enum cudaDriverEntryPointQueryResult *driverStatus CUDART_DEFAULT(NULL));

/* ---- Library Management ---- */
/* code is PTX, a cubin or a fatbinary; options and their values as far as libraries have them. */
cudaError_t CUDARTAPI cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
    enum cudaJitOption *jitOptions, void **jitOptionsValues, unsigned int numJitOptions,
    enum cudaLibraryOption *libraryOptions, void **libraryOptionValues, unsigned int numLibraryOptions);
/* The same from a file. */
cudaError_t CUDARTAPI cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName,
    enum cudaJitOption *jitOptions, void **jitOptionsValues, unsigned int numJitOptions,
    enum cudaLibraryOption *libraryOptions, void **libraryOptionValues, unsigned int numLibraryOptions);
/* Its kernels and variables are gone on all devices. */
cudaError_t CUDARTAPI cudaLibraryUnload(cudaLibrary_t library);
/* cudaErrorSymbolNotFound if there is none of this name. */
cudaError_t CUDARTAPI cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name);
/* A variable on the current device, and its size in bytes; either may be NULL. */
cudaError_t CUDARTAPI cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library,
    const char *name);
/* A managed variable, the same on all devices. */
cudaError_t CUDARTAPI cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library,
    const char *name);
/* The address of a function that is the same for host and devices. */
cudaError_t CUDARTAPI cudaLibraryGetUnifiedFunction(void **fptr, cudaLibrary_t library, const char *symbol);
/* How many kernels it has. */
cudaError_t CUDARTAPI cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib);
/* At most numKernels of them. */
cudaError_t CUDARTAPI cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels,
    cudaLibrary_t lib);
/* Like cudaFuncSetAttribute, for any device. */
cudaError_t CUDARTAPI cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr,
    int value, int device);

/* ---- Interactions with the CUDA Driver API ---- */
/* Functions that have no name; only for NVIDIA's own libraries. */
cudaError_t CUDARTAPI cudaGetExportTable(const void **ppExportTable, const cudaUUID_t *pExportTableId);
/* The CUfunction of a kernel on the current device. */
cudaError_t CUDARTAPI cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr);
/* The CUkernel of a kernel. */
cudaError_t CUDARTAPI cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr);

/* ---- Profiler Control ---- */
/* A profiler may look from here on. */
cudaError_t CUDARTAPI cudaProfilerStart(void);
/* A profiler may look away from here on. */
cudaError_t CUDARTAPI cudaProfilerStop(void);

#ifdef __cplusplus
}
#endif

#undef CUDART_DEFAULT

#endif
