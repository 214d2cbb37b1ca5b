/* Machines on which host and kernels take turns, at random: who may touch what
 * when is what a small model says, the host has no entries for what it may not
 * touch, blocks are sound, and devices' memory is taken by allocations alone.
 * usage: uvm-turns [OPERATIONS [SEED [linked]]] */
#include "../draw.h"
#include "context/context.h"
#include "uvm_fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 3, STREAMS = 5, MOST = 7, CHUNKS = 8 };
static struct context contexts[DEVICES];

static struct memory {
    struct allocation *a;
    int device;
    unsigned attached;
    int stream;
} memories[MOST];
/* Stream s is of device s % DEVICES. on_loan: launched into, and nobody has seen it idle since; runs: something of it is
 * still to be done. coming: launches that are on their way there. */
static bool on_loan[STREAMS], runs[STREAMS];
static unsigned coming[STREAMS];
static const char names[STREAMS];
static unsigned host_functions;

static void fail(const char *what, uint64_t operation, int memory)
{
    printf("operation %lu: %s, memory %d\n", operation, what, memory);
    exit(1);
}

static bool stream_runs(const void *stream) { return runs[(const char *)stream - names]; }

/* ---- the model */

static bool has_it(int s) { return (on_loan[s] || coming[s]) && (!host_functions || runs[s]); }

static bool host_may_touch(const struct memory *m)
{
    if (m->attached == CU_MEM_ATTACH_HOST) return true;
    for (int s = 0; s < STREAMS; s++)
        if (has_it(s) && (m->attached == CU_MEM_ATTACH_GLOBAL || m->stream == s)) return false;
    return true;
}

/* ---- operations */

static bool allocate(int k)
{
    static const uint32_t pages[] = { 1, 16, 100, 512, 700 };
    struct memory *m = &memories[k];
    m->device = (int)draw(DEVICES);
    m->attached = draw(2) ? CU_MEM_ATTACH_GLOBAL : CU_MEM_ATTACH_HOST;
    m->stream = -1;
    return !uvm_alloc(&contexts[m->device], (uint64_t)pages[draw(5)] * PAGE_BYTES, m->attached, &m->a);
}

/* Whether the access is permitted. */
static bool touch(unsigned p, uint64_t va, bool write)
{
    for (int k = 0; fake_entries[p][fake_page(va)] < (write ? MMU_WRITE : MMU_READ); k++) {
        struct mmu_fault f = { .processor = p, .address = va, .write = write, .pending = 1 };
        if (fake_serve(&f) == MMU_FATAL) return false;
        if (k == 64) return false;
    }
    return true;
}

static void touch_some(int k, uint64_t operation)
{
    const struct memory *m = &memories[k];
    uint64_t va = m->a->base + draw((uint32_t)m->a->size);
    int s = (int)draw(STREAMS);
    if (draw(2)) {
        if (touch(CPU, va, draw(2)) != host_may_touch(m)) fail("the host's turn is another one", operation, k);
    } else if (on_loan[s] && runs[s] && m->attached != CU_MEM_ATTACH_HOST &&
               (m->attached == CU_MEM_ATTACH_GLOBAL || m->stream == s)) {
        if (!touch(1 + (unsigned)(s % DEVICES), va, draw(2))) fail("a kernel may not touch its memory", operation, k);
    }
}

static void launch(int s, uint64_t operation)
{
    if (host_functions) return;
    coming[s]++;
    if (uvm_before_launch(s % DEVICES, &names[s])) fail("a launch fails", operation, -1);
}

static void launched(int s, bool issued)
{
    if (!coming[s] || host_functions) return;
    coming[s]--;
    on_loan[s] |= issued;
    runs[s] |= issued;
    uvm_after_launch(&names[s], issued);
}

static bool is_idle(const void *stream, const void *which) { return stream == which; }

static void see_idle(int s)
{
    runs[s] = false;
    if (!coming[s]) on_loan[s] = false;
    uvm_take_back(is_idle, &names[s]);
}

static void attach(int k)
{
    static const unsigned flags[] = { CU_MEM_ATTACH_GLOBAL, CU_MEM_ATTACH_HOST, CU_MEM_ATTACH_SINGLE };
    struct memory *m = &memories[k];
    int s = (int)draw(STREAMS);
    m->attached = flags[draw(3)];
    m->stream = m->attached == CU_MEM_ATTACH_SINGLE ? s : -1;
    uvm_attach(m->a->base, m->attached, &names[s]);
}

static void operate(uint64_t operation)
{
    int k = (int)draw(MOST), s = (int)draw(STREAMS);
    fake_now += 2000;
    uint32_t what = draw(100);
    if (!memories[k].a) {
        if (!allocate(k)) memories[k].a = NULL;
    } else if (what < 70) {
        touch_some(k, operation);
    } else if (what < 74) {
        launch(s, operation);
    } else if (what < 79) {
        launched(s, draw(8));
    } else if (what < 86) {
        see_idle(s);
    } else if (what < 88) {
        runs[s] = false;
    } else if (what < 91) {
        attach(k);
    } else if (what < 93 && !host_functions) {
        host_functions++;
        uvm_host_function_begins();
    } else if (what < 95 && host_functions) {
        host_functions--;
        if (uvm_host_function_ends()) fail("a host function cannot end", operation, -1);
    } else if (what < 96) {
        bool write = draw(2);
        if (host_may_touch(&memories[k]))
            uvm_copy_engine(memories[k].device, memories[k].a->base, memories[k].a->size,
                            write ? UVM_COPIES_TO : UVM_COPIES_FROM);
    } else if (what < 98) {
        static const CUmemLocation host = { CU_MEM_LOCATION_TYPE_HOST, 0 };
        uint64_t first = draw((uint32_t)memories[k].a->size), size = 1 + draw((uint32_t)(memories[k].a->size - first));
        uvm_advise(memories[k].a->base + first, size,
                   what == 96 ? CU_MEM_ADVISE_SET_PREFERRED_LOCATION : CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, host);
    } else {
        uvm_free(memories[k].a);
        memories[k].a = NULL;
    }
}

/* ---- what must hold */

static void check_block(const struct block *b, uint64_t operation)
{
    block_check(b);
    for (unsigned page = b->region.first; page < b->region.outer; page++)
        for (unsigned p = 0; p <= DEVICES; p++) {
            enum mmu_access may = entry_of(page_prot(b, p, page));
            if (fake_entries[p][fake_page(b->window->va) + page] != may) fail("a page table differs", operation, -1);
        }
}

static void check(uint64_t operation)
{
    uint64_t taken[DEVICES] = { 0 };
    uvm_settle();
    for (uint64_t va = space_managed_base(); va < space_managed_base() + (64ul << 20); va += WINDOW_BYTES) {
        const struct window *w = window_at(va, false);
        for (const struct block *b = w ? w->blocks : NULL; b; b = b->next) check_block(b, operation);
    }
    for (struct range *r = range_first(); r; r = range_next(r)) {
        const struct managed *m = r->owner;
        if (r->start == m->start) taken[m->context->device->ordinal] += m->end - m->start;
    }
    for (int d = 0; d < DEVICES; d++)
        if (devices[d].vram.used != taken[d] || taken[d] > devices[d].vram.capacity)
            fail("a device's memory is not what is allocated", operation, -1);
    for (int k = 0; k < MOST; k++) {
        const struct memory *m = &memories[k];
        if (!m->a || host_may_touch(m)) continue;
        for (uint64_t va = m->a->base / PAGE_BYTES * PAGE_BYTES; va < m->a->base + m->a->size; va += PAGE_BYTES) {
            bool shared = false; /* with what the host may touch */
            for (int j = 0; j < MOST; j++) {
                const struct allocation *o = memories[j].a;
                shared |= o && host_may_touch(&memories[j]) && o->base < va + PAGE_BYTES && va < o->base + o->size;
            }
            if (!shared && fake_entries[CPU][fake_page(va)]) fail("the host has access to what is lent", operation, k);
        }
    }
}

int main(int argc, char **argv)
{
    uint64_t operations = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000;
    if (argc > 2) draw_state = strtoull(argv[2], NULL, 10);
    fake_begin_turns(DEVICES, (uint64_t)CHUNKS * VRAM_CHUNK, argc > 3, stream_runs);
    for (int d = 0; d < DEVICES; d++) contexts[d].device = &devices[d];
    for (uint64_t n = 0; n < operations; n++) {
        operate(n);
        if (n % 16 == 0) check(n);
    }
    while (host_functions) {
        host_functions--;
        uvm_host_function_ends();
    }
    for (int s = 0; s < STREAMS; s++)
        while (coming[s]) launched(s, false);
    for (int k = 0; k < MOST; k++)
        if (memories[k].a) uvm_free(memories[k].a);
    for (int d = 0; d < DEVICES; d++)
        if (devices[d].vram.used) fail("device memory left", operations, -1);
    return 0;
}
