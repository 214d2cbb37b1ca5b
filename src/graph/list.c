/* Lists of nodes; see list.h. */
#include "graph/list.h"
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

static CUresult grow(struct node_list *l)
{
    const unsigned capacity = l->capacity ? 2 * l->capacity : 4;
    struct node **more = realloc(l->node, capacity * sizeof *more);
    if (!more) return CUDA_ERROR_OUT_OF_MEMORY;
    l->node = more;
    CUgraphEdgeData *edges = realloc(l->edge, capacity * sizeof *edges);
    if (!edges) return CUDA_ERROR_OUT_OF_MEMORY;
    l->edge = edges;
    l->capacity = capacity;
    return CUDA_SUCCESS;
}

CUresult list_add_edge(struct node_list *l, struct node *n, CUgraphEdgeData edge)
{
    CUresult r = l->count < l->capacity ? CUDA_SUCCESS : grow(l);
    if (r) return r;
    l->edge[l->count] = edge;
    l->node[l->count++] = n;
    return r;
}

CUresult list_add(struct node_list *l, struct node *n) { return list_add_edge(l, n, (CUgraphEdgeData){ 0 }); }

bool list_has(const struct node_list *l, const struct node *n)
{
    for (unsigned k = 0; k < l->count; k++)
        if (l->node[k] == n) return true;
    return false;
}

void list_remove_edge(struct node_list *l, const struct node *n)
{
    unsigned k = l->count - 1; /* what came last goes first, mostly */
    while (l->node[k] != n) k--;
    l->count--;
    l->node[k] = l->node[l->count];
    l->edge[k] = l->edge[l->count];
}

void list_remove_node(struct node_list *l, const struct node *n)
{
    unsigned low = 0, high = l->count - 1;
    while (low < high) {
        const unsigned middle = low + (high - low) / 2;
        if (l->node[middle]->id < n->id)
            low = middle + 1;
        else
            high = middle;
    }
    l->count--;
    memmove(&l->node[low], &l->node[low + 1], (l->count - low) * sizeof *l->node);
    memmove(&l->edge[low], &l->edge[low + 1], (l->count - low) * sizeof *l->edge);
}

void list_free(struct node_list *l)
{
    free(l->node);
    free(l->edge);
    *l = (struct node_list){ 0 };
}
