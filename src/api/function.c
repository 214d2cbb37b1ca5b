/* Functions: attributes, parameters, occupancy. */
#include "api/library.h"
#include "module/handles.h"
#include "module/image.h"

/* SETTINGS: it cannot be set. */
static enum function_setting setting_of(CUfunction_attribute attribute)
{
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: return SETTING_SHARED;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return SETTING_CARVEOUT;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: return SETTING_WIDTH;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: return SETTING_HEIGHT;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: return SETTING_DEPTH;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: return SETTING_NON_PORTABLE;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: return SETTING_POLICY;
    default: return SETTINGS;
    }
}

/* What its code says, which nobody sets. */
static CUresult compiled_attribute(const struct fl_image *image, const struct fl_image_kernel *k, const struct device *d,
                                   CUfunction_attribute attribute, int *value)
{
    const struct profile *p = d->profile;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = profile_attribute(p, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
        if (k->max_threads && k->max_threads < (unsigned)*value) *value = (int)k->max_threads;
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)k->static_shared; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = (int)k->const_size; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)k->local_reported; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = (int)k->registers; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = (int)image->target; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = 10 * profile_attribute(p, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                 profile_attribute(p, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *value = (k->flags & FL_KERNEL_EXPLICIT_CLUSTER) != 0; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult function_attribute(const struct function *f, CUfunction_attribute attribute, int *value)
{
    const enum function_setting which = setting_of(attribute);
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (which == SETTINGS)
        return compiled_attribute(f->module->image, f->kernel, f->module->context->device, attribute, value);
    *value = f->set[which];
    return CUDA_SUCCESS;
}

static const struct fl_image_kernel *code_of(const struct kernel_handle *k)
{
    return &image_kernels(k->library->file.data)[k->index];
}

CUresult kernel_attribute(const struct kernel_handle *k, const struct device *d, CUfunction_attribute attribute, int *value)
{
    const enum function_setting which = setting_of(attribute);
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (which == SETTINGS) return compiled_attribute(k->library->file.data, code_of(k), d, attribute, value);
    *value = kernel_setting(k, d, which);
    return CUDA_SUCCESS;
}

static bool may_be(const struct fl_image_kernel *k, const struct device *d, enum function_setting which, int value)
{
    switch (which) {
    case SETTING_SHARED:
        return value >= 0 &&
               value <= profile_attribute(d->profile, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) -
                            (int)k->static_shared;
    case SETTING_CARVEOUT: return value >= -1 && value <= 100;
    case SETTING_WIDTH:
    case SETTING_HEIGHT:
    case SETTING_DEPTH: /* where it was compiled for one shape, that one */
        if (value < 0 || (k->max_cluster && (uint32_t)value > k->max_cluster)) return false;
        return !k->cluster[0] || value == (int)k->cluster[which - SETTING_WIDTH];
    case SETTING_NON_PORTABLE: return true;
    case SETTING_POLICY:
        return value >= CU_CLUSTER_SCHEDULING_POLICY_DEFAULT && value <= CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
    case SETTING_CACHE: return value >= CU_FUNC_CACHE_PREFER_NONE && value <= CU_FUNC_CACHE_PREFER_EQUAL;
    default: return false;
    }
}

static CUresult set_function(struct function *f, enum function_setting which, int value)
{
    if (!may_be(f->kernel, f->module->context->device, which, value)) return CUDA_ERROR_INVALID_VALUE;
    function_set(f, which, value);
    return CUDA_SUCCESS;
}

static CUresult set_kernel(const struct kernel_handle *k, const struct device *d, enum function_setting which, int value)
{
    return may_be(code_of(k), d, which, value) ? kernel_set(k, d, which, value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult kernel_set_attribute(const struct kernel_handle *k, const struct device *d, CUfunction_attribute attribute, int value)
{
    return set_kernel(k, d, setting_of(attribute), value);
}

CUresult kernel_set_cache(const struct kernel_handle *k, const struct device *d, CUfunc_cache config)
{
    return set_kernel(k, d, SETTING_CACHE, (int)config);
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
    return r ? r : function_end(f, set_function(f, setting_of(attrib), value));
}

CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    struct function *f;
    CUresult r = function_named(hfunc, &f);
    return r ? r : function_end(f, set_function(f, SETTING_CACHE, (int)config));
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
    return r ? r : function_end(f, function_potential(f, size, dynamic_shared, blocks));
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
        r = blocks_that_fit(func, threads, shared, &blocks);
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
    /* observed on H200: what the driver takes is not subtracted from the share of each, and a carveout makes room for one */
    size_t each = (numBlocks > 1 ? all : most) / (size_t)numBlocks & ~(size_t)127, left = each < most ? each : most;
    left = left > f->kernel->static_shared ? left - f->kernel->static_shared : 0;
    const size_t permitted = (size_t)f->set[SETTING_SHARED];
    *dynamicSmemSize = left < permitted ? left : permitted;
    return function_end(f, CUDA_SUCCESS);
}
