/* NVML: what is said of the library, the driver and processes. */
#include "base/driver_version.h"
#include "nvml/devices.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DRIVER "580.159" /* whose answers Faultline gives */

const char *nvmlErrorString(nvmlReturn_t result)
{
    switch ((int)result) {
    case NVML_SUCCESS: return "Success";
    case NVML_ERROR_UNINITIALIZED: return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
    case NVML_ERROR_NO_PERMISSION: return "Insufficient Permissions";
    case NVML_ERROR_ALREADY_INITIALIZED: return "Already Initialized";
    case NVML_ERROR_NOT_FOUND: return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE: return "Insufficient Size";
    case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case NVML_ERROR_FUNCTION_NOT_FOUND: return "Function Not Found";
    case NVML_ERROR_MEMORY: return "Insufficient Memory";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH: return "Argument Version Mismatch";
    default: return "Unknown Error";
    }
}

static nvmlReturn_t tell(const char *text, char *out, unsigned int length)
{
    if (!devices_known()) return NVML_ERROR_UNINITIALIZED;
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    if (strlen(text) >= length) return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(out, text);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length) { return tell(DRIVER, version, length); }

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
    return tell("13." DRIVER, version, length);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    if (!version) return NVML_ERROR_INVALID_ARGUMENT;
    *version = driver_version();
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
    char link[64], path[4096];
    if (!devices_known()) return NVML_ERROR_UNINITIALIZED;
    if (!name || !length) return NVML_ERROR_INVALID_ARGUMENT;
    snprintf(link, sizeof link, "/proc/%u/exe", pid);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return NVML_ERROR_NOT_FOUND;
    path[n] = 0;
    snprintf(name, length, "%s", path); /* cut off where it is longer */
    return NVML_SUCCESS;
}

/* Confidential computing: there is none. */
nvmlReturn_t nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t *state)
{
    if (!devices_known()) return NVML_ERROR_UNINITIALIZED;
    if (!state) return NVML_ERROR_INVALID_ARGUMENT;
    *state = (nvmlConfComputeSystemState_t){ 0 };
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetConfComputeSettings(nvmlSystemConfComputeSettings_t *settings)
{
    if (!devices_known()) return NVML_ERROR_UNINITIALIZED;
    if (!settings) return NVML_ERROR_INVALID_ARGUMENT;
    if (settings->version != NVML_STRUCT_VERSION(nvmlSystemConfComputeSettings_t, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    *settings = (nvmlSystemConfComputeSettings_t){ .version = settings->version };
    return NVML_SUCCESS;
}
