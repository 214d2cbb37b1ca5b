/* Where a call came from: functions that their objects export by name, the others by their address as linked, of which
 * the reader may find the name in the file. */
#include "trace/ledger.h"
#include "trace/trace.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

enum { DEEPEST = 48, FRAMES = 12, TEXT = 4096 };

/* Returns how much of it was written: all or nothing. A return address: the call is before it. */
static size_t put_frame(char *out, size_t room, const char *address)
{
    Dl_info where;
    const ElfW(Sym) *symbol = NULL;
    const struct link_map *object;
    int n;
    if (!dladdr1(address - 1, &where, (void **)&symbol, RTLD_DL_SYMENT) || !where.dli_fname) return 0;
    const bool inside = symbol && where.dli_sname && address - 1 < (const char *)where.dli_saddr + symbol->st_size;
    if (inside)
        n = snprintf(out, room, "%s (%s)\n", where.dli_sname, where.dli_fname);
    else if (dladdr1(address - 1, &where, (void **)&object, RTLD_DL_LINKMAP))
        n = snprintf(out, room, "%s+0x%lx\n", where.dli_fname, (unsigned long)(address - 1) - (unsigned long)object->l_addr);
    else
        return 0;
    return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

static const void *object_of(const void *address)
{
    Dl_info where;
    return dladdr(address, &where) ? where.dli_fbase : NULL;
}

/* This library, or the CUDA runtime beside it: of their functions the program knows that which it called. */
static bool is_ours(const void *address)
{
    Dl_info ours, where;
    if (!dladdr((void *)is_ours, &ours) || !dladdr((const char *)address - 1, &where)) return false;
    const char *slash = strrchr(ours.dli_fname, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - ours.dli_fname) : 0;
    return where.dli_fbase == ours.dli_fbase ||
           (!strncmp(where.dli_fname, ours.dli_fname, folder) && !strncmp(where.dli_fname + folder, "libcudart.so.", 13));
}

/* What called main is of no interest: the C library, from within itself. */
static int before_main(void *const *frame, int n)
{
    Dl_info where;
    for (int k = 1; k < n; k++)
        if (dladdr((char *)frame[k] - 1, &where) && where.dli_sname && !strcmp(where.dli_sname, "__libc_start_main"))
            return object_of(frame[k - 1]) == where.dli_fbase ? k - 1 : k;
    return n;
}

uint32_t origin_intern(void)
{
    void *frame[DEEPEST];
    char text[TEXT];
    size_t used = 0;
    int n = backtrace(frame, DEEPEST), k = 0;
    n = before_main(frame, n);
    while (k + 1 < n && is_ours(frame[k + 1])) k++;
    for (int end = n - k < FRAMES ? n : k + FRAMES; k < end; k++) used += put_frame(text + used, sizeof text - used, frame[k]);
    text[used] = '\0';
    return trace_intern(text);
}
