/* Finding the bytes behind addresses; see span.h. */
#include "base/because.h"
#include "api/span.h"
#include "base/log.h"
#include "ordinary/registered.h"
#include "uvm/uvm.h"
#include "vmm/multicast.h"

#include <stdlib.h>

static size_t pieces_of(CUdeviceptr p, size_t size, const struct device *d, bool write, unsigned member,
                        struct vmm_piece *out, size_t room)
{
    size_t count = vmm_pieces(p, size, d, write, out, room);
    return count || !write ? count : multicast_pieces(p, size, d, member, out, room);
}

static bool must_wait(const struct allocation *a) { return !a->device || a->sync_memops; }

/* Twice, because another thread may map and unmap between counting and taking. */
static CUresult mapped(CUdeviceptr p, size_t size, const struct allocation *a, const struct device *d, bool write,
                       struct span *s, struct span_pieces *pieces)
{
    struct vmm_piece one;
    const uint64_t changes = span_changes();
    size_t count = pieces_of(p, size, d, write, pieces->member, &one, 1);
    *s = (struct span){ .bytes = one.bytes, .count = count, .first = pieces->count, .passing = p, .changes = changes,
                        .member = pieces->member, .on_device = a->device, .host = !a->device, .waits = must_wait(a) };
    if (count <= 1) return count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    struct vmm_piece *more = reallocarray(pieces->at, pieces->count + count, sizeof *more);
    if (!more) return CUDA_ERROR_OUT_OF_MEMORY;
    pieces->at = more;
    if (pieces_of(p, size, d, write, pieces->member, more + pieces->count, count) != count)
        return CUDA_ERROR_INVALID_VALUE;
    pieces->count += count;
    return CUDA_SUCCESS;
}

unsigned span_members(CUdeviceptr p)
{
    struct allocation a;
    if (!multicast_any()) return 1;
    multicast_refresh();
    unsigned n = space_look(p, &a) && a.owner == &vmm_owner ? multicast_members(p) : 0;
    return n ? n : 1;
}

/* Mapped memory and pools' belongs to no context: the primary one stands for its device. */
static struct context *context_of(const struct allocation *a)
{
    if (a->kind == ALLOCATION_MANAGED) return a->context;
    if (!a->device) return NULL;
    if (a->context) return a->context;
    return primary_active(a->device) ? a->device->primary : NULL;
}

/* Another context's: who frees it waits for that one's streams only (observed on H200). Another process's is unmapped then,
 * and registered memory, which streams of other contexts than its own use, too, is the program's to unmap. */
static bool others(const struct allocation *a)
{
    return a->kind == ALLOCATION_IMPORTED || a->kind == ALLOCATION_REGISTERED || (a->context && a->context != context_top());
}

static _Thread_local bool freed_permitted;

void span_permit_freed(bool permit) { freed_permitted = permit; }

static CUresult find(CUdeviceptr p, size_t size, const struct device *d, bool write, struct span *s,
                     struct span_pieces *pieces)
{
    struct allocation a;
    const uint64_t changes = span_changes();
    if (!mempool_look_any(p, size, &a)) {
        *s = (struct span){ .bytes = (char *)p, .count = 1, .ordinary = true, .waits = true };
        return !space_is_ours(p) && uvm_reaches(p, size, write)
                   ? CUDA_SUCCESS
                   : (CUresult)because(CUDA_ERROR_INVALID_VALUE, "at a device address given there is no memory, or not any more");
    }
    if (a.owner == &vmm_owner) {
        CUresult r = mapped(p, size, &a, d, write, s, pieces);
        s->context = context_of(&a);
        return r;
    }
    if (size > a.base + a.size - p)
        return (CUresult)because(CUDA_ERROR_INVALID_VALUE, "it goes past the end of an allocation");
    if (write && a.kind == ALLOCATION_REGISTERED && !(space_access(&a, d) & PROT_DEVICE_WRITE))
        return (CUresult)because(CUDA_ERROR_INVALID_VALUE, "it was registered with CU_MEMHOSTREGISTER_READ_ONLY");
    /* another device's pool must have been opened to this one, even for copies (observed on H200) */
    if (a.pool && a.device && a.device != d &&
        !(mempool_access_any(&a, d) & (write ? PROT_DEVICE_WRITE : PROT_DEVICE_READ)))
        return CUDA_ERROR_INVALID_VALUE;
    *s = (struct span){
        .bytes = space_alias(&a, p),
        .count = 1,
        .managed = a.kind == ALLOCATION_MANAGED ? p : 0,
        .passing = (a.pool || others(&a)) && a.kind != ALLOCATION_MANAGED ? p : 0,
        .registered = a.kind == ALLOCATION_REGISTERED ? p : 0,
        .changes = changes,
        .context = context_of(&a),
        .on_device = a.device,
        .host = !a.device && !a.pool && a.kind != ALLOCATION_MANAGED,
        .waits = must_wait(&a),
        .dormant = a.dormant && !freed_permitted,
    };
    return s->bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* What a pool still holds is there, lent or not. */
static bool in_pool(struct span *s, size_t size, const struct device *d, bool write)
{
    char *bytes = mempool_bytes(s->passing, size, d, write);
    if (!bytes) return false;
    s->bytes = bytes;
    s->count = 1;
    return true;
}

CUresult span_find(CUdeviceptr p, size_t size, const struct device *d, bool write, struct span *s,
                   struct span_pieces *pieces)
{
    const uint64_t changes = span_changes();
    CUresult r = find(p, size, d, write, s, pieces);
    if (r != CUDA_ERROR_INVALID_VALUE || !freed_permitted) return r;
    *s = (struct span){ .passing = p, .changes = changes, .on_device = true };
    return in_pool(s, size, d, write) ? CUDA_SUCCESS : r;
}

bool span_touch(struct span *s, size_t size, bool write)
{
    if (!s->registered || !size) return true;
    return (s->bytes = registered_reach(s->registered, size, write)) != NULL;
}

CUresult span_find_again(struct span *s, size_t size, const struct device *d, bool write, struct span_pieces *pieces,
                         CUresult gone)
{
    char what[256];
    const CUdeviceptr p = s->passing;
    if (in_pool(s, size, d, write)) return CUDA_SUCCESS;
    pieces->member = s->member;
    CUresult r = span_find(p, size, d, write, s, pieces);
    if (r != CUDA_ERROR_INVALID_VALUE) return r;
    vmm_describe_any(p, d->ordinal, what, sizeof what);
    fl_log(FL_LOG_ERROR, "device %d, a copy or memset that waited in a stream: an illegal %s of %zu bytes at 0x%llx: %s",
           d->ordinal, write ? "write" : "read", size, p, what);
    return gone;
}
