/* Which device and context a thread's calls are for. The runtime has no contexts
 * of its own: it retains devices' primary contexts, when they are first needed,
 * and makes them current for threads that have none. */
#include "runtime/runtime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { MAX_DEVICES = 256, NO_DEVICE = -1 };

static CUresult driver;
static int devices;
static atomic_bool starting;         /* or started */
static _Atomic(cudaError_t) is_over; /* what all calls answer from then on */

/* What is called later than this, by destructors and what was registered before the runtime was first used, is too late:
 * the driver may have ended before. */
static void end(void) { atomic_store(&is_over, cudaErrorCudartUnloading); }

/* The driver does nothing in a child of a process that has it, and the child has no threads that would give back their
 * locks. */
static void in_child(void)
{
    if (atomic_load(&starting)) atomic_store(&is_over, cudaErrorInitializationError);
}

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

static void driver_start(void)
{
    atomic_store(&starting, true);
    driver = cuInit(0);
    if (!driver) driver = cuDeviceGetCount(&devices);
    if (!driver && devices > MAX_DEVICES) devices = MAX_DEVICES;
    if (driver) atomic_store(&starting, false);
    atexit(end);
}

static cudaError_t start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, driver_start);
    if (!driver && !devices) return cudaErrorNoDevice;
    return runtime_error(driver);
}

bool runtime_over(void) { return atomic_load_explicit(&is_over, memory_order_relaxed); }

cudaError_t runtime_init(void)
{
    cudaError_t r = atomic_load_explicit(&is_over, memory_order_relaxed);
    return r ? r : start();
}

/* Retained once, until the device is reset, and again if the program took that back with the driver's functions. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct primary {
    _Atomic(CUcontext) context; /* stays the same; NULL: not known yet */
    bool retained;
} primaries[MAX_DEVICES];

static _Thread_local int first;                /* of the devices that this thread named by cudaSetValidDevices */
static _Thread_local int chosen = NO_DEVICE;   /* by cudaSetDevice */
static _Thread_local unsigned long long known; /* the context that was good when this was looked at last; 0: none */

/* There the driver permits nothing. */
static bool in_host_function(void)
{
    CUdevice device;
    return cuCtxGetDevice(&device) == CUDA_ERROR_NOT_PERMITTED;
}

static bool active(int device)
{
    unsigned flags;
    int yes;
    return !cuDevicePrimaryCtxGetState(device, &flags, &yes) && yes;
}

/* After a kernel's fault the driver makes no context any more. */
static CUresult unavailable(CUresult r)
{
    const bool fault = r == CUDA_ERROR_ILLEGAL_ADDRESS || r == CUDA_ERROR_ASSERT ||
                       (r >= CUDA_ERROR_HARDWARE_STACK_ERROR && r <= CUDA_ERROR_LAUNCH_FAILED);
    return fault ? CUDA_ERROR_DEVICE_UNAVAILABLE : r;
}

cudaError_t runtime_primary(int device, CUcontext *context)
{
    CUresult r = CUDA_SUCCESS;
    if (device < 0 || device >= devices) return cudaErrorInvalidDevice;
    if (in_host_function()) return cudaErrorNotPermitted;
    struct primary *p = &primaries[device];
    pthread_mutex_lock(&lock);
    *context = atomic_load(&p->context);
    if (!p->retained || !active(device)) r = unavailable(cuDevicePrimaryCtxRetain(context, device));
    if (!r) {
        p->retained = true;
        atomic_store(&p->context, *context);
    }
    pthread_mutex_unlock(&lock);
    return runtime_error(r);
}

bool runtime_is_primary(CUcontext context, int device)
{
    CUcontext primary;
    if (!active(device) || cuDevicePrimaryCtxRetain(&primary, device)) return false;
    cuDevicePrimaryCtxRelease(device);
    return primary == context;
}

static cudaError_t give(int device)
{
    CUcontext primary;
    cudaError_t r = runtime_primary(device, &primary);
    return r ? r : runtime_error(cuCtxSetCurrent(primary));
}

/* The thread's context is one that was not seen before, or that does not work. The program made it current; where it is
 * a primary one, the program's release or reset of it is not to be the end of what the runtime has there. */
static cudaError_t adopt(CUresult found)
{
    CUcontext current, primary;
    CUdevice device;
    CUresult r;
    if (found == CUDA_ERROR_INVALID_CONTEXT) return give(runtime_device());
    if ((r = cuCtxGetCurrent(&current)) || (r = cuCtxGetDevice(&device))) return runtime_error(r);
    if (found == CUDA_ERROR_CONTEXT_IS_DESTROYED)
        return current == atomic_load(&primaries[device].context) ? runtime_primary(device, &primary)
                                                                  : cudaErrorContextIsDestroyed;
    return runtime_is_primary(current, device) ? runtime_primary(device, &primary) : cudaSuccess;
}

cudaError_t runtime_ready(void)
{
    unsigned long long id;
    CUcontext current = NULL;
    CUresult r;
    cudaError_t e = runtime_init();
    if (e) return e;
    if (!known && (r = cuCtxGetCurrent(&current))) return runtime_error(r);
    r = known || current ? cuCtxGetId(NULL, &id) : CUDA_ERROR_INVALID_CONTEXT;
    if (!r && id == known) return cudaSuccess;
    e = adopt(r);
    if (!e && !cuCtxGetId(NULL, &id)) known = id;
    return e;
}

int runtime_device(void)
{
    CUcontext current;
    CUdevice device;
    if (!cuCtxGetCurrent(&current) && current && !cuCtxGetDevice(&device)) return device;
    return chosen == NO_DEVICE ? first : chosen;
}

/* All devices work, so that the first one of the list is the one. */
cudaError_t CUDARTAPI cudaSetValidDevices(int *device_arr, int len)
{
    cudaError_t r = runtime_init();
    if (r) return r;
    if (len < 0 || len > devices || (len && !device_arr)) return cudaErrorInvalidValue;
    for (int k = 0; k < len; k++)
        if (device_arr[k] < 0 || device_arr[k] >= devices) return cudaErrorInvalidDevice;
    first = len ? *device_arr : 0;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaSetDevice(int device)
{
    cudaError_t r = runtime_init();
    if (r) return r;
    if (device < 0 || device >= devices) return cudaErrorInvalidDevice;
    if ((r = give(device))) return r;
    chosen = device;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGetDevice(int *device)
{
    cudaError_t r = runtime_init();
    if (r) return r;
    if (!device) return cudaErrorInvalidValue;
    if (in_host_function()) return cudaErrorNotPermitted;
    *device = runtime_device();
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaDeviceReset(void)
{
    cudaError_t r = runtime_init();
    if (r) return r;
    if (in_host_function()) return cudaErrorNotPermitted;
    int device = runtime_device();
    struct primary *p = &primaries[device];
    /* without the lock: what is waited for may be another thread's doing */
    if ((r = runtime_error(cuDevicePrimaryCtxReset(device)))) return r;
    pthread_mutex_lock(&lock);
    if (p->retained) cuDevicePrimaryCtxRelease(device);
    p->retained = p->retained && active(device); /* again, for another thread */
    pthread_mutex_unlock(&lock);
    return r;
}
