/* Pools that other processes may import: their memory is a file of their own,
 * sparse, a chunk at the same place as its addresses in the device's memory.
 * Behind the chunks lies a table of the allocations that were exported. Whoever
 * has the descriptor is trusted with the pool's bytes, but nothing that is read
 * from the file is believed without a check, and the exporter never reads it. */
#include "base/backing.h"
#include "base/file.h"
#include "context/context.h"
#include "mempool/internal.h"
#include "vmm/descriptor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOTS = 32768 };
static const char MAGIC[8] = "FLpool1";

/* An exported allocation. generation is odd while it is live. */
struct slot {
    _Atomic uint32_t generation;
    uint32_t unused;
    uint64_t chunk, chunk_size, at, size;
};

struct table {
    char magic[8];
    uint64_t secret[2];
    int32_t location_type, location_id;
    uint8_t unused[4096 - 32];
    struct slot slot[SLOTS];
};

struct share {
    struct object_link link;
    struct backing file; /* its alias is as long as the file, and shows what chunks there are: chunks can grow and come
                            apart. Without addresses for that it has none */
    struct table *table;
    uint64_t table_at;
    uint32_t used; /* slots that ever were */
    bool taken[SLOTS];
};

/* What cuMemPoolExportPointer hands out. */
struct exported {
    char magic[8];
    uint64_t secret[2];
    uint32_t slot, generation;
};
_Static_assert(sizeof(struct exported) <= sizeof(CUmemPoolPtrExportData), "it fits");

/* Used again, but never given back: who has looked an allocation up may still ask where its backing's alias is. */
static void construct(void *object) { ((struct share *)object)->file.fd = -1; }
static struct objects shares = OBJECTS_INIT(struct share, construct);

static struct table *map_table(int fd, uint64_t at)
{
    void *t = mmap(NULL, sizeof(struct table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)at);
    if (t == MAP_FAILED) return NULL;
    madvise(t, sizeof(struct table), MADV_DONTFORK);
    return t;
}

static uint64_t table_size(void) { return page_up(sizeof(struct table)); }

/* Shows a piece of the file, at an address or where there is room (NULL). */
static char *show(const struct backing *f, void *at, uint64_t offset, uint64_t size)
{
    void *p =
        mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | (at ? MAP_FIXED : 0), f->fd, (off_t)offset);
    if (p == MAP_FAILED) return NULL;
    backing_hide(p, size);
    return p;
}

/* Takes the descriptor over, also when it fails. */
static CUresult open_share(struct mempool *p, int fd, uint64_t size)
{
    struct share *s = object_take(&shares);
    uint64_t at = size - table_size();
    struct table *t = s ? map_table(fd, at) : NULL;
    if (!t) {
        if (s) object_give(&shares, s);
        close(fd);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    backing_adopt(&s->file, fd, size);
    s->file.alias = backing_room(size);
    s->table = t;
    s->table_at = at;
    memset(s->taken, 0, s->used);
    s->used = 0;
    p->share = s;
    return CUDA_SUCCESS;
}

CUresult share_new(struct mempool *p)
{
    const struct backing *all; /* says how far chunks can lie apart */
    uint64_t secret[2];
    CUresult r = space_backing(p->device, &all);
    if (r) return r;
    uint64_t size = all->size + table_size();
    int fd = descriptor_memory("faultline-pool", true);
    if (fd < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    if (file_resize(fd, size) || !file_seal(fd) || getrandom(secret, sizeof secret, 0) != sizeof secret) {
        close(fd);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if ((r = open_share(p, fd, size))) return r;
    struct table *t = p->share->table;
    memcpy(t->secret, secret, sizeof secret);
    t->location_type = (int32_t)p->location.type;
    t->location_id = p->device ? p->device->physical : p->location.id;
    memcpy(t->magic, MAGIC, sizeof MAGIC);
    return r;
}

void share_free(struct mempool *p)
{
    pthread_mutex_lock(&p->lock); /* a second free of its last block may look */
    struct share *s = p->share;
    p->share = NULL;
    pthread_mutex_unlock(&p->lock);
    if (!s) return;
    munmap(s->table, sizeof(struct table));
    devices_forget(&s->file);
    if (s->file.alias) space_unmap_view(s->file.alias, s->file.size);
    s->file.alias = NULL;
    backing_destroy(&s->file);
    object_give(&shares, s);
}

CUresult share_chunk(struct mempool *p, struct chunk *c)
{
    const struct backing *f = &p->share->file;
    char *alias = show(f, f->alias ? f->alias + c->offset : NULL, c->offset, c->memory.size);
    if (!alias) return CUDA_ERROR_OUT_OF_MEMORY;
    if (f->alias) return CUDA_SUCCESS;
    c->view = *f;
    c->view.alias = alias - c->offset; /* only this chunk of the file is there */
    return CUDA_SUCCESS;
}

/* An alias of the whole file goes on showing the place. */
void share_unmap(struct chunk *c, uint64_t from, uint64_t size)
{
    if (c->view.id) space_unmap_view(c->view.alias + c->offset + from, size);
}

CUresult share_grow(struct chunk *c, uint64_t bytes)
{
    const struct backing *f = &c->pool->share->file;
    if (!f->alias) return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t at = c->offset + c->memory.size;
    return show(f, f->alias + at, at, bytes) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

struct backing *share_backing(const struct mempool *p)
{
    return p->share && p->share->file.alias ? &p->share->file : NULL;
}

/* ---- descriptors */

CUresult mempool_export(struct mempool *p, CUmemAllocationHandleType type, int *fd)
{
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !(p->handle_types & type) || p->imported)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&p->lock);
    const bool there = p->share; /* else it was destroyed meanwhile */
    int copy = there ? fcntl(p->share->file.fd, F_DUPFD_CLOEXEC, 0) : -1;
    pthread_mutex_unlock(&p->lock);
    if (copy < 0) return there ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_ERROR_INVALID_VALUE;
    atomic_store(&p->exported, true);
    *fd = copy;
    return CUDA_SUCCESS;
}

/* Whether the descriptor is a pool's file: it cannot shrink under us, and says so. */
static CUresult check_file(int fd, uint64_t *size)
{
    struct stat s;
    if (!file_sealed(fd) || fstat(fd, &s) || (uint64_t)s.st_size <= table_size()) return CUDA_ERROR_INVALID_VALUE;
    *size = (uint64_t)s.st_size;
    return CUDA_SUCCESS;
}

/* With the list's lock. */
static struct mempool *imported_before(const struct table *t)
{
    struct mempool *p = mempools;
    while (p && (!p->imported || !atomic_load(&p->valid) || memcmp(p->share->table->secret, t->secret, sizeof t->secret)))
        p = p->next;
    return p;
}

CUresult mempool_import(int handle, CUmemAllocationHandleType type, struct mempool **out)
{
    uint64_t size;
    CUresult r;
    if (type == CU_MEM_HANDLE_TYPE_WIN32) return CUDA_ERROR_NOT_SUPPORTED;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !handle) return CUDA_ERROR_INVALID_VALUE;
    if (check_file(handle, &size)) return CUDA_ERROR_UNKNOWN; /* observed on an H200 */
    int fd = descriptor_copy(handle);
    if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    struct mempool *p = mempool_new();
    if (!p) {
        close(fd);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if ((r = open_share(p, fd, size))) goto failed;
    const struct table *t = p->share->table;
    CUmemLocation l = { .type = (CUmemLocationType)t->location_type, .id = t->location_id };
    r = CUDA_ERROR_UNKNOWN;
    if (memcmp(t->magic, MAGIC, sizeof MAGIC)) goto failed;
    r = CUDA_ERROR_INVALID_VALUE;
    struct device *d = l.type == CU_MEM_LOCATION_TYPE_DEVICE ? device_physical(l.id) : NULL;
    if (l.type == CU_MEM_LOCATION_TYPE_DEVICE && !d) goto failed;
    p->imported = true;
    p->type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p->handle_types = type;
    p->limit = UINT64_MAX;
    p->location = l;
    if (d) {
        p->device = d;
        p->location.id = device_name(d);
        p->access[d->ordinal] = PROT_DEVICE_READ | PROT_DEVICE_WRITE;
    } else
        p->host_access = PROT_DEVICE_READ | PROT_DEVICE_WRITE;
    pthread_mutex_lock(&mempools_lock);
    struct mempool *known = imported_before(t);
    if (!known) mempool_enter(known = p);
    known->imports++;
    pthread_mutex_unlock(&mempools_lock);
    *out = known;
    if (known != p) mempool_discard(p);
    return CUDA_SUCCESS;
failed:
    mempool_discard(p);
    return r;
}

/* ---- pointers */

static uint32_t free_slot(struct share *s)
{
    for (uint32_t k = 1; k < s->used; k++)
        if (!s->taken[k]) return k;
    if (!s->used) s->used = 1; /* 0 means none */
    return s->used < SLOTS ? s->used++ : 0;
}

static CUresult export_block(struct mempool *p, struct block *b, CUmemPoolPtrExportData *out)
{
    struct share *s = p->share;
    if (!b->slot) {
        uint32_t k = free_slot(s);
        if (!k) return CUDA_ERROR_OUT_OF_MEMORY;
        struct slot *t = &s->table->slot[k];
        t->chunk = b->chunk->offset;
        t->chunk_size = b->chunk->memory.size;
        t->at = b->at;
        t->size = b->a.size;
        atomic_fetch_add_explicit(&t->generation, 1, memory_order_release);
        s->taken[k] = true;
        b->slot = k;
    }
    struct exported e = { .slot = b->slot, .generation = atomic_load(&s->table->slot[b->slot].generation) };
    memcpy(e.magic, MAGIC, sizeof MAGIC);
    memcpy(e.secret, s->table->secret, sizeof e.secret);
    memset(out, 0, sizeof *out);
    memcpy(out, &e, sizeof e);
    return CUDA_SUCCESS;
}

void share_forget(struct block *b)
{
    struct share *s = b->chunk->pool->share;
    atomic_fetch_add_explicit(&s->table->slot[b->slot].generation, 1, memory_order_release);
    s->taken[b->slot] = false;
    b->slot = 0;
}

CUresult mempool_export_pointer(CUdeviceptr address, CUmemPoolPtrExportData *out)
{
    struct allocation a;
    if (!space_look(address, &a) || !a.pool || a.base != address) return CUDA_ERROR_INVALID_VALUE;
    struct mempool *p = a.pool;
    struct block *b = a.detail;
    pthread_mutex_lock(&p->lock);
    bool fit = block_is(b, &a) && p->share && p->exported; /* nobody has what was never exported (observed on H200) */
    CUresult r = fit ? export_block(p, b, out) : CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_unlock(&p->lock);
    return r;
}

/* What the data names, checked: it lies in the file, and the exporter has not freed it. */
static CUresult read_slot(const struct share *s, const CUmemPoolPtrExportData *data, struct slot *out)
{
    struct exported e;
    memcpy(&e, data, sizeof e);
    if (memcmp(e.magic, MAGIC, sizeof MAGIC) || memcmp(e.secret, s->table->secret, sizeof e.secret))
        return CUDA_ERROR_INVALID_VALUE;
    if (!e.slot || e.slot >= SLOTS || !(e.generation & 1)) return CUDA_ERROR_INVALID_VALUE;
    struct slot *t = &s->table->slot[e.slot];
    if (atomic_load_explicit(&t->generation, memory_order_acquire) != e.generation) return CUDA_ERROR_INVALID_VALUE;
    out->chunk = t->chunk, out->chunk_size = t->chunk_size, out->at = t->at, out->size = t->size;
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&t->generation, memory_order_relaxed) != e.generation) return CUDA_ERROR_INVALID_VALUE;
    if (!out->chunk_size || out->chunk % VRAM_CHUNK || out->chunk_size % MEMPOOL_MAPPING || out->chunk_size > s->table_at ||
        out->chunk > s->table_at - out->chunk_size)
        return CUDA_ERROR_INVALID_VALUE;
    if (!out->size || out->at % BLOCK_UNIT || out->size > out->chunk_size || out->at > out->chunk_size - out->size)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult show_chunk(struct mempool *p, uint64_t offset, uint64_t size, struct chunk **out)
{
    for (struct chunk *c = p->chunks; c; c = c->next)
        if (c->offset == offset && c->memory.size == size) {
            *out = c;
            return CUDA_SUCCESS;
        }
    return chunk_new(p, size, offset, out);
}

/* A chunk as it was when the allocation was exported: what lies side by side there does so here (observed on H200). Where
 * there are no addresses for that, its mappings in which the allocation lies. */
static CUresult imported_chunk(struct mempool *p, const struct slot *t, struct chunk **out)
{
    const uint64_t from = round_down(t->at, MEMPOOL_MAPPING), to = round_up(t->at + t->size, MEMPOOL_MAPPING);
    CUresult r = show_chunk(p, t->chunk, t->chunk_size, out);
    return r == CUDA_ERROR_OUT_OF_MEMORY ? show_chunk(p, t->chunk + from, to - from, out) : r;
}

/* Of the host's memory nothing is imported that overlaps what was, also if the exporter has freed that since (observed on
 * H200). */
static bool is_there(const struct chunk *c, uint64_t at, uint64_t size, struct allocation *out)
{
    const uint64_t va = c->memory.va + at;
    return space_first(va, size, out) && (!c->pool->device || (out->base == va && out->size == size));
}

static CUresult import_block(struct mempool *p, const struct slot *t, CUdeviceptr *out)
{
    struct chunk *c;
    struct allocation there;
    CUresult r = imported_chunk(p, t, &c);
    if (r) return r;
    const uint64_t at = t->chunk + t->at - c->offset;
    if (is_there(c, at, t->size, &there)) {
        if (p->device) *out = there.base;
        return p->device ? CUDA_SUCCESS : CUDA_ERROR_ALREADY_MAPPED;
    }
    struct block *b = block_new(p);
    if (!b) return CUDA_ERROR_OUT_OF_MEMORY;
    b->chunk = c;
    b->at = at;
    b->size = round_up(t->size, BLOCK_UNIT);
    if ((r = block_lend(p, b, t->size))) { /* it overlaps another, which the exporter has freed since */
        block_spare(p, b);
        return r;
    }
    b->above = c->first;
    if (b->above) b->above->below = b;
    c->first = b;
    *out = b->a.base;
    return r;
}

CUresult mempool_import_pointer(struct mempool *p, const CUmemPoolPtrExportData *data, CUdeviceptr *out)
{
    struct slot t;
    if (!p->imported) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&p->lock);
    CUresult r = p->share ? read_slot(p->share, data, &t) : CUDA_ERROR_INVALID_VALUE; /* destroyed meanwhile */
    if (!r) r = import_block(p, &t, out);
    if (r && p->share) chunks_release(p, 0);
    pthread_mutex_unlock(&p->lock);
    return r;
}
