/* Looking for NVIDIA's runtime in a program; see inside.h. */
#include "lead/inside.h"
#include "lead/stripped.h"

#include <string.h>

struct signs {
    bool runtime, twelve, older;
    symbols_visitor *visit;
    void *data;
};

static void look(const char *name, uint64_t address, void *data)
{
    static const char inner[] = "libcudart_static_"; /* what it calls all that is not for others */
    struct signs *s = data;
    if (!strncmp(name, inner, sizeof inner - 1)) s->runtime = true;
    if (!strcmp(name, "cudaGetDeviceProperties_v2")) s->twelve = true;
    if (!strcmp(name, "cudaBindTexture")) s->older = true; /* as long as there were texture references */
    s->visit(name, address, s->data);
}

enum runtime_inside runtime_inside(const char *program, symbols_visitor *visit, void *data)
{
    struct signs s = { .visit = visit, .data = data };
    if (!symbols_visit(program, SYMBOLS_ALL, look, &s)) s.runtime = stripped_visit(program, look, &s);
    if (!s.runtime) return RUNTIME_NOT_INSIDE;
    if (s.older) return RUNTIME_OLDER;
    return s.twelve ? RUNTIME_12 : RUNTIME_13;
}
