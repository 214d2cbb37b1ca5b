/* Memory of graphs: an allocation node's, shared by the node's copies in
 * executable graphs. */
#include "graph/memory.h"

#include <stdlib.h>

/* Its own device has access anyway, but is told of if it was named (observed on H200). */
static void note_access(struct graph_memory *m, const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p)
{
    for (size_t k = 0; k < p->accessDescCount; k++) {
        m->access[m->accesses++] = p->accessDescs[k];
        m->others |= 1u << p->accessDescs[k].location.id;
    }
    m->others &= ~(1u << p->poolProps.location.id);
}

static bool is_named_twice(const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p)
{
    for (size_t k = 1; k < p->accessDescCount; k++)
        for (size_t j = 0; j < k; j++)
            if (p->accessDescs[j].location.type == p->accessDescs[k].location.type &&
                p->accessDescs[j].location.id == p->accessDescs[k].location.id)
                return true;
    return false;
}

static CUresult check_access(const CUmemAccessDesc *a)
{
    if (a->location.type != CU_MEM_LOCATION_TYPE_DEVICE || a->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return CUDA_ERROR_NOT_SUPPORTED;
    return a->location.id < 0 || a->location.id >= device_count ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

/* Of a kind that a pool can have; what is not told to be of some use must be zero. */
static bool is_pool(const CUmemPoolProps *p)
{
    const unsigned all = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_WIN32 |
                         CU_MEM_HANDLE_TYPE_WIN32_KMT | CU_MEM_HANDLE_TYPE_FABRIC;
    for (size_t k = 0; k < sizeof p->reserved; k++)
        if (p->reserved[k]) return false;
    if (p->allocType != CU_MEM_ALLOCATION_TYPE_PINNED || p->handleTypes & ~all) return false;
    switch (p->location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: return p->location.id >= 0 && p->location.id < device_count;
    case CU_MEM_LOCATION_TYPE_HOST: return !p->handleTypes;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: return !p->location.id;
    default: return p->location.type != CU_MEM_LOCATION_TYPE_INVALID;
    }
}

/* In the order in which an H200 finds what is wrong. */
CUresult graph_memory_check(const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p)
{
    CUresult r = CUDA_SUCCESS;
    if (!is_pool(&p->poolProps) || (p->accessDescCount && !p->accessDescs) || is_named_twice(p))
        return CUDA_ERROR_INVALID_VALUE;
    if (p->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    for (size_t k = 0; k < p->accessDescCount && !r; k++) r = check_access(&p->accessDescs[k]);
    if (r) return r;
    if (p->poolProps.handleTypes) return CUDA_ERROR_NOT_SUPPORTED;
    return p->bytesize ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult graph_memory_new(const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p, struct graph_memory **out)
{
    struct context *c;
    struct device *d;
    struct stream *s;
    CUresult r = context_current(&c);
    if (r || (r = graph_memory_check(p)) || (r = device_get(p->poolProps.location.id, &d))) return r;
    struct graph_memory *m = calloc(1, sizeof *m);
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    m->references = 1;
    note_access(m, p);
    if ((r = stream_get(c, CU_STREAM_LEGACY, false, &s)) || (r = mempool_keep(d, m->others, p->bytesize, s, &m->kept)))
        free(m);
    else
        *out = m;
    return r;
}

struct graph_memory *graph_memory_share(struct graph_memory *m)
{
    if (m) m->references++;
    return m;
}

void graph_memory_drop(struct graph_memory *m)
{
    if (!m || --m->references) return;
    mempool_unkeep(m->kept);
    free(m);
}

/* An address that a graph allocates, freed once in each graph; by its own graph only if that was said
 * before it was made executable (the H200 refuses it later). */
CUresult graph_check_free(const struct graph *g, CUdeviceptr address)
{
    if (!mempool_is_kept((struct kept){ address, 0 }, NULL)) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; k < g->nodes.count; k++) {
        const struct node *n = g->nodes.node[k];
        if (n->params.type == CU_GRAPH_NODE_TYPE_MEM_FREE && n->params.free.dptr == address)
            return CUDA_ERROR_INVALID_VALUE;
        if (n->memory && n->memory->settled && n->memory->kept.address == address) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
