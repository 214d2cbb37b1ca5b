/* Functions that are not compiled; see remote.h. */
#include "remote.h"
#include "calls.h"
#include "ptxc.h"

#include <stdlib.h>
#include <string.h>

static const size_t LARGE = 32ul << 20; /* bytes of PTX */

static bool large;
static char **wanted;
static uint32_t count;

void remote_choose(size_t text_size) { large = text_size > LARGE; }

bool remote_is(const char *name)
{
    for (uint32_t k = 0; large && k < count; k++)
        if (!strcmp(wanted[k], name)) return false;
    return large;
}

static void want(const char *name)
{
    if (!(count & (count - 1))) wanted = realloc(wanted, (count ? 2ul * count : 1) * sizeof *wanted);
    if (!wanted || !(wanted[count++] = strdup(name))) fatal(EXIT_INTERNAL, "out of memory");
}

bool remote_want(const struct module_ir *m)
{
    const uint32_t before = count;
    for (uint32_t n = 0; large && n < m->nfuncs; n++)
        for (uint32_t k = 0; k < m->funcs[n]->ncode; k++) {
            const struct func *f = callee(&m->funcs[n]->code[k]);
            if (f && f->remote && remote_is(f->name)) want(f->name);
        }
    return count > before;
}
