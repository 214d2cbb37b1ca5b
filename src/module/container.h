/* Objects and libraries of the host, into which nvcc puts fatbinaries: what is linked at run time may come from these. */
#ifndef FL_MODULE_CONTAINER_H
#define FL_MODULE_CONTAINER_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

bool is_object(const void *data, size_t size);  /* a 64-bit ELF file for a host */
bool is_library(const void *data, size_t size); /* what ar makes */

/* text: PTX for a device of compute capability up to sm, which the visitor may change. What it answers ends the visit,
 * unless that is CUDA_SUCCESS. */
typedef CUresult container_visitor(char *text, void *data);

/* Calls visit for each fatbinary of an object, or of all objects of a library. Those without such PTX are left out: every
 * program is linked with some. CUDA_ERROR_NO_BINARY_FOR_GPU: it is an object with nothing else;
 * CUDA_ERROR_INVALID_IMAGE: it is neither object nor library, or damaged. */
CUresult container_visit(const void *data, size_t size, unsigned sm, container_visitor *visit, void *context);

#endif
