/* Writing the jumps; see lead.h. */
#include "lead/lead.h"
#include "base/log.h"
#include "lead/jump.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void jumps_add(struct jumps *j, const struct object *o, uint64_t address, void *to)
{
    if (!to || address % JUMP_ROOM) return;
    struct jump_to *more = realloc(j->all, (j->n + 1) * sizeof *more);
    if (!more) {
        fl_log(FL_LOG_ERROR, "an entry point of %s stays as it is: out of memory", o->path);
        return;
    }
    j->all = more;
    more[j->n++] = (struct jump_to){ o->bias + address, to };
}

static void write_all(const struct jumps *j, const char *path)
{
    uintptr_t first = UINTPTR_MAX, end = 0;
    for (size_t k = 0; k < j->n; k++) {
        if (j->all[k].at < first) first = j->all[k].at;
        if (j->all[k].at + JUMP_ROOM > end) end = j->all[k].at + JUMP_ROOM;
    }
    if (!j->n) return;
    bool done = jump_protect(first, end, PROT_READ | PROT_WRITE);
    if (done) {
        for (size_t k = 0; k < j->n; k++) jump_write(j->all[k].at, j->all[k].to);
        done = jump_protect(first, end, PROT_READ | PROT_EXEC);
    }
    if (!done) fl_log(FL_LOG_ERROR, "entry points of %s cannot be replaced: %s", path, strerror(errno));
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
    static lead *const leads[] = { lead_runtime, lead_nvrtc, lead_nvjitlink, lead_cupti };
    const struct object o = { path, bias };
    struct jumps j = { 0 };
    for (size_t k = 0; k < sizeof leads / sizeof *leads; k++) leads[k](&o, &j);
    write_all(&j, path);
    free(j.all);
}
