/* See thread.h. */
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

void signals_hold(sigset_t *old)
{
    sigset_t most;
    sigfillset(&most);
    sigdelset(&most, SIGSEGV);
    sigdelset(&most, SIGBUS);
    sigdelset(&most, SIGILL);
    sigdelset(&most, SIGFPE);
    sigdelset(&most, SIGTRAP);
    pthread_sigmask(SIG_BLOCK, &most, old);
}

void signals_release(const sigset_t *old) { pthread_sigmask(SIG_SETMASK, old, NULL); }

CUresult thread_start(void *(*run)(void *), void *argument, size_t stack)
{
    sigset_t old;
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes)) return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    signals_hold(&old);
    /* by default a stack is as large as the main thread's may become: too large where that is nearly unlimited */
    if (stack) pthread_attr_setstacksize(&attributes, stack);
    int error = pthread_create(&thread, &attributes, run, argument);
    if (error == EINVAL && stack) {
        /* thread-local variables of the application leave no room in it */
        pthread_attr_t defaults;
        pthread_getattr_default_np(&defaults);
        pthread_attr_setdetachstate(&defaults, PTHREAD_CREATE_DETACHED);
        error = pthread_create(&thread, &defaults, run, argument);
        pthread_attr_destroy(&defaults);
    }
    signals_release(&old);
    pthread_attr_destroy(&attributes);
    return error ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
