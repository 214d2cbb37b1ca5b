/* See mappings.h. */
#include "ordinary/mappings.h"
#include "base/backing.h"
#include "base/cancel.h"
#include "base/led.h"
#include "base/units.h"
#include "ordinary/adopted.h"
#include "ordinary/given.h"
#include "ordinary/regions.h"

#include <errno.h>
#include <pthread.h>
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

/* Lies in memory in which a forked child, which has no managed memory, sees zeros. */
struct shown {
    _Atomic(const struct mappings_client *) client;
    uint64_t base, end; /* of its addresses */
};
static _Atomic(struct shown *) shown;
static _Atomic bool any_gone;

static const uint64_t ADDRESSES_END = 1ull << 47;

/* The pages of [*va, *va+size) that are in the client's bounds; NULL: there are none, or the system would take no such range. */
static const struct mappings_client *concerned(uint64_t *va, uint64_t size, uint64_t *end)
{
    struct shown *s = atomic_load(&shown);
    const struct mappings_client *c = s ? atomic_load(&s->client) : NULL;
    *end = *va + page_up(size);
    if (!c || *va % PAGE_BYTES || *end <= *va || *end > ADDRESSES_END || *va >= s->end || *end <= s->base) return NULL;
    if (*va < s->base) *va = s->base;
    if (*end > s->end) *end = s->end;
    return c;
}

static bool holds(uint64_t va, uint64_t size, bool all)
{
    uint64_t from = va, end;
    const struct mappings_client *c = concerned(&from, size, &end);
    return c && (!all || (from == va && end - va == page_up(size))) && c->holds(from, end, all);
}

/* ---- unmapping, and mapping something else there */

struct call {
    bool (*perform)(struct call *c); /* false: it fails */
    char *p;
    size_t size;
    int prot, flags, fd;
    off_t offset;
    char *old; /* of mremap */
    size_t old_size;
    void *at;  /* what mmap and mremap answer */
    int error; /* errno when it has failed */
};

static bool perform(void *arg)
{
    struct call *c = arg;
    bool done = c->perform(c);
    c->error = errno;
    return done;
}

/* What puts something else, or nothing, in the place of [p, p+size). False: it has failed, and errno says why. */
static bool replace(struct call *c)
{
    uint64_t va = (uint64_t)c->p, end;
    const struct mappings_client *of = concerned(&va, c->size, &end);
    if (!of || !of->holds(va, end, false)) return c->perform(c);
    const int before = errno, cancel = cancel_defer();
    CUresult r = of->goes(va, end, perform, c);
    cancel_restore(cancel);
    errno = !r ? before : r == CUDA_ERROR_OUT_OF_MEMORY ? ENOMEM : c->error;
    if (!r) atomic_store(&any_gone, true);
    return !r;
}

static bool unmap(struct call *c) { return !munmap(c->p, c->size); }

static int led_munmap(void *p, size_t size)
{
    return replace(&(struct call){ .perform = unmap, .p = p, .size = size }) ? 0 : -1;
}

void mappings_end_in_child(uint64_t va, uint64_t end)
{
    struct region r;
    for (; atomic_load(&any_gone) && region_at(va, &r) == 1 && r.start < end; va = r.end)
        if (backing_shows(r.device, r.path)) munmap((void *)r.start, r.end - r.start);
    if (!atomic_load(&any_gone)) munmap((void *)va, end - va);
}

static bool map(struct call *c)
{
    c->at = mmap(c->p, c->size, c->prot, c->flags, c->fd, c->offset);
    return c->at != MAP_FAILED;
}

static void *led_mmap(void *p, size_t size, int prot, int flags, int fd, off_t offset)
{
    if (!(flags & MAP_FIXED) || flags & MAP_FIXED_NOREPLACE) return mmap(p, size, prot, flags, fd, offset);
    struct call c = {
        .perform = map, .p = p, .size = size, .prot = prot, .flags = flags, .fd = fd, .offset = offset
    };
    return replace(&c) ? c.at : MAP_FAILED;
}

/* ---- moving */

static bool move(struct call *c)
{
    c->at = mremap(c->old, c->old_size, c->size, c->flags, c->p);
    return c->at != MAP_FAILED;
}

/* Whoever touches it gets SIGBUS, as where a GPU's driver's memory was moved to. */
static bool map_nothing(struct call *c)
{
    if ((c->fd = memfd_create("faultline-moved", MFD_CLOEXEC)) < 0) return false;
    bool done = map(c);
    const int error = errno;
    close(c->fd);
    errno = error;
    return done;
}

static void *fails(int error)
{
    errno = error;
    return MAP_FAILED;
}

/* All of old is managed memory. In the order in which Linux checks. */
static void *move_managed(char *old, size_t size, size_t to_size, int flags, char *to)
{
    size = page_up(size);
    to_size = page_up(to_size);
    if (!to_size || flags & MREMAP_DONTUNMAP) return fails(EINVAL);
    if (flags & MREMAP_FIXED && ((uint64_t)to % PAGE_BYTES || (to < old + size && to + to_size > old))) return fails(EINVAL);
    if (to_size > size) return fails(EFAULT);
    if (!(flags & MREMAP_FIXED))
        return to_size == size || !led_munmap(old + to_size, size - to_size) ? old : MAP_FAILED;
    struct call c = {
        .perform = map_nothing, .p = to, .size = to_size, .prot = PROT_READ | PROT_WRITE, .flags = MAP_SHARED | MAP_FIXED
    };
    if (!replace(&c)) return MAP_FAILED;
    if (!led_munmap(old, size)) return to;
    munmap(to, to_size);
    return fails(ENOMEM);
}

/* Some of old is managed memory: to Linux that is several mappings, which shrink together, but neither grow nor move. */
static void *move_some(char *old, size_t size, size_t to_size, int flags)
{
    size = page_up(size);
    to_size = page_up(to_size);
    if (!to_size) return fails(EINVAL);
    if (to_size >= size || flags & MREMAP_FIXED) return fails(EFAULT);
    return led_munmap(old + to_size, size - to_size) ? MAP_FAILED : old;
}

static bool is_move(const char *old, size_t to_size, int flags)
{
    const int known = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, moving = MREMAP_FIXED | MREMAP_DONTUNMAP;
    return !(flags & ~known) && (!(flags & moving) || flags & MREMAP_MAYMOVE) && to_size && !((uint64_t)old % PAGE_BYTES);
}

static void move_adopted(void *arg)
{
    struct call *c = arg;
    if (!replace(c)) c->at = MAP_FAILED;
}

static void *led_mremap(void *old, size_t size, size_t to_size, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    char *to = flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) ? va_arg(more, char *) : NULL;
    va_end(more);
    const size_t looked_at = size ? size : PAGE_BYTES; /* none: a second mapping of the same is wanted */
    if (is_move(old, to_size, flags) && holds((uint64_t)old, looked_at, false))
        return holds((uint64_t)old, looked_at, true) ? move_managed(old, size, to_size, flags, to)
                                                     : move_some(old, size, to_size, flags);
    struct call c = { .perform = move, .p = to, .size = to_size, .flags = flags, .old = old, .old_size = size };
    if (!(flags & MREMAP_FIXED)) return move(&c) ? c.at : MAP_FAILED;
    if (is_move(old, to_size, flags))
        adopted_move((uint64_t)old, (uint64_t)old + page_up(size), move_adopted, &c);
    else
        move_adopted(&c);
    return c.at;
}

/* ---- what is said of mappings */

enum { ACCESS = 7, ORDER = 3 << 3, LARGE = 3 << 5, FORKS = 1 << 7, UNDUMPED = 1 << 8 };

static void parts(uint64_t va, uint64_t size, unsigned mask, unsigned value)
{
    uint64_t end;
    const struct mappings_client *c = concerned(&va, size, &end);
    if (!c) return;
    const int before = errno, cancel = cancel_defer();
    c->parts(va, end, mask, value);
    cancel_restore(cancel);
    errno = before;
}

static int led_mprotect(void *p, size_t size, int prot)
{
    int result = mprotect(p, size, prot);
    if (!result) parts((uint64_t)p, size, ACCESS, ((unsigned)prot & ACCESS) ^ (PROT_READ | PROT_WRITE));
    return result;
}

/* A file of a GPU's driver's cannot be written back. */
static int led_msync(void *p, size_t size, int flags)
{
    if (!(flags & MS_SYNC) || flags & ~(MS_SYNC | MS_INVALIDATE) || !holds((uint64_t)p, size, false))
        return msync(p, size, flags);
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

void mappings_lead_moves(void)
{
    static _Atomic unsigned long long objects;
    static const struct led list[] = { { "mremap", led_mremap, false }, { 0 } };
    led_lead_new(list, &objects);
}

CUresult mappings_lead(const struct mappings_client *c, uint64_t base, uint64_t end)
{
    static _Atomic unsigned long long objects;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const struct led list[] = { { "munmap", led_munmap, false },     { "mmap", led_mmap, false },
                                       { "mmap64", led_mmap, false },       { "mprotect", led_mprotect, false },
                                       { "msync", led_msync, false },       { 0 } };
    pthread_mutex_lock(&lock);
    if (!atomic_load(&shown)) {
        void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page != MAP_FAILED) {
            madvise(page, PAGE_BYTES, MADV_WIPEONFORK);
            struct shown *s = page;
            s->base = base;
            s->end = end;
            atomic_store(&s->client, c);
            atomic_store(&shown, s);
        }
    }
    pthread_mutex_unlock(&lock);
    if (!atomic_load(&shown)) return CUDA_ERROR_OUT_OF_MEMORY;
    led_lead_new(list, &objects);
    mappings_lead_moves();
    given_lead();
    return CUDA_SUCCESS;
}
