/* Memory of other processes, and handles of this process's; see ipc.h. */
#include "ipc/exporter.h"
#include "base/objects.h"
#include "base/units.h"
#include "ipc/importer.h"
#include "ipc/ipc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Used again, but never given back: who has looked an allocation up may still ask where its backing's alias is. */
struct import {
    struct object_link link;
    struct allocation a;
    struct ticket ticket;
    struct peer *peer;
    struct backing view; /* the peer's memory, with an alias of these pages alone */
    char *pages;         /* the alias */
    uint64_t span;       /* bytes of whole pages */
    unsigned count;      /* of opens */
    struct import *next;
};
static void construct(void *object) { (void)object; }
static struct objects all = OBJECTS_INIT(struct import, construct);
static struct import *imports; /* under the importer's lock */

CUresult ipc_export_memory(uint64_t address, CUipcMemHandle *out)
{
    struct allocation a;
    struct ticket t;
    if (!space_look(address, &a) || a.kind != ALLOCATION_DEVICE || !a.ipc_capable || a.owner)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = exporter_memory(a.base, a.buffer_id, &t);
    if (!r) memcpy(out, &t, sizeof t);
    return r;
}

/* ---- devices' page tables */

/* Its device, the device that opened it (lazily enabled peer access), and who is a peer. */
static bool visible(const struct allocation *a, const struct device *d)
{
    return a->device == d || a->context->device == d || d->peers >> a->device->ordinal & 1;
}

static CUresult map_on(struct device *d, const struct import *m)
{
    uint64_t first = page_down(m->a.base);
    return processor_map(d->processor, first, m->span, &m->view, m->a.offset - (m->a.base - first),
                         PROT_DEVICE_READ | PROT_DEVICE_WRITE);
}

static void unmap(const struct import *m)
{
    for (int k = 0; k < device_count; k++)
        if (devices[k].processor && visible(&m->a, &devices[k]))
            processor_unmap(devices[k].processor, page_down(m->a.base), m->span);
}

/* ---- addresses */

static uint64_t chunks(uint64_t bytes) { return round_up(bytes, VRAM_CHUNK); }

/* Taken in turn, so that an address that was just closed is not used again soon. */
static uint64_t place(uint64_t span)
{
    static uint64_t next;
    struct allocation there;
    uint64_t room = chunks(span);
    for (int turns = 0; turns < 2; turns++, next = 0) {
        if (!next) next = space_import_base();
        while (next + room <= space_import_end()) {
            uint64_t at = next;
            if (!space_first(at, room, &there)) {
                next = at + room;
                return at;
            }
            next = chunks(there.base + there.size);
        }
    }
    return 0;
}

/* ---- opening */

static CUresult show(struct import *m)
{
    CUresult r = CUDA_SUCCESS;
    for (int k = 0; k < device_count && !r; k++)
        if (devices[k].processor && visible(&m->a, &devices[k])) r = map_on(&devices[k], m);
    if (!r) r = space_publish(&m->a);
    if (r) unmap(m);
    return r;
}

static CUresult fill_in(struct import *m, struct context *c, const struct ipc_reply *reply)
{
    struct device *d = device_physical(reply->device);
    /* in its chunk it lies where it does in the exporter */
    uint64_t inner = reply->offset % PAGE_BYTES, in_chunk = reply->offset % VRAM_CHUNK, at;
    if (d != c->device && !c->device->profile->p2p[CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED])
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    m->span = page_up(inner + reply->size);
    m->view = m->peer->memory[reply->device];
    m->pages = mmap(NULL, m->span, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, m->view.fd,
                    (off_t)(reply->offset - inner));
    if (m->pages == MAP_FAILED || !(at = place(in_chunk + reply->size))) return CUDA_ERROR_OUT_OF_MEMORY;
    backing_hide(m->pages, m->span);
    m->view.alias = (char *)((uintptr_t)m->pages - (reply->offset - inner));
    m->a = (struct allocation){ .base = at + in_chunk,
                                .size = reply->size,
                                .kind = ALLOCATION_IMPORTED,
                                .device = d,
                                .context = c,
                                .mapping_base = at,
                                .mapping_size = chunks(in_chunk + reply->size),
                                .backing = &m->view,
                                .offset = reply->offset,
                                .owner = &ipc_owner };
    return CUDA_SUCCESS;
}

static struct import *opened(const struct ticket *t, const struct context *c)
{
    for (struct import *m = imports; m; m = m->next)
        if (m->a.context == c && !memcmp(&m->ticket, t, sizeof *t)) return m;
    return NULL;
}

/* Under the lock. */
static CUresult open_new(struct context *c, const struct ticket *t, uint64_t *base)
{
    struct ipc_reply reply;
    struct import *m = object_take(&all);
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    *m = (struct import){ .pages = MAP_FAILED };
    CUresult r = importer_open(t, &m->peer, &reply);
    if (r) goto failed;
    m->ticket = *t;
    m->count = 1;
    if ((r = fill_in(m, c, &reply)) || (r = show(m))) {
        if (m->pages != MAP_FAILED) munmap(m->pages, m->span);
        importer_close(m->peer, t);
        goto failed;
    }
    m->next = imports;
    imports = m;
    *base = m->a.base;
    return CUDA_SUCCESS;
failed:
    object_give(&all, m);
    return r;
}

CUresult ipc_open_memory(struct context *c, const CUipcMemHandle *handle, uint64_t *base)
{
    struct ticket t;
    CUresult r = CUDA_SUCCESS;
    memcpy(&t, handle, sizeof t);
    if (t.kind != IPC_MEMORY) return CUDA_ERROR_INVALID_VALUE;
    importer_lock();
    struct import *m = opened(&t, c);
    if (m) {
        m->count++;
        *base = m->a.base;
    } else {
        r = open_new(c, &t, base);
    }
    importer_unlock();
    return r;
}

/* ---- closing */

/* Under the lock. No kernel uses it any more. */
static void drop(struct import **at)
{
    struct import *m = *at;
    *at = m->next;
    space_withdraw(&m->a);
    unmap(m);
    space_unmap_view(m->pages, m->span); /* of other contexts' copies nobody knows */
    importer_close(m->peer, &m->ticket);
    object_give(&all, m);
}

CUresult ipc_close_memory(uint64_t base)
{
    CUresult r = CUDA_ERROR_INVALID_VALUE;
    importer_lock();
    for (struct import **at = &imports; *at; at = &(*at)->next)
        if ((*at)->a.base == base) {
            if (!--(*at)->count) drop(at);
            r = CUDA_SUCCESS;
            break;
        }
    importer_unlock();
    return r;
}

/* ---- as the space's owner */

static CUresult attach(struct device *d)
{
    CUresult r = CUDA_SUCCESS;
    importer_lock();
    for (struct import *m = imports; m && !r; m = m->next)
        if (visible(&m->a, d)) r = map_on(d, m);
    importer_unlock();
    return r;
}

static void release_context(struct context *c)
{
    importer_lock();
    for (struct import **at = &imports; *at;)
        if ((*at)->a.context == c)
            drop(at);
        else
            at = &(*at)->next;
    importer_unlock();
}

static CUresult set_peer(struct device *d, struct device *peer, bool enabled)
{
    CUresult r = CUDA_SUCCESS;
    importer_lock();
    for (struct import *m = imports; m && !r && d->processor; m = m->next) {
        if (m->a.device != peer || m->a.context->device == d) continue;
        r = enabled ? map_on(d, m) : processor_unmap(d->processor, page_down(m->a.base), m->span);
    }
    importer_unlock();
    return r;
}

static unsigned may_access(const struct allocation *a, const struct device *d)
{
    return visible(a, d) ? PROT_DEVICE_READ | PROT_DEVICE_WRITE : PROT_DEVICE_NONE;
}

const struct space_owner ipc_owner = {
    .attach = attach, .release_context = release_context, .set_peer = set_peer, .access = may_access
};
