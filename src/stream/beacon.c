/* Beacons in a memfd; see beacon.h. */
#include "stream/beacon.h"
#include "base/alive.h"
#include "base/cancel.h"
#include "base/file.h"
#include "base/futex.h"
#include "base/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { LOOK_NS = 100000000 /* how often a waiter makes sure that the recorder lives */, SEAT_BITS = 20 };

/* The file. A process that records has a seat in it, a byte beyond its end that it has locked for as long as it lives:
 * processes of another PID namespace, to which its number says nothing, see that as well. No seat is another's later. */
struct contents {
    struct beacon beacons[BEACONS];
    _Atomic uint32_t seats;
};
static const size_t BYTES = sizeof(struct contents);

/* What this process has open, its own and others'. */
struct beacons {
    struct contents *map;
    int door;            /* the lock's opening of the file, which nobody else has and nothing maps; -1: none */
    uint32_t seat;       /* 0: none */
    unsigned references; /* to another's */
    struct beacons *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct beacons own = { .door = -1 }, *others;
static int file = -1;
static unsigned references[BEACONS], turn;

static struct flock seat_lock(uint32_t seat)
{
    return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)(BYTES + seat), .l_len = 1 };
}

static void sit_down(struct beacons *o, int fd)
{
    const uint32_t seats = (1u << SEAT_BITS) - 1;
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    o->door = open(path, O_RDWR | O_CLOEXEC);
    o->seat = atomic_fetch_add(&o->map->seats, 1) % seats + 1;
    struct flock taken = seat_lock(o->seat);
    if (o->door < 0 || fcntl(o->door, F_OFD_SETLK, &taken)) o->seat = 0;
}

/* A forked child has none of it mapped, and must not look as if its parent lived. */
static void in_child(void)
{
    const int cancel = cancel_defer();
    if (own.door >= 0) close(own.door);
    for (struct beacons *o = others; o; o = o->next)
        if (o->door >= 0) close(o->door);
    own = (struct beacons){ .door = -1 };
    others = NULL;
    cancel_restore(cancel);
}

/* Under the lock. */
static bool map(struct beacons *o, int fd)
{
    static bool watching;
    if (!watching && pthread_atfork(NULL, NULL, in_child)) return false;
    watching = true;
    struct contents *c = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (c == MAP_FAILED) return false;
    madvise(c, BYTES, MADV_DONTFORK);
    o->map = c;
    sit_down(o, fd);
    return true;
}

static bool open_own(void)
{
    if (own.map) return true;
    int fd = memfd_create("faultline-events", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && !file_resize(fd, BYTES) && map(&own, fd)) {
        file = fd;
        return true;
    }
    if (fd >= 0) close(fd);
    return false;
}

static unsigned place(uint64_t record) { return (unsigned)(record >> SEAT_BITS) % BEACON_RECORDS; }

struct beacon *beacon_new(void)
{
    struct beacon *b = NULL;
    pthread_mutex_lock(&lock);
    for (unsigned k = 0; open_own() && k < BEACONS && !b; k++) {
        unsigned at = (turn + k) % BEACONS;
        if (references[at]) continue;
        references[at] = 1;
        turn = at + 1;
        b = &own.map->beacons[at];
        uint64_t last = atomic_load(&b->recorded);
        atomic_store(&b->complete[place(last)], last);
    }
    pthread_mutex_unlock(&lock);
    return b;
}

static bool is_of(const struct beacons *o, const struct beacon *b)
{
    return o->map && b >= o->map->beacons && b < o->map->beacons + BEACONS;
}

static struct beacons **find_other(const struct beacon *b)
{
    struct beacons **at = &others;
    while (!is_of(*at, b)) at = &(*at)->next;
    return at;
}

static struct beacons *find(const struct beacon *b) { return is_of(&own, b) ? &own : *find_other(b); }

void beacon_hold(struct beacon *b)
{
    pthread_mutex_lock(&lock);
    if (is_of(&own, b))
        references[beacon_index(b)]++;
    else
        (*find_other(b))->references++;
    pthread_mutex_unlock(&lock);
}

static void release_other(struct beacon *b)
{
    struct beacons **at = find_other(b), *o = *at;
    if (--o->references) return;
    *at = o->next;
    if (o->door >= 0) close(o->door);
    munmap(o->map, BYTES);
    free(o);
}

void beacon_release(struct beacon *b)
{
    pthread_mutex_lock(&lock);
    if (is_of(&own, b))
        references[beacon_index(b)]--;
    else
        release_other(b);
    pthread_mutex_unlock(&lock);
}

unsigned beacon_index(const struct beacon *b) { return (unsigned)(b - own.map->beacons); }
int beacons_descriptor(void) { return file; }

struct beacon *beacons_open(int fd)
{
    struct stat s;
    struct beacons *o = malloc(sizeof *o);
    if (!o) return NULL;
    *o = (struct beacons){ .references = 1, .door = -1 };
    pthread_mutex_lock(&lock);
    const bool there = !fstat(fd, &s) && (size_t)s.st_size == BYTES && map(o, fd);
    if (there) {
        o->next = others;
        others = o;
    } else {
        free(o);
    }
    pthread_mutex_unlock(&lock);
    return there ? o->map->beacons : NULL;
}

/* Whether a record that is not complete has the place of that number's. */
static bool taken(const struct beacon *b, uint64_t number)
{
    const unsigned at = number % BEACON_RECORDS;
    return atomic_load(&b->last[at]) > atomic_load(&b->complete[at]);
}

/* Who waits for a record would be let through by a later one in its place, so such places are passed over. 0: all are taken. */
static uint64_t number_after(const struct beacon *b, uint64_t last)
{
    for (uint64_t n = last + 1; n <= last + BEACON_RECORDS; n++)
        if (!taken(b, n)) return n;
    return 0;
}

static uint32_t seat_at(const struct beacon *b)
{
    pthread_mutex_lock(&lock);
    const uint32_t seat = find(b)->seat;
    pthread_mutex_unlock(&lock);
    return seat;
}

void beacon_complete(struct beacon *b, uint64_t n)
{
    _Atomic uint64_t *at = &b->complete[place(n)];
    uint64_t seen = atomic_load(at);
    while (seen < n && !atomic_compare_exchange_weak(at, &seen, n))
        ;
    atomic_fetch_add(&b->changed, 1);
    if (atomic_load(&b->waiters)) futex_wake(&b->changed, 1 << 30);
}

uint64_t beacon_newest(const struct beacon *b) { return atomic_load(&b->recorded); }
bool beacon_done(const struct beacon *b, uint64_t n) { return atomic_load(&b->complete[place(n)]) >= n; }

/* Of a recorder without a seat, there are systems that refuse such locks, only its number tells. */
static bool number_ended(const struct beacon *b, uint64_t n)
{
    const unsigned at = place(n);
    return atomic_load(&b->last[at]) == n && atomic_load(&b->namespace[at]) == alive_namespace() &&
           alive_ended(atomic_load(&b->recorder[at]));
}

/* A record of a process that ended will never be complete. */
static bool lost(const struct beacon *b, uint64_t n)
{
    const uint32_t seat = n & ((1u << SEAT_BITS) - 1);
    struct flock held = seat_lock(seat);
    bool known = false;
    pthread_mutex_lock(&lock);
    const struct beacons *o = find(b);
    if (seat && seat == o->seat) {
        known = true; /* of this process */
    } else if (seat && o->door >= 0) {
        known = !fcntl(o->door, F_OFD_GETLK, &held);
    }
    pthread_mutex_unlock(&lock);
    return (known ? held.l_type == F_UNLCK : number_ended(b, n)) && !beacon_done(b, n);
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

static uint64_t next_number(const struct beacon *b) { return number_after(b, beacon_newest(b) >> SEAT_BITS); }

/* All places are taken. Those of processes that have ended become free by being looked at. */
static void await_place(struct beacon *b)
{
    atomic_fetch_add(&b->waiters, 1);
    uint32_t seen = atomic_load(&b->changed);
    if (!next_number(b)) futex_wait(&b->changed, seen, LOOK_NS);
    atomic_fetch_sub(&b->waiters, 1);
    for (unsigned k = 0; k < BEACON_RECORDS && !next_number(b); k++) beacon_over(b, atomic_load(&b->last[k]));
}

uint64_t beacon_record(struct beacon *b)
{
    const uint32_t seat = seat_at(b);
    uint64_t last = beacon_newest(b), number, n;
    do {
        for (; !(number = number_after(b, last >> SEAT_BITS)); last = beacon_newest(b)) await_place(b);
        n = number << SEAT_BITS | seat;
    } while (!atomic_compare_exchange_weak(&b->recorded, &last, n));
    const unsigned at = place(n);
    atomic_store(&b->recorder[at], getpid());
    atomic_store(&b->namespace[at], alive_namespace());
    atomic_store(&b->last[at], n); /* after these, which are of no other record then */
    return n;
}
