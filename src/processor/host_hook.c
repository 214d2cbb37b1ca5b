/* Keeps SIGSEGV ours where faults come as signals: calls of sigaction and
 * signal by the program and its libraries are led here, through the table of
 * addresses that each of them calls other libraries by. What they install is
 * remembered, and called for signals that are not ours (host_signals.c). */
#include "processor/host_hook.h"
#include "base/units.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

typedef int sigaction_fn(int, const struct sigaction *, struct sigaction *);
typedef sighandler_t signal_fn(int, sighandler_t);

static sigaction_fn *real_sigaction;
static signal_fn *real_signal;
static void (*ours)(int, siginfo_t *, void *);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The program's actions: written under the lock to a place that no reader looks at, then shown. */
enum { PLACES = 16 };
static struct sigaction actions[PLACES];
static _Atomic unsigned shown;

struct sigaction hook_action(void) { return actions[atomic_load(&shown) % PLACES]; }

static void show(struct sigaction a)
{
    unsigned next = atomic_load(&shown) + 1;
    actions[next % PLACES] = a;
    atomic_store(&shown, next);
}

static int hooked_sigaction(int number, const struct sigaction *new, struct sigaction *old)
{
    if (number != SIGSEGV) return real_sigaction(number, new, old);
    pthread_mutex_lock(&lock);
    struct sigaction before = hook_action();
    if (new) show(*new);
    pthread_mutex_unlock(&lock);
    if (old) *old = before;
    return 0;
}

static sighandler_t hooked_signal(int number, sighandler_t handler)
{
    if (number != SIGSEGV) return real_signal(number, handler);
    struct sigaction a = { .sa_handler = handler, .sa_flags = SA_RESTART }, old;
    hooked_sigaction(number, &a, &old);
    return old.sa_handler;
}

/* ---- leading calls here */

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
    for (; d->d_tag != DT_NULL; d++) switch (d->d_tag) {
        case DT_SYMTAB: t.symbols = absolute(o, d->d_un.d_ptr); break;
        case DT_STRTAB: t.strings = absolute(o, d->d_un.d_ptr); break;
        case DT_JMPREL: t.calls = absolute(o, d->d_un.d_ptr); break;
        case DT_PLTRELSZ: t.calls_size = d->d_un.d_val; break;
        case DT_RELA: t.data = absolute(o, d->d_un.d_ptr); break;
        case DT_RELASZ: t.data_size = d->d_un.d_val; break;
        default: break;
        }
    return t;
}

/* The page may have been made read-only after loading. */
static void store(void **at, void *value, int prot)
{
    void *page = (void *)page_down((uint64_t)at);
    if (*at == value || mprotect(page, PAGE_BYTES, PROT_READ | PROT_WRITE)) return;
    *(void *volatile *)at = value;
    mprotect(page, PAGE_BYTES, prot);
}

static void lead(const struct dl_phdr_info *o, const struct tables *t, const ElfW(Rela) * r, size_t size,
                 ElfW(Addr) relro, ElfW(Addr) relro_end)
{
    for (const ElfW(Rela) *end = (const void *)((const char *)r + size); r && r < end; r++) {
        if (ELF64_R_TYPE(r->r_info) != R_X86_64_JUMP_SLOT && ELF64_R_TYPE(r->r_info) != R_X86_64_GLOB_DAT) continue;
        const char *name = t->strings + t->symbols[ELF64_R_SYM(r->r_info)].st_name;
        void *to = !strcmp(name, "sigaction") ? (void *)(uintptr_t)hooked_sigaction
                   : !strcmp(name, "signal")  ? (void *)(uintptr_t)hooked_signal
                                              : NULL;
        ElfW(Addr) at = o->dlpi_addr + r->r_offset;
        if (to) store((void **)at, to, at >= relro && at < relro_end ? PROT_READ : PROT_READ | PROT_WRITE);
    }
}

static int lead_object(struct dl_phdr_info *o, size_t size, void *arg)
{
    const ElfW(Phdr) *dynamic = NULL, *relro = NULL;
    (void)size;
    (void)arg;
    for (unsigned k = 0; k < o->dlpi_phnum; k++) {
        if (o->dlpi_phdr[k].p_type == PT_DYNAMIC) dynamic = &o->dlpi_phdr[k];
        if (o->dlpi_phdr[k].p_type == PT_GNU_RELRO) relro = &o->dlpi_phdr[k];
    }
    if (!dynamic) return 0;
    struct tables t = tables_of(o, (const ElfW(Dyn) *)(o->dlpi_addr + dynamic->p_vaddr));
    ElfW(Addr) from = relro ? o->dlpi_addr + relro->p_vaddr : 0, to = relro ? page_down(from + relro->p_memsz) : 0;
    if (!t.symbols || !t.strings) return 0;
    lead(o, &t, t.calls, t.calls_size, page_down(from), to);
    lead(o, &t, t.data, t.data_size, page_down(from), to);
    return 0;
}

void hook_look_again(void)
{
    struct sigaction a = { .sa_sigaction = ours, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART }, now;
    if (pthread_mutex_trylock(&lock)) return;
    /* somebody got past us: as if it had called us */
    if (!real_sigaction(SIGSEGV, NULL, &now) && now.sa_sigaction != ours) {
        show(now);
        real_sigaction(SIGSEGV, &a, NULL);
    }
    pthread_mutex_unlock(&lock);
}

void hook_objects(void) { dl_iterate_phdr(lead_object, NULL); }

void hook_install(void (*handler)(int, siginfo_t *, void *))
{
    real_sigaction = sigaction;
    real_signal = signal;
    ours = handler;
    hook_look_again();
    hook_objects();
}

void hook_default(void)
{
    struct sigaction none = { .sa_handler = SIG_DFL };
    real_sigaction(SIGSEGV, &none, NULL);
}
