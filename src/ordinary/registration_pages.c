/* What lies behind registered pages: private ones are replaced by pages of one
 * sparse memfd, and back; of shared mappings it is their files. */
#include "base/backing.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "context/context.h"
#include "ordinary/joiners.h"
#include "ordinary/origins.h"
#include "ordinary/replace.h"
#include "processor/mmu.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static const uint64_t ADDRESSES = 1ull << 47 /* all there are */, HUGETLBFS = 0x958458f6;
enum { GROW = 4096, LARGE = 2 << 20 };

struct file {
    struct backing backing; /* without an alias */
    dev_t device;
    ino_t inode;
    bool writable;
    unsigned users;
    struct file *next;
};

static struct file *files;
static struct file pages = { .backing.fd = -1 }; /* replaced pages: offset = address */
static _Atomic int descriptor = -1;              /* theirs, for those who hold no lock; last of all it is set */

/* ---- files */

CUresult registrations_open(void)
{
    struct stat s;
    if (pages.backing.fd >= 0) return CUDA_SUCCESS;
    int fd = memfd_create("faultline-registered", MFD_CLOEXEC);
    if (fd < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    if (file_resize(fd, ADDRESSES) || fstat(fd, &s)) {
        close(fd);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    backing_adopt(&pages.backing, fd, ADDRESSES);
    pages.inode = s.st_ino;
    atomic_store(&descriptor, fd);
    return CUDA_SUCCESS;
}

static bool is_of_pages(const struct region *r)
{
    return r->inode && r->inode == pages.inode && !strncmp(r->path, "/memfd:faultline-registered", 27);
}

bool registration_shows(const struct region *r)
{
    return r->shared && is_of_pages(r) && !mmu_ordinary_scratch(r->start) && !registration_is_view(r->start);
}

bool registration_apart(const struct region *r) { return !r->shared && is_of_pages(r); }

bool registration_shows_of(const struct region *r, uint64_t start, uint64_t end)
{
    return registration_shows(r) && r->offset < end && r->offset + (r->end - r->start) > start;
}

bool registration_in_place(const struct region *r) { return registration_shows(r) && r->offset == r->start; }

bool registration_shows_file(const struct region *r, const struct piece *p)
{
    return r->shared && r->device == p->file->device && r->inode == p->file->inode &&
           r->offset - r->start == p->offset - p->va;
}

/* Of what a private mapping shows nothing is written. */
static struct region as_opened(const struct region *r)
{
    struct region as = *r;
    if (!r->shared) as.prot &= ~PROT_WRITE;
    return as;
}

CUresult registration_use_file(const struct region *r, struct file **out)
{
    struct file *f;
    struct statfs fs;
    struct region as = as_opened(r);
    bool writable = as.prot & PROT_WRITE;
    for (f = files; f; f = f->next)
        if (f->device == r->device && f->inode == r->inode && f->writable >= writable) {
            f->users++;
            *out = f;
            return CUDA_SUCCESS;
        }
    int fd = region_open(&as);
    if (fd < 0 || fstatfs(fd, &fs) || (uint64_t)fs.f_type == HUGETLBFS) {
        if (r->shared)
            fl_log(FL_LOG_WARN, "cuMemHostRegister: the shared mapping of %s at 0x%llx cannot be given to devices",
                   *r->path ? r->path : "anonymous memory", (unsigned long long)r->start);
        if (fd >= 0) close(fd);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (!(f = calloc(1, sizeof *f))) {
        close(fd);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    backing_adopt(&f->backing, fd, ADDRESSES);
    f->device = r->device;
    f->inode = r->inode;
    f->writable = writable;
    f->users = 1;
    f->next = files;
    files = f;
    *out = f;
    return CUDA_SUCCESS;
}

void registration_keep_file(struct file *f)
{
    if (f) f->users++;
}

void registration_drop_file(struct file *f)
{
    if (!f || --f->users) return;
    for (struct file **at = &files; *at; at = &(*at)->next)
        if (*at == f) {
            *at = f->next;
            break;
        }
    devices_forget(&f->backing);
    backing_destroy(&f->backing);
    free(f);
}

/* ---- private pages */

/* If the stack began with p, it could not grow any more; so it grows now. */
static void keep_stack_growing(const struct piece *p)
{
    if (p->main_stack && p->va > GROW) *(volatile char *)(p->va - GROW);
}

static CUresult share(struct piece *p, bool thinly)
{
    /* with the flags of what maps it anew (processor/ordinary.c), so that both are one mapping */
    void *with = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_SHARED, pages.backing.fd, (off_t)p->va);
    if (with == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    struct origin o = { p->va, p->va + p->size, p->origin, p->origin ? p->origin->backing.fd : -1, p->offset };
    if (p->origin && origins_add(o)) {
        munmap(with, p->size);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    keep_stack_growing(p);
    CUresult r = pages_replace(p->va, p->size, with, p->prot, p->prot,
                               (struct page_file){ .fd = pages.backing.fd, .offset = p->va, .new = true, .thin = thinly });
    p->here = !r;
    return r;
}

CUresult registration_share(struct piece *p) { return share(p, false); }

static bool all_there(uint64_t va)
{
    unsigned char there[LARGE / PAGE_BYTES];
    if (mincore((void *)va, LARGE, there)) return false;
    for (size_t k = 0; k < sizeof there; k++)
        if (!(there[k] & 1)) return false;
    return true;
}

/* One large page for [va, va+LARGE), in which entries are found sooner. Made where it can be mapped as such, which the
 * program's mapping is not to be: then it would lose all of its entries with one. */
static void enlarge(uint64_t va)
{
    char *room = mmap(NULL, 2 * LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return;
    char *at = room + -(uintptr_t)room % LARGE;
    if (mmap(at, LARGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, pages.backing.fd, (off_t)va) == at)
        backing_enlarge_pages(at, LARGE);
    munmap(room, 2 * LARGE);
}

/* Nobody shows these pages, but they may have bytes of former times. */
CUresult registration_share_thinly(struct piece *p)
{
    uint64_t end = p->va + p->size;
    backing_discard(&pages.backing, p->va, p->size);
    for (uint64_t at = p->va + -p->va % LARGE; at + LARGE <= end; at += LARGE)
        if (all_there(at)) enlarge(at);
    return share(p, true);
}

/* Whether the application has moved any of these pages away, or that is not to be known. */
static bool shown(uint64_t va, uint64_t end)
{
    struct region *list;
    size_t count;
    bool found = false;
    if (regions_of(0, UINT64_MAX, &list, &count)) return true;
    for (size_t k = 0; k < count && !found; k++) found = registration_shows_of(&list[k], va, end);
    free(list);
    return found;
}

/* Private pages with the same bytes for [va, va+size), which shows r's: of their file, if it is known, or of none. */
static CUresult make_private(const struct region *r, uint64_t size, const struct origin *o)
{
    int fd = o->file ? o->fd : -1, anonymous = o->file ? 0 : MAP_ANONYMOUS;
    void *with = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | anonymous, fd,
                      o->file ? (off_t)o->offset : 0);
    if (with == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    return pages_replace(r->start, size, with, r->prot, r->prot,
                         (struct page_file){ .fd = pages.backing.fd, .offset = r->offset });
}

static CUresult become_private(const struct region *r)
{
    struct region rest = *r;
    CUresult e = CUDA_SUCCESS;
    for (uint64_t size; rest.start < r->end && !e; rest.start += size, rest.offset += size) {
        struct origin o, none = { .fd = -1 };
        origins_at(rest.offset, rest.offset + (r->end - rest.start), &o);
        size = o.end - o.va;
        e = make_private(&rest, size, &o);
        /* the file has become shorter, perhaps */
        if (e == CUDA_ERROR_OUT_OF_MEMORY && o.file) e = make_private(&rest, size, &none);
    }
    return e;
}

void registration_unshare(uint64_t va, uint64_t end)
{
    struct region *list;
    size_t count;
    bool kept = false;
    if (regions_of(va, end, &list, &count)) return;
    for (size_t k = 0; k < count; k++) {
        if (!registration_in_place(&list[k])) continue;
        CUresult r = become_private(&list[k]);
        if (r && r != CUDA_ERROR_NOT_READY) {
            fl_log(FL_LOG_ERROR,
                   "no memory to make 0x%llx, %llu bytes, private again: it stays shared with devices' processes",
                   (unsigned long long)list[k].start, (unsigned long long)(list[k].end - list[k].start));
            kept = true;
        }
    }
    free(list);
    if (kept || shown(va, end)) return;
    origins_forget(va, end);
    backing_discard(&pages.backing, va, end - va);
}

/* ---- forks */

bool registration_set_apart(const struct region *r)
{
    const uint64_t size = r->end - r->start;
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    bool done = maps >= 0 && regions_are(maps, r) &&
                mmap((void *)r->start, size, r->prot, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, pages.backing.fd,
                     (off_t)r->offset) != MAP_FAILED;
    if (maps >= 0) close(maps);
    if (done) joiners_look_again(r->start, size);
    return done;
}

CUresult registration_copy_apart(const struct region *r, char *was)
{
    const uint64_t size = r->end - r->start;
    void *with = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, pages.backing.fd, (off_t)r->offset);
    if (with == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    return pages_replace(r->start, size, with, r->prot, r->prot,
                         (struct page_file){ .fd = pages.backing.fd, .offset = r->offset, .was = was });
}

static CUresult rejoin(const struct region *r, char *was)
{
    const uint64_t size = r->end - r->start;
    void *with = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, pages.backing.fd, (off_t)r->offset);
    if (with == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    return pages_replace(
        r->start, size, with, r->prot, r->prot,
        (struct page_file){ .fd = pages.backing.fd, .offset = r->offset, .new = true, .same = true, .was = was });
}

CUresult registration_rejoin(const struct region *r, char *was)
{
    struct region *list;
    size_t count;
    CUresult result = regions_of(r->start, r->end, &list, &count);
    if (result) return result;
    for (size_t k = 0; k < count; k++) {
        if (!registration_apart(&list[k])) continue;
        CUresult e = rejoin(&list[k], was ? was + (list[k].start - r->start) : NULL);
        if (e) result = e;
    }
    free(list);
    return result;
}

bool registration_rescue(const struct region *r) { return !become_private(r); }

struct backing *registration_backing(const struct piece *p) { return p->file ? &p->file->backing : &pages.backing; }
int registrations_descriptor(void) { return atomic_load(&descriptor); }
const struct backing *registrations_backing(void) { return &pages.backing; }
