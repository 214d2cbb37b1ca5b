/* From PTX text to LLVM IR as text, with all that the image needs beside the
 * code. Of LLVM it asks only what the processor can do. */
#ifndef FL_PTX_TRANSLATE_H
#define FL_PTX_TRANSLATE_H

#include "ir.h"
#include "units.h"

struct translation {
    struct module_ir *module;
    /* The image's symbols: variables of the module and of all functions that have an
     * address of their own, then functions whose address is taken. */
    struct var **variables;
    struct func **functions;
    uint32_t nvariables, nfunctions;
    struct unit *units;            /* the IR */
    uint32_t nunits, nshared;      /* all, and how many of them are of no part */
    bool deferred; /* its parts are compiled when they are needed */
};

/* What cannot be translated ends the process; see ptxc.h. */
void translate(const char *text, size_t size, struct translation *t);

#endif
