/* Units; see units.h. */
#include "units.h"
#include "arena.h"
#include "calls.h"
#include "kernel.h"
#include "ptxc.h"

#include <stdio.h>
#include <string.h>

/* Bytes of IR in a unit: a tenth of a second or so. Where device functions are large, units are larger, so that copies
 * remain a small part of all. */
enum { UNIT = 128 << 10, COPIES = 4 };

struct open_unit {
    FILE *file; /* NULL: there is none */
    struct unit unit;
    size_t kernels; /* bytes of them */
    uint32_t number;
};

struct units {
    struct module_ir *module;
    const char *preamble;
    const struct func *kernel; /* whose functions come now */
    uint32_t part;
    size_t part_size; /* bytes of kernels */
    struct unit *done;
    uint32_t ndone, numbers;
    size_t functions; /* bytes of device functions that kernels have copies of */
    struct open_unit fast, probes;
};

struct units *units_begin(struct module_ir *m, const char *preamble)
{
    struct units *u = arena_alloc(sizeof *u);
    u->module = m;
    u->preamble = preamble;
    return u;
}

static void begin(struct units *u, struct open_unit *o)
{
    *o = (struct open_unit){ .number = ++u->numbers };
    o->file = open_memstream(&o->unit.ir, &o->unit.size);
    if (!o->file) fatal(EXIT_INTERNAL, "out of memory");
    fputs(u->preamble, o->file);
}

static void end(struct units *u, struct open_unit *o)
{
    if (!o->file) return;
    close_text(o->file);
    o->file = NULL;
    o->unit.part = u->part;
    ARENA_PUSH(u->done, u->ndone) = o->unit;
}

static struct ir_text *text_of(const struct units *u, const struct open_unit *o, struct func *f)
{
    return o == &u->probes ? &f->probes : &f->fast;
}

/* Whether this is the first time that the unit is asked to have f. */
static bool is_new(const struct units *u, const struct open_unit *o, struct func *f)
{
    struct ir_text *text = text_of(u, o, f);
    uint32_t before = text->unit;
    text->unit = o->number;
    return before != o->number;
}

/* What f calls, and f itself if it is a device function. */
static void add_reachable(struct units *u, struct open_unit *o, struct func *f)
{
    struct func **list;
    uint32_t count = calls_named(u->module, f, &list);
    for (uint32_t k = 0; k < count; k++) {
        const struct ir_text *text = text_of(u, o, list[k]);
        if (list[k]->entry || !is_new(u, o, list[k])) continue;
        for (uint32_t n = 0; n < text->count; n++) fputs(text->pieces[n], o->file);
    }
}

/* A part has more of kernels than of functions that it may need. */
static void begin_kernel(struct units *u, struct func *f)
{
    if (u->part_size >= UNIT && u->part_size >= u->functions) {
        end(u, &u->fast);
        end(u, &u->probes);
        u->part++;
        u->part_size = 0;
    }
    u->kernel = f;
    f->kernel->part = u->part;
}

void units_add(struct units *u, struct func *f, bool probes, const char *ir)
{
    struct open_unit *o = probes ? &u->probes : &u->fast;
    size_t size = strlen(ir);
    if (!f->entry) {
        struct ir_text *text = text_of(u, o, f);
        ARENA_PUSH(text->pieces, text->count) = arena_text(ir, size);
        if (!f->address_taken) u->functions += size;
        return;
    }
    if (f != u->kernel) begin_kernel(u, f);
    if (!o->file) begin(u, o);
    if (is_new(u, o, f)) add_reachable(u, o, f);
    fputs(ir, o->file);
    o->kernels += size;
    u->part_size += size;
    if (o->kernels >= UNIT && o->kernels >= COPIES * u->functions) end(u, o);
}

/* Each has them all once, as far as it can. */
static void add_shared(struct units *u)
{
    struct open_unit *o = &u->fast;
    for (uint32_t k = 0; k < u->module->nfuncs; k++) {
        struct func *f = func_resolve(u->module->funcs[k]);
        if (!f->address_taken || f->entry || !f->body || (o->file && f->fast.unit == o->number)) continue;
        if (!o->file) begin(u, o);
        add_reachable(u, o, f);
        if (ftell(o->file) >= UNIT) end(u, o);
    }
    end(u, o);
}

uint32_t units_end(struct units *u, struct unit **units, uint32_t *shared)
{
    end(u, &u->fast);
    end(u, &u->probes);
    const uint32_t kernels = u->ndone;
    add_shared(u);
    if (!u->ndone) {
        begin(u, &u->fast);
        end(u, &u->fast);
    }
    *shared = u->ndone - kernels;
    *units = u->done;
    return u->ndone;
}
