/* Copies of boxes: rows of slices, each side an array or an address. */
#include "runtime/array.h"
#include "runtime/copy.h"

PER_THREAD_FORM(cuMemcpy3D_v2);
PER_THREAD_FORM(cuMemcpy3DPeer);

/* One side: positions of arrays are in elements, those of addresses in bytes. */
struct side {
    cudaArray_t array;
    const struct cudaPitchedPtr *pointer;
    size_t element; /* bytes; 1: no array */
};

static cudaError_t look(struct side *s, CUmemorytype *type)
{
    s->element = 1;
    if (!s->array == !s->pointer->ptr) return cudaErrorInvalidValue;
    if (!s->array) return cudaSuccess;
    if (*type == CU_MEMORYTYPE_HOST) return cudaErrorInvalidMemcpyDirection;
    *type = CU_MEMORYTYPE_ARRAY;
    return runtime_element(s->array, &s->element);
}

/* The width is in elements if an array takes part. */
static cudaError_t look_at_both(struct side *from, struct side *to, CUmemorytype *from_type, CUmemorytype *to_type,
                                size_t *element)
{
    cudaError_t r = look(from, from_type);
    if (!r) r = look(to, to_type);
    if (r) return r;
    if (from->array && to->array && from->element != to->element) return cudaErrorInvalidValue;
    *element = from->array ? from->element : to->element;
    return cudaSuccess;
}

/* Whether rows and slices lie far enough apart; the rest the driver looks at. Widths are compared as they are given,
 * also those in elements (observed on an H200). */
static bool good_pitch(const struct side *s, const struct cudaExtent *e)
{
    if (s->array) return true;
    return (e->height <= 1 || s->pointer->pitch >= e->width) && (e->depth <= 1 || s->pointer->ysize >= e->height);
}

cudaError_t runtime_box(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c)
{
    size_t element;
    CUmemorytype from_type, to_type;
    if (!p) return cudaErrorInvalidValue;
    struct side from = { p->srcArray, &p->srcPtr, 1 }, to = { p->dstArray, &p->dstPtr, 1 };
    cudaError_t r = runtime_kind(p->kind, &from_type, &to_type);
    if (!r) r = look_at_both(&from, &to, &from_type, &to_type, &element);
    if (r) return r;
    if (!good_pitch(&from, &p->extent) || !good_pitch(&to, &p->extent)) return cudaErrorInvalidPitchValue;
    size_t from_x, to_x, width;
    if (__builtin_mul_overflow(p->srcPos.x, from.element, &from_x) ||
        __builtin_mul_overflow(p->dstPos.x, to.element, &to_x) ||
        __builtin_mul_overflow(p->extent.width, element, &width))
        return cudaErrorInvalidValue;
    *c = (CUDA_MEMCPY3D){ .srcMemoryType = from_type,
                          .srcXInBytes = from_x,
                          .srcY = p->srcPos.y,
                          .srcZ = p->srcPos.z,
                          .srcHost = p->srcPtr.ptr,
                          .srcDevice = (CUdeviceptr)p->srcPtr.ptr,
                          .srcArray = (CUarray)p->srcArray,
                          .srcPitch = p->srcPtr.pitch,
                          .srcHeight = p->srcPtr.ysize,
                          .dstMemoryType = to_type,
                          .dstXInBytes = to_x,
                          .dstY = p->dstPos.y,
                          .dstZ = p->dstPos.z,
                          .dstHost = p->dstPtr.ptr,
                          .dstDevice = (CUdeviceptr)p->dstPtr.ptr,
                          .dstArray = (CUarray)p->dstArray,
                          .dstPitch = p->dstPtr.pitch,
                          .dstHeight = p->dstPtr.ysize,
                          .WidthInBytes = width,
                          .Height = p->extent.height,
                          .Depth = p->extent.depth };
    return cudaSuccess;
}

static enum cudaMemcpyKind kind_of(CUmemorytype from, CUmemorytype to)
{
    if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED) return cudaMemcpyDefault;
    if (from == CU_MEMORYTYPE_HOST) return to == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    return to == CU_MEMORYTYPE_HOST ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

static void *pointer_of(CUmemorytype type, const void *host, CUdeviceptr device)
{
    if (type == CU_MEMORYTYPE_ARRAY) return NULL;
    return type == CU_MEMORYTYPE_HOST ? (void *)host : (void *)device;
}

cudaError_t runtime_box_params(const CUDA_MEMCPY3D *c, struct cudaMemcpy3DParms *p)
{
    const bool from_array = c->srcMemoryType == CU_MEMORYTYPE_ARRAY, to_array = c->dstMemoryType == CU_MEMORYTYPE_ARRAY;
    size_t from = 1, to = 1;
    cudaError_t r = from_array ? runtime_element((cudaArray_t)c->srcArray, &from) : cudaSuccess;
    if (!r && to_array) r = runtime_element((cudaArray_t)c->dstArray, &to);
    if (r) return r;
    *p = (struct cudaMemcpy3DParms){
        .srcArray = from_array ? (cudaArray_t)c->srcArray : NULL,
        .srcPos = { c->srcXInBytes / from, c->srcY, c->srcZ },
        .srcPtr = { .ptr = pointer_of(c->srcMemoryType, c->srcHost, c->srcDevice),
                    .pitch = c->srcPitch,
                    .ysize = c->srcHeight },
        .dstArray = to_array ? (cudaArray_t)c->dstArray : NULL,
        .dstPos = { c->dstXInBytes / to, c->dstY, c->dstZ },
        .dstPtr = { .ptr = pointer_of(c->dstMemoryType, c->dstHost, c->dstDevice),
                    .pitch = c->dstPitch,
                    .ysize = c->dstHeight },
        .extent = { c->WidthInBytes / (from_array ? from : to), c->Height, c->Depth },
        .kind = kind_of(c->srcMemoryType, c->dstMemoryType),
    };
    return cudaSuccess;
}

static bool empty(const struct cudaExtent *e) { return !e->width || !e->height || !e->depth; }

static cudaError_t prepare(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_box(p, c);
}

cudaError_t CUDARTAPI cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
    CUDA_MEMCPY3D c;
    if (p && empty(&p->extent)) return runtime_ready();
    cudaError_t r = prepare(p, &c);
    return r ? r : runtime_error(DRIVER(cuMemcpy3D_v2, &c));
}

cudaError_t CUDARTAPI cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    CUDA_MEMCPY3D c;
    if (p && empty(&p->extent)) return runtime_ready();
    cudaError_t r = prepare(p, &c);
    return r ? r : runtime_error(cuMemcpy3DAsync(&c, stream));
}

/* ---- Between two devices */

static cudaError_t prepare_peer(const struct cudaMemcpy3DPeerParms *p, CUDA_MEMCPY3D_PEER *c)
{
    CUDA_MEMCPY3D box;
    CUcontext from, to;
    cudaError_t r = runtime_ready();
    if (r) return r;
    if (!p) return cudaErrorInvalidValue;
    const struct cudaMemcpy3DParms params = { .srcArray = p->srcArray,
                                              .srcPos = p->srcPos,
                                              .srcPtr = p->srcPtr,
                                              .dstArray = p->dstArray,
                                              .dstPos = p->dstPos,
                                              .dstPtr = p->dstPtr,
                                              .extent = p->extent,
                                              .kind = cudaMemcpyDefault };
    if ((r = runtime_primary(p->srcDevice, &from)) || (r = runtime_primary(p->dstDevice, &to)) ||
        (r = runtime_box(&params, &box)))
        return r;
    *c = (CUDA_MEMCPY3D_PEER){ .srcMemoryType = box.srcMemoryType,
                               .srcXInBytes = box.srcXInBytes,
                               .srcY = box.srcY,
                               .srcZ = box.srcZ,
                               .srcDevice = box.srcDevice,
                               .srcArray = box.srcArray,
                               .srcContext = from,
                               .srcPitch = box.srcPitch,
                               .srcHeight = box.srcHeight,
                               .dstMemoryType = box.dstMemoryType,
                               .dstXInBytes = box.dstXInBytes,
                               .dstY = box.dstY,
                               .dstZ = box.dstZ,
                               .dstDevice = box.dstDevice,
                               .dstArray = box.dstArray,
                               .dstContext = to,
                               .dstPitch = box.dstPitch,
                               .dstHeight = box.dstHeight,
                               .WidthInBytes = box.WidthInBytes,
                               .Height = box.Height,
                               .Depth = box.Depth };
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p)
{
    CUDA_MEMCPY3D_PEER c;
    if (p && empty(&p->extent)) return runtime_ready();
    cudaError_t r = prepare_peer(p, &c);
    return r ? r : runtime_error(DRIVER(cuMemcpy3DPeer, &c));
}

cudaError_t CUDARTAPI cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
    CUDA_MEMCPY3D_PEER c;
    if (p && empty(&p->extent)) return runtime_ready();
    cudaError_t r = prepare_peer(p, &c);
    return r ? r : runtime_error(cuMemcpy3DPeerAsync(&c, stream));
}
