/* LLVM's part: IR text in, an ELF object out. */
#ifndef FL_PTX_LLVM_H
#define FL_PTX_LLVM_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this machine's processor has the feature, as LLVM spells it: "fma", "f16c". */
bool llvm_host_has(const char *feature);
/* text must be NUL-terminated at [size]. The object lives as long as the process. */
void llvm_compile(const char *text, size_t size, const unsigned char **object, size_t *object_size);

#endif
