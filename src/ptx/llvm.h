/* LLVM's part: units of IR in, code out. */
#ifndef FL_PTX_LLVM_H
#define FL_PTX_LLVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code;
struct unit;

/* Whether this machine's processor has the feature, as LLVM spells it: "fma", "f16c". */
bool llvm_host_has(const char *feature);
/* Their objects, linked (object.h). As many threads as there are processors do it. */
void llvm_compile(const struct unit *units, uint32_t count, struct code *code);

#endif
