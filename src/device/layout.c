/* Where this process's own mappings lie. The host's memory appears here at the
 * host's addresses, so nothing else may be there: the executable and its heap are
 * linked to the bottom of PROCESSOR_PRIVATE (meson.build), and the kernel puts
 * mappings that have no address of their own below the greatest size of the
 * stack. So that limit is raised and the program started once more. */
#include "device/device.h"
#include "base/units.h"
#include "processor/processor.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 }; /* which has a layout of its own */
#else
enum { SANITIZED = 0 };
#endif

static const uint64_t TOP = 0x7ffffffff000;
enum { STACK = 8 << 20 };

void layout_apply(int argc, char **argv)
{
    struct rlimit limit;
    if (SANITIZED) return;
    int character = personality(0xffffffff);
    if (getrlimit(RLIMIT_STACK, &limit)) return;
    if (argc < 2) {
        struct rlimit raised = limit;
        raised.rlim_cur = TOP - PROCESSOR_PRIVATE_END;
        if (raised.rlim_cur <= raised.rlim_max) setrlimit(RLIMIT_STACK, &raised);
        /* the stack has no other place: it is not to be where the host's is (in a debugger, say); and the oldest
         * layout (setarch -L) asks for no limit */
        if (character >= 0)
            personality((unsigned long)character & ~(unsigned long)(ADDR_NO_RANDOMIZE | ADDR_COMPAT_LAYOUT));
        execve("/proc/self/exe", (char *[]){ argv[0], "laid-out", NULL }, environ);
        setrlimit(RLIMIT_STACK, &limit);
        return;
    }
    limit.rlim_cur = STACK < limit.rlim_max ? STACK : limit.rlim_max;
    setrlimit(RLIMIT_STACK, &limit);
    /* the library took the raised limit for the size of threads' stacks */
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

/* Where no such limit may be set, mappings lie among the host's: the great ones ask for room down here. */
void *layout_reserve(uint64_t size, int prot)
{
    static const uint64_t FIRST = (PROCESSOR_PRIVATE + PROCESSOR_PRIVATE_END) / 2, END = PROCESSOR_PRIVATE_END - (1ul << 40);
    static _Atomic uint64_t next = FIRST;
    uint64_t here = atomic_fetch_add(&next, page_up(size));
    void *wish = here < END && size < END - here ? (void *)here : NULL;
    void *p = mmap(wish, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}
