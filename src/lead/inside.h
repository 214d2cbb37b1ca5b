/* Whether NVIDIA's runtime was linked into a program, as nvcc does if it is not told otherwise. */
#ifndef FL_LEAD_INSIDE_H
#define FL_LEAD_INSIDE_H

#include "base/symbols.h"

enum runtime_inside {
    RUNTIME_NOT_INSIDE,
    RUNTIME_12, /* the major version of CUDA */
    RUNTIME_13,
    RUNTIME_OLDER,
};

/* Looks through the program once, and meanwhile calls visit for its functions, among which are the runtime's entry points
 * if it is inside. */
enum runtime_inside runtime_inside(const char *program, symbols_visitor *visit, void *data);

#endif
