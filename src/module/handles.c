/* Arrays of handles by size, in powers of two; see handles.h. */
#include "module/handles.h"

#include <stdlib.h>

struct handles_array {
    struct handles_array *next;
    unsigned index;
    _Alignas(16) char handles[];
};

void *handles_get(struct handles *h, uint32_t count)
{
    unsigned index = 0;
    while (index < HANDLES_SIZES - 1 && (1ul << index) < count) index++;
    pthread_mutex_lock(&h->lock);
    struct handles_array *a = h->first[index];
    if (a) h->first[index] = a->next;
    pthread_mutex_unlock(&h->lock);
    if (a) return a->handles;
    if (!(a = calloc(1, sizeof *a + (h->size << index)))) return NULL;
    a->index = index;
    return a->handles;
}

void handles_put(struct handles *h, void *array)
{
    if (!array) return;
    struct handles_array *a = (void *)((char *)array - offsetof(struct handles_array, handles));
    pthread_mutex_lock(&h->lock);
    a->next = NULL;
    if (h->first[a->index])
        h->last[a->index]->next = a;
    else
        h->first[a->index] = a;
    h->last[a->index] = a;
    pthread_mutex_unlock(&h->lock);
}
