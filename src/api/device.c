/* Initialisation and device management. */
#include "api/array.h"
#include "context/context.h"

#include <stdio.h>
#include <string.h>

CUresult CUDAAPI cuInit(unsigned int Flags) { return library_init(Flags); }

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    CUresult r = library_ready();
    if (r) return r;
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    if (ordinal < 0 || ordinal >= device_count) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    CUresult r = library_ready();
    if (r) return r;
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = device_count;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice dev)
{
    struct device *d;
    CUresult r = device_get(dev, &d);
    if (r) return r;
    if (!name || len <= 0) return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)len, "%s", d->profile->name);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    struct device *d;
    CUresult r = device_get(dev, &d);
    if (r) return r;
    if (!uuid) return CUDA_ERROR_INVALID_VALUE;
    device_uuid(d->physical, (unsigned char *)uuid->bytes);
    return CUDA_SUCCESS;
}

/* A number of Windows'. */
CUresult CUDAAPI cuDeviceGetLuid(char *luid, unsigned int *deviceNodeMask, CUdevice dev)
{
    struct device *d;
    CUresult r = device_get(dev, &d);
    if (r) return r;
    return luid && deviceNodeMask ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    struct device *d;
    CUresult r = device_get(dev, &d);
    if (r) return r;
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    *bytes = d->vram.capacity;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    struct device *d;
    CUresult r = library_ready();
    if (r) return r;
    if (!pi || (int)attrib < 0 || (int)attrib >= PROFILE_ATTRIBUTES) return CUDA_ERROR_INVALID_VALUE;
    if ((r = device_get(dev, &d))) return r;
    if (!d->profile->has_attribute[attrib]) return CUDA_ERROR_INVALID_VALUE;
    *pi = attrib == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID ? d->profile->attribute[attrib] + d->physical
                                                   : d->profile->attribute[attrib];
    return CUDA_SUCCESS;
}

/* Of NV12 the plane with a byte for each pixel counts (observed on an H200). */
static size_t linear_pixel_bytes(CUarray_format format, unsigned channels)
{
    return format == CU_AD_FORMAT_NV12 && channels == 3 ? 1 : array_piece_bytes(format, channels);
}

CUresult CUDAAPI cuDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements, CUarray_format format,
                                                    unsigned numChannels, CUdevice dev)
{
    const size_t most = 1ul << 30, most_bytes = 1ul << 32, size = linear_pixel_bytes(format, numChannels);
    struct device *d;
    CUresult r = library_ready();
    if (r) return r;
    if (!maxWidthInElements || !size) return CUDA_ERROR_INVALID_VALUE;
    if ((r = device_get(dev, &d))) return r;
    *maxWidthInElements = most_bytes / size < most ? most_bytes / size : most;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    struct device *d;
    CUresult r = device_get(dev, &d);
    if (r) return r;
    if (!major || !minor) return CUDA_ERROR_INVALID_VALUE;
    *major = profile_attribute(d->profile, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    *minor = profile_attribute(d->profile, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
    struct device *d;
    CUresult r = device_get(dev, &d);
    if (r) return r;
    if (!prop) return CUDA_ERROR_INVALID_VALUE;
    const struct profile *p = d->profile;
    for (int k = 0; k < 3; k++) {
        prop->maxThreadsDim[k] = p->attribute[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + k];
        prop->maxGridSize[k] = p->attribute[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + k];
    }
    prop->maxThreadsPerBlock = p->attribute[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
    prop->sharedMemPerBlock = p->attribute[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK];
    prop->totalConstantMemory = p->attribute[CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY];
    prop->SIMDWidth = p->attribute[CU_DEVICE_ATTRIBUTE_WARP_SIZE];
    prop->memPitch = p->attribute[CU_DEVICE_ATTRIBUTE_MAX_PITCH];
    prop->regsPerBlock = p->attribute[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK];
    prop->clockRate = p->attribute[CU_DEVICE_ATTRIBUTE_CLOCK_RATE];
    prop->textureAlign = p->attribute[CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT];
    return CUDA_SUCCESS;
}

/* The identity is the simulation's own: domain 0, one bus a device. */
static int bus_of(const struct device *d)
{
    return d->profile->attribute[CU_DEVICE_ATTRIBUTE_PCI_BUS_ID] + d->physical;
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
    struct device *d;
    CUresult r = device_get(dev, &d);
    if (r) return r;
    if (!pciBusId || len <= 0) return CUDA_ERROR_INVALID_VALUE;
    snprintf(pciBusId, (size_t)len, "%04x:%02x:%02x.0", d->profile->attribute[CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID],
             bus_of(d), d->profile->attribute[CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID]);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
    unsigned domain = 0, bus, slot, function = 0;
    CUresult r = library_ready();
    if (r) return r;
    if (!dev || !pciBusId) return CUDA_ERROR_INVALID_VALUE;
    if (sscanf(pciBusId, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
        domain = 0;
        if (sscanf(pciBusId, "%x:%x.%x", &bus, &slot, &function) < 2) return CUDA_ERROR_INVALID_VALUE;
    }
    for (int k = 0; k < device_count; k++)
        if ((int)domain == devices[k].profile->attribute[CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID] &&
            (int)bus == bus_of(&devices[k]) &&
            (int)slot == devices[k].profile->attribute[CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID] && !function)
            return *dev = k, CUDA_SUCCESS;
    return CUDA_ERROR_INVALID_DEVICE;
}

/* Contexts always have all multiprocessors. */
CUresult CUDAAPI cuDeviceGetExecAffinitySupport(int *pi, CUexecAffinityType type, CUdevice dev)
{
    struct device *d;
    CUresult r = library_ready();
    (void)type; /* any: observed on H200 */
    if (r) return r;
    if (!pi) return CUDA_ERROR_INVALID_VALUE;
    if ((r = device_get(dev, &d))) return r;
    *pi = 0;
    return r;
}

/* Whoever writes to memory writes to what the device reads: there is nothing to flush. */
CUresult CUDAAPI cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                            CUflushGPUDirectRDMAWritesScope scope)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r) return r;
    if (target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
        (scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER && scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES))
        return CUDA_ERROR_INVALID_VALUE;
    int options = profile_attribute(c->device->profile, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS);
    return options & CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}
