/* A stream's queue: what is in it, whose turn it is, and the worker thread
 * that exists while there is work and for a moment longer. What is issued in
 * which order is decided in issue.c. */
#include "stream/internal.h"

#include "base/thread.h"
#include "uvm/uvm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How long a worker without work stays, and how many at once: a program may have thousands of streams. */
enum { LINGER_NS = 300 * 1000 * 1000, LINGER_MOST = 64 };
static _Atomic unsigned lingering;
static _Atomic bool scarce; /* the system refused one: no worker stays any more */
enum { PAUSE_US = 10000, PAUSES = LINGER_NS / 1000 / PAUSE_US + 10 };

static _Thread_local bool in_host_function;

bool stream_in_host_function(void) { return in_host_function; }

struct item *item_new(enum item_kind kind, const void *arg, size_t size)
{
    struct item *i = malloc(sizeof *i + size);
    if (!i) return NULL;
    memset(i, 0, sizeof *i);
    i->kind = kind;
    marks_init(&i->after);
    i->arg = i->data;
    if (size) memcpy(i->data, arg, size);
    return i;
}

void item_free(struct item *i)
{
    marks_free(&i->after);
    mark_release(i->mark);
    free(i);
}

static CUresult call_host(struct stream *s, const struct item *i, CUresult status)
{
    if (uvm_exclusive) uvm_host_function_begins();
    in_host_function = true;
    i->call((void *)i->arg, status);
    in_host_function = false;
    if (!uvm_exclusive) return CUDA_SUCCESS;
    streams_take_back(s->set);
    return uvm_host_function_ends();
}

/* What could not be begun because its context ends is an error of nobody else's. */
static bool stays(const struct stream *s, CUresult r)
{
    return r && r != CUDA_ERROR_CONTEXT_IS_DESTROYED && (is_of_device(r) || !atomic_load(&s->set->dying));
}

/* The part of an item that may take long; without the lock. */
static void perform(struct stream *s, struct item *i)
{
    marks_wait(&i->after, false);
    if (i->after.count) streams_settle(s->set); /* or a kernel of another device takes no pages from the one before it */
    CUresult r = stream_error(s);
    if (i->kind == ITEM_MARK || i->kind == ITEM_KERNEL) channel_throttle(s);
    if (!r && i->kind >= ITEM_WORK) r = channel_drain(s);

    switch (i->kind) {
    case ITEM_NOTHING:
    case ITEM_MARK: break;
    case ITEM_KERNEL:
        /* what the program has mapped since it was issued is what it finds */
        if (!r && uvm_watches_launches && !uvm_exclusive) r = uvm_before_launch(s->set->context->device->ordinal, s);
        pthread_mutex_lock(&s->lock);
        if (!r) r = channel_launch(s, &i->launch);
        pthread_mutex_unlock(&s->lock);
        if (r) sticky_set(r); /* nobody else would tell that the kernel has not run */
        atomic_fetch_sub(&s->kernels, 1);
        break;
    case ITEM_WORK:
    case ITEM_CALLS:
        if (!r) r = i->run(i->arg);
        if (i->result)
            *i->result = r;
        else if (stays(s, r))
            sticky_set(r);
        break;
    case ITEM_HOST:
        if ((r = call_host(s, i, r))) sticky_set(r);
        break;
    }
}

/* With the lock. Who waits for what is now done goes on. */
static void retire(struct stream *s)
{
    s->turn = false;
    uint64_t retired = atomic_fetch_add_explicit(&s->retired, 1, memory_order_release) + 1;
    if (!s->sleepers || (retired < s->awaited && !queue_empty(s))) return;
    s->awaited = UINT64_MAX;
    pthread_cond_broadcast(&s->changed);
}

/* With the lock. The caller does no more. */
static void leave_rest(struct stream *s)
{
    if (s->worker && !s->turn && (s->first || s->quit)) pthread_cond_signal(&s->work);
}

/* With the lock, which it releases meanwhile. */
static void do_first(struct stream *s)
{
    struct item *i = s->first;
    s->first = i->next;
    if (!s->first) s->end = &s->first;
    s->turn = true;
    pthread_mutex_unlock(&s->lock);
    perform(s, i);
    pthread_mutex_lock(&s->lock);
    retire(s);
    if (i->kind == ITEM_MARK) mark_submit(i->mark); /* who finds it done finds it retired (mark_done) */
    item_free(i);
}

static struct timespec linger_end(void)
{
    uint64_t t = clock_now() + LINGER_NS;
    return (struct timespec){ .tv_sec = t / 1000000000u, .tv_nsec = t % 1000000000u };
}

static void *worker(void *arg)
{
    struct stream *s = arg;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        struct timespec end = linger_end();
        const bool many = atomic_fetch_add(&lingering, 1) >= LINGER_MOST || atomic_load(&scarce);
        int expired = many && queue_empty(s);
        while ((!s->first || s->turn) && !(s->quit && queue_empty(s)) && !expired)
            expired = pthread_cond_timedwait(&s->work, &s->lock, &end) == ETIMEDOUT;
        atomic_fetch_sub(&lingering, 1);
        if (s->first && !s->turn)
            do_first(s);
        else if (queue_empty(s))
            break;
    }
    s->worker = false;
    bool last_user = s->quit;
    if (s->sleepers) pthread_cond_broadcast(&s->changed);
    if (last_user) s->pins++;
    pthread_mutex_unlock(&s->lock);
    if (last_user) stream_leave(s);
    return NULL;
}

/* With the lock. Where there may be no more threads those that have nothing to do are waited for. */
static CUresult start_worker(struct stream *s)
{
    CUresult r = thread_start(worker, s, THREAD_STACK_DEFAULT);
    if (r && atomic_load(&lingering)) {
        atomic_store(&scarce, true);
        for (unsigned k = 0; r && k < PAUSES; k++) {
            usleep(PAUSE_US);
            r = thread_start(worker, s, THREAD_STACK_DEFAULT);
        }
    }
    s->worker = !r;
    return r;
}

CUresult queue_append(struct stream *s, struct item *i)
{
    CUresult r = s->worker ? CUDA_SUCCESS : start_worker(s);
    if (r) {
        item_free(i);
        return r;
    }
    uint64_t ticket = atomic_load_explicit(&s->issued, memory_order_relaxed) + 1;
    if (i->mark) i->mark->ticket = ticket;
    atomic_fetch_add(&s->kernels, i->kind == ITEM_KERNEL);
    *s->end = i;
    s->end = &i->next;
    busy_join(s);
    atomic_store_explicit(&s->issued, ticket, memory_order_release);
    if (!s->turn) pthread_cond_signal(&s->work);
    return CUDA_SUCCESS;
}

void queue_take_turn(struct stream *s)
{
    s->turn = true;
    busy_join(s);
    atomic_fetch_add_explicit(&s->issued, 1, memory_order_release);
}

void queue_end_turn(struct stream *s)
{
    retire(s);
    leave_rest(s);
}

void queue_wait(struct stream *s, uint64_t ticket, bool help)
{
    while (atomic_load_explicit(&s->retired, memory_order_relaxed) < ticket) {
        if (help && !s->turn && s->first && s->first->kind <= ITEM_WORK) {
            do_first(s);
            continue;
        }
        leave_rest(s);
        if (ticket < s->awaited) s->awaited = ticket;
        s->sleepers++;
        pthread_cond_wait(&s->changed, &s->lock);
        s->sleepers--;
    }
    leave_rest(s);
}
