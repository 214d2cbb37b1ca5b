/* Launches: the checks in the driver's order, and the parameters as the kernel
 * wants them. */
#include "api/cluster.h"
#include "api/green.h"
#include "api/launch_old.h"
#include "api/node_check.h"
#include "api/reference.h"
#include "base/because.h"
#include "base/log.h"
#include "graph/capture.h"
#include "module/image.h"
#include "module/module.h"
#include "stream/event.h"
#include "stream/operations.h"
#include "stream/stream.h"
#include "vmm/multicast.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_PARAMS = 4096 };

struct limits {
    unsigned grid[3], block[3], threads, multiprocessors;
};

/* What the caller asked for, and what it means. */
struct request {
    CUfunction handle;
    CUstream stream_handle;
    void **params, **extra;
    const CUlaunchAttribute *attributes; /* all that were given */
    unsigned attribute_count;
    bool attribute_refused; /* one of them, which spoils no capture (observed on H200) */
    struct event *event; /* recorded behind the kernel, or NULL */
    struct stream *stream;
    struct function *function;
    uint32_t cluster[3];   /* that were asked for, zeros: none */
    uint32_t preferred[3]; /* the same of what would be better */
    bool as_before;        /* CUDA 4.0: without clusters, whatever the kernel was compiled for (observed on H200) */
    struct launch launch;
};

static CUresult read_limits(int ordinal, struct limits *l)
{
    struct {
        CUdevice_attribute attribute;
        unsigned *to;
    } all[] = {
        { CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, &l->grid[0] },
        { CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, &l->grid[1] },
        { CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, &l->grid[2] },
        { CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, &l->block[0] },
        { CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, &l->block[1] },
        { CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, &l->block[2] },
        { CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &l->threads },
        { CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &l->multiprocessors },
    };
    CUresult r = CUDA_SUCCESS;
    for (unsigned i = 0; i < sizeof all / sizeof *all && !r; i++)
        r = cuDeviceGetAttribute((int *)all[i].to, all[i].attribute, ordinal);
    return r;
}

/* A device's limits do not change, and two threads that read them first store the same. */
static CUresult limits_of(const struct device *d, struct limits *out)
{
    static struct limits known[MAX_DEVICES];
    static _Atomic bool ready[MAX_DEVICES];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (!atomic_load_explicit(&ready[d->ordinal], memory_order_acquire)) {
        CUresult r = read_limits(d->ordinal, out);
        if (r) return r;
        pthread_mutex_lock(&lock);
        known[d->ordinal] = *out;
        atomic_store_explicit(&ready[d->ordinal], true, memory_order_release);
        pthread_mutex_unlock(&lock);
    }
    *out = known[d->ordinal];
    return CUDA_SUCCESS;
}

static CUresult refused(const char *why) { return (CUresult)because(CUDA_ERROR_INVALID_VALUE, why); }

/* Of kernels that say so it is one of clusters, and becomes one of blocks here. */
static CUresult check_grid(struct request *q, const struct limits *limits)
{
    const struct fl_image_kernel *k = q->function->kernel;
    const bool clusters = k->flags & FL_KERNEL_BLOCKS_ARE_CLUSTERS && !q->as_before;
    for (int i = 0; i < 3; i++) {
        const uint64_t blocks = (uint64_t)q->launch.grid[i] * (clusters ? k->cluster[i] : 1);
        if (!blocks || blocks > limits->grid[i])
            return refused("a dimension of the grid is 0, or more than the device permits");
        q->launch.grid[i] = (uint32_t)blocks;
    }
    return CUDA_SUCCESS;
}

/* Blocks of a single thread stand for what the kernel was compiled for; as before CUDA 4.0 they are such blocks (observed on
 * H200). */
static CUresult check_block(struct request *q, const struct limits *limits)
{
    struct launch *l = &q->launch;
    const struct fl_image_kernel *k = q->function->kernel;
    const bool single = l->block[0] == 1 && l->block[1] == 1 && l->block[2] == 1;
    uint64_t threads = 1;
    if (single && k->reqntid[0] && !q->as_before) memcpy(l->block, k->reqntid, sizeof l->block);
    for (int i = 0; i < 3; i++) {
        if (!l->block[i] || l->block[i] > limits->block[i])
            return refused("a dimension of the block is 0, or more than the device permits");
        if (k->reqntid[0] && l->block[i] != k->reqntid[i] && !single)
            return refused("the kernel wants blocks of another size");
        threads *= l->block[i];
    }
    return threads > limits->threads || (k->max_threads && threads > k->max_threads)
               ? refused("a block of more threads than the device, or the kernel (__launch_bounds__), permits")
               : CUDA_SUCCESS;
}

static CUresult check_shared(const struct request *q)
{
    const int most = q->function->set[SETTING_SHARED];
    return q->launch.dynamic_shared > (uint64_t)most
               ? refused("more dynamic shared memory than the kernel may have, which is 48 KiB in all unless "
                         "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES permits more")
               : CUDA_SUCCESS;
}

static CUresult check_cooperative(const struct request *q, const struct limits *limits)
{
    const struct launch *l = &q->launch;
    int blocks = 0;
    if (!l->cooperative) return CUDA_SUCCESS;
    CUresult r = function_occupancy(q->function, (int)(l->block[0] * l->block[1] * l->block[2]),
                                    (size_t)(int)l->dynamic_shared, &blocks);
    if (r) return r;
    const struct green *g = stream_green(q->stream);
    const unsigned sms = g ? sm_count(&g->sms) : limits->multiprocessors;
    uint64_t plane = (uint64_t)l->grid[0] * l->grid[1],
             most = l->explicit_cluster ? cluster_blocks((int)sms, blocks, l->cluster) : (uint64_t)blocks * sms;
    return plane > most || plane * l->grid[2] > most ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : CUDA_SUCCESS;
}

/* What a node keeps of the launch's attributes; most as it is. */
static unsigned node_attributes(const struct request *q, CUlaunchAttribute *out)
{
    const CUclusterSchedulingPolicy spread = CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
    unsigned count = 0;
    /* observed on H200, if nothing else is said */
    out[count++] = (CUlaunchAttribute){ .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
                                        .value.clusterSchedulingPolicyPreference = spread };
    if (q->launch.cooperative)
        out[count++] = (CUlaunchAttribute){ .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1 };
    if (q->cluster[0])
        out[count++] = (CUlaunchAttribute){ .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                            .value.clusterDim = { q->cluster[0], q->cluster[1], q->cluster[2] } };
    for (unsigned k = 0; k < q->attribute_count && count < NODE_ATTRIBUTES; k++) {
        CUlaunchAttribute a = q->attributes[k];
        switch (a.id) {
        case CU_LAUNCH_ATTRIBUTE_PRIORITY: a.value.priority = stream_clamp_priority(a.value.priority); break;
        case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: break;
        default: continue;
        }
        out[count++] = a;
    }
    return count;
}

static const CUlaunchAttribute *attribute_of(const struct request *q, CUlaunchAttributeID id)
{
    for (unsigned k = 0; k < q->attribute_count; k++)
        if (q->attributes[k].id == id) return &q->attributes[k];
    return NULL;
}

/* What an edge from the node to what waits for the launch's event says. */
static CUgraphEdgeData event_edge(const struct request *q)
{
    const CUlaunchAttribute *a = attribute_of(q, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT);
    if (!a) return (CUgraphEdgeData){ .from_port = CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER };
    return (CUgraphEdgeData){ .from_port = a->value.programmaticEvent.triggerAtBlockStart
                                               ? CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER
                                               : CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                              .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC };
}

/* Whether the launch becomes a node. */
static bool captured(const struct request *q, CUresult *r)
{
    const struct launch *l = &q->launch;
    CUlaunchAttribute attributes[NODE_ATTRIBUTES];
    const unsigned count = node_attributes(q, attributes);
    const CUlaunchAttribute *early = attribute_of(q, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
    CUgraphNodeParams node = { .type = CU_GRAPH_NODE_TYPE_KERNEL,
                               .kernel = { .func = q->handle,
                                           .kernelParams = q->params,
                                           .extra = q->extra,
                                           .sharedMemBytes = l->dynamic_shared,
                                           .gridDimX = l->grid[0],
                                           .gridDimY = l->grid[1],
                                           .gridDimZ = l->grid[2],
                                           .blockDimX = l->block[0],
                                           .blockDimY = l->block[1],
                                           .blockDimZ = l->block[2],
                                           .ctx = (CUcontext)named_context_of(q->stream) } };
    const bool programmatic = early && early->value.programmaticStreamSerializationAllowed;
    if (!capture_kernel(q->stream, &node, attributes, count, programmatic, r)) return false;
    if (!*r && q->event && !capture_record_launch(q->event, q->stream, event_edge(q), r)) *r = CUDA_ERROR_UNKNOWN;
    return true;
}

/* What the kernel may take cannot be made larger or smaller any more. */
static void note_limits(const struct function *f)
{
    struct context *c = f->module->context;
    if (f->kernel->flags & FL_KERNEL_MALLOC) c->heap_used = true;
    if (f->kernel->flags & FL_KERNEL_PRINTF) c->printf_used = true;
}

static CUresult submit(struct request *q, uint8_t *params)
{
    static _Atomic uint64_t newest;
    struct launch *l = &q->launch;
    struct function *f = q->function;
    CUresult r = function_gather(f, q->params, q->extra, params);
    if (!r && capture_any() && captured(q, &r)) return r;
    if (!r) r = function_prepare(f);
    if (!r && f->kernel->flags & FL_KERNEL_MALLOC) r = module_heap(f->module->context, &l->heap, &l->heap_size);
    if (!r) r = reference_symbols(f->module, &l->symbols);
    if (r) return r;
    note_limits(f);
    l->image = f->module->image_va;
    l->kernel = f->index;
    l->params = params;
    l->params_size = f->kernel->param_size;
    l->stack_limit = (uint32_t)f->module->context->limits[CU_LIMIT_STACK_SIZE];
    const struct green *g = stream_green(q->stream);
    if (g) memcpy(l->sms, g->sms.word, sizeof l->sms);
    l->name = f->name;
    l->static_shared = f->kernel->static_shared;
    l->local = f->kernel->local_reported;
    l->registers = f->kernel->registers;
    l->gridid = atomic_fetch_add_explicit(&newest, 1, memory_order_relaxed) + 1;
    if (multicast_any()) multicast_refresh();
    r = stream_launch(q->stream, l);
    return !r && q->event ? event_record(q->event, q->stream) : r;
}

/* The stream says in which context: a kernel of a library has a function in each. Until function_end. */
static CUresult resolve(struct request *q)
{
    struct context *c;
    CUresult r = stream_caller_outside(q->stream_handle, &c);
    if (r) return r;
    if (!q->handle) return CUDA_ERROR_INVALID_HANDLE;
    if ((r = stream_get(c, q->stream_handle, false, &q->stream))) return r;
    if ((r = function_get(stream_context(q->stream), q->handle, &q->function))) return r;
    if (q->function->module->context == stream_context(q->stream)) return CUDA_SUCCESS;
    return function_end(q->function, CUDA_ERROR_INVALID_HANDLE);
}

/* What the kernel was compiled from may need what is not here. */
static CUresult check_supported(const struct function *f)
{
    if (!f->kernel->refused) return CUDA_SUCCESS;
    fl_log_once(FL_LOG_WARN, "kernel %s cannot be launched: %s", f->name,
                image_string(f->module->image, f->kernel->refused));
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult cluster(const uint32_t shape[3], uint32_t to[3])
{
    if (!shape[0] && !shape[1] && !shape[2]) return CUDA_SUCCESS; /* none */
    if (!shape[0] || !shape[1] || !shape[2]) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    memcpy(to, shape, 3 * sizeof *to);
    return CUDA_SUCCESS;
}

static CUresult preferred_cluster(struct request *q, const CUlaunchAttributeValue *v)
{
    const uint32_t shape[] = { v->preferredClusterDim.x, v->preferredClusterDim.y, v->preferredClusterDim.z };
    return cluster(shape, q->preferred);
}

static CUresult completion_event(struct request *q, CUevent handle, int flags)
{
    CUresult r = event_get(handle, &q->event);
    if (r) return r;
    if (flags & ~CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    if (flags && !capture_has(q->stream)) return CUDA_ERROR_ILLEGAL_STATE;
    bool fit = event_flags(q->event) & CU_EVENT_DISABLE_TIMING && !(event_flags(q->event) & CU_EVENT_INTERPROCESS);
    return fit && !flags ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

/* Only a node of a graph can be updated. */
static CUresult updatable(struct request *q, const CUlaunchAttributeValue *v)
{
    if (!capture_has(q->stream)) return CUDA_ERROR_NOT_SUPPORTED;
    return v->deviceUpdatableKernelNode.deviceUpdatable ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult when(bool valid) { return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }

static CUresult apply(struct request *q, const CUlaunchAttribute *a)
{
    const CUlaunchAttributeValue *v = &a->value;
    switch (a->id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: q->launch.cooperative = v->cooperative != 0; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        return cluster((const uint32_t[]){ v->clusterDim.x, v->clusterDim.y, v->clusterDim.z }, q->cluster);
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: return preferred_cluster(q, v);
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        return completion_event(q, v->programmaticEvent.event, v->programmaticEvent.flags);
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        return completion_event(q, v->launchCompletionEvent.event, v->launchCompletionEvent.flags);
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE: return updatable(q, v);
    /* what follows are hints: nothing here differs by them */
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        return when(stream_attribute_valid(stream_context(q->stream)->device, a->id, v));
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        return when((unsigned)v->clusterSchedulingPolicyPreference <= CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING);
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return when(v->sharedMemCarveout <= 100);
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING: return when(v->nvlinkUtilCentricScheduling <= 1);
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* It is made of those that were asked for, in a plane, and the grid of it. */
static CUresult check_preferred(const struct request *q)
{
    const struct launch *l = &q->launch;
    if (!l->explicit_cluster) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (l->cooperative) return CUDA_ERROR_NOT_SUPPORTED;
    for (int i = 0; i < 3; i++)
        if (q->preferred[i] % l->cluster[i] || l->grid[i] % q->preferred[i]) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return q->preferred[2] == l->cluster[2] ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

static CUresult check_cluster(struct request *q)
{
    struct launch *l = &q->launch;
    if (q->as_before) {
        for (int i = 0; i < 3; i++) l->cluster[i] = 1;
        return CUDA_SUCCESS;
    }
    l->explicit_cluster = q->cluster[0] || q->function->set[SETTING_WIDTH] > 0;
    CUresult r = cluster_of_launch(q->function, q->cluster, l->grid, l->cluster);
    return !r && q->preferred[0] ? check_preferred(q) : r;
}

/* In the driver's order (observed on H200). */
static CUresult check(struct request *q, const struct limits *limits)
{
    CUresult r = function_check_params(q->function, q->params, q->extra);
    if (!r) r = check_block(q, limits);
    if (r) return r;
    for (unsigned i = 0; i < q->attribute_count && !r; i++) r = apply(q, &q->attributes[i]);
    q->attribute_refused = r != CUDA_SUCCESS;
    if (r || (r = check_grid(q, limits)) || (r = check_cluster(q))) return r;
    return (r = check_cooperative(q, limits)) ? r : check_shared(q);
}

static CUresult launch_resolved(struct request *q)
{
    struct limits limits;
    CUresult r = limits_of(stream_context(q->stream)->device, &limits);
    if (r) return r;
    if ((r = check_supported(q->function)) || (r = check(q, &limits))) {
        if (!q->attribute_refused) capture_spoil(q->stream);
        return r;
    }
    uint8_t small[SMALL_PARAMS], *params = small;
    size_t size = q->function->kernel->param_size;
    if (size > sizeof small && !(params = malloc(size))) return CUDA_ERROR_OUT_OF_MEMORY;
    memset(params, 0, size);
    r = submit(q, params);
    if (params != small) free(params);
    return r;
}

static CUresult launch(struct request *q)
{
    CUresult r = resolve(q);
    return r ? r : function_end(q->function, launch_resolved(q));
}

CUresult launch_check(const CUDA_KERNEL_NODE_PARAMS_v3 *p)
{
    struct context *c;
    struct limits limits;
    struct request q = { .launch = { .grid = { p->gridDimX, p->gridDimY, p->gridDimZ },
                                     .block = { p->blockDimX, p->blockDimY, p->blockDimZ },
                                     .dynamic_shared = p->sharedMemBytes } };
    CUresult r = p->ctx ? context_check(p->ctx, &c) : context_current(&c);
    if (r || (r = function_get(c, p->func ? p->func : (CUfunction)p->kern, &q.function))) return r;
    r = limits_of(c->device, &limits);
    if (!r) r = check_supported(q.function);
    if (!r) r = check_grid(&q, &limits);
    if (!r) r = check_block(&q, &limits);
    return function_end(q.function, r ? r : check_shared(&q));
}

CUresult launch_check_cluster(const CUDA_KERNEL_NODE_PARAMS_v3 *p, const CUlaunchAttributeValue *v)
{
    struct context *c;
    struct function *f;
    const uint32_t grid[] = { p->gridDimX, p->gridDimY, p->gridDimZ };
    uint32_t asked[3] = { 0 }, shape[3];
    CUresult r = cluster((const uint32_t[]){ v->clusterDim.x, v->clusterDim.y, v->clusterDim.z }, asked);
    if (r || !asked[0]) return r;
    r = p->ctx ? context_check(p->ctx, &c) : context_current(&c);
    if (r || (r = function_get(c, p->func ? p->func : (CUfunction)p->kern, &f))) return r;
    return function_end(f, cluster_of_launch(f, asked, grid, shape));
}

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                                unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                                unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra)
{
    struct request q = {
        .handle = f,
        .stream_handle = hStream,
        .params = kernelParams,
        .extra = extra,
        .launch = { .grid = { gridDimX, gridDimY, gridDimZ },
                    .block = { blockDimX, blockDimY, blockDimZ },
                    .dynamic_shared = sharedMemBytes },
    };
    return launch(&q);
}

CUresult launch_as_before(CUfunction f, const unsigned grid[2], const unsigned block[3], unsigned shared, CUstream stream,
                          void **extra)
{
    struct request q = {
        .handle = f,
        .stream_handle = stream,
        .extra = extra,
        .as_before = true,
        .launch = { .grid = { grid[0], grid[1], 1 },
                    .block = { block[0], block[1], block[2] },
                    .dynamic_shared = shared },
    };
    return launch(&q);
}

CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                           unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                                           unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                                           void **kernelParams)
{
    struct request q = {
        .handle = f,
        .stream_handle = hStream,
        .params = kernelParams,
        .launch = { .grid = { gridDimX, gridDimY, gridDimZ },
                    .block = { blockDimX, blockDimY, blockDimZ },
                    .dynamic_shared = sharedMemBytes,
                    .cooperative = true },
    };
    return launch(&q);
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra)
{
    CUresult r = library_ready();
    if (r) return r;
    if (!config || (config->numAttrs && !config->attrs)) return CUDA_ERROR_INVALID_VALUE;
    struct request q = {
        .handle = f,
        .stream_handle = config->hStream,
        .params = kernelParams,
        .extra = extra,
        .attributes = config->attrs,
        .attribute_count = config->numAttrs,
        .launch = { .grid = { config->gridDimX, config->gridDimY, config->gridDimZ },
                    .block = { config->blockDimX, config->blockDimY, config->blockDimZ },
                    .dynamic_shared = config->sharedMemBytes },
    };
    return launch(&q);
}
