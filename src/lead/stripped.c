/* Where NVIDIA's runtime begins in an object without symbol table, as wheels have
 * it. Unwind tables say where each function starts, and each entry point tells its
 * own name to tools: it refers to that string, and fills in a record of RECORD
 * bytes for them. Nothing that the file says of itself is believed. */
#include "lead/stripped.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    RECORD = 0x78,
    LONGEST = 4096, /* of the entry points, in bytes */
    LONGEST_NAME = 80,
    AROUND = 1024, /* functions */
};

struct object {
    const char *data;
    uint64_t size;
};

/* .eh_frame_hdr: where functions are, relative to itself, in ascending order. */
struct unwind_table {
    uint64_t address;
    const struct {
        int32_t start, unwind;
    } * entries;
    uint32_t count;
};

static const void *part(const struct object *o, uint64_t at, uint64_t size)
{
    return at <= o->size && size <= o->size - at ? o->data + at : NULL;
}

/* A program header or section header number k of the table at from. */
static const void *header(const struct object *o, uint64_t from, unsigned k, uint64_t size)
{
    return from % sizeof(uint64_t) || from > o->size ? NULL : part(o, from + k * size, size);
}

static const Elf64_Phdr *segment(const struct object *o, unsigned k)
{
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)o->data;
    return k < h->e_phnum ? header(o, h->e_phoff, k, sizeof(Elf64_Phdr)) : NULL;
}

static const Elf64_Shdr *section(const struct object *o, unsigned k)
{
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)o->data;
    return k < h->e_shnum ? header(o, h->e_shoff, k, sizeof(Elf64_Shdr)) : NULL;
}

/* What will be at an address, and how much of it is in the file. */
static const char *loaded(const struct object *o, uint64_t address, uint64_t *size)
{
    const Elf64_Phdr *p;
    for (unsigned k = 0; (p = segment(o, k)); k++) {
        if (p->p_type != PT_LOAD || address < p->p_vaddr || address - p->p_vaddr >= p->p_filesz) continue;
        *size = p->p_filesz - (address - p->p_vaddr);
        return part(o, p->p_offset + (address - p->p_vaddr), *size);
    }
    return NULL;
}

/* The name of an entry point at an address; NULL: something else is there. */
static const char *name_at(const struct object *o, uint64_t address)
{
    uint64_t size;
    const char *s = loaded(o, address, &size);
    if (!s || size < sizeof "cuda" || (strncmp(s, "cuda", 4) && strncmp(s, "__cuda", size < 6 ? size : 6))) return NULL;
    return memchr(s, 0, size < LONGEST_NAME ? size : LONGEST_NAME) ? s : NULL;
}

static const unsigned char number[4] = { RECORD };

/* mov $RECORD into the frame: modrm and displacement, then the number. */
static bool stores_size(const unsigned char *code, uint64_t size)
{
    static const struct {
        unsigned char modrm, with_base, length; /* of all before the number */
    } forms[] = { { 0x45, 0, 3 }, { 0x85, 0, 6 }, { 0x44, 1, 4 }, { 0x84, 1, 7 } };
    if (*code != 0xc7) return false;
    for (unsigned k = 0; k < sizeof forms / sizeof *forms; k++) {
        unsigned n = forms[k].length;
        if (size < n + sizeof number || code[1] != forms[k].modrm || (forms[k].with_base && code[2] != 0x24)) continue;
        if (!memcmp(code + n, number, sizeof number)) return true;
    }
    return false;
}

/* Instructions that take something by its distance from the next one: modrm says so, and the distance is at their end.
 * Before 12.8 it is a pointer to the name that is taken. */
static const struct reference {
    unsigned char code[4], mask[4], length; /* of code, without the distance */
    bool pointer;
} references[] = {
    { { 0x48, 0x8d, 0x05 }, { 0xfb, 0xff, 0xc7 }, 3, false },            /* lea, to a register */
    { { 0x48, 0x8b, 0x05 }, { 0xfb, 0xff, 0xc7 }, 3, true },             /* mov */
    { { 0xf3, 0x0f, 0x7e, 0x05 }, { 0xff, 0xff, 0xff, 0xc7 }, 4, true }, /* movq, to a vector register */
};

static bool is(const struct reference *r, const unsigned char *code, uint64_t size)
{
    if (size < r->length + sizeof(int32_t)) return false;
    for (unsigned k = 0; k < r->length; k++)
        if ((code[k] & r->mask[k]) != r->code[k]) return false;
    return true;
}

/* The name that an instruction takes. NULL: it takes none. */
static const char *name_taken(const struct object *o, uint64_t address, const unsigned char *code, uint64_t size)
{
    for (unsigned k = 0; k < sizeof references / sizeof *references; k++) {
        const struct reference *r = &references[k];
        int32_t distance;
        uint64_t there;
        if (!is(r, code, size)) continue;
        memcpy(&distance, code + r->length, sizeof distance);
        uint64_t at = address + r->length + sizeof distance + (uint64_t)(int64_t)distance;
        if (!r->pointer) return name_at(o, at);
        const char *pointer = loaded(o, at, &there);
        if (!pointer || there < sizeof at) return NULL;
        memcpy(&at, pointer, sizeof at);
        return name_at(o, at);
    }
    return NULL;
}

static bool has_number(const unsigned char *code, uint64_t size)
{
    const unsigned char *end = code + size;
    while ((code = memchr(code, *number, (size_t)(end - code)))) {
        if (end - code < (ptrdiff_t)sizeof number) return false;
        if (!memcmp(code++, number, sizeof number)) return true;
    }
    return false;
}

/* What the function calls itself to tools. NULL: it does not, so it is no entry point. A record makes sure of that; most
 * functions have no such number in them, which is seen soon. */
static const char *own_name(const struct object *o, uint64_t address, uint64_t size, bool with_record)
{
    uint64_t there;
    const unsigned char *code = (const unsigned char *)loaded(o, address, &there);
    const char *name = NULL;
    bool fills_in = !with_record;
    if (!code) return NULL;
    if (size > there) size = there;
    if (!fills_in && !has_number(code, size)) return NULL;
    for (uint64_t i = 0; i < size; i++) {
        if (!fills_in) fills_in = stores_size(code + i, size - i);
        const char *s = name_taken(o, address + i, code + i, size - i);
        if (s && name && strcmp(s, name)) return NULL;
        if (s) name = s;
    }
    return fills_in ? name : NULL;
}

static uint64_t start_of(const struct unwind_table *t, uint32_t k)
{
    return t->address + (uint64_t)(int64_t)t->entries[k].start;
}

static const char *name_of(const struct object *o, const struct unwind_table *t, uint32_t k, bool with_record)
{
    uint64_t start = start_of(t, k), length = start_of(t, k + 1) - start;
    return length <= LONGEST ? own_name(o, start, length, with_record) : NULL;
}

/* What code that nvcc generates calls has no names. It lies around a function that has one, in the same order in every
 * runtime since CUDA 12, and of lengths that a few of them have; where it is not so, it is left alone. */
static const char *const unnamed[] = { "__cudaRegisterFatBinary",
                                       "__cudaRegisterFatBinaryEnd",
                                       "__cudaUnregisterFatBinary",
                                       "__cudaRegisterVar",
                                       "__cudaRegisterManagedVar",
                                       "__cudaRegisterHostVar",
                                       "__cudaRegisterFunction",
                                       NULL, /* the one that is known */
                                       "__cudaPushCallConfiguration",
                                       "__cudaPopCallConfiguration",
                                       "__cudaGetKernel",
                                       "__cudaLaunchKernel",
                                       "__cudaLaunchKernel_ptsz" };
enum { UNNAMED = sizeof unnamed / sizeof *unnamed, BEFORE = 7 };

/* Up to the next one. */
static const uint16_t lengths[][UNNAMED] = {
    { 0x30, 0x20, 0x30, 0x70, 0x70, 0x40, 0x70, 0xe0, 0xa0, 0xd0, 0x60, 0x10, 0x10 },  /* 12.0, 12.1 */
    { 0x30, 0x30, 0x40, 0x80, 0x80, 0x40, 0x70, 0xd0, 0x90, 0xc0, 0x70, 0x10, 0x10 },  /* 12.2 to 12.6 */
    { 0x30, 0x30, 0x40, 0x80, 0x80, 0x40, 0x70, 0xe0, 0xa0, 0xb0, 0x70, 0x10, 0x10 },  /* 12.8 */
    { 0x30, 0x30, 0x40, 0x80, 0x80, 0x40, 0x70, 0xe0, 0xa0, 0xb0, 0xa0, 0x10, 0x10 },  /* 12.9 */
    { 0x30, 0x30, 0x40, 0x80, 0x80, 0x40, 0x70, 0xe0, 0xa0, 0xb0, 0x100, 0x10, 0x10 }, /* 13 */
};

static bool has_lengths(const struct unwind_table *t, uint32_t first, const uint16_t *wanted)
{
    for (uint32_t k = 0; k < UNNAMED; k++)
        if (start_of(t, first + k + 1) - start_of(t, first + k) != wanted[k]) return false;
    return true;
}

static void visit_unnamed(const struct unwind_table *t, uint32_t init_module, symbols_visitor *visit, void *data)
{
    if (init_module < BEFORE || t->count - init_module <= UNNAMED - BEFORE) return;
    uint32_t first = init_module - BEFORE, k = 0;
    while (k < sizeof lengths / sizeof *lengths && !has_lengths(t, first, lengths[k])) k++;
    if (k == sizeof lengths / sizeof *lengths) return;
    for (k = 0; k < UNNAMED; k++)
        if (unnamed[k]) visit(unnamed[k], start_of(t, first + k), data);
}

static bool find_table(const struct object *o, struct unwind_table *t)
{
    static const unsigned char usual[4] = { 1, 0x1b, 0x03, 0x3b }; /* version 1, numbers of four bytes */
    const Elf64_Phdr *p;
    for (unsigned k = 0; (p = segment(o, k)); k++) {
        if (p->p_type != PT_GNU_EH_FRAME) continue;
        const char *h = part(o, p->p_offset, p->p_filesz);
        if (!h || p->p_filesz < 12 || p->p_offset % sizeof(uint32_t) || memcmp(h, usual, sizeof usual)) return false;
        *t = (struct unwind_table){ .address = p->p_vaddr, .entries = (const void *)(h + 12) };
        memcpy(&t->count, h + 8, sizeof t->count);
        return t->count <= (p->p_filesz - 12) / sizeof *t->entries;
    }
    return false;
}

/* Looks only for a string, which is quick: most objects have no runtime in them, and some are large. */
static bool may_have_runtime(const struct object *o)
{
    static const char told[] = "cudaErrorCudartUnloading", asked[] = "cuGetExportTable";
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)o->data;
    const Elf64_Shdr *names = section(o, h->e_shstrndx), *s;
    const char *text = names ? part(o, names->sh_offset, names->sh_size) : NULL;
    if (!text || !names->sh_size || text[names->sh_size - 1]) return false;
    for (unsigned k = 0; (s = section(o, k)); k++) {
        if (s->sh_type != SHT_PROGBITS || s->sh_name >= names->sh_size || strcmp(text + s->sh_name, ".rodata"))
            continue;
        const char *data = part(o, s->sh_offset, s->sh_size);
        return data && memmem(data, s->sh_size, told, sizeof told) && memmem(data, s->sh_size, asked, sizeof asked);
    }
    return false;
}

static bool visit_functions(const struct object *o, symbols_visitor *visit, void *data)
{
    struct unwind_table t;
    const Elf64_Ehdr *h = part(o, 0, sizeof *h);
    bool found = false;
    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64) return false;
    if (!may_have_runtime(o) || !find_table(o, &t)) return false;
    uint32_t first = 0, last = 0;
    for (uint32_t k = 0; k + 1 < t.count; k++) {
        const char *name = name_of(o, &t, k, true);
        if (!name) continue;
        if (!found) first = k;
        last = k;
        found = true;
        visit(name, start_of(&t, k), data);
    }
    /* one of them, or around them, tells tools only of what it finds to do */
    first = first < AROUND ? 0 : first - AROUND;
    last = t.count - last <= AROUND ? t.count - 1 : last + AROUND;
    for (uint32_t k = first; found && k < last; k++) {
        const char *name = name_of(o, &t, k, false);
        if (!name || strcmp(name, "__cudaInitModule")) continue;
        visit(name, start_of(&t, k), data);
        visit_unnamed(&t, k, visit, data);
    }
    return found;
}

bool stripped_visit(const char *path, symbols_visitor *visit, void *data)
{
    struct stat s;
    bool found = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    if (fstat(fd, &s) || !S_ISREG(s.st_mode) || !s.st_size) goto out;
    struct object o = { mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0), (uint64_t)s.st_size };
    if (o.data == MAP_FAILED) goto out;
    found = visit_functions(&o, visit, data);
    munmap((void *)o.data, (size_t)s.st_size);
out:
    close(fd);
    return found;
}
