/* What a launch runs is what the graph was when it was launched, and what it needs stays until it has ended, whatever the
 * program changes or destroys meanwhile. */
#include "../rig.h"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static CUstream s;
static CUcontext context;
static CUdeviceptr memory;
static atomic_int gone[2]; /* how often a user object was destroyed */

static int begin(void **state)
{
    (void)state;
    context = rig_context(0);
    s = rig_stream();
    ok(cuMemAlloc(&memory, 4096));
    ok(cuMemsetD32(memory, 0, 1024));
    gone[0] = gone[1] = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (rig_held) rig_release(rig_held);
    ok(cuCtxSynchronize());
    ok(cuStreamDestroy(s));
    ok(cuMemFree(memory));
    return 0;
}

static CUgraphNode memset_node(CUgraph in, uint32_t value)
{
    CUgraphNode n;
    const CUDA_MEMSET_NODE_PARAMS p = { .dst = memory, .value = value, .elementSize = 4, .width = 1, .height = 1 };
    ok(cuGraphAddMemsetNode(&n, in, NULL, 0, &p, context));
    return n;
}

/* A graph whose condition has `initial` as its default. */
static CUgraph graph_with_body(uint32_t initial, CUgraph *body)
{
    CUgraph g;
    CUgraphNode n;
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                            .conditional = { .type = CU_GRAPH_COND_TYPE_IF, .size = 1, .ctx = context } };
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphConditionalHandleCreate(&p.conditional.handle, g, context, initial, CU_GRAPH_COND_ASSIGN_DEFAULT));
    ok(cuGraphAddNode(&n, g, NULL, NULL, 0, &p));
    *body = p.conditional.phGraph_out[0];
    return g;
}

/* The same, with a memset to value in the body. */
static CUgraph conditional_graph(uint32_t initial, uint32_t value, CUgraphNode *inside)
{
    CUgraph body, g = graph_with_body(initial, &body);
    *inside = memset_node(body, value);
    return g;
}

/* The same, with a kernel that adds 1. */
static CUgraph adding_graph(CUfunction add, unsigned shared)
{
    CUgraphNode n;
    CUgraph body, g = graph_with_body(1, &body);
    uint32_t one = 1;
    void *params[] = { &memory, &one, &one };
    CUDA_KERNEL_NODE_PARAMS k = rig_node(add, params);
    k.sharedMemBytes = shared;
    ok(cuGraphAddKernelNode(&n, body, NULL, 0, &k));
    return g;
}

enum change { PARAMETERS, DISABLED, UPDATED, UPDATED_CONDITION, CHANGES };

static void change_now(enum change c, CUgraphExec x, CUgraphNode inside)
{
    const CUDA_MEMSET_NODE_PARAMS other = { .dst = memory, .value = 222, .elementSize = 4, .width = 1, .height = 1 };
    CUgraphExecUpdateResultInfo info;
    CUgraphNode n;
    if (c == PARAMETERS) ok(cuGraphExecMemsetNodeSetParams(x, inside, &other, context));
    if (c == DISABLED) ok(cuGraphNodeSetEnabled(x, inside, 0));
    if (c < UPDATED) return;
    CUgraph h = conditional_graph(c == UPDATED, 222, &n);
    ok(cuGraphExecUpdate(x, h, &info));
    ok(cuGraphDestroy(h));
}

static void a_change_is_for_later_launches(void **state)
{
    static const uint32_t later[CHANGES] = { [PARAMETERS] = 222, [DISABLED] = 5, [UPDATED] = 222, [UPDATED_CONDITION] = 5 };
    (void)state;
    for (enum change c = PARAMETERS; c < CHANGES; c++) {
        CUgraphNode inside;
        CUgraphExec x;
        CUgraph g = conditional_graph(1, 111, &inside);
        ok(cuGraphInstantiate(&x, g, 0));
        uint32_t *flag = rig_hold(s);
        ok(cuGraphLaunch(x, s));
        change_now(c, x, inside);
        ok(cuGraphDestroy(g));
        rig_release(flag);
        ok(cuStreamSynchronize(s));
        assert_int_equal(rig_word(memory), 111);
        ok(cuMemsetD32(memory, 5, 1));
        ok(cuGraphLaunch(x, s));
        ok(cuStreamSynchronize(s));
        assert_int_equal(rig_word(memory), later[c]);
        ok(cuGraphExecDestroy(x));
    }
}

/* Each change is made to what the one before it left. */
static void changes_add_up_while_a_launch_waits(void **state)
{
    (void)state;
    CUgraphNode inside, n;
    CUgraphExec x;
    CUgraph g = conditional_graph(1, 111, &inside), h = conditional_graph(1, 222, &n);
    CUgraphExecUpdateResultInfo info;
    unsigned enabled;
    ok(cuGraphInstantiate(&x, g, 0));
    uint32_t *flag = rig_hold(s);
    ok(cuGraphLaunch(x, s));
    ok(cuGraphNodeSetEnabled(x, inside, 0));
    ok(cuGraphLaunch(x, s));
    ok(cuGraphExecUpdate(x, h, &info));
    ok(cuGraphNodeGetEnabled(x, inside, &enabled));
    assert_int_equal(enabled, 0);
    ok(cuGraphNodeSetEnabled(x, inside, 1));
    ok(cuGraphExecDestroy(x));
    rig_release(flag);
    ok(cuStreamSynchronize(s));
    assert_int_equal(rig_word(memory), 111);
    ok(cuGraphDestroy(h));
    ok(cuGraphDestroy(g));
}

/* ---- user objects */

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER; /* its destructor takes it */

static void CUDA_CB destroyed(void *n)
{
    pthread_mutex_lock(&held);
    ++*(atomic_int *)n;
    pthread_mutex_unlock(&held);
}

/* What a launch kept is destroyed by a thread of its own. */
static void assert_go(int object, int times)
{
    for (int k = 0; gone[object] < times && k < 10000; k++) usleep(1000);
    assert_int_equal(gone[object], times);
}

/* A graph with a memset, that keeps an object alive. */
static CUgraph keeping_graph(unsigned object)
{
    CUuserObject o;
    CUgraph g;
    ok(cuGraphCreate(&g, 0));
    memset_node(g, object + 1);
    ok(cuUserObjectCreate(&o, &gone[object], destroyed, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    ok(cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
    return g;
}

/* The same, in a child. */
static CUgraph nesting_graph(unsigned object, CUgraphNode *child)
{
    CUgraph g, inner = keeping_graph(object);
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphAddChildGraphNode(child, g, NULL, 0, inner));
    ok(cuGraphDestroy(inner));
    return g;
}

static void assert_gone(int first, int second)
{
    assert_int_equal(gone[0], first);
    assert_int_equal(gone[1], second);
}

static void objects_outlive_the_launches_of_a_destroyed_graph(void **state)
{
    (void)state;
    for (int nested = 0; nested < 2; nested++) {
        CUgraphNode n;
        CUgraphExec x;
        CUgraph g = nested ? nesting_graph(nested, &n) : keeping_graph(nested);
        ok(cuGraphInstantiate(&x, g, 0));
        ok(cuGraphDestroy(g));
        uint32_t *flag = rig_hold(s);
        ok(cuGraphLaunch(x, s));
        ok(cuGraphExecDestroy(x));
        assert_int_equal(gone[nested], 0);
        rig_release(flag);
        ok(cuStreamSynchronize(s));
        assert_go(nested, 1);
    }
}

static void a_destructor_of_what_a_launch_kept_holds_up_no_stream(void **state)
{
    (void)state;
    CUgraphExec x;
    CUgraph g = keeping_graph(0);
    gone[0] = 0;
    ok(cuGraphInstantiate(&x, g, 0));
    ok(cuGraphDestroy(g));
    uint32_t *flag = rig_hold(s);
    ok(cuGraphLaunch(x, s));
    ok(cuGraphExecDestroy(x));
    pthread_mutex_lock(&held);
    rig_release(flag);
    ok(cuStreamSynchronize(s));
    assert_int_equal(gone[0], 0);
    pthread_mutex_unlock(&held);
    assert_go(0, 1);
}

static void an_update_replaces_objects_when_launches_have_ended(void **state)
{
    (void)state;
    for (int nested = 0; nested < 2; nested++) {
        CUgraphNode m, n;
        CUgraphExec x;
        CUgraphExecUpdateResultInfo info;
        CUgraph g = nested ? nesting_graph(0, &m) : keeping_graph(0), h = nested ? nesting_graph(1, &n) : keeping_graph(1);
        gone[0] = gone[1] = 0;
        ok(cuGraphInstantiate(&x, g, 0));
        ok(cuGraphDestroy(g));
        uint32_t *flag = rig_hold(s);
        ok(cuGraphLaunch(x, s));
        ok(cuGraphExecUpdate(x, h, &info));
        ok(cuGraphDestroy(h));
        assert_gone(0, 0);
        rig_release(flag);
        ok(cuStreamSynchronize(s));
        assert_go(0, 1);
        assert_gone(1, 0);
        ok(cuGraphExecDestroy(x));
        assert_gone(1, 1);
    }
}

static void the_objects_of_a_replaced_child_are_destroyed_at_once(void **state)
{
    (void)state;
    for (int graph_first = 0; graph_first < 2; graph_first++) {
        CUgraphNode n;
        CUgraphExec x;
        CUgraph g = nesting_graph(0, &n), inner = keeping_graph(1);
        CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_GRAPH, .graph.graph = inner };
        gone[0] = gone[1] = 0;
        ok(cuGraphInstantiate(&x, g, 0));
        if (graph_first) ok(cuGraphNodeSetParams(n, &p));
        assert_gone(0, 0);
        ok(cuGraphExecChildGraphNodeSetParams(x, n, inner));
        assert_gone(graph_first, 0);
        if (!graph_first) ok(cuGraphNodeSetParams(n, &p));
        assert_gone(1, 0);
        ok(cuGraphExecDestroy(x));
        ok(cuGraphDestroy(inner));
        ok(cuGraphDestroy(g));
        assert_gone(1, 1);
    }
}

static void another_child_brings_its_objects_along(void **state)
{
    (void)state;
    CUgraphNode n;
    CUgraphExec x;
    CUgraph g = nesting_graph(0, &n), inner = keeping_graph(1);
    ok(cuGraphInstantiate(&x, g, 0));
    ok(cuGraphExecChildGraphNodeSetParams(x, n, inner));
    ok(cuGraphDestroy(inner));
    ok(cuGraphDestroy(g));
    assert_gone(1, 0);
    ok(cuGraphExecDestroy(x));
    assert_gone(1, 1);
}

/* ---- one executable graph at a time */

static CUgraph allocating_graph(void)
{
    CUgraph g = keeping_graph(0);
    CUgraphNode n;
    CUDA_MEM_ALLOC_NODE_PARAMS p = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                    .location.type = CU_MEM_LOCATION_TYPE_DEVICE },
                                     .bytesize = 4096 };
    ok(cuGraphAddMemAllocNode(&n, g, NULL, 0, &p));
    ok(cuGraphAddMemFreeNode(&n, g, &n, 1, p.dptr));
    return g;
}

static void a_destroyed_one_does_not_count_though_a_launch_is_pending(void **state)
{
    (void)state;
    for (int memory_node = 0; memory_node < 2; memory_node++) {
        CUgraphNode n;
        CUgraphExec x, y, z;
        CUgraphExecUpdateResultInfo info;
        CUgraph g = memory_node ? allocating_graph() : conditional_graph(1, 111, &n);
        CUgraph h = memory_node ? allocating_graph() : conditional_graph(1, 222, &n);
        ok(cuGraphInstantiate(&x, g, 0));
        uint32_t *flag = rig_hold(s);
        ok(cuGraphLaunch(x, s));
        ok(cuGraphExecDestroy(x));
        ok(cuGraphInstantiate(&y, g, 0));
        assert_int_equal(cuGraphInstantiate(&z, g, 0), CUDA_ERROR_NOT_SUPPORTED);
        ok(cuGraphLaunch(y, s));
        ok(cuGraphExecDestroy(y));
        ok(cuGraphInstantiate(&z, h, 0));
        ok(cuGraphExecUpdate(z, g, &info));
        assert_int_equal(cuGraphInstantiate(&y, g, 0), CUDA_ERROR_NOT_SUPPORTED);
        rig_release(flag);
        ok(cuStreamSynchronize(s));
        assert_int_equal(cuGraphInstantiate(&y, g, 0), CUDA_ERROR_NOT_SUPPORTED);
        ok(cuGraphExecDestroy(z));
        ok(cuGraphInstantiate(&y, g, 0));
        ok(cuGraphExecDestroy(y));
        ok(cuGraphDestroy(g));
        ok(cuGraphDestroy(h));
        assert_go(0, memory_node ? 2 : 0);
    }
}

/* ---- launches that fail half-way */

static atomic_int inside, most;

static void CUDA_CB count(void *flag)
{
    int now = ++inside;
    if (now > most) most = now;
    while (!__atomic_load_n((uint32_t *)flag, __ATOMIC_SEQ_CST)) usleep(1000);
    inside--;
}

static void what_was_issued_of_a_launch_that_fails_is_waited_for(void **state)
{
    (void)state;
    CUmodule m;
    CUfunction f;
    CUgraphNode first, second;
    CUgraphExec x;
    CUgraph g = keeping_graph(0);
    CUstream other = rig_stream();
    uint32_t flag = 0, one = 1;
    void *params[] = { &memory, &one, &one };
    ok(cuModuleLoadData(&m, rig_ptx));
    ok(cuModuleGetFunction(&f, m, "add"));
    const CUDA_HOST_NODE_PARAMS host = { count, &flag };
    const CUDA_KERNEL_NODE_PARAMS kernel = rig_node(f, params);
    ok(cuGraphAddHostNode(&first, g, NULL, 0, &host));
    ok(cuGraphAddKernelNode(&second, g, &first, 1, &kernel));
    ok(cuGraphInstantiate(&x, g, 0));
    ok(cuGraphDestroy(g));
    ok(cuModuleUnload(m));
    assert_int_not_equal(cuGraphLaunch(x, s), CUDA_SUCCESS);
    assert_int_not_equal(cuGraphLaunch(x, other), CUDA_SUCCESS);
    ok(cuGraphExecDestroy(x));
    assert_int_equal(gone[0], 0);
    while (!inside) usleep(1000);
    usleep(20000); /* for the other one, which is not to come */
    __atomic_store_n(&flag, 1, __ATOMIC_SEQ_CST);
    ok(cuStreamSynchronize(s));
    ok(cuStreamSynchronize(other));
    assert_int_equal(most, 1);
    assert_go(0, 1);
    ok(cuStreamDestroy(other));
}

static void a_launch_is_refused_when_a_kernel_of_a_body_was_unloaded(void **state)
{
    (void)state;
    CUmodule m;
    CUfunction f;
    CUgraphExec x;
    ok(cuModuleLoadData(&m, rig_ptx));
    ok(cuModuleGetFunction(&f, m, "add"));
    CUgraph g = adding_graph(f, 0);
    ok(cuGraphInstantiate(&x, g, 0));
    ok(cuModuleUnload(m));
    assert_int_equal(cuGraphLaunch(x, s), CUDA_ERROR_INVALID_HANDLE);
    ok(cuCtxSynchronize());
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
}

static void a_body_that_became_wrong_behind_the_launch_harms_nothing_else(void **state)
{
    (void)state;
    enum { SHARED = 60000 };
    CUgraphExec x;
    CUfunction f = rig_kernel("add");
    ok(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, SHARED));
    CUgraph g = adding_graph(f, SHARED);
    ok(cuGraphInstantiate(&x, g, 0));
    uint32_t *flag = rig_hold(s);
    ok(cuGraphLaunch(x, s));
    ok(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0));
    rig_release(flag);
    ok(cuStreamSynchronize(s));
    assert_int_equal(rig_word(memory), 0);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_change_is_for_later_launches, begin, end),
        cmocka_unit_test_setup_teardown(changes_add_up_while_a_launch_waits, begin, end),
        cmocka_unit_test_setup_teardown(objects_outlive_the_launches_of_a_destroyed_graph, begin, end),
        cmocka_unit_test_setup_teardown(a_destructor_of_what_a_launch_kept_holds_up_no_stream, begin, end),
        cmocka_unit_test_setup_teardown(an_update_replaces_objects_when_launches_have_ended, begin, end),
        cmocka_unit_test_setup_teardown(the_objects_of_a_replaced_child_are_destroyed_at_once, begin, end),
        cmocka_unit_test_setup_teardown(another_child_brings_its_objects_along, begin, end),
        cmocka_unit_test_setup_teardown(a_destroyed_one_does_not_count_though_a_launch_is_pending, begin, end),
        cmocka_unit_test_setup_teardown(what_was_issued_of_a_launch_that_fails_is_waited_for, begin, end),
        cmocka_unit_test_setup_teardown(a_launch_is_refused_when_a_kernel_of_a_body_was_unloaded, begin, end),
        cmocka_unit_test_setup_teardown(a_body_that_became_wrong_behind_the_launch_harms_nothing_else, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
