/* What a program does to mappings of managed memory by itself. On a GPU's machine they are mappings of its driver, which
 * is told when they are cut or go, and lets nobody make them longer (observed on H200). Here the calls are led, so those
 * made past the C library's functions are not seen. */
#ifndef FL_ORDINARY_MAPPINGS_H
#define FL_ORDINARY_MAPPINGS_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/* Called without locks, for whole pages. */
struct mappings_client {
    /* All of [va, end) is managed memory that the program has left where it is; without `all`: some of it. */
    bool (*holds)(uint64_t va, uint64_t end, bool all);
    /* perform unmaps it, or maps something else there, or fails, and then nothing has changed. CUDA_ERROR_OUT_OF_MEMORY:
     * it was not called. */
    CUresult (*goes)(uint64_t va, uint64_t end, bool (*perform)(void *arg), void *arg);
    /* What is said of it to the system, in the bits of mask, is value from now on; at first they are all 0. Where that
     * differs mappings part, for ever. */
    void (*parts)(uint64_t va, uint64_t end, unsigned mask, unsigned value);
};
/* The program's calls on addresses of [base, end) are seen from now on; again, with the same: those of libraries that
 * were loaded since, too. Without locks. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult mappings_lead(const struct mappings_client *c, uint64_t base, uint64_t end);
/* The same of those that move other memory, which may be adopted. */
void mappings_lead_moves(void);
/* madvise is led to given.c, which asks here first. True: it is answered, with *result and errno. */
bool mappings_refuse(uint64_t va, uint64_t size, int advice, int *result);
void mappings_advised(uint64_t va, uint64_t size, int advice);
/* In a forked child nothing of [va, end) is managed memory any more; what the program has put there is its own. */
void mappings_end_in_child(uint64_t va, uint64_t end);

#endif
