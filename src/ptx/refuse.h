/* Functions with what Faultline does not run: compiling begins again without
 * them, so that the rest of their module runs. Kernels that may call one cannot
 * be launched. */
#ifndef FL_PTX_REFUSE_H
#define FL_PTX_REFUSE_H

#include <stdbool.h>

/* A function's text was entered, in this line, and left. */
void refuse_enter(int line);
void refuse_leave(int line);

/* Keeps that the function that this line is in is not run. false: it is in none, or there are too many. */
bool refuse(int line, const char *why);
/* Why the function that begins in this line is not run, and which line says so; NULL: it is. */
const char *refused(int line, int *culprit);

/* Everything but what is refused is forgotten: compiling begins again. */
void refuse_again(void);

#endif
