/* Where a call came from: functions that their objects export by name, the others by their place in the file, of which
 * the reader may find the name there. */
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
    int n;
    if (!dladdr1(address - 1, &where, (void **)&symbol, RTLD_DL_SYMENT) || !where.dli_fname) return 0;
    const bool inside = symbol && where.dli_sname && address - 1 < (const char *)where.dli_saddr + symbol->st_size;
    if (inside)
        n = snprintf(out, room, "%s (%s)\n", where.dli_sname, where.dli_fname);
    else
        n = snprintf(out, room, "%s+0x%lx\n", where.dli_fname, (unsigned long)(address - 1 - (const char *)where.dli_fbase));
    return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

static const void *object_of(const void *address)
{
    Dl_info where;
    return dladdr(address, &where) ? where.dli_fbase : NULL;
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
    /* of this library's own functions the program knows that which it called */
    const void *ours = object_of((void *)origin_intern);
    while (k + 1 < n && object_of(frame[k + 1]) == ours) k++;
    for (int end = n - k < FRAMES ? n : k + FRAMES; k < end; k++) used += put_frame(text + used, sizeof text - used, frame[k]);
    text[used] = '\0';
    return trace_intern(text);
}
