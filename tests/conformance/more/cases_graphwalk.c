/* Random walks: graphs are made, changed, cloned, listed, made executable, updated and launched. In some walks nodes
 * allocate and free memory, in others they are conditional. Nodes and graphs are told by their numbers. The golden
 * answers lack the walks in which an early difference changes what is asked later. */
#include "graphs.h"

enum {
    GRAPHS = 8,
    NODES = 1000,
    EXECS = 4,
    STEPS = 300,
    OBJECTS = 4,
    SLOTS = 180,
    PLAIN = 0,
    MEMORY = 1,
    CONDITIONAL = 2
};

static struct {
    CUgraph h;
    int number;
    int inside; /* the number of the node whose child it is, or -1 */
    CUgraphConditionalHandle condition;
    unsigned keeps[OBJECTS];
} graphs[GRAPHS];
static struct {
    CUgraphNode h;
    int graph; /* its slot */
    int slot;
    CUgraphNodeType type;
    CUdeviceptr p;
} nodes[NODES];
static struct {
    CUgraphExec h;
    int of;
} execs[EXECS];
static struct {
    CUuserObject h;
    int held; /* how many references are ours */
} objects[OBJECTS];
static bool device_launch, ports;
static int step, mode, newest_graph, newest_node, destroyed;

static int said;
#define SAY(...) rec(said++ ? keyf("%d.%d", step, said) : keyf("%d", step), __VA_ARGS__)

static const char *node_name(CUgraphNode h)
{
    if (!h) return "-";
    for (int i = 0; i < newest_node; i++)
        if (nodes[i].h == h) return text("n%d", i);
    return "n?";
}

static const char *graph_name(CUgraph h)
{
    if (!h) return "-";
    for (int i = 0; i < GRAPHS; i++)
        if (graphs[i].h == h) return text("g%d", graphs[i].number);
    return "g?";
}

static int any_graph(void)
{
    for (int tries = 0, i = rnd(GRAPHS); tries < GRAPHS; tries++, i = (i + 1) % GRAPHS)
        if (graphs[i].h) return i;
    return -1;
}

static int free_graph(void)
{
    for (int i = 0; i < GRAPHS; i++)
        if (!graphs[i].h) return i;
    return -1;
}

/* A node of this graph, or of any if it is -1; -1: there is none. */
static int any_node(int graph)
{
    int found = -1, seen = 0;
    for (int i = 0; i < newest_node; i++)
        if (nodes[i].h && (graph < 0 || nodes[i].graph == graph) && !rnd(++seen)) found = i;
    return found;
}

static void forget_graph(int g);

static void forget_node(int n)
{
    nodes[n].h = NULL;
    for (int i = 0; i < GRAPHS; i++)
        if (graphs[i].h && graphs[i].inside == n) forget_graph(i);
}

static void forget_graph(int g)
{
    graphs[g].h = NULL;
    for (int i = 0; i < newest_node; i++)
        if (nodes[i].h && nodes[i].graph == g) forget_node(i);
}

static int take_graph(CUgraph h, int inside)
{
    int g = free_graph();
    if (g < 0) return g;
    graphs[g].h = h;
    graphs[g].number = newest_graph++;
    graphs[g].inside = inside;
    graphs[g].condition = 0;
    memset(graphs[g].keeps, 0, sizeof graphs[g].keeps);
    return g;
}

static int take_node(CUgraphNode h, int graph, CUgraphNodeType type, int slot)
{
    if (newest_node == NODES) exit(4);
    nodes[newest_node].h = h;
    nodes[newest_node].graph = graph;
    nodes[newest_node].type = type;
    nodes[newest_node].slot = slot;
    return newest_node++;
}

/* ---- nodes: each writes a place of its own, always the same values */

static CUdeviceptr place_of(int slot) { return dev + 16384 + 256 * (slot % SLOTS); }

static CUgraphNodeParams draw_copy(int slot)
{
    const unsigned n = 4 * (1 + rnd(32));
    const int from = 64 * (slot % 100);
    CUgraphNodeParams p;
    switch (slot % 6) {
    case 0: return copy_node(2, dev + from, 2, place_of(slot), n);
    case 1: return copy_node(1, (uint64_t)pinned + from, 2, place_of(slot), n);
    case 2: return copy_node(4, managed + from, 4, place_of(slot), n);
    case 3: return copy_node(2, dev + from, 1, (uint64_t)pinned + 16384 + 256 * (slot % SLOTS), n);
    case 4: return copy_node(3, (uint64_t)flat, 2, place_of(slot), n);
    default:
        p = copy_node(2, dev + from, 2, place_of(slot), 16);
        p.memcpy.copyParams.Height = 1 + rnd(4);
        p.memcpy.copyParams.srcPitch = p.memcpy.copyParams.dstPitch = 32;
        return p;
    }
}

static CUgraphNodeParams draw_memset(int slot)
{
    unsigned element = 1u << slot % 3, height = rnd(3) ? 1 : 2 + rnd(3);
    return memset_node(place_of(slot), slot & 0x7f, element, 1 + rnd(32 / element), height, height > 1 ? 64 : 0);
}

static CUgraphNodeParams draw(CUgraphNodeType type, int slot, int graph)
{
    CUgraphNodeParams p = { .type = type };
    int other;
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        p = fill_node(place_of(slot), 1 + rnd(60), slot);
        if (!rnd(4)) p.kernel.gridDimX = 2, p.kernel.blockDimX = 32;
        return p;
    case CU_GRAPH_NODE_TYPE_MEMCPY: return draw_copy(slot);
    case CU_GRAPH_NODE_TYPE_MEMSET: return draw_memset(slot);
    case CU_GRAPH_NODE_TYPE_HOST: return host_node(rnd(2) ? on_host : on_host2);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return event_node(type, events[rnd(4)]);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return operations_node(place_of(slot), slot, 1 + rnd(3));
    case CU_GRAPH_NODE_TYPE_GRAPH:
        other = any_graph();
        p.graph.graph = other < 0 || other == graph ? NULL : graphs[other].h;
        return p;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return alloc_node(rnd(3) ? 4096 << rnd(4) : (1 + rnd(4)) * MiB);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        for (int i = 0; i < newest_node; i++)
            if (nodes[i].p && !rnd(4)) p.free.dptr = nodes[i].p;
        return p;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        p.conditional.handle = graphs[graph].condition;
        p.conditional.type = rnd(2) * 2;
        p.conditional.size = 1 + rnd(p.conditional.type ? 3 : 2);
        p.conditional.ctx = ctx0;
        return p;
    default: return p;
    }
}

static CUgraphNodeType any_type(void)
{
    static const CUgraphNodeType types[] = { 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 5, 6, 7, 12 };
    if (mode == MEMORY && rnd(3)) return rnd(2) ? CU_GRAPH_NODE_TYPE_MEM_ALLOC : CU_GRAPH_NODE_TYPE_MEM_FREE;
    if (mode == CONDITIONAL && !rnd(4)) return CU_GRAPH_NODE_TYPE_CONDITIONAL;
    return types[rnd(sizeof types / sizeof *types)];
}

static int draw_nodes(int graph, CUgraphNode *out, int most, char *names)
{
    int n = rnd(most + 1), k = 0;
    *names = 0;
    for (int i = 0; i < n; i++) {
        int d = any_node(rnd(30) ? graph : -1);
        if (d < 0) break;
        bool again = false;
        for (int j = 0; j < k; j++) again |= out[j] == nodes[d].h;
        if (again && rnd(16)) continue;
        out[k++] = nodes[d].h;
        sprintf(names + strlen(names), ",n%d", d);
    }
    return k;
}

static void take_inside(int node)
{
    CUgraph h;
    if (nodes[node].type != CU_GRAPH_NODE_TYPE_GRAPH || cuGraphChildGraphNodeGetGraph(nodes[node].h, &h)) return;
    int g = take_graph(h, node);
    if (g < 0) return;
    CUgraphNode list[64];
    size_t n = 64;
    MUST(cuGraphGetNodes(h, list, &n));
    for (size_t i = 0; i < n; i++) {
        CUgraphNodeType t;
        MUST(cuGraphNodeGetType(list[i], &t));
        take_node(list[i], g, t, newest_node);
    }
}

static void add(int g)
{
    CUgraphNode before[4], n = NULL;
    char names[60];
    const CUgraphNodeType type = any_type();
    int count = draw_nodes(g, before, 3, names), slot = newest_node;
    CUgraphNodeParams p = draw(type, slot, g);
    const bool typed = rnd(2);
    const char *more = type == CU_GRAPH_NODE_TYPE_GRAPH ? graph_name(p.graph.graph) : "";
    if (type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        for (int i = 0; i < newest_node; i++)
            if (nodes[i].p == p.free.dptr) more = text("of n%d", i);
    CUresult r = typed ? add_typed(&n, graphs[g].h, before, count, &p)
                       : cuGraphAddNode(&n, graphs[g].h, before, NULL, count, &p);
    SAY("add%d t%d to g%d%s after %s = %s n%d %s", typed, type, graphs[g].number, more, names, rname(r), newest_node,
        r ? "" : node_text(n));
    int i = take_node(r ? NULL : n, g, type, slot); /* numbers go on, whatever the answer */
    if (r) return;
    if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) nodes[i].p = p.alloc.dptr;
    if (type == CU_GRAPH_NODE_TYPE_GRAPH && rnd(2)) take_inside(i);
    if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
        graphs[g].condition = 0;
        for (unsigned k = 0; k < p.conditional.size; k++) take_graph(p.conditional.phGraph_out[k], i);
    }
}

/* ---- edges */

static void change_edges(int g)
{
    CUgraphNode from[3], to[3];
    char names[100] = "";
    const int n = 1 + rnd(3), remove = rnd(2);
    for (int i = 0; i < n; i++) {
        int a = any_node(rnd(40) ? g : -1), b = any_node(rnd(40) ? g : -1);
        if (a < 0 || b < 0) return;
        if (remove && rnd(4)) { /* one that is there */
            CUgraphNode f[8];
            size_t count = 8;
            if (!cuGraphNodeGetDependencies(nodes[b].h, f, NULL, &count) && count)
                for (int k = 0; k < newest_node; k++)
                    if (nodes[k].h == f[0]) a = k;
        } else if (a > b && rnd(20)) {
            int c = a;
            a = b;
            b = c;
        }
        if (a == b && rnd(10)) return;
        from[i] = nodes[a].h;
        to[i] = nodes[b].h;
        sprintf(names + strlen(names), " n%d>n%d", a, b);
    }
    CUgraphEdgeData data[3];
    memset(data, 0, sizeof data);
    if (!rnd(8)) data[rnd(n)].to_port = 1;
    if (!rnd(8)) data[rnd(n)].type = 1;
    if (!rnd(8)) data[rnd(n)].from_port = 1 + rnd(2);
    const bool with = rnd(3) == 0;
    if (!ports) memset(data, 0, sizeof data);
    if (with)
        for (int i = 0; i < n; i++)
            sprintf(names + strlen(names), " %d%d%d", data[i].from_port, data[i].to_port, data[i].type);
    CUresult r = remove ? cuGraphRemoveDependencies(graphs[g].h, from, to, with ? data : NULL, n)
                        : cuGraphAddDependencies(graphs[g].h, from, to, with ? data : NULL, n);
    SAY("%s g%d%s = %s", remove ? "disconnect" : "connect", graphs[g].number, names, rname(r));
}

static void list_nodes(const char *head, CUresult r, const CUgraphNode *list, size_t n, size_t room)
{
    char names[200] = "";
    for (size_t i = 0; !r && i < (n < room ? n : room) && i < 30; i++)
        sprintf(names + strlen(names), " %s", node_name(list[i]));
    SAY("%s = %s %zu%s", head, rname(r), n, names);
}

static void ask_list(int g)
{
    CUgraphNode list[70], to[70];
    CUgraphEdgeData data[70];
    size_t room = rnd(4) ? 60 : rnd(4), n = room;
    int node = any_node(g);
    memset(list, 0, sizeof list);
    memset(to, 0, sizeof to);
    memset(data, 0x11, sizeof data);
    CUresult r;
    char names[400] = "";
    switch (rnd(5)) {
    case 0:
        r = cuGraphGetNodes(graphs[g].h, list, &n);
        list_nodes(text("nodes g%d/%zu", graphs[g].number, room), r, list, n, room);
        break;
    case 1:
        r = cuGraphGetRootNodes(graphs[g].h, list, &n);
        list_nodes(text("roots g%d/%zu", graphs[g].number, room), r, list, n, room);
        break;
    case 2:
        r = cuGraphGetEdges(graphs[g].h, list, to, rnd(2) ? data : NULL, &n);
        for (size_t i = 0; !r && i < n && i < room && i < 20; i++)
            sprintf(names + strlen(names), " %s>%s:%d%d", node_name(list[i]), node_name(to[i]), data[i].to_port,
                    data[i].type);
        SAY("edges g%d/%zu = %s %zu%s", graphs[g].number, room, rname(r), n, names);
        break;
    case 3:
        if (node < 0) return;
        r = cuGraphNodeGetDependencies(nodes[node].h, list, NULL, &n);
        list_nodes(text("before n%d/%zu", node, room), r, list, n, room);
        break;
    default:
        if (node < 0) return;
        r = cuGraphNodeGetDependentNodes(nodes[node].h, list, data, &n);
        list_nodes(text("after n%d/%zu %d", node, room, data[0].type), r, list, n, room);
    }
}

/* ---- graphs */

static void clone(int g)
{
    CUgraph h = NULL;
    CUresult r = cuGraphClone(&h, graphs[g].h);
    SAY("clone g%d = %s g%d", graphs[g].number, rname(r), newest_graph);
    if (r) {
        newest_graph++;
        for (int i = 0, n = newest_node; i < n; i++)
            if (nodes[i].h && nodes[i].graph == g) take_node(NULL, 0, 0, 0);
        return;
    }
    int c = take_graph(h, -1);
    memcpy(graphs[c].keeps, graphs[g].keeps, sizeof graphs[c].keeps);
    for (int i = 0, n = newest_node; i < n; i++) {
        CUgraphNode copy;
        if (!nodes[i].h || nodes[i].graph != g) continue;
        r = cuGraphNodeFindInClone(&copy, nodes[i].h, h);
        if (r) SAY("lost n%d = %s", i, rname(r));
        take_node(r ? NULL : copy, c, nodes[i].type, nodes[i].slot);
    }
}

static void find(void)
{
    CUgraphNode copy = NULL;
    int n = any_node(-1), g = any_graph();
    if (n < 0) return;
    CUresult r = cuGraphNodeFindInClone(&copy, nodes[n].h, graphs[g].h);
    SAY("find n%d in g%d = %s %s", n, graphs[g].number, rname(r), r ? "" : node_name(copy));
}

static void destroy_graph(int g)
{
    if (graphs[g].inside >= 0 && rnd(4)) return;
    CUresult r = cuGraphDestroy(graphs[g].h);
    SAY("destroy g%d = %s destroyed%d", graphs[g].number, rname(r), destroyed);
    if (!r) forget_graph(g);
}

static void destroy_node(void)
{
    int n = any_node(-1);
    if (n < 0) return;
    CUresult r = cuGraphDestroyNode(nodes[n].h);
    SAY("destroy n%d t%d = %s", n, nodes[n].type, rname(r));
    if (!r) forget_node(n);
}

static void set_node(void)
{
    int n = any_node(-1);
    if (n < 0) return;
    CUgraphNodeType t = nodes[n].type;
    if (t == CU_GRAPH_NODE_TYPE_GRAPH || t == CU_GRAPH_NODE_TYPE_CONDITIONAL) return;
    if (!rnd(10)) t = rnd(3);
    CUgraphNodeParams p = draw(t, nodes[n].slot, nodes[n].graph);
    CUresult r = rnd(2) ? set_typed(nodes[n].h, &p) : cuGraphNodeSetParams(nodes[n].h, &p);
    SAY("set n%d t%d t%d = %s %s", n, nodes[n].type, t, rname(r), node_text(nodes[n].h));
}

/* ---- executable graphs */

static void instantiate(int g)
{
    static const unsigned flags[] = { 0, 0, 0, 0, 1, 2, 8, 9, 3, 4, 5, 16 };
    const unsigned drawn = flags[rnd(12)], f = device_launch ? drawn : drawn & ~4u;
    int e = rnd(EXECS);
    CUgraphExec x = NULL;
    CUgraphNode bad = NULL;
    CUresult r;
    if (execs[e].h) return;
    const char *head = text("instantiate g%d f%u", graphs[g].number, f);
    if (rnd(2)) {
        CUDA_GRAPH_INSTANTIATE_PARAMS p = { f, s0, (CUgraphNode)5, 77 };
        r = cuGraphInstantiateWithParams(&x, graphs[g].h, &p);
        SAY("%s params = %s %d %s x%d", head, rname(r), p.result_out,
            p.hErrNode_out == (CUgraphNode)5 ? "kept" : node_name(p.hErrNode_out), e);
    } else {
        r = cuGraphInstantiate(&x, graphs[g].h, f);
        SAY("%s = %s x%d", head, rname(r), e);
    }
    if (r) return;
    execs[e].h = x;
    execs[e].of = graphs[g].number;
}

static int any_exec(void)
{
    for (int tries = 0, i = rnd(EXECS); tries < EXECS; tries++, i = (i + 1) % EXECS)
        if (execs[i].h) return i;
    return -1;
}

static void launch(int e)
{
    CUstream s = rnd(3) ? s0 : rnd(2) ? s1 : s2;
    int other = rnd(4) ? -1 : any_exec();
    reset();
    calls = 0;
    CUresult r = cuGraphLaunch(execs[e].h, s), r2 = other < 0 ? CUDA_SUCCESS : cuGraphLaunch(execs[other].h, s1),
             r3 = cuCtxSynchronize();
    SAY("launch x%d g%d and x%d = %s %s %s calls%d %s", e, execs[e].of, other, rname(r), rname(r2), rname(r3), calls,
        contents());
    if (r3) exit(5);
}

static void update(int e)
{
    int g = any_graph();
    for (int tries = 0; tries < 3 && graphs[g].number != execs[e].of; tries++) g = any_graph();
    CUgraphExecUpdateResultInfo info = { 99, (CUgraphNode)5, (CUgraphNode)5 };
    CUresult r = cuGraphExecUpdate(execs[e].h, graphs[g].h, &info);
    SAY("update x%d of g%d by g%d = %s %d %s %s", e, execs[e].of, graphs[g].number, rname(r), info.result,
        info.errorNode == (CUgraphNode)5 ? "kept" : node_name(info.errorNode),
        info.errorFromNode == (CUgraphNode)5 ? "kept" : node_name(info.errorFromNode));
}

static void ask_exec(int e)
{
    CUresult r;
    cuuint64_t flags = 99;
    unsigned on = 99;
    int n = any_node(-1);
    for (int tries = 0; tries < 5 && n >= 0 && graphs[nodes[n].graph].number != execs[e].of; tries++) n = any_node(-1);
    if (n < 0) return;
    const char *head = text("x%d of g%d n%d t%d g%d", e, execs[e].of, n, nodes[n].type, graphs[nodes[n].graph].number);
    switch (rnd(12)) {
    case 0:
        r = cuGraphExecGetFlags(execs[e].h, &flags);
        SAY("flags x%d = %s %d", e, rname(r), (int)flags);
        break;
    case 1: SAY("upload x%d = %s", e, rname(cuGraphUpload(execs[e].h, rnd(2) ? s0 : s2))); break;
    case 2:
    case 3:
        r = cuGraphNodeGetEnabled(execs[e].h, nodes[n].h, &on);
        SAY("enabled %s = %s %u", head, rname(r), on);
        break;
    case 4:
    case 5:
        on = rnd(3);
        SAY("enable %s %u = %s", head, on, rname(cuGraphNodeSetEnabled(execs[e].h, nodes[n].h, on)));
        break;
    case 6:
        SAY("destroy x%d = %s destroyed%d", e, rname(cuGraphExecDestroy(execs[e].h)), destroyed);
        execs[e].h = NULL;
        break;
    default: {
        CUgraphNodeType t = nodes[n].type;
        if (t == CU_GRAPH_NODE_TYPE_CONDITIONAL) return;
        if (!rnd(10)) t = rnd(3);
        CUgraphNodeParams p = draw(t, nodes[n].slot, nodes[n].graph);
        const bool typed = rnd(2);
        r = typed ? set_exec_typed(execs[e].h, nodes[n].h, &p) : cuGraphExecNodeSetParams(execs[e].h, nodes[n].h, &p);
        SAY("setx%d %s t%d %s = %s", typed, head, t, t == CU_GRAPH_NODE_TYPE_GRAPH ? graph_name(p.graph.graph) : "",
            rname(r));
    }
    }
}

/* ---- user objects, attributes, memory */

static void on_destroy(void *p) { __atomic_add_fetch((int *)p, 1, 5); }

static void ask_object(int g)
{
    int i = rnd(OBJECTS);
    const unsigned n = rnd(4), f = rnd(5) ? rnd(2) : 2;
    CUresult r;
    if (!objects[i].h) {
        r = cuUserObjectCreate(&objects[i].h, &destroyed, on_destroy, n, rnd(6) ? 1 : rnd(3));
        if (!r)
            objects[i].held = n;
        else
            objects[i].h = NULL;
        SAY("object u%d n%u = %s", i, n, rname(r));
        return;
    }
    /* one of ours stays, but for the last release */
    const char *head = text("u%d held%d g%d n%u f%u", i, objects[i].held, graphs[g].number, n, f);
    switch (rnd(6)) {
    case 0:
        r = cuUserObjectRetain(objects[i].h, n);
        if (!r) objects[i].held += n;
        SAY("retain %s = %s", head, rname(r));
        break;
    case 1:
        if ((int)n > objects[i].held) return;
        r = cuUserObjectRelease(objects[i].h, n);
        if (!r) objects[i].held -= n;
        usleep(3000);
        SAY("release %s = %s destroyed%d", head, rname(r), destroyed);
        if (!objects[i].held) objects[i].h = NULL;
        break;
    case 2:
    case 3:
    case 4:
        if ((int)n > objects[i].held && f == 1) return;
        r = cuGraphRetainUserObject(graphs[g].h, objects[i].h, n, f);
        if (!r && f == 1) objects[i].held -= n;
        if (!r) graphs[g].keeps[i] += n;
        SAY("keep %s = %s destroyed%d", head, rname(r), destroyed);
        if (!objects[i].held) objects[i].h = NULL;
        break;
    default:
        if (n > graphs[g].keeps[i]) return;
        r = cuGraphReleaseUserObject(graphs[g].h, objects[i].h, n);
        if (!r) graphs[g].keeps[i] -= n;
        SAY("drop %s = %s destroyed%d", head, rname(r), destroyed);
    }
}

static const char *attribute_text(int a, const CUkernelNodeAttrValue *v)
{
    unsigned w[4];
    memcpy(w, v, sizeof w);
    if (a == 1)
        return text("%s %zu %g %d %d", place((uint64_t)v->accessPolicyWindow.base_ptr), v->accessPolicyWindow.num_bytes,
                    v->accessPolicyWindow.hitRatio, v->accessPolicyWindow.hitProp, v->accessPolicyWindow.missProp);
    if (a == 9) return text("%u %u", w[0] & 255, w[0] >> 8 & 255);
    return text("%u", w[0]);
}

static void ask_attribute(void)
{
    static const int known[] = { 1, 2, 4, 5, 8, 9, 10, 11, 13, 14, 16, 3, 6, 7, 12, 0, 17 };
    int n = any_node(-1), m = any_node(-1), a = known[rnd(17)];
    for (int tries = 0; tries < 3 && n >= 0 && nodes[n].type; tries++) n = any_node(-1);
    if (n < 0) return;
    CUkernelNodeAttrValue v;
    memset(&v, 0, sizeof v);
    unsigned w = rnd(4);
    CUresult r;
    switch (rnd(5)) {
    case 0:
        SAY("copyattr n%d t%d n%d t%d = %s", n, nodes[n].type, m, nodes[m].type,
            rname(cuGraphKernelNodeCopyAttributes(nodes[n].h, nodes[m].h)));
        break;
    case 1:
    case 2:
        r = cuGraphKernelNodeGetAttribute(nodes[n].h, a, &v);
        SAY("attr n%d t%d a%d = %s %s", n, nodes[n].type, a, rname(r), r ? "" : attribute_text(a, &v));
        break;
    default:
        if (a == 13 || a == 7 || a == 12) return;
        if (a == 8) w = -w;
        memcpy(&v, &w, sizeof w);
        if (a == 4 || a == 11) v.clusterDim.x = 1, v.clusterDim.y = v.clusterDim.z = rnd(8) ? 1 : 0, w = v.clusterDim.z;
        if (a == 1) v.accessPolicyWindow = (CUaccessPolicyWindow){ (void *)dev, w * 1024, 0.5f, w % 3, rnd(2) * 2 };
        if (a == 2) w = rnd(2), memcpy(&v, &w, sizeof w);
        r = cuGraphKernelNodeSetAttribute(nodes[n].h, a, &v);
        SAY("setattr n%d t%d a%d %s = %s", n, nodes[n].type, a, attribute_text(a, &v), rname(r));
    }
}

static void ask_memory(void)
{
    cuuint64_t v[4] = { 99, 99, 99, 99 }, zero = 0;
    int i = rnd(newest_node + 1);
    switch (rnd(5)) {
    case 0:
    case 1:
        for (int k = 0; k < 4; k++) MUST(cuDeviceGetGraphMemAttribute(0, k, &v[k]));
        SAY("memory = %llu %llu %llu %llu", (long long)v[0], (long long)v[1], (long long)v[2], (long long)v[3]);
        break;
    case 2: SAY("trim = %s", rname(cuDeviceGraphMemTrim(0))); break;
    case 3: SAY("clear %d = %s", i % 4, rname(cuDeviceSetGraphMemAttribute(0, i % 4, &zero))); break;
    default:
        while (i && !nodes[i].p) i--;
        if (!nodes[i].p) return;
        if (rnd(2))
            SAY("freeasync of n%d = %s %s", i, rname(cuMemFreeAsync(nodes[i].p, s0)), rname(cuCtxSynchronize()));
        else
            SAY("free of n%d = %s", i, rname(cuMemFree(nodes[i].p)));
    }
}

static void make_condition(int g)
{
    const unsigned value = rnd(4), f = rnd(8) ? 1 : rnd(3);
    CUresult r = cuGraphConditionalHandleCreate(&graphs[g].condition, graphs[g].h, rnd(3) ? ctx0 : NULL, value, f);
    SAY("condition g%d v%u f%u = %s", graphs[g].number, value, f, rname(r));
}

static void walk_step(void)
{
    const unsigned q = rnd(100);
    int g = any_graph(), e = any_exec();
    if (g < 0 || (q < 3 && free_graph() >= 0)) {
        CUgraph h;
        MUST(cuGraphCreate(&h, 0));
        g = take_graph(h, -1);
        SAY("graph g%d", graphs[g].number);
    }
    if (q < 30)
        add(g);
    else if (q < 40)
        change_edges(g);
    else if (q < 50)
        ask_list(g);
    else if (q < 52 && free_graph() >= 0)
        clone(g);
    else if (q < 54)
        find();
    else if (q < 55)
        destroy_graph(g);
    else if (q < 58)
        destroy_node();
    else if (q < 63)
        set_node();
    else if (q < 68)
        instantiate(g);
    else if (q < 72)
        ask_object(g);
    else if (q < 76)
        ask_attribute();
    else if (q < 80 && mode == MEMORY)
        ask_memory();
    else if (q < 80 && mode == CONDITIONAL && !graphs[g].condition)
        make_condition(g);
    else if (q < 81)
        SAY("dot g%d = %s", graphs[g].number, rname(cuGraphDebugDotPrint(graphs[g].h, "/dev/null", rnd(2) ? 1 : 0)));
    else if (e >= 0 && q < 87)
        launch(e);
    else if (e >= 0 && q < 91)
        update(e);
    else if (e >= 0)
        ask_exec(e);
}

static void walk(int n)
{
    take_all();
    seed(n);
    mode = n <= 30 ? PLAIN : n <= 45 ? MEMORY : CONDITIONAL;
    device_launch = n % 10 == 9;
    ports = n % 10 == 8;
    for (step = 0; step < STEPS; step++) {
        seed(n * 1000 + step); /* so that an answer changes little of what is asked later */
        said = 0;
        walk_step();
    }
    for (int i = 0; i < EXECS; i++)
        if (execs[i].h) rec(keyf("exec%d", i), "%s", rname(cuGraphExecDestroy(execs[i].h)));
    for (int i = 0; i < GRAPHS; i++)
        if (graphs[i].h && graphs[i].inside < 0)
            rec(keyf("graph%d", i), "%s destroyed%d", rname(cuGraphDestroy(graphs[i].h)), destroyed);
}

#define SEEDS(X) \
    X(1) \
    X(2) \
    X(3) \
    X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) \
        X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) X(40) X(41) \
            X(42) X(43) X(44) X(45) X(46) X(47) X(48) X(49) X(50) X(51) X(52) X(53) X(54) X(55) X(56) X(57) X(58) \
                X(59) X(60)
#define WALK(i) \
    static void g_walk_##i(void) { walk(i); }
SEEDS(WALK)
#define GROUPS_(i) { "gwalk_" #i, g_walk_##i, 1 },
const struct group groups[] = { SEEDS(GROUPS_){ 0 } };
