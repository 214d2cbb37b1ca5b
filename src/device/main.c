/* faultline-device: one simulated GPU. Started by libcuda.so.1, which leaves it
 * the control memfd as descriptor 3, its end of a socket as descriptor 4 and the bell of its
 * service thread as descriptor 5.
 * It ends when its host does, or when that has become another program (execve): its end of the socket closes then. */
#include "device/device.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/thread.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAUSE_LEAST = 500000, PAUSE_RUNNING = 2000000, PAUSE_MOST = 100000000 }; /* ns: 0.5 ms; 2 ms; 0.1 s */

struct control *control;
int host_socket = 4, host_bell = 5;

/* While all workers are busy nobody reads commands: this thread then does, now and then. What the host
 * asks of the page table while kernels run it does at once, and it stays awake for a moment for the next. */
static void *relieve(void *arg)
{
    (void)arg;
    uint64_t pause = PAUSE_LEAST, active = 0;
    for (;;) {
        uint32_t seen = atomic_load(&control->agent_bell);
        if (managed_requests()) active = now_ns();
        /* not where it would keep the host from asking */
        bool apart = atomic_load_explicit(&control->server_cpu, memory_order_relaxed) != (uint32_t)sched_getcpu() + 1;
        if (active && apart && now_ns() - active < SPIN_NS) {
            cpu_relax();
            continue;
        }
        active = 0;
        atomic_store(&control->agent_asleep, 1);
        if (atomic_load(&control->agent_bell) == seen) futex_wait(&control->agent_bell, seen, pause);
        atomic_store(&control->agent_asleep, 0);
        bool running = atomic_load(&control->running);
        bool took = running && commands_take();
        uint64_t longest = running ? PAUSE_RUNNING : PAUSE_MOST;
        pause = took ? PAUSE_LEAST : pause * 2 < longest ? pause * 2 : longest;
    }
    return NULL;
}

static int ends_at(const char *what, int error)
{
    fl_log(FL_LOG_ERROR, "the device process cannot %s: %s%s", what, strerror(error), FEW_TASKS(error));
    return 1;
}

int main(int argc, char **argv)
{
    layout_apply(argc, argv);
    control = mmap(NULL, CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, 3, 0);
    if (control == MAP_FAILED || control->version != RING_VERSION) {
        fputs(control == MAP_FAILED ? "faultline-device is started by libcuda.so.1, not by hand\n"
                                    : "faultline-device is of another build than the libcuda.so.1 that started it\n",
              stderr);
        return 2;
    }
    int host = (int)syscall(SYS_pidfd_open, control->host_pid, 0);
    if (host < 0) return ends_at("watch its program (pidfd_open)", errno);
    prctl(PR_SET_NAME, "faultline-device");
    /* the application's limits on its address space and its descriptors are not this process's */
    struct rlimit limit;
    if (!getrlimit(RLIMIT_AS, &limit)) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_AS, &limit);
    }
    if (!getrlimit(RLIMIT_NOFILE, &limit)) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    fault_handlers_install();
    managed_open();
    atomic_store((_Atomic int32_t *)&control->device_pid, getpid());
    int error = workers_start(workers_wanted());
    pthread_t helper;
    if (!error) error = pthread_create(&helper, NULL, relieve, NULL);
    if (error) return ends_at("start its threads", error);
    pthread_detach(helper);
    if (!managed_hello()) return 1;
    struct pollfd watch[] = { { .fd = host, .events = POLLIN }, { .fd = host_socket } }; /* of the latter: its end */
    while (poll(watch, 2, -1) <= 0)
        ;
    atomic_store(&control->gone, 1);
    _exit(0);
}
