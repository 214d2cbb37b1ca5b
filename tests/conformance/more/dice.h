/* Walks at random whose every step depends on its seed and number alone, so that one answer that differs drags no
 * others along. A walk runs in a process of its own, and goes on in another one behind a step that ended it: by a
 * signal, or by an error that stays. With another SEEDS the same program asks something else. */
#ifndef DICE_H
#define DICE_H
#include "oracle.h"

#include "../../draw.h"
#include <signal.h>
#include <stdbool.h>

#ifndef SEEDS
#define SEEDS 0
#endif
enum { STICKY = 9, MOST_RESTARTS = 12 };

/* The steps, each between spaces, at which the driver crashed when it was asked: the process ends there here, too, so that
 * what comes later is about the same things. */
#ifndef CRASHES
#define CRASHES ""
#endif
static const char crashes[] = CRASHES;

static int step;

#define SAY(...) rec(keyf("%d", step), __VA_ARGS__)

static void seeded(uint64_t seed, int number)
{
    draw_state = ((seed + SEEDS) * 1000003 + (uint64_t)number) * 0x9E3779B97F4A7C15ull + 1;
    for (int k = 0; k < 4; k++) draw(2);
}

/* Says how far it has come, and goes on from there. */
static void walk_from(const char *name, int first, int steps, int progress, uint64_t seed, void (*begin)(void),
                      void (*call)(void))
{
    seeded(seed, -1);
    step = -1;
    begin();
    for (step = first; step < steps; step++) {
        if (write(progress, &step, sizeof step) != sizeof step) exit(1);
        seeded(seed, step);
        if (strstr(crashes, keyf(" %s.%d ", name, step))) raise(SIGSEGV);
        call();
    }
    _exit(0);
}

static int walk_child(const char *name, int first, int *reached)
{
    int ends[2], status;
    if (pipe(ends)) exit(1);
    fflush(stdout);
    pid_t c = fork();
    if (!c) {
        setenv("WALK_FROM", keyf("%d %d", first, ends[1]), 1);
        execl("/proc/self/exe", "walk", "--one", name, (char *)0);
        _exit(127);
    }
    close(ends[1]);
    for (int n; read(ends[0], &n, sizeof n) == sizeof n;) *reached = n;
    close(ends[0]);
    waitpid(c, &status, 0);
    return status;
}

static void walk(const char *name, uint64_t seed, int steps, void (*begin)(void), void (*call)(void))
{
    int first = 0, progress;
    const char *from = getenv("WALK_FROM");
    if (from && sscanf(from, "%d %d", &first, &progress) == 2) walk_from(name, first, steps, progress, seed, begin, call);
    for (int k = 0; k <= MOST_RESTARTS; k++) {
        int reached = -1, status = walk_child(name, first, &reached);
        step = reached;
        if (WIFSIGNALED(status))
            SAY("signal %d", WTERMSIG(status));
        else if (WEXITSTATUS(status) != STICKY)
            break;
        if (reached < first) break;
        first = reached + 1;
    }
}

#define WALK(name, seed, steps, begin, call) \
    static void g_##name##_##seed(void) { walk(#name "_" #seed, seed, steps, begin, call); }
#define WALKED(name, seed) \
    { \
#name "_" #seed, g_##name##_##seed, 1 \
    }

#endif
