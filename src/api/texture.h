/* Texture and surface objects: what the host keeps of them, and where kernels
 * find what is behind a handle (processor/texture.h). */
#ifndef FL_API_TEXTURE_H
#define FL_API_TEXTURE_H

#include "context/context.h"
#include "processor/texture.h"
#include "space/space.h"

/* One as it was asked for. Of a surface only the resource means something. */
struct texture_object {
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
    CUDA_RESOURCE_VIEW_DESC view;
    bool viewed;
};

/* Gives *x a handle, x->self, that kernels of c understand. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult texture_add(struct context *c, struct texture *x, const struct texture_object *o);
/* CUDA_ERROR_INVALID_VALUE unless it is a living handle of that kind. */
CUresult texture_get(uint64_t handle, bool surface, struct texture_object *out);
/* Nothing, if it is none. */
CUresult texture_remove(uint64_t handle, bool surface);

/* What kernels find of a resource. CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED. */
CUresult texture_resource(const struct context *c, const CUDA_RESOURCE_DESC *r, struct texture *x);
/* Makes of it what the view shows. CUDA_ERROR_INVALID_VALUE; CUDA_ERROR_NOT_SUPPORTED for compressed formats. */
CUresult texture_view(const CUDA_RESOURCE_DESC *r, const CUDA_RESOURCE_VIEW_DESC *v, struct texture *x);
/* How it is sampled. CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED. */
CUresult texture_sampling(const CUDA_TEXTURE_DESC *d, struct texture *x);
/* Its elements as such ones. CUDA_ERROR_INVALID_VALUE; CUDA_ERROR_NOT_SUPPORTED: they have another size. */
CUresult texture_see_as(CUarray_format format, unsigned channels, struct texture *x);
/* Where that differs for a reference. CUDA_ERROR_NOT_SUPPORTED. */
CUresult texture_of_reference(const CUDA_RESOURCE_DESC *r, struct texture *x);

/* Frees those of a dying context. */
extern const struct space_owner texture_owner;

#endif
