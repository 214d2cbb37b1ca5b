/* Which streams of a set have to be looked at for unfinished work: a program
 * may have thousands that are idle. A stream that is not idle is listed, since
 * before it got its work. It is taken off the list when somebody comes by and
 * finds it idle, for nobody is told when a device has done its last command.
 *
 * Who gives a stream work has its lock, but not the set's: it leaves the
 * stream with the newcomers, whom the next that goes through the list adds. */
#include "stream/internal.h"

void busy_join(struct stream *s)
{
    if (s->listed) return;
    s->listed = true;
    _Atomic(struct stream *) *newest = &s->set->newcomers;
    s->next_busy = atomic_load_explicit(newest, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(newest, &s->next_busy, s, memory_order_release,
                                                  memory_order_relaxed))
        ;
}

static void add_newcomers(struct stream_set *set)
{
    if (!atomic_load_explicit(&set->newcomers, memory_order_relaxed)) return;
    struct stream *next, *s = atomic_exchange_explicit(&set->newcomers, NULL, memory_order_acquire);
    for (; s; s = next) {
        next = s->next_busy;
        s->from_busy = &set->busy;
        s->next_busy = set->busy;
        if (s->next_busy) s->next_busy->from_busy = &s->next_busy;
        set->busy = s;
    }
}

void busy_leave(struct stream *s)
{
    if (!s->listed) return;
    add_newcomers(s->set);
    *s->from_busy = s->next_busy;
    if (s->next_busy) s->next_busy->from_busy = s->from_busy;
    s->listed = false;
}

/* A pinned stream stays: somebody goes through the list and waits for it. So does one whose lock
 * somebody has, who may be giving it work. */
static void leave_if_idle(struct stream *s)
{
    if (pthread_mutex_trylock(&s->lock)) return;
    if (stream_idle(s) && !s->pins) busy_leave(s);
    pthread_mutex_unlock(&s->lock);
}

static struct stream *skip_idle(struct stream *s)
{
    struct stream *next;
    for (; s && stream_idle(s); s = next) {
        next = s->next_busy;
        leave_if_idle(s);
    }
    return s;
}

struct stream *busy_first(struct stream_set *set)
{
    add_newcomers(set);
    return skip_idle(set->busy);
}

struct stream *busy_next(struct stream *s) { return skip_idle(s->next_busy); }
