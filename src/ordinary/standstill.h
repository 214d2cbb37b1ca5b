/* Threads that stand still while pages of their stacks are replaced, and may not be stored to (replace.h). */
#ifndef FL_ORDINARY_STANDSTILL_H
#define FL_ORDINARY_STANDSTILL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The calling thread sets *here and waits until *until is not 0 and it is woken, without a store to its stack from
 * the first on. */
void stand_still(_Atomic int *here, _Atomic int *until);

/* To be called early: a thread that waits for a lock of the library's can be made to stand still only if its signals
 * were kept from it after this. False: there is no signal for it. */
bool standstill_prepare(void);

/* Threads of the program whose stacks, as far as the C library knows them, may have some of [va, va+size) stand still
 * until the end; not the caller, nor `but`. False: one of them cannot be made to, and none does. One at a time.
 * Between both nothing that takes a lock of the program's may be called. */
bool standstill_begin(uint64_t va, uint64_t size, int but);
void standstill_end(void);

#endif
