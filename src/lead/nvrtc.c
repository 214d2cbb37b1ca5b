/* NVRTC, which programs load from where it is installed. Asked for a real architecture
 * (sm_90), it makes machine code of the PTX that it has and keeps both. Only PTX runs
 * here, and the driver loads it wherever it would load machine code: so who asks
 * for the machine code is given the PTX. */
#include "base/log.h"
#include "base/ptx_version.h"
#include "lead/lead.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef int get_size(void *program, size_t *size); /* nvrtcResult, 0: success */
typedef int get(void *program, char *to);

/* Programs may have several, such as those of two CUDA versions. One that is loaded again keeps its place. */
enum { MOST = 4 };
static struct nvrtc {
    char path[4096];
    get_size *size;
    get *ptx;
} nvrtcs[MOST];

static int give(const struct nvrtc *n, void *program, char *to)
{
    int r = n->ptx(program, to);
    if (!r) ptx_lower_version(to, PTX_ANY_MINOR);
    return r;
}

static int give_0(void *program, char *to) { return give(&nvrtcs[0], program, to); }
static int give_1(void *program, char *to) { return give(&nvrtcs[1], program, to); }
static int give_2(void *program, char *to) { return give(&nvrtcs[2], program, to); }
static int give_3(void *program, char *to) { return give(&nvrtcs[3], program, to); }
static get *const gives[MOST] = { give_0, give_1, give_2, give_3 };

static void find(const char *name, uint64_t address, void *data)
{
    struct object *o = data;
    struct nvrtc *n = &nvrtcs[o->number];
    if (!strcmp(name, "nvrtcGetPTX")) n->ptx = (get *)(o->bias + address);
    if (!strcmp(name, "nvrtcGetPTXSize")) n->size = (get_size *)(o->bias + address);
}

/* Objects are loaded one at a time. */
static bool concerns(struct object *o)
{
    const char *file = strrchr(o->path, '/');
    if (strncmp(file ? file + 1 : o->path, "libnvrtc", 8)) return false;
    while (o->number < MOST && *nvrtcs[o->number].path && strcmp(nvrtcs[o->number].path, o->path)) o->number++;
    if (o->number == MOST) {
        fl_log(FL_LOG_WARN, "%s is one NVRTC too many: its machine code cannot run here", o->path);
        return false;
    }
    struct nvrtc *n = &nvrtcs[o->number];
    *n = (struct nvrtc){ 0 };
    if (!symbols_visit(o->path, SYMBOLS_EXPORTED, find, o) || !n->ptx || !n->size) return false;
    return (size_t)snprintf(n->path, sizeof n->path, "%s", o->path) < sizeof n->path;
}

static void *target(const struct object *o, const char *name)
{
    if (!strcmp(name, "nvrtcGetCUBIN")) return (void *)gives[o->number];
    if (!strcmp(name, "nvrtcGetCUBINSize")) return (void *)nvrtcs[o->number].size;
    return NULL;
}

static void functions(const char *path, symbols_visitor *visit, void *data)
{
    symbols_visit(path, SYMBOLS_EXPORTED, visit, data);
}

const struct lead lead_nvrtc = { functions, concerns, target };
