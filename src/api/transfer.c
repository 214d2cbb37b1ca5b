/* See transfer.h. */
#include "api/transfer.h"
#include "space/space.h"
#include "stream/operations.h"

struct trace_record transfer_record(struct stream *s, bool asynchronous)
{
    if (!trace_wanted(TRACE_LISTEN_TRANSFERS)) return (struct trace_record){ .kind = 0 };
    const struct context *c = stream_context(s);
    return (struct trace_record){ .kind = TRACE_TRANSFER,
                                  .device = (uint8_t)c->device->ordinal,
                                  .count = (uint32_t)c->id,
                                  .thread = (uint32_t)stream_describe(s).id,
                                  .asynchronous = asynchronous };
}

enum trace_memory transfer_memory(uint64_t p, const struct device *d, uint8_t *processor)
{
    struct allocation a;
    *processor = 0;
    if (!space_look(p, &a)) return TRACE_MEMORY_PAGEABLE;
    if (a.kind == ALLOCATION_MANAGED) {
        *processor = (uint8_t)(1 + d->ordinal);
        return TRACE_MEMORY_MANAGED;
    }
    if (!a.device || a.kind == ALLOCATION_HOST || a.kind == ALLOCATION_REGISTERED) return TRACE_MEMORY_PINNED;
    *processor = (uint8_t)(1 + a.device->ordinal);
    return TRACE_MEMORY_DEVICE;
}

void transfer_end(const struct trace_record *r, uint64_t began, CUresult result)
{
    if (!r->kind || result) return;
    struct trace_record done = *r;
    done.time = began;
    done.end = trace_now();
    if (done.end <= began) done.end = began + 1; /* tools divide by it */
    trace_write(&done);
}
