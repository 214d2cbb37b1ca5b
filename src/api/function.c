/* Functions: attributes, parameters, occupancy. */
#include "api/library.h"
#include "module/handles.h"
#include "module/image.h"

CUresult function_attribute(const struct function *f, CUfunction_attribute attribute, int *value)
{
    const struct profile *p = f->module->context->device->profile;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = profile_attribute(p, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
        if (f->kernel->max_threads && f->kernel->max_threads < (unsigned)*value) *value = (int)f->kernel->max_threads;
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)f->kernel->static_shared; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = (int)f->kernel->const_size; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)f->kernel->local_reported; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = (int)f->kernel->registers; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = (int)f->module->image->target; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = 10 * profile_attribute(p, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                 profile_attribute(p, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = f->max_dynamic_shared; break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = f->carveout; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
        *value = (f->kernel->flags & FL_KERNEL_EXPLICIT_CLUSTER) != 0;
        break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: *value = f->cluster[0]; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: *value = f->cluster[1]; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: *value = f->cluster[2]; break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = f->nonportable_cluster; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = f->cluster_policy; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult function_set_attribute(struct function *f, CUfunction_attribute attribute, int value)
{
    const struct profile *p = f->module->context->device->profile;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || value > profile_attribute(p, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) -
                                     (int)f->kernel->static_shared)
            return CUDA_ERROR_INVALID_VALUE;
        f->max_dynamic_shared = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
        f->carveout = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        if (value < 0) return CUDA_ERROR_INVALID_VALUE;
        /* it was compiled for one shape */
        if (f->kernel->cluster[0] && value != f->cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH])
            return CUDA_ERROR_INVALID_VALUE;
        f->cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: f->nonportable_cluster = value; return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        if (value < CU_CLUSTER_SCHEDULING_POLICY_DEFAULT || value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING)
            return CUDA_ERROR_INVALID_VALUE;
        f->cluster_policy = value;
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult function_set_cache(struct function *f, CUfunc_cache config)
{
    if ((int)config < 0 || config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    f->cache = config;
    return CUDA_SUCCESS;
}

/* Until function_end. */
static CUresult named(CUfunction handle, struct function **f)
{
    struct context *c;
    /* a function has a context of its own, a kernel needs the thread's (observed on H200) */
    CUresult r = context_current(&c);
    if (r == CUDA_ERROR_INVALID_CONTEXT && handle_magic(handle) == FUNCTION_MAGIC) r = context_optional(&c);
    return r ? r : function_get(c, handle, f);
}

/* The same where a kernel is not taken for its function (observed on H200). */
static CUresult function_named(CUfunction handle, struct function **f)
{
    CUresult r = named(handle, f);
    return !r && handle_magic(handle) != FUNCTION_MAGIC ? function_end(*f, CUDA_ERROR_INVALID_HANDLE) : r;
}

CUresult CUDAAPI cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    struct function *f;
    CUresult r = function_named(hfunc, &f);
    return r ? r : function_end(f, function_attribute(f, attrib, pi));
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    struct function *f;
    CUresult r = function_named(hfunc, &f);
    /* a kernel's keeps its value (both observed on H200) */
    if (attrib == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) value = value != 0;
    return r ? r : function_end(f, function_set_attribute(f, attrib, value));
}

CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    struct function *f;
    CUresult r = function_named(hfunc, &f);
    return r ? r : function_end(f, function_set_cache(f, config));
}

CUresult CUDAAPI cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
    struct function *f;
    CUresult r = function_named(hfunc, &f);
    if (r) return r;
    const bool good = (int)config >= 0 && config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE;
    return function_end(f, good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    struct function *f;
    CUresult r = function_named(hfunc, &f);
    if (r) return r;
    if (hmod) *hmod = (CUmodule)f->module;
    return function_end(f, hmod ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuFuncGetName(const char **name, CUfunction hfunc)
{
    struct function *f;
    CUresult r = function_named(hfunc, &f);
    if (r) return r;
    if (name) *name = f->name;
    return function_end(f, name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    struct function *f;
    CUresult r = function_named(func, &f);
    if (r) return r;
    return function_end(f, image_param_info(f->module->image, f->kernel, paramIndex, paramOffset, paramSize));
}

/* Observed on H200: what was compiled from PTX always is. */
CUresult CUDAAPI cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
    struct function *f;
    CUresult r = function_named(function, &f);
    if (r) return r;
    if (state) *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return function_end(f, state ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuFuncLoad(CUfunction function)
{
    struct function *f;
    CUresult r = function_named(function, &f);
    return r ? r : function_end(f, function_prepare(f));
}

/* ---- occupancy: of functions, too, only in a context (observed on H200) */

/* Until function_end. */
static CUresult named_here(CUfunction handle, struct function **f)
{
    struct context *c;
    CUresult r = context_current(&c);
    return r ? r : function_get(c, handle, f);
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, CUfunction func, int blockSize,
                                                                      size_t dynamicSMemSize, unsigned int flags)
{
    struct function *f;
    CUresult r = named_here(func, &f);
    if (r) return r;
    const bool good = numBlocks && flags <= CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE;
    return function_end(f,
                        good ? function_occupancy(f, blockSize, dynamicSMemSize, numBlocks) : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func, int blockSize,
                                                             size_t dynamicSMemSize)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize, dynamicSMemSize, 0);
}

static CUresult blocks_that_fit(CUfunction func, int size, size_t dynamic_shared, int *blocks)
{
    struct function *f;
    CUresult r = named_here(func, &f);
    return r ? r : function_end(f, function_occupancy(f, size, dynamic_shared, blocks));
}

/* The largest block that fills a multiprocessor best. The program says of each how much memory it needs: whatever it does
 * there, it is not in the middle of a call for the function. */
CUresult CUDAAPI cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize, CUfunction func,
                                                           CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                           size_t dynamicSMemSize, int blockSizeLimit,
                                                           unsigned int flags)
{
    struct function *f;
    int most, best = 0;
    CUresult r = named_here(func, &f);
    if (r) return r;
    const int sms = profile_attribute(f->module->context->device->profile, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    if (!minGridSize || !blockSize || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE || blockSizeLimit < 0)
        return function_end(f, CUDA_ERROR_INVALID_VALUE);
    r = function_end(f, function_attribute(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &most));
    if (blockSizeLimit && blockSizeLimit < most) most = blockSizeLimit;
    for (int size = (most + 31) / 32 * 32; size > 0 && !r; size -= 32) {
        int blocks = 0, threads = size < most ? size : most;
        size_t shared = blockSizeToDynamicSMemSize ? blockSizeToDynamicSMemSize(threads) : dynamicSMemSize;
        r = (ssize_t)shared < 0 ? CUDA_SUCCESS : blocks_that_fit(func, threads, shared, &blocks);
        if (blocks * threads <= best) continue;
        best = blocks * threads;
        *blockSize = threads;
        *minGridSize = blocks * sms;
    }
    if (!best && !r) *blockSize = *minGridSize = 0;
    return r;
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                                  CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize,
                                                  int blockSizeLimit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func, blockSizeToDynamicSMemSize,
                                                     dynamicSMemSize, blockSizeLimit, 0);
}

CUresult CUDAAPI cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func, int numBlocks,
                                                         int blockSize)
{
    struct function *f;
    CUresult r = named_here(func, &f);
    if (r) return r;
    const struct profile *p = f->module->context->device->profile;
    const size_t all = function_shared(f, 0),
                 most = (size_t)profile_attribute(p, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    if (!dynamicSmemSize || numBlocks <= 0 || blockSize <= 0 ||
        blockSize > profile_attribute(p, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) ||
        numBlocks > profile_attribute(p, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR))
        return function_end(f, CUDA_ERROR_INVALID_VALUE);
    int fit;
    if ((r = function_occupancy(f, blockSize, 0, &fit))) return function_end(f, r);
    if (numBlocks > fit) return function_end(f, CUDA_ERROR_INVALID_VALUE);
    /* observed on H200: what the driver takes is not subtracted from the share of each */
    size_t each = all / (size_t)numBlocks & ~(size_t)127, left = each < most ? each : most;
    left = left > f->kernel->static_shared ? left - f->kernel->static_shared : 0;
    *dynamicSmemSize = left < (size_t)f->max_dynamic_shared ? left : (size_t)f->max_dynamic_shared;
    return function_end(f, CUDA_SUCCESS);
}
