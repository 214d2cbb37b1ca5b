/* What modules and libraries share. */
#ifndef FL_API_LIBRARY_H
#define FL_API_LIBRARY_H

#include "module/module.h"

/* What a caller asked of the compiler, and where the logs go. */
struct jit {
    char *info, *error;
    size_t info_size, error_size;
    void **info_slot, **error_slot, **time_slot;
    int level; /* of optimization, as it was given */
    bool debug;
};
/* CUDA_ERROR_INVALID_VALUE: an option or a value that there is not. */
CUresult jit_options(unsigned n, CUjit_option *options, void **values, struct jit *j);
/* Why nothing can be compiled with these, NULL: it can (observed on H200). */
const char *jit_wrong(const struct jit *j);
/* Their compute capability, 90 for 9.0. */
unsigned simulated_sm(void);
/* PTX for the simulated devices, malloc'ed; see fatbin_ptx. */
CUresult ptx_from_data(const void *data, size_t size, char **text);
/* Compiled, or from the cache. The compiler's verdict: CUDA_ERROR_INVALID_PTX and the like. */
CUresult image_from_ptx(const char *text, const struct jit *j, struct image_file *file);
/* The same for whatever a module may be loaded from. size 0: in memory, of unknown size. */
CUresult image_from_data(const void *data, size_t size, unsigned noptions, CUjit_option *options, void **values, struct image_file *file);
/* *data is malloc'ed, with a 0 behind it. CUDA_ERROR_FILE_NOT_FOUND. */
CUresult read_file(const char *name, void **data, size_t *size);
/* Where the variable is and its size, to where these are wanted (not NULL). */
CUresult give_variable(const struct allocation *a, CUdeviceptr *dptr, size_t *bytes);
/* cuFuncGetAttribute: CUDA_ERROR_INVALID_VALUE. */
CUresult function_attribute(const struct function *f, CUfunction_attribute attribute, int *value);
/* cuKernelGetAttribute, cuKernelSetAttribute, cuKernelSetCacheConfig: the same. */
CUresult kernel_attribute(const struct kernel_handle *k, const struct device *d, CUfunction_attribute attribute, int *value);
CUresult kernel_set_attribute(const struct kernel_handle *k, const struct device *d, CUfunction_attribute attribute, int value);
CUresult kernel_set_cache(const struct kernel_handle *k, const struct device *d, CUfunc_cache config);

#endif
