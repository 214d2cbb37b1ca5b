/* Entry points of NVIDIA's objects that are led to others, as faultline run does it: what cannot run here (the runtime,
 * as nvcc links it into programs) to ours, what makes machine code to what makes PTX. This is libfaultline-lead.so, which
 * is preloaded. Before the first instruction of an object each of these entry points becomes a jump. Nothing in the file
 * changes, and an object that has none of this is left alone. */
#ifndef FL_LEAD_LEAD_H
#define FL_LEAD_LEAD_H

#include "base/symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object {                    /* that has been loaded */
    const char *path;
    uintptr_t bias;                /* where it was put */
};

/* Entry points of an object that are to become jumps. */
struct jumps {
    struct jump_to {
        uintptr_t at;
        void *to;
    } *all;
    size_t n;
};
/* address: as linked. Code that does not begin where functions do stays as it is. */
void jumps_add(struct jumps *j, const struct object *o, uint64_t address, void *to);

/* What is led where: a function in a file for each. It adds what it finds, after a look at the object. */
typedef void lead(const struct object *o, struct jumps *j);
lead lead_runtime, lead_nvrtc, lead_nvjitlink, lead_cupti;

/* Where file would be if it lay beside this library. false: too long, or unknown. */
bool own_path(const char *file, char *path, size_t size);
bool same_file(const char *a, const char *b);
/* Whether the object is NVIDIA's library of this name (its beginning, such as "libcupti.so."). file: what a library of
 * ours is called that would also be, and is not. */
bool is_nvidias(const struct object *o, const char *name, const char *file);
/* Loads the libraries of ours to which entry points are led. */
void load_libraries(void);
/* One of them, if it is loaded; from dlopen, and to be closed again. NULL: it is not. */
void *loaded_library(const char *file);

/* The program itself, before it begins: does not return if another takes its place. */
void lead_program(char **argv, char **environment);
/* objects.c sees an object. No other thread runs its code yet. */
void lead_object(uintptr_t bias, const char *path);

#endif
