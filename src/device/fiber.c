/* Stacks of threads and the way from one to the next; see fiber.h. */
#include "device/fiber.h"
#include "device/device.h"
#include "device/rt.h"

#include <sys/mman.h>

/* Address space only: what is not touched costs nothing. Frames here are larger than a GPU's. */
enum { DEEP = 192 << 10, FRAMES_LARGER = 8, ROOM = 32 << 10 /* as in src/ptx/function.c */ };

bool fibers_prepare(struct frame *f, uint32_t stack, uint32_t limit)
{
    struct fibers *x = &f->fibers;
    uint64_t deep = (uint64_t)limit * FRAMES_LARGER;
    /* an odd number of cache lines: neighbouring threads' stacks fall into different sets */
    uint64_t stride = (((deep > DEEP ? deep : DEEP) + ROOM + stack + 127) & ~127ull) + 64,
             size = stride * f->b.nthreads;
    if (size > x->size) {
        fibers_release(f);
        if (!(x->stacks = layout_reserve(size, PROT_READ | PROT_WRITE))) return false;
        x->size = size;
        madvise(x->stacks, size, MADV_NOHUGEPAGE);
    }
    f->b.stack_lo = (uint64_t)x->stacks;
    f->b.stack_stride = stride;
    f->b.local_lo = f->b.stack_lo;
    f->b.local_hi = f->b.stack_lo + x->size;
    return true;
}

void fibers_release(struct frame *f)
{
    if (f->fibers.stacks) munmap(f->fibers.stacks, f->fibers.size);
    f->fibers.stacks = NULL;
    f->fibers.size = 0;
}

/* ---- from one stack to another */

/* Leaves the calling stack, noting in *from where, for the one that was left at to. */
void fiber_switch(void **from, void *to);
/* A new stack begins here, with what fiber_start has put into registers. */
void fiber_entry(void);
void fiber_end(struct fl_block *b, uint32_t t);

__asm__(".text\n"
        ".hidden fiber_switch\n.globl fiber_switch\n.type fiber_switch, @function\n"
        "fiber_switch:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n"
        ".size fiber_switch, .-fiber_switch\n"
        ".hidden fiber_entry\n.globl fiber_entry\n.type fiber_entry, @function\n"
        "fiber_entry:\n"
        "  movq %r12, %rdi\n  movl %r13d, %esi\n  movl $1, %edx\n"
        "  call *%r14\n"
        "  movq %r12, %rdi\n  movl %r13d, %esi\n"
        "  call fiber_end\n"
        "  ud2\n"
        ".size fiber_entry, .-fiber_entry\n");

/* What fiber_switch takes from a stack, in its order; what follows is on a 16-byte boundary. */
struct left {
    uint64_t r15, r14, r13, r12, rbx, rbp;
    void (*back)(void);
    uint64_t none[2];
};

static void *fiber_start(struct frame *f, uint32_t t)
{
    struct fl_block *b = &f->b;
    struct left *top = (struct left *)(((b->stack_lo + (t + 1ull) * b->stack_stride) & ~15ull) - sizeof *top);
    *top =
        (struct left){ .r12 = (uint64_t)b, .r13 = t, .r14 = (uint64_t)segment_code(&f->code, 0), .back = fiber_entry };
    return top;
}

void fibers_run(struct frame *f, uint32_t first, uint32_t count)
{
    struct fibers *x = &f->fibers;
    for (uint32_t t = first; t < first + count; t++) {
        f->b.probe_thread = t;
        x->running = true;
        fiber_switch(&x->home, x->sp[t] ? x->sp[t] : fiber_start(f, t));
        x->running = false;
        if (x->raised) fault_go_on();
    }
}

/* The code after a switch may run in another worker than the code before it. */
__attribute__((no_sanitize("thread"))) void fiber_end(struct fl_block *b, uint32_t t)
{
    struct frame *f = (struct frame *)b;
    b->state[t] = FL_EXITED;
    fiber_switch(&f->fibers.sp[t], f->fibers.home);
    __builtin_unreachable();
}

/* Whether code at this address is of the kernel's part, or of functions whose address anybody may have. */
static bool is_of_module(const struct frame *f, uint64_t at)
{
    const struct fl_image *i = f->code.image;
    const uint32_t part = f->code.kernel->part;
    const struct fl_image_part *p = (const struct fl_image_part *)((const char *)i + i->parts);
    at -= (uint64_t)i;
    return at < i->loaded || (part && at - p[part - 1].code < p[part - 1].end - p[part - 1].code);
}

__attribute__((no_sanitize("thread"))) void fiber_suspend(struct fl_block *b, uint32_t t, uint32_t segment)
{
    struct frame *f = (struct frame *)b;
    if (!f->fibers.sp || !is_of_module(f, (uint64_t)__builtin_return_address(0)))
        fault_raise(FAULT_ILLEGAL_INSTRUCTION, t, 0, "a function of another module waits for other threads");
    b->state[t] = (uint16_t)segment;
    fiber_switch(&f->fibers.sp[t], f->fibers.home);
}

void fiber_abandon(struct frame *f)
{
    void *here;
    f->fibers.raised = true;
    fiber_switch(&here, f->fibers.home);
    __builtin_unreachable();
}
