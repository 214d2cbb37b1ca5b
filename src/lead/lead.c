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

static int by_address(const void *a, const void *b)
{
    uintptr_t x = ((const struct jump_to *)a)->at, y = ((const struct jump_to *)b)->at;
    return (x > y) - (x < y);
}

/* Only pages that have jumps: what lies between them need not be code. false: some are as they were; errno says why. */
static bool protect_all(const struct jumps *j, int protection)
{
    enum { NEAR = 4096 }; /* at most a page apart: there is none between the two */
    bool good = true;
    for (size_t k = 0, next; k < j->n; k = next) {
        for (next = k + 1; next < j->n && j->all[next].at - j->all[next - 1].at < NEAR; next++) {}
        good = jump_protect(j->all[k].at, j->all[next - 1].at + JUMP_ROOM, protection) && good;
    }
    return good;
}

/* Systems that refuse to make code of what was written refuse code that can be written, too, and before anything has
 * changed; so it stays code all the time. */
static void write_all(const struct jumps *j, const char *path)
{
    if (!j->n) return;
    qsort(j->all, j->n, sizeof *j->all, by_address);
    bool done = protect_all(j, PROT_READ | PROT_WRITE | PROT_EXEC);
    int error = errno;
    for (size_t k = 0; done && k < j->n; k++) jump_write(j->all[k].at, j->all[k].to);
    protect_all(j, PROT_READ | PROT_EXEC);
    if (!done) fl_log(FL_LOG_ERROR, "entry points of %s cannot be replaced: %s", path, strerror(error));
}

/* ---- ours: they lie beside this library */

bool own_path(const char *file, char *path, size_t size)
{
    Dl_info self;
    if (!dladdr((void *)lead_object, &self)) return false;
    const char *slash = strrchr(self.dli_fname, '/');
    int folder = slash ? (int)(slash - self.dli_fname) : 1;
    return (size_t)snprintf(path, size, "%.*s/%s", folder, slash ? self.dli_fname : ".", file) < size;
}

bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool is_nvidias(const struct object *o, const char *name, const char *file)
{
    char path[PATH_MAX];
    const char *slash = strrchr(o->path, '/');
    if (strncmp(slash ? slash + 1 : o->path, name, strlen(name))) return false;
    return !own_path(file, path, sizeof path) || !same_file(path, o->path);
}

/* Their names are seen by those who load or link with them, as without faultline run. None does anything before it is
 * called. */
void load_libraries(void)
{
    static const char *const files[] = { "libcudart.so.13", "libcudart.so.12", "libcupti.so.13" };
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        char path[PATH_MAX];
        if (own_path(files[k], path, sizeof path)) dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    }
}

void *loaded_library(const char *file)
{
    char path[PATH_MAX];
    return own_path(file, path, sizeof path) ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

void lead_object(uintptr_t bias, const char *path)
{
    if (!strchr(path, '/')) return; /* the kernel's own (vdso), which is no file */
    static lead *const leads[] = { lead_runtime, lead_nvrtc, lead_nvjitlink, lead_cupti };
    const struct object o = { path, bias };
    struct jumps j = { 0 };
    for (size_t k = 0; k < sizeof leads / sizeof *leads; k++) leads[k](&o, &j);
    write_all(&j, path);
    free(j.all);
}
