/* A PTX module as the compiler sees it: variables, functions, and for each
 * function its registers and a flat list of instructions. Registers are
 * mutable variables as in PTX itself; LLVM makes SSA of them later.
 * Everything lives in one arena (arena.h) and dies with the process. */
#ifndef FL_PTX_IR_H
#define FL_PTX_IR_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#define FL_PTX_TYPES(X) \
    X(pred, 1) X(b8, 8) X(b16, 16) X(b32, 32) X(b64, 64) X(b128, 128) \
    X(u8, 8) X(u16, 16) X(u32, 32) X(u64, 64) X(s8, 8) X(s16, 16) X(s32, 32) X(s64, 64) \
    X(f16, 16) X(f16x2, 32) X(bf16, 16) X(bf16x2, 32) X(f32, 32) X(f32x2, 64) X(f64, 64) X(tf32, 32) \
    X(e4m3, 8) X(e5m2, 8) X(s4, 4) X(u4, 4) X(s2, 2) X(u2, 2) X(b1, 1) X(e4m3x2, 16) X(e5m2x2, 16) X(u16x2, 32) X(s16x2, 32)
enum ptx_type {
    T_none,
#define X(name, bits) T_##name,
    FL_PTX_TYPES(X)
#undef X
    T_count
};
unsigned type_bits(enum ptx_type t);               /* 0: T_none */
const char *type_name(enum ptx_type t);
static inline unsigned type_bytes(enum ptx_type t) { return (type_bits(t) + 7) / 8; }
static inline bool type_signed(enum ptx_type t) { return (t >= T_s8 && t <= T_s64) || t == T_s4 || t == T_s2; }
static inline bool type_unsigned(enum ptx_type t) { return t >= T_u8 && t <= T_u64; }
static inline bool type_integer(enum ptx_type t) { return t >= T_u8 && t <= T_s64; }
static inline bool type_bitwise(enum ptx_type t) { return t >= T_b8 && t <= T_b128; }

#define FL_PTX_OPS(X) \
    X(abs) X(activemask) X(add) X(addc) X(alloca) X(and) X(applypriority) X(atom) X(bar) X(barrier) X(bfe) X(bfi) \
    X(bfind) X(bmsk) X(bra) X(brev) X(brkpt) X(brx) X(call) X(clz) X(cnot) X(copysign) X(cos) X(cp) X(createpolicy) \
    X(cvt) X(cvta) X(discard) X(div) X(dp2a) X(dp4a) X(elect) X(ex2) X(exit) X(fence) X(fma) X(fns) X(getctarank) \
    X(griddepcontrol) X(isspacep) X(ld) X(ldmatrix) X(ldu) X(lg2) X(lop3) X(mad) X(mad24) X(madc) X(mapa) X(match) \
    X(max) X(mbarrier) X(membar) X(min) X(mma) X(mov) X(movmatrix) X(mul) X(mul24) X(multimem) X(nanosleep) X(neg) \
    X(not) X(or) X(pmevent) X(popc) X(prefetch) X(prefetchu) X(prmt) X(rcp) X(red) X(redux) X(rem) X(ret) X(rsqrt) \
    X(sad) X(selp) X(set) X(setmaxnreg) X(setp) X(shf) X(shfl) X(shl) X(shr) X(sin) X(slct) X(sqrt) X(st) \
    X(stackrestore) X(stacksave) X(stmatrix) X(sub) X(subc) X(suld) X(suq) X(sured) X(sust) X(szext) X(tanh) X(tensormap) \
    X(testp) X(tex) X(tld4) X(trap) X(txq) X(vabsdiff) X(vabsdiff2) X(vabsdiff4) X(vadd) X(vadd2) X(vadd4) X(vavrg2) X(vavrg4) \
    X(vmad) X(vmax) X(vmax2) X(vmax4) X(vmin) X(vmin2) X(vmin4) X(vote) X(vset) X(vset2) X(vset4) X(vshl) X(vshr) \
    X(vsub) X(vsub2) X(vsub4) X(wgmma) X(wmma) X(xor)
enum ptx_op {
    OP_none,
#define X(name) OP_##name,
    FL_PTX_OPS(X)
#undef X
    OP_count
};

/* Everything after the opcode that is neither a type nor a state space. */
#define FL_PTX_MODS(X) \
    X(rn) X(rz) X(rm) X(rp) X(rna) X(rs) X(rni) X(rzi) X(rmi) X(rpi) X(ftz) X(sat) X(satfinite) X(approx) \
    X(full) X(noftz) X(relu) X(NaN) X(xorsign) X(abs) X(oob) X(hi) X(lo) X(wide) X(cc) X(clamp) X(wrap) \
    X(shiftamt) X(l) X(r) X(f4e) X(b4e) X(rc8) X(ecl) X(ecr) X(rc16) X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(ls) \
    X(hs) X(equ) X(neu) X(ltu) X(leu) X(gtu) X(geu) X(num) X(nan) X(and) X(or) X(xor) X(add) X(inc) X(dec) \
    X(min) X(max) X(exch) X(cas) X(popc) X(finite) X(infinite) X(number) X(notanumber) X(normal) X(subnormal) \
    X(up) X(down) X(bfly) X(idx) X(all) X(any) X(uni) X(ballot) X(sync) X(arrive) X(red) X(warp) X(wait) \
    X(aligned) X(noinc) X(v2) X(v4) X(v8) X(volatile) X(relaxed) X(acquire) X(release) X(acq_rel) X(sc) X(weak) \
    X(mmio) X(cta) X(cluster) X(gpu) X(gl) X(sys) X(nc) X(to) X(pack) X(ld_reduce) X(st) X(acc_f16) X(acc_f32) \
    X(async) X(commit_group) X(wait_group) X(wait_all) X(noreturn) X(proxy) X(alias) X(unified) X(init) X(inval) \
    X(arrive_drop) X(expect_tx) X(complete_tx) X(test_wait) X(try_wait) X(pending_count) X(parity) X(noComplete) \
    X(bulk) X(bulk_group) X(prefetch) X(launch_dependents) X(fractional) X(range) X(cvt) X(mbarrier_init) \
    X(trans) X(x1) X(x2) X(x4) X(load) X(store) X(mma) X(row) X(col) X(a) X(b) X(c) X(d) X(g) X(1d) X(2d) X(3d) \
    X(a1d) X(a2d) X(cube) X(acube) X(2dms) X(a2dms) X(level) X(grad) X(base) X(p) X(trap) X(zero) X(width) X(height) \
    X(depth) X(array_size) X(num_mipmap_levels) X(normalized_coords) X(mma_async) X(wgmma_fence) X(sp) \
    X(tensor) X(reduce) X(tile) X(im2col) X(im2col_no_offs) X(4d) X(5d) X(multicast) X(po) X(shr7) X(shr15)
enum ptx_mod {
#define X(name) MOD_##name,
    FL_PTX_MODS(X)
#undef X
    MOD_count
};
struct mods { uint64_t bits[(MOD_count + 63) / 64]; };

enum ptx_space { SPACE_none, SPACE_reg, SPACE_global, SPACE_const, SPACE_shared, SPACE_local, SPACE_param, SPACE_generic };

struct reg { const char *name; enum ptx_type type; uint32_t index; };

enum fl_linkage { FL_LINK_STATIC, FL_LINK_VISIBLE, FL_LINK_WEAK, FL_LINK_COMMON, FL_LINK_EXTERN };

struct symbol_ref {
    struct var *target;
    struct func *function;
    uint64_t offset;
    int64_t addend;
    uint8_t bytes, shift;          /* of the address, from its bit shift on */
};

/* A variable of any state space, module or function scope. */
struct var {
    const char *name;
    enum ptx_space space;
    enum ptx_type type;
    uint32_t align;
    uint64_t size;                 /* bytes; 0: extern shared array of the launch's size */
    uint32_t stride;               /* bytes that an index of an array counts, a vector's component (observed on H200); 0: it is none */
    bool managed, is_extern, is_argument, is_result, is_pointer, is_register;
    struct reg *reg;               /* of a parameter that is_register, in its function's body */
    uint8_t linkage;               /* enum fl_linkage */
    uint8_t *init;                 /* size bytes, NULL: zeros */
    struct symbol_ref *refs;       /* addresses among the initial values */
    uint32_t nrefs;
    uint32_t offset;               /* shared: in the window; local: in the thread's frame; param: in the buffer */
    uint32_t index;                /* image symbol, or number among a function's variables */
    bool placed;                   /* shared, and not a kernel's own; see shared.h */
    struct func **kernels;         /* that may use it, if it is placed */
    uint32_t nkernels;
    uint32_t seen;                 /* the last search for such variables that came here */
    bool texture, surface;         /* a reference: its address is a handle */
    uint32_t first, last;          /* where the function accesses it; while segments are laid out */
    bool kept;                     /* a call's, accessed on both sides of a suspension: lies with the local ones */
    bool told;                     /* a call's result that may come from memory that others write */
    unsigned file;                 /* that named it last, if it is a module's */
    uint64_t elsewhere;            /* its size as another file says it, 0: none does */
    int line;
};

enum operand_kind {
    OPERAND_none, OPERAND_reg, OPERAND_int, OPERAND_float, OPERAND_special, OPERAND_var, OPERAND_func,
    OPERAND_label, OPERAND_proto, OPERAND_address, OPERAND_vector, OPERAND_sink /* _ */, OPERAND_list,
};
enum special {
    SR_none, SR_tid, SR_ntid, SR_ctaid, SR_nctaid, SR_laneid, SR_warpid, SR_nwarpid, SR_smid, SR_nsmid, SR_gridid,
    SR_lanemask_eq, SR_lanemask_le, SR_lanemask_lt, SR_lanemask_ge, SR_lanemask_gt, SR_clock, SR_clock_hi, SR_clock64,
    SR_globaltimer, SR_globaltimer_lo, SR_globaltimer_hi, SR_total_smem_size, SR_dynamic_smem_size,
    SR_aggr_smem_size, SR_reserved_begin, SR_reserved_end, SR_reserved_cap,
    SR_zero, SR_one, SR_warp_size, SR_workspace_lo, SR_workspace_hi,
    SR_clusterid, SR_nclusterid, SR_cluster_ctaid, SR_cluster_nctaid, SR_cluster_ctarank, SR_cluster_nctarank,
    SR_explicit_cluster,
};
struct operand {
    enum operand_kind kind;
    bool negated;                  /* !p; also -x in a constant */
    bool paired;                   /* there is something behind '|' */
    bool single;                   /* float was given as 0f */
    uint8_t component;             /* special registers: 0..3 for x..w; registers .x of vectors are not supported */
    struct reg *reg;               /* register, or the base of an address */
    struct reg *second;            /* p|q, r|p */
    bool minus;                    /* -register */
    const char *part;              /* of a video instruction's register, "b0", "h32"; NULL: it says none */
    uint64_t bits;                 /* int: value; float: bits of a double (f64) */
    uint32_t fbits;                /* float given as 0f: exact single bits */
    uint32_t count;                /* of elements */
    enum special special;
    enum ptx_type type;            /* of a special register */
    struct proto *proto;
    struct var *var;               /* variable, or the base of an address */
    struct func *func;
    struct label *label;
    int64_t offset;                /* of an address or a variable */
    struct operand *elements;      /* vector {a,b}, list (a,b) */
};

struct label {
    const char *name;
    int line;
    uint32_t position;             /* index of the instruction it stands before */
    bool defined;
    struct label *same;            /* the one further out that this use means */
    struct label **targets;        /* of .branchtargets */
    uint32_t ntargets;
};
static inline struct label *label_resolve(struct label *l) { while (l->same) l = l->same; return l; }

#define MAX_OPERANDS 10
struct instr {
    enum ptx_op op;
    const char *text;              /* the opcode as written, for messages */
    int line;
    struct reg *guard;
    bool guard_negated;
    struct reg *carry;             /* the condition code, if it is read or written; NULL: it is not */
    enum ptx_type types[4];
    uint8_t ntypes;
    enum ptx_space space, space2;
    struct mods mods;
    struct operand ops[MAX_OPERANDS];
    uint8_t nops;
    struct proto *proto;           /* call through an address */
    bool yield;                    /* a back edge of a loop that may wait for memory */
    uint32_t segment;              /* that begins where this suspension or yield ends, 0: none */
};
static inline bool has(const struct instr *i, enum ptx_mod m) { return i->mods.bits[m / 64] >> (m % 64) & 1; }
/* Of .v2, .v4, .v8; 1: there is none. */
static inline unsigned vector_length(const struct instr *i)
{
    return has(i, MOD_v2) ? 2 : has(i, MOD_v4) ? 4 : has(i, MOD_v8) ? 8 : 1;
}

struct proto { struct var *rets, *params; uint32_t nrets, nparams; bool noreturn; };

/* LLVM IR of a device function; of a kernel only where it is. */
struct ir_text {
    const char **pieces;
    uint32_t count;
    uint32_t unit;                 /* the last unit (units.h) that has it, 0: none */
};

struct func {
    const char *name;
    bool entry, body, noreturn, is_extern;
    bool returns_less;             /* than another file, which calls it, declares; linkers do not mind */
    uint8_t linkage;
    unsigned file, said;           /* that it is of, and the last that named it */
    int line;
    const char *refused;           /* why it is not run, NULL: it is; see refuse.h */
    int refused_line;              /* where that is */
    struct proto sig;
    struct reg **regs;
    uint32_t nregs;
    struct reg *carry;             /* the condition code CC.CF; NULL: not used */
    struct var **vars;             /* function-scope variables: shared, local, param, global */
    uint32_t nvars;
    struct var **shared;           /* the placed ones that it names; of an entry, those of all that it may call, too */
    uint32_t nshared;
    uint32_t shared_end;           /* of an entry: behind all those */
    struct instr *code;
    uint32_t ncode;
    struct label **labels;
    uint32_t nlabels;
    uint32_t max_threads, reqntid[3], cluster[3], max_cluster;
    bool suspends;                 /* contains, or calls what contains, a suspension point */
    bool looks;                    /* contains, or calls what contains, a load that sees what other threads write, or a clock */
    bool address_taken, uses_printf, uses_malloc, spins;
    bool uses_reserved;            /* asks where the shared memory is that the driver keeps for itself */
    bool explicit_cluster;         /* .explicitcluster */
    bool blocks_are_clusters;      /* .blocksareclusters */
    bool flushed;                  /* runs only while the processor flushes subnormals; see flush.c */
    bool remote;                   /* is not compiled; see remote.h */
    bool whole;                    /* runs, or is called, on a stack of the thread's own; see whole.h */
    uint32_t search;               /* the last search through calls that came here */
    uint32_t index;                /* symbol index if the address is taken */
    uint32_t number;               /* in the module: names its code @f0, @pf0 */
    struct func *alias;
    struct kernel *kernel;         /* of an entry: its segments */
    struct ir_text fast, probes;
};

struct source_file {
    uint64_t number;
    const char *name;
    uint32_t written; /* its place in the image, 0: not there yet */
};
/* The PTX from this line on was made from that line of a source; 0: of none. */
struct source_line {
    uint32_t ptx, line;
    uint64_t file;
};
struct module_ir {
    unsigned version, target;
    bool specific;     /* sm_90a */
    bool twin;         /* FL_TWIN_PRAGMA, and */
    const char **idle; /* kernels whose machine code does nothing */
    uint32_t nidle;
    struct var **vars;
    uint32_t nvars;
    struct func **funcs;
    uint32_t nfuncs;
    bool whole;        /* some of them are */
    bool maps;         /* mapa is in it */
    int debug;         /* the line of the target option of that name, or 0 */
    bool described;    /* it has sections of debugging information */
    struct source_file *files;
    uint32_t nfiles;
    struct source_line *lines; /* in the order of the PTX */
    uint32_t nlines;
    uint32_t searches; /* through calls, so far */
};

#endif
