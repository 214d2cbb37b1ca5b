/* Keeps SIGSEGV ours where faults come as signals: calls of sigaction and
 * signal by the program and its libraries are led here. What they install is
 * remembered, and called for signals that are not ours (host_signals.c). */
#include "processor/host_hook.h"
#include "base/led.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

typedef int sigaction_fn(int, const struct sigaction *, struct sigaction *);
typedef sighandler_t signal_fn(int, sighandler_t);

static sigaction_fn *real_sigaction;
static signal_fn *real_signal;
static void (*ours)(int, siginfo_t *, void *);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The program's actions: written under the lock to a place that no reader looks at, then shown. */
enum { PLACES = 16 };
static struct sigaction actions[PLACES];
static _Atomic unsigned shown;

struct sigaction hook_action(void) { return actions[atomic_load(&shown) % PLACES]; }

static void show(struct sigaction a)
{
    unsigned next = atomic_load(&shown) + 1;
    actions[next % PLACES] = a;
    atomic_store(&shown, next);
}

static int hooked_sigaction(int number, const struct sigaction *new, struct sigaction *old)
{
    if (number != SIGSEGV) return real_sigaction(number, new, old);
    pthread_mutex_lock(&lock);
    struct sigaction before = hook_action();
    if (new) show(*new);
    pthread_mutex_unlock(&lock);
    if (old) *old = before;
    return 0;
}

static sighandler_t hooked_signal(int number, sighandler_t handler)
{
    if (number != SIGSEGV) return real_signal(number, handler);
    struct sigaction a = { .sa_handler = handler, .sa_flags = SA_RESTART }, old;
    hooked_sigaction(number, &a, &old);
    return old.sa_handler;
}

void hook_look_again(void)
{
    struct sigaction a = { .sa_sigaction = ours, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART }, now;
    if (pthread_mutex_trylock(&lock)) return;
    /* somebody got past us: as if it had called us */
    if (!real_sigaction(SIGSEGV, NULL, &now) && now.sa_sigaction != ours) {
        show(now);
        real_sigaction(SIGSEGV, &a, NULL);
    }
    pthread_mutex_unlock(&lock);
}

void hook_objects(void)
{
    static const struct led list[] = { { "sigaction", hooked_sigaction, true },
                                       { "signal", hooked_signal, true },
                                       { 0 } };
    led_lead(list);
}

/* Another thread may have been about to set an action. */
static void in_child(void) { pthread_mutex_init(&lock, NULL); }

void hook_install(void (*handler)(int, siginfo_t *, void *))
{
    real_sigaction = sigaction;
    real_signal = signal;
    ours = handler;
    pthread_atfork(NULL, NULL, in_child);
    hook_look_again();
    hook_objects();
}

void hook_default(void)
{
    struct sigaction none = { .sa_handler = SIG_DFL };
    real_sigaction(SIGSEGV, &none, NULL);
}
