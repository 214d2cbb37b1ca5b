/* What the code that nvcc writes into programs registers before main: fatbinaries,
 * and by addresses on the host the kernels and variables in them. Fatbinaries
 * become libraries of the driver when something in them is first asked for. */
#include "runtime/runtime.h"
#include "runtime/registration.h"
#include "base/tree.h"
#include "base/uses.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Over the tree alone. Whoever registers waits for it with the dynamic linker's lock, which the driver may need: so nobody
 * calls the driver under it. */
static pthread_mutex_t runtime_lock = PTHREAD_MUTEX_INITIALIZER;

enum kind { KERNEL, VARIABLE, MANAGED };

struct symbol {
    RB_ENTRY(symbol) node;
    const void *host;         /* the function or shadow variable; of MANAGED the pointer that is to be filled in */
    const char *name;         /* in the device's code */
    struct fatbinary *binary; /* that it is in */
    struct symbol *next;      /* in the same fatbinary */
    _Atomic(CUkernel) kernel; /* NULL until it is asked for */
    enum kind kind;
};

struct fatbinary {
    const void *wrapper;
    struct symbol *symbols; /* all of them */
    struct uses uses;       /* calls that found a symbol of it in the tree, until let_go */
    pthread_mutex_t lock;   /* over what follows; the driver is called under it */
    CUlibrary library;      /* NULL until something in it is asked for */
    bool filled_in;         /* its managed variables are known to the host */
};

static int symbol_compare(const struct symbol *a, const struct symbol *b)
{
    return a->host < b->host ? -1 : a->host > b->host;
}

static RB_HEAD(symbols, symbol) symbols = RB_INITIALIZER(&symbols);
TREE_FUNCTIONS(symbols, symbol, node, symbol_compare)

/* ---- Registration: no errors can be reported, and the driver is not started yet ---- */

RUNTIME_EXPORT void **__cudaRegisterFatBinary(void *wrapper)
{
    struct fatbinary *b = calloc(1, sizeof *b);
    if (b) *b = (struct fatbinary){ .wrapper = wrapper, .lock = PTHREAD_MUTEX_INITIALIZER };
    return (void **)b;
}

RUNTIME_EXPORT void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }

static void add(void **handle, enum kind kind, const void *host, const char *name)
{
    struct symbol *s = handle ? calloc(1, sizeof *s) : NULL;
    if (!s) return;
    *s = (struct symbol){ .host = host, .name = name, .binary = (struct fatbinary *)handle, .kind = kind };
    pthread_mutex_lock(&runtime_lock);
    if (RB_INSERT(symbols, &symbols, s)) {
        free(s);
    } else {
        s->next = s->binary->symbols;
        s->binary->symbols = s;
    }
    pthread_mutex_unlock(&runtime_lock);
}

RUNTIME_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                           int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
                                           int *warp_size)
{
    (void)device, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp_size;
    add(handle, KERNEL, host, name);
}

RUNTIME_EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                                      size_t size, int constant, int global)
{
    (void)device, (void)external, (void)size, (void)constant, (void)global;
    add(handle, VARIABLE, host, name);
}

RUNTIME_EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external,
                                             size_t size, int constant, int global)
{
    (void)device, (void)external, (void)size, (void)constant, (void)global;
    add(handle, MANAGED, host, name);
}

/* When a shared object with kernels is closed. */
RUNTIME_EXPORT void __cudaUnregisterFatBinary(void **handle)
{
    struct fatbinary *b = (struct fatbinary *)handle;
    if (!b || runtime_over()) return;
    pthread_mutex_lock(&runtime_lock);
    for (struct symbol *s = b->symbols; s; s = s->next) RB_REMOVE(symbols, &symbols, s);
    pthread_mutex_unlock(&runtime_lock);
    uses_wait(&b->uses);
    for (struct symbol *s = b->symbols, *next; s; s = next) {
        next = s->next;
        free(s);
    }
    if (b->library) cuLibraryUnload(b->library);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

/* A child gets the tree as it is between two changes. */
static void before_fork(void) { pthread_mutex_lock(&runtime_lock); }
static void after_fork(void) { pthread_mutex_unlock(&runtime_lock); }
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(before_fork, after_fork, after_fork); }

/* ---- Loading ---- */

/* Called with the fatbinary's lock. Needs no context. A fatbinary without code for this device is found out by whoever
 * asks for something in it. */
static CUresult load(struct fatbinary *b)
{
    return b->library ? CUDA_SUCCESS : cuLibraryLoadData(&b->library, b->wrapper, NULL, NULL, 0, NULL, NULL, 0);
}

static CUresult load_kernel(struct symbol *s)
{
    CUkernel kernel;
    if (atomic_load(&s->kernel)) return CUDA_SUCCESS;
    pthread_mutex_lock(&s->binary->lock);
    CUresult r = load(s->binary);
    if (!r) r = cuLibraryGetKernel(&kernel, s->binary->library, s->name);
    if (!r) atomic_store(&s->kernel, kernel);
    pthread_mutex_unlock(&s->binary->lock);
    return r;
}

/* Where the pointer is that the host has for a managed variable. */
static _Atomic(void *) *pointer_of(const struct symbol *s) { return (_Atomic(void *) *)s->host; }

/* A managed variable, which is a pointer on the host, points to the memory from now on. */
static CUresult load_variables(struct fatbinary *b)
{
    pthread_mutex_lock(&b->lock);
    CUresult r = load(b);
    for (const struct symbol *s = b->symbols; s && !r && !b->filled_in; s = s->next) {
        CUdeviceptr address;
        if (s->kind != MANAGED) continue;
        r = cuLibraryGetManaged(&address, NULL, b->library, s->name);
        if (!r) atomic_store(pointer_of(s), (void *)address);
    }
    if (!r) b->filled_in = true;
    pthread_mutex_unlock(&b->lock);
    return r;
}

/* Before a managed variable of this fatbinary is used by the host. */
RUNTIME_EXPORT char __cudaInitModule(void **handle)
{
    if (!handle || runtime_ready()) return 0;
    CUresult r = load_variables((struct fatbinary *)handle);
    if (r) runtime_failed(runtime_error(r));
    return !r;
}

/* ---- Questions ---- */

/* What these find stays until let_go, even if it is unregistered. */
static struct symbol *keep(struct symbol *s)
{
    if (s) uses_begin(&s->binary->uses);
    return s;
}

static void let_go(struct symbol *s) { uses_end(&s->binary->uses); }

/* NULL: nobody registered it, or not as a kernel. */
static struct symbol *find_kernel(const void *host)
{
    struct symbol key = { .host = host };
    pthread_mutex_lock(&runtime_lock);
    struct symbol *s = RB_FIND(symbols, &symbols, &key);
    s = keep(s && s->kind == KERNEL ? s : NULL);
    pthread_mutex_unlock(&runtime_lock);
    return s;
}

/* The next kernel behind host in the tree that was asked for already. */
static struct symbol *find_known(const void *host)
{
    struct symbol key = { .host = host };
    pthread_mutex_lock(&runtime_lock);
    struct symbol *s = RB_NFIND(symbols, &symbols, &key);
    while (s && (s->host == host || !atomic_load(&s->kernel))) s = RB_NEXT(symbols, &symbols, s);
    keep(s);
    pthread_mutex_unlock(&runtime_lock);
    return s;
}

/* With runtime_lock. */
static struct symbol *managed_at(const void *address)
{
    struct symbol *s;
    RB_FOREACH(s, symbols, &symbols)
    if (s->kind == MANAGED && atomic_load(pointer_of(s)) == address) return s;
    return NULL;
}

/* A variable, by its shadow; programs name a managed one by where it is. */
static struct symbol *find_variable(const void *address)
{
    struct symbol key = { .host = address };
    pthread_mutex_lock(&runtime_lock);
    struct symbol *s = RB_FIND(symbols, &symbols, &key);
    if (s && s->kind == KERNEL) s = NULL;
    s = keep(s || !address ? s : managed_at(address));
    pthread_mutex_unlock(&runtime_lock);
    return s;
}

cudaError_t runtime_registered_kernel(const void *symbol, CUkernel *kernel)
{
    cudaError_t r = runtime_init();
    if (r) return r;
    struct symbol *s = find_kernel(symbol);
    if (!s) return cudaErrorInvalidDeviceFunction;
    r = runtime_error(load_kernel(s));
    if (!r) *kernel = atomic_load(&s->kernel);
    let_go(s);
    return r;
}

cudaError_t runtime_kernel(const void *symbol, CUkernel *kernel)
{
    const char *name;
    cudaError_t r = runtime_registered_kernel(symbol, kernel);
    if (r != cudaErrorInvalidDeviceFunction || !symbol) return r;
    if (cuKernelGetName(&name, (CUkernel)symbol)) return cudaErrorInvalidResourceHandle;
    *kernel = (CUkernel)symbol;
    return cudaSuccess;
}

cudaError_t runtime_function(const void *symbol, CUfunction *function)
{
    CUkernel kernel;
    cudaError_t r = runtime_ready();
    if (!r) r = runtime_kernel(symbol, &kernel);
    return r ? r : runtime_error(cuKernelGetFunction(function, kernel));
}

/* Whether it is this kernel, or the function that it is in the current context. */
static bool is(const struct symbol *s, CUkernel kernel, CUfunction function)
{
    CUfunction own;
    const CUkernel known = atomic_load(&s->kernel);
    if (known == kernel || known == (CUkernel)function) return true;
    return function && !cuKernelGetFunction(&own, known) && own == function;
}

const void *runtime_symbol(CUkernel kernel, CUfunction function)
{
    const void *host = kernel ? (const void *)kernel : function, *at = NULL;
    for (struct symbol *s; (s = find_known(at)); let_go(s)) {
        at = s->host;
        if (is(s, kernel, function)) host = s->host;
    }
    return host;
}

cudaError_t runtime_variable(const void *symbol, CUdeviceptr *address, size_t *size)
{
    size_t unused;
    cudaError_t r = runtime_ready();
    if (r) return r;
    if (!size) size = &unused;
    struct symbol *s = find_variable(symbol);
    if (!s) return cudaErrorInvalidSymbol;
    r = runtime_error(load_variables(s->binary));
    if (!r && s->kind == VARIABLE) r = runtime_error(cuLibraryGetGlobal(address, size, s->binary->library, s->name));
    if (!r && s->kind == MANAGED) r = runtime_error(cuLibraryGetManaged(address, size, s->binary->library, s->name));
    let_go(s);
    return r;
}
