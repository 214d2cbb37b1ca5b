/* Modules: what cuModuleLoad*, cuLibrary* and cuKernel* hand out. A library
 * belongs to the process and has one module per context; a module has one
 * image loaded into its device. */
#ifndef FL_MODULE_MODULE_H
#define FL_MODULE_MODULE_H

#include "context/context.h"
#include "module/compile.h"
#include "ptx/image.h"
#include "space/space.h"
#include <stdatomic.h>

enum { FUNCTION_MAGIC = 0x464e4331, KERNEL_MAGIC = 0x4b524e31 }; /* "FNC1", "KRN1" */
enum { LIBRARY_MODULES = 4 * MAX_DEVICES }; /* contexts in which a library can be used at a time */

struct module {                    /* CUmod_st */
    struct context *context;
    struct library *library;       /* NULL for cuModuleLoad* */
    struct image_file *file;       /* the library's, or the module's own: */
    struct image_file own;
    struct fl_image *image;        /* the host's alias of the loaded image */
    uint64_t image_va, symbols_va; /* for kernels: the image, the symbol table behind it */
    uint64_t loaded_size;          /* bytes of both */
    uint64_t *addresses;           /* the host's alias of the symbol table */
    struct allocation **variables; /* by symbol; NULL for functions */
    struct function *functions;    /* image->nkernels of them */
    struct loaded_part *parts;     /* image->nparts of them */
    struct module *next;           /* of the context */
};

struct loaded_part {
    uint64_t va, size;
}; /* size 0: it is not */

struct function {                  /* CUfunc_st */
    uint32_t magic;
    atomic_bool ready;             /* its code is loaded */
    uint32_t index;                /* in image kernels */
    struct module *module;
    const struct fl_image_kernel *kernel;
    const char *name;
    /* attributes that can be set, as cuFuncGetAttribute answers them */
    int max_dynamic_shared;        /* bytes */
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
    CUresult broken;               /* why it could not be compiled, which is said when something in it is asked for */
    struct kernel_handle *kernels;
    struct module *modules[LIBRARY_MODULES]; /* one per context it was used in */
    unsigned nmodules;
    struct allocation **managed;   /* its __managed__ variables by symbol, which all its modules share; NULL before the first */
    pthread_mutex_t lock;
    struct library *next;
};

/* ---- modules (load.c) */

/* Puts an image on c's device: code, variables, symbol table. The file is the module's from then on.
 * CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_OUT_OF_MEMORY. */
CUresult module_load(struct context *c, struct image_file *file, struct module **out);
/* CUDA_ERROR_INVALID_HANDLE unless it is loaded in the calling thread's context. */
CUresult module_get(CUmodule handle, struct module **out);
/* As module_get, and CUDA_ERROR_NOT_PERMITTED if the module is a library's. */
CUresult module_check_own(CUmodule handle);
/* As module_check_own; then unloads the module. None of its kernels may be running. */
CUresult module_unload(CUmodule handle);
/* Unloads all modules of a dying context. */
void module_set_destroy(struct context *c);
/* CUDA_ERROR_NOT_FOUND. kinds: of variables (bits 1 << enum fl_symbol_kind). */
CUresult module_find_function(struct module *m, const char *name, struct function **out);
CUresult module_find_variable(struct module *m, const char *name, unsigned kinds, struct allocation **out);
/* The context's arena for device-side malloc, made at the first launch of a kernel that needs one. */
CUresult module_heap(struct context *c, uint64_t *va, uint64_t *size);

/* ---- a library's modules (load.c) */

/* Its module in context c, loaded when first asked for. As module_load; CUDA_ERROR_OUT_OF_MEMORY also if it is used in
 * LIBRARY_MODULES contexts already. */
CUresult library_module(struct library *l, struct context *c, struct module **out);
/* A context in which it has a module; NULL: there is none. */
struct context *library_context(struct library *l);
/* Unloads its module of c, if there is one. None of its kernels may be running. */
void library_leave(struct library *l, const struct context *c);
/* Frees its __managed__ variables; its modules are unloaded already. */
void library_free_variables(struct library *l);

/* ---- functions (function.c) */

/* What a launch's handle means: a CUfunction, or a CUkernel (resolved for context c). CUDA_ERROR_INVALID_HANDLE. */
CUresult function_get(struct context *c, CUfunction handle, struct function **out);
/* *blocks: how many blocks of block_size threads, with so many bytes of dynamic shared memory, fit on one multiprocessor
 * of the profile. CUDA_ERROR_INVALID_VALUE: block_size is not positive. */
CUresult function_occupancy(const struct function *f, int block_size, size_t dynamic_shared, int *blocks);

/* ---- parts (part.c) */

/* Compiles and loads the part that the function's code is in, unless that was done. As compile_part, and
 * CUDA_ERROR_OUT_OF_MEMORY. */
CUresult function_prepare(struct function *f);
/* Of a module that nobody uses any more. */
void parts_unload(struct module *m);

/* ---- parameters (params.c) */

/* A launch's parameters, one by one (params) or as one buffer (extra, CU_LAUNCH_PARAM_*), as the kernel wants them: to has
 * kernel->param_size bytes, zeroed. A buffer of no bytes is none. CUDA_ERROR_INVALID_VALUE: both, something is missing, or
 * an option is unknown; CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: the buffer is too large. */
CUresult function_gather(const struct function *f, void *const *params, void *const *extra, void *to);

#endif
