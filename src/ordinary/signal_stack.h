/* Where no userfaultfd protects pages that are being replaced, a store to them is a
 * SIGSEGV (replace.h). For one to its own stack a thread needs another. */
#ifndef FL_ORDINARY_SIGNAL_STACK_H
#define FL_ORDINARY_SIGNAL_STACK_H

/* The calling thread, which has a kernel that may reach its stack, gets one, unless it has one of its own. */
void signal_stack_give(void);

#endif
