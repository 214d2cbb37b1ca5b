/* Memory for compiled kernels: the host's, mapped on one device to be executed;
 * space_find does not know it. */
#include "context/context.h"
#include "base/units.h"
#include "space/layout.h"
#include "space/space.h"

CUresult space_alloc_code(struct device *d, uint64_t size, uint64_t *va, void **alias)
{
    uint64_t bytes = round_up(size, VRAM_CHUNK);
    struct space_chunk c;
    CUresult r = space_take(NULL, bytes, &c);
    if (r) return r;
    if ((r = processor_map(d->processor, space_layout.code_base + c.offset, bytes, c.backing, c.offset,
                           PROT_DEVICE_READ | PROT_DEVICE_EXEC))) {
        space_give(NULL, &c);
        return r;
    }
    *va = space_layout.code_base + c.offset;
    *alias = c.backing->alias + c.offset;
    return CUDA_SUCCESS;
}

void space_free_code(struct device *d, uint64_t va, uint64_t size)
{
    uint64_t bytes = round_up(size, VRAM_CHUNK);
    if (d->processor) processor_unmap(d->processor, va, bytes);
    space_give(NULL, &(struct space_chunk){ .offset = va - space_layout.code_base, .size = bytes });
}
