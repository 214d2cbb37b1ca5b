/* Clusters of blocks; see cluster.h. */
#include "api/cluster.h"

#include <string.h>

enum { LARGEST_PORTABLE = 8, LARGEST = 16 };

static uint64_t blocks_of(const uint32_t shape[3]) { return (uint64_t)shape[0] * shape[1] * shape[2]; }

/* What the kernel needs, because it was compiled so or by an attribute; zeros: anything. */
static void required(const struct function *f, uint32_t shape[3])
{
    for (int i = 0; i < 3; i++) shape[i] = f->set[SETTING_WIDTH + i] > 0 ? (uint32_t)f->set[SETTING_WIDTH + i] : 0;
}

static CUresult shape_of(const struct function *f, const uint32_t asked[3], const uint32_t grid[3], uint32_t out[3])
{
    uint32_t needed[3];
    required(f, needed);
    const bool any = needed[0] || needed[1] || needed[2], asks = asked[0] || asked[1] || asked[2];
    for (int i = 0; asks && i < 3; i++)
        if (needed[i] && needed[i] != asked[i]) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (!any && !asks && f->kernel->flags & FL_KERNEL_EXPLICIT_CLUSTER) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    memcpy(out, asks ? asked : any ? needed : (const uint32_t[3]){ 1, 1, 1 }, sizeof needed);
    if (!blocks_of(out) || (blocks_of(out) > LARGEST_PORTABLE && !f->set[SETTING_NON_PORTABLE]))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (f->kernel->max_cluster && blocks_of(out) > f->kernel->max_cluster) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    for (int i = 0; i < 3 && !(f->kernel->flags & FL_KERNEL_BLOCKS_ARE_CLUSTERS); i++)
        if (grid[i] % out[i]) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return CUDA_SUCCESS;
}

CUresult cluster_of_launch(const struct function *f, const uint32_t asked[3], const uint32_t grid[3], uint32_t out[3])
{
    CUresult r = shape_of(f, asked, grid, out);
    return !r && blocks_of(out) > LARGEST ? CUDA_ERROR_INVALID_CLUSTER_SIZE : r;
}

/* ---- Occupancy ---- */

static CUresult asked_shape(const CUlaunchConfig *c, uint32_t shape[3])
{
    memset(shape, 0, 3 * sizeof *shape);
    if (c->numAttrs && !c->attrs) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; k < c->numAttrs; k++) {
        const CUlaunchAttributeValue *v = &c->attrs[k].value;
        if (c->attrs[k].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
        shape[0] = v->clusterDim.x;
        shape[1] = v->clusterDim.y;
        shape[2] = v->clusterDim.z;
        if (!blocks_of(shape) && (shape[0] || shape[1] || shape[2])) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
    return CUDA_SUCCESS;
}

/* A cluster is on one group of multiprocessors, each of which has eight blocks of clusters at most. The groups are those
 * that an H200's answers show; a device of another size has groups of the usual one. */
static int fitting(int multiprocessors, int blocks, uint64_t size)
{
    enum { USUAL = 16, MOST = 8, H200 = 132 };
    static const int of_h200[] = { 18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2 };
    int clusters = 0, left = multiprocessors;
    for (unsigned k = 0; left > 0; k++) {
        const int usual = left < USUAL ? left : USUAL, group = multiprocessors == H200 ? of_h200[k] : usual;
        if (size <= (uint64_t)group) clusters += group * (blocks < MOST ? blocks : MOST) / (int)size;
        left -= group;
    }
    return clusters;
}

uint64_t cluster_blocks(int multiprocessors, int blocks, const uint32_t shape[3])
{
    return (uint64_t)fitting(multiprocessors, blocks, blocks_of(shape)) * blocks_of(shape);
}

/* Until function_end. */
static CUresult function_named(CUfunction handle, struct function **f)
{
    struct context *c;
    CUresult r = context_current(&c);
    return r ? r : function_get(c, handle, f);
}

/* How many blocks of what is asked about fit on a multiprocessor. It has to be a launch, though of a cluster of any size if
 * it may be larger than others can have (observed on H200). *any: f or the launch wants clusters. */
static CUresult check_asked(const struct function *f, const CUlaunchConfig *c, uint32_t shape[3], bool *any,
                            int *blocks)
{
    const uint32_t grid[3] = { c->gridDimX, c->gridDimY, c->gridDimZ };
    uint32_t asked[3];
    CUresult r = asked_shape(c, asked);
    if (!r && !(grid[0] && grid[1] && grid[2])) r = CUDA_ERROR_INVALID_VALUE;
    if (r) return r;
    *any = asked[0] || f->set[SETTING_WIDTH] > 0;
    r = shape_of(f, asked, grid, shape);
    const unsigned threads = c->blockDimX * c->blockDimY * c->blockDimZ;
    return r ? r : function_occupancy(f, (int)threads, (size_t)(int)c->sharedMemBytes, blocks);
}

CUresult CUDAAPI cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func, const CUlaunchConfig *config)
{
    struct function *f;
    uint32_t shape[3];
    bool any;
    int blocks;
    CUresult r = function_named(func, &f);
    if (r) return r;
    if (!clusterSize || !config) return function_end(f, CUDA_ERROR_INVALID_VALUE);
    r = check_asked(f, config, shape, &any, &blocks);
    if (!r) *clusterSize = !blocks ? 0 : f->set[SETTING_NON_PORTABLE] ? LARGEST : LARGEST_PORTABLE;
    return function_end(f, r);
}

CUresult CUDAAPI cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func, const CUlaunchConfig *config)
{
    struct function *f;
    uint32_t shape[3];
    bool any;
    int blocks;
    CUresult r = function_named(func, &f);
    if (r) return r;
    if (!numClusters || !config) return function_end(f, CUDA_ERROR_INVALID_VALUE);
    r = check_asked(f, config, shape, &any, &blocks);
    const struct profile *profile = f->module->context->device->profile;
    const int multiprocessors = profile_attribute(profile, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    if (!r) *numClusters = any ? fitting(multiprocessors, blocks, blocks_of(shape)) : 0; /* 0: observed on H200 */
    return function_end(f, r);
}
