/* See given.h. What a device reaches is shared memory to Linux, of which
 * MADV_DONTNEED leaves the bytes, and MADV_FREE is an error. So calls of madvise
 * are led here: what is given back gets zeros again, or what its file has; what
 * may be freed is left as it is, as Linux is free to do. Where memory is watched
 * the system tells of it, and others do the work (processor/ordinary.c).
 *
 * Who calls may be the program's malloc, with its locks: nothing here takes
 * memory from there, nor waits for anybody who could. */
#include "ordinary/given.h"
#include "base/cancel.h"
#include "base/led.h"
#include "base/units.h"
#include "ordinary/mappings.h"
#include "ordinary/origins.h"
#include "ordinary/replace.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

typedef int madvise_fn(void *, size_t, int);
static madvise_fn *const real = madvise;

/* Zeros, or a file's bytes, for replaced pages, whatever addresses show them. */
static void give_back(uint64_t va, uint64_t end, bool moved)
{
    struct origin o;
    for (uint64_t at = va; at < end; at = o.end) {
        bool known = origins_at(at, end, &o), told = known && !o.file && !moved;
        if (!told && !(known && o.file && origins_read(at, o.end - at)))
            backing_discard(registrations_backing(), at, o.end - at);
    }
}

/* Calls f for each region of [va, end), and whether its pages were replaced. Answers an error number, UNTOLD if that cannot
 * be told. */
enum { UNTOLD = -1 };
typedef int part_action(const struct region *r, bool replaced);
static int for_parts(uint64_t va, uint64_t end, part_action *f)
{
    struct region r;
    int error = 0;
    for (uint64_t at = va; at < end; at = r.end) {
        int found = region_at(at, &r);
        if (found < 0) return UNTOLD;
        if (!found || r.start > at) error = ENOMEM; /* some are not mapped; the others are done */
        if (!found || r.start >= end) break;
        if (r.start < at) {
            r.offset += at - r.start;
            r.start = at;
        }
        if (r.end > end) r.end = end;
        int e = f(&r, registration_shows(&r));
        if (e) error = e;
    }
    return error;
}

/* While the program forks they are apart: no byte of the file's may change, which the child is to get. Those that cannot be
 * stored to keep what they have. */
static void give_back_apart(const struct region *r)
{
    static const char zeros[PAGE_BYTES];
    if (!(r->prot & PROT_WRITE)) return;
    for (uint64_t at = r->start; at < r->end; at += PAGE_BYTES) pages_copy((char *)at, (uint64_t)zeros, PAGE_BYTES);
}

static int give_back_replaced(const struct region *r, bool replaced)
{
    if (registration_apart(r)) give_back_apart(r);
    if (replaced) give_back(r->offset, r->offset + (r->end - r->start), r->offset != r->start);
    return 0;
}

static int free_others(const struct region *r, bool replaced)
{
    return !replaced && real((void *)r->start, r->end - r->start, MADV_FREE) ? errno : 0;
}

static int give(void *p, size_t size, int advice)
{
    uint64_t va = (uint64_t)p, end = va + page_up(size);
    int result, error;
    unsigned before;
    do {
        before = pages_replaced();
        if (advice == MADV_FREE) {
            error = for_parts(va, end, free_others);
            result = error > 0 ? -1 : 0; /* who cannot tell leaves it */
        } else {
            result = real(p, size, advice);
            error = errno;
            const bool any = registrations_descriptor() >= 0;
            if (any && for_parts(va, end, give_back_replaced) == UNTOLD && !result) {
                result = -1; /* zeros would be counted on */
                error = EAGAIN;
            }
        }
    } while (pages_replaced() != before); /* with what they had before; some may have seemed not to be mapped */
    if (result) errno = error;
    return result;
}

static int take(void *p, size_t size, int advice)
{
    uint64_t va = (uint64_t)p, end = va + page_up(size);
    bool gives = advice == MADV_DONTNEED || advice == MADV_DONTNEED_LOCKED, frees = advice == MADV_FREE;
    if ((!gives && !frees) || (frees && registrations_descriptor() < 0) || va % PAGE_BYTES || end <= va)
        return real(p, size, advice);
    const int cancel = cancel_defer();
    int result = give(p, size, advice);
    cancel_restore(cancel);
    return result;
}

static int led_madvise(void *p, size_t size, int advice)
{
    int result;
    if (mappings_refuse((uint64_t)p, size, advice, &result)) return result;
    result = take(p, size, advice);
    if (!result) mappings_advised((uint64_t)p, size, advice);
    return result;
}

void given_lead(void)
{
    static _Atomic unsigned long long objects;
    static const struct led list[] = { { "madvise", led_madvise, false }, { 0 } };
    led_lead_new(list, &objects);
}
