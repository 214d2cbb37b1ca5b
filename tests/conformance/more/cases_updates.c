/* Updates of executable graphs, by graphs whose nodes or edges were made in another order, or that differ by an edge or a
 * node's type. A line: the order in which the nodes of both were made (e: an empty one, else a fill of a word of its own),
 * their edges in order, what is answered and of which node; and, if it is an update, which node of the new graph each of the
 * old corresponds to: when that one is given another place to fill, the new one's word stays as it is. */
#include "oracle.h"
#include <stdbool.h>

enum { MOST = 9, MOST_EDGES = 64, CASES = 800, ELSEWHERE = 100 };

static CUdeviceptr words;
static CUstream s;
static uint64_t state;

static unsigned rnd(unsigned n)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % n;
}

struct plan {
    int nodes, edges, order[MOST], from[MOST_EDGES], to[MOST_EDGES];
    bool empty[MOST];
};

static CUgraphNodeParams fill(int word)
{
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_MEMSET };
    p.memset.dst = words + 4 * (CUdeviceptr)word;
    p.memset.value = 1;
    p.memset.elementSize = 4;
    p.memset.width = p.memset.height = 1;
    p.memset.ctx = ctx0;
    return p;
}

static CUgraph build(const struct plan *d, CUgraphNode *node)
{
    CUgraph g;
    MUST(cuGraphCreate(&g, 0));
    for (int k = 0; k < d->nodes; k++) {
        const int i = d->order[k];
        CUgraphNodeParams p = fill(i);
        if (d->empty[i])
            MUST(cuGraphAddEmptyNode(&node[i], g, NULL, 0));
        else
            MUST(cuGraphAddNode(&node[i], g, NULL, NULL, 0, &p));
    }
    for (int k = 0; k < d->edges; k++) MUST(cuGraphAddDependencies(g, &node[d->from[k]], &node[d->to[k]], NULL, 1));
    return g;
}

/* ---- plans */

static void swap(int *a, int *b)
{
    const int t = *a;
    *a = *b;
    *b = t;
}

static void swap_edges(struct plan *d, int a, int b)
{
    swap(&d->from[a], &d->from[b]);
    swap(&d->to[a], &d->to[b]);
}

static void mix_nodes(struct plan *d)
{
    for (int k = d->nodes - 1; k > 0; k--) swap(&d->order[k], &d->order[rnd((unsigned)k + 1)]);
}

static void mix_edges(struct plan *d)
{
    for (int k = d->edges - 1; k > 0; k--) swap_edges(d, k, (int)rnd((unsigned)k + 1));
}

static bool has_edge(const struct plan *d, int from, int to)
{
    for (int k = 0; k < d->edges; k++)
        if (d->from[k] == from && d->to[k] == to) return true;
    return false;
}

static struct plan any_plan(void)
{
    struct plan d = { .nodes = 2 + (int)rnd(MOST - 2) };
    const unsigned dense = 1 + rnd(4);
    for (int i = 0; i < d.nodes; i++) {
        d.order[i] = i;
        for (int j = 0; j < i; j++)
            if (rnd(5) < dense) d.from[d.edges] = j, d.to[d.edges++] = i;
    }
    if (rnd(3) == 0) mix_edges(&d);
    if (rnd(3) == 0) mix_nodes(&d);
    return d;
}

static void add_edge(struct plan *d)
{
    for (int tries = 0; tries < 20; tries++) {
        const int i = (int)rnd((unsigned)d->nodes), j = (int)rnd((unsigned)d->nodes);
        if (i >= j || has_edge(d, i, j)) continue;
        d->from[d->edges] = i, d->to[d->edges++] = j;
        return;
    }
}

static void move_edge(struct plan *d)
{
    const int k = (int)rnd((unsigned)d->edges), i = (int)rnd((unsigned)d->nodes);
    if (i < d->to[k] && !has_edge(d, i, d->to[k])) d->from[k] = i;
}

static void spoil(struct plan *d)
{
    switch (rnd(6)) {
    case 0:
        if (!d->edges) break;
        swap_edges(d, (int)rnd((unsigned)d->edges), d->edges - 1);
        d->edges--;
        break;
    case 1: add_edge(d); break;
    case 2: d->empty[rnd((unsigned)d->nodes)] = true; break;
    case 3:
        if (d->edges) move_edge(d);
        break;
    case 4:
        d->empty[rnd((unsigned)d->nodes)] = true;
        d->empty[rnd((unsigned)d->nodes)] = true;
        break;
    default:
        if (d->edges < 2) break;
        const int k = (int)rnd((unsigned)d->edges - 1);
        swap_edges(d, k, k + 1);
    }
}

/* ---- what is told */

static char line[2048];
static size_t used;
#define ADD(...) (used += (size_t)snprintf(line + used, sizeof line - used, __VA_ARGS__))

static void tell_plan(const struct plan *d)
{
    for (int k = 0; k < d->nodes; k++) ADD("%d%s", d->order[k], d->empty[d->order[k]] ? "e" : "");
    ADD(" ");
    for (int k = 0; k < d->edges; k++) ADD("%s%d>%d", k ? "," : "", d->from[k], d->to[k]);
    if (!d->edges) ADD("-");
}

static void tell_node(CUgraphNode n, CUgraphNode *const *of, int count)
{
    for (int which = 0; n && which < 2; which++)
        for (int k = 0; k < count; k++)
            if (n == of[which][k]) {
                ADD(" %s%d", which ? "old" : "", k);
                return;
            }
    ADD(n ? " ?" : " -");
}

static void tell_pair(CUgraph old, CUgraph new, CUgraphNode node, const struct plan *d)
{
    uint32_t value[MOST];
    CUgraphExec x;
    CUgraphExecUpdateResultInfo info;
    CUgraphNodeParams p = fill(ELSEWHERE);
    MUST(cuGraphInstantiate(&x, old, 0));
    MUST(cuGraphExecUpdate(x, new, &info));
    MUST(cuGraphExecNodeSetParams(x, node, &p));
    MUST(cuMemsetD32(words, 0, MOST));
    MUST(cuCtxSynchronize());
    MUST(cuGraphLaunch(x, s));
    MUST(cuStreamSynchronize(s));
    MUST(cuMemcpyDtoH(value, words, sizeof value));
    int found = -1;
    for (int k = 0; k < d->nodes; k++)
        if (!value[k] && !d->empty[k]) found = k;
    ADD(" %d", found);
    MUST(cuGraphExecDestroy(x));
}

static void update(int number)
{
    CUgraphNode a[MOST] = { 0 }, b[MOST] = { 0 }, *const both[] = { b, a };
    CUgraphExec x;
    state = (uint64_t)number * 0x9E3779B97F4A7C15ull + 7;
    rnd(2), rnd(2);
    struct plan old = any_plan(), new = old;
    const unsigned how = rnd(8);
    if (how & 1) mix_nodes(&new);
    if (how & 2) mix_edges(&new);
    if (how & 4) spoil(&new);
    CUgraph g = build(&old, a), h = build(&new, b);
    MUST(cuGraphInstantiate(&x, g, 0));
    CUgraphExecUpdateResultInfo info = { 99, (CUgraphNode)5, (CUgraphNode)5 };
    CUresult r = cuGraphExecUpdate(x, h, &info);
    used = 0;
    tell_plan(&old);
    ADD(" / ");
    tell_plan(&new);
    ADD(" = %s %d", rname(r), info.result);
    tell_node(info.errorNode, both, new.nodes);
    tell_node(info.errorFromNode, both, new.nodes);
    if (!r) ADD(" pairs");
    for (int k = 0; !r && k < old.nodes; k++) tell_pair(g, h, a[k], &new);
    rec(keyf("%d", number), "%s", line);
    MUST(cuGraphExecDestroy(x));
    MUST(cuGraphDestroy(g));
    MUST(cuGraphDestroy(h));
}

static void updates(int part)
{
    setup();
    MUST(cuMemAlloc(&words, 4096));
    MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    for (int k = part * CASES; k < (part + 1) * CASES; k++) update(k);
}

static void updates_0(void) { updates(0); }
static void updates_1(void) { updates(1); }
static void updates_2(void) { updates(2); }
static void updates_3(void) { updates(3); }

const struct group groups[] = {
    { "updates_0", updates_0, 1 }, { "updates_1", updates_1, 1 }, { "updates_2", updates_2, 1 }, { "updates_3", updates_3, 1 }, { 0 }
};
