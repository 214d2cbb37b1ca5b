/* Memory of graphs: which addresses allocations of a graph get, when there is memory for them, who shares it and when it is
 * given back. Scripts, each of which asks about one thing. */
#include "arenas.h"

enum { NAMES = 64, WORDS = 40, DEPENDENCIES = 32 };

/* What is in a script: commands with names, behind some of which nodes follow that come before. */

static struct named {
    char name[8];
    CUgraph graph;
    CUgraphExec executable;
    CUgraphNode node;
    CUdeviceptr address;
} all[NAMES];

static struct named *named(const char *name)
{
    int k = 0;
    while (*all[k].name && strcmp(all[k].name, name)) k++;
    snprintf(all[k].name, sizeof all[k].name, "%s", name);
    return &all[k];
}

static struct {
    char *word[WORDS];
    int count;
    CUgraphNode before[DEPENDENCIES];
} cmd;

static struct named *arg(int k) { return named(k < cmd.count ? cmd.word[k] : ""); }
static int number(int k) { return k < cmd.count ? atoi(cmd.word[k]) : 0; }

static size_t dependencies(int from)
{
    for (int k = from; k < cmd.count; k++) cmd.before[k - from] = arg(k)->node;
    return cmd.count > from ? (size_t)(cmd.count - from) : 0;
}

static void tell_pointer(CUdeviceptr p)
{
    CUdeviceptr b = 0;
    size_t size = 0;
    int mapped = -1, type = -1;
    void *pool = &pool;
    CUresult r = cuMemGetAddressRange(&b, &size, p);
    add(" %s %ld %zu", rname(r), b ? (long)(b - base) : 0, size);
    r = cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, p);
    add(" %s %d", rname(r), mapped);
    r = cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);
    add(" %s %d", rname(r), type);
    r = cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p);
    add(" %s %d", rname(r), !pool);
}

/* What builds graphs. False: it is another command. */
static bool build(char c, CUresult *r)
{
    struct named *g = arg(1), *n = arg(2);
    CUgraphExecUpdateResultInfo info;
    switch (c) {
    case 'g': *r = cuGraphCreate(&g->graph, 0); break;
    case 'a':
        *r = add_allocation(g->graph, cmd.before, dependencies(4), strtoull(cmd.word[3], 0, 0), &n->node, &n->address);
        add("+%ld ", (long)(n->address - base));
        break;
    case 'f': *r = cuGraphAddMemFreeNode(&n->node, g->graph, cmd.before, dependencies(4), arg(3)->address); break;
    case 'k': *r = cuGraphAddEmptyNode(&n->node, g->graph, cmd.before, dependencies(3)); break;
    case 'd': *r = cuGraphAddDependencies(g->graph, &n->node, &arg(3)->node, NULL, 1); break;
    case 'C': *r = cuGraphAddChildGraphNode(&n->node, g->graph, cmd.before, dependencies(4), arg(3)->graph); break;
    case 'i': *r = cuGraphInstantiate(&n->executable, g->graph, (unsigned)number(3)); break;
    case 'c': *r = cuGraphClone(&n->graph, g->graph); break;
    case 'U': *r = cuGraphExecUpdate(g->executable, n->graph, &info); break;
    case 'G': *r = cuGraphDestroy(g->graph); break;
    case 'N': *r = cuGraphDestroyNode(g->node); break;
    case 'E': *r = cuGraphExecDestroy(g->executable); break;
    default: return false;
    }
    return true;
}

static CUresult event_between(int from, int to)
{
    CUevent e;
    CUresult r = cuEventCreate(&e, CU_EVENT_DISABLE_TIMING);
    if (!r) r = cuEventRecord(e, streams[from]);
    return r ? r : cuStreamWaitEvent(streams[to], e, 0);
}

/* What waited for it is soon done, unless it waits for another stream that is held up. */
static CUresult release(int k)
{
    enum { PATIENCE_MS = 300 };
    go(k);
    CUresult r = cuStreamSynchronize(streams[k]);
    for (int j = 0; j < STREAMS; j++)
        for (int ms = 0; ms < PATIENCE_MS && held[j] == turns[j] && cuStreamQuery(streams[j]) == CUDA_ERROR_NOT_READY;
             ms++)
            usleep(1000);
    return r;
}

static CUresult run(char c)
{
    struct named *n = arg(1);
    const CUstream s = streams[number(2)];
    switch (c) {
    case 'l': return cuGraphLaunch(n->executable, s);
    case 'u': return cuGraphUpload(n->executable, s);
    case 'm': return cuMemFreeAsync(n->address, s);
    case 'M': return cuMemFree(n->address);
    case 'w': return cuMemsetD8(n->address, 7, 16);
    case 't': return cuDeviceGraphMemTrim(dev0);
    case 'h': return reset_highs();
    case 'y': return cuStreamSynchronize(streams[number(1)]);
    case 'Y': return cuCtxSynchronize();
    case 'b': return hold(number(1));
    case 'r': return release(number(1));
    case 'e': return event_between(number(1), number(2));
    case 'Q': return cuStreamQuery(streams[number(1)]);
    default: MUST(CUDA_ERROR_NOT_FOUND); return CUDA_SUCCESS;
    }
}

static void command(char *text)
{
    CUresult r = CUDA_SUCCESS;
    cmd.count = 0;
    for (char *rest, *w = strtok_r(text, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) cmd.word[cmd.count++] = w;
    add("%s ", cmd.word[0]);
    if (*cmd.word[0] == 'p')
        tell_pointer(arg(1)->address);
    else if (!build(*cmd.word[0], &r))
        r = run(*cmd.word[0]);
    add("%s", rname(r));
    add_attributes();
    say();
}

static void script(const char *text)
{
    char *copy = strdup(text);
    begin();
    step = 0;
    for (char *rest, *c = strtok_r(copy, ";", &rest); c; c = strtok_r(NULL, ";", &rest), step++) command(c);
}

static void g_reuse_in_a_chain(void)
{
    script("g G;a G A 1048576;f G fA A A;a G B 1048576 fA;f G fB B B;a G C 524288 fB;a G D 524288 C;i G E;u E;l E;"
           "y 0;p A;p C;l E;m C;m D;l E;y 0;M C;m D;l E;y 0;t;E E;G G;t;p A;p C");
}

static void g_no_order_between_free_and_alloc(void)
{
    script("g G;a G A 1048576;f G fA A A;a G B 1048576;a G C 1048576 A;p A;i G E;l E;y 0;p A;p B");
}

static void g_sizes(void)
{
    script("g G;a G A 1;a G B 512;a G C 513;a G D 100000;a G F 3000000;a G H 33554432;a G I 1;a G J 40000000;"
           "a G K 2097152;a G L 2097153;i G E;u E;l E;y 0;t");
}

static void g_many_small_then_free_and_bigger(void)
{
    script("g G;a G A 4096;a G B 4096 A;a G C 4096 B;f G fA A C;f G fB B fA;f G fC C fB;a G D 8192 fC;a G F 4096 D;"
           "a G H 12288 fC;a G I 4096 fC;a G J 2048 I;i G E;l E;y 0");
}

static void g_two_graphs_addresses(void)
{
    script("g G;a G A 1048576;f G fA A A;g H;a H B 1048576;f H fB B B;a H C 1048576 fB;g I;a I D 1048576;i G E;"
           "i H F;i I J;l E;y 0;l F;y 0;l J;y 0;t;m D;y 0;t");
}

static void g_two_graphs_same_stream_physical_reuse(void)
{
    script("g G;a G A 16777216;f G fA A A;g H;a H B 16777216;f H fB B B;i G E;i H F;l E 0;l F 0;y 0;t");
}

static void g_two_graphs_different_streams(void)
{
    script("g G;a G A 16777216;f G fA A A;g H;a H B 16777216;f H fB B B;i G E;i H F;l E 0;l F 1;Y;t;l E 0;Y;l F 1;Y");
}

static void g_big_graph(void)
{
    script("g G;a G A 67108864;f G fA A A;a G B 33554432 fA;a G C 33554432 fA;f G fB B B;f G fC C C;"
           "a G D 67108864 fB;a G F 67108864 fB fC;i G E;l E;y 0;m D;m F;y 0;t;l E;m D;m F;y 0");
}

static void g_upload_takes(void) { script("g G;a G A 16777216;f G fA A A;i G E;u E 0;t;y 0;t;l E;t;E E;t"); }

static void g_destroy_graph_before_launch_addresses_again(void)
{
    script("g G;a G A 1048576;G G;g H;a H B 1048576;i H E;G H;g I;a I C 1048576;l E;y 0;M B;E E;g J;a J D 1048576");
}

static void g_alloc_without_free_exec_destroyed(void)
{
    script("g G;a G A 1048576;i G E;l E;y 0;E E;p A;w A;M A;p A;G G;p A;t");
}

static void g_autofree_flag(void) { script("g G;a G A 1048576;i G E 1;l E;l E;y 0;E E;t;w A;M A"); }

static void g_clone_refuses(void) { script("g G;a G A 1048576;c G H;f G fA A A;c G I;N fA;N A"); }

static void g_branches(void)
{
    script("g G;k G r;a G A 1048576 r;a G B 1048576 r;f G fA A A;f G fB B B;k G j fA fB;a G C 2097152 j;f G fC C C;"
           "a G D 1048576 fC;a G F 1048576 fC;i G E;l E;y 0");
}

static void g_free_behind_allocated_by_diamond(void)
{
    script("g G;a G A 1048576;k G x A;k G y A;f G fA A x y;a G B 1048576 x;a G C 1048576 fA");
}

static void g_extra_edge_later_makes_order(void)
{
    script("g G;a G A 1048576;f G fA A A;k G x;d G fA x;a G B 1048576 x");
}

static void g_first_fit_or_best_fit(void)
{
    script("g G;a G A 4194304;a G B 1048576 A;a G C 2097152 B;a G D 1048576 C;a G F 8388608 D;f G fA A F;"
           "f G fC C fA;f G fF F fC;a G p1 1048576 fF;a G p2 2097152 p1;a G p3 4194304 p2;a G p4 1048576 p3");
}

static void g_last_freed_first(void)
{
    script("g G;a G A 1048576;a G x1 512 A;a G B 1048576 A;a G x2 512 A;a G C 1048576 A;a G x3 512 A;"
           "f G fB B A B C x1 x2 x3;f G fA A fB;f G fC C fA;a G P 1048576 fC;a G Q 1048576 P;a G R 1048576 Q");
}

static void g_partially_ordered_frees_merge(void)
{
    script("g G;a G A 1048576;a G B 1048576 A;f G fA A B;f G fB B B;a G C 2097152 fA;a G D 1048576 fA;"
           "a G F 1048576 fB;a G H 2097152 fA fB");
}

static void g_free_in_other_graph(void)
{
    script("g G;a G A 1048576;i G E;g H;f H fA A;a H B 1048576 fA;i H F;l E;l F;l E;m A;l E;l F;y 0;M B");
}

static void g_pools_grow(void)
{
    script("g G;a G A 33554432;a G B 1048576;a G C 33554432;a G D 1048576;a G F 1048576;i G E;l E;y 0;M A;t;M B;t;"
           "M C;t;M D;t;M F;t");
}

static void g_highs(void) { script("g G;a G A 4194304;i G E;l E;y 0;h;M A;h;t;h;l E;y 0;M A;t;h"); }

static void g_relaunch_after_trim(void) { script("g G;a G A 4194304;f G fA A A;i G E;l E;y 0;t;l E;y 0;E E;G G"); }

static void g_two_execs_of_allocations_freed_inside(void)
{
    script("g G;a G A 4194304;f G fA A A;i G E;i G F;l E;l F;y 0");
}

static void g_two_graphs_same_stream_overlapping_lifetimes(void)
{
    script("g G;a G A 4194304;g H;a H B 4194304;i G E;i H F;l E 0;l F 0;y 0;m A 0;m B 0;y 0;t");
}

static void g_two_graphs_free_first_then_the_other(void)
{
    script("g G;a G A 4194304;g H;a H B 4194304;i G E;i H F;l E 0;m A 0;l F 0;y 0;m B 0;y 0;t");
}

static void g_inflight_other_stream(void)
{
    script("g G;a G A 16777216;f G fA A A;g H;a H B 16777216;f H fB B B;i G E;i H F;b 0;l E 0;l F 1;t;y 1;t;l F 1;"
           "y 1;t;r 0;t");
}

static void g_inflight_other_stream_with_event(void)
{
    script("g G;a G A 16777216;f G fA A A;g H;a H B 16777216;f H fB B B;i G E;i H F;b 0;l E 0;e 0 1;l F 1;r 0;y 1;t");
}

static void g_inflight_same_stream(void)
{
    script("g G;a G A 16777216;f G fA A A;g H;a H B 16777216;f H fB B B;i G E;i H F;b 0;l E 0;l F 0;t;r 0;t");
}

static void g_pending_free_other_stream(void)
{
    script("g G;a G A 16777216;g H;a H B 16777216;f H fB B B;i G E;i H F;l E 0;y 0;b 1;m A 1;l F 0;t;Q 0;r 1;t;"
           "l F 0;y 0;l E 0;y 0");
}

static void g_pending_free_same_stream(void)
{
    script("g G;a G A 16777216;g H;a H B 16777216;f H fB B B;i G E;i H F;l E 0;y 0;b 0;m A 0;l F 0;t;r 0;t");
}

static void g_sync_free_while_other_stream_blocked(void)
{
    script("g G;a G A 16777216;g H;a H B 16777216;f H fB B B;i G E;i H F;l E 0;y 0;b 1;l F 1;M A;t;r 1;t");
}

static void g_never_launched_before_uploads(void)
{
    script("g G;a G A 16777216;f G fA A A;g H;a H B 16777216;f H fB B B;i G E;i H F;u E 0;u F 1;y 0;y 1;t;u E 0;y 0;"
           "u F 0;l E 0;y 0;l F 0;t;u E 0;u E 0;t");
}

static void g_upload_in_a_blocked_stream(void)
{
    script("g G;a G A 16777216;f G fA A A;g H;a H B 16777216;f H fB B B;i G E;i H F;b 0;u E 0;t;u F 0;u F 1;l F 1;"
           "r 0;t");
}

static void g_first_launched_while_own_stream_is_blocked_then_second_graph_in_third_stream(void)
{
    script("g G;a G A 16777216;f G fA A A;g H;a H B 16777216;f H fB B B;g I;a I C 16777216;f I fC C C;i G E;i H F;"
           "i I J;b 0;b 1;l E 0;l F 1;l J 2;y 2;t;r 0;t;r 1;t;l E 0;l F 1;l J 2;Y;t");
}

static void g_one_free_piece_another_graph_with_two_pieces(void)
{
    script("g G;a G A 16777216;f G fA A A;g H;a H B 67108864;f H fB B B;i G E;i H F;l E 0;y 0;l F 0;y 0;l E 0;y 0;t");
}

static void g_two_pieces_another_with_one_then_live(void)
{
    script("g G;a G A 67108864;f G fA A A;g H;a H B 16777216;i G E;i H F;l E 0;y 0;l F 0;y 0;l E 0;y 0;m B 0;l E 0;"
           "y 0;t");
}

static void g_addresses_between_graphs(void)
{
    script("g G;a G A 67108864;g H;a H B 1048576;g I;a I C 1048576;G G;g J;a J D 1048576;g K;a K F 67108864;g L;"
           "a L M 33554432;a J N 33554432;a J O 1048576;a K P 1048576;a H Q 33554432;a H R 67108864;a H S 1048576;"
           "G I;g T;a T U 1048576;a H V 33554432");
}

static void g_growth(void)
{
    script("g G;a G A 1048576;a G B 33554432;a G C 40000000;a G D 33554432;a G F 33554433;a G H 1048576;i G E;u E;t;"
           "l E;y 0;M A;M B;M C;t");
}

static void g_growth_two(void) { script("g G;a G A 1048576;a G B 70000000;i G E;u E;t;l E"); }

static void g_growth_three(void) { script("g G;a G A 1048576;a G B 100000000;i G E;l E;t"); }

static void g_growth_four(void)
{
    script("g G;a G A 20000000;a G B 20000000;a G C 20000000;a G D 20000000;a G F 20000000;i G E;l E;t");
}

static void g_growth_five(void) { script("g G;a G A 33554433;i G E;l E;t;M A;t;l E;t"); }

static void g_growth_six(void)
{
    script("g G;a G A 40000000;g H;a H B 1048576;a G C 40000000;a G D 1048576;a H F 33554432;i G E;l E;t;i H J;l J;t");
}

static void g_hole_and_growth(void)
{
    script("g G;a G A 20971520;f G fA A A;a G B 16777216;a G C 25165824 fA;a G D 33554432 fA;i G E;l E;t");
}

static void g_child(void) { script("g G;a G A 1048576;f G fA A A;g H;k H r;C H x G r"); }

static void g_free_by_a_graph_in_flight(void)
{
    script("g G;a G A 16777216;i G E;g H;f H fA A;i H F;g I;a I B 16777216;f I fB B B;i I J;l E 0;y 0;b 0;l F 0;"
           "l J 1;t;p A;l E 0;r 0;t");
}

static void g_destroy_exec_in_flight(void)
{
    script("g G;a G A 16777216;f G fA A A;i G E;G G;b 0;l E 0;E E;g H;a H B 1048576;t;r 0;t;g I;a I C 1048576");
}

static void g_destroy_pending_with_live(void)
{
    script("g G;a G A 16777216;i G E;l E 0;y 0;G G;E E;g H;a H B 1048576;M A;g I;a I C 1048576;p B;t");
}

static void g_update(void)
{
    script("g G;a G A 1048576;f G fA A A;g H;a H B 1048576;f H fB B B;i G E;l E;y 0;U E H;l E;y 0;t");
}

static void g_update_live(void)
{
    script("g G;a G A 1048576;g H;a H B 1048576;i G E;l E;y 0;U E H;l E;y 0;p A;p B;M A;M B;t");
}

static void g_merge_1(void)
{
    script("g G;k G r;a G A 1048576 r;a G B 1048576 r;f G fA A A;f G fB B B;k G j fA fB;a G C 2097152 j;"
           "a G D 1048576 j;a G F 1048576 j");
}

static void g_merge_2(void)
{
    script("g G;k G r;a G A 1048576 r;a G B 1048576 r;f G fA A B;f G fB B fA;a G C 2097152 fB");
}

static void g_merge_3(void)
{
    script("g G;k G r;a G A 1048576 r;a G B 1048576 r;f G fB B A;f G fA A fB;a G C 2097152 fA");
}

static void g_merge_4(void)
{
    script("g G;k G r;a G A 1048576 r;a G B 1048576 r;f G fA A B;k G x fA;f G fB B x;a G C 1048576 fA;"
           "a G D 1048576 fB");
}

static void g_merge_5(void)
{
    script("g G;a G A 1048576;a G B 2097152 A;f G fB B B;a G C 1048576 fB;a G D 1048576 fB;a G F 1048576 C");
}

static void g_merge_6(void) { script("g G;a G A 2097152;f G fA A A;a G B 1048576 fA;f G fB B B;a G C 2097152 fB"); }

static void g_merge_7(void)
{
    script("g G;a G A 2097152;f G fA A A;a G B 1048576 fA;a G C 1048576 fA;a G D 1048576 B;a G F 1048576 B C");
}

static void g_autofree_in_flight(void) { script("g G;a G A 16777216;i G E 1;b 0;l E 0;l E 0;m A 0;r 0;t"); }

const struct group groups[] = {
    { "arenas_reuse_in_a_chain", g_reuse_in_a_chain, 1 },
    { "arenas_no_order_between_free_and_alloc", g_no_order_between_free_and_alloc, 1 },
    { "arenas_sizes", g_sizes, 1 },
    { "arenas_many_small_then_free_and_bigger", g_many_small_then_free_and_bigger, 1 },
    { "arenas_two_graphs_addresses", g_two_graphs_addresses, 1 },
    { "arenas_two_graphs_same_stream_physical_reuse", g_two_graphs_same_stream_physical_reuse, 1 },
    { "arenas_two_graphs_different_streams", g_two_graphs_different_streams, 1 },
    { "arenas_big_graph", g_big_graph, 1 },
    { "arenas_upload_takes", g_upload_takes, 1 },
    { "arenas_destroy_graph_before_launch_addresses_again", g_destroy_graph_before_launch_addresses_again, 1 },
    { "arenas_alloc_without_free_exec_destroyed", g_alloc_without_free_exec_destroyed, 1 },
    { "arenas_autofree_flag", g_autofree_flag, 1 },
    { "arenas_clone_refuses", g_clone_refuses, 1 },
    { "arenas_branches", g_branches, 1 },
    { "arenas_free_behind_allocated_by_diamond", g_free_behind_allocated_by_diamond, 1 },
    { "arenas_extra_edge_later_makes_order", g_extra_edge_later_makes_order, 1 },
    { "arenas_first_fit_or_best_fit", g_first_fit_or_best_fit, 1 },
    { "arenas_last_freed_first", g_last_freed_first, 1 },
    { "arenas_partially_ordered_frees_merge", g_partially_ordered_frees_merge, 1 },
    { "arenas_free_in_other_graph", g_free_in_other_graph, 1 },
    { "arenas_pools_grow", g_pools_grow, 1 },
    { "arenas_highs", g_highs, 1 },
    { "arenas_relaunch_after_trim", g_relaunch_after_trim, 1 },
    { "arenas_two_execs_of_allocations_freed_inside", g_two_execs_of_allocations_freed_inside, 1 },
    { "arenas_two_graphs_same_stream_overlapping_lifetimes", g_two_graphs_same_stream_overlapping_lifetimes, 1 },
    { "arenas_two_graphs_free_first_then_the_other", g_two_graphs_free_first_then_the_other, 1 },
    { "arenas_inflight_other_stream", g_inflight_other_stream, 1 },
    { "arenas_inflight_other_stream_with_event", g_inflight_other_stream_with_event, 1 },
    { "arenas_inflight_same_stream", g_inflight_same_stream, 1 },
    { "arenas_pending_free_other_stream", g_pending_free_other_stream, 1 },
    { "arenas_pending_free_same_stream", g_pending_free_same_stream, 1 },
    { "arenas_sync_free_while_other_stream_blocked", g_sync_free_while_other_stream_blocked, 1 },
    { "arenas_never_launched_before_uploads", g_never_launched_before_uploads, 1 },
    { "arenas_upload_in_a_blocked_stream", g_upload_in_a_blocked_stream, 1 },
    { "arenas_first_launched_while_own_stream_is_blocked_then_second_graph_in_third_stream",
      g_first_launched_while_own_stream_is_blocked_then_second_graph_in_third_stream, 1 },
    { "arenas_one_free_piece_another_graph_with_two_pieces", g_one_free_piece_another_graph_with_two_pieces, 1 },
    { "arenas_two_pieces_another_with_one_then_live", g_two_pieces_another_with_one_then_live, 1 },
    { "arenas_addresses_between_graphs", g_addresses_between_graphs, 1 },
    { "arenas_growth", g_growth, 1 },
    { "arenas_growth_two", g_growth_two, 1 },
    { "arenas_growth_three", g_growth_three, 1 },
    { "arenas_growth_four", g_growth_four, 1 },
    { "arenas_growth_five", g_growth_five, 1 },
    { "arenas_growth_six", g_growth_six, 1 },
    { "arenas_hole_and_growth", g_hole_and_growth, 1 },
    { "arenas_child", g_child, 1 },
    { "arenas_free_by_a_graph_in_flight", g_free_by_a_graph_in_flight, 1 },
    { "arenas_destroy_exec_in_flight", g_destroy_exec_in_flight, 1 },
    { "arenas_destroy_pending_with_live", g_destroy_pending_with_live, 1 },
    { "arenas_update", g_update, 1 },
    { "arenas_update_live", g_update_live, 1 },
    { "arenas_merge_1", g_merge_1, 1 },
    { "arenas_merge_2", g_merge_2, 1 },
    { "arenas_merge_3", g_merge_3, 1 },
    { "arenas_merge_4", g_merge_4, 1 },
    { "arenas_merge_5", g_merge_5, 1 },
    { "arenas_merge_6", g_merge_6, 1 },
    { "arenas_merge_7", g_merge_7, 1 },
    { "arenas_autofree_in_flight", g_autofree_in_flight, 1 },
    { 0 }
};
