/* Error handling: names and descriptions of result codes. */
#include <stdlib.h>

struct description {
    CUresult code;
    const char *name, *text;
};

/* Sorted by code. */
#define E(code, text) \
    { \
        code, #code, text \
    }
static const struct description descriptions[] = {
    E(CUDA_SUCCESS, "success"),
    E(CUDA_ERROR_INVALID_VALUE, "an argument has a value that is not allowed"),
    E(CUDA_ERROR_OUT_OF_MEMORY, "not enough memory"),
    E(CUDA_ERROR_NOT_INITIALIZED, "cuInit has not been called in this process"),
    E(CUDA_ERROR_DEINITIALIZED, "the driver is shutting down"),
    E(CUDA_ERROR_PROFILER_DISABLED, "profiling is switched off"),
    E(CUDA_ERROR_PROFILER_NOT_INITIALIZED, "the profiler has not been initialized"),
    E(CUDA_ERROR_PROFILER_ALREADY_STARTED, "the profiler is already running"),
    E(CUDA_ERROR_PROFILER_ALREADY_STOPPED, "the profiler is already stopped"),
    E(CUDA_ERROR_STUB_LIBRARY, "the library loaded is a stub meant for linking only"),
    E(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, "this call needs a newer driver"),
    E(CUDA_ERROR_DEVICE_UNAVAILABLE, "the device is in use or not available"),
    E(CUDA_ERROR_NO_DEVICE, "no device was found"),
    E(CUDA_ERROR_INVALID_DEVICE, "there is no device with this number"),
    E(CUDA_ERROR_DEVICE_NOT_LICENSED, "the device has no valid licence"),
    E(CUDA_ERROR_INVALID_IMAGE, "the module image is not valid"),
    E(CUDA_ERROR_INVALID_CONTEXT, "no context is current, or the context is not valid"),
    E(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, "the context is already current"),
    E(CUDA_ERROR_MAP_FAILED, "mapping failed"),
    E(CUDA_ERROR_UNMAP_FAILED, "unmapping failed"),
    E(CUDA_ERROR_ARRAY_IS_MAPPED, "the array is mapped and cannot be destroyed"),
    E(CUDA_ERROR_ALREADY_MAPPED, "the resource is already mapped"),
    E(CUDA_ERROR_NO_BINARY_FOR_GPU, "the image holds no code that this device can run"),
    E(CUDA_ERROR_ALREADY_ACQUIRED, "the resource has already been acquired"),
    E(CUDA_ERROR_NOT_MAPPED, "the resource is not mapped"),
    E(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, "the resource is not mapped as an array"),
    E(CUDA_ERROR_NOT_MAPPED_AS_POINTER, "the resource is not mapped as a pointer"),
    E(CUDA_ERROR_ECC_UNCORRECTABLE, "memory error that could not be corrected"),
    E(CUDA_ERROR_UNSUPPORTED_LIMIT, "the device does not have this limit"),
    E(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, "the context is current in another thread"),
    E(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "these devices cannot access each other's memory"),
    E(CUDA_ERROR_INVALID_PTX, "the PTX code could not be compiled"),
    E(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, "the graphics context is not valid"),
    E(CUDA_ERROR_NVLINK_UNCORRECTABLE, "link error that could not be corrected"),
    E(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "the PTX compiler was not found"),
    E(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the PTX code is of a newer version than this driver knows"),
    E(CUDA_ERROR_JIT_COMPILATION_DISABLED, "compilation of PTX is switched off"),
    E(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "the device does not have this kind of execution affinity"),
    E(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC, "kernels cannot synchronize with kernels they launched"),
    E(CUDA_ERROR_CONTAINED, "an error stopped this context and no other"),
    E(CUDA_ERROR_INVALID_SOURCE, "the source of the kernel is not valid"),
    E(CUDA_ERROR_FILE_NOT_FOUND, "the file was not found"),
    E(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "a symbol of a shared library was not found"),
    E(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, "a shared library could not be initialized"),
    E(CUDA_ERROR_OPERATING_SYSTEM, "a call of the operating system failed"),
    E(CUDA_ERROR_INVALID_HANDLE, "the handle is not valid"),
    E(CUDA_ERROR_ILLEGAL_STATE, "the resource is in the wrong state for this call"),
    E(CUDA_ERROR_LOSSY_QUERY, "the answer would have lost information"),
    E(CUDA_ERROR_NOT_FOUND, "nothing with this name was found"),
    E(CUDA_ERROR_NOT_READY, "the work is not finished yet"),
    E(CUDA_ERROR_ILLEGAL_ADDRESS, "a kernel accessed memory that it may not access"),
    E(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "the launch needs more registers, threads or shared memory than there are"),
    E(CUDA_ERROR_LAUNCH_TIMEOUT, "the kernel ran for too long"),
    E(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, "the launch uses an incompatible texturing mode"),
    E(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "access to this peer is already enabled"),
    E(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "access to this peer is not enabled"),
    E(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "the primary context is already active"),
    E(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context has been destroyed"),
    E(CUDA_ERROR_ASSERT, "an assertion in a kernel failed"),
    E(CUDA_ERROR_TOO_MANY_PEERS, "no more peers can be enabled"),
    E(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "this host memory is already registered"),
    E(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "this host memory is not registered"),
    E(CUDA_ERROR_HARDWARE_STACK_ERROR, "a kernel overran or corrupted its stack"),
    E(CUDA_ERROR_ILLEGAL_INSTRUCTION, "a kernel executed an illegal instruction"),
    E(CUDA_ERROR_MISALIGNED_ADDRESS, "a kernel accessed an address that is not aligned to the size of the access"),
    E(CUDA_ERROR_INVALID_ADDRESS_SPACE, "a kernel used an address in the wrong state space"),
    E(CUDA_ERROR_INVALID_PC, "a kernel jumped to an invalid address"),
    E(CUDA_ERROR_LAUNCH_FAILED, "the kernel failed"),
    E(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "the blocks of a cooperative launch do not fit on the device at once"),
    E(CUDA_ERROR_TENSOR_MEMORY_LEAK, "a kernel ended without freeing its tensor memory"),
    E(CUDA_ERROR_NOT_PERMITTED, "this is not permitted"),
    E(CUDA_ERROR_NOT_SUPPORTED, "this is not supported"),
    E(CUDA_ERROR_SYSTEM_NOT_READY, "the system is not ready to run CUDA work yet"),
    E(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "the versions of driver and library do not match"),
    E(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, "forward compatibility does not cover this device"),
    E(CUDA_ERROR_MPS_CONNECTION_FAILED, "could not connect to the MPS server"),
    E(CUDA_ERROR_MPS_RPC_FAILURE, "a call to the MPS server failed"),
    E(CUDA_ERROR_MPS_SERVER_NOT_READY, "the MPS server is not ready for clients"),
    E(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, "the MPS server has no room for another client"),
    E(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, "the MPS server has no connections left"),
    E(CUDA_ERROR_MPS_CLIENT_TERMINATED, "the MPS server ended this client"),
    E(CUDA_ERROR_CDP_NOT_SUPPORTED, "kernels cannot launch kernels here"),
    E(CUDA_ERROR_CDP_VERSION_MISMATCH, "modules use different versions of dynamic parallelism"),
    E(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "this cannot be done while a stream is being captured"),
    E(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an earlier error made the capture invalid"),
    E(CUDA_ERROR_STREAM_CAPTURE_MERGE, "this would merge two captures"),
    E(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture was not begun in this stream"),
    E(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "the capture has work that was not joined to its first stream"),
    E(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "a captured stream would depend on work outside the capture"),
    E(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "this would wait for a capture through the legacy default stream"),
    E(CUDA_ERROR_CAPTURED_EVENT, "the event was last recorded in a captured stream"),
    E(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "the capture was begun by another thread"),
    E(CUDA_ERROR_TIMEOUT, "the time allowed has passed"),
    E(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the executable graph cannot be updated from this graph"),
    E(CUDA_ERROR_EXTERNAL_DEVICE, "a device outside CUDA's control reported an error"),
    E(CUDA_ERROR_INVALID_CLUSTER_SIZE, "the cluster dimensions are not valid"),
    E(CUDA_ERROR_FUNCTION_NOT_LOADED, "the function has not been loaded yet"),
    E(CUDA_ERROR_INVALID_RESOURCE_TYPE, "resources of this type are not valid here"),
    E(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "the resources are insufficient or cannot be combined"),
    E(CUDA_ERROR_KEY_ROTATION, "a key is being exchanged; try again later"),
    E(CUDA_ERROR_UNKNOWN, "unknown error"),
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
