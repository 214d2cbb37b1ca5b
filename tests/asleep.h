/* Whether a thread of this process sleeps: who waits for something does, if not at once. */
#ifndef ASLEEP_H
#define ASLEEP_H
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int thread_id(void) { return (int)syscall(SYS_gettid); }

/* How often it went to sleep; -1: it is awake. */
static inline long sleeps_of(int thread)
{
    char path[64], text[128];
    long n = -1;
    int sleeps = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
    FILE *f = fopen(path, "r");
    while (f && fgets(text, sizeof text, f)) {
        if (!strncmp(text, "State:\tS", 8)) sleeps = 1;
        if (sleeps) sscanf(text, "voluntary_ctxt_switches: %ld", &n);
    }
    if (f) fclose(f);
    return n;
}

/* To be called once a millisecond: for how many the thread has slept without waking up. 0 to begin with, all of it. */
struct asleep {
    long seen;
    int ms;
};
static inline int asleep_for(struct asleep *a, int thread)
{
    const long now = sleeps_of(thread);
    a->ms = now >= 0 && now == a->seen ? a->ms + 1 : 0;
    a->seen = now;
    return a->ms;
}

#endif
