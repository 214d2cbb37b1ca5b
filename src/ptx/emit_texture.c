/* Textures: the forms are checked here and the operands gathered; the run time
 * (src/device/texture.c) knows what is behind a handle. The words that it takes
 * and gives: abi.h. */
#include "abi.h"
#include "arena.h"
#include "emit_texture.h"

const char *texture_room(struct emitter *e)
{
    const char *slot = arena_printf("%%TX%u", e->next++);
    fprintf(e->head, "  %s = alloca [%d x i32], align 16\n", slot, FL_TEXTURE_WORDS);
    return slot;
}

const char *texture_word(struct emitter *e, const char *slot, unsigned n)
{
    return emit(e, "getelementptr i32, ptr %s, i32 %u", slot, n);
}

uint32_t texture_shape(const struct instr *i)
{
    unsigned given = 0;
    for (enum ptx_mod m = MOD_1d; m <= MOD_a2dms; m++) given += has(i, m);
    if (given != 1) fail(i, "a shape is missing");
    if (has(i, MOD_2dms) || has(i, MOD_a2dms)) unsupported(i, NULL);
    uint32_t layered = has(i, MOD_a1d) || has(i, MOD_a2d) || has(i, MOD_acube) ? FL_TEXTURE_LAYERED : 0;
    if (has(i, MOD_cube) || has(i, MOD_acube)) return layered | FL_TEXTURE_CUBE | 3;
    return layered | (has(i, MOD_1d) || has(i, MOD_a1d) ? 1 : has(i, MOD_3d) ? 3 : 2);
}

const char *texture_handle(struct emitter *e, const struct instr *i, const struct operand *o)
{
    bool surface = i->op == OP_suld || i->op == OP_sust || i->op == OP_suq || i->op == OP_sured;
    if (o->kind != OPERAND_address) fail(i, "a handle in brackets was expected");
    if (o->var && !o->offset && (surface ? o->var->surface : o->var->texture))
        return value(e, &(struct operand){ .kind = OPERAND_var, .var = o->var }, T_b64);
    if (!o->reg || o->offset || type_bits(o->reg->type) != 64) unsupported(i, NULL);
    return value(e, &(struct operand){ .kind = OPERAND_reg, .reg = o->reg }, T_b64);
}

void texture_place(struct emitter *e, const struct instr *i, const struct operand *o, uint32_t what, enum ptx_type type,
                   const char *slot)
{
    unsigned layer = what & FL_TEXTURE_LAYERED ? 1 : 0, n = what & FL_TEXTURE_DIMENSIONS;
    if (o->count < n + layer || o->count > 4) fail(i, "wrong number of coordinates");
    if (layer) emit_void(e, "store i32 %s, ptr %s", value(e, &o->elements[0], T_b32), texture_word(e, slot, 3));
    for (unsigned k = 0; k < n; k++)
        emit_void(e, "store %s %s, ptr %s", lltype(type), value(e, &o->elements[k + layer], type),
                  texture_word(e, slot, k));
}

/* A float, or as many as there are dimensions. */
static void put_floats(struct emitter *e, const struct instr *i, const struct operand *o, unsigned n, const char *slot,
                       unsigned at)
{
    bool vector = o->kind == OPERAND_vector;
    if (vector ? o->count < n : n > 1) fail(i, "wrong number of elements");
    for (unsigned k = 0; k < n; k++)
        emit_void(e, "store float %s, ptr %s", value(e, vector ? &o->elements[k] : o, T_f32),
                  texture_word(e, slot, at + k));
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
    const unsigned count = vector_length(i), size = type_bytes(type);
    if (d->kind != OPERAND_vector || d->count != count) fail(i, "the vector's length does not fit");
    for (unsigned k = 0; k < count; k++)
        result(e, &d->elements[k], type,
               emit(e, "load %s, ptr %s, align %u", lltype(type),
                    emit(e, "getelementptr i8, ptr %s, i32 %u", slot, k * size), size));
    /* of what is not mapped there are no textures */
    if (d->second) result(e, &(struct operand){ .kind = OPERAND_reg, .reg = d->second }, T_pred, "true");
}

/* Of a texture with one dimension a single offset may stand without braces. */
static bool is_depth(const struct operand *o, unsigned dimensions)
{
    if (o->kind == OPERAND_vector) return false;
    return dimensions > 1 || o->kind == OPERAND_float || (o->kind == OPERAND_reg && o->reg->type == T_f32);
}

/* Four bits of each count; those of a single one are followed by those of the next dimension, if there are no layers
 * (observed on an H200). */
static void put_offsets(struct emitter *e, const struct operand *o, uint32_t what, const char *slot)
{
    const unsigned n = what & FL_TEXTURE_DIMENSIONS;
    const bool line = n == 1 && !(what & FL_TEXTURE_LAYERED);
    for (unsigned k = 0; k < 3; k++) {
        const struct operand *one = o->kind != OPERAND_vector ? o : &o->elements[k < n ? k : 0];
        const char *v = k < n || (line && k == 1) ? value(e, one, T_b32) : "0";
        if (line && k == 1) v = emit(e, "lshr i32 %s, 4", v);
        emit_void(e, "store i32 %s, ptr %s", v, texture_word(e, slot, 12 + k));
    }
}

/* Offsets, and a depth to compare with: of both, or either. */
static uint32_t put_more(struct emitter *e, const struct instr *i, unsigned first, uint32_t what, const char *slot)
{
    const bool cube = what & FL_TEXTURE_CUBE;
    const unsigned n = what & FL_TEXTURE_DIMENSIONS;
    unsigned at = first;
    uint32_t more = 0;
    if (at < i->nops && !is_depth(&i->ops[at], n)) {
        const struct operand *o = &i->ops[at++];
        if (cube) fail(i, "there are no offsets in a cube");
        if (o->kind == OPERAND_vector && o->count < n) fail(i, "an offset for each dimension is needed");
        more |= FL_TEXTURE_OFFSETS;
        put_offsets(e, o, what, slot);
    }
    if (at < i->nops) {
        if ((n == 3 && !cube) || what & FL_TEXTURE_INTEGER) fail(i, "no depth is compared with here");
        more |= FL_TEXTURE_COMPARED;
        put_floats(e, i, &i->ops[at++], 1, slot, 11);
    }
    if (at < i->nops) fail(i, "wrong number of operands");
    return more;
}

static bool is_result(const struct instr *i, enum ptx_type type)
{
    if (i->op != OP_tld4 && (type == T_f16x2 || type == T_f16)) return has(i, type == T_f16 ? MOD_v4 : MOD_v2);
    return has(i, MOD_v4) && (type == T_u32 || type == T_s32 || type == T_f32);
}

/* The level of detail that is told, or gradients. */
static uint32_t put_detail(struct emitter *e, const struct instr *i, enum ptx_type coordinate, unsigned n,
                           const char *slot)
{
    if (has(i, MOD_level)) {
        if (coordinate == T_s32)
            emit_void(e, "store i32 %s, ptr %s", value(e, &i->ops[2], T_b32), texture_word(e, slot, 4));
        else
            put_floats(e, i, &i->ops[2], 1, slot, 4);
        return FL_TEXTURE_LEVEL;
    }
    if (has(i, MOD_grad)) {
        put_floats(e, i, &i->ops[2], n, slot, 4);
        put_floats(e, i, &i->ops[3], n, slot, 8);
        return FL_TEXTURE_GRADIENT;
    }
    return 0;
}

static void emit_tex(struct emitter *e, const struct instr *i)
{
    const bool gradient = has(i, MOD_grad);
    const unsigned operands = has(i, MOD_level) ? 3 : gradient ? 4 : 2;
    need_operands(i, operands, operands + 2);
    enum ptx_type type = need_type(i, 0), coordinate = i->op == OP_tld4 ? T_f32 : need_type(i, 1);
    if (!is_result(i, type) || (coordinate != T_f32 && coordinate != T_s32)) unsupported(i, NULL);
    uint32_t what = texture_shape(i);
    const unsigned n = what & FL_TEXTURE_DIMENSIONS;
    if (i->op == OP_tld4) {
        what |= gathered(i);
        if (n != 2 && !(what & FL_TEXTURE_CUBE)) unsupported(i, NULL);
    }
    if (gradient + (coordinate == T_s32) + !!(what & FL_TEXTURE_CUBE) > 1) unsupported(i, NULL);
    if (coordinate == T_s32) what |= FL_TEXTURE_INTEGER;
    if (type_bits(type) == 16 || type == T_f16x2) what |= FL_TEXTURE_HALVES;
    const char *slot = texture_room(e);
    texture_place(e, i, &i->ops[1], what, coordinate, slot);
    what |= put_detail(e, i, coordinate, n, slot);
    what |= put_more(e, i, operands, what, slot);
    tell_place(e, i);
    call_rt(e, "texture", "i32 %s, i32 %d, i64 %s, ptr %s, i32 %u", e->t, i->line, texture_handle(e, i, &i->ops[1]),
            slot, what);
    take_words(e, i, type, slot);
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
    const bool level = has(i, MOD_level);
    size_t k = 0;
    need_operands(i, level ? 3 : 2, level ? 3 : 2);
    while (k < sizeof queries / sizeof *queries && !has(i, queries[k].mod)) k++;
    if (k == sizeof queries / sizeof *queries || (i->op == OP_suq && queries[k].query > FL_TEXTURE_LAYERS))
        fail(i, "a query is missing");
    if (level && (i->op == OP_suq || queries[k].query > FL_TEXTURE_DEPTH)) fail(i, "of a level this is not asked");
    const uint32_t of = (uint32_t)queries[k].query | (i->op == OP_suq ? FL_TEXTURE_OF_SURFACE : 0);
    const char *what = arena_printf("%u", of);
    if (level) { /* no texture has as many */
        const char *n = emit(e, "call i32 @llvm.umin.i32(i32 %s, i32 %d)", value(e, &i->ops[2], T_b32), UINT16_MAX);
        what = emit(e, "or i32 %s, %u", emit(e, "shl i32 %s, %d", n, FL_TEXTURE_OF_LEVEL), of);
    }
    tell_place(e, i);
    result(e, &i->ops[0], T_b32,
           call_rt(e, "texture_query", "i32 %s, i32 %d, i64 %s, i32 %s", e->t, i->line,
                   texture_handle(e, i, &i->ops[1]), what));
}

bool emit_texture(struct emitter *e, const struct instr *i)
{
    switch (i->op) {
    case OP_tex:
    case OP_tld4: emit_tex(e, i); return true;
    case OP_txq:
    case OP_suq: emit_query(e, i); return true;
    default: return false;
    }
}
