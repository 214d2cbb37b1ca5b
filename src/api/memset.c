/* Memsets: checked, then done by the stream through this process's alias. */
#include "api/node_check.h"
#include "api/span.h"
#include "api/transfer.h"
#include "context/context.h"
#include "graph/capture.h"
#include "stream/stream.h"
#include "uvm/uvm.h"

#include <stdlib.h>
#include <string.h>

enum { SHORT = 64 << 10, FEW = 4 << 10 };
struct fill {
    struct span span;
    int device; /* whose copy engine fills */
    size_t pitch, width, height;
    unsigned unit;
    uint32_t value;
    struct trace_record told; /* transfer.h */
    struct vmm_piece pieces[];
};

static void fill_run(char *bytes, size_t n, const struct fill *f)
{
    if (f->unit == 1) {
        memset(bytes, (int)f->value, n);
    } else if (f->unit == 2) {
        uint16_t *p = (uint16_t *)bytes;
        for (size_t k = 0; k < n / 2; k++) p[k] = (uint16_t)f->value;
    } else {
        uint32_t *p = (uint32_t *)bytes;
        for (size_t k = 0; k < n / 4; k++) p[k] = f->value;
    }
}

static size_t extent_of(const struct fill *f) { return (f->height - 1) * f->pitch + f->width * f->unit; }

static CUresult engine(const struct fill *f)
{
    const size_t width = f->width * f->unit;
    const struct uvm_box box = { f->span.managed, width, f->pitch, f->height, 0, 1 };
    if (!f->span.managed) return CUDA_SUCCESS;
    if (extent_of(f) == width * f->height) return uvm_copy_engine(f->device, box.va, extent_of(f), UVM_FILLS);
    return uvm_copy_engine_box(f->device, &box, UVM_FILLS);
}

static CUresult perform_found(struct fill *f)
{
    if (!span_touch(&f->span, extent_of(f), true)) return CUDA_ERROR_LAUNCH_FAILED;
    CUresult r = engine(f);
    if (r) return r;
    for (size_t y = 0; y < f->height; y++)
        for (size_t done = 0, run; done < f->width * f->unit; done += run) {
            run = f->width * f->unit - done;
            char *bytes = span_reach(&f->span, f->pieces, y * f->pitch + done, &run);
            if (!f->span.managed && !f->span.ordinary) backing_enlarge_pages(bytes, run);
            fill_run(bytes, run, f);
        }
    return CUDA_SUCCESS;
}

/* malloc'd, NULL: no memory. */
static struct fill *with_pieces(const struct fill *f, const struct span_pieces *pieces, size_t *size)
{
    const size_t bytes = pieces->count * sizeof *pieces->at;
    struct fill *whole = malloc(*size = sizeof *whole + bytes);
    if (!whole) return NULL;
    *whole = *f;
    if (bytes) memcpy(whole->pieces, pieces->at, bytes);
    return whole;
}

/* A GPU has a kernel for all but a few bytes, and kernels fail in another way (observed on H200). */
static CUresult perform_again(struct fill f)
{
    size_t size;
    struct span_pieces pieces = { .count = 0 };
    const bool few = f.height == 1 && f.width * f.unit <= FEW;
    CUresult r = span_find_again(&f.span, extent_of(&f), &devices[f.device], true, &pieces,
                                 few ? CUDA_ERROR_LAUNCH_FAILED : CUDA_ERROR_ILLEGAL_ADDRESS);
    struct fill *whole = r ? NULL : with_pieces(&f, &pieces, &size);
    if (!r) r = whole ? perform_found(whole) : CUDA_ERROR_OUT_OF_MEMORY;
    free(whole);
    free(pieces.at);
    return r;
}

static CUresult perform(void *arg)
{
    struct fill *f = arg;
    const bool passing = f->span.passing;
    const uint64_t began = transfer_begin(&f->told);
    space_copy_begins(passing);
    CUresult r = span_changed(&f->span) ? perform_again(*f) : perform_found(f);
    space_copy_ends(passing);
    transfer_end(&f->told, began, r);
    return r;
}

static CUresult enqueue(struct stream *s, const struct fill *f, size_t size, bool async)
{
    const bool waits = f->span.waits || atomic_load(&stream_context(s)->flags) & CU_CTX_SYNC_MEMOPS;
    if ((!async && waits) || f->span.ordinary) return stream_run(s, perform, f);
    return !async || f->width * f->unit * f->height <= SHORT ? stream_enqueue_short(s, perform, f, size)
                                                   : stream_enqueue(s, perform, f, size);
}

static CUresult submit(struct stream *s, const struct fill *f, const struct span_pieces *pieces, bool async)
{
    if (f->span.dormant) return CUDA_ERROR_INVALID_VALUE;
    if (!pieces->count) return enqueue(s, f, sizeof *f, async);
    size_t size;
    struct fill *whole = with_pieces(f, pieces, &size);
    if (!whole) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = enqueue(s, whole, size, async);
    free(whole);
    return r;
}

/* As span_find. A device fills no memory of the host's pools without access to them (observed on an H200). */
static CUresult find(CUdeviceptr dst, size_t extent, const struct context *c, struct span *span,
                     struct span_pieces *pieces)
{
    struct allocation a;
    const struct device *d = c->device;
    if (space_glance(dst, &a) && space_is_private(&a, c)) return CUDA_ERROR_INVALID_VALUE;
    if (space_glance(dst, &a) && a.pool && !a.device && space_look(dst, &a) &&
        !(space_access(&a, d) & PROT_DEVICE_WRITE))
        return CUDA_ERROR_INVALID_VALUE;
    return span_find(dst, extent, d, true, span, pieces);
}

/* A device, the stream's, fills memory of another one only if they are peers; a node of a graph may (observed on H200). */
static bool out_of_reach(CUdeviceptr dst, struct context *c, CUstream stream)
{
    struct allocation a;
    struct stream *s;
    const struct device *d = (stream_get(c, stream, false, &s) ? c : stream_context(s))->device;
    return space_glance(dst, &a) && a.kind == ALLOCATION_DEVICE && a.device != d && space_look(dst, &a) &&
           !(space_access(&a, d) & PROT_DEVICE_WRITE);
}

/* Whether all that is to be filled is there. */
static CUresult check(CUdeviceptr dst, size_t extent, const struct context *c)
{
    struct span span;
    struct span_pieces pieces = { .member = 0 };
    CUresult r = find(dst, extent, c, &span, &pieces);
    free(pieces.at);
    return r;
}

/* Whether the memset becomes a node. What is there is seen when the graph is launched (observed on H200). */
static bool captured(const struct fill *f, CUdeviceptr dst, size_t pitch, struct context *c, CUstream stream,
                     CUresult *r)
{
    struct stream *s;
    const CUgraphNodeParams node = { .type = CU_GRAPH_NODE_TYPE_MEMSET,
                                     .memset = { dst, pitch, f->value, f->unit, f->width, f->height, (CUcontext)c } };
    if ((*r = stream_get(c, stream, false, &s))) return true;
    return capture_node(s, &node, r);
}

CUresult memset_check(const CUDA_MEMSET_NODE_PARAMS_v2 *p)
{
    struct context *c, *own;
    size_t extent, bytes;
    CUresult r = context_optional(&c);
    if (r) return r;
    if (!(r = context_check(p->ctx, &own))) c = own; /* observed on H200 */
    if (!c) return r;
    if (__builtin_mul_overflow(p->width, (size_t)p->elementSize, &bytes) ||
        __builtin_mul_overflow(p->height > 1 ? p->pitch : 0, p->height - 1, &extent) ||
        __builtin_add_overflow(extent, bytes, &extent))
        return CUDA_ERROR_INVALID_VALUE;
    return check(p->dst, extent, c);
}

static struct trace_record record_of(struct stream *s, const struct fill *f, CUdeviceptr dst, bool async)
{
    struct trace_record r = transfer_record(s, async);
    if (!r.kind) return r;
    r.address = dst;
    r.batch = f->value;
    r.bytes = f->width * f->unit * f->height;
    r.to = transfer_memory(dst, stream_context(s)->device, &r.processor);
    return r;
}

/* The stream's context fills, whichever is current (observed on H200). */
static CUresult start(struct fill *f, CUdeviceptr dst, size_t extent, struct context *c, CUstream stream, bool async)
{
    struct stream *s;
    const CUresult no_stream = stream_get(c, stream, false, &s);
    CUresult r = CUDA_SUCCESS;
    if (!no_stream) {
        c = stream_context(s);
        f->told = record_of(s, f, dst, async);
    }
    f->device = c->device->ordinal;
    for (unsigned k = 0, n = span_members(dst); k < n && !r; k++) {
        struct span_pieces pieces = { .member = k };
        if (!(r = find(dst, extent, c, &f->span, &pieces)) && !(r = no_stream)) r = submit(s, f, &pieces, async);
        free(pieces.at);
    }
    return r;
}

CUresult memset_perform(const CUDA_MEMSET_NODE_PARAMS_v2 *p, CUstream stream)
{
    const size_t row = p->width * p->elementSize, pitch = p->height > 1 ? p->pitch : row;
    struct fill f = {
        .pitch = pitch, .width = p->width, .height = p->height, .unit = p->elementSize, .value = p->value
    };
    struct context *c;
    CUresult r = context_current(&c);
    if (r || !p->width || !p->height) return r;
    return start(&f, p->dst, pitch * (p->height - 1) + row, c, stream, true);
}

static CUresult nothing(struct context *c, CUstream stream)
{
    struct stream *s;
    if (!capture_any()) return CUDA_SUCCESS;
    CUresult r = stream_get(c, stream, false, &s);
    return r ? r : capture_order(s);
}

/* pitch 0: one row. */
static CUresult fill(CUdeviceptr dst, size_t pitch, unsigned unit, uint32_t value, size_t width, size_t height,
                     bool rows, CUstream stream, bool async)
{
    struct context *c;
    struct fill f = { .pitch = pitch, .width = width, .height = height, .unit = unit, .value = value };
    size_t bytes, extent;
    CUresult r = stream_caller(stream, &c);
    if (r) return r;
    if (!width || !height) return nothing(c, stream);
    if (dst % unit || __builtin_mul_overflow(width, (size_t)unit, &bytes)) return CUDA_ERROR_INVALID_VALUE;
    if (rows && height > 1 && (pitch % unit || pitch < bytes)) return CUDA_ERROR_INVALID_VALUE;
    if (height == 1) f.pitch = bytes;
    if (__builtin_mul_overflow(f.pitch, height - 1, &extent) || __builtin_add_overflow(extent, bytes, &extent))
        return CUDA_ERROR_INVALID_VALUE;
    if (capture_any() && captured(&f, dst, pitch, c, stream, &r)) return r;
    if (device_count > 1 && out_of_reach(dst, c, stream)) return CUDA_ERROR_INVALID_VALUE;
    return start(&f, dst, extent, c, stream, async);
}

CUresult CUDAAPI cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
    return fill(dstDevice, 0, 1, uc, N, 1, false, NULL, false);
}
CUresult CUDAAPI cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N)
{
    return fill(dstDevice, 0, 2, us, N, 1, false, NULL, false);
}
CUresult CUDAAPI cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
    return fill(dstDevice, 0, 4, ui, N, 1, false, NULL, false);
}
CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
    return fill(dstDevice, 0, 1, uc, N, 1, false, hStream, true);
}
CUresult CUDAAPI cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream)
{
    return fill(dstDevice, 0, 2, us, N, 1, false, hStream, true);
}
CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
{
    return fill(dstDevice, 0, 4, ui, N, 1, false, hStream, true);
}
CUresult CUDAAPI cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height)
{
    return fill(dstDevice, dstPitch, 1, uc, Width, Height, true, NULL, false);
}
CUresult CUDAAPI cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                                  size_t Height)
{
    return fill(dstDevice, dstPitch, 2, us, Width, Height, true, NULL, false);
}
CUresult CUDAAPI cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height)
{
    return fill(dstDevice, dstPitch, 4, ui, Width, Height, true, NULL, false);
}
CUresult CUDAAPI cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
                                   size_t Height, CUstream hStream)
{
    return fill(dstDevice, dstPitch, 1, uc, Width, Height, true, hStream, true);
}
CUresult CUDAAPI cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                                    size_t Height, CUstream hStream)
{
    return fill(dstDevice, dstPitch, 2, us, Width, Height, true, hStream, true);
}
CUresult CUDAAPI cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
                                    size_t Height, CUstream hStream)
{
    return fill(dstDevice, dstPitch, 4, ui, Width, Height, true, hStream, true);
}
