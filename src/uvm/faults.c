/* The way from a fault to its service, and the lock under which everything is done. */
#include "base/log.h"
#include "base/thread.h"
#include "context/context.h"
#include "uvm/internal.h"
#include "uvm/uvm.h"

#include <time.h>

struct quiet_mutex uvm_lock = QUIET_MUTEX_INITIALIZER;
_Atomic bool uvm_unsettled;

enum { SLACK = 20000 /* ns, of the end of a pin */ };
static pthread_cond_t pins = PTHREAD_COND_INITIALIZER;

/* The faults that have gathered are decided on before anything else is done. ended: so have the kernels. */
static void close_batches(bool ended)
{
    trace_begin();
    uint64_t was = clock_as_noted();
    if (batch_close_all(ended)) sticky_set(CUDA_ERROR_ILLEGAL_ADDRESS);
    clock_resume(was);
}

void uvm_enter(void)
{
    quiet_lock(&uvm_lock);
    close_batches(false);
}

void uvm_leave(void)
{
    clock_end();
    if (thrashing_pinned_any()) pthread_cond_signal(&pins);
    quiet_unlock(&uvm_lock);
}

static void settle(bool waited)
{
    if (!atomic_load_explicit(&uvm_unsettled, memory_order_relaxed) || !atomic_exchange(&uvm_unsettled, false)) return;
    quiet_lock(&uvm_lock);
    if (waited) clock_waited();
    close_batches(true);
    uvm_leave();
}

void uvm_settle(void) { settle(false); }
void uvm_after_wait(void) { settle(true); }

void uvm_catch_up(void)
{
    quiet_lock(&uvm_lock);
    quiet_unlock(&uvm_lock);
}

/* ---- pins that end by themselves */

static void *watch_pins(void *arg)
{
    quiet_begin(); /* for ever: no signal is for this thread */
    quiet_lock(&uvm_lock);
    for (;;) {
        uint64_t now = uvm_now(), next = thrashing_unpin(now);
        if (!next) {
            pthread_cond_wait(&pins, &uvm_lock.mutex);
            continue;
        }
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        uint64_t at = (uint64_t)t.tv_nsec + (next - now) + SLACK;
        t.tv_sec += (time_t)(at / 1000000000u);
        t.tv_nsec = (long)(at % 1000000000u);
        pthread_cond_timedwait(&pins, &uvm_lock.mutex, &t);
    }
    return arg;
}

CUresult pins_watch(void)
{
    static bool begun;
    CUresult r = begun ? CUDA_SUCCESS : thread_start(watch_pins, NULL, THREAD_STACK);
    begun = !r;
    return r;
}

/* ---- faults */

static enum access access_of(const struct mmu_fault *f)
{
    return f->atomic ? ACCESS_ATOMIC_STRONG : f->write ? ACCESS_WRITE : ACCESS_READ;
}

/* The host faults by the page, and waits. */
static CUresult host_fault(const struct mmu_fault *f, struct block *b)
{
    clock_fault(f);
    struct request q = { .pages = { { 0 } } };
    trace_write(&(struct trace_record){ .kind = TRACE_CPU_FAULT,
                                        .access = f->write ? TRACE_ACCESS_WRITE : TRACE_ACCESS_READ,
                                        .address = page_down(f->address),
                                        .bytes = PAGE_BYTES,
                                        .thread = (uint32_t)f->thread,
                                        .batch = trace_wanted(TRACE_LISTEN_RECORDS) ? mmu_where(f) : 0 });
    mask_set(&q.pages, page_of(f->address));
    if (f->write) q.writes = q.pages;
    for (;;) {
        struct mask throttled = { { 0 } };
        uint64_t until = 0;
        CUresult r = service_faults(b, CPU, &q, false, &throttled, &until);
        if (r || mask_empty(&throttled)) return r;
        uvm_sleep(until);
        if (!(b = block_at(f->address, true))) return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
}

CUresult fault_locked(const struct mmu_fault *f)
{
    struct block *b = block_at(f->address, true);
    uint64_t va = page_down(f->address);
    if (!b || (!b->window->ordinary && !addresses_live(b->range->owner, va))) return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (uvm_exclusive && !exclusive_permits(b->range->owner, f)) return CUDA_ERROR_NOT_PERMITTED;
    enum access a = access_of(f);
    enum prot has = page_prot(b, f->processor, page_of(va));
    if (has >= prot_needed(f->processor, a)) /* somebody else's fault brought it, or the entry was lost */
        return mmu_set(f->processor, va, PAGE_BYTES, entry_of(has));
    if (f->processor == CPU) {
        bool first = f->missing && b->window->ordinary && !page_holders(b, page_of(va));
        return first ? ordinary_begun(b, page_of(va)) : host_fault(f, b);
    }
    CUresult r = b->window->ordinary ? ordinary_touch(b, page_of(va)) : CUDA_SUCCESS;
    return r ? r : batch_add(f->processor, va, a, f->block);
}

/* Where devices have no concurrent managed access. Once each: a program may expect its SIGSEGV. */
static void explain_exclusion(const struct mmu_fault *f)
{
    unsigned long long at = f->address;
    if (f->processor == CPU)
        fl_log_once(FL_LOG_ERROR,
                    "the host touched managed memory at 0x%llx, which kernels may be using: on this machine it has to "
                    "wait for them first",
                    at);
    else
        fl_log_once(FL_LOG_ERROR,
                    "a kernel touched managed memory at 0x%llx that is not attached to its stream or to all "
                    "(cuStreamAttachMemAsync)",
                    at);
}

void trace_fatal(unsigned p, uint64_t va, enum access a, CUresult why)
{
    enum trace_reason reason = why == CUDA_ERROR_OUT_OF_MEMORY   ? TRACE_REASON_MEMORY
                               : why == CUDA_ERROR_NOT_PERMITTED ? TRACE_REASON_PERMISSION
                                                                 : TRACE_REASON_ADDRESS;
    trace_write(&(struct trace_record){ .kind = TRACE_FATAL_FAULT,
                                        .access = (uint8_t)traced_access(a),
                                        .processor = (uint8_t)p,
                                        .address = page_down(va),
                                        .bytes = PAGE_BYTES,
                                        .count = reason });
}

/* A device's fatal fault is told of when its kernel ends by it (context/library.c), as those elsewhere are. */
enum mmu_verdict fault_service(const struct mmu_fault *f)
{
    if (f->processor == CPU)
        uvm_enter();
    else
        quiet_lock(&uvm_lock);
    CUresult r = fault_locked(f);
    if (r && f->processor == CPU && !f->doubtful) trace_fatal(CPU, f->address, access_of(f), r);
    uvm_leave();
    if (r == CUDA_ERROR_NOT_PERMITTED) explain_exclusion(f);
    return r ? MMU_FATAL : MMU_RETRY;
}
