/* LLVM's part: IR text in, an ELF object out. */
#ifndef FL_PTX_LLVM_H
#define FL_PTX_LLVM_H

#include <stdbool.h>
#include <stddef.h>

/* The name of this machine's processor and its features, as LLVM spells them. */
void llvm_host(const char **cpu, const char **features);
bool llvm_host_has(const char *feature);           /* "fma", "f16c" */
/* text must be NUL-terminated at [size]. The object lives as long as the process. */
void llvm_compile(const char *text, size_t size, const unsigned char **object, size_t *object_size);

#endif
