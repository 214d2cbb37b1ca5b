/* Surfaces: loads and stores of bytes, stores of elements in the surface's format, and reductions of either. What is
 * behind a handle the run time knows (src/device/surface.c). */
#include "abi.h"
#include "emit_texture.h"
#include "ptx/tensor_map.h"

/* n-th of the data of a load or store. */
static const struct operand *datum(const struct instr *i, const struct operand *o, unsigned n)
{
    unsigned length = vector_length(i);
    if (o->kind != OPERAND_vector && length == 1) return o;
    if (o->kind != OPERAND_vector || o->count != length) fail(i, "the vector's length does not fit");
    return &o->elements[n];
}

/* The shape, and what happens outside. */
static uint32_t access(const struct instr *i)
{
    if (has(i, MOD_trap) + has(i, MOD_clamp) + has(i, MOD_zero) != 1) fail(i, "what happens outside is missing");
    const uint32_t what = texture_shape(i);
    if (what & FL_TEXTURE_CUBE) unsupported(i, NULL);
    return what |
           (has(i, MOD_clamp)  ? FL_SURFACE_CLAMP
            : has(i, MOD_zero) ? FL_SURFACE_ZERO
                               : 0) |
           (has(i, MOD_p) ? FL_SURFACE_SAMPLES : 0);
}

static const char *at_byte(struct emitter *e, const char *slot, unsigned byte)
{
    return emit(e, "getelementptr i8, ptr %s, i32 %u", texture_word(e, slot, 4), byte);
}

static void put_data(struct emitter *e, const struct instr *i, enum ptx_type type, const char *slot)
{
    const unsigned bytes = type_bytes(type);
    for (unsigned k = 0; k < vector_length(i); k++)
        emit_void(e, "store %s %s, ptr %s, align %u", lltype(type), value(e, datum(i, &i->ops[1], k), type),
                  at_byte(e, slot, k * bytes), bytes);
}

static void call(struct emitter *e, const struct instr *i, const struct operand *at, const char *slot, uint32_t what)
{
    tell_place(e, i);
    call_rt(e, "surface", "i32 %s, i32 %d, i64 %s, ptr %s, i32 %u", e->t, i->line, texture_handle(e, i, at), slot,
            what);
}

static void emit_access(struct emitter *e, const struct instr *i)
{
    const bool store = i->op == OP_sust, formatted = store && has(i, MOD_p);
    need_operands(i, 2, 2);
    enum ptx_type type = need_type(i, 0);
    unsigned n = vector_length(i), bytes = type_bytes(type);
    if (!(formatted ? type == T_b32 : has(i, MOD_b)) || !type_bitwise(type) || bytes * n > 16) unsupported(i, NULL);
    const uint32_t what = access(i) | (bytes * n) << FL_SURFACE_BYTES | (store ? FL_SURFACE_STORE : 0);
    const struct operand *at = &i->ops[store ? 0 : 1];
    const char *slot = texture_room(e);
    texture_place(e, i, at, what, T_b32, slot);
    if (formatted) emit_void(e, "store <4 x i32> zeroinitializer, ptr %s, align 16", texture_word(e, slot, 4));
    if (store) put_data(e, i, type, slot);
    call(e, i, at, slot, what);
    for (unsigned k = 0; k < n && !store; k++)
        result(e, datum(i, &i->ops[0], k), type,
               emit(e, "load %s, ptr %s, align %u", lltype(type), at_byte(e, slot, k * bytes), bytes));
}

static uint32_t reduction(const struct instr *i)
{
    return has(i, MOD_add)   ? FL_REDUCE_ADD
           : has(i, MOD_min) ? FL_REDUCE_MIN
           : has(i, MOD_max) ? FL_REDUCE_MAX
           : has(i, MOD_and) ? FL_REDUCE_AND
                             : FL_REDUCE_OR;
}

/* Of sured.p the surface knows whether its numbers are signed. */
static void emit_reduction(struct emitter *e, const struct instr *i)
{
    const enum ptx_type type = need_type(i, 0);
    const bool sign = type_signed(type), wide = type_bits(type) == 64;
    const uint32_t element = wide   ? sign ? FL_TENSOR_S64 : FL_TENSOR_U64
                             : sign ? FL_TENSOR_S32
                                    : FL_TENSOR_U32,
                   what = access(i) | FL_SURFACE_STORE | type_bytes(type) << FL_SURFACE_BYTES |
                          reduction(i) << FL_SURFACE_REDUCTION | element << FL_SURFACE_TYPE;
    const char *slot = texture_room(e);
    texture_place(e, i, &i->ops[0], what, T_b32, slot);
    put_data(e, i, type, slot);
    call(e, i, &i->ops[0], slot, what);
}

bool emit_surface(struct emitter *e, const struct instr *i)
{
    switch (i->op) {
    case OP_suld:
    case OP_sust: emit_access(e, i); return true;
    case OP_sured: emit_reduction(e, i); return true;
    default: return false;
    }
}
