/* What a stream promises to the rest of the library. For now everything is
 * done at once, in the calling thread. */
#include "stream/stream.h"

#include <stdlib.h>

struct stream { struct context *context; uint32_t channel; };
struct stream_set { struct stream legacy; };

CUresult stream_set_create(struct context *c)
{
    c->streams = calloc(1, sizeof *c->streams);
    if (!c->streams)
        return CUDA_ERROR_OUT_OF_MEMORY;
    c->streams->legacy.context = c;
    return CUDA_SUCCESS;
}

void stream_set_destroy(struct context *c)
{
    free(c->streams);
    c->streams = NULL;
}

CUresult stream_get(struct context *c, CUstream handle, bool per_thread, struct stream **out)
{
    (void)handle, (void)per_thread;
    *out = &c->streams->legacy;
    return CUDA_SUCCESS;
}

CUresult stream_run(struct stream *s, stream_work *run, const void *arg, size_t size)
{
    (void)s, (void)size;
    return run((void *)arg);
}

CUresult stream_enqueue(struct stream *s, stream_work *run, const void *arg, size_t size)
{
    return stream_run(s, run, arg, size);
}

CUresult stream_launch(struct stream *s, const struct launch *l)
{
    struct processor *p = s->context->device->processor;
    CUresult r;
    if (!s->channel && (r = processor_channel_open(p, &s->channel)))
        return r;
    uint64_t seq = processor_launch(p, s->channel, l);
    return seq ? processor_wait(p, s->channel, seq) : processor_status(p);
}

CUresult stream_synchronize(struct stream *s)
{
    return s->context->device->processor ? processor_status(s->context->device->processor) : CUDA_SUCCESS;
}

CUresult context_synchronize(struct context *c)
{
    return stream_synchronize(&c->streams->legacy);
}
