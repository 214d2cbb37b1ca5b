/* Programs and shared objects with NVIDIA's runtime in them, as nvcc links them if
 * it is not told otherwise. That runtime cannot run here; its entry points have the
 * names of ours, and are led there. */
#include "base/log.h"
#include "lead/inside.h"
#include "lead/lead.h"

#include <dlfcn.h>
#include <string.h>

static bool concerns(struct object *o)
{
    enum runtime_inside inside = runtime_inside(o->path);
    if (inside == RUNTIME_OLDER)
        fl_log(FL_LOG_WARN, "%s contains the runtime of another CUDA version than 13, which cannot run here", o->path);
    return inside == RUNTIME_INSIDE && (o->ours = loaded_library("libcudart.so.13"));
}

static void *target(const struct object *o, const char *name)
{
    return strncmp(name, "cuda", 4) && strncmp(name, "__cuda", 6) ? NULL : dlsym(o->ours, name);
}

const struct lead lead_runtime = { runtime_visit, concerns, target };
