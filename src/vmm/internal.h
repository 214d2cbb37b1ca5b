/* What the files of src/vmm share. Everything here wants vmm_lock held: for
 * reading where it only looks, else for writing. */
#ifndef FL_VMM_INTERNAL_H
#define FL_VMM_INTERNAL_H

#include "vmm/vmm.h"

extern pthread_rwlock_t vmm_lock;

/* --- reservation.c --- */
struct reservation {
    uint64_t base, size;
    RB_ENTRY(reservation) link;
};
/* The one that address lies in, or NULL. */
const struct reservation *reservation_find(uint64_t address);
/* Whether reservations cover [base, base+size) without a gap. */
bool reservations_cover(uint64_t base, uint64_t size);

/* --- memory.c --- */
CUresult memory_create(uint64_t size, const CUmemAllocationProp *prop, struct vmm_memory **out);
/* Drops one reference. */
void memory_put(struct vmm_memory *m);
/* What d (NULL: the host) sees at `at`: see vmm_memory_kind. */
bool memory_view(const struct vmm_memory *m, const struct device *d, uint64_t at, const struct backing **b,
                 uint64_t *offset, uint64_t *length);

/* --- handle.c --- */
/* A user's name for a memory. It lives while the user or a mapping holds it, and is remembered for a while then. */
struct vmm_handle {
    struct vmm_memory *memory;     /* NULL: released */
    CUmemAllocationProp prop;      /* as this handle reports them: an imported one cannot be exported again */
    unsigned held, mapped;         /* by the user; by mappings */
    uint32_t generation, index;
    struct vmm_handle *next;       /* released ones, the oldest first */
};
/* The handle that the user holds, or NULL. */
struct vmm_handle *handle_find(CUmemGenericAllocationHandle h);
/* The handle that the user or a mapping holds, or NULL. */
struct vmm_handle *handle_alive(CUmemGenericAllocationHandle h);
CUmemGenericAllocationHandle handle_name(const struct vmm_handle *h);
/* Takes over a reference of m; on failure too. */
CUresult handle_new(struct vmm_memory *m, const CUmemAllocationProp *prop, struct vmm_handle **out);
/* After held or mapped went down. */
void handle_drop(struct vmm_handle *h);

/* --- mapping.c --- */
struct vmm_mapping {
    struct allocation a;           /* base, size */
    struct vmm_handle *handle;
    struct vmm_mapping *next, **from; /* of the same memory */
    RB_ENTRY(vmm_mapping) link;
    unsigned char old_access[MAX_DEVICES], old_host; /* what a change that fails goes back to */
    bool host_before, old_host_before; /* the host's access was changed before device 0's, to what they have */
    _Atomic unsigned char access[MAX_DEVICES], host; /* CUmemAccess_flags; the space looks at them without vmm_lock */
};
/* The mapping that shows the address, or NULL. */
struct vmm_mapping *mapping_at(uint64_t address);
/* The lowest that ends above address, or NULL; the one above m. */
struct vmm_mapping *mapping_from(uint64_t address);
struct vmm_mapping *mapping_next(struct vmm_mapping *m);
/* With the lock, after anything that vmm_changes counts: who looked without the lock before it was done has an old count. */
void mappings_changed(void);
static inline uint64_t mapping_end(const struct vmm_mapping *m) { return m->a.base + m->a.size; }

/* --- access.c --- */
/* Brings the page table of d (NULL: the host) from what it holds of m (`from`) to `to`. */
CUresult access_apply(const struct vmm_mapping *m, const struct device *d, unsigned from, unsigned to);
/* No processor may touch m from now on. */
void access_drop(struct vmm_mapping *m);
/* The device process that d's page table is in, or NULL: there is none, or it died. */
struct processor *access_processor(const struct device *d);

/* --- room.c --- */
/* Whether the device's process can have that many more pieces mapped: then they count. */
bool room_take(int device, unsigned count);
/* A mapping goes, which may leave two pieces where there was one. */
void room_split(int device);

#endif
