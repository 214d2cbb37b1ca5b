/* The unified address space; see space.h. The tree of all allocations, its
 * lock, and the owners. A device's memory has its addresses in a row: address =
 * the device's base + offset in its memfd; likewise the host memory that devices
 * see. In the host only the latter is mapped. */
#include "space/space.h"
#include "base/tree.h"
#include "base/units.h"
#include "context/context.h"
#include "space/describe.h"
#include "space/index.h"
#include "space/parked.h"
#include "space/place.h"
#include "space/slab.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWNERS = 8 };

RB_HEAD(tree, allocation);

static int by_base(struct allocation *x, struct allocation *y) { return x->base < y->base ? -1 : x->base > y->base; }
TREE_FUNCTIONS(tree, allocation, link, by_base)

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct tree allocations = RB_INITIALIZER(&allocations);
static _Atomic uint64_t last_id;

static const struct space_owner *owners[OWNERS]; /* written by cuInit alone */
static unsigned owner_count;

static struct allocation *find(uint64_t address)
{
    struct allocation key = { .base = address }, *a = RB_NFIND(tree, &allocations, &key);
    if (a && a->base == address) return a;
    a = a ? RB_PREV(tree, &allocations, a) : RB_MAX(tree, &allocations);
    return a && address - a->base < a->size ? a : NULL;
}

struct allocation *space_find(uint64_t address) { return index_object(address); }
struct allocation *space_look(uint64_t address, struct allocation *copy) { return index_find(address, copy); }
bool space_glance(uint64_t address, struct allocation *copy) { return index_glance(address, copy); }

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
    a->foreign = a->owner != NULL;
    CUresult r = index_insert(a);
    if (!r) RB_INSERT(tree, &allocations, a);
    return r;
}

static _Atomic uint64_t withdrawn;
uint64_t space_changes(void) { return atomic_load_explicit(&withdrawn, memory_order_acquire); }

/* Under the lock. */
static void leave(struct allocation *a)
{
    atomic_fetch_add_explicit(&withdrawn, 1, memory_order_acq_rel);
    index_remove(a);
    RB_REMOVE(tree, &allocations, a);
    describe_freed(a);
}

void *space_alias(const struct allocation *a, uint64_t address)
{
    if (a->kind == ALLOCATION_REGISTERED) return (void *)address;
    return a->backing ? a->backing->alias + a->offset + (address - a->base) : NULL;
}

void space_clear(const struct allocation *a)
{
    uint64_t first = page_up(a->offset), end = page_down(a->offset + a->size);
    char *bytes = a->backing->alias;
    if (a->size < VRAM_CHUNK) {
        memset(bytes + a->offset, 0, a->size);
        return;
    }
    memset(bytes + a->offset, 0, first - a->offset);
    backing_discard(a->backing, first, end - first);
    memset(bytes + end, 0, a->offset + a->size - end);
}

/* ---- what processors see */

/* Whether kernels of d may touch a. */
static bool visible(const struct device *d, const struct allocation *a)
{
    return !a->owner && place_sees(d, a->device);
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

bool space_is_private(const struct allocation *a, const struct context *c)
{
    return a->module_owned && a->kind == ALLOCATION_DEVICE && a->context && c && a->context != c;
}

CUresult space_settle(void)
{
    if (!place_unsettled()) return CUDA_SUCCESS;
    pthread_rwlock_wrlock(&lock);
    CUresult r = place_settle();
    pthread_rwlock_unlock(&lock);
    return r;
}

void space_trim(struct device *d)
{
    pthread_rwlock_wrlock(&lock);
    parked_trim(d);
    pthread_rwlock_unlock(&lock);
}

CUresult space_attach(struct device *d)
{
    pthread_rwlock_wrlock(&lock);
    CUresult r = place_attach(d);
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
    pthread_rwlock_wrlock(&lock);
    CUresult r = place_set_peer(d, peer, enabled);
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

struct allocation *space_withdraw_same(const struct space_owner *o, const struct allocation *copy)
{
    pthread_rwlock_wrlock(&lock);
    struct allocation *a = find(copy->base);
    if (a && (a->owner != o || a->buffer_id != copy->buffer_id)) a = NULL;
    if (a) leave(a);
    pthread_rwlock_unlock(&lock);
    return a;
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

static CUresult take(struct device *d, uint64_t size, bool apart, struct space_chunk *out)
{
    CUresult (*alloc)(struct vram *, uint64_t, uint64_t *) = apart ? vram_alloc_apart : vram_alloc;
    CUresult r = CUDA_SUCCESS;
    struct vram *v = d ? &d->vram : NULL;
    pthread_rwlock_wrlock(&lock);
    if (!d) r = place_host(&v);
    *out = (struct space_chunk){ .size = size };
    if (!r) r = alloc(v, size, &out->offset);
    if (r == CUDA_ERROR_OUT_OF_MEMORY && d) {
        parked_trim(d);
        r = alloc(v, size, &out->offset);
    }
    if (!r) {
        out->backing = &v->backing;
        out->va = place_base(d) + out->offset;
    }
    pthread_rwlock_unlock(&lock);
    return r;
}

CUresult space_take(struct device *d, uint64_t size, struct space_chunk *out) { return take(d, size, false, out); }

CUresult space_take_apart(struct device *d, uint64_t size, struct space_chunk *out) { return take(d, size, true, out); }

CUresult space_take_behind(struct device *d, const struct space_chunk *c, uint64_t size, struct space_chunk *out)
{
    CUresult r = CUDA_SUCCESS;
    struct vram *v = d ? &d->vram : NULL;
    pthread_rwlock_wrlock(&lock);
    if (!d) r = place_host(&v);
    if (!r) r = vram_alloc_at(v, size, c->offset + c->size);
    *out = (struct space_chunk){ c->va + c->size, c->offset + c->size, size, c->backing };
    pthread_rwlock_unlock(&lock);
    return r;
}

/* d NULL: the host's. */
static CUresult memory_of(struct device *d, struct vram **out)
{
    if (d) {
        *out = &d->vram;
        return CUDA_SUCCESS;
    }
    pthread_rwlock_wrlock(&lock);
    CUresult r = place_host(out);
    pthread_rwlock_unlock(&lock);
    return r;
}

static void describe_places(struct device *d, struct vram *v, uint64_t size, struct space_chunk *out)
{
    out->size = size;
    out->backing = &v->backing;
    out->va = place_base(d) + out->offset;
}

CUresult space_place(struct device *d, uint64_t size, uint64_t least, struct space_chunk *out)
{
    for (; size >= least; size = round_down(size / 2, least)) {
        if (vram_place(&d->vram, size, &out->offset)) continue;
        describe_places(d, &d->vram, size, out);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult space_place_in_turn(struct device *d, uint64_t size, struct space_chunk *out)
{
    struct vram *v;
    CUresult r = memory_of(d, &v);
    if (!r && !(r = vram_place_in_turn(v, size, &out->offset))) describe_places(d, v, size, out);
    return r;
}

CUresult space_backing(struct device *d, const struct backing **out)
{
    struct vram *v;
    CUresult r = memory_of(d, &v);
    if (!r) *out = &v->backing;
    return r;
}

void space_unplace(struct device *d, const struct space_chunk *c)
{
    struct vram *v;
    if (!memory_of(d, &v)) vram_drop(v, c->offset, c->size);
}

CUresult space_charge(struct device *d, uint64_t size)
{
    CUresult r = vram_charge_reclaiming(&d->vram, size);
    if (r != CUDA_ERROR_OUT_OF_MEMORY) return r;
    space_trim(d);
    return vram_charge_reclaiming(&d->vram, size);
}

void space_uncharge(struct device *d, uint64_t size) { vram_uncharge(&d->vram, size); }

void space_give(struct device *d, const struct space_chunk *c)
{
    struct vram *v;
    pthread_rwlock_wrlock(&lock);
    if (d)
        v = &d->vram;
    else
        place_host(&v);
    vram_free(v, c->offset, c->size);
    pthread_rwlock_unlock(&lock);
}

/* ---- allocation */

static CUresult allocate(const struct allocation *wanted, enum place_class class, uint64_t align,
                         struct allocation **out)
{
    struct node *n = calloc(1, sizeof *n);
    if (!n) return CUDA_ERROR_OUT_OF_MEMORY;
    n->a = *wanted;
    pthread_rwlock_wrlock(&lock);
    /* nobody would free it */
    CUresult r = wanted->context->released ? CUDA_ERROR_CONTEXT_IS_DESTROYED : place_take(n, class, align);
    if (!r && (r = enter(&n->a))) place_give(n);
    pthread_rwlock_unlock(&lock);
    if (r)
        free(n);
    else
        *out = &n->a;
    return r;
}

CUresult space_alloc_device(struct context *c, uint64_t size, struct allocation **out)
{
    const struct allocation a = { .size = size,
                                  .kind = ALLOCATION_DEVICE,
                                  .device = c->device,
                                  .context = c,
                                  .ipc_capable = true,
                                  .rdma_capable = true,
                                  .decompress_capable = true };
    return allocate(&a, PLACE_USER, SLAB_UNIT, out);
}

CUresult space_alloc_module(struct context *c, uint64_t size, uint64_t align, struct allocation **out)
{
    const struct allocation a = {
        .size = size, .kind = ALLOCATION_DEVICE, .device = c->device, .context = c, .module_owned = true
    };
    return allocate(&a, PLACE_MODULE, align, out);
}

CUresult space_alloc_host(struct context *c, uint64_t size, unsigned flags, struct allocation **out)
{
    const struct allocation a = { .size = size, .kind = ALLOCATION_HOST, .context = c, .flags = flags };
    return allocate(&a, flags & CU_MEMHOSTALLOC_WRITECOMBINED ? PLACE_HOST_COMBINED : PLACE_HOST, SLAB_UNIT, out);
}

/* Under the lock. */
static void remove_node(struct node *n)
{
    leave(&n->a);
    place_give(n);
    if (!n->holds) free(n);
}

void space_free(struct allocation *a)
{
    pthread_rwlock_wrlock(&lock);
    remove_node((struct node *)a);
    pthread_rwlock_unlock(&lock);
}

CUresult space_free_same(const struct allocation *copy)
{
    pthread_rwlock_wrlock(&lock);
    struct allocation *a = find(copy->base);
    bool same = a && !a->owner && a->buffer_id == copy->buffer_id;
    if (same) remove_node((struct node *)a);
    pthread_rwlock_unlock(&lock);
    return same ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

struct allocation *space_hold(uint64_t base, uint64_t buffer_id)
{
    pthread_rwlock_wrlock(&lock);
    struct allocation *a = find(base);
    if (a && (a->owner || a->base != base || a->buffer_id != buffer_id)) a = NULL;
    if (a) ((struct node *)a)->holds++;
    pthread_rwlock_unlock(&lock);
    return a;
}

void space_unhold(struct allocation *a)
{
    struct node *n = (struct node *)a;
    pthread_rwlock_wrlock(&lock);
    bool last = !--n->holds && n->freed;
    if (last) place_reclaim(n);
    pthread_rwlock_unlock(&lock);
    if (last) free(n);
}

void space_release_context(struct context *c)
{
    for (unsigned k = 0; k < owner_count; k++)
        if (owners[k]->release_context) owners[k]->release_context(c);
    pthread_rwlock_wrlock(&lock);
    c->released = true;
    struct allocation *a, *next;
    RB_FOREACH_SAFE(a, tree, &allocations, next)
    if (a->context == c && !a->owner) remove_node((struct node *)a);
    pthread_rwlock_unlock(&lock);
}

void space_describe(uint64_t address, int ordinal, char *out, size_t size)
{
    pthread_rwlock_rdlock(&lock);
    struct allocation *a = find(address), key = { .base = address }, *above = RB_NFIND(tree, &allocations, &key);
    const struct surroundings around = {
        .at = a, .below = above ? RB_PREV(tree, &allocations, above) : RB_MAX(tree, &allocations), .above = above
    };
    bool denied = a && a->device && a->device->ordinal != ordinal && !visible(&devices[ordinal], a);
    if (denied)
        snprintf(out, size, "memory of device %d, to which device %d has no peer access", a->device->ordinal, ordinal);
    else
        describe(address, &around, out, size);
    pthread_rwlock_unlock(&lock);
}
