/* See signal_stack.h. */
#include "ordinary/signal_stack.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>

enum { SIZE = 64 << 10, GUARD = 4096 };

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool made;

static void take_back(void *stack)
{
    stack_t now, none = { .ss_flags = SS_DISABLE };
    if (!sigaltstack(NULL, &now) && now.ss_sp == (char *)stack + GUARD) sigaltstack(&none, NULL);
    munmap(stack, SIZE + 2 * GUARD);
}

static void make_key(void) { made = !pthread_key_create(&key, take_back); }

void signal_stack_give(void)
{
    static _Thread_local bool asked;
    stack_t s;
    if (asked) return;
    asked = true;
    if (sigaltstack(NULL, &s) || !(s.ss_flags & SS_DISABLE)) return;
    pthread_once(&once, make_key);
    if (!made) return;
    /* guards on both sides: no other memory is one mapping with it, and replaced with it */
    char *p = mmap(NULL, SIZE + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return;
    s = (stack_t){ .ss_sp = p + GUARD, .ss_size = SIZE };
    if (mprotect(p + GUARD, SIZE, PROT_READ | PROT_WRITE) || pthread_setspecific(key, p)) {
        munmap(p, SIZE + 2 * GUARD);
        return;
    }
    sigaltstack(&s, NULL);
}
