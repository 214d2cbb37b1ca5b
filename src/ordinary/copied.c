/* See copied.h. A program that was linked to use a variable of a shared object by
 * its address has room for it among its own zeroed data (a copy relocation), and
 * the shared object uses that, too. Linkers put all of them next to each other. */
#include "ordinary/copied.h"
#include "base/units.h"

#include <link.h>
#include <stddef.h>
#include <sys/auxv.h>

#if defined __x86_64__
#define COPY R_X86_64_COPY
#elif defined __aarch64__
#define COPY R_AARCH64_COPY
#endif

static const Elf64_Dyn *program_dynamic(uint64_t *bias)
{
    const Elf64_Phdr *header = (const void *)getauxval(AT_PHDR), *dynamic = NULL;
    *bias = 0;
    for (unsigned long k = 0; header && k < getauxval(AT_PHNUM); k++) {
        if (header[k].p_type == PT_PHDR) *bias = (uint64_t)header - header[k].p_vaddr;
        if (header[k].p_type == PT_DYNAMIC) dynamic = &header[k];
    }
    return dynamic ? (const void *)(*bias + dynamic->p_vaddr) : NULL;
}

/* The pages from the first to the last of them; none: *from is *to. */
static void find(uint64_t *from, uint64_t *to)
{
    uint64_t bias, relocations = 0, bytes = 0, symbols = 0;
    *from = *to = 0;
    for (const Elf64_Dyn *d = program_dynamic(&bias); d && d->d_tag != DT_NULL; d++) {
        /* some loaders have added the bias already */
        uint64_t address = d->d_un.d_ptr < bias ? d->d_un.d_ptr + bias : d->d_un.d_ptr;
        if (d->d_tag == DT_RELA) relocations = address;
        if (d->d_tag == DT_RELASZ) bytes = d->d_un.d_val;
        if (d->d_tag == DT_SYMTAB) symbols = address;
    }
    const Elf64_Rela *r = (const void *)relocations, *end = (const void *)(relocations + bytes);
    const Elf64_Sym *symbol = (const void *)symbols;
    for (; relocations && symbols && r < end; r++) {
        if (ELF64_R_TYPE(r->r_info) != COPY) continue;
        uint64_t at = bias + r->r_offset, after = at + symbol[ELF64_R_SYM(r->r_info)].st_size;
        if (!*to || page_down(at) < *from) *from = page_down(at);
        if (page_up(after) > *to) *to = page_up(after);
    }
}

bool copied_overlaps(uint64_t low, uint64_t high, uint64_t *from, uint64_t *to)
{
    static uint64_t first, last;
    static bool known;
    if (!known) find(&first, &last);
    known = true;
    *from = first;
    *to = last;
    return low < last && high > first;
}
