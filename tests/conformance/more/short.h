/* Many answers in one line: a letter each. */
#ifndef SHORT_H
#define SHORT_H
#include "say.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const char *letter(CUresult r)
{
    switch ((int)r) {
    case CUDA_SUCCESS: return "+";
    case CUDA_ERROR_INVALID_VALUE: return "v";
    case CUDA_ERROR_OUT_OF_MEMORY: return "m";
    case CUDA_ERROR_INVALID_DEVICE: return "d";
    case CUDA_ERROR_NOT_SUPPORTED: return "n";
    case CUDA_ERROR_NOT_PERMITTED: return "p";
    case CUDA_ERROR_INVALID_HANDLE: return "h";
    case CUDA_ERROR_UNKNOWN: return "u";
    default: return keyf("(%s)", rname(r));
    }
}

static void say_as(const char *key)
{
    rec(key, "%s", line);
    fflush(stdout);
    used = 0;
    line[0] = 0;
}

#endif
