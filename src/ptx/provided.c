/* See provided.h. Relocatable code has these where other code has them inline: its
 * linker finds them in the device runtime. Blocks of a cooperative grid count in its
 * workspace who has arrived; headers of cooperative groups use other words of it. */
#include "provided.h"

#include <string.h>

/* The block that counts first arrives with so much that the last arrival turns the highest bit over, for the next time,
 * too. */
static const char cooperative_groups[] =
    ".visible .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)\n{\n"
    ".reg .b32 %r<4>; .reg .b64 %rd<2>; .reg .pred %p;\n"
    "mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2; mov.b64 %rd1, {%r2, %r1};\n"
    "ld.param.b32 %r3, [scope]; setp.ne.s32 %p, %r3, 1; selp.b64 %rd1, 0, %rd1, %p;\n"
    "st.param.b64 [handle], %rd1; ret;\n}\n"
    ".visible .func (.param .b32 result) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)\n{\n"
    ".reg .b32 %r<9>; .reg .b64 %rd<2>; .reg .pred %p<5>;\n"
    "ld.param.b64 %rd1, [handle]; setp.eq.s64 %p1, %rd1, 0; @%p1 bra none;\n"
    "bar.sync 0;\n"
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; or.b32 %r1, %r1, %r2; or.b32 %r1, %r1, %r3;\n"
    "setp.ne.u32 %p2, %r1, 0; @%p2 bra all;\n"
    "mov.u32 %r1, %nctaid.x; mov.u32 %r2, %nctaid.y; mov.u32 %r3, %nctaid.z;\n"
    "mul.lo.u32 %r1, %r1, %r2; mul.lo.u32 %r1, %r1, %r3;\n"
    "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ctaid.y; mov.u32 %r4, %ctaid.z; or.b32 %r2, %r2, %r3; or.b32 %r2, %r2, %r4;\n"
    "sub.u32 %r5, 0x80000001, %r1; setp.eq.u32 %p3, %r2, 0; selp.b32 %r5, %r5, 1, %p3;\n"
    "membar.gl; atom.add.u32 %r6, [%rd1+32], %r5;\n"
    "wait: ld.volatile.u32 %r7, [%rd1+32]; xor.b32 %r8, %r6, %r7; setp.ge.s32 %p4, %r8, 0; @%p4 bra wait;\n"
    "membar.gl;\n"
    "all: bar.sync 0; st.param.b32 [result], 0; ret;\n"
    "none: st.param.b32 [result], 999; ret;\n}\n"
    ".visible .func (.param .b32 result) cudaCGSynchronizeGrid(.param .b64 handle, .param .b32 flags)\n{\n"
    ".reg .b32 %r; .reg .b64 %rd; ld.param.b64 %rd, [handle]; ld.param.b32 %r, [flags];\n"
    "call (%r), cudaCGSynchronize, (%rd, %r); st.param.b32 [result], %r; ret;\n}\n";

const char *provided(const struct module_ir *m)
{
    static const char *const names[] = { "cudaCGGetIntrinsicHandle", "cudaCGSynchronize", "cudaCGSynchronizeGrid" };
    bool wanted = false, other = false;
    for (uint32_t k = 0; k < m->nfuncs; k++)
        for (unsigned n = 0; n < sizeof names / sizeof *names; n++) {
            if (strcmp(m->funcs[k]->name, names[n])) continue;
            wanted |= !m->funcs[k]->body;
            other |= m->funcs[k]->body; /* the program's own */
        }
    return wanted && !other ? cooperative_groups : NULL;
}
