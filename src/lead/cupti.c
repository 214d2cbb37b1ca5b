/* NVIDIA's CUPTI, which wheels bring and load by its path. It asks the driver for what
 * only NVIDIA's has, and does not come back from hearing that it is not there; so
 * who calls it gets ours. */
#include "lead/lead.h"

#include <cupti_result.h>
#include <dlfcn.h>
#include <string.h>

static int not_supported(void) { return CUPTI_ERROR_NOT_SUPPORTED; }

static bool concerns(struct object *o)
{
    return is_nvidias(o, "libcupti.so.", "libcupti.so.13") && (o->ours = loaded_library("libcupti.so.13"));
}

static void *target(const struct object *o, const char *name)
{
    if (strncmp(name, "cupti", 5)) return NULL;
    void *ours = dlsym(o->ours, name);
    return ours ? ours : (void *)not_supported;
}

static void functions(const char *path, symbols_visitor *visit, void *data)
{
    symbols_visit(path, SYMBOLS_EXPORTED, visit, data);
}

const struct lead lead_cupti = { functions, concerns, target };
