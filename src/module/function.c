/* Functions: which one a handle means, and for how long; how many of its blocks fit a
 * multiprocessor. Parameters are params.c's. */
#include "module/handles.h"
#include "module/module.h"

#include <limits.h>

/* ---- handles. Those of what is gone have no magic number any more, and may get another one's; modules and libraries
 * that are gone are still such (objects.h). So a use is begun first, and the handle is looked at again then. */

CUresult kernel_get(CUkernel handle, struct kernel_handle **out)
{
    struct kernel_handle *k = (struct kernel_handle *)handle;
    if (handle_magic(k) != KERNEL_MAGIC) return CUDA_ERROR_INVALID_HANDLE;
    struct library *l = k->library;
    uses_begin(&l->uses);
    *out = k;
    if (handle_magic(k) == KERNEL_MAGIC && k->library == l) return CUDA_SUCCESS;
    uses_end(&l->uses);
    return CUDA_ERROR_INVALID_HANDLE;
}

CUresult kernel_end(struct kernel_handle *k, CUresult r)
{
    uses_end(&k->library->uses);
    return r;
}

static CUresult function_of_kernel(struct context *c, CUkernel handle, struct function **out)
{
    struct kernel_handle *k;
    struct module *m;
    CUresult r = kernel_get(handle, &k);
    if (r) return r;
    if (!(r = library_module(k->library, c, &m))) *out = &m->functions[k->index];
    return kernel_end(k, r);
}

CUresult function_get(struct context *c, CUfunction handle, struct function **out)
{
    struct function *f = (struct function *)handle;
    if (handle_magic(f) == KERNEL_MAGIC) return function_of_kernel(c, (CUkernel)handle, out);
    if (handle_magic(f) != FUNCTION_MAGIC) return CUDA_ERROR_INVALID_HANDLE;
    struct module *m = f->module;
    uses_begin(&m->uses);
    *out = f;
    return handle_magic(f) == FUNCTION_MAGIC && f->module == m ? CUDA_SUCCESS
                                                               : module_end(m, CUDA_ERROR_INVALID_HANDLE);
}

CUresult function_end(struct function *f, CUresult r) { return module_end(f->module, r); }

/* ---- occupancy: how many blocks fit by threads, by number, by registers and by shared memory. The units are those of
 * NVIDIA's occupancy calculator for compute capability 9.0. */

enum { WARP = 32, REGISTER_UNIT = 256, SCHEDULERS = 4, SHARED_UNIT = 128 };

/* Registers are given out to whole warps, by each of a multiprocessor's schedulers. */
static int blocks_by_registers(const struct profile *p, int registers, int warps)
{
    if (registers <= 0) return INT_MAX;
    int each = (registers * WARP + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    int per_block = profile_attribute(p, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK) / each;
    int all =
        profile_attribute(p, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) / each / SCHEDULERS * SCHEDULERS;
    return warps > per_block ? 0 : all / warps;
}

/* Percent of the memory that is to be shared; negative: as the driver likes. */
static int preferred_carveout(const struct function *f)
{
    const int own = f->set[SETTING_CARVEOUT];
    if (own >= 0) return own;
    switch (f->set[SETTING_CACHE]) {
    case CU_FUNC_CACHE_PREFER_L1: return 0;
    case CU_FUNC_CACHE_PREFER_EQUAL: return 50;
    default: return -1;
    }
}

size_t function_shared(const struct function *f, size_t block)
{
    const struct profile *p = f->module->context->device->profile;
    const int carveout = preferred_carveout(f);
    static const size_t sizes[] = { 8, 16, 32, 64, 100, 132, 164, 196 }; /* KiB */
    const size_t all = (size_t)profile_attribute(p, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    if (carveout < 0) return all;
    for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++)
        if (sizes[k] << 10 >= all * (unsigned)carveout / 100 && sizes[k] << 10 >= block) return sizes[k] << 10;
    return all;
}

/* Whether a block may not take it: an attribute that is less than any kernel may have limits no more than launches, and
 * what is negative is too much only for one that is more (observed on H200). */
static bool exceeds(const struct function *f, const struct profile *p, size_t dynamic_shared)
{
    const int own = f->set[SETTING_SHARED],
              any = profile_attribute(p, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) - (int)f->kernel->static_shared;
    return own > any ? dynamic_shared > (size_t)own : (int64_t)dynamic_shared > any;
}

static int blocks_by_shared(const struct function *f, size_t dynamic_shared, bool carved)
{
    const struct profile *p = f->module->context->device->profile;
    const size_t all = (size_t)profile_attribute(p, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    size_t each = (f->kernel->static_shared + dynamic_shared +
                   (size_t)profile_attribute(p, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK) + SHARED_UNIT - 1) /
                  SHARED_UNIT * SHARED_UNIT;
    return each ? (int)((carved ? function_shared(f, each) : all) / each) : INT_MAX;
}

static CUresult occupancy(const struct function *f, int block_size, size_t dynamic_shared, bool carved, int *blocks)
{
    const struct profile *p = f->module->context->device->profile;
    int warps = (block_size + WARP - 1) / WARP,
        n = profile_attribute(p, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    if (block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
    *blocks = 0;
    if (block_size > profile_attribute(p, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) || exceeds(f, p, dynamic_shared))
        return CUDA_SUCCESS;
    int by_threads = profile_attribute(p, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / WARP / warps;
    int by_registers = blocks_by_registers(p, (int)f->kernel->registers, warps);
    int by_shared = blocks_by_shared(f, dynamic_shared, carved);
    if (by_threads < n) n = by_threads;
    if (by_registers < n) n = by_registers;
    *blocks = by_shared < n ? by_shared : n;
    return CUDA_SUCCESS;
}

CUresult function_occupancy(const struct function *f, int block_size, size_t dynamic_shared, int *blocks)
{
    return occupancy(f, block_size, dynamic_shared, true, blocks);
}

CUresult function_potential(const struct function *f, int block_size, size_t dynamic_shared, int *blocks)
{
    return occupancy(f, block_size, dynamic_shared, f->set[SETTING_CARVEOUT] <= 0, blocks);
}
