/* What compiled kernels may call (src/ptx/abi.h): errors, time, device-side
 * malloc. printf is in printf.c, arithmetic in math.c. */
#include "device/device.h"
#include "base/futex.h"

#include <stdio.h>
#include <string.h>

#define PROTOTYPE(name, sig, ret, params) ret fl_math_##name params;
FL_RT_MATH(PROTOTYPE)
#undef PROTOTYPE
uint32_t device_printf(struct fl_block *b, uint64_t format, uint64_t args);
void device_multimem_load(struct fl_block *b, uint64_t address, void *out, uint32_t what);
void device_multimem_store(struct fl_block *b, uint64_t address, const void *in, uint32_t what);
void device_multimem_reduce(struct fl_block *b, uint64_t address, const void *in, uint32_t what);

static void rt_trap(struct fl_block *b, uint32_t t, uint32_t line)
{
    (void)b;
    fault_raise(FAULT_TRAP, t, line, NULL);
}

static void rt_misaligned(struct fl_block *b, uint32_t t, uint32_t line)
{
    (void)b;
    fault_raise(FAULT_MISALIGNED, t, line, NULL);
}

static void rt_bad_call(struct fl_block *b, uint32_t t, uint32_t line, uint64_t target)
{
    char text[64];
    (void)b;
    snprintf(text, sizeof text, "call of address 0x%llx", (unsigned long long)target);
    fault_raise(FAULT_ILLEGAL_INSTRUCTION, t, line, text);
}

static void rt_assertfail(struct fl_block *b, uint32_t t, uint64_t message, uint64_t file, uint32_t line,
                          uint32_t ptx_line, uint64_t function)
{
    char text[512];
    snprintf(text, sizeof text, "%.150s:%u: %.120s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%.120s` failed.",
             (const char *)file, line, (const char *)function, b->ctaid[0], b->ctaid[1], b->ctaid[2], t % b->ntid[0],
             t / b->ntid[0] % b->ntid[1], t / b->ntid[0] / b->ntid[1], (const char *)message);
    fault_raise(FAULT_ASSERT, t, ptx_line, text);
}

static void rt_nanosleep(struct fl_block *b, uint32_t ns)
{
    (void)b;
    /* a block sleeps as a whole here: keep it short, the thread yields afterwards anyway */
    uint64_t end = now_ns() + (ns > 2000 ? 2000 : ns);
    while (now_ns() < end) cpu_relax();
}

static uint64_t rt_globaltimer(struct fl_block *b)
{
    struct timespec t;
    (void)b;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- device-side malloc: a first-fit list of blocks that lives in the arena itself */

struct arena {
    _Atomic uint32_t lock;
    uint32_t ready;
    uint64_t size;
};
struct piece {
    uint64_t size /* with this header */, used;
};
enum { USED = 0x46415553u, FREE = 0x45455246u };

static void arena_lock(struct arena *a)
{
    for (unsigned n = 0; atomic_exchange(&a->lock, 1); n++)
        if (n < 100)
            cpu_relax();
        else
            futex_wait(&a->lock, 1, 20000);
}

static void arena_unlock(struct arena *a) { atomic_store(&a->lock, 0); }

static struct piece *first_piece(struct arena *a) { return (struct piece *)((char *)a + 64); }
static struct piece *after(struct arena *a, struct piece *p)
{
    char *next = (char *)p + p->size;
    return next < (char *)a + a->size ? (struct piece *)next : NULL;
}

static uint64_t rt_malloc(struct fl_block *b, uint64_t size)
{
    (void)b;
    struct arena *a = (struct arena *)worker.grid->heap;
    uint64_t need = ((size ? size : 1) + sizeof(struct piece) + 15) & ~15ull, found = 0;
    if (!a || size > worker.grid->heap_size || worker.grid->heap_size < 4096) return 0;
    arena_lock(a);
    if (a->ready != USED) {
        a->size = worker.grid->heap_size & ~15ull;
        *first_piece(a) = (struct piece){ a->size - 64, FREE };
        a->ready = USED;
    }
    for (struct piece *p = first_piece(a); p && !found; p = after(a, p)) {
        if (p->used != FREE) continue;
        for (struct piece *n = after(a, p); n && n->used == FREE; n = after(a, p)) p->size += n->size;
        if (p->size < need) continue;
        if (p->size - need >= 64) {
            *(struct piece *)((char *)p + need) = (struct piece){ p->size - need, FREE };
            p->size = need;
        }
        p->used = USED;
        found = (uint64_t)(p + 1);
    }
    arena_unlock(a);
    return found;
}

static void rt_free(struct fl_block *b, uint64_t address)
{
    struct arena *a = (struct arena *)worker.grid->heap;
    if (!address) return;
    struct piece *p = (struct piece *)address - 1;
    bool inside = a && address > (uint64_t)a && address < (uint64_t)a + worker.grid->heap_size && !(address & 15);
    if (!inside || p->used != USED) rt_trap(b, 0, 0);
    arena_lock(a);
    p->used = FREE;
    arena_unlock(a);
}

#define CORE(name, sig, ret, params) .name = rt_##name,
#define MATH(name, sig, ret, params) .name = fl_math_##name,
#define rt_vprintf device_printf
#define rt_multimem_load device_multimem_load
#define rt_multimem_store device_multimem_store
#define rt_multimem_reduce device_multimem_reduce
const struct fl_rt runtime = { FL_RT_CORE(CORE) FL_RT_MATH(MATH) };
