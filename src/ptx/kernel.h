/* A kernel on its way to code: its segments, what it spills. */
#ifndef FL_PTX_KERNEL_H
#define FL_PTX_KERNEL_H

#include "abi.h"
#include "cfg.h"
#include "image.h"

struct segment {
    uint32_t start;                /* the instruction at which it resumes */
    const struct instr *cause;     /* the suspension it follows, NULL: the entry, or a spinning loop's head */
    struct fl_image_segment image; /* suspend, op, width, flags, imm; code and probe are filled at the end */
};

struct kernel {
    struct func *func;
    struct cfg cfg;
    struct segment *segments;
    uint32_t nsegments;
    struct lockstep *locksteps;
    uint32_t nlocksteps;
    const struct instr **definition; /* by register: its only definition if it can be computed anew, else NULL */
    int32_t *slot;                 /* by register: byte offset in the per-thread context, -1: none */
    uint32_t context;              /* bytes per thread */
    uint32_t static_shared, local, local_reported;
    bool vector;                   /* threads may run side by side in one loop */
    bool streams;                  /* see STREAMS_ATTRIBUTE */
    uint32_t number;               /* in the module: names its functions @k0_s1, @k0_p1 */
    uint32_t part;                 /* of the module, see units.h */
    uint32_t flags, registers;
    uint32_t stack;                /* of a kernel that runs whole: bytes per thread, without what recursion takes */
};

/* Finds the segments and what lives across suspensions; false: there are too many, or they would be too large. */
bool kernel_analyse(struct kernel *k, struct module_ir *m, struct func *f);
/* cuts.c: adds segments where too much code would be in several; after lockstep_find. */
void cuts_find(struct kernel *k);
/* Places its shared and local variables, estimates its registers. */
void kernel_lay_out(struct kernel *k, struct module_ir *m);
/* Of the functions of a kernel that streams: it only reads and writes global memory, in no order that others
 * could see, and does not read where it writes. What that is for: stream.h. */
#define STREAMS_ATTRIBUTE "faultline-streams"
/* FL_KERNEL_..., once the segments are known. */
uint32_t kernel_flags(const struct kernel *k);
/* segment.c, for who adds segments of another kind: */
uint32_t segment_add(struct kernel *k, uint32_t start, const struct instr *cause, enum fl_suspend suspend, int line);
/* Whether what follows b is in b's segment. */
bool segment_goes_on(const struct kernel *k, const struct block *b);
/* i, done again anywhere, gives the same as long as its operands are the same. */
bool is_pure(const struct instr *i);
/* Fills the description of the suspension i for the run time. */
void suspension_describe(const struct instr *i, struct fl_image_segment *s);

#endif
