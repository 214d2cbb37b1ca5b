/* What registered.c and adopted.c share: pages of the application's that devices see. */
#ifndef FL_ORDINARY_REGISTRATION_H
#define FL_ORDINARY_REGISTRATION_H

#include "ordinary/regions.h"
#include "space/space.h"

#include <bsd/sys/tree.h>
#include <pthread.h>

/* A file whose pages devices see; the same for all registrations of it. */
struct file;

/* What one mapping contributes to a registration. */
struct piece {
    uint64_t va, size;
    int prot;
    struct file *file;             /* NULL: private pages, to be replaced; which show this one */
    struct file *origin;           /* if any that can be opened */
    uint64_t offset;               /* in either file */
    bool here;                     /* the pages are ours now, because of this registration or another */
    bool main_stack;               /* of the main thread, which grows */
};

struct registration {
    struct allocation a;
    uint64_t va, end;              /* of its pages */
    bool adopted;                  /* because a kernel touched them: not published, whole pages, overlaps no other */
    bool watched;                  /* adopted, and what the program gives back of it is seen (mmu_ordinary_add) */
    bool moves;                    /* watched, and page tables say who may touch its pages (processor/mmu.h) */
    uint64_t mapping, mapping_end; /* then: what it was a part of */
    size_t count;
    struct piece *pieces;
    char *view;                    /* NULL, or where else its pages are (reach.c) */
    RB_ENTRY(registration) link;
};

/* All that follows with the lock held. */
extern pthread_mutex_t registrations_lock;
/* No registered address is as high as this. */
static const uint64_t REGISTRATION_END = (1ull << 47) - 4096;
/* The lowest that ends above va, and the one after g; NULL: none. */
struct registration *registration_above(uint64_t va);
struct registration *registration_next(struct registration *g);
CUresult registration_make_pieces(struct registration *g);
CUresult registration_insert(struct registration *g);
void registration_drop(struct registration *g);
/* Of what is adopted [from, to) is dropped, or, without memory for the rest, all. The rest stays as it is: to replace its
 * pages could hit what another thread maps there meanwhile (replace.h). */
void registration_cut(struct registration *g, uint64_t from, uint64_t to);
void registration_place(struct registration *g, uint64_t va, uint64_t end); /* whole pages, of what is adopted */
/* Its part in [from, to), of no size perhaps; not one more user of its files. */
struct piece piece_within(const struct piece *p, uint64_t from, uint64_t to);
void registration_free(struct registration *g);
void registrations_clear(void);     /* in a child, which has none */

/* --- registration_pages.c --- */
/* Before anything is registered. */
CUresult registrations_open(void);
/* p's private pages become devices' too. */
CUresult registration_share(struct piece *p);
/* The same for pages of which those without memory are to stay so. */
CUresult registration_share_thinly(struct piece *p);
/* Those of [va, end) that still are ours, for the application may have unmapped some, become private again. */
void registration_unshare(uint64_t va, uint64_t end);
/* The file of a mapping. CUDA_ERROR_NOT_SUPPORTED: it cannot be given to devices, or be read. */
CUresult registration_use_file(const struct region *r, struct file **out);
void registration_keep_file(struct file *f); /* once more; NULL: nothing, for both */
void registration_drop_file(struct file *f);
/* The file that has p's pages: at p->offset, or, of replaced ones, where their address says. */
struct backing *registration_backing(const struct piece *p);
int registrations_descriptor(void); /* of the file with replaced pages */
const struct backing *registrations_backing(void);
/* The region shows replaced pages, at their place or (moved by the application) elsewhere. */
bool registration_shows(const struct region *r);
bool registration_in_place(const struct region *r);
/* For a fork a region that shows replaced pages is set apart: it shows them still, but what is stored there is nobody
 * else's, until they are rejoined. False: it has changed, or the system will not. */
bool registration_set_apart(const struct region *r);
/* The same, and `was` gets the bytes that it has from then on. As pages_replace. */
CUresult registration_copy_apart(const struct region *r, char *was);
/* It is. */
bool registration_apart(const struct region *r);
/* What still is apart of it shows the pages as before, with what was stored there meanwhile: whole pages or, if it is known
 * what was there before, the bytes that have changed. As pages_replace. */
CUresult registration_rejoin(const struct region *r, char *was);
/* It shows p's file as p does. */
bool registration_shows_file(const struct region *r, const struct piece *p);
/* Some of those that belong to [start, end). */
bool registration_shows_of(const struct region *r, uint64_t start, uint64_t end);
/* The region becomes private memory with the same bytes. */
bool registration_rescue(const struct region *r);

/* reach.c: something shows replaced pages at va for this library alone. */
bool registration_is_view(uint64_t va);
void registration_drop_view(struct registration *g);
/* registered.c: something that no kernel may touch: devices, the kernel's own pages. */
bool registration_special(const struct region *r);
/* fork.c: sees to forks from now on. */
CUresult registrations_watch_forks(void);
/* adopted.c: whatever shows replaced pages of [start, end) elsewhere becomes private memory. CUDA_ERROR_NOT_READY: it
 * changes all the time. */
CUresult adopted_part(uint64_t start, uint64_t end);
/* [va, end) of g, which is watched, is about to be dropped: all of its pages are the host's. CUDA_ERROR_OUT_OF_MEMORY: so
 * are others of g's, and it is to be dropped, too. */
CUresult adopted_leaves(const struct registration *g, uint64_t va, uint64_t end);

#endif
