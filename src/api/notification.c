/* Asynchronous notifications. The only kind that there is tells that a process
 * is over its budget of device memory; that budget is Windows', so on Linux a
 * callback can be registered (observed on H200), and is never called. */
#include "context/context.h"

#include <stdlib.h>

struct registration { /* CUasyncCallbackEntry_st */
    const struct device *device;
    struct registration *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct registration *registrations;

CUresult CUDAAPI cuDeviceRegisterAsyncNotification(CUdevice device, CUasyncCallback callbackFunc, void *userData,
                                                   CUasyncCallbackHandle *callback)
{
    struct device *d;
    CUresult r = device_get(device, &d);
    (void)userData;
    if (r) return r;
    if (!callbackFunc || !callback) return CUDA_ERROR_INVALID_VALUE;
    struct registration *g = malloc(sizeof *g);
    if (!g) return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    *g = (struct registration){ d, registrations };
    registrations = g;
    pthread_mutex_unlock(&lock);
    *callback = (CUasyncCallbackHandle)g;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceUnregisterAsyncNotification(CUdevice device, CUasyncCallbackHandle callback)
{
    struct device *d;
    CUresult r = device_get(device, &d);
    if (r) return r;
    pthread_mutex_lock(&lock);
    struct registration **at = &registrations;
    while (*at && (*at != (struct registration *)callback || (*at)->device != d)) at = &(*at)->next;
    struct registration *found = *at;
    if (found) *at = found->next;
    pthread_mutex_unlock(&lock);
    free(found);
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
