/* Pools: which there are, what can be asked of them and set, who may touch
 * their memory. Lending it is alloc.c's affair. */
#include "context/context.h"
#include "pool/internal.h"

#include <stdlib.h>
#include <string.h>

static void construct(void *object) { pthread_mutex_init(&((struct mempool *)object)->lock, NULL); }

static struct pool objects = POOL_INIT(struct mempool, construct);
pthread_mutex_t mempools_lock = PTHREAD_MUTEX_INITIALIZER;
struct mempool *mempools;

/* By location: the devices, memory without a location, the host, its node. */
enum { AT_NONE = MAX_DEVICES, AT_HOST, AT_NODE, PLACES };
enum { LOCATION_INVISIBLE = 5 }; /* of later headers */
struct standard {
    _Atomic(struct mempool *) first, current; /* read without a lock, too */
};
static struct standard standards[2][PLACES];

/* ---- life */

struct mempool *mempool_new(void)
{
    struct mempool *p = pool_get(&objects);
    if (!p) return NULL;
    struct block *spare = p->spare; /* what stays with the object: its lock and its blocks */
    memset((char *)p + offsetof(struct mempool, in_use), 0,
           offsetof(struct mempool, lock) - offsetof(struct mempool, in_use));
    memset(&p->follow, 0, sizeof *p - offsetof(struct mempool, follow));
    p->spare = spare;
    p->follow = p->opportunistic = p->internal = 1;
    return p;
}

/* With the list's lock. */
static void enter(struct mempool *p)
{
    p->in_use = true;
    p->next = mempools;
    mempools = p;
    atomic_store(&p->valid, true);
}

void mempool_discard(struct mempool *p)
{
    share_free(p);
    pool_put(&objects, p);
}

bool mempool_finished(const struct mempool *p) { return !atomic_load(&p->valid) && !p->lent; }

void mempool_finish(struct mempool *p)
{
    pthread_mutex_lock(&mempools_lock);
    pthread_mutex_lock(&p->lock);
    bool gone = p->in_use && mempool_finished(p) && (chunks_release(p, 0), !p->chunks);
    if (gone) {
        p->in_use = false;
        for (struct mempool **at = &mempools; *at; at = &(*at)->next)
            if (*at == p) {
                *at = p->next;
                break;
            }
    }
    pthread_mutex_unlock(&p->lock);
    pthread_mutex_unlock(&mempools_lock);
    if (gone) mempool_discard(p);
}

CUresult mempool_get(CUmemoryPool handle, struct mempool **out)
{
    struct mempool *p = (struct mempool *)handle;
    if (!pool_holds(&objects, p) || !atomic_load_explicit(&p->valid, memory_order_acquire))
        return CUDA_ERROR_INVALID_VALUE;
    *out = p;
    return CUDA_SUCCESS;
}

/* ---- making them */

static CUresult check_handles(const CUmemPoolProps *props)
{
    switch ((int)props->handleTypes) {
    case CU_MEM_HANDLE_TYPE_NONE: return CUDA_SUCCESS;
    case CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR:
    case CU_MEM_HANDLE_TYPE_FABRIC: /* of which none can be exported: there is no fabric */
    case CU_MEM_HANDLE_TYPE_FABRIC | CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR:
        return props->allocType == CU_MEM_ALLOCATION_TYPE_PINNED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Which of the standard pools a location means. Observed on H200: pinned memory needs a place, managed does not. */
static CUresult place_of(CUmemLocation l, CUmemAllocationType type, unsigned *place)
{
    bool managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;
    if (type != CU_MEM_ALLOCATION_TYPE_PINNED && !managed) return CUDA_ERROR_INVALID_VALUE;
    switch ((int)l.type) {
    case CU_MEM_LOCATION_TYPE_INVALID: *place = AT_NONE; return managed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_DEVICE:
        *place = (unsigned)l.id;
        return l.id < 0 || l.id >= device_count ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST: *place = AT_HOST; return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: *place = AT_NODE; return l.id ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        *place = AT_NODE;
        return managed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case LOCATION_INVISIBLE: return managed ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* The device itself may use its pool; the host's memory is for the host until somebody says otherwise. */
static void set_location(struct mempool *p, CUmemLocation l)
{
    if (l.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT) l = (CUmemLocation){ CU_MEM_LOCATION_TYPE_HOST_NUMA, 0 };
    p->location = l;
    if (p->type == CU_MEM_ALLOCATION_TYPE_PINNED && l.type == CU_MEM_LOCATION_TYPE_DEVICE) {
        p->device = &devices[l.id];
        p->access[l.id] = PROT_DEVICE_READ | PROT_DEVICE_WRITE;
    }
}

static CUresult make(const CUmemPoolProps *props, struct mempool **out)
{
    struct mempool *p = mempool_new();
    if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = CUDA_SUCCESS;
    p->type = props->allocType;
    p->handle_types = props->handleTypes;
    p->limit =
        props->maxSize && props->maxSize < UINT64_MAX - CHUNK_SIZE ? round_up(props->maxSize, CHUNK_SIZE) : UINT64_MAX;
    set_location(p, props->location);
    if (props->handleTypes) r = share_new(p);
    if (r)
        mempool_discard(p);
    else
        *out = p;
    return r;
}

CUresult mempool_create(const CUmemPoolProps *props, struct mempool **out)
{
    unsigned place;
    CUresult r = place_of(props->location, props->allocType, &place);
    if (r == CUDA_ERROR_INVALID_DEVICE) r = CUDA_ERROR_INVALID_VALUE;
    if (r || (r = check_handles(props))) return r;
    /* observed on H200: any usage is accepted, and managed pools have no largest size */
    if (props->maxSize && props->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; k < sizeof props->reserved; k++)
        if (props->reserved[k]) return CUDA_ERROR_INVALID_VALUE;
    if ((r = make(props, out))) return r;
    pthread_mutex_lock(&mempools_lock);
    enter(*out);
    pthread_mutex_unlock(&mempools_lock);
    return r;
}

void mempool_enter(struct mempool *p)
{
    pthread_mutex_lock(&mempools_lock);
    enter(p);
    pthread_mutex_unlock(&mempools_lock);
}

void mempool_describe(const struct mempool *p, CUmemPoolProps *props)
{
    *props = (CUmemPoolProps){ .allocType = p->type, .handleTypes = p->handle_types, .location = p->location };
}

CUresult mempool_destroy(struct mempool *p)
{
    bool valid = true;
    if (p->is_default) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&mempools_lock);
    if (!atomic_compare_exchange_strong(&p->valid, &valid, false)) {
        pthread_mutex_unlock(&mempools_lock);
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned t = 0; t < 2; t++)
        for (unsigned k = 0; k < PLACES; k++)
            if (standards[t][k].current == p) standards[t][k].current = standards[t][k].first;
    pthread_mutex_lock(&p->lock);
    p->threshold = 0; /* what is freed goes */
    pthread_mutex_unlock(&p->lock);
    mempool_note_free();
    pthread_mutex_unlock(&mempools_lock);
    mempool_finish(p);
    return CUDA_SUCCESS;
}

/* ---- the pools of locations */

/* With the list's lock. */
static CUresult standard(CUmemLocation l, CUmemAllocationType type, struct standard **out)
{
    unsigned place;
    CUresult r = place_of(l, type, &place);
    if (l.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT) return CUDA_ERROR_NOT_SUPPORTED;
    if (r) return r;
    struct standard *s = &standards[type == CU_MEM_ALLOCATION_TYPE_MANAGED][place];
    if (!s->first) {
        struct mempool *p;
        CUmemPoolProps props = { .allocType = type, .location = l };
        if ((r = make(&props, &p))) return r;
        p->is_default = true;
        enter(p);
        s->first = p;
    }
    if (!s->current) s->current = s->first;
    *out = s;
    return r;
}

/* What exists is found without the lock, which others may hold while devices unmap. */
static struct mempool *known(CUmemLocation l, CUmemAllocationType type, bool current)
{
    unsigned place;
    if (l.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT || place_of(l, type, &place)) return NULL;
    struct standard *s = &standards[type == CU_MEM_ALLOCATION_TYPE_MANAGED][place];
    return current ? s->current : s->first;
}

static CUresult find(CUmemLocation l, CUmemAllocationType type, bool current, struct mempool **out)
{
    struct standard *s;
    if ((*out = known(l, type, current))) return CUDA_SUCCESS;
    pthread_mutex_lock(&mempools_lock);
    CUresult r = standard(l, type, &s);
    if (!r) *out = current ? s->current : s->first;
    pthread_mutex_unlock(&mempools_lock);
    return r;
}

CUresult mempool_default(CUmemLocation l, CUmemAllocationType type, struct mempool **out)
{
    return find(l, type, false, out);
}

CUresult mempool_current(CUmemLocation l, CUmemAllocationType type, struct mempool **out)
{
    return find(l, type, true, out);
}

static CUresult set_current(CUmemLocation l, CUmemAllocationType type, struct mempool *p, bool any_type)
{
    struct standard *s;
    unsigned mine = PLACES, asked = PLACES;
    pthread_mutex_lock(&mempools_lock);
    CUresult r = standard(l, type, &s);
    if (!r && ((p->type != type && !any_type) || p->imported || !atomic_load(&p->valid) ||
               place_of(p->location, p->type, &mine) || place_of(l, type, &asked) || mine != asked))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) s->current = p;
    pthread_mutex_unlock(&mempools_lock);
    return r;
}

CUresult mempool_set_current(CUmemLocation l, CUmemAllocationType type, struct mempool *p)
{
    return set_current(l, type, p, false);
}

CUresult mempool_set_device(int ordinal, struct mempool *p)
{
    const CUmemLocation l = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal };
    return set_current(l, CU_MEM_ALLOCATION_TYPE_PINNED, p, true);
}

/* ---- attributes */

CUresult mempool_get_attribute(struct mempool *p, CUmemPool_attribute attribute, void *value)
{
    CUresult r = CUDA_SUCCESS;
    /* observed on H200: what others reserved and use is not told */
    if (p->imported && attribute >= CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&p->lock);
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: *(int *)value = p->follow; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: *(int *)value = p->opportunistic; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: *(int *)value = p->internal; break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: *(cuuint64_t *)value = p->threshold; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: *(cuuint64_t *)value = p->reserved; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: *(cuuint64_t *)value = p->reserved_high; break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *(cuuint64_t *)value = p->used; break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *(cuuint64_t *)value = p->used_high; break;
    default: r = CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_unlock(&p->lock);
    return r;
}

/* Only zero, which means the value of now. */
static CUresult reset(uint64_t *high, uint64_t now, const void *value)
{
    if (*(const cuuint64_t *)value) return CUDA_ERROR_INVALID_VALUE;
    *high = now;
    return CUDA_SUCCESS;
}

CUresult mempool_set_attribute(struct mempool *p, CUmemPool_attribute attribute, const void *value)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&p->lock);
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: p->follow = *(const int *)value != 0; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: p->opportunistic = *(const int *)value != 0; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: p->internal = *(const int *)value != 0; break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        p->threshold = *(const cuuint64_t *)value;
        mempool_note_free();
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: r = reset(&p->reserved_high, p->reserved, value); break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: r = reset(&p->used_high, p->used, value); break;
    default: r = CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_unlock(&p->lock);
    return r;
}

CUresult mempool_trim(struct mempool *p, uint64_t keep)
{
    pthread_mutex_lock(&p->lock);
    blocks_settle(p, false, NULL, NULL);
    chunks_release(p, keep);
    pthread_mutex_unlock(&p->lock);
    return CUDA_SUCCESS;
}

/* ---- access */

CUresult mempool_get_access(struct mempool *p, CUmemLocation l, CUmemAccess_flags *flags)
{
    bool all = p->type == CU_MEM_ALLOCATION_TYPE_MANAGED;
    unsigned access = PROT_DEVICE_NONE;
    switch ((int)l.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        if (l.id < 0 || l.id >= device_count) return CUDA_ERROR_INVALID_DEVICE;
        access = p->access[l.id];
        break;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: all |= !p->device; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = all || access == (PROT_DEVICE_READ | PROT_DEVICE_WRITE) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
             : access                                                ? CU_MEM_ACCESS_FLAGS_PROT_READ
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

/* Observed on H200: reading alone cannot be asked for. The host never uses a device's memory, and always its own. */
static CUresult check_access(const struct mempool *p, const CUmemAccessDesc *m)
{
    unsigned prot;
    bool device = m->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    bool host = m->location.type == CU_MEM_LOCATION_TYPE_HOST || m->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
    if (m->flags == CU_MEM_ACCESS_FLAGS_PROT_READ || (p->device && !device)) return CUDA_ERROR_NOT_SUPPORTED;
    CUresult r = prot_of(m->flags, &prot);
    if (r || (!host && !device)) return CUDA_ERROR_INVALID_VALUE;
    if (host) return prot ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    if (m->location.id < 0 || m->location.id >= device_count) return CUDA_ERROR_INVALID_DEVICE;
    /* observed on H200: a device keeps the access to its own */
    if (p->device == &devices[m->location.id] && m->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return CUDA_ERROR_INVALID_DEVICE;
    return CUDA_SUCCESS;
}

/* With the pool's lock. */
static CUresult change_access(struct mempool *p, struct device *d, unsigned prot)
{
    unsigned before = p->access[d->ordinal];
    CUresult r = CUDA_SUCCESS;
    if (before == prot) return r;
    if (before)
        for (struct chunk *c = p->chunks; c; c = c->next) chunk_unmap(c, d);
    p->access[d->ordinal] = (unsigned char)prot;
    struct chunk *failed = p->chunks;
    for (; failed && !r; failed = failed->next)
        if ((r = chunk_map(failed, d))) break;
    if (!r) return r;
    for (struct chunk *c = p->chunks; c != failed; c = c->next) chunk_unmap(c, d);
    p->access[d->ordinal] = (unsigned char)before;
    for (struct chunk *c = p->chunks; c; c = c->next) chunk_map(c, d);
    return r;
}

CUresult mempool_set_access(struct mempool *p, const CUmemAccessDesc *map, size_t count)
{
    CUresult r = CUDA_SUCCESS;
    unsigned prot;
    for (size_t k = 0; k < count; k++)
        if ((r = check_access(p, &map[k]))) return r;
    if (p->type == CU_MEM_ALLOCATION_TYPE_MANAGED) return r; /* all may, anyway */
    pthread_mutex_lock(&p->lock);
    for (size_t k = 0; k < count && !r; k++)
        if (map[k].location.type == CU_MEM_LOCATION_TYPE_DEVICE && !(r = prot_of(map[k].flags, &prot)))
            r = change_access(p, &devices[map[k].location.id], prot);
    pthread_mutex_unlock(&p->lock);
    return r;
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
    return r;
}

/* Pools belong to devices, not to contexts: what they lent outlives the last (observed on H200, for a
 * reset). What they hold without a need goes. */
static void release_context(struct context *c)
{
    if (c->device->contexts > 1) return;
    pthread_mutex_lock(&mempools_lock);
    for (struct mempool *p = mempools, *next; p; p = next) {
        next = p->next;
        if (p->device != c->device) continue;
        pthread_mutex_lock(&p->lock);
        blocks_settle(p, true, NULL, NULL);
        chunks_release(p, 0);
        pthread_mutex_unlock(&p->lock);
    }
    pthread_mutex_unlock(&mempools_lock);
}

static unsigned access_of(const struct allocation *a, const struct device *d)
{
    const struct mempool *p = a->detail;
    return p->type == CU_MEM_ALLOCATION_TYPE_MANAGED ? PROT_DEVICE_READ | PROT_DEVICE_WRITE : p->access[d->ordinal];
}

const struct space_owner mempool_owner = { .attach = attach, .release_context = release_context, .access = access_of };

void mempool_init(void) { space_add_owner(&mempool_owner); }
