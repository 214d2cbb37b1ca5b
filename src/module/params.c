/* A launch's parameters, as the program gives them and as the kernel wants them. */
#include "module/image.h"
#include "module/module.h"

#include <string.h>

/* One buffer, laid out by the caller. What a short one lacks stays as it is. */
static CUresult gather_buffer(void *const *extra, char *to, size_t room)
{
    const void *buffer = NULL;
    const size_t *size = NULL;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = extra[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (!room) return CUDA_SUCCESS;
    if (!size || !buffer) return CUDA_ERROR_INVALID_VALUE;
    if (*size > room) /* observed on H200; too few bytes are no error there */
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    memcpy(to, buffer, *size);
    return CUDA_SUCCESS;
}

CUresult function_gather(const struct function *f, void *const *params, void *const *extra, void *to)
{
    const struct fl_image_kernel *k = f->kernel;
    const struct fl_image_param *p = image_params(f->module->image, k);
    if (params && extra) return CUDA_ERROR_INVALID_VALUE;
    if (extra) return gather_buffer(extra, to, k->param_size);
    if (k->nparams && !params) return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; i < k->nparams; i++) {
        if (!params[i]) return CUDA_ERROR_INVALID_VALUE;
        memcpy((char *)to + p[i].offset, params[i], p[i].size);
    }
    return CUDA_SUCCESS;
}
