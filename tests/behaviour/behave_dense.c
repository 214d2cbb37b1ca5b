/* As behave_fuzz, but of 64 pages, over and over, after one piece of advice for all:
 * read mostly (every third seed) or to be on the host. It shows what pages do that
 * processors take from each other, and which page table entries a device has at hand.
 * usage: behave_dense SEED STEPS */
#include "walk.h"

int main(int argc, char **argv)
{
    int seed = atoi(argv[1]), steps = atoi(argv[2]);
    size_t pages;
    CUdeviceptr p = begin_walk(seed, &pages);
    uint32_t room = pages < 64 ? pages : 64, low = (seed & 1) && pages > 80 ? (pages - 64) / 32 * 16 : 0;
    int advice = seed % 3 == 2 ? CU_MEM_ADVISE_SET_READ_MOSTLY : CU_MEM_ADVISE_SET_PREFERRED_LOCATION;
    for (int i = 0; i < steps; i++) {
        uint32_t at = rnd(room), n = 1 + rnd(rnd(4) ? 14 : 40), o = rnd(100);
        if (at + n > room) n = room - at;
        at += low;
        char b[96];
        if (i == 0) {
            cpu(p, pages, PG, 1);
            sprintf(b, "%03d cpu write %u+%zux%u", i, 0, pages, 1);
        } else if (i == 1) {
            adv(p, pages * PG, advice, hst);
            sprintf(b, "%03d advise %d cpu %u+%zu", i, advice, 0, pages);
        } else if (o < 22) {
            if (n > 4) n = 1 + n % 4;
            cpu(p + at * PG, n, PG, o >= 9);
            sprintf(b, "%03d cpu %s %u+%ux%u", i, o < 9 ? "read " : "write", at, n, 1);
        } else if (o < 82) {
            gpu(p + at * PG, n, PG, o >= 60);
            sprintf(b, "%03d gpu %s %u+%ux%u", i, o < 60 ? "read " : "write", at, n, 1);
        } else if (o < 94) {
            if (n > 6 && rnd(3)) n = 1 + n % 6;
            pf(p + at * PG, n * PG, dev);
            sprintf(b, "%03d prefetch gpu %u+%u", i, at, n);
        } else {
            pf(p + at * PG, n * PG, hst);
            sprintf(b, "%03d prefetch cpu %u+%u", i, at, n);
        }
        tell(b);
    }
    return 0;
}
