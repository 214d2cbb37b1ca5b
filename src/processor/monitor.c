/* One thread that watches all device processes: a message on the socket tells
 * of a kernel's fault, the pidfd of the process's end. */
#include "base/futex.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/thread.h"
#include "processor/internal.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { MOST = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct processor *watched;
static fault_reporter *reporter;
static unsigned changes; /* of the list */
static int bell = -1;    /* wakes the thread when the list changes */
static int thread_owner; /* the process in which the thread runs */

void processor_set_reporter(fault_reporter *r) { reporter = r; }

static CUresult result_of(enum fault_kind kind)
{
    switch (kind) {
    case FAULT_ADDRESS: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case FAULT_MISALIGNED: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case FAULT_ASSERT: return CUDA_ERROR_ASSERT;
    case FAULT_STACK: return CUDA_ERROR_HARDWARE_STACK_ERROR;
    case FAULT_ILLEGAL_INSTRUCTION: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case FAULT_RESOURCES: return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    default: return CUDA_ERROR_LAUNCH_FAILED;
    }
}

/* The message comes first, then the error becomes visible, then waiters learn of it. */
void processor_give_up(struct processor *p, CUresult error)
{
    int none = CUDA_SUCCESS;
    if (!atomic_compare_exchange_strong(&p->status, &none, (int)error)) return;
    atomic_fetch_add(&p->control->completion, 1);
    futex_wake(&p->control->completion, 1 << 30);
}

static void report_end(const struct processor *p)
{
    fl_log(FL_LOG_ERROR, "the process of device %d (pid %d) ended unexpectedly; its contexts are lost%s", p->ordinal,
           p->pid,
           machine_oom_kills() > p->oom_kills
               ? ". The system had too little memory and ended processes: programs that ask how much there is use less "
                 "of a device that has less (faultline run --vram, or FAULTLINE_VRAM)"
               : "");
}

static void dies(struct processor *p, CUresult error, const struct fault *f)
{
    if (reporter) reporter(p->ordinal, error, f);
    processor_give_up(p, error);
}

/* As has been seen here; its control page may tell others before. */
static bool is_over(const struct processor *p) { return atomic_load(&p->status); }

static void look_at(struct processor *p, const struct pollfd *message, const struct pollfd *end)
{
    char byte;
    if (message->revents & POLLIN && atomic_load(&p->control->faulted) && !is_over(p)) {
        if (read(p->socket, &byte, 1) < 0) byte = 0;
        dies(p, result_of(p->control->fault.kind), &p->control->fault);
    }
    if (end->revents && !is_over(p)) {
        report_end(p);
        dies(p, CUDA_ERROR_LAUNCH_FAILED, NULL);
    }
}

static void *watch(void *arg)
{
    (void)arg;
    for (;;) {
        struct pollfd fds[2 * MOST + 1] = { { .fd = bell, .events = POLLIN } };
        struct processor *list[MOST];
        nfds_t n = 1;
        int count = 0;
        pthread_mutex_lock(&lock);
        unsigned then = changes;
        for (struct processor *p = watched; p && count < MOST; p = p->next) {
            if (is_over(p)) continue;
            list[count++] = p;
            fds[n++] = (struct pollfd){ .fd = p->socket, .events = POLLIN };
            fds[n++] = (struct pollfd){ .fd = p->pidfd, .events = POLLIN };
        }
        pthread_mutex_unlock(&lock);
        if (poll(fds, n, -1) < 0 && errno != EINTR) usleep(10000);
        uint64_t rings;
        if (fds[0].revents && read(bell, &rings, sizeof rings) < 0) continue;
        pthread_mutex_lock(&lock);
        /* of those that are gone the numbers may be others' by now: what there is to see is there the next time too */
        for (int k = 0; k < count && then == changes; k++) look_at(list[k], &fds[1 + 2 * k], &fds[2 + 2 * k]);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* Under the lock. */
static void changed(void)
{
    uint64_t one = 1;
    changes++;
    if (write(bell, &one, sizeof one) < 0) return;
}

static CUresult start_thread(void)
{
    if (thread_owner == getpid()) return CUDA_SUCCESS;
    if (bell < 0 && (bell = eventfd(0, EFD_CLOEXEC)) < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    if (thread_start(watch, NULL, THREAD_STACK)) return CUDA_ERROR_OPERATING_SYSTEM;
    thread_owner = getpid();
    return CUDA_SUCCESS;
}

CUresult monitor_add(struct processor *p)
{
    pthread_mutex_lock(&lock);
    p->oom_kills = machine_oom_kills();
    CUresult r = start_thread();
    if (!r) {
        p->next = watched;
        watched = p;
        changed();
    }
    pthread_mutex_unlock(&lock);
    return r;
}

void monitor_remove(struct processor *p)
{
    pthread_mutex_lock(&lock);
    for (struct processor **at = &watched; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            changed();
            break;
        }
    pthread_mutex_unlock(&lock);
}
