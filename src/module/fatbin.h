/* Finding PTX in what a program hands over: text, a fatbinary, its wrapper. */
#ifndef FL_MODULE_FATBIN_H
#define FL_MODULE_FATBIN_H

#include <cuda.h>
#include <stddef.h>

/* *text is malloc'ed, NUL-terminated PTX for a device of compute capability up to sm (90).
 * Beside machine code for the device the PTX may also be for later ones, and begins with FL_TWIN_PRAGMA.
 * size 0: unknown, as for memory. CUDA_ERROR_INVALID_IMAGE: it is none of these;
 * CUDA_ERROR_NO_BINARY_FOR_GPU: it holds nothing else for the device. */
CUresult fatbin_ptx(const void *data, size_t size, unsigned sm, char **text);

/* A malloc'ed fatbinary that holds this PTX. */
CUresult fatbin_wrap(const char *text, void **data, size_t *size);

#endif
