/* Parameters of nodes: what they point to is copied, since the caller's memory
 * is its own again when the call returns. */
#include "graph/graph.h"
#include "module/image.h"
#include "module/module.h"

#include <stdlib.h>
#include <string.h>

static struct owned *owned_new(size_t size, size_t pointers)
{
    struct owned *o = calloc(1, sizeof *o + size);
    if (o) *o = (struct owned){ .size = size, .pointers = pointers };
    return o;
}

/* A list for cuLaunchKernel, and behind it the size in it. */
static void write_extra(void **list, void *values, size_t size)
{
    list[5] = (void *)size;
    list[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
    list[1] = values;
    list[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
    list[3] = &list[5];
    list[4] = CU_LAUNCH_PARAM_END;
}

/* The pointers to the parameters, then the parameters. */
static CUresult copy_for(const struct function *f, const struct context *c, const CUDA_KERNEL_NODE_PARAMS_v3 *from,
                         CUDA_KERNEL_NODE_PARAMS_v3 *to, struct owned **owned)
{
    const CUfunction handle = from->func ? from->func : (CUfunction)from->kern; /* if both are given, the function */
    CUresult r = CUDA_SUCCESS;
    if (!from->gridDimX || !from->gridDimY || !from->gridDimZ || !from->blockDimX || !from->blockDimY ||
        !from->blockDimZ)
        return CUDA_ERROR_INVALID_VALUE;
    /* or what `extra` consists of: a list of five, and the size that it points to */
    const size_t pointers = f->kernel->nparams < 6 ? 6 : f->kernel->nparams, list = pointers * sizeof(void *);
    if (!(*owned = owned_new(list + f->kernel->param_size, pointers))) return CUDA_ERROR_OUT_OF_MEMORY;
    char *values = (*owned)->bytes + list;
    /* observed on H200: of a kernel without parameters nothing is looked at */
    if (f->kernel->nparams && (r = function_gather(f, from->kernelParams, from->extra, values))) {
        free(*owned);
        return r == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES ? CUDA_ERROR_INVALID_VALUE : r; /* nothing is launched yet */
    }
    const struct fl_image_param *param = image_params(f->module->image, f->kernel);
    *to = *from;
    to->func = (CUfunction)f;
    to->kern = handle != to->func ? (CUkernel)handle : NULL;
    /* a function's own context, or another name for it */
    to->ctx = from->ctx && c == f->module->context ? from->ctx : (CUcontext)f->module->context;
    to->kernelParams = to->extra = NULL;
    if (f->kernel->nparams && !from->kernelParams) {
        to->extra = (void **)(*owned)->bytes;
        write_extra(to->extra, values, f->kernel->param_size);
    } else if (f->kernel->nparams) {
        to->kernelParams = (void **)(*owned)->bytes;
        for (uint32_t i = 0; i < f->kernel->nparams; i++) to->kernelParams[i] = values + param[i].offset;
    }
    return r;
}

static CUresult copy_kernel(const CUDA_KERNEL_NODE_PARAMS_v3 *from, CUDA_KERNEL_NODE_PARAMS_v3 *to,
                            struct owned **owned)
{
    struct context *c = (struct context *)from->ctx;
    struct function *f;
    CUresult r = c ? context_check(from->ctx, &c) : context_current(&c);
    if (r) return r;
    r = function_get(c, from->func ? from->func : (CUfunction)from->kern, &f);
    return r ? r : function_end(f, copy_for(f, c, from, to, owned));
}

static CUresult check_memset(const CUDA_MEMSET_NODE_PARAMS_v2 *p)
{
    bool unit = p->elementSize == 1 || p->elementSize == 2 || p->elementSize == 4;
    if (!unit || !p->dst || !p->width || !p->height || p->dst % p->elementSize) return CUDA_ERROR_INVALID_VALUE;
    return p->height > 1 && (p->pitch < p->width * p->elementSize || p->pitch % p->elementSize)
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

static CUresult check_copy(const CUDA_MEMCPY3D *p)
{
    bool types = p->srcMemoryType >= CU_MEMORYTYPE_HOST && p->srcMemoryType <= CU_MEMORYTYPE_UNIFIED &&
                 p->dstMemoryType >= CU_MEMORYTYPE_HOST && p->dstMemoryType <= CU_MEMORYTYPE_UNIFIED;
    return types ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult copy_operations(const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *from, CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *to,
                                struct owned **owned)
{
    if (from->count > 255 || (from->count && !from->paramArray) || from->flags) return CUDA_ERROR_INVALID_VALUE;
    const size_t size = from->count * sizeof *from->paramArray;
    if (!(*owned = owned_new(size, 0))) return CUDA_ERROR_OUT_OF_MEMORY;
    if (size) memcpy((*owned)->bytes, from->paramArray, size);
    *to = *from;
    to->paramArray = (CUstreamBatchMemOpParams *)(*owned)->bytes;
    return CUDA_SUCCESS;
}

static CUresult check_event(CUevent handle)
{
    struct event *e;
    return event_get(handle, &e) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult params_copy(const CUgraphNodeParams *from, CUgraphNodeParams *to, struct owned **owned)
{
    *to = *from;
    *owned = NULL;
    switch (from->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return copy_kernel(&from->kernel, &to->kernel, owned);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return check_copy(&from->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET: return check_memset(&from->memset);
    case CU_GRAPH_NODE_TYPE_HOST: return from->host.fn ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return from->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_GRAPH_NODE_TYPE_EMPTY: return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return check_event(from->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return check_event(from->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return copy_operations(&from->memOp, &to->memOp, owned);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static void move(const struct owned *from, struct owned *to)
{
    memcpy(to->bytes, from->bytes, from->size);
    for (size_t k = 0; k < from->pointers; k++) {
        const uintptr_t distance = (uintptr_t)((void **)from->bytes)[k] - (uintptr_t)from->bytes;
        if (distance < from->size) ((void **)to->bytes)[k] = to->bytes + distance;
    }
}

void params_free(struct owned *owned)
{
    while (owned) {
        struct owned *earlier = owned->earlier;
        free(owned);
        owned = earlier;
    }
}

static void point_into(CUgraphNodeParams *p, struct owned *owned)
{
    if (p->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        p->memOp.paramArray = (CUstreamBatchMemOpParams *)owned->bytes;
    else if (p->kernel.kernelParams)
        p->kernel.kernelParams = (void **)owned->bytes;
    else if (p->kernel.extra)
        p->kernel.extra = (void **)owned->bytes;
}

CUresult params_duplicate(CUgraphNodeParams *p, const struct owned *old, struct owned **owned)
{
    *owned = NULL;
    if (!old) return CUDA_SUCCESS;
    if (!(*owned = owned_new(old->size, old->pointers))) return CUDA_ERROR_OUT_OF_MEMORY;
    move(old, *owned);
    point_into(p, *owned);
    return CUDA_SUCCESS;
}

/* As long as there is room, what a node has told of its parameters stays where it is: programs change it there, and set the
 * node and then its executable graph by it (observed on H200). */
struct owned *params_settle(CUgraphNodeParams *p, struct owned *owned, struct owned *old)
{
    if (!owned) return old;
    if (!old || old->size < owned->size) {
        owned->earlier = old;
        return owned;
    }
    move(owned, old);
    old->pointers = owned->pointers;
    point_into(p, old);
    free(owned);
    return old;
}
