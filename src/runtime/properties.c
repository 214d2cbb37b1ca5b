/* All that is known of a device in one structure, made from the driver's
 * attributes, and the choice of a device by it. */
#include "runtime/properties.h"

#include <string.h>

#define OWN(member, name) PROPERTY(struct cudaDeviceProp, member, name)

static const struct property members[] = {
    PROPERTIES(PROPERTY, struct cudaDeviceProp)
    OWN(deviceNumaConfig, NUMA_CONFIG),
    OWN(deviceNumaId, NUMA_ID),
    OWN(mpsEnabled, MPS_ENABLED),
    OWN(hostNumaId, HOST_NUMA_ID),
    OWN(gpuPciDeviceID, GPU_PCI_DEVICE_ID),
    OWN(gpuPciSubsystemID, GPU_PCI_SUBSYSTEM_ID),
    OWN(hostNumaMultinodeIpcSupported, HOST_NUMA_MULTINODE_IPC_SUPPORTED),
};

static const struct properties thirteen = { offsetof(struct cudaDeviceProp, reserved), members,
                                            sizeof members / sizeof *members };

/* A wish, or what a device has. */
static size_t value_of(const void *prop, const struct property *p)
{
    const char *at = (const char *)prop + p->at;
    return p->size == sizeof(size_t) ? *(const size_t *)at : *(const unsigned *)at;
}

static CUresult fill_in(void *prop, const struct property *p, int device)
{
    int value;
    CUresult r = cuDeviceGetAttribute(&value, p->attribute, device);
    if (r) return r;
    char *at = (char *)prop + p->at;
    if (p->size == sizeof(size_t))
        *(size_t *)at = (size_t)value;
    else
        *(int *)at = value;
    return CUDA_SUCCESS;
}

/* The largest of the two structures, so that either begins with what is no attribute. */
union any {
    struct cudaDeviceProp prop;
    char bytes[2048];
};

static CUresult look(const struct properties *of, union any *all, int device)
{
    memset(all, 0, sizeof *all);
    CUresult r = cuDeviceGetName(all->prop.name, sizeof all->prop.name, device);
    if (!r) r = cuDeviceGetUuid_v2((CUuuid *)&all->prop.uuid, device);
    if (!r) r = cuDeviceTotalMem_v2(&all->prop.totalGlobalMem, device);
    for (int k = 0; k < of->count && !r; k++) r = fill_in(all, &of->all[k], device);
    return r;
}

cudaError_t runtime_properties(const struct properties *of, void *prop, int device)
{
    union any all;
    cudaError_t e = runtime_init();
    if (e) return e;
    if (!prop) return cudaErrorInvalidValue;
    CUresult r = look(of, &all, device);
    if (!r) memcpy(prop, &all, of->size);
    return runtime_error(r);
}

cudaError_t CUDARTAPI cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    return runtime_properties(&thirteen, prop, device);
}

/* ---- Choosing ---- */

struct capability {
    size_t major, minor;
};

/* How many of the wishes a device fulfils; those that are 0 are none. */
static int fulfils(const struct properties *of, const union any *has, const void *wish)
{
    const struct cudaDeviceProp *wanted = wish;
    struct capability a = { 0 }, b = { 0 };
    int points = 0;
    for (int k = 0; k < of->count; k++) {
        const struct property *p = &of->all[k];
        size_t x = value_of(has, p), y = value_of(wish, p);
        if (p->attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
            a.major = x, b.major = y;
        else if (p->attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
            a.minor = x, b.minor = y;
        else
            points += y && x >= y;
    }
    if (b.major || b.minor) points += a.major > b.major || (a.major == b.major && a.minor >= b.minor);
    points += wanted->totalGlobalMem && has->prop.totalGlobalMem >= wanted->totalGlobalMem;
    points += *wanted->name && !strncmp(has->prop.name, wanted->name, sizeof has->prop.name);
    return points;
}

cudaError_t runtime_choose_device(const struct properties *of, int *device, const void *wish)
{
    int count, most = -1;
    cudaError_t r = runtime_init();
    if (r) return r;
    if (!device || !wish) return cudaErrorInvalidValue;
    r = runtime_error(cuDeviceGetCount(&count));
    for (int d = 0; d < count && !r; d++) {
        union any has;
        if ((r = runtime_error(look(of, &has, d)))) break;
        int points = fulfils(of, &has, wish);
        if (points <= most) continue;
        most = points;
        *device = d;
    }
    return r;
}

cudaError_t CUDARTAPI cudaChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
    return runtime_choose_device(&thirteen, device, prop);
}
