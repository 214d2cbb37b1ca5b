/* Which kernels may run while the processor itself takes subnormal numbers for
 * zeros and gives zeros for them (nvcc --use_fast_math, -ftz=true): those in which
 * nothing that they reach would notice. Their .ftz costs no code then. */
#include "calls.h"
#include "ptxc.h"

static bool wide_or_single(enum ptx_type t) { return t == T_f32 || t == T_f64; }
static bool brain(enum ptx_type t) { return t == T_bf16 || t == T_bf16x2; }

/* What becomes of a subnormal does not show in a half, nor in anything smaller, unless it is rounded away from zero. */
static bool small(enum ptx_type t)
{
    return t == T_f16 || t == T_f16x2 || t == T_e4m3 || t == T_e5m2 || t == T_e4m3x2 || t == T_e5m2x2;
}

static bool conversion_survives(const struct instr *i)
{
    enum ptx_type to = i->types[0], from = i->ntypes > 1 ? i->types[1] : T_none;
    if (small(to) && from == T_f32 && (has(i, MOD_rm) || has(i, MOD_rp))) return false;
    if (has(i, MOD_ftz)) return true;
    if (from == T_tf32 || to == T_tf32) return false;
    if (brain(from)) return to == T_f32;
    return !wide_or_single(from) || small(to) || (brain(to) && has(i, MOD_rn));
}

/* Whether the instruction does the same if the processor flushes. */
static bool survives(const struct instr *i)
{
    switch (i->op) {
    case OP_mov:
    case OP_ld:
    case OP_ldu:
    case OP_st:
    case OP_selp:
    case OP_abs:
    case OP_neg:
    case OP_copysign:
    case OP_mma: /* the device sees to it that matrices are not concerned */
    case OP_wmma:
    case OP_wgmma: return true;
    case OP_call: return callee(i) != NULL; /* what is behind an address may be of another module */
    case OP_cvt: return conversion_survives(i);
    case OP_atom:
    case OP_red:
        if (i->space == SPACE_global && i->types[0] == T_f32) return true; /* flushes anyway */
        break;
    default: break;
    }
    for (unsigned k = 0; k < i->ntypes; k++) {
        enum ptx_type t = i->types[k];
        if (t == T_f32 && !has(i, MOD_ftz)) return false;
        if (t == T_f64 || t == T_f32x2 || t == T_tf32 || brain(t)) return false;
    }
    return true;
}

static bool all_survive(const struct func *f, bool *any)
{
    for (uint32_t k = 0; k < f->ncode; k++) {
        if (!survives(&f->code[k])) return false;
        *any |= has(&f->code[k], MOD_ftz);
    }
    return true;
}

void flush_choose(struct module_ir *m)
{
    for (uint32_t k = 0; k < m->nfuncs; k++) m->funcs[k]->flushed = !m->funcs[k]->address_taken;
    for (uint32_t k = 0; k < m->nfuncs; k++) {
        struct func *f = m->funcs[k], **list;
        if (!f->entry || !f->body) continue;
        uint32_t count = calls_reachable(m, f, &list);
        bool any = false, good = true;
        for (uint32_t n = 0; n < count && good; n++) good = all_survive(list[n], &any);
        f->flushed = good && any;
        for (uint32_t n = 0; n < count; n++)
            if (list[n] != f) list[n]->flushed &= f->flushed;
    }
}
