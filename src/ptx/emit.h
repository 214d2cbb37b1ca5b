/* Emitting LLVM IR as text. One function of the output is written at a time:
 * allocas collect in its head, code in its body. Registers are allocas named
 * %R0, %R1 ...; values are SSA names or constants, as text in the arena. */
#ifndef FL_PTX_EMIT_H
#define FL_PTX_EMIT_H

#include "abi.h"
#include "cfg.h"
#include "ir.h"
#include <stdio.h>

struct kernel;
struct units;

/* Rounds of a waiting loop before the thread lets others run. */
enum { SPIN_ROUNDS = 32 };

/* Of the parameter %b, with sizeof(struct fl_block): its fields may be read before it is known that
 * they are needed, that is, outside the loop over threads. */
#define BLOCK_ATTRIBUTES "align 8 dereferenceable(%zu)"

/* What the IR's metadata and attributes are numbered (translate.c writes them), as they follow an instruction. */
#define IR_INVARIANT ", !invariant.load !0"             /* reads the same as long as the kernel runs */
#define IR_RARELY ", !prof !3"                          /* a branch that is hardly ever taken */
#define IR_INDEPENDENT ", !llvm.access.group !1"        /* an access that threads do in any order */
#define IR_LOOP ", !llvm.loop !2"                       /* over threads: only such accesses in it */
#define IR_LOCKSTEP_LOOP ", !llvm.loop !6"              /* the same, one vector of threads a round */
#define IR_SYMBOL_TABLE ", !dereferenceable !4, !align !5"
#define IR_STACK_POINTER "metadata !7"
/* #0 and so on, after a function's parameters. */
enum ir_attributes {
    IR_FAST,                       /* vectors as wide as the processor's */
    IR_PROBE,                      /* as it is written, instruction by instruction */
    IR_WHOLE,                      /* fast, but not inlined: its stack is checked */
    IR_STREAMING,                  /* fast; its stores may go past the cache (stream.h) */
};

struct emitter {
    struct module_ir *module;
    struct units *units;           /* all that was written so far */
    FILE *head, *body;             /* of the function being written */
    char *head_text, *body_text;
    size_t head_size, body_size;
    unsigned next;                 /* SSA names, never reset */
    struct func *func;
    struct kernel *kernel;         /* NULL in device functions */
    bool probe;                    /* checks exactly, tells where it is; see abi.h */
    bool whole;                    /* suspends by calling the run time; a probe as well, but optimised */
    const char *group;             /* metadata suffix of accesses that threads do independently, or "" */
    const char *t, *x, *y, *z;     /* the thread: i32 values */
    uint8_t *reg_used;             /* by register: has its alloca */
    uint8_t *shared_used;          /* by register: has an alloca for what is the same in all threads */
    bool shared;                   /* registers mean those */
    uint8_t *var_used;
    bool misaligned_used;
    bool avoid_fma;                /* the processor has no fused multiply-add */
    const struct instr *current;
};

/* text of one instruction's result: "%v12" */
const char *emit(struct emitter *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void emit_void(struct emitter *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *new_label(struct emitter *e, const char *stem);
void place_label(struct emitter *e, const char *label);
void function_begin(struct emitter *e, struct func *f);
void function_end(struct emitter *e, const char *header);
/* What LLVM has to know of subnormals in the function being written, as an attribute of its header. */
const char *subnormals(const struct emitter *e);

/* LLVM's type for a value of a PTX type: f32 float, f64 double, pred i1, everything else (f16 too) iN. */
const char *lltype(enum ptx_type t);
const char *lltype_bits(unsigned bits);            /* "i32" */
bool is_float_value(enum ptx_type t);              /* f32 or f64 */

/* An operand's value as type (a register of another class is bitcast, a wider one truncated). */
const char *value(struct emitter *e, const struct operand *o, enum ptx_type type);
/* Stores into a register; a wider one is sign- or zero-extended as type says. A sink takes nothing. */
void result(struct emitter *e, const struct operand *o, enum ptx_type type, const char *v);
const char *load_reg(struct emitter *e, struct reg *r);
void store_reg(struct emitter *e, struct reg *r, const char *v);
/* Of a shared address that may name another block of the cluster. */
const char *cluster_pointer(struct emitter *e, const char *offset32, int64_t displacement);
/* Whether the address is one of the block's shared memory or, if of_cluster, of any block's of its cluster (emit_mem.c). */
const char *is_shared(struct emitter *e, const char *address, bool of_cluster);
/* Whether a block of the cluster has its shared memory, of so many bytes, at the address. */
const char *cluster_shared(struct emitter *e, const char *address, const char *size);
/* The shared address for a generic one, which names another block of the cluster if it is in its shared memory. */
const char *cluster_address(struct emitter *e, const char *address);
const char *cluster_value(struct emitter *e, const struct operand *o);      /* (emit_cluster.c) */
const char *special_value(struct emitter *e, const struct operand *o);      /* as its own type (emit_special.c) */
const char *predicate(struct emitter *e, const struct operand *o);          /* i1, negation applied */
/* Register bits must be exactly those of type, of a fitting class; PTX's rule for all but ld, st, cvt. */
void fits(struct emitter *e, const struct operand *o, enum ptx_type type);

void fail(const struct instr *i, const char *what) __attribute__((noreturn));        /* INVALID_PTX */
void unsupported(const struct instr *i, const char *what) __attribute__((noreturn));
/* Fails unless there are so many. */
void need_operands(const struct instr *i, unsigned least, unsigned most);
/* The instruction's type: types[n], or an error. */
enum ptx_type need_type(const struct instr *i, unsigned n);

const char *block_field(struct emitter *e, const char *type, size_t offset);   /* a load of b's field */
const char *symbol_address(struct emitter *e, uint32_t index);                 /* i64: of the image's symbol */
/* Calls an entry of b->rt; args like "float %v1, float %v2" without the block. Returns the result's name or NULL. */
const char *call_rt(struct emitter *e, const char *name, const char *args, ...) __attribute__((format(printf, 3, 4)));

/* Each returns false if the opcode is not its own. */
bool emit_integer(struct emitter *e, const struct instr *i);
bool emit_bits(struct emitter *e, const struct instr *i);
bool emit_float(struct emitter *e, const struct instr *i);
bool emit_half(struct emitter *e, const struct instr *i);
bool emit_convert(struct emitter *e, const struct instr *i);
bool emit_compare(struct emitter *e, const struct instr *i);
bool emit_move(struct emitter *e, const struct instr *i);
bool emit_memory(struct emitter *e, const struct instr *i);
bool emit_cluster(struct emitter *e, const struct instr *i);
bool emit_atomic(struct emitter *e, const struct instr *i);
bool emit_asynchronous(struct emitter *e, const struct instr *i);
bool emit_matrix(struct emitter *e, const struct instr *i);
bool emit_wgmma(struct emitter *e, const struct instr *i);
bool emit_tensor(struct emitter *e, const struct instr *i);
bool emit_multimem(struct emitter *e, const struct instr *i);
bool emit_texture(struct emitter *e, const struct instr *i);
bool emit_surface(struct emitter *e, const struct instr *i);
bool emit_video(struct emitter *e, const struct instr *i);
bool emit_call(struct emitter *e, const struct instr *i);
bool emit_stack(struct emitter *e, const struct instr *i);
void emit_instruction(struct emitter *e, const struct instr *i);  /* without guard and control flow */

/* The address (text of a ptr value) that an address operand means, for an access of bytes;
 * checks or notes its alignment. group: the metadata suffix for the access. */
const char *address_of(struct emitter *e, const struct instr *i, const struct operand *o, enum ptx_space space,
                       unsigned bytes, const char **group);
/* In a probe: says that it is i that is executed now. */
void tell_place(struct emitter *e, const struct instr *i);
/* A variable's address in its own space, i64 (shared: the offset). */
const char *variable_address(struct emitter *e, const struct var *v);
const char *param_pointer(struct emitter *e, const struct var *v);

/* emit_matrix.c: mma, wmma, ldmatrix and the like; those that suspend, as emit_suspend and emit_resume. */
bool is_matrix(const struct instr *i);
/* Of elements; false: no matrix has such. */
bool matrix_type(enum ptx_type t, enum fl_matrix_type *type);
void matrix_suspend(struct emitter *e, const struct instr *i);
void matrix_resume(struct emitter *e, const struct instr *i);
struct fl_image_segment;
void matrix_describe(const struct instr *i, struct fl_image_segment *s);

/* emit_wgmma.c: wgmma.mma_async, likewise; nothing is to be done when it resumes. */
bool is_wgmma(const struct instr *i);
void wgmma_suspend(struct emitter *e, const struct instr *i);
void wgmma_describe(const struct instr *i, struct fl_image_segment *s);
/* How many registers have its sums, and which; as long as it is not called again. */
uint32_t wgmma_sums(const struct instr *i, struct reg *const **regs);

/* emit_warp.c: stores into the thread's element of one of b's op_* arrays. */
void lane_put(struct emitter *e, size_t array, unsigned bytes, const char *v);
void lane_put_predicate(struct emitter *e, const struct operand *o);

/* A kernel, cut into segments; a function that does not suspend. */
void emit_kernel(struct emitter *e, struct func *f);
void emit_function(struct emitter *e, struct func *f);
/* A function, or a kernel, that runs whole. */
void emit_whole(struct emitter *e, struct func *f);
void emit_suspend(struct emitter *e, const struct instr *i);       /* stores the operation's operands */
void emit_resume(struct emitter *e, const struct instr *i);        /* takes its results */

#endif
