/* Kernels that do what they may not. A signal in compiled code ends the block;
 * then a forked copy of this process, in which all memory is private, runs the
 * segment's probe thread by thread to find out who did it and where. */
#include "device/device.h"
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK = 64 << 10, EXPLAIN_MS = 2000 };
/* How far from what it belongs to an address may be: a shared array's negative index; a frame larger than the guard
 * page, and what the kernel pushed before it. */
enum { BELOW_STACK = 1 << 20, WITHIN_STACK = 64 << 10, GUARD = 8 << 10 };

static _Thread_local sigjmp_buf escape;
static _Thread_local volatile bool guarded;
static _Thread_local struct fault caught;

static void fill_place(struct fault *f, uint32_t thread)
{
    const struct fl_block *b = &worker.frame->b;
    f->thread_known = true;
    f->thread[0] = thread % b->ntid[0];
    f->thread[1] = thread / b->ntid[0] % b->ntid[1];
    f->thread[2] = thread / b->ntid[0] / b->ntid[1];
}

/* A thread that runs on its own stack has always told where it is. */
static void place_of_fiber(struct fault *f)
{
    fill_place(f, worker.frame->b.probe_thread);
    if (!f->line) f->line = worker.frame->b.probe_line;
}

static const char *space_of(uint64_t address)
{
    const struct fl_block *b = &worker.frame->b;
    uint64_t shared = (uint64_t)b->shared;
    if (address + worker.frame->window_before >= shared && address < shared + b->shared_window_size) return "shared";
    if (address >= b->local_lo && address < b->local_hi) return "local";
    return "global";
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    const ucontext_t *u = context;
    bool write = u->uc_mcontext.gregs[REG_ERR] & 2;
    if (managed_fault(info, write)) return;
    if (guarded && number == SIGSEGV && write && multimem_store_fault(context, (uint64_t)info->si_addr)) return;
    if (guarded && pageable_fault(info, write)) return;
    if (!guarded) {
        /* a bug of ours, not of the kernel: die of it */
        signal(number, SIG_DFL);
        return;
    }
    guarded = false;
    caught.kind = number == SIGILL ? FAULT_ILLEGAL_INSTRUCTION : FAULT_ADDRESS;
    caught.address = number == SIGSEGV || number == SIGBUS ? (uint64_t)info->si_addr : 0;
    caught.address_known = (number == SIGSEGV || number == SIGBUS) && info->si_code != SI_KERNEL;
    caught.write = write;
    if (worker.frame->fibers.running) {
        worker.frame->fibers.running = false;
        place_of_fiber(&caught);
    }
    if (caught.address_known && caught.address + BELOW_STACK >= worker.stack_lo - GUARD &&
        caught.address < worker.stack_lo + WITHIN_STACK)
        caught.kind = FAULT_STACK;
    siglongjmp(escape, 1);
}

void fault_handlers_install(void)
{
    struct sigaction a = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE };
    for (size_t k = 0; k < sizeof signals / sizeof *signals; k++) sigaction(signals[k], &a, NULL);
    multimem_store_install();
}

void fault_thread_begin(void)
{
    pthread_attr_t attributes;
    void *stack = NULL;
    size_t size = 0;
    worker.signal_stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (worker.signal_stack != MAP_FAILED)
        sigaltstack(&(stack_t){ .ss_sp = worker.signal_stack, .ss_size = STACK }, NULL);
    if (!pthread_getattr_np(pthread_self(), &attributes)) {
        pthread_attr_getstack(&attributes, &stack, &size);
        pthread_attr_destroy(&attributes);
    }
    worker.stack_lo = (uint64_t)stack;
    worker.stack_hi = (uint64_t)stack + size;
}

void fault_raise(enum fault_kind kind, uint32_t thread, uint32_t line, const char *text)
{
    memset(&caught, 0, sizeof caught);
    caught.kind = kind;
    caught.line = line;
    if (text) strncpy(caught.text, text, sizeof caught.text - 1);
    guarded = false;
    if (worker.frame->fibers.running) {
        place_of_fiber(&caught);
        fiber_abandon(worker.frame);
    }
    fill_place(&caught, thread);
    siglongjmp(escape, 2);
}

void fault_raise_address(uint64_t address, uint32_t thread, uint32_t line)
{
    struct fault f = { .kind = FAULT_ADDRESS, .line = line, .address = address, .address_known = true };
    caught = f;
    guarded = false;
    fill_place(&caught, thread);
    siglongjmp(escape, 2);
}

void fault_go_on(void)
{
    worker.frame->fibers.raised = false;
    siglongjmp(escape, 2);
}

/* ---- explaining */

/* In the forked copy: every thread that had not finished the segment runs it again, alone.
 * That an access was misaligned shows only when all have finished: then all of them. */
static void probe_threads(struct frame *f, enum fault_kind kind, uint64_t address, int out)
{
    struct fl_block *b = &f->b;
    sigset_t none;
    sigemptyset(&none); /* the handler that was left by siglongjmp, if it is a sanitizer's, has blocked all signals */
    sigprocmask(SIG_SETMASK, &none, NULL);
    agent_make_private();
    managed_make_private(address);
    printf_mute();
    flush_subnormals(f->code.kernel->flags & FL_KERNEL_FLUSHED);
    for (volatile uint32_t t = f->first; t < f->first + f->count; t++) {
        if (kind != FAULT_MISALIGNED && f->code.kernel->nsegments > 1 && b->state[t] != f->segment) continue;
        memset(&caught, 0, sizeof caught);
        b->probe_thread = t;
        b->probe_line = 0;
        int how = sigsetjmp(escape, 1);
        if (!how) {
            guarded = true;
            ((fl_segment_fn *)((const char *)f->code.image + f->code.segments[f->segment].probe))(b, t, 1);
            guarded = false;
            continue;
        }
        if (how == 1) {
            fill_place(&caught, b->probe_thread);
            caught.line = b->probe_line;
        }
        if (caught.kind == FAULT_ADDRESS || caught.kind == FAULT_MISALIGNED || caught.kind == FAULT_STACK) {
            if (write(out, &caught, sizeof caught) < 0) _exit(1);
            _exit(0);
        }
    }
    _exit(0);
}

static void explain(struct fault *f)
{
    int ends[2];
    struct fault found;
    if (pipe(ends)) return;
    pid_t child = commands_fork();
    if (!child) {
        alarm(EXPLAIN_MS / 1000 + 1);
        probe_threads(worker.frame, f->kind, f->address_known ? f->address : 0, ends[1]);
    }
    close(ends[1]);
    struct pollfd p = { .fd = ends[0], .events = POLLIN };
    if (child > 0 && poll(&p, 1, EXPLAIN_MS) > 0 && read(ends[0], &found, sizeof found) == sizeof found) {
        found.kind = f->kind;
        if (f->kind == FAULT_ADDRESS && f->address_known) {
            /* an atomic may have been caught as it read; probes only write them */
            found.write = f->write || (found.write && found.address_known && found.address == f->address);
            found.address = f->address;
            found.address_known = true;
        }
        *f = found;
    }
    close(ends[0]);
    if (child > 0) {
        kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    }
}

/* The last line of the source that is told of before the line of the PTX. */
static void find_source(struct fault *f, const struct fl_image *h)
{
    const struct fl_image_line *lines = (const void *)((const char *)h + h->lines);
    uint32_t lo = 0, hi = h->nlines;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (lines[middle].ptx <= f->line)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (f->line && lo && lines[lo - 1].line)
        snprintf(f->source, sizeof f->source, "%s:%u", (const char *)h + h->strings + lines[lo - 1].file,
                 lines[lo - 1].line);
}

void fault_report(enum fault_kind kind)
{
    static _Atomic bool reported;
    struct fault f = { .kind = kind };
    grids_abort();
    if (atomic_exchange(&reported, true)) return;
    if (caught.kind == kind) f = caught;
    const struct grid *g = worker.grid;
    if (worker.frame && (kind == FAULT_ADDRESS || kind == FAULT_STACK || kind == FAULT_MISALIGNED) && !f.thread_known)
        explain(&f);
    if (g)
        strncpy(f.kernel, (const char *)g->code.image + g->code.image->strings + g->code.kernel->name,
                sizeof f.kernel - 1);
    if (g) find_source(&f, g->code.image);
    if (worker.frame) memcpy(f.block, worker.frame->b.ctaid, sizeof f.block);
    if (worker.frame && f.address_known) strcpy(f.space, space_of(f.address));
    control->fault = f;
    atomic_store(&control->faulted, 1);
    /* the host's monitor listens on the socket */
    if (write(host_socket, "f", 1) < 0) _exit(1);
}

static bool flushed(const struct frame *f) { return f->code.kernel->flags & FL_KERNEL_FLUSHED; }

bool fault_guarded_batch(struct frame *f, uint64_t count)
{
    if (!sigsetjmp(escape, 0)) {
        guarded = true;
        if (flushed(f)) flush_subnormals(true);
        block_run_batch(f, count);
        if (flushed(f)) flush_subnormals(false);
        guarded = false;
        if (f->b.misaligned) memset(&caught, 0, sizeof caught);
        return true;
    }
    if (flushed(f)) flush_subnormals(false);
    fault_report(caught.kind);
    return false;
}

enum block_outcome fault_guarded_run(struct frame *f)
{
    if (!sigsetjmp(escape, 0)) {
        guarded = true;
        if (flushed(f)) flush_subnormals(true);
        enum block_outcome outcome = block_run(f);
        if (flushed(f)) flush_subnormals(false);
        guarded = false;
        if (outcome == BLOCK_FAULT) memset(&caught, 0, sizeof caught);
        return outcome;
    }
    if (flushed(f)) flush_subnormals(false);
    fault_report(caught.kind);
    return BLOCK_DONE;
}
