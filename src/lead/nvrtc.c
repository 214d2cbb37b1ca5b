/* NVRTC, which programs load from where it is installed. Asked for a real architecture
 * (sm_90), it makes machine code of the PTX that it has and keeps both. Only PTX runs
 * here, and the driver loads it wherever it would load machine code: so who asks
 * for the machine code is given the PTX. */
#include "base/log.h"
#include "base/ptx_version.h"
#include "lead/lead.h"

#include <stddef.h>
#include <string.h>

typedef int get(void *program, char *to); /* nvrtcResult, 0: success */

/* Programs may have several, such as those of two CUDA versions. One that is loaded again keeps its place. */
enum { MOST = 4 };
static struct nvrtc {
    char path[4096];
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

/* What one exports. */
struct search {
    const struct object *object;
    uint64_t ptx, ptx_size, cubin, cubin_size; /* 0: it does not */
};

static void visit(const char *name, uint64_t address, void *data)
{
    struct search *s = data;
    const struct {
        const char *name;
        uint64_t *address;
    } wanted[] = { { "nvrtcGetPTX", &s->ptx },
                   { "nvrtcGetPTXSize", &s->ptx_size },
                   { "nvrtcGetCUBIN", &s->cubin },
                   { "nvrtcGetCUBINSize", &s->cubin_size } };
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++)
        if (!strcmp(name, wanted[k].name)) *wanted[k].address = address;
}

/* The place of one; MOST: there is no more. Objects are loaded one at a time. */
static unsigned place_of(const char *path)
{
    unsigned k = 0;
    if (strlen(path) >= sizeof nvrtcs->path) return MOST;
    while (k < MOST && *nvrtcs[k].path && strcmp(nvrtcs[k].path, path)) k++;
    return k;
}

void lead_nvrtc(const struct object *o, struct jumps *j)
{
    struct search s = { .object = o };
    const char *file = strrchr(o->path, '/');
    if (strncmp(file ? file + 1 : o->path, "libnvrtc", 8)) return;
    symbols_visit(o->path, SYMBOLS_EXPORTED, visit, &s);
    if (!s.ptx || !s.ptx_size || !s.cubin || !s.cubin_size) return;
    unsigned k = place_of(o->path);
    if (k == MOST) {
        fl_log(FL_LOG_WARN, "%s is one NVRTC too many: its machine code cannot run here", o->path);
        return;
    }
    strcpy(nvrtcs[k].path, o->path);
    nvrtcs[k].ptx = (get *)(o->bias + s.ptx);
    jumps_add(j, o, s.cubin, (void *)gives[k]);
    jumps_add(j, o, s.cubin_size, (void *)(o->bias + s.ptx_size));
}
