/* /proc/self/maps; see regions.h. */
#include "space/regions.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static bool parse(const char *line, struct region *r)
{
    char access[5];
    unsigned major, minor;
    unsigned long inode;
    int path = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %lu %n", &r->start, &r->end, access, &r->offset,
               &major, &minor, &inode, &path) < 7)
        return false;
    r->prot = (access[0] == 'r' ? PROT_READ : 0) | (access[1] == 'w' ? PROT_WRITE : 0) |
              (access[2] == 'x' ? PROT_EXEC : 0);
    r->shared = access[3] == 's';
    r->device = makedev(major, minor);
    r->inode = inode;
    snprintf(r->path, sizeof r->path, "%s", line + path);
    r->path[strcspn(r->path, "\n")] = 0;
    return true;
}

CUresult regions_of(uint64_t va, uint64_t end, struct region **out, size_t *count)
{
    struct region *list = NULL, r;
    size_t n = 0, room = 0, size = 0;
    char *line = NULL;
    CUresult result = CUDA_SUCCESS;
    FILE *f = fopen("/proc/self/maps", "re");
    if (!f) return CUDA_ERROR_OPERATING_SYSTEM;
    while (!result && getline(&line, &size, f) > 0) {
        if (!parse(line, &r) || r.end <= va) continue;
        if (r.start >= end) break;
        if (n == room) {
            struct region *more = realloc(list, (room = room ? 2 * room : 4) * sizeof *list);
            if (!more) {
                result = CUDA_ERROR_OUT_OF_MEMORY;
                break;
            }
            list = more;
        }
        if (r.start < va) r.offset += va - r.start, r.start = va;
        if (r.end > end) r.end = end;
        list[n++] = r;
    }
    free(line);
    fclose(f);
    if (result) {
        free(list);
        return result;
    }
    *out = list;
    *count = n;
    return CUDA_SUCCESS;
}

static int open_if_same(const char *path, const struct region *r)
{
    struct stat s;
    int fd = open(path, (r->prot & PROT_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return -1;
    /* overlay file systems show another device in maps than fstat does */
    if (!fstat(fd, &s) && S_ISREG(s.st_mode) && s.st_ino == r->inode) return fd;
    close(fd);
    return -1;
}

/* One of this process's own descriptors, opened anew so that closing it is ours. */
static int among_descriptors(const struct region *r)
{
    int found = -1;
    char path[64];
    DIR *d = opendir("/proc/self/fd");
    if (!d) return -1;
    for (struct dirent *e; found < 0 && (e = readdir(d));) {
        struct stat s;
        int fd = atoi(e->d_name);
        if (e->d_name[0] == '.' || fd == dirfd(d) || fstat(fd, &s) || s.st_ino != r->inode || s.st_dev != r->device)
            continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        found = open_if_same(path, r);
    }
    closedir(d);
    return found;
}

/* The kernel's own link to what a mapping shows; needs a privilege. */
static int by_mapping(const struct region *r)
{
    struct region *whole;
    size_t count;
    char path[96];
    int fd = -1;
    if (regions_of(r->start, r->start + 1, &whole, &count)) return -1;
    FILE *f = count ? fopen("/proc/self/maps", "re") : NULL;
    char *line = NULL;
    size_t size = 0;
    struct region it;
    while (f && fd < 0 && getline(&line, &size, f) > 0)
        if (parse(line, &it) && it.start <= r->start && r->start < it.end) {
            snprintf(path, sizeof path, "/proc/self/map_files/%" PRIx64 "-%" PRIx64, it.start, it.end);
            fd = open_if_same(path, r);
            break;
        }
    free(line);
    if (f) fclose(f);
    free(whole);
    return fd;
}

int region_open(const struct region *r)
{
    int fd = by_mapping(r);
    if (fd < 0 && r->path[0] == '/') fd = open_if_same(r->path, r);
    return fd < 0 ? among_descriptors(r) : fd;
}
