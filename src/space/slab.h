/* Small allocations: pieces of one 2 MiB chunk, in steps of 512 bytes (observed
 * on H200). Only pages that hold a live piece are mapped. */
#ifndef FL_SPACE_SLAB_H
#define FL_SPACE_SLAB_H

#include <stdbool.h>
#include <stdint.h>

enum { SLAB_UNIT = 512, SLAB_UNITS = (2 << 20) / SLAB_UNIT, SLAB_PAGES = 512, UNITS_PER_PAGE = 4096 / SLAB_UNIT };

struct slab {
    uint64_t va, offset;           /* of its chunk */
    void *owner;                   /* whose allocations share it, see place.c, */
    unsigned flags;                /* and all have those of the first one (observed on H200) */
    uint32_t used;                 /* units */
    uint64_t units[SLAB_UNITS / 64];
    uint64_t dead[SLAB_UNITS / 64]; /* of these, freed but still taken: another process uses them */
    /* place.c's: what is mapped, page by page */
    struct device *device;         /* NULL: host memory */
    uint64_t on_devices[SLAB_PAGES / 64], on_host[SLAB_PAGES / 64];
    bool dirty;                    /* in the list of those whose on_devices is not as it should be */
    struct slab *next_dirty;
    struct slab *next;
};

/* A place for size bytes, aligned; false if there is none. */
bool slab_take(struct slab *s, uint64_t size, uint64_t align, uint64_t *at);
/* The piece, of which somebody else knows that it is free, is taken. */
void slab_fill(struct slab *s, uint64_t at, uint64_t size);
/* It is free again. */
void slab_give(struct slab *s, uint64_t at, uint64_t size);
/* The piece is no longer live, and not free either until slab_give. */
void slab_bury(struct slab *s, uint64_t at, uint64_t size);
/* Whether some live piece touches the page. */
bool slab_page_used(const struct slab *s, unsigned page);

#endif
