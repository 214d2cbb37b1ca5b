/* faultline run --trace: the trace-event format of Chrome, which Perfetto reads
 * too. A track for each stream's kernels, copies and memsets, each processor's
 * faults, and each direction of migration. */
#include "base/tree.h"
#include "cli/watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

/* Numbers of tracks: of each processor's faults, and migrations to it, then of streams. */
enum { TRACK_FAULTS = 1, TRACK_MIGRATIONS = 300, TRACK_STREAMS = 1000 };

static uint64_t began; /* times are told from here on: a double has too few digits for those since 1970 */

/* Those that have their name. Streams are numbered as they are first seen. */
struct track {
    RB_ENTRY(track) link;
    uint64_t kind, of; /* kind: one of the above, to that of streams the device is added; of: processor, or stream */
    uint64_t number;
    uint32_t pid;
};
static RB_HEAD(tracks, track) all = RB_INITIALIZER(&all);
static uint64_t streams;

static int by_kind(const struct track *a, const struct track *b)
{
    if (a->pid != b->pid) return a->pid < b->pid ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    return (a->of > b->of) - (a->of < b->of);
}
TREE_FUNCTIONS(tracks, track, link, by_kind)

static const char *const kinds[TRACE_KINDS] = {
    [TRACE_CPU_FAULT] = "CPU fault",
    [TRACE_MIGRATION] = "migration",
    [TRACE_GPU_FAULT] = "GPU fault",
    [TRACE_GPU_FAULT_REPLAY] = "GPU fault replay",
    [TRACE_FATAL_FAULT] = "fatal fault",
    [TRACE_READ_DUPLICATE] = "read duplicate",
    [TRACE_READ_DUPLICATE_INVALIDATE] = "read duplicate invalidated",
    [TRACE_THRASHING] = "thrashing",
    [TRACE_THROTTLING_START] = "throttling starts",
    [TRACE_THROTTLING_END] = "throttling ends",
    [TRACE_MAP_REMOTE] = "remote mapping",
    [TRACE_ALLOC] = "managed allocation",
    [TRACE_FREE] = "managed memory freed",
};
static const char *const causes[TRACE_CAUSES] = { "",         "user",   "coherence", "prefetch",
                                                  "eviction", "policy", "thrashing", "" };
static const char *const memories[8] = { "", "pageable", "pinned", "device", "array", "managed", "", "" };
static const char *const accesses[8] = { "", "read", "write", "atomic", "prefetch", "", "", "" };

static void put_string(FILE *to, const char *s)
{
    fputc('"', to);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f) /* names may be in any encoding; JSON is UTF-8 */
            fprintf(to, "\\u%04x", c);
        else
            fputc(c, to);
    }
    fputc('"', to);
}

static void processor_text(unsigned p, char out[24])
{
    if (p)
        snprintf(out, 24, "device %u", p - 1);
    else
        snprintf(out, 24, "host");
}

static uint64_t since_began(uint64_t time) { return time > began ? time - began : 0; }

/* Microseconds. */
static void put_time(FILE *to, const char *what, uint64_t ns)
{
    fprintf(to, ",\"%s\":%" PRIu64 ".%03u", what, ns / 1000, (unsigned)(ns % 1000));
}

static void begin_event(FILE *to, const char *phase, const char *name, uint32_t pid, uint64_t track)
{
    fprintf(to, ",\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%" PRIu64 ",\"name\":", phase, pid, track);
    put_string(to, name);
}

static void name_track(FILE *to, uint32_t pid, uint64_t track, const char *name)
{
    begin_event(to, "M", "thread_name", pid, track);
    fputs(",\"args\":{\"name\":", to);
    put_string(to, name);
    fputs("}}", to);
}

/* Without memory for it, a stream has several. */
static uint64_t track_number(FILE *to, uint32_t pid, uint64_t kind, uint64_t of, const char *name)
{
    struct track key = { .pid = pid, .kind = kind, .of = of }, *t = RB_FIND(tracks, &all, &key);
    if (t) return t->number;
    key.number = kind < TRACK_STREAMS ? kind + of : TRACK_STREAMS + streams++;
    name_track(to, pid, key.number, name);
    if (!(t = malloc(sizeof *t))) return key.number;
    *t = key;
    RB_INSERT(tracks, &all, t);
    return t->number;
}

void perfetto_begin(FILE *to)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    began = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":0,\"name\":\"faultline\",\"args\":{}}",
          to);
}

void perfetto_process(FILE *to, const struct trace_region *r)
{
    char name[256];
    begin_event(to, "M", "process_name", r->pid, 0);
    fputs(",\"args\":{\"name\":", to);
    put_string(to, program_text(r, name, sizeof name));
    fputs("}}", to);
}

/* What is done in a stream. */
static void begin_work(FILE *to, struct trace_region *r, const struct trace_record *e, uint32_t device, uint64_t stream,
                       const char *name, const char *category)
{
    char of[64];
    snprintf(of, sizeof of, "device %u: stream %" PRIu64, device, stream);
    const uint64_t track = track_number(to, r->pid, TRACK_STREAMS + (uint64_t)device, stream, of);
    begin_event(to, "X", name, r->pid, track);
    fprintf(to, ",\"cat\":\"%s\"", category);
    put_time(to, "ts", since_began(e->time));
    put_time(to, "dur", e->end - e->time);
}

static void put_kernel(FILE *to, struct trace_region *r, const struct trace_record *e)
{
    struct trace_kernel k = { 0 };
    bool known = trace_kernel_details(r, e->address, &k);
    begin_work(to, r, e, known ? k.device : 0, k.stream, known ? trace_name(r, k.name) : "a kernel", "kernel");
    fprintf(to,
            ",\"args\":{\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"shared\":%u,\"registers\":%u,\"device\":%u,"
            "\"stream\":%" PRIu64 ",\"launch\":%" PRIu64 "}}",
            k.grid[0], k.grid[1], k.grid[2], k.block[0], k.block[1], k.block[2], k.shared_static + k.shared_dynamic,
            k.registers, k.device, k.stream, e->batch);
}

static void put_transfer(FILE *to, struct trace_region *r, const struct trace_record *e)
{
    char name[96], bytes[16], there[24], source[24];
    bool fill = e->from == TRACE_MEMORY_NONE;
    processor_text(e->processor, there);
    processor_text(e->source, source);
    bytes_text(e->bytes, bytes);
    if (fill)
        snprintf(name, sizeof name, "memset %s on %s", bytes, there);
    else
        snprintf(name, sizeof name, "copy %s from %s to %s", bytes, source, there);
    begin_work(to, r, e, e->device, e->thread, name, fill ? "memset" : "copy");
    fprintf(to, ",\"args\":{\"address\":\"0x%" PRIx64 "\",\"%s\":\"0x%" PRIx64 "\",\"bytes\":%" PRIu64 ",\"to\":\"%s\"",
            e->address, fill ? "value" : "source", e->batch, e->bytes, memories[e->to & 7]);
    if (!fill) fprintf(to, ",\"from\":\"%s\"", memories[e->from & 7]);
    fprintf(to, ",\"asynchronous\":%s,\"stream\":%u}}", e->asynchronous ? "true" : "false", e->thread);
}

static void put_arguments(FILE *to, const struct trace_record *e)
{
    char name[24];
    fprintf(to, ",\"args\":{\"address\":\"0x%" PRIx64 "\",\"bytes\":%" PRIu64, e->address, e->bytes);
    processor_text(e->processor, name);
    fprintf(to, ",\"processor\":\"%s\"", name);
    processor_text(e->source, name);
    if (e->kind == TRACE_MIGRATION || e->kind == TRACE_MAP_REMOTE || e->kind == TRACE_READ_DUPLICATE)
        fprintf(to, ",\"source\":\"%s\"", name);
    if (e->cause) fprintf(to, ",\"cause\":\"%s\"", causes[e->cause % TRACE_CAUSES]);
    if (e->access) fprintf(to, ",\"access\":\"%s\"", accesses[e->access & 7]);
    if (e->kind == TRACE_GPU_FAULT) fprintf(to, ",\"accesses\":%u,\"batch\":%" PRIu64, e->count, e->batch);
    if (e->kind == TRACE_CPU_FAULT) fprintf(to, ",\"thread\":%u,\"pc\":\"0x%" PRIx64 "\"", e->thread, e->batch);
    fputs("}}", to);
}

void perfetto_record(FILE *to, struct trace_region *r, const struct trace_record *e)
{
    char name[64], bytes[16], processor[24];
    bool migration = e->kind == TRACE_MIGRATION;
    if (e->kind >= TRACE_KINDS || e->end < e->time) return;
    if (e->kind == TRACE_KERNEL) return put_kernel(to, r, e);
    if (e->kind == TRACE_TRANSFER) return put_transfer(to, r, e);
    if (!kinds[e->kind]) return;
    processor_text(e->processor, processor);
    snprintf(name, sizeof name, migration ? "migrations to %s" : "%s: faults", processor);
    const uint64_t track = track_number(to, r->pid, migration ? TRACK_MIGRATIONS : TRACK_FAULTS, e->processor, name);
    processor_text(e->source, processor);
    snprintf(name, sizeof name, "%s from %s", bytes_text(e->bytes, bytes), processor);
    begin_event(to, migration ? "X" : "i", migration ? name : kinds[e->kind], r->pid, track);
    fprintf(to, ",\"cat\":\"%s\"", migration ? "migration" : "fault");
    if (!migration) fputs(",\"s\":\"t\"", to);
    put_time(to, "ts", since_began(e->time));
    if (migration) put_time(to, "dur", e->end - e->time);
    put_arguments(to, e);
}

void perfetto_end(FILE *to) { fputs("\n]}\n", to); }
