/* The memory of frames: shared memory, and what threads keep while they wait. */
#include "device/block.h"
#include "device/device.h"
#include "base/units.h"

#include <string.h>
#include <sys/mman.h>
#include <xmmintrin.h>

/* Address space behind where a shared window begins, and before it. */
static const uint64_t WINDOW = 5ull << 30, SMALL_WINDOW = 1 << 20, BEFORE = 3ull << 30;

/* Bytes of the arrays that a waiting thread has an entry in: op_a, op_b, op_c, op_result; op_mask; state; op_pred,
 * status, arrived_at, met. */
enum { ARRAYS = 4 * 8 + 4 + 2 + 4 };

static bool grow(char **p, uint64_t *have, uint64_t want)
{
    if (want <= *have) return true;
    if (*p) munmap(*p, *have);
    want = page_up(want);
    *p = layout_reserve(want, PROT_READ | PROT_WRITE);
    *have = *p ? want : 0;
    return *p;
}

static char *reserve(uint64_t before, uint64_t behind)
{
    char *p = layout_reserve(before + behind, PROT_NONE);
    return p ? p + before : NULL;
}

/* Only the launch's bytes, rounded up to a page, can be touched; what lies around faults. */
static bool open_window(struct frame *f, uint64_t bytes)
{
    bytes = page_up(bytes);
    if (!f->window) {
        f->window_size = WINDOW;
        f->window_before = BEFORE;
        if (!(f->window = reserve(BEFORE, WINDOW)))
            f->window = reserve(f->window_before = SMALL_WINDOW, f->window_size = SMALL_WINDOW);
        if (!f->window) return false;
        f->window_open = 0;
    }
    if (bytes == f->window_open) return true;
    if (bytes > f->window_size) return false;
    if (bytes > f->window_open ? mprotect(f->window, bytes, PROT_READ | PROT_WRITE)
                               : mprotect(f->window + bytes, f->window_open - bytes, PROT_NONE))
        return false;
    f->window_open = bytes;
    return true;
}

void flush_subnormals(bool yes)
{
    enum { ALL_MASKED = 0x1f80, FLUSH_TO_ZERO = 0x8000, DENORMALS_ARE_ZEROS = 0x40 };
    _mm_setcsr(yes ? ALL_MASKED | FLUSH_TO_ZERO | DENORMALS_ARE_ZEROS : ALL_MASKED);
}

bool frame_prepare(struct frame *f, const struct kernel_code *code, const uint32_t block[3], uint32_t dynamic_shared,
                   uint32_t stack_limit)
{
    struct fl_block *b = &f->b;
    const struct fl_image_kernel *k = code->kernel;
    uint32_t n = block[0] * block[1] * block[2], r = (n + 31) & ~31u;
    f->code = *code;
    memcpy(b->ntid, block, sizeof b->ntid);
    b->nthreads = n;
    b->dynamic_shared = (k->static_shared + 15) & ~15u;
    b->dynamic_shared_size = dynamic_shared;
    b->total_shared_size = b->dynamic_shared + dynamic_shared;
    b->reserved_shared = (b->total_shared_size + 15) & ~15u;
    if (!open_window(f, k->flags & FL_KERNEL_RESERVED ? b->reserved_shared + FL_RESERVED_SHARED : b->total_shared_size))
        return false;
    b->shared = (uint8_t *)f->window;
    b->shared_window_size = f->window_size;
    b->local_stride = k->local;
    f->fibers.sp = NULL;
    b->stack_lo = b->stack_stride = 0;
    if (k->nsegments == 1) return true;
    bool whole = k->flags & FL_KERNEL_WHOLE;
    if (!grow(&f->arrays, &f->arrays_size, r * (uint64_t)(whole ? ARRAYS + sizeof *f->fibers.sp : ARRAYS)) ||
        !grow(&f->context, &f->context_size, (uint64_t)k->context * n + 64) ||
        !grow(&f->local, &f->local_size, (uint64_t)k->local * n + 64) ||
        (k->flags & FL_KERNEL_MATRIX && !grow(&f->matrix, &f->matrix_size, r * 4ull * FL_MATRIX_WORDS)))
        return false;
    char *p = f->arrays;
    b->op_a = (uint64_t *)p;
    b->op_b = b->op_a + r;
    b->op_c = b->op_b + r;
    b->op_result = b->op_c + r;
    b->op_mask = (uint32_t *)(b->op_result + r);
    b->state = (uint16_t *)(b->op_mask + r);
    b->op_pred = (uint8_t *)(b->state + r);
    f->status = b->op_pred + r;
    f->arrived_at = f->status + r;
    f->met = f->arrived_at + r;
    if (whole) f->fibers.sp = (void **)(f->met + r);
    b->context = (uint8_t *)f->context;
    b->local = (uint8_t *)f->local;
    b->op_matrix = (uint32_t *)f->matrix;
    if (k->local) {
        b->local_lo = (uint64_t)f->local;
        b->local_hi = b->local_lo + f->local_size;
    }
    return !whole || fibers_prepare(f, k->stack, stack_limit);
}

void frame_release(struct frame *f)
{
    if (f->arrays) munmap(f->arrays, f->arrays_size);
    if (f->context) munmap(f->context, f->context_size);
    if (f->local) munmap(f->local, f->local_size);
    if (f->matrix) munmap(f->matrix, f->matrix_size);
    if (f->window) munmap(f->window - f->window_before, f->window_before + f->window_size);
    fibers_release(f);
    memset(f, 0, sizeof *f);
}
