/* Memory of graphs: an allocation node's, shared by the node's copies in
 * executable graphs. */
#include "graph/memory.h"

#include <stdlib.h>

/* Its own device has access anyway, but is told of if it was named (observed on H200). */
static CUresult note_access(struct graph_memory *m, const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p, const struct device *d)
{
    for (size_t k = 0; k < p->accessDescCount; k++) {
        const CUmemAccessDesc *a = &p->accessDescs[k];
        if (a->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
        bool own = a->location.id == d->ordinal, known = false;
        if (!own && a->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return CUDA_ERROR_NOT_SUPPORTED;
        if (a->location.id < 0 || a->location.id >= device_count) return CUDA_ERROR_INVALID_VALUE;
        for (unsigned n = 0; n < m->accesses; n++) known |= m->access[n].location.id == a->location.id;
        if (known) continue;
        m->access[m->accesses++] = *a;
        if (!own) m->others |= 1u << a->location.id;
    }
    return CUDA_SUCCESS;
}

CUresult graph_memory_new(const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p, struct graph_memory **out)
{
    struct context *c;
    struct device *d;
    CUresult r = context_current(&c);
    if (r) return r;
    if (p->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED || !p->bytesize ||
        (p->accessDescCount && !p->accessDescs))
        return CUDA_ERROR_INVALID_VALUE;
    if (p->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE || p->poolProps.handleTypes)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (device_get(p->poolProps.location.id, &d)) return CUDA_ERROR_INVALID_VALUE;
    struct graph_memory *m = calloc(1, sizeof *m);
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    struct stream *s;
    m->references = 1;
    if ((r = note_access(m, p, d)) || (r = stream_get(c, CU_STREAM_LEGACY, false, &s)) ||
        (r = mempool_keep(d, m->others, p->bytesize, s, &m->kept))) {
        free(m);
        return r;
    }
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
