/* Libraries: modules that belong to the process, and their kernels. */
#include "api/library.h"
#include "module/image.h"
#include "module/handles.h"
#include "stream/stream.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct library *libraries;
static struct handles kernel_handles = HANDLES_INIT(struct kernel_handle);

static CUresult library_get(CUlibrary handle, struct library **out)
{
    CUresult r = library_ready();
    if (r) return r;
    r = CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    for (struct library *l = libraries; l; l = l->next)
        if (l == (struct library *)handle) {
            *out = l;
            r = l->broken;
            break;
        }
    pthread_mutex_unlock(&lock);
    return r;
}

static CUresult kernel_get(CUkernel handle, struct kernel_handle **out)
{
    CUresult r = library_ready();
    if (r) return r;
    struct kernel_handle *k = (struct kernel_handle *)handle;
    if (handle_magic(k) != KERNEL_MAGIC) return CUDA_ERROR_INVALID_HANDLE;
    *out = k;
    return CUDA_SUCCESS;
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
    struct library *l = calloc(1, sizeof *l);
    if (!l) return CUDA_ERROR_OUT_OF_MEMORY;
    r = image_from_data(data, size, n, options, values, &l->file);
    l->broken = is_about_code(r) ? r : CUDA_SUCCESS;
    if (r && !l->broken) goto failed;
    l->kernels = handles_get(&kernel_handles, count_of(l));
    if (!l->kernels) {
        r = CUDA_ERROR_OUT_OF_MEMORY;
        goto failed;
    }
    for (uint32_t k = 0; k < count_of(l); k++) l->kernels[k] = (struct kernel_handle){ KERNEL_MAGIC, k, l };
    pthread_mutex_init(&l->lock, NULL);
    pthread_mutex_lock(&lock);
    l->next = libraries;
    libraries = l;
    pthread_mutex_unlock(&lock);
    *library = (CUlibrary)l;
    return CUDA_SUCCESS;
failed:
    image_release(&l->file);
    free(l);
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

/* Nobody finds it any more. NULL: somebody else has taken it out. */
static struct library *take_out(CUlibrary handle)
{
    pthread_mutex_lock(&lock);
    struct library **at = &libraries;
    while (*at && *at != (struct library *)handle) at = &(*at)->next;
    struct library *l = *at;
    if (l) *at = l->next;
    pthread_mutex_unlock(&lock);
    return l;
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
    CUresult r = library_ready();
    if (r) return r;
    struct library *l = take_out(library);
    if (!l) return CUDA_ERROR_INVALID_HANDLE;
    for (struct context *c; (c = library_context(l)); library_leave(l, c)) context_synchronize(c);
    library_free_variables(l);
    for (uint32_t k = 0; k < count_of(l); k++) l->kernels[k].magic = 0;
    image_release(&l->file);
    handles_put(&kernel_handles, l->kernels);
    free(l);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
    struct library *l;
    CUresult r = library_get(library, &l);
    if (r) return r;
    if (!pKernel || !name) return CUDA_ERROR_INVALID_VALUE;
    const struct fl_image *h = image_of(l);
    for (uint32_t k = 0; k < h->nkernels; k++)
        if (!strcmp(image_string(h, image_kernels(h)[k].name), name)) {
            *pKernel = (CUkernel)&l->kernels[k];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
    struct library *l;
    CUresult r = library_get(lib, &l);
    if (r) return r;
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = image_of(l)->nkernels;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
    struct library *l;
    CUresult r = library_get(lib, &l);
    if (r) return r;
    if (!kernels) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; k < numKernels && k < image_of(l)->nkernels; k++) kernels[k] = (CUkernel)&l->kernels[k];
    return CUDA_SUCCESS;
}

static CUresult module_here(CUlibrary library, struct module **m)
{
    struct context *c;
    struct library *l;
    CUresult r = context_current(&c);
    if (r || (r = library_get(library, &l))) return r;
    return library_module(l, c, m);
}

CUresult CUDAAPI cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
    struct module *m;
    CUresult r = module_here(library, &m);
    if (r) return r;
    if (!pMod) return CUDA_ERROR_INVALID_VALUE;
    *pMod = (CUmodule)m;
    return CUDA_SUCCESS;
}

static CUresult variable(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name, unsigned kinds)
{
    struct module *m;
    struct allocation *a;
    CUresult r = module_here(library, &m);
    if (r) return r;
    if (!name || (!dptr && !bytes)) return CUDA_ERROR_INVALID_VALUE;
    r = module_find_variable(m, name, kinds, &a);
    return r ? r : give_variable(a, dptr, bytes);
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
    CUresult r = library_get(library, &l);
    (void)fptr, (void)symbol;
    return r ? r : CUDA_ERROR_INVALID_VALUE;
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
    if ((r = kernel_get(kernel, &k)) || (r = function_get(c, (CUfunction)k, &f))) return r;
    *pFunc = (CUfunction)f;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
    struct kernel_handle *k;
    CUresult r = kernel_get(kernel, &k);
    if (r) return r;
    if (!pLib) return CUDA_ERROR_INVALID_VALUE;
    *pLib = (CUlibrary)k->library;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuKernelGetName(const char **name, CUkernel hfunc)
{
    struct kernel_handle *k;
    CUresult r = kernel_get(hfunc, &k);
    if (r) return r;
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    const struct fl_image *h = image_of(k->library);
    *name = image_string(h, image_kernels(h)[k->index].name);
    return CUDA_SUCCESS;
}

/* The kernel's function on a device: in the current context if it is of that device, else in the primary one. */
static CUresult function_on(CUkernel kernel, CUdevice dev, struct function **f)
{
    struct kernel_handle *k;
    struct device *d;
    CUresult r = kernel_get(kernel, &k);
    if (r || (r = device_get(dev, &d))) return r;
    struct context *c = context_top();
    if (!c || c->device != d || atomic_load(&c->destroyed)) c = primary_active(d) ? d->primary : NULL;
    return c ? function_get(c, (CUfunction)k, f) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult CUDAAPI cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev)
{
    struct function *f;
    CUresult r = function_on(kernel, dev, &f);
    return r ? r : function_attribute(f, attrib, pi);
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev)
{
    struct function *f;
    CUresult r = function_on(kernel, dev, &f);
    return r ? r : function_set_attribute(f, attrib, val);
}

CUresult CUDAAPI cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    struct function *f;
    CUresult r = function_on(kernel, dev, &f);
    if (r) return r;
    if ((int)config < 0 || config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    f->cache = config;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    struct kernel_handle *k;
    CUresult r = kernel_get(kernel, &k);
    if (r) return r;
    const struct fl_image *h = image_of(k->library);
    return image_param_info(h, &image_kernels(h)[k->index], paramIndex, paramOffset, paramSize);
}
