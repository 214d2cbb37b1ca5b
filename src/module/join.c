/* Joining pieces of PTX; see join.h. */
#include "module/join.h"
#include "ptx/image.h"

#include <stdlib.h>
#include <string.h>

CUresult ptx_join(char **text, const char *piece)
{
    static const char border[] = "\n.pragma \"" FL_PIECE_PRAGMA "\";\n";
    size_t n = *text ? strlen(*text) : 0;
    char *all = realloc(*text, n + sizeof border + strlen(piece));
    if (!all) return CUDA_ERROR_OUT_OF_MEMORY;
    *text = all;
    all[n] = '\0';
    if (n) strcpy(all + n, border);
    strcat(all + n, piece);
    return CUDA_SUCCESS;
}
