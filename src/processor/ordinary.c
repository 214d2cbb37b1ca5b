/* The program's ordinary memory with page tables as managed memory has them, in
 * the host's process: the faults that bring entries back. How they go is ordinary_zap.c's.
 *
 * It is the program's heap, and whatever else it likes, so nobody who is needed
 * to serve its faults may touch it: the library keeps what these threads need
 * elsewhere (base/heap.h), and the owner of the mappings leaves stacks and the
 * libraries' data alone. Should that fail, or somebody hold a lock of the
 * service's while he faults, a second thread (rescue.c) gives the page to whoever
 * waits for it, unasked: there is one physical page, so only the count suffers. */
#include "base/heap.h"
#include "base/thread.h"
#include "base/userfault.h"
#include "processor/passed_on.h"
#include "processor/rescue.h"
#include "processor/table.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the books */

/* Calls f for each table's leaves in [va, va+size), which it may make. False: no memory. */
typedef bool leaf_action(struct table *t, struct leaf *l, unsigned first, unsigned end);

static bool forget(struct table *t, struct leaf *l, unsigned first, unsigned end)
{
    struct entries may = *l->may, has = *l->has;
    entries_fill(&may, first, end, MMU_NONE);
    entries_fill(&has, first, end, MMU_NONE);
    if (!leaf_may(l, &may) || !leaf_has(l, &has)) leaf_forbid(t, l);
    leaf_tidy(l);
    if (mask_empty(&l->may->read) && mask_empty(&l->has->read)) leaf_drop(t, l);
    return true;
}

static bool believe(struct table *t, struct leaf *l, unsigned first, unsigned end)
{
    struct entries may = *l->may, has = *l->has;
    (void)t;
    entries_fill(&may, first, end, MMU_WRITE);
    has.read = mask_or(&has.read, &may.read);
    has.write = mask_or(&has.write, &may.write);
    if (!leaf_loosen(l) || !leaf_may(l, &may)) return false;
    leaf_has(l, &has);
    leaf_tidy(l);
    return true;
}

static bool lose(struct table *t, struct leaf *l, unsigned first, unsigned end)
{
    leaf_lose(t, l, first, end);
    return true;
}

static CUresult for_leaves(unsigned number, uint64_t va, uint64_t size, bool make, leaf_action *f)
{
    struct table *t = &mmu.tables[number];
    CUresult r = CUDA_SUCCESS;
    quiet_lock(&t->lock);
    for (uint64_t at = va, next; at < va + size; at = next) {
        next = piece_end(at, va + size);
        struct leaf *l = make ? leaf_make(number, at) : leaf_find(number, at);
        struct region pages = piece_region(at, next);
        bool done = l ? f(t, l, pages.first, pages.outer) : !make;
        if (!done) r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    quiet_unlock(&t->lock);
    return r;
}

/* ---- faults */

static void (*gone)(uint64_t va, uint64_t end);
static _Atomic bool leaving; /* what is to be served may be memory that the program gives back */

static void grant(uint64_t page)
{
    uint64_t done;
    bool woken;
    int error = userfault_enter(mmu.ordinary_fd, page, PAGE_BYTES, true, &done, &woken);
    if (error == EFAULT) error = userfault_zero(mmu.ordinary_fd, page, PAGE_BYTES);
    if (error || !woken) userfault_wake(mmu.ordinary_fd, page, PAGE_BYTES);
}

static void serve_one(const struct userfault_event *e)
{
    struct mmu_fault f = { .processor = MMU_HOST,
                           .address = e->address,
                           .write = e->write,
                           .thread = e->thread,
                           .pending = 1,
                           .missing = e->missing };
    bool woken = false;
    atomic_store(&serving.page, page_down(e->address));
    fault_serve(&f, e->protected_page, &woken);
    /* whatever was decided: it is the program's own memory */
    if (!woken) {
        quiet_lock(&mmu.tables[MMU_HOST].lock); /* read_in_passing */
        grant(page_down(e->address));
        quiet_unlock(&mmu.tables[MMU_HOST].lock);
    }
    atomic_store(&serving.page, 0);
}

/* ---- what the program gives back */

static void discard(const struct userfault_event *e) { backing_discard(mmu.ordinary, e->address, e->end - e->address); }

/* Read by others than the thread that serves, which is told of it. What does not fit is counted where it was. */
static int bell;

static void pass_on(const struct userfault_event *e)
{
    uint64_t one = 1;
    if (!passed_on_put(e->address, e->end)) return;
    if (write(bell, &one, sizeof one) < 0) return;
}

/* By whoever cannot go on before it is done, mostly with the lock of the host's table (next_event). */
static void read_in_passing(void)
{
    struct userfault_event e;
    while (userfault_read(mmu.ordinary_fd, &e, 1)) {
        if (!e.end) {
            userfault_wake(mmu.ordinary_fd, page_down(e.address), PAGE_BYTES); /* to fault once more */
            continue;
        }
        discard(&e);
        pass_on(&e);
        return;
    }
}

/* Who gives memory back goes on as soon as that is read, and may touch it at once: that fault is served when the bytes
 * are gone. Nobody may make the host an entry meanwhile. */
static bool next_event(struct userfault_event *e)
{
    struct table *host = &mmu.tables[MMU_HOST];
    quiet_lock(&host->lock);
    atomic_store(&leaving, true); /* before anybody can ask who has given memory back */
    bool any = userfault_read(mmu.ordinary_fd, e, 1);
    if (any && e->end)
        discard(e);
    else
        atomic_store(&leaving, false);
    quiet_unlock(&host->lock);
    return any;
}

static void note_gone(uint64_t va, uint64_t end)
{
    for (unsigned n = 0; n < MMU_PROCESSORS; n++) for_leaves(n, va, end - va, false, lose);
    gone(va, end);
    atomic_store(&leaving, false);
}

void mmu_ordinary_settle(void)
{
    while (atomic_load(&leaving)) syscall(SYS_sched_yield);
}

static void note_what_was_passed_on(void)
{
    uint64_t rings, va, end;
    if (read(bell, &rings, sizeof rings) < 0) return;
    while (passed_on_take(&va, &end)) note_gone(va, end);
}

/* ---- the threads */

static void *serve(void *arg)
{
    struct userfault_event e;
    struct pollfd fds[] = { { .fd = mmu.ordinary_fd, .events = POLLIN }, { .fd = bell, .events = POLLIN } };
    quiet_begin(); /* for ever: no signal is for this thread */
    atomic_store(&serving.stat, (int)syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/stat", O_RDONLY | O_CLOEXEC));
    for (;;) {
        syscall(SYS_poll, fds, 2, -1); /* as in rescue.c */
        atomic_store(&serving.busy, true);
        rescue_look();
        if (fds[1].revents) note_what_was_passed_on();
        while (next_event(&e)) { /* one at a time: what is not taken, the other thread sees */
            if (e.end)
                note_gone(e.address, e.end);
            else
                serve_one(&e);
            atomic_fetch_add(&serving.served, 1);
        }
        atomic_store(&serving.busy, false);
    }
    return arg;
}

/* ---- beginning */

bool mmu_ordinary_init(const struct backing *memory, void (*when_gone)(uint64_t va, uint64_t end))
{
    if (mmu.rung != MMU_USERFAULTFD || !mmu.outside) return false;
    for (unsigned n = 1; n < MMU_PROCESSORS; n++)
        if (mmu.tables[n].attached && mmu.tables[n].signals) return false;
    _Atomic(struct group *) *groups = heap_take(ORDINARY_END / GROUP_BYTES * sizeof *groups);
    if (!groups) return false;
    mmu.ordinary_fd = userfault_open(USERFAULT_TOLD);
    bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (mmu.ordinary_fd < 0 || bell < 0 || !ordinary_can_zap(memory)) goto fail;
    userfault_when_refused(mmu.ordinary_fd, read_in_passing);
    mmu.ordinary = memory;
    gone = when_gone;
    atomic_store(&mmu.ordinary_groups, groups);
    if (!rescue_start() && !thread_start(serve, NULL, THREAD_STACK)) return true;
    atomic_store(&mmu.ordinary_groups, NULL); /* a thread that did start has nothing to do */
    return false;
fail:
    if (bell >= 0) close(bell);
    if (mmu.ordinary_fd >= 0) close(mmu.ordinary_fd);
    heap_give(groups);
    return false;
}

/* ---- what is watched */

bool mmu_ordinary_add(uint64_t va, uint64_t size) { return !userfault_register(mmu.ordinary_fd, va, size); }

void mmu_ordinary_mapped(unsigned p)
{
    struct table *t = &mmu.tables[p];
    quiet_lock(&t->lock);
    if (t->processor) t->position = atomic_load(&t->processor->control->head);
    quiet_unlock(&t->lock);
}

void mmu_ordinary_remove(uint64_t va, uint64_t size)
{
    for (unsigned n = 0; n < MMU_PROCESSORS; n++) for_leaves(n, va, size, false, forget);
    userfault_unregister(mmu.ordinary_fd, va, size);
    userfault_wake(mmu.ordinary_fd, va, size);
}

CUresult mmu_ordinary_touched(uint64_t va, uint64_t size) { return for_leaves(MMU_HOST, va, size, true, believe); }
