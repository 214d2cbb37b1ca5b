/* Linux's userfaultfd, one call a function, for shared memory unless it says
 * otherwise. Knows nothing of what the memory is for; which faults are raised is
 * said when a descriptor is opened. Every range is page-aligned. */
#ifndef FL_BASE_USERFAULT_H
#define FL_BASE_USERFAULT_H

#include <stdbool.h>
#include <stdint.h>

enum userfault_kind {
    USERFAULT_KERNEL, /* also faults that system calls take on the program's behalf */
    USERFAULT_TOLD,   /* the same, and of memory that is given back */
    USERFAULT_USER,   /* those of the program's own instructions alone */
    USERFAULT_SIGBUS, /* the faulting thread gets SIGBUS; nothing is read from the descriptor */
    USERFAULT_WRITES, /* of any memory, stores to protected pages alone; of system calls, too, where that is permitted */
    USERFAULT_WRITES_PRESENT, /* the same, but private pages have to be there to be protected (before Linux 6.4) */
};

/* A non-blocking descriptor that works on shared memfd, or -1: this system or
 * its administrator says no, or the kernel is too old. */
int userfault_open(enum userfault_kind kind);

/* Each returns 0 or an errno value. Any process that holds the descriptor may call them. */
int userfault_register(int fd, uint64_t va, uint64_t size);
/* Of pages that are protected; what is missing is the kernel's affair. */
int userfault_register_writes(int fd, uint64_t va, uint64_t size);
/* Entries that are missing are filled in by the kernel from now on; write protection is lifted. Wakes nobody. */
int userfault_unregister(int fd, uint64_t va, uint64_t size);
/* Enters pages that have physical memory; those already entered get the protection asked for. EFAULT: a page has none.
 * *done: bytes that are entered. *woken, if all are: so is who waited for any of them. */
int userfault_enter(int fd, uint64_t va, uint64_t size, bool writable, uint64_t *done, bool *woken);
/* Of pages that are entered. May wake who waits. */
int userfault_protect(int fd, uint64_t va, uint64_t size, bool writable);
/* Enters zeros where there is no memory, and wakes who waits. EEXIST: there is some. */
int userfault_zero(int fd, uint64_t va, uint64_t size);
/* As long as memory is being given back and nobody has read of it (USERFAULT_TOLD), the system refuses to enter, protect
 * and zero pages. Whoever does that calls this function until it is read. For one descriptor of the process. */
void userfault_when_refused(int fd, void (*read)(void));
/* Who waits in the range tries again. */
void userfault_wake(int fd, uint64_t va, uint64_t size);

struct userfault_event {
    uint64_t address;
    uint64_t end;        /* not 0: no fault, but [address, end) is given back (MADV_DONTNEED); the caller goes on */
    bool write;          /* the access that faults writes */
    bool protected_page; /* there is an entry, but it does not permit writing */
    bool missing;        /* there is no memory either */
    int thread;          /* its id */
};
/* Takes up to most events; 0 if none waits. */
unsigned userfault_read(int fd, struct userfault_event *out, unsigned most);

#endif
