/* A launch's parameters, as the program gives them and as the kernel wants them. */
#include "module/image.h"
#include "module/module.h"

#include <string.h>

enum { MOST_PARAMS = 32764 };

/* What extra says of a buffer; none is as one of no bytes. */
static CUresult buffer_of(void *const *extra, const void **buffer, size_t *bytes)
{
    *buffer = NULL;
    *bytes = 0;
    for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            *buffer = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
            *bytes = *(const size_t *)extra[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult function_check_params(const struct function *f, void *const *params, void *const *extra)
{
    const void *buffer;
    size_t bytes;
    CUresult r = buffer_of(extra, &buffer, &bytes);
    if (r) return r;
    if (bytes) return params || !buffer || bytes > MOST_PARAMS ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (f->kernel->nparams && !params) return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; i < f->kernel->nparams; i++)
        if (!params[i]) return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* What a short buffer lacks stays as it is (observed on H200). */
CUresult function_gather(const struct function *f, void *const *params, void *const *extra, void *to)
{
    const struct fl_image_kernel *k = f->kernel;
    const struct fl_image_param *p = image_params(f->module->image, k);
    const void *buffer;
    size_t bytes;
    CUresult r = function_check_params(f, params, extra);
    if (r) return r;
    buffer_of(extra, &buffer, &bytes);
    if (bytes > k->param_size) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (bytes) memcpy(to, buffer, bytes);
    for (uint32_t i = 0; i < k->nparams && !bytes; i++) memcpy((char *)to + p[i].offset, params[i], p[i].size);
    return CUDA_SUCCESS;
}
