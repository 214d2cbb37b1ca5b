/* Textures and surfaces: tex, suld and sust. Where the coordinates lead is the
 * run time's business (src/device/texture.c); here operands are gathered. */
#include "abi.h"
#include "arena.h"
#include "emit.h"

#include <string.h>

struct geometry {
    const char *name;
    unsigned dimensions;
    bool layered;
};

static const struct geometry *geometry_of(const struct instr *i)
{
    static const struct geometry all[] = {
        { ".1d.", 1, false }, { ".2d.", 2, false }, { ".3d.", 3, false }, { ".a1d.", 1, true }, { ".a2d.", 2, true }
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (strstr(i->text, all[k].name)) return &all[k];
    unsupported(i, "this kind of texture");
}

static const char *room(struct emitter *e)
{
    const char *slot = arena_printf("%%TX%u", e->next++);
    fprintf(e->head, "  %s = alloca [4 x i32], align 16\n", slot);
    return slot;
}

static const char *word(struct emitter *e, const char *slot, unsigned byte)
{
    return emit(e, "getelementptr i8, ptr %s, i32 %u", slot, byte);
}

/* The coordinates, the layer first, each a word. */
static const char *gather(struct emitter *e, const struct instr *i, const struct operand *o, const struct geometry *g,
                          bool floats)
{
    const char *slot = room(e);
    const unsigned count = g->dimensions + g->layered;
    if (o->count < count) fail(i, "coordinates are missing");
    for (unsigned k = 0; k < count; k++) {
        enum ptx_type type = floats && !(g->layered && !k) ? T_f32 : T_b32;
        emit_void(e, "store %s %s, ptr %s", lltype(type), value(e, &o->elements[k], type), word(e, slot, k * 4));
    }
    return slot;
}

/* {%r1} is the same as %r1. */
static const struct operand *lane(const struct instr *i, const struct operand *o, unsigned k, unsigned n)
{
    if (o->kind == OPERAND_vector ? o->count != n : n != 1) fail(i, "the vector's length does not fit");
    return o->kind == OPERAND_vector ? &o->elements[k] : o;
}

static void call(struct emitter *e, const struct instr *i, const struct operand *o, const char *at, const char *data,
                 uint32_t what)
{
    const struct operand object = { .kind = OPERAND_reg, .reg = o->reg };
    if (o->kind != OPERAND_address || !o->reg || o->offset) unsupported(i, "textures that are variables");
    tell_place(e, i);
    call_rt(e, "texture", "i32 %s, i32 %d, i64 %s, ptr %s, ptr %s, i32 %u", e->t, i->line, value(e, &object, T_b64), at,
            data, what);
}

static void fetch(struct emitter *e, const struct instr *i)
{
    need_operands(i, 2, 2);
    const struct geometry *g = geometry_of(i);
    const enum ptx_type type = need_type(i, 0), from = need_type(i, 1);
    if ((type != T_f32 && type != T_u32 && type != T_s32) || (from != T_f32 && from != T_s32)) unsupported(i, NULL);
    const char *at = gather(e, i, &i->ops[1], g, from == T_f32), *data = room(e);
    uint32_t what = FL_TEXTURE_FETCH | g->dimensions << FL_TEXTURE_COORDINATES;
    if (g->layered) what |= FL_TEXTURE_LAYERED;
    if (from == T_f32) what |= FL_TEXTURE_AT_FLOATS;
    if (type == T_f32) what |= FL_TEXTURE_TO_FLOATS;
    call(e, i, &i->ops[1], at, data, what);
    for (unsigned k = 0; k < 4; k++)
        result(e, lane(i, &i->ops[0], k, 4), type, emit(e, "load %s, ptr %s", lltype(type), word(e, data, k * 4)));
}

static void surface(struct emitter *e, const struct instr *i, bool load)
{
    need_operands(i, 2, 2);
    const struct geometry *g = geometry_of(i);
    const struct operand *object = &i->ops[load ? 1 : 0], *values = &i->ops[load ? 0 : 1];
    const enum ptx_type type = need_type(i, 0);
    const unsigned n = vector_length(i), bytes = type_bytes(type);
    if (!type_bitwise(type) || n * bytes > 16) unsupported(i, NULL);
    const char *at = gather(e, i, object, g, false), *data = room(e);
    uint32_t what = (load ? FL_TEXTURE_LOAD : FL_TEXTURE_STORE) | g->dimensions << FL_TEXTURE_COORDINATES |
                    n * bytes << FL_TEXTURE_BYTES;
    if (g->layered) what |= FL_TEXTURE_LAYERED;
    if (strstr(i->text, ".clamp")) what |= FL_TEXTURE_CLAMPS;
    if (strstr(i->text, ".trap")) what |= FL_TEXTURE_TRAPS;
    for (unsigned k = 0; k < n && !load; k++)
        emit_void(e, "store %s %s, ptr %s", lltype(type), value(e, lane(i, values, k, n), type),
                  word(e, data, k * bytes));
    call(e, i, object, at, data, what);
    for (unsigned k = 0; k < n && load; k++)
        result(e, lane(i, values, k, n), type, emit(e, "load %s, ptr %s", lltype(type), word(e, data, k * bytes)));
}

bool emit_texture(struct emitter *e, const struct instr *i)
{
    if (i->op == OP_tex)
        fetch(e, i);
    else if (i->op == OP_suld || i->op == OP_sust)
        surface(e, i, i->op == OP_suld);
    else
        return false;
    return true;
}
