/* Libraries: modules that belong to the process, and their kernels. */
#include "api/library.h"
#include "graph/capture.h"
#include "module/image.h"
#include "module/handles.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct library *libraries;
static struct handles kernel_handles = HANDLES_INIT(struct kernel_handle);

static void construct(void *object) { pthread_mutex_init(&((struct library *)object)->lock, NULL); }

static struct objects all = OBJECTS_INIT(struct library, construct);

static struct library *library_new(void)
{
    const size_t life = offsetof(struct library, file);
    struct library *l = object_take(&all);
    if (l) memset((char *)l + life, 0, offsetof(struct library, lock) - life);
    return l;
}

/* Broken or not. It stays until library_end. */
static CUresult library_get_any(CUlibrary handle, struct library **out)
{
    CUresult r = library_ready();
    if (r) return r;
    pthread_mutex_lock(&lock);
    struct library *l = libraries;
    while (l && l != (struct library *)handle) l = l->next;
    if (l) uses_begin(&l->uses);
    pthread_mutex_unlock(&lock);
    *out = l;
    return l ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult library_end(struct library *l, CUresult r)
{
    uses_end(&l->uses);
    return r;
}

static CUresult library_get(CUlibrary handle, struct library **out)
{
    CUresult r = library_get_any(handle, out);
    return r || !(*out)->broken ? r : library_end(*out, (*out)->broken);
}

static CUresult kernel_named(CUkernel handle, struct kernel_handle **out)
{
    CUresult r = library_ready();
    return r ? r : kernel_get(handle, out);
}

static const struct fl_image *image_of(const struct library *l) { return l->file.data; }
static uint32_t count_of(const struct library *l) { return l->broken ? 0 : image_of(l)->nkernels; }

/* Observed on H200: code that cannot be compiled, or is none, can be loaded. */
static bool is_about_code(CUresult r)
{
    return r == CUDA_ERROR_INVALID_IMAGE || r == CUDA_ERROR_INVALID_PTX || r == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
           r == CUDA_ERROR_NO_BINARY_FOR_GPU || r == CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult load(CUlibrary *library, const void *data, size_t size, CUjit_option *options, void **values,
                     unsigned n)
{
    CUresult r = library_ready();
    if (r || (r = sticky_get())) return r;
    if (!library || !data) return CUDA_ERROR_INVALID_VALUE;
    struct library *l = library_new();
    if (!l) return CUDA_ERROR_OUT_OF_MEMORY;
    r = image_from_data(data, size, n, options, values, &l->file);
    l->broken = is_about_code(r) ? r : CUDA_SUCCESS;
    if (r && !l->broken) goto failed;
    l->kernels = handles_get(&kernel_handles, count_of(l));
    if (!l->kernels) {
        r = CUDA_ERROR_OUT_OF_MEMORY;
        goto failed;
    }
    for (uint32_t k = 0; k < count_of(l); k++) {
        l->kernels[k].index = k;
        l->kernels[k].library = l;
        l->kernels[k].magic = KERNEL_MAGIC; /* last: who has a stale handle looks at it first */
    }
    pthread_mutex_lock(&lock);
    l->next = libraries;
    libraries = l;
    pthread_mutex_unlock(&lock);
    *library = (CUlibrary)l;
    return CUDA_SUCCESS;
failed:
    image_release(&l->file);
    object_give(&all, l);
    return r;
}

/* They say where functions are that there are none of, and that the code stays: it is copied anyway. */
static bool known(const CUlibraryOption *options, unsigned count)
{
    for (unsigned k = 0; k < count && options; k++)
        if ((unsigned)options[k] >= CU_LIBRARY_NUM_OPTIONS) return false;
    return options || !count;
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                                   void **jitOptionsValues, unsigned int numJitOptions, CUlibraryOption *libraryOptions,
                                   void **libraryOptionValues, unsigned int numLibraryOptions)
{
    (void)libraryOptionValues;
    if (!known(libraryOptions, numLibraryOptions)) return CUDA_ERROR_INVALID_VALUE;
    return load(library, code, 0, jitOptions, jitOptionsValues, numJitOptions);
}

CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, CUjit_option *jitOptions,
                                       void **jitOptionsValues, unsigned int numJitOptions,
                                       CUlibraryOption *libraryOptions, void **libraryOptionValues,
                                       unsigned int numLibraryOptions)
{
    void *data;
    size_t size;
    CUresult r = library_ready();
    (void)libraryOptionValues;
    if (r) return r;
    if (!known(libraryOptions, numLibraryOptions)) return CUDA_ERROR_INVALID_VALUE;
    if (!library || !fileName) return CUDA_ERROR_INVALID_VALUE;
    if ((r = read_file(fileName, &data, &size))) return r;
    r = size ? load(library, data, size, jitOptions, jitOptionsValues, numJitOptions) : CUDA_ERROR_INVALID_IMAGE;
    free(data);
    return r;
}

/* Nobody finds it, or a kernel of it, any more. NULL: somebody else has taken it out. */
static struct library *take_out(CUlibrary handle)
{
    pthread_mutex_lock(&lock);
    struct library **at = &libraries;
    while (*at && *at != (struct library *)handle) at = &(*at)->next;
    struct library *l = *at;
    if (l) *at = l->next;
    for (uint32_t k = 0; l && k < count_of(l); k++) l->kernels[k].magic = 0;
    pthread_mutex_unlock(&lock);
    return l;
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
    CUresult r = library_ready();
    if (r || (r = capture_refuse_unsafe())) return r;
    struct library *l = take_out(library);
    if (!l) return CUDA_ERROR_INVALID_HANDLE;
    library_unload_modules(l);
    image_release(&l->file);
    handles_put(&kernel_handles, l->kernels);
    object_give(&all, l);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
    struct library *l;
    CUresult r = library_get(library, &l);
    if (r) return r;
    if (!pKernel || !name) return library_end(l, CUDA_ERROR_INVALID_VALUE);
    const struct fl_image *h = image_of(l);
    for (uint32_t k = 0; k < h->nkernels; k++)
        if (!strcmp(image_string(h, image_kernels(h)[k].name), name)) {
            *pKernel = (CUkernel)&l->kernels[k];
            return library_end(l, CUDA_SUCCESS);
        }
    return library_end(l, CUDA_ERROR_NOT_FOUND);
}

CUresult CUDAAPI cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
    struct library *l;
    CUresult r = library_get_any(lib, &l);
    if (r) return r;
    if (count) *count = count_of(l);
    return library_end(l, count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* The last one first (observed on H200). */
CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
    struct library *l;
    CUresult r = library_get_any(lib, &l);
    if (r) return r;
    if (!kernels) return library_end(l, CUDA_ERROR_INVALID_VALUE);
    const unsigned n = count_of(l);
    for (unsigned k = 0; k < numKernels && k < n; k++) kernels[k] = (CUkernel)&l->kernels[n - 1 - k];
    return library_end(l, CUDA_SUCCESS);
}

/* Until module_end. */
static CUresult module_here(CUlibrary library, struct module **m)
{
    struct context *c;
    struct library *l;
    CUresult r = context_current(&c);
    if (r || (r = library_get(library, &l))) return r;
    return library_end(l, library_module(l, c, m));
}

CUresult CUDAAPI cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
    struct module *m;
    CUresult r = module_here(library, &m);
    if (r) return r;
    if (pMod) *pMod = (CUmodule)m;
    return module_end(m, pMod ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

static CUresult variable(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name, unsigned kinds)
{
    struct module *m;
    struct allocation *a;
    CUresult r = module_here(library, &m);
    if (r) return r;
    if (!name || (!dptr && !bytes)) return module_end(m, CUDA_ERROR_INVALID_VALUE);
    struct function *f;
    r = module_find_variable(m, name, kinds, &a);
    /* a kernel is no variable (observed on H200) */
    if (r && kinds & 1 << FL_SYMBOL_GLOBAL && !module_find_function(m, name, &f)) r = CUDA_ERROR_INVALID_VALUE;
    return module_end(m, r ? r : give_variable(a, dptr, bytes));
}

CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
    return variable(dptr, bytes, library, name, 1 << FL_SYMBOL_GLOBAL | 1 << FL_SYMBOL_CONST | 1 << FL_SYMBOL_MANAGED);
}

CUresult CUDAAPI cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
    return variable(dptr, bytes, library, name, 1 << FL_SYMBOL_MANAGED);
}

/* The recorded device has no unified functions, whatever the symbol. */
CUresult CUDAAPI cuLibraryGetUnifiedFunction(void **fptr, CUlibrary library, const char *symbol)
{
    struct library *l;
    CUresult r = library_get_any(library, &l);
    (void)fptr, (void)symbol;
    return r ? r : library_end(l, CUDA_ERROR_INVALID_VALUE);
}

/* ---- kernels */

CUresult CUDAAPI cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    struct context *c;
    struct kernel_handle *k;
    struct function *f;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pFunc) return CUDA_ERROR_INVALID_VALUE;
    if ((r = kernel_get(kernel, &k)) || (r = kernel_end(k, function_get(c, (CUfunction)k, &f)))) return r;
    *pFunc = (CUfunction)f;
    return function_end(f, CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
    struct kernel_handle *k;
    CUresult r = kernel_named(kernel, &k);
    if (r) return r;
    if (pLib) *pLib = (CUlibrary)k->library;
    return kernel_end(k, pLib ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuKernelGetName(const char **name, CUkernel hfunc)
{
    struct kernel_handle *k;
    CUresult r = kernel_named(hfunc, &k);
    if (r) return r;
    const struct fl_image *h = image_of(k->library);
    if (name) *name = image_string(h, image_kernels(h)[k->index].name);
    return kernel_end(k, name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* Until kernel_end. A context is needed neither here nor on the device (observed on H200). */
static CUresult kernel_on(CUkernel kernel, CUdevice dev, struct kernel_handle **k, struct device **d)
{
    CUresult r = kernel_named(kernel, k);
    if (!r && (r = device_get(dev, d))) kernel_end(*k, r);
    return r;
}

CUresult CUDAAPI cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev)
{
    struct kernel_handle *k;
    struct device *d;
    CUresult r = kernel_on(kernel, dev, &k, &d);
    return r ? r : kernel_end(k, kernel_attribute(k, d, attrib, pi));
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev)
{
    struct kernel_handle *k;
    struct device *d;
    CUresult r = kernel_on(kernel, dev, &k, &d);
    return r ? r : kernel_end(k, kernel_set_attribute(k, d, attrib, val));
}

CUresult CUDAAPI cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    struct kernel_handle *k;
    struct device *d;
    CUresult r = kernel_on(kernel, dev, &k, &d);
    return r ? r : kernel_end(k, kernel_set_cache(k, d, config));
}

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    struct kernel_handle *k;
    CUresult r = kernel_named(kernel, &k);
    if (r) return r;
    const struct fl_image *h = image_of(k->library);
    return kernel_end(k, image_param_info(h, &image_kernels(h)[k->index], paramIndex, paramOffset, paramSize));
}
