/* Calls that begin something, on a system that refuses one request after the other: memory, mappings,
 * descriptors, processes, threads. The call fails or does without; whatever it answers, it leaves nothing
 * behind, and the next call succeeds. Then all requests from one on: what undoes the call may ask for nothing.
 * usage: refused [CALL [WHICH]]   of one call, only that which-th request is refused (-WHICH: and all after it) */
#include "../usage.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- requests that may be refused: of this thread, while a call runs */

static _Thread_local long left; /* requests until the one that is refused; 0: none is */
static _Thread_local long requests;
static bool lasting; /* what comes after it is refused, too */
static const char *refused; /* what was */

static bool refuse(const char *what)
{
    if (left) requests++;
    if (!left || --left) return false;
    left = lasting;
    refused = what;
    errno = ENOMEM;
    return true;
}

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
/* A function of the C library that may fail. */
#define MAY_FAIL(type, name, failure, error, parameters, arguments) \
    __attribute__((visibility("default"))) type name parameters \
    { \
        REAL(name); \
        if (refuse(#name)) { \
            errno = error; \
            return failure; \
        } \
        return real arguments; \
    }

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
__attribute__((visibility("default"))) void *malloc(size_t n) { return refuse("malloc") ? NULL : __libc_malloc(n); }
__attribute__((visibility("default"))) void *calloc(size_t n, size_t m)
{
    return refuse("calloc") ? NULL : __libc_calloc(n, m);
}
__attribute__((visibility("default"))) void *realloc(void *p, size_t n)
{
    return refuse("realloc") ? NULL : __libc_realloc(p, n);
}

MAY_FAIL(void *, mmap, MAP_FAILED, ENOMEM, (void *p, size_t n, int prot, int flags, int fd, off_t o),
         (p, n, prot, flags, fd, o))
MAY_FAIL(int, memfd_create, -1, EMFILE, (const char *name, unsigned flags), (name, flags))
MAY_FAIL(int, eventfd, -1, EMFILE, (unsigned n, int flags), (n, flags))
MAY_FAIL(int, socketpair, -1, EMFILE, (int d, int type, int protocol, int fds[2]), (d, type, protocol, fds))
MAY_FAIL(int, ftruncate64, -1, ENOSPC, (int fd, off_t n), (fd, n))
MAY_FAIL(int, madvise, -1, ENOMEM, (void *p, size_t n, int advice), (p, n, advice))
MAY_FAIL(int, mprotect, -1, ENOMEM, (void *p, size_t n, int prot), (p, n, prot))
MAY_FAIL(int, pthread_create, EAGAIN, EAGAIN, (pthread_t * t, const pthread_attr_t *a, void *(*run)(void *), void *arg),
         (t, a, run, arg))
MAY_FAIL(ssize_t, recvmsg, -1, ECONNRESET, (int fd, struct msghdr *m, int flags), (fd, m, flags))

__attribute__((visibility("default"))) int open64(const char *path, int flags, ...)
{
    REAL(open64);
    va_list list;
    va_start(list, flags);
    int mode = va_arg(list, int);
    va_end(list);
    if (refuse("open")) {
        errno = EMFILE;
        return -1;
    }
    return real(path, flags, mode);
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
    REAL(ioctl);
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (refuse("ioctl")) {
        errno = ENOMEM;
        return -1;
    }
    return real(fd, request, argument);
}

__attribute__((visibility("default"))) long syscall(long number, ...)
{
    REAL(syscall);
    long a[6];
    va_list list;
    va_start(list, number);
    for (int k = 0; k < 6; k++) a[k] = va_arg(list, long);
    va_end(list);
    /* waking and waiting, signals and the like do not fail */
    bool fails = number == 323 /* userfaultfd */ || number == 434 /* pidfd_open */ || number >= 428;
    if (fails && refuse("syscall")) {
        errno = EMFILE;
        return -1;
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

__attribute__((visibility("default"))) int __clone(int (*f)(void *), void *stack, int flags, void *arg, ...)
{
    REAL(__clone);
    if (refuse("clone")) {
        errno = EAGAIN;
        return -1;
    }
    return real(f, stack, flags, arg);
}

/* ---- the calls */

static const CUmemLocation on_device = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing()\n{\n    ret;\n}\n"
                          ".visible .entry mark(.param .u64 p)\n{\n    .reg .u64 %d<1>;\n    ld.param.u64 %d0, [p];\n"
                          "    st.global.u32 [%d0], 1;\n    ret;\n}\n";
static const CUmemAllocationProp shareable = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                               .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
                                               .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR };
static CUcontext context;
static CUdeviceptr memory;
static size_t free_bytes;

static CUresult init(void) { return cuInit(0); }
static CUresult retain(void) { return cuDevicePrimaryCtxRetain(&context, 0); }
static CUresult create(void) { return cuCtxCreate(&context, NULL, 0, 0); }
static CUresult allocate_managed(void) { return cuMemAllocManaged(&memory, 4 << 20, CU_MEM_ATTACH_GLOBAL); }
static CUresult retain_after_managed(void) { return cuDevicePrimaryCtxRetain(&context, 1); }

static CUresult make_stream(void) { return cuStreamCreate(&(CUstream){ 0 }, CU_STREAM_NON_BLOCKING); }
static CUresult make_event(void) { return cuEventCreate(&(CUevent){ 0 }, CU_EVENT_DEFAULT); }
static CUresult allocate(void) { return cuMemAlloc(&(CUdeviceptr){ 0 }, 5 << 20); }
static CUresult allocate_host(void) { return cuMemAllocHost(&(void *){ NULL }, 1 << 20); }
static CUresult reserve(void) { return cuMemAddressReserve(&(CUdeviceptr){ 0 }, 4 << 20, 0, 0, 0); }
static CUresult load(void) { return cuModuleLoadData(&(CUmodule){ 0 }, ptx); }
static CUresult split(void) { return cuMemAdvise(memory + 8192, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device); }
static CUresult prefetch(void) { return cuMemPrefetchAsync(memory, 1 << 20, on_device, 0, NULL); }

static CUresult make_pool(void)
{
    const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = on_device };
    return cuMemPoolCreate(&(CUmemoryPool){ 0 }, &props);
}

static CUmemoryPool pool;
static CUresult give_access(void)
{
    CUmemAccessDesc all[2];
    for (int d = 0; d < 2; d++)
        all[d] =
            (CUmemAccessDesc){ { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUresult r = cuMemPoolSetAccess(pool, all, 2);
    for (int d = 0; d < 2; d++) {
        CUmemAccess_flags may;
        CHECK(cuMemPoolGetAccess(&may, pool, &all[d].location));
        EXPECT(may == (r ? CU_MEM_ACCESS_FLAGS_PROT_NONE : CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    }
    return r;
}

static CUresult make_memory(void)
{
    return cuMemCreate(&(CUmemGenericAllocationHandle){ 0 }, 4 << 20, &shareable, 0);
}

static char ordinary[1 << 20] __attribute__((aligned(4096)));
static CUresult register_host(void) { return cuMemHostRegister(ordinary, sizeof ordinary, 0); }

/* ---- what is done with kernels, streams, graphs and other processes */

static CUmodule module;
static CUfunction function, mark;
static CUstream stream;
static CUgraph graph;
static CUgraphExec executable;
static CUlibrary library;
static CUmemGenericAllocationHandle handle;
static CUdeviceptr plain, mapped;
static CUarray array;

static CUresult launch(void) { return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL); }
static CUresult copy(void) { return cuMemcpyAsync(plain, plain + 4096, 4096, stream); }
static CUresult fill(void) { return cuMemsetD8Async(plain, 3, 1 << 20, stream); }
static void on_host(void *arg) { (void)arg; }
static CUresult call_host(void) { return cuLaunchHostFunc(stream, on_host, NULL); }
static CUresult load_library(void) { return cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0); }
static CUresult library_global(void) { return cuLibraryGetModule(&(CUmodule){ 0 }, library); }
static CUresult instantiate(void) { return cuGraphInstantiate(&(CUgraphExec){ 0 }, graph, 0); }
static CUresult launch_graph(void) { return cuGraphLaunch(executable, stream); }
static CUresult make_shared_event(void)
{
    return cuEventCreate(&(CUevent){ 0 }, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
}
static CUresult share_memory(void) { return cuIpcGetMemHandle(&(CUipcMemHandle){ 0 }, plain); }
static CUresult allocate_in_order(void) { return cuMemAllocAsync(&(CUdeviceptr){ 0 }, 1 << 20, stream); }

static CUresult make_array(void)
{
    CUDA_ARRAY_DESCRIPTOR d = { .Width = 64, .Height = 64, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
    return cuArrayCreate(&array, &d);
}

static CUresult make_texture(void)
{
    CUDA_RESOURCE_DESC of = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array };
    return cuTexObjectCreate(&(CUtexObject){ 0 }, &of, &(CUDA_TEXTURE_DESC){ .flags = 0 }, NULL);
}

static CUresult map(void)
{
    CUmemAccessDesc access = { .location = on_device, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUresult r = cuMemAddressReserve(&mapped, 4 << 20, 0, 0, 0);
    if (r) return r;
    bool made = !(r = cuMemMap(mapped, 4 << 20, 0, handle, 0));
    if (made && !(r = cuMemSetAccess(mapped, 4 << 20, &access, 1))) return r;
    left = 0; /* the rest is the program's affair, and may need memory */
    if (made) CHECK(cuMemUnmap(mapped, 4 << 20));
    CHECK(cuMemAddressFree(mapped, 4 << 20));
    return r;
}

/* A mapping waits for the next kernel, so it is this launch that needs what the mapping does. */
static CUresult launch_behind_mapping(void)
{
    uint32_t marked;
    CUresult r = cuLaunchKernel(mark, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){ &mapped }, NULL);
    left = 0;
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemcpyDtoH(&marked, mapped, 4));
    EXPECT(marked == !r); /* success is no lie */
    return r;
}

static CUresult export(void)
{
    int fd;
    CUresult r = cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (!r) close(fd);
    return r;
}

static CUresult capture(void)
{
    CUgraph g;
    CUresult r = cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), e;
    if (r) return r;
    r = launch();
    e = cuStreamEndCapture(stream, &g);
    if (!e) CHECK(cuGraphDestroy(g));
    EXPECT(!r || e); /* a graph without what was refused would be a lie */
    return r ? r : e;
}

static void nothing(void) {}
static void initialized(void) { CHECK(init()); }
static void retained(void)
{
    initialized();
    CHECK(cuDevicePrimaryCtxRetain(&context, 1));
    CHECK(retain());
    CHECK(cuCtxSetCurrent(context));
}
static void with_managed(void)
{
    initialized();
    CHECK(retain());
    CHECK(cuCtxSetCurrent(context));
    CHECK(allocate_managed());
}

static void with_kernel(void)
{
    retained();
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&plain, 1 << 20));
    CHECK(load_library());
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&function, module, "nothing"));
}
/* What comes next must wait. */
static void with_work(void)
{
    with_kernel();
    CHECK(cuStreamWaitValue32(stream, plain, 0, CU_STREAM_WAIT_VALUE_GEQ));
    CHECK(cuLaunchHostFunc(stream, on_host, NULL));
}
static void with_graph(void)
{
    CUDA_KERNEL_NODE_PARAMS p = { .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1,
                                  .blockDimZ = 1 };
    CUgraphNode n[3];
    with_kernel();
    p.func = function;
    CHECK(cuGraphCreate(&graph, 0));
    for (int k = 0; k < 3; k++) CHECK(cuGraphAddKernelNode(&n[k], graph, n, k == 2, &p));
    CHECK(instantiate());
    CHECK(cuGraphInstantiate(&executable, graph, 0));
}
static void with_handle(void)
{
    retained();
    CHECK(cuMemCreate(&handle, 4 << 20, &shareable, 0));
}
static void with_mapping(void)
{
    with_kernel();
    CHECK(cuModuleGetFunction(&mark, module, "mark"));
    CHECK(launch());
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemCreate(&handle, 4 << 20, &shareable, 0));
    CHECK(map());
    CHECK(cuMemsetD32(mapped, 0, 1));
}
static void with_array(void)
{
    retained();
    CHECK(make_array());
}

static void with_host_pool(void)
{
    const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                   .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                   .location = { .type = CU_MEM_LOCATION_TYPE_HOST_NUMA } };
    retained();
    CHECK(cuMemPoolCreate(&pool, &props));
    CHECK(cuMemAllocFromPoolAsync(&memory, 4096, pool, NULL));
}

static const struct {
    const char *name;
    void (*before)(void);
    CUresult (*call)(void);
} calls[] = {
    { "cuInit", nothing, init },
    { "cuDevicePrimaryCtxRetain", initialized, retain },
    { "cuCtxCreate", initialized, create },
    { "cuMemAllocManaged", retained, allocate_managed },
    { "cuDevicePrimaryCtxRetain of another device", with_managed, retain_after_managed },
    { "cuMemAdvise", with_managed, split },
    { "cuMemPrefetchAsync", with_managed, prefetch },
    { "cuStreamCreate", retained, make_stream },
    { "cuEventCreate", retained, make_event },
    { "cuMemAlloc", retained, allocate },
    { "cuMemAllocHost", retained, allocate_host },
    { "cuMemHostRegister", retained, register_host },
    { "cuMemAddressReserve", retained, reserve },
    { "cuMemCreate", retained, make_memory },
    { "cuMemPoolCreate", retained, make_pool },
    { "cuMemPoolSetAccess", with_host_pool, give_access },
    { "cuModuleLoadData", retained, load },
    { "cuLaunchKernel", with_kernel, launch },
    { "cuLaunchKernel behind other work", with_work, launch },
    { "cuLaunchKernel behind a mapping", with_mapping, launch_behind_mapping },
    { "cuMemcpyAsync", with_kernel, copy },
    { "cuMemcpyAsync behind other work", with_work, copy },
    { "cuMemsetD8Async", with_kernel, fill },
    { "cuLaunchHostFunc", with_kernel, call_host },
    { "cuLibraryLoadData", retained, load_library },
    { "cuLibraryGetModule", with_kernel, library_global },
    { "a capture", with_kernel, capture },
    { "cuGraphInstantiate", with_graph, instantiate },
    { "cuGraphLaunch", with_graph, launch_graph },
    { "cuEventCreate for other processes", retained, make_shared_event },
    { "cuIpcGetMemHandle", with_kernel, share_memory },
    { "cuMemAllocAsync", with_kernel, allocate_in_order },
    { "cuArrayCreate", retained, make_array },
    { "cuTexObjectCreate", with_array, make_texture },
    { "cuMemMap and cuMemSetAccess", with_handle, map },
    { "cuMemExportToShareableHandle", with_handle, export },
};
enum { CALLS = sizeof calls / sizeof *calls };

/* Whatever was refused before, this works, and ends with the same descriptors and addresses. */
static void use(void)
{
    CUdeviceptr plain, managed;
    unsigned char out[2];
    CHECK(cuInit(0));
    for (int d = 1; d >= 0; d--) {
        CHECK(cuDevicePrimaryCtxRetain(&context, d));
        CHECK(cuCtxSetCurrent(context));
    }
    CHECK(cuMemAlloc(&plain, 1 << 20));
    CHECK(cuMemAllocManaged(&managed, 4 << 20, CU_MEM_ATTACH_GLOBAL));
    *(volatile char *)managed = 1;
    CHECK(cuMemPrefetchAsync(managed, 4 << 20, on_device, 0, NULL));
    CHECK(cuMemsetD8(managed + 1, 2, 1));
    CHECK(cuMemcpyDtoD(plain, managed, 2));
    CHECK(cuMemcpyDtoH(out, plain, 2));
    EXPECT(out[0] == 1 && out[1] == 2);
    EXPECT(*(volatile char *)(managed + 1) == 2);
    CHECK(cuMemFree(managed));
    CHECK(cuMemFree(plain));
    CHECK(cuMemGetInfo(&free_bytes, &(size_t){ 0 }));
}

struct outcome {
    long requests;
    unsigned descriptors;
    uint64_t addresses, free_bytes;
    CUresult result;
    char what[32];
};

static void try(int call, long which, struct outcome *o)
{
    alarm(30);
    calls[call].before();
    lasting = which < 0;
    left = labs(which);
    o->result = calls[call].call();
    left = 0;
    o->requests = requests;
    if (refused) strncpy(o->what, refused, sizeof o->what - 1);
    if (o->result) CHECK(calls[call].call());
    use();
    o->descriptors = descriptors();
    o->addresses = addresses();
    o->free_bytes = free_bytes;
}

/* In a process of its own. */
static bool run(int call, long which, struct outcome *o)
{
    int status = 0;
    fflush(NULL);
    memset(o, 0, sizeof *o);
    pid_t child = fork();
    if (!child) {
        try(call, which, o);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (!status) return true;
    printf("%s, request %ld (%s) refused: the process ended with status 0x%x\n", calls[call].name, which, o->what,
           status);
    return false;
}

static unsigned refuse_each(int call, long only)
{
    enum { NEVER = 1 << 30 };
    const uint64_t slack = 256ull << 30; /* sizes depend on how much memory is free */
    struct outcome *o = mmap(NULL, 2 * sizeof *o, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
                   *usual = o + 1;
    unsigned wrong = !run(call, NEVER, usual);
    for (long k = only ? only : -usual->requests; k <= (only ? only : usual->requests); k++) {
        if (!k) continue;
        wrong += !run(call, k, o);
        if (o->descriptors > usual->descriptors || o->addresses > usual->addresses + slack ||
            o->free_bytes != usual->free_bytes) {
            printf("%s, request %ld (%s) refused, %d: %u descriptors instead of %u, %lu MiB of addresses instead of "
                   "%lu, %lu MiB of the device free instead of %lu\n",
                   calls[call].name, k, o->what, (int)o->result, o->descriptors, usual->descriptors, o->addresses >> 20,
                   usual->addresses >> 20, o->free_bytes >> 20, usual->free_bytes >> 20);
            wrong++;
        } else if (only) {
            printf("request %ld of %ld (%s) refused: %d\n", k, usual->requests, o->what, (int)o->result);
        }
    }
    printf("%s: %ld requests, %u wrong\n", calls[call].name, usual->requests, wrong);
    munmap(o, 2 * sizeof *o);
    return wrong;
}

int main(int argc, char **argv)
{
    unsigned wrong = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    setenv("FAULTLINE_LOG", "off", 0);
    for (int call = 0; call < CALLS; call++)
        if (argc < 2 || atoi(argv[1]) == call) wrong += refuse_each(call, argc > 2 ? atol(argv[2]) : 0);
    return wrong != 0;
}
