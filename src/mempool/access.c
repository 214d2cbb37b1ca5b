/* Who may touch the memory of pools, in new device processes and when a context
 * ends, too. */
#include "context/context.h"
#include "mempool/internal.h"

#include <string.h>

/* ---- access */

CUresult mempool_get_access(struct mempool *p, CUmemLocation l, CUmemAccess_flags *flags)
{
    const unsigned both = PROT_DEVICE_READ | PROT_DEVICE_WRITE;
    unsigned access = PROT_DEVICE_NONE;
    switch ((int)l.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        if (l.id < 0 || l.id >= device_count) return CUDA_ERROR_INVALID_VALUE;
        pthread_mutex_lock(&p->lock);
        access = p->access[l.id];
        pthread_mutex_unlock(&p->lock);
        break;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: access = p->host_access; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = access == both ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
             : access       ? CU_MEM_ACCESS_FLAGS_PROT_READ
                            : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}

static CUresult prot_of(CUmemAccess_flags flags, unsigned *prot)
{
    switch ((int)flags) {
    case CU_MEM_ACCESS_FLAGS_PROT_NONE: *prot = PROT_DEVICE_NONE; return CUDA_SUCCESS;
    case CU_MEM_ACCESS_FLAGS_PROT_READ: *prot = PROT_DEVICE_READ; return CUDA_SUCCESS;
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE: *prot = PROT_DEVICE_READ | PROT_DEVICE_WRITE; return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static bool is_host(const CUmemAccessDesc *m)
{
    return m->location.type == CU_MEM_LOCATION_TYPE_HOST || m->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
}

/* Reading alone cannot be asked for, and the host never uses a device's memory. */
static CUresult check_kind(const struct mempool *p, const CUmemAccessDesc *m)
{
    const bool device = m->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (m->flags == CU_MEM_ACCESS_FLAGS_PROT_READ || (p->device && !device)) return CUDA_ERROR_NOT_SUPPORTED;
    return device && (m->location.id < 0 || m->location.id >= device_count) ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

static CUresult check_value(const CUmemAccessDesc *m)
{
    unsigned prot;
    return is_host(m) || m->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? prot_of(m->flags, &prot)
                                                                         : CUDA_ERROR_INVALID_VALUE;
}

/* A device keeps the access to its own, as the host does but for managed memory. */
static CUresult check_owner(const struct mempool *p, const CUmemAccessDesc *m)
{
    if (m->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) return CUDA_SUCCESS;
    if (is_host(m)) return p->type == CU_MEM_ALLOCATION_TYPE_MANAGED ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    return p->device && p->device->ordinal == m->location.id ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

/* Each is looked for in all of the map before the next (observed on H200). */
static CUresult check_access(const struct mempool *p, const CUmemAccessDesc *map, size_t count)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t k = 0; k < count && !r; k++) r = check_kind(p, &map[k]);
    for (size_t k = 0; k < count && !r; k++) r = check_value(&map[k]);
    for (size_t k = 0; k < count && !r; k++) r = check_owner(p, &map[k]);
    return r;
}

/* With the pool's lock. All of the pool's memory, or none. */
static CUresult grant(struct mempool *p, struct device *d, unsigned prot)
{
    CUresult r = CUDA_SUCCESS;
    struct chunk *c;
    p->access[d->ordinal] = (unsigned char)prot;
    for (c = p->chunks; c && !(r = chunk_map(c, d)); c = c->next)
        ;
    if (!r) return r;
    for (struct chunk *mapped = p->chunks; mapped != c; mapped = mapped->next) chunk_unmap(mapped, d);
    p->access[d->ordinal] = PROT_DEVICE_NONE;
    return r;
}

static void withdraw(struct mempool *p, struct device *d)
{
    for (struct chunk *c = p->chunks; c; c = c->next) chunk_unmap(c, d);
    p->access[d->ordinal] = PROT_DEVICE_NONE;
    chunks_changed();
}

/* With the pool's lock. What may fail comes first. */
static CUresult change_access(struct mempool *p, const unsigned char want[MAX_DEVICES])
{
    CUresult r = CUDA_SUCCESS;
    uint32_t granted = 0;
    for (int d = 0; d < device_count && !r; d++)
        if (want[d] && !p->access[d] && !(r = grant(p, &devices[d], want[d]))) granted |= 1u << d;
    for (int d = 0; d < device_count; d++)
        if (r ? granted >> d & 1 : !want[d] && p->access[d]) withdraw(p, &devices[d]);
    return r;
}

CUresult mempool_set_access(struct mempool *p, const CUmemAccessDesc *map, size_t count)
{
    unsigned char want[MAX_DEVICES];
    unsigned prot;
    CUresult r = check_access(p, map, count);
    if (r) return r;
    pthread_mutex_lock(&p->lock);
    memcpy(want, p->access, sizeof want);
    for (size_t k = 0; k < count; k++)
        if (map[k].location.type == CU_MEM_LOCATION_TYPE_DEVICE && !prot_of(map[k].flags, &prot))
            want[map[k].location.id] = (unsigned char)prot;
    for (size_t k = 0; k < count; k++)
        if (map[k].location.type != CU_MEM_LOCATION_TYPE_DEVICE && !prot_of(map[k].flags, &prot))
            p->host_access = (unsigned char)prot;
    if (p->type == CU_MEM_ALLOCATION_TYPE_MANAGED)
        memcpy(p->access, want, sizeof want); /* which is told, but all may use managed memory (observed on H200) */
    else
        r = change_access(p, want);
    pthread_mutex_unlock(&p->lock);
    return r;
}

/* ---- what is there now */

/* As span_find, of src/api, where the memory is lent: a device's own, and that of others which was opened to it. */
static bool reaches(const struct mempool *p, const struct device *d, bool write)
{
    return !p->device || p->device == d || p->access[d->ordinal] & (write ? PROT_DEVICE_WRITE : PROT_DEVICE_READ);
}

static char *bytes_of(const struct mempool *p, uint64_t address, uint64_t size)
{
    for (struct chunk *c = p->chunks; c; c = c->next)
        if (address - c->memory.va < c->memory.size && size <= c->memory.size - (address - c->memory.va))
            return chunk_backing(c)->alias + c->offset + (address - c->memory.va);
    return NULL;
}

char *mempool_bytes(uint64_t address, uint64_t size, const struct device *d, bool write)
{
    char *bytes = NULL;
    pthread_mutex_lock(&mempools_lock);
    for (struct mempool *p = mempools; p && !bytes; p = p->next) {
        pthread_mutex_lock(&p->lock);
        if (p->type != CU_MEM_ALLOCATION_TYPE_MANAGED && reaches(p, d, write)) bytes = bytes_of(p, address, size);
        pthread_mutex_unlock(&p->lock);
    }
    pthread_mutex_unlock(&mempools_lock);
    return bytes ? bytes : mempool_kept_bytes(address, size, d);
}

/* ---- what src/space asks */

static CUresult attach(struct device *d)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&mempools_lock);
    for (struct mempool *p = mempools; p && !r; p = p->next) {
        pthread_mutex_lock(&p->lock);
        for (struct chunk *c = p->chunks; c && !r; c = c->next)
            if (!c->managed) r = chunk_map(c, d);
        pthread_mutex_unlock(&p->lock);
    }
    pthread_mutex_unlock(&mempools_lock);
    return r ? r : mempool_attach_kept(d);
}

/* Pools belong to devices, not to contexts: what they lent outlives the last (observed on H200, for a
 * reset). What they hold without a need goes. */
static void release_context(struct context *c)
{
    if (c->device->contexts > 1) return;
    mempool_trim_kept(c->device);
    pthread_mutex_lock(&mempools_lock);
    for (struct mempool *p = mempools, *next; p; p = next) {
        next = p->next;
        if (p->device != c->device) continue;
        pthread_mutex_lock(&p->lock);
        blocks_settle(p, &(struct waited){ 0 });
        chunks_release(p, 0);
        pthread_mutex_unlock(&p->lock);
    }
    pthread_mutex_unlock(&mempools_lock);
}

static unsigned access_of(const struct allocation *a, const struct device *d)
{
    const struct mempool *p = a->pool;
    const struct block *b = a->detail;
    if (p->graphs && d != p->device)
        return b->others >> d->ordinal & 1 ? PROT_DEVICE_READ | PROT_DEVICE_WRITE : PROT_DEVICE_NONE;
    return p->type == CU_MEM_ALLOCATION_TYPE_MANAGED ? PROT_DEVICE_READ | PROT_DEVICE_WRITE : p->access[d->ordinal];
}

const struct space_owner mempool_owner = { .attach = attach, .release_context = release_context, .access = access_of };

void mempool_init(void) { space_add_owner(&mempool_owner); }
