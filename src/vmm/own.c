/* Files of memory; see own.h. */
#include "vmm/own.h"
#include "base/backing.h"
#include "base/file.h"
#include "vmm/alias.h"
#include "vmm/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUCKETS = 4096 };

static const char MAGIC[16] = "Faultline memory";
struct label {
    char magic[sizeof MAGIC];
    uint64_t size;
    CUmemAllocationProp prop; /* but a device is named by its physical number */
    unsigned char secret[SECRET];
};

static struct vmm_own *by_inode[BUCKETS], *orphans;

static struct vmm_own **find(uint64_t device, uint64_t inode)
{
    struct vmm_own **at = &by_inode[inode % BUCKETS];
    while (*at && ((*at)->inode != inode || (*at)->device != device)) at = &(*at)->next;
    return at;
}

struct vmm_own *own_by_secret(const unsigned char *secret)
{
    for (unsigned k = 0; k < BUCKETS; k++)
        for (struct vmm_own *o = by_inode[k]; o; o = o->next)
            if (o->labelled && !o->imported && !o->orphan && !memcmp(o->secret, secret, SECRET)) return o;
    return NULL;
}

/* Takes the descriptor over, also when it fails. */
static CUresult adopt(struct vmm_memory *m, int fd, bool imported)
{
    struct stat s;
    struct vmm_own *o = calloc(1, sizeof *o);
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    char *alias = o && !fstat(fd, &s) ? alias_map(fd, m->size) : NULL;
    if (!alias) {
        free(o);
        close(fd);
        return r;
    }
    backing_adopt(&o->file, fd, m->size);
    o->file.alias = alias;
    o->device = s.st_dev;
    o->inode = s.st_ino;
    o->memory = m;
    o->imported = imported;
    o->next = by_inode[o->inode % BUCKETS];
    by_inode[o->inode % BUCKETS] = o;
    m->own = o;
    m->backing = &o->file;
    m->offset = 0;
    return CUDA_SUCCESS;
}

CUresult own_create(struct vmm_memory *m, bool needed)
{
    int fd = descriptor_memory("faultline-memory", needed);
    if (fd < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!file_resize(fd, m->size + LABEL_PAGE)) return adopt(m, fd, false);
    close(fd);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static void leave_orphans(struct vmm_own *o)
{
    if (!o->orphan) return;
    __atomic_store_n(o->orphan, o->next_orphan, __ATOMIC_RELAXED);
    if (o->next_orphan) o->next_orphan->orphan = o->orphan;
    o->orphan = NULL;
}

void own_destroy(struct vmm_own *o)
{
    leave_orphans(o);
    for (int k = 0; k < device_count; k++)
        if (access_processor(&devices[k])) processor_forget(access_processor(&devices[k]), &o->file);
    *find(o->device, o->inode) = o->next;
    alias_retire(o->file.alias, o->file.size);
    close(o->file.fd);
    free(o);
}

/* ---- export */

CUresult own_label(struct vmm_own *o)
{
    struct label l = { .size = o->file.size, .prop = o->memory->prop };
    if (o->labelled) return CUDA_SUCCESS;
    if (o->memory->device) l.prop.location.id = o->memory->device->physical;
    memcpy(l.magic, MAGIC, sizeof MAGIC);
    if (!file_fits(o->file.size + LABEL_PAGE) || getrandom(l.secret, SECRET, 0) != SECRET ||
        pwrite(o->file.fd, &l, sizeof l, (off_t)o->file.size) != sizeof l || !file_seal(o->file.fd))
        return CUDA_ERROR_OPERATING_SYSTEM;
    memcpy(o->secret, l.secret, SECRET);
    o->labelled = true;
    return CUDA_SUCCESS;
}

/* Another open file of the same memory, so that its users can be told from this process's own (own_exported). */
static int open_again(int fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int again = open(path, O_RDWR | O_CLOEXEC);
    return again < 0 && errno == ENOENT ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : again;
}

CUresult own_export(struct vmm_own *o, int *fd)
{
    CUresult r = own_label(o);
    if (r) return r;
    int again = open_again(o->file.fd);
    if (again < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    *fd = again;
    return CUDA_SUCCESS;
}

/* The system grants a write lease on a file only to its one opener. What memfd_create gave does not count as an
 * opener; its mappings and copies, in device processes too, do not either. */
static bool exported(const struct vmm_own *o)
{
    if (o->imported || !o->labelled) return false;
    int probe = open_again(o->file.fd);
    if (probe < 0) return errno == EMFILE || errno == ENFILE;
    /* should somebody open the file while the lease is held: a signal that nobody minds */
    fcntl(probe, F_SETSIG, SIGURG);
    bool refused = fcntl(probe, F_SETLEASE, F_WRLCK) && (errno == EAGAIN || errno == EBUSY);
    if (!refused) fcntl(probe, F_SETLEASE, F_UNLCK);
    close(probe);
    return refused;
}

bool own_keep(struct vmm_own *o)
{
    if (!exported(o)) return false;
    o->next_orphan = orphans;
    o->orphan = &orphans;
    if (orphans) orphans->orphan = &o->next_orphan;
    __atomic_store_n(&orphans, o, __ATOMIC_RELAXED);
    return true;
}

struct vmm_own *own_next_forgotten(void)
{
    struct vmm_own *o = orphans;
    while (o && exported(o)) o = o->next_orphan;
    return o;
}

bool own_orphans(void) { return __atomic_load_n(&orphans, __ATOMIC_RELAXED) != NULL; }

/* ---- import */

static bool read_label(int fd, struct stat *s, struct label *l)
{
    return file_sealed(fd) && !fstat(fd, s) && s->st_size > LABEL_PAGE && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR &&
           pread(fd, l, sizeof *l, s->st_size - LABEL_PAGE) == sizeof *l && !memcmp(l->magic, MAGIC, sizeof MAGIC) &&
           l->size == (uint64_t)s->st_size - LABEL_PAGE && !(l->size % VMM_GRANULARITY);
}

/* Memory of a device that the machine, as this process knows it, has not cannot be had. A hidden one's can. */
static CUresult place(CUmemLocation *l, struct device **d)
{
    *d = NULL;
    if (l->type == CU_MEM_LOCATION_TYPE_HOST_NUMA) return CUDA_SUCCESS;
    if (l->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_UNKNOWN;
    if (!(*d = device_physical(l->id))) return CUDA_ERROR_NOT_SUPPORTED;
    l->id = device_name(*d);
    return CUDA_SUCCESS;
}

/* It does not count against this process's capacity: whoever made it counts it. */
static CUresult import_new(int fd, struct label *l, struct vmm_memory **out)
{
    struct device *d;
    CUresult r = place(&l->prop.location, &d);
    if (r) return r;
    struct vmm_memory *m = calloc(1, sizeof *m);
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    *m = (struct vmm_memory){ .prop = l->prop, .size = l->size, .device = d, .references = 1 };
    /* what was imported cannot be exported (observed on H200) */
    m->prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    m->prop.win32HandleMetaData = NULL;
    int copy = descriptor_copy(fd);
    r = copy < 0 ? CUDA_ERROR_OUT_OF_MEMORY : adopt(m, copy, true);
    if (r)
        free(m);
    else
        *out = m;
    return r;
}

CUresult own_import(int fd, struct vmm_memory **out)
{
    struct stat s;
    struct label l;
    if (!read_label(fd, &s, &l)) return CUDA_ERROR_UNKNOWN;
    struct vmm_own *o = *find(s.st_dev, s.st_ino);
    if (!o) return import_new(fd, &l, out);
    leave_orphans(o);
    o->memory->references++;
    *out = o->memory;
    return CUDA_SUCCESS;
}
