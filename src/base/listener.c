/* See listener.h. */
#include "base/listener.h"
#include "base/cancel.h"
#include "base/thread.h"

#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t forks = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool watching;
static struct listener *all;

void listener_hold_forks(void) { pthread_mutex_lock(&forks); }
void listener_release_forks(void) { pthread_mutex_unlock(&forks); }

static void in_child(void)
{
    const int cancel = cancel_defer();
    for (struct listener *l = all; l; l = l->next) {
        if (l->fd >= 0) close(l->fd);
        l->fd = -1;
        if (l->in_child) l->in_child();
    }
    listener_release_forks();
    cancel_restore(cancel);
}

static void watch(void) { watching = !pthread_atfork(listener_hold_forks, listener_release_forks, in_child); }

CUresult listener_start(struct listener *l)
{
    if (l->fd >= 0) return CUDA_SUCCESS;
    pthread_once(&once, watch);
    if (!watching) return CUDA_ERROR_OUT_OF_MEMORY;
    listener_hold_forks();
    if (!l->known) {
        l->known = true;
        l->next = all;
        all = l;
    }
    l->fd = message_listen(l->prefix, l->name, l->flags);
    if (l->fd >= 0 && thread_start(l->serve, NULL, THREAD_STACK)) {
        close(l->fd);
        l->fd = -1;
    }
    listener_release_forks();
    return l->fd >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}
