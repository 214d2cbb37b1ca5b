/* Green contexts: resources, how they are divided, descriptors, and the
 * contexts made of them. What a CUdevResource means is in its hidden bytes. */
#include "api/cluster.h"
#include "api/green.h"
#include "graph/capture.h"
#include "stream/event.h"
#include "stream/operations.h"

#include <string.h>

static const char MAGIC[8] = "FLsmres";

/* Behind the type of a CUdevResource. */
struct hidden {
    char magic[8];
    int32_t device;
    uint32_t divided; /* the split that it came from: 0, it may be divided */
    struct sm_set sms;
};
_Static_assert(sizeof(struct hidden) <= sizeof((CUdevResource *)0)->_internal_padding, "it fits");

struct descriptor { /* CUdevResourceDesc_st */
    struct object_link link;
    int32_t device;
    struct sm_set sms;
};

static void construct(void *object) { (void)object; }

static struct objects descriptors = OBJECTS_INIT(struct descriptor, construct);
static _Atomic uint32_t newest_split;

/* How many multiprocessors can be had, and in which steps: by the manual. */
static unsigned step_of(const struct device *d, bool fine)
{
    int major = profile_attribute(d->profile, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    return major >= 9 && !fine ? 8 : 2;
}

static unsigned least_of(const struct device *d, bool fine)
{
    int major = profile_attribute(d->profile, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    return fine ? 2 : major >= 9 ? 8 : major == 8 ? 4 : 2;
}

static void fill(CUdevResource *out, const struct device *d, const struct sm_set *sms, uint32_t divided)
{
    struct hidden h = { .device = d->ordinal, .divided = divided, .sms = *sms };
    memcpy(h.magic, MAGIC, sizeof h.magic);
    memset(out, 0, sizeof *out);
    unsigned count = sm_count(sms);
    out->type = count ? CU_DEV_RESOURCE_TYPE_SM : CU_DEV_RESOURCE_TYPE_INVALID;
    memcpy(out->_internal_padding, &h, sizeof h);
    out->sm.smCount = count;
}

static CUresult read_resource(const CUdevResource *from, struct hidden *h)
{
    if (from->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    memcpy(h, from->_internal_padding, sizeof *h);
    return memcmp(h->magic, MAGIC, sizeof MAGIC) || h->device < 0 || h->device >= device_count
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

/* Of the kinds there are; told before anything else (observed on H200). */
static CUresult check_type(const CUdevResource *out, CUdevResourceType type)
{
    return !out                              ? CUDA_ERROR_INVALID_VALUE
           : type != CU_DEV_RESOURCE_TYPE_SM ? CUDA_ERROR_INVALID_RESOURCE_TYPE
                                             : CUDA_SUCCESS;
}

/* What a division left over, which is not made of whole steps: it has pairs only (observed on H200). */
static bool is_odd(const struct device *d, const struct sm_set *sms)
{
    const unsigned n = sm_count(sms);
    return n % step_of(d, false) && (int)n < profile_attribute(d->profile, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
}

static CUresult give(CUdevResource *out, const struct device *d, const struct green *g, CUdevResourceType type)
{
    struct sm_set sms;
    CUresult r = check_type(out, type);
    if (!r && !g) r = sm_all(d, &sms);
    if (r) return r;
    fill(out, d, g ? &g->sms : &sms, 0);
    const bool fine = g && g->sms.pairs;
    out->sm.minSmPartitionSize = least_of(d, fine);
    out->sm.smCoscheduledAlignment = step_of(d, fine);
    return r;
}

CUresult CUDAAPI cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type)
{
    struct device *d;
    CUresult r = device_get(device, &d);
    return r ? r : give(resource, d, NULL, type);
}

CUresult CUDAAPI cuCtxGetDevResource(CUcontext hCtx, CUdevResource *resource, CUdevResourceType type)
{
    struct context *c;
    CUresult r = library_ready();
    if (r || (r = check_type(resource, type)) || (r = context_check_named(hCtx, &c))) return r;
    return give(resource, c->device, c->green, type);
}

CUresult CUDAAPI cuGreenCtxGetDevResource(CUgreenCtx hCtx, CUdevResource *resource, CUdevResourceType type)
{
    struct green *g;
    CUresult r = library_ready();
    if (r || (r = check_type(resource, type)) || (r = green_get(hCtx, &g))) return r;
    return give(resource, g->primary->device, g, type);
}

/* Takes the lowest n out of a set. */
static struct sm_set take(struct sm_set *from, unsigned n)
{
    struct sm_set out = { 0 };
    for (int k = 0; k < SM_MOST / 64; k++)
        for (; n && from->word[k]; n--) {
            uint64_t lowest = from->word[k] & -from->word[k];
            out.word[k] |= lowest;
            from->word[k] ^= lowest;
        }
    return out;
}

CUresult CUDAAPI cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *nbGroups, const CUdevResource *input,
                                             CUdevResource *remaining, unsigned int useFlags, unsigned int minCount)
{
    const unsigned fine_flag = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
    struct hidden h;
    CUresult r = library_ready();
    if (r) return r;
    if (!nbGroups || !input || (result && !*nbGroups)) return CUDA_ERROR_INVALID_VALUE;
    if ((r = read_resource(input, &h))) return r;
    const struct device *d = &devices[h.device];
    const unsigned have = sm_count(&h.sms), step = step_of(d, useFlags & fine_flag),
                   least = least_of(d, useFlags & fine_flag);
    if (h.divided) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    const unsigned both = fine_flag | CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
    if ((useFlags & both) == both) return CUDA_ERROR_INVALID_VALUE; /* others mean nothing (observed on H200) */
    unsigned size = (minCount + step - 1) / step * step;
    if (size < least) size = least;
    if (size > have && minCount <= have) size = have;
    if (size > have || minCount > have) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    unsigned groups = have / size;
    /* the smallest are where a cluster is (observed on H200) */
    const uint64_t together = cluster_blocks((int)have, 1, (const uint32_t[]){ size, 1, 1 }) / size;
    if (size == step && !(useFlags & fine_flag) && groups > together) groups = (unsigned)together;
    if (result && *nbGroups < groups) groups = *nbGroups;
    const uint32_t split = atomic_fetch_add(&newest_split, 1) + 1;
    for (unsigned k = 0; k < groups && result; k++) {
        struct sm_set part = take(&h.sms, size);
        fill(&result[k], d, &part, split);
    }
    if (result && remaining) fill(remaining, d, &h.sms, split);
    *nbGroups = groups;
    return r;
}

CUresult CUDAAPI cuDevResourceGenerateDesc(CUdevResourceDesc *phDesc, CUdevResource *resources,
                                           unsigned int nbResources)
{
    struct hidden h, all = { 0 };
    CUresult r = library_ready();
    if (r) return r;
    if (!phDesc || !resources || !nbResources) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; k < nbResources; k++) {
        if ((r = read_resource(&resources[k], &h))) return r;
        if (!k) all = h;
        if (h.device != all.device) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
        all.sms.pairs |= is_odd(&devices[h.device], &h.sms);
        for (int j = 0; j < SM_MOST / 64; j++) all.sms.word[j] |= h.sms.word[j];
    }
    struct descriptor *p = object_take(&descriptors); /* there is no call that gives one back */
    if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
    p->device = all.device;
    p->sms = all.sms;
    *phDesc = (CUdevResourceDesc)p;
    return r;
}

CUresult CUDAAPI cuGreenCtxCreate(CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags)
{
    struct device *d;
    struct green *g;
    struct descriptor *p = (struct descriptor *)desc;
    CUresult r = library_ready();
    if (!r && !phCtx) r = CUDA_ERROR_INVALID_VALUE;
    if (r || (r = device_get(dev, &d)) || (r = sticky_get())) return r;
    if (flags != CU_GREEN_CTX_DEFAULT_STREAM || (p && !objects_hold(&descriptors, p)))
        return CUDA_ERROR_INVALID_VALUE;
    if (p && p->device != d->ordinal) return CUDA_ERROR_INVALID_DEVICE;
    struct sm_set all; /* without a descriptor (observed on H200) */
    if (!p && (r = sm_all(d, &all))) return r;
    if (!(r = green_create(d, p ? &p->sms : &all, &g))) *phCtx = (CUgreenCtx)g;
    return r;
}

struct context *named_context_of(const struct stream *s)
{
    const struct green *g = stream_green(s);
    return g ? g->named : stream_context(s);
}

/* A call that names a green context. */
static CUresult named(CUgreenCtx handle, struct green **g)
{
    CUresult r = library_ready();
    return r || (r = sticky_get()) ? r : green_get(handle, g);
}

CUresult CUDAAPI cuGreenCtxDestroy(CUgreenCtx hCtx)
{
    struct green *g;
    CUresult r = library_ready();
    return r || (r = green_get(hCtx, &g)) ? r : green_destroy(g);
}

CUresult CUDAAPI cuCtxFromGreenCtx(CUcontext *pContext, CUgreenCtx hCtx)
{
    struct green *g;
    CUresult r = named(hCtx, &g);
    if (r) return r;
    if (!pContext) return CUDA_ERROR_INVALID_VALUE;
    *pContext = (CUcontext)g->named;
    return r;
}

CUresult CUDAAPI cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags, int priority)
{
    struct green *g;
    struct stream *s;
    CUresult r = named(greenCtx, &g);
    if (r) return r;
    if (!phStream || flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    if (!(r = stream_create_green(g, flags, stream_clamp_priority(priority), &s))) *phStream = (CUstream)s;
    return r;
}

CUresult CUDAAPI cuGreenCtxGetId(CUgreenCtx greenCtx, unsigned long long *greenCtxId)
{
    struct green *g = greenCtx ? NULL : green_current();
    CUresult r = library_ready();
    if (!r && !g) r = greenCtx ? green_get(greenCtx, &g) : CUDA_ERROR_INVALID_CONTEXT;
    if (r) return r;
    if (!greenCtxId) return CUDA_ERROR_INVALID_VALUE;
    *greenCtxId = atomic_load(&g->id);
    return r;
}

CUresult CUDAAPI cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    struct green *g;
    struct event *e;
    CUresult r = named(hCtx, &g);
    if (r || (r = event_get(hEvent, &e))) return r;
    if (event_context(e) != g->primary) return CUDA_ERROR_INVALID_HANDLE;
    return (r = capture_refuse_context(g->primary)) ? r : context_record(g->primary, g, e);
}

CUresult CUDAAPI cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    struct green *g;
    struct event *e;
    CUresult r = named(hCtx, &g);
    if (r || (r = event_get(hEvent, &e)) || (r = capture_refuse_event(e)) || (r = capture_refuse_context(g->primary)))
        return r;
    return context_wait(g->primary, g, e);
}
