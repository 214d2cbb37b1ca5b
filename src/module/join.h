/* Pieces of PTX become one text. */
#ifndef FL_MODULE_JOIN_H
#define FL_MODULE_JOIN_H

#include <cuda.h>

/* Appends a piece to *text, which is malloc'ed, or NULL before the first one. The compiler is told where a piece begins,
 * by a pragma: a header comes there, and what no linkage is said of ends. */
CUresult ptx_join(char **text, const char *piece);

#endif
