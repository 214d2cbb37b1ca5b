/* Primary contexts, contexts and what can be asked and set of them. */
#include "context/context.h"
#include "context/green.h"
#include "graph/capture.h"
#include "mempool/mempool.h"
#include "stream/stream.h"

enum { SCHED = CU_CTX_SCHED_MASK, COREDUMP = CU_CTX_COREDUMP_ENABLE | CU_CTX_USER_COREDUMP_ENABLE };

static bool good_schedule(unsigned flags)
{
    unsigned s = flags & SCHED;
    return s == CU_CTX_SCHED_AUTO || s == CU_CTX_SCHED_SPIN || s == CU_CTX_SCHED_YIELD ||
           s == CU_CTX_SCHED_BLOCKING_SYNC;
}

/* ---- primary contexts */

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    struct device *d;
    struct context *c;
    CUresult r = library_ready();
    if (r) return r;
    if (!pctx) return CUDA_ERROR_INVALID_VALUE;
    if ((r = device_get(dev, &d)) || (r = primary_retain(d, &c))) return r;
    *pctx = (CUcontext)c;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    struct device *d;
    CUresult r = device_get(dev, &d);
    return r ? r : primary_release(d);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    struct device *d;
    CUresult r = device_get(dev, &d);
    if (!r) primary_reset(d);
    return r;
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    struct device *d;
    CUresult r = device_get(dev, &d);
    if (r) return r;
    if (!good_schedule(flags) || flags & ~(SCHED | CU_CTX_LMEM_RESIZE_TO_MAX | COREDUMP | CU_CTX_SYNC_MEMOPS))
        return CUDA_ERROR_INVALID_VALUE;
    d->primary_flags = flags;
    if (primary_active(d)) d->primary->flags = flags | CU_CTX_MAP_HOST;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    struct device *d;
    CUresult r = device_get(dev, &d);
    if (r) return r;
    if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
    *flags = d->primary_flags;
    *active = primary_active(d);
    return CUDA_SUCCESS;
}

/* ---- contexts */

static CUresult create(CUcontext *pctx, unsigned flags, CUdevice dev)
{
    struct device *d;
    struct context *c;
    CUresult r = device_get(dev, &d);
    if (r) return r;
    if (!pctx) return CUDA_ERROR_INVALID_VALUE;
    if (!good_schedule(flags) || flags & ~CU_CTX_FLAGS_MASK) return CUDA_ERROR_INVALID_VALUE;
    if ((r = sticky_get())) return r;
    /* a coredump asked for by the user counts as one (observed on H200) */
    if (flags & CU_CTX_USER_COREDUMP_ENABLE)
        flags = (flags & ~(unsigned)CU_CTX_USER_COREDUMP_ENABLE) | CU_CTX_COREDUMP_ENABLE;
    if ((r = context_create(d, flags, &c))) return r;
    if ((r = context_push(c))) {
        context_destroy((CUcontext)c);
        return r;
    }
    *pctx = (CUcontext)c;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev) { return create(pctx, flags, dev); }

CUresult CUDAAPI cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams, unsigned int flags,
                                CUdevice dev)
{
    struct device *d;
    CUresult r = device_get(dev, &d);
    if (r) return r;
    if (numParams <= 0) return create(pctx, flags, dev); /* fewer than none are none (observed on an H200) */
    return pctx && paramsArray ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags, CUdevice dev)
{
    struct device *d;
    CUresult r = device_get(dev, &d);
    if (r) return r;
    const CUctxCigParam *cig = ctxCreateParams ? ctxCreateParams->cigParams : NULL;
    if (cig)
        return cig->sharedData || ctxCreateParams->execAffinityParams ? CUDA_ERROR_NOT_SUPPORTED
                                                                      : CUDA_ERROR_INVALID_VALUE;
    if (ctxCreateParams && ctxCreateParams->numExecAffinityParams > 0)
        return pctx && ctxCreateParams->execAffinityParams ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
                                                           : CUDA_ERROR_INVALID_VALUE;
    return create(pctx, flags, dev);
}

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext ctx)
{
    CUresult r = library_ready();
    if (r) return r;
    return ctx ? context_destroy(ctx) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuCtxAttach(CUcontext *pctx, unsigned int flags)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pctx || flags) return CUDA_ERROR_INVALID_VALUE;
    atomic_fetch_add(&c->attached, 1);
    *pctx = (CUcontext)c;
    return CUDA_SUCCESS;
}

/* The last one ends the context, unless it is a primary one (observed on H200). */
CUresult CUDAAPI cuCtxDetach(CUcontext ctx)
{
    struct context *c;
    struct context *current;
    CUresult r = library_ready();
    if (r) return r;
    r = context_check(ctx, &c);
    if (r) return r == CUDA_ERROR_CONTEXT_IS_DESTROYED ? CUDA_ERROR_INVALID_CONTEXT : r;
    if ((r = context_current_unchecked(&current))) return r;
    if (current != c) return CUDA_ERROR_INVALID_CONTEXT;
    if (atomic_fetch_sub(&c->attached, 1) > 0) return CUDA_SUCCESS;
    return c->primary ? CUDA_SUCCESS : context_destroy(ctx);
}

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext ctx)
{
    struct context *c;
    CUresult r = library_ready();
    if (r) return r;
    if (!ctx) return CUDA_ERROR_INVALID_VALUE;
    r = context_check_named(ctx, &c);
    return r && r != CUDA_ERROR_CONTEXT_IS_DESTROYED ? r : context_push(c);
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *pctx)
{
    struct context *c;
    CUresult r = library_ready();
    if (r || (r = context_pop(&c))) return r;
    if (pctx) *pctx = (CUcontext)c;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext ctx)
{
    struct context *c = NULL;
    CUresult r = library_ready();
    if (r) return r;
    if (ctx && (r = context_check_named(ctx, &c)) && r != CUDA_ERROR_CONTEXT_IS_DESTROYED) return r;
    context_set(c);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *pctx)
{
    CUresult r = library_ready();
    if (r) return r;
    if (!pctx) return CUDA_ERROR_INVALID_VALUE;
    *pctx = (CUcontext)context_top_named();
    return CUDA_SUCCESS;
}

/* What a context still answers when it is destroyed or something went wrong (observed on H200). */
static CUresult even_dead(struct context **c)
{
    CUresult r = context_current_unchecked(c);
    return r == CUDA_ERROR_CONTEXT_IS_DESTROYED ? CUDA_SUCCESS : r;
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
    struct context *c;
    CUresult r = library_ready();
    if (r) return r;
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    if ((r = even_dead(&c))) return r;
    *device = c->device->ordinal;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetFlags(unsigned int *flags)
{
    struct context *c;
    CUresult r = library_ready();
    if (r) return r;
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    r = context_current_unchecked(&c);
    if (r && r != CUDA_ERROR_CONTEXT_IS_DESTROYED) return r;
    /* of those that are destroyed, and of green ones: observed on H200 */
    *flags = r ? 0 : c->flags | (green_current() ? CU_CTX_MAP_HOST : 0);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetFlags(unsigned int flags)
{
    struct context *c;
    const unsigned kept = CU_CTX_MAP_HOST | COREDUMP;
    CUresult r = even_dead(&c);
    if (r) return r;
    if (!good_schedule(flags) || flags & ~CU_CTX_FLAGS_MASK) return CUDA_ERROR_INVALID_VALUE;
    c->flags = (c->flags & kept) | (flags & ~kept);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
    struct context *c;
    CUresult r = library_ready();
    if (r) return r;
    if (!ctxId) return CUDA_ERROR_INVALID_VALUE;
    r = ctx ? context_check(ctx, &c) : context_current_unchecked(&c);
    if (r) return r;
    *ctxId = c->id;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
    struct context *c;
    CUresult r = ctx ? library_ready() : context_current_unchecked(&c);
    if (!r && ctx && (r = context_check(ctx, &c)) == CUDA_ERROR_CONTEXT_IS_DESTROYED) r = CUDA_ERROR_INVALID_CONTEXT;
    if (r) return r;
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = 3020;
    return CUDA_SUCCESS;
}

static CUresult synchronize(struct context *c, const struct green *g)
{
    CUresult r = capture_refuse_context(c);
    if (r) return r;
    if ((r = g ? green_synchronize(g) : context_synchronize(c))) return r;
    mempool_synchronized(g ? NULL : c, NULL);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    struct context *c;
    CUresult r = context_current(&c);
    return r ? r : synchronize(c, green_current());
}

CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext ctx)
{
    struct context *c, *named;
    if (!ctx) return cuCtxSynchronize();
    CUresult r = library_ready();
    if (r || (r = context_check(ctx, &c)) || (r = context_check_named(ctx, &named))) return r;
    return synchronize(c, named->green);
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r) return r;
    if (leastPriority) *leastPriority = 0;
    if (greatestPriority) *greatestPriority = -5;
    return r;
}

CUresult CUDAAPI cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pconfig) return CUDA_ERROR_INVALID_VALUE;
    *pconfig = c->cache;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCacheConfig(CUfunc_cache config)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r || (r = capture_refuse_unsafe())) return r;
    if ((int)config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    c->cache = config;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pConfig) return CUDA_ERROR_INVALID_VALUE;
    *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r || (r = capture_refuse_unsafe())) return r;
    return (int)config < 0 || config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE
                                                                                 : CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxResetPersistingL2Cache(void)
{
    struct context *c;
    return context_current(&c);
}

CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
    struct context *c;
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = ctx ? library_ready() : even_dead(&c);
    if (!r && ctx) r = context_check(ctx, &c);
    if (r == CUDA_ERROR_CONTEXT_IS_DESTROYED && ctx && c->primary) r = CUDA_SUCCESS; /* observed on H200 */
    if (r) return r;
    *device = c->device->ordinal;
    return CUDA_SUCCESS;
}

/* A context has all multiprocessors. Other kinds are told, but not answered (observed on H200). */
CUresult CUDAAPI cuCtxGetExecAffinity(CUexecAffinityParam *pExecAffinity, CUexecAffinityType type)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pExecAffinity) return CUDA_ERROR_INVALID_VALUE;
    pExecAffinity->type = type;
    if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    const int all = profile_attribute(c->device->profile, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    pExecAffinity->param.smCount.val = (unsigned)all;
    return CUDA_SUCCESS;
}

/* ---- events of all of a context's streams */

/* The context is named, and none need be current (observed on H200). */
static CUresult context_event(CUcontext ctx, CUevent hEvent, struct context **c, struct event **e)
{
    CUresult r = context_optional(c);
    if (!r) r = context_check(ctx, c);
    return r ? r : event_get(hEvent, e);
}

CUresult CUDAAPI cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent)
{
    struct context *c;
    struct event *e;
    CUresult r = context_event(hCtx, hEvent, &c, &e);
    if (r) return r;
    if (event_context(e) != c) return CUDA_ERROR_INVALID_HANDLE;
    return (r = capture_refuse_context(c)) ? r : context_record(c, NULL, e);
}

CUresult CUDAAPI cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent)
{
    struct context *c;
    struct event *e;
    CUresult r = context_event(hCtx, hEvent, &c, &e);
    if (r || (r = capture_refuse_context(c)) || (r = capture_refuse_event(e))) return r;
    return context_wait(c, NULL, e);
}
