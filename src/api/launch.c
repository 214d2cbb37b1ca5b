/* Launches: what was found right becomes a node of a graph or goes to the stream, with the parameters as the kernel wants
 * them. */
#include "api/launch.h"
#include "api/green.h"
#include "api/reference.h"
#include "graph/capture.h"
#include "mempool/mempool.h"
#include "stream/event.h"
#include "stream/operations.h"
#include "vmm/multicast.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_PARAMS = 4096 };

static bool blocking; /* CUDA_LAUNCH_BLOCKING */

void launch_init(void)
{
    const char *asked = getenv("CUDA_LAUNCH_BLOCKING");
    blocking = asked && atoi(asked);
}

CUresult launch_wait(struct stream *s)
{
    if (!blocking || capture_has(s)) return CUDA_SUCCESS;
    CUresult r = stream_synchronize(s);
    if (!r) mempool_synchronized(NULL, s);
    return r;
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

/* What edges from the node to what waits for the launch's events say. */
static CUresult capture_events(const struct request *q)
{
    CUresult r = CUDA_SUCCESS;
    bool all = true;
    if (q->programmatic) {
        const CUlaunchAttribute *a = attribute_of(q, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT);
        const CUgraphEdgeData edge = { .from_port = a->value.programmaticEvent.triggerAtBlockStart
                                                        ? CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER
                                                        : CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                                       .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC };
        all = capture_record_launch(q->programmatic, q->stream, edge, &r);
    }
    if (!r && all && q->completion) {
        const CUgraphEdgeData edge = { .from_port = CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER };
        all = capture_record_launch(q->completion, q->stream, edge, &r);
    }
    return all ? r : CUDA_ERROR_UNKNOWN;
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
    if (!*r) *r = capture_events(q);
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
    reference_symbols_end(f->module, l->symbols);
    if (!r && q->programmatic) r = event_record(q->programmatic, q->stream);
    if (!r && q->completion) r = event_record(q->completion, q->stream);
    return r;
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

static CUresult launch_resolved(struct request *q)
{
    CUresult r = launch_request_check(q);
    if (r) {
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
    if (!r) r = function_end(q->function, launch_resolved(q));
    return r ? r : launch_wait(q->stream);
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
