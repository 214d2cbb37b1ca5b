/* Inputs of a link: what kind of data it is, by its first bytes, and what of it can be
 * linked: PTX, by itself, in a fatbinary, in objects and libraries of the host. */
#include "base/ptx_version.h"
#include "module/compile.h"
#include "module/fatbin.h"
#include "module/join.h"
#include "nvjitlink/nvjitlink.h"
#include "ptxas/arch.h"

#include <ar.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { EM_OF_CUDA = 190, DEVICE = 90 /* the newest code that a simulated device runs */ };

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
    const Elf64_Ehdr *h = data;
    if (begins(data, size, ELFMAG, SELFMAG) && size >= sizeof *h)
        return h->e_machine == EM_OF_CUDA ? NVJITLINK_INPUT_CUBIN : NVJITLINK_INPUT_OBJECT;
    if (begins(data, size, "\xed\x43\x4e\x7f", 4)) return NVJITLINK_INPUT_LTOIR;
    if (begins(data, size, "\x50\xed\x55\xba", 4)) return NVJITLINK_INPUT_FATBIN;
    if (begins(data, size, ARMAG, SARMAG)) return NVJITLINK_INPUT_LIBRARY;
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

bool link_keep(struct link_inputs *inputs, const char *name, const void *data, size_t size)
{
    struct link_input *more = realloc(inputs->all, (inputs->n + 1) * sizeof *more);
    if (!more) return false;
    inputs->all = more;
    struct link_input in = { strdup(name), malloc(size + 1), size };
    if (!in.name || !in.data) {
        free(in.name);
        free(in.data);
        return false;
    }
    memcpy(in.data, data, size);
    in.data[size] = 0;
    more[inputs->n++] = in;
    return true;
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

static nvJitLinkResult no_ptx(struct nvJitLink *l, const char *name)
{
    fprintf(l->errors.file, "ERROR: %s has machine code, but no PTX for sm_%d or less, and only PTX can run here\n",
            name, DEVICE);
    return NVJITLINK_ERROR_INVALID_INPUT;
}

static nvJitLinkResult add_fatbin(struct nvJitLink *l, const void *data, size_t size, const char *name)
{
    char *text;
    CUresult c = fatbin_ptx(data, size, DEVICE, &text);
    if (c == CUDA_ERROR_NO_BINARY_FOR_GPU) return no_ptx(l, name);
    if (c) return c == CUDA_ERROR_OUT_OF_MEMORY ? NVJITLINK_ERROR_INTERNAL : NVJITLINK_ERROR_INVALID_INPUT;
    nvJitLinkResult r = link_piece(l, text, name, true);
    free(text);
    return r;
}

/* An object's PTX is linked, that of a library only if something is missing without it. */
enum wanted { LINKED, SPARE };

/* The fatbinaries of a section follow each other, with zeros between them. Those without PTX are left out: every program
 * is linked with some. */
static nvJitLinkResult add_section(struct nvJitLink *l, const char *data, size_t size, const char *name,
                                   enum wanted wanted)
{
    static const char magic[] = "\x50\xed\x55\xba";
    const char *end = data + size;
    while (end - data > 16 && (data = memmem(data, (size_t)(end - data), magic, 4)) && end - data > 16) {
        uint64_t n;
        char *text;
        memcpy(&n, data + 8, sizeof n);
        if (n > (size_t)(end - data) - 16) break;
        if (!fatbin_ptx(data, n + 16, DEVICE, &text)) {
            nvJitLinkResult r = NVJITLINK_SUCCESS;
            if (wanted == LINKED)
                r = link_piece(l, text, name, true);
            else if (!link_keep(&l->spare, name, text, strlen(text)))
                r = NVJITLINK_ERROR_INTERNAL;
            free(text);
            if (r) return r;
        }
        data += n + 16;
    }
    return NVJITLINK_SUCCESS;
}

/* An object by the host's compiler: nvcc puts fatbinaries into sections. */
static nvJitLinkResult add_object(struct nvJitLink *l, const char *data, size_t size, const char *name,
                                  enum wanted wanted)
{
    Elf64_Ehdr h;
    Elf64_Shdr s, names;
    memcpy(&h, data, sizeof h);
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_shoff > size || h.e_shentsize != sizeof s ||
        h.e_shnum > (size - h.e_shoff) / sizeof s || h.e_shstrndx >= h.e_shnum)
        return NVJITLINK_ERROR_INVALID_INPUT;
    memcpy(&names, data + h.e_shoff + h.e_shstrndx * sizeof s, sizeof names);
    if (names.sh_offset > size || names.sh_size > size - names.sh_offset) return NVJITLINK_ERROR_INVALID_INPUT;
    for (unsigned k = 0; k < h.e_shnum; k++) {
        memcpy(&s, data + h.e_shoff + k * sizeof s, sizeof s);
        if (s.sh_type != SHT_PROGBITS || s.sh_name >= names.sh_size) continue;
        const char *called = data + names.sh_offset + s.sh_name;
        size_t room = names.sh_size - s.sh_name;
        if (strncmp(called, ".nv_fatbin", room) && strncmp(called, "__nv_relfatbin", room)) continue;
        if (s.sh_offset > size || s.sh_size > size - s.sh_offset) return NVJITLINK_ERROR_INVALID_INPUT;
        nvJitLinkResult r = add_section(l, data + s.sh_offset, s.sh_size, name, wanted);
        if (r) return r;
    }
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult add_library(struct nvJitLink *l, const char *data, size_t size, const char *name)
{
    struct ar_hdr h;
    for (size_t at = SARMAG; at < size && size - at >= sizeof h;) {
        memcpy(&h, data + at, sizeof h);
        at += sizeof h;
        size_t n = strtoul(h.ar_size, NULL, 10);
        if (memcmp(h.ar_fmag, ARFMAG, 2) || n > size - at) return NVJITLINK_ERROR_INVALID_INPUT;
        if (kind_of(data + at, n) == NVJITLINK_INPUT_OBJECT) {
            nvJitLinkResult r = add_object(l, data + at, n, name, SPARE);
            if (r) return r;
        }
        at += n + n % 2;
    }
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult add_ltoir(struct nvJitLink *l, const void *data, size_t size, const char *name)
{
    if (!l->options.lto) {
        fputs("ERROR 1: LTO-IR input cannot be used without LTO enabled (-lto)\n", l->errors.file);
        return NVJITLINK_ERROR_LTO_NOT_ENABLED;
    }
    return link_keep(&l->ltoir, name, data, size) ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_INTERNAL;
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
    case NVJITLINK_INPUT_OBJECT: return add_object(l, data, size, name, LINKED);
    case NVJITLINK_INPUT_LIBRARY: return add_library(l, data, size, name);
    default: return no_ptx(l, name);
    }
}
