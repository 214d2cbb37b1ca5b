/* Which accesses of a kernel of one thread fault together, after a short history: what the device's translation knows
 * decides. A line is a case, told in operations on 1,024 pages that the host wrote: "pf" pages go to the device, "ph" to
 * the host, "am" and "an" become read mostly or no more, "ah" are preferred on the host; "rd", "wr": a kernel reads or
 * writes them, "cr", "cw": the host does; and the accesses that are looked at, each of whose batches is told by its first
 * page. LEAST are to be equal, a number that only grows: the policy is not known exactly (src/uvm/lone.c).
 * usage: batches GOLDEN LEAST; without LEAST it prints what it sees, to record */
#include "walk.h"

enum { PAGES = 1024, MOST = 256 };
static struct { uint64_t time, page; } fault[MOST];
static unsigned faults;

static void note(const CUpti_ActivityUnifiedMemoryCounter3 *u)
{
    if (u->counterKind != CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT || faults == MOST) return;
    unsigned k = faults++;
    for (; k && fault[k - 1].time > u->start; k--) fault[k] = fault[k - 1];
    fault[k].time = u->start;
    fault[k].page = (u->address - base) / PG;
}

static void perform(const char *what, CUdeviceptr p, size_t pages)
{
    size_t bytes = pages * PG;
    if (!strcmp(what, "pf")) pf(p, bytes, dev);
    if (!strcmp(what, "ph")) pf(p, bytes, hst);
    if (!strcmp(what, "am")) adv(p, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, dev);
    if (!strcmp(what, "an")) adv(p, bytes, CU_MEM_ADVISE_UNSET_READ_MOSTLY, dev);
    if (!strcmp(what, "ah")) adv(p, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, hst);
    if (!strcmp(what, "rd") || !strcmp(what, "wr")) gpu(p, pages, PG, *what == 'w');
    if (!strcmp(what, "cr") || !strcmp(what, "cw")) cpu(p, pages, PG, what[1] == 'w');
}

/* Does what the line says before the colon, and writes the batches of its last operation. */
static void play(char *line, char *batches)
{
    char what[8], *rest = line;
    unsigned long at, n, stride;
    int length;
    CUdeviceptr p = mk(PAGES * PG);
    cpu(p, PAGES, PG, 1);
    while (sscanf(rest, " %7[a-z] %lu+%lux%lu%n", what, &at, &n, &stride, &length) != 4 &&
           sscanf(rest, " %7[a-z] %lu+%lu%n", what, &at, &n, &length) == 3) {
        perform(what, p + at * PG, n);
        rest += length;
    }
    begin();
    faults = 0;
    gpu(p + at * PG, n, stride * PG, *what == 'w');
    settle();
    *batches = '\0';
    for (unsigned k = 0; k < faults; k++) batches += sprintf(batches, " %lu", (unsigned long)fault[k].page);
    OK(cuMemFree(p));
}

int main(int argc, char **argv)
{
    static char line[4096], saw[16 * MOST];
    unsigned total = 0, equal = 0;
    size_t pages;
    FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!f) return 2;
    begin_walk(1, &pages);
    each_counter = note;
    while (fgets(line, sizeof line, f)) {
        char *wanted = strchr(line, ':');
        if (!wanted) return 3;
        line[strcspn(line, "\n")] = '\0';
        *wanted++ = '\0';
        play(line, saw);
        total++;
        equal += !strcmp(saw, wanted);
        if (argc < 3) printf("%s:%s\n", line, saw);
    }
    if (argc < 3) return 0;
    printf("%u of %u equal\n", equal, total);
    return equal < strtoul(argv[2], NULL, 10);
}
