/* Memory of graphs, at random (dice.h): chains of allocations and frees, and launches of graphs that allocate, in streams of
 * which some are held up. */
#include "arenas.h"

/* ---- a chain of allocations and frees; a new one from time to time */

enum { SLOTS = 8, CHAIN = 24 };
static struct {
    CUgraph graph;
    CUgraphNode last;
    CUdeviceptr slot[SLOTS];
} chain;

static void next_link(void)
{
    const unsigned k = draw(SLOTS);
    const size_t size =
        draw(10) ? (1 + draw(2000)) * 4096 : 1 + draw(10000); /* hardly ever are two holes of one size */
    CUgraphNode n;
    CUresult r;
    if (step % CHAIN == 0) {
        if (chain.graph) MUST(cuGraphDestroy(chain.graph));
        memset(&chain, 0, sizeof chain);
        MUST(cuGraphCreate(&chain.graph, 0));
    }
    const size_t before = chain.last != NULL;
    if (chain.slot[k]) {
        r = cuGraphAddMemFreeNode(&n, chain.graph, &chain.last, before, chain.slot[k]);
        add("free %s", rname(r));
        chain.slot[k] = 0;
    } else {
        r = add_allocation(chain.graph, &chain.last, before, size, &n, &chain.slot[k]);
        add("%zu at %ld %s", size, (long)(chain.slot[k] - base), rname(r));
    }
    if (!r) chain.last = n;
    say();
}

/* ---- launches */

enum { GRAPHS = 4, ALLOCATIONS = 3 };
static struct launched {
    CUgraph graph;
    CUgraphExec executable;
    CUdeviceptr left[ALLOCATIONS]; /* what the graph does not free */
} launched[GRAPHS];

static void make_graph(struct launched *l)
{
    static const size_t sizes[] = { 1, 20, 33, 40, 70 };
    const unsigned count = 1 + draw(ALLOCATIONS), flags = draw(4) ? 0 : CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    CUgraphNode n = NULL;
    MUST(cuGraphCreate(&l->graph, 0));
    for (unsigned k = 0; k < count; k++) {
        const size_t size = sizes[draw(5)];
        const bool freed = draw(2);
        CUdeviceptr p;
        MUST(add_allocation(l->graph, &n, n != NULL, size * MiB, &n, &p));
        add("%zu%s ", size, freed ? "" : " stays");
        l->left[k] = freed ? 0 : p;
        if (freed) MUST(cuGraphAddMemFreeNode(&n, l->graph, &n, 1, p));
    }
    MUST(cuGraphInstantiate(&l->executable, l->graph, flags));
    if (flags) add("freed at launch");
}

static void end_graph(struct launched *l)
{
    const CUresult r = cuGraphExecDestroy(l->executable), r2 = cuGraphDestroy(l->graph);
    add("end %s %s", rname(r), rname(r2));
    memset(l, 0, sizeof *l);
}

/* What becomes ready does so soon, also on a busy machine; what waits for a stream that is held up does not. */
static void add_readiness(void)
{
    for (int k = 0; k < STREAMS; k++) {
        const int patience = held[k] == turns[k] ? 100 : 1;
        CUresult r = CUDA_ERROR_NOT_READY;
        for (int ms = 0; ms < patience && (r = cuStreamQuery(streams[k])) == CUDA_ERROR_NOT_READY; ms++) usleep(1000);
        add(" %s", r == CUDA_ERROR_NOT_READY ? "waits" : rname(r));
    }
}

static void free_one(struct launched *l, unsigned k, CUstream s)
{
    const CUdeviceptr p = l->left[draw(ALLOCATIONS)];
    bool any = false;
    for (int j = 0; j < STREAMS; j++) any |= held[j] != turns[j];
    if (!p) return;
    if (k || any)
        add("free %s", rname(cuMemFreeAsync(p, s)));
    else
        add("free at once %s", rname(cuMemFree(p)));
}

static void launch(void)
{
    struct launched *l = &launched[draw(GRAPHS)];
    const unsigned k = draw(STREAMS), what = draw(20), other = draw(3);
    const CUstream s = streams[k];
    if (what == 0) {
        usleep(20000); /* a launch that waited for another stream may be done in one that is held up again */
        add("trim %s", rname(cuDeviceGraphMemTrim(dev0)));
    } else if (what == 1) {
        add("highs %s", rname(reset_highs()));
    } else if (what < 5) {
        if (held[k] == turns[k])
            add("hold %u %s", k, rname(hold((int)k)));
        else
            go((int)k), add("go %u", k);
    } else if (!l->graph) {
        make_graph(l);
    } else if (what < 7) {
        end_graph(l);
    } else if (what < 12) {
        free_one(l, other, s);
    } else if (what == 12) {
        add("upload %u %s", k, rname(cuGraphUpload(l->executable, s)));
    } else {
        add("launch %u %s", k, rname(cuGraphLaunch(l->executable, s)));
    }
    add_readiness();
    add_attributes();
    say();
}

#define CHAINS(seed) WALK(chain, seed, 480, begin, next_link)
#define LAUNCHES(seed, steps) WALK(launches, seed, steps, begin, launch)
CHAINS(1)
CHAINS(2)
LAUNCHES(1, 94) LAUNCHES(2, 50) LAUNCHES(3, 40) LAUNCHES(4, 49) LAUNCHES(5, 30) LAUNCHES(6, 30) LAUNCHES(7, 30)
    LAUNCHES(8, 30) LAUNCHES(7701, 73)

        const struct group groups[] = { WALKED(chain, 1),
                                        WALKED(chain, 2),
                                        WALKED(launches, 1),
                                        WALKED(launches, 2),
                                        WALKED(launches, 3),
                                        WALKED(launches, 4),
                                        WALKED(launches, 5),
                                        WALKED(launches, 6),
                                        WALKED(launches, 7),
                                        WALKED(launches, 8),
                                        WALKED(launches, 7701),
                                        { 0 } };
