/* Errors: the runtime's codes and their names, and each thread's last error. */
#include "runtime/runtime.h"
#include "base/instances.h"
#include "base/log.h"

#include <stdatomic.h>

/* Every code with its description, in the order of their numbers; NULL: the driver has the same. */
#define ERRORS(X) \
    X(cudaSuccess, NULL) \
    X(cudaErrorInvalidValue, NULL) \
    X(cudaErrorMemoryAllocation, NULL) \
    X(cudaErrorInitializationError, NULL) \
    X(cudaErrorCudartUnloading, NULL) \
    X(cudaErrorProfilerDisabled, NULL) \
    X(cudaErrorProfilerNotInitialized, NULL) \
    X(cudaErrorProfilerAlreadyStarted, NULL) \
    X(cudaErrorProfilerAlreadyStopped, NULL) \
    X(cudaErrorInvalidConfiguration, "invalid configuration argument") \
    X(cudaErrorInvalidPitchValue, "invalid pitch argument") \
    X(cudaErrorInvalidSymbol, "invalid device symbol") \
    X(cudaErrorInvalidHostPointer, "invalid host pointer") \
    X(cudaErrorInvalidDevicePointer, "invalid device pointer") \
    X(cudaErrorInvalidTexture, "invalid texture reference") \
    X(cudaErrorInvalidTextureBinding, "texture is not bound to a pointer") \
    X(cudaErrorInvalidChannelDescriptor, "invalid channel descriptor") \
    X(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy") \
    X(cudaErrorAddressOfConstant, "invalid address of constant") \
    X(cudaErrorTextureFetchFailed, "fetch from texture failed") \
    X(cudaErrorTextureNotBound, "cannot fetch from a texture that is not bound") \
    X(cudaErrorSynchronizationError, "incorrect use of __syncthreads()") \
    X(cudaErrorInvalidFilterSetting, "linear filtering not supported for non-float type") \
    X(cudaErrorInvalidNormSetting, "read as normalized float not supported for data type") \
    X(cudaErrorMixedDeviceExecution, "device emulation mode and device execution mode cannot be mixed") \
    X(cudaErrorNotYetImplemented, "feature not yet implemented") \
    X(cudaErrorMemoryValueTooLarge, "memory size or pointer value too large to fit in 32 bit") \
    X(cudaErrorStubLibrary, NULL) \
    X(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version") \
    X(cudaErrorCallRequiresNewerDriver, NULL) \
    X(cudaErrorInvalidSurface, "invalid surface reference") \
    X(cudaErrorDuplicateVariableName, "duplicate global variable looked up by string name") \
    X(cudaErrorDuplicateTextureName, "duplicate texture looked up by string name") \
    X(cudaErrorDuplicateSurfaceName, "duplicate surface looked up by string name") \
    X(cudaErrorDevicesUnavailable, NULL) \
    X(cudaErrorIncompatibleDriverContext, "incompatible driver context") \
    X(cudaErrorMissingConfiguration, "__global__ function call is not configured") \
    X(cudaErrorPriorLaunchFailure, "unspecified launch failure in prior launch") \
    X(cudaErrorLaunchMaxDepthExceeded, "launch would exceed maximum depth of nested launches") \
    X(cudaErrorLaunchFileScopedTex, \
      "launch failed because kernel uses unsupported, file-scoped textures (texture objects are supported)") \
    X(cudaErrorLaunchFileScopedSurf, \
      "launch failed because kernel uses unsupported, file-scoped surfaces (surface objects are supported)") \
    X(cudaErrorSyncDepthExceeded, \
      "cudaDeviceSynchronize failed because caller's grid depth exceeds cudaLimitDevRuntimeSyncDepth") \
    X(cudaErrorLaunchPendingCountExceeded, \
      "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount") \
    X(cudaErrorInvalidDeviceFunction, "invalid device function") \
    X(cudaErrorNoDevice, NULL) \
    X(cudaErrorInvalidDevice, NULL) \
    X(cudaErrorDeviceNotLicensed, NULL) \
    X(cudaErrorSoftwareValidityNotEstablished, "integrity checks failed") \
    X(cudaErrorStartupFailure, "startup failure in cuda runtime") \
    X(cudaErrorInvalidKernelImage, NULL) \
    X(cudaErrorDeviceUninitialized, NULL) \
    X(cudaErrorMapBufferObjectFailed, NULL) \
    X(cudaErrorUnmapBufferObjectFailed, NULL) \
    X(cudaErrorArrayIsMapped, NULL) \
    X(cudaErrorAlreadyMapped, NULL) \
    X(cudaErrorNoKernelImageForDevice, NULL) \
    X(cudaErrorAlreadyAcquired, NULL) \
    X(cudaErrorNotMapped, NULL) \
    X(cudaErrorNotMappedAsArray, NULL) \
    X(cudaErrorNotMappedAsPointer, NULL) \
    X(cudaErrorECCUncorrectable, NULL) \
    X(cudaErrorUnsupportedLimit, NULL) \
    X(cudaErrorDeviceAlreadyInUse, NULL) \
    X(cudaErrorPeerAccessUnsupported, NULL) \
    X(cudaErrorInvalidPtx, NULL) \
    X(cudaErrorInvalidGraphicsContext, NULL) \
    X(cudaErrorNvlinkUncorrectable, NULL) \
    X(cudaErrorJitCompilerNotFound, NULL) \
    X(cudaErrorUnsupportedPtxVersion, NULL) \
    X(cudaErrorJitCompilationDisabled, NULL) \
    X(cudaErrorUnsupportedExecAffinity, NULL) \
    X(cudaErrorUnsupportedDevSideSync, NULL) \
    X(cudaErrorContained, NULL) \
    X(cudaErrorInvalidSource, NULL) \
    X(cudaErrorFileNotFound, NULL) \
    X(cudaErrorSharedObjectSymbolNotFound, NULL) \
    X(cudaErrorSharedObjectInitFailed, NULL) \
    X(cudaErrorOperatingSystem, NULL) \
    X(cudaErrorInvalidResourceHandle, NULL) \
    X(cudaErrorIllegalState, NULL) \
    X(cudaErrorLossyQuery, NULL) \
    X(cudaErrorSymbolNotFound, NULL) \
    X(cudaErrorNotReady, NULL) \
    X(cudaErrorIllegalAddress, NULL) \
    X(cudaErrorLaunchOutOfResources, NULL) \
    X(cudaErrorLaunchTimeout, NULL) \
    X(cudaErrorLaunchIncompatibleTexturing, NULL) \
    X(cudaErrorPeerAccessAlreadyEnabled, NULL) \
    X(cudaErrorPeerAccessNotEnabled, NULL) \
    X(cudaErrorSetOnActiveProcess, NULL) \
    X(cudaErrorContextIsDestroyed, NULL) \
    X(cudaErrorAssert, NULL) \
    X(cudaErrorTooManyPeers, NULL) \
    X(cudaErrorHostMemoryAlreadyRegistered, NULL) \
    X(cudaErrorHostMemoryNotRegistered, NULL) \
    X(cudaErrorHardwareStackError, NULL) \
    X(cudaErrorIllegalInstruction, NULL) \
    X(cudaErrorMisalignedAddress, NULL) \
    X(cudaErrorInvalidAddressSpace, NULL) \
    X(cudaErrorInvalidPc, NULL) \
    X(cudaErrorLaunchFailure, NULL) \
    X(cudaErrorCooperativeLaunchTooLarge, NULL) \
    X(cudaErrorTensorMemoryLeak, NULL) \
    X(cudaErrorNotPermitted, NULL) \
    X(cudaErrorNotSupported, NULL) \
    X(cudaErrorSystemNotReady, NULL) \
    X(cudaErrorSystemDriverMismatch, NULL) \
    X(cudaErrorCompatNotSupportedOnDevice, NULL) \
    X(cudaErrorMpsConnectionFailed, NULL) \
    X(cudaErrorMpsRpcFailure, NULL) \
    X(cudaErrorMpsServerNotReady, NULL) \
    X(cudaErrorMpsMaxClientsReached, NULL) \
    X(cudaErrorMpsMaxConnectionsReached, NULL) \
    X(cudaErrorMpsClientTerminated, NULL) \
    X(cudaErrorCdpNotSupported, NULL) \
    X(cudaErrorCdpVersionMismatch, NULL) \
    X(cudaErrorStreamCaptureUnsupported, NULL) \
    X(cudaErrorStreamCaptureInvalidated, NULL) \
    X(cudaErrorStreamCaptureMerge, NULL) \
    X(cudaErrorStreamCaptureUnmatched, NULL) \
    X(cudaErrorStreamCaptureUnjoined, NULL) \
    X(cudaErrorStreamCaptureIsolation, NULL) \
    X(cudaErrorStreamCaptureImplicit, NULL) \
    X(cudaErrorCapturedEvent, NULL) \
    X(cudaErrorStreamCaptureWrongThread, NULL) \
    X(cudaErrorTimeout, NULL) \
    X(cudaErrorGraphExecUpdateFailure, NULL) \
    X(cudaErrorExternalDevice, NULL) \
    X(cudaErrorInvalidClusterSize, NULL) \
    X(cudaErrorFunctionNotLoaded, NULL) \
    X(cudaErrorInvalidResourceType, NULL) \
    X(cudaErrorInvalidResourceConfiguration, NULL) \
    X(cudaErrorUnknown, NULL) \
    X(cudaErrorApiFailureBase, "api failure base")

#define ROW(code, text) { code, #code, text },
static const struct {
    cudaError_t code;
    const char *name, *text;
} errors[] = { ERRORS(ROW) };

enum { ERROR_COUNT = sizeof errors / sizeof *errors, UNKNOWN_CODE = -1 };

static int find(cudaError_t code)
{
    for (int k = 0; k < ERROR_COUNT; k++)
        if (errors[k].code == code) return k;
    return UNKNOWN_CODE;
}

const char *CUDARTAPI cudaGetErrorName(cudaError_t error)
{
    int k = find(error);
    return k == UNKNOWN_CODE ? "unrecognized error code" : errors[k].name;
}

const char *CUDARTAPI cudaGetErrorString(cudaError_t error)
{
    int k = find(error);
    if (k == UNKNOWN_CODE) return "unrecognized error code";
    const char *text = errors[k].text;
    if (!text) cuGetErrorString((CUresult)error, &text);
    return text;
}

cudaError_t runtime_error(CUresult r)
{
    if (!r) return cudaSuccess;
    return find((cudaError_t)r) == UNKNOWN_CODE ? cudaErrorUnknown : (cudaError_t)r;
}

/* ---- The last error ---- */

static _Thread_local cudaError_t last[MOST_INSTANCES];
static _Thread_local unsigned asking;

static unsigned instance_of(const void *caller) { return faultline_instance_of ? faultline_instance_of(caller) : 0; }

/* That something is not ready is no error. */
cudaError_t runtime_failed_for(const void *caller, cudaError_t error)
{
    if (error != cudaErrorNotReady) last[instance_of(caller)] = error;
    return error;
}

void runtime_asks(const void *caller) { asking = instance_of(caller); }

/* Asking starts the driver, and is too late when the process ends; that there is no device is not told again. */
cudaError_t CUDARTAPI cudaPeekAtLastError(void)
{
    return runtime_init() == cudaErrorCudartUnloading ? cudaErrorCudartUnloading : last[asking];
}

cudaError_t CUDARTAPI cudaGetLastError(void)
{
    cudaError_t error = cudaPeekAtLastError();
    last[asking] = cudaSuccess;
    return error;
}

cudaError_t runtime_not_supported(const char *name, _Atomic(bool) *said)
{
    if (!atomic_exchange(said, true))
        fl_log(FL_LOG_WARN, "%s is not implemented; it answers cudaErrorNotSupported", name);
    return cudaErrorNotSupported;
}
