/* See thread.h. */
#include "base/thread.h"
#include "base/log.h"
#include "base/quiet.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

CUresult thread_start(void *(*run)(void *), void *argument, size_t stack)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes)) return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    quiet_begin();
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
    quiet_end();
    pthread_attr_destroy(&attributes);
    if (error) fl_log_once(FL_LOG_ERROR, "no thread can be started: %s%s", strerror(error), FEW_TASKS(error));
    return error ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
