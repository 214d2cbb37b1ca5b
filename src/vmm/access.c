/* Access: what each processor may do with a mapping, put into its page table.
 * A device's is in its process, which gets commands; the host's is this
 * process's own. What a processor may not touch is not mapped there at all. */
#include "vmm/internal.h"
#include "base/because.h"

#include <errno.h>
#include <sys/mman.h>

static bool attached[MAX_DEVICES]; /* the device's process sees mappings */

/* One that died is not told any more: calls go on to succeed (observed on H200), for the next process. */
struct processor *access_processor(const struct device *d)
{
    return attached[d->ordinal] && !processor_status(d->processor) ? d->processor : NULL;
}

/* ---- page tables */

/* A plain memory comes and goes in one piece. */
static bool is_whole(const struct vmm_mapping *m) { return !m->handle->memory->kind; }

static CUresult map_device(const struct vmm_mapping *m, struct processor *p, uint64_t va, uint64_t size,
                           const struct backing *b, uint64_t offset, unsigned access)
{
    return is_whole(m) ? processor_map_whole(p, va, size, b, offset, access)
                       : processor_map(p, va, size, b, offset, access);
}

static int host_protection(unsigned access) { return (access & 1 ? PROT_READ : 0) | (access & 2 ? PROT_WRITE : 0); }

/* NOREPLACE: what the application put at these addresses itself is not ours to overwrite. */
static CUresult map_host(uint64_t va, uint64_t size, const struct backing *b, uint64_t offset, unsigned access)
{
    void *here = mmap((void *)va, size, host_protection(access), MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE,
                      b->fd, (off_t)offset);
    if (here == (void *)va) {
        madvise(here, size, MADV_DONTFORK);
        return CUDA_SUCCESS;
    }
    if (here != MAP_FAILED) munmap(here, size);
    return errno == ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_OPERATING_SYSTEM;
}

static CUresult map_all(const struct vmm_mapping *m, const struct device *d, struct processor *p, unsigned access)
{
    CUresult r = CUDA_SUCCESS;
    for (uint64_t at = 0; at < m->a.size && !r;) {
        const struct backing *b;
        uint64_t offset, length;
        bool there = memory_view(m->handle->memory, d, at, &b, &offset, &length);
        if (there)
            r = d ? map_device(m, p, m->a.base + at, length, b, offset, access)
                  : map_host(m->a.base + at, length, b, offset, access);
        at += length;
    }
    return r;
}

static CUresult unmap_all(const struct vmm_mapping *m, struct processor *p)
{
    if (p && is_whole(m)) return processor_unmap_whole(p, m->a.base, m->a.size);
    if (p) return processor_unmap(p, m->a.base, m->a.size);
    return munmap((void *)m->a.base, m->a.size) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult change_host(const struct vmm_mapping *m, unsigned from, unsigned to)
{
    if (!to) return unmap_all(m, NULL);
    if (!from) return map_all(m, NULL, NULL, to);
    return mprotect((void *)m->a.base, m->a.size, host_protection(to)) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult change_device(const struct vmm_mapping *m, const struct device *d, struct processor *p, unsigned from,
                              unsigned to)
{
    const struct vmm_memory *memory = m->handle->memory;
    if (memory->kind && memory->kind->show) return memory->kind->show(memory, p, m->a.base, to);
    if (!to) return unmap_all(m, p);
    if (!from) {
        CUresult r = map_all(m, d, p, to);
        if (r) unmap_all(m, p);
        return r;
    }
    return is_whole(m) ? processor_protect_whole(p, m->a.base, m->a.size, to)
                       : processor_protect(p, m->a.base, m->a.size, to);
}

CUresult access_apply(const struct vmm_mapping *m, const struct device *d, unsigned from, unsigned to)
{
    if (from == to) return CUDA_SUCCESS;
    if (!d) return change_host(m, from, to);
    struct processor *p = access_processor(d);
    CUresult r = p ? change_device(m, d, p, from, to) : CUDA_SUCCESS; /* a process that comes later is told by attach */
    return p && processor_status(p) ? CUDA_SUCCESS : r;
}

void access_drop(struct vmm_mapping *m)
{
    for (int k = 0; k < device_count; k++) {
        access_apply(m, &devices[k], m->access[k], CU_MEM_ACCESS_FLAGS_PROT_NONE);
        if (m->access[k]) room_split(k);
        m->access[k] = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    }
    access_apply(m, NULL, m->host, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    m->host = CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

/* ---- changing it */

static bool is_host(const CUmemLocation *l)
{
    return l->type == CU_MEM_LOCATION_TYPE_HOST || l->type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
}

static CUresult check_description(const CUmemAccessDesc *d)
{
    if (d->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && d->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        d->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return CUDA_ERROR_INVALID_VALUE;
    if (is_host(&d->location)) return CUDA_SUCCESS; /* any node: it is one host (observed on H200) */
    if (d->location.type != CU_MEM_LOCATION_TYPE_DEVICE || d->location.id < 0 || d->location.id >= device_count)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* Device memory is not for the host, which may be told so; another device's needs a link. */
static CUresult check_reach(const struct vmm_memory *m, const CUmemAccessDesc *desc)
{
    const CUmemLocation *l = &desc->location;
    const struct device *d = is_host(l) ? NULL : &devices[l->id];
    if (!d && !desc->flags) return CUDA_SUCCESS;
    if (m->kind && m->kind->may_access) return m->kind->may_access(m, d);
    if (!m->device || m->device == d) return CUDA_SUCCESS;
    return d && d->profile->p2p[CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED] ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

/* The range begins with a mapping and ends with one. There may be holes between them, but only what is before the
 * first hole is changed, and its end may lie below its beginning (observed on H200): *end. */
static CUresult check_range(uint64_t va, uint64_t size, struct vmm_mapping **first, uint64_t *end)
{
    struct vmm_mapping *m = mapping_at(va), *last = mapping_at(va + size - 1);
    if (!m || m->a.base != va || !last || mapping_end(last) != va + size)
        return (CUresult)because(CUDA_ERROR_INVALID_VALUE, "access begins where a mapping begins and ends where one ends");
    *first = m;
    for (*end = va; m && m->a.base == *end && *end != va + size; m = mapping_next(m)) *end = mapping_end(m);
    return CUDA_SUCCESS;
}

static _Atomic unsigned char *slot(struct vmm_mapping *m, const CUmemLocation *l)
{
    return is_host(l) ? &m->host : &m->access[l->id];
}

static CUresult set(struct vmm_mapping *m, const CUmemLocation *l, unsigned to)
{
    _Atomic unsigned char *now = slot(m, l);
    /* one more piece, or one piece that becomes three */
    if (to && *now != to && !is_host(l) && !room_take(l->id, *now ? 2 : 1)) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = access_apply(m, is_host(l) ? NULL : &devices[l->id], *now, to);
    if (r) return r;
    if (!to && *now && !is_host(l)) room_split(l->id);
    if (to && *now != to && (is_host(l) || !l->id)) m->host_before = !is_host(l);
    *now = (unsigned char)to;
    if (is_host(l)) {
        m->a.host_access = to;
        space_update(&m->a);
    }
    return r;
}

static void remember(struct vmm_mapping *m)
{
    for (int k = 0; k < device_count; k++) m->old_access[k] = m->access[k];
    m->old_host = m->host;
    m->old_host_before = m->host_before;
}

/* As well as it can be done: what failed once may fail again. */
static void restore(struct vmm_mapping *m)
{
    const CUmemLocation host = { .type = CU_MEM_LOCATION_TYPE_HOST };
    for (int k = 0; k < device_count; k++)
        set(m, &(CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = k }, m->old_access[k]);
    set(m, &host, m->old_host);
    m->host_before = m->old_host_before;
}

/* A kernel that runs already has the access it was given, too. */
static void settle(const CUmemAccessDesc *d)
{
    struct processor *p = is_host(&d->location) ? NULL : access_processor(&devices[d->location.id]);
    if (p && d->flags) processor_settle(p);
}

/* Mapping by mapping, each in the order of the descriptions. Where one location cannot reach the memory, what was changed
 * before stays so (observed on H200); what the system refuses undoes it all. */
static CUresult set_all(struct vmm_mapping *first, uint64_t end, const CUmemAccessDesc *desc, size_t count)
{
    CUresult r = CUDA_SUCCESS;
    struct vmm_mapping *m, *failed;
    for (m = first; m && m->a.base < end && !r; m = r ? m : mapping_next(m)) {
        remember(m);
        for (size_t k = 0; k < count && !r; k++) {
            if ((r = check_reach(m->handle->memory, &desc[k]))) return r;
            r = set(m, &desc[k].location, desc[k].flags);
        }
    }
    failed = m;
    for (m = first; r && m; m = m == failed ? NULL : mapping_next(m)) restore(m);
    return r;
}

CUresult vmm_set_access(uint64_t va, uint64_t size, const CUmemAccessDesc *desc, size_t count)
{
    struct vmm_mapping *first = NULL;
    uint64_t end;
    CUresult r = CUDA_SUCCESS;
    for (size_t k = 0; k < count && !r; k++) r = check_description(&desc[k]);
    if (r) return r;
    pthread_rwlock_wrlock(&vmm_lock);
    if (!(r = check_range(va, size, &first, &end))) {
        r = set_all(first, end, desc, count);
        mappings_changed(); /* what fails is there for a moment, too */
    }
    for (size_t k = 0; k < count && first; k++) settle(&desc[k]);
    pthread_rwlock_unlock(&vmm_lock);
    return r;
}

/* Observed on H200: asked of the host, but not of a node of it, the answer is the host's or device 0's: of those that have
 * access, of whichever was changed last. */
static unsigned access_told(struct vmm_mapping *m, const CUmemLocation *l)
{
    if (l->type != CU_MEM_LOCATION_TYPE_HOST) return *slot(m, l);
    unsigned device = m->access[0], host = m->host;
    return device && (m->host_before || !host) ? device : host;
}

static bool is_other_memory(uint64_t address)
{
    struct allocation a;
    return space_look(address, &a) && a.kind != ALLOCATION_RESERVED;
}

CUresult vmm_get_access(uint64_t address, const CUmemLocation *l, unsigned long long *flags)
{
    struct device *d;
    CUresult r = CUDA_SUCCESS;
    if (l->type == CU_MEM_LOCATION_TYPE_DEVICE)
        r = device_get(l->id, &d);
    else if (!is_host(l))
        r = CUDA_ERROR_INVALID_DEVICE; /* cuMemSetAccess says CUDA_ERROR_INVALID_VALUE (observed on H200) */
    if (r) return r;
    pthread_rwlock_rdlock(&vmm_lock);
    struct vmm_mapping *m = mapping_at(address);
    *flags = m ? access_told(m, l) : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    pthread_rwlock_unlock(&vmm_lock);
    /* observed on H200: to other memory nobody was given access, which is no error */
    return m || is_other_memory(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- the space's questions */

static CUresult attach(struct device *d)
{
    CUresult r = CUDA_SUCCESS;
    pthread_rwlock_wrlock(&vmm_lock);
    attached[d->ordinal] = true;
    for (struct vmm_mapping *m = mapping_from(0); m && !r; m = mapping_next(m))
        r = access_apply(m, d, CU_MEM_ACCESS_FLAGS_PROT_NONE, m->access[d->ordinal]);
    pthread_rwlock_unlock(&vmm_lock);
    return r;
}

static void detach(struct device *d)
{
    pthread_rwlock_wrlock(&vmm_lock);
    attached[d->ordinal] = false;
    pthread_rwlock_unlock(&vmm_lock);
}

static unsigned access_of(const struct allocation *a, const struct device *d)
{
    const struct vmm_mapping *m = a->detail;
    return m->access[d->ordinal]; /* the same bits */
}

const struct space_owner vmm_owner = { .attach = attach, .detach = detach, .access = access_of };
