/* Pages for those who have waited for them in vain: the thread behind the one that serves faults in ordinary memory
 * (ordinary.c). */
#ifndef FL_PROCESSOR_RESCUE_H
#define FL_PROCESSOR_RESCUE_H

#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What the thread that serves says of itself. */
struct serving {
    _Atomic bool busy;       /* there is something to serve */
    _Atomic uint64_t page;   /* whose fault that is; 0: none, or not known yet */
    _Atomic uint32_t served; /* so far */
    _Atomic int stat;        /* the system's file of how the thread does; -1: none */
};
extern struct serving serving;

/* Once mmu.ordinary_fd and mmu.ordinary are there. */
CUresult rescue_start(void);
/* By the thread that serves, when it has become busy. */
void rescue_look(void);

#endif
