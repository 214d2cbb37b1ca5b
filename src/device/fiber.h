/* Threads of a kernel that runs whole (src/ptx/abi.h): each has a stack of its
 * own, on which it is left where it suspends and gone on with later, by any
 * worker. Who goes on when is decided in block.c, as for all kernels. */
#ifndef FL_DEVICE_FIBER_H
#define FL_DEVICE_FIBER_H

#include <stdbool.h>
#include <stdint.h>

struct frame;
struct fl_block;

struct fibers {
    void **sp;            /* [t] where the thread was left; NULL: it has not begun. NULL: not this kernel */
    void *home;           /* where the worker that runs one was left */
    bool running, raised; /* one runs; it has ended the kernel and fault_raise is to go on */
    char *stacks;
    uint64_t size;
};

/* Stacks for the frame's threads, of which the kernel takes stack bytes each, and recursion more as limit
 * (CU_LIMIT_STACK_SIZE) asks. False: no memory. */
bool fibers_prepare(struct frame *f, uint32_t stack, uint32_t limit);
/* Gives back the memory. */
void fibers_release(struct frame *f);
/* Threads first .. first+count-1 go on, one after the other, each until it suspends or ends. */
void fibers_run(struct frame *f, uint32_t first, uint32_t count);
/* Leaves the running thread for good: fault_raise goes on where it was called from. */
void fiber_abandon(struct frame *f) __attribute__((noreturn));

#endif
