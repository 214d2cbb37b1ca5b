/* What every form of copy becomes: two sides of rows and slices. memcpy.c and
 * memcpy_box.c make one of their arguments, copy.c does the rest. */
#ifndef FL_API_COPY_H
#define FL_API_COPY_H

#include "api/span.h"
#include "trace/trace.h"

struct array;

struct side {
    struct span span;
    uint64_t address;              /* not of an array */
    size_t pitch, slice;
    bool pageable;
    bool as_host;                  /* the call says that it is the host's */
    const struct device *device;   /* on whose behalf it is touched */
    struct array *array;           /* has tiles: they are found when the copy is performed, and there is no span */
    struct array *of;              /* the array, with tiles or without, that this is of; NULL: it is memory */
    uint64_t life;                 /* its, when it was found */
    size_t x, y, z;                /* of an array: where in it, x in bytes */
};
struct copy {
    struct side to, from;
    size_t width, height, depth;
    bool box;                      /* it was one of several rows, if these are one now */
    size_t staged;                 /* where in the operation the bytes of the source are, 0: they are not in it */
    struct trace_record told;      /* transfer.h */
    struct vmm_piece pieces[];     /* of both sides' spans */
};

/* What is known of a copy while its arguments are looked at. */
struct draft {
    struct copy c;
    struct array *arrays[2];       /* on either side; in use until the copy is submitted */
    struct span_pieces pieces;
};

/* One side, to or from, of d: extent bytes from p on. Its device is set. */
CUresult copy_device_side(struct draft *d, CUdeviceptr p, size_t extent, struct side *s);
/* The same where p may be any memory of the host's, too. */
CUresult copy_any_side(struct draft *d, uint64_t p, size_t extent, struct side *s);
/* Whether the caller waits (observed on an H200). What is read early comes from memory that only the host has, up to a few
 * MiB; of more the caller waits for the copy. */
enum copy_when {
    COPY_NOW,      /* synchronous: the caller waits, unless both sides are devices' memory */
    COPY_ASYNC,    /* waits if the destination is pageable, or both sides are the host's; a pageable source is read early */
    COPY_IN_ORDER, /* waits for pageable memory alone: everything is touched when the stream comes to it */
    COPY_ANY_TIME, /* the same, but a pageable source is read early */
    COPY_READ_NOW, /* the source is read early, or the caller waits */
};
/* Issues it into the stream. */
CUresult copy_submit(CUstream stream, struct draft *d, enum copy_when when);
/* cuMemcpyAsync and cuMemcpy3DAsync, but for who waits. */
CUresult copy_linear(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream, enum copy_when when);
CUresult copy_box(const CUDA_MEMCPY3D *p, CUstream stream, enum copy_when when);
/* The calling thread only wants to know whether a copy is well formed: nothing is submitted. */
extern _Thread_local bool copy_only_checked;
/* Whether the copy becomes a node, because the stream is captured, or must not be issued: *r. */
bool copy_captured_linear(CUmemorytype to_type, uint64_t to, CUmemorytype from_type, uint64_t from, size_t bytes,
                          CUstream stream, CUresult *r);

/* A copy of which at least one side is an array of tiles. */
CUresult copy_tiles(const struct copy *c);

#endif
