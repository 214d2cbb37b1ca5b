/* ptxas, the program: takes NVIDIA's command line, checks PTX with the compiler that the library uses, and in the place
 * of machine code writes the PTX, which the library loads wherever it would load machine code. What is said, and how
 * it ends, is as programs expect that read it. */
#ifndef FL_PTXAS_PTXAS_H
#define FL_PTXAS_PTXAS_H

#include <stdbool.h>

enum { PTXAS_FAILED = 255, PTXAS_INPUTS = 64 };

/* ---- the command line (options.c) */

struct ptxas_input {
    const char *name;              /* of a file; "-": standard input */
    const char *text;              /* the PTX itself, or NULL */
};

struct ptxas_options {
    const char *output, *arch;     /* arch: sm_90 */
    const char *entries;           /* with commas between them; NULL: none was named */
    bool verbose, relocatable, quiet, help, version, list_versions;
    struct ptxas_input inputs[PTXAS_INPUTS];
    int ninputs;
};

/* What is left out has its default. false after a message. Strings are the arguments', or stay for good. */
bool ptxas_options(int argc, char **argv, struct ptxas_options *o);
void ptxas_help(void);

/* The text of a file, "-": of standard input; from malloc. NULL: it cannot be read. */
char *ptxas_read(const char *name);
/* "ptxas fatal   : ..." on standard error; returns false. */
bool ptxas_fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
