/* See ptx_version.h. CUDA 13.n has PTX 9.n. */
#include "base/ptx_version.h"

#include <string.h>

void ptx_lower_version(char *text, int minor)
{
    static const char directive[] = ".version";
    for (char *at = text; (at = strstr(at, directive)); at++) {
        if (at > text && at[-1] != '\n') continue;
        char *number = at + strlen(directive);
        size_t spaces = strspn(number, " \t");
        number += spaces;
        if (!spaces || number[0] != '9' || number[1] != '.' || number[2] <= '0' || number[2] > '0' + minor) continue;
        number[2] = '0';
        number[-1] = PTX_LOWERED;
    }
}
