/* Writing the jumps; see lead.h. */
#include "lead/lead.h"
#include "base/log.h"
#include "lead/jump.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct work {
    const struct lead *lead;
    const struct object *object;
    uintptr_t first, end; /* of all entry points that become jumps */
};

static void *target(const struct work *w, const char *name, uint64_t address)
{
    return address % JUMP_ROOM ? NULL : w->lead->target(w->object, name);
}

static void measure(const char *name, uint64_t address, void *data)
{
    struct work *w = data;
    uintptr_t here = w->object->bias + address;
    if (!target(w, name, address)) return;
    if (here < w->first) w->first = here;
    if (here + JUMP_ROOM > w->end) w->end = here + JUMP_ROOM;
}

static void redirect(const char *name, uint64_t address, void *data)
{
    const struct work *w = data;
    void *to = target(w, name, address);
    if (to) jump_write(w->object->bias + address, to);
}

static void follow(const struct lead *lead, const struct object *o)
{
    struct work w = { lead, o, UINTPTR_MAX, 0 };
    lead->functions(o->path, measure, &w);
    if (w.first > w.end) return;
    bool done = jump_protect(w.first, w.end, PROT_READ | PROT_WRITE);
    if (done) {
        lead->functions(o->path, redirect, &w);
        done = jump_protect(w.first, w.end, PROT_READ | PROT_EXEC);
    }
    if (!done) fl_log(FL_LOG_ERROR, "entry points of %s cannot be replaced: %s", o->path, strerror(errno));
}

/* ---- ours: they lie beside this library */

static bool own_path(const char *file, char *path, size_t size)
{
    Dl_info self;
    if (!dladdr((void *)lead_object, &self)) return false;
    const char *slash = strrchr(self.dli_fname, '/');
    int folder = slash ? (int)(slash - self.dli_fname) : 1;
    return (size_t)snprintf(path, size, "%.*s/%s", folder, slash ? self.dli_fname : ".", file) < size;
}

bool is_nvidias(const struct object *o, const char *name, const char *file)
{
    char path[PATH_MAX];
    struct stat a, b;
    const char *slash = strrchr(o->path, '/');
    if (strncmp(slash ? slash + 1 : o->path, name, strlen(name))) return false;
    bool ours = own_path(file, path, sizeof path) && !stat(path, &a) && !stat(o->path, &b) && a.st_dev == b.st_dev &&
                a.st_ino == b.st_ino;
    return !ours;
}

void *loaded_library(const char *file)
{
    char path[PATH_MAX];
    return own_path(file, path, sizeof path) ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

void lead_object(uintptr_t bias, const char *path)
{
    static const struct lead *const leads[] = { &lead_runtime, &lead_nvrtc, &lead_nvjitlink, &lead_cupti };
    for (size_t k = 0; k < sizeof leads / sizeof *leads; k++) {
        struct object o = { .path = path, .bias = bias };
        if (leads[k]->concerns(&o)) follow(leads[k], &o);
        if (o.ours) dlclose(o.ours);
    }
}
