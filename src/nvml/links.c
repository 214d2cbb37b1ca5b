/* NVML: how devices are connected. A machine with multicast objects has an NVSwitch
 * with all NVLinks of all devices; others have none, and peers reach each other as
 * the profile says. */
#include "nvml/devices.h"

#include <stdbool.h>
#include <stddef.h>

static bool switched(const struct profile *p) { return profile_attribute(p, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED); }

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b, nvmlGpuP2PCapsIndex_t of,
                                    nvmlGpuP2PStatus_t *status)
{
    const struct profile *p;
    nvmlReturn_t r = devices_check(a, &p);
    if (r || (r = devices_check(b, &p))) return r;
    if (!status || (unsigned int)of >= NVML_P2P_CAPS_INDEX_UNKNOWN) return NVML_ERROR_INVALID_ARGUMENT;
    bool access = p->p2p[CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED], can = access && a != b;
    if (of == NVML_P2P_CAPS_INDEX_ATOMICS) can &= p->p2p[CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED] != 0;
    if (of == NVML_P2P_CAPS_INDEX_NVLINK) can &= switched(p);
    if (of == NVML_P2P_CAPS_INDEX_PCI) can &= !switched(p);
    *status = can ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b, nvmlGpuTopologyLevel_t *level)
{
    const struct profile *p;
    nvmlReturn_t r = devices_check(a, &p);
    if (r || (r = devices_check(b, &p))) return r;
    if (!level) return NVML_ERROR_INVALID_ARGUMENT;
    *level = a == b ? NVML_TOPOLOGY_INTERNAL : NVML_TOPOLOGY_NODE;
    return NVML_SUCCESS;
}

static nvmlReturn_t check_link(nvmlDevice_t device, unsigned int link, const void *out)
{
    const struct profile *p;
    nvmlReturn_t r = devices_check(device, &p);
    if (r) return r;
    if (link >= NVML_LINKS || !out) return NVML_ERROR_INVALID_ARGUMENT;
    return switched(p) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, int *active)
{
    nvmlReturn_t r = check_link(device, link, active);
    if (!r) *active = 1;
    return r;
}

nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned int link, nvmlNvLinkCapability_t of,
                                           unsigned int *has)
{
    nvmlReturn_t r = check_link(device, link, has);
    if (r) return r;
    if ((unsigned int)of >= NVML_NVLINK_CAP_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
    *has = of != NVML_NVLINK_CAP_SLI_BRIDGE;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link,
                                                 nvmlIntNvLinkDeviceType_t *type)
{
    nvmlReturn_t r = check_link(device, link, type);
    if (!r) *type = NVML_NVLINK_DEVICE_TYPE_SWITCH;
    return r;
}

/* The switch has no address. */
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci)
{
    nvmlReturn_t r = check_link(device, link, pci);
    return r ? r : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci)
{
    return nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, pci);
}

/* The host's side: PCI Express 5.0 with 16 lanes, as an H200 has. */
static nvmlReturn_t tell(nvmlDevice_t device, unsigned int number, unsigned int *out)
{
    const struct profile *p;
    nvmlReturn_t r = devices_check(device, &p);
    if (r) return r;
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    *out = number;
    return NVML_SUCCESS;
}

enum { GENERATION = 5, LANES = 16, MBPS = 32000, SPEED_OF_32000_MBPS = 5 };
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t d, unsigned int *out) { return tell(d, GENERATION, out); }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t d, unsigned int *out) { return tell(d, GENERATION, out); }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t d, unsigned int *out) { return tell(d, LANES, out); }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t d, unsigned int *out) { return tell(d, LANES, out); }
nvmlReturn_t nvmlDeviceGetPcieLinkMaxSpeed(nvmlDevice_t d, unsigned int *out)
{
    return tell(d, SPEED_OF_32000_MBPS, out);
}
nvmlReturn_t nvmlDeviceGetPcieSpeed(nvmlDevice_t d, unsigned int *out) { return tell(d, MBPS, out); }

/* Fabric handles work between processes of one machine: a fabric of its own, without a cluster. */
static unsigned char fabric_state(const struct profile *p)
{
    return profile_attribute(p, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED) ? NVML_GPU_FABRIC_STATE_COMPLETED
                                                                                  : NVML_GPU_FABRIC_STATE_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info)
{
    const struct profile *p;
    nvmlReturn_t r = devices_check(device, &p);
    if (r) return r;
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    *info = (nvmlGpuFabricInfo_t){ .status = NVML_SUCCESS, .state = fabric_state(p) };
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
    const struct profile *p;
    nvmlReturn_t r = devices_check(device, &p);
    if (r) return r;
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    if (info->version != NVML_GPU_FABRIC_INFO_V2 && info->version != NVML_GPU_FABRIC_INFO_V3)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    for (int k = 0; k < NVML_UUID_BYTES; k++) info->clusterUuid[k] = 0;
    info->status = NVML_SUCCESS;
    info->cliqueId = 0;
    info->state = fabric_state(p);
    info->healthMask = 0;
    if (info->version == NVML_GPU_FABRIC_INFO_V3) info->healthSummary = 0;
    return NVML_SUCCESS;
}
