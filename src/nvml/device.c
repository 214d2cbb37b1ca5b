/* NVML: which devices there are, and what each of them is. */
#include "nvml/devices.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- finding one */

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    const struct profile *p = devices_known();
    if (!p) return NVML_ERROR_UNINITIALIZED;
    if (!count) return NVML_ERROR_INVALID_ARGUMENT;
    *count = (unsigned int)p->installed;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int *count) { return nvmlDeviceGetCount_v2(count); }
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int k, nvmlDevice_t *out) { return devices_at(k, out); }
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int k, nvmlDevice_t *out) { return devices_at(k, out); }

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *out)
{
    unsigned int domain = 0, bus, slot, function = 0;
    const struct profile *p = devices_known();
    if (!p) return NVML_ERROR_UNINITIALIZED;
    if (!id || !out) return NVML_ERROR_INVALID_ARGUMENT;
    if (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
        domain = 0;
        if (sscanf(id, "%x:%x.%x", &bus, &slot, &function) < 2) return NVML_ERROR_INVALID_ARGUMENT;
    }
    unsigned int first = (unsigned int)profile_attribute(p, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
    if (domain != (unsigned int)profile_attribute(p, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID) || bus < first ||
        bus - first >= (unsigned int)p->installed || function ||
        slot != (unsigned int)profile_attribute(p, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID))
        return NVML_ERROR_NOT_FOUND;
    return devices_at(bus - first, out);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *id, nvmlDevice_t *out)
{
    return nvmlDeviceGetHandleByPciBusId_v2(id, out);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *out)
{
    const struct profile *p = devices_known();
    if (!p) return NVML_ERROR_UNINITIALIZED;
    if (!uuid || !out) return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned int k = 0; k < (unsigned int)p->installed; k++) {
        char text[UUID_TEXT];
        device_uuid_text((int)k, text);
        if (!strcasecmp(text, uuid)) return devices_at(k, out);
    }
    return NVML_ERROR_NOT_FOUND;
}

/* ---- who it is */

static nvmlReturn_t tell(const char *text, char *out, unsigned int length)
{
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    if (strlen(text) >= length) return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(out, text);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
    const struct profile *p;
    nvmlReturn_t r = devices_check(device, &p);
    return r ? r : tell(p->name, name, length);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
    const struct profile *p;
    char text[UUID_TEXT];
    nvmlReturn_t r = devices_check(device, &p);
    if (r) return r;
    device_uuid_text((int)device->index, text);
    return tell(text, uuid, length);
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
    const struct profile *p;
    nvmlReturn_t r = devices_check(device, &p);
    if (r) return r;
    if (!index) return NVML_ERROR_INVALID_ARGUMENT;
    *index = device->index;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *number)
{
    return nvmlDeviceGetIndex(device, number);
}

static void bus_id(const struct profile *p, nvmlDevice_t device, const char *format, char *out, size_t size)
{
    snprintf(out, size, format, (unsigned int)profile_attribute(p, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
             devices_bus(p, device), (unsigned int)profile_attribute(p, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
}

/* Who made a chip that does not exist is not told: the ids are 0. */
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    const struct profile *p;
    nvmlReturn_t r = devices_check(device, &p);
    if (r) return r;
    if (!pci) return NVML_ERROR_INVALID_ARGUMENT;
    *pci = (nvmlPciInfo_t){
        .domain = (unsigned int)profile_attribute(p, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
        .bus = devices_bus(p, device),
        .device = (unsigned int)profile_attribute(p, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID),
    };
    bus_id(p, device, "%04X:%02X:%02X.0", pci->busIdLegacy, sizeof pci->busIdLegacy);
    bus_id(p, device, "%08X:%02X:%02X.0", pci->busId, sizeof pci->busId);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_v1_t *pci)
{
    enum { DISPLAY_CONTROLLER = 3, THREE_D = 2 };
    nvmlPciInfo_t short_form;
    nvmlReturn_t r = nvmlDeviceGetPciInfo_v3(device, &short_form);
    if (r) return r;
    if (!pci) return NVML_ERROR_INVALID_ARGUMENT;
    if (pci->version != NVML_STRUCT_VERSION(nvmlPciInfoExt_v1_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    *pci = (nvmlPciInfoExt_v1_t){ .version = pci->version,
                                  .domain = short_form.domain,
                                  .bus = short_form.bus,
                                  .device = short_form.device,
                                  .baseClass = DISPLAY_CONTROLLER,
                                  .subClass = THREE_D };
    memcpy(pci->busId, short_form.busId, sizeof pci->busId);
    return NVML_SUCCESS;
}

/* ---- what it can */

/* The attribute's value, divided. */
static nvmlReturn_t attribute(nvmlDevice_t device, CUdevice_attribute a, int divisor, int *out)
{
    const struct profile *p;
    nvmlReturn_t r = devices_check(device, &p);
    if (r) return r;
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    *out = profile_attribute(p, a) / divisor;
    return NVML_SUCCESS;
}

/* Both, or none. */
static nvmlReturn_t attributes(nvmlDevice_t device, CUdevice_attribute a, CUdevice_attribute b, int *of_a, int *of_b)
{
    int value;
    nvmlReturn_t r = attribute(device, a, 1, of_b ? &value : NULL);
    if (!r) r = attribute(device, b, 1, of_a ? of_b : NULL);
    if (!r) *of_a = value;
    return r;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
    return attributes(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                      CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, major, minor);
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, unsigned int *architecture)
{
    enum { VOLTA = 5, TURING = 6, AMPERE = 7, ADA = 8, HOPPER = 9, BLACKWELL = 10 };
    int major, minor;
    nvmlReturn_t r = nvmlDeviceGetCudaComputeCapability(device, &major, &minor);
    if (r) return r;
    if (!architecture) return NVML_ERROR_INVALID_ARGUMENT;
    *architecture = major > 9    ? BLACKWELL
                    : major == 9 ? HOPPER
                    : major == 8 ? minor == 9 ? ADA : AMPERE
                    : minor >= 5 ? TURING
                                 : VOLTA;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, int *mode)
{
    return attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 1, mode);
}

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, int *mode)
{
    nvmlReturn_t r = attribute(device, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1, mode);
    if (!r) *mode = 1;
    return r;
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, int *current, int *pending)
{
    return attributes(device, CU_DEVICE_ATTRIBUTE_ECC_ENABLED, CU_DEVICE_ATTRIBUTE_ECC_ENABLED, current, pending);
}

/* Devices are not divided. */
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
    const struct profile *p;
    nvmlReturn_t r = devices_check(device, &p);
    if (r) return r;
    if (!current || !pending) return NVML_ERROR_INVALID_ARGUMENT;
    *current = *pending = 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *is)
{
    return nvmlDeviceGetMigMode(device, is, is);
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *megahertz)
{
    enum { KILOHERTZ = 1000 };
    if ((unsigned int)type >= NVML_CLOCK_VIDEO) {
        const struct profile *p;
        nvmlReturn_t r = devices_check(device, &p);
        return r ? r : type == NVML_CLOCK_VIDEO ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
    }
    return attribute(device,
                     type == NVML_CLOCK_MEM ? CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE : CU_DEVICE_ATTRIBUTE_CLOCK_RATE,
                     KILOHERTZ, (int *)megahertz);
}

nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned int *bits)
{
    return attribute(device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 1, (int *)bits);
}

/* Every processor is near every device. */
nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int words, unsigned long *mask)
{
    enum { BITS = CHAR_BIT * sizeof *mask };
    const struct profile *p;
    nvmlReturn_t r = devices_check(device, &p);
    if (r) return r;
    if (!words || !mask) return NVML_ERROR_INVALID_ARGUMENT;
    memset(mask, 0, words * sizeof *mask);
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    for (long k = 0; k < processors && k < (long)words * BITS; k++) mask[k / BITS] |= 1ul << (k % BITS);
    return NVML_SUCCESS;
}

/* ---- what is not measured */

/* The call itself succeeds; each value says whether it is there. */
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
    const struct profile *p;
    nvmlReturn_t r = devices_check(device, &p);
    if (r) return r;
    if (count <= 0 || !values) return NVML_ERROR_INVALID_ARGUMENT;
    for (int k = 0; k < count; k++) values[k].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    return NVML_SUCCESS;
}

#define NOT_MEASURED(name) \
    nvmlReturn_t name(nvmlDevice_t device) \
    { \
        const struct profile *p; \
        nvmlReturn_t r = devices_check(device, &p); \
        return r ? r : NVML_ERROR_NOT_SUPPORTED; \
    }
NVML_NOT_MEASURED(NOT_MEASURED)
