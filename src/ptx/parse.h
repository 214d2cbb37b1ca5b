/* The parser: parse.c reads the module's level, parse_var.c declarations,
 * parse_code.c function bodies, parse_opcode.c opcodes, parse_operand.c operands, parse_constant.c
 * constants, debug.c debugging information; names.c knows what is declared. An error ends the process
 * (fatal_at), so nothing here returns one. */
#ifndef FL_PTX_PARSE_H
#define FL_PTX_PARSE_H

#include "lex.h"
#include "ptxc.h"

enum { NAME_BUCKETS = 64, OPCODE_BUCKETS = 256, NESTING_MOST = 200 /* deeper than any compiler nests; the parser recurses */ };

struct opcode;
struct name;                       /* a scope's table entry */
/* %r<10>: the registers prefix0 .. prefix(count-1) */
struct reg_range { const char *prefix; uint64_t count; enum ptx_type type; struct reg_range *next; };
struct scope { struct name *names[NAME_BUCKETS]; struct reg_range *ranges; struct scope *outer; };

struct parser {
    struct lexer lexer;
    struct token token;            /* the current one */
    struct module_ir *module;
    struct func *func;             /* being read, or NULL: its code is */
    struct instr *code;            /* here, where that of all others was, and goes to a place of its own */
    uint32_t room;
    struct scope *scope;           /* innermost */
    struct scope *global;
    bool coordinates;              /* may follow an address, of the instruction being read */
    bool accesses;                 /* it reads or writes memory: an element of an array is an address */
    unsigned depth;                /* of what is nested, at most NESTING_MOST */
    enum ptx_op exchanged;         /* the last volatile access of shared memory in this stretch of code, OP_none: none */
    bool unchecked;                /* whether what is read is legal; it is our own */
    struct opcode *opcodes[OPCODE_BUCKETS];
    unsigned file;                 /* of those that a linker joined, by number */
    bool managed;                  /* what is declared next */
};

/* parse_opcode.c: the opcode with all its modifiers; what is known of its operands, NULL: nothing. */
struct syntax;
const struct syntax *parse_opcode(struct parser *p, struct instr *i);

/* names.c */
enum name_kind { NAME_REG, NAME_VECTOR, NAME_VAR, NAME_FUNC, NAME_LABEL, NAME_PROTO };
/* .reg .v2 .f32 a: the registers a.x and a.y */
struct vector_reg { unsigned count; struct reg *parts[4]; };
struct scope *scope_push(struct parser *p);
void scope_pop(struct parser *p);
/* object: the struct reg, var, func, label or proto. */
void declare(struct scope *s, const char *name, enum name_kind kind, void *object);
bool declared_here(struct scope *s, const struct token *t);
/* What the innermost scope that knows the name has, NULL: nothing, or something of another kind. */
void *lookup(struct parser *p, const struct token *t, enum name_kind kind);
struct reg *reg_new(struct parser *p, const char *name, enum ptx_type type);
/* The label of that name, which may be defined later; NULL: the name is something else's. */
struct label *label_use(struct parser *p, const struct token *t);
/* Ends the life of a file's own names: of variables and functions of no linkage. */
void names_forget(struct scope *s);
void label_define(struct parser *p, const struct token *t);

/* parse_token.c: next() goes to the next token, the others past what they read. */
void next(struct parser *p);
bool accept(struct parser *p, const char *text);
void expect(struct parser *p, const char *text);
void expect_more(struct parser *p, const char *end); /* a ',' that end does not follow */
char *word(struct parser *p, const char *what);    /* a name or keyword */
void skip_statement(struct parser *p);             /* to its ';' */
void skip_strings(struct parser *p);               /* "a", "b"; */
enum ptx_type type_of(const struct token *t);      /* of ".u32", T_none if it is none */
enum ptx_space space_of(const struct token *t);    /* of ".global", SPACE_none */
void syntax_error(struct parser *p, const char *wanted) __attribute__((noreturn));

/* parse_constant.c */
struct number { uint64_t bits; bool is_float, is_unsigned, is_single, is_bare; uint32_t single; }; /* as a token has them */
struct number expression(struct parser *p);        /* of integers or floating-point numbers */
uint64_t constant(struct parser *p);               /* an expression that is an integer */
uint64_t count(struct parser *p);                  /* an integer that stands there as it is, or WARP_SZ */
double number_real(const struct number *n);
bool begins_constant(const struct parser *p);      /* and no operand with a name, such as !%p, or WARP_SZ alone */

/* parse_var.c: what follows ".global" or the like, to its ';' (linkage: FL_LINK_*); a list of parameters in brackets. */
void parse_attributes(struct parser *p); /* .attribute(...) before the state space; of what is declared next */
bool parse_reference(struct parser *p, uint8_t linkage);
void parse_variable(struct parser *p, enum ptx_space space, uint8_t linkage);
struct proto;
void parse_results(struct parser *p, struct proto *proto, bool declare_them); /* likewise */
void parse_params(struct parser *p, struct var **list, uint32_t *count, bool declare_them);

/* parse_call.c: calls, and parameters in registers, become what the rest knows. */
void parsed_call(struct parser *p, struct instr *call); /* appends it to the function */
void registers_begin(struct parser *p, struct func *f); /* before the body's first instruction */
void registers_return(struct parser *p, const struct instr *ret);

/* parse_element.c: what follows "[" behind the name of a variable, the operand so far. */
void parse_element(struct parser *p, struct operand *o);

/* parse_operand.c */
struct operand parse_operand(struct parser *p);
struct operand parse_part(struct parser *p); /* that may be -register, or part of one, register.b0 */
struct operand parse_list(struct parser *p); /* (a, b), of a call */

/* parse_code.c */
void parse_body(struct parser *p, struct func *f);
/* Appends to the code of the function that is read; and that is all of it. */
void code_add(struct parser *p, const struct instr *i);
void code_end(struct parser *p);

/* debug.c: one directive, to the end of its line; and that from the current line on nothing is known. */
void debug_directive(struct parser *p);
void debug_forget(struct parser *p);

#endif
