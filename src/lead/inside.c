/* Looking for NVIDIA's runtime in a program; see inside.h. */
#include "lead/inside.h"
#include "lead/stripped.h"

#include <string.h>

struct signs {
    bool runtime, older;
};

static void look(const char *name, uint64_t address, void *data)
{
    static const char inner[] = "libcudart_static_"; /* what it calls all that is not for others */
    struct signs *s = data;
    (void)address;
    if (!strncmp(name, inner, sizeof inner - 1)) s->runtime = true;
    if (!strcmp(name, "cudaGetDeviceProperties_v2")) s->older = true; /* in 12; its structure is another one */
}

enum runtime_inside runtime_inside(const char *program)
{
    struct signs s = { 0 };
    if (!symbols_visit(program, SYMBOLS_ALL, look, &s)) s.runtime = stripped_visit(program, look, &s);
    if (!s.runtime) return RUNTIME_NOT_INSIDE;
    return s.older ? RUNTIME_OLDER : RUNTIME_INSIDE;
}

void runtime_visit(const char *program, symbols_visitor *visit, void *data)
{
    if (!symbols_visit(program, SYMBOLS_ALL, visit, data)) stripped_visit(program, visit, data);
}
