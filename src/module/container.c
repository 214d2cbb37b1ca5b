/* See container.h. Nothing that such a file says of itself is believed. */
#include "module/container.h"
#include "module/fatbin.h"

#include <ar.h>
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { EM_OF_CUDA = 190 };

struct visit {
    unsigned sm;
    container_visitor *visit;
    void *context;
    unsigned seen, left_out; /* fatbinaries */
};

bool is_object(const void *data, size_t size)
{
    const unsigned char *h = data;
    return size >= sizeof(Elf64_Ehdr) && !memcmp(h, ELFMAG, SELFMAG) && h[EI_CLASS] == ELFCLASS64 &&
           h[offsetof(Elf64_Ehdr, e_machine)] != EM_OF_CUDA;
}

bool is_library(const void *data, size_t size) { return size >= SARMAG && !memcmp(data, ARMAG, SARMAG); }

/* The fatbinaries of a section follow each other, with zeros between them. */
static CUresult visit_section(struct visit *v, const char *data, size_t size)
{
    static const char magic[] = "\x50\xed\x55\xba";
    const char *end = data + size;
    enum { HEADER = 16 };
    while (end - data > HEADER && (data = memmem(data, (size_t)(end - data), magic, 4)) && end - data > HEADER) {
        uint64_t n;
        char *text;
        memcpy(&n, data + 8, sizeof n);
        if (n > (size_t)(end - data) - HEADER) return CUDA_ERROR_INVALID_IMAGE;
        CUresult r = fatbin_ptx(data, n + HEADER, v->sm, &text);
        v->seen++;
        if (!r) {
            r = v->visit(text, v->context);
            free(text);
        } else if (r == CUDA_ERROR_NO_BINARY_FOR_GPU) {
            v->left_out++;
            r = CUDA_SUCCESS;
        }
        if (r) return r;
        data += n + HEADER;
    }
    return CUDA_SUCCESS;
}

/* A part of the file, NULL: it is not there. */
static const char *part(const char *data, size_t size, uint64_t at, uint64_t n)
{
    return at <= size && n <= size - at ? data + at : NULL;
}

static bool has_fatbins(const char *names, size_t room, uint32_t name)
{
    static const char *const sections[] = { ".nv_fatbin", "__nv_relfatbin" };
    for (size_t k = 0; name < room && k < 2; k++) {
        size_t n = strlen(sections[k]) + 1;
        if (n <= room - name && !memcmp(names + name, sections[k], n)) return true;
    }
    return false;
}

static CUresult visit_object(struct visit *v, const char *data, size_t size)
{
    Elf64_Ehdr h;
    Elf64_Shdr s, table;
    memcpy(&h, data, sizeof h);
    const char *all = part(data, size, h.e_shoff, (uint64_t)h.e_shnum * sizeof s);
    if (!all || h.e_shentsize != sizeof s || h.e_shstrndx >= h.e_shnum) return CUDA_ERROR_INVALID_IMAGE;
    memcpy(&table, all + h.e_shstrndx * sizeof s, sizeof table);
    const char *names = part(data, size, table.sh_offset, table.sh_size);
    if (!names) return CUDA_ERROR_INVALID_IMAGE;
    for (unsigned k = 0; k < h.e_shnum; k++) {
        memcpy(&s, all + k * sizeof s, sizeof s);
        if (s.sh_type != SHT_PROGBITS || !has_fatbins(names, table.sh_size, s.sh_name)) continue;
        const char *content = part(data, size, s.sh_offset, s.sh_size);
        CUresult r = content ? visit_section(v, content, s.sh_size) : CUDA_ERROR_INVALID_IMAGE;
        if (r) return r;
    }
    return CUDA_SUCCESS;
}

static CUresult visit_library(struct visit *v, const char *data, size_t size)
{
    struct ar_hdr h;
    for (size_t at = SARMAG; at < size && size - at >= sizeof h;) {
        char digits[sizeof h.ar_size + 1] = "";
        memcpy(&h, data + at, sizeof h);
        memcpy(digits, h.ar_size, sizeof h.ar_size);
        at += sizeof h;
        size_t n = strtoul(digits, NULL, 10);
        if (memcmp(h.ar_fmag, ARFMAG, sizeof h.ar_fmag) || n > size - at) return CUDA_ERROR_INVALID_IMAGE;
        CUresult r = is_object(data + at, n) ? visit_object(v, data + at, n) : CUDA_SUCCESS;
        if (r) return r;
        at += n + n % 2;
    }
    return CUDA_SUCCESS;
}

CUresult container_visit(const void *data, size_t size, unsigned sm, container_visitor *visit, void *context)
{
    struct visit v = { .sm = sm, .visit = visit, .context = context };
    if (is_library(data, size)) return visit_library(&v, data, size);
    CUresult r = is_object(data, size) ? visit_object(&v, data, size) : CUDA_ERROR_INVALID_IMAGE;
    return !r && v.seen && v.seen == v.left_out ? CUDA_ERROR_NO_BINARY_FOR_GPU : r;
}
