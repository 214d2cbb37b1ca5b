/* What the trace takes for an allocation where memory is not managed: a mapping
 * of the program's, as it was when a device first touched it. */
#include "uvm/internal.h"

struct span {
    uint64_t start, end;
    bool told; /* not so what is left of one, before it is known to be mapped still */
    LIST_ENTRY(span) link;
};
static LIST_HEAD(, span) spans = LIST_HEAD_INITIALIZER(spans);

static void trace(enum trace_kind kind, const struct span *s)
{
    trace_write(
        &(struct trace_record){ .kind = (uint8_t)kind, .source = 1, .address = s->start, .bytes = s->end - s->start });
}

static struct span *add(uint64_t start, uint64_t end)
{
    struct span *s = start < end ? heap_take(sizeof *s) : NULL;
    if (!s) return NULL;
    *s = (struct span){ .start = start, .end = end };
    LIST_INSERT_HEAD(&spans, s, link);
    return s;
}

static void tell(struct span *s, uint64_t start, uint64_t end)
{
    if (!s || s->told) return;
    if (start > s->start) s->start = start;
    if (end < s->end) s->end = end;
    s->told = true;
    trace(TRACE_ALLOC, s);
}

void spans_note(uint64_t va, uint64_t start, uint64_t end)
{
    struct span *s;
    LIST_FOREACH(s, &spans, link)
    {
        if (va >= s->start && va < s->end) break;
        if (s->end <= va && s->end > start) start = s->end;
        if (s->start > va && s->start < end) end = s->start;
    }
    tell(s ? s : add(start, end), start, end);
}

void spans_forget(uint64_t start, uint64_t end)
{
    for (struct span *s = LIST_FIRST(&spans), *next; s; s = next) {
        next = LIST_NEXT(s, link);
        if (s->end <= start || s->start >= end) continue;
        if (s->told) trace(TRACE_FREE, s);
        add(s->start, start);
        add(end, s->end);
        LIST_REMOVE(s, link);
        heap_give(s);
    }
}
