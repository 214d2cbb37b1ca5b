/* Memory policy of the host's nodes, by raw system calls. On a machine where
 * the kernel has no NUMA, or forbids policies, there is node 0 and no policy. */
#ifndef FL_BASE_NUMA_H
#define FL_BASE_NUMA_H

#include <stdbool.h>
#include <stdint.h>

/* A node that is online. */
bool numa_exists(int node);
/* Of the calling thread. */
int numa_nearest(void);
/* The pages behind [p, p+size), which is shared memory, come from node; pages that are there move. */
void numa_bind(void *p, uint64_t size, int node);
void numa_unbind(void *p, uint64_t size);
/* They come from node if it has any, and stay where they are if they are there. node -1: from any. */
void numa_prefer(void *p, uint64_t size, int node);

#endif
