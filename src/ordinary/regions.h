/* What this process has mapped, as /proc/self/maps tells. */
#ifndef FL_ORDINARY_REGIONS_H
#define FL_ORDINARY_REGIONS_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct region {
    uint64_t start, end;
    int prot;                      /* PROT_READ | PROT_WRITE | PROT_EXEC */
    bool shared;
    uint64_t offset;               /* of start in the file */
    dev_t device;
    ino_t inode;                   /* 0: anonymous */
    char path[256];                /* "" anonymous, "[heap]", "/name", "/memfd:name (deleted)" */
};

/* The regions that [va, end) touches, cut to it, in order, on the heap; those without
 * a mapping are left out. CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OPERATING_SYSTEM. */
CUresult regions_of(uint64_t va, uint64_t end, struct region **out, size_t *count);
/* The first that ends above va. 1: found, 0: there is none, -1: that cannot be told. Takes nothing from the heap. */
int region_at(uint64_t va, struct region *r);
/* All of the mapping that va is in; false: there is none. */
bool region_bounds(uint64_t va, uint64_t *start, uint64_t *end);
/* maps: a descriptor of /proc/self/maps. All that `as` says holds of [as->start, as->end): it is mapped with that access,
 * as shared memory that shows that inode or as private memory. Takes nothing from the heap, stores to nothing of the
 * program's and says nothing. */
bool regions_are(int maps, const struct region *as);
/* All of [va, end) is mapped with that access; also true where that cannot be asked in a moment (before Linux 6.11). Takes
 * nothing from the heap. */
bool regions_permit(uint64_t va, uint64_t end, int prot);
/* A descriptor of the file that a region shows, or -1 if this process cannot get one. */
int region_open(const struct region *r);

#endif
