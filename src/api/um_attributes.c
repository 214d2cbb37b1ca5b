/* Unified Memory: what was said of a range, in the manual's terms. Where that is
 * kept: uvm/attributes.h. */
#include "api/um.h"
#include "uvm/pageable.h"
#include "uvm/uvm.h"

/* The first interface knows devices and the host only, whatever its node. */
static int as_device(CUmemLocation l)
{
    return l.type == CU_MEM_LOCATION_TYPE_DEVICE    ? l.id
           : l.type == CU_MEM_LOCATION_TYPE_INVALID ? ATTRIBUTES_NOBODY
                                                    : CU_DEVICE_CPU;
}

/* Devices in their order, then the host; the rest says nobody. */
static void answer_accessed_by(uint32_t who, int *out, size_t count)
{
    size_t n = 0;
    for (int k = 0; k < device_count && n < count; k++)
        if (who >> k & 1) out[n++] = k;
    if (who & ATTRIBUTES_HOST && n < count) out[n++] = CU_DEVICE_CPU;
    while (n < count) out[n++] = ATTRIBUTES_NOBODY;
}

static bool answerable(const void *data, size_t size, CUmem_range_attribute attribute)
{
    if ((int)attribute < CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ||
        attribute > CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID)
        return false;
    bool list = attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
    return data && size && (list ? !(size % sizeof(int)) : size == sizeof(int));
}

static void answer(void *data, size_t size, CUmem_range_attribute attribute, const struct attributes *v)
{
    int *out = data;
    switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: *out = v->read_mostly; break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION: *out = as_device(v->preferred); break;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: answer_accessed_by(v->accessed_by, out, size / sizeof *out); break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION: *out = as_device(v->prefetched); break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE: *out = v->preferred.type; break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID: *out = v->preferred.id; break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE: *out = v->prefetched.type; break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID: *out = v->prefetched.id; break;
    default: break;
    }
}

CUresult CUDAAPI cuMemRangeGetAttributes(void **data, size_t *dataSizes, CUmem_range_attribute *attributes,
                                         size_t numAttributes, CUdeviceptr devPtr, size_t count)
{
    struct context *c;
    struct allocation a;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!data || !dataSizes || !attributes || !numAttributes) return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < numAttributes; k++)
        if (!answerable(data[k], dataSizes[k], attributes[k])) return CUDA_ERROR_INVALID_VALUE;
    if ((r = um_managed(&devPtr, &count, &a)) && !um_ordinary(devPtr, count)) return r;
    struct attributes v = r ? pageable_attributes(devPtr, count) : attributes_get(&a, devPtr, count);
    for (size_t k = 0; k < numAttributes; k++) answer(data[k], dataSizes[k], attributes[k], &v);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute,
                                        CUdeviceptr devPtr, size_t count)
{
    return cuMemRangeGetAttributes(&data, &dataSize, &attribute, 1, devPtr, count);
}
