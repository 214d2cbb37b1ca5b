/* From PTX to an image, and from an image's IR to code, through the cache or the compiler. */
#ifndef FL_MODULE_COMPILE_H
#define FL_MODULE_COMPILE_H

#include "ptx/image.h"
#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Mapped memory. */
struct mapped {
    void *data;
    size_t size;
};

/* An image, and the code of those of its parts that were needed so far. */
struct image_file {
    void *data;
    size_t size;
    struct image_parts *parts; /* NULL: it has none */
};
struct image_code {
    struct mapped code; /* data NULL: it is not compiled yet */
    bool taken;         /* somebody is compiling it */
};
struct image_parts {
    pthread_mutex_t lock;      /* a part is compiled once, and loaded once into each module */
    pthread_cond_t compiled;   /* one was, or could not be */
    uint64_t name[2];          /* the image's in the cache, once it is known */
    struct image_code codes[]; /* by part */
};

/* *out is to be given back with image_release. log receives what the compiler said (NUL-terminated, cut at log_size).
 * Of a large module parts are left for later, unless CUDA_MODULE_LOADING=EAGER.
 * CUDA_ERROR_INVALID_PTX, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
 * CUDA_ERROR_NOT_SUPPORTED: a GPU could run it. */
CUresult compile_ptx(const char *text, struct image_file *out, char *log, size_t log_size);
/* A part's code, which belongs to the image file. Under the lock of its parts, which is not held while a compiler runs:
 * several parts may be compiled at once. CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
 * CUDA_ERROR_OPERATING_SYSTEM, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_UNKNOWN. */
CUresult compile_part(struct image_file *f, uint32_t part, const struct fl_code **code);
void image_release(struct image_file *f);
/* CUDA_MODULE_LOADING=EAGER: modules are compiled whole. */
bool modules_are_eager(void);

/* ---- cache.c: files, named by what they were made from */

struct cache_key {
    uint64_t a, b;
};

/* kind tells apart what was made of the same bytes. Zeros, and nothing is read or written by it: there is no cache. */
struct cache_key cache_key(const void *from, size_t size, uint64_t kind);
/* Whole and unchanged since it was written, though whoever wrote it may be anybody. */
bool cache_read(struct cache_key key, struct mapped *out);
void cache_write(struct cache_key key, const struct mapped *what);

#endif
