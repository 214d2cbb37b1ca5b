/* Exports what of NVRTC matters here: one program, compiled already, with PTX of a newer version than the driver's and
 * with machine code. The versions of its symbols are NVRTC's, too. */
#include "twice.h"

#include <stdlib.h>
#include <string.h>

static const char ptx[] = "//\n// made by a newer compiler: its .version is another\n//\n\n"
                          ".version 9.2\n" TWICE;
static const char code[] = "\177ELF machine code";

#define EXPORT __attribute__((visibility("default"), noinline, aligned(16)))
EXPORT int nvrtcGetPTXSize(void *program, size_t *size);
EXPORT int nvrtcGetPTX(void *program, char *to);
EXPORT int nvrtcGetCUBINSize(void *program, size_t *size);
EXPORT int nvrtcGetCUBIN(void *program, char *to);

static int give(const void *program, void *to, const void *from, size_t size)
{
    if (!program || !to) return program ? 3 : 4; /* NVRTC_ERROR_INVALID_INPUT, _PROGRAM */
    memcpy(to, from, size);
    return 0;
}

static const size_t ptx_size = sizeof ptx, code_size = sizeof code;
EXPORT int nvrtcGetPTXSize(void *program, size_t *size) { return give(program, size, &ptx_size, sizeof ptx_size); }
EXPORT int nvrtcGetPTX(void *program, char *to) { return give(program, to, ptx, sizeof ptx); }
EXPORT int nvrtcGetCUBINSize(void *program, size_t *size) { return give(program, size, &code_size, sizeof code_size); }
EXPORT int nvrtcGetCUBIN(void *program, char *to) { return give(program, to, code, sizeof code); }
