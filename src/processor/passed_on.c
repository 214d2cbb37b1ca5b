/* See passed_on.h. */
#include "processor/passed_on.h"

#include <stdatomic.h>

enum { PLACES = 64, FREE = 0, TAKEN = 1 /* instead of an end: somebody fills it in */ };

static struct {
    _Atomic uint64_t va, end;
} places[PLACES];
static _Atomic unsigned newest;

bool passed_on_put(uint64_t va, uint64_t end)
{
    unsigned k = atomic_fetch_add(&newest, 1) % PLACES;
    uint64_t expected = FREE;
    if (!atomic_compare_exchange_strong(&places[k].end, &expected, TAKEN)) return false;
    atomic_store(&places[k].va, va);
    atomic_store(&places[k].end, end);
    return true;
}

bool passed_on_take(uint64_t *va, uint64_t *end)
{
    for (unsigned k = 0; k < PLACES; k++) {
        *end = atomic_load(&places[k].end);
        if (*end == FREE || *end == TAKEN) continue;
        *va = atomic_load(&places[k].va); /* it is nobody else's before it is free */
        atomic_store(&places[k].end, FREE);
        return true;
    }
    return false;
}
