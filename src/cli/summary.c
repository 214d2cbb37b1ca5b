/* faultline run --um-summary: a table of managed allocations, and advice. */
#include "cli/watch.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SHOWN = 40, ADVICE = 512 };

/* What the lines so far said that could be done, and of which allocation. */
struct said {
    char what[MOST_SHOWN][ADVICE];
    uint64_t of[MOST_SHOWN];
    size_t count;
};

struct line {
    const struct trace_allocation *allocation;
    const struct trace_statistics *statistics;
    uint64_t traffic;
};

static uint64_t traffic(const struct trace_statistics *s)
{
    uint64_t n = s->events[TRACE_CPU_FAULT] + s->events[TRACE_GPU_FAULT] + s->bytes[TRACE_MAP_REMOTE];
    for (int d = 0; d < TRACE_DIRECTIONS; d++) n += trace_moved(s, (enum trace_direction)d);
    return n;
}

static int by_traffic(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return x->traffic != y->traffic
               ? (x->traffic < y->traffic) - (x->traffic > y->traffic)
               : (x->allocation->ordinal > y->allocation->ordinal) - (x->allocation->ordinal < y->allocation->ordinal);
}

static int by_ordinal(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return (x->allocation->ordinal > y->allocation->ordinal) - (x->allocation->ordinal < y->allocation->ordinal);
}

/* "-" for nothing: a table of zeros hides what is there. */
static const char *amount(uint64_t bytes, char out[16]) { return bytes ? bytes_text(bytes, out) : "-"; }

static void print_numbers(FILE *to, const struct trace_statistics *s, bool devices)
{
    char text[16];
    fprintf(to, " %10s", amount(trace_moved(s, TRACE_TO_DEVICE), text));
    fprintf(to, " %10s", amount(trace_moved(s, TRACE_TO_HOST), text));
    if (devices) fprintf(to, " %10s", amount(trace_moved(s, TRACE_BETWEEN_DEVICES), text));
    fprintf(to, " %10llu %10llu", (unsigned long long)s->events[TRACE_CPU_FAULT],
            (unsigned long long)s->events[TRACE_GPU_FAULT]);
    fprintf(to, " %10s", amount(s->bytes[TRACE_READ_DUPLICATE], text));
    fprintf(to, " %10s", amount(trace_evicted(s), text));
    fprintf(to, " %10s", amount(s->bytes[TRACE_THRASHING], text));
    fprintf(to, " %10s\n", amount(s->bytes[TRACE_MAP_REMOTE], text));
}

/* What could be done is said once: a program with hundreds of small allocations needs to hear it no more often. */
static void print_advice(FILE *to, uint64_t ordinal, char *text, struct said *said)
{
    char *what = strstr(text, ": ");
    size_t k = 0;
    while (what && k < said->count && strcmp(said->what[k], what)) k++;
    if (what && k < said->count) {
        fprintf(to, "        %.*s: see #%llu\n", (int)(what - text), text, (unsigned long long)said->of[k]);
        return;
    }
    fprintf(to, "        %s\n", text);
    if (!what) return;
    said->of[said->count] = ordinal;
    strcpy(said->what[said->count++], what);
}

static void print_allocation(FILE *to, const struct trace_allocation *a, const struct trace_statistics *s, bool devices,
                             struct said *said)
{
    char text[ADVICE];
    fprintf(to, "  #%-4llu 0x%012llx %10s", (unsigned long long)a->ordinal, (unsigned long long)a->address,
            bytes_text(a->bytes, text));
    print_numbers(to, s, devices);
    if (advice_give(a, s, text, sizeof text)) print_advice(to, a->ordinal, text, said);
}

static void print_table(FILE *to, struct trace_region *r, struct line *line, size_t n, bool devices)
{
    size_t shown = n < MOST_SHOWN ? n : MOST_SHOWN;
    struct said said = { .count = 0 };
    fprintf(to, "  %-20s %10s %10s %10s", "allocation", "size", "to device", "to host");
    if (devices) fprintf(to, " %10s", "dev to dev");
    fprintf(to, " %10s %10s %10s %10s %10s %10s\n", "CPU faults", "GPU faults", "duplicated", "evicted", "thrashing",
            "remote");
    qsort(line, n, sizeof *line, by_traffic);
    qsort(line, shown, sizeof *line, by_ordinal);
    for (size_t k = 0; k < shown; k++) print_allocation(to, line[k].allocation, line[k].statistics, devices, &said);
    if (shown < n) fprintf(to, "  and %zu allocations with which less happened\n", n - shown);
    if (traffic(&r->statistics[0])) {
        fprintf(to, "  %-31s", "other memory of the program");
        print_numbers(to, &r->statistics[0], devices);
    }
    if (n > 1 || traffic(&r->statistics[0])) {
        fprintf(to, "  %-31s", "all");
        print_numbers(to, &r->total, devices);
    }
}

bool summary_any(const struct trace_region *r) { return allocation_entries(r) > 1 || traffic(&r->statistics[0]); }

void summary_print(FILE *to, struct trace_region *r)
{
    char name[256];
    uint64_t entries = allocation_entries(r);
    size_t n = 0;
    struct line *line = calloc(entries, sizeof *line);
    fprintf(to, "faultline: managed memory of %s, process %u\n", program_text(r, name, sizeof name), r->pid);
    for (uint64_t k = 1; line && k < entries; k++)
        if (r->allocations[k].ordinal)
            line[n++] = (struct line){ &r->allocations[k], &r->statistics[k], traffic(&r->statistics[k]) };
    if (line) print_table(to, r, line, n, trace_moved(&r->total, TRACE_BETWEEN_DEVICES) != 0);
    free(line);
}
