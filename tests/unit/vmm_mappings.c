/* Virtual memory management with page tables that are arrays: each device's
 * must hold what access says, whatever the order of the calls. */
#include "../usage.h"
#include "context/context.h"
#include "space/space.h"
#include "vmm/vmm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

enum { DEVICES = 2, PAGES = 32, MEMORIES = 6, STEPS = 20000, MOST = 4 };
static const uint64_t PAGE = VMM_GRANULARITY;

struct device devices[MAX_DEVICES];
int device_count;

CUresult device_get(CUdevice dev, struct device **out)
{
    if (dev < 0 || dev >= device_count) return CUDA_ERROR_INVALID_DEVICE;
    *out = &devices[dev];
    return CUDA_SUCCESS;
}

struct device *device_physical(int64_t physical)
{
    return physical >= 0 && physical < device_count ? &devices[physical] : NULL;
}

/* ---- page tables: what each page of the tested range shows */

struct entry {
    uint64_t backing, offset;
    unsigned prot;
};
struct processor {
    struct entry pages[PAGES];
};
static struct processor processors[DEVICES];
static uint64_t range; /* the tested addresses */

static struct entry *page(struct processor *p, uint64_t va)
{
    assert_true(va >= range && va < range + PAGES * PAGE);
    return &p->pages[(va - range) / PAGE];
}

bool processor_busy(const struct processor *p) { return p && false; }
bool processor_hold(struct processor *p) { return !processor_busy(p); }
void processor_release(struct processor *p) { (void)p; }

CUresult processor_map_whole(struct processor *p, uint64_t va, uint64_t size, const struct backing *b, uint64_t offset,
                             unsigned prot)
{
    for (uint64_t at = 0; at < size; at += PAGE) *page(p, va + at) = (struct entry){ b->id, offset + at, prot };
    return CUDA_SUCCESS;
}
CUresult processor_unmap_whole(struct processor *p, uint64_t va, uint64_t size)
{
    for (uint64_t at = 0; at < size; at += PAGE) {
        assert_int_not_equal(page(p, va + at)->prot, 0);
        *page(p, va + at) = (struct entry){ 0 };
    }
    return CUDA_SUCCESS;
}
CUresult processor_protect_whole(struct processor *p, uint64_t va, uint64_t size, unsigned prot)
{
    for (uint64_t at = 0; at < size; at += PAGE) page(p, va + at)->prot = prot;
    return CUDA_SUCCESS;
}
/* The space's, and other kinds of memory: not used here. */
CUresult processor_map(struct processor *p, uint64_t va, uint64_t size, const struct backing *b, uint64_t offset,
                       unsigned prot)
{
    return processor_map_whole(p, va, size, b, offset, prot);
}
CUresult processor_unmap(struct processor *p, uint64_t va, uint64_t size) { return processor_unmap_whole(p, va, size); }
CUresult processor_protect(struct processor *p, uint64_t va, uint64_t size, unsigned prot)
{
    return processor_protect_whole(p, va, size, prot);
}
void processor_settle(struct processor *p) { (void)p; }
CUresult processor_status(const struct processor *p)
{
    (void)p;
    return CUDA_SUCCESS;
}
void processor_forget(struct processor *p, const struct backing *b) { (void)p, (void)b; }

/* ---- the machine */

static struct profile profile;

static int begin(void **state)
{
    (void)state;
    memset(processors, 0, sizeof processors);
    profile.host_memory = 64 << 20;
    profile.p2p[CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED] = 1;
    device_count = DEVICES;
    for (int k = 0; k < DEVICES; k++) {
        devices[k] = (struct device){ .ordinal = k, .profile = &profile, .processor = &processors[k] };
        if (vram_init(&devices[k].vram, 64 << 20, "test") || vmm_owner.attach(&devices[k])) return -1;
    }
    return vmm_reserve(PAGES * PAGE, 0, 0, &range);
}

static int end(void **state)
{
    (void)state;
    vmm_unmap(range, PAGES * PAGE);
    if (vmm_reservation_free(range, PAGES * PAGE)) return -1;
    for (int k = 0; k < DEVICES; k++) {
        vmm_owner.detach(&devices[k]);
        if (devices[k].vram.used) return -1;
        vram_destroy(&devices[k].vram);
    }
    return 0;
}

static CUmemLocation device_location(int id)
{
    return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = id };
}

static CUresult create(uint64_t pages, CUmemLocation where, CUmemAllocationHandleType type,
                       CUmemGenericAllocationHandle *h)
{
    CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = where, .requestedHandleTypes = type };
    return vmm_create(pages * PAGE, &p, h);
}

static CUmemGenericAllocationHandle take(uint64_t pages)
{
    CUmemGenericAllocationHandle h;
    assert_int_equal(create(pages, device_location(0), CU_MEM_HANDLE_TYPE_NONE, &h), CUDA_SUCCESS);
    return h;
}

static CUresult give(uint64_t va, uint64_t size, int device, unsigned flags)
{
    CUmemAccessDesc d = { .location = device_location(device), .flags = (CUmemAccess_flags)flags };
    return vmm_set_access(va, size, &d, 1);
}

/* ---- the tests */

static void memory_counts_until_its_last_mapping_is_gone(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle h = take(2);
    assert_int_equal(devices[0].vram.used, 2 * PAGE);
    assert_int_equal(vmm_map(range, 2 * PAGE, 0, h), CUDA_SUCCESS);
    assert_int_equal(vmm_release(h), CUDA_SUCCESS);
    assert_int_equal(vmm_release(h), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(devices[0].vram.used, 2 * PAGE);
    assert_int_equal(vmm_unmap(range, 2 * PAGE), CUDA_SUCCESS);
    assert_int_equal(devices[0].vram.used, 0);
}

static void no_more_is_given_than_the_capacity(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle h, more;
    assert_int_equal(create(32, device_location(0), CU_MEM_HANDLE_TYPE_NONE, &h), CUDA_SUCCESS);
    assert_int_equal(create(1, device_location(0), CU_MEM_HANDLE_TYPE_NONE, &more), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(create(1, device_location(0), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, &more),
                     CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(create(1, device_location(1), CU_MEM_HANDLE_TYPE_NONE, &more), CUDA_SUCCESS);
    vmm_release(more);
    vmm_release(h);
}

static void a_released_handle_keeps_its_properties(void **state)
{
    (void)state;
    CUmemAllocationProp p;
    CUmemGenericAllocationHandle h = take(1);
    vmm_release(h);
    assert_int_equal(vmm_properties(h, &p), CUDA_SUCCESS);
    assert_int_equal(p.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
    assert_int_equal(vmm_map(range, PAGE, 0, h), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(vmm_properties(h + (1ull << 32), &p), CUDA_ERROR_INVALID_VALUE);
}

static void a_retained_handle_is_the_one_that_was_mapped(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle h = take(2), again;
    assert_int_equal(vmm_map(range, 2 * PAGE, 0, h), CUDA_SUCCESS);
    vmm_release(h);
    assert_int_equal(vmm_retain(range + 2 * PAGE - 1, &again), CUDA_SUCCESS);
    assert_int_equal(again, h);
    assert_int_equal(vmm_retain(range + 2 * PAGE, &again), CUDA_ERROR_INVALID_VALUE);
    vmm_release(h);
}

static void a_failed_change_of_access_changes_nothing(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle h = take(1);
    const CUmemAccessDesc two[] = { { device_location(0), CU_MEM_ACCESS_FLAGS_PROT_READ },
                                    { device_location(9), CU_MEM_ACCESS_FLAGS_PROT_READ } };
    vmm_map(range, PAGE, 0, h);
    vmm_release(h);
    assert_int_equal(give(range, PAGE, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), CUDA_SUCCESS);
    assert_int_equal(vmm_set_access(range, PAGE, two, 2), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(processors[0].pages[0].prot, 3);
}

static void a_change_of_access_that_fails_halfway_is_undone(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle h[2];
    const CUmemAccessDesc two[] = { { device_location(0), CU_MEM_ACCESS_FLAGS_PROT_READ },
                                    { { .type = CU_MEM_LOCATION_TYPE_HOST }, CU_MEM_ACCESS_FLAGS_PROT_READ } };
    for (int k = 0; k < 2; k++) {
        assert_int_equal(
            create(1, (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST }, CU_MEM_HANDLE_TYPE_NONE, &h[k]),
            CUDA_SUCCESS);
        vmm_map(range + k * PAGE, PAGE, 0, h[k]);
        vmm_release(h[k]);
    }
    assert_int_equal(give(range, 2 * PAGE, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), CUDA_SUCCESS);
    /* what the application has there itself is in the way of the second page */
    char *own = mmap((void *)(range + PAGE), 4096, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    assert_ptr_equal(own, range + PAGE);
    *own = 7;
    assert_int_not_equal(vmm_set_access(range, 2 * PAGE, two, 2), CUDA_SUCCESS);
    assert_int_equal(processors[0].pages[0].prot, 3);
    assert_int_equal(processors[0].pages[1].prot, 3);
    unsigned char resident;
    assert_int_equal(mincore((void *)range, 4096, &resident), -1);
    assert_int_equal(*own, 7);
    munmap(own, 4096);
}

static void a_new_process_of_a_device_sees_what_the_old_one_saw(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle h = take(1);
    vmm_map(range + PAGE, PAGE, 0, h);
    vmm_release(h);
    give(range + PAGE, PAGE, 1, CU_MEM_ACCESS_FLAGS_PROT_READ);
    struct processor before = processors[1];
    vmm_owner.detach(&devices[1]);
    memset(&processors[1], 0, sizeof processors[1]);
    assert_int_equal(vmm_owner.attach(&devices[1]), CUDA_SUCCESS);
    assert_memory_equal(&processors[1], &before, sizeof before);
    assert_int_equal(processors[1].pages[1].prot, PROT_DEVICE_READ);
}

static void host_memory_is_mapped_in_the_host_as_access_says(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle h;
    unsigned char resident;
    CUmemAccessDesc d = { .location = { .type = CU_MEM_LOCATION_TYPE_HOST_NUMA },
                          .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    assert_int_equal(create(1, (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST }, CU_MEM_HANDLE_TYPE_NONE, &h),
                     CUDA_SUCCESS);
    vmm_map(range, PAGE, 0, h);
    vmm_release(h);
    assert_int_equal(mincore((void *)range, PAGE / 512, &resident), -1);
    assert_int_equal(vmm_set_access(range, PAGE, &d, 1), CUDA_SUCCESS);
    *(volatile int *)range = 5;
    struct vmm_piece piece;
    assert_int_equal(vmm_pieces(range, 4, NULL, false, &piece, 1), 1);
    assert_int_equal(*(int *)piece.bytes, 5);
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    assert_int_equal(vmm_set_access(range, PAGE, &d, 1), CUDA_SUCCESS);
    assert_int_equal(mincore((void *)range, PAGE / 512, &resident), -1);
}

static void memory_of_a_node_is_bound_to_it(void **state)
{
    (void)state;
    int mode = -1;
    unsigned long nodes[16] = { 0 };
    CUmemGenericAllocationHandle h;
    const CUmemLocation node = { .type = CU_MEM_LOCATION_TYPE_HOST_NUMA };
    const CUmemAccessDesc d = { .location = node, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    assert_int_equal(create(1, node, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, &h), CUDA_SUCCESS);
    vmm_map(range, PAGE, 0, h);
    vmm_release(h);
    assert_int_equal(vmm_set_access(range, PAGE, &d, 1), CUDA_SUCCESS);
    /* elsewhere than through the addresses that were bound: the policy is the memory's, not a mapping's */
    if (syscall(SYS_get_mempolicy, &mode, nodes, 1024ul, range, (unsigned long)MPOL_F_ADDR)) skip();
    assert_int_equal(mode, MPOL_BIND);
    assert_int_equal(nodes[0], 1);
}

/* What lies between two that are bound, and is not, parts mappings. */
static void memory_of_a_node_that_was_freed_leaves_no_mappings_behind(void **state)
{
    (void)state;
    enum { TIMES = 50 };
    const CUmemLocation node = { .type = CU_MEM_LOCATION_TYPE_HOST_NUMA };
    unsigned before = mappings();
    for (int k = 0; k < TIMES; k++) {
        CUmemGenericAllocationHandle h;
        struct space_chunk between;
        assert_int_equal(create(1, node, CU_MEM_HANDLE_TYPE_NONE, &h), CUDA_SUCCESS);
        assert_int_equal(vmm_release(h), CUDA_SUCCESS);
        assert_int_equal(space_take(NULL, PAGE, &between), CUDA_SUCCESS);
        space_give(NULL, &between);
    }
    assert_true(mappings() < before + TIMES / 2);
}

/* ---- at random, against a model */

struct model {
    int memory;     /* -1: nothing is mapped */
    unsigned first; /* page of the mapping's start */
    unsigned access[DEVICES];
};
static struct model model[PAGES];
static CUmemGenericAllocationHandle memories[MEMORIES];
static unsigned size_of[MEMORIES];

static bool same_mapping(unsigned a, unsigned b)
{
    return model[a].memory >= 0 && model[b].memory >= 0 && model[a].first == model[b].first;
}
static bool cut_at(unsigned page) { return page && page < PAGES && same_mapping(page - 1, page); }

static void try_map(unsigned at, int memory)
{
    bool free = at + size_of[memory] <= PAGES;
    for (unsigned k = at; k < at + size_of[memory] && k < PAGES; k++) free &= model[k].memory < 0;
    CUresult r = vmm_map(range + at * PAGE, size_of[memory] * PAGE, 0, memories[memory]);
    assert_int_equal(r, free ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    for (unsigned k = at; free && k < at + size_of[memory]; k++) model[k] = (struct model){ memory, at, { 0 } };
}

static void try_unmap(unsigned at, unsigned pages)
{
    bool good = !cut_at(at) && !cut_at(at + pages);
    assert_int_equal(vmm_unmap(range + at * PAGE, pages * PAGE), good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    for (unsigned k = at; good && k < at + pages; k++) model[k] = (struct model){ .memory = -1 };
}

static void try_access(unsigned at, unsigned pages, int device, unsigned flags)
{
    bool good = model[at].memory >= 0 && !cut_at(at) && model[at + pages - 1].memory >= 0 && !cut_at(at + pages);
    assert_int_equal(give(range + at * PAGE, pages * PAGE, device, flags),
                     good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    for (unsigned k = at; good && k < at + pages && model[k].memory >= 0; k++) model[k].access[device] = flags;
}

static void compare(void)
{
    for (unsigned k = 0; k < PAGES; k++)
        for (int d = 0; d < DEVICES; d++) {
            const struct entry *e = &processors[d].pages[k];
            assert_int_equal(e->prot, model[k].memory < 0 ? 0 : model[k].access[d]);
            struct allocation a;
            assert_int_equal(space_look(range + k * PAGE, &a) != 0, model[k].memory >= 0);
            if (!e->prot) continue;
            assert_int_equal(e->backing, a.backing->id);
            assert_int_equal(e->offset, a.offset + (k - model[k].first) * PAGE);
        }
}

static void in_any_order_page_tables_hold_what_access_says(void **state)
{
    (void)state;
    static const unsigned flags[] = { 0, 1, 3 };
    srandom(11);
    for (unsigned k = 0; k < PAGES; k++) model[k] = (struct model){ .memory = -1 };
    for (int m = 0; m < MEMORIES; m++) {
        size_of[m] = 1 + (unsigned)m % MOST;
        assert_int_equal(create(size_of[m], device_location(m % DEVICES),
                                m % 3 ? CU_MEM_HANDLE_TYPE_NONE : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                &memories[m]),
                         CUDA_SUCCESS);
    }
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned at = (unsigned)random() % PAGES, pages = 1 + (unsigned)random() % MOST, what = (unsigned)random() % 10;
        if (at + pages > PAGES) pages = PAGES - at;
        if (what < 4)
            try_map(at, (int)(random() % MEMORIES));
        else if (what < 6)
            try_unmap(at, pages);
        else
            try_access(at, pages, (int)(random() % DEVICES), flags[random() % 3]);
        compare();
    }
    for (int m = 0; m < MEMORIES; m++) vmm_release(memories[m]);
}

/* ---- reservations */

/* Powers of two up to 8 GiB; ThreadSanitizer leaves reservations only tens of GiB. */
#ifdef __SANITIZE_THREAD__
enum { ALIGNMENTS = 28 };
#else
enum { ALIGNMENTS = 34 };
#endif

static void reservations_are_aligned_and_do_not_overlap(void **state)
{
    enum { COUNT = 500 };
    static struct {
        uint64_t base, size;
    } held[COUNT];
    (void)state;
    srandom(5);
    for (unsigned step = 0; step < 20000; step++) {
        unsigned k = (unsigned)random() % COUNT;
        if (held[k].size) {
            assert_int_equal(vmm_reservation_free(held[k].base, held[k].size), CUDA_SUCCESS);
            held[k].size = 0;
            continue;
        }
        uint64_t size = (1 + (uint64_t)random() % 64) * PAGE, alignment = 1ull << (random() % ALIGNMENTS), base;
        assert_int_equal(vmm_reserve(size, alignment, 0, &base), CUDA_SUCCESS);
        assert_int_equal(base % alignment, 0);
        assert_int_equal(base % PAGE, 0);
        for (unsigned j = 0; j < COUNT; j++)
            assert_true(!held[j].size || base >= held[j].base + held[j].size || held[j].base >= base + size);
        held[k].base = base;
        held[k].size = size;
    }
    for (unsigned k = 0; k < COUNT; k++)
        if (held[k].size) assert_int_equal(vmm_reservation_free(held[k].base, held[k].size), CUDA_SUCCESS);
}

static void a_hint_that_continues_a_reservation_is_honoured(void **state)
{
    uint64_t first, next;
    (void)state;
    assert_int_equal(vmm_reserve(PAGE, 0, range + PAGES * PAGE, &first), CUDA_SUCCESS);
    assert_int_equal(first, range + PAGES * PAGE);
    assert_int_equal(vmm_reserve(PAGE, 0, first, &next), CUDA_SUCCESS);
    assert_int_not_equal(next, first);
    assert_int_equal(vmm_reservation_free(first, 2 * PAGE), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(vmm_reservation_free(first, PAGE), CUDA_SUCCESS);
    assert_int_equal(vmm_reservation_free(first, PAGE), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(vmm_reservation_free(next, PAGE), CUDA_SUCCESS);
}

static void a_large_reservation_goes_where_it_is_wished_or_above(void **state)
{
    enum { LARGE = 32 << 20 };
    const uint64_t wish = (range + (1ull << 33)) & -(uint64_t)LARGE;
    uint64_t small, large, next;
    (void)state;
    assert_int_equal(vmm_reserve(PAGE, 0, wish, &small), CUDA_SUCCESS);
    assert_int_not_equal(small, wish);
    assert_int_equal(vmm_reserve(LARGE, 0, wish, &large), CUDA_SUCCESS);
    assert_int_equal(large, wish);
    assert_int_equal(vmm_reserve(PAGE, LARGE, wish + PAGE, &next), CUDA_SUCCESS);
    assert_int_equal(next, wish + LARGE);
    assert_int_equal(vmm_reservation_free(small, PAGE), CUDA_SUCCESS);
    assert_int_equal(vmm_reservation_free(large, LARGE), CUDA_SUCCESS);
    assert_int_equal(vmm_reservation_free(next, PAGE), CUDA_SUCCESS);
}

static void a_mapping_may_cross_adjacent_reservations(void **state)
{
    uint64_t next;
    (void)state;
    assert_int_equal(vmm_reserve(PAGE, 0, range + PAGES * PAGE, &next), CUDA_SUCCESS);
    CUmemGenericAllocationHandle h = take(2);
    assert_int_equal(vmm_map(next - PAGE, 2 * PAGE, 0, h), CUDA_SUCCESS);
    vmm_release(h);
    assert_int_equal(vmm_reservation_free(next, PAGE), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(vmm_unmap(next - PAGE, 2 * PAGE), CUDA_SUCCESS);
    assert_int_equal(vmm_reservation_free(next, PAGE), CUDA_SUCCESS);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(memory_counts_until_its_last_mapping_is_gone),
        TEST(no_more_is_given_than_the_capacity),
        TEST(a_released_handle_keeps_its_properties),
        TEST(a_retained_handle_is_the_one_that_was_mapped),
        TEST(a_failed_change_of_access_changes_nothing),
        TEST(a_change_of_access_that_fails_halfway_is_undone),
        TEST(a_new_process_of_a_device_sees_what_the_old_one_saw),
        TEST(host_memory_is_mapped_in_the_host_as_access_says),
        TEST(memory_of_a_node_is_bound_to_it),
        TEST(memory_of_a_node_that_was_freed_leaves_no_mappings_behind),
        TEST(in_any_order_page_tables_hold_what_access_says),
        TEST(reservations_are_aligned_and_do_not_overlap),
        TEST(a_hint_that_continues_a_reservation_is_honoured),
        TEST(a_large_reservation_goes_where_it_is_wished_or_above),
        TEST(a_mapping_may_cross_adjacent_reservations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
