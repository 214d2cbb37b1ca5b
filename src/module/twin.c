/* See twin.h. Nothing that machine code says of itself is believed: what is not as it should be tells nothing. */
#include "module/twin.h"
#include "ptx/image.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EM_OF_CUDA = 190 };

/* Of an instruction, 16 bytes, the lowest bits say what it does; three more say where its operands are. Whether it does no
 * more than to compute, in registers, and to go elsewhere in its section. */
static bool is_idle(const char *instruction)
{
    enum { LAST_COMPUTING = 0x117, NOP = 0x118, S2R, LDC = 0x182, S2UR = 0x1c3 };
    enum { BSYNC = 0x141, BREAK, CALL = 0x144, BSSY, BRA = 0x147, WARPSYNC, EXIT = 0x14d, RET = 0x150 };
    uint16_t bits;
    memcpy(&bits, instruction, sizeof bits);
    switch (bits & 0x1ff) {
    case NOP:
    case S2R:
    case LDC:
    case S2UR:
    case BSYNC:
    case BREAK:
    case CALL:
    case BSSY:
    case BRA:
    case WARPSYNC:
    case EXIT:
    case RET: return true;
    default: return (bits & 0x1ff) <= LAST_COMPUTING;
    }
}

static bool all_idle(const char *code, uint64_t size)
{
    enum { INSTRUCTION = 16 };
    for (uint64_t at = 0; at < size; at += INSTRUCTION)
        if (size - at < INSTRUCTION || !is_idle(code + at)) return false;
    return size > 0;
}

/* A part of the file, NULL: it is not there. */
static const char *part(const char *data, size_t size, uint64_t at, uint64_t n)
{
    return at <= size && n <= size - at ? data + at : NULL;
}

/* The kernel whose code the section is, if it can be told: a name without quotes. */
static const char *kernel_of(const char *names, uint64_t room, const Elf64_Shdr *s)
{
    static const char prefix[] = ".text.";
    enum { LENGTH = sizeof prefix - 1 };
    if (s->sh_name >= room || room - s->sh_name <= LENGTH) return NULL;
    const char *name = names + s->sh_name;
    if (memcmp(name, prefix, LENGTH) || !memchr(name, 0, room - s->sh_name) || strpbrk(name, "\"\n")) return NULL;
    return name + LENGTH;
}

/* Whether the linker has something to say about section k: it may call others. */
static bool is_relocated(const char *sections, unsigned count, unsigned k)
{
    Elf64_Shdr s;
    for (unsigned n = 0; n < count; n++) {
        memcpy(&s, sections + n * sizeof s, sizeof s);
        if ((s.sh_type == SHT_REL || s.sh_type == SHT_RELA) && s.sh_size && s.sh_info == k) return true;
    }
    return false;
}

static void name_idle(FILE *f, const char *data, size_t size)
{
    Elf64_Ehdr h;
    Elf64_Shdr s, table;
    if (size < sizeof h) return;
    memcpy(&h, data, sizeof h);
    const char *all = part(data, size, h.e_shoff, (uint64_t)h.e_shnum * sizeof s);
    if (memcmp(&h, ELFMAG, SELFMAG) || h.e_machine != EM_OF_CUDA || !all || h.e_shentsize != sizeof s ||
        h.e_shstrndx >= h.e_shnum)
        return;
    memcpy(&table, all + h.e_shstrndx * sizeof s, sizeof table);
    const char *names = part(data, size, table.sh_offset, table.sh_size);
    for (unsigned k = 0; names && k < h.e_shnum; k++) {
        memcpy(&s, all + k * sizeof s, sizeof s);
        const char *code = part(data, size, s.sh_offset, s.sh_size);
        const char *name = kernel_of(names, table.sh_size, &s);
        if (code && name && all_idle(code, s.sh_size) && !is_relocated(all, h.e_shnum, k)) fprintf(f, ", \"%s\"", name);
    }
}

CUresult twin_mark(char **text, const char *code, size_t size)
{
    char *all = NULL;
    size_t n;
    FILE *f = open_memstream(&all, &n);
    bool good = f;
    if (f) {
        fprintf(f, ".pragma \"" FL_TWIN_PRAGMA "\"");
        name_idle(f, code, size);
        fprintf(f, ";\n%s", *text);
        good = !ferror(f);
        good = !fclose(f) && good;
    }
    free(*text);
    if (!good) free(all);
    *text = good ? all : NULL;
    return good ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
