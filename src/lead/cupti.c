/* NVIDIA's CUPTI, which wheels bring and load by its path. It asks the driver for what
 * only NVIDIA's has, and does not come back from hearing that it is not there; so
 * who calls it gets ours. */
#include "lead/lead.h"

#include <cupti_result.h>
#include <dlfcn.h>
#include <string.h>

static int not_supported(void) { return CUPTI_ERROR_NOT_SUPPORTED; }

struct search {
    const struct object *object;
    struct jumps *jumps;
    void *ours;
};

static void visit(const char *name, uint64_t address, void *data)
{
    const struct search *s = data;
    if (strncmp(name, "cupti", 5)) return;
    void *ours = dlsym(s->ours, name);
    jumps_add(s->jumps, s->object, address, ours ? ours : (void *)not_supported);
}

void lead_cupti(const struct object *o, struct jumps *j)
{
    struct search s = { o, j, NULL };
    if (!is_nvidias(o, "libcupti.so.", "libcupti.so.13") || !(s.ours = loaded_library("libcupti.so.13"))) return;
    symbols_visit(o->path, SYMBOLS_EXPORTED, visit, &s);
    dlclose(s.ours);
}
