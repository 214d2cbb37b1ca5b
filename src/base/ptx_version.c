/* See ptx_version.h. CUDA 13.n has PTX 9.n. */
#include "base/ptx_version.h"

#include <string.h>

void ptx_lower_version(char *text, int minor)
{
    static const char directive[] = ".version";
    char *at = text;
    while ((at = strstr(at, directive)) && at > text && at[-1] != '\n') at++;
    if (!at) return;
    at += strlen(directive);
    at += strspn(at, " \t");
    if (at[0] == '9' && at[1] == '.' && at[2] >= '0' && at[2] <= '0' + minor) at[2] = '0';
}
