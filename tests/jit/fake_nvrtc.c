/* Exports what of NVRTC matters here: one program, compiled already, with PTX of a newer version than the driver's and
 * with machine code. The versions of its symbols are NVRTC's, too. */
#include <stdlib.h>
#include <string.h>

static const char ptx[] = "//\n// made by a newer compiler: its .version is another\n//\n\n"
                          ".version 9.2\n.target sm_90\n.address_size 64\n"
                          ".visible .entry twice(.param .u64 p) {\n"
                          ".reg .b64 %a, %b; .reg .b32 %i, %v;\n"
                          "ld.param.u64 %a, [p]; mov.u32 %i, %tid.x; mul.wide.u32 %b, %i, 4; add.u64 %a, %a, %b;\n"
                          "ld.global.u32 %v, [%a]; add.u32 %v, %v, %v; st.global.u32 [%a], %v; ret; }\n";
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
