/* NVML: a device's memory and who uses it. Each process has devices of its own, so
 * that is the asking process alone, once it has called cuInit. */
#include "nvml/devices.h"

#include <stddef.h>
#include <unistd.h>

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    const struct profile *p;
    uint64_t total, used;
    nvmlReturn_t r = devices_check(device, &p);
    if (r) return r;
    if (!memory) return NVML_ERROR_INVALID_ARGUMENT;
    devices_memory(device, &total, &used);
    *memory = (nvmlMemory_t){ .total = total, .free = total - used, .used = used };
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    nvmlMemory_t m;
    nvmlReturn_t r = nvmlDeviceGetMemoryInfo(device, &m);
    if (r) return r;
    if (!memory) return NVML_ERROR_INVALID_ARGUMENT;
    if (memory->version != NVML_STRUCT_VERSION(nvmlMemory_v2_t, 2)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    *memory = (nvmlMemory_v2_t){ .version = memory->version, .total = m.total, .free = m.free, .used = m.used };
    return NVML_SUCCESS;
}

/* How many bytes this process uses, and whether there is room for it in a list of *count. */
static nvmlReturn_t list(nvmlDevice_t device, unsigned int *count, const void *entries, uint64_t *used)
{
    const struct profile *p;
    uint64_t total;
    nvmlReturn_t r = devices_check(device, &p);
    if (r) return r;
    if (!count || (*count && !entries)) return NVML_ERROR_INVALID_ARGUMENT;
    devices_memory(device, &total, used);
    unsigned int room = *count;
    *count = *used ? 1 : 0;
    return *count > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v1_t *out)
{
    uint64_t used;
    nvmlReturn_t r = list(device, count, out, &used);
    if (!r && *count) *out = (nvmlProcessInfo_v1_t){ (unsigned int)getpid(), used };
    return r;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *out)
{
    uint64_t used;
    nvmlReturn_t r = list(device, count, out, &used);
    if (!r && *count) *out = (nvmlProcessInfo_t){ (unsigned int)getpid(), used, ~0u, ~0u };
    return r;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *out)
{
    return nvmlDeviceGetComputeRunningProcesses_v3(device, count, out);
}

/* Nobody draws. */
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *out)
{
    const struct profile *p;
    nvmlReturn_t r = devices_check(device, &p);
    if (r) return r;
    if (!count || (*count && !out)) return NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *out)
{
    return nvmlDeviceGetGraphicsRunningProcesses_v3(device, count, out);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v1_t *out)
{
    return nvmlDeviceGetGraphicsRunningProcesses_v3(device, count, (nvmlProcessInfo_t *)out);
}
