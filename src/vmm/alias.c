/* Views of files, and the addresses of those that are gone; see alias.h. */
#include "vmm/alias.h"
#include "base/backing.h"

#include <stddef.h>
#include <sys/mman.h>

enum { RETIRED = 64 };
static struct {
    char *at;
    uint64_t size;
} retired[RETIRED];
static unsigned turn;

/* Where a view of this size was before, or NULL. */
static char *reuse(uint64_t size)
{
    for (unsigned k = 0; k < RETIRED; k++)
        if (retired[k].at && retired[k].size == size) {
            char *at = retired[k].at;
            retired[k].at = NULL;
            return at;
        }
    return NULL;
}

char *alias_map(int fd, uint64_t size)
{
    char *old = reuse(size);
    char *at = mmap(old, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | (old ? MAP_FIXED : 0), fd, 0);
    if (at == MAP_FAILED) {
        if (old) munmap(old, size);
        return NULL;
    }
    backing_hide(at, size);
    return at;
}

void alias_retire(char *alias, uint64_t size)
{
    if (mmap(alias, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
        MAP_FAILED) {
        munmap(alias, size);
        return;
    }
    unsigned k = turn++ % RETIRED;
    if (retired[k].at) munmap(retired[k].at, retired[k].size);
    retired[k].at = alias;
    retired[k].size = size;
}
