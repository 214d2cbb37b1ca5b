/* Which devices the machine has, from the first nvmlInit to the last nvmlShutdown,
 * and how much of their memory this process uses. */
#include "nvml/devices.h"
#include "base/cancel.h"

#include <faultline.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of who begins and ends; others may ask in a forked child */
static atomic_uint users;
static struct profile profile;
static bool loaded;
static struct nvmlDevice_st devices[MAX_DEVICES];

nvmlReturn_t nvmlInit_v2(void)
{
    nvmlReturn_t result = NVML_SUCCESS;
    const int cancel = cancel_defer();
    pthread_mutex_lock(&lock);
    if (!loaded) {
        CUresult r = profile_load(&profile);
        loaded = !r || r == CUDA_ERROR_NO_DEVICE; /* none is visible to CUDA, but here they are */
        for (unsigned int k = 0; k < MAX_DEVICES; k++) devices[k].index = k;
    }
    if (loaded)
        users++;
    else
        result = NVML_ERROR_UNKNOWN;
    pthread_mutex_unlock(&lock);
    cancel_restore(cancel);
    return result;
}

nvmlReturn_t nvmlInit(void) { return nvmlInit_v2(); }

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    enum { NO_GPUS = 1, NO_ATTACH = 2 };
    return flags & ~(unsigned int)(NO_GPUS | NO_ATTACH) ? NVML_ERROR_INVALID_ARGUMENT : nvmlInit_v2();
}

nvmlReturn_t nvmlShutdown(void)
{
    pthread_mutex_lock(&lock);
    bool were = users > 0;
    users -= were;
    pthread_mutex_unlock(&lock);
    return were ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

const struct profile *devices_known(void) { return users ? &profile : NULL; }

nvmlReturn_t devices_at(unsigned int index, nvmlDevice_t *out)
{
    const struct profile *p = devices_known();
    if (!p) return NVML_ERROR_UNINITIALIZED;
    if (!out || index >= (unsigned int)p->installed) return NVML_ERROR_INVALID_ARGUMENT;
    *out = &devices[index];
    return NVML_SUCCESS;
}

nvmlReturn_t devices_check(nvmlDevice_t device, const struct profile **out)
{
    if (!(*out = devices_known())) return NVML_ERROR_UNINITIALIZED;
    for (int k = 0; k < (*out)->installed; k++)
        if (device == &devices[k]) return NVML_SUCCESS;
    return NVML_ERROR_INVALID_ARGUMENT;
}

void devices_memory(nvmlDevice_t device, uint64_t *total, uint64_t *used)
{
    *total = profile.memory;
    *used = 0;
    void *cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!cuda) return;
    int (*ask)(int, uint64_t *, uint64_t *);
    *(void **)&ask = dlsym(cuda, "faultline_device_memory");
    uint64_t bytes[2];
    if (ask && !ask((int)device->index, &bytes[0], &bytes[1])) *total = bytes[0], *used = bytes[1];
    dlclose(cuda);
}
