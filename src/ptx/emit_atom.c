/* Atomic read-modify-write: atom and red. In shared memory a load and a store;
 * elsewhere integer operations are LLVM's own, the others a compare-and-swap loop. */
#include "arena.h"
#include "emit_float.h"
#include "llvm.h"

#include <inttypes.h>

static const char *order_of(const struct instr *i)
{
    if (has(i, MOD_acq_rel)) return "acq_rel";
    if (has(i, MOD_acquire)) return "acquire";
    if (has(i, MOD_release)) return "release";
    return "monotonic";
}

/* The load's half of an ordering, for a failed exchange. */
static const char *failure_order(const struct instr *i)
{
    return has(i, MOD_acq_rel) || has(i, MOD_acquire) ? "acquire" : "monotonic";
}

static bool is_half(enum ptx_type type)
{
    return type == T_f16 || type == T_f16x2 || type == T_bf16 || type == T_bf16x2;
}

static const char *rmw_name(const struct instr *i, enum ptx_type type)
{
    if (has(i, MOD_exch)) return "xchg";
    if (has(i, MOD_and)) return "and";
    if (has(i, MOD_or)) return "or";
    if (has(i, MOD_xor)) return "xor";
    if (has(i, MOD_inc)) return "uinc_wrap";
    if (has(i, MOD_dec)) return "udec_wrap";
    if (has(i, MOD_add)) return type == T_f32 || type == T_f64 ? "fadd" : "add";
    if (has(i, MOD_min)) return type_signed(type) ? "min" : "umin";
    if (has(i, MOD_max)) return type_signed(type) ? "max" : "umax";
    return NULL;
}

/* One lane of a half-precision operation, bits in, bits out. */
static const char *half_op(struct emitter *e, const struct instr *i, bool bf, const char *a, const char *b)
{
    const char *fa = bf ? bf16_to_f32(e, a) : f16_to_f32(e, a), *fb = bf ? bf16_to_f32(e, b) : f16_to_f32(e, b), *v;
    if (has(i, MOD_add))
        v = emit(e, "fadd float %s, %s", fa, fb);
    else
        v = minmax_float(e, "float", has(i, MOD_max), false, fa, fb);
    return bf ? f32_to_bf16(e, v) : f32_to_f16(e, v);
}

/* An address that may be one of shared memory, whose sums keep subnormals. */
static bool reaches_shared(const struct emitter *e, const struct instr *i)
{
    const struct operand *at = &i->ops[i->op == OP_red ? 0 : 1];
    return !i->space && at->reg && !at->var && !e->probe;
}

static const char *unless_shared(struct emitter *e, const struct instr *i, const char *old, const char *operand,
                                 const char *flushed)
{
    const struct operand *at = &i->ops[i->op == OP_red ? 0 : 1], base = { .kind = OPERAND_reg, .reg = at->reg };
    const char *a = emit(e, "add i64 %s, %" PRId64, value(e, &base, T_b64), at->offset);
    const char *sum = emit(e, "fadd float %s, %s", emit(e, "bitcast i32 %s to float", old),
                           emit(e, "bitcast i32 %s to float", operand));
    return emit(e, "select i1 %s, i32 %s, i32 %s", is_shared(e, a, true), emit(e, "bitcast float %s to i32", sum),
                flushed);
}

static const char *computed(struct emitter *e, const struct instr *i, enum ptx_type type, const char *old,
                            const char *operand)
{
    bool bf = type == T_bf16 || type == T_bf16x2;
    if (type == T_b32) {
        const char *a = flush_f32(e, emit(e, "bitcast i32 %s to float", old));
        const char *b = flush_f32(e, emit(e, "bitcast i32 %s to float", operand));
        const char *flushed = emit(e, "bitcast float %s to i32", flush_f32(e, emit(e, "fadd float %s, %s", a, b)));
        return reaches_shared(e, i) ? unless_shared(e, i, old, operand, flushed) : flushed;
    }
    if (type_bits(type) == 16) return half_op(e, i, bf, old, operand);
    const char *lo = half_op(e, i, bf, emit(e, "trunc i32 %s to i16", old), emit(e, "trunc i32 %s to i16", operand));
    const char *hi = half_op(e, i, bf, emit(e, "trunc i32 %s to i16", emit(e, "lshr i32 %s, 16", old)),
                             emit(e, "trunc i32 %s to i16", emit(e, "lshr i32 %s, 16", operand)));
    return emit(e, "or i32 %s, %s", emit(e, "zext i16 %s to i32", lo),
                emit(e, "shl i32 %s, 16", emit(e, "zext i16 %s to i32", hi)));
}

static const char *exchange_loop(struct emitter *e, const struct instr *i, enum ptx_type type, const char *p,
                                 const char *operand)
{
    const char *t = lltype(type), *loop = new_label(e, "rmw"), *done = new_label(e, "done"),
               *slot = arena_printf("%%OLD%u", e->next++);
    fprintf(e->head, "  %s = alloca %s\n", slot, t);
    emit_void(e, "store %s %s, ptr %s", t,
              emit(e, "load atomic %s, ptr %s monotonic, align %u", t, p, type_bytes(type)), slot);
    place_label(e, loop);
    const char *old = emit(e, "load %s, ptr %s", t, slot), *fresh = computed(e, i, type, old, operand);
    const char *pair =
        emit(e, "cmpxchg ptr %s, %s %s, %s %s %s %s", p, t, old, t, fresh, order_of(i), failure_order(i));
    emit_void(e, "store %s %s, ptr %s", t, emit(e, "extractvalue { %s, i1 } %s, 0", t, pair), slot);
    emit_void(e, "br i1 %s, label %%%s, label %%%s", emit(e, "extractvalue { %s, i1 } %s, 1", t, pair), done, loop);
    fprintf(e->body, "%s:\n", done);
    return old;
}

/* What memory holds afterwards. */
static const char *changed(struct emitter *e, const struct instr *i, enum ptx_type type, const char *old, const char *v)
{
    const char *t = lltype(type), *is, *other;
    if (is_half(type)) return computed(e, i, type, old, v);
    if (has(i, MOD_exch)) return v;
    if (has(i, MOD_inc)) {
        is = emit(e, "icmp ult %s %s, %s", t, old, v);
        other = emit(e, "add %s %s, 1", t, old);
        return emit(e, "select i1 %s, %s %s, %s 0", is, t, other, t);
    }
    if (has(i, MOD_dec)) {
        other = emit(e, "add %s %s, -1", t, old);
        is = emit(e, "icmp ult %s %s, %s", t, other, v); /* also of 0 it is not */
        return emit(e, "select i1 %s, %s %s, %s %s", is, t, other, t, v);
    }
    if (!has(i, MOD_min) && !has(i, MOD_max)) return emit(e, "%s %s %s, %s", rmw_name(i, type), t, old, v);
    is = emit(e, "icmp %c%s %s %s, %s", type_signed(type) ? 's' : 'u', has(i, MOD_min) ? "lt" : "gt", t, old, v);
    return emit(e, "select i1 %s, %s %s, %s %s", is, t, old, t, v);
}

/* A block's threads run on one thread of the system, from one suspension to the next one after the other, and nobody
 * else reaches its shared memory: no instruction need be locked. These accesses depend on each other, so they are in
 * no group. Probes lock them, so that a wrong one is said to be a write. */
static bool is_alone(const struct emitter *e, const struct instr *i)
{
    return i->space == SPACE_shared && !e->probe && !strcmp(order_of(i), "monotonic");
}

static const char *unlocked(struct emitter *e, const struct instr *i, enum ptx_type type, const char *p, const char *v,
                            const struct operand *c)
{
    const char *t = lltype(type), *old = emit(e, "load %s, ptr %s, align %u", t, p, type_bytes(type)), *fresh;
    if (has(i, MOD_cas)) {
        const char *is = emit(e, "icmp eq %s %s, %s", t, old, v);
        fresh = emit(e, "select i1 %s, %s %s, %s %s", is, t, value(e, c, type), t, old);
    } else {
        fresh = changed(e, i, type, old, v);
    }
    emit_void(e, "store %s %s, ptr %s, align %u", t, fresh, p, type_bytes(type));
    return old;
}

/* An operand that LLVM cannot see through: of an operation that changes nothing, as adding 0 does, it makes a load or
 * less, and a device's access would be no write. */
static const char *opaque(struct emitter *e, const char *t, const char *v)
{
    const char *slot = arena_printf("%%SEEN%u", e->next++);
    fprintf(e->head, "  %s = alloca %s\n", slot, t);
    emit_void(e, "store volatile %s %s, ptr %s", t, v, slot);
    return emit(e, "load volatile %s, ptr %s", t, slot);
}

static const char *locked(struct emitter *e, const struct instr *i, enum ptx_type type, const char *p, const char *v,
                          const struct operand *c)
{
    const char *t = lltype(type);
    if (has(i, MOD_cas)) {
        const char *pair =
            emit(e, "cmpxchg ptr %s, %s %s, %s %s %s %s", p, t, v, t, value(e, c, type), order_of(i), failure_order(i));
        return emit(e, "extractvalue { %s, i1 } %s, 0", t, pair);
    }
    if (is_half(type)) return exchange_loop(e, i, type, p, v);
    /* single-precision sums in global memory flush subnormals, as the manual says; those in shared memory do not */
    if (type == T_f32 && has(i, MOD_add) && i->space != SPACE_shared) {
        const char *old = exchange_loop(e, i, T_b32, p, emit(e, "bitcast float %s to i32", v));
        return emit(e, "bitcast i32 %s to float", old);
    }
    if (!has(i, MOD_exch) && type != T_f32 && type != T_f64) v = opaque(e, t, v);
    return emit(e, "atomicrmw %s ptr %s, %s %s %s", rmw_name(i, type), p, t, v, order_of(i));
}

static const char *one(struct emitter *e, const struct instr *i, enum ptx_type type, const char *p,
                       const struct operand *b, const struct operand *c)
{
    const char *v = value(e, b, type);
    return is_alone(e, i) ? unlocked(e, i, type, p, v, c) : locked(e, i, type, p, v, c);
}

static void check_type(const struct instr *i, enum ptx_type t)
{
    bool good;
    if (has(i, MOD_exch) || has(i, MOD_cas))
        good = t == T_b32 || t == T_b64 || t == T_b16 || t == T_b128 ||
               (has(i, MOD_exch) && (t == T_u32 || t == T_s32 || t == T_u64 || t == T_f32));
    else if (has(i, MOD_and) || has(i, MOD_or) || has(i, MOD_xor))
        good = t == T_b32 || t == T_b64;
    else if (has(i, MOD_inc) || has(i, MOD_dec))
        good = t == T_u32;
    else if (has(i, MOD_add))
        good = t == T_u32 || t == T_s32 || t == T_u64 || t == T_f32 || t == T_f64 || t == T_f16 || t == T_f16x2 ||
               t == T_bf16 || t == T_bf16x2;
    else
        good = t == T_u32 || t == T_s32 || t == T_u64 || t == T_s64 || t == T_f16 || t == T_f16x2 || t == T_bf16 ||
               t == T_bf16x2;
    if (!good) fail(i, "the type does not fit the operation");
}

/* The registers of the results may be those of the values. */
static void of_vector(struct emitter *e, const struct instr *i, enum ptx_type type, const char *p,
                      const struct operand *b, unsigned n)
{
    enum { MOST = 8 };
    const char *old[MOST];
    if (b->kind != OPERAND_vector || b->count != n || n > MOST) fail(i, "the vector's length does not fit");
    for (unsigned k = 0; k < n; k++) {
        const char *q = k ? emit(e, "getelementptr i8, ptr %s, i64 %u", p, k * type_bytes(type)) : p;
        old[k] = one(e, i, type, q, &b->elements[k], NULL);
    }
    for (unsigned k = 0; i->op != OP_red && i->ops[0].kind == OPERAND_vector && k < i->ops[0].count; k++)
        result(e, &i->ops[0].elements[k], type, old[k]);
}

bool emit_atomic(struct emitter *e, const struct instr *i)
{
    if (i->op != OP_atom && i->op != OP_red) return false;
    if (has(i, MOD_async) || has(i, MOD_mmio)) unsupported(i, NULL);
    bool red = i->op == OP_red;
    unsigned first = red ? 0 : 1, n = vector_length(i);
    need_operands(i, first + 2, first + 4);
    if (has(i, MOD_cas) && i->nops < first + 3) fail(i, "wrong number of operands");
    enum ptx_type type = need_type(i, i->ntypes > 1 ? 1 : 0);
    if (i->ntypes == 1) type = i->types[0];
    check_type(i, type);
    if (!has(i, MOD_cas) && !rmw_name(i, type)) fail(i, "an operation is missing");
    if (type == T_b128 && !llvm_host_has("cx16")) unsupported(i, "128-bit atomics on this processor");
    const char *group, *p = address_of(e, i, &i->ops[first], i->space, type_bytes(type) * n, &group);
    const struct operand *b = &i->ops[first + 1], *c = &i->ops[first + 2];
    if (n == 1) {
        const char *old = one(e, i, type, p, b, c);
        if (!red) result(e, &i->ops[0], type, old);
        return true;
    }
    of_vector(e, i, type, p, b, n);
    return true;
}
