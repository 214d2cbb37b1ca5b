/* Watching a program that `faultline run` started: the shared file that its
 * processes record into, and when which report is written. */
#include "cli/cli.h"
#include "cli/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DRAIN_US = 5000, BATCH = 1024 };

static struct watch_options wanted;
static int file = -1;
static struct trace_file *head;
static struct {
    struct trace_region *region;
    struct trace_cursor cursor;
    bool announced, lives;
} process[TRACE_PROCESSES];
static FILE *trace;
static bool written;
static pthread_t drainer;
static _Atomic bool ended;

/* The k-th process's region; NULL if it has none. */
static struct trace_region *region(unsigned k)
{
    uint32_t claimed = atomic_load(&head->claimed);
    if (k >= claimed || k >= TRACE_PROCESSES) return NULL;
    if (!process[k].region) {
        void *p = mmap(NULL, TRACE_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                       TRACE_FILE_HEAD + (off_t)k * TRACE_REGION_BYTES);
        if (p != MAP_FAILED) process[k].region = p;
    }
    return process[k].region && process[k].region->version == TRACE_VERSION ? process[k].region : NULL;
}

static void drain(void)
{
    static struct trace_record record[BATCH];
    struct trace_region *r;
    for (unsigned k = 0; k < TRACE_PROCESSES; k++) {
        if (!(r = region(k))) continue;
        if (!process[k].announced) perfetto_process(trace, r);
        process[k].announced = true;
        size_t n = 1;
        for (int batches = 0; n && batches < 2 * TRACE_SLOTS / BATCH; batches++) {
            n = trace_read(r, &process[k].cursor, record, BATCH);
            for (size_t i = 0; i < n; i++) perfetto_record(trace, r, &record[i]);
        }
    }
}

static void *drain_until_end(void *arg)
{
    (void)arg;
    while (!atomic_load(&ended)) {
        drain();
        usleep(DRAIN_US);
    }
    return NULL;
}

static bool make_file(unsigned listen)
{
    char path[64];
    file = memfd_create("faultline-trace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0 || ftruncate(file, TRACE_FILE_HEAD + (off_t)TRACE_PROCESSES * TRACE_REGION_BYTES)) goto failed;
    /* whatever the program does to it, reading it stays possible */
    if (fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)) goto failed;
    head = mmap(NULL, TRACE_FILE_HEAD, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (head == MAP_FAILED) goto failed;
    *head = (struct trace_file){ TRACE_VERSION, listen, TRACE_PROCESSES, TRACE_REGION_BYTES, 0 };
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), file);
    setenv("FAULTLINE_TRACE", path, 1);
    return true;
failed:
    complain("cannot watch the program: %s", strerror(errno));
    return false;
}

bool watch_begin(const struct watch_options *options)
{
    unsigned listen = (options->summary ? TRACE_LISTEN_ALLOCATIONS : 0u) | (options->page_map ? TRACE_LISTEN_MAP : 0u) |
                      (options->trace_file ? TRACE_LISTEN_RECORDS | TRACE_LISTEN_KERNELS | TRACE_LISTEN_TRANSFERS : 0u) |
                      (options->leaks ? TRACE_LISTEN_LEDGER : 0u);
    wanted = *options;
    if (!listen) return true;
    if (wanted.trace_file && !(trace = fopen(wanted.trace_file, "we"))) {
        complain("%s: %s", wanted.trace_file, strerror(errno));
        return false;
    }
    if (!make_file(listen)) return false;
    if (!trace) return true;
    perfetto_begin(trace);
    int error = pthread_create(&drainer, NULL, drain_until_end, NULL);
    if (error) complain("cannot start a thread: %s", strerror(error));
    return !error;
}

void watch_stop(void)
{
    if (!trace) return;
    atomic_store(&ended, true);
    pthread_join(drainer, NULL);
    drain();
    perfetto_end(trace);
    const bool failed = ferror(trace) != 0;
    written = !fclose(trace) && !failed;
}

static void tell_of_trace(void)
{
    uint64_t lost = 0;
    for (unsigned k = 0; k < TRACE_PROCESSES; k++) lost += process[k].cursor.lost;
    if (written)
        fprintf(stderr, "faultline: wrote %s\n", wanted.trace_file);
    else
        complain("could not write %s", wanted.trace_file);
    if (lost) complain("%llu events came too fast and are not in it", (unsigned long long)lost);
}

/* There is room for so many. */
static void tell_of_others(void)
{
    uint32_t claimed = head ? atomic_load(&head->claimed) : 0;
    if (claimed > TRACE_PROCESSES)
        complain("of the program's processes the first %d were watched; %u came later, of which nothing is known here",
                 TRACE_PROCESSES, claimed - TRACE_PROCESSES);
}

/* Whether the process that has claimed the k-th region still has it: one that has become another program, and a later one
 * of the same number, have not. */
static bool is_in_use(unsigned k, const struct trace_region *r)
{
    const uint64_t place = TRACE_FILE_HEAD + (uint64_t)k * TRACE_REGION_BYTES;
    uint64_t from, to, offset, inode;
    char text[PATH_MAX], access[8];
    struct stat s;
    bool found = false;
    snprintf(text, sizeof text, "/proc/%u/maps", r->pid);
    FILE *maps = fstat(file, &s) ? NULL : fopen(text, "re");
    while (maps && !found && fgets(text, sizeof text, maps))
        found = sscanf(text, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %" SCNu64, &from, &to, access, &offset,
                       &inode) == 5 &&
                inode == s.st_ino && access[1] == 'w' && offset <= place && place - offset < to - from;
    if (maps) fclose(maps);
    return found;
}

static void tell_of_living(void)
{
    char name[256];
    struct trace_region *r;
    for (unsigned k = 0; head && k < TRACE_PROCESSES; k++) {
        if (!(r = region(k)) || !(process[k].lives = is_in_use(k, r))) continue;
        complain("%s, process %u, still runs: what it has is not counted, what it does from now on not recorded",
                 program_text(r, name, sizeof name), r->pid);
    }
}

static bool report_leaks(void)
{
    struct trace_region *r;
    size_t n = 0;
    bool all_ended = true;
    for (unsigned k = 0; head && k < TRACE_PROCESSES; k++) {
        if (!(r = region(k))) continue;
        if (process[k].lives)
            all_ended = false;
        else
            n += leaks_print(stderr, r);
    }
    if (!head || !atomic_load(&head->claimed))
        fprintf(stderr, "faultline: nothing was recorded: no process of the program used the driver, "
                        "or none of those that did could reach the record\n");
    else if (!n && all_ended)
        fprintf(stderr, "faultline: all memory was given back\n");
    return n;
}

bool watch_end(void)
{
    bool colour = isatty(STDERR_FILENO) && !getenv("NO_COLOR"), any = false;
    struct trace_region *r;
    if (trace) tell_of_trace();
    tell_of_living();
    for (unsigned k = 0; head && k < TRACE_PROCESSES; k++) {
        if (!(r = region(k)) || !summary_any(r)) continue;
        any = true;
        if (wanted.summary) summary_print(stderr, r);
        if (wanted.page_map) page_map_print(stderr, r, colour);
    }
    if (!any && (wanted.summary || wanted.page_map))
        fprintf(stderr, "faultline: %s\n",
                head && atomic_load(&head->claimed)
                    ? "the program allocated no managed memory"
                    : "nothing was recorded: no kernel was launched and no managed memory allocated");
    const bool leaks = wanted.leaks && report_leaks();
    tell_of_others();
    return leaks;
}

/* ---- words */

char *bytes_text(uint64_t bytes, char out[16])
{
    static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    int u = 0;
    double n = (double)bytes;
    for (; n >= 1024 && u < 6; u++) n /= 1024;
    snprintf(out, 16, n < 10 && u && n != (double)(int)n ? "%.1f %s" : "%.0f %s", n, unit[u]);
    return out;
}

char *program_text(const struct trace_region *r, char *out, size_t size)
{
    size_t n = 0;
    for (; n + 1 < size && n < sizeof r->program && r->program[n]; n++)
        out[n] = (unsigned char)r->program[n] < ' ' ? '?' : r->program[n];
    out[n] = '\0';
    return out;
}

uint64_t allocation_entries(const struct trace_region *r)
{
    uint64_t n = atomic_load(&r->allocation_count);
    return n < TRACE_ALLOCATIONS ? n : TRACE_ALLOCATIONS;
}
