/* Workers and grids; see workers.h. What a worker does for a grid is run.c's. */
#include "device/device.h"
#include "base/futex.h"
#include "base/log.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

_Thread_local struct worker worker;
pthread_mutex_t grids_lock = PTHREAD_MUTEX_INITIALIZER;
unsigned worker_count;
static TAILQ_HEAD(, grid) active = TAILQ_HEAD_INITIALIZER(active); /* the one whose turn it is comes first */
static _Atomic bool aborted;

static unsigned cgroup_cpus(void)
{
    unsigned long long quota, period;
    FILE *f = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (!f) return ~0u;
    int n = fscanf(f, "%llu %llu", &quota, &period);
    fclose(f);
    return n == 2 && period ? (unsigned)((quota + period - 1) / period) : ~0u;
}

/* 0 if the user leaves it to us. */
static unsigned workers_asked(void)
{
    const char *asked = getenv("FAULTLINE_WORKERS");
    char *end;
    if (!asked || !*asked) return 0;
    long n = strtol(asked, &end, 10);
    if (!*end && n >= 1) return n > WORKERS_MOST ? WORKERS_MOST : (unsigned)n;
    fl_log(FL_LOG_WARN, "FAULTLINE_WORKERS=%s: a number of threads is wanted; it is as if it were not set", asked);
    return 0;
}

unsigned workers_wanted(void)
{
    cpu_set_t set;
    unsigned n = workers_asked();
    if (n) return n;
    n = sched_getaffinity(0, sizeof set, &set) ? 1 : (unsigned)CPU_COUNT(&set);
    unsigned limit = cgroup_cpus();
    return n > limit ? limit : n ? n : 1;
}

bool grids_aborted(void) { return atomic_load(&aborted); }
void grids_abort(void) { atomic_store(&aborted, true); }

/* ---- grids */

void grid_submit(struct grid *g)
{
    uint64_t blocks = g->blocks; /* once it is in the list it may end at any time */
    grid_begin(g);
    pthread_mutex_lock(&grids_lock);
    bool others = !TAILQ_EMPTY(&active);
    TAILQ_INSERT_TAIL(&active, g, among_active);
    pthread_mutex_unlock(&grids_lock);
    atomic_fetch_add(&control->doorbell, 1);
    if ((blocks > 1 || others) && atomic_load(&control->sleepers))
        futex_wake(&control->doorbell, blocks > 64 ? 64 : (int)blocks);
}

/* The next grid that has something to do; the caller becomes one of its workers. */
static struct grid *grid_take(void)
{
    pthread_mutex_lock(&grids_lock);
    struct grid *g = TAILQ_FIRST(&active);
    while (g && !grid_has_work(g)) g = TAILQ_NEXT(g, among_active);
    if (g) {
        g->workers++;
        /* to the end of the list, so that all grids get their turn */
        TAILQ_REMOVE(&active, g, among_active);
        TAILQ_INSERT_TAIL(&active, g, among_active);
    }
    pthread_mutex_unlock(&grids_lock);
    return g;
}

static void grid_put(struct grid *g)
{
    pthread_mutex_lock(&grids_lock);
    bool over = !--g->workers && atomic_load(&g->finished) == g->blocks;
    if (over) TAILQ_REMOVE(&active, g, among_active);
    pthread_mutex_unlock(&grids_lock);
    if (over) grid_done(g);
}

/* The caller may have been called, and looks at everything next. */
static void wait_for_doorbell(uint32_t seen, uint64_t ns)
{
    futex_wait(&control->doorbell, seen, ns);
    atomic_store(&control->called, 0);
}

static void sleep_on_doorbell(uint32_t seen)
{
    atomic_fetch_add(&control->sleepers, 1);
    atomic_store(&control->called, 0);
    if (atomic_load(&control->head) == atomic_load(&control->tail) && atomic_load(&control->doorbell) == seen)
        wait_for_doorbell(seen, 0);
    atomic_fetch_sub(&control->sleepers, 1);
}

/* Everything only waits: leave the processor to whom it waits for. */
static void back_off(unsigned fruitless, uint32_t seen)
{
    if (fruitless > 64)
        wait_for_doorbell(seen, fruitless > 1000 ? 50000 : 10000);
    else if (fruitless > 4)
        sched_yield();
}

/* A moment without work. Where the host's thread is, it is to have the processor: it may have something to ask. */
static void look_around(void)
{
    if (atomic_load_explicit(&control->server_cpu, memory_order_relaxed) == (uint32_t)sched_getcpu() + 1)
        sched_yield();
    else
        for (int k = 0; k < 32; k++) cpu_relax();
}

static void *work(void *arg)
{
    worker.number = (unsigned)(uintptr_t)arg;
    fault_thread_begin();
    uint64_t idle_since = 0;
    unsigned fruitless = 0;
    for (;;) {
        uint32_t seen = atomic_load(&control->doorbell);
        bool busy = commands_take();
        managed_requests();
        struct grid *g = grids_aborted() ? NULL : grid_take();
        if (g) {
            worker.grid = g;
            enum progress progress = grid_run(g);
            worker.grid = NULL;
            grid_put(g);
            fruitless = progress == MOVED ? 0 : fruitless + (progress == STILL);
            if (progress == STILL) back_off(fruitless, seen);
            busy = true;
        }
        if (busy) {
            idle_since = 0;
            continue;
        }
        if (!idle_since) idle_since = now_ns();
        if (now_ns() - idle_since < SPIN_NS) {
            look_around();
        } else {
            if (worker.spare) fibers_release(worker.spare);
            sleep_on_doorbell(seen);
            idle_since = 0;
        }
    }
    return NULL;
}

int workers_start(unsigned workers)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 8 << 20);
    worker_count = workers;
    for (unsigned k = 0; k < workers; k++) {
        pthread_t thread;
        int error = pthread_create(&thread, &attributes, work, (void *)(uintptr_t)(k + 1));
        if (error && !k) return error;
        if (error) break;
        pthread_detach(thread);
    }
    pthread_attr_destroy(&attributes);
    return 0;
}
