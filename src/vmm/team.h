/* What all holders of a multicast object agree on: which devices are its team,
 * and, if it can be shared, what each process has bound. An object that can be
 * shared keeps this in a file of its own, whose descriptor is what is exported;
 * nothing in it is trusted but its size. No locks: who writes claims a place first. */
#ifndef FL_VMM_TEAM_H
#define FL_VMM_TEAM_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

enum { TEAM_KEY = 16 };

struct team;

/* Something that is bound, and how to get its memory's descriptor from the process that bound it (fabric.h). */
struct team_binding {
    uint64_t id;           /* never used twice in an object */
    uint64_t offset, size; /* in the object */
    uint64_t memory_offset;
    int32_t device; /* struct device's physical, as everywhere here */
    unsigned char socket[TEAM_KEY], secret[TEAM_KEY];
};

/* A new one, with a file if prop names a kind of handle. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult team_create(const CUmulticastObjectProp *prop, struct team **out);
/* The team behind a descriptor, which stays the caller's. CUDA_ERROR_UNKNOWN: it is none. */
CUresult team_open(int fd, struct team **out);
void team_close(struct team *t);
/* Whether fd is a descriptor of t's file. */
bool team_is(const struct team *t, int fd);
/* A new descriptor, closed on exec. CUDA_ERROR_INVALID_VALUE: it cannot be shared. */
CUresult team_export(const struct team *t, int *fd);
bool team_shared(const struct team *t);
CUmulticastObjectProp team_prop(const struct team *t);

/* CUDA_ERROR_INVALID_VALUE: it has the device, or is complete. */
CUresult team_add(struct team *t, int device);
bool team_complete(const struct team *t);
/* The device's number among the members, or -1. */
int team_member(const struct team *t, int device);

/* Of a shared team. The place it got, or -1. */
int team_publish(struct team *t, struct team_binding *b);
void team_retract(struct team *t, int place);
/* Frees the places of processes that ended without retracting what they had published. Whether there were any. */
bool team_forget(struct team *t, bool (*answers)(const unsigned char *socket));
/* Changes when anything is published or retracted. */
uint64_t team_generation(const struct team *t);
/* Calls see for each binding there is. */
void team_each(const struct team *t, void (*see)(void *arg, const struct team_binding *b), void *arg);

#endif
