/* PTX of libraries, as a linker takes it: only what defines something that is missing. */
#ifndef FL_MODULE_SPARE_H
#define FL_MODULE_SPARE_H

#include <cuda.h>

struct spares {
    char **texts;
    unsigned n;
};

/* Keeps a copy. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult spares_keep(struct spares *s, const char *text);
/* All of them, or none. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult spares_move(struct spares *to, struct spares *from);
void spares_forget(struct spares *s);

/* The log is of a compilation that failed (compile.h). If it says that something is missing, and a text defines that, then
 * that text, which is the caller's to free. NULL: there is none. */
char *spares_take(struct spares *s, const char *log);

#endif
