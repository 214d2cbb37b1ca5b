/* Physical memory as a memfd and its alias; see backing.h. */
#include "base/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

static _Atomic uint64_t last;

void backing_adopt(struct backing *b, int fd, uint64_t size)
{
    *b = (struct backing){ .fd = fd, .size = size, .id = atomic_fetch_add(&last, 1) + 1 };
}

CUresult backing_create(struct backing *b, const char *name, uint64_t size)
{
    *b = (struct backing){ .fd = -1, .size = size, .alias = MAP_FAILED };
    b->fd = memfd_create(name, MFD_CLOEXEC);
    if (b->fd < 0) goto failed;
    if (ftruncate(b->fd, (off_t)size)) goto failed;
    b->alias = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, b->fd, 0);
    if (b->alias == MAP_FAILED) goto failed;
    /* a forked child of the application must not reach device memory */
    madvise(b->alias, size, MADV_DONTFORK);
    b->id = atomic_fetch_add(&last, 1) + 1;
    return CUDA_SUCCESS;
failed:
    if (b->fd >= 0) close(b->fd);
    *b = (struct backing){ .fd = -1 };
    return CUDA_ERROR_OUT_OF_MEMORY;
}

void backing_destroy(struct backing *b)
{
    if (b->alias) munmap(b->alias, b->size);
    if (b->fd >= 0) close(b->fd);
    *b = (struct backing){ .fd = -1 };
}

void backing_discard(struct backing *b, uint64_t offset, uint64_t size)
{
    while (fallocate(b->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size) && errno == EINTR)
        ;
}
