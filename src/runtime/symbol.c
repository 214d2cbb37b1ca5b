/* What the code that nvcc writes into programs registers before main: fatbinaries,
 * and by addresses on the host the kernels and variables in them. Fatbinaries
 * become libraries of the driver when something in them is first asked for. */
#include "runtime/runtime.h"
#include "runtime/registration.h"
#include "base/tree.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t runtime_lock = PTHREAD_MUTEX_INITIALIZER;

enum kind { KERNEL, VARIABLE, MANAGED };

struct symbol {
    RB_ENTRY(symbol) node;
    const void *host;         /* the function or shadow variable; of MANAGED the pointer that is to be filled in */
    const char *name;         /* in the device's code */
    struct fatbinary *binary; /* that it is in */
    struct symbol *next;      /* in the same fatbinary */
    CUkernel kernel;          /* NULL until it is asked for */
    enum kind kind;
};

struct fatbinary {
    const void *wrapper;
    CUlibrary library;      /* NULL until something in it is asked for */
    struct symbol *symbols; /* all of them */
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
    if (b) b->wrapper = wrapper;
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

/* When a shared object with kernels is closed, and at the program's end, which waits for no kernel. */
RUNTIME_EXPORT void __cudaUnregisterFatBinary(void **handle)
{
    struct fatbinary *b = (struct fatbinary *)handle;
    if (!b) return;
    pthread_mutex_lock(&runtime_lock);
    for (struct symbol *s = b->symbols, *next; s; s = next) {
        next = s->next;
        RB_REMOVE(symbols, &symbols, s);
        free(s);
    }
    pthread_mutex_unlock(&runtime_lock);
    if (b->library && !runtime_init()) cuLibraryUnload(b->library);
    free(b);
}

/* ---- Loading ---- */

/* Called with the lock. Needs no context. A fatbinary without code for this device is found out by whoever asks for
 * something in it. */
static CUresult load(struct fatbinary *b)
{
    return b->library ? CUDA_SUCCESS : cuLibraryLoadData(&b->library, b->wrapper, NULL, NULL, 0, NULL, NULL, 0);
}

/* The same; and a managed variable, which is a pointer on the host, points to the memory from now on. */
static CUresult load_variables(struct fatbinary *b)
{
    CUresult r = load(b);
    for (const struct symbol *s = b->symbols; s && !r && !b->filled_in; s = s->next) {
        CUdeviceptr address;
        if (s->kind != MANAGED) continue;
        r = cuLibraryGetManaged(&address, NULL, b->library, s->name);
        if (!r) *(void **)s->host = (void *)address;
    }
    if (!r) b->filled_in = true;
    return r;
}

/* Before a managed variable of this fatbinary is used by the host. */
RUNTIME_EXPORT char __cudaInitModule(void **handle)
{
    if (!handle || runtime_ready()) return 0;
    pthread_mutex_lock(&runtime_lock);
    CUresult r = load_variables((struct fatbinary *)handle);
    pthread_mutex_unlock(&runtime_lock);
    if (r) runtime_failed(runtime_error(r));
    return !r;
}

/* ---- Questions ---- */

/* Called with the lock. NULL: nobody registered it, or not as one of these kinds. */
static struct symbol *find(const void *host, enum kind first, enum kind last)
{
    struct symbol key = { .host = host }, *s = RB_FIND(symbols, &symbols, &key);
    return s && s->kind >= first && s->kind <= last ? s : NULL;
}

/* Called with the lock. A variable, by its shadow; programs name a managed one by where it is. */
static struct symbol *find_variable(const void *address)
{
    struct symbol *s = find(address, VARIABLE, MANAGED);
    if (s || !address) return s;
    RB_FOREACH(s, symbols, &symbols)
    if (s->kind == MANAGED && *(void **)s->host == address) return s;
    return NULL;
}

cudaError_t runtime_registered_kernel(const void *symbol, CUkernel *kernel)
{
    cudaError_t r = runtime_init();
    if (r) return r;
    pthread_mutex_lock(&runtime_lock);
    struct symbol *s = find(symbol, KERNEL, KERNEL);
    r = s ? runtime_error(load(s->binary)) : cudaErrorInvalidDeviceFunction;
    if (!r && !s->kernel) r = runtime_error(cuLibraryGetKernel(&s->kernel, s->binary->library, s->name));
    if (!r) *kernel = s->kernel;
    pthread_mutex_unlock(&runtime_lock);
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
    if (!s->kernel) return false;
    if (s->kernel == kernel || s->kernel == (CUkernel)function) return true;
    return function && !cuKernelGetFunction(&own, s->kernel) && own == function;
}

const void *runtime_symbol(CUkernel kernel, CUfunction function)
{
    const void *host = kernel ? (const void *)kernel : function;
    struct symbol *s;
    pthread_mutex_lock(&runtime_lock);
    RB_FOREACH(s, symbols, &symbols)
    if (s->kind == KERNEL && is(s, kernel, function)) host = s->host;
    pthread_mutex_unlock(&runtime_lock);
    return host;
}

cudaError_t runtime_variable(const void *symbol, CUdeviceptr *address, size_t *size)
{
    size_t unused;
    cudaError_t r = runtime_ready();
    if (r) return r;
    if (!size) size = &unused;
    pthread_mutex_lock(&runtime_lock);
    struct symbol *s = find_variable(symbol);
    r = s ? runtime_error(load_variables(s->binary)) : cudaErrorInvalidSymbol;
    if (!r && s->kind == VARIABLE) r = runtime_error(cuLibraryGetGlobal(address, size, s->binary->library, s->name));
    if (!r && s->kind == MANAGED) r = runtime_error(cuLibraryGetManaged(address, size, s->binary->library, s->name));
    pthread_mutex_unlock(&runtime_lock);
    return r;
}
