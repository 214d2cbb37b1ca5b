/* Modules: loading, functions, variables, JIT options. */
#include "graph/capture.h"
#include "module/module.h"
#include "api/library.h"
#include "api/reference.h"
#include "base/driver_version.h"
#include "base/log.h"
#include "base/ptx_version.h"
#include "module/fatbin.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What code for blocks of so many threads was compiled for (observed on H200). */
static void *whole_warps(size_t threads)
{
    enum { WARP = 32, MOST = 1024 };
    unsigned n = (unsigned)threads;
    return (void *)(size_t)(n > MOST ? MOST : (n + WARP - 1) / WARP * WARP);
}

static bool is_target(size_t target)
{
    static const unsigned char known[] = { 30, 32, 35, 37, 50, 52, 53,  60,  61,  62,  70,  72,
                                           75, 80, 86, 87, 89, 90, 100, 101, 103, 110, 120, 121 };
    const size_t kind = target & ~(size_t)0xffff;
    if (kind && kind != CU_COMPUTE_ACCELERATED_TARGET_BASE && kind != CU_COMPUTE_FAMILY_TARGET_BASE) return false;
    for (unsigned k = 0; k < sizeof known; k++)
        if ((target & 0xffff) == known[k]) return true;
    return false;
}

CUresult jit_options(unsigned n, CUjit_option *options, void **values, struct jit *j)
{
    *j = (struct jit){ 0 };
    if (n && (!options || !values)) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; k < n; k++) {
        size_t number = (size_t)values[k];
        switch (options[k]) {
        case CU_JIT_INFO_LOG_BUFFER: j->info = values[k]; break;
        case CU_JIT_ERROR_LOG_BUFFER: j->error = values[k]; break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            j->info_size = number & 0xffffffff;
            j->info_slot = &values[k];
            break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            j->error_size = number & 0xffffffff;
            j->error_slot = &values[k];
            break;
        case CU_JIT_WALL_TIME: j->time_slot = &values[k]; break;
        case CU_JIT_THREADS_PER_BLOCK: values[k] = whole_warps(number); break;
        case CU_JIT_MAX_REGISTERS:
            if (!(unsigned)number) return CUDA_ERROR_INVALID_VALUE;
            break;
        case CU_JIT_TARGET:
            if (!is_target((unsigned)number)) return CUDA_ERROR_INVALID_VALUE;
            break;
        case CU_JIT_CACHE_MODE:
            if (number > CU_JIT_CACHE_OPTION_CA) return CUDA_ERROR_INVALID_VALUE;
            break;
        case CU_JIT_OPTIMIZATION_LEVEL: j->level = (int)number; break;
        case CU_JIT_GENERATE_DEBUG_INFO: j->debug = (int)number != 0; break;
        default:
            if ((int)options[k] < 0 || options[k] >= CU_JIT_NUM_OPTIONS) return CUDA_ERROR_INVALID_VALUE;
        }
    }
    /* a buffer has a size (observed on H200) */
    if ((j->info && !j->info_slot) || (j->error && !j->error_slot)) return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

const char *jit_wrong(const struct jit *j)
{
    if (j->level < 0) return "there is no such level of optimization\n";
    return j->level && j->debug ? "optimized debugging is not supported\n" : NULL;
}

/* The size that was written goes where the size of the buffer came from. */
static void give_log(const char *text, char *buffer, size_t size, void **slot)
{
    size_t n = strlen(text);
    if (buffer && size) {
        size_t fits = n < size ? n : size - 1;
        memcpy(buffer, text, fits);
        buffer[fits] = 0;
        n = n ? fits + 1 : 0;
    }
    if (slot) *slot = (void *)n;
}

CUresult image_from_ptx(const char *text, const struct jit *j, struct image_file *file)
{
    struct timespec a, b;
    char log[4096] = "";
    clock_gettime(CLOCK_MONOTONIC, &a);
    const char *wrong = jit_wrong(j);
    CUresult r = wrong ? CUDA_ERROR_INVALID_PTX : compile_ptx(text, file, log, sizeof log);
    if (wrong) snprintf(log, sizeof log, "%s", wrong);
    clock_gettime(CLOCK_MONOTONIC, &b);
    if (j->time_slot) {
        float ms = (float)((double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6);
        memcpy(j->time_slot, &ms, sizeof ms);
    }
    give_log(r ? log : "", j->error, j->error_size, j->error_slot);
    /* what is wrong with it is the program's affair if it asked for the log; what is missing here never is */
    bool told = j->error && j->error_size;
    if (*log && (r == CUDA_ERROR_NOT_SUPPORTED || (r && !told)))
        fl_log(FL_LOG_WARN, "PTX that cannot be %s: %.*s", r == CUDA_ERROR_NOT_SUPPORTED ? "run here" : "compiled",
               (int)strcspn(log, "\n"), log);
    if (r == CUDA_ERROR_NOT_SUPPORTED) r = CUDA_ERROR_INVALID_PTX;
    give_log(r ? "" : "compiled for this machine's processor\n", j->info, j->info_size, j->info_slot);
    return r;
}

unsigned simulated_sm(void)
{
    const struct profile *p = devices[0].profile;
    return 10 * (unsigned)profile_attribute(p, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
           (unsigned)profile_attribute(p, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

CUresult ptx_from_data(const void *data, size_t size, char **text)
{
    unsigned sm = simulated_sm();
    CUresult r = fatbin_ptx(data, size, sm, text);
    if (r == CUDA_ERROR_NO_BINARY_FOR_GPU)
        fl_log_once(
            FL_LOG_WARN,
            "an image holds machine code, but no PTX for compute capability %u.%u or less, and only PTX can run "
            "here: compile it with nvcc -gencode arch=compute_%u,code=compute_%u. What is compiled at run time, by "
            "NVRTC, nvJitLink or ptxas, becomes PTX under faultline run, unless it is from a cache",
            sm / 10, sm % 10, sm, sm);
    if (!r) ptx_lower_version(*text, driver_minor());
    return r;
}

CUresult image_from_data(const void *data, size_t size, unsigned noptions, CUjit_option *options, void **values,
                         struct image_file *file)
{
    struct jit j;
    char *text;
    CUresult r = jit_options(noptions, options, values, &j);
    if (r || (r = ptx_from_data(data, size, &text))) return r;
    r = image_from_ptx(text, &j, file);
    free(text);
    return r;
}

CUresult read_file(const char *name, void **data, size_t *size)
{
    FILE *f = fopen(name, "rbe");
    if (!f) return CUDA_ERROR_FILE_NOT_FOUND;
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    size_t room = 1 << 16, n;
    char *bytes = malloc(room), *more;
    *size = 0;
    if (!bytes) goto out;
    while ((n = fread(bytes + *size, 1, room - *size - 1, f)) > 0) {
        *size += n;
        if (*size + 1 < room) continue;
        if (!(more = realloc(bytes, room *= 2))) goto out;
        bytes = more;
    }
    bytes[*size] = 0;
    *data = bytes;
    bytes = NULL;
    r = CUDA_SUCCESS;
out:
    free(bytes);
    fclose(f);
    return r;
}

static CUresult load(CUmodule *module, const void *data, size_t size, unsigned n, CUjit_option *options, void **values)
{
    struct context *c;
    struct image_file file;
    struct module *m;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!module || !data) return CUDA_ERROR_INVALID_VALUE;
    if ((r = image_from_data(data, size, n, options, values, &file))) return r;
    r = module_load(c, &file, &m);
    image_release(&file);
    if (!r) *module = (CUmodule)m;
    return r;
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image) { return load(module, image, 0, 0, NULL, NULL); }
CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
    return load(module, fatCubin, 0, 0, NULL, NULL);
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions, CUjit_option *options,
                                    void **optionValues)
{
    return load(module, image, 0, numOptions, options, optionValues);
}

CUresult CUDAAPI cuModuleLoad(CUmodule *module, const char *fname)
{
    struct context *c;
    void *data;
    size_t size;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!module || !fname || !*fname) return CUDA_ERROR_INVALID_VALUE;
    if ((r = read_file(fname, &data, &size))) return r;
    r = size ? load(module, data, size, 0, NULL, NULL) : CUDA_ERROR_INVALID_IMAGE;
    free(data);
    return r;
}

/* Until module_end. The module has a context of its own. */
static CUresult named(CUmodule handle, struct module **m)
{
    struct context *c;
    CUresult r = context_optional(&c);
    return r ? r : module_get(handle, m);
}

CUresult CUDAAPI cuModuleUnload(CUmodule hmod)
{
    struct context *c;
    CUresult r = context_optional(&c); /* the module has its own */
    return r || (r = capture_refuse_unsafe()) ? r : module_unload(hmod);
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    struct module *m;
    struct function *f;
    CUresult r = named(hmod, &m);
    if (r) return r;
    if (!hfunc || !name) return module_end(m, CUDA_ERROR_INVALID_VALUE);
    if (!(r = module_find_function(m, name, &f))) *hfunc = (CUfunction)f;
    return module_end(m, r);
}

CUresult give_variable(const struct allocation *a, CUdeviceptr *dptr, size_t *bytes)
{
    if (dptr) *dptr = a->base;
    if (bytes) *bytes = a->size;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name)
{
    struct module *m;
    struct allocation *a;
    CUresult r = named(hmod, &m);
    if (r) return r;
    if (!name || !*name || (!dptr && !bytes)) return module_end(m, CUDA_ERROR_INVALID_VALUE);
    r = module_find_variable(m, name, 1 << FL_SYMBOL_GLOBAL | 1 << FL_SYMBOL_CONST | 1 << FL_SYMBOL_MANAGED, &a);
    /* neither a kernel nor a reference is a variable (observed on H200) */
    struct function *f;
    struct reference *one;
    if (r && (!module_find_function(m, name, &f) || !reference_of_module(m, name, false, &one) ||
              !reference_of_module(m, name, true, &one)))
        r = CUDA_ERROR_INVALID_VALUE;
    return module_end(m, r ? r : give_variable(a, dptr, bytes));
}

CUresult CUDAAPI cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
    struct module *m;
    CUresult r = named(mod, &m);
    if (r) return r;
    if (count) *count = m->image->nkernels;
    return module_end(m, count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions, CUmodule mod)
{
    struct module *m;
    CUresult r = named(mod, &m);
    if (r) return r;
    if (!functions) return module_end(m, CUDA_ERROR_INVALID_VALUE);
    for (unsigned k = 0; k < numFunctions && k < m->image->nkernels; k++) functions[k] = (CUfunction)&m->functions[k];
    return module_end(m, CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    CUresult r = library_ready();
    if (r) return r;
    if (!mode) return CUDA_ERROR_INVALID_VALUE;
    *mode = modules_are_eager() ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}
