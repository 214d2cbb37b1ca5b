/* See unlocked.h. What nobody may access yet is locked in name only (mlock(2): MCL_FUTURE). */
#include "base/unlocked.h"

#include <errno.h>
#include <sys/mman.h>

void *map_unlocked(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
    void *there = mmap(at, size, PROT_NONE, flags, fd, offset);
    if (there == MAP_FAILED) return there;
    munlock(there, size);
    if (!prot || !mprotect(there, size, prot)) return there;
    int error = errno;
    munmap(there, size);
    errno = error;
    return MAP_FAILED;
}
