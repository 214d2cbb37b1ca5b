/* Physical memory: a sparse memfd and this process's private alias of it.
 * Copies, memsets and module loading go through the alias and never fault. */
#ifndef FL_BASE_BACKING_H
#define FL_BASE_BACKING_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct backing {
    int fd;
    uint64_t size;                 /* bytes */
    char *alias;                   /* the whole file, readable and writable, MAP_NORESERVE */
    uint64_t id;                   /* unique in this process, never 0, never reused */
};

/* CUDA_ERROR_OUT_OF_MEMORY if the system will not give a descriptor or the address space. */
CUresult backing_create(struct backing *b, const char *name, uint64_t size);
/* The same, in 2 MiB pages wherever a mapping with MADV_HUGEPAGE touches it first, if this process may have that. */
CUresult backing_create_huge(struct backing *b, const char *name, uint64_t size);
/* Takes a descriptor over; alias stays NULL. */
void backing_adopt(struct backing *b, int fd, uint64_t size);
void backing_destroy(struct backing *b);
/* Gives the pages of [offset, offset+size) back to the system; they read as zeros afterwards. */
void backing_discard(const struct backing *b, uint64_t offset, uint64_t size);

/* Whether a file of that device, which /proc/self/maps shows as path, is a backing of this process's. */
bool backing_shows(dev_t device, const char *path);

/* Addresses for an alias of size bytes in which large pages can be mapped as such: nothing is there yet, and
 * touching it faults. NULL: there are not so many. */
char *backing_room(uint64_t size);
/* An alias of devices' memory: a forked child of the application must not reach it, and a core dump, which would have to
 * make every page of it, leaves it out. */
void backing_hide(void *alias, uint64_t size);

/* All of [bytes, bytes+size) in an alias is about to be written: large pages for what can have them, which
 * costs less than the small ones. Where the system has none it soon gives up. */
void backing_enlarge_pages(char *bytes, uint64_t size);

#endif
