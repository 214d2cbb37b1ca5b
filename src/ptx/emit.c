/* The emitter's core: text, registers, operands. See emit.h. */
#include "emit.h"
#include "abi.h"
#include "arena.h"
#include "ptxc.h"
#include "units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

unsigned type_bits(enum ptx_type t)
{
    static const uint8_t bits[] = { [T_none] = 0,
#define X(name, n) [T_##name] = n,
                                    FL_PTX_TYPES(X)
#undef X
    };
    return bits[t];
}

const char *type_name(enum ptx_type t)
{
    static const char *const names[] = { [T_none] = "none",
#define X(name, n) [T_##name] = #name,
                                         FL_PTX_TYPES(X)
#undef X
    };
    return names[t];
}

const char *emit(struct emitter *e, const char *format, ...)
{
    const char *name = arena_printf("%%v%u", e->next++);
    fprintf(e->body, "  %s = ", name);
    va_list list;
    va_start(list, format);
    vfprintf(e->body, format, list);
    va_end(list);
    fputc('\n', e->body);
    return name;
}

void emit_void(struct emitter *e, const char *format, ...)
{
    fputs("  ", e->body);
    va_list list;
    va_start(list, format);
    vfprintf(e->body, format, list);
    va_end(list);
    fputc('\n', e->body);
}

const char *new_label(struct emitter *e, const char *stem) { return arena_printf("%s%u", stem, e->next++); }

/* Falls through into the label. */
void place_label(struct emitter *e, const char *label) { fprintf(e->body, "  br label %%%s\n%s:\n", label, label); }

void function_begin(struct emitter *e, struct func *f)
{
    e->func = f;
    e->head = open_memstream(&e->head_text, &e->head_size);
    e->body = open_memstream(&e->body_text, &e->body_size);
    if (!e->head || !e->body) fatal(EXIT_INTERNAL, "out of memory");
    e->reg_used = arena_alloc(f->nregs + 1ul);
    e->shared_used = arena_alloc(f->nregs + 1ul);
    e->var_used = arena_alloc(f->nvars + 1ul);
    e->misaligned_used = false;
}

const char *subnormals(const struct emitter *e)
{
    return e->func->flushed ? " \"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\"" : "";
}

void function_end(struct emitter *e, const char *header)
{
    close_text(e->head);
    close_text(e->body);
    char *ir;
    if (asprintf(&ir, "%s {\nentry:\n%s%s}\n\n", header, e->head_text, e->body_text) < 0)
        fatal(EXIT_INTERNAL, "out of memory");
    units_add(e->units, e->func, e->probe && !e->whole, ir);
    free(ir);
    free(e->head_text);
    free(e->body_text);
}

const char *lltype_bits(unsigned bits)
{
    switch (bits) {
    case 1: return "i1";
    case 8: return "i8";
    case 16: return "i16";
    case 32: return "i32";
    case 64: return "i64";
    case 128: return "i128";
    default: return arena_printf("i%u", bits);
    }
}

const char *lltype(enum ptx_type t) { return t == T_f32 ? "float" : t == T_f64 ? "double" : lltype_bits(type_bits(t)); }
bool is_float_value(enum ptx_type t) { return t == T_f32 || t == T_f64; }

void fail(const struct instr *i, const char *what)
{
    fatal_at(EXIT_INVALID_PTX, i->line, "instruction '%s': %s", i->text, what);
}

void unsupported(const struct instr *i, const char *what)
{
    fatal_at(EXIT_UNSUPPORTED, i->line, "instruction '%s' is not supported%s%s", i->text, what ? ": " : "",
             what ? what : "");
}

void need_operands(const struct instr *i, unsigned least, unsigned most)
{
    if (i->nops < least || i->nops > most) fail(i, "wrong number of operands");
}

enum ptx_type need_type(const struct instr *i, unsigned n)
{
    if (i->ntypes <= n) fail(i, "a type is missing");
    return i->types[n];
}

static char use_reg(struct emitter *e, struct reg *r)
{
    uint8_t *used = e->shared ? e->shared_used : e->reg_used;
    char bank = e->shared ? 'U' : 'R';
    if (!used[r->index]) fprintf(e->head, "  %%%c%u = alloca %s\n", bank, r->index, lltype(r->type));
    used[r->index] = 1;
    return bank;
}

const char *load_reg(struct emitter *e, struct reg *r)
{
    char bank = use_reg(e, r);
    return emit(e, "load %s, ptr %%%c%u", lltype(r->type), bank, r->index);
}

void store_reg(struct emitter *e, struct reg *r, const char *v)
{
    char bank = use_reg(e, r);
    emit_void(e, "store %s %s, ptr %%%c%u", lltype(r->type), v, bank, r->index);
}

static bool float_class(enum ptx_type t)
{
    return t == T_f32 || t == T_f64 || t == T_f16 || t == T_f16x2 || t == T_bf16 || t == T_bf16x2 || t == T_f32x2;
}

void fits(struct emitter *e, const struct operand *o, enum ptx_type type)
{
    if (o->kind != OPERAND_reg) return;
    enum ptx_type have = o->reg->type;
    bool good = type_bits(have) == type_bits(type) && (have == T_pred) == (type == T_pred);
    if (type_bitwise(have) || type_bitwise(type) || have == T_pred) {
        if (good) return;
    } else if (good && float_class(have) == float_class(type)) {
        return;
    }
    fatal_at(EXIT_INVALID_PTX, e->current->line, "instruction '%s': register '%s' of type .%s does not fit .%s",
             e->current->text, o->reg->name, type_name(have), type_name(type));
}

static const char *int_constant(uint64_t bits, enum ptx_type type)
{
    unsigned n = type_bits(type);
    if (type == T_pred) return bits ? "true" : "false";
    if (n < 64) bits &= (1ull << n) - 1;
    return arena_printf("%" PRIu64, bits);
}

static const char *float_constant(struct emitter *e, const struct operand *o, enum ptx_type type)
{
    uint32_t single = o->fbits;
    if (!o->single) {
        double d;
        memcpy(&d, &o->bits, 8);
        float f = (float)d;
        memcpy(&single, &f, 4);
    }
    switch (type) {
    case T_f32: return arena_printf("bitcast (i32 %u to float)", single);
    /* the bits of a single are taken as they are (observed on an H200) */
    case T_f64: return arena_printf("bitcast (i64 %" PRIu64 " to double)", o->single ? single : o->bits);
    case T_b32: return arena_printf("%u", single);
    case T_b64: return arena_printf("%" PRIu64, o->bits);
    default: fail(e->current, "a floating-point constant does not fit here");
    }
}

static const char *convert_bits(struct emitter *e, const char *v, enum ptx_type from, enum ptx_type to)
{
    unsigned have = type_bits(from), want = type_bits(to);
    if (have == want)
        return strcmp(lltype(from), lltype(to)) ? emit(e, "bitcast %s %s to %s", lltype(from), v, lltype(to)) : v;
    if (have < want || from == T_pred || to == T_pred)
        fail(e->current, arena_printf("a .%s register where .%s is needed", type_name(from), type_name(to)));
    if (is_float_value(from)) v = emit(e, "bitcast %s %s to %s", lltype(from), v, lltype_bits(have));
    v = emit(e, "trunc %s %s to %s", lltype_bits(have), v, lltype_bits(want));
    return is_float_value(to) ? emit(e, "bitcast %s %s to %s", lltype_bits(want), v, lltype(to)) : v;
}

static const char *widen(struct emitter *e, const char *v, unsigned from, unsigned to, bool sign)
{
    if (from == to) return v;
    return emit(e, "%s i%u %s to i%u", from > to ? "trunc" : sign ? "sext" : "zext", from, v, to);
}

const char *block_field(struct emitter *e, const char *type, size_t offset)
{
    const char *p = emit(e, "getelementptr i8, ptr %%b, i64 %zu", offset);
    return emit(e, "load %s, ptr %s" IR_INVARIANT, type, p);
}

const char *symbol_address(struct emitter *e, uint32_t index)
{
    const char *p = emit(e, "getelementptr i8, ptr %%b, i64 %zu", offsetof(struct fl_block, symbols));
    const char *table = emit(e, "load ptr, ptr %s" IR_INVARIANT IR_SYMBOL_TABLE, p);
    return emit(e, "load i64, ptr %s" IR_INVARIANT, emit(e, "getelementptr i64, ptr %s, i64 %u", table, index));
}

/* A special register's value, widened or cut to type. */
static const char *special_as(struct emitter *e, const struct operand *o, enum ptx_type type)
{
    unsigned bits = type_bits(type);
    const char *v = special_value(e, o);
    if (o->type == T_pred || type == T_pred || bits < 32) {
        if (o->type == type) return v;
        if (bits == 16 && o->special != SR_gridid) return emit(e, "trunc i32 %s to i16", v);
        fail(e->current, "a special register does not fit here");
    }
    v = widen(e, v, type_bits(o->type), bits, false);
    return is_float_value(type) ? emit(e, "bitcast %s %s to %s", lltype_bits(bits), v, lltype(type)) : v;
}

/* A variable's address in its own space; of some spaces 32 bits hold all of it. */
static const char *address_value(struct emitter *e, const struct operand *o, unsigned bits)
{
    enum ptx_space s = o->var->space;
    bool small = s == SPACE_shared || s == SPACE_local || s == SPACE_const || s == SPACE_param;
    const char *a = variable_address(e, o->var);
    if (o->offset) a = emit(e, "add i64 %s, %" PRId64, a, o->offset);
    if (bits != 64 && !(bits == 32 && small)) fail(e->current, "an address needs a 64-bit register");
    return widen(e, a, 64, bits, false);
}

const char *value(struct emitter *e, const struct operand *o, enum ptx_type type)
{
    switch (o->kind) {
    case OPERAND_reg: {
        const char *v = convert_bits(e, load_reg(e, o->reg), o->reg->type, type);
        return o->negated && type == T_pred ? emit(e, "xor i1 %s, true", v) : v;
    }
    case OPERAND_int:
        if (float_class(type)) fail(e->current, "an integer constant where a floating-point value is needed");
        return int_constant(o->bits, type);
    case OPERAND_float: return float_constant(e, o, type);
    case OPERAND_special: return special_as(e, o, type);
    case OPERAND_var: return address_value(e, o, type_bits(type));
    case OPERAND_func:
        if (type_bits(type) != 64) fail(e->current, "an address needs a 64-bit register");
        return symbol_address(e, o->func->index);
    case OPERAND_sink:
    default: fail(e->current, "an operand of this kind does not belong here");
    }
}

const char *predicate(struct emitter *e, const struct operand *o) { return value(e, o, T_pred); }

void result(struct emitter *e, const struct operand *o, enum ptx_type type, const char *v)
{
    if (o->kind == OPERAND_sink) return;
    if (o->kind != OPERAND_reg) fail(e->current, "the destination is no register");
    enum ptx_type reg = o->reg->type;
    unsigned have = type_bits(type), want = type_bits(reg);
    if ((reg == T_pred) != (type == T_pred))
        fail(e->current,
             arena_printf("register '%s' of type .%s cannot take .%s", o->reg->name, type_name(reg), type_name(type)));
    if (have > want)
        fail(e->current, arena_printf("register '%s' of type .%s is too small for .%s", o->reg->name, type_name(reg),
                                      type_name(type)));
    if (have < want) {
        if (is_float_value(type)) v = emit(e, "bitcast %s %s to %s", lltype(type), v, lltype_bits(have));
        v = widen(e, v, have, want, type_signed(type));
        if (is_float_value(reg)) v = emit(e, "bitcast %s %s to %s", lltype_bits(want), v, lltype(reg));
    } else if (strcmp(lltype(type), lltype(reg))) {
        v = emit(e, "bitcast %s %s to %s", lltype(type), v, lltype(reg));
    }
    store_reg(e, o->reg, v);
}

/* ---- what compiled code may call */

static const struct {
    const char *name, *signature;
    size_t offset;
    bool block;
} rt_entries[] = {
#define X(name, sig, ret, params) { #name, sig, offsetof(struct fl_rt, name), true },
    FL_RT_CORE(X)
#undef X
#define X(name, sig, ret, params) { #name, sig, offsetof(struct fl_rt, name), false },
        FL_RT_MATH(X)
#undef X
};

const char *call_rt(struct emitter *e, const char *name, const char *args, ...)
{
    static const char *const types[256] = { ['v'] = "void", ['p'] = "ptr",   ['i'] = "i32",    ['l'] = "i64",
                                            ['h'] = "i16",  ['f'] = "float", ['d'] = "double", ['b'] = "i1 zeroext" };
    size_t k = 0;
    while (k < sizeof rt_entries / sizeof *rt_entries && strcmp(rt_entries[k].name, name)) k++;
    if (k == sizeof rt_entries / sizeof *rt_entries) fatal(EXIT_INTERNAL, "no run-time function '%s'", name);
    char text[1024];
    va_list list;
    va_start(list, args);
    vsnprintf(text, sizeof text, args, list);
    va_end(list);
    const char *table = block_field(e, "ptr", offsetof(struct fl_block, rt));
    const char *f = emit(e, "load ptr, ptr %s" IR_INVARIANT,
                         emit(e, "getelementptr i8, ptr %s, i64 %zu", table, rt_entries[k].offset));
    const char *type = types[(unsigned char)rt_entries[k].signature[0]],
               *block = rt_entries[k].block ? *text ? "ptr %b, " : "ptr %b" : "";
    bool ends = strchr(rt_entries[k].signature, '!') != NULL;
    const char *attributes =
        rt_entries[k].block ? ends ? "noreturn nounwind" : "nounwind" : "nounwind memory(none) willreturn";
    if (rt_entries[k].signature[0] != 'v') {
        if (type[0] == 'i' && type[1] == '1' && type[2] == ' ')
            return emit(e, "call zeroext i1 %s(%s%s) %s", f, block, text, attributes);
        return emit(e, "call %s %s(%s%s) %s", type, f, block, text, attributes);
    }
    emit_void(e, "call void %s(%s%s) %s", f, block, text, attributes);
    return NULL;
}

void emit_instruction(struct emitter *e, const struct instr *i)
{
    e->current = i;
    if (emit_move(e, i) || emit_memory(e, i) || emit_tensor(e, i) || emit_asynchronous(e, i) || emit_cluster(e, i) ||
        emit_atomic(e, i) || emit_multimem(e, i) || emit_matrix(e, i) || emit_wgmma(e, i) || emit_call(e, i) ||
        emit_stack(e, i) || emit_convert(e, i) || emit_compare(e, i) || emit_half(e, i) || emit_float(e, i) ||
        emit_integer(e, i) || emit_bits(e, i) || emit_texture(e, i) || emit_surface(e, i) || emit_video(e, i))
        return;
    unsupported(i, NULL);
}
