/* What moves, and by how many faults, after the program has changed the mapping of managed memory itself: pages 100 to
 * 115 of 4 MiB that the host has written are protected, advised by madvise, locked, unmapped, moved. A line each; the
 * steps, and what is told of each, are those of discards.c, with what calls answered. */
enum { PAGE_COUNT = 1024, CUT = 100, PAGES = 16 };
#include "steps.h"
#include <sys/mman.h>

static const char *changes[] = { "none",   "protect", "protected", "random", "sequential", "huge",  "nohuge", "lock",
                                 "fork",    "unmap",     "move",   "over",       "shrink" };
static void change(char *p, int how)
{
    char *a = p + CUT * PG;
    size_t n = PAGES * PG;
    switch (how) {
    case 1: mprotect(a, n, PROT_READ), mprotect(a, n, PROT_READ | PROT_WRITE); break;
    case 2: mprotect(a, n, PROT_READ | PROT_WRITE | PROT_EXEC); break;
    case 3: madvise(a, n, MADV_RANDOM); break;
    case 4: madvise(a, n, MADV_SEQUENTIAL); break;
    case 5: madvise(a, n, MADV_HUGEPAGE); break;
    case 6: madvise(a, n, MADV_NOHUGEPAGE); break;
    case 7: mlock(a, n); break;
    case 8: madvise(a, n, MADV_DOFORK); break;
    case 9: munmap(a, n); break;
    case 10: mremap(a, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)); break;
    case 11: mmap(a, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0); break;
    case 12: mremap(p, PAGE_COUNT * PG, CUT * PG, 0); break;
    }
}

static bool there(int how, unsigned page)
{
    return how < 9 || (how == 12 ? page < CUT : page < CUT || page >= CUT + PAGES);
}

static void touch_pages(CUdeviceptr p, int how, unsigned page, bool device, bool write, unsigned n)
{
    char name[32];
    if (!there(how, page) || !there(how, page + n - 1)) return;
    if (device) gpu(p + page * PG, n, PG, write);
    else cpu(p + page * PG, n, PG, write);
    snprintf(name, sizeof name, "%s%s %u+%u", device ? "g" : "c", write ? "w" : "r", page, n);
    show(name);
}

static void fetch(CUdeviceptr p, unsigned page, unsigned n, CUmemLocation to)
{
    char name[48];
    CUresult r = cuMemPrefetchAsync(p + page * PG, n * PG, to, 0, stream), s = cuStreamSynchronize(stream);
    snprintf(name, sizeof name, "p%s %u+%u=%d,%d", to.type == 1 ? "g" : "c", page, n, r, s);
    show(name);
}

static void batch(CUdeviceptr p, bool discards, bool fetches, CUmemLocation to)
{
    CUdeviceptr at[] = { p + 64 * PG, p + 96 * PG, p + 600 * PG };
    size_t n[] = { 16 * PG, 32 * PG, 16 * PG }, first = 0;
    char name[48];
    CUresult r = !fetches    ? cuMemDiscardBatchAsync(at, n, 3, 0, stream)
                 : !discards ? cuMemPrefetchBatchAsync(at, n, 3, &to, &first, 1, 0, stream)
                             : cuMemDiscardAndPrefetchBatchAsync(at, n, 3, &to, &first, 1, 0, stream),
             s = cuStreamSynchronize(stream);
    snprintf(name, sizeof name, "%s%s%s=%d,%d", discards ? "d" : "", fetches ? "p" : "", fetches && to.type == 1 ? "g" : "", r, s);
    show(name);
}

static CUdeviceptr begin_case(int advice, int how, bool written)
{
    CUdeviceptr p = begin_with(advice, written);
    change((char *)p, how);
    return p;
}

static void end_case(CUdeviceptr p)
{
    printf("\n");
    OK(cuMemFree(p));
}

static void faults(bool written, int advice, int how)
{
    CUdeviceptr p = begin_case(advice, how, written);
    printf("faults %s %s %s:", written ? "cpu" : "nowhere", advices[advice], changes[how]);
    show("0");
    touch_pages(p, how, 0, true, false, 1);
    touch_pages(p, how, 99, true, true, 1);
    touch_pages(p, how, 120, true, true, 1);
    touch_pages(p, how, 118, true, false, 1);
    touch_pages(p, how, 105, true, false, 1);
    touch_pages(p, how, 300, true, false, 1);
    touch_pages(p, how, 98, false, false, 1);
    touch_pages(p, how, 121, false, true, 1);
    touch_pages(p, how, 116, true, true, 64);
    touch_pages(p, how, 0, true, false, 100);
    touch_pages(p, how, 90, false, true, 10);
    touch_pages(p, how, 116, false, false, 10);
    touch_pages(p, how, 500, true, true, 24);
    end_case(p);
}

static void moves(int advice, int how)
{
    CUdeviceptr p = begin_case(advice, how, true);
    printf("moves %s %s:", advices[advice], changes[how]);
    show("0");
    fetch(p, 0, 32, dev);
    fetch(p, 90, 20, dev);
    fetch(p, 110, 40, dev);
    fetch(p, 0, PAGE_COUNT, dev);
    touch_pages(p, how, 40, true, false, 1);
    fetch(p, 80, 32, hst);
    fetch(p, 0, PAGE_COUNT, hst);
    batch(p, false, true, dev);
    batch(p, false, true, hst);
    batch(p, true, false, hst);
    touch_pages(p, how, 66, true, false, 1);
    touch_pages(p, how, 98, true, false, 1);
    touch_pages(p, how, 601, true, false, 1);
    touch_pages(p, how, 98, false, true, 1);
    batch(p, true, true, dev);
    batch(p, true, true, hst);
    touch_pages(p, how, 97, true, true, 1);
    touch_pages(p, how, 602, true, true, 1);
    end_case(p);
}

static void fill(CUdeviceptr p, unsigned page, unsigned n)
{
    OK(cuMemsetD8Async(p + page * PG, 1, n * PG, stream));
    OK(cuStreamSynchronize(stream));
    show("fill");
}

/* Copies and fills that end before the hole. */
static void engines(int advice, int how)
{
    CUdeviceptr p = begin_case(advice, how, true);
    printf("engines %s %s:", advices[advice], changes[how]);
    show("0");
    OK(cuMemcpyDtoDAsync(device_memory, p + 80 * PG, 20 * PG, stream));
    OK(cuStreamSynchronize(stream));
    show("copy");
    if (how < 12) fill(p, 116, 100);
    fill(p, 0, 90);
    touch_pages(p, how, 95, true, true, 1);
    touch_pages(p, how, 300, false, true, 1);
    end_case(p);
}

int main(int argc, char **argv)
{
    const int ways = sizeof changes / sizeof *changes, from = argc > 1 ? atoi(argv[1]) : 0, to = argc > 1 ? from + 1 : ways;
    setvbuf(stdout, NULL, _IOLBF, 0);
    start();
    for (int how = from; how < to; how++)
        for (int advice = 0; advice < 5; advice++) {
            faults(true, advice, how);
            faults(false, advice, how);
            moves(advice, how);
            engines(advice, how);
        }
    return 0;
}
