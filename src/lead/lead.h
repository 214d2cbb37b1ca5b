/* Entry points of NVIDIA's objects that are led to others, as faultline run does it: what cannot run here (the runtime,
 * as nvcc links it into programs) to ours, what makes machine code to what makes PTX. Part of libcudart.so.13, which is
 * preloaded. Before the first instruction of an object each of these entry points becomes a jump. Nothing in the file
 * changes, and an object that has none of this is left alone. */
#ifndef FL_LEAD_LEAD_H
#define FL_LEAD_LEAD_H

#include "base/symbols.h"

#include <stdbool.h>
#include <stdint.h>

struct object {                    /* that has been loaded */
    const char *path;
    uintptr_t bias;                /* where it was put */
    void *ours;                    /* of a library of ours, from dlopen: dlclose is the mechanism's. NULL: none is needed */
    unsigned number;               /* among NVRTCs (nvrtc.c) */
};

/* What is led where: a file for each. */
struct lead {
    /* Calls visit for all functions of an object that may be entry points. */
    void (*functions)(const char *path, symbols_visitor *visit, void *data);
    bool (*concerns)(struct object *o);
    /* NULL: this function stays as it is. Asked more than once. */
    void *(*target)(const struct object *o, const char *name);
};

extern const struct lead lead_runtime, lead_nvrtc, lead_nvjitlink, lead_cupti;

/* Whether the object is NVIDIA's library of this name (its beginning, such as "libcupti.so."). file: what a library of
 * ours is called that would also be, and is not. */
bool is_nvidias(const struct object *o, const char *name, const char *file);
/* A library of ours, if it is loaded; from dlopen. */
void *loaded_library(const char *file);

/* objects.c sees an object. No other thread runs its code yet. */
void lead_object(uintptr_t bias, const char *path);

#endif
