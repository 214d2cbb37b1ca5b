/* What nvcc's output calls in libcudart.so.13 and no header declares. Seen in
 * what nvcc 13.0 writes (nvcc --cuda). */
#ifndef FL_RUNTIME_REGISTRATION_H
#define FL_RUNTIME_REGISTRATION_H

#include <cuda_runtime_api.h>

#define RUNTIME_EXPORT __attribute__((visibility("default")))

/* ---- symbol.c: before main ---- */

/* A handle for a fatbinary, by its wrapper, which stays where it is. */
RUNTIME_EXPORT void **__cudaRegisterFatBinary(void *wrapper);
RUNTIME_EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
RUNTIME_EXPORT void __cudaUnregisterFatBinary(void **handle);

RUNTIME_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                           int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
                                           int *warp_size);
RUNTIME_EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                                      size_t size, int constant, int global);
RUNTIME_EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external,
                                             size_t size, int constant, int global);

/* 1: the managed variables of this fatbinary are there. */
RUNTIME_EXPORT char __cudaInitModule(void **handle);

/* ---- launch.c: kernel<<<grid, block, shared, stream>>>(...) ---- */

/* Keeps a configuration for the thread. Not 0: the kernel is not to be called. */
RUNTIME_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);
RUNTIME_EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);

RUNTIME_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *symbol);
RUNTIME_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                                              size_t shared, cudaStream_t stream);
RUNTIME_EXPORT cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                                                   size_t shared, cudaStream_t stream);

#endif
