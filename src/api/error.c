/* Error handling: names and descriptions of result codes. */
#include <stdlib.h>

struct description {
    CUresult code;
    const char *name, *text, *explanation;
};

/* Sorted by code. The text is what NVIDIA's driver says: programs look for it. */
#define E(code, text, explanation) \
    { \
        code, #code, text, explanation \
    }
static const struct description descriptions[] = {
    E(CUDA_SUCCESS, "no error", "success"),
    E(CUDA_ERROR_INVALID_VALUE, "invalid argument", "an argument has a value that is not allowed"),
    E(CUDA_ERROR_OUT_OF_MEMORY, "out of memory", "not enough memory"),
    E(CUDA_ERROR_NOT_INITIALIZED, "initialization error", "cuInit has not been called in this process"),
    E(CUDA_ERROR_DEINITIALIZED, "driver shutting down", "the driver is shutting down"),
    E(CUDA_ERROR_PROFILER_DISABLED, "profiler disabled while using external profiling tool",
      "profiling is switched off"),
    E(CUDA_ERROR_PROFILER_NOT_INITIALIZED, "profiler not initialized: call cudaProfilerInitialize()",
      "the profiler has not been initialized"),
    E(CUDA_ERROR_PROFILER_ALREADY_STARTED, "profiler already started", "the profiler is already running"),
    E(CUDA_ERROR_PROFILER_ALREADY_STOPPED, "profiler already stopped", "the profiler is already stopped"),
    E(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library", "the library loaded is a stub meant for linking only"),
    E(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, "API call is not supported in the installed CUDA driver",
      "this call needs a newer driver"),
    E(CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable",
      "the device is in use or not available"),
    E(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected", "no device was found"),
    E(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal", "there is no device with this number"),
    E(CUDA_ERROR_DEVICE_NOT_LICENSED, "device doesn't have valid Grid license", "the device has no valid licence"),
    E(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid", "the module image is not valid"),
    E(CUDA_ERROR_INVALID_CONTEXT, "invalid device context", "no context is current, or the context is not valid"),
    E(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, "context already current", "the context is already current"),
    E(CUDA_ERROR_MAP_FAILED, "mapping of buffer object failed", "mapping failed"),
    E(CUDA_ERROR_UNMAP_FAILED, "unmapping of buffer object failed", "unmapping failed"),
    E(CUDA_ERROR_ARRAY_IS_MAPPED, "array is mapped", "the array is mapped and cannot be destroyed"),
    E(CUDA_ERROR_ALREADY_MAPPED, "resource already mapped", "the resource is already mapped"),
    E(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device",
      "the image holds no code that this device can run"),
    E(CUDA_ERROR_ALREADY_ACQUIRED, "resource already acquired", "the resource has already been acquired"),
    E(CUDA_ERROR_NOT_MAPPED, "resource not mapped", "the resource is not mapped"),
    E(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, "resource not mapped as array", "the resource is not mapped as an array"),
    E(CUDA_ERROR_NOT_MAPPED_AS_POINTER, "resource not mapped as pointer", "the resource is not mapped as a pointer"),
    E(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered", "memory error that could not be corrected"),
    E(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture",
      "the device does not have this limit"),
    E(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, "exclusive-thread device already in use by a different thread",
      "the context is current in another thread"),
    E(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices",
      "these devices cannot access each other's memory"),
    E(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed", "the PTX code could not be compiled"),
    E(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, "invalid OpenGL or DirectX context", "the graphics context is not valid"),
    E(CUDA_ERROR_NVLINK_UNCORRECTABLE, "uncorrectable NVLink error detected during the execution",
      "link error that could not be corrected"),
    E(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "PTX JIT compiler library not found", "the PTX compiler was not found"),
    E(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an unsupported toolchain.",
      "the PTX code is of a newer version than this driver knows"),
    E(CUDA_ERROR_JIT_COMPILATION_DISABLED, "PTX JIT compilation was disabled", "compilation of PTX is switched off"),
    E(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "the provided execution affinity is not supported",
      "the device does not have this kind of execution affinity"),
    E(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC, "the provided PTX contains unsupported call to cudaDeviceSynchronize",
      "kernels cannot synchronize with kernels they launched"),
    E(CUDA_ERROR_CONTAINED, "Invalid access of peer GPU memory over nvlink or a hardware error",
      "an error stopped this context and no other"),
    E(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid", "the source of the kernel is not valid"),
    E(CUDA_ERROR_FILE_NOT_FOUND, "file not found", "the file was not found"),
    E(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "shared object symbol not found",
      "a symbol of a shared library was not found"),
    E(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, "shared object initialization failed",
      "a shared library could not be initialized"),
    E(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS",
      "a call of the operating system failed"),
    E(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle", "the handle is not valid"),
    E(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state",
      "the resource is in the wrong state for this call"),
    E(CUDA_ERROR_LOSSY_QUERY, "attempted introspection would be semantically lossy",
      "the answer would have lost information"),
    E(CUDA_ERROR_NOT_FOUND, "named symbol not found", "nothing with this name was found"),
    E(CUDA_ERROR_NOT_READY, "device not ready", "the work is not finished yet"),
    E(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered",
      "a kernel accessed memory that it may not access"),
    E(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch",
      "the launch needs more registers, threads or shared memory than there are"),
    E(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated", "the kernel ran for too long"),
    E(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, "launch uses incompatible texturing mode",
      "the launch uses an incompatible texturing mode"),
    E(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled",
      "access to this peer is already enabled"),
    E(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled", "access to this peer is not enabled"),
    E(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process",
      "the primary context is already active"),
    E(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed", "the context has been destroyed"),
    E(CUDA_ERROR_ASSERT, "device-side assert triggered", "an assertion in a kernel failed"),
    E(CUDA_ERROR_TOO_MANY_PEERS, "peer mapping resources exhausted", "no more peers can be enabled"),
    E(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "part or all of the requested memory range is already mapped",
      "this host memory is already registered"),
    E(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "pointer does not correspond to a registered memory region",
      "this host memory is not registered"),
    E(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error", "a kernel overran or corrupted its stack"),
    E(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered",
      "a kernel executed an illegal instruction"),
    E(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address",
      "a kernel accessed an address that is not aligned to the size of the access"),
    E(CUDA_ERROR_INVALID_ADDRESS_SPACE, "operation not supported on global/shared address space",
      "a kernel used an address in the wrong state space"),
    E(CUDA_ERROR_INVALID_PC, "invalid program counter", "a kernel jumped to an invalid address"),
    E(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure", "the kernel failed"),
    E(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch",
      "the blocks of a cooperative launch do not fit on the device at once"),
    E(CUDA_ERROR_TENSOR_MEMORY_LEAK, "tensor memory not completely freed",
      "a kernel ended without freeing its tensor memory"),
    E(CUDA_ERROR_NOT_PERMITTED, "operation not permitted", "this is not permitted"),
    E(CUDA_ERROR_NOT_SUPPORTED, "operation not supported", "this is not supported"),
    E(CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialized", "the system is not ready to run CUDA work yet"),
    E(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "system has unsupported display driver / cuda driver combination",
      "the versions of driver and library do not match"),
    E(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, "forward compatibility was attempted on non supported HW",
      "forward compatibility does not cover this device"),
    E(CUDA_ERROR_MPS_CONNECTION_FAILED, "MPS client failed to connect to the MPS control daemon or the MPS server",
      "could not connect to the MPS server"),
    E(CUDA_ERROR_MPS_RPC_FAILURE, "the remote procedural call between the MPS server and the MPS client failed",
      "a call to the MPS server failed"),
    E(CUDA_ERROR_MPS_SERVER_NOT_READY, "MPS server is not ready to accept new MPS client requests",
      "the MPS server is not ready for clients"),
    E(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, "the hardware resources required to create MPS client have been exhausted",
      "the MPS server has no room for another client"),
    E(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
      "the hardware resources required to support device connections have been exhausted",
      "the MPS server has no connections left"),
    E(CUDA_ERROR_MPS_CLIENT_TERMINATED, "the MPS client has been terminated by the server",
      "the MPS server ended this client"),
    E(CUDA_ERROR_CDP_NOT_SUPPORTED,
      "is using CUDA Dynamic Parallelism, but the current configuration, like MPS, does not support it",
      "kernels cannot launch kernels here"),
    E(CUDA_ERROR_CDP_VERSION_MISMATCH, "unsupported interaction between different versions of CUDA Dynamic Parallelism",
      "modules use different versions of dynamic parallelism"),
    E(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing",
      "this cannot be done while a stream is being captured"),
    E(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture",
      "an earlier error made the capture invalid"),
    E(CUDA_ERROR_STREAM_CAPTURE_MERGE, "operation would result in a merge of separate capture sequences",
      "this would merge two captures"),
    E(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began",
      "the capture was not begun in this stream"),
    E(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work",
      "the capture has work that was not joined to its first stream"),
    E(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "dependency created on uncaptured work in another stream",
      "a captured stream would depend on work outside the capture"),
    E(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
      "operation would make the legacy stream depend on a capturing blocking stream",
      "this would wait for a capture through the legacy default stream"),
    E(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event last recorded in a capturing stream",
      "the event was last recorded in a captured stream"),
    E(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
      "attempt to terminate a thread-local capture sequence from another thread",
      "the capture was begun by another thread"),
    E(CUDA_ERROR_TIMEOUT, "wait operation timed out", "the time allowed has passed"),
    E(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
      "the graph update was not performed because it included changes which violated constraints specific to "
      "instantiated graph update",
      "the executable graph cannot be updated from this graph"),
    E(CUDA_ERROR_EXTERNAL_DEVICE, "an async error has occured in external entity outside of CUDA",
      "a device outside CUDA's control reported an error"),
    E(CUDA_ERROR_INVALID_CLUSTER_SIZE, "a kernel launch error has occurred due to cluster misconfiguration",
      "the cluster dimensions are not valid"),
    E(CUDA_ERROR_FUNCTION_NOT_LOADED,
      "the function handle is not loaded when calling an API that requires a loaded function",
      "the function has not been loaded yet"),
    E(CUDA_ERROR_INVALID_RESOURCE_TYPE,
      "one or more resources passed in are not valid resource types for the operation",
      "resources of this type are not valid here"),
    E(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
      "one or more resources are insufficient or non-applicable for the operation",
      "the resources are insufficient or cannot be combined"),
    E(CUDA_ERROR_KEY_ROTATION, "a key is being exchanged; try again later",
      "a key is being exchanged; try again later"),
    E(CUDA_ERROR_UNKNOWN, "unknown error", "unknown error"),
};
#undef E

static int by_code(const void *key, const void *element)
{
    CUresult code = *(const CUresult *)key, other = ((const struct description *)element)->code;
    return (code > other) - (code < other);
}

static const struct description *describe(CUresult code)
{
    return bsearch(&code, descriptions, sizeof descriptions / sizeof *descriptions, sizeof *descriptions, by_code);
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **pStr)
{
    if (!pStr) return CUDA_ERROR_INVALID_VALUE;
    const struct description *d = describe(error);
    *pStr = d ? d->name : NULL;
    return d ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **pStr)
{
    if (!pStr) return CUDA_ERROR_INVALID_VALUE;
    const struct description *d = describe(error);
    *pStr = d ? d->text : NULL;
    return d ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

const char *error_explanation(CUresult code)
{
    const struct description *d = describe(code);
    return d ? d->explanation : NULL;
}
