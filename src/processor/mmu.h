/* The page tables of the simulated machine's processors, over managed memory.
 *
 * Managed memory is one window of addresses (space_managed_base..end) over one
 * sparse memfd: address = base + offset, so a page has one physical place for
 * its life and "resident on device 0" is a fact of src/uvm's, not of this file.
 * Here each processor has, for each 4 KiB page of the window, an entry that
 * permits nothing, reads, reads and writes, or atomics of system scope as
 * well. What an entry does not permit faults, and the fault goes to the
 * one fault service function; when that answers MMU_RETRY the access is tried
 * again, and when it answers MMU_FATAL the kernel fails with an illegal address,
 * the host's thread gets SIGSEGV. An entry that mmu_set gave and the system lost
 * comes back without the function being asked.
 *
 * Processor 0 is the host; processor 1 + k is device k.
 *
 * Taking away from a device that runs a kernel waits until it is done; a device
 * that runs nothing is not waited for (processor.h). Data is coherent whatever
 * the entries say, because there is one physical page.
 *
 * All functions may be called by any thread, and by the service function; their
 * locks are the innermost but for the processor's. None calls back but mmu_serve.
 *
 * Ways to fault, tried in this order (mmu_rung tells which): userfaultfd with
 * kernel faults; user-mode-only userfaultfd; SIGSEGV and mprotect. */
#ifndef FL_PROCESSOR_MMU_H
#define FL_PROCESSOR_MMU_H

#include "base/backing.h"
#include <stdbool.h>
#include <stdint.h>

enum { MMU_HOST = 0, MMU_PROCESSORS = 17 };
enum mmu_access { MMU_NONE, MMU_READ, MMU_WRITE, MMU_ATOMIC /* for the host, no more than MMU_WRITE */ };
enum mmu_verdict { MMU_RETRY, MMU_FATAL, MMU_ELSEWHERE };

struct mmu_fault {
    unsigned processor;
    uint64_t address;
    uint32_t block;                /* of the device's kernel: its number in the grid, modulo 2^32 */
    bool write, atomic;            /* an atomic access is a write; atomic: of system scope */
    int thread;                    /* the host thread that faulted, 0: unknown */
    /* Pages that the same device was found waiting for at the same time, this one included. */
    unsigned pending;
    uint64_t pc; /* the host's instruction, 0: not known (mmu_where) */
    long slept;  /* the host thread's mmu_slept() before it faulted, plus 1; 0: not known, but it sleeps for this fault */
    bool missing;                  /* outside the window: something is mapped there, without an entry; the host's: nor memory */
    bool doubtful;                 /* if it is fatal it comes once more: the thread may not wait for it any more */
    bool at_once;                  /* likewise: MMU_ELSEWHERE if it takes more than page tables; then another thread asks */
};
/* Called on a thread of this file's or on one that waits for a device (in processor_wait),
 * without locks of this folder's, for several faults at a time; must leave the processor's
 * entry such that the access succeeds, or say MMU_FATAL: a device may touch any address of
 * the window, also where nothing was added. It must not touch managed addresses itself. */
typedef enum mmu_verdict mmu_service(const struct mmu_fault *f);

/* Before the first mmu_add. Once, or until it succeeds. The window is [base, base + memory->size); memory stays. */
CUresult mmu_init(const struct backing *memory, uint64_t base, mmu_service *service);
/* Devices' faults outside the window go to this function, which maps what it permits by other means
 * (processor_map); without it they are fatal. But for those to be decided at once it may wait for locks that the
 * application's threads hold without minding signals. Before the first mmu_attach. */
CUresult mmu_serve_outside(mmu_service *service);
/* Ordinary memory of the program, outside the window, can have entries as well, where its pages are those of one more
 * memory: address = offset. It begins with the host's entries, which are all there. Pages without memory get zeros when
 * the host touches them, or a device is given access. Faults there go to the function of mmu_serve_outside. gone: the
 * program has given pages back (MADV_DONTNEED): they have no memory and nobody has entries; called without locks.
 * False: this system cannot do it without danger to the program. Once. */
bool mmu_ordinary_init(const struct backing *memory, void (*gone)(uint64_t va, uint64_t end));
/* The host's part: the program may have mapped something else there meanwhile, or do so at any time; that is left alone.
 * False: it has. */
bool mmu_ordinary_add(uint64_t va, uint64_t size);
/* Device p has been sent the mapping (processor_map with PROT_DEVICE_WATCHED). */
void mmu_ordinary_mapped(unsigned p);
/* The host has all of [va, va+size); devices, from which it is to be unmapped then, nothing. */
void mmu_ordinary_remove(uint64_t va, uint64_t size);
/* What the program has given back by now is gone. Not with locks that `gone` takes. */
void mmu_ordinary_settle(void);
/* Pages of that memory which are shown here are on their way; nobody uses the address. */
bool mmu_ordinary_scratch(uint64_t va);
/* The host has these entries, as it has touched pages that had no memory. */
CUresult mmu_ordinary_touched(uint64_t va, uint64_t size);
/* Libraries that were loaded since may set handlers of SIGSEGV: to be called now and then, by who holds no lock. */
void mmu_look_for_handlers(void);
/* [va, va+size), 2 MiB aligned, comes into being: no processor has an entry. */
CUresult mmu_add(uint64_t va, uint64_t size);
/* It goes: every processor faults there, fatally; the physical pages are given back. */
void mmu_remove(uint64_t va, uint64_t size);
/* The program is about to unmap [va, va+size), or to map something else there: the host's part of it is not touched from
 * now on, but for mmu_remove. CUDA_ERROR_OUT_OF_MEMORY: it is. */
CUresult mmu_leave(uint64_t va, uint64_t size);
/* It has: nobody has access any more, or is given it again; has not: all is as before. */
void mmu_left(uint64_t va, uint64_t size, bool unmapped);
/* Processor p (a device) has a new process: all that was added exists there, without entries. */
CUresult mmu_attach(unsigned p);
/* Its process is gone. */
void mmu_detach(unsigned p);

/* The service function would permit the host more than before: what it said MMU_FATAL to is in nobody's way from now on. */
void mmu_permit(void);

/* What p may do with [va, va+size) from now on: page-granular, within one added range. Pages without
 * physical memory get it (zeros) when access is given, or, if that is more than the machine could have,
 * when they are touched. CUDA_ERROR_OUT_OF_MEMORY: blocks before the one that failed may have got theirs.
 * A device without a process has no entries; setting them succeeds and does nothing. Whole blocks of one
 * access in one call are cheapest. */
CUresult mmu_set(unsigned p, uint64_t va, uint64_t size, enum mmu_access access);
/* Device p may do nothing with it: in effect before the next kernel that is launched; one that runs may go on. */
void mmu_take_late(unsigned p, uint64_t va, uint64_t size);
/* A number that changes whenever device p has done something it was given. */
uint32_t mmu_progress(unsigned p);
/* Physical pages that are not there yet come from the host's NUMA node, if it has any; -1: from any. */
void mmu_prefer_node(uint64_t va, uint64_t size, int node);
/* The physical pages' contents are not needed any more: they read as zeros when next accessed,
 * by whom mmu_set gave access, which stays. */
void mmu_discard(uint64_t va, uint64_t size);

/* What kernels that are to tell of it have accessed of the window since the last call, in order; what faults is told of
 * before its fault is. begins: a kernel does, the rest means nothing. Returns how many; 0: nothing new. Old notes get lost. */
struct mmu_access_note {
    uint64_t address;
    bool write, atomic, awaited, begins; /* atomic: for whomever; awaited: its result is */
};
unsigned mmu_next_accesses(unsigned p, struct mmu_access_note *out, unsigned most);

/* The instruction at which the host's thread waits for this fault; 0: not known. Costs some system calls. */
uint64_t mmu_where(const struct mmu_fault *f);
/* How often the calling thread has slept of its own will; for faults that came as signals, which it may wait for without
 * sleeping, never. */
long mmu_slept(void);
/* Services what faults wait, without blocking; true if there was one. For threads that wait for a device. */
bool mmu_serve(void);
enum mmu_rung { MMU_USERFAULTFD, MMU_USERFAULTFD_USER, MMU_SIGNALS };
enum mmu_rung mmu_rung(void);

#endif
