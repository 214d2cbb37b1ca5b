/* Events: a handle for a point in a stream's order, that of its last record. */
#ifndef FL_STREAM_EVENT_H
#define FL_STREAM_EVENT_H

#include "stream/stream.h"

struct event;
struct mark;
struct beacon;
struct green;

/* Flags are checked by the caller. */
CUresult event_create(struct context *c, unsigned flags, struct event **out);
/* An event whose state is another process's; the beacon's reference is taken over. left(arg) is called when it is
 * destroyed, or at once on failure. */
CUresult event_adopt(struct context *c, struct beacon *b, void (*left)(void *arg), void *arg, struct event **out);
struct beacon *event_beacon(const struct event *e); /* NULL: not interprocess */
bool event_adopted(const struct event *e);
/* Unique in the process; 0: the event was destroyed. */
uint64_t event_id(const struct event *e);
CUresult event_get(CUevent handle, struct event **out);   /* CUDA_ERROR_INVALID_HANDLE */
CUresult event_destroy(struct event *e);
struct context *event_context(const struct event *e);
unsigned event_flags(const struct event *e);

/* It was last recorded in a capture that is over: nothing can be asked of it. */
bool event_was_captured(const struct event *e);
void event_set_captured(struct event *e, bool captured);

bool event_was_recorded(struct event *e);
CUresult event_record(struct event *e, struct stream *s);
/* CUDA_ERROR_NOT_READY until what was recorded last is done. */
CUresult event_query(struct event *e);
/* *reached: a reference to the point that was waited for; NULL: there was none, or it is another process's.
 * reached may be NULL. */
CUresult event_synchronize(struct event *e, struct mark **reached);
/* CUDA_ERROR_INVALID_HANDLE: never recorded, of two devices, or without times; CUDA_ERROR_NOT_READY. */
CUresult event_elapsed(struct event *start, struct event *end, float *ms);
/* What is issued into s from now on comes after e's last record. */
CUresult stream_wait_event(struct stream *s, struct event *e);

/* cuCtxRecordEvent, cuCtxWaitEvent: of all streams of c, or, g not NULL, of that green context's streams and the default
 * streams. What waits may be more than that. */
CUresult context_record(struct context *c, const struct green *g, struct event *e);
CUresult context_wait(struct context *c, const struct green *g, struct event *e);

/* The events of a dying context; with its set's lock. */
void events_invalidate(struct stream_set *set);

#endif
