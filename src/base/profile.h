/* The simulated machine: what a device answers about itself, and how many
 * there are. An INI file (profiles/); FAULTLINE_PROFILE names another one,
 * FAULTLINE_DEVICES, CUDA_VISIBLE_DEVICES and FAULTLINE_VRAM override single values. */
#ifndef FL_BASE_PROFILE_H
#define FL_BASE_PROFILE_H

#include "base/visible.h"

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

enum { PROFILE_ATTRIBUTES = 160, PROFILE_P2P = 6, PROFILE_LIMITS = 16 };

struct profile {
    char name[128];
    uint64_t memory;               /* bytes of device memory: asked for, and what this machine can back */
    uint64_t host_memory;          /* bytes that this machine has for everything */
    int attribute[PROFILE_ATTRIBUTES];
    bool has_attribute[PROFILE_ATTRIBUTES];
    int p2p[PROFILE_P2P];          /* by CUdevice_P2PAttribute */
    uint64_t limit[PROFILE_LIMITS]; /* by CUlimit */
    int installed, devices;         /* devices of the machine; of these the process sees so many: */
    int order[MAX_DEVICES];        /* which of the machine's, by ordinal. Behind them the hidden ones */
    bool wrong;                    /* a line of the file was not understood, and that was said */
};

/* Reads profile and environment. A mistake in either: a message, CUDA_ERROR_INVALID_VALUE. CUDA_ERROR_NO_DEVICE: none
 * is visible. */
CUresult profile_load(struct profile *p);
static inline int profile_attribute(const struct profile *p, CUdevice_attribute a) { return p->attribute[a]; }

#endif
