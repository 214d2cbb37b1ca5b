/* What the two files of multicast objects share. Everything here wants vmm_lock held. */
#ifndef FL_VMM_MULTICAST_INTERNAL_H
#define FL_VMM_MULTICAST_INTERNAL_H

#include "vmm/internal.h"
#include "vmm/multicast.h"
#include "vmm/team.h"

/* A part of a member's memory. */
struct binding {
    unsigned member;
    uint64_t offset, size;         /* in the object */
    struct vmm_memory *memory;     /* a reference */
    uint64_t memory_offset;
    uint64_t id;                   /* in the team's record; 0: it is not there */
    int place;                     /* there, if this process published it; -1: another one did */
    struct binding *next;          /* by offset, then by member: the order in which sums are made */
};
/* The detail of a memory of this kind. */
struct multicast {
    struct vmm_memory base;        /* first, so that one block is freed */
    CUmulticastObjectProp prop;
    struct team *team;
    struct binding *bindings;
    uint64_t seen;                 /* the team's generation that bindings are of */
    struct multicast *next;        /* of the objects that are shared */
};

/* --- multicast.c --- */
/* With one reference. Takes the team over; NULL: out of memory, and it is closed. */
struct multicast *multicast_new(struct team *t);
/* Enters b, unless its place is taken: CUDA_ERROR_INVALID_VALUE. */
CUresult multicast_enter(struct multicast *o, struct binding *b);
void multicast_leave(struct multicast *o, struct binding *b);
/* What was entered is in the page tables of who has the object mapped; and is not. A failure leaves nothing. */
CUresult multicast_show(const struct multicast *o, const struct binding *b);
void multicast_hide(const struct multicast *o, const struct binding *b);
/* Gives memory back and frees b. Without vmm_lock. */
void multicast_free(struct binding *b);

/* --- multicast_share.c --- */
void share_add(struct multicast *o);
CUresult share_export(const struct vmm_memory *m, int *fd);
void share_remove(struct multicast *o);
/* Tells the other processes of b, or that it is gone. */
CUresult share_publish(struct multicast *o, struct binding *b);
void share_retract(struct multicast *o, const struct binding *b);

#endif
