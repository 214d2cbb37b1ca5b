/* What lies below and beside src/uvm in its unit tests: page tables that only
 * remember, a clock that only the test moves, counts of what was traced. */
#ifndef FL_TEST_UVM_FAKE_H
#define FL_TEST_UVM_FAKE_H

#include "ordinary/mappings.h"
#include "uvm/internal.h"
#include "uvm/uvm.h"

#define FAKE_PAGES (8ul << 20)

extern uint8_t fake_entries[PROCESSORS][FAKE_PAGES]; /* enum mmu_access, by page of the window */
extern bool fake_gone[FAKE_PAGES];  /* the program has unmapped it */
extern mmu_service *fake_serve;
extern const struct mappings_client *fake_mappings; /* who is told of what the program does */
extern _Atomic uint64_t fake_now;   /* ns */
extern void (*fake_meanwhile)(void); /* what other threads do while one that has to wait sleeps, without the lock */
extern bool fake_ends_often;         /* whenever it is asked, the device has got something done */
extern uint32_t fake_progress;
extern bool (*fake_refuses)(void);  /* whether there is no memory for the next thing; NULL: there always is */
extern bool fake_verbose;           /* prints what is traced */
extern uint64_t fake_from, fake_to; /* addresses whose events are counted */
extern struct fake_counts {
    uint64_t htod, dtoh, dtod, cpu_faults, gpu_faults, remote;
} fake_counted;

/* A machine of so many linked devices, each with so much memory. */
void fake_begin(int count, uint64_t capacity);
/* Devices that reach each other, or not; a host that reaches their memory, or not. */
void fake_begin_linked(int count, uint64_t capacity, bool devices_linked, bool host_linked);
/* One whose host and devices take turns; runs: as uvm_init. */
void fake_begin_turns(int count, uint64_t capacity, bool devices_linked, bool (*runs)(const void *stream));
static inline uint64_t fake_page(uint64_t va) { return (va - space_managed_base()) / PAGE_BYTES; }
/* What was to be taken from p before its next kernel goes. */
void fake_settle(unsigned p);
/* A kernel begins on p. */
void fake_kernel(unsigned p);
/* p reads or writes the page, faulting as often as it must. */
void fake_touch(unsigned p, uint64_t va, bool write);
extern uint32_t fake_block; /* of the kernel's that does so */
/* Device p does something there that is atomic for all of the system. */
void fake_atomic(unsigned p, uint64_t va);

#endif
