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

/* ---- the order of nodes, as mempool/layout.h asks for it */

static bool is_marked(const void *point) { return ((const struct node *)point)->marked; }

/* Marks what n comes after and was not marked, by the edges that nodes were made with (observed on H200). *found: the node
 * that the graph's marks were made for is among it. */
static CUresult mark_before(const struct node *n, bool *found)
{
    CUresult r = CUDA_SUCCESS;
    struct node_list marked = { 0 };
    *found = false;
    for (unsigned k = 0; !r; k++) {
        for (unsigned j = 0; j < n->before.count && j < n->born_behind && !r; j++) {
            struct node *b = n->before.node[j];
            if (b->marked || (r = list_add(&marked, b))) continue;
            b->marked = true;
            *found |= b == b->graph->marked_for;
        }
        if (k == marked.count) break;
        n = marked.node[k];
    }
    list_free(&marked);
    return r;
}

/* Marks what n comes after, and nothing else. Most often n comes after the last one for which that was done, and all that
 * was marked then is right. */
static CUresult mark(const struct node *n)
{
    struct graph *g = n->graph;
    bool found;
    CUresult r = mark_before(n, &found);
    if (r || !found) {
        for (unsigned k = 0; k < g->nodes.count; k++) g->nodes.node[k]->marked = false;
        if (!r) r = mark_before(n, &found);
    }
    g->marked_for = r ? NULL : n;
    return r;
}

/* ---- allocating and freeing */

static CUresult arena_of(struct graph *g, struct device *d, struct arena **out)
{
    struct graph_arena *a = g->arenas;
    while (a && a->device != d) a = a->next;
    if (!a) {
        if (!(a = calloc(1, sizeof *a))) return CUDA_ERROR_OUT_OF_MEMORY;
        CUresult r = mempool_arena(d, &a->arena);
        if (r) {
            free(a);
            return r;
        }
        a->device = d;
        a->next = g->arenas;
        g->arenas = a;
    }
    *out = a->arena;
    return CUDA_SUCCESS;
}

void graph_arenas_drop(struct graph *g)
{
    while (g->arenas) {
        struct graph_arena *a = g->arenas;
        g->arenas = a->next;
        mempool_arena_drop(a->arena);
        free(a);
    }
}

CUresult graph_memory_new(const struct node *n, const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p, struct graph_memory **out)
{
    struct context *c;
    struct device *d;
    struct arena *a;
    CUresult r = context_current(&c);
    if (r || (r = graph_memory_check(p)) || (r = device_get(p->poolProps.location.id, &d))) return r;
    struct graph_memory *m = calloc(1, sizeof *m);
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    m->references = 1;
    note_access(m, p);
    r = mark(n);
    if (!r && !(r = arena_of(n->graph, d, &a))) r = mempool_keep(a, p->bytesize, m->others, is_marked, &m->kept);
    if (r)
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

/* The graph's own at an address, *any if there is one: what is not freed yet, or NULL. */
static struct graph_memory *own_at(const struct graph *g, CUdeviceptr address, bool *any)
{
    struct graph_memory *found = NULL;
    *any = false;
    for (unsigned k = 0; k < g->nodes.count && !found; k++) {
        struct graph_memory *m = g->nodes.node[k]->memory;
        if (!m || m->kept.address != address) continue;
        *any = true;
        if (!m->freed) found = m;
    }
    return found;
}

static CUresult free_own(const struct node *n, struct graph_memory *m)
{
    if (m->settled) return CUDA_ERROR_INVALID_VALUE; /* an H200 refuses it once the graph was made executable */
    CUresult r = mark(n);
    if (!r) r = mempool_reuse_kept(m->kept, n, is_marked);
    if (!r) m->freed = true;
    return r;
}

/* Whether a node of g frees it already. */
static bool is_freed_by(const struct graph *g, CUdeviceptr address)
{
    for (unsigned k = 0; k < g->nodes.count; k++) {
        const CUgraphNodeParams *p = &g->nodes.node[k]->params;
        if (p->type == CU_GRAPH_NODE_TYPE_MEM_FREE && p->free.dptr == address) return true;
    }
    return false;
}

/* What another graph allocates is freed once in each graph but its own. */
CUresult graph_memory_free(struct node *n, CUdeviceptr address)
{
    bool any;
    struct graph_memory *m = own_at(n->graph, address, &any);
    if ((n->frees_own = m != NULL)) return free_own(n, m);
    return any || is_freed_by(n->graph, address) || !mempool_free_from_outside(address) ? CUDA_ERROR_INVALID_VALUE
                                                                                         : CUDA_SUCCESS;
}
