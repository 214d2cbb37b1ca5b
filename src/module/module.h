/* Modules: what cuModuleLoad*, cuLibrary* and cuKernel* hand out. A library
 * belongs to the process and has one module per context; a module has one
 * image loaded into its device. */
#ifndef FL_MODULE_MODULE_H
#define FL_MODULE_MODULE_H

#include "context/context.h"
#include "ptx/image.h"

struct module {                    /* CUmod_st */
    struct context *context;
    struct library *library;       /* NULL for cuModuleLoad* */
    struct fl_image *image;        /* the host's alias of the loaded image */
    uint64_t image_va, symbols_va;
    uint64_t *symbol_address;      /* the host's alias of the symbol table */
    struct function *functions;    /* image->nkernels of them */
    struct module *next;
};

struct function {                  /* CUfunc_st */
    struct module *module;
    uint32_t index;                /* in image kernels */
    const struct fl_image_kernel *kernel;
    const char *name;
    int max_dynamic_shared;        /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
    int carveout;
    int cluster[3], cluster_policy, nonportable_cluster;
    CUfunc_cache cache;
};

/* The function a launch's handle means: a CUfunction, or a CUkernel (resolved
 * for context c). CUDA_ERROR_INVALID_HANDLE. */
CUresult function_get(struct context *c, CUfunction handle, struct function **out);
const char *image_string(const struct fl_image *image, uint32_t offset);
/* Blocks of the function that fit one multiprocessor of the profile. */
CUresult function_occupancy(const struct function *f, int block_size, size_t dynamic_shared, int *blocks);
/* Unloads all modules of a dying context. */
void module_set_destroy(struct context *c);
/* The context's arena for device-side malloc, made at the first launch of a kernel that needs one. */
CUresult module_heap(struct context *c, uint64_t *va, uint64_t *size);

#endif
