/* What the programs of copies and fills have in common: other memory, and where the managed pages are before. */
#include "walk.h"

#include <stdbool.h>

static CUdeviceptr device_memory;
static void *pinned, *pageable;

static void some_on_the_host(CUdeviceptr p, size_t pages)
{
    pf(p, pages * PG, dev);
    OK(cuCtxSynchronize());
    adv(p, pages * PG, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, hst);
    cpu(p, pages / 2, 2 * PG, 1);
    adv(p, pages * PG, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, hst);
}

static void prepare(const char *state, CUdeviceptr p, size_t pages)
{
    if (!strcmp(state, "host")) cpu(p, pages, PG, 1);
    if (!strcmp(state, "device")) pf(p, pages * PG, dev);
    if (!strcmp(state, "pages")) some_on_the_host(p, pages);
    if (!strcmp(state, "pieces")) {
        cpu(p, pages, PG, 1);
        for (size_t k = 0; k < pages; k += 32) pf(p + k * PG, 16 * PG, dev);
    }
    if (!strcmp(state, "mostly") || !strcmp(state, "preferred")) {
        adv(p, pages * PG, *state == 'm' ? CU_MEM_ADVISE_SET_READ_MOSTLY : CU_MEM_ADVISE_SET_PREFERRED_LOCATION, hst);
        cpu(p, pages, PG, 1);
    }
}

static void begin_engines(size_t most)
{
    size_t pages;
    begin_walk(1, &pages);
    OK(cuMemAlloc(&device_memory, most * PG));
    OK(cuMemAllocHost(&pinned, most * PG));
    pageable = malloc(most * PG);
    memset(pageable, 1, most * PG);
}
