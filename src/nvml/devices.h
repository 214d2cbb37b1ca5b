/* The machine as NVML's functions see it: its devices, by the profile alone, so that
 * a program may look at them and fork before it calls cuInit. Only how much memory is
 * used is asked of libcuda.so.1, if the program has that. */
#ifndef FL_NVML_DEVICES_H
#define FL_NVML_DEVICES_H

#include "base/profile.h"
#include "nvml/nvml.h"

#include <stdint.h>

struct nvmlDevice_st {
    unsigned int index;
};

/* NULL unless the library is initialised. Valid until the program ends. */
const struct profile *devices_known(void);

/* The library is initialised, and the handle one of its own: *profile. */
nvmlReturn_t devices_check(nvmlDevice_t device, const struct profile **profile);
nvmlReturn_t devices_at(unsigned int index, nvmlDevice_t *out);

/* Bytes of the device's memory, and how many of them this process uses. */
void devices_memory(nvmlDevice_t device, uint64_t *total, uint64_t *used);

static inline unsigned int devices_bus(const struct profile *p, nvmlDevice_t device)
{
    return (unsigned int)profile_attribute(p, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) + device->index;
}

#endif
