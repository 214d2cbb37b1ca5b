/* PTX beside machine code of the same source. */
#ifndef FL_MODULE_TWIN_H
#define FL_MODULE_TWIN_H

#include <cuda.h>
#include <stddef.h>

/* Puts FL_TWIN_PRAGMA before the malloc'ed text, with the names of kernels that do nothing in the machine code, of size
 * bytes. On an error the text is freed. */
CUresult twin_mark(char **text, const char *code, size_t size);

#endif
