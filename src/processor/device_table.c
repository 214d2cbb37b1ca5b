/* A device's page table, from the host: entries are made through the device's
 * userfaultfd; taking them out is asked of the process, which alone can. */
#include "base/futex.h"
#include "processor/table.h"

#include <poll.h>

CUresult device_attach(struct table *t, struct processor *p)
{
    CUresult r = window_command(p, mmu.base, mmu.end - mmu.base, mmu.memory, &t->position);
    if (r) return r;
    /* the service thread may be asleep already */
    atomic_store(&p->control->need_bell, 1);
    atomic_store(&p->control->asks, mmu.outside != NULL);
    t->processor = p;
    t->heard = 0;
    t->fd = p->userfault;
    t->signals = t->fd < 0;
    t->attached = true;
    return CUDA_SUCCESS;
}

void device_set_atomics(struct table *t, uint64_t va, uint64_t size, bool permitted)
{
    if (!t->processor || !in_window(va)) return;
    _Atomic uint64_t *bits = control_atomics(t->processor->control) + (va - mmu.base) / PAGE_BYTES / 64;
    unsigned first = (unsigned)((va - mmu.base) / PAGE_BYTES % 64);
    struct region pages = { first, first + (unsigned)(size / PAGE_BYTES) };
    for_each_word(page, pages) {
        _Atomic uint64_t *word = &bits[page / 64];
        uint64_t was = atomic_load_explicit(word, memory_order_relaxed), some = word_bits(page, pages.outer);
        atomic_store_explicit(word, permitted ? was | some : was & ~some, memory_order_relaxed);
    }
}

bool device_ready(struct table *t) { return commands_applied(t->processor, t->position); }

static void wake_agent(struct control *c)
{
    atomic_fetch_add(&c->agent_bell, 1);
    if (atomic_load(&c->agent_asleep)) futex_wake(&c->agent_bell, 1);
}

static bool spin_until(const _Atomic uint32_t *word, uint32_t value, unsigned rounds)
{
    while (atomic_load(word) != value && rounds--) cpu_relax();
    return atomic_load(word) == value;
}

/* One request at a time, under the table's lock. It is done even if the last kernel ends meanwhile. */
static void ask(struct processor *p, uint64_t va, uint64_t size, int prot)
{
    struct control *c = p->control;
    struct page_request *r = &c->request;
    struct pollfd end = { .fd = p->pidfd, .events = POLLIN };
    r->va = va;
    r->size = size;
    r->prot = prot;
    uint32_t mine = atomic_load(&r->posted) + 1, seen;
    atomic_store(&r->posted, mine);
    /* a worker that waits for a verdict sees it; otherwise the agent must be awake */
    if (atomic_load(&c->handling) && spin_until(&r->done, mine, 500)) return;
    wake_agent(c);
    /* not for long: where all processors are busy it waits for this one */
    if (spin_until(&r->done, mine, 300)) return;
    atomic_store(&r->asleep, 1);
    while ((seen = atomic_load(&r->done)) != mine && poll(&end, 1, 0) <= 0) {
        futex_wait(&r->done, seen, 2000000);
        if (atomic_load(&r->done) != mine) wake_agent(c);
    }
    atomic_store(&r->asleep, 0);
}

void device_change(struct table *t, uint64_t va, uint64_t size, int prot)
{
    bool by_ring = t->settling || !processor_busy(t->processor);
    if (by_ring && entries_command(t->processor, va, size, prot, &t->position)) return;
    if (device_ready(t)) ask(t->processor, va, size, prot);
}
