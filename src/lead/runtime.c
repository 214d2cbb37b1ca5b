/* Programs and shared objects with NVIDIA's runtime in them, as nvcc links them if
 * it is not told otherwise, and the library of it that is loaded by a path. The
 * runtime cannot run here; its entry points have the names of ours of the same
 * major version, and are led there. */
#include "base/instances.h"
#include "base/log.h"
#include "lead/inside.h"
#include "lead/lead.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Functions that may be entry points. */
struct found {
    struct function {
        char *name;
        uint64_t address;
    } * all;
    size_t n;
};

static void note(const char *name, uint64_t address, void *data)
{
    struct found *f = data;
    if (strncmp(name, "cuda", 4) && strncmp(name, "__cuda", 6)) return;
    struct function *more = realloc(f->all, (f->n + 1) * sizeof *more);
    if (!more) return;
    f->all = more;
    if ((more[f->n].name = strdup(name))) more[f->n++].address = address;
}

static void lead_to(const char *library, const struct found *f, const struct object *o, struct jumps *j)
{
    void *ours = loaded_library(library);
    if (!ours) {
        fl_log(FL_LOG_WARN, "%s contains NVIDIA's runtime, and Faultline's %s was not found to take its place",
               o->path, library);
        return;
    }
    for (size_t k = 0; k < f->n; k++) jumps_add(j, o, f->all[k].address, dlsym(ours, f->all[k].name));
    dlclose(ours);
}

static bool is_runtime(const struct object *o, const char *library) { return is_nvidias(o, library, library); }

static enum runtime_inside find_runtime(const struct object *o, struct found *f)
{
    bool twelve = is_runtime(o, "libcudart.so.12"), thirteen = is_runtime(o, "libcudart.so.13");
    if (!twelve && !thirteen) return runtime_inside(o->path, note, f);
    symbols_visit(o->path, SYMBOLS_EXPORTED, note, f);
    return twelve ? RUNTIME_12 : RUNTIME_13;
}

void lead_runtime(const struct object *o, struct jumps *j)
{
    struct found f = { 0 };
    switch (find_runtime(o, &f)) {
    case RUNTIME_NOT_INSIDE: break;
    case RUNTIME_OLDER:
        /* libraries of NVIDIA's have one that they may never call */
        fl_log(!strcmp(o->path, "/proc/self/exe") ? FL_LOG_WARN : FL_LOG_INFO,
               "%s contains the runtime of CUDA 11 or before, which cannot run here", o->path);
        break;
    case RUNTIME_12: lead_to("libcudart.so.12", &f, o, j); break;
    case RUNTIME_13:
        lead_to("libcudart.so.13", &f, o, j);
        instance_add(o->bias);
        break;
    }
    for (size_t k = 0; k < f.n; k++) free(f.all[k].name);
    free(f.all);
}
