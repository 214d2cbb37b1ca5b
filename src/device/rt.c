/* What compiled kernels may call (src/ptx/abi.h): errors and time. printf is in
 * printf.c, malloc in heap.c, arithmetic in math.c. */
#include "device/rt.h"
#include "base/futex.h"
#include "device/cluster.h"
#include "device/device.h"

#include <stdio.h>
#include <string.h>

static void rt_trap(struct fl_block *b, uint32_t t, uint32_t line)
{
    (void)b;
    fault_raise(FAULT_TRAP, t, line, NULL);
}

static void rt_overflow(struct fl_block *b, uint32_t t, uint32_t line)
{
    (void)b;
    fault_raise(FAULT_STACK, t, line, NULL);
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

static void rt_not_compiled(struct fl_block *b, uint32_t t, uint32_t line)
{
    (void)b;
    fault_raise(FAULT_ILLEGAL_INSTRUCTION, t, line,
                "of a module this large only functions that are called by name are compiled; this one was called through "
                "its address");
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

static void rt_copy(struct fl_block *b, uint64_t to, uint64_t from, uint32_t bytes)
{
    (void)b;
    memmove((void *)to, (const void *)from, bytes);
}

static uint64_t mbarrier_after(uint64_t v, uint32_t op, uint32_t count)
{
    const uint64_t most = FL_MBARRIER_MOST, one_phase = 1ull << FL_MBARRIER_PHASE, bytes_mask = (1ull << 21) - 1;
    uint64_t pending = v & most, expected = v >> FL_MBARRIER_EXPECTED & most,
             bytes = v >> FL_MBARRIER_BYTES & bytes_mask;
    uint64_t phase = v & ~(one_phase - 1);
    switch (op) {
    case FL_MBARRIER_INIT: pending = expected = count, bytes = phase = 0; break;
    case FL_MBARRIER_DROP: expected -= count; /* fall through */
    case FL_MBARRIER_ARRIVE: pending -= count; break;
    case FL_MBARRIER_EXPECT: bytes += count; break;
    default: bytes -= count;
    }
    if (op != FL_MBARRIER_INIT && op != FL_MBARRIER_EXPECT && !(pending & most) && !(bytes & bytes_mask)) {
        pending = expected;
        phase += one_phase;
    }
    return (pending & most) | (expected & most) << FL_MBARRIER_EXPECTED | (bytes & bytes_mask) << FL_MBARRIER_BYTES |
           phase;
}

/* Returns what it was before. It lies in the block's shared memory, where nobody comes between (emit_atom.c). */
uint64_t device_mbarrier(struct fl_block *b, uint64_t address, uint32_t op, uint32_t count)
{
    uint64_t *at = (uint64_t *)address, was = *at;
    (void)b;
    *at = mbarrier_after(was, op, count);
    return was;
}

static void rt_nanosleep(struct fl_block *b, uint32_t ns)
{
    (void)b;
    /* a block sleeps as a whole here: keep it short, the thread yields afterwards anyway */
    uint64_t end = now_ns() + (ns > 2000 ? 2000 : ns);
    while (now_ns() < end) cpu_relax();
}

static void rt_cluster_arrive(struct fl_block *b, uint32_t t) { cluster_arrive((struct frame *)b, t); }

uint32_t device_ctarank(struct fl_block *b, uint64_t address)
{
    uint32_t rank = 0;
    while (rank < b->cluster[0] * b->cluster[1] * b->cluster[2] - 1 &&
           address - b->windows[rank] >= b->shared_window_size)
        rank++;
    return rank;
}

static uint64_t rt_globaltimer(struct fl_block *b)
{
    struct timespec t;
    (void)b;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#define rt_accessed managed_accessed
#define rt_system_atomic managed_atomic
#define CORE(name, sig, ret, params) .name = rt_##name,
#define MATH(name, sig, ret, params) .name = fl_math_##name,
#define rt_suspend fiber_suspend
#define rt_vprintf device_printf
#define rt_malloc device_malloc
#define rt_free device_free
#define rt_multimem_load device_multimem_load
#define rt_multimem_store device_multimem_store
#define rt_multimem_reduce device_multimem_reduce
#define rt_texture device_texture
#define rt_mbarrier device_mbarrier
#define rt_ctarank device_ctarank
#define rt_multicast device_multicast
#define rt_reduce device_reduce
#define rt_tensor device_tensor
#define rt_tensor_replace device_tensor_replace
#define rt_surface device_surface
#define rt_texture_query device_texture_query
const struct fl_rt runtime = { FL_RT_CORE(CORE) FL_RT_MATH(MATH) };
