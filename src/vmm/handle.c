/* Handles: slots in a table that only grows, so that any number a user hands
 * in can be looked up. A number is a slot's index and its generation; a slot
 * that was released is used again last, so a stale handle is noticed, and still
 * tells its properties, for long. */
#include "vmm/internal.h"

#include <stdlib.h>

enum { CHUNK = 256, CHUNKS = 1 << 16, REMEMBERED = 1024 };

static struct vmm_handle *chunks[CHUNKS];
static uint32_t made; /* slots handed out at least once */
static struct vmm_handle *oldest, *newest;
static uint32_t released;

static struct vmm_handle *slot(CUmemGenericAllocationHandle h)
{
    uint32_t index = (uint32_t)h - 1, generation = (uint32_t)(h >> 32);
    if (!(uint32_t)h || index >= made) return NULL;
    struct vmm_handle *s = &chunks[index / CHUNK][index % CHUNK];
    return s->generation == generation ? s : NULL;
}

struct vmm_handle *handle_find(CUmemGenericAllocationHandle h)
{
    struct vmm_handle *s = slot(h);
    return s && s->held ? s : NULL;
}

struct vmm_handle *handle_alive(CUmemGenericAllocationHandle h)
{
    struct vmm_handle *s = slot(h);
    return s && s->memory ? s : NULL;
}

CUmemGenericAllocationHandle handle_name(const struct vmm_handle *h)
{
    return (uint64_t)h->generation << 32 | (h->index + 1);
}

static struct vmm_handle *slot_new(void)
{
    struct vmm_handle *s = oldest;
    if (s && (released > REMEMBERED || made == CHUNK * CHUNKS)) {
        oldest = s->next;
        released--;
        return s;
    }
    if (made == CHUNK * CHUNKS) return NULL;
    struct vmm_handle **c = &chunks[made / CHUNK];
    if (!*c && !(*c = calloc(CHUNK, sizeof **c))) return NULL;
    s = &(*c)[made % CHUNK];
    s->index = made++;
    return s;
}

CUresult handle_new(struct vmm_memory *m, const CUmemAllocationProp *prop, struct vmm_handle **out)
{
    struct vmm_handle *s = slot_new();
    if (!s) {
        memory_put(m);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *s = (struct vmm_handle){
        .memory = m, .prop = *prop, .held = 1, .index = s->index, .generation = s->generation + 1
    };
    *out = s;
    return CUDA_SUCCESS;
}

void handle_drop(struct vmm_handle *h)
{
    if (h->held || h->mapped) return;
    struct vmm_memory *m = h->memory;
    h->memory = NULL;
    h->next = NULL;
    if (oldest)
        newest->next = h;
    else
        oldest = h;
    newest = h;
    released++;
    memory_put(m);
}

CUresult vmm_handle_new(struct vmm_memory *m, CUmemGenericAllocationHandle *out)
{
    struct vmm_handle *h;
    pthread_rwlock_wrlock(&vmm_lock);
    CUresult r = handle_new(m, &m->prop, &h);
    if (!r) *out = handle_name(h);
    pthread_rwlock_unlock(&vmm_lock);
    return r;
}

CUresult vmm_create(uint64_t size, const CUmemAllocationProp *prop, CUmemGenericAllocationHandle *out)
{
    struct vmm_memory *m;
    struct vmm_handle *h;
    pthread_rwlock_wrlock(&vmm_lock);
    CUresult r = memory_create(size, prop, &m);
    if (!r && !(r = handle_new(m, &m->prop, &h))) *out = handle_name(h);
    pthread_rwlock_unlock(&vmm_lock);
    return r;
}

CUresult vmm_release(CUmemGenericAllocationHandle name)
{
    pthread_rwlock_wrlock(&vmm_lock);
    struct vmm_handle *h = handle_find(name);
    if (h) {
        h->held--;
        handle_drop(h);
    }
    pthread_rwlock_unlock(&vmm_lock);
    return h ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult vmm_properties(CUmemGenericAllocationHandle name, CUmemAllocationProp *prop)
{
    pthread_rwlock_rdlock(&vmm_lock);
    const struct vmm_handle *h = slot(name);
    if (h) {
        *prop = h->prop;
        prop->allocFlags.usage = 0; /* it is not read back (observed on H200) */
    }
    pthread_rwlock_unlock(&vmm_lock);
    return h ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult vmm_memory_get(CUmemGenericAllocationHandle name, struct vmm_memory **out)
{
    pthread_rwlock_wrlock(&vmm_lock);
    struct vmm_handle *h = handle_find(name);
    if (h) {
        *out = h->memory;
        h->memory->references++;
    }
    pthread_rwlock_unlock(&vmm_lock);
    return h ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void vmm_memory_put(struct vmm_memory *m)
{
    pthread_rwlock_wrlock(&vmm_lock);
    memory_put(m);
    pthread_rwlock_unlock(&vmm_lock);
}
