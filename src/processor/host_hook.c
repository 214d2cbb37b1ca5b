/* Keeps SIGSEGV ours where faults come as signals: calls of sigaction and
 * signal by the program and its libraries are led here, and what blocks signals.
 * What they install is remembered, and called for signals that are not ours
 * (host_signals.c). */
#include "processor/host_hook.h"
#include "base/led.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

typedef int sigaction_fn(int, const struct sigaction *, struct sigaction *);
typedef sighandler_t signal_fn(int, sighandler_t);
typedef int mask_fn(int, const sigset_t *, sigset_t *);

static sigaction_fn *real_sigaction;
static signal_fn *real_signal;
static mask_fn *real_pthread_sigmask, *real_sigprocmask;
static _Thread_local bool blocked __attribute__((tls_model("initial-exec")));
static void (*ours)(int, siginfo_t *, void *);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The program's actions: written under the lock to a place that no reader looks at, then shown. */
enum { PLACES = 16 };
static struct sigaction actions[PLACES];
static _Atomic unsigned shown;
static _Atomic unsigned used_up; /* the number, plus 1, of one that was for one signal (SA_RESETHAND) */

static struct sigaction default_action(void) { return (struct sigaction){ .sa_handler = SIG_DFL }; }

static struct sigaction current_action(void)
{
    unsigned n = atomic_load(&shown);
    return atomic_load(&used_up) == n + 1 ? default_action() : actions[n % PLACES];
}

struct sigaction hook_take(void)
{
    unsigned n = atomic_load(&shown);
    struct sigaction a = actions[n % PLACES];
    if (a.sa_flags & (int)SA_RESETHAND) return atomic_exchange(&used_up, n + 1) == n + 1 ? default_action() : a;
    return a;
}

bool hook_blocked(void) { return blocked; }

static void show(struct sigaction a)
{
    unsigned next = atomic_load(&shown) + 1;
    actions[next % PLACES] = a;
    atomic_store(&shown, next);
}

/* While a handler of another signal runs SIGSEGV is not blocked either. */
static int set_other_action(int number, const struct sigaction *new, struct sigaction *old)
{
    struct sigaction a;
    if (new) a = *new, sigdelset(&a.sa_mask, SIGSEGV);
    return real_sigaction(number, new ? &a : NULL, old);
}

static int hooked_sigaction(int number, const struct sigaction *new, struct sigaction *old)
{
    if (number != SIGSEGV) return set_other_action(number, new, old);
    pthread_mutex_lock(&lock);
    struct sigaction before = current_action();
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

static int set_mask(mask_fn *real, int how, const sigset_t *new, sigset_t *old)
{
    const bool before = blocked, names = new && sigismember(new, SIGSEGV) > 0;
    sigset_t others;
    if (new) others = *new, sigdelset(&others, SIGSEGV);
    int r = real(how, new ? &others : NULL, old);
    if (r) return r;
    if (names || (new && how == SIG_SETMASK)) blocked = names && how != SIG_UNBLOCK;
    if (old && before) sigaddset(old, SIGSEGV);
    return r;
}

static int hooked_pthread_sigmask(int how, const sigset_t *new, sigset_t *old)
{
    return set_mask(real_pthread_sigmask, how, new, old);
}

static int hooked_sigprocmask(int how, const sigset_t *new, sigset_t *old)
{
    return set_mask(real_sigprocmask, how, new, old);
}

/* Who blocked it before it was ours. */
static void unblock(void)
{
    sigset_t segv, before;
    sigemptyset(&segv);
    sigaddset(&segv, SIGSEGV);
    if (!real_pthread_sigmask(SIG_UNBLOCK, &segv, &before) && sigismember(&before, SIGSEGV) > 0) blocked = true;
}

void hook_look_again(void)
{
    unblock();
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
                                       { "pthread_sigmask", hooked_pthread_sigmask, false },
                                       { "sigprocmask", hooked_sigprocmask, false },
                                       { 0 } };
    led_lead(list);
}

/* Another thread may have been about to set an action. */
static void in_child(void) { pthread_mutex_init(&lock, NULL); }

void hook_install(void (*handler)(int, siginfo_t *, void *))
{
    real_sigaction = sigaction;
    real_signal = signal;
    real_pthread_sigmask = pthread_sigmask;
    real_sigprocmask = sigprocmask;
    ours = handler;
    pthread_atfork(NULL, NULL, in_child);
    hook_look_again();
    hook_objects();
}

void hook_default(void)
{
    const struct sigaction none = default_action();
    real_sigaction(SIGSEGV, &none, NULL);
}
