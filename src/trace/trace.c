/* Writing the trace: the counters, the ring, and who listens. What belongs to
 * one allocation is in statistics.c, reading in read.c. */
#include "base/hash.h"
#include "trace/ledger.h"
#include "trace/page_map.h"
#include "trace/region.h"
#include "trace/statistics.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Atomic unsigned trace_listeners = TRACE_LISTEN_UNKNOWN;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the three below; statistics.c has its own */
static unsigned nested[8];                               /* by bit of enum trace_listen */
static unsigned asked_for;                               /* by `faultline run` */
static _Atomic(struct trace_region *) mapped;
static pthread_once_t once = PTHREAD_ONCE_INIT;

uint64_t trace_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the region */

/* What FAULTLINE_TRACE names, from the moment on in which the library is loaded: later the program may have cleared its
 * environment, or be a user who must not open it. It is not kept open, for programs close what they do not know; and cannot
 * be touched, or mlockall would bring all of it. */
static struct trace_file *file = MAP_FAILED;

__attribute__((constructor)) static void map_file(void)
{
    const off_t bytes = TRACE_FILE_HEAD + (off_t)TRACE_PROCESSES * TRACE_REGION_BYTES;
    const char *path = secure_getenv("FAULTLINE_TRACE");
    struct stat s;
    int fd = path && *path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    if (!fstat(fd, &s) && s.st_size == bytes) file = mmap(NULL, (size_t)bytes, PROT_NONE, MAP_SHARED, fd, 0);
    if (file != MAP_FAILED) madvise(file, (size_t)bytes, MADV_DONTDUMP);
    close(fd);
}

/* A region of the file, or MAP_FAILED. */
static void *claim(void)
{
    if (file == MAP_FAILED || mprotect(file, TRACE_FILE_HEAD, PROT_READ | PROT_WRITE)) return MAP_FAILED;
    if (file->version != TRACE_VERSION || file->region_bytes != TRACE_REGION_BYTES) return MAP_FAILED;
    const uint32_t mine = atomic_fetch_add(&file->claimed, 1);
    if (mine >= file->processes || mine >= TRACE_PROCESSES) return MAP_FAILED;
    char *region = (char *)file + TRACE_FILE_HEAD + (off_t)mine * TRACE_REGION_BYTES;
    if (mprotect(region, TRACE_REGION_BYTES, PROT_READ | PROT_WRITE)) return MAP_FAILED;
    asked_for = file->listen;
    return region;
}

static void note_program(struct trace_region *r)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (read(fd, r->program, sizeof r->program - 1) < 0) *r->program = '\0';
    close(fd);
}

/* A forked child begins anew: the region is its parent's, and so is whoever listens. */
static void in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    memset(nested, 0, sizeof nested);
    asked_for = 0;
    once = (pthread_once_t)PTHREAD_ONCE_INIT;
    atomic_store(&mapped, NULL);
    atomic_store(&trace_listeners, TRACE_LISTEN_UNKNOWN);
    statistics_forget();
    page_map_forget();
    ledger_forget();
}

static void map_region(void)
{
    void *region = claim();
    if (region == MAP_FAILED)
        region =
            mmap(NULL, TRACE_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) {
        atomic_fetch_and(&trace_listeners, ~TRACE_LISTEN_UNKNOWN);
        return;
    }
    madvise(region, TRACE_REGION_BYTES, MADV_DONTFORK);
    struct trace_region *r = region;
    r->pid = (uint32_t)getpid();
    r->started = trace_now();
    r->allocation_count = 1;
    atomic_store(&r->name_bytes, 1); /* 0 is the empty name */
    note_program(r);
    r->version = TRACE_VERSION;
    pthread_atfork(NULL, NULL, in_child);
    if (asked_for & TRACE_LISTEN_MAP) page_map_at_exit();
    atomic_store_explicit(&mapped, r, memory_order_release);
    pthread_mutex_lock(&lock);
    atomic_fetch_or(&trace_listeners, asked_for);
    atomic_fetch_and(&trace_listeners, ~TRACE_LISTEN_UNKNOWN);
    pthread_mutex_unlock(&lock);
}

void trace_ask_environment(void) { pthread_once(&once, map_region); }

struct trace_region *trace_region(void)
{
    pthread_once(&once, map_region);
    return atomic_load_explicit(&mapped, memory_order_acquire);
}

void trace_listen(unsigned listen, bool on)
{
    if (!trace_region()) return;
    pthread_mutex_lock(&lock);
    for (unsigned bit = 0; bit < sizeof nested / sizeof *nested; bit++) {
        if (!(listen >> bit & 1)) continue;
        nested[bit] += on ? 1u : -1u;
        if (nested[bit])
            atomic_fetch_or(&trace_listeners, 1u << bit);
        else if (!(asked_for >> bit & 1))
            atomic_fetch_and(&trace_listeners, ~(1u << bit));
    }
    pthread_mutex_unlock(&lock);
}

/* ---- the ring */

static void wake_readers(struct trace_region *r)
{
    atomic_fetch_add(&r->quarters, 1);
    if (atomic_load(&r->sleepers)) syscall(SYS_futex, &r->quarters, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void put(struct trace_region *r, const struct trace_record *record)
{
    uint64_t word[TRACE_WORDS], i = atomic_fetch_add(&r->head, 1);
    struct trace_slot *slot = &r->slots[i % TRACE_SLOTS];
    uint64_t before = atomic_load_explicit(&slot->seq, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->written[record->kind], 1, memory_order_relaxed);
    if (before & 1 || before > 2 * i || !atomic_compare_exchange_strong(&slot->seq, &before, 2 * i + 1)) {
        atomic_fetch_add_explicit(&r->dropped[record->kind], 1, memory_order_relaxed);
        return;
    }
    memcpy(word, record, sizeof word);
    /* release: a reader that sees a word of this record does not find the seq of the one before it afterwards */
    for (int k = 0; k < TRACE_WORDS; k++) atomic_store_explicit(&slot->word[k], word[k], memory_order_release);
    atomic_store_explicit(&slot->seq, 2 * i + 2, memory_order_release);
    if (i % (TRACE_SLOTS / 4) == TRACE_SLOTS / 4 - 1) wake_readers(r);
}

static _Thread_local uint64_t begun;

void trace_note_begin(void) { begun = trace_now(); }

/* A migration is written when it is done. It took some time, however short: tools divide by it. */
static void set_times(struct trace_record *record)
{
    uint64_t now = trace_now();
    if (record->kind == TRACE_MIGRATION) {
        record->time = begun ? begun : now;
        record->end = begun = now > record->time ? now : record->time + 1;
    } else {
        record->time = now;
    }
}

static void write_out(struct trace_region *r, struct trace_record record, bool records)
{
    if (!record.time && (records || record.kind == TRACE_ALLOC || record.kind == TRACE_FREE)) set_times(&record);
    if (!record.end) record.end = record.time;
    statistics_count(r, &record, trace_wanted(TRACE_LISTEN_ALLOCATIONS));
    if (records) put(r, &record);
}

void trace_write(const struct trace_record *record)
{
    if (!record->kind || record->kind >= TRACE_KINDS || record->cause >= TRACE_CAUSES) return;
    bool records = trace_wanted(TRACE_LISTEN_RECORDS), wanted = records || trace_wanted(TRACE_LISTEN_ALLOCATIONS);
    struct trace_region *r = atomic_load_explicit(&mapped, memory_order_acquire);
    if (!r) return;
    if (wanted || record->kind == TRACE_ALLOC || record->kind == TRACE_FREE)
        write_out(r, *record, records);
    else
        statistics_total(r, record);
}

/* ---- kernels */

struct trace_kernel *trace_kernel_begin(uint64_t *ticket)
{
    struct trace_region *r = trace_region();
    if (!r) return NULL;
    *ticket = atomic_fetch_add(&r->kernel_tickets, 1) + 1;
    struct trace_kernel *k = &r->kernels[*ticket % TRACE_KERNELS];
    atomic_store(&k->ticket, 0);
    return k;
}

void trace_kernel_publish(struct trace_kernel *k, uint64_t ticket)
{
    atomic_store_explicit(&k->ticket, ticket, memory_order_release);
}

/* Names are few and long-lived: looked for one after the other, from the front. 0: no room for one more. */
static uint32_t find_name(struct trace_region *r, const char *name)
{
    uint32_t end = atomic_load(&r->name_bytes);
    for (uint32_t at = 1; at < end; at += (uint32_t)strlen(r->names + at) + 1)
        if (!strcmp(r->names + at, name)) return at;
    size_t size = strlen(name) + 1;
    if (size > TRACE_NAME_BYTES - end) return 0;
    memcpy(r->names + end, name, size);
    atomic_store(&r->name_bytes, end + (uint32_t)size);
    return end;
}

/* Where a name was found last saves looking through all, which a launch would pay for. */
uint32_t trace_intern(const char *name)
{
    enum { HINTS = 4096 };
    static uint32_t hints[HINTS];
    struct trace_region *r = trace_region();
    if (!r || !*name) return 0;
    pthread_mutex_lock(&lock);
    uint32_t *hint = &hints[name_hash(name, strlen(name)) % HINTS], at = *hint;
    if (!at || strcmp(r->names + at, name)) *hint = at = find_name(r, name);
    pthread_mutex_unlock(&lock);
    return at;
}
