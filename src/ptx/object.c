/* A linker for exactly one case: the objects LLVM just wrote, whose sections
 * refer to others of the same object by relative addresses and to nothing else. */
#include "object.h"
#include "arena.h"
#include "ptxc.h"

#include <elf.h>
#include <string.h>

struct linked {
    const unsigned char *bytes;
    const Elf64_Ehdr *header;
    const Elf64_Shdr *sections;
    const Elf64_Sym *symbols;
    size_t nsymbols;
    const char *names;
    uint64_t *place; /* by section: offset in the code, or ~0 */
};

static struct linked *all;
static uint32_t nall;

static void open_object(struct linked *l, const struct object *o)
{
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)o->bytes;
    if (o->size < sizeof *h || h->e_machine != EM_X86_64) fatal(EXIT_INTERNAL, "the object is not for this processor");
    *l = (struct linked){ .bytes = o->bytes, .header = h };
    l->sections = (const Elf64_Shdr *)(o->bytes + h->e_shoff);
    l->place = arena_alloc(h->e_shnum * sizeof *l->place);
    for (int s = 0; s < h->e_shnum; s++) {
        const Elf64_Shdr *table = &l->sections[s];
        if (table->sh_type != SHT_SYMTAB) continue;
        l->symbols = (const Elf64_Sym *)(o->bytes + table->sh_offset);
        l->nsymbols = table->sh_size / sizeof *l->symbols;
        l->names = (const char *)o->bytes + l->sections[table->sh_link].sh_offset;
    }
}

static bool is_loaded(const struct linked *l, const Elf64_Shdr *h)
{
    const char *name = (const char *)l->bytes + l->sections[l->header->e_shstrndx].sh_offset + h->sh_name;
    if (!(h->sh_flags & SHF_ALLOC) || !h->sh_size || !strcmp(name, ".eh_frame")) return false;
    if (h->sh_flags & SHF_WRITE && strncmp(name, ".data.rel.ro", 12))
        fatal(EXIT_INTERNAL, "the object has writable data (%s)", name);
    return true;
}

/* Behind size bytes of others; returns the new size. */
static size_t lay_out(struct linked *l, size_t size)
{
    for (int s = 0; s < l->header->e_shnum; s++) {
        const Elf64_Shdr *h = &l->sections[s];
        uint64_t align = h->sh_addralign ? h->sh_addralign : 1;
        l->place[s] = ~0ull;
        if (!is_loaded(l, h)) continue;
        size = (size + align - 1) & ~(align - 1);
        l->place[s] = size;
        size += h->sh_size;
    }
    return size;
}

static void relocate(const struct linked *l, const Elf64_Shdr *h, struct code *out)
{
    uint64_t base = l->place[h->sh_info];
    if (base == ~0ull) return;
    const Elf64_Rela *r = (const Elf64_Rela *)(l->bytes + h->sh_offset);
    for (size_t k = 0; k < h->sh_size / sizeof *r; k++) {
        const Elf64_Sym *s = &l->symbols[ELF64_R_SYM(r[k].r_info)];
        if (s->st_shndx == SHN_UNDEF || l->place[s->st_shndx] == ~0ull)
            fatal(EXIT_INTERNAL, "the code needs '%s', which is not part of it", l->names + s->st_name);
        int64_t v = (int64_t)(l->place[s->st_shndx] + s->st_value) + r[k].r_addend - (int64_t)(base + r[k].r_offset);
        unsigned char *at = out->bytes + base + r[k].r_offset;
        switch (ELF64_R_TYPE(r[k].r_info)) {
        case R_X86_64_PC32:
        case R_X86_64_PLT32: memcpy(at, &(int32_t){ (int32_t)v }, 4); break;
        case R_X86_64_PC64: memcpy(at, &v, 8); break;
        default:
            fatal(EXIT_INTERNAL, "a relocation of type %u against '%s'", (unsigned)ELF64_R_TYPE(r[k].r_info),
                  l->names + s->st_name);
        }
    }
}

static void copy(const struct linked *l, struct code *out)
{
    for (int s = 0; s < l->header->e_shnum; s++)
        if (l->place[s] != ~0ull && l->sections[s].sh_type != SHT_NOBITS)
            memcpy(out->bytes + l->place[s], l->bytes + l->sections[s].sh_offset, l->sections[s].sh_size);
    for (int s = 0; s < l->header->e_shnum; s++)
        if (l->sections[s].sh_type == SHT_RELA) relocate(l, &l->sections[s], out);
}

void object_link(const struct object *objects, uint32_t count, struct code *out)
{
    size_t size = 0;
    all = arena_alloc(count * sizeof *all);
    nall = count;
    for (uint32_t k = 0; k < count; k++) {
        open_object(&all[k], &objects[k]);
        size = lay_out(&all[k], size);
    }
    out->bytes = arena_alloc(size + 1);
    out->size = size;
    for (uint32_t k = 0; k < count; k++) copy(&all[k], out);
}

uint64_t object_symbol(const char *name)
{
    for (const struct linked *l = all; l < all + nall; l++)
        for (size_t k = 0; k < l->nsymbols; k++)
            if (l->symbols[k].st_shndx != SHN_UNDEF && !strcmp(l->names + l->symbols[k].st_name, name))
                return l->place[l->symbols[k].st_shndx] + l->symbols[k].st_value;
    fatal(EXIT_INTERNAL, "the object has no '%s'", name);
}
