/* Which addresses are free in this process; see layout.h. Nearly all programs
 * have the ordinary ones. */
#include "space/layout.h"

#include "base/units.h"
#include "base/visible.h"

#include <dlfcn.h>
#include <stddef.h>
#include <sys/mman.h>

#define TIB (1ull << 40)

#define WINDOW(base, stride, managed_strides) \
    .window = base, .span = stride, .host_base = base + MAX_DEVICES * stride, \
    .code_base = base + (MAX_DEVICES + 1) * stride, .managed = base + (MAX_DEVICES + 2) * stride, \
    .managed_end = base + (MAX_DEVICES + 2 + managed_strides) * stride

#define ORDINARY \
    { \
        .reserve = 0x100100000000, .reserve_end = 0x500100000000, .import = 0x501000000000, \
        .import_end = 0x510000000000, WINDOW(0x570000000000, TIB, 4) \
    }

/* ThreadSanitizer keeps its books of three ranges of addresses and lets nobody map elsewhere */
#define BESIDE_THREAD_SANITIZER \
    { \
        .reserve = 0x7400000000, .reserve_end = 0x7f00000000, .import = 0x0800000000, .import_end = 0x1000000000, \
        WINDOW(0x1000000000, 0x500000000, 2) \
    }

#ifdef __SANITIZE_THREAD__
struct space_layout space_layout = BESIDE_THREAD_SANITIZER;
#else
struct space_layout space_layout = ORDINARY;
#endif

/* Where the stack may be of any size, or in the oldest layout of Linux, what has no address of its own gets one
 * in the midst of ours. Reservations then begin above it. */
static void make_room(struct space_layout *l)
{
    enum { GROWS = 4, LEAST = 8 };
    void *page = mmap(NULL, PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    uint64_t here = (uintptr_t)page, above = (here + GROWS * TIB) / TIB * TIB + TIB;
    munmap(page, PAGE_BYTES);
    if (here < l->reserve || here >= l->reserve_end) return;
    if (above + LEAST * TIB <= l->reserve_end)
        l->reserve = above;
    else
        l->reserve_end = (here - 2 * GROWS * TIB) / TIB * TIB;
}

void layout_choose(void)
{
    if (dlsym(RTLD_DEFAULT, "__tsan_init"))
        space_layout = (struct space_layout)BESIDE_THREAD_SANITIZER;
    else
        make_room(&space_layout);
}
