/* See instances.h. */
#include "base/instances.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>

static uintptr_t biases[MOST_INSTANCES]; /* from 1 on */
static atomic_uint last;

void instance_add(uintptr_t bias)
{
    unsigned n = atomic_load_explicit(&last, memory_order_relaxed);
    for (unsigned k = 1; k <= n; k++)
        if (biases[k] == bias) return;
    if (n + 1 == MOST_INSTANCES) return;
    biases[n + 1] = bias;
    atomic_store_explicit(&last, n + 1, memory_order_release);
}

unsigned faultline_instance_of(const void *code)
{
    unsigned n = atomic_load_explicit(&last, memory_order_acquire);
    struct dl_find_object found;
    if (!n || _dl_find_object((void *)code, &found)) return 0;
    for (unsigned k = 1; k <= n; k++)
        if (biases[k] == found.dlfo_link_map->l_addr) return k;
    return 0;
}
