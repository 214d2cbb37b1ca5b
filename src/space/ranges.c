/* Which addresses are whose: the ranges of layout.h, as other folders may know them. */
#include "context/context.h"
#include "space/layout.h"
#include "space/space.h"

#include <stdatomic.h>
#include <sys/resource.h>

/* What devices that do not exist would have is anybody's: an address sanitizer's heap is there. */
bool space_is_ours(uint64_t address)
{
    const struct space_layout *l = &space_layout;
    return (address >= l->reserve && address < l->reserve_end) || (address >= l->import && address < l->import_end) ||
           (address >= l->window && address < l->window + (uint64_t)device_count * l->span) ||
           (address >= l->host_base && address < l->managed_end);
}

uint64_t space_reserve_base(void) { return space_layout.reserve; }
uint64_t space_reserve_end(void) { return space_layout.reserve_end; }
uint64_t space_import_base(void) { return space_layout.import; }
uint64_t space_import_end(void) { return space_layout.import_end; }
uint64_t space_managed_base(void) { return space_layout.managed; }

/* All of it has an alias or two; where a process's addresses are limited, others need some too. */
uint64_t space_managed_end(void)
{
    static _Atomic uint64_t known;
    uint64_t end = atomic_load_explicit(&known, memory_order_relaxed),
             size = space_layout.managed_end - space_layout.managed;
    struct rlimit limit;
    if (end) return end;
    if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur / 16 < size)
        size = limit.rlim_cur / 16 / VRAM_CHUNK * VRAM_CHUNK;
    atomic_store_explicit(&known, space_layout.managed + size, memory_order_relaxed);
    return space_layout.managed + size;
}
