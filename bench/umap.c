/* The same touches as um.c's through LLNL's UMap, a library of user-space page
 * faults, over a file in memory; built where it is installed. */
#include "measure.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <umap/umap.h>
#include <unistd.h>

enum { PAGE = 4096, BIG = 16 * PAGE, BLOCK = 2 << 20, ROUNDS = 5 };
static const size_t BYTES = 256ul << 20;

/* Microseconds for a touch, one each step bytes. */
static double touch_each(int fd, size_t step)
{
    volatile char *at = umap(NULL, BYTES, PROT_READ | PROT_WRITE, UMAP_PRIVATE, fd, 0);
    if (at == UMAP_FAILED) exit(1);
    double t = now_us();
    for (size_t k = 0; k < BYTES; k += step) at[k] = 1;
    double us = (now_us() - t) / (double)(BYTES / step);
    uunmap((void *)at, BYTES);
    return us;
}

int main(void)
{
    double fault[ROUNDS], sweep[ROUNDS];
    int fd = memfd_create("umap", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)BYTES) || fallocate(fd, 0, 0, (off_t)BYTES)) return 1;
    umapcfg_set_umap_page_size(BIG);
    umapcfg_set_max_pages_in_buffer(BYTES / BIG);
    for (int k = 0; k < ROUNDS; k++) {
        fault[k] = touch_each(fd, BLOCK);
        sweep[k] = touch_each(fd, PAGE);
    }
    report("umap.fault", median(fault, ROUNDS));
    report("umap.sweep", median(sweep, ROUNDS));
    return 0;
}
