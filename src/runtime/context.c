/* Which device and context a thread's calls are for. The runtime has no contexts
 * of its own: it retains devices' primary contexts, when they are first needed,
 * and makes them current for threads that have none. */
#include "runtime/runtime.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MAX_DEVICES = 256, NO_DEVICE = -1 };

static CUresult driver;
static int devices;

static void driver_start(void)
{
    driver = cuInit(0);
    if (!driver) driver = cuDeviceGetCount(&devices);
    if (!driver && devices > MAX_DEVICES) devices = MAX_DEVICES;
}

cudaError_t runtime_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, driver_start);
    if (!driver && !devices) return cudaErrorNoDevice;
    return runtime_error(driver);
}

/* Retained once, until the device is reset. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primaries[MAX_DEVICES];
static atomic_uint resets;

static atomic_int first;                     /* of the devices that cudaSetValidDevices named */
static _Thread_local int chosen = NO_DEVICE; /* by cudaSetDevice */
static _Thread_local CUcontext given;        /* what was made current for this thread here */
static _Thread_local unsigned seen;          /* resets, when that was looked at last */

cudaError_t runtime_primary(int device, CUcontext *context)
{
    CUresult r = CUDA_SUCCESS;
    if (device < 0 || device >= devices) return cudaErrorInvalidDevice;
    pthread_mutex_lock(&lock);
    if (!primaries[device]) r = cuDevicePrimaryCtxRetain(&primaries[device], device);
    *context = primaries[device];
    pthread_mutex_unlock(&lock);
    return runtime_error(r);
}

static cudaError_t give(int device)
{
    cudaError_t r = runtime_primary(device, &given);
    return r ? r : runtime_error(cuCtxSetCurrent(given));
}

cudaError_t runtime_ready(void)
{
    cudaError_t r = runtime_init();
    CUcontext current = NULL;
    if (r || (r = runtime_error(cuCtxGetCurrent(&current)))) return r;
    unsigned now = atomic_load_explicit(&resets, memory_order_acquire);
    if (current && (current != given || now == seen)) return cudaSuccess;
    r = give(runtime_device());
    if (!r) seen = now;
    return r;
}

int runtime_device(void)
{
    CUcontext current;
    CUdevice device;
    if (!cuCtxGetCurrent(&current) && current && !cuCtxGetDevice(&device)) return device;
    return chosen == NO_DEVICE ? atomic_load(&first) : chosen;
}

/* All devices work, so that the first one of the list is the one. */
cudaError_t CUDARTAPI cudaSetValidDevices(int *device_arr, int len)
{
    cudaError_t r = runtime_init();
    if (r) return r;
    if (len < 0 || len > devices || (len && !device_arr)) return cudaErrorInvalidValue;
    for (int k = 0; k < len; k++)
        if (device_arr[k] < 0 || device_arr[k] >= devices) return cudaErrorInvalidDevice;
    atomic_store(&first, len ? *device_arr : 0);
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
    *device = runtime_device();
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaDeviceReset(void)
{
    cudaError_t r = runtime_init();
    if (r) return r;
    int device = runtime_device();
    pthread_mutex_lock(&lock);
    r = runtime_error(cuDevicePrimaryCtxReset(device));
    if (!r && primaries[device]) {
        primaries[device] = NULL;
        atomic_fetch_add_explicit(&resets, 1, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return r;
}
