/* Freed chunks, kept for a while; see parked.h. */
#include "space/parked.h"
#include "space/place.h"

#include <stdlib.h>

enum { QUARANTINE = 8 };
static const uint64_t PARKED_MOST = 64 << 20;

struct parked {
    struct device *device;
    uint64_t offset, size;
    bool mapped; /* devices have it mapped still */
    TAILQ_ENTRY(parked) link;
};

static TAILQ_HEAD(parked_list, parked) parked = TAILQ_HEAD_INITIALIZER(parked); /* the longest parked first */
static unsigned parked_count;
static uint64_t parked_bytes;

static void drop(struct parked *p)
{
    if (p->mapped) place_unmap(p->device, p->offset, p->size);
    vram_drop(&p->device->vram, p->offset, p->size);
    TAILQ_REMOVE(&parked, p, link);
    parked_count--;
    parked_bytes -= p->size;
    free(p);
}

void parked_trim(struct device *d)
{
    struct parked *p, *next;
    TAILQ_FOREACH_SAFE(p, &parked, link, next)
    if (p->device == d) drop(p);
}

/* Chunks of d that nobody uses any more. */
void park(struct device *d, uint64_t offset, uint64_t size, bool mapped)
{
    struct parked *p = size <= PARKED_MOST / 2 ? malloc(sizeof *p) : NULL;
    if (!p) {
        if (mapped) place_unmap(d, offset, size);
        vram_free(&d->vram, offset, size);
        return;
    }
    *p = (struct parked){ .device = d, .offset = offset, .size = size, .mapped = mapped };
    vram_uncharge(&d->vram, size);
    TAILQ_INSERT_TAIL(&parked, p, link);
    parked_count++;
    parked_bytes += size;
    while (parked_bytes > PARKED_MOST) drop(TAILQ_FIRST(&parked));
    if (mapped) place_note();
}

/* The longest parked one of that size, unless it was freed just now: a use of it is to fault for a while. */
bool unpark(struct device *d, uint64_t size, uint64_t *offset, bool *mapped)
{
    struct parked *p;
    if (parked_count < QUARANTINE && parked_bytes < PARKED_MOST / 2) return false;
    TAILQ_FOREACH(p, &parked, link)
    if (p->device == d && p->size == size) {
        if (vram_charge(&d->vram, size)) return false;
        *offset = p->offset;
        *mapped = p->mapped;
        TAILQ_REMOVE(&parked, p, link);
        parked_count--;
        parked_bytes -= size;
        free(p);
        return true;
    }
    return false;
}

void parked_settle(void)
{
    struct parked *p;
    TAILQ_FOREACH(p, &parked, link)
    if (p->mapped) {
        place_unmap(p->device, p->offset, p->size);
        p->mapped = false;
    }
}
