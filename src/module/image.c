/* See image.h. An image may come from a file that anybody has written. */
#include "module/image.h"
#include "ptx/abi.h"

#include <string.h>

static const void *table(const struct fl_image *image, uint64_t offset) { return (const char *)image + offset; }

const char *image_string(const struct fl_image *image, uint32_t offset)
{
    return (const char *)table(image, image->strings) + offset;
}
const struct fl_image_symbol *image_symbols(const struct fl_image *image) { return table(image, image->symbols); }
const struct fl_image_reloc *image_relocs(const struct fl_image *image) { return table(image, image->relocs); }
const struct fl_image_kernel *image_kernels(const struct fl_image *image) { return table(image, image->kernels); }
const struct fl_image_param *image_params(const struct fl_image *image, const struct fl_image_kernel *k)
{
    return (const struct fl_image_param *)table(image, image->params) + k->first_param;
}

CUresult image_param_info(const struct fl_image *image, const struct fl_image_kernel *k, size_t index, size_t *offset,
                          size_t *size)
{
    if (!offset || index >= k->nparams) return CUDA_ERROR_INVALID_VALUE;
    const struct fl_image_param *p = &image_params(image, k)[index];
    *offset = p->offset;
    if (size) *size = p->size;
    return CUDA_SUCCESS;
}

/* ---- checks */

/* Whether count elements from `at` on lie within size. */
static bool fits(uint64_t at, uint64_t count, uint64_t element, uint64_t size)
{
    return at <= size && count <= (size - at) / element;
}

static bool check_tables(const struct fl_image *h, size_t size)
{
    return fits(h->symbols, h->nsymbols, sizeof(struct fl_image_symbol), size) &&
           fits(h->relocs, h->nrelocs, sizeof(struct fl_image_reloc), size) &&
           fits(h->kernels, h->nkernels, sizeof(struct fl_image_kernel), size) &&
           fits(h->segments, h->nsegments, sizeof(struct fl_image_segment), size) &&
           fits(h->params, h->nparams, sizeof(struct fl_image_param), size) &&
           fits(h->slots, h->nslots, sizeof(uint32_t), size) &&
           fits(h->lines, h->nlines, sizeof(struct fl_image_line), size) &&
           fits(h->parts, h->nparts, sizeof(struct fl_image_part), size) &&
           fits(h->units, h->nunits, sizeof(struct fl_image_unit), size) &&
           fits(h->strings, h->strings_size, 1, size) && fits(h->code, h->code_size, 1, size) && h->strings_size &&
           !*image_string(h, h->strings_size - 1);
}

static bool check_symbols(const struct fl_image *h, size_t size)
{
    const struct fl_image_symbol *s = image_symbols(h);
    const struct fl_image_reloc *r = image_relocs(h);
    for (uint32_t i = 0; i < h->nsymbols; i++) {
        uint64_t bytes = s[i].kind == FL_SYMBOL_FUNCTION ? 1 : s[i].size;
        if (s[i].kind > FL_SYMBOL_SURFACE || s[i].align & (s[i].align - 1) || s[i].name >= h->strings_size ||
            (s[i].init && !fits(s[i].init, bytes, 1, size)))
            return false;
    }
    for (uint32_t i = 0; i < h->nrelocs; i++)
        if (r[i].symbol >= h->nsymbols || r[i].target >= h->nsymbols || r[i].bytes > 8 || r[i].shift >= 64 ||
            !fits(r[i].offset, r[i].bytes, 1, s[r[i].symbol].size))
            return false;
    return true;
}

/* The sums of a wgmma lie within the context. */
static bool check_slots(const struct fl_image *h, const struct fl_image_kernel *k)
{
    const struct fl_image_segment *s = (const struct fl_image_segment *)table(h, h->segments) + k->first_segment;
    const uint32_t *slots = table(h, h->slots);
    for (uint32_t i = 0; i < k->nsegments; i++) {
        if (k->flags & FL_KERNEL_WHOLE || s[i].suspend != FL_SUSPEND_WARP || s[i].op != FL_WARP_WGMMA) continue;
        const struct fl_warpgroup_product p = fl_warpgroup_product(s[i].imm0);
        uint32_t count = p.columns / 2 / fl_matrix_packed(p.d);
        if (p.columns > 256 || count > FL_WARPGROUP_REGISTERS || !fits(s[i].imm1, count, 1, h->nslots)) return false;
        for (uint32_t n = s[i].imm1; n < s[i].imm1 + count; n++)
            if (slots[n] != FL_NONE && !fits(slots[n], 4, 1, k->context)) return false;
    }
    return true;
}

static bool check_kernel(const struct fl_image *h, const struct fl_image_kernel *k)
{
    enum { MOST_PARAMS = 1 << 16 }; /* more would never go through a device's queue */
    if (k->param_size > MOST_PARAMS || k->name >= h->strings_size || k->refused >= h->strings_size || !k->nsegments ||
        !fits(k->first_segment, k->nsegments, 1, h->nsegments) || !fits(k->first_param, k->nparams, 1, h->nparams) ||
        k->part > h->nparts)
        return false;
    const struct fl_image_param *p = image_params(h, k);
    for (uint32_t i = 0; i < k->nparams; i++)
        if (!fits(p[i].offset, p[i].size, 1, k->param_size)) return false;
    return check_slots(h, k);
}

static bool check_code(const struct fl_image *h, size_t size)
{
    const struct fl_image_segment *s = table(h, h->segments);
    const struct fl_image_line *l = table(h, h->lines);
    for (uint32_t i = 0; i < h->nsegments; i++)
        if (s[i].code >= size || s[i].probe >= size) return false;
    for (uint32_t i = 0; i < h->nlines; i++)
        if (l[i].file >= h->strings_size) return false;
    return true;
}

static const struct fl_image_unit *image_units(const struct fl_image *h) { return table(h, h->units); }

static bool has_kernel(const struct fl_image *h, uint32_t part)
{
    for (uint32_t i = 0; i < h->nkernels; i++)
        if (image_kernels(h)[i].part == part + 1) return true;
    return false;
}

static bool check_parts(const struct fl_image *h, size_t size)
{
    enum { MOST = 1 << 30 };
    const struct fl_image_part *p = table(h, h->parts);
    const struct fl_image_unit *u = image_units(h);
    for (uint32_t i = 0; i < h->nparts; i++)
        if (!fits(p[i].first_unit, p[i].nunits, 1, h->nunits) || !has_kernel(h, i)) return false;
    for (uint32_t i = 0; i < h->nunits; i++)
        if (!fits(u[i].at, u[i].size, 1, size) || u[i].text_size > MOST) return false;
    return true;
}

bool image_check(const void *data, size_t size)
{
    const struct fl_image *h = data;
    if (size < sizeof *h || memcmp(h->magic, FL_IMAGE_MAGIC, 8) || h->abi != FL_ABI_VERSION || h->size != size)
        return false;
    if (h->loaded < sizeof *h || h->loaded > size || !check_tables(h, h->loaded) || !check_symbols(h, h->loaded) ||
        !check_code(h, h->loaded))
        return false;
    for (uint32_t i = 0; i < h->nkernels; i++)
        if (!check_kernel(h, &image_kernels(h)[i])) return false;
    return check_parts(h, size);
}

/* Segments of a kernel that have code of their own. */
static uint32_t places_of(const struct fl_image_kernel *k) { return k->flags & FL_KERNEL_WHOLE ? 1 : k->nsegments; }

static bool check_place(const struct fl_code_place *p, size_t size, const struct fl_image *image, uint32_t part)
{
    if (p->code >= size || p->probe >= size) return false;
    for (uint32_t i = 0; i < image->nkernels; i++) {
        const struct fl_image_kernel *k = &image_kernels(image)[i];
        if (k->part == part + 1 && p->segment - k->first_segment < places_of(k)) return true;
    }
    return false;
}

bool code_check(const void *data, size_t size, const struct fl_image *image, uint32_t part)
{
    const struct fl_code *h = data;
    if (size < sizeof *h || memcmp(h->magic, FL_CODE_MAGIC, 8) || h->abi != FL_ABI_VERSION || h->size != size ||
        !fits(h->places, h->nplaces, sizeof(struct fl_code_place), size))
        return false;
    const struct fl_code_place *p = (const void *)((const char *)data + h->places);
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < image->nkernels; i++)
        if (image_kernels(image)[i].part == part + 1) wanted += places_of(&image_kernels(image)[i]);
    for (uint32_t i = 0; i < h->nplaces; i++)
        if (!check_place(&p[i], size, image, part)) return false;
    return h->nplaces == wanted;
}
