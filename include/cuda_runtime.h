/* What a program for the host sees that includes cuda_runtime.h of CUDA 13.0: the
 * runtime API, the functions that make vectors and extents and, in C++, the forms
 * of the API that take pointers of any type. For programs without a toolkit: where
 * a compiler for CUDA is at work, this is its own cuda_runtime.h. */
#if defined(__CUDACC__) && defined(__GNUC__)
#include_next <cuda_runtime.h>
#elif !defined(__CUDA_RUNTIME_H__)
#define __CUDA_RUNTIME_H__

#include <cuda_runtime_api.h>

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

/* ---- Vectors ---- */

#define CUDART_MAKE(name, type) \
    static inline name##1 make_##name##1(type x) \
    { \
        name##1 v = { x }; \
        return v; \
    } \
    static inline name##2 make_##name##2(type x, type y) \
    { \
        name##2 v = { x, y }; \
        return v; \
    } \
    static inline name##3 make_##name##3(type x, type y, type z) \
    { \
        name##3 v = { x, y, z }; \
        return v; \
    }
#define CUDART_MAKE_FOUR(name, type) \
    static inline name make_##name(type x, type y, type z, type w) \
    { \
        name v = { x, y, z, w }; \
        return v; \
    }
#define CUDART_MAKE_ALL(name, type) \
    CUDART_MAKE(name, type) \
    CUDART_MAKE_FOUR(name##4, type)
#define CUDART_MAKE_WIDE(name, type) \
    CUDART_MAKE_ALL(name, type) \
    CUDART_MAKE_FOUR(name##4_16a, type) \
    CUDART_MAKE_FOUR(name##4_32a, type)

CUDART_MAKE_ALL(char, signed char)
CUDART_MAKE_ALL(uchar, unsigned char)
CUDART_MAKE_ALL(short, short)
CUDART_MAKE_ALL(ushort, unsigned short)
CUDART_MAKE_ALL(int, int)
CUDART_MAKE_ALL(uint, unsigned int)
CUDART_MAKE_WIDE(long, long int)
CUDART_MAKE_WIDE(ulong, unsigned long int)
CUDART_MAKE_WIDE(longlong, long long int)
CUDART_MAKE_WIDE(ulonglong, unsigned long long int)
CUDART_MAKE_ALL(float, float)
CUDART_MAKE_WIDE(double, double)

#undef CUDART_MAKE
#undef CUDART_MAKE_FOUR
#undef CUDART_MAKE_ALL
#undef CUDART_MAKE_WIDE

/* ---- Extents ---- */

static inline struct cudaPitchedPtr make_cudaPitchedPtr(void *d, size_t p, size_t xsz, size_t ysz)
{
    struct cudaPitchedPtr pointer = { d, p, xsz, ysz };
    return pointer;
}

static inline struct cudaPos make_cudaPos(size_t x, size_t y, size_t z)
{
    struct cudaPos position = { x, y, z };
    return position;
}

static inline struct cudaExtent make_cudaExtent(size_t w, size_t h, size_t d)
{
    struct cudaExtent extent = { w, h, d };
    return extent;
}

#ifdef __cplusplus

/* ---- Formats of arrays, by the type of an element ---- */

/* bits and channels of a type; other types have no format */
template <class T> inline cudaChannelFormatDesc cudaCreateChannelDesc(void)
{
    return cudaCreateChannelDesc(0, 0, 0, 0, cudaChannelFormatKindNone);
}

#define CUDART_FORMAT(type, channels, kind) \
    template <> inline cudaChannelFormatDesc cudaCreateChannelDesc<type>(void) \
    { \
        const int bits = (int)(sizeof(type) / channels * 8); \
        return cudaCreateChannelDesc(bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0, \
                                     channels > 3 ? bits : 0, cudaChannelFormatKind##kind); \
    }
#define CUDART_FORMATS(name, kind) \
    CUDART_FORMAT(name##1, 1, kind) \
    CUDART_FORMAT(name##2, 2, kind) \
    CUDART_FORMAT(name##3, 3, kind) \
    CUDART_FORMAT(name##4, 4, kind)

CUDART_FORMAT(char, 1, Signed)
CUDART_FORMAT(signed char, 1, Signed)
CUDART_FORMAT(unsigned char, 1, Unsigned)
CUDART_FORMAT(short, 1, Signed)
CUDART_FORMAT(unsigned short, 1, Unsigned)
CUDART_FORMAT(int, 1, Signed)
CUDART_FORMAT(unsigned int, 1, Unsigned)
CUDART_FORMAT(float, 1, Float)
CUDART_FORMATS(char, Signed)
CUDART_FORMATS(uchar, Unsigned)
CUDART_FORMATS(short, Signed)
CUDART_FORMATS(ushort, Unsigned)
CUDART_FORMATS(int, Signed)
CUDART_FORMATS(uint, Unsigned)
CUDART_FORMATS(float, Float)

#undef CUDART_FORMAT
#undef CUDART_FORMATS

/* ---- Memory ---- */

template <class T> inline cudaError_t cudaMalloc(T **devPtr, size_t size)
{
    return ::cudaMalloc((void **)(void *)devPtr, size);
}

template <class T> inline cudaError_t cudaMallocPitch(T **devPtr, size_t *pitch, size_t width, size_t height)
{
    return ::cudaMallocPitch((void **)(void *)devPtr, pitch, width, height);
}

template <class T>
inline cudaError_t cudaMallocManaged(T **devPtr, size_t size, unsigned int flags = cudaMemAttachGlobal)
{
    return ::cudaMallocManaged((void **)(void *)devPtr, size, flags);
}

/* flags: as of cudaHostAlloc */
inline cudaError_t cudaMallocHost(void **ptr, size_t size, unsigned int flags)
{
    return ::cudaHostAlloc(ptr, size, flags);
}

template <class T> inline cudaError_t cudaMallocHost(T **ptr, size_t size, unsigned int flags = 0)
{
    return ::cudaHostAlloc((void **)(void *)ptr, size, flags);
}

template <class T> inline cudaError_t cudaHostAlloc(T **ptr, size_t size, unsigned int flags)
{
    return ::cudaHostAlloc((void **)(void *)ptr, size, flags);
}

template <class T> inline cudaError_t cudaHostGetDevicePointer(T **pDevice, void *pHost, unsigned int flags)
{
    return ::cudaHostGetDevicePointer((void **)(void *)pDevice, pHost, flags);
}

template <class T>
inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T *devPtr, size_t length = 0,
                                            unsigned int flags = cudaMemAttachSingle)
{
    return ::cudaStreamAttachMemAsync(stream, (void *)devPtr, length, flags);
}

/* ---- Pools ---- */

template <class T> inline cudaError_t cudaMallocAsync(T **ptr, size_t size, cudaStream_t stream)
{
    return ::cudaMallocAsync((void **)(void *)ptr, size, stream);
}

inline cudaError_t cudaMallocAsync(void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync(ptr, size, memPool, stream);
}

template <class T>
inline cudaError_t cudaMallocAsync(T **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync((void **)(void *)ptr, size, memPool, stream);
}

template <class T>
inline cudaError_t cudaMallocFromPoolAsync(T **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync((void **)(void *)ptr, size, memPool, stream);
}

/* ---- Batches; those with one location or one attribute mean it for all ---- */

template <class T, class U>
inline cudaError_t cudaMemcpyBatchAsync(T *const *dsts, U *const *srcs, const size_t *sizes, size_t count,
                                        struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
                                        cudaStream_t hStream)
{
    return ::cudaMemcpyBatchAsync((void *const *)dsts, (const void *const *)srcs, sizes, count, attrs, attrsIdxs,
                                  numAttrs, hStream);
}

template <class T, class U>
inline cudaError_t cudaMemcpyBatchAsync(T *const *dsts, U *const *srcs, const size_t *sizes, size_t count,
                                        struct cudaMemcpyAttributes attr, cudaStream_t hStream)
{
    size_t first = 0;
    return ::cudaMemcpyBatchAsync((void *const *)dsts, (const void *const *)srcs, sizes, count, &attr, &first, 1,
                                  hStream);
}

template <class T>
inline cudaError_t cudaMemPrefetchBatchAsync(T **dptrs, size_t *sizes, size_t count,
                                             struct cudaMemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                             size_t numPrefetchLocs, unsigned long long flags, cudaStream_t stream)
{
    return ::cudaMemPrefetchBatchAsync((void **)dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs,
                                       flags, stream);
}

template <class T>
inline cudaError_t cudaMemPrefetchBatchAsync(T **dptrs, size_t *sizes, size_t count,
                                             struct cudaMemLocation prefetchLocs, unsigned long long flags,
                                             cudaStream_t stream)
{
    size_t first = 0;
    return ::cudaMemPrefetchBatchAsync((void **)dptrs, sizes, count, &prefetchLocs, &first, 1, flags, stream);
}

template <class T>
inline cudaError_t cudaMemDiscardAndPrefetchBatchAsync(T **dptrs, size_t *sizes, size_t count,
                                                       struct cudaMemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                                       size_t numPrefetchLocs, unsigned long long flags,
                                                       cudaStream_t stream)
{
    return ::cudaMemDiscardAndPrefetchBatchAsync((void **)dptrs, sizes, count, prefetchLocs, prefetchLocIdxs,
                                                 numPrefetchLocs, flags, stream);
}

template <class T>
inline cudaError_t cudaMemDiscardAndPrefetchBatchAsync(T **dptrs, size_t *sizes, size_t count,
                                                       struct cudaMemLocation prefetchLocs, unsigned long long flags,
                                                       cudaStream_t stream)
{
    size_t first = 0;
    return ::cudaMemDiscardAndPrefetchBatchAsync((void **)dptrs, sizes, count, &prefetchLocs, &first, 1, flags, stream);
}

/* ---- Events and graphs ---- */

inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned int flags)
{
    return ::cudaEventCreateWithFlags(event, flags);
}

/* of older toolkits: the log stays as it is */
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, cudaGraphNode_t *pErrorNode,
                                        char *pLogBuffer, size_t bufferSize)
{
    (void)pErrorNode;
    (void)pLogBuffer;
    (void)bufferSize;
    return ::cudaGraphInstantiate(pGraphExec, graph, 0);
}

/* ---- Launches of kernels and functions by their own type ---- */

template <class T>
inline cudaError_t cudaLaunchKernel(T *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem = 0,
                                    cudaStream_t stream = 0)
{
    return ::cudaLaunchKernel((const void *)func, gridDim, blockDim, args, sharedMem, stream);
}

template <class T>
inline cudaError_t cudaLaunchCooperativeKernel(T *func, dim3 gridDim, dim3 blockDim, void **args,
                                               size_t sharedMem = 0, cudaStream_t stream = 0)
{
    return ::cudaLaunchCooperativeKernel((const void *)func, gridDim, blockDim, args, sharedMem, stream);
}

#if __cplusplus >= 201103L
/* the arguments become the kernel's parameters */
template <class... Arguments>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, const cudaKernel_t kernel, Arguments &&...args)
{
    void *parameters[] = { (void *)&args... };
    return ::cudaLaunchKernelExC(config, (const void *)kernel, parameters);
}
#endif

#endif

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

#endif
