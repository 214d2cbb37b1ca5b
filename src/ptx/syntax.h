/* Which instructions PTX has: the tables syntax_*.c say it, as the PTX ISA
 * describes them and as its assembler takes them. Of an opcode that is in no
 * table nothing is known, and all is left to the emitters. */
#ifndef FL_PTX_SYNTAX_H
#define FL_PTX_SYNTAX_H

#include "ir.h"

/* A legal form of an instruction.
 *
 * mods: the words behind the opcode that are no types, in any order: "rn|rz" is
 * one of these, "ftz?" may be missing, "n#" is n with any number.
 * "*": of this opcode nothing is known.
 * types: as they follow each other, in the same notation.
 * operands: a letter for each, '?' before those that may be missing:
 *     d  a register of the instruction's first type     a  that, or a constant
 *     A  that, or what else mov takes: a special register, a variable
 *     _  nothing     o  like d, or _     D  like o, or d|p, where p is a predicate     e  the same, not _     P  d|p or _|p
 *     x  like d, or a wider register; of .v2 a vector of two     X  that, or _
 *     y  like x, or a constant     Y  like y, or a special register
 *     q  a predicate that is set, or _     Q  one, or two: q|q     p  a predicate, !p or a constant
 *     i  an integer constant     n  a barrier's number     w  how many threads wait at it
 *     h  a policy of caching, which is there if the instruction says so
 *     s  like a, and a register may name a part of it, .b0 or .h1     S  like d, likewise
 *     g  like s, or -register     G  like a, or -register
 *     k  like d, and it may name which of its halves, .h1     l  likewise, halves of both sources, .h31
 *     K, L  the same of bytes
 *     b  a .u32 register, or a constant of a byte     c  4, 8 or 16     C  16
 *     m  an address     v  a vector     {  one of registers of that very kind     .  anything
 * A number behind the letter says which type is meant if it is not the first
 * one, "w" that it is twice as wide; ":u32" names it. */
struct form {
    const char *opcode, *mods, *types, *operands;
    uint8_t version;    /* of PTX, ten times; 0: any */
    uint8_t target;     /* sm_; or ONLY_90A */
};
enum { ONLY_90A = 255 };
struct forms {
    const struct form *list;
    unsigned count;
};
extern const struct forms forms_integer, forms_float, forms_convert, forms_move, forms_memory, forms_warp,
    forms_async, forms_video, forms_matrix, forms_texture;

/* What is known of an opcode with all its modifiers. */
struct syntax;

/* Of text, "add.rn.f32", in this module. NULL: nothing is known of the opcode. why: NULL, or why it is not legal. */
const struct syntax *syntax_of(const struct module_ir *m, const char *text, const char **why);
/* Whether the operands are legal: NULL, or why they are not. */
const char *syntax_operands(const struct syntax *s, const struct instr *i);

#endif
