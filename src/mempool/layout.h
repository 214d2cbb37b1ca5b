/* Where in its addresses a graph's allocations lie. What a node of the graph
 * frees may be used again by nodes that come after it; nothing is said of
 * memory, and nothing here but the caller's points is known of graphs.
 *
 * The rules are an H200's. Frees that come one after the other form a lane. What
 * is freed joins the free neighbours of its lane, and may be used from then on by
 * what comes after the last of these frees. An allocation takes the smallest hole
 * that is large enough, of the first lane that has one; if none has, the first of
 * the smallest segments' ends. (Which of several lanes a free continues, or an
 * allocation tries first, depends there on addresses of the driver's own; here
 * the oldest is taken, as in most cases there.) */
#ifndef FL_MEMPOOL_LAYOUT_H
#define FL_MEMPOOL_LAYOUT_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/* A node that frees: the caller's. comes_after: whether the node that is being added comes after it. */
typedef bool comes_after(const void *point);

struct layout {
    struct hole {
        uint64_t at, size;
        const void *point; /* who comes after it may use it */
        unsigned lane;
    } * hole;          /* in the order in which they became as they are */
    const void **lane; /* the last free of each */
    struct segment {
        uint64_t at, size, used; /* addresses in a row, of which none behind `used` ever was allocated */
    } * segment;
    unsigned holes, lanes, segments;
    unsigned hole_room, lane_room, segment_room;
};

/* A place for size bytes. False: more addresses are needed. */
bool layout_take(struct layout *l, uint64_t size, comes_after *after, uint64_t *at);
/* Adds addresses, to the segment that ends where they begin, if there is one. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult layout_extend(struct layout *l, uint64_t at, uint64_t size);
/* What was taken is free behind a point, which is being added. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult layout_free(struct layout *l, uint64_t at, uint64_t size, const void *point, comes_after *after);
void layout_end(struct layout *l);

#endif
