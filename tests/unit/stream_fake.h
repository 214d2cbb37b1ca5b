/* A processor without a device: kernels are functions of the test, each
 * channel is a thread. Enough of context and space to run src/stream alone. */
#ifndef STREAM_FAKE_H
#define STREAM_FAKE_H

#include "context/context.h"
#include "stream/event.h"
#include "stream/operations.h"
#include "stream/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

typedef void kernel(void *arg);

struct context *fake_context(void);            /* a new one on the fake device */
void fake_context_destroy(struct context *c);
CUresult fake_launch(struct stream *s, kernel *k, void *arg);
void fake_kill(CUresult error);                /* the processor dies of it */
void fake_refuse(CUresult error);              /* kernels cannot be sent to it: this is why */
void fake_revive(void);
unsigned fake_channels_open(void);
/* Of the calling thread: what it does before it waits for a device; how often it still finds undone what is done, as if it
 * had looked a moment earlier. */
extern _Thread_local void (*fake_before_wait)(void);
extern _Thread_local unsigned fake_misses;

/* What most tests have: a context, and kernels that wait at a gate until the test opens it. */
extern struct context *c;
extern _Atomic bool gate;
extern _Atomic int count;                      /* of kernels that have passed it */
int setup(void **state);
int teardown(void **state);
void gated(void *arg);

struct stream *new_stream(struct context *c, unsigned flags);
struct stream *legacy(struct context *c);
struct event *new_event(struct context *c, unsigned flags);
void nap(unsigned ms);
double now_ms(void);

#endif
