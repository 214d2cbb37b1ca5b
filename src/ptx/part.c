/* See part.h. What is in the image was checked by who sends it here (image_check). */
#include "part.h"
#include "abi.h"
#include "arena.h"
#include "llvm.h"
#include "object.h"
#include "ptxc.h"
#include "units.h"

#include <string.h>
#include <zstd.h>

static struct unit unpack(const struct fl_image *h, uint32_t index)
{
    const struct fl_image_unit *u = (const struct fl_image_unit *)((const char *)h + h->units) + index;
    struct unit unit = { .ir = arena_alloc(u->text_size + 1), .size = u->text_size };
    size_t n = ZSTD_decompress(unit.ir, unit.size, (const char *)h + u->at, u->size);
    if (n != unit.size) fatal(EXIT_INTERNAL, "the IR is damaged");
    return unit;
}

static void add_kernel(const struct fl_image *h, uint32_t number, uint64_t code, struct fl_code_place **places,
                       uint32_t *nplaces)
{
    const struct fl_image_kernel *k = (const struct fl_image_kernel *)((const char *)h + h->kernels) + number;
    bool whole = k->flags & FL_KERNEL_WHOLE;
    for (uint32_t s = 0; s < (whole ? 1 : k->nsegments); s++)
        ARENA_PUSH(*places, *nplaces) = (struct fl_code_place){
            .segment = k->first_segment + s,
            .code = code + object_symbol(arena_printf("k%u_s%u", number, s)),
            .probe = whole ? 0 : code + object_symbol(arena_printf("k%u_p%u", number, s)),
        };
}

void part_compile(const void *image, size_t size, uint32_t part, FILE *file)
{
    enum { ALIGN = 64 };
    const struct fl_image *h = image;
    if (size < sizeof *h || h->abi != FL_ABI_VERSION || part >= h->nparts) fatal(EXIT_INTERNAL, "no such part");
    const struct fl_image_part *p = (const struct fl_image_part *)((const char *)h + h->parts) + part;
    const struct fl_image_kernel *kernels = (const void *)((const char *)h + h->kernels);
    struct unit *units = arena_alloc(p->nunits * sizeof *units);
    struct fl_code_place *places = NULL;
    struct fl_code o = { .magic = FL_CODE_MAGIC, .abi = FL_ABI_VERSION };
    struct code code;
    for (uint32_t k = 0; k < p->nunits; k++) units[k] = unpack(h, p->first_unit + k);
    llvm_compile(units, p->nunits, &code);
    uint64_t at = (sizeof o + ALIGN - 1) / ALIGN * ALIGN;
    for (uint32_t k = 0; k < h->nkernels; k++)
        if (kernels[k].part == part + 1) add_kernel(h, k, at, &places, &o.nplaces);
    o.places = (at + code.size + ALIGN - 1) / ALIGN * ALIGN;
    o.size = o.places + o.nplaces * sizeof *places;
    char *all = arena_alloc(o.size);
    memcpy(all, &o, sizeof o);
    memcpy(all + at, code.bytes, code.size);
    memcpy(all + o.places, places, o.nplaces * sizeof *places);
    if (fwrite(all, 1, o.size, file) != o.size || fflush(file)) fatal(EXIT_INTERNAL, "the code cannot be written");
}
