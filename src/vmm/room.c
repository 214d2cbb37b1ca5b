/* How much fits into a device's page table: the system bounds the pieces that a
 * process has mapped, and a device process that met the bound would die of it. */
#include "vmm/internal.h"

#include <stdio.h>

enum { OTHERS = 8192, SYSTEMS_BOUND = 65530 };
static unsigned left[MAX_DEVICES]; /* pieces that are sure to fit yet */

static unsigned bound(void)
{
    static unsigned most;
    FILE *f = most ? NULL : fopen("/proc/sys/vm/max_map_count", "re");
    if (f && fscanf(f, "%u", &most) != 1) most = 0;
    if (f) fclose(f);
    if (!most) most = SYSTEMS_BOUND;
    return most > 2 * OTHERS ? most - OTHERS : most / 2;
}

/* Whether the system sees the two as one piece. */
static bool one_piece(const struct vmm_mapping *a, const struct vmm_mapping *b, int device)
{
    return a && mapping_end(a) == b->a.base && a->access[device] == b->access[device] && a->a.backing == b->a.backing &&
           a->a.offset + a->a.size == b->a.offset;
}

static unsigned pieces(int device)
{
    unsigned count = 0;
    for (struct vmm_mapping *m = mapping_from(0), *before = NULL; m; before = m, m = mapping_next(m))
        count += m->access[device] && !one_piece(before, m, device);
    return count;
}

/* Counting all is put off until that many more may have come. */
bool room_take(int device, unsigned count)
{
    if (left[device] < count) {
        unsigned now = pieces(device), most = bound();
        left[device] = now < most ? most - now : 0;
    }
    if (left[device] < count) return false;
    left[device] -= count;
    return true;
}

void room_split(int device)
{
    if (left[device]) left[device]--;
}
