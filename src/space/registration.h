/* What registered.c and adopted.c share: pages of the application's that devices see. */
#ifndef FL_SPACE_REGISTRATION_H
#define FL_SPACE_REGISTRATION_H

#include "space/regions.h"
#include "space/space.h"

#include <bsd/sys/tree.h>
#include <pthread.h>

/* A file whose pages devices see; the same for all registrations of it. */
struct file;

/* What one mapping contributes to a registration. */
struct piece {
    uint64_t va, size;
    int prot;
    struct file *file;             /* NULL: private pages, to be replaced */
    uint64_t offset;               /* in the file */
    bool here;                     /* the pages are ours now, because of this registration or another */
    bool main_stack;               /* of the main thread, which grows */
    bool forking;                  /* holds the stack of the thread that forks */
};

struct registration {
    struct allocation a;
    uint64_t va, end;              /* of its pages */
    bool adopted;                  /* because a kernel touched them: not published, whole pages, overlaps no other */
    size_t count;
    struct piece *pieces;
    RB_ENTRY(registration) link;
};

/* All that follows with the lock held. */
extern pthread_mutex_t registrations_lock;
CUresult registrations_open(void);
/* The lowest that ends above va, and the one after g; NULL: none. */
struct registration *registration_above(uint64_t va);
struct registration *registration_next(struct registration *g);
CUresult registration_make_pieces(struct registration *g);
CUresult registration_insert(struct registration *g);
void registration_drop(struct registration *g);
void registration_free(struct registration *g);
/* The region shows replaced pages, at their place or (moved by the application) elsewhere. */
bool registration_shows(const struct region *r);
/* The region becomes private memory with the same bytes. */
bool registration_rescue(const struct region *r);
/* Something that no kernel may touch: devices, the kernel's own pages. */
bool registration_special(const struct region *r);

#endif
