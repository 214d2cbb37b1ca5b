/* Starting and ending a device process. */
#include "base/backing.h"
#include "base/file.h"
#include "base/futex.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/message.h"
#include "base/spawn.h"
#include "base/units.h"
#include "base/unlocked.h"
#include "processor/lazy.h"
#include "processor/mmu.h"
#include "processor/table.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { START_MS = 20000, STOP_MS = 1000 };

static CUresult make_control(struct processor *p, uint32_t sm_count, int *fd)
{
    *fd = memfd_create("faultline-control", MFD_CLOEXEC);
    if (*fd < 0 || file_resize(*fd, CONTROL_BYTES)) return CUDA_ERROR_OUT_OF_MEMORY;
    struct control *c = map_unlocked(NULL, CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *fd, 0);
    if (c == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    backing_hide(c, CONTROL_BYTES);
    c->version = RING_VERSION;
    c->host_pid = getpid();
    c->sm_count = sm_count;
    c->printf_size = PRINTF_DEFAULT;
    p->control = c;
    return CUDA_SUCCESS;
}

static _Atomic(struct processor *) running[MMU_PROCESSORS];

struct processor *processor_of(unsigned ordinal)
{
    return ordinal < MMU_PROCESSORS - 1 ? atomic_load(&running[ordinal]) : NULL;
}

/* The first message says that the device is ready, and brings its userfaultfd. */
static bool receive_hello(struct processor *p)
{
    struct hello_message hello;
    return message_receive(p->socket, &hello, sizeof hello, &p->userfault) && hello.userfault == (p->userfault >= 0);
}

static CUresult wait_for_start(struct processor *p)
{
    struct pollfd ready = { .fd = p->socket, .events = POLLIN };
    int n;
    while ((n = poll(&ready, 1, START_MS)) < 0 && errno == EINTR)
        ;
    if (n <= 0 || !receive_hello(p)) {
        if (n)
            fl_log(FL_LOG_ERROR, "the process of device %d ended before it was ready", p->ordinal);
        else
            fl_log(FL_LOG_ERROR, "the process of device %d is not ready after %d seconds: this machine is too busy",
                   p->ordinal, START_MS / 1000);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    p->pid = p->control->device_pid;
    p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    if (p->pidfd >= 0) return CUDA_SUCCESS;
    fl_log(FL_LOG_ERROR, "a device process cannot be watched: pidfd_open: %s (Linux 5.3 or newer has it)", strerror(errno));
    return CUDA_ERROR_OPERATING_SYSTEM;
}

/* Until the process is gone, and with it all that it held; signals do not make that shorter. */
static void wait_for_end(int pidfd)
{
    uint64_t end = now_ns() + STOP_MS * 1000000ull, now;
    struct pollfd gone = { .fd = pidfd, .events = POLLIN };
    while ((now = now_ns()) < end && poll(&gone, 1, (int)((end - now) / 1000000) + 1) < 0 && errno == EINTR)
        ;
}

static void close_one(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* The process ends, and what the host has of it goes. */
static void end(struct processor *p)
{
    monitor_remove(p);
    if (p->pidfd >= 0) {
        syscall(SYS_pidfd_send_signal, p->pidfd, SIGKILL, NULL, 0);
        wait_for_end(p->pidfd);
    }
    pthread_mutex_lock(&p->lock);
    close_one(&p->pidfd);
    close_one(&p->socket);
    close_one(&p->userfault);
    for (int k = 0; k < 64; k++)
        while (p->sent[k]) {
            struct sent *s = p->sent[k];
            p->sent[k] = s->next;
            free(s);
        }
    lazy_free(p);
    pthread_mutex_unlock(&p->lock);
}

/* The device process runs and has said hello; what an error leaves of it, end() takes. */
static CUresult launch(struct processor *p, uint32_t sm_count)
{
    int control = -1, ends[2] = { -1, -1 }, bell = service_bell();
    char path[4096], *argv[] = { "faultline-device", NULL };
    if (bell < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = library_sibling("faultline-device", "FAULTLINE_DEVICE_EXE", path, sizeof path);
    if (r || (r = make_control(p, sm_count, &control))) goto out;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
        r = CUDA_ERROR_OPERATING_SYSTEM;
        goto out;
    }
    p->socket = ends[0];
    if ((r = spawn(path, argv, (int[]){ control, ends[1], bell }, 3))) goto out;
    close(ends[1]);
    ends[1] = -1;
    r = wait_for_start(p);
out:
    if (control >= 0) close(control);
    if (ends[1] >= 0) close(ends[1]);
    if (r != CUDA_ERROR_FILE_NOT_FOUND) return r;
    fl_log(FL_LOG_ERROR, "faultline-device is missing: it belongs beside libcuda.so.1, or FAULTLINE_DEVICE_EXE names it");
    return CUDA_ERROR_SYSTEM_NOT_READY;
}

CUresult processor_start(struct processor **out, int ordinal, uint32_t sm_count)
{
    struct processor *p = heap_take(sizeof *p); /* looked at while faults are served */
    if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
    p->ordinal = ordinal;
    p->owner = getpid();
    p->socket = p->pidfd = p->userfault = -1;
    pthread_mutex_init(&p->lock, NULL);
    CUresult r = launch(p, sm_count);
    if (!r) r = monitor_add(p);
    if (!r) {
        if (ordinal < MMU_PROCESSORS - 1) atomic_store(&running[ordinal], p);
        *out = p;
        return r;
    }
    end(p);
    if (p->control) munmap(p->control, CONTROL_BYTES);
    pthread_mutex_destroy(&p->lock);
    heap_give(p);
    return r;
}

/* Threads that were about to use the device may still look at p: they find one that is dead. */
static void retire(struct processor *p)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct processor *retired;
    size_t kept = page_up(sizeof *p->control);
    printf_lock();
    if (mmap(p->control, kept, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
             0) == p->control)
        munmap((char *)p->control + kept, CONTROL_BYTES - kept);
    printf_unlock();
    pthread_mutex_lock(&lock);
    p->next = retired;
    retired = p;
    pthread_mutex_unlock(&lock);
}

void processor_stop(struct processor *p)
{
    struct processor *self = p;
    if (p->ordinal < MMU_PROCESSORS - 1 && atomic_compare_exchange_strong(&running[p->ordinal], &self, NULL))
        mmu_detach(1 + (unsigned)p->ordinal);
    processor_give_up(p, CUDA_ERROR_LAUNCH_FAILED);
    end(p);
    retire(p);
}

/* A program that has closed our descriptors, and opened others in their place, is told of a device's end by nothing else. */
CUresult processor_status(const struct processor *p)
{
    CUresult r = (CUresult)atomic_load(&p->status);
    return !r && atomic_load(&p->control->gone) ? CUDA_ERROR_LAUNCH_FAILED : r;
}

bool processor_killed(const struct processor *p)
{
    return processor_status(p) == CUDA_ERROR_LAUNCH_FAILED && !atomic_load(&p->control->faulted);
}
int processor_pid(const struct processor *p) { return p->pid; }
bool processor_busy(const struct processor *p) { return atomic_load(&p->control->running) != 0; }
