/* A linker for exactly one case: the object LLVM just wrote, whose sections
 * refer to each other by relative addresses and to nothing else. */
#include "object.h"
#include "arena.h"
#include "ptxc.h"

#include <elf.h>
#include <string.h>

static const Elf64_Ehdr *header;
static const Elf64_Shdr *sections;
static const Elf64_Sym *symbols;
static size_t nsymbols;
static const char *names;
static uint64_t *place; /* by section: offset in the code, or ~0 */

static void lay_out(const unsigned char *object, struct code *out)
{
    size_t size = 0;
    place = arena_alloc(header->e_shnum * sizeof *place);
    const char *section_names = (const char *)object + sections[header->e_shstrndx].sh_offset;
    for (int pass = 0; pass < 2; pass++) {
        for (int s = 0; s < header->e_shnum; s++) {
            const Elf64_Shdr *h = &sections[s];
            const char *name = section_names + h->sh_name;
            if (!pass) place[s] = ~0ull;
            if (!(h->sh_flags & SHF_ALLOC) || !h->sh_size || !strcmp(name, ".eh_frame")) continue;
            if (h->sh_flags & SHF_WRITE && strncmp(name, ".data.rel.ro", 12))
                fatal(EXIT_INTERNAL, "the object has writable data (%s)", name);
            if (!pass) {
                uint64_t align = h->sh_addralign ? h->sh_addralign : 1;
                size = (size + align - 1) & ~(align - 1);
                place[s] = size;
                size += h->sh_size;
            } else if (h->sh_type != SHT_NOBITS) {
                memcpy(out->bytes + place[s], object + h->sh_offset, h->sh_size);
            }
        }
        if (!pass) {
            out->bytes = arena_alloc(size + 1);
            out->size = size;
        }
    }
}

static void relocate(const unsigned char *object, const Elf64_Shdr *h, struct code *out)
{
    uint64_t base = place[h->sh_info];
    if (base == ~0ull) return;
    const Elf64_Rela *r = (const Elf64_Rela *)(object + h->sh_offset);
    for (size_t k = 0; k < h->sh_size / sizeof *r; k++) {
        const Elf64_Sym *s = &symbols[ELF64_R_SYM(r[k].r_info)];
        if (s->st_shndx == SHN_UNDEF || place[s->st_shndx] == ~0ull)
            fatal(EXIT_INTERNAL, "the code needs '%s', which is not part of it", names + s->st_name);
        int64_t v = (int64_t)(place[s->st_shndx] + s->st_value) + r[k].r_addend - (int64_t)(base + r[k].r_offset);
        unsigned char *at = out->bytes + base + r[k].r_offset;
        switch (ELF64_R_TYPE(r[k].r_info)) {
        case R_X86_64_PC32:
        case R_X86_64_PLT32: memcpy(at, &(int32_t){ (int32_t)v }, 4); break;
        case R_X86_64_PC64: memcpy(at, &v, 8); break;
        default:
            fatal(EXIT_INTERNAL, "a relocation of type %u against '%s'", (unsigned)ELF64_R_TYPE(r[k].r_info),
                  names + s->st_name);
        }
    }
}

void object_link(const unsigned char *object, size_t size, struct code *out)
{
    header = (const Elf64_Ehdr *)object;
    if (size < sizeof *header || header->e_machine != EM_X86_64)
        fatal(EXIT_INTERNAL, "the object is not for this processor");
    sections = (const Elf64_Shdr *)(object + header->e_shoff);
    for (int s = 0; s < header->e_shnum; s++)
        if (sections[s].sh_type == SHT_SYMTAB) {
            symbols = (const Elf64_Sym *)(object + sections[s].sh_offset);
            nsymbols = sections[s].sh_size / sizeof *symbols;
            names = (const char *)object + sections[sections[s].sh_link].sh_offset;
        }
    lay_out(object, out);
    for (int s = 0; s < header->e_shnum; s++)
        if (sections[s].sh_type == SHT_RELA) relocate(object, &sections[s], out);
}

uint64_t object_symbol(const char *name)
{
    for (size_t k = 0; k < nsymbols; k++)
        if (symbols[k].st_shndx != SHN_UNDEF && !strcmp(names + symbols[k].st_name, name))
            return place[symbols[k].st_shndx] + symbols[k].st_value;
    fatal(EXIT_INTERNAL, "the object has no '%s'", name);
}
