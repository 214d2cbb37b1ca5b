/* The contract between compiled kernels (written by faultline-ptxc) and the
 * device process that runs them. Both sides include this file; a change of it
 * is a change of FL_ABI_VERSION, which is part of the compile cache's key.
 *
 * How a kernel is executed
 * A kernel is cut into segments at its suspension points: barriers, warp
 * operations, and the back edges of loops that may spin on memory. A segment
 * runs from one resume point until every path has reached the next suspension
 * point or the end. It is one native function,
 *
 *     void segment(struct fl_block *b, uint32_t first, uint32_t count)
 *
 * that runs threads first .. first+count-1 of block b one after the other (as
 * a loop that LLVM may vectorise: threads between two suspension points are
 * independent). Before it leaves a thread it stores, for that thread,
 * state[t] = the segment to resume at, or FL_EXITED, the registers that live
 * on in the context, and the operation's operands in the op_* arrays. The
 * scheduler (src/device/block.c) decides when the operation is complete, puts
 * its result in op_result/op_pred and calls the next segment.
 * A loop that all threads go round together is cut out, too, so that the
 * threads' loop is the inner one: its segment runs it to its end (lockstep.h).
 * A kernel without suspension points has one segment and needs none of this:
 * its context is empty and state may be NULL.
 *
 * A kernel in which something that suspends may be called through an address,
 * or by itself, cannot be cut: it runs whole (FL_KERNEL_WHOLE). Each thread has
 * a stack of its own in the device process. The first segment's function runs
 * one thread from its beginning to its end; at a suspension point it stores
 * the operands as above and calls rt->suspend, which returns when the thread
 * is to go on. The other segments have no code, they describe the suspension
 * points of all that the module runs whole. For the scheduler there is no other
 * difference. Such code checks and tells where it is as probes do: it needs none.
 *
 * Every other segment exists a second time as a probe: the same code, as it is written,
 * that stores probe_thread and probe_line before each access, tells the run time
 * of its address if it may be global, and checks each alignment exactly. The
 * device runs probes to explain a fault, and where the host wants to know what a
 * single thread accesses.
 *
 * Address spaces
 * global, const, generic and param addresses are addresses of the device
 * process. A shared address is a 32-bit offset from b->shared; its generic
 * form is b->shared + offset. A local address is its generic address. */
#ifndef FL_PTX_ABI_H
#define FL_PTX_ABI_H

#include <stdbool.h>
#include <stdint.h>

#define FL_ABI_VERSION 39u
#define FL_EXITED 0xffffu          /* state[t]: the thread has ended */
#define FL_MAX_SEGMENTS 0xfff0u

struct fl_block;
struct fl_rt;
typedef void fl_segment_fn(struct fl_block *b, uint32_t first, uint32_t count);

/* One thread block in flight, as compiled code sees it. Threads are numbered
 * x first, then y, then z. Arrays [t] have nthreads entries rounded up to a
 * multiple of 32. */
struct fl_block {
    const uint8_t *params;         /* the launch's parameter buffer */
    uint8_t *shared;               /* shared window: static variables, then dynamic, then
                                      what a kernel with FL_KERNEL_RESERVED knows of */
    uint8_t *local;                /* thread t's local variables: local + t * local_stride */
    uint8_t *context;              /* spilled registers: the slot at byte o of the
                                      per-thread context is an array of nthreads
                                      elements at context + o * nthreads */
    uint16_t *state;               /* [t] next segment or FL_EXITED */
    uint32_t *op_mask;             /* [t] member mask of a warp operation */
    uint64_t *op_a;                /* [t] operands, zero-extended; meaning per enum fl_warp_op */
    uint64_t *op_b;                /* [t] */
    uint64_t *op_c;                /* [t] */
    uint64_t *op_result;           /* [t] written by the scheduler */
    uint8_t *op_pred;              /* [t] in: predicate operand; out: predicate result */
    uint32_t *op_matrix;           /* [t * FL_MATRIX_WORDS] of kernels with FL_KERNEL_MATRIX, see below */
    const uint64_t *symbols;       /* address of each of the image's symbols */
    const struct fl_rt *rt;        /* what compiled code may call */
    uint32_t ntid[3], nctaid[3], ctaid[3];
    uint32_t nthreads;
    uint32_t local_stride;
    uint32_t dynamic_shared;       /* shared offset at which dynamic shared memory begins */
    uint32_t dynamic_shared_size;
    uint32_t total_shared_size;
    uint32_t reserved_shared;      /* shared offset of the FL_RESERVED_SHARED bytes behind those */
    uint32_t smid, nsmid;
    uint64_t gridid;
    uint32_t misaligned;           /* OR of the low address bits that should have been 0 */
    volatile uint32_t probe_thread, probe_line;
    uint64_t shared_window_size;   /* a generic address in [shared, shared + this) is shared */
    uint64_t local_lo, local_hi;   /* a generic address in [lo, hi) is local (worker stack or b->local) */
    uint64_t stack_lo, stack_stride; /* of a kernel that runs whole: thread t's stack begins at lo + t * stride */
    uint64_t grid_workspace;       /* of a cooperative grid: zeroed bytes where its barrier counts; 0 otherwise */
    uint32_t cluster[3];           /* blocks of a cluster */
    uint32_t explicit_cluster;     /* whether the launch or the kernel says how many */
    const uint64_t *windows;       /* [rank in the cluster] the address of that block's shared window */
    uint64_t keep_cached;          /* 0: vector stores of a kernel that streams go past the cache; else ~0 */
    /* what follows is the scheduler's own */
};

/* Bytes that the driver keeps for itself of a block's shared memory, as on an H200. There they come first; here address 0
 * is the program's. Cooperative groups let the warps of a large tile meet in them. */
enum { FL_RESERVED_SHARED = 1024 };

/* Why a segment was left, that is, what must happen before the segment named
 * in state[t] may run. Kept in struct fl_image_segment of the resumed segment. */
enum fl_suspend {
    FL_SUSPEND_START = 0,          /* segment 0: the kernel's entry */
    FL_SUSPEND_BARRIER,            /* bar/barrier, see enum fl_barrier_op */
    FL_SUSPEND_WARP,               /* a warp operation, see enum fl_warp_op */
    FL_SUSPEND_YIELD,              /* a loop that may wait for memory went round some times: let others run */
    FL_SUSPEND_CONTINUE,           /* nothing to wait for: a cut made for the code's sake */
};

/* op_a = barrier number unless imm0 holds it; op_b = thread count unless imm1
 * holds it (0: all threads of the block); op_pred = operand of a reduction. */
enum fl_barrier_op {
    FL_BAR_SYNC, FL_BAR_ARRIVE, FL_BAR_RED_POPC /* op_result */,
    FL_BAR_RED_AND, FL_BAR_RED_OR /* op_pred */,
    FL_BAR_CLUSTER,                /* all threads of all blocks of the cluster; no operands */
};

/* A shared address that names another block of the cluster: (its rank + 1) << 24 | offset. */
enum { FL_CLUSTER_MOST = 16, FL_CLUSTER_SHIFT = 24 };

/* op_mask = member mask (all lanes if FL_SEG_FULL_MASK). Behind each: its operands; its results. */
enum fl_warp_op {
    FL_WARP_SYNC,                  /* bar.warp.sync */
    /* op_a = value, op_b = lane operand, op_c = clamp operand; op_result, op_pred = source in range */
    FL_WARP_SHFL_UP, FL_WARP_SHFL_DOWN, FL_WARP_SHFL_BFLY, FL_WARP_SHFL_IDX,
    FL_WARP_VOTE_ALL, FL_WARP_VOTE_ANY, FL_WARP_VOTE_UNI, /* op_pred; op_pred */
    FL_WARP_VOTE_BALLOT,           /* op_pred; op_result */
    FL_WARP_MATCH_ANY, FL_WARP_MATCH_ALL, /* op_a = value; op_result = mask, of ALL also op_pred */
    /* op_a; op_result */
    FL_WARP_REDUX_ADD, FL_WARP_REDUX_MIN_U, FL_WARP_REDUX_MAX_U, FL_WARP_REDUX_MIN_S, FL_WARP_REDUX_MAX_S,
    FL_WARP_REDUX_AND, FL_WARP_REDUX_OR, FL_WARP_REDUX_XOR,
    FL_WARP_ACTIVEMASK,            /* no mask: complete when no lane of the warp can run; op_result = lanes that wait
                                      at this very segment */
    FL_WARP_ELECT,                 /* ; op_result = lowest lane of the mask, op_pred = am I it */
    FL_WARP_MMA,                   /* op_matrix: A, B, C, metadata; D. imm0, imm1: fl_product */
    FL_WARP_ROWS,                  /* op_a = address of a row; op_matrix: the 64-bit addresses that the lane accesses,
                                      two for each register if transposed. imm0: FL_ROWS_* */
    FL_WARP_TRANSPOSE,             /* op_matrix: a register; a register */
    FL_WARP_WGMMA,                 /* op_a = A's descriptor, or two of its registers, and two in op_c; op_b = B's
                                      descriptor; op_mask = metadata; op_pred: the sums are added to. imm0:
                                      fl_warpgroup_product; imm1: where the image's slots begin that say where in the
                                      context the sums are, in place */
};

/* Matrix operations of whole warps. Their operands, and then their results, are registers in op_matrix, one after
 * the other, of 64 bits in two words. */
enum { FL_MATRIX_WORDS = 32, FL_MATRIX_DATA = 16 /* stmatrix: where its registers begin */,
       FL_MATRIX_MOST = 16 * 256 /* elements */ };
enum { FL_ROWS_MATRICES = 255, FL_ROWS_TRANSPOSED = 256 }; /* imm0: how many matrices, and whether they are */
enum fl_matrix_type {
    FL_MATRIX_F16, FL_MATRIX_BF16, FL_MATRIX_TF32, FL_MATRIX_S8, FL_MATRIX_U8, FL_MATRIX_F64, FL_MATRIX_F32,
    FL_MATRIX_S32,
    /* of A and B only: fl_product_imm0 has three bits for C and D */
    FL_MATRIX_E4M3, FL_MATRIX_E5M2, FL_MATRIX_S4, FL_MATRIX_U4, FL_MATRIX_B1,
};
/* Elements in a register, registers for an element. */
static inline uint32_t fl_matrix_packed(enum fl_matrix_type t)
{
    switch (t) {
    case FL_MATRIX_F16:
    case FL_MATRIX_BF16: return 2;
    case FL_MATRIX_S8:
    case FL_MATRIX_U8:
    case FL_MATRIX_E4M3:
    case FL_MATRIX_E5M2: return 4;
    case FL_MATRIX_S4:
    case FL_MATRIX_U4: return 8;
    case FL_MATRIX_B1: return 32;
    default: return 1;
    }
}
/* Elements of a sparse matrix that are stored together: four bits of metadata tell which. */
static inline uint32_t fl_matrix_told(enum fl_matrix_type t)
{
    return fl_matrix_packed(t) == 1 ? 1 : fl_matrix_packed(t) == 8 ? 4 : 2;
}
static inline uint32_t fl_matrix_words(enum fl_matrix_type t) { return t == FL_MATRIX_F64 ? 2 : 1; }

/* The place of a fragment's element: of lane 0's register r the n-th. Lane l's is l / 4 rows further and l % 4 times as
 * many columns as fl_fragment_step says; where it is turned, the other way round. The PTX manual draws it for mma; observed
 * on an H200, the fragments of wmma are such ones side by side, or below each other, and those of 8 times 32 elements are
 * those of the transposed product. */
enum fl_fragment_part { FL_FRAGMENT_A, FL_FRAGMENT_B, FL_FRAGMENT_C };
struct fl_fragment_place { uint32_t row, column; };
static inline bool fl_fragment_turned(enum fl_fragment_part part, uint32_t columns)
{
    return part == FL_FRAGMENT_B || (part == FL_FRAGMENT_C && columns == 32);
}
static inline uint32_t fl_fragment_step(enum fl_fragment_part part, enum fl_matrix_type t)
{
    return part == FL_FRAGMENT_C ? 2 : fl_matrix_packed(t);
}
static inline struct fl_fragment_place fl_fragment_place(enum fl_fragment_part part, enum fl_matrix_type t, uint32_t rows,
                                                         uint32_t columns, uint32_t r, uint32_t n)
{
    const bool turned = fl_fragment_turned(part, columns);
    const uint32_t per = fl_matrix_packed(t), lines = turned ? columns : rows, depth = turned ? rows : columns;
    struct fl_fragment_place p;
    if (part == FL_FRAGMENT_C) {
        const uint32_t e = r * per + n;
        p = (struct fl_fragment_place){ e / 2 % (lines / 8) * 8, e / 2 / (lines / 8) * 8 + e % 2 };
    } else {
        const uint32_t height = part == FL_FRAGMENT_B && lines < 32 ? 1 : lines < 16 ? 1 : 2;
        const uint32_t tile = height * depth / (4 * per), at = r % tile;
        p = (struct fl_fragment_place){ (r / tile * height + at % height) * 8, at / height * 4 * per + n };
    }
    return turned ? (struct fl_fragment_place){ p.column, p.row } : p;
}

enum fl_rounding { FL_ROUND_NEAREST, FL_ROUND_ZERO, FL_ROUND_DOWN, FL_ROUND_UP };

/* What FL_WARP_MMA computes: D = A B + C. A has rows and depth, B depth and columns. Of a sparse A half of each row is
 * stored; its metadata follow the registers of C. */
struct fl_matrix_product {
    uint32_t rows, depth, columns;
    enum fl_matrix_type a, b, c, d;
    bool saturated;
    bool wmma;
    bool differing; /* of bits: those that differ are counted, not those that both have */
    bool sparse;
    uint32_t selector; /* which lanes have metadata */
    uint32_t rounding; /* of doubles: enum fl_rounding */
    bool a_turned, b_turned; /* of quads: lanes hold columns of A, rows of B */
};
/* Each quarter of the warp, 8 lanes, makes a product. */
static inline bool fl_product_quads(const struct fl_matrix_product *p)
{
    return p->a == FL_MATRIX_F16 && p->depth == 4;
}
/* Registers, and words of them, of A or B with so many elements. Halves of wmma are there twice, or four times. */
static inline uint32_t fl_product_registers(const struct fl_matrix_product *p, enum fl_matrix_type t, uint32_t elements)
{
    return p->wmma && t == FL_MATRIX_F16 ? 8 : elements / (fl_product_quads(p) ? 8 : 32) / fl_matrix_packed(t);
}
static inline uint32_t fl_product_words(const struct fl_matrix_product *p, enum fl_matrix_type t, uint32_t elements)
{
    return fl_product_registers(p, t, elements) * fl_matrix_words(t);
}
/* As imm0 and imm1 of its segment, and back. */
static inline uint32_t fl_product_imm0(const struct fl_matrix_product *p)
{
    return p->rows | p->columns << 8 | (uint32_t)p->a << 16 | (uint32_t)p->b << 20 | (uint32_t)p->c << 24 |
           (uint32_t)p->d << 27 | (uint32_t)p->saturated << 30 | (uint32_t)p->wmma << 31;
}
static inline uint32_t fl_product_imm1(const struct fl_matrix_product *p)
{
    return p->depth | (uint32_t)p->differing << 16 | (uint32_t)p->sparse << 17 | p->selector << 18 |
           p->rounding << 20 | (uint32_t)p->a_turned << 22 | (uint32_t)p->b_turned << 23;
}
static inline struct fl_matrix_product fl_product(uint32_t imm0, uint32_t imm1)
{
    return (struct fl_matrix_product){ .rows = imm0 & 255,
                                       .depth = imm1 & 0xffff,
                                       .columns = imm0 >> 8 & 255,
                                       .a = (enum fl_matrix_type)(imm0 >> 16 & 15),
                                       .b = (enum fl_matrix_type)(imm0 >> 20 & 15),
                                       .c = (enum fl_matrix_type)(imm0 >> 24 & 7),
                                       .d = (enum fl_matrix_type)(imm0 >> 27 & 7),
                                       .saturated = imm0 >> 30 & 1,
                                       .wmma = imm0 >> 31,
                                       .differing = imm1 >> 16 & 1,
                                       .sparse = imm1 >> 17 & 1,
                                       .selector = imm1 >> 18 & 3,
                                       .rounding = imm1 >> 20 & 3,
                                       .a_turned = imm1 >> 22 & 1,
                                       .b_turned = imm1 >> 23 & 1 };
}

/* What FL_WARP_WGMMA computes: D += A B. A has 64 rows, 16 of them each warp's, and stores 32 bytes of depth; B has twice
 * that if A is sparse. */
enum { FL_WARPGROUP_REGISTERS = 128 /* of a thread's sums, at most */, FL_WARPGROUP_DEPTH = 32 };
struct fl_warpgroup_product {
    uint32_t columns;              /* a multiple of 8, to 256 */
    enum fl_matrix_type a, b, d;
    bool saturated, a_in_registers, a_negated, b_negated;
    bool a_transposed, b_transposed; /* neighbours in memory are of one column of A, one row of B */
    bool sparse;
    uint32_t selector;             /* which pair of each four lanes has metadata */
};
/* As imm0 of its segment, and back. */
static inline uint32_t fl_warpgroup_imm0(const struct fl_warpgroup_product *p)
{
    return p->columns | (uint32_t)p->sparse << 10 | p->selector << 11 | (uint32_t)p->a << 12 | (uint32_t)p->b << 16 | (uint32_t)p->d << 20 |
           (uint32_t)p->saturated << 24 | (uint32_t)p->a_in_registers << 25 | (uint32_t)p->a_negated << 26 |
           (uint32_t)p->b_negated << 27 | (uint32_t)p->a_transposed << 28 | (uint32_t)p->b_transposed << 29;
}
static inline struct fl_warpgroup_product fl_warpgroup_product(uint32_t imm0)
{
    return (struct fl_warpgroup_product){ .columns = imm0 & 1023,
                                          .sparse = imm0 >> 10 & 1,
                                          .selector = imm0 >> 11 & 1,
                                          .a = (enum fl_matrix_type)(imm0 >> 12 & 15),
                                          .b = (enum fl_matrix_type)(imm0 >> 16 & 15),
                                          .d = (enum fl_matrix_type)(imm0 >> 20 & 15),
                                          .saturated = imm0 >> 24 & 1,
                                          .a_in_registers = imm0 >> 25 & 1,
                                          .a_negated = imm0 >> 26 & 1,
                                          .b_negated = imm0 >> 27 & 1,
                                          .a_transposed = imm0 >> 28 & 1,
                                          .b_transposed = imm0 >> 29 & 1 };
}

enum { FL_SEG_FULL_MASK = 1,       /* the member mask is the constant 0xffffffff; op_mask is not written */
       FL_SEG_CONVERGED = 2,       /* a warp operation without .sync: its members are the lanes that wait
                                      at this segment when no lane of the warp can run */
       FL_SEG_IMM0 = 4, FL_SEG_IMM1 = 8 };

/* Operations on a multicast address. what of the run-time functions that perform them:
 * enum fl_reduce_op | type << 8 | bytes << 16. The bytes, 4 to 16, lie in memory as they would at the address. */
enum fl_multimem_type { FL_MULTIMEM_U32, FL_MULTIMEM_S32, FL_MULTIMEM_U64, FL_MULTIMEM_S64, FL_MULTIMEM_F32,
                        FL_MULTIMEM_F64, FL_MULTIMEM_F16, FL_MULTIMEM_BF16,
                        FL_MULTIMEM_F16_WIDE, FL_MULTIMEM_BF16_WIDE /* added up in single precision */ };

/* The 64 bits of an mbarrier, and of a state that arriving returns: arrivals that are pending in this
 * phase, and in each later one, of 20 bits each; bytes that are to come, 21 bits, signed; the phase. */
enum { FL_MBARRIER_MOST = (1 << 20) - 1, FL_MBARRIER_EXPECTED = 20, FL_MBARRIER_BYTES = 40, FL_MBARRIER_PHASE = 61 };
enum fl_mbarrier_op { FL_MBARRIER_INIT, FL_MBARRIER_ARRIVE, FL_MBARRIER_DROP, FL_MBARRIER_EXPECT, FL_MBARRIER_COMPLETE };

/* Textures and surfaces. Their operands are 32-bit words: of a texture x, y, z and the layer; the level of detail, or
 * the gradients by x in 4 to 6 and by y in 8 to 10; a depth to compare with in 11, offsets in elements in 12 to 14; its
 * results are words 0 to 3. Of a surface x in bytes, or elements, y, z and the layer; the data is in 4 to 7. what: */
enum {
    FL_TEXTURE_DIMENSIONS = 3, FL_TEXTURE_LAYERED = 4,
    FL_TEXTURE_INTEGER = 8,        /* coordinates number elements */
    FL_TEXTURE_LEVEL = 16, FL_TEXTURE_GRADIENT = 32, FL_TEXTURE_GATHER = 64,
    FL_TEXTURE_CUBE = 128,         /* coordinates are a direction */
    FL_TEXTURE_COMPONENT = 8,      /* two bits: which one is gathered */
    FL_TEXTURE_OFFSETS = 1 << 10, FL_TEXTURE_COMPARED = 1 << 11,
    FL_TEXTURE_HALVES = 1 << 12,   /* results, two in a word */
    FL_SURFACE_STORE = 8, FL_SURFACE_CLAMP = 16, FL_SURFACE_ZERO = 32, /* neither of these two: a fault outside */
    FL_SURFACE_SAMPLES = 64,       /* x counts elements, which have the format of the surface */
    FL_SURFACE_BYTES = 8,          /* five bits: of the access */
    FL_SURFACE_REDUCTION = 16,     /* four bits: enum fl_reduce_op */
    FL_SURFACE_TYPE = 20,          /* bits from here on: enum fl_tensor_type of a reduction */
    FL_TEXTURE_WORDS = 16,
};
enum fl_texture_query { FL_TEXTURE_WIDTH, FL_TEXTURE_HEIGHT, FL_TEXTURE_DEPTH, FL_TEXTURE_LAYERS, FL_TEXTURE_LEVELS,
                        FL_TEXTURE_UNIT, FL_TEXTURE_OF_SURFACE = 16, /* or'ed to it */
                        FL_TEXTURE_OF_LEVEL = 8 /* bits from here on: a texture's */ };

/* Copies of tensors, and what else is reduced on its way. what:
 * dimensions | FL_TENSOR_* | operation << FL_REDUCE_OP | type << FL_REDUCE_TYPE, the type as enum fl_tensor_type says. */
enum { FL_TENSOR_DIMENSIONS = 7, FL_TENSOR_STORE = 8 /* to global memory */, FL_TENSOR_COLUMNS = 16 /* of pixels */,
       FL_REDUCE_OP = 8, FL_REDUCE_TYPE = 16 };
enum fl_reduce_op { FL_REDUCE_NONE, FL_REDUCE_ADD, FL_REDUCE_MIN, FL_REDUCE_MAX, FL_REDUCE_INC, FL_REDUCE_DEC,
                    FL_REDUCE_AND, FL_REDUCE_OR, FL_REDUCE_XOR };
enum fl_tensor_field { FL_TENSOR_FIELD_ADDRESS, FL_TENSOR_FIELD_RANK, FL_TENSOR_FIELD_BOX, FL_TENSOR_FIELD_DIM,
                       FL_TENSOR_FIELD_STRIDE, FL_TENSOR_FIELD_STEP, FL_TENSOR_FIELD_TYPE, FL_TENSOR_FIELD_INTERLEAVE,
                       FL_TENSOR_FIELD_SWIZZLE, FL_TENSOR_FIELD_FILL };

/* A reduction is atomic, and nobody waits for it. */
enum fl_access { FL_ACCESS_READ, FL_ACCESS_WRITE, FL_ACCESS_ATOMIC, FL_ACCESS_REDUCTION };

/* What compiled code may call, through b->rt. Each entry:
 *   X(name, "signature", return type, parameters)
 * The signature drives code generation: first the result, then the parameters:
 * v void, p pointer, i int32, l int64, h int16, f float, d double, b bool (i1, zeroext).
 * A '!' at its end: does not return. All take the block first; t is the thread, line one of the PTX.
 *
 *   trap, overflow, misaligned, assertfail, bad_call, not_compiled   end the kernel: a trap instruction, recursion beyond
 *       the stack, a misaligned access, __assertfail, a call of what is no function, or was left out (remote.h)
 *   suspend            of a kernel that runs whole: returns when the operation of that segment is complete
 *   vprintf            args: the packed arguments; returns how many there were
 *   malloc, free       device-side malloc: 0, there is no room
 *   nanosleep          about as long, 2 us at most
 *   copy               memmove: asynchronous and bulk copies
 *   multicast          copies to that place in the shared memory of each block of the cluster that mask has, and lets
 *                      the bytes be complete at the mbarrier there
 *   reduce             the elements at from, each into its place behind to
 *   tensor             copies the box at coordinates of the tensor that map tells of; mbarrier and mask: of loads
 *   tensor_replace     changes an enum fl_tensor_field of a map
 *   mbarrier           an enum fl_mbarrier_op on the mbarrier at address; returns what it was before
 *   multimem_*         as above; out and in: the bytes
 *   texture, surface   read or write an element as above, texture_query tells of one; a handle of nothing is a fault
 *   accessed           a probe is about to access address, as enum fl_access says
 *   system_atomic      an access of system scope that is atomic is about to be made at address
 *   cluster_arrive     the thread has come to the cluster's barrier, at which it may wait later
 *   ctarank            of the block of the cluster whose shared window the address is in
 *   globaltimer        ns */
#define FL_RT_CORE(X) \
    X(trap, "vpii!", void, (struct fl_block * b, uint32_t t, uint32_t line)) \
    X(suspend, "vpii", void, (struct fl_block * b, uint32_t t, uint32_t segment /* or FL_EXITED */)) \
    X(overflow, "vpii!", void, (struct fl_block * b, uint32_t t, uint32_t line)) \
    X(misaligned, "vpii!", void, (struct fl_block * b, uint32_t t, uint32_t line)) \
    X(assertfail, "vpilliil!", void, \
      (struct fl_block * b, uint32_t t, uint64_t msg, uint64_t file, uint32_t line, uint32_t ptx_line, uint64_t func)) \
    X(vprintf, "ipll", uint32_t, (struct fl_block * b, uint64_t format, uint64_t args)) \
    X(malloc, "lpl", uint64_t, (struct fl_block * b, uint64_t size)) \
    X(free, "vpl", void, (struct fl_block * b, uint64_t ptr)) \
    X(nanosleep, "vpi", void, (struct fl_block * b, uint32_t ns)) \
    X(copy, "vplli", void, (struct fl_block * b, uint64_t to, uint64_t from, uint32_t bytes)) \
    X(multicast, "vpiillili", void, \
      (struct fl_block * b, uint32_t t, uint32_t line, uint64_t to, uint64_t from, uint32_t bytes, uint64_t mbarrier, \
       uint32_t mask)) \
    X(reduce, "vpiillii", void, \
      (struct fl_block * b, uint32_t t, uint32_t line, uint64_t to, uint64_t from, uint32_t bytes, uint32_t what)) \
    X(tensor, "vpiillplii", void, \
      (struct fl_block * b, uint32_t t, uint32_t line, uint64_t map, uint64_t shared, const int32_t *coordinates, \
       uint64_t mbarrier, uint32_t mask, uint32_t what)) \
    X(tensor_replace, "vpiiliil", void, \
      (struct fl_block * b, uint32_t t, uint32_t line, uint64_t map, uint32_t field, uint32_t ordinal, uint64_t v)) \
    X(mbarrier, "lplii", uint64_t, (struct fl_block * b, uint64_t address, uint32_t op, uint32_t count)) \
    X(multimem_load, "vplpi", void, (struct fl_block * b, uint64_t address, void *out, uint32_t what)) \
    X(multimem_store, "vplpi", void, (struct fl_block * b, uint64_t address, const void *in, uint32_t what)) \
    X(multimem_reduce, "vplpi", void, (struct fl_block * b, uint64_t address, const void *in, uint32_t what)) \
    X(texture, "vpiilpi", void, \
      (struct fl_block * b, uint32_t t, uint32_t line, uint64_t handle, void *words, uint32_t what)) \
    X(surface, "vpiilpi", void, \
      (struct fl_block * b, uint32_t t, uint32_t line, uint64_t handle, void *words, uint32_t what)) \
    X(texture_query, "ipiili", uint32_t, \
      (struct fl_block * b, uint32_t t, uint32_t line, uint64_t handle, uint32_t what)) \
    X(accessed, "vpli", void, (struct fl_block * b, uint64_t address, uint32_t access)) \
    X(system_atomic, "vpl", void, (struct fl_block * b, uint64_t address)) \
    X(cluster_arrive, "vpi", void, (struct fl_block * b, uint32_t t)) \
    X(ctarank, "ipl", uint32_t, (struct fl_block * b, uint64_t address)) \
    X(globaltimer, "lp", uint64_t, (struct fl_block * b)) \
    X(bad_call, "vpiil!", void, (struct fl_block * b, uint32_t t, uint32_t line, uint64_t target)) \
    X(not_compiled, "vpii!", void, (struct fl_block * b, uint32_t t, uint32_t line))

/* The arithmetic that is not one instruction of the host: src/ptx/rt_math.h
 * lists it as FL_RT_MATH(X) in the same form (without the block parameter),
 * src/device/math.c defines it. */
#include "rt_math.h"

#define FL_RT_FIELD(name, sig, ret, params) ret (*name) params;
struct fl_rt { FL_RT_CORE(FL_RT_FIELD) FL_RT_MATH(FL_RT_FIELD) };
#undef FL_RT_FIELD

#endif
