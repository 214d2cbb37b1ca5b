/* Writes the image: tables, strings, initial values, code. See image.h. */
#include "write.h"
#include "abi.h"
#include "arena.h"
#include "emit.h"
#include "image.h"
#include "kernel.h"
#include "ptxc.h"

#include <string.h>
#include <zstd.h>

enum { PAGE = 4096 };

struct buffer {
    unsigned char *bytes;
    size_t size, room;
};

static uint64_t append(struct buffer *b, const void *data, size_t size, size_t align)
{
    size_t at = (b->size + align - 1) & ~(align - 1);
    if (at + size > b->room) {
        size_t room = (at + size) * 2 + PAGE;
        unsigned char *bigger = arena_alloc(room);
        if (b->size) memcpy(bigger, b->bytes, b->size);
        b->bytes = bigger;
        b->room = room;
    }
    if (size && data) memcpy(b->bytes + at, data, size);
    b->size = at + size;
    return at;
}

static uint32_t string(struct buffer *names, const char *text)
{
    return (uint32_t)append(names, text, strlen(text) + 1, 1);
}

/* Where the segments of a kernel are in the code that was just linked. */
static void find_segments(const struct func *f, struct fl_image_segment *segments, uint64_t code)
{
    const struct kernel *k = f->kernel;
    segments->code = code + object_symbol(arena_printf("k%u_s0", k->number));
    for (uint32_t s = 0; s < k->nsegments && !f->whole; s++) {
        segments[s].code = code + object_symbol(arena_printf("k%u_s%u", k->number, s));
        segments[s].probe = code + object_symbol(arena_printf("k%u_p%u", k->number, s));
    }
}

/* Where in the context the sums of the wgmma are before which segment s stands. */
static void add_slots(const struct kernel *k, const struct segment *s, uint32_t **slots, struct fl_image *h)
{
    struct reg *const *sums;
    uint32_t count = wgmma_sums(s->cause, &sums);
    for (uint32_t n = 0; n < count; n++) {
        int32_t slot = k->slot[sums[n]->index];
        ARENA_PUSH(*slots, h->nslots) = slot < 0 ? FL_NONE : (uint32_t)slot;
    }
}

struct tables {
    struct fl_image_kernel *kernels;
    struct fl_image_segment *segments;
    struct fl_image_param *params;
    uint32_t *slots;
};

static uint32_t add_params(const struct func *f, struct fl_image *h, struct tables *to)
{
    uint32_t end = 0;
    for (uint32_t p = 0; p < f->sig.nparams; p++) {
        const struct var *v = &f->sig.params[p];
        ARENA_PUSH(to->params, h->nparams) = (struct fl_image_param){ v->offset, (uint32_t)v->size, v->align, 0 };
        end = v->offset + (uint32_t)v->size;
    }
    return end;
}

static void add_segments(const struct func *f, struct fl_image *h, struct tables *to)
{
    const struct kernel *k = f->kernel;
    for (uint32_t s = 0; s < k->nsegments; s++) {
        struct fl_image_segment *g = &ARENA_PUSH(to->segments, h->nsegments);
        *g = k->segments[s].image;
        if (!k->segments[s].cause || !is_wgmma(k->segments[s].cause) || f->whole) continue;
        g->imm1 = h->nslots;
        add_slots(k, &k->segments[s], &to->slots, h);
    }
}

static void add_kernel(const struct func *f, struct fl_image *h, struct tables *to, struct buffer *names)
{
    const struct kernel *k = f->kernel;
    struct fl_image_kernel o = {
        .name = string(names, f->name),
        .refused = f->refused ? string(names, f->refused) : 0,
        .first_segment = h->nsegments,
        .nsegments = k->nsegments,
        .first_param = h->nparams,
        .nparams = f->sig.nparams,
        .static_shared = k->static_shared,
        .local = k->nsegments > 1 && !f->whole ? k->local : 0,
        .stack = k->stack,
        .local_reported = k->local_reported,
        .context = k->context,
        .registers = k->registers,
        .max_threads = f->max_threads,
        .max_cluster = f->max_cluster,
        .flags = k->flags | (f->uses_printf ? FL_KERNEL_PRINTF : 0) | (f->uses_malloc ? FL_KERNEL_MALLOC : 0) |
                 (f->flushed ? FL_KERNEL_FLUSHED : 0) | (f->explicit_cluster ? FL_KERNEL_EXPLICIT_CLUSTER : 0) |
                 (f->blocks_are_clusters ? FL_KERNEL_BLOCKS_ARE_CLUSTERS : 0) |
                 (f->uses_reserved ? FL_KERNEL_RESERVED : 0),
    };
    memcpy(o.reqntid, f->reqntid, sizeof o.reqntid);
    memcpy(o.cluster, f->cluster, sizeof o.cluster);
    o.param_size = add_params(f, h, to);
    add_segments(f, h, to);
    ARENA_PUSH(to->kernels, h->nkernels) = o;
}

static void add_kernels(const struct translation *t, struct fl_image *h, struct buffer *out, struct buffer *names,
                        uint32_t const_size)
{
    const struct module_ir *m = t->module;
    struct tables all = { 0 };
    for (uint32_t i = 0; i < m->nfuncs; i++) {
        const struct func *f = m->funcs[i];
        if (!f->entry || !f->body) continue;
        add_kernel(f, h, &all, names);
        struct fl_image_kernel *k = &all.kernels[h->nkernels - 1];
        k->const_size = const_size;
        if (t->deferred)
            k->part = f->kernel->part + 1;
        else
            find_segments(f, &all.segments[k->first_segment], h->code);
    }
    h->kernels = (uint32_t)append(out, all.kernels, h->nkernels * sizeof *all.kernels, 16);
    h->segments = (uint32_t)append(out, all.segments, h->nsegments * sizeof *all.segments, 16);
    h->params = (uint32_t)append(out, all.params, h->nparams * sizeof *all.params, 16);
    h->slots = (uint32_t)append(out, all.slots, h->nslots * sizeof *all.slots, 16);
}

/* Units that were linked may number different files alike: then it is not known which one is meant. */
static struct source_file *find_file(const struct module_ir *m, uint64_t number)
{
    struct source_file *found = NULL;
    for (uint32_t f = 0; f < m->nfiles; f++) {
        if (m->files[f].number != number) continue;
        if (found && strcmp(found->name, m->files[f].name)) return NULL;
        if (!found) found = &m->files[f];
    }
    return found;
}

static void add_lines(const struct module_ir *m, struct fl_image *h, struct buffer *out, struct buffer *names)
{
    struct fl_image_line *lines = arena_alloc((m->nlines + 1ul) * sizeof *lines);
    for (uint32_t k = 0; k < m->nlines; k++) {
        const struct source_line *l = &m->lines[k];
        struct source_file *f = l->line ? find_file(m, l->file) : NULL;
        if (f && !f->written) f->written = string(names, f->name);
        lines[k] = (struct fl_image_line){ l->ptx, f ? l->line : 0, f ? f->written : 0 };
    }
    h->nlines = m->nlines;
    h->lines = (uint32_t)append(out, lines, m->nlines * sizeof *lines, 16);
}

struct image_symbols {
    struct fl_image_symbol *list;
    uint32_t count;
    struct fl_image_reloc *relocs;
    uint32_t nrelocs;
};

static void add_variable(struct var *v, struct image_symbols *y, struct buffer *out, struct buffer *names)
{
    struct fl_image_symbol *s = &ARENA_PUSH(y->list, y->count);
    s->name = string(names, v->name);
    s->kind = v->managed               ? FL_SYMBOL_MANAGED
              : v->space == SPACE_const ? FL_SYMBOL_CONST
              : v->texture              ? FL_SYMBOL_TEXTURE
              : v->surface              ? FL_SYMBOL_SURFACE
                                        : FL_SYMBOL_GLOBAL;
    s->align = v->align;
    s->size = v->size;
    if (v->init && v->size) s->init = append(out, v->init, v->size, 16);
    for (uint32_t r = 0; r < v->nrefs; r++)
        ARENA_PUSH(y->relocs, y->nrelocs) =
            (struct fl_image_reloc){ v->index,
                                     v->refs[r].target ? v->refs[r].target->index : v->refs[r].function->index,
                                     v->refs[r].offset, v->refs[r].addend, v->refs[r].bytes,
                                     v->refs[r].shift };
}

static void add_function(const struct func *f, uint64_t code, struct image_symbols *y, struct buffer *names)
{
    struct fl_image_symbol *s = &ARENA_PUSH(y->list, y->count);
    s->name = string(names, f->name);
    s->kind = FL_SYMBOL_FUNCTION;
    s->init = code + object_symbol(arena_printf("%s%u", f->whole ? "wf" : "f", f->number));
}

/* Returns the bytes of constant variables. */
static uint32_t add_symbols(const struct translation *t, struct fl_image *h, struct buffer *out, struct buffer *names)
{
    struct image_symbols y = { 0 };
    uint32_t const_size = 0;
    for (uint32_t k = 0; k < t->nvariables; k++) {
        if (t->variables[k]->space == SPACE_const) const_size += (uint32_t)t->variables[k]->size;
        add_variable(t->variables[k], &y, out, names);
    }
    for (uint32_t k = 0; k < t->nfunctions; k++) add_function(t->functions[k], h->code, &y, names);
    h->nsymbols = y.count;
    h->symbols = (uint32_t)append(out, y.list, y.count * sizeof *y.list, 16);
    h->nrelocs = y.nrelocs;
    h->relocs = (uint32_t)append(out, y.relocs, y.nrelocs * sizeof *y.relocs, 16);
    return const_size;
}

/* Their tables; the units themselves come last, add_ir fills in where. */
static void add_parts(const struct translation *t, struct fl_image *h, struct buffer *out)
{
    struct fl_image_part *parts = NULL;
    if (!t->deferred) return;
    h->nunits = t->nunits - t->nshared;
    for (uint32_t k = 0; k < h->nunits; k++) {
        while (h->nparts <= t->units[k].part) ARENA_PUSH(parts, h->nparts).first_unit = k;
        parts[h->nparts - 1].nunits++;
    }
    h->parts = (uint32_t)append(out, parts, h->nparts * sizeof *parts, 16);
    h->units = (uint32_t)append(out, NULL, h->nunits * sizeof(struct fl_image_unit), 16);
}

static void add_ir(const struct unit *unit, uint64_t table, struct buffer *out)
{
    enum { FAST = 1 };
    size_t room = ZSTD_compressBound(unit->size);
    char *packed = arena_alloc(room);
    size_t size = ZSTD_compress(packed, room, unit->ir, unit->size, FAST);
    if (ZSTD_isError(size)) fatal(EXIT_INTERNAL, "zstd: %s", ZSTD_getErrorName(size));
    struct fl_image_unit u = { append(out, packed, size, 16), size, unit->size };
    memcpy(out->bytes + table, &u, sizeof u);
}

void image_write(const struct translation *t, const struct code *code, FILE *file)
{
    struct fl_image h = { .magic = FL_IMAGE_MAGIC, .abi = FL_ABI_VERSION, .target = t->module->target };
    struct buffer out = { 0 };
    struct buffer names = { 0 };
    string(&names, "");
    append(&out, NULL, PAGE, 1); /* the header's; the code is first, as what is mapped begins and ends with a page */
    h.code_size = code->size;
    h.code = append(&out, code->bytes, h.code_size, PAGE);
    append(&out, NULL, 0, PAGE);
    uint32_t const_size = add_symbols(t, &h, &out, &names);
    add_kernels(t, &h, &out, &names, const_size);
    add_lines(t->module, &h, &out, &names);
    add_parts(t, &h, &out);
    h.strings_size = (uint32_t)names.size;
    h.strings = (uint32_t)append(&out, names.bytes, names.size, 16);
    h.loaded = append(&out, NULL, 0, PAGE);
    for (uint32_t k = 0; k < h.nunits; k++) add_ir(&t->units[k], h.units + k * sizeof(struct fl_image_unit), &out);
    h.size = out.size;
    memcpy(out.bytes, &h, sizeof h);
    if (fwrite(out.bytes, 1, out.size, file) != out.size || fflush(file))
        fatal(EXIT_INTERNAL, "the image cannot be written");
}
