/* multimem: operations on an address behind which there is memory of several
 * devices. Their run-time functions (src/device/multimem.c) know which; here
 * the forms are checked and the operands gathered. */
#include "abi.h"
#include "arena.h"
#include "emit.h"

static bool narrow(enum ptx_type t) { return t == T_f16 || t == T_f16x2 || t == T_bf16 || t == T_bf16x2; }
static bool floating(enum ptx_type t) { return narrow(t) || t == T_f32 || t == T_f64; }

static void check_width(const struct instr *i, enum ptx_type t)
{
    unsigned n = vector_length(i), bytes = type_bytes(t) * n;
    if (n > 1 && (!floating(t) || t == T_f64)) fail(i, "this type has no vectors here");
    if (!(floating(t) || t == T_b32 || t == T_b64 || t == T_u32 || t == T_u64 || t == T_s32 || t == T_s64))
        unsupported(i, NULL);
    if (bytes != 4 && bytes != 8 && bytes != 16) fail(i, "4, 8 or 16 bytes can be accessed");
}

static enum fl_reduce_op operation(const struct instr *i, enum ptx_type t)
{
    bool load = has(i, MOD_ld_reduce);
    if (has(i, MOD_add) && !type_bitwise(t) && t != T_s64) return FL_REDUCE_ADD;
    if ((has(i, MOD_min) || has(i, MOD_max)) && (type_integer(t) || (load && narrow(t))))
        return has(i, MOD_min) ? FL_REDUCE_MIN : FL_REDUCE_MAX;
    if (type_bitwise(t)) {
        if (has(i, MOD_and)) return FL_REDUCE_AND;
        if (has(i, MOD_or)) return FL_REDUCE_OR;
        if (has(i, MOD_xor)) return FL_REDUCE_XOR;
    }
    fail(i, "the type does not fit the operation");
}

static enum fl_multimem_type element(const struct instr *i, enum ptx_type t)
{
    bool wide = has(i, MOD_acc_f32);
    if (wide && (!narrow(t) || !has(i, MOD_ld_reduce) || !has(i, MOD_add)))
        fail(i, "the accumulator does not fit the operation");
    switch (t) {
    case T_f16:
    case T_f16x2: return wide ? FL_MULTIMEM_F16_WIDE : FL_MULTIMEM_F16;
    case T_bf16:
    case T_bf16x2: return wide ? FL_MULTIMEM_BF16_WIDE : FL_MULTIMEM_BF16;
    case T_f32: return FL_MULTIMEM_F32;
    case T_f64: return FL_MULTIMEM_F64;
    case T_s32: return FL_MULTIMEM_S32;
    case T_s64: return FL_MULTIMEM_S64;
    case T_u64:
    case T_b64: return FL_MULTIMEM_U64;
    default: return FL_MULTIMEM_U32;
    }
}

static const char *room(struct emitter *e)
{
    const char *slot = arena_printf("%%MM%u", e->next++);
    fprintf(e->head, "  %s = alloca [2 x i64], align 16\n", slot);
    return slot;
}

static const struct operand *lane(const struct instr *i, const struct operand *o, unsigned k)
{
    unsigned n = vector_length(i);
    if ((o->kind == OPERAND_vector) != (n > 1) || (n > 1 && o->count != n)) fail(i, "the vector's length does not fit");
    return n > 1 ? &o->elements[k] : o;
}

bool emit_multimem(struct emitter *e, const struct instr *i)
{
    if (i->op != OP_multimem) return false;
    bool load = has(i, MOD_ld_reduce), store = has(i, MOD_st);
    if (load + store + has(i, MOD_red) != 1) unsupported(i, NULL);
    need_operands(i, 2, 3);
    enum ptx_type type = need_type(i, 0);
    check_width(i, type);
    unsigned n = vector_length(i), bytes = type_bytes(type);
    uint32_t what = (uint32_t)element(i, type) << 8 | (n * bytes) << 16;
    if (!store) what |= (uint32_t)operation(i, type);
    const struct operand *at = &i->ops[load ? 1 : 0], *data = &i->ops[load ? 0 : 1];
    const char *slot = room(e), *group;
    for (unsigned k = 0; k < n && !load; k++)
        emit_void(e, "store %s %s, ptr %s", lltype(type), value(e, lane(i, data, k), type),
                  emit(e, "getelementptr i8, ptr %s, i64 %u", slot, k * bytes));
    const char *p = address_of(e, i, at, SPACE_global, n * bytes, &group);
    call_rt(e,
            load    ? "multimem_load"
            : store ? "multimem_store"
                    : "multimem_reduce",
            "i64 %s, ptr %s, i32 %u", emit(e, "ptrtoint ptr %s to i64", p), slot, what);
    for (unsigned k = 0; k < n && load; k++) {
        const char *q = emit(e, "getelementptr i8, ptr %s, i64 %u", slot, k * bytes);
        result(e, lane(i, data, k), type, emit(e, "load %s, ptr %s", lltype(type), q));
    }
    return true;
}
