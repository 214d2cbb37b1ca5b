/* Copies of tensors, their maps, and copies that reduce. The run time
 * (src/device/tensor.c, reduce.c) does them at once, as all asynchronous copies
 * are done (emit_async.c). */
#include "abi.h"
#include "arena.h"
#include "emit.h"
#include "tensor_map.h"

#include <string.h>

enum { MAP_ALIGN = 64, BOX_ALIGN = 128 };

static const char *address64(struct emitter *e, const struct instr *i, unsigned n, enum ptx_space space, unsigned bytes)
{
    const char *group;
    if (i->nops <= n) fail(i, "wrong number of operands");
    return emit(e, "ptrtoint ptr %s to i64", address_of(e, i, &i->ops[n], space, bytes, &group));
}

/* ---- reductions */

static uint32_t operation(const struct instr *i)
{
    static const struct {
        enum ptx_mod mod;
        enum fl_reduce_op op;
    } known[] = { { MOD_add, FL_REDUCE_ADD }, { MOD_min, FL_REDUCE_MIN }, { MOD_max, FL_REDUCE_MAX },
                  { MOD_inc, FL_REDUCE_INC }, { MOD_dec, FL_REDUCE_DEC }, { MOD_and, FL_REDUCE_AND },
                  { MOD_or, FL_REDUCE_OR },   { MOD_xor, FL_REDUCE_XOR } };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (has(i, known[k].mod)) return (uint32_t)known[k].op << FL_REDUCE_OP;
    fail(i, "an operation is missing");
}

/* Of memory: the operation and the type. */
static uint32_t reduction(const struct instr *i, enum ptx_type t)
{
    static const struct {
        enum ptx_type name;
        enum fl_tensor_type type;
    } known[] = { { T_u32, FL_TENSOR_U32 }, { T_s32, FL_TENSOR_S32 },   { T_u64, FL_TENSOR_U64 },
                  { T_s64, FL_TENSOR_S64 }, { T_b32, FL_TENSOR_U32 },   { T_b64, FL_TENSOR_U64 },
                  { T_f16, FL_TENSOR_F16 }, { T_bf16, FL_TENSOR_BF16 }, { T_f32, FL_TENSOR_F32 },
                  { T_f64, FL_TENSOR_F64 } };
    bool bits = has(i, MOD_and) || has(i, MOD_or) || has(i, MOD_xor), counts = has(i, MOD_inc) || has(i, MOD_dec);
    bool real = t == T_f32 || t == T_f64;
    if (bits != (t == T_b32 || t == T_b64) || (counts && t != T_u32) || (real && !has(i, MOD_add)))
        fail(i, "the type does not fit the operation");
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (known[k].name == t) return operation(i) | (uint32_t)known[k].type << FL_REDUCE_TYPE;
    fail(i, "the type does not fit the operation");
}

static void complete(struct emitter *e, const struct instr *i, unsigned operand, const char *bytes)
{
    call_rt(e, "mbarrier", "i64 %s, i32 %d, i32 %s", address64(e, i, operand, SPACE_shared, 8),
            (int)FL_MBARRIER_COMPLETE, bytes);
}

/* cp.reduce.async.bulk */
static void emit_reduce(struct emitter *e, const struct instr *i)
{
    bool counted = !has(i, MOD_bulk_group);
    need_operands(i, counted ? 4 : 3, 5);
    if (!i->space || !i->space2) fail(i, "state spaces are missing");
    const char *to = address64(e, i, 0, i->space, 16), *from = address64(e, i, 1, i->space2, 16),
               *bytes = value(e, &i->ops[2], T_b32);
    call_rt(e, "reduce", "i32 %s, i32 %d, i64 %s, i64 %s, i32 %s, i32 %u", e->t, i->line, to, from, bytes,
            reduction(i, need_type(i, 0)));
    if (counted) complete(e, i, 3, bytes);
}

/* A reduction of one element, and as many bytes complete at the mbarrier. */
static void emit_reduce_async(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    unsigned bytes = type_bytes(t);
    if (i->space != SPACE_shared && i->space != SPACE_none) unsupported(i, NULL);
    need_operands(i, 3, 3);
    uint32_t what = reduction(i, t);
    const char *slot = arena_printf("%%RA%u", e->next++);
    fprintf(e->head, "  %s = alloca i64\n", slot);
    emit_void(e, "store %s %s, ptr %s", lltype(t), value(e, &i->ops[1], t), slot);
    call_rt(e, "reduce", "i32 %s, i32 %d, i64 %s, i64 %s, i32 %u, i32 %u", e->t, i->line,
            address64(e, i, 0, SPACE_shared, bytes), emit(e, "ptrtoint ptr %s to i64", slot), bytes, what);
    complete(e, i, 2, arena_printf("%u", bytes));
}

/* ---- tensors */

static unsigned dimensions(const struct instr *i)
{
    static const enum ptx_mod names[] = { MOD_1d, MOD_2d, MOD_3d, MOD_4d, MOD_5d };
    for (unsigned k = 0; k < FL_TENSOR_RANK; k++)
        if (has(i, names[k])) return k + 1;
    fail(i, "the number of dimensions is missing");
}

static void check_coordinates(const struct instr *i, unsigned operand, unsigned n)
{
    const struct operand *o = &i->ops[operand];
    if (i->nops <= operand || o->kind != OPERAND_address || o->count != n) fail(i, "wrong number of coordinates");
}

/* Behind them there is room for offsets. */
static const char *coordinates(struct emitter *e, const struct instr *i, unsigned operand, unsigned n)
{
    check_coordinates(i, operand, n);
    const char *slot = arena_printf("%%TC%u", e->next++);
    fprintf(e->head, "  %s = alloca [%d x i32], align 16\n", slot, FL_TENSOR_RANK + FL_TENSOR_PLACES);
    for (unsigned k = 0; k < n; k++)
        emit_void(e, "store i32 %s, ptr %s", value(e, &i->ops[operand].elements[k], T_b32),
                  emit(e, "getelementptr i32, ptr %s, i32 %u", slot, k));
    return slot;
}

static void check_offsets(const struct instr *i, unsigned operand, unsigned n)
{
    if (i->ops[operand].kind != OPERAND_vector || i->ops[operand].count != n - 2) fail(i, "wrong number of offsets");
}

static void put_offsets(struct emitter *e, const struct instr *i, unsigned operand, unsigned n, const char *slot)
{
    check_offsets(i, operand, n);
    for (unsigned k = 0; k < n - 2; k++)
        emit_void(e, "store i32 %s, ptr %s",
                  emit(e, "zext i16 %s to i32", value(e, &i->ops[operand].elements[k], T_b16)),
                  emit(e, "getelementptr i32, ptr %s, i32 %u", slot, FL_TENSOR_RANK + k));
}

static void emit_tensor_load(struct emitter *e, const struct instr *i, unsigned n)
{
    bool columns = has(i, MOD_im2col), multicast = has(i, MOD_multicast), hint = strstr(i->text, "::cache_hint");
    need_operands(i, 3 + columns + multicast + hint, 3 + columns + multicast + hint);
    const char *at = coordinates(e, i, 1, n), *mask = "0";
    if (columns) put_offsets(e, i, 3, n, at);
    if (multicast) mask = emit(e, "zext i16 %s to i32", value(e, &i->ops[3 + columns], T_b16));
    const char *map = address64(e, i, 1, SPACE_generic, MAP_ALIGN), *to = address64(e, i, 0, SPACE_shared, BOX_ALIGN);
    call_rt(e, "tensor", "i32 %s, i32 %d, i64 %s, i64 %s, ptr %s, i64 %s, i32 %s, i32 %u", e->t, i->line, map, to, at,
            address64(e, i, 2, SPACE_shared, 8), mask, n | (columns ? (uint32_t)FL_TENSOR_COLUMNS : 0));
}

static void emit_tensor_store(struct emitter *e, const struct instr *i, unsigned n)
{
    bool hint = strstr(i->text, "::cache_hint");
    need_operands(i, 2 + hint, 2 + hint);
    if (!has(i, MOD_bulk_group)) fail(i, "its completion is missing");
    uint32_t what = n | (uint32_t)FL_TENSOR_STORE | (has(i, MOD_reduce) ? operation(i) : 0);
    if (has(i, MOD_im2col_no_offs)) what |= FL_TENSOR_COLUMNS;
    const char *at = coordinates(e, i, 0, n), *map = address64(e, i, 0, SPACE_generic, MAP_ALIGN);
    call_rt(e, "tensor", "i32 %s, i32 %d, i64 %s, i64 %s, ptr %s, i64 0, i32 0, i32 %u", e->t, i->line, map,
            address64(e, i, 1, SPACE_shared, BOX_ALIGN), at, what);
}

static void emit_copy(struct emitter *e, const struct instr *i)
{
    unsigned n = dimensions(i);
    bool columns = has(i, MOD_im2col), stored_columns = has(i, MOD_im2col_no_offs);
    if ((columns || stored_columns) && n < 3) fail(i, "columns of pixels have three dimensions at least");
    if (has(i, MOD_prefetch)) {
        need_operands(i, 1u + columns, 2u + columns);
        check_coordinates(i, 0, n);
        if (columns) check_offsets(i, 1, n);
    } else if (i->space == SPACE_shared && i->space2 == SPACE_global && !has(i, MOD_reduce) && !stored_columns) {
        emit_tensor_load(e, i, n);
    } else if (i->space == SPACE_global && i->space2 == SPACE_shared && !columns) {
        emit_tensor_store(e, i, n);
    } else {
        fail(i, "from one of shared and global memory to the other");
    }
}

/* ---- tensor maps */

static void emit_replace(struct emitter *e, const struct instr *i)
{
    static const struct {
        const char *name;
        enum fl_tensor_field field;
        bool ordinal;
    } fields[] = { { ".global_address.", FL_TENSOR_FIELD_ADDRESS, false },
                   { ".rank.", FL_TENSOR_FIELD_RANK, false },
                   { ".box_dim.", FL_TENSOR_FIELD_BOX, true },
                   { ".global_dim.", FL_TENSOR_FIELD_DIM, true },
                   { ".global_stride.", FL_TENSOR_FIELD_STRIDE, true },
                   { ".element_stride.", FL_TENSOR_FIELD_STEP, true },
                   { ".elemtype.", FL_TENSOR_FIELD_TYPE, false },
                   { ".interleave_layout.", FL_TENSOR_FIELD_INTERLEAVE, false },
                   { ".swizzle_mode.", FL_TENSOR_FIELD_SWIZZLE, false },
                   { ".fill_mode.", FL_TENSOR_FIELD_FILL, false } };
    size_t k = 0, count = sizeof fields / sizeof *fields;
    while (k < count && !strstr(i->text, fields[k].name)) k++;
    if (k == count || !strstr(i->text, ".tile.")) unsupported(i, NULL);
    unsigned at = fields[k].ordinal ? 2 : 1;
    need_operands(i, at + 1, at + 1);
    enum ptx_type t = need_type(i, 0);
    if (t != T_b32 && t != T_b64) fail(i, "the type does not fit the field");
    const char *v = value(e, &i->ops[at], t);
    if (t == T_b32) v = emit(e, "zext i32 %s to i64", v);
    call_rt(e, "tensor_replace", "i32 %s, i32 %d, i64 %s, i32 %d, i32 %s, i64 %s", e->t, i->line,
            address64(e, i, 0, i->space, MAP_ALIGN), (int)fields[k].field,
            fields[k].ordinal ? value(e, &i->ops[1], T_b32) : "0", v);
}

/* All lanes of the warp copy the same. */
static void emit_map_copy(struct emitter *e, const struct instr *i)
{
    need_operands(i, 3, 3);
    if (!i->space || !i->space2) fail(i, "state spaces are missing");
    call_rt(e, "copy", "i64 %s, i64 %s, i32 %s", address64(e, i, 0, i->space, MAP_ALIGN),
            address64(e, i, 1, i->space2, MAP_ALIGN), value(e, &i->ops[2], T_b32));
}

bool emit_tensor(struct emitter *e, const struct instr *i)
{
    if (i->op == OP_tensormap) {
        if (strstr(i->text, ".replace."))
            emit_replace(e, i);
        else if (strstr(i->text, ".cp_fenceproxy."))
            emit_map_copy(e, i);
        else
            unsupported(i, NULL);
    } else if (i->op == OP_red && has(i, MOD_async)) {
        emit_reduce_async(e, i);
    } else if (i->op == OP_cp && has(i, MOD_tensor)) {
        emit_copy(e, i);
    } else if (i->op == OP_cp && has(i, MOD_reduce)) {
        emit_reduce(e, i);
    } else {
        return false;
    }
    return true;
}
