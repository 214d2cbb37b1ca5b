/* Moving memory from its device's file to one of its own; see own_move. Its
 * addresses stay, and so does what each processor may do there. Nobody must
 * write meanwhile, so this waits, for a while, until no kernel runs. */
#include "vmm/own.h"
#include "base/units.h"

#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 2000 };

static bool any_busy(void)
{
    for (int k = 0; k < device_count; k++)
        if (access_processor(&devices[k]) && processor_busy(access_processor(&devices[k]))) return true;
    return false;
}

static bool wait_idle(void)
{
    for (unsigned k = 0; any_busy(); k++) {
        if (k == PATIENCE_MS) return false;
        usleep(1000);
    }
    return true;
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

CUresult own_move(struct vmm_memory *m)
{
    const struct backing *old = m->backing;
    uint64_t offset = m->offset;
    CUresult r = CUDA_SUCCESS;
    /* who else has a reference may know where the bytes are */
    if (!m->device || m->references > 1 || !wait_idle() || own_create(m, true)) return CUDA_ERROR_OPERATING_SYSTEM;
    copy(m->backing->alias, old->alias + offset, m->size);
    for (struct vmm_mapping *k = m->mappings; k && !r; k = k->next) r = show(k);
    backing_discard(old, offset, m->size);
    return r;
}
