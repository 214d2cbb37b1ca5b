/* Pages of this process change what is behind them while other threads use them. */
#ifndef FL_ORDINARY_REPLACE_H
#define FL_ORDINARY_REPLACE_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/* The one of both that is shared memory shows this file. */
struct page_file {
    int fd;
    uint64_t offset;               /* of the first page */
    bool new;                      /* it is the new pages: they have no bytes yet, nor memory */
    bool thin;                     /* those that need none, as the old ones have none, get none */
    bool same;                     /* both show it, the old ones privately: the new have all bytes but those stored there, */
    char *was;                     /* which, if this is known, are those that the old pages had not at first; not same: gets the bytes */
};

/* [va, va+size), which is mapped and may be read, becomes the writable private or
 * shared mapping of the same size at `with`, with the access `prot`, holding the
 * bytes that [va, va+size) has. Whole pages. To other threads it happens in one
 * moment: no byte they write is lost, before or after. They wait while it lasts.
 * Afterwards nothing is mapped at `with`. CUDA_ERROR_OUT_OF_MEMORY: some of the
 * pages may have been replaced, the bytes are the same. CUDA_ERROR_NOT_READY: the
 * same, because the program has unmapped some, or mapped something else there.
 * CUDA_ERROR_NOT_SUPPORTED: the same, because some may be the stack of a thread
 * that does not take signals, where the system permits no userfaultfd.
 *
 * Where the system permits no userfaultfd, or for private mappings of files, a
 * system call by which another thread has the kernel write there at that
 * moment fails with EFAULT; a program's own stores wait in every case. */
CUresult pages_replace(uint64_t va, uint64_t size, void *with, int prot, int old_prot, struct page_file file);

/* How often some have been; waits, not for long, as long as they are. Takes no lock. */
unsigned pages_replaced(void);

/* Whole pages of the program's, whatever lies in them: not memcpy, which the
 * program's AddressSanitizer would check. */
void pages_copy(char *to, uint64_t from, uint64_t size);

#endif
