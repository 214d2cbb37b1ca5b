/* Images (ptx/image.h) in memory: their tables, and whether they are sound. */
#ifndef FL_MODULE_IMAGE_H
#define FL_MODULE_IMAGE_H

#include "ptx/image.h"
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether every table of the image lies within it, and what one table says of another can be. */
bool image_check(const void *data, size_t size);

/* Whether its places are those of the image's part, which has one for each segment that needs it. */
bool code_check(const void *data, size_t size, const struct fl_image *image, uint32_t part);

const char *image_string(const struct fl_image *image, uint32_t offset);
const struct fl_image_symbol *image_symbols(const struct fl_image *image);
const struct fl_image_reloc *image_relocs(const struct fl_image *image);
const struct fl_image_kernel *image_kernels(const struct fl_image *image);
/* Those of one kernel: nparams of them. */
const struct fl_image_param *image_params(const struct fl_image *image, const struct fl_image_kernel *k);
/* Where a parameter lies among them, and, where that is wanted (not NULL), its size. CUDA_ERROR_INVALID_VALUE: there is
 * none of that index, or offset is NULL. */
CUresult image_param_info(const struct fl_image *image, const struct fl_image_kernel *k, size_t index, size_t *offset,
                          size_t *size);

#endif
