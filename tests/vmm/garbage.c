/* Every function of virtual memory management with arguments at random, wrong
 * ones as often as right ones: nothing crashes, memory is given back exactly,
 * and a kernel runs afterwards. usage: garbage [SEED [STEPS]] */
#include "rig.h"

#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { SLOTS = 8, PAGES = 12 };
#define PAGE ((size_t)2 << 20)

static struct {
    CUdeviceptr at;
    size_t size;
} reserved[SLOTS];
static CUmemGenericAllocationHandle handles[SLOTS];
static size_t size_of[SLOTS];
static int descriptors[SLOTS];

static uint64_t any(void) { return (uint64_t)draw(1u << 31) << 33 ^ (uint64_t)draw(1u << 31) << 11 ^ draw(1 << 11); }
static bool rarely(void) { return !draw(16); }

/* Wrong ones now and then: all calls would fail if each argument were. */
static CUdeviceptr an_address(void)
{
    CUdeviceptr near = reserved[draw(SLOTS)].at + draw(PAGES) * PAGE;
    switch (draw(64)) {
    case 0: return any();
    case 1: return 0;
    case 2: return ~0ull << 21;
    case 3: return draw(64) * PAGE;
    case 4: return near + draw(5000);
    default: return near;
    }
}

static size_t a_size(void)
{
    switch (draw(64)) {
    case 0: return any();
    case 1: return 0;
    case 2: return ~0ull << 21;
    case 3: return 1ull << draw(64);
    default: return (1 + draw(5)) * PAGE;
    }
}

/* Of a whole mapping, mostly. */
static void a_mapping(CUdeviceptr *base, size_t *size)
{
    if (!cuMemGetAddressRange(base, size, an_address()) && !rarely()) return;
    *base = an_address();
    *size = a_size();
}

static CUmemGenericAllocationHandle a_handle(void)
{
    return rarely() ? any() : rarely() ? (uint64_t)draw(8) << 32 | draw(4096) : handles[draw(SLOTS)];
}

static CUmemLocation a_location(void)
{
    return (CUmemLocation){ .type = draw(6) ? CU_MEM_LOCATION_TYPE_DEVICE : (CUmemLocationType)draw(6),
                            .id = rarely() ? (int)any() : 0 };
}

static CUmemAllocationHandleType a_type(void)
{
    return rarely() ? (CUmemAllocationHandleType)draw(32) : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
}

static void reserve_or_free(unsigned k)
{
    size_t size = reserved[k].at ? reserved[k].size : a_size();
    if (reserved[k].at) {
        CUdeviceptr at = rarely() ? an_address() : reserved[k].at;
        if (cuMemAddressFree(at, rarely() ? a_size() : size)) return;
        for (unsigned j = 0; j < SLOTS; j++)
            if (reserved[j].at == at) reserved[j].at = 0;
    } else if (!cuMemAddressReserve(&reserved[k].at, size, rarely() ? 1ull << draw(64) : 0, an_address(), rarely())) {
        reserved[k].size = size;
    } else {
        reserved[k].at = 0;
    }
}

static void create_or_release(unsigned k)
{
    CUmemAllocationProp p = { .type = rarely() ? (CUmemAllocationType)draw(5) : CU_MEM_ALLOCATION_TYPE_PINNED,
                              .location = a_location(),
                              .requestedHandleTypes = draw(2) ? a_type() : CU_MEM_HANDLE_TYPE_NONE };
    p.allocFlags.reserved[0] = rarely();
    p.allocFlags.usage = rarely();
    if (handles[k]) {
        if (cuMemRelease(handles[k]) || draw(3)) handles[k] = 0;
    } else if (cuMemCreate(&handles[k], size_of[k] = a_size(), &p, 0)) {
        handles[k] = 0;
    }
}

static void share(unsigned k)
{
    int fd;
    if (!cuMemExportToShareableHandle(&fd, a_handle(), a_type(), rarely())) {
        if (descriptors[k] >= 0) close(descriptors[k]);
        descriptors[k] = fd;
    }
    fd = rarely() ? (int)draw(100) : descriptors[k];
    if (!handles[k] &&
        cuMemImportFromShareableHandle(&handles[k], (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        handles[k] = 0;
}

static void ask(void)
{
    CUmemAllocationProp p;
    CUmemGenericAllocationHandle h;
    CUdeviceptr base;
    CUmemLocation l = a_location();
    unsigned long long flags, answer[8];
    size_t size;
    int fd;
    cuMemGetAllocationPropertiesFromHandle(&p, a_handle());
    cuMemGetAccess(&flags, &l, an_address());
    cuMemGetAddressRange(&base, &size, an_address());
    cuMemGetHandleForAddressRange(&fd, an_address(), a_size(), CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    for (int k = 0; k < 24; k++) cuPointerGetAttribute(answer, (CUpointer_attribute)k, an_address());
    if (!cuMemRetainAllocationHandle(&h, (void *)an_address())) CHECK(cuMemRelease(h));
}

static void use(void)
{
    static char bytes[1 << 16];
    cuMemcpyDtoH(bytes, an_address(), draw(sizeof bytes));
    cuMemcpyHtoD(an_address(), bytes, draw(sizeof bytes));
    cuMemsetD8(an_address(), 1, a_size());
}

static unsigned long mapped, given;

static void map(unsigned k)
{
    CUmemGenericAllocationHandle h = rarely() ? a_handle() : handles[k];
    size_t size = rarely() ? a_size() : size_of[k];
    mapped += !cuMemMap(an_address(), size, rarely() ? a_size() : 0, h, rarely());
}

static void unmap(void)
{
    CUdeviceptr base;
    size_t size;
    a_mapping(&base, &size);
    cuMemUnmap(base, size);
}

static void give(void)
{
    CUdeviceptr base;
    size_t size;
    CUmemAccessDesc d[3];
    for (int j = 0; j < 3; j++)
        d[j] = (CUmemAccessDesc){ .location = a_location(),
                                  .flags = (CUmemAccess_flags)(rarely() ? 2 : "\0\1\3"[draw(3)]) };
    a_mapping(&base, &size);
    given += !cuMemSetAccess(base, size, d, draw(4));
}

static void step(void)
{
    unsigned k = draw(SLOTS);
    switch (draw(16)) {
    case 0: reserve_or_free(k); break;
    case 1: create_or_release(k); break;
    case 2: unmap(); break;
    case 3: share(k); break;
    case 4: ask(); break;
    case 5: use(); break;
    case 6:
    case 7: give(); break;
    default: map(k); break;
    }
}

/* A mapping may lie across two reservations, and where it begins and ends is told only of what may be touched. */
static void unmap_all_of(unsigned k)
{
    for (unsigned page = 0; page < PAGES; page++)
        for (unsigned pages = 1; pages <= PAGES + 8; pages++)
            cuMemUnmap(reserved[k].at + page * PAGE, (size_t)pages * PAGE);
}

static void clean_up(void)
{
    for (unsigned k = 0; k < SLOTS; k++)
        if (reserved[k].at) unmap_all_of(k);
    for (unsigned k = 0; k < SLOTS; k++) {
        if (reserved[k].at) CHECK(cuMemAddressFree(reserved[k].at, reserved[k].size));
        while (handles[k] && !cuMemRelease(handles[k]))
            ;
        if (descriptors[k] >= 0) close(descriptors[k]);
    }
}

int main(int argc, char **argv)
{
    struct device d;
    draw_state = argc > 1 ? strtoull(argv[1], NULL, 0) * 0x9E3779B97F4A7C15ull + 1 : 1;
    memset(descriptors, -1, sizeof descriptors);
    alarm(120);
    device_open(&d, 64);
    size_t before = free_memory();
    for (long n = argc > 2 ? atol(argv[2]) : 100000; n; n--) step();
    clean_up();
    EXPECT(free_memory() == before);
    EXPECT(tags_run(&d, &(struct tagged){ d.list, 4, 7 }, 1, 1) == 0);
    printf("%lu mapped, access given %lu times\n", mapped, given);
    EXPECT(mapped);
    EXPECT(given);
    return 0;
}
