/* The time that policy goes by; apart, so that a test can be the clock.
 *
 * What thrashes is decided by half milliseconds. On a busy machine a thread may not be run for longer than that,
 * and nothing would ever thrash. So from one act of a thread on managed memory to its next (it faults, or has waited
 * for a device) no more counts than the program and its devices were run for, unless it slept of its own will. */
#include "context/context.h"
#include "processor/mmu.h"
#include "processor/processor.h"
#include "uvm/internal.h"
#include "uvm/uvm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SHORT = 200000 /* what is shorter counts whatever it was */, SECOND = 1000000000 }; /* ns */

static _Atomic uint64_t lost; /* written with the lock */
static uint64_t newest;
static uint64_t act;   /* when the act under way began; 0: none is. It takes no time */
static uint64_t noted; /* when a device last faulted, of those faults that gather */
/* The last act. */
static struct {
    _Atomic pid_t thread; /* 0: nobody's, or the thread has slept since */
    uint64_t time, cpu;
    long switches; /* how often the thread has slept, by then, and will have by what is known */
} last;

static uint64_t read_clock(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t)) return 0;
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static pid_t self(void) { return (pid_t)syscall(SYS_gettid); }

/* -1: unknown. */
static long switches_of(pid_t thread)
{
    static const char field[] = "\nvoluntary_ctxt_switches:";
    char text[4096];
    snprintf(text, sizeof text, "/proc/self/task/%d/status", (int)thread);
    int fd = open(text, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *at = strstr(text, field);
    return at ? atol(at + strlen(field)) : -1;
}

/* Time of processors that this process and its devices' have used. */
static uint64_t processors_used(void)
{
    enum { SCHEDULED = 2 }; /* of the kernel's interface */
    uint64_t used = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    for (int k = 0; k < device_count; k++)
        if (devices[k].processor)
            used += read_clock((clockid_t)(~(unsigned)processor_pid(devices[k].processor) << 3 | SCHEDULED));
    return used;
}

/* What others were told meanwhile (the faults of a kernel that had to wait) stands: the clock goes on from there. If it
 * were set back to before, it would stand still until it is there again, and whatever happens then come quickly. */
static void forget_stall(uint64_t now, uint64_t cpu)
{
    uint64_t used = cpu > last.cpu ? cpu - last.cpu : 0, counts = used > SHORT ? used : SHORT;
    uint64_t stalled = now - last.time > counts ? now - last.time - counts : 0;
    uint64_t untold = now - lost > newest ? now - lost - newest : 0;
    lost += stalled < untold ? stalled : untold;
}

static uint64_t passed(void) { return read_clock(CLOCK_MONOTONIC) - lost; }

uint64_t uvm_now(void)
{
    uint64_t now = act ? act : passed();
    if (now > newest) newest = now;
    return newest;
}

void uvm_sleep(uint64_t until)
{
    act = 0;
    quiet_unlock(&uvm_lock);
    for (uint64_t now; (now = passed()) < until;) {
        uint64_t left = until - now;
        nanosleep(&(struct timespec){ (time_t)(left / SECOND), (long)(left % SECOND) }, NULL);
    }
    quiet_lock(&uvm_lock);
}

void clock_fault(const struct mmu_fault *f)
{
    if (f->thread != last.thread) return;
    uint64_t now = read_clock(CLOCK_MONOTONIC);
    if (!f->slept) last.switches++;
    if (now - last.time > SHORT) {
        long switches = f->slept ? f->slept - 1 : switches_of(f->thread);
        uint64_t cpu = processors_used();
        if (switches >= 0 && switches <= last.switches) forget_stall(now, cpu);
        last.switches = switches;
        last.cpu = cpu;
    }
    last.time = now;
    act = now - lost;
}

void clock_waited(void)
{
    pid_t thread = self();
    uint64_t now = read_clock(CLOCK_MONOTONIC), cpu = processors_used();
    if (thread == last.thread) forget_stall(now, cpu);
    last.time = now;
    last.cpu = cpu;
    last.switches = mmu_slept();
    last.thread = thread;
    act = now - lost;
}

void clock_noted(void) { noted = passed(); }

uint64_t clock_as_noted(void)
{
    uint64_t was = act;
    if (!noted) return was;
    act = act ? act : passed();
    if (noted < act) act = noted;
    noted = 0;
    return was;
}

void clock_resume(uint64_t was)
{
    if (act) act = was;
}

void clock_end(void) { act = 0; }

void uvm_before_wait(void)
{
    if (!atomic_load_explicit(&last.thread, memory_order_relaxed)) return;
    long switches = mmu_slept(); /* before it may sleep for the lock */
    quiet_lock(&uvm_lock);
    if (last.thread == self() && switches > last.switches) last.thread = 0;
    quiet_unlock(&uvm_lock);
}
