/* A host, device processes and managed memory between them, without the rest
 * of the library. Kernels are C functions of the test, copied into an image.
 * The service function gives what is asked for, and counts, unless told otherwise. */
#ifndef FL_TESTS_MMU_RIG_H
#define FL_TESTS_MMU_RIG_H

#include "processor/mmu.h"
#include "processor/processor.h"
#include <stdatomic.h>

enum { RIG_PAGE = 4096, RIG_BLOCK = 2 << 20, RIG_DEVICES = 2 };

/* What the one kernel does: for k < count, at va + k * stride. */
enum rig_deed { RIG_READ /* adds all up */, RIG_WRITE /* value + k */, RIG_ADD /* value, atomically */, RIG_WAIT /* until it is not 0 */ };
struct rig_job { uint64_t deed, va, stride, count, value, sum /* device address of the result */; };

struct rig {
    uint64_t base;                 /* of managed memory */
    struct backing memory, code;
    struct processor *device[RIG_DEVICES];
    uint32_t channel[RIG_DEVICES], side[RIG_DEVICES];
    uint64_t busy[RIG_DEVICES];    /* the kernel of rig_keep_busy, 0: none */
    /* what the service function has seen, by processor */
    _Atomic unsigned reads[MMU_PROCESSORS], writes[MMU_PROCESSORS], most_pending;
    _Atomic(uint64_t) fatal_lo, fatal_hi;  /* faults there are fatal */
    _Atomic bool exclusive;        /* a page is given to the processor that faults and taken from the others */
    _Atomic unsigned granularity;  /* bytes given around a fault */
    _Atomic unsigned delay_us;     /* that the service function takes */
};
extern struct rig rig;

static inline volatile uint64_t *word(uint64_t offset) { return (volatile uint64_t *)(rig.base + offset); }

void rig_start(int devices);
void rig_stop(void);
/* One device, and managed memory of so many blocks from rig.base on. */
int rig_begin(unsigned blocks);
int rig_end(unsigned blocks);
void rig_device_start(int k);
void rig_device_stop(int k);
unsigned rig_faults(unsigned processor);
void rig_forget_faults(void);
/* Runs job on device k in blocks of one thread, block b from va + b * span on; the processor's status. */
CUresult rig_run(int k, struct rig_job job, unsigned blocks, uint64_t span, uint64_t *sum);
uint64_t rig_launch(int k, struct rig_job job, unsigned blocks, uint64_t span);
uint64_t *rig_results(void);
/* From now on, or no more, a kernel runs on device k, beside all others. */
void rig_keep_busy(int k, bool busy);

#endif
