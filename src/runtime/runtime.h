/* libcudart.so.13 and libcudart.so.12, the runtime API: a client of the driver
 * API and of nothing else of this project but src/base. One file for a chapter of
 * the manual; functions translate, call the driver and translate back. What is
 * otherwise in 12 is in twelve.h and the files named after it.
 *
 * include/cuda_runtime_api.h is the table of entry points: generate.py reads it.
 * A function that a file here defines, with the return type, CUDARTAPI and the
 * name on one line, is compiled under the name impl_NAME; the exported NAME calls
 * it and keeps a failure as the thread's last error. Calls from within do not
 * pass through that. What nobody defines answers cudaErrorNotSupported.
 *
 * Per-thread default streams: NAME_ptsz calls NAME with cudaStreamPerThread where
 * the stream given is NULL. NAME_ptds, of functions without a stream, calls NAME
 * while runtime_per_thread is set; these call the driver through DRIVER().
 *
 * Locks: runtime_lock in symbol.c, over what is registered; nothing is called
 * under it. A fatbinary has a lock of its own, under which it is loaded. */
#ifndef FL_RUNTIME_H
#define FL_RUNTIME_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

/* CUDART_VERSION of the library that this is part of. */
extern const int runtime_version;

/* ---- Errors (error.c) ---- */

/* The runtime's code for a driver's: equal numbers where both have it. */
cudaError_t runtime_error(CUresult r);

/* Keeps it as the thread's last error, and returns it: in exported functions. Each object that NVIDIA's runtime is linked
 * into has last errors of its own, so it counts who called. */
#define runtime_failed(error) runtime_failed_for(__builtin_return_address(0), error)
cudaError_t runtime_failed_for(const void *caller, cudaError_t error);

/* Whose last error will be asked for next in this thread. */
void runtime_asks(const void *caller);

/* What an entry point answers that is not implemented, and keeps nothing. One warning that names it; said: whether that was
 * given. */
cudaError_t runtime_not_supported(const char *name, _Atomic(bool) *said);

/* ---- Devices and contexts (context.c) ---- */

/* The driver is initialised. cudaErrorNoDevice, ...: it cannot be. cudaErrorCudartUnloading: the process is about to
 * end. cudaErrorInitializationError: it is a forked child of one that has done so. */
cudaError_t runtime_init(void);

/* No call does anything any more, for one of the last two reasons. */
bool runtime_over(void);

/* runtime_init, and the thread has a current context: what the program made current with the driver API, or
 * else the primary context of the thread's device. Nearly every function begins with it. */
cudaError_t runtime_ready(void);

/* The device of the thread's current context, or else the one it will use. */
int runtime_device(void);

/* The context is the primary one of a device, retained for as long as the process lives. Does not make it current. */
cudaError_t runtime_primary(int device, CUcontext *context);

/* Whether the context is the primary one of its device, and that is active. */
bool runtime_is_primary(CUcontext context, int device);

/* ---- What nvcc registered (symbol.c) ---- */

/* The kernel behind a host function that nvcc made for it. Needs no context. cudaErrorInvalidDeviceFunction. */
cudaError_t runtime_registered_kernel(const void *symbol, CUkernel *kernel);

/* The same, or what is a cudaKernel_t itself. cudaErrorInvalidDeviceFunction: of NULL; cudaErrorInvalidResourceHandle. */
cudaError_t runtime_kernel(const void *symbol, CUkernel *kernel);

/* The same as the current context's function. */
cudaError_t runtime_function(const void *symbol, CUfunction *function);

/* The host function of a kernel, or of a function of the current context (one of the two is NULL); the kernel or
 * function itself if nobody registered it. */
const void *runtime_symbol(CUkernel kernel, CUfunction function);

/* Where the current context has a variable, by its shadow on the host; size may be NULL. cudaErrorInvalidSymbol. */
cudaError_t runtime_variable(const void *symbol, CUdeviceptr *address, size_t *size);

/* ---- Per-thread default streams ---- */

/* Set while a function without a stream is called for a program that means its thread's own default stream. */
extern _Thread_local bool runtime_per_thread;

/* DRIVER(cuMemcpyHtoD_v2, a, b, c): that driver function, or its _ptds form where the program means that. */
#define DRIVER(function, ...) (runtime_per_thread ? function##_ptds(__VA_ARGS__) : function(__VA_ARGS__))

/* Before DRIVER: that the _ptds form exists, which cuda.h does not say together with the other one. */
#define PER_THREAD_FORM(function) __typeof__(function) function##_ptds

/* ---- Structures ---- */

/* A pointer to the runtime's structure may be given to the driver as one to its own. */
#define SAME_LAYOUT(ours, drivers) \
    _Static_assert(sizeof(ours) == sizeof(drivers) && _Alignof(ours) == _Alignof(drivers), #ours " is " #drivers)

#endif
