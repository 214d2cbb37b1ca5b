/* Reading the trace, by the process itself or by the `faultline run` that
 * watches it; the latter trusts nothing that it reads. */
#include "trace/region.h"

#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Waits in one call for writers that have their number but not yet their record, the first of them short: a
 * writer may have lost its processor, but one that was killed in between never comes. */
enum { YIELDS = 4000, PATIENCE = YIELDS + 2000, NAP_US = 100 };

enum outcome { READ, TOO_LATE, NOT_YET };

static enum outcome take(const struct trace_slot *slot, uint64_t i, struct trace_record *out)
{
    uint64_t word[TRACE_WORDS], seq = atomic_load_explicit(&slot->seq, memory_order_acquire);
    if (seq != 2 * i + 2) return seq > 2 * i + 2 ? TOO_LATE : NOT_YET;
    for (int k = 0; k < TRACE_WORDS; k++) word[k] = atomic_load_explicit(&slot->word[k], memory_order_acquire);
    if (atomic_load_explicit(&slot->seq, memory_order_relaxed) != seq) return TOO_LATE;
    memcpy(out, word, sizeof word);
    return READ;
}

size_t trace_read(struct trace_region *r, struct trace_cursor *c, struct trace_record *out, size_t most)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);
    size_t n = 0;
    for (unsigned patience = 0; n < most && c->next < head;) {
        if (head - c->next > TRACE_SLOTS) { /* overwritten by now */
            c->lost += head - TRACE_SLOTS - c->next;
            c->next = head - TRACE_SLOTS;
        }
        enum outcome o = take(&r->slots[c->next % TRACE_SLOTS], c->next, &out[n]);
        if (o == NOT_YET && patience++ < PATIENCE) {
            if (patience < YIELDS)
                sched_yield();
            else
                usleep(NAP_US);
            continue;
        }
        c->next++;
        n += o == READ;
        c->lost += o != READ;
    }
    return n;
}

bool trace_kernel_details(struct trace_region *r, uint64_t ticket, struct trace_kernel *out)
{
    struct trace_kernel *k = &r->kernels[ticket % TRACE_KERNELS];
    if (!ticket || atomic_load_explicit(&k->ticket, memory_order_acquire) != ticket) return false;
    for (size_t word = 0; word < sizeof *k / 8; word++)
        ((uint64_t *)out)[word] = __atomic_load_n((uint64_t *)k + word, __ATOMIC_ACQUIRE);
    return atomic_load_explicit(&k->ticket, memory_order_relaxed) == ticket;
}

const char *trace_name(const struct trace_region *r, uint32_t name)
{
    if (name >= TRACE_NAME_BYTES || !memchr(r->names + name, '\0', TRACE_NAME_BYTES - name)) return "";
    return r->names + name;
}

void trace_sleep(struct trace_region *r, unsigned milliseconds)
{
    struct timespec t = { milliseconds / 1000, milliseconds % 1000 * 1000000l };
    uint32_t seen = atomic_load(&r->quarters);
    atomic_fetch_add(&r->sleepers, 1);
    syscall(SYS_futex, &r->quarters, FUTEX_WAIT, seen, &t, NULL, 0);
    atomic_fetch_sub(&r->sleepers, 1);
}

struct trace_statistics trace_counted(const struct trace_statistics *s)
{
    struct trace_statistics copy;
    _Static_assert(sizeof copy % sizeof(uint64_t) == 0, "counters and nothing else");
    const uint64_t *from = (const uint64_t *)s;
    uint64_t *to = (uint64_t *)&copy;
    for (size_t k = 0; k < sizeof copy / sizeof *to; k++) to[k] = __atomic_load_n(&from[k], __ATOMIC_RELAXED);
    return copy;
}

uint64_t trace_moved(const struct trace_statistics *s, enum trace_direction d)
{
    uint64_t bytes = 0;
    for (int cause = 0; cause < TRACE_CAUSES; cause++) bytes += s->moved[d][cause];
    return bytes;
}

uint64_t trace_evicted(const struct trace_statistics *s)
{
    uint64_t bytes = 0;
    for (int d = 0; d < TRACE_DIRECTIONS; d++) bytes += s->moved[d][TRACE_CAUSE_EVICTION];
    return bytes;
}
