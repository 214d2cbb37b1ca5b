/* Modules: what cuModuleLoad*, cuLibrary* and cuKernel* hand out. A library
 * belongs to the process and has one module per context; a module has one
 * image loaded into its device. */
#ifndef FL_MODULE_MODULE_H
#define FL_MODULE_MODULE_H

#include "context/context.h"
#include "module/compile.h"
#include "ptx/image.h"
#include "space/space.h"

enum { FUNCTION_MAGIC = 0x464e4331, KERNEL_MAGIC = 0x4b524e31 };

struct module {                    /* CUmod_st */
    struct context *context;
    struct library *library;       /* NULL for cuModuleLoad* */
    struct fl_image *image;        /* the host's alias of the loaded image */
    uint64_t image_va, symbols_va, loaded_size;
    uint64_t *addresses;           /* the host's alias of the symbol table */
    struct allocation **variables; /* by symbol; NULL for functions */
    struct function *functions;    /* image->nkernels of them */
    struct module *next;           /* of the context */
};

struct function {                  /* CUfunc_st */
    uint32_t magic;
    uint32_t index;                /* in image kernels */
    struct module *module;
    const struct fl_image_kernel *kernel;
    const char *name;
    int max_dynamic_shared;        /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
    int carveout;
    int cluster[3], cluster_policy, nonportable_cluster;
    CUfunc_cache cache;
};

struct kernel_handle {             /* CUkern_st */
    uint32_t magic;
    uint32_t index;
    struct library *library;
};

struct library {                   /* CUlib_st */
    struct image_file file;
    struct kernel_handle *kernels;
    struct module *modules[16 * 4];/* one per context it was used in */
    unsigned nmodules;
    struct allocation **managed;   /* its __managed__ variables by symbol, which all its modules share; NULL before the first */
    pthread_mutex_t lock;
    struct library *next;
};

/* Puts an image on c's device: code, variables, symbol table. CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_OUT_OF_MEMORY. */
CUresult module_load(struct context *c, const struct image_file *file, struct module **out);
/* CUDA_ERROR_INVALID_HANDLE unless it is loaded in the calling thread's context. */
CUresult module_get(CUmodule handle, struct module **out);
/* As module_get, and CUDA_ERROR_NOT_PERMITTED if the module is a library's. */
CUresult module_check_own(CUmodule handle);
/* As module_check_own; then unloads the module. None of its kernels may be running. */
CUresult module_unload(CUmodule handle);
CUresult module_find_function(struct module *m, const char *name, struct function **out);
/* A variable of one of the kinds (bits 1 << enum fl_symbol_kind). CUDA_ERROR_NOT_FOUND. */
CUresult module_find_variable(struct module *m, const char *name, unsigned kinds, struct allocation **out);
/* The library's module in context c, loaded when first asked for. */
CUresult library_module(struct library *l, struct context *c, struct module **out);
/* A context in which the library has a module; NULL: there is none. */
struct context *library_context(struct library *l);
/* Unloads the library's module of c, if there is one. None of its kernels may be running. */
void library_leave(struct library *l, const struct context *c);
const struct fl_image_kernel *image_kernels(const struct fl_image *image);
const struct fl_image_param *image_params(const struct fl_image *image);

/* Frees the __managed__ variables; the library's modules are unloaded already. */
void library_free_variables(struct library *l);

/* The function a launch's handle means: a CUfunction, or a CUkernel (resolved
 * for context c). CUDA_ERROR_INVALID_HANDLE. */
CUresult function_get(struct context *c, CUfunction handle, struct function **out);
const char *image_string(const struct fl_image *image, uint32_t offset);
/* *blocks: how many blocks of block_size threads fit on one multiprocessor of the profile. */
CUresult function_occupancy(const struct function *f, int block_size, size_t dynamic_shared, int *blocks);
/* Unloads all modules of a dying context. */
void module_set_destroy(struct context *c);
/* The context's arena for device-side malloc, made at the first launch of a kernel that needs one. */
CUresult module_heap(struct context *c, uint64_t *va, uint64_t *size);

#endif
