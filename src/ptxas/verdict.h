/* What the compiler found, in ptxas's words: who runs it, or links, reads those. */
#ifndef FL_PTXAS_VERDICT_H
#define FL_PTXAS_VERDICT_H

#include "ptx/image.h"
#include <cuda.h>
#include <stdio.h>

/* Inputs that were joined (module/join.h): where each begins. */
struct verdict_piece {
    const char *name;
    int first_line;                /* 1: of the whole text */
};

/* "ptxas fatal   : ...", a line of its own. */
void verdict_say(FILE *to, const char *kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The line that a piece would begin in that is joined to text; text NULL: it is the first. */
int verdict_next_line(const char *text);
/* The piece that a line of the text lies in. */
const struct verdict_piece *verdict_piece_of(const struct verdict_piece *pieces, int npieces, int line);
/* Why it could not be compiled: r and log are compile_ptx's. The log is taken apart. npieces: at least 1. */
void verdict_errors(FILE *to, const char *text, const struct verdict_piece *pieces, int npieces, CUresult r, char *log);
/* What -v tells of each kernel. */
void verdict_statistics(FILE *to, const struct fl_image *image, const char *arch);

#endif
