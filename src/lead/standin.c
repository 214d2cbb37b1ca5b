/* See standin.h. The compiler still refuses what it does not know of the newer version. */
#include "lead/standin.h"

#include <string.h>

void standin_for_machine_code(char *text)
{
    static const char directive[] = ".version";
    char *at = text;
    while ((at = strstr(at, directive)) && at > text && at[-1] != '\n') at++;
    if (!at) return;
    at += strlen(directive);
    at += strspn(at, " \t");
    if (at[0] == '9' && at[1] == '.' && at[2] >= '0' && at[2] <= '9') at[2] = '0';
}
