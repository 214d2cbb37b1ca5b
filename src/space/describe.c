/* Words for addresses; see describe.h. */
#include "space/describe.h"
#include "space/layout.h"

#include <inttypes.h>
#include <stdio.h>

enum { FREED = 1024 };

struct freed {
    uint64_t base, size;
    enum allocation_kind kind;
};
static struct freed freed[FREED];
static unsigned freed_count;

void describe_freed(const struct allocation *a)
{
    freed[freed_count++ % FREED] = (struct freed){ a->base, a->size, a->kind };
}

/* ---- words for addresses */

static const char *kind_name(enum allocation_kind k)
{
    static const char *const names[] = { "device memory",           "pinned host memory", "registered host memory",
                                         "managed memory",          "a reservation",      "mapped memory",
                                         "another process's memory" };
    return names[k];
}

static const struct freed *find_freed(uint64_t address)
{
    for (unsigned k = 0; k < FREED && k < freed_count; k++) {
        const struct freed *f = &freed[(freed_count - 1 - k) % FREED];
        if (address - f->base < f->size) return f;
    }
    return NULL;
}

void describe(uint64_t address, const struct surroundings *s, char *out, size_t size)
{
    const struct allocation *a = s->at, *below = s->below, *above = s->above;
    const struct freed *f = a ? NULL : find_freed(address);
    if (f && below && f->base < below->base + below->size) f = NULL; /* its place was taken since */
    const bool unmapped = a && a->owner && a->owner->unmapped && a->owner->unmapped(a, address);
    if (a)
        snprintf(out, size, "byte %" PRIu64 " of %" PRIu64 " bytes of %s at 0x%" PRIx64 "%s", address - a->base, a->size,
                 kind_name(a->kind), a->base, unmapped ? ", which the program has unmapped" : "");
    else if (address < 65536)
        snprintf(out, size, "a null pointer%s", address ? " with an offset" : "");
    else if (f)
        snprintf(out, size, "byte %" PRIu64 " of %" PRIu64 " bytes of %s at 0x%" PRIx64 " that were freed",
                 address - f->base, f->size, kind_name(f->kind), f->base);
    else if (below && address - (below->base + below->size) < 64ull << 20)
        snprintf(out, size, "%" PRIu64 " bytes past the end of %" PRIu64 " bytes of %s at 0x%" PRIx64,
                 address - (below->base + below->size), below->size, kind_name(below->kind), below->base);
    else if (above && above->base - address < 1 << 20)
        snprintf(out, size, "%" PRIu64 " bytes before %" PRIu64 " bytes of %s at 0x%" PRIx64, above->base - address,
                 above->size, kind_name(above->kind), above->base);
    else if (address >= space_layout.window && address < space_layout.managed)
        snprintf(out, size, "device address space with nothing there");
    else
        snprintf(out, size, "memory of the host that no kernel can reach, or no address at all");
}
