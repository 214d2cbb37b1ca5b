/* Faults on managed memory find their service function: the thread that waits
 * for the host's faults and the devices', and whoever else has time while it
 * waits for a device (mmu_serve). */
#include "base/futex.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/userfault.h"
#include "processor/table.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

enum { EVENTS = 16 };

static _Atomic int bell = -1;

int service_bell(void)
{
    int has = atomic_load(&bell), made;
    if (has >= 0 || (made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0) return has;
    if (atomic_compare_exchange_strong(&bell, &has, made)) return made;
    close(made);
    return has;
}

/* ---- one fault */

/* A device's fault does not tell a missing entry from a protected one; a write where reading was possible is the latter. */
static bool is_protected(const struct mmu_fault *f, const struct leaf *l, unsigned page, bool told)
{
    if (f->processor == MMU_HOST) return told;
    return f->write && entry_of_page(l->has, page) == MMU_READ;
}

/* Enters what the processor may do around the page, which is more than the page alone after a loss. */
static CUresult restore(struct table *t, struct leaf *l, unsigned page)
{
    CUresult r = l->open ? leaf_populate(l, page) : leaf_apply(t, l, page & ~15u, (page & ~15u) + 16);
    leaf_tidy(l);
    table_finish(t);
    return r;
}

static bool is_woken(const struct table *t, uint64_t address)
{
    return address >= t->woken.lo && address < t->woken.hi;
}

static enum mmu_verdict ask_policy(const struct mmu_fault *f)
{
    mmu_service *service = in_window(f->address) ? mmu.service : mmu.outside;
    return service ? service(f) : MMU_FATAL;
}

enum mmu_verdict fault_serve(const struct mmu_fault *f, bool protected_page, bool *woken)
{
    struct table *t = &mmu.tables[f->processor];
    unsigned page = page_of(f->address);
    enum mmu_verdict verdict = MMU_RETRY;
    quiet_lock(&t->lock);
    struct leaf *l = leaf_find(f->processor, f->address);
    /* before an atomic access the device asks: nothing has been missing so far */
    if (l && !f->atomic) leaf_believe(t, l, page, is_protected(f, l, page, protected_page));
    bool lost = l && !f->atomic && leaf_permits(l, page, f->write);
    t->woken = (struct span){ 0, 0 };
    if (lost && restore(t, l, page)) verdict = MMU_FATAL;
    *woken = is_woken(t, f->address);
    quiet_unlock(&t->lock);
    if (lost) return verdict;

    verdict = ask_policy(f);
    if (verdict != MMU_RETRY) return verdict;
    quiet_lock(&t->lock);
    l = leaf_find(f->processor, f->address);
    if (l && leaf_permits(l, page, f->write) && restore(t, l, page)) verdict = MMU_FATAL;
    *woken = is_woken(t, f->address);
    quiet_unlock(&t->lock);
    return verdict;
}

/* ---- the host's */

/* A thread may have gone on before its fault is looked at: another one's on the page was answered, and by
 * then the memory can be freed. So what is fatal has to come a second time, which it does at once, without
 * that anything was permitted in between. */
static struct {
    uint64_t page, time;
    int thread;
    unsigned permits;
} doubted[16];

static bool is_second(const struct mmu_fault *f, unsigned permits)
{
    uint64_t page = f->address / PAGE_BYTES;
    bool second = !f->thread;
    for (unsigned k = 0; k < 16 && !second; k++)
        second = doubted[k].thread == f->thread && doubted[k].page == page && doubted[k].permits == permits &&
                 now_ns() - doubted[k].time < 1000000000;
    return second;
}

static void doubt(const struct mmu_fault *f, unsigned permits)
{
    static unsigned newest;
    newest = (newest + 1) % 16;
    doubted[newest].page = f->address / PAGE_BYTES;
    doubted[newest].time = now_ns();
    doubted[newest].thread = f->thread;
    doubted[newest].permits = permits;
}

static void believe(const struct mmu_fault *f)
{
    for (unsigned k = 0; k < 16; k++)
        if (doubted[k].thread == f->thread) doubted[k].thread = 0;
}

/* Of a block that the fault opened the kernel fills in each page at the first store to it, which costs a fault each;
 * by loads it fills in many at once. So who stores gets them as if they had been read. */
static void store_ahead(const struct mmu_fault *f)
{
    struct table *t = &mmu.tables[MMU_HOST];
    if (!f->write || !in_window(f->address)) return;
    quiet_lock(&t->lock);
    struct leaf *l = leaf_find(MMU_HOST, f->address);
    if (l && l->open) madvise((void *)l->va, BLOCK_BYTES, MADV_POPULATE_READ);
    quiet_unlock(&t->lock);
}

enum mmu_verdict host_verdict(struct mmu_fault *f, bool protected_page, unsigned permits, bool *woken)
{
    f->doubtful = !is_second(f, permits);
    enum mmu_verdict verdict = fault_serve(f, protected_page, woken);
    if (verdict != MMU_FATAL) return verdict;
    if (!f->doubtful) {
        believe(f);
        return MMU_FATAL;
    }
    doubt(f, permits);
    return MMU_RETRY;
}

static bool serve_host(void)
{
    struct userfault_event events[EVENTS];
    int fd = mmu.tables[MMU_HOST].fd;
    if (fd < 0) return host_serve_signals();
    unsigned n = userfault_read(fd, events, EVENTS), permits = n ? host_permits() : 0;
    for (unsigned k = 0; k < n; k++) {
        struct mmu_fault f = { .processor = MMU_HOST,
                               .address = events[k].address,
                               .write = events[k].write,
                               .thread = events[k].thread,
                               .pending = 1 };
        bool woken = false;
        if (host_verdict(&f, events[k].protected_page, permits, &woken) == MMU_FATAL) {
            host_fatal(&f, permits);
            continue;
        }
        if (!woken) userfault_wake(fd, page_down(f.address), PAGE_BYTES);
        store_ahead(&f);
    }
    return n > 0;
}

/* ---- the devices' */

/* Takes what device number's workers have posted; the count of faults. */
static unsigned collect(unsigned number, bool watched, struct errand *out)
{
    struct table *t = &mmu.tables[number];
    unsigned n = 0, pages = 0;
    if (!quiet_trylock(&t->lock)) return 0;
    struct control *c = t->processor ? t->processor->control : NULL;
    if (c && !watched && atomic_load(&c->watchers)) c = NULL; /* a thread that waits for it does it */
    if (c && !watched) watch_from_here(c);
    for (unsigned k = 0; c && atomic_load(&c->mail_count) && k < WORKERS_MOST; k++) {
        uint32_t posted = MAIL_POSTED;
        if (!atomic_compare_exchange_strong(&c->mail[k].state, &posted, MAIL_TAKEN)) continue;
        atomic_fetch_sub(&c->mail_count, 1);
        out[n++] = (struct errand){ { .processor = number,
                                      .address = c->mail[k].address,
                                      .write = c->mail[k].access & MAIL_WRITE,
                                      .atomic = c->mail[k].access & MAIL_ATOMIC,
                                      .block = c->mail[k].block,
                                      .missing = c->mail[k].access & MAIL_MISSING },
                                    t->processor,
                                    k };
    }
    quiet_unlock(&t->lock);
    for (unsigned k = 0; k < n; k++) {
        bool first = true;
        for (unsigned j = 0; j < k && first; j++) first = (out[j].fault.address ^ out[k].fault.address) >= PAGE_BYTES;
        pages += first;
    }
    for (unsigned k = 0; k < n; k++) out[k].fault.pending = pages;
    return n;
}

void errand_answer(const struct errand *e, enum mmu_verdict verdict)
{
    struct table *t = &mmu.tables[e->fault.processor];
    quiet_lock(&t->lock);
    if (t->processor == e->of) {
        struct mailbox *m = &t->processor->control->mail[e->box];
        atomic_store(&m->state, verdict == MMU_RETRY ? MAIL_RETRY : MAIL_FATAL);
        if (atomic_load(&m->asleep)) futex_wake(&m->state, 1);
    }
    quiet_unlock(&t->lock);
}

static bool serve_device(unsigned number, bool watched)
{
    struct errand errands[WORKERS_MOST];
    unsigned n = collect(number, watched, errands);
    bool woken;
    for (unsigned k = 0; k < n; k++) {
        struct errand *e = &errands[k];
        e->fault.at_once = !watched && mmu.outside && !in_window(e->fault.address);
        enum mmu_verdict verdict = fault_serve(&e->fault, false, &woken);
        e->fault.at_once = false;
        if (verdict == MMU_ELSEWHERE && outside_bring(e)) continue;
        if (verdict == MMU_ELSEWHERE) verdict = fault_serve(&e->fault, false, &woken);
        errand_answer(e, verdict);
    }
    return n > 0;
}

static bool serve_devices(bool watched)
{
    bool any = false;
    for (unsigned n = 1; n < MMU_PROCESSORS; n++)
        if (atomic_load_explicit(&mmu.tables[n].attached, memory_order_relaxed)) any |= serve_device(n, watched);
    return any;
}

bool mmu_serve(void)
{
    quiet_begin();
    bool any = serve_devices(true);
    quiet_end();
    return any;
}

/* ---- the thread */

/* True if there is mail, which who posted it may not have rung for. */
static bool need_bell(bool needed)
{
    bool mail = false;
    for (unsigned n = 1; n < MMU_PROCESSORS; n++) {
        struct table *t = &mmu.tables[n];
        quiet_lock(&t->lock);
        if (t->processor) {
            atomic_store(&t->processor->control->need_bell, needed);
            if (needed) atomic_store(&t->processor->control->server_cpu, 0);
            mail |= atomic_load(&t->processor->control->mail_count) && !atomic_load(&t->processor->control->watchers);
        }
        quiet_unlock(&t->lock);
    }
    return mail;
}

static bool serve_all(void) { return serve_host() | serve_devices(false); }

static void sleep_until_fault(void)
{
    struct pollfd fds[2] = { { .fd = bell, .events = POLLIN }, { .fd = mmu.tables[MMU_HOST].fd, .events = POLLIN } };
    uint64_t rings;
    if (!need_bell(true) && !serve_host()) poll(fds, 2, -1);
    need_bell(false);
    if (read(bell, &rings, sizeof rings) < 0) return;
}

static void *service(void *arg)
{
    (void)arg;
    quiet_begin(); /* for ever: no signal is for this thread */
    uint64_t spin = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? SPIN_NS : 0, last = now_ns();
    for (;;) {
        if (serve_all())
            last = now_ns();
        else if (now_ns() - last >= spin) {
            sleep_until_fault();
            last = now_ns();
        }
    }
    return NULL;
}

CUresult service_start(void)
{
    if (service_bell() < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    return thread_start(service, NULL, THREAD_STACK) ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}
