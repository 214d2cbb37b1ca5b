/* Moving memory from its device's file to one of its own; see own_move. Its
 * addresses stay, and so does what each processor may do there. Nobody must
 * write meanwhile: kernels are held back. */
#include "vmm/own.h"
#include "base/units.h"

#include <string.h>
#include <unistd.h>

/* Until release_all no kernel begins. False: kernels run. */
static bool hold_all(void)
{
    bool held = true;
    for (int k = 0; k < device_count; k++)
        if (access_processor(&devices[k])) held &= processor_hold(access_processor(&devices[k]));
    return held;
}

static void release_all(void)
{
    for (int k = 0; k < device_count; k++)
        if (access_processor(&devices[k])) processor_release(access_processor(&devices[k]));
}

/* What was never touched is not touched now. */
static void copy(char *to, const char *from, uint64_t size)
{
    static const char zeros[PAGE_BYTES];
    for (uint64_t at = 0; at < size; at += PAGE_BYTES)
        if (memcmp(from + at, zeros, PAGE_BYTES)) memcpy(to + at, from + at, PAGE_BYTES);
}

/* Every processor's page table shows the new bytes. */
static CUresult show(struct vmm_mapping *m)
{
    CUresult r = CUDA_SUCCESS;
    for (int k = 0; k < device_count && !r; k++) {
        r = access_apply(m, &devices[k], m->access[k], CU_MEM_ACCESS_FLAGS_PROT_NONE);
        if (!r) r = access_apply(m, &devices[k], CU_MEM_ACCESS_FLAGS_PROT_NONE, m->access[k]);
    }
    m->a.backing = m->handle->memory->backing;
    m->a.offset = m->handle->memory->offset;
    space_update(&m->a);
    return r;
}

static CUresult move(struct vmm_memory *m)
{
    const struct backing *old = m->backing;
    uint64_t offset = m->offset;
    CUresult r = own_create(m, true);
    if (r) return CUDA_ERROR_OPERATING_SYSTEM;
    copy(m->backing->alias, old->alias + offset, m->size);
    for (struct vmm_mapping *k = m->mappings; k; k = k->next) {
        CUresult shown = show(k);
        if (!r) r = shown;
    }
    if (!r) backing_discard(old, offset, m->size);
    return r;
}

bool own_is_late(unsigned *asked)
{
    enum { PATIENCE_MS = 2000 };
    usleep(1000);
    return ++*asked == PATIENCE_MS;
}

CUresult own_move(struct vmm_memory *m, unsigned references)
{
    /* who else has a reference may know where the bytes are */
    if (!m->device || m->references > 1 + references) return CUDA_ERROR_OPERATING_SYSTEM;
    mappings_changed(); /* a copy that begins from now on waits for the lock, and looks again */
    CUresult r = hold_all() && !space_copies() ? move(m) : CUDA_ERROR_NOT_READY;
    release_all();
    return r;
}
