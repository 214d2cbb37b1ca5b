/* What a call has given the program, for the ledger (trace/ledger.h). Which calls give and take is said in generate.py. */
#include "api/api.h"
#include "api/array.h"
#include "context/context.h"
#include "space/space.h"
#include "vmm/vmm.h"

static void describe_memory(struct ledger_entry *e, const struct allocation *a)
{
    static const uint8_t memory[] = { [ALLOCATION_DEVICE] = LEDGER_DEVICE,         [ALLOCATION_HOST] = LEDGER_PINNED,
                                      [ALLOCATION_REGISTERED] = LEDGER_REGISTERED, [ALLOCATION_MANAGED] = LEDGER_MANAGED,
                                      [ALLOCATION_MAPPED] = LEDGER_OTHER,          [ALLOCATION_IMPORTED] = LEDGER_IMPORTED };
    e->bytes = a->size;
    e->memory = a->pool ? LEDGER_POOLED : memory[a->kind];
    e->processor = a->device && a->kind != ALLOCATION_MANAGED ? (uint8_t)(1 + a->device->ordinal) : 0;
    e->context = a->context && !a->pool ? a->context->id : 0;
}

static uint64_t bytes_of(const struct array *a) { return a->tiles ? 0 : (uint64_t)a->row * a->rows * a->slices; }

static void describe_array(struct ledger_entry *e)
{
    struct array *a;
    struct mipmapped *m;
    const struct context *c = NULL;
    if (!array_get((CUarray)e->name, &a)) {
        c = a->context;
        e->bytes = bytes_of(a);
        array_end(a, CUDA_SUCCESS);
    } else if (!mipmap_get((CUmipmappedArray)e->name, &m)) {
        c = m->context;
        for (unsigned k = 0; k < m->count; k++) e->bytes += bytes_of(m->levels[k]);
        mipmap_end(m, CUDA_SUCCESS);
    }
    if (!c) return;
    e->processor = (uint8_t)(1 + c->device->ordinal);
    e->context = c->id;
}

void api_given(enum ledger_kind kind, uint64_t name, uint64_t bytes)
{
    struct ledger_entry e = { .kind = (uint8_t)kind, .name = name, .bytes = bytes };
    struct allocation a;
    if (!name) return;
    if (kind == LEDGER_MEMORY) {
        /* what a graph allocates is not there yet, and the graph's to free */
        if (!space_look(name, &a) || a.dormant) return;
        describe_memory(&e, &a);
    }
    if (kind == LEDGER_ARRAY) describe_array(&e);
    ledger_enter(e);
}
