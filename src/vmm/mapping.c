/* Mappings: which memory is at which addresses. They are published in the
 * space; access.c puts them into page tables. */
#include "vmm/internal.h"
#include "base/because.h"
#include "base/tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int by_base(struct vmm_mapping *x, struct vmm_mapping *y)
{
    return x->a.base < y->a.base ? -1 : x->a.base > y->a.base;
}
RB_HEAD(mappings, vmm_mapping);
TREE_FUNCTIONS(mappings, vmm_mapping, link, by_base)
static struct mappings mappings = RB_INITIALIZER(&mappings);

struct vmm_mapping *mapping_from(uint64_t address)
{
    struct vmm_mapping key = { .a.base = address }, *m = RB_NFIND(mappings, &mappings, &key),
                       *below = m ? RB_PREV(mappings, &mappings, m) : RB_MAX(mappings, &mappings);
    return below && mapping_end(below) > address ? below : m;
}

struct vmm_mapping *mapping_next(struct vmm_mapping *m) { return RB_NEXT(mappings, &mappings, m); }

/* The space's index finds it sooner than the tree, which is for the order. Where reservations are nobody else
 * publishes anything, so that what is found stays there as long as the lock is held. */
struct vmm_mapping *mapping_at(uint64_t address)
{
    if (address < space_reserve_base() || address >= space_reserve_end()) return NULL;
    const struct allocation *a = space_find(address);
    return a ? a->detail : NULL;
}

static void enter(struct vmm_mapping *m)
{
    struct vmm_mapping **first = &m->handle->memory->mappings;
    m->next = *first;
    m->from = first;
    if (m->next) m->next->from = &m->next;
    *first = m;
    RB_INSERT(mappings, &mappings, m);
    m->handle->mapped++;
}

static void leave(struct vmm_mapping *m)
{
    *m->from = m->next;
    if (m->next) m->next->from = m->from;
    RB_REMOVE(mappings, &mappings, m);
    m->handle->mapped--;
    handle_drop(m->handle);
    free(m);
}

/* The order of the checks is the driver's: the size is wrong before the addresses are (observed on H200). */
static CUresult check_map(uint64_t va, uint64_t size, uint64_t offset, const struct vmm_handle *h)
{
    if (!h || h->prop.allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL) return CUDA_ERROR_INVALID_VALUE;
    if (offset || size != h->memory->size)
        return (CUresult)because(CUDA_ERROR_NOT_SUPPORTED, "all of the memory is mapped at once: offset 0, its own size");
    /* whether something is mapped there already, space_publish will tell */
    return va % VMM_GRANULARITY || !reservations_cover(va, size)
               ? (CUresult)because(CUDA_ERROR_INVALID_VALUE,
                                   "the addresses are not within cuMemAddressReserve's, or no multiples of 2 MiB")
               : CUDA_SUCCESS;
}

static void describe(struct vmm_mapping *m, uint64_t va, uint64_t size)
{
    const struct vmm_memory *memory = m->handle->memory;
    const struct reservation *v = reservation_find(va);
    m->a = (struct allocation){ .base = va,
                                .size = size,
                                .kind = ALLOCATION_MAPPED,
                                .device = memory->device,
                                .mapping_base = va,
                                .mapping_size = size,
                                .range_base = v->base,
                                .range_size = v->size,
                                .backing = memory->backing,
                                .offset = memory->offset,
                                .location = memory->prop.location.type,
                                .handle_types = m->handle->prop.requestedHandleTypes,
                                .rdma_capable = memory->prop.allocFlags.gpuDirectRDMACapable,
                                .compressed = memory->prop.allocFlags.compressionType,
                                .decompress_capable = memory->prop.allocFlags.usage & CU_MEM_CREATE_USAGE_HW_DECOMPRESS,
                                .owner = &vmm_owner,
                                .detail = m };
}

CUresult vmm_map(uint64_t va, uint64_t size, uint64_t offset, CUmemGenericAllocationHandle name)
{
    struct vmm_mapping *m = calloc(1, sizeof *m);
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_rwlock_wrlock(&vmm_lock);
    struct vmm_handle *h = handle_alive(name);
    CUresult r = check_map(va, size, offset, h);
    if (!r) {
        m->handle = h;
        describe(m, va, size);
        r = space_publish(&m->a);
    }
    if (!r) {
        enter(m);
        m = NULL;
    }
    pthread_rwlock_unlock(&vmm_lock);
    free(m);
    return r;
}

/* Alignment does not matter, only that no mapping is cut (observed on H200). */
static CUresult check_unmap(uint64_t va, uint64_t size, struct vmm_mapping **first)
{
    if (!size || va + size < va || !reservations_cover(va, 1)) return CUDA_ERROR_INVALID_VALUE;
    *first = mapping_from(va);
    for (struct vmm_mapping *m = *first; m && m->a.base < va + size; m = mapping_next(m))
        if (m->a.base < va || mapping_end(m) > va + size)
            return (CUresult)because(CUDA_ERROR_INVALID_VALUE, "mappings are taken away whole, as they were made");
    return CUDA_SUCCESS;
}

static _Atomic uint64_t changes;
uint64_t vmm_changes(void) { return atomic_load_explicit(&changes, memory_order_acquire); }
void mappings_changed(void) { atomic_fetch_add_explicit(&changes, 1, memory_order_acq_rel); }

CUresult vmm_unmap(uint64_t va, uint64_t size)
{
    struct vmm_mapping *m;
    pthread_rwlock_wrlock(&vmm_lock);
    CUresult r = check_unmap(va, size, &m);
    const bool any = !r && m;
    while (!r && m && m->a.base < va + size) {
        struct vmm_mapping *next = mapping_next(m);
        access_drop(m);
        space_withdraw(&m->a);
        leave(m);
        m = next;
    }
    if (any) mappings_changed();
    pthread_rwlock_unlock(&vmm_lock);
    return r;
}

bool vmm_spans(uint64_t va, uint64_t size)
{
    const uint64_t end = va + size;
    bool spans = true;
    pthread_rwlock_rdlock(&vmm_lock);
    for (uint64_t at = va; at < end && spans;) {
        struct vmm_mapping *m = mapping_from(at);
        spans = m && m->a.base < end && (m->a.base <= at || mapping_end(m) <= end);
        if (spans) at = mapping_end(m);
    }
    pthread_rwlock_unlock(&vmm_lock);
    return spans;
}

CUresult vmm_retain(uint64_t address, CUmemGenericAllocationHandle *out)
{
    pthread_rwlock_wrlock(&vmm_lock);
    const struct vmm_mapping *m = mapping_at(address);
    if (m) {
        m->handle->held++;
        *out = handle_name(m->handle);
    }
    pthread_rwlock_unlock(&vmm_lock);
    return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult vmm_memory_at(uint64_t address, struct vmm_memory **out, uint64_t *offset, uint64_t *left)
{
    pthread_rwlock_wrlock(&vmm_lock);
    const struct vmm_mapping *m = mapping_at(address);
    if (m) {
        *out = m->handle->memory;
        (*out)->references++;
        *offset = address - m->a.base;
        *left = m->a.size - *offset;
    }
    pthread_rwlock_unlock(&vmm_lock);
    return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool permits(const struct vmm_mapping *m, const struct device *d, bool write)
{
    unsigned access = d ? m->access[d->ordinal] : m->host;
    return write ? access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE : access != CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

size_t vmm_pieces(uint64_t va, uint64_t size, const struct device *d, bool write, struct vmm_piece *pieces, size_t room)
{
    size_t count = 0;
    uint64_t at = va, end = va + size;
    pthread_rwlock_rdlock(&vmm_lock);
    for (struct vmm_mapping *m = end > va ? mapping_at(va) : NULL; m && at < end; m = mapping_next(m)) {
        if (m->a.base > at || !permits(m, d, write)) break;
        while (at < end && at < mapping_end(m)) {
            const struct backing *b;
            uint64_t offset, length;
            if (!memory_view(m->handle->memory, d, at - m->a.base, &b, &offset, &length)) goto out;
            if (length > end - at) length = end - at;
            if (count < room) pieces[count] = (struct vmm_piece){ b->alias + offset, length };
            count++;
            at += length;
        }
    }
out:
    pthread_rwlock_unlock(&vmm_lock);
    return at == end ? count : 0;
}

static void describe_mapping(const struct vmm_mapping *m, uint64_t address, int ordinal, char *out, size_t size)
{
    static const char *const rights[] = { "may not touch", "may only read", "may not touch", "may read and write" };
    const struct vmm_memory *memory = m->handle->memory;
    unsigned access = m->access[ordinal] & 3;
    char whose[32] = "the host";
    if (memory->kind) snprintf(whose, sizeof whose, "a multicast object");
    if (m->a.device && m->a.device->ordinal < device_count)
        snprintf(whose, sizeof whose, "device %d", m->a.device->ordinal);
    else if (m->a.device)
        snprintf(whose, sizeof whose, "a device that is not visible");
    bool permitted = access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE && memory->kind && memory->kind->hint;
    const char *hint = permitted ? memory->kind->hint(memory, address - m->a.base) : NULL;
    snprintf(out, size,
             "byte %" PRIu64 " of %" PRIu64 " bytes of memory of %s mapped at 0x%" PRIx64 ", which device %d %s%s%s",
             address - m->a.base, m->a.size, whose, m->a.base, ordinal, rights[access], hint ? " and which " : "",
             hint ? hint : "");
}

/* false: the address is not reserved, or nobody can tell now. */
static bool describe_reserved(uint64_t address, int ordinal, char *out, size_t size)
{
    if (pthread_rwlock_tryrdlock(&vmm_lock)) return false;
    const struct vmm_mapping *m = mapping_at(address);
    const struct reservation *v = m ? NULL : reservation_find(address);
    if (m)
        describe_mapping(m, address, ordinal, out, size);
    else if (v)
        snprintf(out, size,
                 "byte %" PRIu64 " of a reservation of %" PRIu64 " bytes at 0x%" PRIx64 ", where nothing is mapped",
                 address - v->base, v->size, v->base);
    pthread_rwlock_unlock(&vmm_lock);
    return m || v;
}

void vmm_describe_any(uint64_t address, int ordinal, char *out, size_t size)
{
    if (!describe_reserved(address, ordinal, out, size)) space_describe(address, ordinal, out, size);
}
