/* Learning that a device has done something: completion, text, the end. */
#include "base/futex.h"
#include "processor/internal.h"
#include "processor/mmu.h"
#include "processor/table.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

enum { TAKEN_NS = 2000 };

bool processor_done(const struct processor *p, uint32_t channel, uint64_t seq)
{
    return atomic_load_explicit(&p->control->channels[channel].done, memory_order_acquire) >= seq;
}

static uint64_t spin_ns(void)
{
    static _Atomic uint64_t known;
    uint64_t ns = atomic_load_explicit(&known, memory_order_relaxed);
    if (ns) return ns;
    ns = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? HOST_SPIN_NS : 1;
    atomic_store_explicit(&known, ns, memory_order_relaxed);
    return ns;
}

/* Mail that came while others left it to this thread is left to the service thread. */
static void stop_watching(struct control *c)
{
    uint64_t one = 1;
    atomic_fetch_sub(&c->watchers, 1);
    if (atomic_load(&c->mail_count) && write(service_bell(), &one, sizeof one) < 0) return;
}

CUresult processor_wait(struct processor *p, uint32_t channel, uint64_t seq)
{
    struct control *c = p->control;
    uint64_t start = now_ns(), spin = spin_ns();
    atomic_fetch_add(&c->watchers, 1);
    while (!processor_done(p, channel, seq) && !processor_status(p)) {
        watch_from_here(c);
        if (atomic_load_explicit(&c->mail_count, memory_order_relaxed) && mmu_serve()) start = now_ns();
        if (now_ns() - start < spin) {
            /* whoever was woken to take the commands may be waiting for this very processor */
            if (atomic_load(&c->tail) != atomic_load_explicit(&c->head, memory_order_relaxed) && now_ns() - start > TAKEN_NS)
                sched_yield();
            for (int k = 0; k < 16; k++) cpu_relax();
            continue;
        }
        uint32_t seen = atomic_load(&c->completion);
        stop_watching(c);
        atomic_fetch_add(&c->waiters, 1);
        if (!processor_done(p, channel, seq) && !processor_status(p)) futex_wait(&c->completion, seen, 100000000);
        atomic_fetch_sub(&c->waiters, 1);
        atomic_fetch_add(&c->watchers, 1);
    }
    stop_watching(c);
    return processor_status(p);
}

void processor_flush_printf(struct processor *p)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct control *c = p->control;
    if (atomic_load(&c->printed) == atomic_load(&c->shown)) return;
    pthread_mutex_lock(&lock);
    uint64_t from = atomic_load(&c->shown), to = atomic_load(&c->printed), size = c->printf_size;
    while (from < to) {
        uint64_t at = from % size, n = to - from < size - at ? to - from : size - at;
        fwrite(c->text + at, 1, n, stdout);
        from += n;
    }
    fflush(stdout);
    atomic_store(&c->shown, to);
    pthread_mutex_unlock(&lock);
}
