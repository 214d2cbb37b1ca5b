/* The host's page table where there is no userfaultfd: mprotect, and SIGSEGV
 * handed over to the service thread. The handler takes no lock and calls
 * nothing that could; a signal that is not ours goes to the handler that the
 * program has installed, before or after this one. */
#include "base/futex.h"
#include "processor/host_hook.h"
#include "processor/table.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { BOXES = 64, SPINS = 2000, SLEEP_NS = 10000000 };

static struct mailbox boxes[BOXES]; /* MAIL_NONE: free; its thread's from then on until it is free again */
static int threads[BOXES];
static uint64_t instructions[BOXES];
static long naps[BOXES]; /* mmu_slept() */
static _Atomic uint32_t server_cpu; /* where the service thread last was, plus 1 */
static _Atomic uint32_t posted;     /* boxes posted and not taken */

static _Thread_local bool passing __attribute__((tls_model("initial-exec")));
static _Thread_local long naps_for_faults __attribute__((tls_model("initial-exec")));
static const volatile char *has_memory; /* 1; in a forked child, which has no managed memory, 0 */

/* ---- signals that are not ours */

static void by_default(const siginfo_t *info)
{
    hook_default();
    /* a fault happens again on return; what was sent must be sent again */
    if (info->si_code <= 0) raise(SIGSEGV);
}

/* A handler of the program's that calls the one it found, if that was ours, has found the end of the
 * chain. (One that jumps out leaves passing set, so it alone does not tell.) */
static void pass_on(int number, siginfo_t *info, void *context, bool called)
{
    struct sigaction a = hook_take();
    const bool fatal = info->si_code > 0 && (a.sa_handler == SIG_IGN || hook_blocked());
    if ((passing && called) || a.sa_handler == SIG_DFL || fatal) {
        by_default(info);
        return;
    }
    if (a.sa_handler == SIG_IGN) return;
    /* but SIGSEGV: the handler may touch managed memory, too */
    sigset_t block = a.sa_mask, old;
    sigdelset(&block, SIGSEGV);
    sigprocmask(SIG_BLOCK, &block, &old);
    passing = true;
    if (a.sa_flags & SA_SIGINFO)
        a.sa_sigaction(number, info, context);
    else
        a.sa_handler(number);
    passing = false;
    sigprocmask(SIG_SETMASK, &old, NULL);
}

/* ---- those that are */

static struct mailbox *claim(void)
{
    for (unsigned k = 0;; k = (k + 1) % BOXES) {
        uint32_t none = MAIL_NONE;
        if (atomic_compare_exchange_strong(&boxes[k].state, &none, MAIL_FILLING)) {
            threads[k] = gettid();
            return &boxes[k];
        }
        cpu_relax();
    }
}

static long switches(void)
{
    struct rusage u;
    return getrusage(RUSAGE_THREAD, &u) ? 0 : u.ru_nvcsw;
}

long mmu_slept(void) { return switches() - naps_for_faults; }

static bool ask(uint64_t address, bool write_access, uint64_t pc)
{
    struct mailbox *m = claim();
    uint64_t one = 1;
    uint32_t state;
    m->address = address;
    m->access = write_access ? MAIL_WRITE : 0;
    instructions[m - boxes] = pc;
    long before = switches();
    naps[m - boxes] = before - naps_for_faults;
    atomic_store(&m->state, MAIL_POSTED);
    atomic_fetch_add(&posted, 1);
    /* past the C library's function, in which the thread could be cancelled */
    if (syscall(SYS_write, service_bell(), &one, sizeof one) < 0) return false;
    for (unsigned rounds = 0; (state = atomic_load(&m->state)) == MAIL_POSTED || state == MAIL_TAKEN; rounds++) {
        cpu_relax();
        /* on one processor with the service thread it would only be in its way */
        if (rounds < SPINS && atomic_load(&server_cpu) != (uint32_t)sched_getcpu() + 1) continue;
        atomic_store(&m->asleep, 1);
        futex_wait(&m->state, state, SLEEP_NS);
        atomic_store(&m->asleep, 0);
    }
    naps_for_faults += switches() - before;
    atomic_store(&m->state, MAIL_NONE);
    return state == MAIL_RETRY;
}

static void on_segv(int number, siginfo_t *info, void *context)
{
    uint64_t address = (uint64_t)info->si_addr;
    int saved = errno;
#ifdef __SANITIZE_THREAD__
    bool called = false; /* it is always called, by the sanitizer */
#else
    /* the system puts the context next to the return address */
    bool called = (char *)context != (char *)__builtin_frame_address(0) + 16;
#endif
    if (info->si_code == SEGV_ACCERR && address >= mmu.base && address < mmu.end && *has_memory) {
        const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
        bool again = ask(address, registers[REG_ERR] & 2, (uint64_t)registers[REG_RIP]);
        errno = saved;
        if (again) return;
    }
    pass_on(number, info, context, called);
    errno = saved;
}

/* What the page's entry permits, and has permitted, cannot fault; unless the program has protected the page itself.
 * Another thread's fault may have mended it a moment ago: so it takes several times, one right after the other. */
static bool protected_by_program(const struct mmu_fault *f)
{
    enum { TIMES = 32 };
    static struct {
        uint64_t address;
        int thread;
        unsigned times;
    } last;
    struct table *t = &mmu.tables[MMU_HOST];
    unsigned page = page_of(f->address);
    quiet_lock(&t->lock);
    const struct leaf *l = leaf_find(MMU_HOST, f->address);
    bool in_place = l && (l->open || mask_test(f->write ? &l->has->write : &l->has->read, page));
    quiet_unlock(&t->lock);
    if (!in_place || last.address != f->address || last.thread != f->thread) last.times = 0;
    last.address = f->address;
    last.thread = f->thread;
    return in_place && ++last.times > TIMES;
}

bool host_serve_signals(void)
{
    bool any = false;
    uint32_t here = (uint32_t)sched_getcpu() + 1;
    if (atomic_load_explicit(&server_cpu, memory_order_relaxed) != here) atomic_store(&server_cpu, here);
    for (unsigned k = 0; atomic_load(&posted) && k < BOXES; k++) {
        uint32_t state = MAIL_POSTED;
        struct mailbox *m = &boxes[k];
        if (!atomic_compare_exchange_strong(&m->state, &state, MAIL_TAKEN)) continue;
        atomic_fetch_sub(&posted, 1);
        bool woken;
        unsigned permits = host_permits();
        struct mmu_fault f = { .processor = MMU_HOST,
                               .address = m->address,
                               .write = m->access,
                               .thread = threads[k],
                               .pending = 1,
                               .pc = instructions[k],
                               .slept = naps[k] + 1 };
        bool again = !protected_by_program(&f) && host_verdict(&f, false, permits, &woken) == MMU_RETRY;
        atomic_store(&m->state, again ? MAIL_RETRY : MAIL_FATAL);
        if (atomic_load(&m->asleep)) futex_wake(&m->state, 1);
        any = true;
    }
    return any;
}

CUresult host_catch_signals(void)
{
    if (has_memory) return CUDA_SUCCESS;
    char *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    madvise(page, PAGE_BYTES, MADV_WIPEONFORK);
    *page = 1;
    has_memory = page;
    hook_install(on_segv);
    return CUDA_SUCCESS;
}

void host_check_handler(void)
{
    if (mmu.tables[MMU_HOST].signals) hook_look_again();
}
