/* Multicast addresses: behind each lie the memories of several devices. The
 * address itself is mapped nowhere, so that an ordinary access to it faults
 * (multistore.c); multimem instructions (abi.h) come here and find the members'
 * memories, mapped at other addresses, in a table that the host's commands write.
 *
 * The table is read without a lock, inside kernels that may fault anywhere: a
 * change makes a new one; what it replaces goes when no kernel runs. */
#include "device/combine.h"
#include "device/device.h"
#include "base/log.h"
#include "device/rt.h"
#include "processor/processor.h"
#include "ptx/tensor_map.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A piece of one member's memory behind multicast addresses. */
struct piece {
    uint64_t va, size, backing, offset;
    char *bytes;
    uint32_t prot, member, team; /* team: how many members every address must have */
    struct piece *next;  /* of those that are gone */
};
struct table {
    struct table *next; /* of those that were replaced */
    size_t count;
    struct piece *pieces[];
};
static struct table *_Atomic table;
static struct table *replaced;
static struct piece *gone;

/* ---- the table; only the thread that takes commands writes it */

static void *memory(size_t size)
{
    void *p = calloc(1, size);
    if (p) return p;
    fl_log(FL_LOG_ERROR, "the device process has no memory left for multicast addresses");
    _exit(1);
}

static void publish(struct table *t)
{
    struct table *old = atomic_exchange(&table, t);
    if (old) {
        old->next = replaced;
        replaced = old;
    }
}

/* Kernels may still look at what was replaced, so it goes when none runs. */
static void clean_up(void)
{
    if (atomic_load(&control->running)) return;
    for (struct table *t = replaced, *next; t; t = next) {
        next = t->next;
        free(t);
    }
    for (struct piece *p = gone, *next; p; p = next) {
        next = p->next;
        munmap(p->bytes, p->size);
        free(p);
    }
    replaced = NULL;
    gone = NULL;
}

void multimem_map(uint64_t va, uint64_t size, uint64_t backing, uint64_t offset, uint32_t prot)
{
    const struct table *old = atomic_load(&table);
    size_t count = old ? old->count : 0;
    struct table *t = memory(sizeof *t + (count + 1) * sizeof *t->pieces);
    struct piece *p = memory(sizeof *p);
    *p = (struct piece){ .va = va,
                         .size = size,
                         .backing = backing,
                         .offset = offset,
                         .bytes = agent_map_anywhere(size, backing, offset),
                         .prot = prot & 0xff,
                         .member = prot >> 16,
                         .team = prot >> 8 & 0xff };
    /* by members: the order in which sums are made */
    for (size_t k = 0; k < count && old->pieces[k]->member <= p->member; k++) t->pieces[t->count++] = old->pieces[k];
    const size_t before = t->count;
    t->pieces[t->count++] = p;
    for (size_t k = before; k < count; k++) t->pieces[t->count++] = old->pieces[k];
    publish(t);
    clean_up();
}

void multimem_unmap(uint64_t va, uint64_t size, uint32_t member)
{
    const struct table *old = atomic_load(&table);
    if (!old) return;
    struct table *t = memory(sizeof *t + old->count * sizeof *t->pieces);
    for (size_t k = 0; k < old->count; k++) {
        struct piece *p = old->pieces[k];
        if (p->va < va || p->va >= va + size || p->member != member) {
            t->pieces[t->count++] = p;
            continue;
        }
        /* a kernel that has still looked it up faults there, and hits nothing else */
        mmap(p->bytes, p->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
        p->next = gone;
        gone = p;
    }
    publish(t);
    clean_up();
}

void multimem_make_private(void)
{
    const struct table *t = atomic_load(&table);
    for (size_t k = 0; t && k < t->count; k++)
        agent_remap_private(t->pieces[k]->bytes, t->pieces[k]->size, t->pieces[k]->backing, t->pieces[k]->offset);
}

/* ---- inside kernels */

uint32_t multimem_members(uint64_t address, uint32_t bytes, bool write, uint64_t out[MULTIMEM_MEMBERS])
{
    const struct table *t = atomic_load_explicit(&table, memory_order_acquire);
    uint32_t found = 0, team = 0;
    for (size_t k = 0; t && k < t->count && found < MULTIMEM_MEMBERS; k++) {
        const struct piece *p = t->pieces[k];
        if (address < p->va || address - p->va > p->size - bytes ||
            !(p->prot & (write ? PROT_DEVICE_WRITE : PROT_DEVICE_READ | PROT_DEVICE_WRITE)))
            continue;
        out[found++] = (uint64_t)p->bytes + (address - p->va);
        team = p->team;
    }
    return found == team ? found : 0;
}

/* The same; where there is nothing, the access faults as one to an address that is not mapped. */
static uint32_t members(uint64_t address, uint32_t bytes, bool write, uint64_t out[MULTIMEM_MEMBERS])
{
    uint32_t found = multimem_members(address, bytes, write, out);
    if (!found && write)
        *(volatile uint32_t *)address = 0;
    else if (!found)
        (void)*(volatile uint32_t *)address;
    return found;
}

static uint32_t bytes_of(uint32_t what) { return what >> 16; }
static uint32_t op_of(uint32_t what) { return what & 0xff; }
static uint32_t type_of(uint32_t what) { return what >> 8 & 0xff; }

static uint32_t unit_of(uint32_t type)
{
    return type == FL_MULTIMEM_U64 || type == FL_MULTIMEM_S64 || type == FL_MULTIMEM_F64 ? 8 : 4;
}

/* a op b in one unit: 4 or 8 bytes, two lanes of half precision. */
static uint64_t combine_unit(uint64_t a, uint64_t b, uint32_t op, uint32_t type)
{
    static const uint8_t types[] = { FL_TENSOR_U32, FL_TENSOR_S32, FL_TENSOR_U64, FL_TENSOR_S64,
                                     FL_TENSOR_F32, FL_TENSOR_F64, FL_TENSOR_F16, FL_TENSOR_BF16 };
    if (type < FL_MULTIMEM_F16) return combine(a, b, op, types[type]);
    return combine((uint16_t)a, (uint16_t)b, op, types[type]) |
           combine((uint16_t)(a >> 16), (uint16_t)(b >> 16), op, types[type]) << 16;
}

static uint64_t peek(uint64_t address, uint32_t unit)
{
    return unit == 8 ? __atomic_load_n((const uint64_t *)address, __ATOMIC_ACQUIRE)
                     : __atomic_load_n((const uint32_t *)address, __ATOMIC_ACQUIRE);
}

/* Two lanes added up in single precision over all members, rounded once. */
static uint32_t wide_sum(const uint64_t *at, uint32_t count, uint32_t offset, bool bf)
{
    float lo = 0, hi = 0;
    for (uint32_t m = 0; m < count; m++) {
        uint32_t v = (uint32_t)peek(at[m] + offset, 4);
        lo = m ? lo + combine_value((uint16_t)v, bf) : combine_value((uint16_t)v, bf);
        hi = m ? hi + combine_value((uint16_t)(v >> 16), bf) : combine_value((uint16_t)(v >> 16), bf);
    }
    return bf ? fl_math_bf16_from_f32(lo, 0) | (uint32_t)fl_math_bf16_from_f32(hi, 0) << 16
              : fl_math_f16_from_f32(lo, 0) | (uint32_t)fl_math_f16_from_f32(hi, 0) << 16;
}

void device_multimem_load(struct fl_block *b, uint64_t address, void *out, uint32_t what)
{
    uint64_t at[MULTIMEM_MEMBERS];
    uint32_t type = type_of(what), unit = unit_of(type), count = members(address, bytes_of(what), false, at);
    (void)b;
    for (uint32_t o = 0; o < bytes_of(what) && count; o += unit) {
        uint64_t v = peek(at[0] + o, unit);
        for (uint32_t m = 1; m < count && type < FL_MULTIMEM_F16_WIDE; m++)
            v = combine_unit(v, peek(at[m] + o, unit), op_of(what), type);
        if (type >= FL_MULTIMEM_F16_WIDE) v = wide_sum(at, count, o, type == FL_MULTIMEM_BF16_WIDE);
        memcpy((char *)out + o, &v, unit);
    }
}

void device_multimem_store(struct fl_block *b, uint64_t address, const void *in, uint32_t what)
{
    uint64_t at[MULTIMEM_MEMBERS];
    uint32_t unit = unit_of(type_of(what)), count = members(address, bytes_of(what), true, at);
    (void)b;
    for (uint32_t m = 0; m < count; m++)
        for (uint32_t o = 0; o < bytes_of(what); o += unit) {
            uint64_t v = 0;
            memcpy(&v, (const char *)in + o, unit);
            if (unit == 8)
                __atomic_store_n((uint64_t *)(at[m] + o), v, __ATOMIC_RELEASE);
            else
                __atomic_store_n((uint32_t *)(at[m] + o), (uint32_t)v, __ATOMIC_RELEASE);
        }
}

static void update(uint64_t address, uint64_t operand, uint32_t op, uint32_t type)
{
    if (unit_of(type) == 8) {
        uint64_t old = peek(address, 8);
        while (!__atomic_compare_exchange_n((uint64_t *)address, &old, combine_unit(old, operand, op, type), false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            ;
        return;
    }
    uint32_t old = (uint32_t)peek(address, 4);
    while (!__atomic_compare_exchange_n((uint32_t *)address, &old, (uint32_t)combine_unit(old, operand, op, type),
                                        false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
}

void device_multimem_reduce(struct fl_block *b, uint64_t address, const void *in, uint32_t what)
{
    uint64_t at[MULTIMEM_MEMBERS];
    uint32_t type = type_of(what), unit = unit_of(type), count = members(address, bytes_of(what), true, at);
    (void)b;
    for (uint32_t m = 0; m < count; m++)
        for (uint32_t o = 0; o < bytes_of(what); o += unit) {
            uint64_t v = 0;
            memcpy(&v, (const char *)in + o, unit);
            update(at[m] + o, v, op_of(what), type);
        }
}
