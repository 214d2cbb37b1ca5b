/* Names of functions that an object does not export, from its symbol table. */
#include "cli/symbol.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct object {
    const char *bytes;
    size_t size;
};

static const void *part(const struct object *o, uint64_t offset, uint64_t size)
{
    return offset <= o->size && size <= o->size - offset ? o->bytes + offset : NULL;
}

/* Where the first segment is linked: offsets count from there. */
static uint64_t link_base(const struct object *o, const Elf64_Ehdr *h)
{
    const Elf64_Phdr *p = part(o, h->e_phoff, (uint64_t)h->e_phnum * sizeof *p);
    for (int k = 0; p && k < h->e_phnum; k++)
        if (p[k].p_type == PT_LOAD) return p[k].p_vaddr - p[k].p_offset;
    return 0;
}

static const char *name_in(const struct object *o, const Elf64_Shdr *table, const Elf64_Shdr *names, uint64_t address)
{
    const Elf64_Sym *s = part(o, table->sh_offset, table->sh_size);
    const char *text = part(o, names->sh_offset, names->sh_size);
    for (uint64_t k = 0; s && text && k < table->sh_size / sizeof *s; k++)
        if (ELF64_ST_TYPE(s[k].st_info) == STT_FUNC && address - s[k].st_value < s[k].st_size &&
            s[k].st_name < names->sh_size && memchr(text + s[k].st_name, '\0', names->sh_size - s[k].st_name))
            return text + s[k].st_name;
    return NULL;
}

static const char *find(const struct object *o, uint64_t offset)
{
    const Elf64_Ehdr *h = part(o, 0, sizeof *h);
    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64) return NULL;
    const Elf64_Shdr *section = part(o, h->e_shoff, (uint64_t)h->e_shnum * sizeof *section);
    for (int k = 0; section && k < h->e_shnum; k++)
        if (section[k].sh_type == SHT_SYMTAB && section[k].sh_link < h->e_shnum)
            return name_in(o, &section[k], &section[section[k].sh_link], link_base(o, h) + offset);
    return NULL;
}

bool symbol_name(const char *path, uint64_t offset, char *out, size_t size)
{
    struct stat s;
    bool found = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    struct object o = { MAP_FAILED, 0 };
    if (!fstat(fd, &s) && S_ISREG(s.st_mode) && s.st_size > 0) {
        o.size = (size_t)s.st_size;
        o.bytes = mmap(NULL, o.size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    close(fd);
    if (o.bytes == MAP_FAILED) return false;
    const char *name = find(&o, offset);
    if (name && strlen(name) < size) {
        strcpy(out, name);
        found = true;
    }
    munmap((void *)o.bytes, o.size);
    return found;
}
