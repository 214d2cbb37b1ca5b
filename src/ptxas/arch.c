/* The architectures that ptxas of this CUDA version knows, and which PTX each of them takes. */
#include "ptxas/ptxas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arch {
    unsigned number; /* 90 */
    char suffix;     /* 'a': of this architecture alone, 'f': of its family, 0 */
};

/* "sm_90a" behind its prefix. */
static bool read_arch(const char *name, const char *prefix, struct arch *a)
{
    char *end;
    size_t n = strlen(prefix);
    if (strncmp(name, prefix, n)) return false;
    a->number = (unsigned)strtoul(name + n, &end, 10);
    a->suffix = *end;
    return end != name + n && (!*end || (!end[1] && (*end == 'a' || *end == 'f')));
}

static bool read_any(const char *name, struct arch *a)
{
    return read_arch(name, "sm_", a) || read_arch(name, "compute_", a) || read_arch(name, "lto_", a);
}

bool ptxas_arch_known(const char *name)
{
    static const unsigned known[] = { 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121 };
    struct arch a;
    if (!read_any(name, &a)) return false;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (known[k] == a.number)
            return !a.suffix || (a.suffix == 'a' && a.number >= 90) || (a.suffix == 'f' && a.number >= 100);
    return false;
}

bool ptxas_arch_takes(const char *arch, const char *target)
{
    struct arch a, t;
    if (!read_any(arch, &a) || !read_arch(target, "sm_", &t)) return true; /* the compiler will say more */
    if ((t.suffix == 'a' && (a.number != t.number || a.suffix != 'a')) ||
        (t.suffix == 'f' && (a.number / 10 != t.number / 10 || !a.suffix)))
        return ptxas_fatal("PTX with .target '%s' cannot be compiled for architecture '%s'", target, arch);
    return t.number <= a.number ||
           ptxas_fatal("SM version specified by .target is higher than default SM version assumed");
}
