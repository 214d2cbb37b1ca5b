/* The unified address space; see space.h. A device's memory has its addresses
 * in a row: address = the device's base + offset in its memfd; likewise the
 * host memory that devices see. In the host only the latter is mapped. */
#include "space/space.h"
#include "base/log.h"
#include "context/context.h"
#include "space/index.h"
#include "space/slab.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Left free by the loader, the kernel's own choice of addresses and, in each case, the sanitizer:
 *   RESERVE    64 TiB  cuMemAddressReserve
 *   WINDOW     a stride for each device, one for pinned host memory, one for code
 *   MANAGED    after them */
#ifdef __SANITIZE_THREAD__
static const uint64_t WINDOW = 0x1000000000, MANAGED_STRIDES = 2, RESERVE = 0x7400000000, RESERVE_END = 0x7f00000000;
#else
static const uint64_t WINDOW = 0x570000000000, MANAGED_STRIDES = 4, RESERVE = 0x100100000000,
                      RESERVE_END = 0x500100000000;
#endif
enum { HOST_REGION = MAX_DEVICES, CODE_REGION, MANAGED_REGION, FREED = 1024, OWNERS = 8 };
static const uint64_t STRIDE = VRAM_SPAN, PAGE = 4096, LARGE = 1 << 20;

/* An allocation of this folder's own. */
struct node {
    struct allocation a;
    struct slab *slab;
};
RB_HEAD(tree, allocation);

static int by_base(struct allocation *x, struct allocation *y) { return x->base < y->base ? -1 : x->base > y->base; }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
RB_GENERATE_INTERNAL(tree, allocation, link, by_base, static)
#pragma GCC diagnostic pop

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct tree allocations = RB_INITIALIZER(&allocations);
static struct slab *slabs;
static struct vram host_memory; /* pinned and managed memory, code */
static bool host_ready;
static _Atomic uint64_t last_id;

struct freed {
    uint64_t base, size;
    enum allocation_kind kind;
};
static struct freed freed[FREED];
static unsigned freed_count;
static const struct space_owner *owners[OWNERS]; /* written by cuInit alone */
static unsigned owner_count;

static uint64_t device_base(const struct device *d) { return WINDOW + (uint64_t)d->ordinal * STRIDE; }
static uint64_t host_base(void) { return WINDOW + HOST_REGION * STRIDE; }

static CUresult host_init(void)
{
    if (host_ready) return CUDA_SUCCESS;
    /* the machine's memory, whatever the simulated device has */
    uint64_t bytes = devices[0].profile->host_memory;
    if (bytes > STRIDE / 4) bytes = STRIDE / 4;
    CUresult r = vram_init(&host_memory, bytes, "faultline-host");
    host_ready = !r;
    return r;
}

static struct allocation *find(uint64_t address)
{
    struct allocation key = { .base = address }, *a = RB_NFIND(tree, &allocations, &key);
    if (a && a->base == address) return a;
    a = a ? RB_PREV(tree, &allocations, a) : RB_MAX(tree, &allocations);
    return a && address - a->base < a->size ? a : NULL;
}

struct allocation *space_find(uint64_t address) { return index_object(address); }
bool space_look(uint64_t address, struct allocation *copy) { return index_find(address, copy) != NULL; }

bool space_first(uint64_t address, uint64_t size, struct allocation *copy)
{
    pthread_rwlock_rdlock(&lock);
    struct allocation key = { .base = address }, *a = find(address);
    if (!a) a = RB_NFIND(tree, &allocations, &key);
    bool found = a && (a->base <= address || a->base - address < size);
    if (found) *copy = *a;
    pthread_rwlock_unlock(&lock);
    return found;
}

/* Gives a its number and makes it visible to everyone. Under the lock. */
static CUresult enter(struct allocation *a)
{
    a->buffer_id = atomic_fetch_add(&last_id, 1) + 1;
    CUresult r = index_insert(a);
    if (!r) RB_INSERT(tree, &allocations, a);
    return r;
}

/* Under the lock. */
static void leave(struct allocation *a)
{
    index_remove(a);
    RB_REMOVE(tree, &allocations, a);
    freed[freed_count++ % FREED] = (struct freed){ a->base, a->size, a->kind };
}

void *space_alias(const struct allocation *a, uint64_t address)
{
    if (a->kind == ALLOCATION_REGISTERED) return (void *)address;
    return a->backing ? a->backing->alias + a->offset + (address - a->base) : NULL;
}

/* ---- what processors see */

/* Whether kernels of d may touch a. */
static bool visible(const struct device *d, const struct allocation *a)
{
    return !a->owner && (!a->device || a->device == d || d->peers >> a->device->ordinal & 1);
}

unsigned space_access(const struct allocation *a, const struct device *d)
{
    unsigned all = PROT_DEVICE_READ | PROT_DEVICE_WRITE, may = all;
    if (!d && !(d = a->device)) d = a->context ? a->context->device : &devices[0];
    if (!a->owner) return visible(d, a) ? all : PROT_DEVICE_NONE;
    if (!a->owner->access) return all;
    /* *a may be a copy of one that is freed meanwhile: its owner is asked about the living one */
    pthread_rwlock_rdlock(&lock);
    const struct allocation *living = find(a->base);
    if (living && living->buffer_id == a->buffer_id) may = living->owner->access(living, d);
    pthread_rwlock_unlock(&lock);
    return may;
}

static void page_range(const struct allocation *a, uint64_t *va, uint64_t *size)
{
    *va = a->base & ~(PAGE - 1);
    *size = ((a->base + a->size + PAGE - 1) & ~(PAGE - 1)) - *va;
}

static CUresult map_on(struct device *d, const struct allocation *a)
{
    uint64_t va, size;
    page_range(a, &va, &size);
    return processor_map(d->processor, va, size, a->backing, a->offset - (a->base - va),
                         PROT_DEVICE_READ | PROT_DEVICE_WRITE);
}

static CUresult map_everywhere(const struct allocation *a)
{
    CUresult r = CUDA_SUCCESS;
    for (int k = 0; k < device_count && !r; k++)
        if (devices[k].processor && visible(&devices[k], a)) r = map_on(&devices[k], a);
    return r;
}

static void unmap_everywhere(const struct allocation *a, uint64_t va, uint64_t size)
{
    for (int k = 0; k < device_count && size; k++)
        if (devices[k].processor && visible(&devices[k], a)) processor_unmap(devices[k].processor, va, size);
}

CUresult space_attach(struct device *d)
{
    struct allocation *a;
    CUresult r = CUDA_SUCCESS;
    pthread_rwlock_rdlock(&lock);
    RB_FOREACH(a, tree, &allocations)
    if (!r && visible(d, a)) r = map_on(d, a);
    pthread_rwlock_unlock(&lock);
    for (unsigned k = 0; k < owner_count && !r; k++)
        if (owners[k]->attach) r = owners[k]->attach(d);
    return r;
}

void space_detach(struct device *d)
{
    for (unsigned k = 0; k < owner_count; k++)
        if (owners[k]->detach) owners[k]->detach(d);
}

CUresult space_set_peer(struct device *d, struct device *peer, bool enabled)
{
    struct allocation *a;
    CUresult r = CUDA_SUCCESS;
    pthread_rwlock_wrlock(&lock);
    if (enabled) d->peers |= 1u << peer->ordinal;
    RB_FOREACH(a, tree, &allocations)
    {
        if (a->owner || a->device != peer || r || !d->processor) continue;
        uint64_t va, size;
        page_range(a, &va, &size);
        r = enabled ? map_on(d, a) : processor_unmap(d->processor, va, size);
    }
    if (!enabled || r) d->peers &= ~(1u << peer->ordinal);
    pthread_rwlock_unlock(&lock);
    for (unsigned k = 0; k < owner_count && !r; k++)
        if (owners[k]->set_peer) r = owners[k]->set_peer(d, peer, enabled);
    return r;
}

/* ---- other owners' allocations */

void space_add_owner(const struct space_owner *o)
{
    if (owner_count < OWNERS) owners[owner_count++] = o;
}

CUresult space_publish(struct allocation *a)
{
    CUresult r = CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_wrlock(&lock);
    struct allocation *above = RB_NFIND(tree, &allocations, a);
    if (!find(a->base) && (!above || above->base - a->base >= a->size)) r = enter(a);
    pthread_rwlock_unlock(&lock);
    return r;
}

void space_update(struct allocation *a)
{
    pthread_rwlock_wrlock(&lock);
    index_update(a);
    pthread_rwlock_unlock(&lock);
}

void space_withdraw(struct allocation *a)
{
    pthread_rwlock_wrlock(&lock);
    leave(a);
    pthread_rwlock_unlock(&lock);
}

CUresult space_set_sync_memops(uint64_t address, bool on)
{
    pthread_rwlock_wrlock(&lock);
    struct allocation *a = find(address);
    if (a) {
        a->sync_memops = on;
        index_update(a);
    }
    pthread_rwlock_unlock(&lock);
    return a ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult space_take(struct device *d, uint64_t size, struct space_chunk *out)
{
    CUresult r = CUDA_SUCCESS;
    struct vram *v = d ? &d->vram : &host_memory;
    if (!d) {
        pthread_rwlock_wrlock(&lock);
        r = host_init();
        pthread_rwlock_unlock(&lock);
    }
    *out = (struct space_chunk){ .size = size, .backing = &v->backing };
    if (!r) r = vram_alloc(v, size, &out->offset);
    out->va = (d ? device_base(d) : host_base()) + out->offset;
    return r;
}

void space_give(struct device *d, const struct space_chunk *c)
{
    vram_free(d ? &d->vram : &host_memory, c->offset, c->size);
}

/* ---- allocation */

/* owner: the context, or its address + 1 for what belongs to its modules (observed on H200: they share no chunk). */
static CUresult take_small(struct node *n, struct device *d, void *owner, uint64_t align)
{
    uint64_t at, offset;
    CUresult r;
    for (struct slab *s = slabs; s; s = s->next)
        if (s->owner == owner && slab_take(s, n->a.size, align, &at)) {
            n->slab = s;
            goto found;
        }
    struct slab *s = calloc(1, sizeof *s);
    if (!s) return CUDA_ERROR_OUT_OF_MEMORY;
    if ((r = vram_alloc(&d->vram, VRAM_CHUNK, &offset))) {
        free(s);
        return r;
    }
    *s = (struct slab){ .va = device_base(d) + offset, .offset = offset, .owner = owner, .next = slabs };
    slabs = s;
    n->slab = s;
    slab_take(s, n->a.size, align, &at);
found:
    n->a.base = n->slab->va + at;
    n->a.offset = n->slab->offset + at;
    n->a.mapping_base = n->slab->va;
    n->a.mapping_size = VRAM_CHUNK;
    return CUDA_SUCCESS;
}

static CUresult take_large(struct node *n, struct vram *v, uint64_t base)
{
    uint64_t size = (n->a.size + VRAM_CHUNK - 1) & ~(VRAM_CHUNK - 1);
    CUresult r = vram_alloc(v, size, &n->a.offset);
    n->a.base = n->a.mapping_base = base + n->a.offset;
    n->a.mapping_size = size;
    return r;
}

static void drop_slab(struct slab *s, struct device *d)
{
    for (struct slab **at = &slabs; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    vram_free(&d->vram, s->offset, VRAM_CHUNK);
    free(s);
}

/* Undoes take_*: pages without a live allocation leave the devices, memory goes back. */
static void give_back(struct node *n)
{
    struct allocation *a = &n->a;
    uint64_t va, size;
    page_range(&n->a, &va, &size);
    if (!n->slab) {
        unmap_everywhere(a, va, size);
        if (a->kind == ALLOCATION_HOST || a->kind == ALLOCATION_MANAGED)
            munmap((void *)a->mapping_base, a->mapping_size);
        vram_free(a->device ? &a->device->vram : &host_memory, a->offset, a->mapping_size);
        return;
    }
    struct slab *s = n->slab;
    slab_give(s, a->base - s->va, a->size);
    unsigned page = (unsigned)((va - s->va) / PAGE), end = page + (unsigned)(size / PAGE);
    while (page < end && slab_page_used(s, page)) page++;
    while (end > page && slab_page_used(s, end - 1)) end--;
    if (page < end) {
        unmap_everywhere(a, s->va + page * PAGE, (end - page) * PAGE);
        backing_discard(&a->device->vram.backing, s->offset + page * PAGE, (end - page) * PAGE);
    }
    if (!s->used) drop_slab(s, a->device);
}

static CUresult alloc_device(struct context *c, uint64_t size, uint64_t align, bool module_owned,
                             struct allocation **out)
{
    struct node *n = calloc(1, sizeof *n);
    struct device *d = c->device;
    if (!n) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    n->a = (struct allocation){ .size = size,
                                .kind = ALLOCATION_DEVICE,
                                .device = d,
                                .context = c,
                                .backing = &d->vram.backing,
                                .module_owned = module_owned,
                                .ipc_capable = !module_owned,
                                .rdma_capable = !module_owned,
                                .decompress_capable = !module_owned };
    pthread_rwlock_wrlock(&lock);
    if (size > d->vram.capacity) goto out;
    if ((r = size > LARGE ? take_large(n, &d->vram, device_base(d))
                          : take_small(n, d, (char *)c + module_owned, align)))
        goto out;
    if ((r = map_everywhere(&n->a)) || (r = enter(&n->a))) {
        give_back(n);
        goto out;
    }
    *out = &n->a;
out:
    pthread_rwlock_unlock(&lock);
    if (r) free(n);
    return r;
}

CUresult space_alloc_device(struct context *c, uint64_t size, uint64_t align, struct allocation **out)
{
    return alloc_device(c, size, align, false, out);
}
CUresult space_alloc_module(struct context *c, uint64_t size, uint64_t align, struct allocation **out)
{
    return alloc_device(c, size, align, true, out);
}

CUresult space_alloc_host(struct context *c, uint64_t size, unsigned flags, enum allocation_kind kind,
                          struct allocation **out)
{
    struct node *n = calloc(1, sizeof *n);
    if (!n) return CUDA_ERROR_OUT_OF_MEMORY;
    n->a = (struct allocation){
        .size = size, .kind = kind, .context = c, .flags = flags, .backing = &host_memory.backing
    };
    pthread_rwlock_wrlock(&lock);
    CUresult r = host_init();
    if (r || (r = take_large(n, &host_memory, host_base()))) goto out;
    void *here = mmap((void *)n->a.base, n->a.mapping_size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE, host_memory.backing.fd, (off_t)n->a.offset);
    if (here != (void *)n->a.base) {
        if (here != MAP_FAILED) munmap(here, n->a.mapping_size);
        vram_free(&host_memory, n->a.offset, n->a.mapping_size);
        r = CUDA_ERROR_OUT_OF_MEMORY;
        goto out;
    }
    madvise(here, n->a.mapping_size, MADV_DONTFORK);
    if ((r = map_everywhere(&n->a)) || (r = enter(&n->a))) {
        give_back(n);
        goto out;
    }
    *out = &n->a;
out:
    pthread_rwlock_unlock(&lock);
    if (r) free(n);
    return r;
}

static void remove_node(struct node *n)
{
    leave(&n->a);
    give_back(n);
    free(n);
}

void space_free(struct allocation *a)
{
    pthread_rwlock_wrlock(&lock);
    remove_node((struct node *)a);
    pthread_rwlock_unlock(&lock);
}

void space_release_context(struct context *c)
{
    for (unsigned k = 0; k < owner_count; k++)
        if (owners[k]->release_context) owners[k]->release_context(c);
    pthread_rwlock_wrlock(&lock);
    struct allocation *a, *next;
    RB_FOREACH_SAFE(a, tree, &allocations, next)
    if (a->context == c && !a->owner) remove_node((struct node *)a);
    pthread_rwlock_unlock(&lock);
}

uint64_t space_reserve_base(void) { return RESERVE; }
uint64_t space_reserve_end(void) { return RESERVE_END; }
uint64_t space_managed_base(void) { return WINDOW + MANAGED_REGION * STRIDE; }
uint64_t space_managed_end(void) { return space_managed_base() + MANAGED_STRIDES * STRIDE; }

/* ---- code: in host memory, mapped on one device; not found by space_find */

CUresult space_alloc_code(struct device *d, uint64_t size, uint64_t *va, void **alias)
{
    uint64_t offset = 0, bytes = (size + VRAM_CHUNK - 1) & ~(VRAM_CHUNK - 1);
    pthread_rwlock_wrlock(&lock);
    CUresult r = host_init();
    if (!r) r = vram_alloc(&host_memory, bytes, &offset);
    pthread_rwlock_unlock(&lock);
    if (r) return r;
    uint64_t base = WINDOW + CODE_REGION * STRIDE + offset;
    if ((r = processor_map(d->processor, base, bytes, &host_memory.backing, offset,
                           PROT_DEVICE_READ | PROT_DEVICE_EXEC))) {
        vram_free(&host_memory, offset, bytes);
        return r;
    }
    *va = base;
    *alias = host_memory.backing.alias + offset;
    return CUDA_SUCCESS;
}

void space_free_code(struct device *d, uint64_t va, uint64_t size)
{
    uint64_t bytes = (size + VRAM_CHUNK - 1) & ~(VRAM_CHUNK - 1);
    if (d->processor) processor_unmap(d->processor, va, bytes);
    vram_free(&host_memory, va - (WINDOW + CODE_REGION * STRIDE), bytes);
}

/* ---- words for addresses */

static const char *kind_name(enum allocation_kind k)
{
    static const char *const names[] = { "device memory",  "pinned host memory", "registered host memory",
                                         "managed memory", "a reservation",      "mapped memory",
                                         "another process's memory" };
    return names[k];
}

static const struct freed *find_freed(uint64_t address)
{
    for (unsigned k = 0; k < FREED && k < freed_count; k++) {
        const struct freed *f = &freed[(freed_count - 1 - k) % FREED];
        if (address - f->base < f->size) return f;
    }
    return NULL;
}

void space_describe(uint64_t address, int ordinal, char *out, size_t size)
{
    pthread_rwlock_rdlock(&lock);
    struct allocation *a = find(address), key = { .base = address }, *above = RB_NFIND(tree, &allocations, &key),
                      *below = above ? RB_PREV(tree, &allocations, above) : RB_MAX(tree, &allocations);
    const struct freed *f = a ? NULL : find_freed(address);
    if (f && below && f->base < below->base + below->size) f = NULL; /* its place was taken since */
    if (a && a->device && a->device->ordinal != ordinal && !visible(&devices[ordinal], a))
        snprintf(out, size, "memory of device %d, to which device %d has no peer access", a->device->ordinal,
                 ordinal);
    else if (a)
        snprintf(out, size, "byte %" PRIu64 " of %" PRIu64 " bytes of %s at 0x%" PRIx64, address - a->base, a->size,
                 kind_name(a->kind), a->base);
    else if (address < 65536)
        snprintf(out, size, "a null pointer%s", address ? " with an offset" : "");
    else if (f)
        snprintf(out, size, "byte %" PRIu64 " of %" PRIu64 " bytes of %s at 0x%" PRIx64 " that were freed",
                 address - f->base, f->size, kind_name(f->kind), f->base);
    else if (below && address - (below->base + below->size) < 64ull << 20)
        snprintf(out, size, "%" PRIu64 " bytes past the end of %" PRIu64 " bytes of %s at 0x%" PRIx64,
                 address - (below->base + below->size), below->size, kind_name(below->kind), below->base);
    else if (above && above->base - address < 1 << 20)
        snprintf(out, size, "%" PRIu64 " bytes before %" PRIu64 " bytes of %s at 0x%" PRIx64, above->base - address,
                 above->size, kind_name(above->kind), above->base);
    else if (address >= WINDOW && address < WINDOW + (CODE_REGION + 1) * STRIDE)
        snprintf(out, size, "device address space with nothing there");
    else
        snprintf(out, size, "memory of the host that no kernel can reach, or no address at all");
    pthread_rwlock_unlock(&lock);
}
