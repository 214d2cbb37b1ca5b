/* What the entry points of Unified Memory share: what a call speaks of. */
#ifndef FL_API_UM_H
#define FL_API_UM_H

#include "context/context.h"
#include "space/space.h"

/* A copy of the managed allocation that holds all of a range. A range's end may wrap around at 2^64, as on an H200: it is
 * then what is left of the page of p, or no page: size 0, from the page of p on. */
CUresult um_managed(CUdeviceptr *p, size_t *size, struct allocation *a);
/* Ordinary memory of the host's that kernels reach. */
bool um_ordinary(CUdeviceptr p, size_t size);
/* Managed memory of d may be touched by the host at any time. */
bool um_concurrent(const struct device *d);
/* What l means to src/uvm. */
CUresult um_resolve(CUmemLocation l, CUmemLocation *out);
/* The first ABI's way to say where. */
CUmemLocation um_from_device(CUdevice d);

#endif
