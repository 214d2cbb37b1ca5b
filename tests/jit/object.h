/* An object of the host with a fatbinary in it, as nvcc makes them, and a library of one. */
#ifndef FL_TESTS_JIT_OBJECT_H
#define FL_TESTS_JIT_OBJECT_H

#include <ar.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { OBJECT_PTX = 1, OBJECT_CODE = 2 }; /* what the fatbinary has */

/* A fatbinary's header, that of its one entry, the text. */
static inline size_t object_fatbin(unsigned char *to, int kind, const char *text)
{
    uint64_t n = (strlen(text) + 8) / 8 * 8;
    const struct {
        uint32_t magic;
        uint16_t version, header_size;
        uint64_t size;
        uint16_t kind, entry_version;
        uint32_t entry_header_size;
        uint64_t entry_size;
        uint32_t zeros[2];
        uint16_t minor, major;
        uint32_t arch;
        uint64_t more[4];
    } head = { 0xba55ed50u, 1, 16, 64 + n, (uint16_t)kind, 0x101, 64, n, { 0, 64 }, 0, 9, 90, { 0 } };
    memset(to, 0, sizeof head + n);
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, text, strlen(text));
    return sizeof head + n;
}

/* to has room for the text and 1 KiB. Returns the size. */
static inline size_t object_make(unsigned char *to, int kind, const char *text)
{
    static const char names[] = "\0.text\0.nv_fatbin\0.names";
    enum { TEXT = 1, FATBIN = 7, NAMES = 18, SECTIONS = 4 };
    size_t at = sizeof(Elf64_Ehdr), fatbin = object_fatbin(to + at, kind, text);
    memcpy(to + at + fatbin, names, sizeof names);
    size_t table = (at + fatbin + sizeof names + 7) & ~(size_t)7;
    const Elf64_Ehdr h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
                           .e_type = ET_REL,
                           .e_machine = EM_X86_64,
                           .e_ehsize = sizeof h,
                           .e_shoff = table,
                           .e_shentsize = sizeof(Elf64_Shdr),
                           .e_shnum = SECTIONS,
                           .e_shstrndx = 3 };
    const Elf64_Shdr s[SECTIONS] = {
        { 0 },
        { .sh_name = TEXT, .sh_type = SHT_PROGBITS, .sh_offset = at },
        { .sh_name = FATBIN, .sh_type = SHT_PROGBITS, .sh_offset = at, .sh_size = fatbin },
        { .sh_name = NAMES, .sh_type = SHT_STRTAB, .sh_offset = at + fatbin, .sh_size = sizeof names },
    };
    memcpy(to, &h, sizeof h);
    memcpy(to + table, s, sizeof s);
    return table + sizeof s;
}

/* Of one object, or of two if second is not NULL. */
static inline size_t library_make(unsigned char *to, const char *first, const char *second)
{
    size_t n = SARMAG;
    memcpy(to, ARMAG, SARMAG);
    for (int k = 0; k < 2 && (k ? second : first); k++) {
        size_t size = object_make(to + n + sizeof(struct ar_hdr), OBJECT_PTX, k ? second : first);
        char head[sizeof(struct ar_hdr) + 1];
        snprintf(head, sizeof head, "%-16s%-12d%-6d%-6d%-8d%-10u%s", k ? "b.o/" : "a.o/", 0, 0, 0, 644, (unsigned)size, ARFMAG);
        memcpy(to + n, head, sizeof(struct ar_hdr));
        n += sizeof(struct ar_hdr) + size;
        if (n % 2) to[n++] = '\n';
    }
    return n;
}

#endif
