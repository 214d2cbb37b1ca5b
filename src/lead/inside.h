/* Whether NVIDIA's runtime was linked into a program, as nvcc does if it is not told otherwise. */
#ifndef FL_LEAD_INSIDE_H
#define FL_LEAD_INSIDE_H

enum runtime_inside {
    RUNTIME_NOT_INSIDE, /* or it cannot be seen, because the program was stripped */
    RUNTIME_INSIDE,     /* that of this major version of CUDA, whose entry points ours agree with */
    RUNTIME_OLDER,      /* that of another one */
};

enum runtime_inside runtime_inside(const char *program);

#endif
