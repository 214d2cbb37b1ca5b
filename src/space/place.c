/* Slabs, chunks and the page tables that follow them; see place.h. */
#include "space/place.h"
#include "base/units.h"
#include "space/layout.h"
#include "space/parked.h"
#include "space/slab.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

/* What is larger, of the device's memory and the host's, shares no chunk with others (observed on H200). */
enum { LARGE = 1 << 20, LARGE_OF_HOST = (2 << 20) - SLAB_UNIT, WORD = 64 };

static struct slab *slabs, *dirty;
static LIST_HEAD(, node) own = LIST_HEAD_INITIALIZER(own);     /* with chunks of their own, mapped */
static LIST_HEAD(, node) fresh = LIST_HEAD_INITIALIZER(fresh); /* not mapped yet */
static struct vram host_memory;
static bool host_ready;
static _Atomic bool unsettled;

uint64_t place_base(const struct device *d)
{
    return d ? space_layout.window + (uint64_t)d->ordinal * space_layout.span : space_layout.host_base;
}

CUresult place_host(struct vram **out)
{
    CUresult r = CUDA_SUCCESS;
    if (!host_ready) {
        /* the machine's memory, whatever the simulated device has */
        uint64_t bytes = devices[0].profile->host_memory;
        r = vram_init(&host_memory, bytes < space_layout.span / 4 ? bytes : space_layout.span / 4, "faultline-host");
        host_ready = !r;
    }
    *out = &host_memory;
    return r;
}

static struct vram *memory_of(struct device *d) { return d ? &d->vram : &host_memory; }

/* ---- page tables */

bool place_sees(const struct device *d, const struct device *owner)
{
    return !owner || owner == d || d->peers >> owner->ordinal & 1;
}

static CUresult map_on(struct device *d, struct device *owner, uint64_t offset, uint64_t size)
{
    return processor_map(d->processor, place_base(owner) + offset, size, &memory_of(owner)->backing, offset,
                         PROT_DEVICE_READ | PROT_DEVICE_WRITE);
}

static CUresult map(struct device *owner, uint64_t offset, uint64_t size)
{
    CUresult r = CUDA_SUCCESS;
    for (int k = 0; k < device_count && !r; k++)
        if (devices[k].processor && place_sees(&devices[k], owner)) r = map_on(&devices[k], owner, offset, size);
    return r;
}

void place_unmap(struct device *owner, uint64_t offset, uint64_t size)
{
    for (int k = 0; k < device_count; k++)
        if (devices[k].processor && place_sees(&devices[k], owner))
            processor_unmap(devices[k].processor, place_base(owner) + offset, size);
}

static CUresult host_map(uint64_t offset, uint64_t size)
{
    char *at = (char *)space_layout.host_base + offset;
    void *here = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE,
                      host_memory.backing.fd, (off_t)offset);
    if (here == at) {
        /* a forked child must not reach devices' memory */
        madvise(here, size, MADV_DONTFORK);
        return CUDA_SUCCESS;
    }
    if (here != MAP_FAILED) munmap(here, size);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static void host_unmap(uint64_t offset, uint64_t size) { munmap((char *)space_layout.host_base + offset, size); }

static bool bit(const uint64_t *words, unsigned k) { return words[k / WORD] >> (k % WORD) & 1; }
static void set_bit(uint64_t *words, unsigned k, bool on)
{
    words[k / WORD] = (words[k / WORD] & ~(1ull << (k % WORD))) | (uint64_t)on << (k % WORD);
}

/* Pages [first, end) of the slab come or, where no live piece is on them, go: on devices or in the host. */
static CUresult follow(struct slab *s, bool host, unsigned first, unsigned end)
{
    CUresult r = CUDA_SUCCESS;
    uint64_t *there = host ? s->on_host : s->on_devices;
    for (unsigned k = first, next; k < end && !r; k = next) {
        bool have = bit(there, k), want = slab_page_used(s, k);
        for (next = k + 1; next < end && bit(there, next) == have && slab_page_used(s, next) == want; next++)
            ;
        if (have == want) continue;
        uint64_t offset = s->offset + k * PAGE_BYTES, size = (next - k) * PAGE_BYTES;
        if (want)
            r = host ? host_map(offset, size) : map(s->device, offset, size);
        else if (host)
            host_unmap(offset, size);
        else
            place_unmap(s->device, offset, size);
        for (unsigned j = k; j < next && !r; j++) set_bit(there, j, want);
    }
    return r;
}

static CUresult settle_slab(struct slab *s) { return follow(s, false, 0, SLAB_PAGES); }

/* The host's page table, around a piece. */
static CUresult host_follow(struct slab *s, uint64_t at, uint64_t size)
{
    return follow(s, true, (unsigned)(at / PAGE_BYTES), (unsigned)(page_up(at + size) / PAGE_BYTES));
}

bool place_unsettled(void) { return atomic_load(&unsettled); }

CUresult place_settle(void)
{
    CUresult r = CUDA_SUCCESS;
    if (!atomic_load(&unsettled)) return r;
    parked_settle();
    while (dirty && !r) {
        if ((r = settle_slab(dirty))) break;
        dirty->dirty = false;
        dirty = dirty->next_dirty;
    }
    while (!r && !LIST_EMPTY(&fresh)) {
        struct node *n = LIST_FIRST(&fresh);
        if ((r = map(n->a.device, n->a.offset, n->a.mapping_size))) break;
        LIST_REMOVE(n, link);
        LIST_INSERT_HEAD(&own, n, link);
        n->fresh = false;
    }
    /* not before: whoever finds it settled launches without waiting for the lock */
    if (!r) atomic_store(&unsettled, false);
    return r;
}

/* Something changed. A kernel that runs must see it now; one that is launched at this
 * moment settles after it was, and either it or this sees the other (both are
 * sequentially consistent: the note before the look). */
void place_note(void)
{
    atomic_store(&unsettled, true);
    for (int k = 0; k < device_count; k++)
        if (devices[k].processor && processor_busy(devices[k].processor)) {
            place_settle();
            return;
        }
}

static void note_slab(struct slab *s)
{
    if (!s->dirty) {
        s->dirty = true;
        s->next_dirty = dirty;
        dirty = s;
    }
    place_note();
}

static CUresult attach_slab(struct device *d, struct slab *s)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < SLAB_PAGES && !r; k++)
        if (bit(s->on_devices, k)) r = map_on(d, s->device, s->offset + k * PAGE_BYTES, PAGE_BYTES);
    return r;
}

CUresult place_attach(struct device *d)
{
    CUresult r = place_settle();
    struct node *n;
    LIST_FOREACH(n, &own, link)
    if (!r && place_sees(d, n->a.device)) r = map_on(d, n->a.device, n->a.offset, n->a.mapping_size);
    for (struct slab *s = slabs; s && !r; s = s->next)
        if (place_sees(d, s->device)) r = attach_slab(d, s);
    return r;
}

/* Everything of peer's, on d. */
static CUresult show(struct device *d, struct device *peer, bool shown)
{
    struct node *n;
    CUresult r = CUDA_SUCCESS;
    if (!d->processor) return r;
    LIST_FOREACH(n, &own, link)
    {
        if (r || n->a.device != peer) continue;
        r = shown ? map_on(d, peer, n->a.offset, n->a.mapping_size)
                  : processor_unmap(d->processor, place_base(peer) + n->a.offset, n->a.mapping_size);
    }
    for (struct slab *s = slabs; s && !r; s = s->next) {
        if (s->device != peer) continue;
        r = shown ? attach_slab(d, s) : processor_unmap(d->processor, s->va, VRAM_CHUNK);
    }
    return r;
}

CUresult place_set_peer(struct device *d, struct device *peer, bool enabled)
{
    CUresult r = place_settle();
    if (!r) r = show(d, peer, enabled);
    if (enabled && !r)
        d->peers |= 1u << peer->ordinal;
    else
        d->peers &= ~(1u << peer->ordinal);
    if (enabled && r) show(d, peer, false);
    return r;
}

/* ---- chunks */

static CUresult take_chunks(struct device *d, uint64_t size, uint64_t *offset, bool *mapped)
{
    *mapped = false;
    if (d && unpark(d, size, offset, mapped)) return CUDA_SUCCESS;
    CUresult r = vram_alloc(memory_of(d), size, offset);
    /* there may be memory but no addresses in a row */
    if (r && d && d->vram.used + size <= d->vram.capacity) {
        parked_trim(d);
        r = vram_alloc(&d->vram, size, offset);
    }
    return r;
}

/* ---- pieces */

static void drop_slab(struct slab *s)
{
    settle_slab(s);
    for (struct slab **at = &slabs; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    for (struct slab **at = &dirty; *at; at = &(*at)->next_dirty)
        if (*at == s) {
            *at = s->next_dirty;
            break;
        }
    if (s->device)
        park(s->device, s->offset, VRAM_CHUNK, false);
    else
        vram_free(&host_memory, s->offset, VRAM_CHUNK);
    free(s);
}

static CUresult take_piece(struct node *n, void *owner, uint64_t align)
{
    uint64_t at = 0;
    struct slab *s;
    for (s = slabs; s; s = s->next)
        if (s->owner == owner && slab_take(s, n->a.size, align, &at)) break;
    if (!s) {
        bool mapped;
        if (!(s = calloc(1, sizeof *s))) return CUDA_ERROR_OUT_OF_MEMORY;
        CUresult r = take_chunks(n->a.device, VRAM_CHUNK, &s->offset, &mapped);
        if (r) {
            free(s);
            return r;
        }
        s->va = place_base(n->a.device) + s->offset;
        s->owner = owner;
        s->flags = n->a.flags;
        s->device = n->a.device;
        s->next = slabs;
        slabs = s;
        for (unsigned k = 0; k < SLAB_PAGES && mapped; k++) set_bit(s->on_devices, k, true);
        slab_take(s, n->a.size, align, &at);
    }
    if (!s->device && host_follow(s, at, n->a.size)) {
        slab_bury(s, at, n->a.size);
        host_follow(s, at, n->a.size);
        slab_give(s, at, n->a.size);
        if (!s->used) drop_slab(s);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    n->slab = s;
    n->a.flags = s->flags;
    n->a.base = s->va + at;
    n->a.offset = s->offset + at;
    n->a.mapping_base = s->va;
    n->a.mapping_size = VRAM_CHUNK;
    note_slab(s);
    return CUDA_SUCCESS;
}

static CUresult take_own(struct node *n)
{
    uint64_t size = round_up(n->a.size, VRAM_CHUNK);
    bool mapped;
    CUresult r = take_chunks(n->a.device, size, &n->a.offset, &mapped);
    if (r) return r;
    if (!n->a.device && (r = host_map(n->a.offset, size))) {
        vram_free(&host_memory, n->a.offset, size);
        return r;
    }
    n->a.base = n->a.mapping_base = place_base(n->a.device) + n->a.offset;
    n->a.mapping_size = size;
    n->fresh = !mapped;
    if (mapped) {
        LIST_INSERT_HEAD(&own, n, link);
    } else {
        LIST_INSERT_HEAD(&fresh, n, link);
        place_note();
    }
    return CUDA_SUCCESS;
}

CUresult place_take(struct node *n, enum place_class class, uint64_t align)
{
    struct vram *v;
    CUresult r;
    if (!n->a.device && (r = place_host(&v))) return r;
    v = memory_of(n->a.device);
    if (n->a.size > v->capacity) return CUDA_ERROR_OUT_OF_MEMORY;
    n->a.backing = &v->backing;
    if (n->a.size > (n->a.device ? LARGE : LARGE_OF_HOST)) return take_own(n);
    /* one owner for each class of a context: an address within it */
    return take_piece(n, (char *)n->a.context + class, align);
}

/* A freed piece's units, or chunks, are free for others. */
static void recycle(struct node *n, bool mapped)
{
    struct allocation *a = &n->a;
    if (n->slab) {
        slab_give(n->slab, a->base - n->slab->va, a->size);
        if (!n->slab->used) drop_slab(n->slab);
    } else if (a->device) {
        park(a->device, a->offset, a->mapping_size, mapped);
    } else {
        vram_free(&host_memory, a->offset, a->mapping_size);
    }
}

void place_give(struct node *n)
{
    struct allocation *a = &n->a;
    bool mapped = false;
    n->freed = true;
    if (n->slab) {
        slab_bury(n->slab, a->base - n->slab->va, a->size);
        if (!a->device) host_follow(n->slab, a->base - n->slab->va, a->size);
        note_slab(n->slab);
    } else {
        mapped = !n->fresh;
        LIST_REMOVE(n, link);
        if (!a->device) host_unmap(a->offset, a->mapping_size);
        /* parked chunks are unmapped later; what is kept for others, or given back to the system, now */
        if (mapped && (!a->device || n->holds)) {
            place_unmap(a->device, a->offset, a->mapping_size);
            mapped = false;
        }
    }
    if (!n->holds) recycle(n, mapped);
}

void place_reclaim(struct node *n) { recycle(n, false); }
