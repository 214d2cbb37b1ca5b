/* Programs and shared objects with NVIDIA's runtime in them, as nvcc links them if
 * it is not told otherwise. That runtime cannot run here; its entry points have the
 * names of ours of the same major version, and are led there. */
#include "base/log.h"
#include "lead/inside.h"
#include "lead/lead.h"

#include <dlfcn.h>
#include <string.h>

static bool concerns(struct object *o)
{
    enum runtime_inside inside = runtime_inside(o->path);
    if (inside == RUNTIME_NOT_INSIDE) return false;
    if (inside == RUNTIME_OLDER) {
        fl_log(FL_LOG_WARN, "%s contains the runtime of CUDA 11 or before, which cannot run here", o->path);
        return false;
    }
    const char *name = inside == RUNTIME_12 ? "libcudart.so.12" : "libcudart.so.13";
    if (!(o->ours = loaded_library(name)))
        fl_log(FL_LOG_WARN, "%s contains NVIDIA's runtime, and Faultline's %s was not preloaded to take its place",
               o->path, name);
    return o->ours;
}

static void *target(const struct object *o, const char *name)
{
    return strncmp(name, "cuda", 4) && strncmp(name, "__cuda", 6) ? NULL : dlsym(o->ours, name);
}

const struct lead lead_runtime = { runtime_visit, concerns, target };
