/* CUPTI's result codes in words, and its version. */
#include <cupti.h>

static const struct {
    CUptiResult result;
    const char *name, *message;
} results[] = {
#define RESULT(name, message) \
    { \
        name, #name, message \
    }
    RESULT(CUPTI_SUCCESS, "no error"),
    RESULT(CUPTI_ERROR_INVALID_PARAMETER, "invalid parameter"),
    RESULT(CUPTI_ERROR_INVALID_DEVICE, "invalid device"),
    RESULT(CUPTI_ERROR_INVALID_CONTEXT, "invalid context"),
    RESULT(CUPTI_ERROR_INVALID_EVENT_DOMAIN_ID, "invalid event domain identifier"),
    RESULT(CUPTI_ERROR_INVALID_EVENT_ID, "invalid event identifier"),
    RESULT(CUPTI_ERROR_INVALID_EVENT_NAME, "invalid event name"),
    RESULT(CUPTI_ERROR_INVALID_OPERATION, "invalid operation"),
    RESULT(CUPTI_ERROR_OUT_OF_MEMORY, "out of memory"),
    RESULT(CUPTI_ERROR_HARDWARE, "hardware"),
    RESULT(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT, "parameter size not sufficient"),
    RESULT(CUPTI_ERROR_API_NOT_IMPLEMENTED, "api not implemented"),
    RESULT(CUPTI_ERROR_MAX_LIMIT_REACHED, "max limit reached"),
    RESULT(CUPTI_ERROR_NOT_READY, "not ready"),
    RESULT(CUPTI_ERROR_NOT_COMPATIBLE, "not compatible"),
    RESULT(CUPTI_ERROR_NOT_INITIALIZED, "not initialized"),
    RESULT(CUPTI_ERROR_INVALID_METRIC_ID, "invalid metric identifier"),
    RESULT(CUPTI_ERROR_INVALID_METRIC_NAME, "invalid metric name"),
    RESULT(CUPTI_ERROR_QUEUE_EMPTY, "queue empty"),
    RESULT(CUPTI_ERROR_INVALID_HANDLE, "invalid handle"),
    RESULT(CUPTI_ERROR_INVALID_STREAM, "invalid stream"),
    RESULT(CUPTI_ERROR_INVALID_KIND, "invalid kind"),
    RESULT(CUPTI_ERROR_INVALID_EVENT_VALUE, "invalid event value"),
    RESULT(CUPTI_ERROR_DISABLED, "disabled"),
    RESULT(CUPTI_ERROR_INVALID_MODULE, "invalid module"),
    RESULT(CUPTI_ERROR_INVALID_METRIC_VALUE, "invalid metric value"),
    RESULT(CUPTI_ERROR_HARDWARE_BUSY, "hardware busy"),
    RESULT(CUPTI_ERROR_NOT_SUPPORTED, "not supported"),
    RESULT(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED, "Unified Memory profiling not supported"),
    RESULT(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE, "Unified Memory profiling not supported on device"),
    RESULT(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES,
           "Unified Memory profiling not supported on devices that are not peers"),
    RESULT(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS, "Unified Memory profiling not supported with MPS"),
    RESULT(CUPTI_ERROR_CDP_TRACING_NOT_SUPPORTED, "CDP tracing not supported"),
    RESULT(CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, "virtualized device not supported"),
    RESULT(CUPTI_ERROR_CUDA_COMPILER_NOT_COMPATIBLE, "CUDA compiler not compatible"),
    RESULT(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "insufficient privileges"),
    RESULT(CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED, "legacy profiler not supported"),
    RESULT(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "multiple subscribers not supported"),
    RESULT(CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, "virtualized device insufficient privileges"),
    RESULT(CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, "confidential computing not supported"),
    RESULT(CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, "CMP device not supported"),
    RESULT(CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, "MIG device not supported"),
    RESULT(CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED, "SLI device not supported"),
    RESULT(CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, "WSL device not supported"),
    RESULT(CUPTI_ERROR_INVALID_CHIP_NAME, "invalid chip name"),
    RESULT(CUPTI_ERROR_UNKNOWN, "unknown"),
};

static CUptiResult find(CUptiResult result, unsigned *at)
{
    for (*at = 0; *at < sizeof results / sizeof *results; ++*at)
        if (results[*at].result == result) return CUPTI_SUCCESS;
    return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **str)
{
    unsigned at;
    if (!str || find(result, &at)) return CUPTI_ERROR_INVALID_PARAMETER;
    *str = results[at].name;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **str)
{
    unsigned at;
    if (!str) return CUPTI_ERROR_INVALID_PARAMETER;
    *str = find(result, &at) ? "undefined result" : results[at].message; /* no error (observed with an H200) */
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
    if (!version) return CUPTI_ERROR_INVALID_PARAMETER;
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}
