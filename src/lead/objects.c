/* Objects, as the dynamic linker loads them: those that are there before the program
 * begins, and later ones before their constructors run. What is done with them
 * is lead.h's. */
#include "base/log.h"
#include "lead/jump.h"
#include "lead/lead.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

/* The last object that was looked at. New ones come behind it; when one goes, that is noticed, too. */
static const struct link_map *last;

/* The dynamic linker calls this, under its lock, instead of the empty function that is there for debuggers: before and
 * after it changes its list of objects. The constructors of new ones have not run. Since glibc 2.41 also when an object is
 * opened that was there, as happens while one is looked at: so last goes ahead. */
static void objects_changed(void)
{
    const struct link_map *object = _r_debug.r_map;
    if (_r_debug.r_state != RT_CONSISTENT) return;
    while (object && object != last) object = object->l_next;
    while (object && last->l_next) {
        last = last->l_next;
        lead_object(last->l_addr, last->l_name);
    }
    for (object = _r_debug.r_map; object; object = object->l_next) last = object;
}

static void watch_objects(void)
{
    uintptr_t first = _r_debug.r_brk, end = first + JUMP_ROOM;
    if (!first || first % JUMP_ROOM || !jump_protect(first, end, PROT_READ | PROT_WRITE | PROT_EXEC)) {
        fl_log(FL_LOG_WARN, "libraries that are loaded later are not looked at: code cannot be changed here");
        return;
    }
    jump_write(first, (void *)objects_changed);
    jump_protect(first, end, PROT_READ | PROT_EXEC);
}

/* Whatever is loaded from here on makes the C library begin, and is told what that was told: nothing, as long as the
 * dynamic linker has not come to it. So it begins now. It may do so twice, and does. */
static void begin_c_library(int argc, char **argv, char **environment)
{
    typedef void begin(int, char **, char **);
    uintptr_t first = 0, size = 0;
    const struct link_map *object = _r_debug.r_map;
    for (const char *slash; object; object = object->l_next)
        if ((slash = strrchr(object->l_name, '/')) && !strcmp(slash, "/libc.so.6")) break;
    for (const ElfW(Dyn) *d = object ? object->l_ld : NULL; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_INIT) ((begin *)(object->l_addr + d->d_un.d_ptr))(argc, argv, environment);
        if (d->d_tag == DT_INIT_ARRAY) first = object->l_addr + d->d_un.d_ptr;
        if (d->d_tag == DT_INIT_ARRAYSZ) size = d->d_un.d_val;
    }
    for (uintptr_t at = first; first && at < first + size; at += sizeof(begin *))
        (*(begin **)at)(argc, argv, environment);
}

/* This library's constructor runs before those of the others (-z initfirst), which register kernels. The C library's is
 * one of those: it would make the environment known. */
__attribute__((constructor)) static void lead_all(int argc, char **argv, char **environment)
{
    if (!environ) environ = environment;
    const char *preloaded = getenv("LD_PRELOAD");
    if (!preloaded || !strstr(preloaded, "libfaultline-lead")) return;
    begin_c_library(argc, argv, environment);
    lead_program(argv, environment);
    load_libraries();
    for (const struct link_map *object = _r_debug.r_map; object; object = object->l_next) {
        lead_object(object->l_addr, object == _r_debug.r_map ? "/proc/self/exe" : object->l_name);
        last = object;
    }
    watch_objects();
}
