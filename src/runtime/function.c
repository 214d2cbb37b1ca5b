/* Kernels: what is known of them, what can be set, and their driver's handles. */
#include "runtime/runtime.h"

#include <string.h>

/* kernel: whose settings f has, those of the current device; or NULL. */
static CUresult fill_in(struct cudaFuncAttributes *attr, CUfunction f, CUkernel kernel)
{
    CUdevice device;
    int shared = 0, constant = 0, local = 0;
    const struct {
        CUfunction_attribute which;
        int *value;
    } all[] = {
        { CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared },
        { CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &constant },
        { CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local },
        { CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &attr->maxThreadsPerBlock },
        { CU_FUNC_ATTRIBUTE_NUM_REGS, &attr->numRegs },
        { CU_FUNC_ATTRIBUTE_PTX_VERSION, &attr->ptxVersion },
        { CU_FUNC_ATTRIBUTE_BINARY_VERSION, &attr->binaryVersion },
        { CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, &attr->cacheModeCA },
        { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &attr->maxDynamicSharedSizeBytes },
        { CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &attr->preferredShmemCarveout },
        { CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &attr->clusterDimMustBeSet },
        { CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &attr->requiredClusterWidth },
        { CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &attr->requiredClusterHeight },
        { CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &attr->requiredClusterDepth },
        { CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, &attr->clusterSchedulingPolicyPreference },
        { CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, &attr->nonPortableClusterSizeAllowed },
    };
    CUresult r = cuCtxGetDevice(&device);
    for (size_t k = 0; k < sizeof all / sizeof *all && !r; k++)
        r = kernel ? cuKernelGetAttribute(all[k].value, all[k].which, kernel, device)
                   : cuFuncGetAttribute(all[k].value, all[k].which, f);
    attr->sharedSizeBytes = (size_t)shared;
    attr->constSizeBytes = (size_t)constant;
    attr->localSizeBytes = (size_t)local;
    return r;
}

cudaError_t CUDARTAPI cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
    struct cudaFuncAttributes all;
    CUfunction f;
    CUkernel kernel;
    if (!attr) return cudaErrorInvalidValue;
    cudaError_t r = runtime_function(func, &f);
    if (!r) r = runtime_error(fill_in(&all, f, runtime_kernel(func, &kernel) ? NULL : kernel));
    if (!r) memcpy(attr, &all, offsetof(struct cudaFuncAttributes, reserved));
    return r;
}

cudaError_t CUDARTAPI cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
    CUfunction f;
    CUkernel kernel;
    CUdevice device;
    cudaError_t r = runtime_function(func, &f);
    if (r) return r;
    if (runtime_kernel(func, &kernel)) return runtime_error(cuFuncSetAttribute(f, (CUfunction_attribute)attr, value));
    if ((r = runtime_error(cuCtxGetDevice(&device)))) return r;
    return runtime_error(cuKernelSetAttribute((CUfunction_attribute)attr, value, kernel, device));
}

cudaError_t CUDARTAPI cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache cacheConfig)
{
    CUfunction f;
    cudaError_t r = runtime_function(func, &f);
    return r ? r : runtime_error(cuFuncSetCacheConfig(f, (CUfunc_cache)cacheConfig));
}

cudaError_t CUDARTAPI cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config)
{
    CUfunction f;
    cudaError_t r = runtime_function(func, &f);
    return r ? r : runtime_error(cuFuncSetSharedMemConfig(f, (CUsharedconfig)config));
}

cudaError_t CUDARTAPI cudaFuncGetName(const char **name, const void *func)
{
    CUkernel kernel;
    if (!name) return cudaErrorInvalidValue;
    cudaError_t r = runtime_kernel(func, &kernel);
    return r ? r : runtime_error(cuKernelGetName(name, kernel));
}

cudaError_t CUDARTAPI cudaFuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    CUkernel kernel;
    cudaError_t r = runtime_ready();
    if (r || (r = runtime_kernel(func, &kernel))) return r;
    return runtime_error(cuKernelGetParamInfo(kernel, paramIndex, paramOffset, paramSize));
}

/* ---- For the driver API ---- */

cudaError_t CUDARTAPI cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
    CUkernel kernel;
    CUfunction function;
    cudaError_t r = runtime_ready();
    if (!r) r = runtime_registered_kernel(symbolPtr, &kernel);
    if (!r) r = runtime_error(cuKernelGetFunction(&function, kernel));
    if (!r && functionPtr) *functionPtr = function;
    return r;
}

cudaError_t CUDARTAPI cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
    return kernelPtr ? runtime_registered_kernel(entryFuncAddr, kernelPtr) : cudaErrorInvalidValue;
}

cudaError_t CUDARTAPI cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr, int value,
                                                      int device)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuKernelSetAttribute((CUfunction_attribute)attr, value, kernel, device));
}
