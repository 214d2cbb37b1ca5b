/* Parts of a module that are compiled when one of their kernels is first
 * launched (ptx/image.h). Each is loaded by itself, wherever there is room:
 * the image's table of segments says where, as if it were the image's. */
#include "module/module.h"

#include <stdlib.h>
#include <string.h>

static void enter_code(struct module *m, const struct fl_code *code, uint64_t va)
{
    const struct fl_code_place *p = (const void *)((const char *)code + code->places);
    struct fl_image_segment *segments = (void *)((char *)m->image + m->image->segments);
    for (uint32_t k = 0; k < code->nplaces; k++) {
        struct fl_image_segment *s = &segments[p[k].segment];
        s->code = va + p[k].code - m->image_va;
        if (p[k].probe) s->probe = va + p[k].probe - m->image_va;
    }
}

/* Under the lock of the file's parts. */
static CUresult load(struct module *m, uint32_t part)
{
    const struct fl_code *code;
    void *alias;
    struct loaded_part *l = &m->parts[part];
    if (l->size) return CUDA_SUCCESS;
    CUresult r = compile_part(m->file, part, &code);
    /* who has compiled it, or waited for that, first, loads it */
    if (r || l->size || (r = space_alloc_code(m->context->device, code->size, &l->va, &alias))) return r;
    l->size = code->size;
    memcpy(alias, code, code->size);
    enter_code(m, code, l->va);
    struct fl_image_part *p = (struct fl_image_part *)((char *)m->image + m->image->parts) + part;
    p->code = l->va - m->image_va;
    p->end = p->code + l->size;
    return CUDA_SUCCESS;
}

CUresult function_prepare(struct function *f)
{
    struct module *m = f->module;
    if (atomic_load_explicit(&f->ready, memory_order_acquire)) return CUDA_SUCCESS;
    uint32_t part = f->kernel->part - 1;
    pthread_mutex_lock(&m->file->parts->lock);
    CUresult r = load(m, part);
    pthread_mutex_unlock(&m->file->parts->lock);
    if (!r) atomic_store_explicit(&f->ready, true, memory_order_release);
    return r;
}

void parts_unload(struct module *m)
{
    for (uint32_t k = 0; k < m->image->nparts; k++)
        if (m->parts[k].size) space_free_code(m->context->device, m->parts[k].va, m->parts[k].size);
    free(m->parts);
}
