/* See arch.h. */
#include "ptxas/arch.h"
#include "ptxas/verdict.h"

#include <stdlib.h>
#include <string.h>

struct arch {
    unsigned number; /* 90 */
    char suffix;     /* 'a': of this architecture alone, 'f': of its family, 0 */
};

/* "sm_90a" behind its prefix. */
static bool read_behind(const char *prefix, const char *name, struct arch *a)
{
    char *end;
    size_t n = strlen(prefix);
    if (strncmp(name, prefix, n)) return false;
    a->number = (unsigned)strtoul(name + n, &end, 10);
    a->suffix = *end;
    return end != name + n && (!*end || (!end[1] && (*end == 'a' || *end == 'f')));
}

static bool read_arch(const char *name, struct arch *a)
{
    return read_behind("sm_", name, a) || read_behind("compute_", name, a) || read_behind("lto_", name, a);
}

enum arch_known arch_known(const char *name)
{
    static const unsigned known[] = { 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121 };
    static const unsigned older[] = { 10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72 };
    struct arch a;
    if (!read_arch(name, &a)) return ARCH_NONE;
    for (size_t k = 0; k < sizeof older / sizeof *older; k++)
        if (older[k] == a.number && !a.suffix) return ARCH_OLDER;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (known[k] == a.number &&
            (!a.suffix || (a.suffix == 'a' && a.number >= 90) || (a.suffix == 'f' && a.number >= 100)))
            return ARCH_KNOWN;
    return ARCH_UNKNOWN;
}

bool arch_is_virtual(const char *name) { return strncmp(name, "sm_", 3); }

bool arch_takes(const char *arch, const char *text, FILE *to)
{
    char target[32];
    struct arch a, t;
    const char *at = strstr(text, ".target");
    /* what is wrong with the directive itself the compiler will say */
    if (!at || sscanf(at, ".target %31[a-z0-9_]", target) != 1 || !read_behind("sm_", target, &t)) return true;
    if (!read_arch(arch, &a)) return true;
    if ((t.suffix == 'a' && (a.number != t.number || a.suffix != 'a')) ||
        (t.suffix == 'f' && (a.number / 10 != t.number / 10 || !a.suffix))) {
        verdict_say(to, "fatal", "PTX with .target '%s' cannot be compiled for architecture '%s'", target, arch);
        return false;
    }
    if (t.number > a.number)
        verdict_say(to, "fatal", "SM version specified by .target is higher than default SM version assumed");
    return t.number <= a.number;
}
