/* /proc/self/maps, asked for one region at a time where the kernel can (Linux
 * 6.11), else read as text; see regions.h. */
#include "ordinary/regions.h"
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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
    r->prot =
        (access[0] == 'r' ? PROT_READ : 0) | (access[1] == 'w' ? PROT_WRITE : 0) | (access[2] == 'x' ? PROT_EXEC : 0);
    r->shared = access[3] == 's';
    r->device = makedev(major, minor);
    r->inode = inode;
    snprintf(r->path, sizeof r->path, "%s", line + path);
    return true;
}

/* PROCMAP_QUERY of <linux/fs.h>, which the headers of older systems lack. */
struct procmap_query {
    uint64_t size, flags, address, start, end, access, page_size, offset, inode;
    uint32_t major, minor, name_size, build_id_size;
    uint64_t name, build_id;
};
enum { QUERY_COVERING_OR_NEXT = 0x10, QUERY_SHARED = 8 };
#define QUERY _IOWR('f', 17, struct procmap_query)

/* The first region that ends above va. 1: found, 0: none, -1: cannot be asked. */
static int query(int maps, uint64_t va, struct region *r)
{
    struct procmap_query q = { .size = sizeof q, .flags = QUERY_COVERING_OR_NEXT, .address = va };
    char name[4096] = "";
    q.name = (uint64_t)name;
    q.name_size = sizeof name;
    if (ioctl(maps, QUERY, &q)) return errno == ENOENT ? 0 : -1;
    *r = (struct region){ .start = q.start,
                          .end = q.end,
                          .prot = (int)(q.access & (PROT_READ | PROT_WRITE | PROT_EXEC)),
                          .shared = q.access & QUERY_SHARED,
                          .offset = q.offset,
                          .device = makedev(q.major, q.minor),
                          .inode = q.inode };
    if (q.name_size) snprintf(r->path, sizeof r->path, "%.255s", name);
    return 1;
}

/* Where in the list of regions we are. Nothing of it is on the heap (region_at). */
struct walk {
    int maps;
    bool is_text; /* the kernel cannot be asked */
    bool failed;  /* and could not be read */
    size_t at, end;
    char text[4608]; /* at: what is not taken yet of what was read */
};

static CUresult walk_begin(struct walk *w)
{
    w->is_text = w->failed = false;
    w->at = w->end = 0;
    w->maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (w->maps >= 0) return CUDA_SUCCESS;
    fl_log_once(FL_LOG_ERROR, "host memory cannot be registered: /proc/self/maps cannot be read");
    return CUDA_ERROR_OPERATING_SYSTEM;
}

/* The next line, ended; NULL: there is none, or it could not be read. Each fits. */
static char *next_line(struct walk *w)
{
    for (;;) {
        char *line = w->text + w->at, *end = memchr(line, '\n', w->end - w->at);
        if (end) {
            *end = 0;
            w->at = (size_t)(end + 1 - w->text);
            return line;
        }
        memmove(w->text, line, w->end -= w->at);
        w->at = 0;
        ssize_t n = read(w->maps, w->text + w->end, sizeof w->text - w->end);
        if (n < 0 && errno == EINTR) continue;
        w->failed = n < 0;
        if (n <= 0) return NULL;
        w->end += (size_t)n;
    }
}

/* The first region that ends above va, which never goes back. As region_at. */
static int walk_to(struct walk *w, uint64_t va, struct region *r)
{
    int answer = w->is_text ? -1 : query(w->maps, va, r);
    if (answer >= 0) return answer;
    w->is_text = true;
    for (char *line; (line = next_line(w));)
        if (parse(line, r) && r->end > va) return 1;
    return w->failed ? -1 : 0;
}

static void walk_end(const struct walk *w) { close(w->maps); }

CUresult regions_of(uint64_t va, uint64_t end, struct region **out, size_t *count)
{
    struct region *list = NULL, r;
    struct walk w;
    size_t n = 0, room = 0;
    int found = 0;
    CUresult result = walk_begin(&w);
    if (result) return result;
    for (uint64_t at = va; at < end && (found = walk_to(&w, at, &r)) > 0 && r.start < end; at = r.end) {
        if (n == room) {
            struct region *more = realloc(list, (room = room ? 2 * room : 4) * sizeof *list);
            if (!more) {
                result = CUDA_ERROR_OUT_OF_MEMORY;
                break;
            }
            list = more;
        }
        list[n] = r;
        if (r.start < va) {
            list[n].offset += va - r.start;
            list[n].start = va;
        }
        if (r.end > end) list[n].end = end;
        n++;
    }
    walk_end(&w);
    if (found < 0) result = CUDA_ERROR_OPERATING_SYSTEM;
    if (result) {
        free(list);
        return result;
    }
    *out = list;
    *count = n;
    return CUDA_SUCCESS;
}

bool region_bounds(uint64_t va, uint64_t *start, uint64_t *end)
{
    struct region r = { 0 };
    bool found = region_at(va, &r) > 0 && r.start <= va;
    *start = r.start;
    *end = r.end;
    return found;
}

int region_at(uint64_t va, struct region *r)
{
    struct walk w;
    if (walk_begin(&w)) return -1;
    int found = walk_to(&w, va, r);
    walk_end(&w);
    return found;
}

static bool is_like(const struct region *r, const struct region *as, uint64_t at)
{
    bool same_bytes = !as->shared || (r->inode == as->inode && r->offset - r->start == as->offset - as->start);
    return r->start <= at && r->prot == as->prot && r->shared == as->shared && same_bytes;
}

bool regions_are(int maps, const struct region *as)
{
    struct walk w = { .maps = maps };
    struct region r;
    uint64_t at = as->start;
    if (lseek(maps, 0, SEEK_SET)) return false;
    while (at < as->end && walk_to(&w, at, &r) > 0 && is_like(&r, as, at)) at = r.end;
    return at >= as->end;
}

bool regions_permit(uint64_t va, uint64_t end, int prot)
{
    enum { CLOSED = -1, NEVER = -2 };
    static _Atomic int kept = CLOSED; /* the program may close it */
    int maps = atomic_load(&kept);
    if (maps == CLOSED) {
        int none = CLOSED, opened = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
        if (opened < 0) return true;
        maps = atomic_compare_exchange_strong(&kept, &none, opened) ? opened : none;
        if (maps != opened) close(opened);
    }
    for (uint64_t at = va; at < end && maps >= 0;) {
        struct procmap_query q = { .size = sizeof q, .address = at };
        if (ioctl(maps, QUERY, &q)) {
            if (errno == ENOENT) return false;
            atomic_compare_exchange_strong(&kept, &maps, errno == EBADF ? CLOSED : NEVER);
            return true;
        }
        if (((int)q.access & prot) != prot) return false;
        at = q.end;
    }
    return true;
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
    struct region whole;
    struct walk w;
    char path[96];
    int fd = -1;
    if (walk_begin(&w)) return -1;
    if (walk_to(&w, r->start, &whole) > 0 && whole.start <= r->start) {
        snprintf(path, sizeof path, "/proc/self/map_files/%" PRIx64 "-%" PRIx64, whole.start, whole.end);
        fd = open_if_same(path, r);
    }
    walk_end(&w);
    return fd;
}

int region_open(const struct region *r)
{
    int fd = by_mapping(r);
    if (fd < 0 && r->path[0] == '/') fd = open_if_same(r->path, r);
    return fd < 0 ? among_descriptors(r) : fd;
}
