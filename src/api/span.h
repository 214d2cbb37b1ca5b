/* The bytes behind a range of addresses, as this process reaches them: one run
 * of the alias of physical memory, or, where the range crosses mappings of
 * virtual memory management, several pieces, which the operation carries with it. */
#ifndef FL_API_SPAN_H
#define FL_API_SPAN_H

#include "mempool/mempool.h"
#include "vmm/vmm.h"

struct span {
    char *bytes;                   /* the first piece */
    size_t count;                  /* of pieces, 1 or more */
    size_t first;                  /* of them in the operation's array, if there are several */
    CUdeviceptr managed;           /* the address, if it is managed: whoever performs the operation says so to src/uvm */
    CUdeviceptr passing;           /* the address, if it is mapped memory, a pool's, another context's or process's, or
                                    * registered, which may go while work waits, */
    CUdeviceptr registered;        /* the address, if it is registered: span_touch */
    uint64_t changes;              /* and was found at this count of span_changes */
    unsigned member;               /* span_pieces' */
    struct context *context;       /* whose memory of a device it is, or managed memory; NULL: the host's, or nobody's */
    bool on_device;                /* not the host's */
    bool host;                     /* the host's, which it can reach without a device: none that is managed, or a host pool's */
    bool waits;                    /* who does not ask for asynchrony waits for what is done to it: all but a device's
                                    * without CU_POINTER_ATTRIBUTE_SYNC_MEMOPS (observed on an H200) */
    bool ordinary;                 /* the program's own memory, which the device reaches: what uses it is waited for */
    bool dormant; /* memory of a graph that is not allocated now: good for a node, not for the operation itself */
};

/* Room for the pieces of an operation's spans. */
struct span_pieces {
    struct vmm_piece *at;
    size_t count;
    unsigned member;               /* of a multicast object: whose memory is meant */
};

/* How often an operation that writes at p must be done, each time for another member: 1 unless p is an address of a
 * multicast object. */
unsigned span_members(CUdeviceptr p);

/* [p, p+size) on behalf of d; write: the bytes will be changed. Adds to *pieces what has several, which the caller
 * frees. CUDA_ERROR_INVALID_VALUE: not all of it is one allocation's, or mapped and permitted. */
CUresult span_find(CUdeviceptr p, size_t size, const struct device *d, bool write, struct span *s,
                   struct span_pieces *pieces);

/* For what the calling thread finds from now on memory of a graph is not dormant, and what a pool has got back is there: it
 * issues a part of a graph, and both may have been freed behind that part. */
void span_permit_freed(bool permit);

/* While it stays, all memory stays where it is. */
static inline uint64_t span_changes(void) { return vmm_changes() + mempool_changes() + space_changes(); }
/* Whether it is memory that may have gone since it was found: who performs the operation finds it again. That and the
 * operation stand between space_copy_begins and space_copy_ends. */
static inline bool span_changed(const struct span *s) { return s->passing && s->changes != span_changes(); }
/* That. gone, and why in the log, if it is not there any more. */
CUresult span_find_again(struct span *s, size_t size, const struct device *d, bool write, struct span_pieces *pieces,
                         CUresult gone);

/* Before size bytes of it are touched, between space_copy_begins and space_copy_ends. False: they cannot be. */
bool span_touch(struct span *s, size_t size, bool write);

/* The bytes at offset; *run shrinks to what lies in a row there. */
static inline char *span_reach(const struct span *s, const struct vmm_piece *pieces, size_t offset, size_t *run)
{
    if (s->count == 1) return s->bytes + offset;
    const struct vmm_piece *p = pieces + s->first;
    for (; offset >= p->size; p++) offset -= p->size;
    if (*run > p->size - offset) *run = p->size - offset;
    return p->bytes + offset;
}

#endif
