/* The program's ordinary memory with page tables as managed memory has them, in
 * the host's process: entries that go, and the faults that bring them back.
 *
 * It is the program's heap, and whatever else it likes, so nobody who is needed
 * to serve its faults may touch it: the library keeps what these threads need
 * elsewhere (base/heap.h), and the owner of the mappings leaves stacks and the
 * libraries' data alone. Should that fail, or somebody hold a lock of the
 * service's while he faults, the second thread here gives the page to whoever
 * waits for it, unasked: there is one physical page, so only the count suffers. */
#include "base/futex.h"
#include "base/heap.h"
#include "base/tasks.h"
#include "base/thread.h"
#include "base/userfault.h"
#include "processor/table.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STUCK_MS = 20, IDLE_ROUNDS = 50, KEPT_MOST = 32, TRIES = 100 };

/* ---- entries that go */

/* What the program has put there since is not watched, nor is what it has moved there. */
static bool is_watched(uint64_t va, uint64_t size) { return !userfault_protect(mmu.ordinary_fd, va, size, true); }

/* Not madvise: between the look and that, the program may map private memory, whose bytes would be gone. This call
 * changes shared mappings alone, and looks for itself: it maps the same pages anew. */
static bool map_anew(uint64_t va, uint64_t size)
{
    return !syscall(SYS_remap_file_pages, va, size, 0, va / PAGE_BYTES, MAP_NONBLOCK);
}

static bool zap(uint64_t va, uint64_t size)
{
    return is_watched(va, size) && map_anew(va, size) && !userfault_register_present(mmu.ordinary_fd, va, size);
}

static void zap_all(uint64_t va, uint64_t end)
{
    if (va >= end || zap(va, end - va)) return;
    for (uint64_t at = va; at < end; at += PAGE_BYTES) zap(at, PAGE_BYTES);
}

/* When a thread ends, the system writes to its descriptor and takes no for an answer if the page has no entry; who
 * joins the thread would wait for ever. So these pages keep theirs, wherever a program has its threads' stacks. */
struct kept {
    uint64_t va, end;
    unsigned count;
    uint64_t pages[KEPT_MOST]; /* ascending; each and the next one is kept */
    bool unknown;              /* some thread begins or ends */
};

/* Threads that have no descriptor for long are not the C library's. */
static int strangers[64];
static unsigned stranger;

static bool is_stranger(int thread)
{
    for (unsigned k = 0; k < sizeof strangers / sizeof *strangers; k++)
        if (strangers[k] == thread) return true;
    return false;
}

static void note_descriptor(void *arg, int thread, uint64_t descriptor)
{
    struct kept *k = arg;
    uint64_t page = page_down(descriptor);
    if (!descriptor) k->unknown |= !is_stranger(thread);
    if (page + TASK_DESCRIPTOR <= k->va || page >= k->end) return;
    if (k->count == KEPT_MOST) {
        k->end = k->va; /* so many: nothing goes */
        return;
    }
    unsigned at = k->count++;
    for (; at && k->pages[at - 1] > page; at--) k->pages[at] = k->pages[at - 1];
    k->pages[at] = page;
}

static void note_stranger(void *arg, int thread, uint64_t descriptor)
{
    (void)arg;
    if (!descriptor && !is_stranger(thread)) strangers[stranger++ % (sizeof strangers / sizeof *strangers)] = thread;
}

void ordinary_zap(uint64_t va, uint64_t size)
{
    struct kept k;
    for (unsigned tries = 0;; tries++) {
        k = (struct kept){ .va = va, .end = va + size };
        if (!tasks_each(note_descriptor, &k)) return;
        if (!k.unknown || tries == TRIES) break;
        syscall(SYS_sched_yield);
    }
    if (k.unknown) tasks_each(note_stranger, NULL);
    for (unsigned n = 0; n < k.count; n++) {
        zap_all(va, k.pages[n] < k.end ? k.pages[n] : k.end);
        if (k.pages[n] + TASK_DESCRIPTOR > va) va = k.pages[n] + TASK_DESCRIPTOR;
    }
    zap_all(va, k.end);
}

/* ---- faults */

static _Atomic uint64_t serving;       /* the page whose fault is being served; 0: none */
static _Atomic uint32_t served, awake; /* faults so far; the rescuer looks at them */

static void grant(uint64_t page)
{
    uint64_t done;
    bool stepped;
    if (userfault_enter(mmu.ordinary_fd, page, PAGE_BYTES, true, &done, &stepped) || stepped)
        userfault_wake(mmu.ordinary_fd, page, PAGE_BYTES);
}

static void serve_one(const struct userfault_event *e)
{
    struct mmu_fault f = {
        .processor = MMU_HOST, .address = e->address, .write = e->write, .thread = e->thread, .pending = 1
    };
    uint64_t page = page_down(e->address);
    bool woken = false;
    atomic_store(&serving, page);
    if (!atomic_exchange(&awake, 1)) futex_wake(&awake, 1);
    fault_serve(&f, e->protected_page, &woken);
    /* whatever was decided: it is the program's own memory */
    if (!woken) grant(page);
    atomic_fetch_add(&served, 1);
    atomic_store(&serving, 0);
}

static void *serve(void *arg)
{
    struct userfault_event e;
    struct pollfd faults = { .fd = mmu.ordinary_fd, .events = POLLIN };
    quiet_begin(); /* for ever: no signal is for this thread */
    for (;;)       /* one at a time: what is not taken, the other thread sees */
        if (userfault_read(mmu.ordinary_fd, &e, 1))
            serve_one(&e);
        else
            poll(&faults, 1, -1);
    return arg;
}

/* Takes no lock and nothing from the heap. */
static void *rescue(void *arg)
{
    const struct timespec pause = { .tv_nsec = STUCK_MS * 1000000l };
    struct userfault_event e;
    unsigned idle = 0;
    for (;;) {
        uint32_t before = atomic_load(&served);
        nanosleep(&pause, NULL);
        uint64_t page = atomic_load(&serving);
        if (page && atomic_load(&served) == before) {
            grant(page);
            while (userfault_read(mmu.ordinary_fd, &e, 1)) grant(page_down(e.address));
        }
        idle = atomic_load(&served) == before && !page ? idle + 1 : 0;
        if (idle < IDLE_ROUNDS) continue;
        atomic_store(&awake, 0);
        if (!atomic_load(&serving)) futex_wait(&awake, 0, 0);
        idle = 0;
    }
    return arg;
}

/* ---- beginning */

/* Whether entries can be taken out as zap does it. */
static bool can_zap(const struct backing *memory)
{
    /* any place: address and offset differ only here */
    char *p = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd, 0);
    if (p == MAP_FAILED) return false;
    bool can = !userfault_register_present(mmu.ordinary_fd, (uint64_t)p, PAGE_BYTES) && zap((uint64_t)p, PAGE_BYTES);
    munmap(p, PAGE_BYTES);
    return can;
}

bool mmu_ordinary_init(const struct backing *memory)
{
    if (mmu.rung != MMU_USERFAULTFD || !mmu.outside) return false;
    for (unsigned n = 1; n < MMU_PROCESSORS; n++)
        if (mmu.tables[n].attached && mmu.tables[n].signals) return false;
    _Atomic(struct group *) *groups = heap_take(ORDINARY_END / GROUP_BYTES * sizeof *groups);
    if (!groups) return false;
    mmu.ordinary_fd = userfault_open(USERFAULT_KERNEL);
    if (mmu.ordinary_fd < 0 || !can_zap(memory)) goto fail;
    mmu.ordinary = memory;
    atomic_store(&mmu.ordinary_groups, groups);
    if (!thread_start(serve, NULL, THREAD_STACK) && !thread_start(rescue, NULL, THREAD_STACK)) return true;
    atomic_store(&mmu.ordinary_groups, NULL); /* a thread that did start has nothing to do */
    return false;
fail:
    if (mmu.ordinary_fd >= 0) close(mmu.ordinary_fd);
    heap_give(groups);
    return false;
}

/* ---- what is watched */

bool mmu_ordinary_add(uint64_t va, uint64_t size) { return !userfault_register_present(mmu.ordinary_fd, va, size); }

void mmu_ordinary_mapped(unsigned p)
{
    struct table *t = &mmu.tables[p];
    quiet_lock(&t->lock);
    if (t->processor) t->position = atomic_load(&t->processor->control->head);
    quiet_unlock(&t->lock);
}

/* Calls f for each table's leaves in [va, va+size), which it may make. */
typedef void leaf_action(struct table *t, struct leaf *l, unsigned first, unsigned end);

static void forget(struct table *t, struct leaf *l, unsigned first, unsigned end)
{
    struct region all = { first, end };
    mask_assign(&l->may_read, all, false);
    mask_assign(&l->may_write, all, false);
    mask_assign(&l->has_read, all, false);
    mask_assign(&l->has_write, all, false);
    if (mask_empty(&l->may_read) && mask_empty(&l->has_read)) leaf_drop(t, l);
}

static void believe(struct table *t, struct leaf *l, unsigned first, unsigned end)
{
    (void)t;
    leaf_permit(l, first, end, MMU_WRITE);
    l->has_read = mask_or(&l->has_read, &l->may_read);
    l->has_write = mask_or(&l->has_write, &l->may_write);
}

static CUresult for_leaves(unsigned number, uint64_t va, uint64_t size, bool make, leaf_action *f)
{
    struct table *t = &mmu.tables[number];
    CUresult r = CUDA_SUCCESS;
    quiet_lock(&t->lock);
    for (uint64_t at = va, next; at < va + size; at = next) {
        next = piece_end(at, va + size);
        struct leaf *l = make ? leaf_make(number, at) : leaf_find(number, at);
        if (l) f(t, l, page_of(at), page_of(at) + (unsigned)((next - at) / PAGE_BYTES));
        if (!l && make) r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    quiet_unlock(&t->lock);
    return r;
}

void mmu_ordinary_remove(uint64_t va, uint64_t size)
{
    for (unsigned n = 0; n < MMU_PROCESSORS; n++) for_leaves(n, va, size, false, forget);
    userfault_unregister(mmu.ordinary_fd, va, size);
    userfault_wake(mmu.ordinary_fd, va, size);
}

CUresult mmu_ordinary_touched(uint64_t va, uint64_t size) { return for_leaves(MMU_HOST, va, size, true, believe); }
