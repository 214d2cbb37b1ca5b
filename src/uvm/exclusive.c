/* Machines whose devices have no concurrent managed access: host and kernels
 * take turns. A launch lends the host's pages to the device, and until the host
 * has waited for that stream it may not touch them (it gets SIGSEGV). What is
 * attached to the host is never lent, what is attached to one stream only to it. */
#include "uvm/internal.h"
#include "context/context.h"
#include "uvm/uvm.h"

bool uvm_exclusive;

/* A stream that something is lent to. */
struct loan {
    const void *stream;
    unsigned to;
    unsigned launching; /* launches that are on their way into the stream, which cannot look idle for them yet */
    bool launched;      /* one has come there */
};
static struct loan *loans;
static unsigned loan_count, loan_room;
static unsigned host_functions; /* that run, of any stream */
static bool (*stream_runs)(const void *stream);

void exclusive_init(bool (*runs)(const void *stream)) { stream_runs = runs; }

static struct loan *loan_of(const void *stream)
{
    for (unsigned k = 0; k < loan_count; k++)
        if (loans[k].stream == stream) return &loans[k];
    return NULL;
}

/* A host function may touch what belongs to streams that have nothing on the device. */
static bool holds(const struct loan *l) { return !host_functions || stream_runs(l->stream); }

static bool lent_to(const void *stream)
{
    const struct loan *l = loan_of(stream);
    return l && holds(l);
}

static bool lent_to_any(void)
{
    for (unsigned k = 0; k < loan_count; k++)
        if (holds(&loans[k])) return true;
    return false;
}

static struct piece *piece_with(const struct managed *m, uint64_t va)
{
    struct piece *p;
    LIST_FOREACH(p, &m->pieces, link)
    if (va >= p->a.base && va - p->a.base < p->a.size) return p;
    return NULL;
}

static bool host_may_touch(const struct piece *p)
{
    return p->attached == CU_MEM_ATTACH_HOST ||
           !(p->attached == CU_MEM_ATTACH_SINGLE ? lent_to(p->stream) : lent_to_any());
}

static bool may_touch(const struct piece *p, unsigned processor)
{
    return processor == CPU ? host_may_touch(p) : p->attached != CU_MEM_ATTACH_HOST;
}

bool exclusive_permits(const struct managed *m, const struct mmu_fault *f)
{
    const struct piece *p = piece_with(m, f->address);
    return !p || may_touch(p, f->processor);
}

static struct mask pages_of(const struct block *b, const struct piece *p)
{
    uint64_t start = page_down(p->a.base);
    return mask_region(block_overlap(b, start, p->a.base + p->a.size + PAGE_BYTES - 1));
}

struct mask exclusive_denied(const struct block *b, unsigned processor)
{
    struct mask pages = { { 0 } };
    const struct piece *p;
    LIST_FOREACH(p, &b->range->owner->pieces, link)
    {
        if (may_touch(p, processor)) continue;
        struct mask own = pages_of(b, p);
        pages = mask_or(&pages, &own);
    }
    return pages;
}

void exclusive_review(uint64_t start, uint64_t end)
{
    uint64_t va = start;
    for (struct window *w; (w = window_next(&va, end));)
        for (struct block *b = w->blocks; b; b = b->next) {
            struct mask denied = exclusive_denied(b, CPU), part = mask_region(block_overlap(b, start, end));
            denied = mask_and(&denied, &part);
            block_unmap(b, CPU, &denied);
        }
}

/* Whether the memory is p's while devices have it; what no context made may be any device's. */
static bool may_be_at(const struct managed *m, unsigned p)
{
    return !m->context || 1 + (unsigned)m->context->device->ordinal == p;
}

void exclusive_give(const struct managed *m)
{
    for (unsigned p = 1; p < topology.processors; p++)
        if (may_be_at(m, p)) vram_uncharge(&devices[p - 1].vram, m->end - m->start);
}

CUresult exclusive_take(const struct managed *m)
{
    for (unsigned p = 1; p < topology.processors; p++) {
        if (!may_be_at(m, p) || !vram_charge(&devices[p - 1].vram, m->end - m->start)) continue;
        while (--p)
            if (may_be_at(m, p)) vram_uncharge(&devices[p - 1].vram, m->end - m->start);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

/* ---- lending */

/* Where the memory is while devices have it: on the one that was current when it was made, where `user` reaches that. */
static unsigned home(const struct block *b, unsigned user)
{
    const struct context *c = b->range->owner->context;
    unsigned at = c ? 1 + (unsigned)c->device->ordinal : user;
    return can_access(user, at) ? at : CPU;
}

struct hint exclusive_hint(const struct block *b, unsigned p)
{
    bool free_to_choose = p == CPU || b->range->policy.preferred == CPU;
    return free_to_choose ? (struct hint){ HINT_NONE, NOBODY, 0 } : (struct hint){ HINT_PIN, home(b, p), 0 };
}

/* The pages of b that kernels of the stream may touch. */
static struct mask lendable(const struct block *b, const void *stream)
{
    struct mask pages = { { 0 } };
    const struct piece *p;
    LIST_FOREACH(p, &b->range->owner->pieces, link)
    {
        if (p->attached == CU_MEM_ATTACH_HOST || (p->attached == CU_MEM_ATTACH_SINGLE && p->stream != stream)) continue;
        struct mask own = pages_of(b, p);
        pages = mask_or(&pages, &own);
    }
    return pages;
}

/* The host has nothing of the block, and `to` maps all that is at `at`. */
static bool is_lent(const struct block *b, unsigned to, unsigned at)
{
    if (b->mapped & bit(CPU) || (at != CPU && b->resident & bit(CPU))) return false;
    if (!(b->resident & bit(at))) return true;
    return b->mapped & bit(to) && mask_subset(&b->place[at]->resident, &b->place[to]->mapped[PROT_RW - 1]);
}

static CUresult lend_block(struct block *b, unsigned to, const void *stream)
{
    unsigned at = b->range->policy.preferred == CPU ? CPU : home(b, to);
    if (is_lent(b, to, at)) return CUDA_SUCCESS;
    struct mask pages = lendable(b, stream);
    CUresult r = CUDA_SUCCESS;
    block_unmap(b, CPU, &pages);
    if (at != CPU && b->resident & bit(CPU)) {
        struct mask away = mask_and(&pages, &b->place[CPU]->resident);
        if (!mask_empty(&away)) r = block_make_resident(b, at, &away, NULL, TRACE_CAUSE_USER);
    }
    if (!r && b->resident & bit(at)) {
        pages = mask_and(&pages, &b->place[at]->resident);
        enum prot prot = native_atomics(to, at) ? PROT_RWA : PROT_RW;
        if (!mask_empty(&pages)) r = block_map(b, to, &pages, prot, TRACE_CAUSE_POLICY);
    }
    block_done(b);
    return r;
}

static CUresult lend_all(unsigned to, const void *stream)
{
    CUresult r = CUDA_SUCCESS;
    for (struct range *g = range_first(); g && !r; g = range_next(g)) {
        uint64_t va = g->start;
        for (struct window *w; !r && (w = window_next(&va, g->end));)
            for (struct block *b = w->blocks; b && !r; b = b->next)
                if (b->range == g) r = lend_block(b, to, stream);
    }
    return r;
}

static CUresult make_room(void)
{
    struct loan *more = heap_take((loan_room + 16) * sizeof *loans);
    if (!more) return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned k = 0; k < loan_count; k++) more[k] = loans[k];
    heap_give(loans);
    loans = more;
    loan_room += 16;
    return CUDA_SUCCESS;
}

/* The stream's loan, made if there is none; NULL: no memory. */
static struct loan *loan_to(const void *stream, unsigned to)
{
    struct loan *l = loan_of(stream);
    if (l) return l;
    if (loan_count == loan_room && make_room()) return NULL;
    l = &loans[loan_count++];
    *l = (struct loan){ .stream = stream, .to = to };
    return l;
}

static void take_back(struct loan *l)
{
    *l = loans[--loan_count];
    mmu_permit();
}

static void launch_ends(struct loan *l, bool issued)
{
    l->launched |= issued;
    if (!--l->launching && !l->launched) take_back(l);
}

CUresult exclusive_lend(int ordinal, const void *stream)
{
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    uvm_enter();
    struct loan *l = loan_to(stream, 1 + (unsigned)ordinal);
    if (l) {
        l->launching++;
        r = lend_all(l->to, stream);
        if (r) launch_ends(l, false);
    }
    uvm_leave();
    return r;
}

void uvm_after_launch(const void *stream, bool issued)
{
    quiet_lock(&uvm_lock);
    struct loan *l = loan_of(stream); /* NULL: another thread has destroyed the stream */
    if (l && l->launching) launch_ends(l, issued);
    quiet_unlock(&uvm_lock);
}

void uvm_take_back(bool (*chosen)(const void *stream, const void *arg), const void *arg)
{
    quiet_lock(&uvm_lock);
    for (unsigned k = loan_count; k--;)
        if (!loans[k].launching && chosen(loans[k].stream, arg)) take_back(&loans[k]);
    quiet_unlock(&uvm_lock);
}

void uvm_host_function_begins(void)
{
    quiet_lock(&uvm_lock);
    host_functions++;
    mmu_permit();
    quiet_unlock(&uvm_lock);
}

CUresult uvm_host_function_ends(void)
{
    CUresult r = CUDA_SUCCESS;
    uvm_enter();
    if (!--host_functions)
        for (unsigned k = 0; k < loan_count && !r; k++) r = lend_all(loans[k].to, loans[k].stream);
    uvm_leave();
    return r;
}

/* ---- attaching */

static CUresult to_host(struct block *b, const struct mask *pages)
{
    struct mask away = { { 0 } };
    CUresult r = CUDA_SUCCESS;
    for_each_processor(q, b->resident & ~bit(CPU)) {
        struct mask there = mask_and(pages, &b->place[q]->resident);
        away = mask_or(&away, &there);
    }
    if (!mask_empty(&away)) r = block_make_resident(b, CPU, &away, NULL, TRACE_CAUSE_USER);
    for_each_processor(q, b->mapped & ~bit(CPU)) block_unmap(b, q, pages);
    return r;
}

static CUresult from_host(struct block *b, const struct mask *pages)
{
    block_unmap(b, CPU, pages);
    return CUDA_SUCCESS;
}

static CUresult for_blocks_of(const struct piece *p, CUresult (*f)(struct block *b, const struct mask *pages))
{
    CUresult r = CUDA_SUCCESS;
    uint64_t start = page_down(p->a.base), end = p->a.base + p->a.size + PAGE_BYTES - 1;
    uint64_t va = start;
    for (struct window *w; !r && (w = window_next(&va, end));)
        for (struct block *b = w->blocks; b && !r; b = b->next) {
            struct mask pages = mask_region(block_overlap(b, start, end));
            r = f(b, &pages);
            block_done(b);
        }
    return r;
}

CUresult uvm_attach(uint64_t va, unsigned flags, const void *stream)
{
    CUresult r = CUDA_SUCCESS;
    uvm_enter();
    struct range *g = range_at(va);
    struct piece *p = g ? piece_with(g->owner, va) : NULL;
    if (p) {
        p->attached = flags;
        p->stream = stream;
        mmu_permit();
        if (flags == CU_MEM_ATTACH_HOST)
            r = for_blocks_of(p, to_host);
        else if (!host_may_touch(p))
            r = for_blocks_of(p, from_host);
    }
    uvm_leave();
    return r;
}

void uvm_stream_gone(const void *stream)
{
    quiet_lock(&uvm_lock);
    for (struct range *g = range_first(); g; g = range_next(g)) {
        struct piece *p;
        LIST_FOREACH(p, &g->owner->pieces, link)
        if (p->attached == CU_MEM_ATTACH_SINGLE && p->stream == stream) p->attached = p->a.flags;
    }
    struct loan *l = loan_of(stream);
    if (l) take_back(l);
    quiet_unlock(&uvm_lock);
}
