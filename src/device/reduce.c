/* Reductions of many elements at once, each atomic: what bulk copies that
 * reduce do, of memory or of tensors. The types: ptx/tensor_map.h. */
#include "device/combine.h"
#include "device/device.h"
#include "device/rt.h"
#include "ptx/tensor_map.h"

#include <stdbool.h>
#include <string.h>

static bool exists(uint32_t op, uint32_t type)
{
    bool integer = type >= FL_TENSOR_U32 && type <= FL_TENSOR_S64,
         halves = type == FL_TENSOR_F16 || type == FL_TENSOR_BF16;
    switch (op) {
    case FL_REDUCE_ADD: return integer || halves || type == FL_TENSOR_F32 || type == FL_TENSOR_F64;
    case FL_REDUCE_MIN:
    case FL_REDUCE_MAX: return integer || halves;
    case FL_REDUCE_INC:
    case FL_REDUCE_DEC: return type == FL_TENSOR_U32;
    default: return integer;
    }
}

#define UPDATE(type_of_word) \
    { \
        type_of_word *p = (type_of_word *)to, old = __atomic_load_n(p, __ATOMIC_RELAXED); \
        while (!__atomic_compare_exchange_n(p, &old, (type_of_word)combine(old, v, op, type), false, __ATOMIC_ACQ_REL, \
                                            __ATOMIC_RELAXED)) \
            ; \
        return; \
    }

static void update(uint64_t to, uint64_t v, uint32_t op, uint32_t type)
{
    switch (fl_tensor_bytes(type)) {
    case 2: UPDATE(uint16_t)
    case 4: UPDATE(uint32_t)
    default: UPDATE(uint64_t)
    }
}

void device_reduce(struct fl_block *b, uint32_t t, uint32_t line, uint64_t to, uint64_t from, uint32_t bytes,
                   uint32_t what)
{
    uint32_t op = what >> FL_REDUCE_OP & 255, type = what >> FL_REDUCE_TYPE;
    (void)b;
    if (!exists(op, type)) fault_raise(FAULT_ILLEGAL_INSTRUCTION, t, line, "a reduction of elements that have none");
    for (uint32_t each = fl_tensor_bytes(type), k = 0; k + each <= bytes; k += each) {
        uint64_t v = 0;
        memcpy(&v, (const void *)(from + k), each);
        update(to + k, v, op, type);
    }
}
