/* What is known of replaced pages beside that they have been private memory. */
#ifndef FL_ORDINARY_ORIGINS_H
#define FL_ORDINARY_ORIGINS_H

#include "ordinary/registration.h"

struct origin {
    uint64_t va, end;              /* where they were replaced */
    struct file *file;             /* that the private mapping showed; NULL: none, and the system tells what is given back of them */
    int fd;                        /* of it */
    uint64_t offset;               /* of va in it */
};

/* Says so of pages, until origins_forget; keeps the file. Under registrations_lock. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult origins_add(struct origin o);
void origins_forget(uint64_t va, uint64_t end);
/* The part of [va, end) at its beginning of which the same is known: *o, cut to it. False: nothing is. */
bool origins_at(uint64_t va, uint64_t end, struct origin *o);
/* The bytes of [va, va+size), replaced pages, become those of the file again. False: none is known. */
bool origins_read(uint64_t va, uint64_t size);

#endif
