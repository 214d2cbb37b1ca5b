/* Textures and surfaces: the forms are checked here and the operands gathered;
 * the run time (src/device/texture.c, surface.c) knows what is behind a handle.
 * The words that it takes and gives: abi.h. */
#include "abi.h"
#include "arena.h"
#include "emit.h"

static const char *room(struct emitter *e)
{
    const char *slot = arena_printf("%%TX%u", e->next++);
    fprintf(e->head, "  %s = alloca [%d x i32], align 16\n", slot, FL_TEXTURE_WORDS);
    return slot;
}

static const char *word(struct emitter *e, const char *slot, unsigned n)
{
    return emit(e, "getelementptr i32, ptr %s, i32 %u", slot, n);
}

/* The shape's bits of what. */
static uint32_t shape(const struct instr *i)
{
    unsigned given = 0;
    for (enum ptx_mod m = MOD_1d; m <= MOD_a2dms; m++) given += has(i, m);
    if (given != 1) fail(i, "a shape is missing");
    if (has(i, MOD_2dms) || has(i, MOD_a2dms)) unsupported(i, NULL);
    uint32_t layered = has(i, MOD_a1d) || has(i, MOD_a2d) || has(i, MOD_acube) ? FL_TEXTURE_LAYERED : 0;
    if (has(i, MOD_cube) || has(i, MOD_acube)) return layered | FL_TEXTURE_CUBE | 3;
    return layered | (has(i, MOD_1d) || has(i, MOD_a1d) ? 1 : has(i, MOD_3d) ? 3 : 2);
}

static const char *handle(struct emitter *e, const struct instr *i, const struct operand *o)
{
    bool surface = i->op == OP_suld || i->op == OP_sust || i->op == OP_suq;
    if (o->kind != OPERAND_address) fail(i, "a handle in brackets was expected");
    if (o->var && !o->offset && (surface ? o->var->surface : o->var->texture))
        return value(e, &(struct operand){ .kind = OPERAND_var, .var = o->var }, T_b64);
    if (!o->reg || o->offset || type_bits(o->reg->type) != 64) unsupported(i, NULL);
    return value(e, &(struct operand){ .kind = OPERAND_reg, .reg = o->reg }, T_b64);
}

/* Coordinates to words 0 to 2, a layer, which comes first, to word 3. */
static void put_coordinates(struct emitter *e, const struct instr *i, const struct operand *o, uint32_t what,
                            enum ptx_type type, const char *slot)
{
    unsigned layer = what & FL_TEXTURE_LAYERED ? 1 : 0, n = what & FL_TEXTURE_DIMENSIONS;
    if (o->count < n + layer || o->count > 4) fail(i, "wrong number of coordinates");
    if (layer) emit_void(e, "store i32 %s, ptr %s", value(e, &o->elements[0], T_b32), word(e, slot, 3));
    for (unsigned k = 0; k < n; k++)
        emit_void(e, "store %s %s, ptr %s", lltype(type), value(e, &o->elements[k + layer], type), word(e, slot, k));
}

/* A float, or as many as there are dimensions. */
static void put_floats(struct emitter *e, const struct instr *i, const struct operand *o, unsigned n, const char *slot,
                       unsigned at)
{
    bool vector = o->kind == OPERAND_vector;
    if (vector ? o->count < n : n > 1) fail(i, "wrong number of elements");
    for (unsigned k = 0; k < n; k++)
        emit_void(e, "store float %s, ptr %s", value(e, vector ? &o->elements[k] : o, T_f32), word(e, slot, at + k));
}

static uint32_t gathered(const struct instr *i)
{
    static const enum ptx_mod components[] = { MOD_r, MOD_g, MOD_b, MOD_a };
    for (unsigned k = 0; k < 4; k++)
        if (has(i, components[k])) return FL_TEXTURE_GATHER | k << FL_TEXTURE_COMPONENT;
    fail(i, "a component is missing");
}

static void take_words(struct emitter *e, const struct instr *i, enum ptx_type type, const char *slot)
{
    const struct operand *d = &i->ops[0];
    if (d->kind != OPERAND_vector || d->count != 4) fail(i, "the result has four elements");
    for (unsigned k = 0; k < 4; k++)
        result(e, &d->elements[k], type, emit(e, "load %s, ptr %s", lltype(type), word(e, slot, k)));
    /* of what is not mapped there are no textures */
    if (d->second) result(e, &(struct operand){ .kind = OPERAND_reg, .reg = d->second }, T_pred, "true");
}

static void emit_tex(struct emitter *e, const struct instr *i)
{
    bool level = has(i, MOD_level), gradient = has(i, MOD_grad);
    unsigned operands = level ? 3 : gradient ? 4 : 2;
    if (i->nops > operands) unsupported(i, "with offsets or a depth to compare with");
    need_operands(i, operands, operands);
    enum ptx_type type = need_type(i, 0), coordinate = i->op == OP_tld4 ? T_f32 : need_type(i, 1);
    if (!has(i, MOD_v4) || type_bits(type) != 32 || type == T_f16x2 || (coordinate != T_f32 && coordinate != T_s32) ||
        has(i, MOD_base))
        unsupported(i, NULL);
    uint32_t what = shape(i);
    if (i->op == OP_tld4) {
        what |= gathered(i);
        if ((what & FL_TEXTURE_DIMENSIONS) != 2) unsupported(i, NULL);
    }
    if (gradient + (coordinate == T_s32) + !!(what & FL_TEXTURE_CUBE) > 1) unsupported(i, NULL);
    if (coordinate == T_s32) what |= FL_TEXTURE_INTEGER;
    const char *slot = room(e);
    put_coordinates(e, i, &i->ops[1], what, coordinate, slot);
    unsigned n = what & FL_TEXTURE_DIMENSIONS;
    if (level) {
        what |= FL_TEXTURE_LEVEL;
        if (coordinate == T_s32)
            emit_void(e, "store i32 %s, ptr %s", value(e, &i->ops[2], T_b32), word(e, slot, 4));
        else
            put_floats(e, i, &i->ops[2], 1, slot, 4);
    } else if (gradient) {
        what |= FL_TEXTURE_GRADIENT;
        put_floats(e, i, &i->ops[2], n, slot, 4);
        put_floats(e, i, &i->ops[3], n, slot, 8);
    }
    tell_place(e, i);
    call_rt(e, "texture", "i32 %s, i32 %d, i64 %s, ptr %s, i32 %u", e->t, i->line, handle(e, i, &i->ops[1]), slot,
            what);
    take_words(e, i, type, slot);
}

/* n-th of the data of a load or store. */
static const struct operand *datum(const struct instr *i, const struct operand *o, unsigned n)
{
    unsigned length = vector_length(i);
    if (o->kind != OPERAND_vector && length == 1) return o;
    if (o->kind != OPERAND_vector || o->count != length) fail(i, "the vector's length does not fit");
    return &o->elements[n];
}

static void emit_surface(struct emitter *e, const struct instr *i)
{
    bool store = i->op == OP_sust;
    need_operands(i, 2, 2);
    enum ptx_type type = need_type(i, 0);
    unsigned n = vector_length(i), bytes = type_bytes(type);
    if (!has(i, MOD_b) || !type_bitwise(type) || bytes * n > 16) unsupported(i, NULL);
    if (has(i, MOD_trap) + has(i, MOD_clamp) + has(i, MOD_zero) != 1) fail(i, "what happens outside is missing");
    uint32_t what = shape(i) | (bytes * n) << FL_SURFACE_BYTES;
    if (what & FL_TEXTURE_CUBE) unsupported(i, NULL);
    what |= has(i, MOD_clamp) ? FL_SURFACE_CLAMP : has(i, MOD_zero) ? FL_SURFACE_ZERO : 0;
    if (store) what |= FL_SURFACE_STORE;
    const struct operand *at = &i->ops[store ? 0 : 1], *data = &i->ops[store ? 1 : 0];
    const char *slot = room(e), *first = word(e, slot, 4);
    put_coordinates(e, i, at, what, T_b32, slot);
    for (unsigned k = 0; k < n && store; k++)
        emit_void(e, "store %s %s, ptr %s, align %u", lltype(type), value(e, datum(i, data, k), type),
                  emit(e, "getelementptr i8, ptr %s, i32 %u", first, k * bytes), bytes);
    tell_place(e, i);
    call_rt(e, "surface", "i32 %s, i32 %d, i64 %s, ptr %s, i32 %u", e->t, i->line, handle(e, i, at), slot, what);
    for (unsigned k = 0; k < n && !store; k++)
        result(e, datum(i, data, k), type,
               emit(e, "load %s, ptr %s, align %u", lltype(type),
                    emit(e, "getelementptr i8, ptr %s, i32 %u", first, k * bytes), bytes));
}

static void emit_query(struct emitter *e, const struct instr *i)
{
    static const struct {
        enum ptx_mod mod;
        enum fl_texture_query query;
    } queries[] = { { MOD_width, FL_TEXTURE_WIDTH },
                    { MOD_height, FL_TEXTURE_HEIGHT },
                    { MOD_depth, FL_TEXTURE_DEPTH },
                    { MOD_array_size, FL_TEXTURE_LAYERS },
                    { MOD_num_mipmap_levels, FL_TEXTURE_LEVELS },
                    { MOD_normalized_coords, FL_TEXTURE_UNIT } };
    size_t k = 0;
    if (has(i, MOD_level)) unsupported(i, NULL);
    need_operands(i, 2, 2);
    while (k < sizeof queries / sizeof *queries && !has(i, queries[k].mod)) k++;
    if (k == sizeof queries / sizeof *queries || (i->op == OP_suq && queries[k].query > FL_TEXTURE_LAYERS))
        fail(i, "a query is missing");
    uint32_t what = (uint32_t)queries[k].query | (i->op == OP_suq ? FL_TEXTURE_OF_SURFACE : 0);
    tell_place(e, i);
    result(
        e, &i->ops[0], T_b32,
        call_rt(e, "texture_query", "i32 %s, i32 %d, i64 %s, i32 %u", e->t, i->line, handle(e, i, &i->ops[1]), what));
}

bool emit_texture(struct emitter *e, const struct instr *i)
{
    switch (i->op) {
    case OP_tex:
    case OP_tld4: emit_tex(e, i); return true;
    case OP_suld:
    case OP_sust: emit_surface(e, i); return true;
    case OP_txq:
    case OP_suq: emit_query(e, i); return true;
    default: return false;
    }
}
