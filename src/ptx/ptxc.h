/* faultline-ptxc: PTX in, an image (image.h) out. What its parts share: the
 * way errors are reported and the steps in their order.
 *
 *     parse -> check -> inline -> analyse (blocks, liveness, segments)
 *           -> emit LLVM IR as text, in units -> LLVM, side by side -> objects -> image
 *
 * Of a large module the IR itself goes into the image, and LLVM is run later, for one
 * part of it at a time (part.h).
 *
 * An error is written to the log and ends the process with a status that
 * tells the library which CUresult to answer. */
#ifndef FL_PTX_PTXC_H
#define FL_PTX_PTXC_H

#include "image.h"
#include "ir.h"
#include <stdio.h>

struct options {
    int level;
    const char *cpu;
    bool dump_ir, dump_optimised, eager;
};
extern struct options options;

/* Of threads that run LLVM, which follows long chains of values by recursion. Address space: it costs nothing where
 * it is not used. */
#define PTXC_STACK (256ul << 20)

/* Ends the process with the status; the message goes to the log. */
void fatal(int status, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));
/* ptxas's form: "line 12; error: ..." */
void fatal_at(int status, int line, const char *format, ...) __attribute__((noreturn, format(printf, 3, 4)));

/* What is to be compiled has become clear only now. */
void begin_again(void) __attribute__((noreturn));

/* The steps; an error in the PTX is fatal. */
struct module_ir *parse(const char *text, size_t length);
void check_module(struct module_ir *m);
/* Marks what suspends, expands calls of functions that do. */
void inline_calls(struct module_ir *m);
/* Sets func.flushed; after that. */
void flush_choose(struct module_ir *m);

#endif
