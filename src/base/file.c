/* See file.h. */
#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

bool file_read(int fd, void *to, size_t size)
{
    for (char *p = to; size;) {
        ssize_t got = read(fd, p, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        p += got;
        size -= (size_t)got;
    }
    return true;
}

bool file_write(int fd, const void *from, size_t size)
{
    for (const char *p = from; size;) {
        ssize_t put = write(fd, p, size);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        p += put;
        size -= (size_t)put;
    }
    return true;
}

static uint64_t most_bytes(void)
{
    struct rlimit l;
    return getrlimit(RLIMIT_FSIZE, &l) ? UINT64_MAX : l.rlim_cur;
}

bool file_fits(uint64_t size) { return size <= most_bytes(); }

int file_resize(int fd, uint64_t size)
{
    if (file_fits(size)) return ftruncate(fd, (off_t)size);
    fl_log_once(FL_LOG_ERROR,
                "memory is made of files, and no file may have more than %llu KiB here: ulimit -f unlimited",
                (unsigned long long)most_bytes() >> 10);
    errno = EFBIG;
    return -1;
}

bool file_seal(int fd) { return !fcntl(fd, F_ADD_SEALS, SEALS); }

bool file_sealed(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & SEALS) == SEALS;
}
