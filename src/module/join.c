/* Joining pieces of PTX; see join.h. */
#include "module/join.h"
#include "ptx/image.h"

#include <stdlib.h>
#include <string.h>

static void blank_header(char *text)
{
    static const char *const header[] = { ".version", ".target", ".address_size" };
    for (int k = 0; k < 3; k++) {
        char *at = strstr(text, header[k]);
        if (!at) continue;
        for (; *at && *at != '\n'; at++) *at = ' ';
    }
}

CUresult ptx_join(char **text, char *piece)
{
    static const char border[] = "\n.pragma \"" FL_PIECE_PRAGMA "\";\n";
    size_t n = *text ? strlen(*text) : 0;
    char *all = realloc(*text, n + sizeof border + strlen(piece));
    if (!all) return CUDA_ERROR_OUT_OF_MEMORY;
    *text = all;
    all[n] = '\0';
    if (n) {
        blank_header(piece);
        strcat(all, border);
    }
    strcat(all, piece);
    return CUDA_SUCCESS;
}
