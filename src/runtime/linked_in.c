/* Programs with NVIDIA's runtime in them, as nvcc links them if it is not told
 * otherwise. That runtime cannot run here; its entry points have the names of
 * ours. faultline run preloads this library for such a program, and before the
 * program's first instruction each of its entry points becomes a jump to ours.
 * Nothing in the file changes, and a program that has none of this is left alone. */
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
    uintptr_t bias;       /* where the program was put */
    uintptr_t first, end; /* of all of them */
};

/* The function of ours that one of the program's has the name of. NULL: none. */
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

/* The first object is the program. */
static int note_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
    (void)size;
    *(uintptr_t *)bias = info->dlpi_addr;
    return 1;
}

static bool protect(const struct entry_points *e, int protection)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = e->first & ~(page - 1);
    return !mprotect((void *)start, e->end - start, protection);
}

__attribute__((constructor)) static void take_over(void)
{
    static const char program[] = "/proc/self/exe";
    const char *preloaded = getenv("LD_PRELOAD");
    struct entry_points e = { .first = UINTPTR_MAX };
    Dl_info self;
    if (!preloaded || !strstr(preloaded, "libcudart") || runtime_inside(program) != RUNTIME_INSIDE) return;
    if (!dladdr((void *)runtime_ready, &self) || !(e.ours = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD))) return;
    dl_iterate_phdr(note_bias, &e.bias);
    symbols_visit(program, measure, &e);
    bool done = protect(&e, PROT_READ | PROT_WRITE);
    if (done) {
        symbols_visit(program, redirect, &e);
        done = protect(&e, PROT_READ | PROT_EXEC);
    }
    if (!done) fl_log(FL_LOG_ERROR, "NVIDIA's runtime in this program cannot be replaced: %s", strerror(errno));
    dlclose(e.ours);
}
