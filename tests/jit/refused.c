/* A program that may not change its code, as systems under guard have it, and that loads a library whose entry points
 * faultline run leads elsewhere: they do what they do without that, or what they are led to.
 * usage, under faultline run: refused LIBRARY, a stand-in for NVRTC. */
#include "../check.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum { SET_MDWE = 65, REFUSE_EXEC_GAIN = 1, SKIPPED = 77 };

int main(int argc, char **argv)
{
    char cubin[1024] = "";
    if (prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0)) return SKIPPED; /* before Linux 6.3 */
    void *library = dlopen(argv[argc - 1], RTLD_NOW);
    int (*get)(void *, char *) = library ? (int (*)(void *, char *))dlsym(library, "nvrtcGetCUBIN") : NULL;
    EXPECT(get);
    EXPECT_EQUAL(get(&library, cubin), 0);
    EXPECT(!memcmp(cubin, "\177ELF", 4));
    return 0;
}
