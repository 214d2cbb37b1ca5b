/* Programs and shared objects with NVIDIA's runtime in them, as nvcc links them if
 * it is not told otherwise. That runtime cannot run here; its entry points have the
 * names of ours. faultline run preloads this library, and before the first
 * instruction of such an object each of its entry points becomes a jump to ours.
 * Nothing in the file changes, and an object that has none of this is left alone. */
#include "runtime/inside.h"
#include "runtime/runtime.h"
#include "base/log.h"
#include "base/symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGNMENT = 16 }; /* of functions: so much is theirs, even if they are shorter */

struct jump {
    unsigned char load[2]; /* mov $target, %rax */
    void *target;
    unsigned char go[2]; /* jmp *%rax */
} __attribute__((packed));

_Static_assert(sizeof(struct jump) <= ALIGNMENT, "a jump fits where any function begins");

struct entry_points {
    void *ours;           /* this library */
    uintptr_t bias;       /* where the object was put */
    uintptr_t first, end; /* of all of them */
};

/* The function of ours that one of the object's has the name of. NULL: none. */
static void *counterpart(const struct entry_points *e, const char *name, uint64_t address)
{
    if (strncmp(name, "cuda", 4) && strncmp(name, "__cuda", 6)) return NULL;
    return address % ALIGNMENT ? NULL : dlsym(e->ours, name);
}

static void measure(const char *name, uint64_t address, void *data)
{
    struct entry_points *e = data;
    uintptr_t here = e->bias + address;
    if (!counterpart(e, name, address)) return;
    if (here < e->first) e->first = here;
    if (here + ALIGNMENT > e->end) e->end = here + ALIGNMENT;
}

static void redirect(const char *name, uint64_t address, void *data)
{
    const struct entry_points *e = data;
    struct jump jump = { { 0x48, 0xb8 }, counterpart(e, name, address), { 0xff, 0xe0 } };
    if (jump.target) memcpy((void *)(e->bias + address), &jump, sizeof jump);
}

static bool protect(const struct entry_points *e, int protection)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = e->first & ~(page - 1);
    return !mprotect((void *)start, e->end - start, protection);
}

/* No other thread runs code of the object yet. */
static void take_over(const struct link_map *object, const char *path)
{
    struct entry_points e = { .bias = object->l_addr, .first = UINTPTR_MAX };
    Dl_info self;
    enum runtime_inside inside = runtime_inside(path);
    if (inside == RUNTIME_OLDER)
        fl_log(FL_LOG_WARN, "%s contains the runtime of another CUDA version than 13, which cannot run here", path);
    if (inside != RUNTIME_INSIDE || !dladdr((void *)runtime_ready, &self)) return;
    if (!(e.ours = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD))) return;
    symbols_visit(path, measure, &e);
    bool done = protect(&e, PROT_READ | PROT_WRITE);
    if (done) {
        symbols_visit(path, redirect, &e);
        done = protect(&e, PROT_READ | PROT_EXEC);
    }
    if (!done) fl_log(FL_LOG_ERROR, "NVIDIA's runtime in %s cannot be replaced: %s", path, strerror(errno));
    dlclose(e.ours);
}

/* The last object that was looked at. New ones come behind it; when one goes, that is noticed, too. */
static const struct link_map *last;

/* The dynamic linker calls this, under its lock, instead of the empty function that is there for debuggers: before and
 * after it changes its list of objects. The constructors of new ones have not run. */
static void objects_changed(void)
{
    const struct link_map *object = _r_debug.r_map;
    if (_r_debug.r_state != RT_CONSISTENT) return;
    while (object && object != last) object = object->l_next;
    if (object)
        for (object = object->l_next; object; object = object->l_next) take_over(object, object->l_name);
    for (object = _r_debug.r_map; object; object = object->l_next) last = object;
}

static void watch_objects(void)
{
    struct entry_points e = { .first = _r_debug.r_brk, .end = _r_debug.r_brk + ALIGNMENT };
    struct jump jump = { { 0x48, 0xb8 }, (void *)objects_changed, { 0xff, 0xe0 } };
    if (!e.first || e.first % ALIGNMENT || !protect(&e, PROT_READ | PROT_WRITE | PROT_EXEC)) return;
    memcpy((void *)e.first, &jump, sizeof jump);
    protect(&e, PROT_READ | PROT_EXEC);
}

/* This library's constructor runs before those of the others (-z initfirst), which register kernels. The C library's is
 * one of those: it would make the environment known. */
__attribute__((constructor)) static void take_over_all(int argc, char **argv, char **environment)
{
    (void)argc;
    (void)argv;
    if (!environ) environ = environment;
    const char *preloaded = getenv("LD_PRELOAD");
    if (!preloaded || !strstr(preloaded, "libcudart")) return;
    for (const struct link_map *object = _r_debug.r_map; object; object = object->l_next) {
        take_over(object, object == _r_debug.r_map ? "/proc/self/exe" : object->l_name);
        last = object;
    }
    watch_objects();
}
