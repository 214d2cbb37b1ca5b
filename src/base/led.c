/* See led.h. Every object calls the functions of others through a table of
 * addresses of its own, which the loader has filled in. */
#include "base/led.h"
#include "base/units.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#if defined __x86_64__
enum { CALL = R_X86_64_JUMP_SLOT, DATA = R_X86_64_GLOB_DAT };
#elif defined __aarch64__
enum { CALL = R_AARCH64_JUMP_SLOT, DATA = R_AARCH64_GLOB_DAT };
#endif

struct tables {
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * calls, *data;
    size_t calls_size, data_size;
};

/* The loader has made most of these addresses absolute; where it has not they are relative to the object. */
static const void *absolute(const struct dl_phdr_info *o, ElfW(Addr) at)
{
    return (const void *)(at < o->dlpi_addr ? at + o->dlpi_addr : at);
}

static struct tables tables_of(const struct dl_phdr_info *o, const ElfW(Dyn) * d)
{
    struct tables t = { 0 };
    size_t nameless = 0; /* the first so many, of large objects most, are addresses of their own */
    for (; d->d_tag != DT_NULL; d++) switch (d->d_tag) {
        case DT_SYMTAB: t.symbols = absolute(o, d->d_un.d_ptr); break;
        case DT_STRTAB: t.strings = absolute(o, d->d_un.d_ptr); break;
        case DT_JMPREL: t.calls = absolute(o, d->d_un.d_ptr); break;
        case DT_PLTRELSZ: t.calls_size = d->d_un.d_val; break;
        case DT_RELA: t.data = absolute(o, d->d_un.d_ptr); break;
        case DT_RELASZ: t.data_size = d->d_un.d_val; break;
        case DT_RELACOUNT: nameless = d->d_un.d_val; break;
        default: break;
        }
    if (t.data && nameless <= t.data_size / sizeof *t.data) {
        t.data += nameless;
        t.data_size -= nameless * sizeof *t.data;
    }
    return t;
}

/* Missing in the headers of some systems we build on. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* The page may have been made read-only after loading. */
static void store(void **at, void *value, int prot)
{
    void *page = (void *)page_down((uint64_t)at);
    if (__atomic_load_n(at, __ATOMIC_RELAXED) == value || mprotect(page, PAGE_BYTES, PROT_READ | PROT_WRITE)) return;
    __atomic_store_n(at, value, __ATOMIC_RELAXED);
    mprotect(page, PAGE_BYTES, prot);
}

struct object {
    const struct dl_phdr_info *info;
    struct tables tables;
    ElfW(Addr) relro, relro_end, size;
    const struct led *led;
};

/* Another thread may be loading the object: its addresses are not filled in yet, and then the loader would write over what
 * stands there, or into a page that is read-only. What it makes read-only in the end is so once it is done. */
static bool is_being_loaded(const struct object *o)
{
    return o->relro < o->relro_end && !madvise((void *)o->relro, PAGE_BYTES, MADV_POPULATE_WRITE);
}

/* Where nothing is made read-only the address itself tells: at first it is 0, or relative to the object. */
static bool is_filled_in(const struct object *o, ElfW(Addr) at)
{
    ElfW(Addr) value = __atomic_load_n((ElfW(Addr) *)at, __ATOMIC_RELAXED);
    return value >= o->size || (value && !o->info->dlpi_addr);
}

/* False: not all of it could be led yet. */
static bool lead(const struct object *o, const ElfW(Rela) * r, size_t size)
{
    bool all = true;
    for (const ElfW(Rela) *end = (const void *)((const char *)r + size); r && r < end; r++) {
        if (ELF64_R_TYPE(r->r_info) != CALL && ELF64_R_TYPE(r->r_info) != DATA) continue;
        const char *name = o->tables.strings + o->tables.symbols[ELF64_R_SYM(r->r_info)].st_name;
        const struct led *l = o->led;
        while (l->name && strcmp(l->name, name)) l++;
        ElfW(Addr) at = o->info->dlpi_addr + r->r_offset;
        bool read_only = at >= o->relro && at < o->relro_end, filled_in = !l->name || is_filled_in(o, at);
        if (l->name && filled_in) store((void **)at, l->to, read_only ? PROT_READ : PROT_READ | PROT_WRITE);
        all &= filled_in;
    }
    return all;
}

static bool has(const struct dl_phdr_info *o, const void *what)
{
    for (unsigned k = 0; k < o->dlpi_phnum; k++)
        if (o->dlpi_phdr[k].p_type == PT_LOAD &&
            (ElfW(Addr))what - o->dlpi_addr - o->dlpi_phdr[k].p_vaddr < o->dlpi_phdr[k].p_memsz)
            return true;
    return false;
}

struct walk {
    const struct led *list;
    bool incomplete; /* some object was not there yet */
};

static int lead_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    const ElfW(Phdr) *dynamic = NULL, *relro = NULL;
    struct walk *walk = arg;
    struct object o = { .info = info, .led = walk->list };
    (void)size;
    for (unsigned k = 0; k < info->dlpi_phnum; k++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[k];
        if (h->p_type == PT_DYNAMIC) dynamic = h;
        if (h->p_type == PT_GNU_RELRO) relro = h;
        if (h->p_type == PT_LOAD && h->p_vaddr + h->p_memsz > o.size) o.size = h->p_vaddr + h->p_memsz;
    }
    if (!dynamic || (!o.led->ours_too && has(info, o.led->to))) return 0;
    o.tables = tables_of(info, (const ElfW(Dyn) *)(info->dlpi_addr + dynamic->p_vaddr));
    if (!o.tables.symbols || !o.tables.strings) return 0;
    if (relro) {
        o.relro = page_down(info->dlpi_addr + relro->p_vaddr);
        o.relro_end = page_down(info->dlpi_addr + relro->p_vaddr + relro->p_memsz);
    }
    if (is_being_loaded(&o))
        walk->incomplete = true;
    else
        walk->incomplete |= !(lead(&o, o.tables.calls, o.tables.calls_size) & lead(&o, o.tables.data, o.tables.data_size));
    return 0;
}

static bool lead_all(const struct led *list)
{
    struct walk walk = { .list = list };
    dl_iterate_phdr(lead_object, &walk);
    return !walk.incomplete;
}

void led_lead(const struct led *list) { lead_all(list); }

static int count(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(unsigned long long *)arg = info->dlpi_adds;
    return 1;
}

void led_lead_new(const struct led *list, _Atomic unsigned long long *objects)
{
    unsigned long long now = 0;
    dl_iterate_phdr(count, &now);
    if (atomic_load(objects) == now) return;
    if (lead_all(list)) atomic_store(objects, now);
}
