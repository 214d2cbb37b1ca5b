/* Modules: what cuModuleLoad*, cuLibrary* and cuKernel* hand out. A library
 * belongs to the process and has one module per context; a module has one
 * image loaded into its device. */
#ifndef FL_MODULE_MODULE_H
#define FL_MODULE_MODULE_H

#include "base/uses.h"
#include "context/context.h"
#include "module/compile.h"
#include "ptx/image.h"
#include "space/space.h"
#include <stdatomic.h>

enum { FUNCTION_MAGIC = 0x464e4331, KERNEL_MAGIC = 0x4b524e31 }; /* "FNC1", "KRN1" */
enum { LIBRARY_MODULES = 4 * MAX_DEVICES }; /* contexts in which a library can be used at a time */

struct module {                    /* CUmod_st */
    struct object_link link;
    struct uses uses;              /* calls that have it from one of the _get, until its _end */
    struct context *context;       /* this and what follows: of this life */
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
    uint32_t nreferences;          /* symbols that are references to textures and surfaces */
    struct references *_Atomic references; /* what is set for them; NULL: nothing yet */
    struct module *next;           /* in the list of all */
};

struct loaded_part {
    uint64_t va, size;
}; /* size 0: it is not */

/* What can be set of functions and kernels: attributes, and a CUfunc_cache. */
enum function_setting {
    SETTING_SHARED, /* bytes of dynamic shared memory, at most */
    SETTING_CARVEOUT,
    SETTING_WIDTH, /* of clusters, and so on */
    SETTING_HEIGHT,
    SETTING_DEPTH,
    SETTING_NON_PORTABLE,
    SETTING_POLICY,
    SETTING_CACHE,
    SETTINGS
};

/* The beginning of what its owner (src/api) keeps until the module is unloaded. */
struct references {
    void (*release)(struct references *r);
};

struct function {                  /* CUfunc_st */
    _Atomic uint32_t magic;
    atomic_bool ready;             /* its code is loaded */
    uint32_t index;                /* in image kernels */
    struct module *_Atomic module;
    const struct fl_image_kernel *kernel;
    const char *name;
    _Atomic int set[SETTINGS];     /* as cuFuncGetAttribute answers them */
    unsigned own;                  /* of a library, with its lock. Bit k: setting k is not its kernel's any more */
};

struct kernel_handle {             /* CUkern_st */
    _Atomic uint32_t magic;
    uint32_t index;
    struct library *_Atomic library;
};

struct library {                   /* CUlib_st */
    struct object_link link;
    struct uses uses;              /* as of a module; and its modules */
    struct image_file file;        /* this and what follows: of this life */
    CUresult broken;               /* why it could not be compiled, which is said when something in it is asked for */
    struct kernel_handle *kernels;
    struct module *modules[LIBRARY_MODULES]; /* one per context it was used in */
    unsigned nmodules;
    bool closed;                   /* it is being unloaded: there will be no other modules */
    struct allocation **managed;   /* its __managed__ variables by symbol, which all its modules share; NULL before the first */
    int (*settings[MAX_DEVICES])[SETTINGS]; /* of its kernels on each device, NULL: as they were compiled */
    pthread_mutex_t lock;
    struct library *next;
};

/* ---- modules (load.c) */

/* Puts an image on c's device: code, variables, symbol table. The file is the module's from then on.
 * CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_OUT_OF_MEMORY. */
CUresult module_load(struct context *c, struct image_file *file, struct module **out);
/* CUDA_ERROR_INVALID_HANDLE unless it is loaded, in whatever context. It stays until module_end. */
CUresult module_get(CUmodule handle, struct module **out);
/* Ends what gave the module; returns r. */
CUresult module_end(struct module *m, CUresult r);
/* Waits for what runs in the module's context, then unloads it, when no call is under way in it. As module_get;
 * CUDA_ERROR_NOT_PERMITTED if it is a library's; what a kernel did wrong meanwhile. */
CUresult module_unload(CUmodule handle);
/* Unloads all modules of a dying context, whose streams are gone, or waits until others have. */
void module_set_destroy(struct context *c);
/* CUDA_ERROR_NOT_FOUND. kinds: of variables (bits 1 << enum fl_symbol_kind). */
CUresult module_find_function(struct module *m, const char *name, struct function **out);
CUresult module_find_variable(struct module *m, const char *name, unsigned kinds, struct allocation **out);
/* The context's arena for device-side malloc, made at the first launch of a kernel that needs one. */
CUresult module_heap(struct context *c, uint64_t *va, uint64_t *size);

/* ---- a library's modules (load.c) */

/* Its module in context c, loaded when first asked for; it stays until module_end. As module_load; CUDA_ERROR_OUT_OF_MEMORY
 * also if it is used in LIBRARY_MODULES contexts already. */
CUresult library_module(struct library *l, struct context *c, struct module **out);
/* Unloads its modules, as module_unload would, and frees its __managed__ variables, when no call is under way in it. Nobody
 * finds it any more. */
void library_unload_modules(struct library *l);

/* ---- functions (function.c) */

/* What a launch's handle means: a CUfunction, or a CUkernel (resolved for context c). Its module stays until
 * function_end. CUDA_ERROR_INVALID_HANDLE. */
CUresult function_get(struct context *c, CUfunction handle, struct function **out);
/* Ends what function_get began; returns r. */
CUresult function_end(struct function *f, CUresult r);
/* CUDA_ERROR_INVALID_HANDLE. Its library stays until kernel_end, which returns r. */
CUresult kernel_get(CUkernel handle, struct kernel_handle **out);
CUresult kernel_end(struct kernel_handle *k, CUresult r);
/* How much of a multiprocessor's memory is shared memory: the least of what can be that is the share of the function's
 * carveout, and holds such a block (observed on H200). */
size_t function_shared(const struct function *f, size_t block);
/* *blocks: how many blocks of block_size threads, with so many bytes of dynamic shared memory, fit on one multiprocessor
 * of the profile. CUDA_ERROR_INVALID_VALUE: block_size is not positive. */
CUresult function_occupancy(const struct function *f, int block_size, size_t dynamic_shared, int *blocks);
/* The same of the largest blocks that may fit: a carveout of more than nothing does not count, a preferred cache does
 * (observed on H200). */
CUresult function_potential(const struct function *f, int block_size, size_t dynamic_shared, int *blocks);

/* ---- settings (settings.c): values were checked */

/* A new function's, as it was compiled. Those that a module, with its library's lock, has from its kernels. */
void settings_begin(struct function *f, const struct device *d);
void settings_inherit(struct module *m);
/* Of f alone. */
void function_set(struct function *f, enum function_setting which, int value);
/* Of a kernel on a device, with or without a context there. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult kernel_set(const struct kernel_handle *k, const struct device *d, enum function_setting which, int value);
int kernel_setting(const struct kernel_handle *k, const struct device *d, enum function_setting which);
/* Of a library that nobody uses any more. */
void settings_end(struct library *l);

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
/* As function_gather, but for a buffer that is too large. */
CUresult function_check_params(const struct function *f, void *const *params, void *const *extra);

#endif
