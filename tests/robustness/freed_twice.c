/* Two threads that free or destroy the same thing at the same moment: one of
 * them does it, the other is answered as for what was freed before, and what
 * lies beside it stays. AddressSanitizer (./dev asan) sees what is read late. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <cuda.h>

enum { ROUNDS = 300, PATIENCE = 20000 };

#define ok(call) assert_int_equal(call, CUDA_SUCCESS)

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .global .align 4 .u32 word = 7;\n"
                          ".visible .entry nothing() { ret; }\n";
static const size_t bytes = 2 << 20;
static const CUmemAllocationProp on_device = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                               .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
static CUcontext context;

/* ---- a moment that two threads share */

typedef uint64_t make(void);
typedef CUresult end(uint64_t what);

static end *_Atomic other_end; /* what the other thread is to do; NULL: it has */
static uint64_t contested;
static CUresult other_result;
static _Atomic bool over;

static void *other(void *unused)
{
    (void)unused;
    cuCtxSetCurrent(context);
    for (unsigned idle = 0; !atomic_load(&over);) {
        end *e = atomic_load(&other_end);
        if (e) {
            other_result = e(contested);
            atomic_store(&other_end, NULL);
            idle = 0;
        } else if (++idle < PATIENCE) {
            __builtin_ia32_pause(); /* who sleeps comes too late to meet anybody */
        } else {
            sched_yield();
        }
    }
    return NULL;
}

static void together(uint64_t what, end *mine, end *others, unsigned n, CUresult result[2])
{
    contested = what;
    atomic_store(&other_end, others);
    for (volatile unsigned k = 0; k < n % 64 * 8; k++) /* now the one is first, now the other */
        ;
    result[0] = mine(what);
    while (atomic_load(&other_end)) sched_yield();
    result[1] = other_result;
}

/* late: what the second is answered */
static void once(make *new, end *mine, end *others, CUresult late)
{
    for (unsigned n = 0; n < ROUNDS; n++) {
        CUresult r[2];
        uint64_t neighbour = new (), what = new ();
        together(what, mine, others, n, r);
        assert_int_equal(r[0] ? r[0] : r[1], late);
        assert_int_equal(r[0] ? r[1] : r[0], CUDA_SUCCESS);
        ok(mine(neighbour));
        assert_int_equal(mine(neighbour), late);
    }
}

/* ---- memory */

static uint64_t new_device_memory(void)
{
    CUdeviceptr p;
    ok(cuMemAlloc(&p, bytes));
    return p;
}
static uint64_t new_managed_memory(void)
{
    CUdeviceptr p;
    ok(cuMemAllocManaged(&p, bytes, CU_MEM_ATTACH_GLOBAL));
    return p;
}
static uint64_t new_pool_memory(void)
{
    CUdeviceptr p;
    ok(cuMemAllocAsync(&p, bytes, NULL));
    return p;
}
static uint64_t new_host_memory(void)
{
    void *p;
    ok(cuMemAllocHost(&p, bytes));
    return (uint64_t)p;
}
static CUresult free_memory(uint64_t p) { return cuMemFree(p); }
static CUresult free_in_stream(uint64_t p) { return cuMemFreeAsync(p, CU_STREAM_PER_THREAD); }
static CUresult free_host(uint64_t p) { return cuMemFreeHost((void *)p); }

static void device_memory(void **state)
{
    (void)state;
    once(new_device_memory, free_memory, free_memory, CUDA_ERROR_INVALID_VALUE);
    once(new_device_memory, free_in_stream, free_in_stream, CUDA_ERROR_INVALID_VALUE);
    once(new_device_memory, free_memory, free_in_stream, CUDA_ERROR_INVALID_VALUE);
}

static void managed_memory(void **state)
{
    (void)state;
    once(new_managed_memory, free_memory, free_memory, CUDA_ERROR_INVALID_VALUE);
}

static void memory_of_a_pool(void **state)
{
    (void)state;
    once(new_pool_memory, free_memory, free_memory, CUDA_ERROR_INVALID_VALUE);
    once(new_pool_memory, free_in_stream, free_in_stream, CUDA_ERROR_INVALID_VALUE);
    once(new_pool_memory, free_memory, free_in_stream, CUDA_ERROR_INVALID_VALUE);
}

/* The pool ends with its last allocation, and its object is used for the next one. */
static uint64_t new_memory_of_ending_pool(void)
{
    CUmemoryPool pool;
    CUdeviceptr p;
    const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                   .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                   .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
    ok(cuMemPoolCreate(&pool, &props));
    ok(cuMemAllocFromPoolAsync(&p, bytes, pool, NULL));
    ok(cuMemPoolDestroy(pool));
    return p;
}

static void memory_that_a_destroyed_pool_has_lent(void **state)
{
    (void)state;
    once(new_memory_of_ending_pool, free_memory, free_memory, CUDA_ERROR_INVALID_VALUE);
    once(new_memory_of_ending_pool, free_memory, free_in_stream, CUDA_ERROR_INVALID_VALUE);
}

static void host_memory(void **state)
{
    (void)state;
    once(new_host_memory, free_host, free_host, CUDA_ERROR_INVALID_VALUE);
}

/* Under ThreadSanitizer registered memory is where a device process has mappings of its own. */
#ifndef __SANITIZE_THREAD__
static char *own; /* two pieces of the program's memory, taken in turn */

static uint64_t new_registration(void)
{
    static unsigned n;
    if (!own) own = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *p = own + n++ % 2 * bytes;
    ok(cuMemHostRegister(p, bytes, 0));
    return (uint64_t)p;
}
static CUresult unregister(uint64_t p) { return cuMemHostUnregister((void *)p); }

static void registered_memory(void **state)
{
    (void)state;
    once(new_registration, unregister, unregister, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}
#endif

/* ---- mapped memory */

static uint64_t new_handle(void)
{
    CUmemGenericAllocationHandle h;
    ok(cuMemCreate(&h, bytes, &on_device, 0));
    return h;
}
static uint64_t new_reservation(void)
{
    CUdeviceptr p;
    ok(cuMemAddressReserve(&p, bytes, 0, 0, 0));
    return p;
}
static uint64_t new_mapping(void)
{
    CUdeviceptr p = new_reservation();
    CUmemGenericAllocationHandle h = new_handle();
    ok(cuMemMap(p, bytes, 0, h, 0));
    ok(cuMemRelease(h));
    return p;
}
static CUresult release(uint64_t h) { return cuMemRelease(h); }
static CUresult unreserve(uint64_t p) { return cuMemAddressFree(p, bytes); }
static CUresult unmap(uint64_t p) { return cuMemUnmap(p, bytes); }

static void memory_handles_and_reservations(void **state)
{
    (void)state;
    once(new_handle, release, release, CUDA_ERROR_INVALID_VALUE);
    once(new_reservation, unreserve, unreserve, CUDA_ERROR_INVALID_VALUE);
}

/* To unmap nothing is no error (observed on H200). */
static void mappings(void **state)
{
    CUresult r[2];
    (void)state;
    for (unsigned n = 0; n < ROUNDS; n++) {
        CUdeviceptr neighbour = new_mapping(), p = new_mapping();
        together(p, unmap, unmap, n, r);
        assert_true(!r[0] && !r[1]);
        ok(unreserve(p));
        assert_int_equal(unreserve(neighbour), CUDA_ERROR_INVALID_VALUE);
        ok(unmap(neighbour));
        ok(unreserve(neighbour));
    }
}

/* ---- streams, events, pools */

static uint64_t new_stream(void)
{
    CUstream s;
    ok(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    return (uint64_t)s;
}
static uint64_t new_event(void)
{
    CUevent e;
    ok(cuEventCreate(&e, CU_EVENT_DEFAULT));
    ok(cuEventRecord(e, NULL));
    return (uint64_t)e;
}
static uint64_t new_pool(void)
{
    CUmemoryPool pool;
    const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                   .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
    ok(cuMemPoolCreate(&pool, &props));
    return (uint64_t)pool;
}
static CUresult destroy_stream(uint64_t s) { return cuStreamDestroy((CUstream)s); }
static CUresult destroy_event(uint64_t e) { return cuEventDestroy((CUevent)e); }
static CUresult destroy_pool(uint64_t p) { return cuMemPoolDestroy((CUmemoryPool)p); }

static void streams_events_and_pools(void **state)
{
    (void)state;
    once(new_stream, destroy_stream, destroy_stream, CUDA_ERROR_INVALID_HANDLE);
    once(new_event, destroy_event, destroy_event, CUDA_ERROR_INVALID_HANDLE);
    once(new_pool, destroy_pool, destroy_pool, CUDA_ERROR_INVALID_VALUE);
}

/* ---- modules, libraries, links */

static uint64_t new_module(void)
{
    CUmodule m;
    ok(cuModuleLoadData(&m, ptx));
    return (uint64_t)m;
}
static uint64_t new_library(void)
{
    CUlibrary l;
    CUmodule m;
    ok(cuLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 0));
    ok(cuLibraryGetModule(&m, l));
    return (uint64_t)l;
}
static uint64_t new_link(void)
{
    CUlinkState l;
    ok(cuLinkCreate(0, NULL, NULL, &l));
    return (uint64_t)l;
}
static CUresult unload_module(uint64_t m) { return cuModuleUnload((CUmodule)m); }
static CUresult unload_library(uint64_t l) { return cuLibraryUnload((CUlibrary)l); }
static CUresult destroy_link(uint64_t l) { return cuLinkDestroy((CUlinkState)l); }

static void modules_libraries_and_links(void **state)
{
    (void)state;
    once(new_module, unload_module, unload_module, CUDA_ERROR_INVALID_HANDLE);
    once(new_library, unload_library, unload_library, CUDA_ERROR_INVALID_HANDLE);
    once(new_link, destroy_link, destroy_link, CUDA_ERROR_INVALID_HANDLE);
}

/* ---- graphs */

static uint64_t new_graph(void)
{
    CUgraph g;
    CUgraphNode n;
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphAddEmptyNode(&n, g, NULL, 0));
    return (uint64_t)g;
}
static uint64_t new_executable_graph(void)
{
    CUgraph g = (CUgraph)new_graph();
    CUgraphExec x;
    ok(cuGraphInstantiate(&x, g, 0));
    ok(cuGraphLaunch(x, NULL));
    ok(cuGraphDestroy(g));
    return (uint64_t)x;
}
static uint64_t new_node(void)
{
    static CUgraph g;
    CUgraphNode n;
    if (!g) ok(cuGraphCreate(&g, 0));
    ok(cuGraphAddEmptyNode(&n, g, NULL, 0));
    return (uint64_t)n;
}
static void buried(void *unused) { (void)unused; }
static uint64_t new_user_object(void)
{
    CUuserObject o;
    ok(cuUserObjectCreate(&o, NULL, buried, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    return (uint64_t)o;
}
static CUresult destroy_graph(uint64_t g) { return cuGraphDestroy((CUgraph)g); }
static CUresult destroy_executable(uint64_t x) { return cuGraphExecDestroy((CUgraphExec)x); }
static CUresult destroy_node(uint64_t n) { return cuGraphDestroyNode((CUgraphNode)n); }
static CUresult release_object(uint64_t o) { return cuUserObjectRelease((CUuserObject)o, 1); }

static void graphs(void **state)
{
    (void)state;
    once(new_graph, destroy_graph, destroy_graph, CUDA_ERROR_INVALID_VALUE);
    once(new_executable_graph, destroy_executable, destroy_executable, CUDA_ERROR_INVALID_VALUE);
    once(new_node, destroy_node, destroy_node, CUDA_ERROR_INVALID_VALUE);
    once(new_user_object, release_object, release_object, CUDA_ERROR_INVALID_VALUE);
}

/* ---- arrays */

static uint64_t new_array(void)
{
    CUarray a;
    const CUDA_ARRAY_DESCRIPTOR d = { .Width = 64, .Height = 64, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
    ok(cuArrayCreate(&a, &d));
    return (uint64_t)a;
}
static uint64_t new_mipmapped_array(void)
{
    CUmipmappedArray a;
    const CUDA_ARRAY3D_DESCRIPTOR d = { .Width = 64, .Height = 64, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
    ok(cuMipmappedArrayCreate(&a, &d, 3));
    return (uint64_t)a;
}
static CUresult destroy_array(uint64_t a) { return cuArrayDestroy((CUarray)a); }
static CUresult destroy_mipmapped_array(uint64_t a) { return cuMipmappedArrayDestroy((CUmipmappedArray)a); }

static void arrays(void **state)
{
    (void)state;
    once(new_array, destroy_array, destroy_array, CUDA_ERROR_INVALID_HANDLE);
    once(new_mipmapped_array, destroy_mipmapped_array, destroy_mipmapped_array, CUDA_ERROR_INVALID_HANDLE);
}

/* ---- contexts */

static uint64_t new_context(void)
{
    CUcontext c, same;
    ok(cuCtxCreate(&c, NULL, 0, 0));
    ok(cuCtxPopCurrent(&same));
    return (uint64_t)c;
}
static uint64_t new_green_context(void)
{
    CUdevResource sms;
    CUdevResourceDesc desc;
    CUgreenCtx g;
    ok(cuDeviceGetDevResource(0, &sms, CU_DEV_RESOURCE_TYPE_SM));
    ok(cuDevResourceGenerateDesc(&desc, &sms, 1));
    ok(cuGreenCtxCreate(&g, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    return (uint64_t)g;
}
static CUresult destroy_context(uint64_t c) { return cuCtxDestroy((CUcontext)c); }
static CUresult destroy_green_context(uint64_t g) { return cuGreenCtxDestroy((CUgreenCtx)g); }

static void contexts(void **state)
{
    (void)state;
    once(new_context, destroy_context, destroy_context, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    once(new_green_context, destroy_green_context, destroy_green_context, CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

/* ---- code and a context in which it is loaded */

static CUmodule other_module;

static CUresult unload_other_module(uint64_t unused)
{
    (void)unused;
    return cuModuleUnload(other_module);
}

static void a_module_may_go_while_its_context_ends(void **state)
{
    static const char variables[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                                    ".visible .global .b8 a[4], b[4], c[4], d[4], e[4], f[4], g[4], h[4];\n";
    CUresult r[2];
    (void)state;
    for (unsigned n = 0; n < ROUNDS; n++) {
        CUcontext c = (CUcontext)new_context(), same;
        ok(cuCtxPushCurrent(c));
        ok(cuModuleLoadData(&other_module, variables));
        ok(cuCtxPopCurrent(&same));
        together((uint64_t)c, destroy_context, unload_other_module, n, r);
        assert_true(!r[0] && (!r[1] || r[1] == CUDA_ERROR_INVALID_HANDLE));
    }
}

static CUlibrary shared_library;

static CUresult unload_shared_library(uint64_t unused)
{
    (void)unused;
    return cuLibraryUnload(shared_library);
}

static void a_library_may_go_while_a_context_that_uses_it_ends(void **state)
{
    CUresult r[2];
    (void)state;
    for (unsigned n = 0; n < ROUNDS; n++) {
        CUcontext c = (CUcontext)new_context(), same;
        CUmodule m;
        ok(cuLibraryLoadData(&shared_library, ptx, NULL, NULL, 0, NULL, NULL, 0));
        ok(cuCtxPushCurrent(c));
        ok(cuLibraryGetModule(&m, shared_library));
        ok(cuCtxPopCurrent(&same));
        together((uint64_t)c, destroy_context, unload_shared_library, n, r);
        assert_true(!r[0] && !r[1]);
    }
}

/* ---- */

static size_t free_at_first;

static int begin(void **state)
{
    size_t total;
    (void)state;
    return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
           cuMemGetInfo(&free_at_first, &total);
}

/* Nothing was given back twice, nothing kept. */
static void all_memory_is_free_in_the_end(void **state)
{
    size_t now, total;
    CUmemoryPool pool;
    (void)state;
    ok(cuCtxSynchronize());
    ok(cuDeviceGetDefaultMemPool(&pool, 0));
    ok(cuMemPoolTrimTo(pool, 0));
    ok(cuMemGetInfo(&now, &total));
    assert_int_equal(now, free_at_first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_memory),
        cmocka_unit_test(managed_memory),
        cmocka_unit_test(memory_of_a_pool),
        cmocka_unit_test(memory_that_a_destroyed_pool_has_lent),
        cmocka_unit_test(host_memory),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(registered_memory),
#endif
        cmocka_unit_test(memory_handles_and_reservations),
        cmocka_unit_test(mappings),
        cmocka_unit_test(streams_events_and_pools),
        cmocka_unit_test(modules_libraries_and_links),
        cmocka_unit_test(graphs),
        cmocka_unit_test(arrays),
        cmocka_unit_test(contexts),
        cmocka_unit_test(a_module_may_go_while_its_context_ends),
        cmocka_unit_test(a_library_may_go_while_a_context_that_uses_it_ends),
        cmocka_unit_test(all_memory_is_free_in_the_end),
    };
    pthread_t thread;
    if (begin(NULL) || pthread_create(&thread, NULL, other, NULL)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    return failed;
}
