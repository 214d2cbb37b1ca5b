/* The control flow of one function: basic blocks, which registers live where,
 * where it suspends. Which loops may wait for memory is spins.h's. */
#ifndef FL_PTX_CFG_H
#define FL_PTX_CFG_H

#include "ir.h"

struct block {
    uint32_t start, end;           /* instructions [start, end) */
    uint32_t *succ, nsucc;         /* block numbers */
    uint64_t *live_in;             /* bit per register */
    uint32_t cut;                  /* the segment that alone has its code: a loop of all threads (lockstep.h), or what
                                      would be written too often (cuts.c); 0: none */
};
struct cfg {
    struct func *func;
    struct block *blocks;
    uint32_t nblocks;
    uint32_t *block_at;            /* of each instruction */
    uint32_t words;                /* of a register set */
};

/* Barriers and warp operations: what a thread cannot pass alone. */
bool is_suspension(const struct instr *i);
/* The instruction's branch does not come back (ret, exit, bra without guard ...). */
bool is_terminator(const struct instr *i);

typedef void reg_visitor(struct reg *r, void *arg);
/* Calls visit for each register that i reads, or writes, its guard included. */
void instr_uses(const struct instr *i, reg_visitor *visit, void *arg);
void instr_defs(const struct instr *i, reg_visitor *visit, void *arg);
/* Of the condition code. */
bool reads_carry(const struct instr *i);
bool writes_carry(const struct instr *i);
/* Whether the first operand is what i writes. */
bool has_destination(const struct instr *i);

/* The instruction that a label stands before. */
uint32_t label_position(const struct label *l);
void cfg_build(struct cfg *c, struct func *f);
/* Fills in live_in of all blocks. */
void cfg_liveness(struct cfg *c);
/* Sets of registers, a bit each; reg_set is a visitor whose arg is one. */
void reg_set(struct reg *r, void *set);
static inline bool bit(const uint64_t *set, uint32_t n) { return set[n / 64] >> (n % 64) & 1; }
static inline void bit_set(uint64_t *set, uint32_t n) { set[n / 64] |= 1ull << (n % 64); }
static inline void bit_clear(uint64_t *set, uint32_t n) { set[n / 64] &= ~(1ull << (n % 64)); }

#endif
