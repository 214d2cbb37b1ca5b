/* Handles that one thread destroys, and makes anew, while others use them, of every kind: a use is done, or refused.
 * Nothing is done that was refused, nothing undone that was not. AddressSanitizer (./dev asan) sees what is read late,
 * ThreadSanitizer (./dev tsan) what is not ordered. usage: gone [ROUNDS] */
#include "../check.h"
#include "../draw.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { USERS = 3 };

static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .align 4 .u32 word;\n"
    ".visible .entry add(.param .u64 p) { .reg .b64 %a; .reg .b32 %v; ld.param.u64 %a,[p]; "
    "atom.global.add.u32 %v,[%a],1; ret; }\n";

static CUcontext primary;
static CUdeviceptr counter;
static _Thread_local CUdeviceptr memory; /* each user's own */
static _Atomic unsigned launched;
static CUmodule lasting;
static CUfunction lasting_add;

typedef void use(uintptr_t handle, unsigned which);
struct kind {
    const char *name;
    uintptr_t (*make)(void);
    use *use;
    void (*end)(uintptr_t handle);
};

/* What was destroyed, or something else in its place by now. */
static void may_be_gone(CUresult r, const char *what, int line)
{
    const char *name = "no CUresult";
    if (r == CUDA_SUCCESS || r == CUDA_ERROR_INVALID_HANDLE || r == CUDA_ERROR_INVALID_VALUE ||
        r == CUDA_ERROR_NOT_READY || r == CUDA_ERROR_NOT_FOUND)
        return;
    cuGetErrorName(r, &name);
    check_failed(what, name, __FILE__, line);
}

#define MAYBE(call) may_be_gone(call, #call, __LINE__)

/* Such a call reads or writes bytes that others write in no order: a race of this program's, which ThreadSanitizer sees. */
#ifdef __SANITIZE_THREAD__
#define MAYBE_BYTES(call) ((void)(0 && (call)))
#else
#define MAYBE_BYTES(call) MAYBE(call)
#endif

static void count(CUresult r)
{
    if (r)
        MAYBE(r);
    else
        launched++;
}

static CUresult add(CUfunction f, CUstream s)
{
    return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, (void *[]){ &counter }, NULL);
}

/* ---- code */

struct code {
    void *module;
    CUfunction function;
    CUkernel kernel;
};

/* Who uses them may be behind: they stay. */
static struct code *code_new(void)
{
    static struct code codes[64];
    static unsigned next;
    return &codes[next++ % 64];
}

static uintptr_t make_module(void)
{
    struct code *c = code_new();
    CUmodule m;
    CUfunction f;
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&f, m, "add"));
    __atomic_store_n(&c->module, m, __ATOMIC_SEQ_CST);
    __atomic_store_n(&c->function, f, __ATOMIC_SEQ_CST);
    return (uintptr_t)c;
}

static void use_module(uintptr_t handle, unsigned which)
{
    struct code *c = (struct code *)handle;
    CUmodule m = __atomic_load_n(&c->module, __ATOMIC_SEQ_CST);
    CUfunction f = __atomic_load_n(&c->function, __ATOMIC_SEQ_CST);
    CUmodule its;
    const char *name;
    size_t offset, size;
    int v, w;
    CUdeviceptr p;
    switch (which % 8) {
    case 0: MAYBE(cuModuleGetGlobal(&p, &size, m, "word")); break;
    case 1: MAYBE(cuModuleGetFunction(&f, m, "add")); break;
    case 2: MAYBE(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, f)); break;
    case 3: MAYBE(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024)); break;
    case 4: MAYBE(cuFuncGetName(&name, f)); break;
    case 5: MAYBE(cuFuncGetParamInfo(f, 0, &offset, &size)); break;
    case 6: MAYBE(cuFuncGetModule(&its, f)); break;
    default: MAYBE(cuOccupancyMaxPotentialBlockSize(&v, &w, f, NULL, 0, 0));
    }
    count(add(f, CU_STREAM_PER_THREAD));
}

static void end_module(uintptr_t handle) { CHECK(cuModuleUnload(((struct code *)handle)->module)); }

static uintptr_t make_library(void)
{
    struct code *c = code_new();
    CUlibrary l;
    CUkernel k;
    CUfunction f;
    CHECK(cuLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&k, l, "add"));
    CHECK(cuKernelGetFunction(&f, k));
    __atomic_store_n(&c->module, l, __ATOMIC_SEQ_CST);
    __atomic_store_n(&c->kernel, k, __ATOMIC_SEQ_CST);
    __atomic_store_n(&c->function, f, __ATOMIC_SEQ_CST);
    return (uintptr_t)c;
}

static void use_library(uintptr_t handle, unsigned which)
{
    struct code *c = (struct code *)handle;
    CUlibrary l = __atomic_load_n(&c->module, __ATOMIC_SEQ_CST), its;
    CUkernel k = __atomic_load_n(&c->kernel, __ATOMIC_SEQ_CST);
    CUfunction f = __atomic_load_n(&c->function, __ATOMIC_SEQ_CST);
    CUmodule m;
    const char *name;
    size_t offset, size;
    unsigned n;
    int v;
    CUdeviceptr p;
    switch (which % 9) {
    case 0: MAYBE(cuKernelGetLibrary(&its, k)); break;
    case 1: MAYBE(cuKernelGetName(&name, k)); break;
    case 2: MAYBE(cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, k, 0)); break;
    case 3: MAYBE(cuKernelGetParamInfo(k, 0, &offset, &size)); break;
    case 4: MAYBE(cuLibraryGetModule(&m, l)); break;
    case 5: MAYBE(cuLibraryGetGlobal(&p, &size, l, "word")); break;
    case 6: MAYBE(cuLibraryGetKernelCount(&n, l)); break;
    case 7: MAYBE(cuLibraryGetKernel(&k, l, "add")); break;
    default: MAYBE(cuKernelGetFunction(&f, k));
    }
    count(add(which & 1 ? f : (CUfunction)k, CU_STREAM_PER_THREAD));
}

static void end_library(uintptr_t handle) { CHECK(cuLibraryUnload(((struct code *)handle)->module)); }

/* ---- streams and events */

static uintptr_t make_stream(void)
{
    CUstream s;
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    return (uintptr_t)s;
}

static void nothing(void *arg) { (void)arg; }

static void use_stream(uintptr_t handle, unsigned which)
{
    CUstream s = (CUstream)handle;
    CUevent e;
    CUdeviceptr p;
    CUcontext c;
    unsigned flags, word;
    unsigned long long id;
    CUstreamCaptureStatus status;
    switch (which % 11) {
    case 0: count(add(lasting_add, s)); break;
    case 1: MAYBE_BYTES(cuMemsetD8Async(memory, 1, 64, s)); break;
    case 2: MAYBE_BYTES(cuMemcpyDtoHAsync(&word, memory, 4, s)); break;
    case 3: MAYBE(cuStreamSynchronize(s)); break;
    case 4: MAYBE(cuStreamQuery(s)); break;
    case 5: MAYBE(cuLaunchHostFunc(s, nothing, NULL)); break;
    case 6:
        CHECK(cuEventCreate(&e, 0));
        MAYBE(cuEventRecord(e, s));
        MAYBE(cuStreamWaitEvent(CU_STREAM_PER_THREAD, e, 0));
        CHECK(cuEventDestroy(e));
        break;
    case 7:
        if (!cuMemAllocAsync(&p, 4096, s)) CHECK(cuMemFreeAsync(p, CU_STREAM_PER_THREAD));
        break;
    case 8: MAYBE(cuStreamGetCtx(s, &c)); break;
    case 9: MAYBE(cuStreamIsCapturing(s, &status)); break;
    default:
        MAYBE(cuStreamGetFlags(s, &flags));
        MAYBE(cuStreamGetId(s, &id));
    }
}

static void end_stream(uintptr_t handle) { CHECK(cuStreamDestroy((CUstream)handle)); }

static uintptr_t make_event(void)
{
    CUevent e;
    CHECK(cuEventCreate(&e, 0));
    return (uintptr_t)e;
}

static void use_event(uintptr_t handle, unsigned which)
{
    CUevent e = (CUevent)handle;
    float ms;
    switch (which % 5) {
    case 0: MAYBE(cuEventRecord(e, CU_STREAM_PER_THREAD)); break;
    case 1: MAYBE(cuStreamWaitEvent(CU_STREAM_PER_THREAD, e, 0)); break;
    case 2: MAYBE(cuEventQuery(e)); break;
    case 3: MAYBE(cuEventSynchronize(e)); break;
    default: MAYBE(cuEventElapsedTime(&ms, e, e));
    }
}

static void end_event(uintptr_t handle) { CHECK(cuEventDestroy((CUevent)handle)); }

/* ---- graphs */

static uintptr_t make_graph(void)
{
    CUgraph g;
    CUgraphNode n[2];
    CUDA_KERNEL_NODE_PARAMS p = { .func = lasting_add, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1,
                                  .blockDimY = 1, .blockDimZ = 1, .kernelParams = (void *[]){ &counter } };
    CHECK(cuGraphCreate(&g, 0));
    CHECK(cuGraphAddKernelNode(&n[0], g, NULL, 0, &p));
    CHECK(cuGraphAddEmptyNode(&n[1], g, n, 1));
    return (uintptr_t)g;
}

static void use_graph(uintptr_t handle, unsigned which)
{
    CUgraph g = (CUgraph)handle, other;
    CUgraphNode n[8], added;
    CUgraphNodeType type;
    CUgraphExec x;
    CUDA_KERNEL_NODE_PARAMS p;
    size_t count = 8;
    switch (which % 5) {
    case 0:
        if (cuGraphClone(&other, g)) break;
        CHECK(cuGraphDestroy(other));
        break;
    case 1:
        if (cuGraphGetNodes(g, n, &count)) break;
        for (size_t k = 0; k < count; k++) MAYBE(cuGraphNodeGetType(n[k], &type));
        if (count) MAYBE(cuGraphKernelNodeGetParams(n[0], &p));
        break;
    case 2: MAYBE(cuGraphAddEmptyNode(&added, g, NULL, 0)); break;
    case 3: MAYBE(cuGraphGetEdges(g, NULL, NULL, NULL, &count)); break;
    default:
        if (cuGraphInstantiate(&x, g, 0)) break;
        if (!cuGraphLaunch(x, CU_STREAM_PER_THREAD)) launched++;
        CHECK(cuGraphExecDestroy(x));
    }
}

static void end_graph(uintptr_t handle) { CHECK(cuGraphDestroy((CUgraph)handle)); }

static uintptr_t make_executable(void)
{
    CUgraphExec x;
    CUgraph g = (CUgraph)make_graph();
    CHECK(cuGraphInstantiate(&x, g, 0));
    CHECK(cuGraphDestroy(g));
    return (uintptr_t)x;
}

static void use_executable(uintptr_t handle, unsigned which)
{
    CUgraphExec x = (CUgraphExec)handle;
    CUgraphExecUpdateResultInfo info;
    cuuint64_t flags;
    switch (which % 4) {
    case 0:
    case 1: count(cuGraphLaunch(x, CU_STREAM_PER_THREAD)); break;
    case 2: MAYBE(cuGraphExecGetFlags(x, &flags)); break;
    default: {
        CUgraph g = (CUgraph)make_graph();
        MAYBE(cuGraphExecUpdate(x, g, &info));
        CHECK(cuGraphDestroy(g));
    }
    }
}

static void end_executable(uintptr_t handle) { CHECK(cuGraphExecDestroy((CUgraphExec)handle)); }

/* ---- pools and arrays */

static uintptr_t make_pool(void)
{
    CUmemoryPool p;
    CUmemPoolProps how = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                           .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
    CHECK(cuMemPoolCreate(&p, &how));
    return (uintptr_t)p;
}

static void use_pool(uintptr_t handle, unsigned which)
{
    CUmemoryPool pool = (CUmemoryPool)handle;
    CUdeviceptr p;
    cuuint64_t v = 0;
    CUmemLocation here = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
    CUmemAccess_flags flags;
    switch (which % 5) {
    case 0: MAYBE(cuMemPoolTrimTo(pool, 0)); break;
    case 1: MAYBE(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &v)); break;
    case 2: MAYBE(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &v)); break;
    case 3: MAYBE(cuMemPoolGetAccess(&flags, pool, &here)); break;
    default:
        if (cuMemAllocFromPoolAsync(&p, 4096, pool, CU_STREAM_PER_THREAD)) break;
        CHECK(cuMemsetD8Async(p, 1, 4096, CU_STREAM_PER_THREAD));
        CHECK(cuMemFreeAsync(p, CU_STREAM_PER_THREAD));
    }
}

static void end_pool(uintptr_t handle) { CHECK(cuMemPoolDestroy((CUmemoryPool)handle)); }

static CUarray array_new(unsigned flags)
{
    CUarray a;
    CUDA_ARRAY3D_DESCRIPTOR d = { .Width = 64, .Height = 64, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1,
                                  .Flags = flags };
    CHECK(cuArray3DCreate(&a, &d));
    return a;
}

static uintptr_t make_array(void) { return (uintptr_t)array_new(0); }
static uintptr_t make_sparse(void) { return (uintptr_t)array_new(CUDA_ARRAY3D_SPARSE); }

static void use_array(uintptr_t handle, unsigned which)
{
    CUarray a = (CUarray)handle;
    char bytes[64];
    CUDA_ARRAY3D_DESCRIPTOR d;
    CUDA_ARRAY_SPARSE_PROPERTIES sparse;
    CUtexObject t;
    CUDA_RESOURCE_DESC of = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a };
    CUDA_TEXTURE_DESC how = { .flags = CU_TRSF_READ_AS_INTEGER };
    CUDA_MEMCPY2D box = { .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = a, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = memory, .dstPitch = 64, .WidthInBytes = 64, .Height = 64 };
    switch (which % 6) {
    case 0: MAYBE(cuArray3DGetDescriptor(&d, a)); break;
    case 1: MAYBE_BYTES(cuMemcpyAtoH(bytes, a, 0, sizeof bytes)); break;
    case 2: MAYBE_BYTES(cuMemcpyHtoA(a, 0, "0123456789abcdef", 16)); break;
    case 3: MAYBE_BYTES(cuMemcpy2DAsync(&box, CU_STREAM_PER_THREAD)); break;
    case 4: MAYBE(cuArrayGetSparseProperties(&sparse, a)); break;
    default:
        if (!cuTexObjectCreate(&t, &of, &how, NULL)) CHECK(cuTexObjectDestroy(t));
    }
}

static void end_array(uintptr_t handle) { CHECK(cuArrayDestroy((CUarray)handle)); }

static uintptr_t make_mipmap(void)
{
    CUmipmappedArray m;
    CUDA_ARRAY3D_DESCRIPTOR d = { .Width = 64, .Height = 64, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1 };
    CHECK(cuMipmappedArrayCreate(&m, &d, 4));
    return (uintptr_t)m;
}

static void use_mipmap(uintptr_t handle, unsigned which)
{
    CUarray level;
    if (!cuMipmappedArrayGetLevel(&level, (CUmipmappedArray)handle, which % 4)) use_array((uintptr_t)level, which);
}

static void end_mipmap(uintptr_t handle) { CHECK(cuMipmappedArrayDestroy((CUmipmappedArray)handle)); }

static CUarray textured;
static uintptr_t make_texture(void)
{
    CUtexObject t;
    CUDA_RESOURCE_DESC of = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = textured };
    CUDA_TEXTURE_DESC how = { .flags = CU_TRSF_READ_AS_INTEGER };
    CHECK(cuTexObjectCreate(&t, &of, &how, NULL));
    return (uintptr_t)t;
}

static void use_texture(uintptr_t handle, unsigned which)
{
    CUDA_RESOURCE_DESC of;
    CUDA_TEXTURE_DESC how;
    MAYBE(which & 1 ? cuTexObjectGetResourceDesc(&of, (CUtexObject)handle)
                    : cuTexObjectGetTextureDesc(&how, (CUtexObject)handle));
}

static void end_texture(uintptr_t handle) { CHECK(cuTexObjectDestroy((CUtexObject)handle)); }

/* ---- memory: handles, addresses */

static const CUmemAllocationProp on_device = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                               .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                               .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };

static uintptr_t make_handle(void)
{
    CUmemGenericAllocationHandle h;
    CHECK(cuMemCreate(&h, 2 << 20, &on_device, 0));
    return (uintptr_t)h;
}

static void use_handle(uintptr_t handle, unsigned which)
{
    CUmemAllocationProp p;
    CUdeviceptr at;
    int fd;
    switch (which % 3) {
    case 0: MAYBE(cuMemGetAllocationPropertiesFromHandle(&p, handle)); break;
    case 1:
        if (!cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0)) close(fd);
        break;
    default:
        CHECK(cuMemAddressReserve(&at, 2 << 20, 0, 0, 0));
        if (!cuMemMap(at, 2 << 20, 0, handle, 0)) CHECK(cuMemUnmap(at, 2 << 20));
        CHECK(cuMemAddressFree(at, 2 << 20));
    }
}

static void end_handle(uintptr_t handle) { CHECK(cuMemRelease(handle)); }

static uintptr_t make_memory(void)
{
    CUdeviceptr p;
    CHECK(cuMemAlloc(&p, 1 << 20));
    return (uintptr_t)p;
}

static uintptr_t make_managed(void)
{
    CUdeviceptr p;
    CHECK(cuMemAllocManaged(&p, 1 << 20, CU_MEM_ATTACH_GLOBAL));
    return (uintptr_t)p;
}

static void use_memory(uintptr_t handle, unsigned which)
{
    CUdeviceptr p = handle, base;
    char bytes[64];
    size_t size;
    unsigned v;
    CUmemLocation here = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
    switch (which % 7) {
    case 0: MAYBE_BYTES(cuMemsetD8(p, 1, 4096)); break;
    case 1: MAYBE_BYTES(cuMemcpyDtoH(bytes, p, sizeof bytes)); break;
    case 2: MAYBE_BYTES(cuMemcpyDtoDAsync(p, memory, 4096, CU_STREAM_PER_THREAD)); break;
    case 3: MAYBE(cuMemGetAddressRange(&base, &size, p)); break;
    case 4: MAYBE(cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p)); break;
    case 5: MAYBE(cuMemAdvise(p, 1 << 20, CU_MEM_ADVISE_SET_READ_MOSTLY, here)); break;
    default: MAYBE(cuMemPrefetchAsync(p, 1 << 20, here, 0, CU_STREAM_PER_THREAD));
    }
}

static void end_memory(uintptr_t handle) { CHECK(cuMemFree(handle)); }

/* ---- */

static const struct kind kinds[] = {
    { "modules", make_module, use_module, end_module },
    { "libraries", make_library, use_library, end_library },
    { "streams", make_stream, use_stream, end_stream },
    { "events", make_event, use_event, end_event },
    { "graphs", make_graph, use_graph, end_graph },
    { "executable graphs", make_executable, use_executable, end_executable },
    { "pools", make_pool, use_pool, end_pool },
    { "arrays", make_array, use_array, end_array },
    { "sparse arrays", make_sparse, use_array, end_array },
    { "mipmapped arrays", make_mipmap, use_mipmap, end_mipmap },
    { "textures", make_texture, use_texture, end_texture },
    { "handles of memory", make_handle, use_handle, end_handle },
    { "device memory", make_memory, use_memory, end_memory },
    { "managed memory", make_managed, use_memory, end_memory },
};

static const struct kind *kind;
static _Atomic uintptr_t shared;
static atomic_bool over;
static _Atomic int uses;

static void *user(void *arg)
{
    uint64_t state = (uintptr_t)arg;
    CHECK(cuCtxSetCurrent(primary));
    CHECK(cuMemAlloc(&memory, 64 << 10));
    while (!over) {
        kind->use(shared, (unsigned)draw_from(&state, 5040 * 11));
        uses++;
        if (!draw_from(&state, 16)) CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    }
    CHECK(cuCtxSynchronize());
    CHECK(cuMemFree(memory));
    return NULL;
}

static void run(const struct kind *k, int rounds)
{
    pthread_t t[USERS];
    unsigned total;
    kind = k;
    over = false;
    launched = 0;
    uses = 0;
    CHECK(cuMemsetD32(counter, 0, 1));
    shared = k->make();
    for (uintptr_t i = 0; i < USERS; i++) EXPECT(!pthread_create(&t[i], NULL, user, (void *)(i * 7919 + 1)));
    for (int n = 0; n < rounds || uses < USERS * rounds; n++) {
        uintptr_t old = shared;
        shared = k->make();
        for (int y = 0; y < n % 4; y++) sched_yield();
        k->end(old);
    }
    over = true;
    for (int i = 0; i < USERS; i++) pthread_join(t[i], NULL);
    k->end(shared);
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(&total, counter, 4));
    EXPECT_EQUAL(total, launched);
    printf("%s: %u launches\n", k->name, total);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 200;
    alarm(250);
    primary = check_context();
    CHECK(cuModuleLoadData(&lasting, ptx));
    CHECK(cuModuleGetFunction(&lasting_add, lasting, "add"));
    CHECK(cuMemAlloc(&counter, 4));
    textured = array_new(0);
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (argc < 3 || !strcmp(argv[2], kinds[k].name)) run(&kinds[k], rounds);
    CHECK(cuDevicePrimaryCtxRelease(0));
    return 0;
}
