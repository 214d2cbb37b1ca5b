/* The architectures that ptxas of this CUDA version knows, and which PTX each of them takes. */
#ifndef FL_PTXAS_ARCH_H
#define FL_PTXAS_ARCH_H

#include <stdbool.h>
#include <stdio.h>

enum arch_known { ARCH_NONE /* it reads like none */, ARCH_UNKNOWN, ARCH_OLDER /* than those that are supported */, ARCH_KNOWN };

/* The name of one, such as sm_90a or compute_90. */
enum arch_known arch_known(const char *name);
/* compute_90: one that there is no machine code for. */
bool arch_is_virtual(const char *name);
/* Whether the PTX can be compiled for the architecture. false after a message to where messages go. */
bool arch_takes(const char *arch, const char *text, FILE *to);

#endif
