/* Limits of a context: each is rounded and bounded in its own way (observed on H200). */
#include "context/context.h"
#include "graph/capture.h"
#include "processor/processor.h"

static size_t round_up(size_t v, size_t unit) { return (v + unit - 1) / unit * unit; }
static size_t between(size_t v, size_t least, size_t most) { return v < least ? least : v > most ? most : v; }

static CUresult set_limit(struct context *c, CUlimit limit, size_t v)
{
    const size_t l2 = (size_t)profile_attribute(c->device->profile, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE),
                 step = l2 / 10 ? l2 / 10 : 1;
    enum { MOST_STACK = (512 << 10) - 576 };
    switch (limit) {
    case CU_LIMIT_STACK_SIZE:
        if (v > MOST_STACK) return CUDA_ERROR_INVALID_VALUE;
        /* what the stacks there are have room for is kept as it was said (observed on H200) */
        c->limits[limit] = round_up(v, 16) == round_up(c->limits[limit], 16) ? v : round_up(v, 16);
        return CUDA_SUCCESS;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
        if (c->printf_used) return CUDA_ERROR_INVALID_VALUE;
        c->limits[limit] = round_up(between(v, 512 << 10, 2ul << 30), 256);
        processor_set_printf_size(c->device->processor, c->limits[limit]);
        return CUDA_SUCCESS;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
        if (c->heap_used) return CUDA_ERROR_INVALID_VALUE;
        c->limits[limit] = between(v, 4 << 20, c->device->vram.capacity / 8);
        if (c->limits[limit] == v) c->limits[limit] = round_up(v, 64 << 10);
        return CUDA_SUCCESS;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT: c->limits[limit] = between(v, 32, 599186); return CUDA_SUCCESS;
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
        if (v > 128) return CUDA_ERROR_INVALID_VALUE;
        c->limits[limit] = v;
        return CUDA_SUCCESS;
    case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
        if (v > l2) return CUDA_ERROR_INVALID_VALUE;
        c->limits[limit] = (v + step - 1) / step * step;
        return CUDA_SUCCESS;
    case CU_LIMIT_SHMEM_SIZE:
    case CU_LIMIT_CIG_ENABLED: return CUDA_ERROR_NOT_PERMITTED;
    default: return CUDA_ERROR_UNSUPPORTED_LIMIT;
    }
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r || (r = capture_refuse_unsafe())) return r;
    return (int)limit < 0 || limit >= CU_LIMIT_MAX ? CUDA_ERROR_INVALID_VALUE : set_limit(c, limit, value);
}

CUresult CUDAAPI cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pvalue || (int)limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_INVALID_VALUE;
    if (limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH || limit == CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *pvalue = c->limits[limit];
    return CUDA_SUCCESS;
}
