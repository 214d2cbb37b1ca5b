/* What this process reaches other processes' memory and shared pools' by, and the
 * copies that are under way there: what goes meanwhile stays until there are none. */
#include "space/space.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

struct gone {
    void *at;
    uint64_t size;
    struct gone *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct gone *) first; /* changed under the lock */
static _Atomic unsigned copies;

/* Who begins a copy afterwards sees that memory has changed. */
static void unmap_all(void)
{
    struct gone *g = NULL;
    pthread_mutex_lock(&lock);
    if (!atomic_load(&copies)) g = atomic_exchange(&first, NULL);
    pthread_mutex_unlock(&lock);
    for (struct gone *next; g; g = next) {
        next = g->next;
        munmap(g->at, g->size);
        free(g);
    }
}

void space_copy_begins(bool passing)
{
    if (passing) atomic_fetch_add(&copies, 1);
}

void space_copy_ends(bool passing)
{
    if (passing && atomic_fetch_sub(&copies, 1) == 1 && atomic_load(&first)) unmap_all();
}

bool space_copies(void) { return atomic_load(&copies); }

void space_unmap_view(void *at, uint64_t size)
{
    struct gone *g = malloc(sizeof *g);
    if (!g) return; /* it stays */
    pthread_mutex_lock(&lock);
    *g = (struct gone){ at, size, atomic_load(&first) };
    atomic_store(&first, g);
    pthread_mutex_unlock(&lock);
    unmap_all();
}
