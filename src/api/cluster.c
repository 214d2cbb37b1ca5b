/* Clusters of blocks; see cluster.h. */
#include "api/cluster.h"
#include "api/library.h"
#include "module/image.h"

#include <string.h>

enum { LARGEST_PORTABLE = 8, LARGEST = 16 };

static uint64_t blocks_of(const uint32_t shape[3]) { return (uint64_t)shape[0] * shape[1] * shape[2]; }

/* What the kernel needs, because it was compiled so or by an attribute; zeros: anything. */
static void required(const struct function *f, uint32_t shape[3])
{
    for (int i = 0; i < 3; i++) shape[i] = f->cluster[i] > 0 ? (uint32_t)f->cluster[i] : 0;
}

CUresult cluster_of_launch(const struct function *f, const uint32_t asked[3], const uint32_t grid[3], uint32_t out[3])
{
    uint32_t needed[3];
    required(f, needed);
    const bool any = blocks_of(needed), asks = asked[0] || asked[1] || asked[2];
    if (any && asks && memcmp(needed, asked, sizeof needed)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    memcpy(out, asks ? asked : any ? needed : (const uint32_t[3]){ 1, 1, 1 }, sizeof needed);
    if (!blocks_of(out) || blocks_of(out) > (f->nonportable_cluster ? LARGEST : LARGEST_PORTABLE))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    for (int i = 0; i < 3; i++)
        if (grid[i] % out[i]) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return CUDA_SUCCESS;
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
    }
    return CUDA_SUCCESS;
}

/* A cluster is on one group of multiprocessors, each of which has eight blocks of clusters at most. The groups are those
 * that an H200's answers show; a device of another size has groups of the usual one. */
static int fitting(int multiprocessors, int blocks, int size)
{
    enum { USUAL = 16, MOST = 8, H200 = 132 };
    static const int of_h200[] = { 18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2 };
    int clusters = 0, left = multiprocessors;
    for (unsigned k = 0; left > 0; k++) {
        const int usual = left < USUAL ? left : USUAL, group = multiprocessors == H200 ? of_h200[k] : usual;
        if (size <= group) clusters += group * (blocks < MOST ? blocks : MOST) / size;
        left -= group;
    }
    return clusters;
}

/* Until function_end. */
static CUresult function_named(CUfunction handle, struct function **f)
{
    struct context *c;
    CUresult r = context_current(&c);
    return r ? r : function_get(c, handle, f);
}

CUresult CUDAAPI cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func, const CUlaunchConfig *config)
{
    struct function *f;
    uint32_t shape[3];
    int blocks;
    CUresult r = function_named(func, &f);
    if (r) return r;
    if (!clusterSize || !config || asked_shape(config, shape)) return function_end(f, CUDA_ERROR_INVALID_VALUE);
    const unsigned threads = config->blockDimX * config->blockDimY * config->blockDimZ;
    r = function_occupancy(f, (int)threads, config->sharedMemBytes, &blocks);
    if (!r) *clusterSize = !blocks ? 0 : f->nonportable_cluster ? LARGEST : LARGEST_PORTABLE;
    return function_end(f, r);
}

static CUresult active_clusters(const struct function *f, const CUlaunchConfig *config, int *clusters)
{
    uint32_t asked[3], shape[3];
    int blocks;
    CUresult r;
    if (!clusters || !config || asked_shape(config, asked)) return CUDA_ERROR_INVALID_VALUE;
    const uint32_t grid[3] = { config->gridDimX, config->gridDimY, config->gridDimZ };
    if ((r = cluster_of_launch(f, asked, grid, shape))) return r;
    if (!asked[0] && f->cluster[0] <= 0) {
        *clusters = 0; /* observed on H200 */
        return CUDA_SUCCESS;
    }
    const unsigned threads = config->blockDimX * config->blockDimY * config->blockDimZ;
    if ((r = function_occupancy(f, (int)threads, config->sharedMemBytes, &blocks))) return r;
    *clusters =
        fitting(profile_attribute(f->module->context->device->profile, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
                blocks, (int)blocks_of(shape));
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func, const CUlaunchConfig *config)
{
    struct function *f;
    CUresult r = function_named(func, &f);
    return r ? r : function_end(f, active_clusters(f, config, numClusters));
}
