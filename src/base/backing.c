/* Physical memory as a memfd and its alias; see backing.h. */
#include "base/backing.h"
#include "base/file.h"
#include "base/unlocked.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum { HUGE = 2 << 20, REFUSALS = 16 };
static _Atomic uint64_t last;
static _Atomic dev_t huge_device; /* of the last file system that open_huge made; 0: none */

void backing_adopt(struct backing *b, int fd, uint64_t size)
{
    *b = (struct backing){ .fd = fd, .size = size, .id = atomic_fetch_add(&last, 1) + 1 };
}

/* memfds get large pages only where the administrator has said so. A file system of our own, which is
 * mounted nowhere and goes with its last file, gets them; only a privileged process may make one. */
static int open_huge(void)
{
    int fd = -1, mount = -1, context = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
    if (context < 0) return -1;
    if (!syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "huge", "advise", 0) &&
        !syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "size", "0", 0) &&
        !syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
        mount = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
    if (mount >= 0) {
        fd = openat(mount, ".", O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
        struct stat s;
        if (fd >= 0 && !fstat(fd, &s)) huge_device = s.st_dev;
        close(mount);
    }
    close(context);
    return fd;
}

char *backing_room(uint64_t size)
{
    char *room = mmap(NULL, size + HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return NULL;
    uint64_t before = -(uintptr_t)room % HUGE;
    if (before) munmap(room, before);
    munmap(room + before + size, HUGE - before);
    return room + before;
}

static char *map_alias(int fd, uint64_t size)
{
    char *room = backing_room(size); /* without it, small pages will do */
    int place = room ? MAP_FIXED : 0;
    char *alias = map_unlocked(room, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | place, fd, 0);
    if (alias == MAP_FAILED && room) munmap(room, size);
    return alias;
}

void backing_hide(void *alias, uint64_t size)
{
    madvise(alias, size, MADV_DONTFORK);
    madvise(alias, size, MADV_DONTDUMP);
}

static CUresult create(struct backing *b, int fd, uint64_t size)
{
    *b = (struct backing){ .fd = fd, .size = size, .alias = MAP_FAILED };
    if (b->fd < 0) goto failed;
    if (file_resize(b->fd, size)) goto failed;
    b->alias = map_alias(b->fd, size);
    if (b->alias == MAP_FAILED) goto failed;
    backing_hide(b->alias, size);
    b->id = atomic_fetch_add(&last, 1) + 1;
    return CUDA_SUCCESS;
failed:
    if (b->fd >= 0) close(b->fd);
    *b = (struct backing){ .fd = -1 };
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult backing_create(struct backing *b, const char *name, uint64_t size)
{
    return create(b, memfd_create(name, MFD_CLOEXEC), size);
}

CUresult backing_create_huge(struct backing *b, const char *name, uint64_t size)
{
    int fd = open_huge();
    return create(b, fd >= 0 ? fd : memfd_create(name, MFD_CLOEXEC), size);
}

bool backing_shows(dev_t device, const char *path)
{
    return (device && device == atomic_load(&huge_device)) || !strncmp(path, "/memfd:faultline", 16);
}

void backing_enlarge_pages(char *bytes, uint64_t size)
{
    static _Atomic unsigned refused;
    uint64_t before = -(uintptr_t)bytes % HUGE;
    for (uint64_t at = before; size >= HUGE && at <= size - HUGE && refused < REFUSALS; at += HUGE) {
        /* where there is nothing at all it is refused */
        __atomic_fetch_or(bytes + at, 0, __ATOMIC_RELAXED);
        if (madvise(bytes + at, HUGE, MADV_COLLAPSE)) refused++;
    }
}

void backing_destroy(struct backing *b)
{
    if (b->alias) munmap(b->alias, b->size);
    if (b->fd >= 0) close(b->fd);
    *b = (struct backing){ .fd = -1 };
}

void backing_discard(const struct backing *b, uint64_t offset, uint64_t size)
{
    while (fallocate(b->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size) && errno == EINTR)
        ;
}
