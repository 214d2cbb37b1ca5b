/* See free_signal.h. */
#include "ordinary/free_signal.h"

#include <signal.h>
#include <stddef.h>

int free_signal(int *chosen, void (*handler)(int))
{
    struct sigaction a = { .sa_handler = handler, .sa_flags = SA_RESTART }, old;
    if (*chosen && !sigaction(*chosen, NULL, &old) && old.sa_handler == handler) return *chosen;
    for (*chosen = SIGRTMAX - 3; *chosen > SIGRTMIN + 3; --*chosen)
        if (!sigaction(*chosen, NULL, &old) && old.sa_handler == SIG_DFL && !sigaction(*chosen, &a, NULL))
            return *chosen;
    return *chosen = 0;
}
