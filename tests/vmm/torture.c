/* Device memory as frameworks with expandable segments manage it: a few large
 * reservations in which thousands of 2 and 20 MiB pages are mapped, unmapped
 * and mapped elsewhere in random order, with contents checked all the way,
 * under a limit of 1024 descriptors, most pages exportable. usage: torture [operations [seed]] */
#include "../usage.h"
#include "rig.h"

#include <sys/resource.h>

enum {
    SEGMENTS = 6,
    SMALL = 2 * MIB,
    LARGE = 20 * MIB,
    SLOTS = 1200 /* of a segment */,
    PAGES = 3000,
    CHECK_EVERY = 1000
};

struct segment {
    CUdeviceptr base;
    size_t page;     /* bytes: SMALL or LARGE */
    int slot[SLOTS]; /* page that is mapped there, or -1 */
};
struct page {
    CUmemGenericAllocationHandle handle;
    size_t size;
    uint32_t tag;
    int segment, slot; /* -1: lies about without an address */
};

static struct device device;
static struct segment segments[SEGMENTS];
static struct page pages[PAGES];
static unsigned count; /* of pages */
static unsigned long created, moved, gone, checked;

static CUdeviceptr address(const struct page *p) { return segments[p->segment].base + (size_t)p->slot * p->size; }

static struct tagged tagged(const struct page *p)
{
    return (struct tagged){ address(p), (uint32_t)(p->size / TAGS), p->tag };
}

/* Maps p at a free place of a segment of its size. */
static void put(struct page *p)
{
    struct segment *s;
    do {
        p->segment = (int)draw(SEGMENTS);
        p->slot = (int)draw(SLOTS);
        s = &segments[p->segment];
    } while (s->page != p->size || s->slot[p->slot] >= 0);
    s->slot[p->slot] = (int)(p - pages);
    CHECK(cuMemMap(address(p), p->size, 0, p->handle, 0));
    give_access(address(p), p->size, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

static void take_away(struct page *p)
{
    CHECK(cuMemUnmap(address(p), p->size));
    segments[p->segment].slot[p->slot] = -1;
    p->segment = p->slot = -1;
}

static void create(void)
{
    static uint32_t last_tag;
    /* frameworks ask for all of it to be exportable, and export little of it */
    const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .requestedHandleTypes = draw(4) ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0,
                                       .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    struct page *p = &pages[count];
    *p = (struct page){ .size = draw(4) ? SMALL : LARGE, .tag = (last_tag += 64), .segment = -1, .slot = -1 };
    CHECK(cuMemCreate(&p->handle, p->size, &prop, 0));
    count++;
    put(p);
    struct tagged t = tagged(p);
    tags_run(&device, &t, 1, 1);
    created++;
}

static void verify_one(const struct page *p)
{
    uint32_t word;
    unsigned k = draw(TAGS);
    CHECK(cuMemcpyDtoH(&word, address(p) + k * (p->size / TAGS), 4));
    if (word != (p->tag ^ k)) {
        fprintf(stderr, "page %#x of %zu bytes at %#llx: word %u is %#x\n", p->tag, p->size,
                (unsigned long long)address(p), k, word);
        exit(1);
    }
    checked++;
}

static void destroy(unsigned k)
{
    struct page *p = &pages[k], *last = &pages[--count];
    if (p->slot >= 0) {
        verify_one(p);
        take_away(p);
    }
    CHECK(cuMemRelease(p->handle));
    if (p != last) {
        *p = *last;
        if (p->slot >= 0) segments[p->segment].slot[p->slot] = (int)k;
    }
    gone++;
}

static void step(void)
{
    unsigned what = draw(100);
    if (count < PAGES && (count < PAGES / 2 || what < 30)) {
        create();
    } else if (what < 55) {
        destroy(draw(count));
    } else {
        struct page *p = &pages[draw(count)];
        if (p->slot < 0) {
            put(p);
        } else if (what < 70) {
            take_away(p);
        } else {
            take_away(p);
            put(p);
        }
        if (p->slot >= 0) verify_one(p);
        moved++;
    }
}

static void verify_all(void)
{
    static struct tagged list[PAGES];
    unsigned n = 0;
    for (unsigned k = 0; k < count; k++)
        if (pages[k].slot >= 0) list[n++] = tagged(&pages[k]);
    unsigned wrong = tags_run(&device, list, n, 0);
    checked += n;
    if (!wrong) return;
    fprintf(stderr, "%u words of %u pages are wrong\n", wrong, n);
    exit(1);
}

int main(int argc, char **argv)
{
    unsigned long operations = argc > 1 ? strtoul(argv[1], NULL, 10) : 12000;
    draw_state = argc > 2 ? strtoul(argv[2], NULL, 10) : 20240229;
    const struct rlimit few = { 1024, 1024 };
    EXPECT(!setrlimit(RLIMIT_NOFILE, &few));
    device_open(&device, PAGES);
    for (unsigned k = 0; k < SEGMENTS; k++) {
        struct segment *s = &segments[k];
        s->page = k % 2 ? LARGE : SMALL;
        for (unsigned slot = 0; slot < SLOTS; slot++) s->slot[slot] = -1;
        CHECK(cuMemAddressReserve(&s->base, SLOTS * s->page, 0, 0, 0));
    }
    size_t before = free_memory();
    unsigned fds = descriptors();
    for (unsigned long k = 1; k <= operations; k++) {
        step();
        if (k % CHECK_EVERY == 0) verify_all();
    }
    verify_all();
    printf("%lu pages created, %lu moved, %lu released, %u alive, %lu checked, %u descriptors\n", created, moved, gone,
           count, checked, descriptors());
    while (count) destroy(count - 1);
    for (unsigned k = 0; k < SEGMENTS; k++) CHECK(cuMemAddressFree(segments[k].base, SLOTS * segments[k].page));
    EXPECT(free_memory() == before);
    EXPECT(descriptors() == fds);
    return 0;
}
