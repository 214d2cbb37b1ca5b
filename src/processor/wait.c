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

/* Of several threads each is woken when the first has what it wants, and says again what it wants itself. */
static void want(struct channel *c, uint64_t seq)
{
    uint64_t first = atomic_load(&c->wanted);
    while ((!first || seq < first) && !atomic_compare_exchange_weak(&c->wanted, &first, seq))
        ;
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
            /* whoever was woken to take the commands, or works on them, may be waiting for this very processor */
            if (now_ns() - start > TAKEN_NS) sched_yield();
            for (int k = 0; k < 16; k++) cpu_relax();
            continue;
        }
        uint32_t seen = atomic_load(&c->completion);
        stop_watching(c);
        atomic_fetch_add(&c->waiters, 1);
        want(&c->channels[channel], seq);
        if (!processor_done(p, channel, seq) && !processor_status(p)) futex_wait(&c->completion, seen, 100000000);
        atomic_fetch_sub(&c->waiters, 1);
        atomic_fetch_add(&c->watchers, 1);
    }
    stop_watching(c);
    return processor_status(p);
}

static pthread_mutex_t text_lock = PTHREAD_MUTEX_INITIALIZER;
void printf_lock(void) { pthread_mutex_lock(&text_lock); }
void printf_unlock(void) { pthread_mutex_unlock(&text_lock); }

/* With the lock. */
static void show(struct control *c)
{
    uint64_t from = atomic_load(&c->shown), to = atomic_load(&c->printed), size = c->printf_size;
    while (from < to) {
        uint64_t at = from % size, n = to - from < size - at ? to - from : size - at;
        fwrite(c->text + at, 1, n, stdout);
        from += n;
    }
    fflush(stdout);
    atomic_store(&c->shown, to);
}

void processor_flush_printf(struct processor *p)
{
    if (atomic_load(&p->control->printed) == atomic_load(&p->control->shown)) return;
    printf_lock();
    show(p->control);
    printf_unlock();
}

CUresult processor_set_printf_size(struct processor *p, uint64_t bytes)
{
    if (bytes > PRINTF_MOST) bytes = PRINTF_MOST;
    pthread_mutex_lock(&p->lock);
    bool idle = !processor_busy(p);
    if (idle) {
        printf_lock();
        show(p->control);
        p->control->printf_size = bytes < 4096 ? 4096 : bytes;
        atomic_store(&p->control->printed, 0);
        atomic_store(&p->control->shown, 0);
        printf_unlock();
    }
    pthread_mutex_unlock(&p->lock);
    return idle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
