/* Copies of every form: their sides are found and checked, and the stream
 * performs them through this process's aliases. */
#include "api/array.h"
#include "api/copy.h"
#include "api/transfer.h"
#include "base/log.h"
#include "context/context.h"
#include "stream/point.h"
#include "uvm/uvm.h"

#include <stdlib.h>
#include <string.h>

enum {
    SHORT = 64 << 10,         /* bytes that are copied sooner than a thread wakes up */
    STAGE = 1 << 20,          /* bytes of pageable memory at a time (observed on H200) */
    EARLY_MOST = 2 * STAGE,   /* bytes that are read early (observed on an H200) */
    /* bytes that an H200 copies from the host's memory by a kernel (observed by CUPTI) */
    BY_KERNEL_PAGEABLE = 64 << 10,
    BY_KERNEL_PINNED = 24 << 10,
    BY_KERNEL_MANAGED = 1 << 10,
};

static void copy_row(const struct copy *c, size_t to, size_t from)
{
    for (size_t done = 0, run; done < c->width; done += run) {
        run = c->width - done;
        char *t = span_reach(&c->to.span, c->pieces, to + done, &run);
        const char *f = span_reach(&c->from.span, c->pieces, from + done, &run);
        if (!c->to.pageable && !c->to.span.managed) backing_enlarge_pages(t, run);
        memmove(t, f, run);
    }
}

static size_t extent_of(const struct copy *c, const struct side *s)
{
    return (c->depth - 1) * s->slice + (c->height - 1) * s->pitch + c->width;
}

/* The copy engine of the side's device goes over managed memory; pageable memory comes and goes in pieces. */
static CUresult engine(const struct copy *c, const struct side *s, const struct side *other, bool write)
{
    if (!s->span.managed) return CUDA_SUCCESS;
    if (c->box) {
        const struct uvm_box box = { s->span.managed, c->width, s->pitch, c->height, s->slice, c->depth };
        return uvm_copy_engine_box(s->device->ordinal, &box, write ? UVM_COPIES_TO : UVM_COPIES_FROM);
    }
    size_t size = extent_of(c, s), step = other->pageable ? STAGE : size;
    CUresult r = CUDA_SUCCESS;
    for (size_t done = 0; done < size && !r; done += step)
        r = uvm_copy_engine(s->device->ordinal, s->span.managed + done, size - done < step ? size - done : step,
                            write ? UVM_COPIES_TO : UVM_COPIES_FROM);
    return r;
}

/* What is short, and said to be the host's, the processor reads, not an engine: if the program has unmapped it, that ends
 * the program (observed on an H200). */
static bool is_read_by_processor(const struct copy *c) { return c->from.as_host && extent_of(c, &c->from) <= SHORT; }

static CUresult perform_found(struct copy *c)
{
    if ((!is_read_by_processor(c) && !span_touch(&c->from.span, extent_of(c, &c->from), false)) ||
        !span_touch(&c->to.span, extent_of(c, &c->to), true))
        return CUDA_ERROR_LAUNCH_FAILED;
    CUresult r = engine(c, &c->from, &c->to, false);
    if (r || (r = engine(c, &c->to, &c->from, true))) return r;
    if (c->to.array || c->from.array) return copy_tiles(c);
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++)
            copy_row(c, z * c->to.slice + y * c->to.pitch, z * c->from.slice + y * c->from.pitch);
    return CUDA_SUCCESS;
}

/* malloc'd, NULL: no memory. */
static struct copy *with_pieces(const struct draft *d, size_t *size)
{
    const size_t bytes = d->pieces.count * sizeof *d->pieces.at;
    struct copy *c = malloc(*size = sizeof *c + bytes);
    if (!c) return NULL;
    *c = d->c;
    if (bytes) memcpy(c->pieces, d->pieces.at, bytes);
    return c;
}

/* On a GPU a kernel copies within devices, and an engine to and from the host; they fail in different ways (observed on
 * H200). */
static CUresult failure(const struct copy *c)
{
    const struct span *from = &c->from.span, *to = &c->to.span;
    return from->on_device && to->on_device ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_ERROR_LAUNCH_FAILED;
}

/* Both sides, for they share the array of pieces. */
static CUresult perform_again(const struct copy *old)
{
    size_t size;
    struct draft d = { .c = *old };
    struct copy *c = &d.c, *whole = NULL;
    CUresult r = CUDA_SUCCESS;
    if (c->from.span.passing)
        r = span_find_again(&c->from.span, extent_of(c, &c->from), c->from.device, false, &d.pieces, failure(old));
    if (!r && c->to.span.passing)
        r = span_find_again(&c->to.span, extent_of(c, &c->to), c->to.device, true, &d.pieces, failure(old));
    if (!r) r = (whole = with_pieces(&d, &size)) ? perform_found(whole) : CUDA_ERROR_OUT_OF_MEMORY;
    free(whole);
    free(d.pieces.at);
    return r;
}

/* Arrays that the copy is of stay until it is done; one that was destroyed meanwhile is not there. */
static CUresult hold_arrays(const struct copy *c)
{
    const struct side *to = &c->to, *from = &c->from;
    CUresult r = to->of ? array_get_again(to->of, to->life) : CUDA_SUCCESS;
    if (r || !from->of || !(r = array_get_again(from->of, from->life))) return r;
    return to->of ? array_end(to->of, r) : r;
}

static void release_arrays(const struct copy *c)
{
    if (c->to.of) array_end(c->to.of, CUDA_SUCCESS);
    if (c->from.of) array_end(c->from.of, CUDA_SUCCESS);
}

static CUresult perform(void *arg)
{
    struct copy *c = arg;
    const bool passing = c->from.span.passing || c->to.span.passing;
    if (c->staged) c->from.span.bytes = (char *)c + c->staged;
    if (hold_arrays(c)) {
        fl_log(FL_LOG_ERROR, "a copy that waited in a stream: its array was destroyed meanwhile");
        return CUDA_ERROR_LAUNCH_FAILED;
    }
    const uint64_t began = transfer_begin(&c->told);
    space_copy_begins(passing);
    CUresult r = span_changed(&c->from.span) || span_changed(&c->to.span) ? perform_again(c) : perform_found(c);
    space_copy_ends(passing);
    release_arrays(c);
    transfer_end(&c->told, began, r);
    return r;
}

/* Rows without a gap between them are one row. */
static void flatten(struct copy *c)
{
    c->box = c->height > 1 || c->depth > 1;
    if (c->to.array || c->from.array) return;
    if (c->to.pitch == c->width && c->from.pitch == c->width &&
        (c->depth == 1 || (c->to.slice == c->width * c->height && c->from.slice == c->to.slice))) {
        c->width *= c->height * c->depth;
        c->height = c->depth = 1;
    }
}

/* The copy has its source with it, without the gaps: nobody waits until the stream comes to it. It is the processor that
 * reads it: what the program has unmapped ends the program (observed on an H200). */
static CUresult enqueue_staged(struct stream *s, const struct copy *c, size_t size)
{
    const size_t row = c->width, slice = row * c->height, all = slice * c->depth;
    struct copy *whole = malloc(size + all);
    if (!whole) return CUDA_ERROR_OUT_OF_MEMORY;
    char *to = (char *)whole + size;
    memcpy(whole, c, size);
    struct span *from = &whole->from.span;
    whole->staged = size;
    from->passing = from->registered = 0; /* it is needed no more */
    whole->from.pitch = row;
    whole->from.slice = slice;
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++)
            memcpy(to + z * slice + y * row, from->bytes + z * c->from.slice + y * c->from.pitch, row);
    CUresult r = stream_enqueue_short(s, perform, whole, size + all);
    free(whole);
    return r;
}

static bool of_host(const struct side *s) { return s->pageable || s->span.host; }
static bool waited_for(const struct side *s) { return s->pageable || s->span.waits; }

/* Managed memory that the call takes for the host's is not a device's then. */
static bool hides(const struct side *s) { return s->as_host && s->span.managed; }

/* Whether the source is read before the stream comes to it. */
static bool is_read_early(const struct copy *c, enum copy_when when)
{
    const struct side *to = &c->to, *from = &c->from;
    const bool may = when == COPY_READ_NOW ? from->pageable || (from->span.host && !waited_for(to))
                     : when == COPY_ASYNC  ? from->pageable && !to->span.host && !hides(to)
                                           : when == COPY_ANY_TIME && from->pageable;
    const size_t most = from->pageable ? EARLY_MOST : SHORT;
    return may && from->span.count == 1 && !from->span.ordinary && !to->pageable && c->width <= most &&
           c->height <= most && c->depth <= most && c->width * c->height * c->depth <= most;
}

static bool caller_waits(const struct stream *s, const struct copy *c, enum copy_when when)
{
    const struct side *to = &c->to, *from = &c->from;
    switch (when) {
    case COPY_NOW:
        return waited_for(to) || waited_for(from) || atomic_load(&stream_context(s)->flags) & CU_CTX_SYNC_MEMOPS;
    case COPY_ASYNC:
        return to->pageable || from->pageable || (of_host(to) && of_host(from)) || hides(to) || hides(from);
    case COPY_READ_NOW: return true;
    default: return to->pageable || from->pageable;
    }
}

static CUresult enqueue(struct stream *s, const struct copy *c, size_t size, enum copy_when when)
{
    const bool few = c->width * c->height * c->depth <= SHORT;
    /* much is copied twice only if there is something to wait for */
    if (is_read_early(c, when) && (few || !context_idle(stream_context(s)))) return enqueue_staged(s, c, size);
    if (caller_waits(s, c, when)) return stream_run(s, perform, c);
    /* who might have waited may do it himself, however much it is */
    return few || when == COPY_NOW ? stream_enqueue_short(s, perform, c, size) : stream_enqueue(s, perform, c, size);
}

/* The other device's default stream, for a copy that is issued into one. */
static struct stream *legacy_beyond(const struct side *side, struct stream *s)
{
    struct stream *other = NULL;
    struct context *c = side->span.context;
    if (!c || c->device == stream_context(s)->device || !stream_is_legacy(s) || atomic_load(&c->destroyed)) return NULL;
    return stream_get(c, CU_STREAM_LEGACY, false, &other) ? NULL : other;
}

/* Of a context that ends meanwhile nothing is left to come after. */
static bool has_ended(CUresult r) { return r == CUDA_ERROR_INVALID_HANDLE || r == CUDA_ERROR_CONTEXT_IS_DESTROYED; }

static CUresult come_after(struct stream *s, struct stream *other)
{
    struct mark *m;
    if (!s || !other) return CUDA_SUCCESS;
    CUresult r = stream_mark(other, &m);
    if (r) return has_ended(r) ? CUDA_SUCCESS : r;
    r = stream_follow(s, m);
    point_release(m);
    return has_ended(r) ? CUDA_SUCCESS : r;
}

/* In the default stream a copy between devices comes after all that was issued to either, and before all that follows. */
static CUresult enqueue_in_order(struct stream *s, const struct copy *c, size_t size, enum copy_when when)
{
    struct stream *to = legacy_beyond(&c->to, s), *from = legacy_beyond(&c->from, s);
    CUresult r = come_after(s, to);
    if (!r) r = come_after(s, from);
    if (!r) r = enqueue(s, c, size, when);
    if (!r) r = come_after(to, s);
    return r ? r : come_after(from, s);
}

static enum trace_memory memory_of(const struct side *s, const struct array *array, const struct device *d,
                                   uint8_t *processor)
{
    if (!array) return transfer_memory(s->address, d, processor);
    *processor = (uint8_t)(1 + d->ordinal);
    return TRACE_MEMORY_ARRAY;
}

/* Managed memory is what the call says that it is. */
static bool engine_copies(const struct copy *c, const struct trace_record *r)
{
    const bool managed_to = r->to == TRACE_MEMORY_MANAGED, managed_from = r->from == TRACE_MEMORY_MANAGED;
    const bool to_host = managed_to ? c->to.as_host : !r->processor, from_host = managed_from ? c->from.as_host : !r->source;
    const uint64_t few = managed_from                         ? BY_KERNEL_MANAGED
                         : r->from == TRACE_MEMORY_PAGEABLE ? BY_KERNEL_PAGEABLE
                                                              : BY_KERNEL_PINNED;
    if (to_host == from_host || (managed_to && !to_host) || (managed_from && !from_host)) return false;
    return to_host || r->to == TRACE_MEMORY_ARRAY || c->box || r->bytes > few;
}

/* Whose managed memory is, how a GPU copies: observed on an H200 by CUPTI. */
static struct trace_record record_of(struct stream *s, const struct draft *draft, enum copy_when when)
{
    const struct copy *c = &draft->c;
    const struct device *d = stream_context(s)->device;
    struct trace_record r = transfer_record(s, when != COPY_NOW);
    if (!r.kind) return r;
    r.address = c->to.address;
    r.batch = c->from.address;
    r.bytes = c->width * c->height * c->depth;
    r.to = memory_of(&c->to, draft->arrays[0], d, &r.processor);
    r.from = memory_of(&c->from, draft->arrays[1], d, &r.source);
    if (c->to.as_host && !r.source) r.processor = 0;
    if (c->from.as_host && !r.processor) r.source = 0;
    r.engine = engine_copies(c, &r);
    return r;
}

_Thread_local bool copy_only_checked;

CUresult copy_submit(CUstream stream, struct draft *d, enum copy_when when)
{
    struct context *k;
    struct stream *s;
    CUresult r = stream_caller_outside(stream, &k);
    if (copy_only_checked) return r;
    if (d->c.to.span.dormant || d->c.from.span.dormant) return CUDA_ERROR_INVALID_VALUE;
    if (r || (r = stream_get(k, stream, false, &s))) return r;
    flatten(&d->c);
    d->c.told = record_of(s, d, when);
    if (!d->pieces.count) return enqueue_in_order(s, &d->c, sizeof d->c, when);
    size_t size;
    struct copy *c = with_pieces(d, &size);
    if (!c) return CUDA_ERROR_OUT_OF_MEMORY;
    r = enqueue_in_order(s, c, size, when);
    free(c);
    return r;
}

/* ---- one side */

static CUresult found_side(struct draft *d, CUdeviceptr p, size_t extent, struct side *s)
{
    CUresult r = span_find(p, extent, s->device, s == &d->c.to, &s->span, &d->pieces);
    s->pageable = !r && s->span.ordinary;
    s->address = p;
    return r;
}

/* Memory of the host's pools is at no device's address, whoever may touch it (observed on an H200). */
CUresult copy_device_side(struct draft *d, CUdeviceptr p, size_t extent, struct side *s)
{
    struct allocation a;
    if (space_glance(p, &a) && a.pool && !a.device && a.kind != ALLOCATION_MANAGED) return CUDA_ERROR_INVALID_VALUE;
    return found_side(d, p, extent, s);
}

/* Host memory, or what a unified address means. */
CUresult copy_any_side(struct draft *d, uint64_t p, size_t extent, struct side *s)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    /* where nothing is allocated any more, or mapped, the host cannot look either */
    if (space_is_ours(p) || space_find(p)) return found_side(d, p, extent, s);
    s->span = (struct span){ .bytes = (char *)p, .count = 1 };
    s->pageable = true;
    s->address = p;
    return CUDA_SUCCESS;
}
