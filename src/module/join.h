/* Pieces of PTX become one text. */
#ifndef FL_MODULE_JOIN_H
#define FL_MODULE_JOIN_H

#include <cuda.h>

/* Appends a piece to *text, which is malloc'ed, or NULL before the first one. The piece is changed: its header, which
 * may stand only once in a file, becomes blank. The compiler is told where a piece begins: what no linkage is said of
 * ends there. */
CUresult ptx_join(char **text, char *piece);

#endif
