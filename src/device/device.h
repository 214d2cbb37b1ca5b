/* A device process: the control page it shares with its host, its page table,
 * its way of taking commands and of answering. */
#ifndef FL_DEVICE_DEVICE_H
#define FL_DEVICE_DEVICE_H

#include "device/workers.h"
#include "processor/ring.h"
#include <signal.h>

/* main.c */
extern struct control *control;
extern int host_socket;            /* to the host: the hello, then backings from it, then a byte when a kernel has failed */
extern int host_bell;              /* eventfd of the host's service thread */

/* commands.c */
bool commands_take(void);          /* takes what the ring holds, if nobody else is at it; true if there was something */
void grid_done(struct grid *g);    /* frees it, advances its channel */
pid_t commands_fork(void);         /* between two commands: the child finds all tables whole */

/* layout.c: keeps this process's own mappings within PROCESSOR_PRIVATE. First of all; may start the program anew. */
void layout_apply(int argc, char **argv);
/* size bytes of address space that cost nothing before they are touched; NULL: there is no room. */
void *layout_reserve(uint64_t size, int prot);

/* agent.c: the page table. prot: PROT_DEVICE_*. Where the system refuses, this process ends. */
void agent_map(uint64_t va, uint64_t size, uint64_t backing, uint64_t offset, uint32_t prot);
void agent_unmap(uint64_t va, uint64_t size);
void agent_protect(uint64_t va, uint64_t size, uint32_t prot);
/* No mapping shows the backing any more, and its descriptor goes. */
void agent_forget(uint64_t backing);
/* At addresses of this process's own choice: physical memory that no kernel knows by its address. */
void *agent_map_anywhere(uint64_t size, uint64_t backing, uint64_t offset);
/* In a forked child: every writable mapping becomes a private copy of itself; the same for one mapped anywhere. */
void agent_make_private(void);
void agent_remap_private(void *at, uint64_t size, uint64_t backing, uint64_t offset);

/* managed.c: managed memory's part of it */
void managed_open(void);           /* before there are other threads */
/* Tells the host that this process is ready, and gives it what it needs; false: the host is gone. */
bool managed_hello(void);
void managed_map(uint64_t va, uint64_t size, uint64_t backing);
/* What is mapped there permits nothing until the host makes entries. */
void managed_watch(uint64_t va, uint64_t size);
/* prot: ENTRIES_ZAP or mprotect's. */
void managed_change(uint64_t va, uint64_t size, int prot);
/* Does what the host has asked for, if nobody else is at it. Async-signal-safe. */
bool managed_requests(void);
/* A kernel begins whose accesses are told of; a probe of it is about to access memory, which is told if it is managed. */
void managed_begins(void);
void managed_accessed(struct fl_block *b, uint64_t address, uint32_t access /* enum fl_access */);
/* An atomic of system scope is about to be done there. */
void managed_atomic(struct fl_block *b, uint64_t address);
/* In a signal handler: true if it was a fault that has been served, the access is to be tried again. */
bool managed_fault(const siginfo_t *info, bool write);
/* The same for a kernel's access to the application's ordinary memory, which the host may make known. */
bool pageable_fault(const siginfo_t *info, bool write);
/* In a forked child, whose memory is private: no faults are served, access to the page at address faults. */
void managed_make_private(uint64_t address);

/* multimem.c: which memories lie behind the addresses of a multicast object. prot: see processor_multicast */
void multimem_map(uint64_t va, uint64_t size, uint64_t backing, uint64_t offset, uint32_t prot);
void multimem_unmap(uint64_t va, uint64_t size, uint32_t member);
void multimem_make_private(void);
enum { MULTIMEM_MEMBERS = 16 };
/* Where [address, address + bytes) is in each member's memory, if it is there in all and permitted; else 0. */
uint32_t multimem_members(uint64_t address, uint32_t bytes, bool write, uint64_t out[MULTIMEM_MEMBERS]);

/* multistore.c */
void multimem_store_install(void); /* process-wide */
/* In a signal handler: an access to address faulted that wrote. True: it was an ordinary store to a multicast address,
 * and is being done. */
bool multimem_store_fault(void *context, uint64_t address);

/* printf.c */
void printf_mute(void);            /* in a forked child: what kernels print has been printed */

/* rt.c: what compiled kernels call */
extern const struct fl_rt runtime;

/* fault.c */
void fault_handlers_install(void); /* process-wide */
void fault_thread_begin(void);     /* the worker's alternate stack */
/* Runs a block under the fault handlers. */
enum block_outcome fault_guarded_run(struct frame *f);
/* The same for count blocks of a kernel without suspensions, from the frame's on; false: one has failed. */
bool fault_guarded_batch(struct frame *f, uint64_t count);
/* The worker's block has failed; explains and reports. */
void fault_report(enum fault_kind kind);
/* Ends the kernel that the calling worker runs, from within it. text may be NULL. */
void fault_raise(enum fault_kind kind, uint32_t thread, uint32_t line, const char *text) __attribute__((noreturn));
/* The same of an address that may not be accessed. */
void fault_raise_address(uint64_t address, uint32_t thread, uint32_t line) __attribute__((noreturn));
/* The rest of it, after fiber_abandon. */
void fault_go_on(void) __attribute__((noreturn));

#endif
