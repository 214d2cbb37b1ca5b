/* How kernels were launched before CUDA 4.0: block shape, shared memory and
 * parameters are set one by one and kept with the function until cuLaunch. */
#include "api/launch.h"
#include "module/module.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 64, MOST_PARAMS = 32764, MOST_THREADS = 1024 };

struct setting {
    struct setting *next;
    CUfunction function;
    unsigned block[3], shared;
    size_t param_size;
    uint8_t params[MOST_PARAMS];
};

/* Settings are kept for good: a function that takes the place of an unloaded
 * one is set up by its own program before it is launched. */
static struct setting *settings[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* With the lock. */
static CUresult find(CUfunction f, struct setting **out)
{
    struct setting **bucket = &settings[(uintptr_t)f / sizeof(struct function) % BUCKETS], *s = *bucket;
    while (s && s->function != f) s = s->next;
    if (!s) {
        if (!(s = calloc(1, sizeof *s))) return CUDA_ERROR_OUT_OF_MEMORY;
        *s = (struct setting){ .next = *bucket, .function = f, .block = { 1, 1, 1 } };
        *bucket = s;
    }
    *out = s;
    return CUDA_SUCCESS;
}

/* What is checked against the function itself. */
struct bounds {
    size_t shared, params;
    unsigned threads, shape[3]; /* zeros: any shape */
};

/* On success the lock is held. */
static CUresult open_bounded(CUfunction f, struct bounds *bounds, struct setting **out)
{
    struct context *c;
    struct function *known;
    CUresult r = context_current(&c);
    if (r || (r = function_get(c, f, &known))) return r;
    if (known->module->context != c) return function_end(known, CUDA_ERROR_INVALID_HANDLE);
    const struct fl_image_kernel *k = known->kernel;
    *bounds = (struct bounds){ (size_t)known->set[SETTING_SHARED],
                               k->param_size,
                               k->max_threads && k->max_threads < MOST_THREADS ? k->max_threads : MOST_THREADS,
                               { k->reqntid[0], k->reqntid[1], k->reqntid[2] } };
    if ((r = function_end(known, r))) return r;
    pthread_mutex_lock(&lock);
    if ((r = find(f, out))) pthread_mutex_unlock(&lock);
    return r;
}

static CUresult open_setting(CUfunction f, struct setting **out)
{
    struct bounds unused;
    return open_bounded(f, &unused, out);
}

CUresult CUDAAPI cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z)
{
    struct setting *s;
    struct bounds most;
    CUresult r = open_bounded(hfunc, &most, &s);
    if (r) return r;
    const unsigned shape[3] = { (unsigned)x, (unsigned)y, (unsigned)z };
    if (x > 0 && y > 0 && z > 0 && x <= MOST_THREADS && y <= MOST_THREADS && (long)x * y * z <= most.threads &&
        (!most.shape[0] || !memcmp(shape, most.shape, sizeof shape)))
        memcpy(s->block, shape, sizeof s->block);
    else
        r = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult CUDAAPI cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes)
{
    struct setting *s;
    struct bounds most;
    CUresult r = open_bounded(hfunc, &most, &s);
    if (r) return r;
    if (bytes <= most.shared)
        s->shared = bytes;
    else
        r = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult CUDAAPI cuParamSetSize(CUfunction hfunc, unsigned int numbytes)
{
    struct setting *s;
    CUresult r = open_setting(hfunc, &s);
    if (r) return r;
    if (numbytes <= MOST_PARAMS)
        s->param_size = numbytes;
    else
        r = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult CUDAAPI cuParamSetv(CUfunction hfunc, int offset, void *ptr, unsigned int numbytes)
{
    struct setting *s;
    CUresult r = open_setting(hfunc, &s);
    if (r) return r;
    if (ptr && offset >= 0 && offset <= MOST_PARAMS && numbytes <= MOST_PARAMS - (unsigned)offset)
        memcpy(s->params + offset, ptr, numbytes);
    else
        r = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult CUDAAPI cuParamSeti(CUfunction hfunc, int offset, unsigned int value)
{
    return cuParamSetv(hfunc, offset, &value, sizeof value);
}

CUresult CUDAAPI cuParamSetf(CUfunction hfunc, int offset, float value)
{
    return cuParamSetv(hfunc, offset, &value, sizeof value);
}

CUresult CUDAAPI cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream)
{
    struct setting *s, now;
    struct bounds most;
    CUresult r = open_bounded(f, &most, &s);
    if (r) return r;
    now = *s;
    pthread_mutex_unlock(&lock);
    if (grid_width <= 0 || grid_height <= 0) return CUDA_ERROR_INVALID_VALUE;
    if (now.param_size > most.params) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, now.params, CU_LAUNCH_PARAM_BUFFER_SIZE, &now.param_size,
                      CU_LAUNCH_PARAM_END };
    const unsigned grid[] = { (unsigned)grid_width, (unsigned)grid_height };
    return launch_as_before(f, grid, now.block, now.shared, hStream, extra);
}

CUresult CUDAAPI cuLaunchGrid(CUfunction f, int grid_width, int grid_height)
{
    return cuLaunchGridAsync(f, grid_width, grid_height, NULL);
}

CUresult CUDAAPI cuLaunch(CUfunction f) { return cuLaunchGrid(f, 1, 1); }
