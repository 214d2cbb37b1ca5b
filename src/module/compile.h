/* From PTX to an image, through the cache or the compiler. */
#ifndef FL_MODULE_COMPILE_H
#define FL_MODULE_COMPILE_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

struct image_file { void *data; size_t size; };

/* *out is mapped memory, to be given back with image_release. log receives what the
 * compiler said (NUL-terminated, cut at log_size).
 * CUDA_ERROR_INVALID_PTX, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
 * CUDA_ERROR_NOT_SUPPORTED: a GPU could run it. */
CUresult compile_ptx(const char *text, struct image_file *out, char *log, size_t log_size);
void image_release(struct image_file *f);

/* cache.c: files named by their content's key. */
bool cache_read(const char *text, struct image_file *out);
void cache_write(const char *text, const struct image_file *f);

#endif
