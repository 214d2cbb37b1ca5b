/* A device's page table, from the host: entries are made through the device's
 * userfaultfd; taking them out is asked of the process, which alone can. */
#include "base/futex.h"
#include "base/userfault.h"
#include "processor/table.h"

#include <poll.h>

CUresult device_attach(struct table *t, struct processor *p)
{
    CUresult r = processor_manage(p, mmu.base, mmu.end - mmu.base, mmu.memory, &t->position);
    if (r) return r;
    /* the service thread may be asleep already */
    atomic_store(&p->control->need_bell, 1);
    atomic_store(&p->control->asks, mmu.outside != NULL);
    t->processor = p;
    t->fd = p->userfault;
    t->signals = t->fd < 0;
    t->attached = true;
    return CUDA_SUCCESS;
}

bool device_ready(struct table *t) { return processor_applied(t->processor, t->position); }

/* One request at a time, under the table's lock. It is done even if the last kernel ends meanwhile. */
static void ask(struct processor *p, uint64_t va, uint64_t size, int prot)
{
    struct control *c = p->control;
    struct page_request *r = &c->request;
    r->va = va;
    r->size = size;
    r->prot = prot;
    uint32_t mine = atomic_load(&r->posted) + 1;
    atomic_store(&r->posted, mine);
    /* a worker that waits for a verdict sees it; otherwise the agent must be awake */
    for (unsigned rounds = 0; atomic_load(&r->done) != mine; rounds++) {
        if (rounds == (atomic_load(&c->handling) ? 500 : 0)) {
            atomic_fetch_add(&c->agent_bell, 1);
            if (atomic_load(&c->agent_asleep)) futex_wake(&c->agent_bell, 1);
        }
        if (rounds < 4000) {
            cpu_relax();
            continue;
        }
        struct pollfd end = { .fd = p->pidfd, .events = POLLIN };
        if (processor_status(p) && poll(&end, 1, 0) > 0) return;
        if (rounds % 64 == 0 && poll(&end, 1, 0) > 0) return;
        futex_wake(&c->agent_bell, 1);
        usleep(20);
    }
}

void device_change(struct table *t, uint64_t va, uint64_t size, int prot)
{
    if (t->settling || !processor_busy(t->processor))
        processor_managed(t->processor, va, size, prot, &t->position);
    else if (device_ready(t))
        ask(t->processor, va, size, prot);
}
