/* A million random operations on managed memory of some small devices: after
 * every so many, page tables are what residency and policy permit, every block is sound,
 * and a device's memory is exactly what its chunks take.
 * usage: uvm-random [OPERATIONS [SEED [EVERY [LINKS [DEVICES [short]]]]]]; LINKS: devices, host, all or none;
 * short: now and then there is no memory for the books */
#include "../draw.h"
#include "context/context.h"
#include "uvm_fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 6, CHUNKS = 4 };
static unsigned some_devices = 3;
static struct allocation *memory[MOST];
static struct context context;

static void fail(const char *what, uint64_t operation, uint64_t va)
{
    printf("operation %lu: %s, at page %lu\n", operation, what, fake_page(va));
    exit(1);
}

/* ---- operations */

static void new_allocation(int k)
{
    static const uint32_t pages[] = { 1, 16, 100, 512, 700, 1536 };
    while (uvm_alloc(&context, (uint64_t)pages[draw(6)] * PAGE_BYTES, CU_MEM_ATTACH_GLOBAL, &memory[k]))
        if (!fake_refuses) exit(1);
}

/* The thread that ends pins takes memory, too. */
static bool sometimes(void)
{
    static _Thread_local uint64_t state = 1;
    return !draw_from(&state, 40);
}

static CUmemLocation somewhere(void)
{
    uint32_t d = draw(some_devices + 1);
    if (d == some_devices) return (CUmemLocation){ CU_MEM_LOCATION_TYPE_HOST, 0 };
    return (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, (int)d };
}

/* What the program has unmapped nobody reaches. */
static bool is_gone(unsigned p, uint64_t va)
{
    struct mmu_fault f = { .processor = p, .address = va, .pending = 1 };
    if (!fake_gone[fake_page(va)]) return false;
    if (fake_serve(&f) != MMU_FATAL) fail("what is unmapped can be touched", 0, va);
    return true;
}

static bool is_whole(uint64_t va, uint64_t size)
{
    return !memchr(&fake_gone[fake_page(va)], true, size / PAGE_BYTES);
}

static bool system_call(void *succeeds) { return *(bool *)succeeds; }

/* The program unmaps some pages, or says something of their mapping to the system. */
static CUresult change_mapping(uint64_t va, uint64_t size)
{
    if (draw(4)) {
        fake_mappings->parts(va, va + size, 3, draw(4));
        return CUDA_SUCCESS;
    }
    bool all = is_whole(va, size);
    if (fake_mappings->holds(va, va + size, true) != all) fail("a hole is not known", 0, va);
    bool succeeds = draw(8);
    CUresult r = fake_mappings->goes(va, va + size, system_call, &succeeds);
    return r == CUDA_ERROR_INVALID_VALUE && !succeeds ? CUDA_SUCCESS : r;
}

/* What is done to a range that has a hole is refused. */
static CUresult unless_gone(CUresult r, uint64_t va, uint64_t size)
{
    if (is_whole(va, size)) return r;
    if (r != CUDA_ERROR_INVALID_VALUE) fail("a call takes what is unmapped", 0, va);
    return CUDA_SUCCESS;
}

static void touch_some(const struct allocation *a, uint64_t pages)
{
    unsigned p = draw(some_devices + 1), n = 1 + draw(8), stride = 1 + draw(20);
    bool write = draw(2), atomic = p != CPU && !draw(4);
    uint64_t first = draw((uint32_t)pages);
    for (uint64_t k = 0; k < n && first + k * stride < pages; k++) {
        uint64_t at = a->base + (first + k * stride) * PAGE_BYTES;
        if (is_gone(p, at)) continue;
        if (atomic)
            fake_atomic(p, at);
        else
            fake_touch(p, at, write);
    }
}

/* Processors write the same pages in turn, until some of them have to wait. */
static void fight_for_some(const struct allocation *a, uint64_t pages)
{
    uint64_t first = draw((uint32_t)pages), count = 1 + draw(4);
    for (unsigned round = 0; round < 12; round++)
        for (uint64_t k = 0; k < count && first + k < pages; k++)
            if (!fake_gone[fake_page(a->base) + first + k])
                fake_touch(round % (2 + first % some_devices), a->base + (first + k) * PAGE_BYTES, true);
}

static int in_use; /* the allocation that the main thread works on: nobody frees it */
static uint64_t naps;

static void another_thread(void)
{
    static bool busy;
    int k = (int)draw(MOST);
    const struct allocation *a = memory[k];
    uint64_t pages = a->size / PAGE_BYTES, first = draw((uint32_t)pages), count = 1 + draw((uint32_t)(pages - first));
    if (busy) return;
    busy = true;
    naps++;
    switch (draw(5)) {
    case 0: uvm_settle(); break;
    case 1: touch_some(a, pages); break;
    case 2:
        uvm_advise(a->base + first * PAGE_BYTES, count * PAGE_BYTES, (CUmem_advise)(1 + draw(6)), somewhere());
        break;
    case 3: change_mapping(a->base + first * PAGE_BYTES, PAGE_BYTES); break;
    default:
        if (k == in_use) break;
        uvm_free(memory[k]);
        new_allocation(k);
    }
    busy = false;
}

/* What nobody asks of managed memory: pins end, other memory needs room, a device process dies. */
static CUresult happen(void)
{
    unsigned p = 1 + draw(some_devices);
    struct vram *v = &devices[p - 1].vram;
    uint32_t what = draw(20);
    if (what > 9) return v->reclaim(v, (uint64_t)draw(CHUNKS + 1) * VRAM_CHUNK);
    uvm_enter();
    if (what) {
        thrashing_unpin(fake_now);
    } else {
        memset(fake_entries[p], 0, sizeof fake_entries[p]);
        ranges_forget_processor(p);
    }
    uvm_leave();
    return CUDA_SUCCESS;
}

/* Rows in slices, all of which lie in the allocation. */
static CUresult go_over_box(const struct allocation *a)
{
    size_t width = 1 + draw(3 * PAGE_BYTES), pitch = width + draw(4) * draw(20 * PAGE_BYTES), height = 1 + draw(40),
           slice = height * pitch + draw(2) * draw(50 * PAGE_BYTES), depth = 1 + draw(4);
    while (depth > 1 && (depth - 1) * slice + height * pitch > a->size) depth--;
    while (height > 1 && (depth - 1) * slice + height * pitch > a->size) height--;
    if ((depth - 1) * slice + (height - 1) * pitch + width > a->size) return CUDA_SUCCESS;
    const struct uvm_box box = { a->base, width, pitch, height, slice, depth };
    if (!is_whole(a->base, a->size)) return CUDA_SUCCESS;
    return uvm_copy_engine_box((int)draw(some_devices), &box, draw(3));
}

static CUresult operate(void)
{
    int k = in_use = (int)draw(MOST);
    struct allocation *a = memory[k];
    uint64_t pages = a->size / PAGE_BYTES, first = draw((uint32_t)pages), count = 1 + draw((uint32_t)(pages - first));
    uint64_t va = a->base + first * PAGE_BYTES, size = count * PAGE_BYTES;
    fake_now += draw(4) ? 1000 : 2000000;
    uint32_t what = draw(100);
    if (what < 80) {
        if (what == 0)
            fight_for_some(a, pages);
        else
            touch_some(a, pages);
        return CUDA_SUCCESS;
    }
    if (what < 85) return unless_gone(uvm_prefetch(va, size, somewhere()), va, size);
    if (what < 92) return unless_gone(uvm_advise(va, size, (CUmem_advise)(1 + draw(6)), somewhere()), va, size);
    if (what < 93) return unless_gone(uvm_discard(va, size, what % 2), va, size);
    if (what < 94 && is_whole(va, size)) return uvm_copy_engine((int)draw(some_devices), va, size, draw(3));
    if (what < 95) return go_over_box(a);
    if (what < 97) uvm_settle();
    if (what == 97) return happen();
    if (what == 98) return change_mapping(va, draw(4) ? PAGE_BYTES : size);
    if (what == 99) {
        uvm_free(a);
        new_allocation(k);
    }
    return CUDA_SUCCESS;
}

/* ---- what must hold */

static enum mmu_access permitted(const struct block *b, unsigned p, unsigned page)
{
    return entry_of(page_prot(b, p, page));
}

static void check_window(const struct window *w, uint64_t operation, unsigned chunks[PROCESSORS])
{
    for (const struct block *b = w->blocks; b; b = b->next) {
        block_check(b);
        for (unsigned page = b->region.first; page < b->region.outer; page++)
            for (unsigned p = 0; p <= some_devices; p++) {
                uint64_t va = w->va + (uint64_t)page * PAGE_BYTES;
                if (fake_entries[p][fake_page(va)] == permitted(b, p, page)) continue;
                if (fake_refuses && p != CPU) continue; /* a fault without memory ends the context */
                printf("processor %u may %d, should %d\n", p, fake_entries[p][fake_page(va)], permitted(b, p, page));
                fail("a page table differs", operation, va);
            }
        for (unsigned p = 1; p <= some_devices; p++)
            if (b->resident >> p & 1 && !w->chunk[p]) fail("pages on a device without memory", operation, w->va);
    }
    for (unsigned p = 1; p <= some_devices; p++) chunks[p] += w->chunk[p] != NULL;
}

static void check(uint64_t operation)
{
    unsigned chunks[PROCESSORS] = { 0 };
    uvm_settle();
    quiet_lock(&uvm_lock); /* pins end by themselves */
    for (uint64_t va = space_managed_base(); va < space_managed_base() + (64ul << 20); va += WINDOW_BYTES) {
        const struct window *w = window_at(va, false);
        if (w) check_window(w, operation, chunks);
    }
    for (unsigned p = 1; p <= some_devices; p++) {
        const struct vram *v = &devices[p - 1].vram;
        if (v->used > v->capacity) fail("more device memory than there is", operation, space_managed_base());
        if (v->used < (uint64_t)chunks[p] * VRAM_CHUNK)
            fail("chunks that are not counted", operation, space_managed_base());
    }
    quiet_unlock(&uvm_lock);
}

int main(int argc, char **argv)
{
    uint64_t every = argc > 3 ? strtoull(argv[3], NULL, 10) : 256;
    uint64_t operations = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000, refused = 0;
    if (argc > 2) draw_state = strtoull(argv[2], NULL, 10);
    const char *links = argc > 4 ? argv[4] : "devices";
    bool all = !strcmp(links, "all");
    if (argc > 5) some_devices = (unsigned)atoi(argv[5]);
    fake_begin_linked((int)some_devices, (uint64_t)CHUNKS * VRAM_CHUNK, all || !strcmp(links, "devices"),
                      all || !strcmp(links, "host"));
    for (int k = 0; k < MOST; k++) new_allocation(k);
    fake_meanwhile = another_thread;
    if (argc > 6) fake_refuses = sometimes;
    for (uint64_t n = 0; n < operations; n++) {
        refused += operate() != CUDA_SUCCESS;
        if (n % every == 0) check(n);
    }
    in_use = -1;
    fake_meanwhile = NULL;
    for (int k = 0; k < MOST; k++) uvm_free(memory[k]);
    for (unsigned d = 0; d < some_devices; d++)
        if (devices[d].vram.used) fail("device memory left", operations, space_managed_base());
    printf("%lu operations, %lu naps, %lu refused, %lu host faults, %lu device faults, %lu MiB moved\n", operations,
           naps, refused, fake_counted.cpu_faults, fake_counted.gpu_faults,
           (fake_counted.htod + fake_counted.dtoh + fake_counted.dtod) >> 20);
    return refused != 0 && !fake_refuses;
}
