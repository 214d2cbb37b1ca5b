/* The memory of graphs, in pieces; see arena.h. */
#include "context/context.h"
#include "mempool/arena.h"

#include <stdlib.h>
#include <time.h>

enum { LAUNCH_MOST_S = 1 /* to be issued, while another one waits for its pieces */ };

static uint64_t offset_of(const struct zone *z, const struct span *s)
{
    return (uint64_t)(s - z->span) * MEMPOOL_MAPPING;
}

/* ---- points that are waited for */

/* False: there is no memory for it. */
static bool waits_add(struct wait **list, struct mark *m)
{
    struct wait *w = malloc(sizeof *w);
    if (!w) return false;
    *w = (struct wait){ point_share(m), *list };
    *list = w;
    return true;
}

static void waits_end(struct wait *w)
{
    while (w) {
        struct wait *gone = w;
        w = w->next;
        point_release(gone->mark);
        free(gone);
    }
}

/* Whether all are done, and forgets those that are. */
static bool are_done(struct wait **list)
{
    for (struct wait **at = list, *w; (w = *at);) {
        if (!point_done(w->mark)) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        point_release(w->mark);
        free(w);
    }
    return !*list;
}

static CUresult follow_all(const struct wait *w, struct stream *s)
{
    CUresult r = CUDA_SUCCESS;
    for (; w && !r; w = w->next) r = stream_after(s, w->mark);
    return r;
}

/* ---- spans */

CUresult span_map(struct zone *z, const struct span *s, struct device *d)
{
    const uint64_t at = offset_of(z, s);
    if (!arena_is_open(s->arena, d) || !d->processor) return CUDA_SUCCESS;
    return processor_map(d->processor, z->place.va + at, MEMPOOL_MAPPING, z->place.backing, z->place.offset + at,
                         PROT_DEVICE_READ | PROT_DEVICE_WRITE);
}

static void unmap(struct zone *z, struct span *s, int devices_mapped)
{
    for (int k = 0; k < devices_mapped; k++)
        if (devices[k].processor && arena_is_open(s->arena, &devices[k]))
            processor_unmap(devices[k].processor, z->place.va + offset_of(z, s), MEMPOOL_MAPPING);
    s->mapped = false;
}

static CUresult map(struct zone *z, struct span *s)
{
    CUresult r = CUDA_SUCCESS;
    int k = 0;
    if (s->mapped) return r;
    for (; k < device_count && !r; k++) r = span_map(z, s, &devices[k]);
    if (r)
        unmap(z, s, k - 1);
    else
        s->mapped = true;
    return r;
}

static void set_stale(struct zone *z, struct span *s, bool stale, struct wait *uses)
{
    z->stale += stale;
    z->stale -= s->stale;
    s->stale = stale;
    waits_end(s->uses);
    s->uses = uses;
}

void span_clear(struct zone *z, struct span *s)
{
    const uint64_t at = offset_of(z, s);
    if (!s->mapped) return;
    chunks_changed();
    unmap(z, s, device_count);
    backing_discard(z->place.backing, z->place.offset + at, MEMPOOL_MAPPING);
    set_stale(z, s, false, NULL);
    if (s->piece) s->piece->span = NULL;
    s->piece = NULL;
}

/* ---- who needs a piece */

static void prune(struct piece *p)
{
    are_done(&p->frees);
    if (!p->mark || !point_done(p->mark)) return;
    point_release(p->mark);
    p->mark = NULL;
}

static bool is_idle(struct piece *p)
{
    prune(p);
    return !p->live && !p->launch && !p->mark && !p->frees;
}

bool span_is_idle(struct span *s) { return are_done(&s->uses) && (!s->piece || is_idle(s->piece)); }

/* A graph's launches come one after the other; what another graph in another stream still uses is left to it. Frees of
 * the program do not matter: they are waited for. (Observed on H200.) */
static bool is_free_for(struct piece *p, const struct arena *a, const struct stream *s)
{
    prune(p);
    return !p->live && !p->launch && (!p->mark || p->arena == a || stream_is_at(s, &p->place));
}

/* What is issued into s from now on comes after what the piece was used for. */
static CUresult follow(const struct piece *p, struct stream *s)
{
    CUresult r = p->mark && !stream_is_at(s, &p->place) ? stream_after(s, p->mark) : CUDA_SUCCESS;
    return r ? r : follow_all(p->frees, s);
}

/* ---- getting pieces */

static void note_most(struct zone *z)
{
    if (z->count > z->count_most) z->count_most = z->count;
    if (z->used > z->used_most) z->used_most = z->used;
}

static CUresult make(struct zone *z, struct piece **out)
{
    CUresult r = space_charge(z->device, MEMPOOL_MAPPING);
    if (r) return r;
    if (!(*out = calloc(1, sizeof **out))) {
        space_uncharge(z->device, MEMPOOL_MAPPING);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    (*out)->next = z->pieces;
    z->pieces = *out;
    z->count++;
    note_most(z);
    return r;
}

/* One that no span has, before one that another graph has to give up; the newest. */
static struct piece *find(const struct zone *z, const struct arena *a, const struct stream *s)
{
    struct piece *found = NULL;
    for (struct piece *p = z->pieces; p; p = p->next) {
        if (!is_free_for(p, a, s)) continue;
        if (!p->span) return p;
        if (!found && p->span->arena != a) found = p;
    }
    return found;
}

/* Memory is short: s waits for what others do with theirs. */
static struct piece *find_waiting(const struct zone *z)
{
    struct piece *p = z->pieces;
    while (p && (p->live || p->launch)) p = p->next;
    return p;
}

/* Old pages of spans that nothing under way may use. */
static void drop_stale(struct zone *z)
{
    for (struct span *s = z->span; s < z->span + z->spans && z->stale; s++)
        if (s->stale && span_is_idle(s)) span_clear(z, s);
}

/* Adds what may still use the pages of the span that has p: its launch, and what the program does before it frees
 * something. */
static CUresult add_uses(const struct piece *p, struct wait **uses)
{
    struct wait *more = NULL, **end = &more;
    bool ok = !p->mark || waits_add(&more, p->mark);
    for (const struct wait *w = p->frees; w && ok; w = w->next) ok = waits_add(&more, w->mark);
    if (!ok) {
        waits_end(more);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    while (*end) end = &(*end)->next;
    *end = *uses;
    *uses = more;
    return CUDA_SUCCESS;
}

CUresult span_inherit(struct span *s) { return s->piece ? add_uses(s->piece, &s->uses) : CUDA_SUCCESS; }

static CUresult give_to(struct zone *z, struct piece *p, struct span *s)
{
    struct wait *uses = NULL;
    if (p->span) {
        CUresult r = add_uses(p, &uses);
        if (r) return r;
        p->span->piece = NULL;
        set_stale(z, p->span, true, uses);
    }
    if (s->piece) s->piece->span = NULL;
    p->span = s;
    s->piece = p;
    set_stale(z, s, false, NULL);
    return CUDA_SUCCESS;
}

/* Whether something was ever allocated there. */
static bool has_room_taken(const struct arena *a, uint64_t at)
{
    for (const struct segment *g = a->layout.segment; g < a->layout.segment + a->layout.segments; g++)
        if (at >= g->at && at < g->at + g->used) return true;
    return false;
}

static CUresult get(struct zone *z, struct span *s, struct stream *stream, bool waits)
{
    struct piece *p = s->piece;
    if (!p || (!p->live && !p->launch && !is_free_for(p, s->arena, stream))) p = find(z, s->arena, stream);
    CUresult r = p ? CUDA_SUCCESS : make(z, &p);
    if (r == CUDA_ERROR_OUT_OF_MEMORY && waits && (p = find_waiting(z))) r = CUDA_SUCCESS;
    if (r || (r = map(z, s)) || (r = follow(p, stream)) || (r = follow_all(s->uses, stream))) return r;
    return p == s->piece ? r : give_to(z, p, s);
}

static void note_use(struct zone *z, struct span *s)
{
    if (s->piece->used || !has_room_taken(s->arena, offset_of(z, s))) return;
    s->piece->used = true;
    z->used++;
    note_most(z);
}

/* The last span first (observed on H200). */
static CUresult get_all(struct arena *a, struct stream *s, const void *user, bool waits)
{
    struct zone *z = a->zone;
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = a->layout.segments; k-- && !r;) {
        const struct segment *g = &a->layout.segment[k];
        for (uint64_t at = g->at + g->size; at > g->at && !r; at -= MEMPOOL_MAPPING) {
            struct span *span = &z->span[at / MEMPOOL_MAPPING - 1];
            if (!(r = get(z, span, s, waits))) span->piece->launch = user;
        }
    }
    return r;
}

/* Others are issuing launches, whose pieces this one could wait for then. */
static bool others_have(const struct zone *z, const void *user)
{
    const struct piece *p = z->pieces;
    while (p && (!p->launch || p->launch == user)) p = p->next;
    return p;
}

/* Gives up what the arena has got, or two could wait for each other. */
static bool wait_for_others(struct arena *a, const void *user)
{
    struct zone *z = a->zone;
    struct timespec end;
    for (struct piece *p = z->pieces; p; p = p->next)
        if (p->launch == user && p->span && p->span->arena == a) p->launch = NULL;
    if (!others_have(z, user)) return false;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += LAUNCH_MOST_S;
    return !pthread_cond_timedwait(&z->launched, &z->lock, &end);
}

CUresult pieces_get(struct arena *a, struct stream *s, const void *launch, bool waits)
{
    struct zone *z = a->zone;
    const void *user = launch ? launch : a; /* for now: no span takes another one's */
    CUresult r;
    do r = get_all(a, s, user, waits);
    while (r == CUDA_ERROR_OUT_OF_MEMORY && waits && wait_for_others(a, user));
    for (struct piece *p = z->pieces; p; p = p->next) {
        if (p->launch != user) continue;
        if (!r) note_use(z, p->span);
        if (!launch) p->launch = NULL;
    }
    return r;
}

void pieces_launched(struct zone *z, const void *launch, const struct place *place, struct mark *mark)
{
    for (struct piece *p = z->pieces; p; p = p->next) {
        if (p->launch != launch) continue;
        p->launch = NULL;
        p->arena = p->span->arena;
        if (p->mark) point_release(p->mark);
        p->place = *place;
        p->mark = mark ? point_share(mark) : NULL;
    }
    if (z->stale > z->count) drop_stale(z);
    pthread_cond_broadcast(&z->launched);
}

/* ---- allocations in them */

void pieces_hold(struct zone *z, uint64_t at, uint64_t size)
{
    for (uint64_t k = at / MEMPOOL_MAPPING; k * MEMPOOL_MAPPING < at + size; k++) z->span[k].piece->live++;
}

/* The point behind s, for each of the pieces: NULL if there is no memory, or (*done) it is done. */
static struct wait *waits_for(struct stream *s, unsigned count, bool *done)
{
    struct place place;
    struct mark *mark;
    struct wait *list = NULL;
    *done = false;
    if (stream_point(s, &place, &mark)) return NULL;
    if ((*done = !mark)) return NULL;
    while (count && waits_add(&list, mark)) count--;
    point_release(mark);
    if (!count) return list;
    waits_end(list);
    return NULL;
}

CUresult pieces_release(struct zone *z, uint64_t at, uint64_t size, struct stream *s, const void *launch)
{
    const unsigned first = (unsigned)(at / MEMPOOL_MAPPING), last = (unsigned)((at + size - 1) / MEMPOOL_MAPPING);
    bool done = true;
    struct wait *list = s && !launch ? waits_for(s, last - first + 1, &done) : NULL;
    if (!list && !done) return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned k = first; k <= last; k++) {
        struct piece *p = z->span[k].piece;
        p->live--;
        if (launch) p->launch = launch;
        if (!list) continue;
        struct wait *w = list;
        list = w->next;
        w->next = p->frees;
        p->frees = w;
    }
    return CUDA_SUCCESS;
}

bool pieces_trim(struct zone *z)
{
    bool any = false;
    for (struct piece **at = &z->pieces, *p; (p = *at);) {
        if (!is_idle(p)) {
            at = &p->next;
            continue;
        }
        if (p->span) span_clear(z, p->span);
        *at = p->next;
        z->count--;
        z->used -= p->used;
        space_uncharge(z->device, MEMPOOL_MAPPING);
        free(p);
        any = true;
    }
    drop_stale(z);
    return any;
}
