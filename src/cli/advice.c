/* From what happened to an allocation to one line of plain advice: the most
 * expensive pattern that it shows, and what the program could do about it. */
#include "cli/watch.h"

enum { MANY_FAULTS = 8, MANY_RETURNS = 8, MANY_TIMES = 4 };
#define WORTHWHILE (512ull << 10) /* bytes moved below this are not worth a word */
#define SHARED_BELOW (2ull << 20) /* smaller allocations lie in a block with others */
#define FETCHED_AT_ONCE (64ull << 10) /* bytes that come by a single fault, if there is so much */

static uint64_t by_faults(const struct trace_statistics *s, enum trace_direction d)
{
    return s->moved[d][TRACE_CAUSE_COHERENCE] + s->moved[d][TRACE_CAUSE_PREFETCH];
}

/* Faults that were reads, of a hundred. If nothing has come back to the host, its faults were the first touches. */
static unsigned reads(const struct trace_statistics *s)
{
    uint64_t read = 0, all = 0;
    for (int who = trace_moved(s, TRACE_TO_HOST) ? 0 : 1; who < 2; who++)
        for (int access = 0; access < 8; access++) {
            all += s->faults[who][access];
            if (access == TRACE_ACCESS_READ || access == TRACE_ACCESS_PREFETCH) read += s->faults[who][access];
        }
    return all ? (unsigned)(read * 100 / all) : 0;
}

/* Ordinary memory is never duplicated, and the host's touch brings it back wherever it is preferred. */
static const char *what_ends_turns(const struct trace_statistics *s, bool ordinary)
{
    if (ordinary)
        return "set the host as its preferred location, where devices then reach it, or separate what each of them "
               "uses";
    return reads(s) >= 90
               ? "nearly all faults were reads; if hardly anything is written afterwards, advise read-mostly "
                 "(CU_MEM_ADVISE_SET_READ_MOSTLY), otherwise set a preferred location and accessed-by for the others"
               : "set a preferred location and accessed-by for the others, or separate what each of them writes";
}

static bool back_and_forth(const struct trace_statistics *s, bool ordinary, char *out, size_t size)
{
    uint64_t times = s->events[TRACE_THRASHING];
    /* what comes again as a copy took nothing from anybody */
    uint64_t fetched = by_faults(s, TRACE_TO_DEVICE) + by_faults(s, TRACE_BETWEEN_DEVICES);
    bool copies = s->bytes[TRACE_READ_DUPLICATE] && s->bytes[TRACE_READ_DUPLICATE] >= fetched / 2;
    if (!times && (s->returns < MANY_RETURNS || copies)) return false;
    int n =
        times ? snprintf(out, size, "pages went back and forth so quickly that the driver noticed %llu time%s: ",
                         (unsigned long long)times, times == 1 ? "" : "s")
              : snprintf(out, size, "the same pages moved again and again, %llu times, because processors took turns: ",
                         (unsigned long long)s->returns);
    if (n < 0 || (size_t)n >= size) return true;
    snprintf(out + n, size - (size_t)n, "%s", what_ends_turns(s, ordinary));
    return true;
}

/* Each write to a page ends its copies, and the next read makes them again. Where most of them stay that pays. */
static bool copies_written(const struct trace_statistics *s, char *out, size_t size)
{
    char text[16];
    uint64_t ended = s->bytes[TRACE_READ_DUPLICATE_INVALIDATE];
    if (ended < WORTHWHILE || s->events[TRACE_READ_DUPLICATE_INVALIDATE] < MANY_FAULTS || trace_evicted(s) ||
        ended < s->bytes[TRACE_READ_DUPLICATE] / 2)
        return false;
    snprintf(out, size,
             "it is read-mostly, but writes ended %s of copies: write it before that is advised, or unset it "
             "(CU_MEM_ADVISE_UNSET_READ_MOSTLY)",
             bytes_text(ended, text));
    return true;
}

static bool oversubscribed(const struct trace_statistics *s, char *out, size_t size)
{
    char evicted[16], fetched[16];
    uint64_t bytes = trace_evicted(s), moved = trace_moved(s, TRACE_TO_DEVICE);
    if (bytes < WORTHWHILE) return false;
    bool prefetched = s->moved[TRACE_TO_DEVICE][TRACE_CAUSE_USER] > moved / 2;
    snprintf(out, size,
             "%s was evicted from device memory (%s moved there in all): more is in use than fits; %s, or prefer the host "
             "for what is touched once",
             bytes_text(bytes, evicted), bytes_text(moved, fetched),
             prefetched ? "prefetch smaller pieces, later" : "work in pieces, prefetch each");
    return true;
}

/* Whether so much came by faults that it is worth a word, beside what was prefetched. */
static bool matters(uint64_t by_faults, uint64_t moved) { return by_faults >= WORTHWHILE && by_faults >= moved / 8; }

static bool page_by_page(const struct trace_statistics *s, char *out, size_t size)
{
    char moved[16];
    uint64_t to_device = by_faults(s, TRACE_TO_DEVICE) + by_faults(s, TRACE_BETWEEN_DEVICES),
             to_host = by_faults(s, TRACE_TO_HOST);
    unsigned long long gpu = s->events[TRACE_GPU_FAULT], cpu = s->events[TRACE_CPU_FAULT];
    uint64_t reached = trace_moved(s, TRACE_TO_DEVICE) + trace_moved(s, TRACE_BETWEEN_DEVICES);
    if (matters(to_device, reached) && gpu >= MANY_FAULTS)
        snprintf(out, size, "%s moved to the GPU page by page by %llu faults: prefetch it before the launch",
                 bytes_text(to_device, moved), gpu);
    else if (matters(to_host, trace_moved(s, TRACE_TO_HOST)) && cpu >= MANY_FAULTS)
        snprintf(out, size,
                 "%s moved to the host page by page by %llu faults: prefetch it to the host before it is used there",
                 bytes_text(to_host, moved), cpu);
    else if (!trace_moved(s, TRACE_TO_DEVICE) && gpu >= 4 * MANY_FAULTS)
        snprintf(
            out, size,
            "kernels touched it first, by %llu faults: a prefetch to the device before the launch populates it at once",
            gpu);
    else
        return false;
    return true;
}

/* A fault of its own moves no more than all of it, or what comes at once: what moved beyond that was fetched beside
 * pages of other allocations, which lie in the same block because all are small. */
static bool with_its_neighbours(uint64_t bytes, const struct trace_statistics *s, char *out, size_t size)
{
    char text[16];
    uint64_t moved = by_faults(s, TRACE_TO_DEVICE) + by_faults(s, TRACE_BETWEEN_DEVICES) + by_faults(s, TRACE_TO_HOST),
             at_once = bytes < FETCHED_AT_ONCE ? FETCHED_AT_ONCE : bytes,
             own = at_once * (s->events[TRACE_GPU_FAULT] + s->events[TRACE_CPU_FAULT]);
    if (bytes >= SHARED_BELOW || moved < own + MANY_TIMES * bytes || moved < WORTHWHILE / 8) return false;
    snprintf(
        out, size,
        "%s moved along with its neighbours: allocations below 2 MiB share blocks of 2 MiB, in which a fault "
        "fetches pages of others, too; allocate together what is used together, and apart what is not",
        bytes_text(moved - own, text));
    return true;
}

bool advice_give(const struct trace_allocation *a, const struct trace_statistics *s, char *out, size_t size)
{
    if (!a->ordinary && with_its_neighbours(a->bytes, s, out, size)) return true;
    /* pages that return because there was no room for them took no turns */
    bool no_room = !s->events[TRACE_THRASHING] && trace_evicted(s) >= trace_moved(s, TRACE_TO_HOST) / 2;
    if (no_room && oversubscribed(s, out, size)) return true;
    return copies_written(s, out, size) || back_and_forth(s, a->ordinary, out, size) || oversubscribed(s, out, size) ||
           page_by_page(s, out, size);
}
