/* Arrays as the driver describes them: what files about copies need to know of them. */
#ifndef FL_RUNTIME_ARRAY_H
#define FL_RUNTIME_ARRAY_H

#include "runtime/runtime.h"

/* Bytes of an element. */
cudaError_t runtime_element(cudaArray_const_t array, size_t *bytes);

/* Bytes of a row, and how many there are. */
cudaError_t runtime_rows(cudaArray_const_t array, size_t *bytes, size_t *rows);

/* The driver's name of a format. cudaErrorInvalidChannelDescriptor: there is none. */
cudaError_t runtime_format(const struct cudaChannelFormatDesc *desc, CUarray_format *format, unsigned *channels);

/* And back. */
cudaError_t runtime_format_desc(CUarray_format format, unsigned channels, struct cudaChannelFormatDesc *desc);

#endif
