/* Which NUMA nodes there are, and binding memory to one; see numa.h. */
#include "base/numa.h"
#include "base/log.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NODES = 1024, BITS = 8 * sizeof(unsigned long) };
static unsigned long online[NODES / BITS];
static int count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void set_range(int first, int last)
{
    for (int k = first; k <= last && k < NODES; k++) online[k / (int)BITS] |= 1ul << (k % (int)BITS), count++;
}

/* "0-1,4": ranges. */
static void read_online(void)
{
    FILE *f = fopen("/sys/devices/system/node/online", "re");
    int first, last;
    while (f && fscanf(f, "%d", &first) == 1 && first >= 0) {
        int c = fgetc(f);
        last = first;
        if (c == '-' && fscanf(f, "%d", &last) == 1) c = fgetc(f);
        set_range(first, last);
        if (c != ',') break;
    }
    if (f) fclose(f);
    if (!count) set_range(0, 0);
}

bool numa_exists(int node)
{
    pthread_once(&once, read_online);
    return node >= 0 && node < NODES && online[node / (int)BITS] >> (node % (int)BITS) & 1;
}

int numa_nearest(void)
{
    unsigned cpu, node;
    return syscall(SYS_getcpu, &cpu, &node, NULL) || !numa_exists((int)node) ? 0 : (int)node;
}

static void set_policy(void *p, uint64_t size, int policy, int node, unsigned flags)
{
    unsigned long mask[NODES / BITS] = { 0 };
    mask[node / (int)BITS] = 1ul << (node % (int)BITS);
    if (syscall(SYS_mbind, p, size, policy, mask, (unsigned long)NODES + 1, flags) && count > 1)
        fl_log(FL_LOG_WARN, "memory cannot be bound to node %d: %s", node, strerror(errno));
}

void numa_bind(void *p, uint64_t size, int node) { set_policy(p, size, MPOL_BIND, node, MPOL_MF_MOVE); }

void numa_unbind(void *p, uint64_t size)
{
    syscall(SYS_mbind, p, size, MPOL_DEFAULT, NULL, 0ul, 0u);
}

void numa_prefer(void *p, uint64_t size, int node)
{
    if (node >= 0) {
        set_policy(p, size, MPOL_PREFERRED, node, 0);
        return;
    }
    /* a mapping that has none is not asked for what its file has */
    syscall(SYS_mbind, p, size, MPOL_LOCAL, NULL, 0ul, 0u);
    syscall(SYS_mbind, p, size, MPOL_DEFAULT, NULL, 0ul, 0u);
}
