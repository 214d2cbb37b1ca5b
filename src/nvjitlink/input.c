/* Inputs of a link: what kind of data it is, by its first bytes, and what of it can be
 * linked: PTX, by itself, in a fatbinary, in objects and libraries of the host. */
#include "base/ptx_version.h"
#include "module/compile.h"
#include "module/container.h"
#include "module/fatbin.h"
#include "module/join.h"
#include "nvjitlink/nvjitlink.h"
#include "ptxas/arch.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICE = 90 }; /* the newest code that a simulated device runs */

/* ---- kinds */

static bool begins(const void *data, size_t size, const char *with, size_t n)
{
    return size >= n && !memcmp(data, with, n);
}

static bool is_ptx(const char *text, size_t size)
{
    static const char first[] = ".version";
    const char *end = text + strnlen(text, size);
    for (;;) {
        while (text < end && strchr(" \t\r\n", *text)) text++;
        const char *closed = NULL;
        if (begins(text, (size_t)(end - text), "//", 2))
            closed = memchr(text, '\n', (size_t)(end - text));
        else if (begins(text, (size_t)(end - text), "/*", 2) && (closed = memmem(text, (size_t)(end - text), "*/", 2)))
            closed += 1;
        if (!closed) return begins(text, (size_t)(end - text), first, sizeof first - 1);
        text = closed + 1;
    }
}

static nvJitLinkInputType kind_of(const void *data, size_t size)
{
    if (is_object(data, size)) return NVJITLINK_INPUT_OBJECT;
    if (is_library(data, size)) return NVJITLINK_INPUT_LIBRARY;
    if (begins(data, size, "\177ELF", 4)) return NVJITLINK_INPUT_CUBIN;
    if (begins(data, size, "\xed\x43\x4e\x7f", 4)) return NVJITLINK_INPUT_LTOIR;
    if (begins(data, size, "\x50\xed\x55\xba", 4)) return NVJITLINK_INPUT_FATBIN;
    return is_ptx(data, size) ? NVJITLINK_INPUT_PTX : NVJITLINK_INPUT_NONE;
}

static const char *const type_names[] = { "NONE", "CUBIN", "PTX", "LTOIR", "FATBIN", "OBJECT", "LIBRARY", "INDEX" };

/* The kind that data has, if that is what the caller says. PTX stands for machine code, too. */
static nvJitLinkResult check_type(struct nvJitLink *l, nvJitLinkInputType type, const void *data, size_t size,
                                  const char *name, nvJitLinkInputType *kind)
{
    *kind = kind_of(data, size);
    if (type == NVJITLINK_INPUT_ANY) {
        if (*kind != NVJITLINK_INPUT_NONE) return NVJITLINK_SUCCESS;
        fprintf(l->errors.file, "unrecognized input type: %s\n", name);
        return NVJITLINK_ERROR_UNRECOGNIZED_INPUT;
    }
    if ((int)type <= NVJITLINK_INPUT_NONE || type > NVJITLINK_INPUT_INDEX)
        fprintf(l->errors.file, "unsupported input type: %s\n", name);
    else if (*kind != type && (type != NVJITLINK_INPUT_CUBIN || *kind != NVJITLINK_INPUT_PTX))
        fprintf(l->errors.file, "ERROR 1: bad input: does not match type NVJITLINK_INPUT_%s%s\n", type_names[type],
                name);
    else
        return NVJITLINK_SUCCESS;
    return NVJITLINK_ERROR_INCORRECT_INPUT_TYPE;
}

/* ---- what is kept */

/* A copy. */
static nvJitLinkResult keep(struct link_inputs *inputs, nvJitLinkInputType type, const char *name, const void *data,
                            size_t size)
{
    struct link_input *more = realloc(inputs->all, (inputs->n + 1) * sizeof *more);
    if (!more) return NVJITLINK_ERROR_INTERNAL;
    inputs->all = more;
    struct link_input in = { strdup(name), malloc(size), size, type };
    if (!in.name || !in.data) {
        free(in.name);
        free(in.data);
        return NVJITLINK_ERROR_INTERNAL;
    }
    memcpy(in.data, data, size);
    more[inputs->n++] = in;
    return NVJITLINK_SUCCESS;
}

void link_forget(struct link_inputs *inputs)
{
    for (unsigned k = 0; k < inputs->n; k++) {
        free(inputs->all[k].name);
        free(inputs->all[k].data);
    }
    free(inputs->all);
    *inputs = (struct link_inputs){ 0 };
}

/* ---- pieces */

static nvJitLinkResult compile(struct nvJitLink *l, const char *text, const char *name)
{
    const struct verdict_piece piece = { "application ptx input", 1 };
    struct image_file image;
    char log[4096];
    CUresult r = compile_ptx(text, &image, log, sizeof log);
    if (!r) {
        if (l->options.verbose) verdict_statistics(l->infos.file, image.data, l->options.arch);
        image_release(&image);
        return NVJITLINK_SUCCESS;
    }
    verdict_errors(l->errors.file, text, &piece, 1, r, log);
    fprintf(l->errors.file, "ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (%s)\n", name);
    return NVJITLINK_ERROR_PTX_COMPILE;
}

nvJitLinkResult link_piece(struct nvJitLink *l, char *text, const char *name, bool check)
{
    nvJitLinkResult r;
    ptx_lower_version(text, PTX_ANY_MINOR);
    if (!arch_takes(l->options.arch, text, l->errors.file)) {
        fprintf(l->errors.file, "ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (%s)\n", name);
        return NVJITLINK_ERROR_PTX_COMPILE;
    }
    if (check && !strstr(text, ".extern") && (r = compile(l, text, name))) return r;
    struct verdict_piece *more = realloc(l->pieces, (size_t)(l->npieces + 1) * sizeof *more);
    if (!more) return NVJITLINK_ERROR_INTERNAL;
    l->pieces = more;
    struct verdict_piece piece = { strdup(name), verdict_next_line(l->text) };
    if (!piece.name || ptx_join(&l->text, text)) {
        free((char *)piece.name);
        return NVJITLINK_ERROR_INTERNAL;
    }
    more[l->npieces++] = piece;
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult add_ptx(struct nvJitLink *l, const void *data, size_t size, const char *name)
{
    char *text = strndup(data, size);
    nvJitLinkResult r = text ? link_piece(l, text, name, true) : NVJITLINK_ERROR_INTERNAL;
    free(text);
    return r;
}

/* ---- containers */

/* With -lto there may be LTO IR in it. */
static nvJitLinkResult no_ptx(struct nvJitLink *l, nvJitLinkInputType kind, const void *data, size_t size,
                              const char *name)
{
    if (l->options.lto && kind != NVJITLINK_INPUT_CUBIN) return keep(&l->ltoir, kind, name, data, size);
    fprintf(l->errors.file, "ERROR: %s has machine code, but no PTX for sm_%d or less, and only PTX can run here\n",
            name, DEVICE);
    return NVJITLINK_ERROR_INVALID_INPUT;
}

static nvJitLinkResult add_fatbin(struct nvJitLink *l, const void *data, size_t size, const char *name)
{
    char *text;
    CUresult c = fatbin_ptx(data, size, DEVICE, &text);
    if (c == CUDA_ERROR_NO_BINARY_FOR_GPU) return no_ptx(l, NVJITLINK_INPUT_FATBIN, data, size, name);
    if (c) return c == CUDA_ERROR_OUT_OF_MEMORY ? NVJITLINK_ERROR_INTERNAL : NVJITLINK_ERROR_INVALID_INPUT;
    nvJitLinkResult r = link_piece(l, text, name, true);
    free(text);
    return r;
}

/* What a visit of a container does: an object's PTX is linked, that of a library only if something is missing without
 * it. */
struct member {
    struct nvJitLink *link;
    const char *name;
    bool spare;
    nvJitLinkResult result;
};

static CUresult add_member(char *text, void *data)
{
    struct member *m = data;
    if (!m->spare)
        m->result = link_piece(m->link, text, m->name, true);
    else if (spares_keep(&m->link->spares, text))
        m->result = NVJITLINK_ERROR_INTERNAL;
    return m->result ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

static nvJitLinkResult add_container(struct nvJitLink *l, const void *data, size_t size, const char *name, bool spare)
{
    struct member m = { l, name, spare, NVJITLINK_SUCCESS };
    CUresult r = container_visit(data, size, DEVICE, add_member, &m);
    if (r == CUDA_ERROR_NO_BINARY_FOR_GPU) return no_ptx(l, NVJITLINK_INPUT_OBJECT, data, size, name);
    return r && !m.result ? NVJITLINK_ERROR_INVALID_INPUT : m.result;
}

static nvJitLinkResult add_ltoir(struct nvJitLink *l, const void *data, size_t size, const char *name)
{
    if (!l->options.lto) {
        fputs("ERROR 1: LTO-IR input cannot be used without LTO enabled (-lto)\n", l->errors.file);
        return NVJITLINK_ERROR_LTO_NOT_ENABLED;
    }
    return keep(&l->ltoir, NVJITLINK_INPUT_LTOIR, name, data, size);
}

nvJitLinkResult link_add(struct nvJitLink *l, nvJitLinkInputType type, const void *data, size_t size, const char *name)
{
    nvJitLinkInputType kind;
    nvJitLinkResult r = check_type(l, type, data, size, name, &kind);
    if (r) return r;
    switch (kind) {
    case NVJITLINK_INPUT_PTX: return add_ptx(l, data, size, name);
    case NVJITLINK_INPUT_LTOIR: return add_ltoir(l, data, size, name);
    case NVJITLINK_INPUT_FATBIN: return add_fatbin(l, data, size, name);
    case NVJITLINK_INPUT_OBJECT: return add_container(l, data, size, name, false);
    case NVJITLINK_INPUT_LIBRARY: return add_container(l, data, size, name, true);
    default: return no_ptx(l, kind, data, size, name);
    }
}
