/* Loads, stores, addresses, fences: everything that touches memory but for
 * atomic read-modify-write. */
#include "abi.h"
#include "arena.h"
#include "emit.h"
#include "kernel.h"
#include "ptxc.h"

#include <inttypes.h>

/* ---- addresses of variables */

/* An alloca for a .param variable of a call, or a .local one of what is not cut into segments. */
static const char *stack_variable(struct emitter *e, const struct var *v)
{
    for (uint32_t k = 0; k < e->func->nvars; k++) {
        if (e->func->vars[k] != v) continue;
        if (!e->var_used[k]) {
            e->var_used[k] = 1;
            fprintf(e->head, "  %%V%u = alloca [%" PRIu64 " x i8], align %u\n", k, v->size ? v->size : 1,
                    v->align > 16 ? v->align : 16);
        }
        return arena_printf("%%V%u", k);
    }
    fatal_at(EXIT_INVALID_PTX, e->current->line, "variable '%s' belongs to another function", v->name);
}

static const char *local_pointer(struct emitter *e, const struct var *v)
{
    if (!e->kernel || e->kernel->nsegments == 1) return stack_variable(e, v);
    const char *base = block_field(e, "ptr", offsetof(struct fl_block, local)),
               *stride = block_field(e, "i32", offsetof(struct fl_block, local_stride));
    const char *mine =
        emit(e, "mul nuw nsw i64 %s, %s", emit(e, "zext i32 %s to i64", e->t), emit(e, "zext i32 %s to i64", stride));
    return emit(e, "getelementptr i8, ptr %s, i64 %s", base, emit(e, "add i64 %s, %u", mine, v->offset));
}

const char *param_pointer(struct emitter *e, const struct var *v)
{
    struct func *f = e->func;
    if (v->kept) return local_pointer(e, v);
    if (!v->is_argument && !v->is_result) return stack_variable(e, v);
    if (f->entry) {
        const char *base = block_field(e, "ptr", offsetof(struct fl_block, params));
        return emit(e, "getelementptr i8, ptr %s, i64 %u", base, v->offset);
    }
    for (uint32_t k = 0; k < f->sig.nparams; k++)
        if (&f->sig.params[k] == v) return arena_printf("%%A%u", k);
    for (uint32_t k = 0; k < f->sig.nrets; k++)
        if (&f->sig.rets[k] == v) return arena_printf("%%Q%u", k);
    fatal_at(EXIT_INVALID_PTX, e->current->line, "parameter '%s' belongs to another function", v->name);
}

const char *variable_address(struct emitter *e, const struct var *v)
{
    switch (v->space) {
    case SPACE_shared:
        if (v->is_extern && !v->size)
            return emit(e, "zext i32 %s to i64", block_field(e, "i32", offsetof(struct fl_block, dynamic_shared)));
        return arena_printf("%u", v->offset);
    case SPACE_local: return emit(e, "ptrtoint ptr %s to i64", local_pointer(e, v));
    case SPACE_param: return emit(e, "ptrtoint ptr %s to i64", param_pointer(e, v));
    default:
        if (v->is_extern) fatal_at(EXIT_INVALID_PTX, v->line, "unresolved extern variable '%s'", v->name);
        return symbol_address(e, v->index);
    }
}

/* ---- an access's address */

static void check_alignment(struct emitter *e, const struct instr *i, const char *low, unsigned bytes)
{
    if (bytes <= 1) return;
    const char *bad = emit(e, "and i64 %s, %u", low, bytes - 1);
    if (e->probe) {
        const char *wrong = new_label(e, "wrong"), *right = new_label(e, "right"),
                   *is = emit(e, "icmp ne i64 %s, 0", bad);
        emit_void(e, "br i1 %s, label %%%s, label %%%s", is, wrong, right);
        fprintf(e->body, "%s:\n", wrong);
        call_rt(e, "misaligned", "i32 %s, i32 %d", e->t, i->line);
        fprintf(e->body, "  unreachable\n%s:\n", right);
    } else if (e->kernel) {
        e->misaligned_used = true;
        const char *was = emit(e, "load i32, ptr %%MIS");
        emit_void(e, "store i32 %s, ptr %%MIS", emit(e, "or i32 %s, %s", was, emit(e, "trunc i64 %s to i32", bad)));
    } else {
        const char *wrong = new_label(e, "wrong"), *right = new_label(e, "right"),
                   *is = emit(e, "icmp ne i64 %s, 0", bad);
        emit_void(e, "br i1 %s, label %%%s, label %%%s" IR_RARELY, is, wrong, right);
        fprintf(e->body, "%s:\n", wrong);
        emit_void(e, "store i32 %u, ptr %s", bytes - 1,
                  emit(e, "getelementptr i8, ptr %%b, i64 %zu", offsetof(struct fl_block, misaligned)));
        place_label(e, right);
    }
}

void tell_place(struct emitter *e, const struct instr *i)
{
    if (!e->probe) return;
    if (!e->whole)
        emit_void(e, "store volatile i32 %s, ptr %s", e->t,
                  emit(e, "getelementptr i8, ptr %%b, i64 %zu", offsetof(struct fl_block, probe_thread)));
    emit_void(e, "store volatile i32 %d, ptr %s", i->line,
              emit(e, "getelementptr i8, ptr %%b, i64 %zu", offsetof(struct fl_block, probe_line)));
}

/* Addresses have 32 bits: a register that is below 0 and a displacement meet above it. */
static const char *shared_pointer(struct emitter *e, const char *offset32, int64_t displacement)
{
    const char *base = block_field(e, "ptr", offsetof(struct fl_block, shared));
    const char *p = emit(e, "getelementptr i8, ptr %s, i64 %s", base, emit(e, "sext i32 %s to i64", offset32));
    return displacement ? emit(e, "getelementptr i8, ptr %s, i64 %" PRId64, p, displacement) : p;
}

/* A parameter or local variable: memory that LLVM knows, or can. */
static const char *own_address(struct emitter *e, const struct instr *i, const struct operand *o, unsigned bytes)
{
    bool param = o->var->space == SPACE_param;
    const char *p = param ? param_pointer(e, o->var) : local_pointer(e, o->var);
    const bool open = param && o->var->is_argument && !o->var->size; /* as long as what is given */
    if (param && (o->offset < 0 || (!open && (uint64_t)o->offset + bytes > o->var->size)))
        fail(i, "the access is outside the parameter");
    return o->offset ? emit(e, "getelementptr i8, ptr %s, i64 %" PRId64, p, o->offset) : p;
}

static const char *register_value(struct emitter *e, struct reg *r, enum ptx_type type)
{
    return value(e, &(struct operand){ .kind = OPERAND_reg, .reg = r }, type);
}

static const char *shared_address(struct emitter *e, const struct instr *i, const struct operand *o, unsigned bytes)
{
    const char *offset = "0";
    bool wide = o->var || (o->reg && type_bits(o->reg->type) == 64);
    if (o->var)
        offset = variable_address(e, o->var);
    else if (o->reg)
        offset = register_value(e, o->reg, wide ? T_b64 : T_b32);
    if (wide) offset = emit(e, "trunc i64 %s to i32", offset);
    if (bytes > 1) {
        const char *low = emit(e, "zext i32 %s to i64", offset);
        check_alignment(e, i, o->offset ? emit(e, "add i64 %s, %" PRId64, low, o->offset) : low, bytes);
    }
    if (o->reg && strstr(i->text, "::cluster")) return cluster_pointer(e, offset, o->offset);
    return shared_pointer(e, offset, o->offset);
}

/* What is done at operand o. A box of a tensor is the run time's to tell of, its map is read. */
static enum fl_access kind_of(const struct instr *i, const struct operand *o)
{
    bool copied_from = i->op == OP_cp && (o != &i->ops[0] || has(i, MOD_tensor));
    return i->op == OP_ld     ? FL_ACCESS_READ
           : copied_from      ? FL_ACCESS_READ
           : i->op == OP_atom ? FL_ACCESS_ATOMIC
           : i->op == OP_red  ? FL_ACCESS_REDUCTION
                              : FL_ACCESS_WRITE;
}

/* A variable of the space, the function's own or the module's. NULL: there is none. */
static const struct var *variable_in(const struct emitter *e, enum ptx_space space)
{
    for (uint32_t k = 0; k < e->func->nvars; k++)
        if (e->func->vars[k]->space == space) return e->func->vars[k];
    for (uint32_t k = 0; k < e->module->nvars; k++)
        if (e->module->vars[k]->space == space && !e->module->vars[k]->is_extern) return e->module->vars[k];
    return NULL;
}

/* What copies, or moves matrices, extends a register of 32 bits with zeros. Code for which pointers into a space have 32
 * bits (LLVM's short pointers) has the lower half of an address: the address is the one with this half that is nearest
 * to a variable of the space. */
static const char *completed(struct emitter *e, const struct instr *i, enum ptx_space space, const char *low)
{
    if ((space == SPACE_generic || space == SPACE_global) && (i->op == OP_cp || is_matrix(i)))
        return emit(e, "zext i32 %s to i64", low);
    const struct var *v = space == SPACE_local || space == SPACE_const ? variable_in(e, space) : NULL;
    bool param = space == SPACE_param && e->func->entry;
    if (!v && !param) fail(i, "an address needs a 64-bit register");
    const char *near = v ? variable_address(e, v)
                         : emit(e, "ptrtoint ptr %s to i64", block_field(e, "ptr", offsetof(struct fl_block, params))),
               *distance = emit(e, "sub i32 %s, %s", low, emit(e, "trunc i64 %s to i32", near));
    return emit(e, "add i64 %s, %s", near, emit(e, "sext i32 %s to i64", distance));
}

static const char *generic_address(struct emitter *e, const struct instr *i, const struct operand *o,
                                   enum ptx_space space, unsigned bytes)
{
    const char *a = "0";
    if (o->var)
        a = variable_address(e, o->var);
    else if (o->reg && type_bits(o->reg->type) == 32)
        a = completed(e, i, space, register_value(e, o->reg, T_b32));
    else if (o->reg && type_bits(o->reg->type) != 64)
        fail(i, "an address needs a 64-bit register");
    else if (o->reg)
        a = register_value(e, o->reg, T_b64);
    /* not inttoptr: LLVM follows only pointer arithmetic when it looks for consecutive accesses */
    const char *p = emit(e, "getelementptr i8, ptr null, i64 %s", a);
    if (o->offset) p = emit(e, "getelementptr i8, ptr %s, i64 %" PRId64, p, o->offset);
    const char *low = o->offset ? emit(e, "add i64 %s, %" PRId64, a, o->offset) : a;
    check_alignment(e, i, low, bytes);
    if (e->probe && !e->whole) call_rt(e, "accessed", "i64 %s, i32 %d", low, (int)kind_of(i, o));
    if (kind_of(i, o) >= FL_ACCESS_ATOMIC && has(i, MOD_sys)) call_rt(e, "system_atomic", "i64 %s", low);
    return p;
}

const char *address_of(struct emitter *e, const struct instr *i, const struct operand *o, enum ptx_space space,
                       unsigned bytes, const char **group)
{
    if (o->kind != OPERAND_address) fail(i, "an address in brackets was expected");
    if (o->var && (o->var->texture || o->var->surface)) fail(i, "a reference is no place in memory");
    *group = e->group;
    tell_place(e, i);
    enum ptx_space own = o->var ? o->var->space : SPACE_none;
    if (own == SPACE_param || own == SPACE_local) {
        if (!(o->var->is_argument && e->func->entry)) *group = "";
        return own_address(e, i, o, bytes);
    }
    if (space == SPACE_shared || own == SPACE_shared) return shared_address(e, i, o, bytes);
    if (space == SPACE_local) *group = "";
    return generic_address(e, i, o, space, bytes);
}

/* ---- ld, st */

/* Volatile, relaxed and stronger accesses are single, ordered, and seen by everybody. */
static const char *ordering(const struct instr *i, bool store)
{
    if (has(i, MOD_acquire)) return store ? NULL : "acquire";
    if (has(i, MOD_release)) return store ? "release" : NULL;
    if (has(i, MOD_volatile) || has(i, MOD_relaxed) || has(i, MOD_mmio)) return "monotonic";
    return NULL;
}

/* Kernel parameters never change: they are read at the function's start, outside the loop over threads. */
static const char *kernel_parameter(struct emitter *e, const struct var *v, int64_t offset, enum ptx_type type)
{
    const char *name = arena_printf("%%P%u", e->next++);
    fprintf(e->head,
            "  %sB = load ptr, ptr %%b" IR_INVARIANT "\n  %sA = getelementptr i8, ptr %sB, i64 %" PRId64
            "\n  %s = load %s, ptr %sA, align 1" IR_INVARIANT "\n",
            name, name, name, v->offset + offset, name, lltype(type), name);
    return name;
}

/* How many elements a load or store has; o is what it loads to, or stores. */
static unsigned elements_of(const struct instr *i, const struct operand *o, enum ptx_type type)
{
    unsigned n = vector_length(i);
    if (type == T_pred) fail(i, "predicates are not kept in memory");
    if ((o->kind == OPERAND_vector) != (n > 1) || (n > 1 && o->count != n)) fail(i, "the vector's length does not fit");
    return n;
}

/* The integer that a value is in an access that others see whole. */
static const char *as_integer(unsigned bytes) { return lltype_bits(bytes * 8); }

/* The elements of a vector that everybody sees are read and written at once, where the processor can: programs send data
 * and a flag side by side. */
static bool is_at_once(const char *order, unsigned n, unsigned bytes)
{
    enum { MOST = 16 };
    return order && n > 1 && n * bytes <= MOST;
}

static const char *vector_of(unsigned n, unsigned bytes) { return arena_printf("<%u x %s>", n, as_integer(bytes)); }

static const char *load_whole(struct emitter *e, const char *p, const char *order, unsigned n, unsigned bytes)
{
    const char *all = emit(e, "load volatile %s, ptr %s, align %u", vector_of(n, bytes), p, bytes);
    if (!strcmp(order, "acquire")) emit_void(e, "fence acquire");
    return all;
}

static void store_whole(struct emitter *e, const char *p, const char *order, unsigned n, unsigned bytes, const char *all)
{
    if (!strcmp(order, "release")) emit_void(e, "fence release");
    emit_void(e, "store volatile %s %s, ptr %s, align %u", vector_of(n, bytes), all, p, bytes);
}

static void load_at_once(struct emitter *e, const char *p, const char *order, unsigned n, unsigned bytes,
                         const char **loaded)
{
    const char *all = load_whole(e, p, order, n, bytes);
    for (unsigned k = 0; k < n; k++) loaded[k] = emit(e, "extractelement %s %s, i32 %u", vector_of(n, bytes), all, k);
}

static void store_at_once(struct emitter *e, const char *p, const char *order, unsigned n, unsigned bytes,
                          const char *const *v)
{
    const char *all = "poison";
    for (unsigned k = 0; k < n; k++)
        all = emit(e, "insertelement %s %s, %s %s, i32 %u", vector_of(n, bytes), all, as_integer(bytes), v[k], k);
    store_whole(e, p, order, n, bytes, all);
}

/* A value that everybody sees; one of 128 bits is a vector to the processor. */
static const char *load_ordered(struct emitter *e, const char *p, const char *order, unsigned bytes)
{
    if (bytes == 16) return emit(e, "bitcast <2 x i64> %s to i128", load_whole(e, p, order, 2, 8));
    return emit(e, "load atomic volatile %s, ptr %s %s, align %u", as_integer(bytes), p, order, bytes);
}

static void store_ordered(struct emitter *e, const char *p, const char *order, unsigned bytes, const char *v)
{
    if (bytes == 16)
        store_whole(e, p, order, 2, 8, emit(e, "bitcast i128 %s to <2 x i64>", v));
    else
        emit_void(e, "store atomic volatile %s %s, ptr %s %s, align %u", as_integer(bytes), v, p, order, bytes);
}

static const char *element(struct emitter *e, const char *p, unsigned k, unsigned bytes)
{
    return k ? emit(e, "getelementptr i8, ptr %s, i64 %u", p, k * bytes) : p;
}

static void emit_load(struct emitter *e, const struct instr *i)
{
    need_operands(i, 2, 3);
    enum ptx_type type = need_type(i, 0);
    const struct operand *d = &i->ops[0];
    unsigned n = elements_of(i, d, type), bytes = type_bytes(type);
    const char *group, *p = address_of(e, i, &i->ops[1], i->space, bytes * n, &group), *order = ordering(i, false);
    const char *loaded[8];
    if (n == 1 && i->ops[1].var && i->ops[1].var->is_argument && e->func->entry && !i->ops[1].reg) {
        result(e, d, type, kernel_parameter(e, i->ops[1].var, i->ops[1].offset, type));
        return;
    }
    if (is_at_once(order, n, bytes)) load_at_once(e, p, order, n, bytes, loaded);
    for (unsigned k = 0; k < n && !is_at_once(order, n, bytes); k++) {
        const char *q = element(e, p, k, bytes);
        loaded[k] = order ? load_ordered(e, q, order, bytes)
                          : emit(e, "load %s, ptr %s, align %u%s", lltype(type), q, bytes > 8 ? 8 : bytes, group);
    }
    for (unsigned k = 0; k < n; k++) {
        if (order && is_float_value(type))
            loaded[k] = emit(e, "bitcast %s %s to %s", as_integer(bytes), loaded[k], lltype(type));
        result(e, n > 1 ? &d->elements[k] : d, type, loaded[k]);
    }
}

static void emit_store(struct emitter *e, const struct instr *i)
{
    need_operands(i, 2, 3);
    enum ptx_type type = need_type(i, 0);
    const struct operand *s = &i->ops[1];
    unsigned n = elements_of(i, s, type), bytes = type_bytes(type);
    const char *v[8], *group;
    for (unsigned k = 0; k < n; k++) v[k] = value(e, n > 1 ? &s->elements[k] : s, type);
    const char *p = address_of(e, i, &i->ops[0], i->space, bytes * n, &group), *order = ordering(i, true);
    for (unsigned k = 0; k < n && order && is_float_value(type); k++)
        v[k] = emit(e, "bitcast %s %s to %s", lltype(type), v[k], as_integer(bytes));
    if (is_at_once(order, n, bytes)) {
        store_at_once(e, p, order, n, bytes, v);
        return;
    }
    for (unsigned k = 0; k < n; k++) {
        const char *q = element(e, p, k, bytes);
        if (order)
            store_ordered(e, q, order, bytes, v[k]);
        else
            emit_void(e, "store %s %s, ptr %s, align %u%s", lltype(type), v[k], q, bytes > 8 ? 8 : bytes, group);
    }
}

/* ---- address conversion */

static const char *shared_base(struct emitter *e)
{
    return emit(e, "ptrtoint ptr %s to i64", block_field(e, "ptr", offsetof(struct fl_block, shared)));
}

/* Does the function keep addresses of the space in 32 bits? */
static bool has_short_addresses(const struct emitter *e, enum ptx_space space)
{
    for (uint32_t k = 0; k < e->func->ncode; k++) {
        const struct instr *i = &e->func->code[k];
        for (uint32_t n = 0; n < i->nops; n++)
            if (i->ops[n].kind == OPERAND_var && i->ops[n].var->space == space && i->ntypes &&
                type_bits(i->types[0]) == 32)
                return true;
    }
    return false;
}

/* Only modules with mapa know addresses of other blocks. */
static const char *shared_of(struct emitter *e, const char *generic)
{
    return e->module->maps ? cluster_address(e, generic) : emit(e, "sub i64 %s, %s", generic, shared_base(e));
}

static const char *generic_of(struct emitter *e, const char *shared)
{
    if (!e->module->maps) return emit(e, "add i64 %s, %s", shared, shared_base(e));
    return emit(e, "ptrtoint ptr %s to i64", cluster_pointer(e, emit(e, "trunc i64 %s to i32", shared), 0));
}

static void emit_cvta(struct emitter *e, const struct instr *i)
{
    need_operands(i, 2, 2);
    enum ptx_type type = need_type(i, 0);
    const char *v = value(e, &i->ops[1], type);
    if (type_bits(type) != 64) fail(i, "addresses have 64 bits");
    if (i->space == SPACE_shared) v = has(i, MOD_to) ? shared_of(e, v) : generic_of(e, v);
    bool low = i->space == SPACE_local || i->space == SPACE_const || (i->space == SPACE_param && e->func->entry);
    if (low && !has(i, MOD_to) && has_short_addresses(e, i->space))
        v = completed(e, i, i->space, emit(e, "trunc i64 %s to i32", v));
    result(e, &i->ops[0], type, v);
}

static const char *within(struct emitter *e, const char *a, const char *lo, const char *hi)
{
    return emit(e, "and i1 %s, %s", emit(e, "icmp uge i64 %s, %s", a, lo), emit(e, "icmp ult i64 %s, %s", a, hi));
}

const char *is_shared(struct emitter *e, const char *a, bool of_cluster)
{
    const char *size = block_field(e, "i64", offsetof(struct fl_block, shared_window_size));
    if (of_cluster) return cluster_shared(e, a, size);
    return emit(e, "icmp ult i64 %s, %s", emit(e, "sub i64 %s, %s", a, shared_base(e)), size);
}

/* Whether the address is in a constant of this module; those of others are taken for global memory, where all lie. */
static const char *is_constant(struct emitter *e, const char *a)
{
    const char *any = "false";
    for (uint32_t k = 0; k < e->module->nvars; k++) {
        const struct var *v = e->module->vars[k];
        if (v->space != SPACE_const) continue;
        const char *at = symbol_address(e, v->index);
        const char *inside =
            emit(e, "icmp ult i64 %s, %" PRIu64, emit(e, "sub i64 %s, %s", a, at), v->size ? v->size : 1);
        any = emit(e, "or i1 %s, %s", any, inside);
    }
    return any;
}

enum { PARAMETERS = 32764 }; /* bytes at most */

/* Of the kernel that this is, or calls it */
static const char *is_parameter(struct emitter *e, const char *a)
{
    const char *base = emit(e, "ptrtoint ptr %s to i64", block_field(e, "ptr", offsetof(struct fl_block, params)));
    return emit(e, "icmp ult i64 %s, %d", emit(e, "sub i64 %s, %s", a, base), PARAMETERS);
}

static void emit_isspacep(struct emitter *e, const struct instr *i)
{
    need_operands(i, 2, 2);
    const char *a = value(e, &i->ops[1], T_b64);
    const char *shared = is_shared(e, a, i->space == SPACE_global || strstr(i->text, "::cluster"));
    const char *local = within(e, a, block_field(e, "i64", offsetof(struct fl_block, local_lo)),
                               block_field(e, "i64", offsetof(struct fl_block, local_hi)));
    const char *v;
    if (i->space == SPACE_shared)
        v = shared;
    else if (i->space == SPACE_local)
        v = local;
    else if (i->space == SPACE_global)
        v = emit(e, "xor i1 %s, true",
                 emit(e, "or i1 %s, %s", is_constant(e, a), emit(e, "or i1 %s, %s", shared, local)));
    else if (i->space == SPACE_const)
        v = is_constant(e, a);
    else if (i->space == SPACE_param)
        v = is_parameter(e, a);
    else
        fail(i, "a state space is missing");
    result(e, &i->ops[0], T_pred, v);
}

bool emit_memory(struct emitter *e, const struct instr *i)
{
    switch (i->op) {
    case OP_ld:
    case OP_ldu: emit_load(e, i); return true;
    case OP_st:
        if (has(i, MOD_async)) return false;
        emit_store(e, i);
        return true;
    case OP_cvta: emit_cvta(e, i); return true;
    case OP_isspacep: emit_isspacep(e, i); return true;
    case OP_membar:
    case OP_fence:
        if (!has(i, MOD_proxy))
            emit_void(e, "fence %s",
                      has(i, MOD_acquire)   ? "acquire"
                      : has(i, MOD_release) ? "release"
                      : has(i, MOD_acq_rel) ? "acq_rel"
                                            : "seq_cst");
        return true;
    case OP_prefetch:
    case OP_prefetchu:
    case OP_discard:
    case OP_applypriority:
    case OP_pmevent:
    case OP_griddepcontrol:
    case OP_setmaxnreg: return true;
    case OP_createpolicy: result(e, &i->ops[0], T_b64, "0"); return true;
    case OP_nanosleep: call_rt(e, "nanosleep", "i32 %s", value(e, &i->ops[0], T_b32)); return true;
    default: return false;
    }
}
