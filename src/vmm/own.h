/* Memory with a memfd of its own: what may be exported, and what was imported.
 * A page behind its bytes, its label, says what it is; seals keep both as long
 * as they are. Everything here wants vmm_lock held. */
#ifndef FL_VMM_OWN_H
#define FL_VMM_OWN_H

#include "vmm/imex.h"
#include "vmm/internal.h"

enum { LABEL_PAGE = 4096, SECRET = 16 };

struct vmm_own {
    struct backing file;           /* its size is the memory's; the label lies behind that */
    uint64_t device, inode;        /* of the file */
    struct vmm_memory *memory;
    bool imported;                 /* another process made it */
    bool labelled;
    bool invited;                  /* who knows the secret may have it: other holders of a multicast object */
    unsigned char secret[SECRET];  /* what a fabric handle must know; of labelled ones */
    struct imex_channel channel;     /* of its fabric handles; inode 0: none was made */
    struct vmm_own *next;          /* with the same hash of the inode */
    struct vmm_own *next_orphan, **orphan; /* only descriptors that were exported are left of it; NULL: more is */
};

/* Gives m, whose size and prop are set, a file. needed: as for descriptor_memory. */
CUresult own_create(struct vmm_memory *m, bool needed);
/* Gives m, which lives and is mapped, a file with the same bytes: for when there was no descriptor to be had for it
 * before. references: the caller's. CUDA_ERROR_OPERATING_SYSTEM: there still is none; CUDA_ERROR_NOT_READY: kernels or copies
 * that may write to it are under way. The caller lets go of the lock for a moment then, and asks again (own_is_late). */
CUresult own_move(struct vmm_memory *m, unsigned references);
/* Without the lock, after it was not ready: waits a moment. Whether it was asked often enough. */
bool own_is_late(unsigned *asked);
void own_destroy(struct vmm_own *o);
/* Writes the label: the file can be recognised from now on. */
CUresult own_label(struct vmm_own *o);
/* A new descriptor of the file, closed on exec, by which it can be exported. */
CUresult own_export(struct vmm_own *o, int *fd);
/* The memory has no reference left. Whether it is kept, because a descriptor that own_export made is open or mapped
 * in some process: it still counts against the capacity then (observed on H200). */
bool own_keep(struct vmm_own *o);
/* One of those that were kept and are not needed any more, or NULL. */
struct vmm_own *own_next_forgotten(void);
/* Whether any was kept. Without lock. */
bool own_orphans(void);
/* The memory behind a descriptor, with a reference for the caller: this process's own, or a new imported one.
 * The descriptor stays the caller's. CUDA_ERROR_UNKNOWN: it is none of ours. */
CUresult own_import(int fd, struct vmm_memory **out);
/* The one with this secret that is alive, or NULL. */
struct vmm_own *own_by_secret(const unsigned char *secret);

#endif
