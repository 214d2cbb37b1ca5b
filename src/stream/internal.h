/* What the files of this folder share: the stream, its queue, and marks. The
 * rest of the library sees stream.h, event.h and operations.h.
 *
 * A stream's operations are counted. Work of the host is done by whoever holds
 * the stream's turn: its worker thread, or a thread that waits for the stream
 * anyway. issued and retired count what needs a turn, in order; while they
 * differ everything new is queued behind it. While they are equal a kernel
 * goes straight into the channel, and `last` is the channel's newest command.
 * So a stream is idle when issued == retired and the channel has done `last`,
 * which is seen without a lock.
 *
 * A mark is a point in a stream's order that others wait for: an event's
 * record, or what an operation of another stream must come after. It is
 * QUEUED (an item of the queue), then SUBMITTED (done when the channel has
 * done seq), then DONE, for ever. A stream is released only when all its marks
 * are done, so a mark may point to its stream.
 *
 * Locks, outermost first: a stream's order, set, a stream's lock. Two locks of
 * one kind are never held together. */
#ifndef FL_STREAM_INTERNAL_H
#define FL_STREAM_INTERNAL_H

#include "base/objects.h"
#include "stream/operations.h"
#include "stream/stream.h"
#include "trace/trace.h"

struct item;

enum stream_kind { STREAM_LEGACY, STREAM_GREEN /* a green context's default stream */, STREAM_PER_THREAD, STREAM_CREATED,
                   STREAM_LANE /* the library's own */ };

/* Points of other streams that come before: see point.c. number 0: no entry. */
enum { CLOCK_ENTRIES = 8 };
struct clock_entry { uint64_t id, number; };
struct clock { struct clock_entry entry[CLOCK_ENTRIES]; };

struct stream_attributes {
    CUaccessPolicyWindow window;
    CUsynchronizationPolicy synchronization;
    CUlaunchMemSyncDomainMap domain_map;
    CUlaunchMemSyncDomain domain;
};

/* A state of another stream that this one already waits for. */
struct seen { uint64_t issued, last; };

struct stream {
    struct object_link link;
    _Atomic uint64_t id;           /* unique in the process; 0: the handle is not valid */
    struct stream_set *_Atomic set; /* this, its kind, flags and green one are looked at without its lock, too (point.c) */
    struct stream *next, **from;   /* in the set's list */
    struct stream *next_gone;      /* of those without a handle */
    struct stream *next_busy, **from_busy; /* while it is listed: see busy.c */
    _Atomic enum stream_kind kind;
    _Atomic unsigned flags;
    int priority;
    struct green *_Atomic green;   /* whose it is, and its number then; NULL: an ordinary context's */
    unsigned long long green_id;
    _Atomic unsigned long long outlived_by; /* it ended with that: the primary context's number; else 0 */

    pthread_mutex_t order;         /* held from finding out what an operation must wait for until
                                      it is issued; guards from_legacy, in legacy everyone's to_legacy */
    struct seen from_legacy, to_legacy;

    pthread_mutex_t lock;          /* guards all below */
    pthread_cond_t work;           /* the worker sleeps here */
    pthread_cond_t changed;        /* retired, turn, worker or pins changed */
    struct item *first, **end;     /* the queue, without the item in progress */
    _Atomic uint64_t issued, retired;
    bool turn;                     /* taken */
    bool worker, quit;             /* a worker thread exists; it is to end now */
    unsigned sleepers;             /* on changed */
    uint64_t awaited;              /* no sleeper waits for an operation before this one */
    unsigned pins;                 /* reasons not to release the stream */
    bool open;
    bool listed;                   /* among the set's busy streams; always if it is not idle */
    uint32_t channel;
    _Atomic uint64_t last;         /* newest command in the channel, 0: none yet */
    _Atomic uint64_t last_kernel;  /* newest one that is a kernel; */
    _Atomic bool sending;          /* one is being sent, and may run already; */
    _Atomic unsigned kernels;      /* so many are queued */
    _Atomic uint64_t looked_at;    /* what it was when channel_throttle last did something */
    struct mark *marks, **marks_end; /* SUBMITTED ones, oldest first */
    struct stream_attributes attributes;
    _Atomic uint64_t points;       /* that were taken */
    uint64_t after_legacy;         /* how many the legacy stream had when something was last issued here that orders with it */
    struct clock clock;
};

struct mark;
struct marks { unsigned count, capacity; struct mark **mark; struct mark *inlined[4]; };

struct stream_set {
    struct object_link link;
    struct context *context;
    pthread_mutex_t lock;          /* guards the lists */
    struct stream *streams;        /* all that are not released; legacy is the last */
    struct event *events;
    struct stream *legacy;
    struct marks gate;             /* what new streams wait for: see context_event.c */
    struct stream *gone, **gone_end; /* those of them without a handle: a queue */
    struct stream *busy;           /* those of them that are listed, */
    _Atomic(struct stream *) newcomers; /* but for these, which need no lock */
    _Atomic unsigned blocking;     /* streams that order with legacy */
    _Atomic bool dying;
};

static inline struct processor *stream_processor(const struct stream *s)
{
    return s->set->context->device->processor;
}

/* None of a green context does, whatever its flags say (observed on H200). */
static inline bool stream_orders_with_legacy(const struct stream *s)
{
    return s->kind != STREAM_LEGACY && !s->green && !(s->flags & CU_STREAM_NON_BLOCKING);
}

/* With the stream's lock, as something is issued. */
static inline void note_legacy(struct stream *s)
{
    if (stream_orders_with_legacy(s))
        s->after_legacy = atomic_load_explicit(&s->set->legacy->points, memory_order_acquire);
}

/* --- stream.c --- */
struct stream_traits {
    enum stream_kind kind;
    unsigned flags;
    int priority;
    struct green *green; /* or NULL */
};
CUresult stream_new(struct stream_set *set, const struct stream_traits *traits, struct stream **out);
/* What is answered of a stream that is not valid: CUDA_ERROR_INVALID_HANDLE, or CUDA_ERROR_CONTEXT_IS_DESTROYED. */
CUresult stream_refusal(const struct stream *s);
/* As stream_destroy, for a per-thread stream too, if it still is the one with that id. */
CUresult stream_end(struct stream *s, uint64_t id);
/* With the lock: a pinned stream is not released. */
void stream_unpin(struct stream *s);
/* A worker's last act: it holds a pin and no lock. */
void stream_leave(struct stream *s);
/* Releases streams without a handle whose work is done, of the next most that there are. With the set's lock. */
void streams_reap(struct stream_set *set, unsigned most);

/* --- local.c --- */
CUresult stream_of_thread(struct context *c, struct stream **out);

/* --- busy.c --- */
/* With the lock: the stream gets work. */
void busy_join(struct stream *s);
/* Its work is done. With the set's lock, too. */
void busy_leave(struct stream *s);
/* Those that were not idle just now, with the set's lock. It may be dropped meanwhile if s is pinned. */
struct stream *busy_first(struct stream_set *set);
struct stream *busy_next(struct stream *s);

/* --- sync.c --- */
bool stream_idle(struct stream *s);
/* What streams were lent of managed memory is the host's again, where their kernels are done: somebody has waited. */
void streams_take_back(struct stream_set *set);
/* Work is known to have ended: what kernels have faulted on is decided, unless one still runs on the set's device. */
void streams_settle(struct stream_set *set);
/* Both, for a host that knows it: a copy was waited for, an event was asked for. */
void streams_seen(struct stream_set *set);

/* --- mark.c --- */
enum mark_state { MARK_QUEUED, MARK_SUBMITTED, MARK_DONE };
struct mark {
    _Atomic unsigned references;
    _Atomic int state;
    struct stream *stream;
    struct mark *next;
    uint64_t ticket;               /* of its item: it is QUEUED until this is retired */
    uint64_t seq;                  /* SUBMITTED: it is done when that channel has done that, and not changed any more */
    uint32_t channel;
    struct processor *processor;
    uint64_t time;                 /* ns, CLOCK_MONOTONIC; of timed ones */
    bool timed;
    struct clock *clock;           /* what comes before it, NULL: nothing known */
};
/* A point in s's order that is not set yet; NULL: no memory. timed: when it was reached is wanted. */
struct mark *mark_new(struct stream *s, bool timed);
/* Counted. */
struct mark *mark_reference(struct mark *m);
void mark_release(struct mark *m);
/* Puts the mark behind all that the channel has. The caller has the stream's lock, and the
 * turn or an empty queue. */
void mark_submit(struct mark *m);
/* Brings the states of the stream's marks up to date; with the lock. */
void marks_resolve(struct stream *s);
bool mark_done(struct mark *m);
/* Whether m is done, *seq is 0, or will be when that channel of p has done *seq. */
bool mark_place(const struct mark *m, const struct processor *p, uint32_t *channel, uint64_t *seq);
/* help: the calling thread may do the stream's work while it waits. */
void mark_wait(struct mark *m, bool help);
uint64_t clock_now(void);
/* What an operation comes after. add takes the reference over, on failure too. */
void marks_init(struct marks *m);
CUresult marks_add(struct marks *m, struct mark *reference);
void marks_wait(struct marks *m, bool help);
void marks_free(struct marks *m);
struct mark *const *marks_list(const struct marks *m);

/* --- point.c --- */
void mark_note_clock(struct mark *m, struct stream *s);        /* before m is recorded in s */
void stream_learn_clock(struct stream *s, const struct mark *m); /* s comes after m */

/* --- queue.c --- */
/* Those behind ITEM_WORK are for the worker only, as the calls in them would be those of whoever waits. */
enum item_kind { ITEM_NOTHING, ITEM_MARK, ITEM_KERNEL, ITEM_WORK, ITEM_CALLS, ITEM_HOST };

struct item {
    struct item *next;
    enum item_kind kind;
    struct marks after;            /* to be waited for first */
    struct mark *mark;             /* ITEM_MARK */
    struct launch launch;          /* ITEM_KERNEL; its parameters are in data */
    stream_work *run;              /* ITEM_WORK, ITEM_CALLS */
    host_work *call;               /* ITEM_HOST: called even after an error, on the worker only */
    CUresult *result;              /* where somebody waits for it */
    void *arg;
    _Alignas(16) char data[];
};
/* With a copy of size bytes of arg. NULL: no memory. */
struct item *item_new(enum item_kind kind, const void *arg, size_t size);
void item_free(struct item *i);

static inline bool queue_empty(struct stream *s)
{
    uint64_t retired = atomic_load_explicit(&s->retired, memory_order_acquire);
    return retired == atomic_load_explicit(&s->issued, memory_order_acquire);
}
/* With the lock. Takes the item over, and on failure frees it. */
CUresult queue_append(struct stream *s, struct item *i);
/* With the lock: the calling thread takes an operation's turn right away; the queue must be empty. */
void queue_take_turn(struct stream *s);
void queue_end_turn(struct stream *s);
/* With the lock: until `ticket` is retired. */
void queue_wait(struct stream *s, uint64_t ticket, bool help);

/* --- channel.c --- */
/* With the lock. */
CUresult channel_open(struct stream *s);
void channel_close(struct stream *s);
/* With the lock, and an empty queue or the turn. */
CUresult channel_launch(struct stream *s, const struct launch *l);
/* What comes next in the channel comes after all the marks, if all are of this device's channels, or done.
 * With the lock, and an empty queue. */
bool channel_follow(struct stream *s, const struct marks *after);
/* With an empty queue or the turn, or by who waited for the queue. */
CUresult channel_drain(struct stream *s);
bool channel_idle(struct stream *s);           /* by anyone */
/* Without the lock, before a command: waits while the device is so far behind that the times of marks
 * nobody has looked at would be overwritten. */
void channel_throttle(struct stream *s);
/* The error that keeps the stream, or those of a context, from working, made sticky. */
CUresult stream_error(struct stream *s);
CUresult set_error(const struct stream_set *set);
/* An error of a device's, which stays whoever caused it. */
static inline bool is_of_device(CUresult r) { return r == CUDA_ERROR_ILLEGAL_ADDRESS || r == CUDA_ERROR_LAUNCH_FAILED; }

/* --- trace.c: kernels in the trace, if somebody wants them --- */
/* Notes what is launched; returns its ticket. */
uint64_t kernel_note(struct stream *s, const struct launch *l);
/* With the lock, around processor_launch. kernel_behind returns the channel's newest command. */
uint64_t kernel_before(struct stream *s, const struct launch *l);
uint64_t kernel_behind(struct stream *s, const struct launch *l, uint64_t before, uint64_t seq);
/* With the lock: the channel is about to close. */
void kernels_forget(struct stream *s);

/* --- context_event.c --- */
/* A new stream waits for what its context waits for. With the set's lock and the stream's. */
CUresult stream_pass_gate(struct stream *s);

/* --- event.c --- */
/* A reference to the mark of the last record, NULL: there was none. */
struct mark *event_mark(struct event *e);

/* --- issue.c --- */
/* Adds a mark behind all that has been issued into t, whose lock is held. */
CUresult mark_behind(struct stream *t, struct marks *after);
/* Puts the mark behind all that is in s and all that s orders with. It may be replaced by another stream's mark. */
CUresult stream_record(struct stream *s, struct mark **m);
/* What is issued into s from now on comes after the mark. */
CUresult stream_wait(struct stream *s, struct mark *m);

#endif
