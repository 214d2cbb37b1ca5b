/* Symbol tables of ELF files; see symbols.h. Nothing that a file says of itself is believed. */
#include "base/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
    const char *data;
    uint64_t size;
};

static const void *part(const struct file *f, uint64_t at, uint64_t size)
{
    return at <= f->size && size <= f->size - at ? f->data + at : NULL;
}

/* Section number k, NULL: there is no such section. */
static const Elf64_Shdr *section(const struct file *f, unsigned k)
{
    const Elf64_Ehdr *h = part(f, 0, sizeof *h);
    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64) return NULL;
    if (k >= h->e_shnum || h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff % sizeof(uint64_t)) return NULL;
    return h->e_shoff > f->size ? NULL : part(f, h->e_shoff + k * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr));
}

/* A function lies where code will be. */
static bool is_code(const struct file *f, uint64_t address)
{
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)f->data;
    const Elf64_Phdr *all = part(f, h->e_phoff, h->e_phnum * sizeof *all);
    if (!all || h->e_phoff % sizeof(uint64_t)) return false;
    for (unsigned k = 0; k < h->e_phnum; k++)
        if (all[k].p_type == PT_LOAD && all[k].p_flags & PF_X && address >= all[k].p_vaddr &&
            address - all[k].p_vaddr < all[k].p_filesz)
            return true;
    return false;
}

typedef void entry_visitor(const char *name, const Elf64_Sym *entry, void *data);

static bool visit_table(const struct file *f, const Elf64_Shdr *table, entry_visitor *visit, void *data)
{
    const Elf64_Shdr *names = section(f, table->sh_link);
    if (!names || table->sh_offset % sizeof(uint64_t)) return false;
    const Elf64_Sym *symbols = part(f, table->sh_offset, table->sh_size);
    const char *text = part(f, names->sh_offset, names->sh_size);
    if (!symbols || !text || !names->sh_size || text[names->sh_size - 1]) return false;
    for (uint64_t k = 0; k < table->sh_size / sizeof *symbols; k++) {
        const Elf64_Sym *s = &symbols[k];
        if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx == SHN_UNDEF) continue;
        if (s->st_name < names->sh_size && is_code(f, s->st_value)) visit(text + s->st_name, s, data);
    }
    return true;
}

static bool visit_file(const char *path, enum symbols_table which, entry_visitor *visit, void *data)
{
    struct stat s;
    bool found = false;
    const uint32_t type = which == SYMBOLS_ALL ? SHT_SYMTAB : SHT_DYNSYM;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    if (fstat(fd, &s) || !S_ISREG(s.st_mode) || !s.st_size) goto out;
    struct file f = { mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0), (uint64_t)s.st_size };
    if (f.data == MAP_FAILED) goto out;
    const Elf64_Shdr *table;
    for (unsigned k = 0; !found && (table = section(&f, k)); k++)
        found = table->sh_type == type && visit_table(&f, table, visit, data);
    munmap((void *)f.data, (size_t)s.st_size);
out:
    close(fd);
    return found;
}

struct passing {
    symbols_visitor *visit;
    void *data;
};

static void pass(const char *name, const Elf64_Sym *entry, void *data)
{
    const struct passing *p = data;
    p->visit(name, entry->st_value, p->data);
}

bool symbols_visit(const char *path, enum symbols_table table, symbols_visitor *visit, void *data)
{
    return visit_file(path, table, pass, &(struct passing){ visit, data });
}

struct search {
    uint64_t address;
    char *name;
    size_t room;
    bool found;
};

static void look(const char *name, const Elf64_Sym *entry, void *data)
{
    struct search *s = data;
    if (s->found || s->address - entry->st_value >= entry->st_size || strlen(name) >= s->room) return;
    strcpy(s->name, name);
    s->found = true;
}

bool symbols_at(const char *path, enum symbols_table table, uint64_t address, char *name, size_t room)
{
    struct search s = { address, name, room, false };
    return visit_file(path, table, look, &s) && s.found;
}
