/* The thrashing detector: pages that processors take from each other in quick
 * succession are given a rest (throttling), then a fixed place (pinning). The
 * real driver's constants and tables. */
#include "uvm/histories.h"
#include "uvm/internal.h"

static const uint64_t LAPSE = 500000, NAP = 500000, EPOCH = 1000000000, PIN = 150000000; /* ns */
enum { THRESHOLD = 3, EVENTS_MOST = 7, PIN_THRESHOLD = 10, RESETS_MOST = 4 };

struct thrashing {
    struct histories *pages; /* NULL until two processors came quickly */
    uint64_t last, last_thrashing;
    unsigned last_processor, resets;
    bool ever_pinned, any;
    struct mask mask; /* pages that thrash */
    unsigned pinned;  /* pages */
    struct block *block;
    LIST_ENTRY(thrashing) link; /* of those with pinned pages */
};
static LIST_HEAD(, thrashing) with_pins = LIST_HEAD_INITIALIZER(with_pins);

const struct mask *thrashing_pages(const struct block *b)
{
    return b->thrashing && b->thrashing->any ? &b->thrashing->mask : NULL;
}

uint32_t thrashing_processors(const struct block *b, unsigned page)
{
    return b->thrashing && b->thrashing->pages ? history_of(b->thrashing->pages, page)->processors : 0;
}

bool thrashing_pinned(const struct block *b, unsigned page)
{
    return b->thrashing && b->thrashing->pages && history_of(b->thrashing->pages, page)->pinned;
}

static void trace(const struct block *b, enum trace_kind kind, unsigned processor, unsigned page)
{
    trace_write(&(struct trace_record){ .kind = (uint8_t)kind,
                                        .processor = (uint8_t)processor,
                                        .thread = kind == TRACE_THRASHING ? thrashing_processors(b, page) : 0,
                                        .address = b->window->va + (uint64_t)page * PAGE_BYTES,
                                        .bytes = PAGE_BYTES });
}

/* False: without memory it keeps the one that it had. */
static bool keep(struct thrashing *t, unsigned page, const struct history *g)
{
    bool was_pinned = history_of(t->pages, page)->pinned;
    if (!history_set(t->pages, page, g)) return false;
    if (g->pinned && !was_pinned && !t->pinned++) LIST_INSERT_HEAD(&with_pins, t, link);
    if (!g->pinned && was_pinned && !--t->pinned) LIST_REMOVE(t, link);
    return true;
}

/* The events are forgotten, not the naps: a page whose events are slow because its
 * processors are throttled would never be pinned (observed on H200: the tenth nap
 * pins, however often the page was reset in between). Who was mapped to the page for
 * a pin's sake has to fault again. */
static void reset_page(struct thrashing *t, unsigned page)
{
    struct history before = *history_of(t->pages, page), g = before;
    g.last = g.pin_end = 0;
    g.processors = 0;
    g.events = 0;
    g.target = NOBODY;
    g.revoked = g.pinned = false;
    if (!keep(t, page, &g)) return;
    mask_clear(&t->mask, page);
    t->any = !mask_empty(&t->mask);
    if (!before.pinned) return;
    struct mask one = { { 0 } };
    mask_set(&one, page);
    uint32_t holders = page_holders(t->block, page);
    for_each_processor(p, before.processors & ~holders & ~t->block->range->policy.accessed_by)
        block_unmap(t->block, p, &one);
}

void thrashing_reset(struct block *b, const struct mask *pages)
{
    struct thrashing *t = b->thrashing;
    if (!t || !t->any) return;
    struct mask some = mask_and(&t->mask, pages);
    for_each_page(page, &some) reset_page(t, page);
}

void thrashing_free(struct block *b)
{
    struct thrashing *t = b->thrashing;
    if (!t) return;
    if (t->pinned) LIST_REMOVE(t, link);
    histories_free(t->pages);
    heap_give(t);
    b->thrashing = NULL;
}

/* ---- events */

static bool begin_pages(struct thrashing *t, unsigned p, uint64_t now)
{
    bool quick = t->last && t->last_processor != p && now - t->last <= LAPSE;
    t->last = now;
    t->last_processor = p;
    if (t->pages || !quick) return t->pages;
    t->pages = histories_new(&(struct history){ .privileged = NOBODY, .target = NOBODY });
    return t->pages;
}

static void page_event(struct thrashing *t, unsigned page, unsigned p, bool revoked, uint64_t now)
{
    struct history g = *history_of(t->pages, page);
    bool first = !g.last, quick = !first && now - g.last <= LAPSE, begins = false;
    g.last = now;
    g.processors |= bit(p);
    if (quick) {
        g.revoked |= revoked;
        if (g.events < EVENTS_MOST) g.events++;
        begins = g.events == THRESHOLD;
    }
    if (!keep(t, page, &g) || first) return;
    if (!quick && g.events >= THRESHOLD && !g.pinned) reset_page(t, page); /* this event with the others */
    if (begins) {
        mask_set(&t->mask, page);
        t->any = true;
        trace(t->block, TRACE_THRASHING, p, page);
    }
    if (quick && g.events >= THRESHOLD) t->last_thrashing = now;
}

void thrashing_event(struct block *b, const struct mask *pages, unsigned p, bool revoked, uint64_t now)
{
    struct thrashing *t = b->thrashing;
    if (!t) {
        t = b->thrashing = heap_take(sizeof *t);
        if (!t) return;
        t->last_processor = NOBODY;
        t->block = b;
    }
    if (!begin_pages(t, p, now)) return;
    for_each_page(page, pages)
    {
        const struct history *g = history_of(t->pages, page);
        if (!g->pinned || g->target != p) page_event(t, page, p, revoked, now);
    }
    histories_tidy(t->pages);
}

/* ---- the hint */

static bool all_access(uint32_t processors, unsigned target)
{
    for_each_processor(p, processors)
        if (!can_access(p, target)) return false;
    return true;
}

static bool all_fast(uint32_t processors, unsigned target)
{
    for_each_processor(p, processors)
        if (p != target && !(topology.fast_link[p] >> target & 1 && native_atomics(p, target))) return false;
    return true;
}

/* The closest place to p that all of them reach; p itself if there is none. */
static unsigned common_place(uint32_t processors, unsigned p)
{
    uint32_t common = 0;
    for (unsigned q = 0; q < topology.processors; q++)
        if (all_access(processors, q)) common |= bit(q);
    unsigned q = closest(p, common);
    return q == NOBODY ? p : q;
}

static struct hint pin(unsigned target) { return (struct hint){ HINT_PIN, target, 0 }; }
static struct hint throttle(const struct history *g) { return (struct hint){ HINT_THROTTLE, NOBODY, g->nap_end }; }
static const struct hint none = { HINT_NONE, NOBODY, 0 };

static struct hint table(const struct block *b, const struct history *g, unsigned page, unsigned p)
{
    unsigned preferred = b->range->policy.preferred, near = closest(p, page_holders(b, page));
    bool privileged = g->privileged == p;
    if (preferred != NOBODY && all_access(g->processors, preferred)) return pin(preferred);
    if (near != NOBODY && !(preferred != NOBODY && g->processors >> preferred & 1) && all_fast(g->processors, near)) {
        if (near == CPU && all_access(g->processors, p)) return p == CPU ? none : pin(p);
        return pin(near);
    }
    if (p == preferred) {
        if (g->pinned) return g->target == preferred || privileged ? pin(preferred) : throttle(g);
        if (!privileged) return throttle(g);
        return g->throttle_count >= PIN_THRESHOLD ? pin(preferred) : none;
    }
    if (g->pinned) {
        if (privileged) return pin(all_access(g->processors, p) ? p : common_place(g->processors, p));
        return can_access(p, g->target) ? pin(g->target) : throttle(g);
    }
    if (!privileged) return throttle(g);
    return g->throttle_count >= PIN_THRESHOLD ? pin(p) : none;
}

static void take_nap(struct history *g, unsigned p, uint64_t now)
{
    if (now >= g->nap_end) {
        g->nap_end = now + NAP;
        g->privileged = (uint8_t)(g->privileged == p ? NOBODY : p);
    } else if (g->privileged == NOBODY) {
        g->privileged = (uint8_t)p;
    }
}

static void start_over(struct thrashing *t)
{
    for_each_page(page, &t->mask) reset_page(t, page);
    histories_free(t->pages);
    t->pages = NULL;
    t->last = t->last_thrashing = 0;
    t->last_processor = NOBODY;
    t->resets++;
}

static void pin_page(struct history *g, unsigned target, uint64_t now)
{
    if (!g->pinned) g->pin_end = now + PIN;
    g->pinned = true;
    g->target = (uint8_t)target;
    g->throttle_count = 0;
}

/* For a page that thrashes; g: its history, which changes. */
static struct hint decide(struct block *b, struct history *g, unsigned page, unsigned p, uint64_t now)
{
    if (!g->pinned && now - g->last > LAPSE) return none;
    g->processors |= bit(p);
    take_nap(g, p, now);
    struct hint h = g->pinned && g->revoked && g->privileged != p ? throttle(g) : table(b, g, page, p);
    if (h.kind == HINT_THROTTLE) {
        g->throttled |= bit(p);
        if (!g->pinned && g->throttle_count < 255) g->throttle_count++;
    }
    if (h.kind == HINT_PIN) pin_page(g, h.target, now);
    return h;
}

struct hint thrashing_hint(struct block *b, unsigned page, unsigned p, uint64_t now)
{
    struct thrashing *t = b->thrashing;
    if (!t || !t->pages) return none;
    if (t->last_thrashing && now - t->last_thrashing > EPOCH && !t->ever_pinned && t->resets < RESETS_MOST) {
        start_over(t);
        return none;
    }
    struct history g = *history_of(t->pages, page);
    if (g.pinned && now >= g.pin_end) {
        reset_page(t, page);
        return none;
    }
    if (g.events < THRESHOLD) return none;
    bool throttled = g.throttled & bit(p);
    if (throttled && now < g.nap_end && g.privileged != p) return throttle(&g);
    g.throttled &= ~bit(p);
    struct hint h = decide(b, &g, page, p, now);
    if (!keep(t, page, &g)) return none;
    if (throttled) trace(b, TRACE_THROTTLING_END, p, page);
    if (h.kind == HINT_THROTTLE) trace(b, TRACE_THROTTLING_START, p, page);
    t->ever_pinned |= h.kind == HINT_PIN;
    return h;
}

bool thrashing_pinned_any(void) { return !LIST_EMPTY(&with_pins); }

uint64_t thrashing_unpin(uint64_t now)
{
    uint64_t next = 0;
    struct thrashing *t, *after;
    LIST_FOREACH_SAFE(t, &with_pins, link, after)
    {
        for (unsigned page = 0; page < WINDOW_PAGES && t->pinned; page++) {
            const struct history *g = history_of(t->pages, page);
            if (!g->pinned) continue;
            if (g->pin_end <= now)
                reset_page(t, page);
            else if (!next || g->pin_end < next)
                next = g->pin_end;
        }
    }
    return next;
}
