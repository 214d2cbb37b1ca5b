/* Whether a launch, or a node that stands for one, is right: its shape, its attributes, and what the kernel was compiled
 * for. */
#include "api/cluster.h"
#include "api/launch.h"
#include "api/node_check.h"
#include "base/because.h"
#include "base/log.h"
#include "context/green.h"
#include "graph/capture.h"
#include "module/image.h"
#include "stream/event.h"
#include "stream/operations.h"

#include <stdatomic.h>
#include <string.h>

struct limits {
    unsigned grid[3], block[3], threads, multiprocessors;
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

/* ---- the shape */

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

/* How many blocks the device has at once; all of a cooperative grid must be among them. */
static CUresult check_resident(struct request *q, const struct limits *limits)
{
    struct launch *l = &q->launch;
    const uint64_t plane = (uint64_t)l->grid[0] * l->grid[1];
    int blocks = 0;
    if (!l->cooperative && plane * l->grid[2] <= RESIDENT_FEW) return CUDA_SUCCESS;
    CUresult r = function_occupancy(q->function, (int)(l->block[0] * l->block[1] * l->block[2]),
                                    (size_t)(int)l->dynamic_shared, &blocks);
    if (r) return r;
    const struct green *g = stream_green(q->stream);
    const unsigned sms = g ? sm_count(&g->sms) : limits->multiprocessors;
    const uint64_t most = l->explicit_cluster ? cluster_blocks((int)sms, blocks, l->cluster) : (uint64_t)blocks * sms;
    l->resident = (uint32_t)most;
    return l->cooperative && (plane > most || plane * l->grid[2] > most) ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
                                                                         : CUDA_SUCCESS;
}

/* ---- attributes */

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

static CUresult event_of(const struct request *q, CUevent handle, int flags, struct event **e)
{
    CUresult r = event_get(handle, e);
    if (r) return r;
    if (flags & ~CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    if (flags && !capture_has(q->stream)) return CUDA_ERROR_ILLEGAL_STATE;
    if (event_context(*e) != stream_context(q->stream)) return CUDA_ERROR_INVALID_HANDLE;
    bool fit = event_flags(*e) & CU_EVENT_DISABLE_TIMING && !(event_flags(*e) & CU_EVENT_INTERPROCESS);
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
        return event_of(q, v->programmaticEvent.event, v->programmaticEvent.flags, &q->programmatic);
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        return event_of(q, v->launchCompletionEvent.event, v->launchCompletionEvent.flags, &q->completion);
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

/* ---- all of it */

/* What the kernel was compiled from may need what is not here. */
static CUresult check_supported(const struct function *f)
{
    if (!f->kernel->refused) return CUDA_SUCCESS;
    fl_log_once(FL_LOG_WARN, "kernel %s cannot be launched: %s", f->name,
                image_string(f->module->image, f->kernel->refused));
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult launch_request_check(struct request *q)
{
    struct limits limits;
    CUresult r = limits_of(stream_context(q->stream)->device, &limits);
    if (!r) r = check_supported(q->function);
    if (!r) r = function_check_params(q->function, q->params, q->extra);
    if (!r) r = check_block(q, &limits);
    if (r) return r;
    for (unsigned i = 0; i < q->attribute_count && !r; i++) r = apply(q, &q->attributes[i]);
    q->attribute_refused = r != CUDA_SUCCESS;
    if (r || (r = check_grid(q, &limits)) || (r = check_cluster(q))) return r;
    return (r = check_resident(q, &limits)) ? r : check_shared(q);
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
