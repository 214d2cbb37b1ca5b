/* Event management: the checks of arguments, in the driver's order. */
#include "graph/capture.h"
#include "mempool/mempool.h"
#include "stream/event.h"
#include "stream/point.h"

static CUresult named(CUevent handle, struct event **out)
{
    struct context *c;
    /* the event has its own, also in a host function (observed on H200) */
    CUresult r = stream_in_host_function() ? sticky_get() : context_optional(&c);
    return r ? r : event_get(handle, out);
}

CUresult CUDAAPI cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    struct context *c;
    struct event *e;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!phEvent || Flags & ~(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS))
        return CUDA_ERROR_INVALID_VALUE;
    if (Flags & CU_EVENT_INTERPROCESS && !(Flags & CU_EVENT_DISABLE_TIMING)) return CUDA_ERROR_INVALID_VALUE;
    r = event_create(c, Flags, &e);
    if (!r) *phEvent = (CUevent)e;
    return r;
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent hEvent)
{
    struct event *e;
    CUresult r = named(hEvent, &e);
    if (r) return r;
    capture_forget_event(e); /* before somebody else's new event can have its handle */
    return event_destroy(e);
}

CUresult CUDAAPI cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
    struct context *c;
    struct event *e;
    struct stream *s;
    CUresult r = stream_caller(hStream, &c);
    if (r) return r;
    if (!hEvent) return CUDA_ERROR_INVALID_HANDLE;
    if (flags & ~CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    if ((r = event_get(hEvent, &e)) || (r = stream_get(c, hStream, false, &s))) return r;
    if (event_context(e) != stream_context(s)) return CUDA_ERROR_INVALID_HANDLE;
    if (capture_record(e, s, flags, &r)) return r;
    return flags ? CUDA_ERROR_ILLEGAL_STATE : event_record(e, s);
}

CUresult CUDAAPI cuEventRecord(CUevent hEvent, CUstream hStream)
{
    return cuEventRecordWithFlags(hEvent, hStream, CU_EVENT_RECORD_DEFAULT);
}

CUresult CUDAAPI cuEventQuery(CUevent hEvent)
{
    struct event *e;
    CUresult r = named(hEvent, &e);
    return r || (r = capture_refuse_event(e)) || (r = capture_refuse_unsafe()) ? r : event_query(e);
}

CUresult CUDAAPI cuEventSynchronize(CUevent hEvent)
{
    struct event *e;
    struct mark *reached;
    CUresult r = named(hEvent, &e);
    if (r || (r = capture_refuse_event(e)) || (r = capture_refuse_unsafe())) return r;
    if (!(r = event_synchronize(e, &reached))) mempool_reached(reached);
    if (reached) point_release(reached);
    return r;
}

/* Whether there is a time, of either event before the other is looked at (observed on H200). */
static CUresult may_tell(struct event *e)
{
    CUresult r = capture_check_event(e);
    if (r) return r;
    return event_flags(e) & CU_EVENT_DISABLE_TIMING || !event_was_recorded(e) ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    struct event *start, *end;
    CUresult r = named(hStart, &start);
    if (r || (r = named(hEnd, &end))) return r;
    if (event_context(start) != event_context(end)) return CUDA_ERROR_INVALID_HANDLE;
    if ((r = may_tell(start)) || (r = may_tell(end))) return r;
    return pMilliseconds ? event_elapsed(start, end, pMilliseconds) : CUDA_ERROR_INVALID_HANDLE;
}
