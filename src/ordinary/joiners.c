/* See joiners.h. A signal that does nothing has the system begin their call again. */
#include "ordinary/joiners.h"
#include "base/tasks.h"
#include "ordinary/free_signal.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 3, PAUSE_NS = 300000 };

struct range {
    uint64_t va, end;
    int found;
};

static void note(void *arg, int thread, uint64_t descriptor)
{
    struct range *r = arg;
    (void)thread;
    if (descriptor + TASK_DESCRIPTOR > r->va && descriptor < r->end) r->found = 1;
}

static void nothing(int number) { (void)number; }

static void interrupt(void *arg, int thread, uint64_t descriptor)
{
    static int chosen;
    const struct range *r = arg;
    char text[256] = "", path[64];
    long number;
    unsigned long address, operation;
    (void)descriptor;
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0 || sscanf(text, "%ld %lx %lx", &number, &address, &operation) != 3 || number != SYS_futex) return;
    if (operation & FUTEX_PRIVATE_FLAG || address < r->va || address >= r->end) return;
    int signal = free_signal(&chosen, nothing);
    if (signal) syscall(SYS_tgkill, getpid(), thread, signal);
}

void joiners_look_again(uint64_t va, uint64_t size)
{
    const struct timespec pause = { .tv_nsec = PAUSE_NS };
    struct range r = { va, va + size, 0 };
    tasks_each(note, &r);
    /* some may be just about to sleep */
    for (unsigned k = 0; k < ROUNDS && r.found; k++) {
        if (k) nanosleep(&pause, NULL);
        tasks_each(interrupt, &r);
    }
}
