/* See mappings.h. */
#include "ordinary/mappings.h"
#include "base/cancel.h"
#include "base/led.h"
#include "base/units.h"
#include "ordinary/given.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static const struct mappings_client *_Atomic client;

typedef int munmap_fn(void *, size_t);
typedef void *mmap_fn(void *, size_t, int, int, int, off_t);
typedef void *mremap_fn(void *, size_t, size_t, int, ...);
typedef int protect_fn(void *, size_t, int);
static munmap_fn *real_munmap;
static mmap_fn *real_mmap;
static mremap_fn *real_mremap;
static protect_fn *real_mprotect, *real_msync;

/* The pages of [*va, *va+size) that a client may have; false: none, or no range that the system would take. */
static bool concerns(const struct mappings_client *c, uint64_t *va, uint64_t size, uint64_t *end)
{
    *end = *va + page_up(size);
    if (!c || *va % PAGE_BYTES || *end <= *va || *va >= c->end || *end <= c->base) return false;
    if (*va < c->base) *va = c->base;
    if (*end > c->end) *end = c->end;
    return true;
}

/* Before it is unmapped, or something else is mapped there. False: it cannot be; errno says why. */
static bool may_go(uint64_t va, uint64_t size)
{
    const struct mappings_client *c = atomic_load(&client);
    uint64_t end;
    if (!concerns(c, &va, size, &end)) return true;
    const int cancel = cancel_defer();
    bool may = !c->goes(va, end);
    cancel_restore(cancel);
    if (!may) errno = ENOMEM;
    return may;
}

static void parts(uint64_t va, uint64_t size, unsigned mask, unsigned value)
{
    const struct mappings_client *c = atomic_load(&client);
    uint64_t end;
    if (!concerns(c, &va, size, &end)) return;
    const int before = errno, cancel = cancel_defer();
    c->parts(va, end, mask, value);
    cancel_restore(cancel);
    errno = before;
}

static bool holds(uint64_t va, uint64_t size, bool all)
{
    const struct mappings_client *c = atomic_load(&client);
    uint64_t from = va, end;
    return concerns(c, &from, size, &end) && (!all || (from == va && end - va >= size)) && c->holds(from, end, all);
}

/* ---- unmapping, and mapping something else there */

static int led_munmap(void *p, size_t size) { return may_go((uint64_t)p, size) ? real_munmap(p, size) : -1; }

static void *led_mmap(void *p, size_t size, int prot, int flags, int fd, off_t offset)
{
    const bool replaces = flags & MAP_FIXED && !(flags & MAP_FIXED_NOREPLACE);
    if (replaces && !may_go((uint64_t)p, size)) return MAP_FAILED;
    return real_mmap(p, size, prot, flags, fd, offset);
}

/* ---- moving */

/* Whoever touches it gets SIGBUS, as where a GPU's driver's memory was moved to. */
static void *map_nothing(void *at, size_t size, int flags)
{
    int fd = memfd_create("faultline-moved", MFD_CLOEXEC);
    if (fd < 0) return MAP_FAILED;
    void *p = real_mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0);
    const int error = errno;
    close(fd);
    errno = error;
    return p;
}

static void *fails(int error)
{
    errno = error;
    return MAP_FAILED;
}

/* All of old is managed memory. In the order in which Linux checks. */
static void *move_managed(char *old, size_t size, size_t to_size, int flags, void *to)
{
    if (flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP)) return fails(EINVAL);
    if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) && !(flags & MREMAP_MAYMOVE)) return fails(EINVAL);
    if (!to_size || flags & MREMAP_DONTUNMAP) return fails(EINVAL);
    const uint64_t target = (uint64_t)to, target_end = target + page_up(to_size);
    const bool moves = flags & MREMAP_FIXED;
    if (moves && (target % PAGE_BYTES || (target < (uint64_t)old + page_up(size) && target_end > (uint64_t)old)))
        return fails(EINVAL);
    if (to_size > size) return fails(EFAULT);
    if (!moves) return to_size == size || !led_munmap(old + page_up(to_size), size - to_size) ? old : MAP_FAILED;
    if (!may_go(target, to_size)) return MAP_FAILED;
    void *at = map_nothing(to, to_size, MAP_FIXED);
    if (at != MAP_FAILED) led_munmap(old, size);
    return at;
}

static void *led_mremap(void *old, size_t size, size_t to_size, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(more, void *) : NULL;
    va_end(more);
    if (size && holds((uint64_t)old, size, true)) return move_managed(old, size, to_size, flags, to);
    if (flags & MREMAP_FIXED && !may_go((uint64_t)to, to_size)) return MAP_FAILED;
    return real_mremap(old, size, to_size, flags, to);
}

/* ---- what is said of mappings */

enum { ACCESS = 7, ORDER = 3 << 3, LARGE = 3 << 5, FORKS = 1 << 7, UNDUMPED = 1 << 8 };

static int led_mprotect(void *p, size_t size, int prot)
{
    int result = real_mprotect(p, size, prot);
    if (!result) parts((uint64_t)p, size, ACCESS, ((unsigned)prot & ACCESS) ^ (PROT_READ | PROT_WRITE));
    return result;
}

/* A file of a GPU's driver's cannot be written back. */
static int led_msync(void *p, size_t size, int flags)
{
    if (!(flags & MS_SYNC) || flags & ~(MS_SYNC | MS_INVALIDATE) || !holds((uint64_t)p, size, false))
        return real_msync(p, size, flags);
    errno = EINVAL;
    return -1;
}

bool mappings_refuse(uint64_t va, uint64_t size, int advice, int *result)
{
    if ((advice != MADV_REMOVE && advice != MADV_DODUMP) || !holds(va, size, false)) return false;
    errno = advice == MADV_REMOVE ? ENODEV : EINVAL;
    *result = -1;
    return true;
}

void mappings_advised(uint64_t va, uint64_t size, int advice)
{
    switch (advice) {
    case MADV_NORMAL: parts(va, size, ORDER, 0); break;
    case MADV_RANDOM: parts(va, size, ORDER, 1 << 3); break;
    case MADV_SEQUENTIAL: parts(va, size, ORDER, 2 << 3); break;
    case MADV_HUGEPAGE: parts(va, size, LARGE, 1 << 5); break;
    case MADV_NOHUGEPAGE: parts(va, size, LARGE, 2 << 5); break;
    case MADV_DOFORK: parts(va, size, FORKS, FORKS); break;
    case MADV_DONTFORK: parts(va, size, FORKS, 0); break;
    case MADV_DONTDUMP: parts(va, size, UNDUMPED, UNDUMPED); break;
    default: break;
    }
}

void mappings_lead(const struct mappings_client *c)
{
    static _Atomic unsigned long long objects;
    static const struct led list[] = { { "munmap", led_munmap, false },     { "mmap", led_mmap, false },
                                       { "mmap64", led_mmap, false },       { "mremap", led_mremap, false },
                                       { "mprotect", led_mprotect, false }, { "msync", led_msync, false },
                                       { 0 } };
    real_munmap = munmap;
    real_mmap = mmap;
    real_mremap = mremap;
    real_mprotect = mprotect;
    real_msync = msync;
    atomic_store(&client, c);
    led_lead_new(list, &objects);
    given_lead();
}

void mappings_in_child(void) { atomic_store(&client, NULL); }
