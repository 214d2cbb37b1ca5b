/* Beacons in a memfd; see beacon.h. */
#include "stream/beacon.h"
#include "base/alive.h"
#include "base/file.h"
#include "base/futex.h"
#include "base/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { LOOK_NS = 100000000 }; /* how often a waiter makes sure that the recorder lives */
static const size_t BYTES = BEACONS * sizeof(struct beacon);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct beacon *own;
static int file = -1;
static unsigned references[BEACONS], turn;

/* Another process's. */
struct beacons {
    struct beacon *map;
    unsigned references;
    struct beacons *next;
};
static struct beacons *others;

static struct beacon *map(int fd)
{
    struct beacon *b = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (b == MAP_FAILED) return NULL;
    madvise(b, BYTES, MADV_DONTFORK);
    return b;
}

static bool open_own(void)
{
    if (own) return true;
    int fd = memfd_create("faultline-events", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && !file_resize(fd, BYTES) && (own = map(fd))) {
        file = fd;
        return true;
    }
    if (fd >= 0) close(fd);
    return false;
}

struct beacon *beacon_new(void)
{
    struct beacon *b = NULL;
    pthread_mutex_lock(&lock);
    for (unsigned k = 0; open_own() && k < BEACONS && !b; k++) {
        unsigned at = (turn + k) % BEACONS;
        if (references[at]) continue;
        references[at] = 1;
        turn = at + 1;
        b = &own[at];
        uint64_t last = atomic_load(&b->recorded);
        atomic_store(&b->complete[last % BEACON_RECORDS], last);
    }
    pthread_mutex_unlock(&lock);
    return b;
}

static bool is_of(const struct beacon *map, const struct beacon *b) { return map && b >= map && b < map + BEACONS; }

static struct beacons **find_other(const struct beacon *b)
{
    struct beacons **at = &others;
    while (!is_of((*at)->map, b)) at = &(*at)->next;
    return at;
}

void beacon_hold(struct beacon *b)
{
    pthread_mutex_lock(&lock);
    if (is_of(own, b))
        references[b - own]++;
    else
        (*find_other(b))->references++;
    pthread_mutex_unlock(&lock);
}

static void release_other(struct beacon *b)
{
    struct beacons **at = find_other(b), *o = *at;
    if (--o->references) return;
    *at = o->next;
    munmap(o->map, BYTES);
    free(o);
}

void beacon_release(struct beacon *b)
{
    pthread_mutex_lock(&lock);
    if (is_of(own, b))
        references[b - own]--;
    else
        release_other(b);
    pthread_mutex_unlock(&lock);
}

unsigned beacon_index(const struct beacon *b) { return (unsigned)(b - own); }
int beacons_descriptor(void) { return file; }

struct beacon *beacons_open(int fd)
{
    struct stat s;
    struct beacons *o = malloc(sizeof *o);
    struct beacon *b = o && !fstat(fd, &s) && (size_t)s.st_size == BYTES ? map(fd) : NULL;
    if (!b) {
        free(o);
        return b;
    }
    pthread_mutex_lock(&lock);
    *o = (struct beacons){ b, 1, others };
    others = o;
    pthread_mutex_unlock(&lock);
    return b;
}

/* Whether a record that is not complete has the place of n's. */
static bool taken(const struct beacon *b, uint64_t n)
{
    return atomic_load(&b->last[n % BEACON_RECORDS]) > atomic_load(&b->complete[n % BEACON_RECORDS]);
}

/* Who waits for a record would be let through by a later one in its place, so such places are passed over. Where all are
 * taken, most likely by one stream, which completes them in order, the next has to do. */
static uint64_t number_after(const struct beacon *b, uint64_t last)
{
    for (uint64_t n = last + 1; n <= last + BEACON_RECORDS; n++)
        if (!taken(b, n)) return n;
    return last + 1;
}

uint64_t beacon_record(struct beacon *b)
{
    uint64_t last = atomic_load(&b->recorded), n;
    do n = number_after(b, last);
    while (!atomic_compare_exchange_weak(&b->recorded, &last, n));
    atomic_store(&b->recorder[n % BEACON_RECORDS], getpid());
    atomic_store(&b->namespace[n % BEACON_RECORDS], alive_namespace());
    atomic_store(&b->last[n % BEACON_RECORDS], n); /* after these, which are of no other record then */
    return n;
}

void beacon_complete(struct beacon *b, uint64_t n)
{
    _Atomic uint64_t *at = &b->complete[n % BEACON_RECORDS];
    uint64_t seen = atomic_load(at);
    while (seen < n && !atomic_compare_exchange_weak(at, &seen, n))
        ;
    atomic_fetch_add(&b->changed, 1);
    if (atomic_load(&b->waiters)) futex_wake(&b->changed, 1 << 30);
}

uint64_t beacon_newest(const struct beacon *b) { return atomic_load(&b->recorded); }
bool beacon_done(const struct beacon *b, uint64_t n) { return atomic_load(&b->complete[n % BEACON_RECORDS]) >= n; }

/* A record of a process that ended will never be complete. Of another PID namespace's nothing is known. */
static bool lost(const struct beacon *b, uint64_t n)
{
    const unsigned at = n % BEACON_RECORDS;
    return atomic_load(&b->last[at]) == n && atomic_load(&b->namespace[at]) == alive_namespace() &&
           alive_ended(atomic_load(&b->recorder[at])) && !beacon_done(b, n);
}

bool beacon_over(struct beacon *b, uint64_t n)
{
    if (beacon_done(b, n)) return true;
    if (!lost(b, n)) return false;
    fl_log(FL_LOG_WARN, "the process that recorded an interprocess event ended before the event was complete");
    beacon_complete(b, n);
    return true;
}

void beacon_wait(struct beacon *b, uint64_t n)
{
    while (!beacon_done(b, n)) {
        atomic_fetch_add(&b->waiters, 1);
        uint32_t seen = atomic_load(&b->changed);
        if (!beacon_done(b, n)) futex_wait(&b->changed, seen, LOOK_NS);
        atomic_fetch_sub(&b->waiters, 1);
        if (beacon_over(b, n)) return;
    }
}
